"""Implementations and backward rules from Python: each kind, conditions, preferences, the order, what goes wrong."""

import unittest

import numpy as np
from case import Case, headrace

from headrace.compat import dace
from headrace.onnx import eager

eager.backend = "interpreter"
N = headrace.symbol("N")
X = np.linspace(-3, 3, 12, dtype=np.float32).reshape(3, 4)
SOFTPLUS = np.logaddexp(X, 0)
TEXT = "sdfg f(A: f32[N, M], B: f32[N, M]) { onnx.Softplus(X = A) -> (Y = B)%s }"


@headrace.onnx.implementation("Softplus", name="stable", when=lambda node: node.inputs["X"].dtype == "float32", priority=-1)
def stable(X):
    return np.maximum(X, 0) + np.log1p(np.exp(-abs(X)))


@headrace.onnx.implementation("Softplus", name="written", priority=-1)
def written(X, Y):  # as DaCeML's pure forms
    Y[:] = np.log(1 + np.exp(X))


@headrace.onnx.implementation("Softplus", name="of matrices", priority=-1)
def of_matrices(node):
    if node.inputs["X"].ndim != 2:
        raise ValueError("boom")
    return headrace.Sdfg.parse("sdfg m(X: f32[P, Q], Y: f32[P, Q]) { map i in 0:P, j in 0:Q { Y[i, j] = log1p(exp(X[i, j])) } }")


def only_small(node):
    return True if node.inputs["X"].shape[-1] == 4 else f"rows of {node.inputs['X'].shape[-1]}, not of 4"


@headrace.onnx.implementation("Softplus", name="small", when=only_small, priority=-1)
def small(node):
    size = node.inputs["X"].shape

    def body(X):
        Y = np.zeros(X.shape, np.float32)
        for i, j in headrace.map[0:size[0], 0:4]:
            Y[i, j] = np.log1p(np.exp(X[i, j]))
        return Y

    return body


