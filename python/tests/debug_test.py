"""What helps to see what happens: the log, what compilations leave, comparisons with a reference, reproducers."""

import io
import os
import tempfile
import unittest

from python.tests import onnx_models
from python.tests.case import Case, Wrong, headrace, np

SCALE = "sdfg scale(X: f32[N], Y: f32[N]) { map i in 0:N { Y[i] = 2 * X[i] } }"
TWICE = "sdfg twice(X: f64[N], inout Z: f64[N], Y: f64[N]) { map i in 0:N { Y[i] = 2 * X[i]; Z[i] = Z[i] + X[i] } }"


class LogTest(Case):
    def tearDown(self):
        headrace.set_log(None)

    def test_to_a_stream(self):
        out = io.StringIO()
        headrace.set_log("passes,cache", out)
        headrace.Sdfg.parse(SCALE).compile()
        lines = out.getvalue().splitlines()
        self.assertTrue(any(line.startswith("[passes] ") for line in lines))
        self.assertTrue(any(line.startswith("[cache] ") for line in lines))
        self.assertFalse(any(line.startswith("[choice] ") for line in lines))
        headrace.set_log(None)
        before = out.getvalue()
        headrace.Sdfg.parse(SCALE).apply("simplify")
        self.assertEqual(out.getvalue(), before)

    def test_all(self):
        out = io.StringIO()
        headrace.set_log(stream=out)
        headrace.Sdfg.parse("sdfg f(X: f32[4], Y: f32[4]) { onnx.Relu(X = X) -> (Y = Y) }").compile(backend="interpreter")
        self.assertIn("[choice] ", out.getvalue())

    def test_wrong_use(self):
        with self.fails(headrace.UsageError, "no topic 'pases'", "passes"):
            headrace.set_log("pases")
        with self.fails(TypeError, "write(str)"):
            headrace.set_log("passes", 3)


