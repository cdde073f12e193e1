"""Loops that are written out, for what they go over is known, with `break`, `continue` and `else`."""

import unittest

from python.tests.case import Case, headrace, np


def neighbours(x):
    c = np.zeros_like(x)
    for i in range(len(x)):
        for d in (-1, 1):
            j = i + d
            if j < 0 or j >= len(x):
                continue
            c[i] += x[j]
    return c


def pairs_in_order(x, n):
    c = 0.0
    for t in range(n):
        for a, b in zip(x[:-1], x[1:]):
            if a > b:
                break
            c += b
        for i, a, b in [(1, x[0], x[1]), (2, x[1], x[2]), (3, x[2], x[3])]:
            if a > b:
                break
            c += b * i
        c += 10
    return c


def without_a_loop_around(x):
    c = 0.0
    for a in (0.5, 1.0, 2.0):
        if x[0] > a:
            break
        c += a
    return c, a


def the_loop_variable_is_a_constant(x):
    s = 0.0
    for k in (1, 2, 3):
        if x[0] < k:
            continue
        s += np.sum(x[::k]) * x[k]
    for name in ("first", "second"):
        if x[1] > 2:
            break
        s += {"first": 0, "second": 1}[name]
    return s


def with_else(x):
    s = 0.0
    for a in (1.0, 2.0, 4.0):
        if x[0] > a:
            s += a
            if x[1] > a:
                continue
            s += 0.5
        elif x[2] > a:
            break
        s += 100
    else:
        s -= 1000
    return s


def around_loops_that_end_with_else(x):
    s = 0.0
    for a in [1.0, 3.0]:
        for v in x:
            if v > a:
                break
            s += v
        else:
            if s > 4:
                break
            s += 0.25
            continue
        while s > 10:
            s *= 0.5
            if s < 5:
                break
        s += a
    return s


def of_numbers_that_are_known(x):
    t = x * 0
    for k in range(3):
        if x[k] > 1:
            continue
        t = t + np.sum(x[:: k + 1])
        if x[0] > 2:
            break
    return t


def left_of_rows(x):
    total = 0.0
    for v in x:
        total += v
        if v < 0:
            break
    for row in np.outer(x, x):
        total += row[0]
    for k, last in enumerate(np.outer(x, x)):
        last[0] = k
    return total + v, row * 2, last, k


def left_where_it_is_known(x):
    s = 0.0
    for k in (1, 2, 3, 4):
        if k == 2:
            continue
        if k == 4:
            break
        s += x[k]
    return s


def loss(x):
    s = 0.0
    for i in range(len(x)):
        for d in (-1, 1):
            j = i + d
            if j < 0 or j >= len(x):
                continue
            s += x[i] * x[j]
    return s


def by_steps_that_grow(x, steps):
    step, s = 1, 0.0
    while step < len(x):
        for i in range(0, len(x), step):
            s += x[i]
        step *= 2
    return s


def by_steps_of_data(x, steps):
    s, last = 0.0, 0
    for k in range(len(steps)):
        for i in range(k, len(x), steps[k]):
            s = s * 0.5 + x[i]
            last = i
        s += last
    return s


def slices_by_steps(x, steps):
    for i in range(1, 4):
        x[i::i] += 1
        x[::-i] *= 0.5
        x[-1::i] -= 2
        x[::steps[i - 1]] = x[::steps[i - 1]] * 2 + 1
        for k in range(len(x) - 1, 0, -i):
            x[k] += x[k - 1]
    return x[::steps[0]].sum()


def sieve(s):
    s[:2] = False
    for i in range(2, int(len(s) ** 0.5) + 1):
        if s[i]:
            s[i * i::i] = False


def in_a_branch(x):
    y = x * 1
    if x[0] > 0:
        for k in (0, 1, 2):
            if x[k] < 0:
                break
            y[k] = 9
        else:
            y = y * 2
    return y


def of_arrays_that_shrink(x):
    """Written out, for each iteration has other sizes; so are loops whose condition is known."""
    v = x * 2
    for _ in range(len(x) - 1):
        v = 0.5 * (v[:-1] + v[1:])
    total, w, n = v[0], np.concatenate([x, x[:3]]), 8
    while n > 1:
        n //= 2
        w[:n] = w[0:2 * n:2] + w[1:2 * n:2]
    while len(w) > 1:
        w = w.reshape(-1, 2).mean(1)
        total += np.sum(w ** 2)
    return total, w


