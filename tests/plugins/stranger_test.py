"""A stranger's plugins: written from docs/plugins.md, built outside the workspace against the SDK by every compiler there is, used in
ONNX models and in IR text. usage: stranger_test.py DRIVER SDK"""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

DRIVER, SDK = (os.path.abspath(p) for p in sys.argv[1:3])
SOURCES = os.path.abspath("tests/plugins/stranger")
COMPILERS = [c for c in ("g++", "clang++") if shutil.which(c)]
BACKENDS = ("interpreter", "cpu")

GATE_TEXT = """
sdfg main(X: f32[N, 3], Y: f32[N, 3]) {
  acme.Gate{alpha = 2.0}(X = X) -> (Y = Y)
}
"""
AVERAGE_TEXT = """
sdfg main(X: f32[4], Y: f32[4]) {
  transient x: f32[1]
  transient m: f32[1]
  for t in 0:4 {
    x[0] = X[t]
    call.acme_average{decay = 0.5}(X = x) -> (Y = m)
    Y[t] = m[0]
  }
}
"""
SCALE_TEXT = "sdfg main(X: f32[4], Y: f32[4]) {\n  constant c: f32[4] = [1, 2, 3, 4]\n  map i in 0:4 { Y[i] = X[i] * c[i] }\n}\n"


def gate(x, alpha=1.0):
    return x / (1 + np.exp(-alpha * x))


def gate_slope(x, alpha=1.0):
    s = 1 / (1 + np.exp(-alpha * x))
    return s + alpha * x * s * (1 - s)


def model(nodes, inputs, outputs, weights=()):
    value = lambda name, shape, kind=TensorProto.FLOAT: helper.make_tensor_value_info(name, kind, shape)
    graph = helper.make_graph(nodes, "g", [value(*i) for i in inputs], [value(*o) for o in outputs], [numpy_helper.from_array(w, n) for n, w in weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("acme", 1)], ir_version=10)


