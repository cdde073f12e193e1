"""Programs as objects: text, parameters, passes, gradients, compiled calls, wrong use."""

import copy
import os
import pickle
import tempfile
import threading
import unittest

from python.tests.case import Case, headrace, np

SCALE = """
sdfg scale(X: f32[N, M], a: f32, Y: f32[N, M]) {
  state { map i in 0:N, j in 0:M { Y[i, j] = a * X[i, j] } }
}
"""
LOSS = """
sdfg loss(X: f64[N], W: f64[N], L: f64) {
  state {
    L = 0
    map i in 0:N { L += X[i] * X[i] * W[i] }
  }
}
"""
UPDATE = "sdfg update(inout P: f64[N], G: f64[N]) { state { map i in 0:N { P[i] = P[i] - 0.5 * G[i] } } }"


class Objects(Case):
    def test_text_reads_back_as_the_same_program(self):
        program = headrace.Sdfg.parse(SCALE)
        self.assertEqual(headrace.Sdfg.parse(program.text), program)
        with tempfile.TemporaryDirectory() as folder:
            for name in ("p.sdfg", "p.json"):
                path = os.path.join(folder, name)
                program.save(path)
                self.assertEqual(headrace.Sdfg.load(path), program)

    def test_what_a_program_says_of_itself(self):
        program = headrace.Sdfg.parse(SCALE)
        self.assertEqual(program.name, "scale")
        self.assertEqual(program.symbols, ["N", "M"])
        self.assertEqual([repr(p) for p in program.parameters], ["in X: f32[N, M]", "in a: f32", "out Y: f32[N, M]"])
        self.assertEqual(program.json()["sdfgs"][0]["body"][0]["kind"], "state")

    def test_a_copy_is_another_program(self):
        program = headrace.Sdfg.parse("sdfg p(A: f32[4], B: f32[4]) { transient T: f32[4]\n state { onnx.Relu(X = A) -> (Y = T)\n"
                                      " onnx.Neg(X = T) -> (Y = B) } }")
        other = copy.deepcopy(program)
        other.expand_library_nodes()
        self.assertNotEqual(program, other)
        self.assertIn("onnx.Relu", program.text)
        self.assertNotIn("onnx.Relu", other.text)
        x = np.float32([-1, 0, 2, 3])
        self.close(program(x), other(x))

    def test_pickles(self):
        p = headrace.Sdfg.parse("sdfg s(X: f32[N, 3], W: f32[3], Y: f32[N, 3]) { map i in 0:N, j in 0:3 { Y[i, j] = X[i, j] * W[j] } }")
        p.input_to_constant(W=np.float32([1, np.nan, -0.0]))
        self.assertEqual(pickle.loads(pickle.dumps(p)), p)

    def test_compiled_programs_are_pickled_and_copied(self):
        x = np.arange(3.0)
        made = headrace.Sdfg.parse("sdfg f(X: f64[N], Y: f64[N]) { constant c: f64 = 2\n Y[i] = X[i] * X[i] + c }").compile(backend="interpreter")
        for other in (pickle.loads(pickle.dumps(made)), copy.copy(made), copy.deepcopy(made)):
            self.close(other(x), x * x + 2)
            self.assertEqual(other.name, "f")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "f.hrx")
            headrace.Sdfg.parse("sdfg f(X: f64[N], Y: f64[N]) { Y[i] = X[i] + 1 }").compile().save(path)
            with self.fails(TypeError, "pass the path on, and headrace.load(path) there"):
                pickle.dumps(headrace.load(path))

    def test_what_is_no_text_pass_or_name(self):
        p = headrace.Sdfg.parse("sdfg s(X: f32[N], Y: f32[N]) { map i in 0:N { Y[i] = X[i] } }")
        for wrong in (None, b"sdfg", 3):
            with self.fails(TypeError, "parse takes IR text, not"):
                headrace.Sdfg.parse(wrong)
        for wrong in (None, ["simplify"]):
            with self.fails(TypeError, "apply takes a text of passes"):
                p.apply(wrong)
        with self.fails(headrace.UsageError, "E0354", "'fuse' is a pipeline, and has no option 'max'"):
            p.apply("fuse{max=1}")
        with self.fails(TypeError, "optimize is", "not 3"):
            p.compile(optimize=3)
        for call in (p.containers, p.blocks):
            with self.fails(headrace.UsageError, f"the program has no sdfg 'q'; there are {p.name}"):
                call("q")
        with self.fails(KeyError, "the program has no constant 'W'"):
            p.constant("W")
        with self.fails(FileNotFoundError, "/nowhere/p.sdfg: there is no folder /nowhere"):
            p.save("/nowhere/p.sdfg")

    def test_errors_have_code_place_and_kind(self):
        with self.fails(headrace.InvalidError, "p.sdfg:2", "^") as e:
            headrace.Sdfg.parse("sdfg f(X: f32[4], Y: f32[4]) {\n  state { Y[0] = X[0 } }", "p.sdfg")
        self.assertIsInstance(e.error.exception, ValueError)
        self.assertEqual(e.error.exception.diagnostics[0]["line"], 2)
        self.assertRegex(e.error.exception.code, r"E0\d{3}")
        with self.fails(headrace.UsageError, "simplfy", "simplify"):
            headrace.Sdfg.parse(SCALE).apply("simplfy")
        with self.fails(headrace.UsageError, "did you mean 'cpu'"):
            headrace.Sdfg.parse(SCALE).compile(backend="cpi")


