"""Names that one way through a program binds and another does not: read where they have a value, or refused."""

import os
import unittest

from python.tests.case import Case, headrace, np

N = headrace.symbol("N")


def matched(x, k, name):
    s = 0.0
    for i in range(5):
        match i:
            case 0:
                s += x[0]
            case 1 | 2:
                s += x[1] * i
            case j if j > k:
                s += j
                break
    match name:
        case "sin":
            y = np.sin(x)
        case None:
            return x * s
        case _:
            y = x
    match x[0] > 1, x[1] > 0:
        case True, True:
            y = y * 2
        case a, True:
            y = y * 3
    match y.shape:
        case (n,):
            return y + n * s
    return y


def matched_with_a_star(x):
    match x:
        case [first, *_]:
            return first


def in_one_branch(x, k):
    if k > 0:
        y = x * 2
    return y + 0


def in_the_other_branch(x, k):
    if k > 0:
        x[0] = 1
    else:
        y = 1.0
    return x * y


def in_a_branch_of_a_branch(x, k):
    if k > 0:
        y = x * 2
    else:
        if x[0] > 1:
            y = x * 3
    return y


def by_loops(x, k):
    k = abs(k) + 0.25
    while k > 0:
        y = x * k
        k -= 1
    best = -10.0
    for i in range(3):
        if x[i] > best:
            best, where = x[i], i * 1.0
    for i in range(3):
        if x[i] > 20:
            break
        z = x * i
    for i in range(min(int(abs(x[0])), 2) + 1):
        last = x[i] * 2
    return y, where, z, last


def of_other_branches(x, k):
    if k > 0:
        y = x * 2
    else:
        y[0] = 1
    return x


def within_a_function(x, k):
    def f(a):
        if a[0] > 0:
            r = a * 2
        a[0] = 1
        return r
    return f(x)


def left_between_two_values(x, k):
    for i in range(3):
        if x[i] > 5:
            z = 1.0
            break
        z = x[i] * 3
    return z


def returns_on_one_way(x, k):
    if k > 0:
        return x * 2
    x[0] = 1


def returns_early(x, k):
    if k > 0.75:
        return
    x[0] = 1


def by_an_empty_loop(x, k):
    for i in range(3, 3):
        y = x * i
    return y


def bound_on_every_way(x, k):
    if k > 0:
        y = x * 2
    elif x[0] > 1:
        y = x * 3
    else:
        y = x * 4
    z = 0.0
    for i in range(3):
        q = x[i] * 2
        if x[i] > 5:
            z = 1.0
            break
        elif x[i] < -5:
            z = 2.0
            continue
        z = q * 3
    while True:
        if x[0] < 100:
            w = x[0]
            break
        x[0] *= 0.5
    for v in x:
        t = v * 2
    e, n = 1.0, 0
    while e > 0.1:
        u = x * e
        e = e * 0.5
        n += 1
    return y, z, q, w, t, u, i, n


def found_or_else(x, k):
    for i in range(len(x)):
        if x[i] > k:
            first = x[i]
            break
    else:
        first = -1.0
    for j in (0, 1, 2):
        if x[j] > k:
            second = x[j] * 2
            break
        if x[j] < -9:
            continue
    else:
        second = -2.0
    n = 3
    while n > 0:
        n -= 1
        if x[n] < k:
            third = n * 1.0
            break
    else:
        third = x[0]
    return first, second, third


def under_one_condition(x, k):
    s = 0.0
    found = False
    if k > 0:
        y = x * 2
    for i in range(3):
        if k > 0:
            s += y[i]
        if x[i] > 1:
            where, found = x[i] * 2, True
    if k > 0:
        s += np.sum(y)
    if found:
        s += where
    return s


def left_early(x, k):
    for i in range(3):
        if x[i] > k:
            continue
        else:
            y = x[i]
        x[i] = y + 1
    return x * 1


def bound_again(x, k):
    if k > 0:
        y = x * 2
    y = x * 3
    for i in range(2):
        if x[i] > k:
            z = 1.0
        z = x[i]
    return y * z


def annotated(x: headrace.float64[N], steps: int):
    for i in range(steps):
        y = x * i
    for i in range(len(x)):
        t = x[i]
    return y * t


REFUSED = [(in_one_branch, "y", "branch", "return y + 0"), (in_the_other_branch, "y", "branch", "return x * y"),
           (in_a_branch_of_a_branch, "y", "branch", "return y"),
           (of_other_branches, "y", "branch", "y[0] = 1"), (within_a_function, "r", "branch", "return r"),
           (by_an_empty_loop, "y", "loop", "return y")]
INPUTS = [np.array(v) for v in ([1.0, 2.0, 7.0], [0.5, -6.0, 0.25], [-7.0, 3.0, 0.0])]


class Paths(Case):
    def test_what_has_a_value(self):
        for f in (bound_on_every_way, found_or_else, under_one_condition, left_early, bound_again, returns_early, by_loops):
            for x in INPUTS:
                for k in (-1.0, 0.5, 4.0, 10.0):
                    with self.subTest(f.__name__, x=x, k=k):
                        self.same(f, x, k, backend="interpreter")
        self.same(annotated, INPUTS[0], 3, backend="interpreter")

    def test_match_statements(self):
        for x in INPUTS:
            for k, name in ((1, "sin"), (3, "other"), (7, None)):
                with self.subTest(x=x, k=k):
                    self.same(matched, x, k, name, backend="interpreter")
        with self.fails(headrace.UnsupportedError, "match statements with patterns of classes, of dicts or with a star", "hint: write if and elif"):
            headrace.program(matched_with_a_star, backend="interpreter")(INPUTS[0])

    def test_what_may_have_none(self):
        for f, name, kind, where in REFUSED:
            with self.subTest(f.__name__), self.fails(ValueError, f"{name} may have no value here: the {kind} in line", where,
                                                      f"hint: give {name} a value before the {kind}", os.path.basename(__file__), "^"):
                headrace.program(f, backend="interpreter")(INPUTS[0].copy(), 1.0)

    def test_what_has_several(self):
        with self.fails(ValueError, "z has several values here: the loop in line", "and is left in between", "give z a value before the loop"):
            headrace.program(left_between_two_values, backend="interpreter")(INPUTS[0].copy(), 1.0)

    def test_a_function_that_may_return_nothing(self):
        with self.fails(ValueError, "this function may return nothing", "return a value at its end, too"):
            headrace.program(returns_on_one_way, backend="interpreter")(INPUTS[0].copy(), 1.0)


if __name__ == "__main__":
    unittest.main()
