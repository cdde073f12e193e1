"""Names that share memory, and are bound anew or changed in place in loops and branches: as Python has it, or refused."""

import unittest

from python.tests.case import Case, headrace, np


def converge(a):
    x = a + 0
    n = 0
    while n < 10:
        old = x
        x = np.cos(x) * 0.5
        if np.sum(np.abs(x - old)) < 1e-2:
            break
        n += 1
    return x, float(n)


def the_old_one_is_changed(a):
    x = a + 0
    for i in range(3):
        y = x
        y[0] = 7
        x = x * 2
        y[1] = 3
    return x + y


def the_old_one_before_an_inner_loop(a):
    x = a + 0
    d = 0.0
    for i in range(3):
        old = x
        for j in range(2):
            x = x * 2
        d = d + np.sum(x - old)
    return d


def a_view_of_the_old_one(a):
    x = a + 0
    d = 0.0
    for i in range(3):
        old = x[1:]
        if i > 1:
            x = x * 2
        d = d + np.sum(x[1:] - old)
    return d


def a_tuple_with_the_old_one(a):
    x, y = a + 0, a * 2
    d = 0.0
    for k in range(2):
        pair = (x, y)
        x = x + 1
        d += np.sum(pair[0] * x) + np.sum(pair[1])
    return d


def after_the_loop(a):
    x = a * 1
    for i in range(2):
        x = x + 1
    z = x
    x = x * 2
    z[0] = 100
    return z + x


def after_branches(a):
    x = a + 0
    y = x
    if a[0] > -10:
        x = x * 2
    else:
        x = x * 3
    z = x
    if a[1] > -10:
        x = x + y
    return x + y * z


def swapped(a):
    u, new = a + 0, a * 0
    for t in range(3):
        new[1:-1] = (u[2:] + u[:-2]) / 2
        old = u
        u = new
        new = old
    for t in range(3):
        new[1:-1] = (u[2:] + u[:-2]) / 2
        u, new = new, u
    return u + new


def a_fresh_one_each_time(a):
    u = a + 0
    for t in range(3):
        new = np.empty_like(u)
        new[1:-1] = (u[2:] + u[:-2]) / 2
        new[0] = 1
        new[-1] = 2
        u = new
    return u


def rows_of_what_is_bound_anew(a):
    x = np.outer(a, a)
    d = 0.0
    for row in x:
        x = x * 2
        d += np.sum(row * x[0])
    return d


def step(u):
    for k in range(2):
        v = u
        u = v * 0.5 + k
    return u


def by_a_function(a):
    u = a + 0
    for t in range(3):
        w = u
        u = step(u)
        u[0] = np.sum(w)
    return u


def numbers(a):
    s, t = 0.0, 1.5
    for i in range(3):
        t = np.tanh(t)
        old = s
        s = s + t
        t = t + old
    while s > 1:
        s = np.min(a) * 0.5 + s * 0.1 - 1
    return s


def shrunk_by_while(a):
    x = a + 0
    d = 0.0
    while x.size > 2:
        old = x
        x = x[x > np.mean(x)]
        d += np.sum(old) - np.sum(x)
    return d


def shrunk_until_a_break(a):
    x = a + 0
    d = 0.0
    for k in range(10):
        if x.shape[0] <= 2:
            break
        x = x[x > np.mean(x)]
        d += np.sum(x)
    return d


def carried_and_changed(a):
    u, new = a + 0, np.zeros_like(a)
    for t in range(3):
        new[1:-1] = (u[2:] + u[:-2]) / 2
        u = new
    return u


def pick(a, b, c):
    if c > 0:
        r = a
    else:
        r = b
    return r


def picked_and_changed(a):
    x, y = a + 0, a * 2
    r = pick(x, y, a[0])
    r[0] = 100
    return x + y + r


def in_another_shape(a):
    x = a + 0
    d = 0.0
    for k in range(2):
        r = x.reshape(2, 6)
        x = x + 1
        d += np.sum(r)
    return d


def changed_after_the_loop(a):
    for k in range(2):
        a = a * 2
        a[0] = 1
    a += 1  # of the caller's where the loop does not run
    return a


def changed_before_it_is_bound_anew(a):
    for k in range(2):
        a *= 2
        a = a * 3
        a[0] = 1
    return a


def changed_where_it_may_not_be_bound_anew(a):
    for k in range(2):
        if k > 0:
            a = a * 3
        a[0] = 1
    return a


def chosen_and_changed(a):
    u, v = a * 1, a * 2
    t = u if a[0] > 0.5 else v
    t[0] = 100
    return u + v


def chosen_while_the_other_is_changed(a):
    u = a * 1
    t = u if a[0] > 0.5 else a * 2
    u[0] = 100
    return t


def chosen_of_arguments(a):
    b = a * 2
    t = a if b[0] > 0.5 else b
    t[0] = 100


def chosen_of_several(a):
    u, v, w = a * 1, a * 2, a * 3
    t = u if a[0] > 0.5 else v if a[1] > 0.5 else w
    t += 1
    return u + v + w


def chosen_in_a_loop(a):
    u, v = a * 1, a * 2
    t = a * 0
    for i in range(3):
        t = u if a[i] > 0.5 else v
        t[i] = 100
    return u + v


def chosen_for_a_function(a):
    u, v = a * 1, a * 2

    def clear(t):
        t[:] = 0

    clear(u if a[0] > 0.5 else v)
    return u + v


def chosen_in_a_tuple(a):
    u, v = a * 1, a * 2
    item = (u if a[0] > 0.5 else v, 1)
    item[0][0] = 5
    return u + v


