"""Models exported from PyTorch by both exporters, symbolic batch, three sizes from one compile: torch_test.py DRIVER SIZE NAME..."""

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


class Torch(unittest.TestCase):
    def check(self, name, exporter):
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
            path = os.path.join(folder, f"{name}_{exporter}.onnx")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                module, inputs, names = torch_models.export(name, path, exporter, SMALL)
            for i, batch in enumerate((1, 3, 8)):
                torch.manual_seed(100 + batch)
                values = inputs(batch)
                with torch.no_grad():
                    expected = module(*values).numpy()
                flags = []
                for n, v in zip(names, values):
                    np.save(os.path.join(folder, n + ".npy"), v.numpy())
                    flags += ["--input", f"{n}=@{n}.npy"]
                environment = dict(os.environ, HEADRACE_CACHE_DIR=os.path.join(folder, "cache"))
                if i:  # the artifact of the first compile must serve: without a compiler nothing new can be built
                    environment["CXX"] = "/nonexistent"
                    environment["PATH"] = "/nonexistent"
                done = subprocess.run([DRIVER, "run", os.path.basename(path), *flags, "--output", "y=@y.npy"],
                                      cwd=folder, capture_output=True, text=True, env=environment)
                self.assertEqual(done.returncode, 0, done.stderr)
                got = np.load(os.path.join(folder, "y.npy"))
                self.assertEqual(got.shape, expected.shape)
                difference = np.max(np.abs(got - expected)) / np.max(np.abs(expected))
                self.assertLessEqual(difference, 1e-4, f"{name} ({exporter}), batch {batch}")


for _name in sys.argv[3:]:
    for _exporter in ("torchscript", "dynamo"):
        setattr(Torch, f"test_{_name}_{_exporter}", lambda self, n=_name, e=_exporter: self.check(n, e))
