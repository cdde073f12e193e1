"""Programs as objects and ONNX models, called inside of programs; their gradients."""

import unittest

import numpy as np
from case import Case, headrace
from onnx import helper
from onnx_models import model

N = headrace.symbol("N")
RANDOM = np.random.default_rng(0)
W, B = RANDOM.standard_normal((4, 3)).astype(np.float32), RANDOM.standard_normal(3).astype(np.float32)
NET = model([helper.make_node("MatMul", ["x", "fc.weight"], ["h"]), helper.make_node("Add", ["h", "b"], ["g"]),
             helper.make_node("Tanh", ["g"], ["y"])], {"x": ["batch", 4]}, {"y": ["batch", 3]}, {"fc.weight": W, "b": B})
net = headrace.ONNXModel("net", NET)
scale = headrace.Sdfg.parse("sdfg scale(X: f32[n, m], k: f32, Y: f32[n, m], Z: f32[n * m]) {\n"
                            "map i in 0:n, j in 0:m { Y[i, j] = k * X[i, j] }\n map i in 0:n * m { Z[i] = X.flat[i] }\n}")
update = headrace.Sdfg.parse("sdfg update(inout A: f32[n], s: symbol) { map i in 0:n { A[i] = A[i] + f32(s) } }")


def program(function):
    return headrace.program(function, backend="interpreter")


@program
def forward(x: headrace.float32[N, 4]):
    return net(x) + net(x=x * 2)


@program
def trained(x: headrace.float32[N, 4], w: headrace.float32[4, 3]):
    w.requires_grad_()
    x.requires_grad_()
    y = net(x, fc_weight=w)
    loss = np.sum(y * y)
    loss.backward()
    return loss, w.grad, x.grad


@program
def objects(x: headrace.float32[N, 4]):
    y, z = scale(x, 3.0)
    t = np.zeros(5, np.float32)
    update(t, s=2)
    update(t[1:3], s=2)
    return y, z, t


class EmbeddedTest(Case):
    x = RANDOM.standard_normal((5, 4)).astype(np.float32)

    def test_a_model(self):
        self.close(forward(self.x), np.tanh(self.x @ W + B) + np.tanh(self.x * 2 @ W + B), rtol=1e-5)
        self.close(forward(self.x[:2]), np.tanh(self.x[:2] @ W + B) + np.tanh(self.x[:2] * 2 @ W + B), rtol=1e-5)
        self.close(headrace.program(forward.__headrace_function__)(self.x), forward(self.x), rtol=1e-5)

    def test_gradients_of_a_models_weights(self):
        loss, of_w, of_x = trained(self.x, W)
        y = np.tanh(self.x @ W + B)
        inner = 2 * y * (1 - y * y)
        self.close(loss, np.float32(np.sum(y * y)), rtol=1e-5)
        self.close(of_w, self.x.T @ inner, rtol=1e-4, atol=1e-5)
        self.close(of_x, inner @ W.T, rtol=1e-4, atol=1e-5)

        @program
        def loss_of(x: headrace.float32[N, 4], w: headrace.float32[4, 3]):
            y = net(x, fc_weight=w)
            return np.sum(y * y)

        self.close(headrace.grad(loss_of, argnums="w")(self.x, W), of_w, rtol=1e-5)

    def test_programs_as_objects(self):
        y, z, t = objects(self.x)
        self.close(y, 3 * self.x, rtol=1e-6)
        self.close(z, self.x.ravel())
        self.close(t, np.float32([2, 4, 4, 2, 2]))

    def test_wrong_use(self):
        own = headrace.ONNXModel("own", NET)
        own.weights["b"] = B

        def one(function, kind, *parts):
            with self.subTest(parts[0]), self.fails(kind, *parts, "^^^"):
                program(function)(self.x)

        one(lambda_of("net(x, y=x)"), TypeError, "net has no input 'y'")
        one(lambda_of("net(x[:, :3])"), ValueError, "x has shape (batch, 4), and (5, 3) is given")
        one(lambda_of("net(x.astype(np.float64))"), TypeError, "x is float32, not float64")
        one(lambda_of("own(x)", own=own), NotImplementedError, "the weight 'b' was set to an array of yours", "b=…")
        one(lambda_of("scale(x)"), TypeError, "scale: missing argument k")
        one(lambda_of("scale(x[0], 1.0)"), TypeError, "X has 2 dimensions, and shape (4,) is given")
        one(lambda_of("update(x[0])"), TypeError, "the size s is told by no argument: give s=…")
        one(lambda_of("scale(x, 1.0, 2.0)"), TypeError, "scale takes 2 arrays (X, k), not 3")


def lambda_of(expression, **names):
    """A function of the source, as users write it."""
    scope = {**globals(), **names}
    import linecache

    text = f"def f(x):\n    return {expression}\n"
    file = f"<test {expression}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), scope)
    return scope["f"]


if __name__ == "__main__":
    unittest.main()
