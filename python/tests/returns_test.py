"""`return` within loops and branches, and tuples that control flow binds: as Python has them."""

import dataclasses
import importlib.util
import os
import tempfile
import unittest
from typing import NamedTuple

from python.tests.case import Case, headrace, np

N, M = headrace.symbol("N"), headrace.symbol("M")


def first_above(x, k):
    for i in range(len(x)):
        if x[i] > k:
            return i
    return -1


def first_row(a, k):
    for row in a:
        if row.max() > k:
            return row
    return a[0] * 0


def place_above(a, k):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] > k:
                return i, j, a[i, j]
            if a[i, j] < -3 * k:
                return -i, 0, 0.0
    return 0, 0, -1.0


def by_newton(x, k):
    y = k + 1.0
    while True:
        new = 0.5 * (y + k * k / y)
        if abs(new - y) < 1e-12:
            return new * x
        y = new


def of_two_types(x, k):
    for i in range(len(x)):
        if x[i] > k:
            return i
    return x.sum()


def of_nothing(x, k):
    for i in range(len(x)):
        x[i] += 1
        if x[i] > k:
            return
        x[i] *= 2
    x[:] = 0


def from_else(x, k):
    for i in range(len(x)):
        if x[i] > 4:
            break
        for j in range(i):
            if x[i] * x[j] > k:
                break
        else:
            continue
        if x[j] > 0:
            return x * k
    else:
        return x + k
    return x - k


def over_a_tuple(x, k):
    for a in (1.0, 2.0, 4.0):
        if x[0] * a > k:
            return x * a
        for j in range(3):
            if x[j] > 2 * k:
                return x * j * a
    return x


def in_helpers(x, k):
    def locate(v):
        for i in range(len(x) - 1):
            if x[i] <= v < x[i + 1]:
                return i, (v - x[i]) / (x[i + 1] - x[i])
        return len(x) - 2, 1.0

    total = 0.0
    for v in (0.25, k):
        i, w = locate(v)
        total += x[i] * (1 - w) + x[i + 1] * w
    return total


def a_view_of_what_changes(x, k):
    y = x.copy()
    for i in range(1, 3):
        if y[i] > k:
            return y[1:3]
        y[i] += 0.5
    return y[:2]


def two_ways(x, k):
    if x[0] > k:
        return x * 2, x.sum()
    return x, x.max()


def largest(x, k):
    best = (0, 0.0)
    for i in range(x.shape[0]):
        if x[i] > best[1]:
            best = (i, x[i])
    return best


def exchanged(x, k):
    t = u = (x, x * 2)
    for _ in range(3):
        t = (t[1], t[0] + k * t[1])
        if t[0][0] > 20:
            t = t[::-1]
    return t, u


def bisected(x, k):
    low, high = bracket = (0.0, 10.0)
    for _ in range(50):
        middle = (bracket[0] + bracket[1]) / 2
        bracket = (middle, bracket[1]) if middle ** 3 + k * middle < 5 else (bracket[0], middle)
    return bracket[0] + low * high


def nested(x, k):
    state = ((x, 1.0), 0)
    while state[1] < 4:
        (a, b), n = state
        state = ((a * b, b + k), n + 1)
    return state


class Motion(NamedTuple):
    at: np.ndarray
    by: np.ndarray
    time: float = 0.0


@dataclasses.dataclass
class Count:
    of: np.ndarray
    n: int


def records(x, k):
    m, c = Motion(x, x * k), Count(x, 0)
    for i in range(3):
        m = m._replace(at=m.at + m.by, time=m.time + 0.5)
        if m.at[0] > 2:
            m = Motion(m.by, m.at, m.time)
        c = dataclasses.replace(c, of=c.of * k, n=c.n + i)
    return m.at, m.by, m.time, c.of, c.n


def trained(x, k):
    """Lists and dicts that are bound anew in loops whose end data decide."""
    p, steps = {"w": x, "b": k, "t": 0}, 0
    q = p
    while p["t"] < 3 and np.abs(p["w"]).max() < 50:
        p = {name: value * 2 + 1 if name != "t" else value + 1 for name, value in p.items()}
        if p["w"][0] > 2:
            p = {"b": p["b"] - 1, "t": p["t"], "w": p["w"] * 0.5}
    pair = [p["w"], q["w"]]
    while steps < 2 and k > 0:
        pair = [pair[1] + 1, pair[0]]
        steps += 1
    return p["w"], p["b"], p["t"], q["b"], pair[0], pair[1]


def one_or_two(x, k):
    if x[0] > k:
        return x, k
    return x


VECTORS = (first_above, by_newton, of_nothing, from_else, over_a_tuple, in_helpers, a_view_of_what_changes, two_ways, largest, exchanged, bisected,
           nested, records, trained)
INPUTS = [np.array(v) for v in ([0.5, 1.0, 2.0, 7.0], [0.25, -6.0, 0.25, 1.0], [-7.0, 3.0, 3.5, 4.5])]


