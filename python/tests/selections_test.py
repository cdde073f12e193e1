"""What a mask chose, changed in place: as any array, whatever else has it."""

import unittest

from python.tests.case import Case, headrace, np


def parts(x):
    c = x[x > 0]
    c[1:] *= 2
    d = np.unique(x)
    d[1:] *= 2
    e = x[x > 0]
    e[0] = 5
    e[-1:] = 7
    return c, d, e, c.sum(), e.max(), d * 2


def one_by_one(x):
    c = x[x > 0]
    before = c.sum()
    for i in range(1, len(c)):
        c[i] += c[i - 1]
    for v in x:
        c[0] += v
        before += c.mean()
    return c, before, c.max()


def by_masks_and_indices(x):
    c = x[x > -1]
    c[c > 1] = 0
    c[np.array([0, 0])] += 1
    np.add.at(c, np.array([0, 0]), 1.0)
    d = x[x > 0]
    d[d > 1] *= 3
    return c, d, c.sum() + d.sum()


def two_names(x):
    c = x[x > 0]
    d = c
    d[0] = 9
    s = c.sum()
    f = x[x < 3]
    g = f
    g += 1
    h = f.sum()
    g[0] = 4
    g *= 2
    return c, d, f, g, s, h


def bound_anew(x):
    c = x[x > 0]
    d = c
    c = c * 2
    c[0] = 1
    return c, d


def views(x):
    c = x[x > 0]
    head, last = c[:2], c[1:]
    head[0] = 7
    last += 1
    M = np.outer(x, x)[x > 0]
    row = M[0]
    row += 1
    M.T[0] = 3
    flat = M.reshape(-1)
    flat[0] = 8
    return c, M, c.sum(), M.sum()


def in_functions(x):
    def clear(a):
        a[0] = 0.5

    def more(a):
        a += 1
        for i in range(2):
            a[i] *= 2

    c = x[x > 0]
    clear(c)
    more(c)
    total = c.sum()
    d = x[x > 1]
    more(d)
    d.sort()
    e = x[x > 0]
    np.multiply(e, 2, out=e)
    g = x[x > 0]
    g.fill(3)
    return c, total, d, e, g


def in_branches(x):
    c = x[x > 0]
    if x[0] > 1:
        c[0] = 5
    else:
        c += 1
    d = x[x > 0]
    s = 0.0
    while s < 10:
        s += d.sum() + 1
        if s > 3:
            d[1:] -= 0.5
    return c, d, s, c.sum()


def in_lists(x):
    made = [x[x > 0], x[x < 3]]
    made[0][0] = 5
    made[1] += 1
    named = {"a": x[x > 0]}
    named["a"][1:] = 2
    return made[0], made[1], named["a"], made[0].sum()


def from_itself(x):
    c = x[x > 0]
    c[1:] = c[:-1]
    c[:] = c[::-1] * 2
    d = x[x > 0]
    d[:] = d * d - d[0]
    d -= d.mean()
    return c, d


def of_copies(x):
    c = x[x > 0]
    y = x * 1
    y[y > 0][0] = 100  # a copy, which nobody has
    return c, y


def rounds(x):
    c = np.array([1, 2, 3])
    d = c[c > 1]
    d += 0.5
    return x + d[0]


def loss(x):
    c = x[x > 0]
    c[1:] *= 3
    d = x[x < 2]
    d *= d
    return np.sum(c * c) + np.sum(d)


INPUTS = [np.array(v) for v in ([1.0, -1.0, 2.0, 3.0], [0.5, 4.0, -2.0, 2.5, 2.5, -3.0, 1.0])]


class Selections(Case):
    def test_changed_in_place(self):
        for f in (parts, one_by_one, by_masks_and_indices, two_names, bound_anew, views, in_functions, in_branches, in_lists,
                  from_itself, of_copies):
            for x in INPUTS:
                with self.subTest(f.__name__, x=x):
                    self.same(f, x, backend="interpreter")
        self.same(one_by_one, INPUTS[1], backend="cpu")

    def test_gradients(self):
        x = INPUTS[1] + 0.1
        expected = [(loss(x + h) - loss(x - h)) / 2e-6 for h in 1e-6 * np.eye(x.size)]
        np.testing.assert_allclose(headrace.grad(loss)(x), expected, rtol=1e-6)

    def test_types_are_kept(self):
        with self.fails(TypeError, "cannot cast the result of add from float64 to int64", "d += 0.5"):
            headrace.program(rounds, backend="interpreter")(INPUTS[0])

    def test_the_first_and_the_last_of_fewer(self):
        def ends(x):
            y = x[x > 0]
            y[:2] += 1
            return y[:3], y[-2:], y[:4:3], np.flatnonzero(x < 0)[:3], np.sum(y[:2] ** 2), np.diff(y[:3])

        for x in ([1.0, -2.0, 3.0, 0.5, 2.0], [1.0, -2.0], [-1.0, -2.0]):
            with self.subTest(x=x):
                self.same(ends, np.array(x), backend="interpreter")


if __name__ == "__main__":
    unittest.main()
