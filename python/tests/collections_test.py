"""Lists, dicts and tuples that programs make, change, carry through loops and return; else after loops; round."""

import collections
import dataclasses
import unittest

from python.tests.case import Case, headrace, np

Pair = collections.namedtuple("Pair", "low high")
OUTSIDE = [1, 2]


@dataclasses.dataclass
class Moved:
    at: object
    by: float = 0.5


def returns_trees(x):
    p = {"a": x, "b": x * 2}
    p["c"] = p["a"] + 1
    p["a"] += 3  # the argument's own memory
    p["n"] = 2
    p["n"] += 1
    return p["a"] + p["b"], {"k": p["c"], "t": (x[0], [x[1], None]), "n": p["n"]}, Pair(x.min(), (x.max(),)), Moved(x, by=x[1])


def grows(x):
    out = []
    for i in range(len(x)):
        out.append(x[i] * i)
        if i == 3:
            out.append(x[i])
    return np.array(out), len(out)


def shares(x):
    def add(items, v):
        items.append(v)
        return len(items)

    xs = []
    n = add(xs, x * 2)
    ys = xs
    add(ys, x[::-1])
    xs.extend([x, x + 1])
    last = xs.pop()
    xs.reverse()
    xs.insert(1, last)
    return np.stack(xs), n, [y.sum() for y in ys], len(xs)


def keeps(x):
    x = x * 1.0
    xs = [x]
    for _ in range(3):
        x = x + 1
        xs.append(x)
    x[0] = 99
    return xs


def dicts(x):
    d = {k: x[k] for k in range(3)}
    s = 0
    for k, v in d.items():
        s += k * v
    d.update({3: x[3]})
    return s, d, list(x), tuple(x[:2]), 2 in d, len(d), d.get(7, x[0]), sorted(d.keys()), dict(a=x, **{"b": x[0]}), {**d, 0: x[5]}


def carried(x):
    state = (x[0], x[1])
    for _ in range(5):
        state = (state[1], state[0] + state[1] * 0.5)
    scaled, s = [x, x * 2, x * 3], 0.0
    for i in range(3):
        s = s + scaled[i].sum()
    return state, s


def goes_back(x):
    """The type of s changes after the list has grown: the loop is translated twice, the list grows once a round."""
    xs, s = [], 0
    for i in range(3):
        xs.append(x[i])
        s = s + x[i]
    return xs, s


def otherwise(x, limit):
    found = 0.0
    for e in x:
        if e > limit:
            found += e
            break
        if e < -limit:
            continue
    else:
        found += 1000
    k = 0
    while k < 3:
        k += 1
        if x[k] > 100 * limit:
            break
    else:
        found += 5
    for e in x:
        for j in range(2):
            if x[j] > e:
                break
        else:
            break
        found += 0.25
    else:
        found += 7
    for _ in range(2):
        found += 1
    else:
        found *= 2
    return found


def rounds(x, n):
    return round(x[0], 1), round(x[1]), round(2.5), round(n), round(x[2] * 100, -1)


def changes_what_is_outside(x):
    OUTSIDE.append(3)
    return x


def grows_in_a_branch(x):
    xs = []
    if x[0] > 0:
        xs.append(x)
    return xs


def grows_while(x):
    xs, i = [], 0
    while x[i] > 2:
        xs.append(x[i])
        i += 1
    return xs


def grows_while_known(x):
    xs, i = [], 0
    while i < 3:
        xs.append(x[i])
        i += 1
    rows = np.zeros((2, 2))
    rows[0], rows[1] = (x[0], i), [i, x[1]]
    return xs, rows


def has_a_key_of_data(x):
    d = {}
    d[x[0]] = x
    return d


def loss(p):
    parts = []
    for w in p["w"]:
        parts.append(np.sum(w * w))
    return {"loss": sum(parts), "parts": parts}


def by_keys_of_data(x):
    y = np.arange(6.0)
    pairs, nearest = sorted(zip(x, y)), min(zip(x, y), key=lambda p: (p[0] - 0.4) ** 2)
    down = sorted([v if v > 0 else -v for v in x], reverse=True)
    stable = sorted(range(6), key=lambda k: np.floor(x[k]), reverse=True)
    first = max(range(6), key=lambda k: np.abs(x[k]))
    return [a * k for k, (a, _) in enumerate(pairs)], nearest, down, stable, x[first], min(x, key=abs), max({"a": x[0], "bc": x[1]}.items(), key=lambda p: len(p[0]))[1]


def has_defaults(x):
    d = collections.defaultdict(float)
    d[1] += x[0]
    return d[1]


def never_ends(x):
    while True:
        x = x + 1
    return x


