"""Objects that loops and branches bind anew, and other names of them: what is changed through one name is seen through the other, or refused."""

import dataclasses
import unittest

from python.tests.case import Case, headrace, np


class Body:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def step(self, h):
        return Body(self.a + h * self.b, self.b - h * self.a)

    def damp(self):
        self.a = np.clip(self.a, -1, 1) * 0.99
        self.b *= 0.9
        return self


@dataclasses.dataclass
class State:
    a: object
    b: object = 0.0

    def next(self, h):
        return dataclasses.replace(self, a=self.a + h * self.b)


def stepped_and_changed(x, n):
    p = Body(x[0], x[1])
    for k in range(n):
        p = p.step(0.01)
        p.a += 0.001 * k
    p.b = p.b + 1
    return p.a, p.b


def changed_by_its_methods(x, n):
    p = Body(x * 1, x * 2)
    for k in range(n):
        p = p.step(0.1)
        p.damp()
        p.b[0] += 0.1
    return p.a, p.b


def changed_by_another_name(x, n):
    p, t = Body(x[0], x[1]), 0.0
    for k in range(n):
        p = p.step(0.1).damp()
        q = p
        q.a = q.a + 0.1
        t += p.a
    return p.a, p.b, t


def changed_by_a_function(x, n):
    def normalize(d):
        d["a"] = d["a"] / (abs(d["a"]) + 1)
        return d

    d = {"a": x[0], "b": x[1]}
    for k in range(n):
        d = {"a": d["a"] + d["b"], "b": d["b"] * 0.5}
        normalize(d)["b"] += 0.25
    return d["a"], d["b"]


def the_one_before(x, n):
    p, t = Body(x[0], x[1]), 0.0
    before = p
    for k in range(n):
        before = p
        old = p
        p = p.step(0.1)
        t += p.a - before.a + old.b
    return p.a, before.a, t


def the_best(x, n):
    p = Body(x[0], x[1])
    best = p
    for k in range(n):
        p = p.step(0.1)
        p.damp()
        p.a = p.a + 0.05
        if p.a > best.a:
            best = p
    return p.a, best.a, best.b


def by_data(x, n):
    s, p = State(x * 1, 1.0), Body(x[0], x[1])
    for k in range(n):
        s = s.next(0.1)
        s.b = s.b * 0.99 + s.a[0] * 0.01
        if s.b > 1.2:
            s.b -= 0.5
        if p.a > 0.5:
            p = Body(p.a * 0.5, p.b + 1)
        else:
            p.a = p.a + 1
        p.b = p.b * 0.9
    s.a = s.a + p.b
    return s.a, s.b, p.a, p.b


def exchanged(x, n):
    a, b = Body(x[0], 1.0), Body(x[1], 2.0)
    for k in range(n):
        a, b = b, a
        a.a = a.a + 1
    return a.a, b.a, b.b


def lists_bound_anew(x, n):
    items, t = [x[0], x[1]], 0.0
    for k in range(n):
        others = items
        items = [v * 0.9 for v in items]
        items[0] = items[1] + 0.1
        t += others[0] - items[0]
    items[1] = 5.0
    return items[0], items[1], t


def changed_after_a_copy_of_it(x, n):
    p = Body(x[0], x[1])
    best = p
    for k in range(n):
        p = p.step(0.1)
        if p.a > best.a:
            best = p
        p.a = p.a * 0.9
    return best.a


def changed_in_the_next_iteration(x, n):
    p = Body(x[0], x[1])
    best = p
    for k in range(n):
        p.a = p.a * 0.9
        p = p.step(0.1)
        if p.a > best.a:
            best = p
    return best.a


def changed_where_it_was_made(x, n):
    p = Body(x[0], x[1])
    for k in range(n):
        q = Body(p.a * 0.5, p.b)
        p = q
        q.a = q.a + 1
    return p.a


def exchanged_and_known(x, n):
    a, b = Body(x[0], x[1]), Body(x[1], x[0])
    for k in range(n):
        c = a
        a, b = b, a
        b.a = b.a + 1
    return c.a


X = np.array([1.0, 0.5])


class Aliases(Case):
    def test_changes_show(self):
        for f in (stepped_and_changed, changed_by_its_methods, changed_by_another_name, changed_by_a_function, the_one_before, the_best, by_data,
                  exchanged, lists_bound_anew):
            for n in (3, 300):
                with self.subTest(f.__name__, n=n):
                    self.same(f, X, n, backend="interpreter")
        self.same(changed_by_its_methods, X, 300)

    def test_gradients(self):
        for f in (stepped_and_changed, changed_by_its_methods, changed_by_another_name, changed_by_a_function, the_one_before):
            with self.subTest(f.__name__):
                one = lambda x, f=f: np.sum(f(x, 30)[0])  # noqa: E731
                expected = [(one(X + h) - one(X - h)) / 2e-6 for h in 1e-6 * np.eye(2)]
                result, pull = headrace.vjp(headrace.program(f, backend="interpreter"), X, 30, argnums=0, of=0)
                np.testing.assert_allclose(pull(np.ones_like(f(X, 30)[0]))[0], expected, rtol=1e-6, atol=1e-7)

    def test_what_copies_could_not_do_is_refused(self):
        for f, line in ((changed_after_a_copy_of_it, "p.a = p.a * 0.9"), (changed_in_the_next_iteration, "p.a = p.a * 0.9"), (changed_where_it_was_made, "q.a = q.a + 1"),
                        (exchanged_and_known, "b.a = b.a + 1")):
            with self.subTest(f.__name__), self.fails(headrace.UnsupportedError, "an attribute of a Body whose name a branch or loop binds anew: make another Body", line):
                headrace.program(f, backend="interpreter")(X, 300)


if __name__ == "__main__":
    unittest.main()