def chosen_without_a_name(a):
    u, v = a * 1, a * 2
    (u if a[0] > 0.5 else v)[1] += 5
    return u + v


def chosen(a):
    u, v = a * 1, a * 2
    t = u if a[0] > 0.5 else v
    s = np.sum((v if a[1] > 0.5 else u) * t)
    t = t * 2
    t[0] = 100
    u = u * 3 if a[2] > 0.5 else u
    for i in range(3):
        best = t if np.sum(t) > s else u
        u = best * 0.5
    u += 1
    fresh = np.cos(a) if a[1] > 0.5 else np.zeros(12)
    fresh[0] = 1
    positive = a[a > 0]
    return u + v + t + fresh, s, np.sum(positive if a[0] > 0.5 else positive * 2)


def swapped_arguments(x, y):
    for i in range(3):
        x, y = y, x
        x += 1


def swapped_arguments_by_a_third_name(x, y):
    n = 3
    while n > 0:
        t = x
        x = y
        y = t
        x[0] += 1
        n -= 1


def swapped_arguments_by_a_name_from_before(x, y):
    t = x * 0
    for i in range(3):
        t = x
        x = y
        y = t
        y[0] += 1


def rotated_arguments(x, y):
    z = y * 1
    for i in range(4):
        x, y, z = y, z, x
        x *= 2
    return z


def swapped_arguments_and_slices(x, y):
    for t in range(3):
        x, y = y, x
        x[1:] += y[:-1]


def kept_from_the_arguments(x, y):
    for t in range(3):
        a, x = x, x * 2
        a[0] = 1
    return x


def arguments_bound_anew(x, y):
    """Nothing of the caller's is changed."""
    old = x * 0
    d = 0.0
    for t in range(3):
        old = x
        x = x * 0.5 + y
        x[0] = 0
        d = d + np.sum(x - old)
    for t in range(2):
        x, y = y * 1, x * 1
        x += 1
        y[0] = 3
    return x, y, d


def read_and_swapped(x, y):
    s = 0.0
    z = np.zeros_like(x)
    for t in range(3):
        x, y = y, x
        s += x[0] * 2 + y[t]
        z += x * t
    return x + z, s, y


def numbers_of_rows(a):
    """What a loop's variable is stays as it was, whatever becomes of the array."""
    x, y = a * 1, a * 2
    t = 0.0
    for v in x:
        x += y
        t += v
    for v in x[::-1]:
        x *= 0.5
        x[0] = v
        y[1] += v
    for k, v in enumerate(x):
        x = x + v
        x[k] = 1
    for row in np.outer(x, y):
        row += 1
        x[0] += row[1]
    return x, y, t


def bound_anew_after_the_loop(a):
    x = a * 0.5
    for v in x:
        x = a * v
    x[0] = 5
    return x


def gone_over_and_changed(a):
    x = a * 0.5
    for v in x:
        x += 1
        x = a * v
    return x


def gone_over_by_elements(a):
    x = a * 0.5
    for v in x:
        x[2] = 7.0
        x = a * v
    return x


class Sharing(Case):
    def test_as_python_has_it(self):
        a = np.random.default_rng(0).standard_normal(12)
        for f in (converge, the_old_one_is_changed, the_old_one_before_an_inner_loop, a_view_of_the_old_one, a_tuple_with_the_old_one,
                  after_the_loop, after_branches, swapped, a_fresh_one_each_time, rows_of_what_is_bound_anew, by_a_function, numbers,
                  numbers_of_rows, bound_anew_after_the_loop, shrunk_by_while, shrunk_until_a_break, chosen, in_another_shape):
            with self.subTest(f.__name__):
                self.same(f, a, backend="interpreter")

    def test_arguments_that_are_swapped(self):
        x, y = np.arange(3.0) + 1, np.arange(3.0) * 10
        for f, name in ((swapped_arguments, "x"), (swapped_arguments_by_a_third_name, "x"), (swapped_arguments_by_a_name_from_before, "y"),
                        (rotated_arguments, "x"), (swapped_arguments_and_slices, "x"), (kept_from_the_arguments, "a")):
            with self.subTest(f.__name__), self.fails(headrace.UnsupportedError, "is bound again in a loop or branch", f"write {name} = ….copy()"):
                headrace.program(f, backend="interpreter")(x.copy(), y.copy())
        for f in (arguments_bound_anew, read_and_swapped):
            with self.subTest(f.__name__):
                self.same(f, x, y, backend="interpreter")

    def test_what_copies_could_not_do_is_refused(self):
        a = np.random.default_rng(0).standard_normal(12)
        for f, name in ((carried_and_changed, "u"), (picked_and_changed, "r"), (changed_after_the_loop, "a"),
                        (changed_before_it_is_bound_anew, "a"), (changed_where_it_may_not_be_bound_anew, "a"), (chosen_and_changed, "t"),
                        (chosen_while_the_other_is_changed, "t"), (chosen_of_arguments, "t"), (chosen_of_several, "t"),
                        (gone_over_and_changed, "x"), (gone_over_by_elements, "x"), (chosen_in_a_loop, "t"), (chosen_for_a_function, "t"), (chosen_in_a_tuple, "item")):
            with self.subTest(f.__name__), self.fails(headrace.UnsupportedError, f"write {name} = ….copy()"):
                headrace.program(f, backend="interpreter")(a)

        with self.fails(headrace.UnsupportedError, "a choice between arrays that is changed in place: use an if statement"):
            headrace.program(chosen_without_a_name, backend="interpreter")(a)


if __name__ == "__main__":
    unittest.main()
