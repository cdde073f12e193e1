"""What a program looks at in each run: what it asserts, and sizes that data decide where they must be those of something else."""

import unittest

from python.tests.case import Case, headrace, np

N, M = headrace.symbol("N"), headrace.symbol("M")


def roots(x):
    assert np.all(x >= 0), "roots of negative numbers"
    total = 0.0
    for i in range(len(x)):
        assert x[i] < 100, f"x[{i}] is {x[i]}"
        total += np.sqrt(x[i]) * i
    return total


def halves(x: headrace.float64[N]):
    assert len(x) % 2 == 0
    return x[:len(x) // 2]


def elements(x):
    assert x > 0
    return x


def coordinates(p: headrace.float64[N, M]):
    x, y = p.T
    return x * y


def blocks(x, starts, w):
    total, out = np.zeros((2, 2)), np.zeros_like(x)
    for k in range(len(starts)):
        total += x[starts[k]:starts[k] + 4].reshape(2, 2) * (k + 1)
        out[starts[k]:starts[k] + 4] += w * x[starts[k]:starts[k] + 4]
        out[starts[k]:starts[k] + 4] = w + out[starts[k]:starts[k] + 4]
    return total, out


def rows(A, k):
    return A[k:k + 2].reshape(2, 2, 3).sum(1)


X, STARTS, W = np.arange(12.0) ** 0.5, np.array([0, 3, 8, 2]), np.array([0.5, -1.0, 2.0, 0.25])


class Checks(Case):
    def test_assertions(self):
        self.same(roots, X, backend="interpreter")
        for backend in ("interpreter", "cpu"):
            program = headrace.program(roots, backend=backend)
            with self.fails(headrace.InvalidError, "roots of negative numbers (assert np.all(x >= 0) fails)", "checks_test.py:11"):
                program(X - 1)
            with self.fails(headrace.InvalidError, "x[(i)] is (x[i]) (assert x[i] < 100 fails)", "checks_test.py:14"):
                program(X * 1000)
        self.close(headrace.grad(roots)(X + 1), 0.5 / np.sqrt(X + 1) * np.arange(12))
        with self.fails(headrace.InvalidError, "roots of negative numbers"):
            headrace.grad(roots)(X - 1)

    def test_assertions_of_sizes(self):
        program = headrace.program(halves, backend="interpreter")
        self.close(program(X), X[:6])
        with self.fails(headrace.InvalidError, "assert len(x) % 2 == 0 fails", "checks_test.py:20"):
            program(X[1:])
        with self.fails(ValueError, "the truth of an array", "assert x > 0"):
            headrace.program(elements)(X)

    def test_columns_by_name(self):
        program = headrace.program(coordinates, backend="interpreter")
        self.close(program(np.arange(6.0).reshape(3, 2)), np.array([0.0, 6, 20]))
        self.close(program(np.ones((0, 2))), np.ones(0))
        with self.fails(headrace.InvalidError, "3 values for 2 names"):
            program(np.ones((4, 3)))

    def test_parts_where_data_say(self):
        for backend in ("interpreter", "cpu"):
            self.same(blocks, X, STARTS, W, backend=backend)
        self.same(rows, np.arange(24.0).reshape(4, 6), 1, backend="interpreter")
        with self.fails(headrace.InvalidError, "a size that data decide is 3 where 4 are needed"):
            headrace.program(blocks, backend="interpreter")(X, STARTS + 1, W)

    def test_gradients(self):
        loss = lambda x, w: np.sum(np.sin(blocks(x, STARTS, w)[1])) + np.sum(blocks(x, STARTS, w)[0] ** 2)  # noqa: E731
        of_x, of_w = headrace.grad(lambda x, s, w: np.sum(np.sin(blocks(x, s, w)[1])) + np.sum(blocks(x, s, w)[0] ** 2), argnums=("x", "w"))(X, STARTS, W)
        np.testing.assert_allclose(of_x, [(loss(X + h, W) - loss(X - h, W)) / 2e-6 for h in 1e-6 * np.eye(12)], rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(of_w, [(loss(X, W + h) - loss(X, W - h)) / 2e-6 for h in 1e-6 * np.eye(4)], rtol=1e-6, atol=1e-7)


if __name__ == "__main__":
    unittest.main()
