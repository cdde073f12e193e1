"""`headrace train` on architectures of all kinds against PyTorch, loss by loss: torch_networks_test.py DRIVER

Each network of tests/models/torch_more_models.py in f64, from both exporters, with one of the four optimizers; the last batch
of an epoch is smaller. Losses within 1e-9, or what the exporter rounds. It marks buffers (dynamo), or they are frozen by name.
"""

import os
import subprocess
import sys
import tempfile
import unittest
import warnings

import numpy as np
import torch
import torch.nn.functional as F

from tests.models import torch_more_models as models

DRIVER = os.path.abspath(sys.argv[1])
SAMPLES, BATCH, EPOCHS, RATE = 5, 2, 2, 1e-3
OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, RATE, weight_decay=0.1),
    "momentum": lambda p: torch.optim.SGD(p, RATE, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p, RATE),
    "adamw": lambda p: torch.optim.AdamW(p, RATE, weight_decay=0.1),
}
DECAY = {"sgd": 0.1, "momentum": 0, "adam": 0, "adamw": 0.1}
NOT_BY_SAMPLE = ("graph_net", "losses")  # a batch is one graph; the output has no dimension for samples


def export(module, inputs, names, path, exporter):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if exporter == "dynamo":
            shapes = tuple({0: torch.export.Dim("batch", min=1, max=64)} for _ in names)
            torch.onnx.export(module, inputs, path, dynamo=True, input_names=names, output_names=["y"], dynamic_shapes=shapes,
                              external_data=False, verbose=False, optimize=False)
        else:
            torch.onnx.export(module, inputs, path, dynamo=False, opset_version=17, input_names=names, output_names=["y"],
                              dynamic_axes={n: {0: "batch"} for n in names + ["y"]}, do_constant_folding=False)


class TorchNetworks(unittest.TestCase):
    def check(self, name, exporter, optimizer):
        module, inputs, names = models.make(name)
        module = module.double()
        with torch.no_grad():
            for p in module.parameters():  # no two alike: exporters would make one of them
                p.add_(0.02 * torch.randn_like(p))
        x = [v.double() if v.is_floating_point() else v for v in inputs(SAMPLES)]
        target = torch.randn_like(module(*x).detach())
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
            export(module, tuple(v[:BATCH] for v in x), names, os.path.join(folder, "model.onnx"), exporter)
            np.savez(os.path.join(folder, "data.npz"), target=target.numpy(), **{n: v.numpy() for n, v in zip(names, x)})
            buffers = [] if exporter == "dynamo" else [n for n, b in module.named_buffers() if b.is_floating_point() and "running_" not in n]
            got = self.headrace(folder, optimizer, ["--freeze", ",".join(buffers)] if buffers else [])
        want = self.torch(module, x, target, optimizer)
        # Before the first step, only what the exporter rounded to f32 (2 pi) can differ.
        rounded = abs(got[0] / want[0] - 1)
        self.assertLess(rounded, 1e-7)
        np.testing.assert_allclose(got, want, rtol=max(1e-9, 10 * rounded))

    def torch(self, module, x, target, optimizer):
        steps, losses = OPTIMIZERS[optimizer](module.parameters()), []
        for _ in range(EPOCHS):
            for at in range(0, SAMPLES, BATCH):
                steps.zero_grad()
                loss = F.mse_loss(module(*[v[at:at + BATCH] for v in x]), target[at:at + BATCH])
                loss.backward()
                steps.step()
                losses.append(loss.item())
        return losses

    def headrace(self, folder, optimizer, options):
        done = subprocess.run(
            [DRIVER, "train", "model.onnx", "--data", "data.npz", "--loss", "mse", "--optimizer", optimizer, "--lr", repr(RATE), "--weight-decay",
             str(DECAY[optimizer]), "--epochs", str(EPOCHS), "--batch", str(BATCH), "--no-shuffle", "--checkpoint", "run", "--out", "out.onnx", *options],
            cwd=folder, capture_output=True, text=True, env=dict(os.environ, HEADRACE_CACHE_DIR=os.path.join(folder, "cache")))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr[-4000:])
        return np.genfromtxt(os.path.join(folder, "run", "losses.csv"), delimiter=",", names=True)["loss"]


_tests = [(n, e) for n in models.NAMES if n not in NOT_BY_SAMPLE for e in models.EXPORTERS.get(n, ("torchscript", "dynamo"))]
for _at, (_name, _exporter) in enumerate(_tests):
    _optimizer = list(OPTIMIZERS)[_at * 3 % 4]  # neighbours, of one network, differ
    setattr(TorchNetworks, f"test_{_name}_{_exporter}", lambda self, n=_name, e=_exporter, o=_optimizer: self.check(n, e, o))
