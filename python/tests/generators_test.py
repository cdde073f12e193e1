"""Loops over what generator functions yield, and over the rows of arrays, unpacked."""

import unittest

from python.tests.case import Case, headrace, np


def pairs(n):
    for i in range(n):
        for j in range(i + 1, n):
            yield i, j


def windows(x, *, width=2):
    """Parts that lie side by side."""
    k = 0
    while k + width <= x.shape[0]:
        yield x[k:k + width]
        k += width


def sums(n):
    for i, j in pairs(n):
        yield i + j
    yield from (1, 2)
    if n < 3:
        return
    yield 0


def energy(x):
    e = 0.0
    for i, j in pairs(len(x)):
        e += np.cos(x[i] - x[j]) * (i + 1)
    return e


def products(x):
    e = 0.0
    for part in windows(x, width=2):
        e += np.prod(part)
    for k in sums(3):
        e += x[k] * k
    for k in sums(2):
        e -= x[k]
    return e


def left_early(x):
    e = 0.0
    for i, j in pairs(len(x)):
        if x[i] > 2.6:
            continue
        if x[j] < 0:
            break
        e += x[i] * x[j]
    return e


def first_of(x):
    for i, j in pairs(len(x)):
        if x[i] > x[j]:
            return x[i] - x[j]
    return 0.5


def of_its_own(x):
    def every(step):
        for k in range(0, len(x), step):
            yield x[k] * k

    e = 0.0
    for v in every(2):
        e += v
    for v in every(3):
        e += v * v
    return e


class Grid:
    def __init__(self, n):
        self.n = n

    def inner(self):
        for k in range(1, self.n - 1):
            yield k


GRID = Grid(5)


def of_an_object(x):
    e = 0.0
    for k in GRID.inner():
        e += x[k - 1] * x[k + 1]
    return e


def edges(x, ends):
    flow = np.zeros_like(x)
    for a, b in ends:
        flow[a] += x[b]
        flow[b] -= x[a]
    e = 0.0
    for k, (a, b) in enumerate(ends):
        e += (x[a] - x[b]) * k
    for a, *_ in ends:
        e += x[a]
    return flow, e


def as_lists(x):
    def ends():
        yield x[0]
        yield from (x[1], x[-1])

    first, *others = ends()
    all_ends = list(ends())
    sums = 0.0
    for k, v in enumerate(ends()):
        sums += k * v
    return np.array(all_ends) * first, sum(v * v for v in ends()), sums + max(ends()), len(others)


def keeps(x):
    def each():
        for k in range(len(x)):
            yield x[k]

    return list(each())


def takes(x):
    def two():
        got = yield x[0]
        x[1] = got

    for v in two():
        x[2] = v
    return x


def counts(x):
    for k in x[0]:
        x[1] += k
    return x


X = [np.array(v) for v in ([1.0, 2.0, 3.0, 4.0, 5.0], [0.5, 0.25, 3.0, -1.0, 0.0], [2.5, -1.0, 0.5, 2.0, 7.0])]
ENDS = np.array([[0, 3], [1, 2], [4, 0], [2, 2]])


class Generators(Case):
    def test_loops_over_them(self):
        for f in (energy, products, left_early, first_of, of_its_own, of_an_object):
            for x in X:
                with self.subTest(f.__name__, x=x):
                    self.same(f, x, backend="interpreter")
        self.same(left_early, X[1])

    def test_gradients(self):
        for f in (energy, products, of_its_own, of_an_object):
            with self.subTest(f.__name__):
                expected = [(f(X[1] + h) - f(X[1] - h)) / 2e-6 for h in 1e-6 * np.eye(5)]
                np.testing.assert_allclose(headrace.grad(f)(X[1]), expected, rtol=1e-6, atol=1e-8)

    def test_for_any_size(self):
        N = headrace.symbol("N")
        energy.__annotations__ = {"x": headrace.float64[N]}
        program = headrace.program(energy, backend="interpreter")
        for n in (0, 1, 2, 7):
            self.close(program(np.arange(n) * 0.5), energy(np.arange(n) * 0.5))

    def test_as_lists(self):
        self.same(as_lists, X[0], backend="interpreter")

    def test_rows(self):
        self.same(edges, X[0], ENDS, backend="interpreter")
        self.same(edges, X[0], ENDS[:0])

    def test_elsewhere(self):
        for f, kind, *what in ((keeps, headrace.UnsupportedError, "a list that is changed in a branch or loop", "return list(each())"),
                               (takes, headrace.UnsupportedError, "yield has no place", "for v in two()"),
                               (counts, TypeError, "a loop over a number of type float64", "range(n)")):
            with self.subTest(f.__name__), self.fails(kind, "generators_test.py", "^", *what):
                headrace.program(f, backend="interpreter")(np.ones(300))


if __name__ == "__main__":
    unittest.main()
