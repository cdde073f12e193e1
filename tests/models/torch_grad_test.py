"""Gradients of all parameters and float inputs of the PyTorch models against torch.autograd: torch_grad_test.py DRIVER SIZE NAME...
("more": all of torch_more_models.py.)

The loss is the sum of the outputs times a fixed random tensor. The reference is PyTorch in f64. Errors are relative to the
largest value of that gradient, or to a thousandth of the model's largest for gradients that cancel to almost nothing: in f64
(small models) at most 1e-9. In f32 at most 1e-4; where that is less than f32 can do, at most what PyTorch in f32 errs.

Networks of full size have millions of activations, of which roundings in f32 push some over the kink at zero: PyTorch's own
gradients then err by up to 1e-2. There 99 % of the elements are within 1e-4 in f32, and all within 1e-9 in f64.
"""

import copy
import json
import os
import subprocess
import sys
import tempfile
import unittest
import warnings

import numpy as np
import torch

from tests.models import torch_models, torch_more_models

DRIVER = os.path.abspath(sys.argv[1])
SMALL = sys.argv[2] == "small"
BACKEND = os.environ.get("HEADRACE_GRAD_BACKEND", "cpu")


def make(name):
    return (torch_models if name in torch_models.NAMES else torch_more_models).make(name, SMALL)


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


def autograd(module, values, names, seed):
    """Gradients by parameter and input name; the given values stay as they are."""
    values = [v.detach().clone().requires_grad_() if v.is_floating_point() else v for v in values]
    module.zero_grad()
    module(*values).backward(seed)
    gradients = {n: p.grad for n, p in module.named_parameters() if p.grad is not None}
    gradients.update({n: v.grad for n, v in zip(names, values) if v.is_floating_point()})
    return {n: g.to(torch.float64).numpy() for n, g in gradients.items()}


class TorchGrad(unittest.TestCase):
    def check(self, name, exporter, dtype):
        module, inputs, names = make(name)
        floats = lambda values, to=dtype: tuple(v.to(to) if v.is_floating_point() else v for v in values)
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
            values = floats(inputs(3))
            seed = torch.randn_like(module(*values))
            truth = autograd(copy.deepcopy(module).double(), floats(values, torch.float64), names, seed.double())
            theirs = autograd(module, values, names, seed) if dtype == torch.float32 else truth
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
            self.assertEqual(sorted(set(truth) - set(got)), [], "parameters without a gradient")
            tolerance = 1e-9 if dtype == torch.float64 else 1e-4
            overall = max(np.max(np.abs(g)) for g in truth.values())
            for n, g in truth.items():
                self.assertEqual(got[n].shape, g.shape, n)
                self.assertEqual(got[n].dtype, np.float64 if dtype == torch.float64 else np.float32, n)
                allowed = tolerance * max(np.max(np.abs(g)), 1e-3 * overall)
                wrong = np.abs(got[n] - g)
                if dtype == torch.float32 and not SMALL:
                    self.assertLessEqual(np.max(wrong), 200 * allowed, n)
                    wrong = np.quantile(wrong, 0.99)
                ours, other = np.max(wrong), np.max(np.abs(theirs[n] - g))
                if ours > allowed or "HEADRACE_GRAD_VERBOSE" in os.environ:
                    scale = allowed / tolerance
                    print(f"{name} ({exporter}, {dtype}) {n}: ours {ours / scale:.2e}, PyTorch's {other / scale:.2e}", flush=True)
                self.assertLessEqual(ours, max(allowed, other), f"{name} ({exporter}): gradient of {n}")


for _name in torch_more_models.NAMES if sys.argv[3:] == ["more"] else sys.argv[3:]:
    _wanted = torch_more_models.EXPORTERS.get(_name, ("torchscript", "dynamo"))
    for _exporter in _wanted:
        setattr(TorchGrad, f"test_{_name}_{_exporter}", lambda self, n=_name, e=_exporter: self.check(n, e, torch.float32))
        if SMALL or _exporter == "dynamo":
            setattr(TorchGrad, f"test_{_name}_{_exporter}_f64", lambda self, n=_name, e=_exporter: self.check(n, e, torch.float64))
