"""Derivatives of derivatives, forward mode, Jacobians, batches, trees of arguments: against closed forms and differences."""

import collections
import dataclasses
import typing
import unittest

from python.tests.case import Case, headrace, np

N, M = headrace.symbol("N"), headrace.symbol("M")
f64 = headrace.float64


def cubic(x):
    return np.sum(x ** 3)


def cubic_loop(x):
    s = 0.0
    for k in range(x.shape[0]):
        s += x[k] ** 2 * x[k - 1]
    return s


def layer(x, w):
    return np.tanh(x @ w)


def power(x):
    return x ** 4


def double(x):
    return 2 * x


again = headrace.checkpoint(double)


def annotated(x: f64[N]):
    return np.sum(again(x) ** 2)


def quarter(x):
    return np.sum(again(x) * again(x)) / 4


Named = collections.namedtuple("Named", "w b")


class Typed(typing.NamedTuple):
    w: np.ndarray
    b: np.ndarray


@dataclasses.dataclass(frozen=True)
class Held:
    w: np.ndarray
    b: np.ndarray

    def __post_init__(self):
        if self.w.ndim < 2:
            raise ValueError("a matrix is wanted")


class Transforms(Case):
    def setUp(self):
        self.rng = np.random.default_rng(2)
        self.x = self.rng.standard_normal(4)
        self.w = self.rng.standard_normal((4, 3))

    def test_functions_that_are_defined_in_the_program(self):
        def gradients(x, y):
            s = np.sum(y)

            def scaled(z):
                return z * y

            def f(z, power=2):
                return np.sum(scaled(z) ** power) * s

            value, slope = headrace.value_and_grad(f)(x)
            return value, slope + headrace.grad(lambda z: np.sum(np.sin(z)))(x)

        def batched(X, y):
            def product(row, s):
                return np.sum(row * y) * s

            return headrace.vmap(product, in_axes=(0, None))(X, 2.0), headrace.vmap(lambda row: row * y)(X)

        def kept(x, y):
            def f(z):
                return np.sin(z * y)

            return np.sum(headrace.checkpoint(f)(x))

        x, y = np.linspace(0, 1, 4), np.linspace(1, 2, 4)
        value, slope = headrace.program(gradients)(x, y)
        self.close(value, np.sum((x * y) ** 2) * y.sum(), rtol=1e-12)
        self.close(slope, 2 * x * y * y * y.sum() + np.cos(x), rtol=1e-12)
        X = np.stack([x, y])
        a, b = headrace.program(batched)(X, y)
        self.close(a, 2 * np.array([np.sum(x * y), np.sum(y * y)]), rtol=1e-12)
        self.close(b, X * y, rtol=1e-12)
        by_x, by_y = headrace.grad(kept, [0, 1])(x, y)
        self.close(by_x, np.cos(x * y) * y, rtol=1e-12)
        self.close(by_y, np.cos(x * y) * x, rtol=1e-12)

        def total(x, y):
            return np.sum(gradients(x, y)[1])

        by_y = headrace.grad(total, 1)(x, y)  # through what the function reads: d/dy of sum(2 x y² sum(y))
        self.close(by_y, 4 * x * y * y.sum() + np.sum(2 * x * y * y), rtol=1e-12)
        with self.fails(ValueError, "product has 2 arguments, and in_axes is of 1"):
            def wrong(X, y):
                def product(row, s):
                    return row * y * s

                return headrace.vmap(product, in_axes=(0,))(X, y)

            headrace.program(wrong)(X, y)

    def test_gradients_of_gradients(self):
        second = headrace.grad(headrace.grad(power))
        self.close(second(2.0), np.float64(48.0))
        self.close(headrace.grad(second)(2.0), np.float64(48.0))

        def slope_norm(x):
            return np.sum(headrace.grad(cubic)(x) ** 2)  # 9 x^4

        self.close(headrace.grad(slope_norm)(self.x), 36 * self.x ** 3)

    def test_gradients_inside_programs(self):
        @headrace.program
        def descend(x: f64[N], rate: float):
            for k in range(5):
                value, g = headrace.value_and_grad(cubic_loop)(x[:])
                x -= rate * g
            return value, x

        x = self.x.copy()
        expected = self.x.copy()
        for k in range(5):
            last = cubic_loop(expected)
            expected -= 0.01 * np.array([2 * expected[i] * expected[i - 1] + expected[(i + 1) % 4] ** 2 for i in range(4)])
        value, got = descend(x, 0.01)
        self.close(got, expected, rtol=1e-12)
        self.close(value, last, rtol=1e-12)

    def test_products_with_hessians(self):
        v = self.rng.standard_normal(4)
        self.close(headrace.hvp(cubic, (self.x,), v), 6 * self.x * v)
        full = headrace.hessian(cubic_loop)(self.x)
        np.testing.assert_allclose(full, full.T)
        self.close(headrace.hvp(cubic_loop, (self.x,), v), full @ v, rtol=1e-10)
        h = 1e-5
        slope = headrace.grad(cubic_loop)
        for k in range(4):
            moved = np.eye(4)[k] * h
            self.close(full[k], (slope(self.x + moved) - slope(self.x - moved)) / (2 * h), rtol=1e-6, atol=1e-8)

    def test_hessians_of_several_arguments(self):
        def f(x, y):
            return np.sum(x * x * y)

        y = self.rng.standard_normal(4)
        (xx, xy), (yx, yy) = headrace.hessian(f, (0, 1))(self.x, y)
        self.close(xx, np.diag(2 * y))
        self.close(xy, np.diag(2 * self.x))
        self.close(yx, np.diag(2 * self.x))
        self.close(yy, np.zeros((4, 4)))

    def test_forward_mode(self):
        dx, dw = self.rng.standard_normal(4), self.rng.standard_normal((4, 3))
        value, tangent = headrace.jvp(layer, (self.x, self.w), (dx, dw))
        y = np.tanh(self.x @ self.w)
        self.close(value, y)
        self.close(tangent, (1 - y * y) * (dx @ self.w + self.x @ dw), rtol=1e-12)
        self.close(headrace.jvp(layer, (self.x, self.w), (dw,), argnums="w")[1], (1 - y * y) * (self.x @ dw), rtol=1e-12)

        def two(x):
            x[0] = x[0] * x[1]
            return np.sum(x), x * 2

        (a, b), (da, db) = headrace.jvp(two, (self.x,), (dx,))
        first = dx[0] * self.x[1] + self.x[0] * dx[1]
        self.close(da, first + dx[1:].sum(), rtol=1e-12)
        self.close(db, 2 * np.concatenate([[first], dx[1:]]), rtol=1e-12)

    def test_jacobians(self):
        y = np.tanh(self.x @ self.w)
        by_x = (1 - y * y)[:, None] * self.w.T
        by_w = np.einsum("j,i,jk->jik", 1 - y * y, self.x, np.eye(3))
        for jacobian in (headrace.jacrev, headrace.jacfwd):
            self.close(jacobian(layer)(self.x, self.w), by_x, rtol=1e-12)
            gx, gw = jacobian(layer, (0, 1))(self.x, self.w)
            self.close(gx, by_x, rtol=1e-12)
            self.close(gw, by_w, rtol=1e-12)

    def test_batches(self):
        X = self.rng.standard_normal((5, 4))
        self.close(headrace.vmap(layer, in_axes=(0, None))(X, self.w), np.tanh(X @ self.w), rtol=1e-12)
        self.close(headrace.vmap(layer, in_axes=(1, None), out_axes=1)(X.T.copy(), self.w), np.tanh(X @ self.w).T, rtol=1e-12)
        self.close(headrace.vmap(headrace.grad(cubic))(X), 3 * X * X, rtol=1e-12)

        @headrace.program
        def total(X, w):
            return np.sum(headrace.vmap(layer, in_axes=(0, None))(X, w))

        y = np.tanh(X @ self.w)
        self.close(headrace.grad(total, "w")(X, self.w), X.T @ (1 - y * y), rtol=1e-12)

        @headrace.program
        def clear(x: f64[N]):
            x[0] = 0.0

        headrace.vmap(clear)(X)
        np.testing.assert_array_equal(X[:, 0], 0)

    def test_checkpoints_change_nothing_but_what_is_kept(self):
        rows = headrace.checkpoint(layer)

        @headrace.program
        def f(x, w):
            y = rows(x, w)
            for k in range(3):
                y = rows(y, w[:3]) + y
            return np.sum(y * y)

        def plain(x, w):
            y = layer(x, w)
            for k in range(3):
                y = layer(y, w[:3]) + y
            return np.sum(y * y)

        self.assertIn("program.Function", f.sdfg_for(self.x, self.w).text)
        self.close(f(self.x, self.w), plain(self.x, self.w))
        for got, expected in zip(headrace.grad(f, (0, 1))(self.x, self.w), headrace.grad(plain, (0, 1))(self.x, self.w)):
            self.close(got, expected, rtol=1e-12)
        self.close(rows(self.x, self.w), layer(self.x, self.w))
        symbolic = headrace.program(annotated)
        self.close(headrace.grad(symbolic)(self.x), 8 * self.x)

    def test_rules_of_your_own(self):
        @headrace.custom_vjp
        def root(x, n):
            return np.sqrt(x) * n

        def root_forward(x, n):
            y = np.sqrt(x)
            return y * n, (y, n)

        def root_backward(kept, g):
            y, n = kept
            return g / (2 * np.maximum(y, 0.5)) * n, None  # not the derivative: to see that it is used

        root.defvjp(root_forward, root_backward)

        def f(x):
            return np.sum(root(x * x, 3))

        x = np.array([0.0, 0.1, 2.0])
        self.close(headrace.program(f)(x), np.float64(3 * x.sum()))
        self.close(headrace.grad(f)(x), 3 / (2 * np.maximum(x, 0.5)) * 2 * x, rtol=1e-12)
        self.close(headrace.grad(headrace.program(quarter))(x), 2 * x)
        unfinished = headrace.custom_vjp(power)
        with self.fails(TypeError, "defvjp"):
            unfinished(x)

    def test_stop_gradient(self):
        def f(x):
            return np.sum(x * headrace.stop_gradient(x))

        self.assertEqual(f(self.x), np.sum(self.x ** 2))
        self.close(headrace.grad(f)(self.x), self.x)

    def test_trees(self):
        def loss(params, x):
            y = np.tanh(x @ params["first"]["w"] + params["first"]["b"])
            for w in params["more"]:
                y = y @ w
            return np.sum(y * y)

        params = {"first": {"w": self.w, "b": self.rng.standard_normal(3)}, "more": [self.rng.standard_normal((3, 3)) for _ in range(2)]}
        self.close(headrace.program(loss)(params, self.x), loss(params, self.x))
        value, g = headrace.value_and_grad(loss)(params, self.x)
        self.close(value, loss(params, self.x))
        self.assertEqual(list(g), ["first", "more"])
        h = 1e-6
        for a, b in ((params["first"]["w"], g["first"]["w"]), (params["first"]["b"], g["first"]["b"]), *zip(params["more"], g["more"])):
            for i in np.ndindex(a.shape):
                a[i] += h
                up = loss(params, self.x)
                a[i] -= 2 * h
                down = loss(params, self.x)
                a[i] += h
                np.testing.assert_allclose(b[i], (up - down) / (2 * h), rtol=1e-6, atol=1e-7)

    def test_trees_with_names(self):
        r = np.random.default_rng(5)
        w, b, x = r.standard_normal((3, 2)), r.standard_normal(2), r.standard_normal((5, 3))

        def plain(w, b, x):
            return np.sum(np.tanh(x @ w + b) ** 2)

        def by_name(p, x):
            return np.sum(np.tanh(x @ p.w + p.b) ** 2)

        def by_key(p, x):
            return np.sum(np.tanh(x @ p["w"] + p["b"]) ** 2)

        expected = headrace.grad(plain, (0, 1))(w, b, x)
        along = headrace.jvp(plain, (w, b, x), (w, b, 0 * x))[1]
        products = headrace.hvp(plain, (w, b, x), (w, b), argnums=(0, 1))
        for kind, f in ((Named, by_name), (Typed, by_name), (Held, by_name), (collections.OrderedDict, by_key)):
            p = kind(w=w, b=b)
            g = headrace.grad(f)(p, x)
            self.assertIs(type(g), kind)
            self.close(headrace.program(f)(p, x), plain(w, b, x), rtol=1e-12)
            self.close(headrace.jvp(f, (p, x), (p, 0 * x))[1], along, rtol=1e-12)
            pulled = headrace.vjp(f, p, x)[1](1.0)[0]
            for made, wanted in ((g, expected), (headrace.hvp(f, (p, x), p), products), (pulled, expected)):
                for name, one in zip("wb", wanted):
                    self.close(made[name] if isinstance(made, dict) else getattr(made, name), one, rtol=1e-12)
            many = kind(w=np.stack([w, 2 * w]), b=np.stack([b, b]))
            self.close(headrace.vmap(f, in_axes=(0, None))(many, x), np.array([plain(w, b, x), plain(2 * w, b, x)]), rtol=1e-12)
        self.assertIsInstance(headrace.program(lambda p: p)(Named(w, b)), Named)
        self.assertEqual(headrace.program(lambda p: sum([k * np.sum(q.b) for k, q in enumerate(p)]))([Held(w, b), Held(w, b)]), np.sum(b))
        with self.fails(TypeError, "what goes with p is built like it, a Held of 2 parts, not a ndarray"):
            headrace.hvp(by_name, (Held(w, b), x), w)

    def test_jacobians_in_programs(self):
        """Of functions that read what the program around them computes, too."""
        def by_newton(x, k):
            f = lambda y: np.sum((y ** 2 - k) ** 2)  # noqa: E731
            for _ in range(8):
                x = x - np.linalg.solve(headrace.hessian(f)(x), headrace.grad(f)(x))
            return x

        def pair(y, k):
            return np.array([y[0] ** 2 * k - y[1], y[0] * y[1]])

        def of_pairs(x, k):
            slope = headrace.grad(lambda y: np.sum(pair(y, k)) ** 2)
            return (np.sum(headrace.jacrev(pair)(x, k) ** 2) + np.sum(headrace.jacfwd(pair, argnums="k")(x, k))
                    + np.sum(headrace.jacrev(slope)(x)))

        x = np.array([1.0, 2.0])
        for size in (2, headrace.symbol("N")):
            by_newton.__annotations__ = {"x": headrace.float64[size]}
            self.close(headrace.program(by_newton, backend="interpreter")(x, 2.0), np.full(2, np.sqrt(2.0)), rtol=1e-9)
        program = headrace.program(of_pairs, backend="interpreter")
        self.close(program(x, 3.0), of_pairs(x, 3.0), rtol=1e-12)
        gradients = headrace.grad(program, argnums=(0, 1))(x, 3.0)
        along = [(of_pairs(x + h, 3.0) - of_pairs(x - h, 3.0)) / 2e-5 for h in 1e-5 * np.eye(2)]
        self.close(gradients[0], np.array(along), rtol=1e-7)
        self.close(gradients[1], (of_pairs(x, 3.0 + 1e-5) - of_pairs(x, 3.0 - 1e-5)) / 2e-5, rtol=1e-7)
        with self.fails(headrace.UnsupportedError, "a Jacobian by several arguments", "take it outside"):
            headrace.program(lambda x: headrace.hessian(layer, (0, 1))(x, x), backend="interpreter")(x)

    def test_wrong_use(self):
        with self.fails(TypeError, "2 float arguments (x, w)", "1 tangents"):
            headrace.jvp(layer, (self.x, self.w), (self.x,))
        with self.fails(TypeError, "tuple of tangents"):
            headrace.jvp(cubic, self.x, self.x)
        with self.fails(ValueError, "in_axes is of 3"):
            headrace.vmap(layer, in_axes=(0, 1, 2))
        with self.fails(ValueError, "batch", "4, 5"):
            headrace.vmap(layer)(np.ones((5, 4)), self.w)
        with self.fails(TypeError, "shape (3)", "(4,)"):
            headrace.vjp(layer, self.x, self.w)[1](np.ones(4))
        with self.fails(TypeError, "takes a function"):
            headrace.grad(3)
        with self.fails(TypeError, "headrace.vjp"):
            headrace.hessian(layer)(self.x, self.w)


if __name__ == "__main__":
    unittest.main()
