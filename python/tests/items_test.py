"""Items of lists and dicts that loops and branches bind, as programs keep their state: `s["x"] = s["x"] + h * s["v"]`."""

import unittest

from python.tests.case import Case, headrace, np


def oscillates(x, n):
    s = {"x": x[0], "v": x[1]}
    for k in range(n):
        s["v"] = s["v"] - 0.01 * s["x"]
        s["x"] += 0.01 * s["v"]
    return s["x"], s["v"]


def step(state, gradient):
    state["t"] += 1
    state.update(m=0.9 * state["m"] + 0.1 * gradient)
    state["w"] = state["w"] - 0.1 * state["m"] / (1 - 0.9 ** state["t"])


def descends(x, n):
    state = {"w": x * 1, "m": x * 0, "t": 0}
    for k in range(n):
        step(state, np.sin(state["w"]))
    return state["w"], state["m"], state["t"]


def chosen_by_data(x, n):
    best = [0.0, -1]
    same = best
    total = 0.0
    for k in range(n):
        if x[k % len(x)] > best[0]:
            best[0], best[1] = x[k % len(x)], k
        else:
            same[-2] = best[0] * 0.5
        total += same[0] + sum(best)
    return best[0], best[1], total


def of_lists_of_lists(x, n):
    grid = [[x[0], 1.0], [2.0, x[1] * 3]]
    for k in range(n):
        for i in range(2):
            for j in range(2):
                grid[i][j] = grid[i][j] * 0.9 + x[i] * grid[1 - i][j] * 0.01
    return grid[0][0], grid[0][1], grid[1][0], grid[1][1]


def old_ones_are_kept(x, n):
    a = [x * 1, x * 2]
    first = a[0]
    for k in range(n):
        old = a[0]
        a[0] = a[1] * 0.5
        a[1] = old + a[0]
        a[1][0] = k
    return a[0], a[1], first, old


def keys_of_every_kind(x, n):
    d = {"state": x[0], "map": x[1], "inf": 1.0, "a b": x, "a_b": x * 2, (1, 2): x[2], 7: 0, "for": 2.0}
    for k in range(n):
        d["state"] = d["map"] * 0.5
        d["map"] = d["inf"] + d["for"]
        d["inf"] = np.sin(d[1, 2])
        d["a b"], d["a_b"] = d["a_b"] * 0.5, d["a b"] + 1
        d[1, 2] = d["state"]
        d[7] += 1
        d["for"] *= 0.9
    return tuple(d.values())


class Body:
    def __init__(self, x):
        self.parts = {"at": x[0], "by": [x[1], x[2]]}

    def step(self, h):
        self.parts["at"] = self.parts["at"] + h * self.parts["by"][0]
        self.parts["by"][1] = self.parts["at"] * 0.1
        self.parts["by"][0] -= h * self.parts["at"]


def of_objects(x, n):
    body = Body(x)
    for k in range(n):
        body.step(0.01)
    return body.parts["at"], body.parts["by"][0], body.parts["by"][1]


class Field:
    """Of the user's, with items and a length."""

    def __init__(self, x):
        self.x, self.writes = x, 0

    def __len__(self):
        return 3

    def __getitem__(self, k):
        return self.x[k] * 2

    def __setitem__(self, k, v):
        self.x[k] = v
        self.writes += 1


class Pair:
    def __init__(self, x):
        self.x = x

    def __iter__(self):
        yield self.x[0]
        yield self.x[1] * 2


def items_of_objects(x, n):
    field = Field(x * 1)
    field[0] = 5.0
    field[1:] += 2.0
    total = 0.0
    for k in range(len(field)):
        total += field[k]
    a, b, c = (field[k] for k in range(3))
    p, q = Pair(x)
    for v in Pair(x):
        total += v
    return total, a * b - c, p, q, field.x, field.writes, list(Pair(x))[1]


class Holder:
    def __init__(self, x):
        self.x = x


def chosen_for_an_object(x, n):
    held = Holder(x if x[0] > 0.25 else x + 0)
    held.x += 1
    return held.x * 1


def over_what_has_no_iter(x, n):
    return [v for v in Field(x)]


def without_such_an_item(x, n):
    d = {}
    for k in range(n):
        d["a"] = x[0] * k
    return d["a"]


X = np.array([1.0, 0.5, -1.0, 2.0])


class Items(Case):
    def test_in_loops(self):
        for f in (oscillates, descends, chosen_by_data, of_lists_of_lists, old_ones_are_kept, keys_of_every_kind, of_objects, items_of_objects):
            for n in (0, 4, 300):
                if n or f is not old_ones_are_kept:
                    with self.subTest(f.__name__, n=n):
                        self.same(f, X, n, backend="interpreter")
        self.same(oscillates, X, 300)
        self.same(descends, X, 300)

    def test_for_any_number_of_iterations(self):
        def any_number(x: headrace.float64[4], n: int):
            return oscillates(x, n), descends(x, n), chosen_by_data(x, n)

        program = headrace.program(any_number, backend="interpreter")
        for n in (1, 3, 400):
            for got, expected in zip(sum(program(X, n), ()), sum(any_number(X, n), ())):
                self.close(got, expected)

    def test_gradients(self):
        for f in (oscillates, descends, of_lists_of_lists, old_ones_are_kept, of_objects):
            for n in (3, 290):
                with self.subTest(f.__name__, n=n):
                    one = lambda x, f=f, n=n: np.sum(f(x, n)[0])  # noqa: E731
                    expected = [(one(X + h) - one(X - h)) / 2e-6 for h in 1e-6 * np.eye(4)]
                    result, pull = headrace.vjp(headrace.program(f, backend="interpreter"), X, n, argnums=0, of=0)
                    np.testing.assert_allclose(pull(np.ones_like(f(X, n)[0]))[0], expected, rtol=1e-6, atol=1e-7)

    def test_what_control_flow_cannot_change(self):
        for f, what, *more in ((without_such_an_item, "a dict that gets 'a' in a branch or loop of the program and has no such item before", 'd["a"] = x[0] * k'),
                               (over_what_has_no_iter, "a loop over a Field, which has no __iter__", "[v for v in Field(x)]", "hint: write __iter__"),
                               (chosen_for_an_object, "one of them is changed in place: write x = ….copy()", "self.x = x")):
            with self.subTest(f.__name__), self.fails(headrace.UnsupportedError, what, "items_test.py", "^", *more):
                headrace.program(f, backend="interpreter")(X, 300)


if __name__ == "__main__":
    unittest.main()