class ImplementationTest(Case):
    def tearDown(self):
        for op in ("Softplus", "LeakyRelu", "Concat"):
            headrace.set_implementation(op, None)

    def test_each_kind(self):
        for name in ("stable", "written", "of matrices", "small"):
            with self.subTest(name):
                self.close(headrace.onnx.Softplus(X, implementation=name), SOFTPLUS, rtol=1e-5)
                program = headrace.Sdfg.parse(TEXT % f' impl "{name}"')
                if name != "small":  # it wants to know the size
                    self.close(program.compile(backend="interpreter")(X[:2]), SOFTPLUS[:2], rtol=1e-5)
        self.assertLessEqual({"stable", "written", "of matrices", "small", "pure"}, set(headrace.onnx.Softplus.implementations))

    def test_compiled(self):
        program = headrace.Sdfg.parse(TEXT % "")
        self.close(program.compile(implementations={"Softplus": "stable"})(X), SOFTPLUS, rtol=1e-5)
        self.assertIn("max", program.copy().apply('expand-library-nodes').text)
        stable_text = headrace.Sdfg.parse(TEXT % ' impl "written"').expand_library_nodes().simplify().text
        self.assertIn("log(", stable_text)

    def test_in_a_program(self):
        @headrace.program(backend="interpreter")
        def f(x: headrace.float32[N, 4]):
            return headrace.onnx.Softplus(x, implementation="small") * 2

        self.close(f(X), 2 * SOFTPLUS, rtol=1e-5)
        self.assertIn('impl "small"', f.sdfg.text)

    def test_attributes_lists_and_what_is_absent(self):
        @headrace.onnx.implementation("LeakyRelu", name="python", priority=-1)
        def leaky(X, alpha):
            return np.where(X < 0, alpha * X, X)

        self.close(headrace.onnx.LeakyRelu(X, alpha=0.5, implementation="python"), np.where(X < 0, 0.5 * X, X).astype(np.float32), rtol=1e-6)

        @headrace.onnx.implementation("Clip", name="python", priority=-1)
        def clip(input, min=None, max=None):
            low = input if min is None else np.maximum(input, min)
            return low if max is None else np.minimum(low, max)

        self.close(headrace.onnx.Clip(X, max=np.float32(1), implementation="python"), np.minimum(X, np.float32(1)))
        self.close(headrace.onnx.Clip(X, implementation="python"), X)

        @headrace.onnx.implementation("Sum", name="python", priority=-1)
        def total(data_0):
            result = data_0[0] * 1
            for other in data_0[1:]:
                result = result + other
            return result

        self.close(headrace.onnx.Sum(X, X, X, implementation="python"), 3 * X, rtol=1e-6)

    def test_outputs_that_are_written(self):
        @headrace.onnx.implementation("Softplus", name="written anew", priority=-1)
        def part(X, Y):  # begins with zeros
            Y[1:] += X[1:]

        self.close(headrace.onnx.Softplus(X[0], implementation="written anew"), np.concatenate([[0], X[0, 1:]]).astype(np.float32))

    def test_sizes_that_are_expressions(self):
        @headrace.program(backend="interpreter")
        def f(x: headrace.float32[N, 4]):
            return headrace.onnx.Softplus(np.reshape(x, (2 * N, 2)), implementation="stable")

        self.close(f(X), SOFTPLUS.reshape(6, 2), rtol=1e-5)

    def test_an_order_that_can_not_be_followed(self):
        program = headrace.Sdfg.parse(TEXT % ' impl "stabel"')
        with self.fails(headrace.UnsupportedError, "E0322", "there is no implementation 'stabel'", "did you mean 'stable'", "onnx.Softplus",
                        "small: rows of M, not of 4", "<text>:1"):
            program.compile(backend="interpreter")
        program = headrace.Sdfg.parse(TEXT.replace("f32", "f64") % ' impl "stable"')
        with self.fails(headrace.UnsupportedError, "implementation 'stable' does not apply: its condition does not hold", "'pure' is taken"):
            program.compile(backend="interpreter")
        with self.fails(headrace.UnsupportedError, "small", "rows of 3, not of 4"):
            headrace.onnx.Softplus(X[:, :3].copy(), implementation="small")

    def test_choices_and_preferences(self):
        program = headrace.Sdfg.parse(TEXT % "")
        choice, = program.choices()
        self.assertEqual((choice.op, choice.chosen), ("onnx.Softplus", "pure"))
        reasons = {c.name: c.why_not for c in choice.candidates}
        self.assertEqual((reasons["small"], reasons["stable"], reasons["pure"]), ("rows of M, not of 4", "", ""))
        self.assertIn("python:onnx.Softplus@small", {c.plugin for c in choice.candidates})
        headrace.set_implementation("Softplus", "stable")
        self.assertEqual(program.choices()[0].chosen, "stable")
        self.assertEqual(headrace.onnx.Softplus.default_implementation, "stable")
        headrace.onnx.Softplus.default_implementation = "small"  # where it applies
        self.assertEqual(program.choices()[0].chosen, "pure")
        headrace.set_implementation("onnx.Softplus", "of matrices")
        calls = []

        @headrace.onnx.implementation("Softplus", name="of matrices", priority=-1)
        def counted(node):
            calls.append(node)
            return of_matrices(node)

        self.addCleanup(headrace.onnx.implementation("Softplus", name="of matrices", priority=-1), of_matrices)
        self.close(program.compile(backend="interpreter")(X), SOFTPLUS, rtol=1e-5)
        self.assertTrue(calls)
        self.assertEqual(repr(calls[0]), "<node onnx.Softplus(X: f32[N, M]) -> (Y: f32[N, M])>")
        calls.clear()
        program.compile(backend="interpreter", implementations={"Softplus": "pure"})
        self.assertEqual(calls, [])
        gradient = program.gradient(["B"], ["A"], keep_outputs=True).program.compile(backend="interpreter")
        self.assertTrue(calls)  # of the forward part; the gradient is the pure form's
        self.close(gradient(X)[1], (1 / (1 + np.exp(-X))).astype(np.float32), rtol=1e-5)
        headrace.set_implementation("Softplus", None)
        self.assertIsNone(headrace.onnx.Softplus.default_implementation)
        dace.donnx.ONNXSoftplus.default_implementation = "stable"  # DaCeML's spelling
        self.assertEqual(program.choices()[0].chosen, "stable")
        with self.fails(headrace.UsageError, "no implementation 'stabel'; did you mean 'stable'?"):
            headrace.set_implementation("Softplus", "stabel")
        with self.fails(headrace.UsageError, "there is no op onnx.Softplu; did you mean 'Softplus'?"):
            headrace.set_implementation("Softplu", "stable")

    def test_exceptions_in_functions(self):
        with self.fails(headrace.InvalidError, "implementation 'of matrices' failed: ValueError: boom (implementation_test.py, line",
                        "op: onnx.Softplus") as expected:
            headrace.onnx.Softplus(X[0], implementation="of matrices")
        self.assertEqual(repr(expected.error.exception.__cause__), "ValueError('boom')")

        @headrace.onnx.implementation("Softplus", name="broken", priority=-1)
        def broken(X):
            return X @ open

        with self.fails(headrace.HeadraceError, "implementation 'broken' failed", "X @ open", "^^^"):
            headrace.onnx.Softplus(X, implementation="broken")

        @headrace.onnx.implementation("Softplus", name="asks", when=lambda node: node.inputs["Z"] is None, priority=-1)
        def asks(X):
            return X

        with self.fails(headrace.UnsupportedError, "its condition failed: KeyError: 'Z'"):
            headrace.onnx.Softplus(X, implementation="asks")
        for parameters, part in (("Z: f32[N], Y: f32[N]", "Z, which is no port of onnx.Softplus: it has X, Y"),
                                 ("X: f32[N]", "no parameter Y"), ("X: f32[N], Y: f32[N], k: symbol", "a size k that no argument tells"),
                                 ("X: f32[N, M], Y: f32[N, M]", "takes in X: f32[N, M], and onnx.Softplus has X: f32[4]")):
            written = "Y" if "Y" in parameters else "X"
            text = f"sdfg f({parameters}) {{ {written}[{'0, 0' if 'M' in parameters else '0'}] = {'f32(k)' if 'k:' in parameters else '1'} }}"
            with self.subTest(part), self.fails(headrace.HeadraceError, part):
                self.text_as_implementation(text)

    def text_as_implementation(self, made):
        def give(node):
            return made

        headrace.onnx.implementation("Softplus", name="text", priority=-1)(give)
        headrace.onnx.Softplus(X[0], implementation="text")

    def test_interrupts_in_functions(self):
        def interrupted(node):
            raise KeyboardInterrupt

        self.addCleanup(headrace._core.withdraw, "python:onnx.Softplus@interrupted")
        program = headrace.Sdfg.parse(TEXT % ' impl "interrupted"')
        for options in ({"when": interrupted}, {}):
            headrace.onnx.implementation("Softplus", name="interrupted", priority=-1, **options)(interrupted)
            with self.assertRaises(KeyboardInterrupt):
                program.compile(backend="interpreter")
                for _ in range(1000):  # where nothing polled, Python sees it here
                    pass

    def test_wrong_functions(self):
        def parameters(Q):
            return Q

        def two(X):
            return X, X

        def shape(X):
            return X[1:]

        def total(X):
            return np.sum(X)

        def changes(X):
            X[0] = 1
            return X * 1

        for function, part in ((parameters, "a parameter Q, which is no port or attribute of onnx.Softplus: it has X, Y"),
                               (two, "two gives 2 results, and 1 are wanted: Y"), (shape, "Y has shape (3,), and the op's Y has (4,)"),
                               (total, "Y has shape (), and the op's Y has (4,)"), (changes, "changes its argument X")):
            headrace.onnx.implementation("Softplus", name="wrong", priority=-1)(function)
            with self.subTest(part), self.fails(headrace.HeadraceError, part):
                headrace.onnx.Softplus(X[0], implementation="wrong")
        with self.fails(TypeError, "a C function of ctypes or (path of a library, symbol), not int"):
            headrace.onnx.implementation("Softplus", name="wrong")(3)


