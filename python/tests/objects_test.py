"""Objects of users' classes that programs make and change, operators that are methods, and functions of Python's that take functions."""

import copy
import dataclasses
import enum
import functools
import itertools
import math
import unittest

from python.tests.case import Case, headrace, np


class Dual:
    """A number and its derivative."""

    def __init__(self, v, d):
        self.v, self.d = v, d

    def __add__(self, o):
        return Dual(self.v + o.v, self.d + o.d) if isinstance(o, Dual) else Dual(self.v + o, self.d)

    __radd__ = __add__

    def __mul__(self, o):
        if not isinstance(o, Dual):
            return Dual(self.v * o, self.d * o)
        return Dual(self.v * o.v, self.v * o.d + self.d * o.v)

    __rmul__ = __mul__

    def __neg__(self):
        return Dual(-self.v, -self.d)

    def __sub__(self, o):
        return self + -o

    def __getitem__(self, k):
        return Dual(self.v[k], self.d[k])

    def __len__(self):
        return len(self.v)

    def __abs__(self):
        return Dual(np.abs(self.v), np.sign(self.v) * self.d)

    def __lt__(self, o):
        return self.v < o.v

    def __iadd__(self, o):
        return Dual(self.v + 2 * o.v, self.d + 2 * o.d)


def derivative(x):
    a = Dual(x, np.ones_like(x))
    y = 2 * a * a + -a - 1.0
    b = y[0]
    b += y[1]
    return y.v, y.d, abs(y).d * len(y), b.v, b < y[1]


@dataclasses.dataclass
class Vector:
    x: float
    y: float

    def __add__(self, o):
        return Vector(self.x + o.x, self.y + o.y)

    def __rmul__(self, k):
        return Vector(k * self.x, k * self.y)

    def __matmul__(self, o):
        return self.x * o.x + self.y * o.y


def turns(r, t):
    v, w = Vector(r, t), Vector(0.0, 0.0)
    for k in range(3):
        w = w + 0.5 * v
        v = Vector(x=v.y, y=-v.x)
    return w @ v, w.x


@dataclasses.dataclass
class State:
    x: np.ndarray
    v: np.ndarray
    t: float = 0.0

    def drift(self, dt):
        self.x = self.x + dt * self.v
        self.v -= dt * self.x
        self.t += dt


def leaps(x, v):
    s = State(x, v)
    for _ in range(4):
        s.drift(0.1)
    return s.x, s.t


class Layer:
    def __init__(self, n, *, act=np.tanh):
        self.n, self.act, self.calls = n, act, []


class Dense(Layer):
    def __init__(self, W, **options):
        super().__init__(W.shape[0], **options)
        self.W, self.b = W, np.zeros(self.n)
        self.b[0] = 0.5

    def __call__(self, x):
        self.calls.append(x[0])
        return self.act(self.W @ x + self.b)


def layers(A, x):
    first, second = Dense(A), Dense(A, act=lambda z: z * z)
    return second(first(second(x))), len(second.calls) * second.calls[1]


class Mean:
    def __init__(self):
        self.n, self.mean, self._last = 0, 0.0, None

    def push(self, x):
        self.n += 1
        self.mean += (x - self.mean) / self.n

    @property
    def last(self):
        return self._last

    @last.setter
    def last(self, value):
        self._last = 2 * value


def means(x):
    m = Mean()
    for v in x:
        m.push(v)
    m.last = x[0]
    return m.mean, m.n, m.last


def add(items, v):
    items.append(v)


def lists_are_shared(x):
    items, named = [], {}
    add(items, x[0])
    add(items, x[1] * 2)
    other = items
    other.append(x[2])
    (p, q) = (items, other)
    q.append(x[0])
    p[0] = p[0] * 3
    x[0] = 5.0
    named["n"] = len(items)
    return items[0] + items[1], items[2], items[3], named["n"]


def functions_of_functions(x):
    d = {"b": x[0], "a": x[1]}
    total = 0.0
    for k, v in sorted(d.items(), key=lambda kv: kv[0]):
        total = total * 2 + v
    for i, v in zip(itertools.count(1), x[:3]):
        total += v * i
    for a, b in itertools.combinations(x[:3], 2):
        total += a * b
    for a, b in itertools.product((1, 2), x[:2]):
        total += a * b
    sums = list(itertools.accumulate(x[:3]))
    return (total, sums[-1], functools.reduce(lambda p, q: p / 2 + q, x[:4]), math.prod([x[0], x[1], 2]), math.fsum(x[:3]), math.dist(x[:2], (0.0, 1.0)),
            sorted(x)[1], max(itertools.starmap(lambda a, b: a * b, itertools.pairwise(x[:3]))))


def conditions_that_bind(x, n):
    s = 8.0
    while (s := s / 2) > x[3]:
        s -= 0.1
    while (n := n - 1) > 0:
        s += 1
    return s


