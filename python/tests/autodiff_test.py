"""Gradients added to programs as objects, against closed forms."""

import unittest

from python.tests.case import Case, headrace, np
from python.tests.onnx_models import perceptron

N = headrace.symbol("N")
LOSS = """
sdfg loss(X: f64[N], W: f64[N], L: f64, S: f64[N]) {
  L = 0
  map i in 0:N { L += X[i] * X[i] * W[i] }
  map i in 0:N { S[i] = sin(X[i]) }
}
"""
X, W = np.array([1.0, 2.0, -3.0]), np.array([0.5, -1.0, 2.0])


def by_name(program, *args):
    made = program(*args)
    names = [p.name for p in program.parameters if p.direction == "out"]
    return dict(zip(names, made if isinstance(made, tuple) else (made,)))


class AddBackwardPass(Case):
    def test_gradients_are_further_outputs(self):
        program = headrace.Sdfg.parse(LOSS)
        before = program(X, W)  # compiled: forgotten when the program changes
        found = headrace.autodiff.add_backward_pass(program, outputs=["L"], inputs=["X", "W"])
        got = by_name(program, X, W)
        self.close(got["L"], before[0])
        self.close(got["S"], np.sin(X))
        self.close(got[found.required_grad_names["X"]], 2 * X * W)
        self.close(got[found.required_grad_names["W"]], X * X)
        self.assertEqual(found.given_grad_names, {})

    def test_a_gradient_that_arrives(self):
        program = headrace.Sdfg.parse(LOSS)
        found = headrace.autodiff.add_backward_pass(program, ["L", "S"], ["X"], given=["S"])
        seed = np.array([1.0, 10.0, 100.0])
        got = program.compile()(X=X, W=W, **{found.given_grad_names["S"]: seed})
        names = [p.name for p in program.parameters if p.direction == "out"]
        self.close(dict(zip(names, got))[found.required_grad_names["X"]], 2 * X * W + seed * np.cos(X))

    def test_wrong_names(self):
        program = headrace.Sdfg.parse(LOSS)
        for kind, part, args in ((TypeError, "a list of names", ("L", ["X"])), (ValueError, "Q", (["L"], ["Q"])),
                                 (ValueError, "Q", (["Q"], ["X"]))):
            with self.fails(kind, part):
                headrace.autodiff.add_backward_pass(program, *args)
        self.assertEqual(program, headrace.Sdfg.parse(LOSS))


class MakeBackwardFunction(Case):
    def run_both(self, forward, backward, arguments, seeds):
        known = {**arguments, **by_name(forward, *[arguments[p.name] for p in forward.parameters if p.direction == "in"]), **seeds}
        return by_name(backward, *[known[p.name] for p in backward.parameters if p.direction == "in"])

    def test_of_a_program(self):
        forward, backward, names = headrace.autodiff.make_backward_function(headrace.Sdfg.parse(LOSS))
        seeds = {names.given_grad_names["L"]: np.float64(2), names.given_grad_names["S"]: np.array([1.0, 10.0, 100.0])}
        got = self.run_both(forward, backward, {"X": X, "W": W}, seeds)
        self.close(got[names.required_grad_names["X"]], 4 * X * W + np.array([1.0, 10.0, 100.0]) * np.cos(X))
        self.close(got[names.required_grad_names["W"]], 2 * X * X)

    def test_of_a_numpy_program(self):
        @headrace.program
        def f(x: headrace.float64[N]):
            return np.exp(np.sin(x))

        forward, backward, names = headrace.autodiff.make_backward_function(f)
        (seed,), (gradient,) = names.given_grad_names.values(), names.required_grad_names.values()
        got = self.run_both(forward, backward, {"x": X}, {seed: np.ones(3)})
        self.close(got[gradient], np.exp(np.sin(X)) * np.cos(X))

    def test_of_a_model_and_its_weights(self):
        model = headrace.ONNXModel("net", perceptron())
        weight = next(n for n, w in model.weights.items() if w.ndim == 2)
        x = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
        output = model.outputs[0].name
        forward, backward, names = headrace.autodiff.make_backward_function(model, [output], [weight])
        inputs = [p.name for p in forward.parameters if p.direction == "in"]
        (seed,), gradient = names.given_grad_names.values(), names.required_grad_names[weight]
        arguments = dict(zip(inputs, [x, model.weights[weight]]))
        shape = by_name(forward, *arguments.values())
        first = next(iter(shape.values()))
        got = self.run_both(forward, backward, arguments, {seed: np.ones_like(first)})
        self.close(got[gradient], model.grad([weight], [output])(x)[weight], rtol=1e-5, atol=1e-6)

    def test_of_a_model_that_was_changed(self):
        model = headrace.ONNXModel("net", perceptron())
        x = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
        expected = model.grad([model.inputs[0].name], [model.outputs[0].name])(x)[model.inputs[0].name]
        model.sdfg.expand_library_nodes()
        forward, backward, names = headrace.autodiff.make_backward_function(model)
        self.assertEqual(list(forward.nodes("library")), [])
        seeds = {g: np.ones_like(by_name(forward, x)[next(p.name for p in forward.parameters if p.direction == "out")])
                 for g in names.given_grad_names.values()}
        got = self.run_both(forward, backward, {p.name: x for p in forward.parameters if p.direction == "in"}, seeds)
        self.close(got[names.required_grad_names[model.inputs[0].name]], expected, rtol=1e-5, atol=1e-6)

    def test_of_sizes_that_data_decide(self):
        def chosen(x: headrace.float64[N], k: int):
            y = x[x > 0]
            return np.sum(y * y), y

        def in_a_branch(x: headrace.float64[N], k: int):
            y = x * 2.0
            if k > 0:
                y = x[x > 0]
            return np.sum(y * y)

        x = np.array([1.0, -2.0, 3.0, -4.0, 5.0])
        for backend in ("interpreter", "cpu"):
            for k in (1, 0):
                f = headrace.program(chosen)
                forward, backward, names = headrace.autodiff.make_backward_function(f, ["result"])
                forward, backward = forward.compile(backend=backend), backward.compile(backend=backend)
                self.close(forward(x, k)[1], x[x > 0])
                got = self.run_both(forward, backward, {"x": x, "k": k}, {names.given_grad_names["result"]: np.float64(1)})
                self.close(got[names.required_grad_names["x"]], 2 * x * (x > 0))
                forward, backward, names = headrace.autodiff.make_backward_function(headrace.program(in_a_branch))
                forward, backward = forward.compile(backend=backend), backward.compile(backend=backend)
                got = self.run_both(forward, backward, {"x": x, "k": k}, {names.given_grad_names["result"]: np.float64(1)})
                self.close(got[names.required_grad_names["x"]], 2 * x * (x > 0) if k else 8 * x)

    def test_what_it_takes(self):
        with self.fails(TypeError, "takes a program or a model, not int"):
            headrace.autodiff.make_backward_function(3)
        with self.fails(TypeError, "add_backward_pass changes a headrace.Sdfg, not str"):
            headrace.autodiff.add_backward_pass("text", ["Y"], ["X"])


if __name__ == "__main__":
    unittest.main()
