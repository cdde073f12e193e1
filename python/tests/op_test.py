"""Ops defined from Python: on arrays, in programs, in IR text, in ONNX models, their gradients, their samples, their errors."""

import unittest

import numpy as np
from case import Case, headrace

from headrace.onnx import eager

N = headrace.symbol("N")
PURE = "Y = max(X, 0) + log1p(exp(-abs(X)))"
BACKWARD = "dX = dY * (X < 0 ? exp(X) / (1 + exp(X)) : 1 / (1 + exp(-X)))"


def reference(X):
    return np.logaddexp(X, 0)


softplus = headrace.op("opt.Softplus", pure=PURE, backward=BACKWARD, samples=["X: f32[2, 3] in [-100, 100]; at 0, -0, 1e-30, 100"],
                       doc="Smooth maximum with zero.", reference=reference)
scaled = headrace.op("opt.Scaled", pure="Y[i, j] = alpha * X[i, j] + (B[j] ?: 0)", inputs={"X": "float", "B": "float?"},
                     outputs={"Y": "float"}, attributes={"alpha": 2.0}, shape="shape Y[dims(X)]",
                     samples=["X: f64[2, 3]; B: f64[3]; attr alpha = 0.5", "X: f32[3, 1]"])


@headrace.program
def loss(x: headrace.float64[N]):
    return np.sum(softplus(x * 2) * x)


