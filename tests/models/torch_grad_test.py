"""Gradients of all parameters and float inputs of the PyTorch models against torch.autograd: torch_grad_test.py DRIVER SIZE NAME...

The loss is the sum of the outputs times a fixed random tensor. f32: within 1e-4 of the largest value of that gradient, of a
hundredth of the model's largest for gradients that cancel to almost nothing; f64 (small models): 1e-9, of a thousandth.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
import warnings

import numpy as np
import torch

from tests.models import torch_models

DRIVER = os.path.abspath(sys.argv[1])
SMALL = sys.argv[2] == "small"
BACKEND = os.environ.get("HEADRACE_GRAD_BACKEND", "cpu")


def export(module, inputs, names, path, exporter):
    """The model with its parameters as they are: nothing folded, every initializer under the parameter's name."""
    example = inputs(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if exporter == "dynamo":
            shapes = tuple({0: torch.export.Dim("batch", min=1, max=64)} for _ in names)
            torch.onnx.export(module, example, path, dynamo=True, input_names=names, output_names=["y"], dynamic_shapes=shapes,
                              external_data=False, verbose=False, optimize=False)
        else:
            axes = {n: {0: "batch"} for n in names + ["y"]}
            torch.onnx.export(module, example, path, dynamo=False, opset_version=17, input_names=names, output_names=["y"], dynamic_axes=axes,
                              do_constant_folding=False)


class TorchGrad(unittest.TestCase):
    def check(self, name, exporter, dtype):
        module, inputs, names = torch_models.make(name, SMALL)
        floats = lambda values: tuple(v.to(dtype) if v.is_floating_point() else v for v in values)
        module = module.to(dtype)
        torch.manual_seed(7)
        with torch.no_grad():  # exporters make one of equal parameters, such as the ones of two normalisations
            for p in module.parameters():
                if p.dim() == 1:
                    p.add_(0.1 * torch.randn_like(p))
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
            torch.manual_seed(1)
            export(module, lambda batch: floats(inputs(batch)), names, os.path.join(folder, "m.onnx"), exporter)
            torch.manual_seed(103)
            values = [v.requires_grad_() if v.is_floating_point() else v for v in floats(inputs(3))]
            y = module(*values)
            seed = torch.randn_like(y)
            y.backward(seed)
            expected = {n: p.grad for n, p in module.named_parameters() if p.grad is not None}
            expected.update({n: v.grad for n, v in zip(names, values) if v.is_floating_point()})
            np.save(os.path.join(folder, "seed.npy"), seed.numpy())
            flags = ["--output-grad", "y=@seed.npy"]
            for n, v in zip(names, values):
                np.save(os.path.join(folder, n + ".npy"), v.detach().numpy())
                flags += ["--input", f"{n}=@{n}.npy"]
            environment = dict(os.environ)
            environment.setdefault("HEADRACE_CACHE_DIR", os.path.join(folder, "cache"))
            done = subprocess.run([DRIVER, "grad", "m.onnx", "--output", "y", "--wrt", "all", "--backend", BACKEND, "--out", "out", *flags],
                                  cwd=folder, capture_output=True, text=True, env=environment)
            self.assertEqual(done.returncode, 0, done.stderr[-4000:])
            with open(os.path.join(folder, "out", "index.json")) as f:
                index = json.load(f)
            got = {n: np.load(os.path.join(folder, "out", file)) for n, file in index.items()}
            self.assertEqual(sorted(set(expected) - set(got)), [], "parameters without a gradient")
            tolerance, least = (1e-9, 1e-3) if dtype == torch.float64 else (1e-4, 1e-2)
            overall = max(g.abs().max().item() for g in expected.values())
            for n, g in expected.items():
                g = g.numpy()
                self.assertEqual(got[n].shape, g.shape, n)
                self.assertEqual(got[n].dtype, g.dtype, n)
                allowed = tolerance * max(np.max(np.abs(g)), least * overall)
                self.assertLessEqual(np.max(np.abs(got[n] - g)), allowed, f"{name} ({exporter}): gradient of {n}")


for _name in sys.argv[3:]:
    for _exporter in ("torchscript", "dynamo"):
        setattr(TorchGrad, f"test_{_name}_{_exporter}", lambda self, n=_name, e=_exporter: self.check(n, e, torch.float32))
        if SMALL:
            setattr(TorchGrad, f"test_{_name}_{_exporter}_f64", lambda self, n=_name, e=_exporter: self.check(n, e, torch.float64))
