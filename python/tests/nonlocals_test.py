"""Functions that programs define: names of the function around that they bind, by nonlocal, and what they remember, by default values."""

import functools
import unittest

from python.tests.case import Case, headrace, np


def sums(x):
    total, n = 0.0, 0

    def add(v):
        nonlocal total, n
        total = total + v
        n += 1
        if v > 0:
            n += 10

    for k in range(len(x)):
        add(x[k])
    if x[0] > 0:
        add(10.0)
    total *= 2
    return total, n


def search(x):
    calls, best, least = 0, x, 1e9

    def f(v):
        nonlocal calls
        calls += 1
        return np.sum((v - 1) ** 2)

    def consider(v):
        nonlocal best, least
        if (value := f(v)) < least:
            best, least = v, value

    step = 1.0
    while step > 1e-2:
        for k in range(2):
            d = np.zeros(len(x))
            d[k] = step
            consider(best + d)
            consider(best - d)
        step *= 0.5
    return best, least, calls


def counters(x):
    def counter(start):
        c = start

        def following(by=1):
            nonlocal c
            c += by
            return c

        return following

    a, b = counter(0), counter(x[0])
    k = 3.0
    squares = [k * k for k in range(3)]

    def change():
        nonlocal k
        k = x[1]

    change()
    return a() + a() * 10 + a(5) * 100, b(x[1]) + b(), k * sum(squares)


def filtered(x):
    before = np.zeros(2)

    def step(v):
        nonlocal before
        y = 0.5 * before + v
        before = y
        return y

    out = np.zeros((len(x), 2))
    for k in range(len(x)):
        out[k] = step(x[:2] * k)
    kept = before
    step(x[1:3])
    return out, kept, before


def over_such_a_name(x):
    k = 0

    def change():
        nonlocal k
        k = 5

    for k in range(3):
        change()
    return x * k


def scaled(p, q):
    return np.sum(p - q) * 0.1


def remembers(x):
    """Default values, and what partial was given, are what they were then."""
    a, v, t = x[0], x * 1, 0.0

    def items(b=a, w=v):
        for i in range(3):
            yield b * w * i

    a = a + 1
    v = v - a
    for item in items():
        t += item.sum()
    return a, v, t


def without_lists(x):
    a, v, t = x[0], x * 1, 0.0
    for k in range(len(x)):
        f = lambda y, b=a, *, w=v: y * b + w.sum()  # noqa: E731
        g = functools.partial(scaled, v, q=a)
        a = a * 0.9
        v = v * 0.5
        t += f(a) + g()
    return a, v, t


def remembers_each(x):
    functions, a = [], x[0]
    for k in range(3):
        def times(y, b=a, n=k):
            return y * b + n

        functions.append(times)
        a = a + 1
    return functions[0](x), functions[2](x, n=5), [f(1.0) for f in functions][1]


class Nonlocals(Case):
    def test_as_python(self):
        for f in (sums, search, counters, filtered):
            for n in (4, 300):
                with self.subTest(f.__name__, n=n):
                    self.same(f, np.sin(np.arange(1.0, n + 1)), backend="interpreter")
        self.same(sums, np.sin(np.arange(300.0)))

    def test_what_functions_remember(self):
        for n in (3, 290):
            with self.subTest(n=n):
                self.same(remembers_each, np.sin(np.arange(1.0, n + 1)), backend="interpreter")
        x = np.array([0.5, -1.0, 2.0])
        self.same(remembers_each, x)
        self.same(without_lists, np.sin(np.arange(290.0)), backend="interpreter")
        self.same(remembers, x, backend="interpreter")

    def test_gradients(self):
        x = np.array([0.5, -1.0, 2.0])
        for f in (sums, counters, filtered):
            with self.subTest(f.__name__):
                one = lambda *a, f=f: np.sum(f(np.array(*a))[0]) + np.sum(f(np.array(*a))[2 if f is not sums else 0])  # noqa: E731
                expected = [(one(x + h) - one(x - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
                program = headrace.program(f, backend="interpreter")
                got = headrace.grad(lambda x, f=f, program=program: np.sum(program(x)[0]) + np.sum(program(x)[2 if f is not sums else 0]))(x)
                np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-8)

    def test_what_has_no_place(self):
        with self.fails(headrace.UnsupportedError, "a loop over k, which a function binds by nonlocal, too", "hint: give the loop's variable another name"):
            headrace.program(over_such_a_name)(np.ones(3))


if __name__ == "__main__":
    unittest.main()
