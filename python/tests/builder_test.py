"""Programs that are built, walked and changed as objects."""

import os
import tempfile
import unittest
import warnings

from python.tests.case import Case, headrace, np

N = headrace.symbol("N")
MISH = """
sdfg main(X: f32[N, 4], Y: f32[N, 4], Z: f32[N, 4]) {
  transient S: f32[N, 4]
  transient T: f32[N, 4]
  transient M: f32[N, 4]
  onnx.Softplus(X = X) -> (Y = S) from "plus"
  onnx.Neg(X = X) -> (Y = Z)
  onnx.Tanh(input = S) -> (output = T) from "tanh"
  onnx.Mul(A = X, B = T) -> (C = M)
  onnx.Relu(X = M) -> (Y = Y)
}
"""
PATTERN = """
sdfg p(X: f32[A, B], Y: f32[A, B]) {
  transient S: f32[A, B]
  transient T: f32[A, B]
  onnx.Softplus(X = X) -> (Y = S)
  onnx.Tanh(input = S) -> (output = T)
  onnx.Mul(A = X, B = T) -> (C = Y)
}
"""
FUSED = "sdfg fused(X: f32[A, B], Y: f32[A, B]) { map i in 0:A, j in 0:B { Y[i, j] = X[i, j] * tanh(log1p(exp(X[i, j]))) } }"


def collatz():
    """Counts steps until 1, with everything that a builder has."""
    b = headrace.SdfgBuilder("collatz")
    b.parameter("X", "i64", ["N"])
    b.parameter("Y", headrace.float64[N])
    b.parameter("Z", np.float64, ["N"])
    b.constant("scale", np.float64([2, 0.5]))
    for name in ("v", "steps"):
        b.transient(name, "i64")
    b.transient("T", "f64", ["N"])
    with b.loop(t="0:N"):
        b.tasklet("v = X[t]")
        b.tasklet("steps", 0)
        with b.while_("v > 1"):
            with b.branch("v % 2 == 0"):
                b.tasklet("v", "v // 2")
            with b.otherwise("v > 1000000"):
                b.leave()
            with b.otherwise():
                b.tasklet("v", "3 * v + 1")
            b.tasklet("steps += 1")
        b.tasklet("T[t] = f64(steps)")
    with b.state("last"):
        with b.map(i=(0, "N")):
            b.tasklet("Y[i]", "T[i] * scale[0]")
        b.library("onnx.Mul", {"A": "T", "B": "T"}, {"C": "Z"}, version=14)
    return b.build()