class Returns(Case):
    def agrees(self, got, expected):
        if isinstance(expected, tuple):
            self.assertEqual(len(got), len(expected))
            for a, b in zip(got, expected):
                self.agrees(a, b)
        elif expected is None:
            self.assertIsNone(got)
        else:
            self.close(got, expected, rtol=1e-12)

    def test_as_python(self):
        for f in VECTORS:
            program = headrace.program(f, backend="interpreter")
            for x in INPUTS:
                for k in (0.5, 3.0):
                    with self.subTest(f.__name__, x=x, k=k):
                        ours, theirs = x.copy(), x.copy()
                        self.agrees(program(ours, k), f(theirs, k))
                        self.close(ours, theirs)

    def test_of_any_size(self):
        def sized(f, *shape):
            f.__annotations__ = {next(iter(f.__code__.co_varnames)): headrace.float64[shape]}
            program = headrace.program(f, backend="interpreter")
            f.__annotations__ = {}
            return program

        for f in VECTORS:
            if f is over_a_tuple:
                continue  # a tuple's loop has no size
            program = sized(f, N)
            for x in (*INPUTS, np.linspace(-4, 4, 9)):
                with self.subTest(f.__name__, x=x):
                    ours, theirs = x.copy(), x.copy()
                    self.agrees(program(ours, 2.0), f(theirs, 2.0))
                    self.close(ours, theirs)
        for f in (first_row, place_above):
            program = sized(f, N, M)
            for a in (np.arange(12.0).reshape(3, 4), -np.arange(8.0).reshape(4, 2)):
                with self.subTest(f.__name__, a=a):
                    self.agrees(program(a, 1.5), f(a, 1.5))

    def test_types_of_several(self):
        """The type that holds all of them."""
        program = headrace.program(of_two_types, backend="interpreter")
        self.assertEqual(program(INPUTS[0], 1.5), 2.0)
        self.close(program(INPUTS[0], 9.0), np.float64(10.5))

    def test_gradients(self):
        x = INPUTS[0]
        for f in (by_newton, from_else, in_helpers, a_view_of_what_changes):
            for k in (0.75, 3.0):
                loss = headrace.program(lambda x, k: np.sum(np.sin(f(x, k))), backend="interpreter")
                g = headrace.grad(loss)(x, k)
                expected = [np.sum(np.sin(f(x + h, k)) - np.sin(f(x - h, k))) / 2e-6 for h in 1e-6 * np.eye(4)]
                with self.subTest(f.__name__, k=k):
                    self.close(g, np.array(expected), rtol=1e-6, atol=1e-7)

    def test_many_branches(self):
        """What follows a branch stands once: twice each time would be without end."""
        branch = ["if x[{k} % 4] > a * {k} / 10:", "    if x[{k} // 4] > 2.5:", "        {leave}", "    s += {k} * a"]

        def function(first, leave, last):
            lines = ["def f(x, k):", "    s, a = 0.0, 1.0", *first]
            indent = "        " if first else "    "
            lines += [indent + line.format(k=k, leave=leave[k % len(leave)]) for k in range(16) for line in branch]
            return "\n".join([*lines, *last, ""])

        with tempfile.TemporaryDirectory() as folder:
            for n, text in enumerate([function([], ["return s - k"], ["    return s"]),
                                      function(["    for a in (1.0, 2.0, 3.0):"], ["continue", "break"], ["        s += k", "    return s"]),
                                      function(["    for a in (1.0, 2.0, 3.0):"], ["continue", "return s"], ["        s += k", "    return s"])]):
                path = os.path.join(folder, f"branches{n}.py")
                with open(path, "w", encoding="utf-8") as out:
                    out.write(text)
                spec = importlib.util.spec_from_file_location(f"branches{n}", path)
                made = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(made)
                for x in INPUTS:
                    with self.subTest(n=n, x=x):
                        self.same(made.f, x, 0.5, backend="interpreter")

    def test_what_is_returned_is_an_argument(self):
        def either(x, k):
            for i in range(2):
                if x[i] > k:
                    return x
                x[i] = 1.0
            return x * 2

        def calls(x, k):
            y = either(x * 1.0, k)
            x[0] = 5.0
            return y + x

        for f in (either, calls):
            for x in INPUTS:
                self.same(f, x, 0.75, backend="interpreter")

    def test_what_is_returned_is_changed(self):
        def changes(x, k):
            def either(v):
                if v[0] > k:
                    return v * 2
                return v

            y = either(x)
            y[0] = 5.0
            return y + x

        with self.fails(headrace.UnsupportedError, "what either returns has another name, too, on one of its ways", "return v\n", "write return ….copy()"):
            headrace.program(changes, backend="interpreter")(INPUTS[0].copy(), 1.0)

    def test_compiled(self):
        self.same(first_row, np.arange(12.0).reshape(3, 4), 5.0)
        self.same(largest, INPUTS[0], 0.0)

    def test_nothing_elsewhere(self):
        def found(x, k):
            for i in range(len(x)):
                if x[i] > k:
                    return i
            return None

        with self.fails(TypeError, "this function returns a number or array in one place, and nothing here", "return None"):
            headrace.program(found, backend="interpreter")(INPUTS[0], 1.0)

    def test_other_parts_elsewhere(self):
        with self.fails(TypeError, "this function returns a tuple of 2 parts in one place, and a number or array here", "return x\n"):
            headrace.program(one_or_two, backend="interpreter")(INPUTS[0], 1.0)


if __name__ == "__main__":
    unittest.main()