class OpTest(Case):
    def test_on_arrays(self):
        x = np.linspace(-5, 5, 12).reshape(3, 4)
        self.close(softplus(x), reference(x), rtol=1e-12)
        self.close(softplus(X=x.astype(np.float32)), reference(x).astype(np.float32), rtol=1e-5)
        b = np.arange(4.0)
        self.close(scaled(x, b), 2 * x + b)
        self.close(scaled(x, B=b, alpha=3), 3 * x + b)
        self.close(scaled(x), 2 * x)
        self.assertEqual(softplus.__doc__.splitlines()[2], "Smooth maximum with zero.")
        self.assertEqual(softplus.implementations, ["pure"])

    def test_in_programs_and_their_gradients(self):
        x = np.linspace(-2, 2, 5)
        self.close(loss(x), np.sum(reference(2 * x) * x), rtol=1e-12)
        expected = reference(2 * x) + 2 * x / (1 + np.exp(-2 * x))
        self.close(headrace.grad(loss)(x), expected, rtol=1e-10)

    def test_in_ir_text(self):
        program = headrace.Sdfg.parse("sdfg f(X: f32[N, 3], Y: f32[N, 3]) { opt.Softplus(X = X) -> (Y = Y) }")
        x = np.float32([[1, -1, 0]])
        self.close(program(x), reference(x).astype(np.float32), rtol=1e-5)
        gradient = program.gradient(["Y"], ["X"]).program
        self.close(gradient(x), (1 / (1 + np.exp(-x))).astype(np.float32), rtol=1e-5)

    def test_in_onnx_models(self):
        from onnx import TensorProto, helper

        graph = helper.make_graph([helper.make_node("Softplus", ["x"], ["y"], domain="opt")], "g",
                                  [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 2])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("opt", 1), helper.make_opsetid("", 20)])
        model = headrace.ONNXModel("model", made)
        x = np.float32([[1, -2], [3, 4]])
        self.close(model(x), reference(x).astype(np.float32), rtol=1e-5)

    def test_samples(self):
        report = softplus.test()
        checked = {(what, verdict) for _, what, _, verdict, _ in report.checks}
        self.assertEqual(checked, {("pure", "runs"), ("pure", "agrees"), ("pure in f64", "agrees"), ("gradient X", "agrees"),
                                   ("reference", "agrees")})
        self.assertIn("[-100, 100]", str(report))
        with self.fails(AssertionError, "opt.Scaled", "reference", "wrong: Y[0, 0] is"):
            scaled.test(lambda X, alpha, B=None: alpha * X + 1, backends=["interpreter"])
        scaled.test(lambda X, alpha, B=0: alpha * X + B, backends=["interpreter"])
        wrong = headrace.op("opt.Wrong", pure=PURE, backward="dX = dY", samples=["X: f64[3]"])
        with self.fails(AssertionError, "gradient X", "wrong"):
            wrong.test(backends=["interpreter"])

    def test_samples_of_complex_numbers(self):
        def square(sample):
            return headrace.op("opt.Square", pure="Y = X * X", inputs={"X": "complex"}, outputs={"Y": "X"}, samples=[sample])

        self.assertEqual(square("X: c128[2]").test().wrong, 0)
        for sample, wrong in (("X: c128[2] = [1,2]", "drawn at random"), ("X: c64[2]; at 1", "a named point is a real number")):
            with self.fails(headrace.InvalidError, "E0453", "'X' is complex", wrong):
                square(sample).test()

    def test_a_definition_replaces_the_one_before(self):
        def define(factor):
            return headrace.op("opt.Times", pure=f"Y = {factor} * X")

        times = define(2)

        @headrace.program
        def cube(x: headrace.float64[N]):
            return np.sum(times(x) ** 3)

        x, gradient = np.array([1.0, 2.0]), headrace.grad(cube)
        text = headrace.Sdfg.parse("sdfg f(X: f64[N], Y: f64[N]) { opt.Times(X = X) -> (Y = Y) }")
        for factor in (2, 3, 5):
            times = define(factor)
            self.close(times(x), factor * x)
            self.close(cube(x), np.sum((factor * x) ** 3), rtol=1e-12)
            self.close(gradient(x), 3 * factor**3 * x**2, rtol=1e-12)
            self.close(text(x), factor * x)
        with self.fails(headrace.InvalidError, "opt.Times", "^"):  # what can't be read changes nothing
            headrace.op("opt.Times", pure="Y = * X")
        self.close(times(x), 5 * x)

    def test_ports_that_the_form_tells(self):
        softmax = headrace.op("opt.Softmax", pure="M[o..] max= X[o.., k@axis]\nE[o.., k] = exp(X[o.., k@axis] - M[o..])\n"
                              "S[o..] += E[o.., k]\nY[o.., k@axis] = E[o.., k] / S[o..]", attributes={"axis": -1},
                              shape="shape Y[dims(X)]")
        self.assertEqual((list(softmax.signature.inputs), list(softmax.signature.outputs)), (["X"], ["Y"]))
        x = np.random.default_rng(0).standard_normal((3, 4))
        e = np.exp(x - x.max(0, keepdims=True))
        self.close(softmax(x, axis=0), e / e.sum(0, keepdims=True), rtol=1e-12)
        product = headrace.op("opt.Product", pure="C[i, j] += A[i, k] * B[k, j]", shape="shape C[dim(A, 0), dim(B, 1)]")
        self.assertEqual(list(product.signature.inputs), ["A", "B"])
        a, b = x, x.T.copy()
        self.close(product(a, b), a @ b, rtol=1e-12)
        self.assertEqual(list(headrace.op("opt.Guarded", pure="Y[i] = X[i] + (X[i - 1] ?? Z[i])", shape="shape Y[dims(X)]")
                              .signature.inputs), ["X", "Z"])

    def test_variadic_and_typed_ports(self):
        joined = headrace.op("opt.Join", pure="let at = 0\neach T in Xs { Y[at + k] = T[k] over T\n let at = at + dim(T, 0) }",
                             inputs={"Xs": "float*"}, outputs={"Y": "float"},
                             shape="let n = 0\neach T in Xs { let n = n + dim(T, 0) }\nshape Y[n]")
        self.close(joined(np.arange(2.0), np.arange(3.0)), np.array([0.0, 1, 0, 1, 2]))
        rounded = headrace.op("opt.Rounded", pure="Y = i32(rint(X))", inputs={"X": headrace.float64}, outputs={"Y": "int32"},
                              shape="shape Y[dims(X)]")
        self.close(rounded(np.array([0.4, 1.6])), np.int32([0, 2]))
        with self.fails(TypeError, "input X is float32, and takes float64"):
            rounded(np.float32([1]))

    def test_numbers_take_the_type_of_the_arrays(self):
        plus = headrace.op("opt.Plus", pure="Y = X + b", inputs=["X", "b"], outputs=["Y"], shape="shape Y[dims(X)]")
        x = np.float32([1, 2])
        self.close(plus(x, 0.5), x + np.float32(0.5))

    def test_functions_that_there_are_not(self):
        for given, wrong in (({"pure": "Y = softpluss(X)"}, "its pure form calls 'softpluss', which is no function"),
                             ({"pure": "Y = X", "backward": "dX = epx(dY)"}, "its backward form calls 'epx', which is no function; did you mean 'exp'?"),
                             ({"pure": "Y = X", "shape": "shape Y[dim(X, rnk(X))]"}, "its shape rule calls 'rnk', which is no function; did you mean 'rank'?"),
                             ({"pure": "Y = max(X)"}, "its pure form calls 'max' with 1 arguments, and it takes 2")):
            with self.fails(headrace.InvalidError, "opt.Wrong: " + wrong):
                headrace.op("opt.Wrong", **given)
        own = headrace.op("opt.Own", pure="let twice(x) = 2 * x\nY = twice(X) + f32(1) * sum(dims(X))")
        self.close(own(np.ones(3, np.float32)), np.full(3, 5, np.float32))

    def test_wrong_definitions(self):
        op = headrace.op
        with self.fails(headrace.UsageError, 'headrace.op("my.Softplus", …)', "'Softplus'"):
            op("Softplus", pure=PURE)
        with self.fails(headrace.InvalidError, "E0301", "com.microsoft.FastGelu"):
            op("com.microsoft.FastGelu", pure=PURE)
        with self.fails(headrace.UsageError, "the sizes of its outputs are not said", "shape Y[dims(A)]"):
            op("opt.Sum2", pure="Y[i] = A[i, j] + B[i, j]")
        with self.fails(headrace.UsageError, "its inputs can't be told from the pure form", 'inputs={"X": "float"}'):
            op("opt.Each", pure="each T in Xs { Y[k] = T[k] }", shape="shape Y[1]")
        with self.fails(headrace.UsageError, "no pure form"):
            op("opt.None_")
        with self.fails(headrace.InvalidError, "^", "backward of opt.Bad"):
            op("opt.Bad", pure="Y = X", backward="dX = (")
        for backward, wrong in (("dX = dY * Q", "reads 'Q', which is no input or attribute"), ("dZ = dY", "gives 'dZ', which is the gradient of no input")):
            with self.fails(headrace.InvalidError, "opt.Bad: its backward form", wrong):
                op("opt.Bad", pure="Y = X", backward=backward)
        with self.fails(headrace.InvalidError, "opt.Bad: its pure form reads 'Q'"):
            op("opt.Bad", pure="Y = X + Q", inputs=["X"])
        with self.fails(TypeError, "the type of X is a dtype or a family of them (float, integer", "'floaty'"):
            op("opt.Bad", pure="Y = X", inputs={"X": "floaty"})
        with self.fails(headrace.UsageError, "letters, digits and _", "'Soft-plus'"):
            op("opt.Soft-plus", pure="Y = X")
        with self.fails(TypeError, "the name of an op is a text"):
            op(3, pure="Y = X")
        with self.fails(TypeError, "attribute k", "list[int]"):
            op("opt.Bad", pure="Y = k * X", attributes={"k": dict})
        with self.fails(TypeError, "samples is a list"):
            op("opt.Bad", pure="Y = X", samples="X: f32[2]")
        with self.fails(headrace.UsageError, "opt.Plain has no samples"):
            op("opt.Plain", pure="Y = X").test()
        with self.fails(ValueError, "no operators of domain 'opt2'"):
            headrace.onnx.domain("opt2")
        self.assertFalse(any(n == "Bad" for d, n, _ in headrace._core.op_versions() if d == "opt"))


eager.backend = "interpreter"

if __name__ == "__main__":
    unittest.main()