class BackwardTest(Case):
    def setUp(self):
        self.op = headrace.op("rules.Square", pure="Y = X * X + 0 * Z", inputs=["X", "Z"], outputs=["Y"], shape="shape Y[dims(X)]")
        self.program = headrace.Sdfg.parse("sdfg f(X: f64[N], Z: f64[N], Y: f64[N]) { rules.Square(X = X, Z = Z) -> (Y = Y) }")

    def gradient(self, *inputs):
        x, z = np.array([1.0, 2, 3]), np.zeros(3)
        g = self.program.gradient(["Y"], list(inputs), keep_outputs=True).program
        return g.compile(backend="interpreter")(*[{"X": x, "Z": z}[p.name] for p in g.parameters if p.direction != "out"])[1:]

    def test_classes_functions_and_the_order(self):
        self.close(self.gradient("X")[0], [2.0, 4, 6])  # the derivative of the pure form
        seen = []

        @headrace.backward_implementation("rules.Square", name="tested")
        class Rule(headrace.BackwardImplementation):
            @staticmethod
            def backward_can_be_applied(node):
                return True if node.inputs["X"].dtype == "float64" else "only float64"

            @staticmethod
            def backward(context, given, required):
                seen.append((context.op, list(given), list(required), str(context.inputs["X"].shape[0])))

                def rule(X, dY):
                    return [100 * X * dY, 7 * dY][:1] if required == ["X"] else (100 * X * dY, 7 * dY)

                return rule

        self.close(self.gradient("X")[0], [100.0, 200, 300])
        self.assertIn(("rules.Square", ["Y"], ["X"], "N"), seen)
        both = self.gradient("X", "Z")
        self.close(both[0], [100.0, 200, 300])
        self.close(both[1], [7.0, 7, 7])
        single = headrace.Sdfg.parse(self.program.text.replace("f64", "f32")).gradient(["Y"], ["X"]).program
        self.close(single.compile(backend="interpreter")(X=np.float32([1, 2]), Z=np.float32([0, 0])), np.float32([2, 4]))  # the rule does not apply

        @headrace.backward_implementation("rules.Square", name="tested")  # replaces it
        def square_backward(X, dY):
            return 10 * X * dY, 0.0

        self.close(self.gradient("X")[0], [10.0, 20, 30])
        self.close(self.gradient("Z")[0], [0.0, 0, 0])

        @headrace.backward_implementation("rules.Square", name="programs", priority=2)
        class Program(headrace.BackwardImplementation):
            @staticmethod
            def backward(context, given, required):
                if required != ["X"]:
                    raise RuntimeError("only by X")
                text = "sdfg r(X: f64[K], gy: f64[K], gx: f64[K]) { map i in 0:K { gx[i] = 5 * X[i] * gy[i] } }"
                return headrace.BackwardResult({"X": "gx"}, {"Y": "gy"}, program=headrace.Sdfg.parse(text))

        self.close(self.gradient("X")[0], [5.0, 10, 15])
        with self.fails(headrace.InvalidError, "backward rule 'programs' failed: RuntimeError: only by X", "rules.Square") as expected:
            self.gradient("Z")
        self.assertIsInstance(expected.error.exception.__cause__, RuntimeError)

        @headrace.backward_implementation("rules.Square", name="programs", priority=2)
        @headrace.program
        def annotated(X: headrace.float64[N], dY: headrace.float64[N], dX: headrace.float64[N], dZ: headrace.float64[N]):
            dX[1:] = 3 * X[1:] * dY[1:]
            dZ[:1] = 1

        self.close(self.gradient("X")[0], [0.0, 6, 9])
        self.close(self.gradient("Z")[0], [1.0, 0, 0])

        @headrace.backward_implementation("rules.Square", name="programs", priority=2)
        @headrace.program
        def forgetful(X: headrace.float64[N], dY: headrace.float64[N], dX: headrace.float64[N], dZ: headrace.float64[N]):
            dX[:] = dY

        with self.fails(headrace.InvalidError, "forgetful does not write its parameter dZ, which rules.Square gives"):
            self.gradient("X", "Z")

        @headrace.backward_implementation("rules.Square", name="programs", priority=2)
        @headrace.program
        def clumsy(X: headrace.float64[N], dY: headrace.float64[N], dX: headrace.float64[N]):
            X *= 2
            dX[:] = X * dY

        with self.fails(headrace.InvalidError, "changes its argument X: rules.Square leaves its inputs alone"):
            self.gradient("X")

        @headrace.backward_implementation("rules.Square", name="programs", priority=2)
        class Program(headrace.BackwardImplementation):
            @staticmethod
            def backward(context, given, required):
                raise RuntimeError("only by X")

        @headrace.program(backend="interpreter")
        def f(x: headrace.float64[N]):
            return np.sum(self.op(x, x))

        with self.fails(headrace.InvalidError, "only by X"):  # of both
            headrace.grad(f)(np.ones(2))

    def test_of_an_onnx_operator(self):
        @headrace.backward_implementation("Softplus", name="doubled")
        def doubled(X, dY):
            return 2 * dY / (1 + np.exp(-X))

        self.addCleanup(headrace._core.withdraw, "python:backward of onnx.Softplus@doubled")
        program = headrace.Sdfg.parse(TEXT % "").gradient(["B"], ["A"]).program
        self.close(program.compile(backend="interpreter")(X), (2 / (1 + np.exp(-X))).astype(np.float32), rtol=1e-5)


if __name__ == "__main__":
    unittest.main()
