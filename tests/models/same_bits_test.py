"""The light networks give the same bits with 1 and 2 threads, and for device descriptions that differ in lanes and caches only.

usage: same_bits_test.py DRIVER NAME...
"""

import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx

from tests.models import light_models

DRIVER = os.path.abspath(sys.argv[1])


class SameBits(unittest.TestCase):
    def check(self, name):
        model = light_models.load(name)
        ((input_name, value),) = light_models.random_input(model).items()
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
            onnx.save(model, os.path.join(folder, "model.onnx"))
            np.save(os.path.join(folder, "in.npy"), value)
            results = {}
            for device in ("cpu", "cpu_avx2"):
                for threads in (1, 2):
                    done = subprocess.run(
                        [DRIVER, "run", "model.onnx", "--threads", str(threads), "--input", f"{input_name}=@in.npy",
                         "--output", f"{model.graph.output[0].name}=@out.npy"],
                        cwd=folder, capture_output=True, text=True, env={**os.environ, "HEADRACE_DEVICE": device})
                    self.assertEqual(done.returncode, 0, done.stderr)
                    results[device, threads] = np.load(os.path.join(folder, "out.npy"))
        first = results["cpu", 1]
        self.assertGreater(np.ptp(first), 1e-6, "the result is constant: the test would see nothing")
        for (device, threads), other in results.items():
            self.assertEqual(first.tobytes(), other.tobytes(), f"{device}, {threads} threads")


for _name in sys.argv[2:]:
    setattr(SameBits, "test_" + _name, lambda self, name=_name: self.check(name))