class Building(Case):
    def test_everything(self):
        def steps(n):
            k = 0
            while n > 1:
                n, k = (n // 2 if n % 2 == 0 else 3 * n + 1), k + 1
            return k

        x = np.array([1, 7, 27, 6])
        y, z = collatz()(x)
        expected = np.array([steps(int(n)) for n in x], np.float64)
        self.close(y, 2 * expected)
        self.close(z, expected ** 2)

    def test_calls_views_and_sizes_from_data(self):
        inner = headrace.Sdfg.parse("sdfg double(A: f32[K], B: f32[K]) { map i in 0:K { B[i] = 2 * A[i] } }")
        b = headrace.SdfgBuilder("outer")
        b.parameter("X", "f32", ["N", 3])
        b.parameter("k", "i64")
        b.parameter("Y", "f32", ["3*N"])
        b.view("V", "X", ["3*N"])
        b.transient("D", "f32", ["3*N"])
        b.call(inner, {"A": "V", "B": "D"})
        b.let("n", "k")
        b.require("N > 0", "N is {}", ["N"])
        with b.map(i="0:3*N"):
            b.tasklet("Y[i] = i < n ? D[i] : 0")
        program = b.build()
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        self.close(program(x, 4), np.float32([0, 2, 4, 6, 0, 0]))
        with tempfile.TemporaryDirectory() as folder:
            for name in ("p.sdfg", "p.json"):
                program.save(os.path.join(folder, name))
                self.assertEqual(headrace.Sdfg.load(os.path.join(folder, name)), program)

    def test_errors_are_those_of_the_call(self):
        b = headrace.SdfgBuilder("wrong")
        b.parameter("X", "f32", ["N"])
        b.parameter("Y", "f32", ["N"])
        for kind, parts, call in (
                (headrace.InvalidError, ("Q", "builder_test.py", "^"), lambda: b.tasklet("Y[0] = Q[0]")),
                (headrace.InvalidError, ("Y[0] = X[0",), lambda: b.tasklet("Y[0] = X[0")),
                (headrace.InvalidError, ("f33",), lambda: b.transient("T", "f33", ["N"])),
                (TypeError, ("headrace.float32",), lambda: b.transient("T", object)),
                (TypeError, ("a list of sizes",), lambda: b.transient("T", "f32", "N")),
                (TypeError, ("a size is an integer, a text or a symbol, not 2.5",), lambda: b.transient("T", "f32", [2.5])),
                (ValueError, ("T: a size is not negative: -3",), lambda: b.transient("T", "f32", [-3])),
                (headrace.InvalidError, ("no op onnx.Rleu; did you mean onnx.Relu?",),
                 lambda: b.library("onnx.Rleu", {"X": "X"}, {"Y": "Y"})),
                (headrace.UsageError, ("right after a branch",), lambda: b.otherwise().__enter__()),
                (headrace.InvalidError, ("nothing", ), lambda: b.call("nothing", {"X": "X"}))):
            with self.subTest(parts), self.fails(kind, *parts):
                call()
        with b.state():
            with self.fails(headrace.UsageError, "a state is still open"):
                b.build()
        with self.fails(headrace.InvalidError, "a read of 'X' dimension 0 is outside", "node: builder_test.py:"):
            with b.map(i="0:N"):
                b.tasklet("Y[i] = X[i + 1]")
            b.build()

    def test_attributes_are_those_of_the_op(self):
        for op, ports, attributes, parts in (
                ("onnx.Relu", ("X", "Y"), {"foo": 1}, ("E0311", "the op has no attribute 'foo'")),
                ("onnx.Softmax", ("input", "output"), {"axes": 1}, ("the op has no attribute 'axes'", "did you mean 'axis'?")),
                ("onnx.Softmax", ("input", "output"), {"axis": "a"}, ("attribute 'axis' is of another kind", "got: a string", "expected: an integer"))):
            b = headrace.SdfgBuilder("wrong")
            x, y = b.parameter("X", "f32", ["N", 3]), b.parameter("Y", "f32", ["N", 3])
            b.library(op, {ports[0]: x}, {ports[1]: y}, attributes)
            with self.fails(headrace.InvalidError, *parts):
                b.build().compile(backend="interpreter")

    def test_an_exception_leaves_the_program_as_it_was(self):
        b = headrace.SdfgBuilder("f")
        b.parameter("X", "f32", ["N"])
        b.parameter("Y", "f32", ["N"])
        with b.state():
            with self.assertRaises(headrace.InvalidError), b.map(i="0:N"):
                b.tasklet("Y[i] = X[i]")
                b.tasklet("Z[i] = X[i]")
            with self.assertRaises(KeyError), b.map(i="0:N"), b.map(j="0:N"):
                raise KeyError("of the caller")
            with b.map(i="0:N"):
                b.tasklet("Y[i] = 2 * X[i]")
        with b.branch("N > 4"), b.map(i="0:N"):
            b.tasklet("Y[i] += 1")
        with self.assertRaises(ZeroDivisionError), b.otherwise():
            b.let("K", "N")
            1 / 0
        with b.otherwise(), b.map(i="0:N"):  # still right after the branch
            b.tasklet("Y[i] += 2")
        program = b.build()
        self.close(program(np.ones(3, np.float32)), np.full(3, 4, np.float32))
        self.close(program(np.ones(5, np.float32)), np.full(5, 3, np.float32))
        self.assertNotIn("K", program.text)

    def test_ops_are_looked_up_once(self):
        from headrace import _core

        b = headrace.SdfgBuilder("f")
        x, y = b.parameter("X", "f32", ["N"]), b.parameter("Y", "f32", ["N"])
        b.library("onnx.Relu", {"X": x}, {"Y": y})
        looked_up, original = [], _core.op_versions
        _core.op_versions = lambda: looked_up.append(1) or original()
        try:
            for _ in range(50):
                b.library("onnx.Relu", {"X": x}, {"Y": y})
            self.assertEqual(looked_up, [])
            with self.fails(headrace.InvalidError, "no op onnx.Rellu; did you mean onnx.Relu?"):
                b.library("onnx.Rellu", {"X": x}, {"Y": y})
        finally:
            _core.op_versions = original

    def test_origins_are_lines_of_the_caller(self):
        node = next(collatz().nodes("library"))
        self.assertRegex(node.origin, r"^builder_test.py:\d+$")


class Walking(Case):
    def test_containers_nodes_and_edges(self):
        program = headrace.Sdfg.parse(MISH)
        found = {c.name: c for c in program.containers()}
        self.assertEqual([(c.name, c.kind, c.direction) for c in program.containers()][:3],
                         [("X", "parameter", "in"), ("Y", "parameter", "out"), ("Z", "parameter", "out")])
        self.assertEqual((found["S"].kind, found["S"].type, found["S"].shape), ("transient", "f32", ("N", 4)))
        nodes = list(program.nodes())
        self.assertEqual([n.op for n in nodes], [f"onnx.{o}" for o in ("Softplus", "Neg", "Tanh", "Mul", "Relu")])
        self.assertEqual((nodes[0].origin, nodes[3].inputs, nodes[3].outputs), ("plus", {"A": "X", "B": "T"}, {"C": "M"}))
        self.assertEqual([(m.container, m.write, m.subset) for m in nodes[0].memlets],
                         [("X", False, ["0:N", "0:4"]), ("S", True, ["0:N", "0:4"])])
        self.assertEqual([(e.source.op, e.target.op, e.container) for e in program.edges()],
                         [("onnx.Softplus", "onnx.Tanh", "S"), ("onnx.Tanh", "onnx.Mul", "T"), ("onnx.Mul", "onnx.Relu", "M")])

    def test_control_flow(self):
        program = collatz()
        kinds = [b.kind for top in program.blocks() for b in top]
        self.assertEqual((kinds.count("loop"), kinds.count("if"), kinds.count("break")), (2, 1, 1))
        loop = next(b for b in program.blocks() if b.kind == "loop")
        self.assertTrue(loop.text.startswith("for t = 0"), loop.text)
        m = next(program.nodes("map"))
        self.assertEqual((m.ranges, [n.kind for n in m.body]), ([("i", "0", "N", "1")], ["tasklet"]))
        self.assertEqual((m.body[0].target, m.body[0].operator), ("Y", "="))
        with self.fails(headrace.UsageError, "library"):
            list(program.nodes("node"))


class Changing(Case):
    def test_a_pattern_is_replaced(self):
        x = np.random.default_rng(0).standard_normal((3, 4), np.float32)
        program = headrace.Sdfg.parse(MISH)
        expected = program.copy()(x)
        self.assertEqual(headrace.replace(PATTERN, FUSED)(program), 1)
        self.assertEqual([n.kind for n in program.nodes() if n.sdfg == "main"], ["library", "call", "library"])
        self.assertEqual(next(program.nodes("call")).origin, "plus+tanh")
        self.assertNotIn("Softplus", program.text)
        for got, e in zip(program(x), expected):
            self.close(got, e, rtol=1e-5)
        self.assertEqual(headrace.replace(PATTERN, FUSED)(program), 0)

    def test_programs_of_numpy_as_pattern_and_replacement(self):
        @headrace.program
        def two(x: headrace.float32[N, 4]):
            return headrace.onnx.Neg(headrace.onnx.Relu(x))

        @headrace.program
        def one(x: headrace.float32[N, 4]):
            return -np.maximum(x, 0)

        text = """sdfg m(X: f32[M, 4], Y: f32[M, 4]) { transient A: f32[M, 4] transient B: f32[M, 4] transient C: f32[M, 4]
          onnx.Relu(X = X) -> (Y = A) onnx.Neg(X = A) -> (Y = B) onnx.Relu(X = B) -> (Y = C) onnx.Neg(X = C) -> (Y = Y) }"""
        program = headrace.Sdfg.parse(text.replace("] transient", "]\n transient").replace(") onnx", ")\n onnx").replace("4] onnx", "4]\n onnx"))
        x = np.random.default_rng(1).standard_normal((2, 4)).astype(np.float32)
        expected = program.copy()(x)
        program.apply(headrace.replace(two, one))
        self.assertEqual(len(list(program.nodes("call"))), 2)
        self.close(program(x), expected)

    def test_what_is_used_elsewhere_stays(self):
        for more in ("onnx.Neg(X = S) -> (Y = Z)", "onnx.Neg(X = T) -> (Y = Z)"):
            program = headrace.Sdfg.parse(MISH.replace("onnx.Neg(X = X) -> (Y = Z)", "").replace("  onnx.Relu", f"  {more}\n  onnx.Relu"))
            self.assertEqual(headrace.replace(PATTERN, FUSED)(program), 0, more)
        other_attribute = headrace.Sdfg.parse("sdfg f(X: f32[N], Y: f32[N]) { onnx.Elu{alpha = 2.0}(X = X) -> (Y = Y) }")
        rule = [f"sdfg g(X: f32[N], Y: f32[N]) {{ onnx.{op}(X = X) -> (Y = Y) }}" for op in ("Elu{alpha = 3.0}", "Relu")]
        self.assertEqual(headrace.replace(*rule)(other_attribute), 0)
        self.assertEqual(headrace.replace(rule[0].replace("3.0", "2.0"), rule[1])(other_attribute), 1)

    def test_no_pattern(self):
        program = headrace.Sdfg.parse(MISH)
        with self.fails(headrace.InvalidError, "no pattern of library nodes", "map"):
            headrace.replace(FUSED, FUSED)(program)
        with self.fails(headrace.InvalidError, "the pattern has no parameter 'Q'"):
            headrace.replace(PATTERN, FUSED.replace("X", "Q"))(program)
        with self.fails(headrace.InvalidError, "another type"):
            headrace.replace(PATTERN, FUSED.replace("f32", "f64"))(program)
        self.assertEqual(program, headrace.Sdfg.parse(MISH))

    def test_parameters_and_constants(self):
        text = """sdfg f(W: f32[3], X: f32[N, 3], Y: f32[N, 3], V: f32[3]) {
          transient E: f32[3]
          onnx.Exp(input = W) -> (output = E)
          onnx.Neg(X = E) -> (Y = V)
          onnx.Mul(A = X, B = E) -> (C = Y)
        }"""
        program = headrace.Sdfg.parse(text)
        w, x = np.float32([0, 1, 2]), np.ones((2, 3), np.float32)
        program.input_to_constant(W=w)
        self.close(program(x)[0], x * np.exp(w), rtol=1e-6)
        program.parameter_to_transient("V")
        self.assertEqual([p.name for p in program.parameters], ["X", "Y"])
        program.constant_folding().simplify()
        self.assertEqual([n.op for n in program.nodes()], ["onnx.Mul"])
        self.close(program.constant("E"), np.exp(w), rtol=1e-6)
        self.close(program(x), x * np.exp(w), rtol=1e-6)
        again = headrace.Sdfg.parse(text)
        self.close(again.copy().input_to_constant(W=[0, 1, 2]).constant("W"), w)
        for kind, parts, call in (
                (headrace.InvalidError, ("f64", "f32"), lambda: again.input_to_constant(W=np.zeros(3))),
                (headrace.InvalidError, ("[2]", "[3]"), lambda: again.input_to_constant(W=np.zeros(2, np.float32))),
                (headrace.InvalidError, ("symbols are fixed",), lambda: again.input_to_constant(X=x)),
                (headrace.UsageError, ("no parameter 'w'", "'W'"), lambda: again.parameter_to_transient("w")),
                (headrace.InvalidError, ("'W' is an input",), lambda: again.parameter_to_transient("W")),
                (headrace.InvalidError, ("'V' is written",), lambda: again.input_to_constant(V=w))):
            with self.subTest(parts), self.fails(kind, *parts):
                call()
        self.assertEqual(again, headrace.Sdfg.parse(text))

    def test_they_are_passes(self):
        text = """sdfg f(a: f32, X: f32[2], Y: f32[2], Z: f32[2]) {
          transient E: f32[2]
          onnx.Mul(A = X, B = a) -> (C = E)
          onnx.Neg(X = E) -> (Y = Y)
          onnx.Exp(input = E) -> (output = Z)
        }"""
        program = headrace.Sdfg.parse(text)
        program.apply("input-to-constant{name=a, value=2}; input-to-constant{name=X, value=\"[1, 3]\"}; "
                      "parameter-to-transient{names=Z}; constant-folding; simplify")
        self.assertEqual([n.op for n in program.nodes()], ["onnx.Neg"])
        self.close(program(), np.float32([-2, -6]))
        again = headrace.Sdfg.parse(MISH)
        with tempfile.TemporaryDirectory() as folder:
            for name, part in (("pattern", PATTERN), ("fused", FUSED)):
                headrace.Sdfg.parse(part).save(os.path.join(folder, name + ".sdfg"))
            again.apply(f"replace{{pattern={folder}/pattern.sdfg, replacement={folder}/fused.sdfg}}")
        by_object = headrace.Sdfg.parse(MISH)
        headrace.replace(PATTERN, FUSED)(by_object)
        self.assertEqual(again.text, by_object.text)

    def test_random_nodes_and_large_results_stay(self):
        program = headrace.Sdfg.parse("""sdfg f(Y: f32[4], Z: f32[4]) {
          constant A: f32[4] = [0.5, 0.5, 0.5, 0.5]
          transient B: f32[4]
          transient C: f32[4]
          onnx.Bernoulli(input = A) -> (output = B)
          onnx.Neg(X = A) -> (Y = C)
          map i in 0:4 { Y[i] = B[i] }
          map i in 0:4 { Z[i] = C[i] }
        }""")
        self.assertEqual([n.op for n in program.constant_folding(8).nodes("library")], ["onnx.Bernoulli", "onnx.Neg"])
        self.assertEqual([n.op for n in program.constant_folding().nodes("library")], ["onnx.Bernoulli"])

    def test_options_of_compile(self):
        program = headrace.Sdfg.parse(MISH)
        for parts, options in ((("threads", "-1"), {"threads": -1}),
                               (("no op or node 'Mull'", "'Mul'"), {"implementations": {"Mull": "pure"}}),
                               (("Relu has no implementation 'puer'", "'pure'"), {"implementations": {"Relu": "puer"}}),
                               (("no op has an implementation 'puer'",), {"implementations": {"*": "puer"}})):
            with self.subTest(parts), self.fails(headrace.UsageError, *parts):
                program.compile(backend="interpreter", **options)
        x = np.ones((2, 4), np.float32)
        expected = program(x)
        for options in ({"Relu": "function"}, {"onnx.Relu": "function"}, {"plus": "pure"}, {"*": "function"}):
            for got, e in zip(program.compile(backend="interpreter", implementations=options)(x), expected):
                self.close(got, e, rtol=1e-5)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            program.compile(backend="interpreter", implementations={"Conv": "pure"})
        self.assertIn("the program has no Conv", str(said[0].message))


if __name__ == "__main__":
    unittest.main()