class Sum:
    def __init__(self):
        self.total = 0.0


def in_a_long_loop(x):
    s = Sum()
    for k in range(len(x)):
        s.total += x[k]
    return s.total


def in_a_branch(x):
    s = Sum()
    if x[0] > 0:
        s.total = x[1]
    return s.total


class Largest:
    def __init__(self, x):
        self.value, self.sum, self.at = x[0], 0.0, 0
        for k in range(len(x)):
            self.sum += x[k]
            if x[k] > self.value:
                self.value, self.at = x[k], k


def in_init(x):
    a, b = Largest(x), Largest(-x)
    return a.value, a.sum, b.value, b.at - a.at


class Leapfrog:
    damping = 1.0

    def __init__(self, x, v):
        self.x, self.v, self.t, self.peak, self.moved = x, v, 0.0, -1.0, 0.0

    def step(self, dt):
        old = self.x
        self.v = self.v - dt * np.sin(self.x)
        self.x = self.x + dt * self.v
        self.v *= 0.999
        self.moved += np.sum(np.abs(self.x - old))
        self.t += dt
        self.damping *= 0.99
        if (e := np.sum(self.v * self.v)) > self.peak:
            self.peak = e


def by_methods(x, n):
    s, still = Leapfrog(x, np.cos(x)), Leapfrog(x, 0 * x)
    for k in range(n):
        s.step(0.01)
        if k % 3 == 0:
            still.step(0.1)
    middle = s.x
    while s.t < 0.055:
        s.step(0.01)
    return middle, s.x, s.v, s.moved, s.peak, s.damping, still.x, s.t


def through_other_names(x):
    s, t = Sum(), Sum()
    both, u = [s, t], s
    for v in x:
        both[0].total += v
        u.total += 0.5
        both[1].total -= v
    return s.total, t.total


def kept_elsewhere(x):
    s, new = Leapfrog(x, x), np.zeros(len(x))
    for k in range(len(x)):
        s.x = new
        new[0] += 1.0
    return s.x


def without_a_value(x):
    s = Sum()
    for k in range(len(x)):
        s.last = x[k]
    return s.last


def that_are_none(x):
    s = Sum()
    s.total = None
    for k in range(len(x)):
        if x[k] > 0.5:
            s.total = x[k]
    return s.total


class Draws:
    """Of numbers that are known, all of them."""

    def __init__(self, seed):
        self.state, self.count, self.names = seed, 0, []

    def draw(self):
        self.state = (1103515245 * self.state + 12345) % 2147483648
        return self.state / 2147483648

    def name(self):
        self.count += 1
        self.names.append("k{:02d}".format(self.count))
        return self.names[-1]


def of_known_numbers(x):
    d, inside, named = Draws(42), 0.0, {}
    if x[0] > 0:
        d.draw()
    for _ in range(300):
        u, v = d.draw(), d.draw()
        if u * u + v * v < 1:
            inside += x[0]
    for k in range(3):
        named[d.name()] = x[k]
    return inside, named["k02"], len(d.names)


@dataclasses.dataclass
class Body:
    position: np.ndarray
    velocity: np.ndarray
    mass: float = 2.0
    forces: list = dataclasses.field(default_factory=list)

    def __post_init__(self):
        self.momentum = self.mass * self.velocity
        self.steps = 0

    def step(self, force):
        self.steps += 1
        self.momentum = self.momentum + 0.1 * force
        self.position = self.position + 0.1 * self.momentum / self.mass
        return self


def with_post_init(x):
    bodies = [Body(x[:2], x[2:]), Body(x[2:], x[:2], mass=1.0 + x[0])]
    for _ in range(100):
        d = bodies[1].position - bodies[0].position
        for body, sign in zip(bodies, (1, -1)):
            body.step(sign * d)
    bodies[0].forces.append(d)
    return bodies[0].position, bodies[1].momentum, bodies[1].steps, bodies[0].forces[0]


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


def what_is_no_number(x):
    best, colour, total, letters = None, Colour.RED, 0.0, {c: x[0] for c in "abc"}
    for k in range(4):
        if best is None or x[k] > best:
            best = x[k]
        total += x[k] if colour is Colour.RED else letters["b"]
        colour = Colour.BLUE if colour is Colour.RED else Colour.RED
    return best, total


def by_name(x):
    s = Sum()
    for name in ("total", "other"):
        setattr(s, name, x[1])
    return getattr(s, "total") + getattr(s, "nothing", x[2]), hasattr(s, "other"), hasattr(x, "shape"), type(s) is Sum, type(x) is np.ndarray


def copies(x):
    a = Leapfrog(x, x)
    b, c = copy.copy(a), copy.deepcopy(a)
    b.x = b.x * 2
    c.v[0] = 7.0
    pair = copy.deepcopy([x, x])
    pair[0][1] = 5.0
    return a.x, b.x, b.v, c.v, c.x, pair[1], x


