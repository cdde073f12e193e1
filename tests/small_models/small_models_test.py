"""Small models of ONNX's corners on both backends, against the reference evaluator. usage: small_models_test.py DRIVER"""

import os
import re
import subprocess
import sys
import tempfile
import unittest
import warnings

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.small_models import cases

DRIVER = os.path.abspath(sys.argv[1])


def write(path, value, name):
    if isinstance(value, list):
        data = numpy_helper.from_list(value, name)
    else:
        data = numpy_helper.from_array(np.asarray(value), name)
    with open(path, "wb") as f:
        f.write(data.SerializeToString())


class SmallModels(unittest.TestCase):
    def check(self, model, inputs, expected=None):
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
            path = os.path.join(folder, "model.onnx")
            onnx.save(model, path)
            constants = {t.name for t in model.graph.initializer}
            given = [v.name for v in model.graph.input if v.name not in constants]
            if expected is None:
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")
                    expected = ReferenceEvaluator(model).run(None, dict(zip(given, inputs)))
            for i, value in enumerate(inputs):
                write(os.path.join(folder, f"input_{i}.pb"), value, given[i])
            for i, value in enumerate(expected):
                write(os.path.join(folder, f"output_{i}.pb"), value, model.graph.output[i].name)
            for backend in ("interpreter", "cpu"):
                done = subprocess.run([DRIVER, "run", path, "--test-data", folder, "--backend", backend, "--rtol", "1e-4", "--atol", "1e-6"],
                                      capture_output=True, text=True, timeout=600)
                self.assertEqual(done.returncode, 0, f"{backend}: {done.stdout[-1500:]}{done.stderr[-3000:]}")

    def check_error(self, model, inputs, message):
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
            onnx.save(model, os.path.join(folder, "model.onnx"))
            flags = []
            for v, value in zip(model.graph.input, inputs):
                np.save(os.path.join(folder, v.name + ".npy"), value)
                flags += ["--input", f"{v.name}=@{v.name}.npy"]
            for backend in ("interpreter", "cpu"):
                done = subprocess.run([DRIVER, "run", "model.onnx", "--backend", backend, *flags], cwd=folder, capture_output=True, text=True, timeout=600)
                self.assertEqual(done.returncode, 1, f"{backend}: {done.stdout[-1500:]}{done.stderr[-3000:]}")
                self.assertRegex(done.stderr, r"error\[E\d+\]: " + re.escape(message))


for _name, *_case in cases.cases():
    setattr(SmallModels, "test_" + "".join(c if c.isalnum() else "_" for c in _name), lambda self, c=_case: self.check(*c))
for _name, *_case in cases.impossible():
    setattr(SmallModels, "test_impossible_" + "".join(c if c.isalnum() else "_" for c in _name), lambda self, c=_case: self.check_error(*c))
