"""An artifact knows its inputs and outputs by the names that they have in the model. usage: artifact_names_test.py DRIVER"""

import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import parser

DRIVER = os.path.abspath(sys.argv[1])


class ArtifactNames(unittest.TestCase):
    def run_artifact(self, model, inputs, outputs):
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
            def run(*args):
                done = subprocess.run([DRIVER, *args], cwd=folder, capture_output=True, text=True, timeout=300)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

            onnx.save(model, os.path.join(folder, "m.onnx"))
            flags = []
            for i, (name, value) in enumerate(inputs.items()):
                np.save(os.path.join(folder, f"in{i}.npy"), value)
                flags += ["--input", f"{name}=@in{i}.npy"]
            for i, name in enumerate(outputs):
                flags += ["--output", f"{name}=@out{i}.npy"]
            run("compile", "m.onnx", "-o", "m.hrx")
            for what in ("m.onnx", "m.hrx"):
                run("run", what, *flags)
                for i, expected in enumerate(outputs.values()):
                    np.testing.assert_allclose(np.load(os.path.join(folder, f"out{i}.npy")), expected, rtol=1e-6)

    def test_an_input_and_an_initializer_that_are_outputs(self):
        model = parser.parse_model('<ir_version: 10, opset_import: ["" : 21]> g (float[N] x) => (float[N] x, float[N] y, float[2] w) <float[2] w = {1, 2}> { y = Exp(x) }')
        x = np.arange(3, dtype=np.float32)
        self.run_artifact(model, {"x": x}, {"x": x, "y": np.exp(x), "w": [1, 2]})

    def test_names_that_are_no_identifiers(self):
        model = parser.parse_model('<ir_version: 10, opset_import: ["" : 21]> g (float[N] a) => (float[N] b) { b = Neg(a) }')
        model.graph.input[0].name = model.graph.node[0].input[0] = "serving/a:0"
        model.graph.output[0].name = model.graph.node[0].output[0] = "b 1.2"
        x = np.arange(3, dtype=np.float32)
        self.run_artifact(model, {"serving/a:0": x}, {"b 1.2": -x})
