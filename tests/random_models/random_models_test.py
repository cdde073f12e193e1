"""Random ONNX models against the reference evaluator. usage: random_models_test.py DRIVER BACKEND FIRST_SEED COUNT
A seed that fails is written to the folder $TEST_UNDECLARED_OUTPUTS_DIR with its inputs and expected outputs."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import onnx
from onnx import numpy_helper

from tests.random_models.generator import Generator

DRIVER, BACKEND, FIRST, COUNT = os.path.abspath(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])


def write(path, array, name):
    with open(path, "wb") as f:
        f.write(numpy_helper.from_array(array, name).SerializeToString())


class RandomModels(unittest.TestCase):
    def check(self, seed, folder):
        model, inputs, outputs = Generator(seed).model()
        path = os.path.join(folder, "model.onnx")
        onnx.save(model, path)
        for i, value in enumerate(inputs):
            write(os.path.join(folder, f"input_{i}.pb"), value, model.graph.input[i].name)
        for i, value in enumerate(outputs):
            write(os.path.join(folder, f"output_{i}.pb"), value, model.graph.output[i].name)
        return subprocess.run([DRIVER, "run", path, "--test-data", folder, "--backend", BACKEND, "--rtol", "1e-6", "--atol", "1e-8"], capture_output=True, text=True,
                              timeout=600)

    def test_models(self):
        for seed in range(FIRST, FIRST + COUNT):
            with self.subTest(seed=seed), tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
                done = self.check(seed, folder)
                if done.returncode != 0 and "TEST_UNDECLARED_OUTPUTS_DIR" in os.environ:
                    shutil.copytree(folder, os.path.join(os.environ["TEST_UNDECLARED_OUTPUTS_DIR"], str(seed)))
                self.assertEqual(done.returncode, 0, f"seed {seed}: {done.stdout[-1500:]}{done.stderr[-3000:]}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
