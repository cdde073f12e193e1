"""Mixed precision of ONNX models and programs: bf16 and f16 products, inputs and results in float32."""

import unittest

from python.tests.case import Case, headrace

import numpy as np  # noqa: E402
import onnx  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

RANDOM = np.random.default_rng(0)
W, V = (RANDOM.standard_normal(s).astype(np.float32) for s in ((16, 24), (24, 5)))
X = RANDOM.standard_normal((6, 16)).astype(np.float32)
NEAR = {"bf16": (1e-4, 0.03), "f16": (1e-6, 0.003)}  # of the largest value: at least, at most


def network():
    value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    nodes = [helper.make_node("MatMul", ["x", "W"], ["h"]), helper.make_node("Relu", ["h"], ["r"]),
             helper.make_node("MatMul", ["r", "V"], ["s"]), helper.make_node("Softmax", ["s"], ["y"])]
    graph = helper.make_graph(nodes, "g", [value("x", ["n", 16])], [value("y", ["n", 5])],
                              [numpy_helper.from_array(W, "W"), numpy_helper.from_array(V, "V")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()


def exact(x, w=W):
    s = np.maximum(x.astype(np.float64) @ w, 0) @ V
    e = np.exp(s - s.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


class PrecisionTest(Case):
    def near(self, got, expected, kind):
        self.assertEqual(got.dtype, np.float32)
        distance = np.abs(got - expected).max() / np.abs(expected).max()
        least, most = NEAR[kind]
        self.assertLess(distance, most)
        self.assertGreater(distance, least)

    def test_models(self):
        for kind in NEAR:
            for backend in ("cpu", "interpreter"):
                with self.subTest(f"{kind} on {backend}"):
                    model = headrace.ONNXModel("m", network(), autocast=kind, backend=backend)
                    self.near(model(X), exact(X), kind)
                    model.weights["W"] = W * 2
                    self.near(model(X), exact(X, W * 2), kind)
        checked = headrace.ONNXModel("m", network(), autocast="bf16", verify="interpreter")
        self.near(checked(X), exact(X), "bf16")
        self.near(headrace.ONNXModel("m", network()).compile(autocast="bf16")(X), exact(X), "bf16")

    def test_gradients_of_models(self):
        wide = headrace.ONNXModel("m", network()).grad(["W", "x"])(X)
        narrow = headrace.ONNXModel("m", network(), autocast="bf16").grad(["W", "x"])(X)
        for name, expected in wide.items():
            self.assertEqual(narrow[name].dtype, np.float32)
            self.assertLess(np.abs(narrow[name] - expected).max(), 0.05 * max(np.abs(expected).max(), 1e-2), name)

    def test_sessions(self):
        session = headrace.InferenceSession(network(), autocast="bf16")
        self.assertEqual(session.get_outputs()[0].type, "tensor(float)")
        self.near(session.run(None, {"x": X})[0], exact(X), "bf16")

    def test_programs(self):
        text = "sdfg f(X: f32[N, 16], W: f32[16, 24], Y: f32[N, 24]) { onnx.MatMul(A = X, B = W) -> (Y = Y) }"
        program = headrace.Sdfg.parse(text)
        expected = X.astype(np.float64) @ W
        for kind in NEAR:
            self.near(program.compile(autocast=kind)(X, W), expected, kind)
            self.near(program.compile(autocast=kind, verify="reference")(X, W), expected, kind)
        program.apply("autocast{to=bf16}")
        self.assertIn("X_bf16", program.text)
        self.near(program(X, W), expected, "bf16")

    def test_wrong_use(self):
        for wrong in ("half", "f32", 16):
            with self.assertRaisesRegex(headrace.UsageError, "autocast is \"bf16\" or \"f16\""):
                headrace.ONNXModel("m", network(), autocast=wrong)
        with self.assertRaisesRegex(headrace.UsageError, "computes as the model is written, without autocast"):
            headrace.ONNXModel("m", network(), autocast="bf16", verify="reference")


if __name__ == "__main__":
    unittest.main()