class Held:
    def __init__(self, v):
        self.v = v


def swaps(x):
    a, b, c, d = Held(x[0]), Held(x[1]), Held(x[2]), Held(x[3])
    for _ in range(301):
        a, b = b, a
    for _ in range(3):
        c, d = d, c
        c.v = c.v + 1
    return a.v, b.v, c.v, d.v


def keys_of_a_loop(x):
    d = {0: 0.0}
    for k in range(6):
        d[k % 2] = d.get(k % 2, 1.0)
        if k // 2 not in d:
            d[k // 2] = x[k]
    for k in range(6):
        d[k % 2] += x[k]
    return d


def shows(x):
    print("x is", x)
    return x


def asks(x):
    return x * float(input("how much? "))


def reads_a_file(x):
    return x * len(open("numbers.txt").read())


def as_a_text(x):
    return "%.3f" % x[0]


class Slots:
    __slots__ = ("x",)

    def __init__(self, x):
        self.x = x


def with_slots(x):
    return Slots(x).x


def takes_the_next(x):
    return next(v for v in x)


class Collections(Case):
    def agrees(self, got, expected):
        """Structure by structure: what Python returns."""
        if isinstance(expected, dict):
            self.assertEqual(list(got), list(expected))
            for k in expected:
                self.agrees(got[k], expected[k])
        elif isinstance(expected, (list, tuple)):
            self.assertIs(type(got), type(expected))
            self.assertEqual(len(got), len(expected))
            for a, b in zip(got, expected):
                self.agrees(a, b)
        elif isinstance(expected, Moved):
            self.agrees((got.at, got.by), (expected.at, expected.by))
        elif expected is None:
            self.assertIsNone(got)
        else:
            self.close(got, expected, rtol=1e-12)

    def test_as_python(self):
        for function in (returns_trees, grows, shares, keeps, dicts, carried, goes_back, grows_while_known, by_keys_of_data, keys_of_a_loop, swaps):
            with self.subTest(function.__name__):
                x = np.array([0.5, -2.0, 1.5, 0.25, 3.0, -1.0])
                ours, theirs = x.copy(), x.copy()
                self.agrees(headrace.program(function, backend="interpreter")(ours), function(theirs))
                self.close(ours, theirs)

    def test_else_after_loops(self):
        x = np.array([0.5, -2.0, 1.5, 0.25, 3.0, -1.0])
        for limit in (1.0, 2.0, 5.0, 0.001):
            for backend in ("interpreter", "cpu"):
                self.same(otherwise, x, limit, backend=backend)

    def test_round(self):
        self.same(rounds, np.array([0.25, 2.5, 0.12345]), 7, backend="interpreter")

    def test_gradients_of_one_of_several(self):
        p = {"w": [np.array([1.0, 2.0]), np.array([3.0])]}
        gradient = headrace.grad(loss, of=0)(p)
        self.agrees(gradient, {"w": [2 * w for w in p["w"]]})
        self.agrees(headrace.vmap(lambda a: {"twice": 2 * a, "both": (a, a + 1)})(np.arange(3.0)),
                    {"twice": 2 * np.arange(3.0), "both": (np.arange(3.0), np.arange(3.0) + 1)})

    def test_what_has_no_place(self):
        for function, what, where in (
                (changes_what_is_outside, "a list that was made outside of the program", "OUTSIDE.append(3)"),
                (grows_in_a_branch, "a list that is changed in a branch or loop of the program", "xs.append(x)"),
                (grows_while, "a list that is changed in a branch or loop of the program", "xs.append(x[i])"),
                (has_defaults, "a defaultdict has no place in a program\n", "hint: use a dict, and d.get(key, 0)"),
                (shows, "print of what the program computes has no place in a program\n", "hint: return the values, and print them around the call"),
                (asks, "input has no place in a program\n", "hint: call it outside of the program"),
                (reads_a_file, "open has no place in a program\n", "hint: read the file outside of the program"),
                (as_a_text, "a string with what the program computes\n", "hint: return the values"),
                (with_slots, "Slots has __slots__, and programs make objects that have a __dict__\n", "hint: leave __slots__ out"),
                (takes_the_next, "next has no place in a program\n", "hint: write a loop over the generator"),
                (never_ends, "a loop that never ends", "while True:"),
                (has_a_key_of_data, "an item of a dict whose key the program computes", "d[x[0]] = x")):
            with self.subTest(function.__name__), self.fails(headrace.UnsupportedError, what, where, "^"):
                headrace.program(function, backend="interpreter")(np.ones(3))
        self.assertEqual(OUTSIDE, [1, 2])


if __name__ == "__main__":
    unittest.main()
