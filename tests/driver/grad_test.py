"""headrace grad as a user meets it: files, names, parameters of models, messages. usage: grad_test.py DRIVER"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
import onnx.parser
from onnx import TensorProto, helper, numpy_helper

DRIVER = os.path.abspath(sys.argv[1])

# L = Σ (X W + b)², with a constant that is a parameter.
LINEAR = """sdfg linear(X: f64[N, 3], b: f64[2], n: i64[N], Y: f64[N, 2], L: f64, K: i64[N]) {
  constant W: f64[3, 2] = [[1, 2], [3, -4], [0.5, 6]]
  map i in 0:N, j in 0:2 { Y[i, j] = b[j] }
  map i in 0:N, j in 0:2, k in 0:3 { Y[i, j] += X[i, k] * W[k, j] }
  L = 0
  map i in 0:N, j in 0:2 { L += Y[i, j] * Y[i, j] }
  map i in 0:N { K[i] = n[i] }
}
"""
W = np.array([[1, 2], [3, -4], [0.5, 6]])


class GradTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        self.environment = dict(os.environ, HEADRACE_CACHE_DIR=os.path.join(self.folder, "cache"))

    def path(self, name):
        return os.path.join(self.folder, name)

    def grad(self, *args, code=0):
        done = subprocess.run([DRIVER, "grad", *args], cwd=self.folder, capture_output=True, text=True, env=self.environment)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def text(self, text, name="f.sdfg"):
        with open(self.path(name), "w") as f:
            f.write(text)
        return name

    def save(self, name, value):
        np.save(self.path(name + ".npy"), value)
        return ["--input", f"{name}=@{name}.npy"]

    def gradients(self, out="out"):
        with open(self.path(out + "/index.json")) as f:
            index = json.load(f)
        return {name: np.load(self.path(f"{out}/{file}")) for name, file in index.items()}

    def linear(self):
        x, b = np.random.default_rng(0).normal(size=(4, 3)), np.array([0.5, -1])
        return self.text(LINEAR), x, b, self.save("X", x) + self.save("b", b)

    def test_all_gradients_of_ir_text_constants_included(self):
        file, x, b, inputs = self.linear()
        for backend in ("interpreter", "cpu"):
            self.grad(file, "--output", "L", "--wrt", "all", "--out", "out", "--backend", backend, *inputs)
            got, y = self.gradients(), x @ W + b
            self.assertEqual(set(got), {"X", "b", "W"})
            np.testing.assert_allclose(got["X"], 2 * y @ W.T, rtol=1e-12)
            np.testing.assert_allclose(got["W"], 2 * x.T @ y, rtol=1e-12)
            np.testing.assert_allclose(got["b"], 2 * y.sum(0), rtol=1e-12)

    def test_chosen_names_and_given_output_gradients(self):
        file, x, b, inputs = self.linear()
        seed = np.random.default_rng(1).normal(size=(4, 2))
        np.save(self.path("seed.npy"), seed)
        done = self.grad(file, "--output", "Y", "--output", "L", "--wrt", "W,X", "--output-grad", "Y=@seed.npy", "--out", "deep/er", "--backend",
                         "interpreter", "--json", *inputs)
        got, y = self.gradients("deep/er"), x @ W + b
        self.assertEqual(list(got), ["W", "X"])
        np.testing.assert_allclose(got["W"], x.T @ (2 * y + seed), rtol=1e-12)
        np.testing.assert_allclose(got["X"], (2 * y + seed) @ W.T, rtol=1e-12)
        said = json.loads(done.stdout)
        self.assertEqual(said["gradients"][0], {"name": "W", "dtype": "f64", "shape": [3, 2], "file": "deep/er/W.npy"})
        self.assertIn("kept", said)

    def test_seeded_inputs_and_sizes(self):
        file = self.text(LINEAR)
        results = []
        for seed in ("3", "3", "4"):
            self.grad(file, "--output", "L", "--wrt", "X", "--out", "out", "--backend", "interpreter", "--dim", "N=5", "--seed", seed)
            results.append(self.gradients()["X"])
        self.assertEqual(results[0].shape, (5, 3))
        np.testing.assert_array_equal(results[0], results[1])
        self.assertTrue((results[0] != results[2]).any())

    def test_onnx_parameters_by_initializer_names(self):
        # A transposed weight must not be folded away; scales of Resize are no parameter; names are not file names.
        w, v, scales = (np.random.default_rng(i).normal(size=s).astype(np.float32) for i, s in ((0, (2, 3)), (1, (2,)), (2, (2,))))
        scales = np.array([1, 2], np.float32)
        nodes = [helper.make_node("Transpose", ["layer/w:0"], ["wt"]), helper.make_node("MatMul", ["x", "wt"], ["h"]),
                 helper.make_node("Resize", ["h", "", "scales"], ["r"], mode="nearest"),
                 helper.make_node("Identity", ["v"], ["v2"]), helper.make_node("Concat", ["v2", "v"], ["vv"], axis=0),
                 helper.make_node("Mul", ["r", "vv"], ["y"])]
        value = lambda n, s: helper.make_tensor_value_info(n, TensorProto.FLOAT, s)
        graph = helper.make_graph(nodes, "g", [value("x", ["N", 3])], [value("y", ["N", 4])],
                                  [numpy_helper.from_array(a, n) for a, n in ((w, "layer/w:0"), (v, "v"), (scales, "scales"))])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), self.path("m.onnx"))
        x = np.random.default_rng(3).normal(size=(5, 3)).astype(np.float32)
        self.grad("m.onnx", "--output", "y", "--wrt", "all", "--out", "out", "--backend", "interpreter", *self.save("x", x))
        got = self.gradients()
        self.assertEqual(set(got), {"x", "layer/w:0", "v"})
        self.assertTrue(os.path.exists(self.path("out/layer_w_0.npy")))
        vv = np.concatenate([v, v])
        h_gradient = np.tile(vv.reshape(2, 2).sum(1), (5, 1))
        r = np.repeat(x @ w.T, 2, axis=1)
        np.testing.assert_allclose(got["x"], h_gradient @ w, rtol=1e-5)
        np.testing.assert_allclose(got["layer/w:0"], h_gradient.T @ x, rtol=1e-5)
        np.testing.assert_allclose(got["v"], r[:, :2].sum(0) + r[:, 2:].sum(0), rtol=1e-4)
        self.assertEqual(got["x"].dtype, np.float32)
        self.assertIn("'scales'", self.grad("m.onnx", "--output", "y", "--wrt", "scales", "--out", "out", code=2).stderr)

    def test_names_that_collide_as_files(self):
        self.text("sdfg f(`a/b`: f64, `a:b`: f64, `A_B`: f64, y: f64) {\n y = `a/b` * `a:b` * `A_B`\n}\n")
        for n, v in (("1", 2.0), ("2", 3.0), ("3", 5.0)):
            np.save(self.path(n + ".npy"), v)
        self.grad("f.sdfg", "--output", "y", "--wrt", "all", "--out", "out", "--backend", "interpreter", "--input", "a/b=@1.npy",
                  "--input", "a:b=@2.npy", "--input", "A_B=@3.npy")
        self.assertEqual({k: float(v) for k, v in self.gradients().items()}, {"a/b": 15, "a:b": 10, "A_B": 6})

    def test_what_is_kept_is_said(self):
        file = self.text("""sdfg f(X: f64[N], y: f64) {
  transient B: f64[N]
  map i in 0:N { B[i] = X[i] }
  for t in 0:4 { map i in 0:N { B[i] = sin(B[i]) * X[i] } }
  y = 0
  map i in 0:N { y += B[i] }
}
""")
        run = ["--output", "y", "--wrt", "X", "--out", "out", "--backend", "interpreter", "--dim", "N=1000"]
        done = self.grad(file, *run, "-v")
        self.assertIn("kept for the backward pass", done.stderr)
        self.assertIn("predicted peak", done.stderr)
        free = self.gradients()["X"]
        self.grad(file, *run, "--memory-limit", "1GiB")
        np.testing.assert_array_equal(self.gradients()["X"], free)
        self.assertRegex(self.grad(file, *run, "--memory-limit", "100", code=3).stderr, r"minimum of .* \(\d+ bytes\)")
        self.assertIn("2GiB", self.grad(file, *run, "--memory-limit", "lots", code=2).stderr)

    def test_a_number_as_the_gradient_of_an_output(self):
        file, _, _, inputs = self.linear()
        base = ["--out", "out", "--backend", "interpreter", "--output", "L", "--wrt", "X", *inputs]
        self.grad(file, *base)
        once = self.gradients()["X"]
        self.grad(file, *base, "--output-grad", "L=3")
        np.testing.assert_allclose(self.gradients()["X"], 3 * once, rtol=1e-12)

    def test_the_gradient_of_an_output_whose_size_the_run_tells(self):
        """Kept elements of X: a gradient of as many is taken, any other refused."""
        with open(self.path("kept.sdfg"), "w") as f:
            f.write("sdfg f(X: f32[N], C: bool[N], S: f32[K]) {\n"
                    " state { onnx.Compress{axis = 0}(input = X, condition = C) -> (output = S) } }")
        base = ["--out", "out", "--output", "S", "--wrt", "X", "--input", "X=[1,2,3]", "--input", "C=[true,false,true]"]
        for backend in ["interpreter", "cpu"]:
            with self.subTest(backend):
                self.grad("kept.sdfg", *base, "--backend", backend, "--output-grad", "S=[4,5]")
                np.testing.assert_array_equal(self.gradients()["X"], [4, 0, 5])
                for given in ["[1]", "[1,2,3]"]:
                    said = self.grad("kept.sdfg", *base, "--backend", backend, "--output-grad", f"S={given}", code=1).stderr
                    self.assertIn("f32[2], the program expects f32[", said)

    def test_mistakes(self):
        file, _, _, inputs = self.linear()
        base = ["--out", "out", "--backend", "interpreter", *inputs]
        self.assertIn("did you mean 'L'?", self.grad(file, "--output", "l", "--wrt", "all", *base, code=2).stderr)
        self.assertIn("'WW'", self.grad(file, "--output", "L", "--wrt", "WW", *base, code=2).stderr)
        self.assertIn("i64", self.grad(file, "--output", "K", "--wrt", "X", *base, code=2).stderr)
        self.assertIn("i64", self.grad(file, "--output", "L", "--wrt", "n", *base, code=2).stderr)
        self.assertIn("E0462", self.grad(file, "--output", "L", "--wrt", "X", "--output-grad", "L=three", *base, code=2).stderr)
        self.assertIn("chosen output", self.grad(file, "--output", "L", "--wrt", "X", "--output-grad", "Y=@X.npy", *base, code=2).stderr)
        self.grad(file, "--output", "L", "--wrt", "X", code=2)   # no --out
        self.grad("missing.onnx", "--output", "L", "--wrt", "X", "--out", "out", code=1)
        said = json.loads(self.grad(file, "--output", "l", "--wrt", "all", "--json", *base, code=2).stdout)
        self.assertEqual(said["exit"], 2)

    def test_sizes_that_turn_out_to_be_1_were_repeated(self):
        weights = np.arange(8, dtype=np.float32).reshape(4, 2)
        nodes = [helper.make_node("Expand", ["x", "shape"], ["y"]), helper.make_node("Mul", ["y", "w"], ["z"]), helper.make_node("ReduceSum", ["z"], ["loss"], keepdims=0)]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 2])], [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])],
                                  [numpy_helper.from_array(np.array([4, 2]), "shape"), numpy_helper.from_array(weights, "w")])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), self.path("m.onnx"))
        for n, expected in ((1, weights.sum(axis=0, keepdims=True)), (4, weights)):
            np.save(self.path("x.npy"), np.ones((n, 2), np.float32))
            for backend in ("interpreter", "cpu"):
                self.grad("m.onnx", "--output", "loss", "--wrt", "x", "--out", "out", "--input", "x=@x.npy", "--backend", backend)
                np.testing.assert_array_equal(self.gradients()["x"], expected)

    def test_outputs_whose_size_changes(self):
        """In a loop, and between branches; from ones and from given gradients."""
        grows = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 21]> g (double[N] x, int64 n) => (double[M] y) {
            y = Loop (n, , x) <body = l (int64 i, bool go, double[P] v) => (bool more, double[Q] w) { more = Identity(go) s = Mul(v, v) w = Concat<axis = 0>(s, x) }> }""")
        differs = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 21]> g (bool c, double[N] x) => (double[M] y) {
            t = If (c) <then_branch = a () => (double[P] u) { u = Mul(x, x) }, else_branch = b () => (double[R] v) { s = Sin(x) v = Concat<axis = 0>(s, x, x) }> y = Neg(t) }""")
        x, s = np.array([0.5, -1, 2]), np.arange(1.0, 10)
        for name, model, other, seed, expected in (
            ("grows", grows, ("n", np.int64(2)), s, s[:3] * 4 * x**3 + s[3:6] * 2 * x + s[6:]),
            ("grows", grows, ("n", np.int64(2)), None, 4 * x**3 + 2 * x + 1),
            ("then", differs, ("c", np.array(True)), s[:3], -2 * x * s[:3]),
            ("else", differs, ("c", np.array(False)), s, -(s[:3] * np.cos(x) + s[3:6] + s[6:])),
            ("else", differs, ("c", np.array(False)), None, -np.cos(x) - 2),
        ):
            onnx.save(model, self.path(name + ".onnx"))
            flags = []
            if seed is not None:
                np.save(self.path("seed.npy"), seed)
                flags = ["--output-grad", "y=@seed.npy"]
            for backend in ("interpreter", "cpu"):
                self.grad(name + ".onnx", "--output", "y", "--wrt", "x", "--out", "out", "--backend", backend, *self.save(*other), *self.save("x", x), *flags)
                np.testing.assert_allclose(self.gradients()["x"], expected, rtol=1e-12)

    def test_constructs_without_a_gradient_name_op_and_place(self):
        # Which element is taken is known only when it runs; a position that is known would be no sequence at all.
        nodes = [helper.make_node("SequenceConstruct", ["x", "x"], ["s"], name="pack"), helper.make_node("SequenceAt", ["s", "i"], ["y"], name="unpack")]
        value = lambda n: helper.make_tensor_value_info(n, TensorProto.FLOAT, [3])
        graph = helper.make_graph(nodes, "g", [value("x"), helper.make_tensor_value_info("i", TensorProto.INT64, [])], [value("y")])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), self.path("m.onnx"))
        error = self.grad("m.onnx", "--output", "y", "--wrt", "x", "--out", "out", code=3).stderr
        self.assertIn("Sequence", error)
        self.assertIn("m.onnx", error)
