"""Floats below the smallest normal one: zero by default where there is no f64, exact with keep_denormals."""

import unittest

from python.tests.case import Case, headrace, np

TINY = float(np.finfo(np.float32).tiny)
SMALLEST = np.full(4, TINY, np.float32)
SIGMOID = (
    "sdfg sigmoid(X: f32[4], Y: f32[4]) { state { map i in 0:4 { Y[i] = X[i] < 0 ? exp(X[i]) / (1 + exp(X[i])) : 1 / (1 + exp(-X[i])) } } }"
)
HALVES = "sdfg halves(X: f32[4], Y: f32[4]) { state { map i in 0:4 { Y[i] = X[i] * 0.5 } } }"


def half(x):
    return x * np.float32(0.5)


def halves_of(t):
    """The test's own arithmetic, in NumPy, whatever runs before."""
    return np.full(4, TINY, t) / t(2)


class Denormals(Case):
    def test_compiled_text(self):
        sdfg = headrace.Sdfg.parse(HALVES)
        for backend in ("cpu", "interpreter"):
            np.testing.assert_array_equal(sdfg.compile(backend=backend)(SMALLEST), np.zeros(4), backend)
            np.testing.assert_array_equal(sdfg.compile(backend=backend, keep_denormals=True)(SMALLEST), halves_of(np.float32), backend)
        for verify in ("interpreter", "reference"):
            sdfg.compile(verify=verify)(SMALLEST)
            sdfg.compile(verify=verify, keep_denormals=True)(SMALLEST)

    def test_sigmoids(self):
        sdfg, x = headrace.Sdfg.parse(SIGMOID), np.array([-90, -88.5, -87, 3], np.float32)
        exact = np.exp(x.astype(np.float64)) / (1 + np.exp(x.astype(np.float64)))
        for backend in ("cpu", "interpreter"):
            kept = sdfg.compile(backend=backend, keep_denormals=True)(x)
            np.testing.assert_allclose(kept, exact, rtol=1e-5, err_msg=backend)
        np.testing.assert_allclose(sdfg.compile()(x), np.where(exact < TINY, 0, exact), rtol=1e-6)

    def test_callers_arithmetic_is_as_before(self):
        expected = halves_of(np.float32)
        self.assertGreater(expected[0], 0)
        headrace.program(half)(SMALLEST)
        np.testing.assert_array_equal(halves_of(np.float32), expected)

    def test_functions_and_their_gradients(self):
        def scaled(x):
            return np.sum(x * x * np.float32(0.5))

        def gradient(x, **options):
            return headrace.grad(headrace.program(scaled, **options))(x)

        np.testing.assert_array_equal(headrace.program(half)(SMALLEST), np.zeros(4))
        np.testing.assert_array_equal(headrace.program(keep_denormals=True)(half)(SMALLEST), halves_of(np.float32))
        below = SMALLEST * np.float32(0.25)
        np.testing.assert_array_equal(gradient(below), np.zeros(4))
        np.testing.assert_array_equal(gradient(below, keep_denormals=True), below)
        np.testing.assert_array_equal(gradient(SMALLEST * 4), gradient(SMALLEST * 4, keep_denormals=True))

    def test_doubles_are_exact(self):
        smallest = np.full(4, np.finfo(np.float64).tiny)
        np.testing.assert_array_equal(headrace.program(half_of_doubles)(smallest), smallest / 2)

    def test_models(self):
        try:
            from onnx import TensorProto, helper
        except ImportError:
            self.skipTest("no onnx")
        graph = helper.make_graph([helper.make_node("Mul", ["x", "h"], ["y"])], "g",
                                  [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])],
                                  [helper.make_tensor("h", TensorProto.FLOAT, [], [0.5])])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
        np.testing.assert_array_equal(headrace.ONNXModel("m", model)(SMALLEST), np.zeros(4))
        exact = headrace.ONNXModel("m", model, keep_denormals=True)
        np.testing.assert_array_equal(exact(SMALLEST), halves_of(np.float32))
        np.testing.assert_array_equal(exact.compile(keep_denormals=False)(SMALLEST), np.zeros(4))
        from headrace.onnx.session import InferenceSession, SessionOptions

        for entry, expected in ((None, np.zeros(4)), ("1", np.zeros(4)), ("0", halves_of(np.float32))):
            options = SessionOptions()
            if entry is not None:
                options.add_session_config_entry("session.set_denormal_as_zero", entry)
            got, = InferenceSession(model.SerializeToString(), options).run(None, {"x": SMALLEST})
            np.testing.assert_array_equal(got, expected, str(entry))

    def test_marks_in_the_text(self):
        marked = headrace.Sdfg.parse(HALVES.replace(") {", ") @flush {", 1))
        self.assertIn("Y: f32[4]) @flush {", marked.text)
        np.testing.assert_array_equal(marked.compile(optimize="none")(SMALLEST), np.zeros(4))
        np.testing.assert_array_equal(marked.compile(keep_denormals=True)(SMALLEST), halves_of(np.float32))


def half_of_doubles(x):
    return x * 0.5


if __name__ == "__main__":
    unittest.main()
