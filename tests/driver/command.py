"""A folder, the command in it, and what it says. The driver is the first argument of the test."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper

DRIVER = os.path.abspath(sys.argv[1])

RELU = "sdfg main(X: f32[N], Y: f32[N]) { Y[i] = max(X[i], 0) }\n"


def onnx_relu(size="n"):
    """Y = Relu(X), W = X + X."""
    info = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [size, 3])
    nodes = [helper.make_node("Relu", ["X"], ["Y"], name="clip"), helper.make_node("Add", ["X", "X"], ["W"])]
    graph = helper.make_graph(nodes, "g", [info("X")], [info("Y"), info("W")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


class CommandTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.environment = dict(os.environ, HEADRACE_CACHE_DIR=self.path("cache"), HEADRACE_PYTHON=sys.executable)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def write(self, name, content):
        if isinstance(content, onnx.ModelProto):
            content = content.SerializeToString()
        with open(self.path(name), "wb") as f:
            f.write(content.encode() if isinstance(content, str) else content)
        return name

    def save(self, name, array):
        np.save(self.path(name), array)
        return name

    def load(self, name):
        return np.load(self.path(name))

    def run_headrace(self, *args, code=0, stdin=None, **environment):
        """Text comes and goes, or bytes when they are given."""
        done = subprocess.run([DRIVER, *args], cwd=self.folder, input=stdin, capture_output=True, text=not isinstance(stdin, bytes),
                              env={**self.environment, **environment})
        self.assertEqual(done.returncode, code, f"headrace {' '.join(args)}\n{done.stdout}\n{done.stderr}")
        return done

    def interpret(self, *args, **how):
        """run on the interpreter: nothing is compiled."""
        return self.run_headrace("run", *args, "--backend", "interpreter", **how)

    def json(self, *args, **how):
        return json.loads(self.run_headrace(*args, "--json", **how).stdout)

    def refused(self, code, *words, args, exit=2, **how):
        """An error of this code that says these words."""
        done = self.run_headrace(*args, "--json", code=exit, **how)
        error = json.loads(done.stdout)["errors"][0]
        self.assertEqual(error["code"], code, error)
        for word in words:
            self.assertIn(word, error["message"] + "\n" + error.get("hint", ""))
