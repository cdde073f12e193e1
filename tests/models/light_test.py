"""The light networks through the driver, against ONNX's reference evaluator: usage light_test.py DRIVER NAME..."""

import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from tests.models import light_models

DRIVER = os.path.abspath(sys.argv[1])


class BatchNormalization(OpRun):
    """ONNX's own class for opsets 9 to 13 mixes the batch's statistics in, as training does."""

    op_domain = ""

    def _run(self, x, scale, bias, mean, var, epsilon=None, momentum=None, training_mode=None):
        per_channel = lambda v: v.reshape(-1, *[1] * (x.ndim - 2))
        return ((x - per_channel(mean)) / np.sqrt(per_channel(var) + epsilon) * per_channel(scale) + per_channel(bias),)


class Light(unittest.TestCase):
    def check(self, name):
        model = light_models.load(name)
        feeds = light_models.random_input(model)
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
            path = os.path.join(folder, name + ".onnx")
            onnx.save(model, path)
            (input_name, value), = feeds.items()
            np.save(os.path.join(folder, "in.npy"), value)
            output_name = model.graph.output[0].name
            done = subprocess.run(
                [DRIVER, "run", path, "--input", f"{input_name}=@in.npy", "--output", f"{output_name}=@out.npy"],
                cwd=folder, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            got = np.load(os.path.join(folder, "out.npy"))
        (expected,) = ReferenceEvaluator(model, new_ops=[BatchNormalization]).run(None, feeds)
        self.assertEqual(got.shape, expected.shape)
        self.assertGreater(np.ptp(expected), 1e-6, "the reference is constant: the test would see nothing")
        difference = np.max(np.abs(got - expected)) / np.max(np.abs(expected))
        print(f"{name}: max difference {difference:.2e} of the largest reference value")
        self.assertLessEqual(difference, 1e-4)


for _name in sys.argv[2:]:
    setattr(Light, "test_" + _name, lambda self, name=_name: self.check(name))
