"""`headrace train` against PyTorch, loss by loss: torch_parity_test.py DRIVER MODEL...

Same start, same batches, 200 steps; each optimizer plain and with weight decay and clipping. f32: each loss within 1e-4;
f64: 1e-9. Batch normalisation trains by the batch's statistics; nothing is dropped.
"""

import copy
import os
import subprocess
import sys
import tempfile
import unittest
import warnings

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.models import torch_models

DRIVER = os.path.abspath(sys.argv[1])
BATCH, BATCHES, EPOCHS = 16, 5, 40


class Cnn(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Conv2d(1, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(6, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
                         nn.Flatten(), nn.Linear(8, 4))


def make(name):
    """Module, input of so many samples, loss, rates of plain descent and of Adam."""
    if name == "mlp":
        module = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 16), nn.Tanh(), nn.Linear(16, 5))
        return module, lambda n: torch.randn(n, 12), "cross_entropy", 0.05, 1e-3
    if name == "cnn":
        # Faster, and some maximum of a pool changes its place: at 0.01 and 1e-3 PyTorch in f32 leaves PyTorch in f64 by 1e-2.
        return Cnn(), lambda n: torch.randn(n, 1, 8, 8), "cross_entropy", 0.003, 3e-4
    if name == "bert_layer":
        module, inputs, _ = torch_models.make("bert_layer", True)
        return module, lambda n: inputs(n)[0], "mse", 0.05, 1e-4
    module, inputs, _ = torch_models.make("lstm", True)
    return module, lambda n: inputs(n)[0], "cross_entropy", 0.05, 1e-3


def optimizer_of(name, parameters, rate, decay):
    if name == "sgd":
        return torch.optim.SGD(parameters, lr=rate, weight_decay=decay)
    if name == "momentum":
        return torch.optim.SGD(parameters, lr=rate, momentum=0.9, weight_decay=decay)
    return (torch.optim.Adam if name == "adam" else torch.optim.AdamW)(parameters, lr=rate, weight_decay=decay)


class TorchParity(unittest.TestCase):
    def check(self, name, dtype):
        torch.manual_seed(11)
        module, inputs, loss, plain_rate, adam_rate = make(name)
        module = module.to(dtype).train()
        with torch.no_grad():
            for p in module.parameters():  # no two alike: exporters would make one of them
                p.add_(0.02 * torch.randn_like(p))
            x = inputs(BATCH * BATCHES).to(dtype)
            y = module(x)
        if loss == "cross_entropy":
            target = torch.randint(0, y.shape[1], (len(x), *y.shape[2:]))
        else:
            target = torch.randn_like(y)
        for p in module.modules():  # the statistics that `y` moved
            if isinstance(p, nn.modules.batchnorm._BatchNorm):
                p.reset_running_stats()
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
            np.savez(os.path.join(folder, "data.npz"), x=x.numpy(), target=target.numpy())
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                torch.onnx.export(copy.deepcopy(module), (x[:2],), os.path.join(folder, "model.onnx"), dynamo=False, opset_version=17,
                                  training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, input_names=["x"],
                                  output_names=["y"], dynamic_axes={"x": {0: "batch"}, "y": {0: "batch"}})
            for optimizer in ("sgd", "momentum", "adam", "adamw"):
                for decay, clip in ((0, None), (0.01, 0.2)):
                    with self.subTest(optimizer=optimizer, decay=decay, clip=clip):
                        rate = adam_rate if optimizer.startswith("adam") else plain_rate
                        want = self.torch(copy.deepcopy(module), x, target, loss, optimizer, rate, decay, clip)
                        got = self.headrace(folder, loss, optimizer, rate, decay, clip)
                        np.testing.assert_allclose(got, want, rtol=1e-9 if dtype == torch.float64 else 1e-4, atol=0)

    def torch(self, module, x, target, loss, optimizer, rate, decay, clip):
        steps = optimizer_of(optimizer, module.parameters(), rate, decay)
        losses = []
        for _ in range(EPOCHS):
            for at in range(0, len(x), BATCH):
                steps.zero_grad()
                y = module(x[at:at + BATCH])
                value = (F.cross_entropy if loss == "cross_entropy" else F.mse_loss)(y, target[at:at + BATCH])
                value.backward()
                if clip:
                    nn.utils.clip_grad_norm_(module.parameters(), clip)
                steps.step()
                losses.append(value.item())
        return np.array(losses)

    def headrace(self, folder, loss, optimizer, rate, decay, clip):
        run = f"{optimizer}_{decay}"
        flags = ["--clip-norm", str(clip)] if clip else []
        done = subprocess.run(
            [DRIVER, "train", "model.onnx", "--data", "data.npz", "--loss", loss, "--optimizer", optimizer, "--lr", repr(rate),
             "--weight-decay", str(decay), "--epochs", str(EPOCHS), "--batch", str(BATCH), "--no-shuffle", "--checkpoint", run,
             "--out", run + ".onnx", *flags],
            cwd=folder, capture_output=True, text=True, env=dict(os.environ, HEADRACE_CACHE_DIR=os.path.join(folder, "cache")))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr[-4000:])
        return np.genfromtxt(os.path.join(folder, run, "losses.csv"), delimiter=",", names=True)["loss"]


for _name in sys.argv[2:]:
    for _dtype in (torch.float32, torch.float64):
        setattr(TorchParity, f"test_{_name}_{str(_dtype)[6:]}", lambda self, n=_name, t=_dtype: self.check(n, t))