class DumpTest(Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def left(self):
        return sorted(os.listdir(self.folder))

    def test_an_argument(self):
        headrace.Sdfg.parse(SCALE).compile(dump_dir=self.folder)
        (name,) = self.left()
        self.assertTrue(name.startswith("scale-"))
        files = os.listdir(os.path.join(self.folder, name))
        self.assertLessEqual({"program.sdfg", "lowered.sdfg"}, set(files))
        self.assertTrue(any(f.endswith((".cc", ".cpp")) for f in files), files)
        again = headrace.Sdfg.load(os.path.join(self.folder, name, "program.sdfg"))
        self.assertEqual(again, headrace.Sdfg.parse(SCALE))
        headrace.Sdfg.parse(SCALE).compile(dump_dir=self.folder)
        self.assertEqual(self.left(), [name])  # the same program, the same folder

    def test_for_all(self):
        headrace.set_dump_dir(self.folder)
        self.addCleanup(headrace.set_dump_dir, None)

        @headrace.program
        def square(x):
            return np.sum(x * x)

        headrace.grad(square)(np.ones(3))
        square(np.ones(3))
        self.assertEqual(len(self.left()), 2)
        headrace.set_dump_dir(None)
        square(np.ones(4))
        self.assertEqual(len(self.left()), 2)

    def test_environment(self):
        os.environ["HEADRACE_DUMP_DIR"] = self.folder
        self.addCleanup(os.environ.pop, "HEADRACE_DUMP_DIR")
        headrace.Sdfg.parse(SCALE).compile(backend="interpreter")
        self.assertEqual(len(self.left()), 1)

    def test_functions_and_models(self):
        @headrace.program(dump_dir=self.folder)
        def half(x):
            return x / 2

        half(np.ones(3))
        headrace.ONNXModel("m", onnx_models.perceptron(), dump_dir=self.folder).compile()
        self.assertEqual(len(self.left()), 2)


class VerifyTest(Case):
    def test_what_is_right_passes(self):
        f = headrace.Sdfg.parse(TWICE).compile(verify="interpreter")
        x, z = np.arange(3.0), np.ones(3)
        self.close(f(x, z), 2 * x)
        self.close(z, 1 + x)  # changed once
        out = np.empty(3)
        f(x, z, out=[out])
        self.close(out, 2 * x)

    def test_what_is_wrong_is_named(self):
        f = headrace.Sdfg.parse(TWICE).compile(verify="interpreter")
        f._executable = Wrong(f._executable, 0, 2)
        with self.fails(headrace.MismatchError, "twice: output 'Y' is not what the interpreter gives at [2]", "got 5.0, expected 4.0",
                        "1 of 3 elements differ", "rtol 1e-09") as error:
            f(np.arange(3.0), np.ones(3))
        raised = error.error.exception
        self.assertEqual((raised.output, raised.place), ("Y", (2,)))
        self.assertEqual(raised.diagnostics[0]["node"], "Y")
        self.assertIsInstance(raised, headrace.HeadraceError)

    def test_arrays_that_are_changed(self):
        f = headrace.Sdfg.parse(TWICE).compile(verify="interpreter")
        reference = f._reference
        which = [p.name for p in f.outputs].index("Z")
        reference._executable = Wrong(reference._executable, which, 1)
        with self.fails(headrace.MismatchError, "'Z'", "at [1]: got 2.0, expected 3.0"):
            f(np.arange(3.0), np.ones(3))

    def test_nan_and_infinity_are_equal_to_themselves(self):
        f = headrace.Sdfg.parse(SCALE).compile(verify="interpreter")
        x = np.float32([np.nan, np.inf, -np.inf, 1])
        np.testing.assert_array_equal(f(x), 2 * x)

    def test_programs_against_numpy(self):
        @headrace.program(verify="reference")
        def f(x, y):
            y[1:] += x[:-1]
            return np.sum(x * y), y * 2

        x, y = np.arange(4.0), np.ones(4)
        total, twice = f(x, y)
        self.close(y, np.float64([1, 1, 2, 3]))
        self.close(twice, 2 * y)
        inner = f._versions[next(iter(f._versions))]
        inner.compiled._executable = Wrong(inner.compiled._executable, 1, 3)
        with self.fails(headrace.MismatchError, "f: output 'result[1]' is not what NumPy gives at [3]"):
            f(np.arange(4.0), np.ones(4))

    def test_gradients_of_them(self):
        for verify in ("reference", "interpreter"):
            @headrace.program(verify=verify)
            def f(x):
                return np.sum(np.sin(x))

            g = headrace.grad(f)
            x = np.linspace(0, 1, 5)
            self.close(g(x), np.cos(x))
            compiled = next(iter(g._versions.values())).compiled
            self.assertIsNotNone(compiled._reference)

    def test_programs_as_objects_against_themselves(self):
        for backend, verify, words in (("cpu", "interpreter", "the interpreter gives at"), ("cpu", "reference", "without passes gives at"),
                                       ("interpreter", "reference", "without passes gives at")):
            with self.subTest(backend=backend, verify=verify):
                f = headrace.Sdfg.parse(TWICE).compile(backend=backend, verify=verify)
                self.close(f(np.arange(3.0), np.ones(3)), 2 * np.arange(3.0))
                f._executable = Wrong(f._executable, 0, 2)
                with self.fails(headrace.MismatchError, words, "at [2]"):
                    f(np.arange(3.0), np.ones(3))

    def test_what_is_derived_on_the_interpreter(self):
        @headrace.program(verify="reference", backend="interpreter")
        def f(x):
            return np.sum(np.sin(x) * x)

        x = np.linspace(0, 1, 5)
        self.close(headrace.grad(f)(x), np.cos(x) * x + np.sin(x))
        self.close(headrace.vmap(f)(np.stack([x, 2 * x])), [np.sum(np.sin(v) * v) for v in (x, 2 * x)])
        self.close(headrace.jvp(f, [x], [np.ones(5)])[1], np.sum(np.cos(x) * x + np.sin(x)))
        self.close(headrace.hessian(f)(x), np.diag(2 * np.cos(x) - np.sin(x) * x))

    def test_gradients_of_models(self):
        x = np.ones((2, 4), np.float32)
        for verify in ("reference", "interpreter"):
            model = headrace.ONNXModel("m", onnx_models.perceptron(), verify=verify)
            name = next(iter(model.weights))
            gradient = model.grad([name])
            gradient(x)
            compiled = gradient._compiled
            which = [p.name for p in compiled.outputs].index(gradient.gradient.input_gradients[name])
            compiled._executable = Wrong(compiled._executable, which, (0, 0))
            with self.fails(headrace.MismatchError, "at [0, 0]"):
                gradient(x)

    def test_models(self):
        x = np.ones((2, 4), np.float32)
        for verify in ("reference", "interpreter"):
            model = headrace.ONNXModel("m", onnx_models.perceptron(), verify=verify)
            first = np.asarray(model(x))
            name = next(iter(model.weights))
            model.weights[name] = np.asarray(model.weights[name]) * 2
            self.assertFalse(np.allclose(np.asarray(model(x)), first))
            compiled = model._versions[-1].compiled
            compiled._executable = Wrong(compiled._executable, 0, (1, 0))
            with self.fails(headrace.MismatchError, "reference evaluator" if verify == "reference" else "interpreter", "[1, 0]"):
                model(x)

    def test_wrong_use(self):
        p = headrace.Sdfg.parse(SCALE)
        with self.fails(headrace.UsageError, "verify is 'reference' or 'interpreter', not 'numpy'"):
            p.compile(verify="numpy")
        with self.fails(headrace.UsageError, "compare the interpreter with itself"):
            p.compile(backend="interpreter", verify="interpreter")
        with self.fails(headrace.UsageError, "'reference' or 'interpreter'"):
            headrace.program(lambda x: x, verify="numpy")


class ReproducerTest(Case):
    def test_of_an_error(self):
        diagnostics = [{"code": "E0351", "hint": "please report it with the folder /tmp/some where"}]
        error = headrace.InternalError("pass 'p' failed", diagnostics)
        self.assertEqual(error.reproducer, "/tmp/some where")
        self.assertIsNone(headrace.InternalError("other").reproducer)


if __name__ == "__main__":
    unittest.main()
