"""Backward rules for maps, tasklets and calls: which statements they get, what they see, what goes wrong."""

import unittest

import numpy as np
from case import Case, headrace

N = headrace.symbol("N")
X = np.array([0.4, 1.6, 2.2])
ROUND = """sdfg f(x: f64[N], w: f64[N], loss: f64) {
  transient q: f64[N]
  map i in 0:N from "quantize" { q[i] = floor(x[i] * 4) / 4 }
  loss = 0
  map i in 0:N { loss += q[i] * q[i] * w[i] }
}"""
CALLS = """entry sdfg f(x: f64[N], loss: f64) {
  transient t: f64[N]
  transient u: f64[N]
  map i in 0:N { t[i] = x[i] }
  for k in 0:3 {
    if k != 1 { call scale(v = t, r = u) } else { map i in 0:N { u[i] = t[i] * t[i] } }
    map i in 0:N { t[i] = u[i] }
  }
  loss = 0
  map i in 0:N { loss += t[i] }
}
sdfg scale(v: f64[M], r: f64[M]) { map i in 0:M { r[i] = 3 * sin(v[i]) } }"""


def quantized(x):
    return np.floor(x * 4) / 4


class Rules(Case):
    def rule(self, node, name="tested", **options):
        """Registers for this test what it decorates."""
        self.addCleanup(headrace._core.withdraw, f"python:backward of node.{node}@{name}")
        return headrace.backward_implementation(node=node, name=name, **options)

    def gradient(self, text, *inputs, **values):
        g = headrace.Sdfg.parse(text).gradient(["loss"], list(inputs))
        return g.program.compile(backend="interpreter")(**values)

    def differences(self, f, x):
        return np.array([(f(x + e) - f(x - e)) / 2e-6 for e in np.eye(len(x)) * 1e-6])

    def test_straight_through(self):
        self.close(self.gradient(ROUND, "x", x=X, w=X), [0.0, 0, 0])
        seen = []

        @self.rule("map", when=lambda node: set(node.outputs) == {"q"} or "writes something else")
        class StraightThrough(headrace.BackwardImplementation):
            @staticmethod
            def backward(context, given, required):
                seen.append((context.kind, context.callee, context.name, list(context.inputs), given, required))
                self.assertEqual(context.body.text, "sdfg map(x: f64[N], q: f64[N]) {\n  state {\n"
                                                    "    map i in 0:N { q[i] = floor(x[i] * 4) / 4 }\n  }\n}\n")

                def same(dq):
                    return dq

                return same

        gx, gw = self.gradient(ROUND, "x", "w", x=X, w=X)
        self.close(gx, 2 * quantized(X) * X)
        self.close(gw, quantized(X)**2)
        self.assertIn(("map", None, "quantize", ["x"], ["q"], ["x"]), seen)

    def test_the_ordinary_derivative_within_a_rule(self):
        """Gradients that are clipped: the rule asks for the statement's own derivative, and is not asked about it again."""
        text = "sdfg f(x: f64[N], loss: f64) { transient y: f64[N]; map i in 0:N { y[i] = x[i] * x[i] * x[i] }; loss = 0\n" \
               "map i in 0:N { loss += y[i] } }"

        @self.rule("map", when=lambda node: "y" in node.outputs)
        class Clipped(headrace.BackwardImplementation):
            @staticmethod
            def backward(context, given, required):
                own = context.body.gradient(given, required, given=given)
                gx, gy = own.input_gradients["x"], own.output_gradients["y"]
                return (f"entry sdfg clipped(x: f64[K], dy: f64[K], dx: f64[K]) {{\n  call {own.program.name}(x = x, {gy} = dy, {gx} = dx)\n"
                        f"  map i in 0:K {{ dx[i] = min(dx[i], 2) }}\n}}\n{own.program.text}")

        self.close(self.gradient(text, "x", x=X), np.minimum(3 * X * X, 2))

    def test_calls_in_loops_and_branches(self):
        def f(x):
            t = 3 * np.sin(x)
            return np.sum(3 * np.sin(t * t))

        self.close(self.gradient(CALLS, "x", x=X), self.differences(f, X), rtol=1e-6)

        @self.rule("call", when=lambda node: node.callee == "scale")
        def by_formula(v, dr):
            return 3 * np.cos(v) * dr

        self.close(self.gradient(CALLS, "x", x=X), self.differences(f, X), rtol=1e-6)

        @self.rule("call", name="other", when=lambda node: node.callee == "scale", priority=2)
        def seven(dr):
            return 7 * dr

        self.close(self.gradient(CALLS, "x", x=X), 7 * 2 * 3 * np.sin(X) * 7)

    def test_second_order(self):
        @headrace.program(backend="interpreter")
        def f(x: headrace.float64[N]):
            y = np.sin(x)
            return np.sum(y * y)

        sdfg = f.sdfg
        names = [w.name for w in sdfg.parameters]
        self.assertIn("x", names)

        @self.rule("map", when=lambda node: len(node.body.text.split("sin(")) == 2 and "exp(" not in node.body.text)
        class Cube(headrace.BackwardImplementation):
            @staticmethod
            def backward(context, given, required):
                (x,), (y,) = context.inputs, context.outputs
                size = context.inputs[x].shape[0]
                return (f"sdfg r({x}: f64[{size}], d{y}: f64[{size}], d{x}: f64[{size}]) {{\n"
                        f"  map i in 0:{size} {{ d{x}[i] = d{y}[i] * {x}[i] * {x}[i] }}\n}}")

        # As if the derivative of sin were x²: d/dx of 2 sin(x) · x² takes it for sin again.
        self.close(headrace.grad(f)(X), 2 * np.sin(X) * X**2)
        v = np.array([1.0, -1, 2])
        self.close(headrace.hvp(f, (X,), v), v * (2 * X**2 * X**2 + 4 * np.sin(X) * X))

    def test_what_is_written_in_part(self):
        text = """sdfg f(x: f64[N], loss: f64) {
  transient y: f64[N]
  map i in 0:N { y[i] = x[i] }
  for t in 1:4 { map i in 1:N { y[i] = y[i] * t } }
  loss = 0
  map i in 0:N { loss += y[i] }
}"""

        @self.rule("map", when=lambda node: "out_y" in node.outputs)
        def scaled(y, v_t, dout_y):
            dy = np.copy(dout_y)
            dy[1:] = 10 * v_t * dout_y[1:]
            return dy

        self.close(self.gradient(text, "x", x=X), [1.0, 6000, 6000])

    def test_names_of_ports(self):
        """Those that gradients need, or that no parameter of a function can have, are others."""
        text = "sdfg f(x: f64[N], dx: f64[N], `a b:0`: f64[N], loss: f64) { transient grad_q: f64[N]; transient K: i64[N]\n" \
               "map i in 0:N { grad_q[i] = x[i] * dx[i] * `a b:0`[i]; K[i] = i }\n" \
               "loss = 0; map i in 0:N { loss += grad_q[i] * f64(K[i]) } }"
        values = {"x": X, "dx": X + 1, "a b:0": X + 2}
        expected = self.gradient(text, *values, **values)
        seen = []

        @self.rule("map")
        class Ordinary(headrace.BackwardImplementation):
            @staticmethod
            def backward(context, given, required):
                seen.append((list(context.inputs), list(context.outputs), given, required))
                g = context.body.gradient(given, required, given=given)
                return headrace.BackwardResult(g.input_gradients, g.output_gradients, program=g.program)

        for got, e in zip(self.gradient(text, *values, **values), expected):
            self.close(got, e)
        self.assertIn((["x", "v_dx", "a_b_0"], ["v_grad_q", "K"], ["v_grad_q"], ["x", "v_dx", "a_b_0"]), seen)
        self.assertIn((["v_grad_q", "K", "loss"], ["out_loss"], ["out_loss"], ["v_grad_q", "loss"]), seen)

    def test_errors(self):
        @self.rule("map", when=lambda node: "q" in node.outputs)
        class Fails(headrace.BackwardImplementation):
            @staticmethod
            def backward(context, given, required):
                raise RuntimeError("no such table")

        with self.fails(headrace.InvalidError, "backward rule 'tested' failed: RuntimeError: no such table", "node.map", "quantize") as expected:
            self.gradient(ROUND, "x", x=X, w=X)
        self.assertIsInstance(expected.error.exception.__cause__, RuntimeError)

        @self.rule("map", when=lambda node: node.inputs["z"].dtype == "float64")  # replaces it
        def never(x):
            return x

        with self.fails(headrace.InvalidError, "backward rule 'tested' failed: KeyError: 'z'"):
            self.gradient(ROUND, "x", x=X, w=X)

        @self.rule("map", when=lambda node: "q" in node.outputs)
        def wrong(z):
            return z

        with self.fails(headrace.InvalidError, "wrong has a parameter z", "node.map"):
            self.gradient(ROUND, "x", x=X, w=X)
        with self.fails(headrace.UnsupportedError, "backward rule 'tested' can be applied to a map that no rule can have: 'p' is persistent"):
            self.gradient("sdfg f(x: f64[N], loss: f64) { persistent p: f64[N]; transient q: f64[N]\n map i in 0:N { q[i] = x[i] * p[i] }\n"
                          "loss = 0; map i in 0:N { loss += q[i] } }", "x", x=X)
        with self.assertRaisesRegex(headrace.UsageError, "no backward rules for the kind 'maps'; did you mean 'map'"):
            headrace.backward_implementation(node="maps")
        with self.assertRaisesRegex(TypeError, "of an op or of a kind of statement"):
            headrace.backward_implementation()
        with self.assertRaisesRegex(TypeError, "of an op or of a kind of statement"):
            headrace.backward_implementation("Softplus", node="map")

    def test_a_program_that_leaves_parameters_alone(self):
        @self.rule("map", when=lambda node: "q" in node.outputs)
        class Program(headrace.BackwardImplementation):
            @staticmethod
            def backward(context, given, required):
                return "sdfg r(x: f64[K], dq: f64[K], dx: f64[K]) { map i in 0:K { dx[i] = 5 * dq[i] } }"

        self.close(self.gradient(ROUND, "x", x=X, w=X), 10 * quantized(X) * X)

    def test_of_numpy_programs_and_their_saved_gradients(self):
        @headrace.program(backend="interpreter")
        def f(x: headrace.float64[N]):
            q = np.floor(x * 4) / 4
            return np.sum(q * q * x)

        self.close(headrace.grad(f)(X), quantized(X)**2)

        @self.rule("map", when=lambda node: "floor(" in node.body.text)
        class Text(headrace.BackwardImplementation):
            @staticmethod
            def backward(context, given, required):
                (y,), (x,) = given, required
                return f"sdfg r(d{y}: f64[K], d{x}: f64[K]) {{ map i in 0:K {{ d{x}[i] = 4 * d{y}[i] }} }}"

        self.close(headrace.grad(f)(X), quantized(X)**2 + 4 * 2 * quantized(X) * X)


if __name__ == "__main__":
    unittest.main()