def over_two_ranges(x):
    s = 0.0
    for i, j in headrace.map[0:2, 0:3]:
        if x[i + j] > 2.75:
            break
        if x[i] > 0.75:
            continue
        s += 1 + x[j]
    for i, j, k in headrace.map[0:2, 0:2, 0:2]:
        if x[i + j + k] < 0:
            break
        s += 10
    return s


def of_no_iteration(x):
    s, b = np.zeros(1), x.copy()
    for i in range(len(x)):
        s += x[i]
    for i in range(len(x) - 2, -1, -1):
        b[i] += b[i + 1]
    for v in x[1:]:
        for w in x[2:]:
            s += v * w
    return s, b


INPUTS = [np.array(v) for v in ([1.0, 2.0, 3.0, 4.0, 5.0], [0.5, 0.25, 3.0, -1.0, 0.0], [2.5, -1.0, 0.5, 2.0, 7.0], [3.0, 3.0, 1.5, 0.0, 1.0],
                                [-5.0, 0.0, 0.0, 0.0, 9.0])]


class Best:
    def __init__(self):
        self.cost, self.at = None, 0


def that_begin_with_nothing(x):
    best, where, before, s = None, None, None, Best()
    turns = 0
    for k, v in enumerate(x):
        cost = (v - 0.5) ** 2
        if s.cost is None or cost < s.cost:
            s.cost, s.at = cost, k
        if before is not None and before * v < 0:
            turns += 1
        before = v
        if best is None or v > best:
            best, where = v, k
        if turns > 4:
            break
    sums = None
    for k in range(len(x) - 1, 0, -1):
        sums = x * x[k] if sums is None else sums + x * x[k]
        if k == 2:
            continue
        sums = sums * 0.5
    return best, where, s.cost, s.at, turns, before, sums


class Loops(Case):
    def test_left_as_python_leaves_them(self):
        for f in (neighbours, without_a_loop_around, the_loop_variable_is_a_constant, with_else, around_loops_that_end_with_else,
                  of_numbers_that_are_known, left_of_rows, left_where_it_is_known, loss, in_a_branch, over_two_ranges, of_arrays_that_shrink):
            for x in INPUTS:
                with self.subTest(f.__name__, x=x):
                    self.same(f, x, backend="interpreter")
        for x in INPUTS:
            self.same(pairs_in_order, x, 3, backend="interpreter")
            self.same(with_else, x, backend="cpu")

    def test_what_is_none_before(self):
        N = headrace.symbol("N")

        def any_size(x: headrace.float64[N]):
            return that_begin_with_nothing(x)

        program = headrace.program(any_size, backend="interpreter")
        for n in (3, 40, 300):
            x = np.cos(np.arange(n) ** 2.0)
            self.same(that_begin_with_nothing, x, backend="interpreter")
            for got, expected in zip(program(x), that_begin_with_nothing(x)):
                self.close(got, expected)
        with self.fails(headrace.HeadraceError, "a loop that binds what was None before has an iteration at least"):
            program(np.ones(0))

    def test_of_no_iteration(self):
        for n in range(4):
            with self.subTest(n=n):
                self.same(of_no_iteration, np.arange(n) + 0.5, backend="interpreter")

    def test_a_step_that_the_program_computes(self):
        for f in (by_steps_that_grow, by_steps_of_data, slices_by_steps):
            for x in INPUTS:
                with self.subTest(f.__name__, x=x):
                    self.same(f, x, np.array([2, 1, 3]), backend="interpreter")
        self.same(sieve, np.ones(60, dtype=bool))
        with self.fails(headrace.InvalidError, "a step that the program computes is positive, and here it is -1"):
            headrace.program(by_steps_of_data, backend="interpreter")(INPUTS[0], np.array([1, -1]))

    def test_gradients_through_them(self):
        x = INPUTS[0]
        expected = [(loss(x + h) - loss(x - h)) / 2e-6 for h in 1e-6 * np.eye(5)]
        np.testing.assert_allclose(headrace.grad(loss)(x), expected, rtol=1e-6)


if __name__ == "__main__":
    unittest.main()
