"""grad, value_and_grad and vjp of programs against differences and closed forms."""

import unittest

from python.tests.case import Case, headrace, np

N, M = headrace.symbol("N"), headrace.symbol("M")
f64 = headrace.float64


def differences(f, args, k, h=1e-6):
    """d f / d args[k] by central differences; f gives one number."""
    g = np.zeros_like(args[k])
    for i in np.ndindex(g.shape):
        moved = []
        for sign in (1, -1):
            copies = [np.array(a) if isinstance(a, np.ndarray) else a for a in args]
            copies[k][i] += sign * h
            moved.append(f(*copies))
        g[i] = (moved[0] - moved[1]) / (2 * h)
    return g


class Gradients(Case):
    def setUp(self):
        self.rng = np.random.default_rng(1)

    def check(self, function, *args, of=None, rtol=1e-6):
        numbers = [k for k, a in enumerate(args) if isinstance(a, np.ndarray) and a.dtype.kind == "f"]

        def scalar(*a):
            result = function(*a)
            return result if of is None else a[of]

        before = [np.array(a) for a in args]
        gradients = headrace.grad(function, argnums=numbers)(*args)
        for k, g in zip(numbers, gradients):
            np.testing.assert_allclose(g, differences(scalar, args, k), rtol=rtol, atol=1e-7)
        for a, b in zip(args, before):
            np.testing.assert_array_equal(a, b)

    def test_a_result_that_is_an_argument(self):
        def both(x):
            return x, x * 2

        with self.fails(TypeError, "a result that is differentiated is the argument x as it was given: return x.copy()"):
            headrace.vjp(both, np.ones(3), of=0)[1](np.ones(3))
        self.close(headrace.vjp(both, np.ones(3), of=1)[1](np.ones(3))[0], np.full(3, 2.0))

    def test_elements_that_nothing_reads(self):
        """A slice that is empty for these sizes: its gradient is 0, also of a largest element."""
        def tail(x):
            y = x * 1.0
            y[2:] = np.max(x)
            return np.sum(y)

        for n in (1, 2, 3):
            self.check(tail, np.arange(n) + 0.5)

    def test_expressions_loops_and_updates(self):
        def f(x, w):
            y = np.tanh(x @ w)
            for k in range(1, y.shape[0]):
                y[k] += np.sin(y[k - 1]) * y[k]
            return np.sum(y * y)

        def stencil(A):
            for t in range(3):
                A[1:-1] = 0.3 * (A[:-2] + A[1:-1] * A[2:])
            return np.sum(A ** 2)

        def branches(x):
            s = 0.0
            for k in range(x.shape[0]):
                if x[k] > 0:
                    s += x[k] ** 3
                else:
                    s -= np.exp(x[k])
            return s

        self.check(f, self.rng.standard_normal((3, 4)), self.rng.standard_normal((4, 3)))
        self.check(stencil, self.rng.standard_normal(7))
        self.check(branches, self.rng.standard_normal(6))

    def test_lengths_of_complex_numbers(self):
        def length(z):
            return np.sum(np.abs(z))

        for backend in ("interpreter", "cpu"):
            got = headrace.grad(headrace.program(length, backend=backend))(np.array([0, 3 + 4j, 3e200 - 4e200j, 6e-200j]))
            self.close(got, np.array([0, 0.6 - 0.8j, 0.6 + 0.8j, -1j]))

    def test_values_names_and_one_of_several(self):
        @headrace.program
        def f(x: f64[N], a: float):
            return np.sum(a * x), np.sum(x * x)

        x = self.rng.standard_normal(5)
        value, g = headrace.value_and_grad(f, "x", of=1)(x, 3.0)
        self.close(value, np.sum(x * x), rtol=1e-12)
        self.close(g, 2 * x)
        self.close(headrace.grad(f, "a", of=0)(x, 3.0), np.float64(x.sum()))
        value, (gx, ga) = headrace.value_and_grad(f, ("x", "a"), of=0)(x, 3.0)
        self.close(gx, np.full(5, 3.0))

    def test_vjp(self):
        def f(x, A):
            return A @ x, np.sin(x)

        x, A = self.rng.standard_normal(3), self.rng.standard_normal((4, 3))
        u, v = self.rng.standard_normal(4), self.rng.standard_normal(3)
        value, pull = headrace.vjp(f, x, A)
        self.close(value[0], A @ x)
        gx, gA = pull(u, v)
        self.close(gx, A.T @ u + v * np.cos(x))
        self.close(gA, np.outer(u, x))

    def test_memory_limits(self):
        @headrace.program
        def f(x):
            y = x
            for k in range(20):
                y = np.sin(y) * np.roll(y, 1)
            return np.sum(y)

        x = self.rng.standard_normal(100)
        for limit in (12000, 9728):
            self.close(headrace.grad(f, memory_limit=limit)(x), headrace.grad(f)(x), rtol=1e-12)
        with self.fails(headrace.UnsupportedError, "at least 9728"):
            headrace.grad(f, memory_limit=10)(x)

    def test_memory_limits_of_loops_by_blocks(self):
        """Without neighbours the tape is as long as a block, a worker's: the limit counts what lies in memory for the whole run."""
        @headrace.program
        def f(x):
            y = x
            for k in range(20):
                y = np.sin(y) * y
            return np.sum(y)

        x = self.rng.standard_normal(5000)
        self.close(headrace.grad(f, memory_limit=100000)(x), headrace.grad(f)(x), rtol=1e-12)

    def test_memory_limits_of_sizes_by_name(self):
        @headrace.program
        def f(x: f64[N]):
            y = x
            for k in range(20):
                y = np.sin(y) * np.roll(y, 1)
            return np.sum(y)

        x = self.rng.standard_normal(100)
        with self.fails(headrace.UsageError, "E0811", "the value of size N", 'sizes={"N": 32} in Python'):
            headrace.grad(f, memory_limit=12000)(x)
        limited = headrace.grad(f, memory_limit=12000, sizes={"N": 100})
        for n in (100, 7):
            self.close(limited(x[:n]), headrace.grad(f)(x[:n]), rtol=1e-12)
        self.close(headrace.vjp(f, x, memory_limit=12000, sizes={"N": 100})[1](1.0)[0], limited(x), rtol=1e-12)

    def test_wrong_use(self):
        @headrace.program
        def f(x: f64[N], k: int):
            return x * k

        x = np.ones(3)
        with self.fails(TypeError, "shape (N,)", "headrace.vjp"):
            headrace.grad(f)(x, 2)
        with self.fails(TypeError, "argument k", "float64"):
            headrace.grad(f, "k")(x, 2)
        with self.fails(ValueError, "no argument z"):
            headrace.grad(f, "z")
        with self.fails(ValueError, "2 arguments"):
            headrace.grad(f, 2)


if __name__ == "__main__":
    unittest.main()