class Stranger(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        with tarfile.open(SDK) as sdk:
            sdk.extractall(cls.folder)
        os.environ["HEADRACE_CACHE_DIR"] = cls.folder + "/cache"
        os.makedirs(cls.folder + "/cache", mode=0o700)
        print("compilers:", ", ".join(COMPILERS), "" if "clang++" in COMPILERS else "(clang is not installed)")
        cls.x = np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3)
        np.save(cls.folder + "/x.npy", cls.x)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def build(self, name, compiler="g++", text=None, *more):
        """Of `name`.cc, or of a changed text of it."""
        with open(os.path.join(SOURCES, name + ".cc")) as f:
            own = f.read()
        self.assertLessEqual(len(own.splitlines()), 40)
        library = os.path.join(self.folder, f"{name}_{compiler}_{abs(hash(text))}.so")
        if not os.path.exists(library):
            command = [compiler, "-std=c++17", "-Wall", "-Werror", "-shared", "-fPIC", "-Iinclude", "-x", "c++", "-", "-o", library, *more]
            done = subprocess.run(command, input=text or own, capture_output=True, text=True, cwd=self.folder)
            self.assertEqual(done.returncode, 0, done.stderr)
        return library

    def headrace(self, plugin, *args, code=0):
        done = subprocess.run([DRIVER, "--plugin", plugin, *args], capture_output=True, text=True, cwd=self.folder, timeout=300)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def save(self, m, name="model.onnx"):
        onnx.save(m, os.path.join(self.folder, name))
        return name

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w") as f:
            f.write(text)
        return name

    def run_model(self, plugin, file, output, *flags, given=("x", "x")):
        self.headrace(plugin, "run", file, "--input", f"{given[0]}=@{given[1]}.npy", "--output", f"{output}=@out.npy", *flags)
        return np.load(os.path.join(self.folder, "out.npy"))

    def gradient(self, plugin, file, output, wrt, *flags, given="x"):
        out = tempfile.mkdtemp(dir=self.folder)
        self.headrace(plugin, "grad", file, "--output", output, "--wrt", wrt, "--input", f"{given}=@x.npy", "--out", out, *flags)
        with open(out + "/index.json") as f:
            index = json.load(f)
        return np.load(os.path.join(out, index[wrt] if isinstance(index[wrt], str) else index[wrt]["file"]))

    def test_an_op_in_an_onnx_model(self):
        w = np.eye(3, dtype=np.float32) * 0.5
        path = self.save(model([helper.make_node("MatMul", ["x", "W"], ["h"]), helper.make_node("Gate", ["h"], ["y"], domain="acme")],
                               [("x", ["N", 3])], [("y", None)], [("W", w)]))
        np.savez(self.folder + "/data.npz", x=np.tile(self.x, (8, 1)), target=np.zeros((16, 3), np.float32))
        for compiler in COMPILERS:
            plugin = self.build("ops", compiler)
            self.assertIn("y: f32[N, 3]", self.headrace(plugin, "check", path))
            for backend in BACKENDS:
                flags = ("--backend", backend)
                np.testing.assert_allclose(self.run_model(plugin, path, "y", *flags), gate(self.x / 2), rtol=1e-5, atol=1e-6)
                np.testing.assert_allclose(self.gradient(plugin, path, "y", "x", *flags), gate_slope(self.x / 2) / 2, rtol=1e-5, atol=1e-6)
                text = self.headrace(plugin, "train", path, "--data", "data.npz", "--loss", "mse", "--lr", "0.5", "--epochs", "3", "--batch", "8",
                                     "--checkpoint", tempfile.mkdtemp(dir=self.folder), "--out", "trained.onnx", *flags)
                trained = numpy_helper.to_array(onnx.load(self.folder + "/trained.onnx").graph.initializer[0])
                self.assertTrue((trained != w).any())
                losses = [float(v) for v in re.findall(r"epoch \d/3: loss (\S+)", text)]
                self.assertEqual(len(losses), 3, text)
                self.assertLess(losses[2], losses[0] / 2, text)

    def test_an_op_in_text(self):
        path = self.write("gate.sdfg", GATE_TEXT)
        plugin = self.build("ops")
        self.assertIn("Y: f32[N, 3]", self.headrace(plugin, "check", path))
        self.write("scalar.sdfg", "sdfg main(X: f32[8, 3], W: f32[8, 3], L: f32) {\n  transient H: f32[8, 3]\n  transient Y: f32[8, 3]\n"
                   "  map i in 0:8, j in 0:3 { H[i, j] = X[i, j] * W[i, j] }\n  acme.Gate(X = H) -> (Y = Y)\n  L = 0\n"
                   "  map i in 0:8, j in 0:3 { L += Y[i, j] * Y[i, j] }\n}\n")
        for backend in BACKENDS:
            flags = ("--backend", backend)
            np.testing.assert_allclose(self.run_model(plugin, path, "Y", *flags, given=("X", "x")), gate(self.x, 2), rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(self.gradient(plugin, path, "Y", "X", *flags, given="X"), gate_slope(self.x, 2), rtol=1e-5, atol=1e-6)

    def test_optional_and_variadic_ports_and_sizes_by_value(self):
        nodes = [helper.make_node("Gate", ["x", "x"], ["g"], domain="acme", alpha=2.0),
                 helper.make_node("Stack", ["x", "x", "g"], ["s"], domain="acme"), helper.make_node("Take", ["s", "n"], ["y"], domain="acme")]
        path = self.save(model(nodes, [("x", ["N", 3])], [("y", None)], [("n", np.array([2]))]), "ports.onnx")
        late = self.save(model(nodes, [("x", ["N", 3]), ("n", [1], TensorProto.INT64)], [("y", None)]), "late.onnx")
        np.save(self.folder + "/n.npy", np.array([2]))
        plugin = self.build("ops")
        self.assertIn("y: f32[2, N, 3]", self.headrace(plugin, "check", path))
        expected = np.stack([self.x, gate(self.x, 2) + self.x])
        for backend in BACKENDS:
            np.testing.assert_allclose(self.run_model(plugin, path, "y", "--backend", backend), expected, rtol=1e-5, atol=1e-6)
            got = self.run_model(plugin, late, "y", "--backend", backend, "--input", "n=@n.npy")
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(self.gradient(plugin, path, "y", "x"), gate_slope(self.x, 2) + 2, rtol=1e-5, atol=1e-6)

    def test_a_size_that_is_negative_is_an_error(self):
        path = self.save(model([helper.make_node("Take", ["x", "n"], ["y"], domain="acme")],
                               [("x", ["N", 3]), ("n", [1], TensorProto.INT64)], [("y", None)]), "negative.onnx")
        np.save(self.folder + "/minus.npy", np.array([-3]))
        for backend in BACKENDS:
            text = self.headrace(self.build("ops"), "run", path, "--input", "x=@x.npy", "--input", "n=@minus.npy", "--backend", backend, code=1)
            self.assertRegex(text, r"negative.*-3(.|\n)*Take_y|Take.*negative: -3")

    def test_its_samples_are_tested(self):
        text = self.headrace(self.build("ops"), "ops", "acme.*", "--test")
        self.assertRegex(text, r"acme.Gate \(opset 1\), sample 1: ")
        self.assertRegex(text, r"  pure +cpu +agrees with pure on the interpreter")
        self.assertRegex(text, r"  gradient X +form +agrees with differences in f64: 6 elements")
        self.assertRegex(text, r"  gradient T_0 +derived +agrees with differences")
        self.assertIn("4 samples", text)
        self.assertIn("all agree", text)

    def test_a_rule_three_times_too_big_is_caught(self):
        with open(SOURCES + "/ops.cc") as f:
            wrong = f.read().replace("dX = dY", "dX = 3 * dY").replace("acme_ops", "acme_wrong")
        text = self.headrace(self.build("ops", "g++", wrong), "ops", "acme.Gate", "--test", code=4)
        self.assertRegex(text, r"  gradient X +form +WRONG: element 0 at \S+: gradient \S+, differences")

    def test_an_implementation_that_computes_something_else_is_caught(self):
        with open(SOURCES + "/convolution.cc") as f:
            wrong = f.read().replace("i + p, j + q", "i + q, j + p").replace('"Conv"', '"acme.Blur"').replace("acme_convolution", "acme_blur")
        wrong = wrong.replace("{ r.impl", '{\n  r.op("acme.Blur").Input("X", "f32").Input("W", "f32").Output("Y", "f32")'
                              '.Shape("shape Y[dims(X)[0:2], dim(X, 2) - 1, dim(X, 3) - 1]")'
                              '.Pure("Y[b, 0, i, j] += X[b, 0, i + p, j + q] * W[0, 0, p, q] over p in 0:2, q in 0:2")'
                              '.Sample("X: f32[1, 1, 4, 4]; W: f32[1, 1, 2, 2]").Sample("X: f32[1, 1, 4, 4]; W: f32[1, 2, 2, 2]");\n  r.impl')
        text = self.headrace(self.build("convolution", "g++", wrong), "ops", "acme.Blur", "--test", code=4)
        self.assertRegex(text, r"  shifted +cpu +WRONG: output 0")
        self.assertRegex(text, r"  shifted +does not apply: more than one channel")

    def test_an_op_without_samples_or_of_no_plugin(self):
        self.assertIn("E0451", self.headrace(self.build("average"), "ops", "acme.Average", "--test", code=2))
        self.assertIn("did you mean 'Gate'?", self.headrace(self.build("ops"), "ops", "acme.Gata", "--test", code=2))
        self.assertIn("E0452", self.headrace(self.build("ops"), "ops", "--test", code=2))

    def test_an_external_function_with_a_state(self):
        path = self.write("average.sdfg", AVERAGE_TEXT)
        x = np.array([1, 2, 3, 4], np.float32)
        np.save(self.folder + "/four.npy", x)
        expected, value = [], 0.0
        for v in x:
            value = (value + v) / 2
            expected.append(value)
        onnx_path = self.save(model([helper.make_node("Average", ["x"], ["y"], domain="acme")], [("x", [4])], [("y", None)]), "average.onnx")
        for compiler in COMPILERS:
            plugin = self.build("average", compiler)
            for backend in BACKENDS:
                np.testing.assert_allclose(self.run_model(plugin, path, "Y", "--backend", backend, given=("X", "four")), expected, rtol=1e-6)
                np.testing.assert_allclose(self.run_model(plugin, onnx_path, "y", "--backend", backend, given=("x", "four")), expected, rtol=1e-6)

    def test_a_convolution_where_its_condition_holds(self):
        image = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
        np.save(self.folder + "/image.npy", image)
        w = np.array([[[[1, 2], [3, 4]]]], np.float32)
        nodes = [helper.make_node("Conv", ["x", "W"], ["h"], name="first"), helper.make_node("Conv", ["h", "W"], ["y"], name="second", pads=[1, 1, 1, 1])]
        path = self.save(model(nodes, [("x", [1, 1, 4, 4])], [("y", None)], [("W", w)]), "conv.onnx")
        reference = self.run_model(self.build("ops"), path, "y", given=("x", "image"))
        for compiler in COMPILERS:
            plugin = self.build("convolution", compiler)
            for backend in BACKENDS:
                got = self.run_model(plugin, path, "y", "--impl", "shifted", "--backend", backend, given=("x", "image"))
                np.testing.assert_allclose(got, reference, rtol=1e-6)
        text = self.headrace(plugin, "ops", "Conv", path)
        self.assertRegex(text, r"first \(onnx.Conv\)\n  shifted +acme_convolution +chosen")
        self.assertRegex(text, r"second \(onnx.Conv\)\n  shifted +acme_convolution +does not apply: it has pads\n  pure +\S+ +chosen")
        self.assertRegex(self.headrace(plugin, "compile", path, "--emit", "loops"), r"i0? \+ p|shifted|\+ q")
        text = self.headrace(plugin, "run", path, "--impl", "Conv=shifted", code=3)
        self.assertIn("error[E0321]: implementation 'shifted' does not apply: it has pads", text)
        self.assertIn("second", text)

    def test_a_pass_in_a_pipeline(self):
        path = self.write("scale.sdfg", SCALE_TEXT)
        ones = np.ones(4, np.float32)
        np.save(self.folder + "/ones.npy", ones)
        for compiler in COMPILERS:
            plugin = self.build("negate", compiler, None, "-Llib", "-lheadrace")
            for backend in BACKENDS:
                run = lambda *flags: self.run_model(plugin, path, "Y", "--backend", backend, *flags, given=("X", "ones"))
                np.testing.assert_array_equal(run(), [1, 2, 3, 4])
                # The same program, cached: the pipeline decides which compiled one is meant.
                np.testing.assert_array_equal(run("--pipeline", "acme-negate; default"), [-1, -2, -3, -4])
                np.testing.assert_array_equal(run("--pipeline", "default"), [1, 2, 3, 4])
                np.testing.assert_array_equal(run("--pipeline", "acme-negate; default; acme-negate"), [1, 2, 3, 4])
        self.headrace(plugin, "compile", path, "-o", "scale.hrx", "--pipeline", "default; acme-negate")
        np.testing.assert_array_equal(self.run_model(plugin, "scale.hrx", "Y", given=("X", "ones")), [-1, -2, -3, -4])
        self.headrace(plugin, "grad", path, "--output", "Y", "--wrt", "X", "--input", "X=@ones.npy", "--out", "g", "--pipeline", "acme-negate; default")
        np.testing.assert_array_equal(np.load(self.folder + "/g/X.npy"), [-1, -2, -3, -4])
        self.headrace(plugin, "bench", path, "--runs", "2", "--pipeline", "default; acme-negate")
        # y = 2 w x with w = 1 has learned what it is given, -2 w x has not.
        nodes = [helper.make_node("Constant", [], ["two"], value=numpy_helper.from_array(np.full(1, 2, np.float32))),
                 helper.make_node("Mul", ["x", "w"], ["h"]), helper.make_node("Mul", ["h", "two"], ["y"])]
        learned = self.save(model(nodes, [("x", ["N"])], [("y", ["N"])], [("w", np.ones(1, np.float32))]), "learned.onnx")
        np.savez(self.folder + "/twice.npz", x=np.ones(8, np.float32), target=np.full(8, 2, np.float32))
        for flags, w in (((), 1), (("--pipeline", "acme-negate; default"), 0.84), (("--pipeline", "default; acme-negate"), 0.84)):
            self.headrace(plugin, "train", learned, "--data", "twice.npz", "--loss", "mse", "--lr", "0.01", "--epochs", "1", "--batch", "8",
                          "--checkpoint", tempfile.mkdtemp(dir=self.folder), "--out", "trained.onnx", *flags)
            trained = numpy_helper.to_array(onnx.load(self.folder + "/trained.onnx").graph.initializer[0])
            np.testing.assert_allclose(trained, [w], rtol=1e-5)
        for pipeline in ("default; acme-negat", "acme-negat; default"):
            self.assertIn("did you mean 'acme-negate'?", self.headrace(plugin, "run", path, "--pipeline", pipeline, code=2))

    def test_a_plugin_that_does_not_load_says_why(self):
        bad = self.write("bad.cc", '#include "headrace_plugin.hpp"\nHEADRACE_PLUGIN("bad", "1") { r.op("acme.Bad").Input("X", "flaot").Output("Y", "float"); }\n')
        with open(os.path.join(self.folder, bad)) as f:
            text = self.headrace(self.build("ops", "g++", f.read()), "run", self.write("gate.sdfg", GATE_TEXT), code=1)
        self.assertIn("error[E0338]", text)
        self.assertIn("port 'X' of acme.Bad has unknown type 'flaot'", text)


if __name__ == "__main__":
    unittest.main()