class Calls(Case):
    def test_by_position_and_by_name(self):
        program = headrace.Sdfg.parse(SCALE)
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        for backend in ("cpu", "interpreter"):
            f = program.compile(backend=backend)
            self.close(f(x, 2.0), 2 * x)
            self.close(f(a=np.float32(3), X=x), 3 * x)

    def test_sizes_that_only_results_have(self):
        p = headrace.Sdfg.parse("sdfg spread(x: f32[4], y: f32[n, 4], m: symbol, z: f32[4 * m]) {\n  map i in 0:n, j in 0:4 { y[i, j] = x[j] }\n"
                                "  map i in 0:4 * m { z[i] = x[i % 4] }\n}")
        x = np.arange(4, dtype=np.float32)
        for backend in ("cpu", "interpreter"):
            y, z = p.compile(backend=backend)(x, m=2, n=3)
            self.close(y, np.tile(x, (3, 1)))
            self.close(z, np.tile(x, 2))
        y, z = p.compile(verify="interpreter")(x, m=1, n=2)
        self.close(y, np.tile(x, (2, 1)))

    def test_strided_read_only_and_given_memory(self):
        f = headrace.Sdfg.parse(SCALE).compile()
        x = np.arange(24, dtype=np.float32).reshape(4, 6)
        self.close(f(x.T[::-2], 2.0), 2 * x.T[::-2])
        fixed = x.copy()
        fixed.flags.writeable = False
        y = np.zeros((4, 12), np.float32)
        result = f(fixed, 2.0, out=[y[:, ::2]])
        self.close(y[:, ::2], 2 * x)
        self.close(y[:, 1::2], 0 * x)
        self.assertIs(result.base, y)

    def test_updates_are_in_place(self):
        for backend in ("cpu", "interpreter"):
            p = np.array([1.0, 2.0, 3.0])
            headrace.Sdfg.parse(UPDATE).compile(backend=backend)(p, np.array([2.0, 2.0, 2.0]))
            self.close(p, np.array([0.0, 1.0, 2.0]))

    def test_wrong_use(self):
        f = headrace.Sdfg.parse(SCALE).compile()
        x = np.zeros((2, 3), np.float32)
        with self.fails(TypeError, "missing argument: a"):
            f(x)
        with self.fails(TypeError, "no argument named b"):
            f(x, b=1.0)
        with self.fails(TypeError, "takes 2 arrays (X, a), not 3"):
            f(x, 1.0, x)
        with self.fails(TypeError, "'X' takes an array of f32", "list"):
            f([1.0], 1.0)
        with self.fails(ValueError, "X has the wrong type", "f64", "f32"):
            f(x.astype(np.float64), 1.0)
        with self.fails(ValueError, "wrong number of dimensions"):
            f(x[0], 1.0)
        with self.fails(ValueError, "output Y is f32[2, 3]", "f32[3, 2]"):
            f(x, 1.0, out=[np.zeros((3, 2), np.float32)])
        frozen = np.zeros(3)
        frozen.flags.writeable = False
        with self.fails(ValueError, "P is read-only"):
            headrace.Sdfg.parse(UPDATE).compile()(frozen, np.zeros(3))

    def test_small_floats_and_other_types(self):
        import ml_dtypes
        for t, name in ((ml_dtypes.bfloat16, "bf16"), (np.float16, "f16"), (np.int8, "i8"), (np.uint64, "u64"), (np.bool_, "bool"),
                        (np.complex64, "c64"), (np.complex128, "c128")):
            f = headrace.Sdfg.parse(f"sdfg f(X: {name}[N], Y: {name}[N]) {{ state {{ map i in 0:N {{ Y[i] = X[N - 1 - i] }} }} }}").compile()
            x = np.array([1, 0, 1, 1, 0]).astype(t)
            y = f(x)
            self.assertEqual(y.dtype, x.dtype, name)
            self.assertEqual(y.tolist(), x[::-1].tolist(), name)

    def test_many_threads(self):
        f = headrace.Sdfg.parse(SCALE).compile(threads=1)
        wrong = []

        def work(k):
            for i in range(200):
                x = np.full((1 + (i + k) % 4, 2), i, np.float32)
                if not np.array_equal(f(x, 2.0), 2 * x):
                    wrong.append((k, i))

        threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])

    def test_artifacts(self):
        x = np.ones((2, 3), np.float32)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "scale.hrx")
            headrace.Sdfg.parse(SCALE).save(path)
            self.close(headrace.load(path)(x, 4.0), 4 * x)

    def test_an_artifact_is_no_program(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "scale.hrx")
            headrace.Sdfg.parse("sdfg scale(X: f32[N], Y: f32[N]) { map i in 0:N { Y[i] = 2 * X[i] } }").save(path)
            f = headrace.Sdfg.load(path)
            self.assertIsInstance(f, headrace.Compiled)
            self.assertEqual([str(p) for p in map(repr, f.parameters)], ["in X: f32[N]", "out Y: f32[N]"])
            self.assertEqual(repr(f), "<headrace.Compiled scale(in X: f32[N], out Y: f32[N])>")
            self.close(f(np.ones(3, np.float32)), np.full(3, 2, np.float32))
            with self.fails(AttributeError, "is code, and has no 'text'", 'program.save("x.sdfg")'):
                f.text
            with self.fails(AttributeError, "no attribute 'txet'"):
                f.txet


class Gradients(Case):
    def test_first_and_second(self):
        program = headrace.Sdfg.parse(LOSS)
        g = program.gradient(["L"], ["X"], keep_outputs=True)
        x, w = np.array([1.0, 2.0, 3.0]), np.array([1.0, -1.0, 0.5])
        names = [p.name for p in g.program.parameters if p.direction == "out"]
        results = dict(zip(names, g.program(x, w)))
        self.close(results["L"], np.float64(np.sum(x * x * w)))
        self.close(results[g.input_gradients["X"]], 2 * x * w)
        once = program.gradient(["L"], ["X"])
        of_x = once.input_gradients["X"]
        twice = once.program.gradient([of_x], ["X"])
        self.close(twice.program(x, w), 2 * w)

    def test_unknown_names(self):
        with self.fails(ValueError, "Z"):
            headrace.Sdfg.parse(LOSS).gradient(["L"], ["Z"])


if __name__ == "__main__":
    unittest.main()