def chosen_by_data(x):
    a, b = Sum(), Sum()
    best = a
    if x[0] > 0:
        best = b
    best.total = x[1]
    return a.total


OUTSIDE = Sum()


def of_one_outside(x):
    OUTSIDE.total = x[0]
    return x


class Outside:
    """Counts calls, and has a table that is made once."""

    def __init__(self):
        self.calls, self.values = 0, None

    def count(self):
        self.calls += 1
        return self.calls

    def table(self):
        if self.values is None:
            self.values = np.arange(4.0)
        return self.values


COUNTS = Outside()


def by_a_method_of_one_outside(x):
    return x * COUNTS.count()


def with_a_table(x):
    return x * COUNTS.table() + COUNTS.table()[1]


def becomes_a_list(x):
    s = Sum()
    for k in range(len(x)):
        s.total = [x[k]]
    return s.total[0]


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: float


def of_a_frozen_one(x):
    f = Frozen(x[0])
    f.x = x[1]
    return f.x


X = np.array([1.5, -0.5, 2.0, 0.25])


class Objects(Case):
    def test_made_and_changed(self):
        for f, args in ((derivative, (X,)), (turns, (1.5, 0.4)), (leaps, (X, X[::-1])), (layers, (np.outer(X, X), X)), (means, (X,)),
                        (in_a_long_loop, (X,)), (in_a_branch, (X,)), (in_init, (X,)), (through_other_names, (X,)), (of_known_numbers, (X,)),
                        (with_post_init, (X,)), (what_is_no_number, (X,)), (by_name, (X,)), (copies, (X,)), (with_a_table, (X,)), (lists_are_shared, (X,)), (functions_of_functions, (X,)), (conditions_that_bind, (X, 3))):
            with self.subTest(f.__name__):
                self.same(f, *args, backend="interpreter")
        self.same(layers, np.outer(X, X), X)

    def test_in_long_loops(self):
        long = np.sin(np.arange(300.0))
        for f, args in ((in_a_long_loop, (long,)), (in_a_branch, (-long,)), (in_init, (long,)), (through_other_names, (long,)), (by_methods, (X, 4)), (by_methods, (X, 300))):
            with self.subTest(f.__name__):
                self.same(f, *args, backend="interpreter")
        self.same(by_methods, X, 300)

    def test_for_any_size(self):
        N = headrace.symbol("N")

        def any_size(x: headrace.float64[N], n: int):
            return in_init(x), by_methods(x, n)

        program = headrace.program(any_size, backend="interpreter")
        for x, n in ((X, 1), (X[:1], 2), (np.sin(np.arange(9.0)), 11)):
            for got, expected in zip(sum(program(x, n), ()), sum(any_size(x, n), ())):
                self.close(got, expected)

    def test_gradients(self):
        for f in (derivative, leaps, means, functions_of_functions, in_init, with_post_init, lambda x: by_methods(x, 30)[1:]):
            one = lambda *a, f=f: np.sum(f(*map(np.array, a))[0])  # noqa: E731
            args = (X, X * 2)[:2 if f is leaps else 1]
            with self.subTest(f.__name__):
                expected = [(one(X + h, *args[1:]) - one(X - h, *args[1:])) / 2e-6 for h in 1e-6 * np.eye(4)]
                _, pull = headrace.vjp(headrace.program(f, backend="interpreter"), *args, of=0)
                (got, *_) = got if isinstance(got := pull(np.ones_like(f(*args)[0])), tuple) else (got,)
                np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-8)

    def test_what_control_flow_changes(self):
        for f, kind, what, *more in ((kept_elsewhere, headrace.UnsupportedError, "one of them is changed in place", "s.x = new"),
                                     (without_a_value, headrace.UnsupportedError, "Sum.last, which has no value before this block", "hint: give last a value where"),
                                     (that_are_none, headrace.UnsupportedError, "Sum.total is None before this block, and bound in it", "s.total = x[k]"),
                                     (becomes_a_list, headrace.UnsupportedError, "Sum's total is a list here, and a number or array before", "s.total = [x[k]]"),
                                     (by_a_method_of_one_outside, headrace.UnsupportedError, "count changes calls of a Outside that was made outside", "hint: make it in the program"),
                                     (chosen_by_data, headrace.UnsupportedError, "a Sum that a branch or loop made or chose has a change after it", "best.total = x[1]", "hint: make the change there"),
                                     (of_one_outside, headrace.UnsupportedError, "an attribute of what was made outside", "hint: return the value"),
                                     (of_a_frozen_one, TypeError, "Frozen is frozen: dataclasses.replace makes another one")):
            with self.subTest(f.__name__), self.fails(kind, what, "objects_test.py", "^", *more):
                headrace.program(f, backend="interpreter")(np.ones(300))
        self.assertEqual(COUNTS.calls, 0)


if __name__ == "__main__":
    unittest.main()
