"""What Python's own constructs mean: and, or, in, loops' variables afterwards, enumerate and zip, names around the function; and what has
no place in a program."""

import dataclasses
import datetime
import functools
import itertools
import math
import operator
import os
import random
import time
import types
import unittest

from python.tests.case import Case, headrace, np


def either(x, y, k):
    return x or y, x and y, (x - x) or y, (x - x) and y, k or x, not x, not (x and k), 0 or x, 5 and k


def bump(a, value):
    a[0] += 1
    return value


def only_where_needed(a, x):
    b = x > 1 and bump(a, x) > 0
    c = x < 1 or bump(a, x) > 0
    d = bump(a, x) if x > 5 else x + 1
    e = np.sum(np.sqrt(a - 10)) if a[0] > 10 else 0.5
    return b, c, d, e


def guarded(a, i):
    n = 0
    while n < len(a) and a[n] > 0:
        n += 1
    while i >= 0 and a[i] < 5:
        i -= 1
    return n, i


def membership(x, k):
    s = 0
    for i in range(len(x)):
        if x[i] in (2, 7):
            s += 10
        if x[i] not in [1, k]:
            s += 1
    return s, 7 in x, k in x, 3 in (1, 2, 3), 4 not in (1, 2)


def pairs(a, b):
    return (a[0], a[1]) == (a[0], a[1]), (a[0], 1) != (b[0], 1), (a[0], 1) == (b[0],)


def after_loops(x):
    i = 5
    for i in range(3):
        x[i] += 1
    for j in range(len(x)):
        if x[j] > 3:
            break
    s = k = 0
    while k < 3:
        for k in range(2 + s):
            s += 1
        k += 1
    for m in range(4, 0, -2):
        pass
    x[j] += m
    return i, j, k, s, m, i + x[i]


def rows(A, w):
    s = 0.0
    for i, row in enumerate(A):
        s += i * np.sum(row)
        row *= 2
    for k, v in enumerate(w, 2):
        s += k * v
    for p, q in zip(A[0], w):
        s += p * q
    for n, (p, q) in zip((1, 2, 3), enumerate((4.0, 5.0))):
        s += n * p * q
    for k in reversed(range(len(w))):
        s = s * 0.5 + w[k]
    for v in reversed(w):
        s = s * 0.5 + v
    for a, b, c in zip(w, A[1], (1.0, 2.0)):
        s += a * b * c
    return s


def types_of_branches(x):
    if x[0] > 0:
        y = 1.0
    else:
        y = np.sum(x)
    for i in range(3):
        if x[i] > 1:
            k = 0
        else:
            k = x[i] * 0.5
        x[i] = k
    return y * (2.0 if x[1] > 0 else np.mean(x))


def bound_in_their_loops(A):
    s = 0.0
    for row in A:
        row -= row.mean()
    for v in A[0]:
        v = v * 2
        s += v
    for i in range(1, 4):
        s += np.sum(A[0, ::i])
        A[1, i::i] *= 0.5
        i = i + 1
        s += i
    return s


def built_in(x, n):
    q, r = divmod(x[0], x[1])
    return (max(x), min(x), sum(x), all(x > -9), any(x > 9), bool(x[0]), complex(x[0], x[1]), pow(x[1], 2), q, r, divmod(n, 3)[1],
            x[[0, 2, -1]], x[[True, False, True, False]].sum())


FACTOR = 2.0
OTHER = types.ModuleType("other")
OTHER.factor = 1.0


def scale(x):
    return x * FACTOR


def surroundings(x):
    return np.sum(scale(x)) * OTHER.factor


def ands_arrays(x):
    return np.sum((x > 0) and (x < 1))


def chains_arrays(x):
    return np.sum(0 < x < 1)


def negates_arrays(x):
    return np.sum(not x)


def largest_of_matrix(x):
    return max(x)


def orders_tuples(x):
    return (x[0, 0], 1) < (x[1, 0], 2)


def comprehends(x):
    return sum([x[i, 0] for i in range(1000)])


def generates(x):
    return sum(v for v in x if v[0] > 0)


def defines(x):
    @headrace.program
    def f(y):
        return y + 1
    return f(x)


def defines_what_is_unbound(x):
    k = 2.0

    def f(y):
        k = k * y  # noqa: F823
        return k

    return f(x)


def gives_too_much(x):
    def f(y):
        return y + 1
    return f(x, x)


def raises(x):
    if x[0, 0] > 0:
        raise ValueError("positive")
    return x


def formats(x):
    return f"{x}"


def deletes(x):
    y = x * 2
    del y
    return y


def math_of_an_array(x):
    return math.sin(x)


def deletes_a_row(x):
    del x[0]


def raises_in_operations(x):
    with np.errstate(divide="raise"):
        return 1 / x


def a_set_of_data(x):
    return 1 in {x[0], x[1]}


def matches(x):
    match x.shape:
        case [2, *_]:
            return x


GENERATOR = np.random.default_rng(0)


def draws(x):
    for i in range(3):
        x[i] += np.random.random()
    return x * 1


def draws_of_a_generator(x):
    return x + GENERATOR.standard_normal(2)


def draws_by_a_function(x):
    return x * the_time() + random.random()


def the_time():
    return time.perf_counter()


def draws_of_its_own(x):
    return x + np.random.default_rng().random()


def shuffles(x):
    random.shuffle(x)


def names_today(x):
    return x * datetime.datetime.now().year


WRONG = [*[(f, headrace.UnsupportedError, what + " gives something else at each call", "hint: call it outside of the program, and pass")
           for f, what in ((draws, "RandomState.random"), (draws_of_a_generator, "Generator.standard_normal"),
                           (draws_of_its_own, "Generator.random"), (shuffles, "Random.shuffle"), (names_today, "datetime.now"))],
         (ands_arrays, ValueError, "ambiguous", "(x > 0) and (x < 1)"), (chains_arrays, ValueError, "ambiguous", "0 < x < 1"),
         (negates_arrays, ValueError, "ambiguous", "not x"), (largest_of_matrix, ValueError, "use np.max", "max(x)"),
         (orders_tuples, headrace.UnsupportedError, "the order of tuples", "compare their items"),
         (comprehends, headrace.UnsupportedError, "a comprehension of 1000 items", "range(1000)"),
         (generates, headrace.UnsupportedError, "a comprehension whose condition the program computes", "np.where"),
         (defines, headrace.UnsupportedError, "a function with a decorator", "define it outside"),
         (gives_too_much, TypeError, "too many positional arguments", "f(x, x)"),
         (raises, headrace.UnsupportedError, "raise statements", 'raise ValueError("positive")'),
         (formats, headrace.UnsupportedError, "a string with values", "hint: return the values"),
         (math_of_an_array, TypeError, "math.sin of an array: np.sin takes arrays", "math.sin(x)"),
         (deletes, ValueError, "y has no value here", "hint: leave the del statement out"),
         (deletes_a_row, headrace.UnsupportedError, "del statements of parts", "del x[0]"),
         (raises_in_operations, headrace.UnsupportedError, "no operation of a program raises", "np.isfinite"),
         (a_set_of_data, headrace.UnsupportedError, "a set of what the program computes", "hint: write a tuple"),
         (matches, headrace.UnsupportedError, "match statements with patterns of classes, of dicts or with a star", "hint: write if and elif")]


def around_statements(x, y):
    """Imports, np.errstate and del, also in loops."""
    import math
    import numpy.linalg as la
    from math import pi, sqrt as root

    s = math.exp(0.0) * pi + la.norm(x)
    for i in range(4):
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(x > 0, np.log(x), 0.0)
            if z[0] * i > 1:
                break
        s += root(2.0) * z[1]
        del z
    known = {"a": x, "b": y}
    del known["a"]
    return s, sum(known.values())


def names_of_parameters(p, x):
    """Strings of what is known, sets, and objects that are called."""
    for k in range(1, 3):
        x = np.tanh(p[f"w{k}"] * x + p["b%d" % k])
    for k in reversed(range(len(x))):
        x[k] += x[k - 1] if k in {0, 2} else p["w" + str(1)][k]
    return Scale(x, 2.0)(x) + Scale(x, 1.0).twice, f"{3:02d}" == "03"


@dataclasses.dataclass
class Scale:
    of: np.ndarray
    by: float

    def __call__(self, x):
        return x * self.by + self.of

    @property
    def twice(self):
        return self.of * 2 * self.by


def scaled(by):
    def decorator(f):
        @functools.wraps(f)
        def called(*args, **named):
            return by * f(*args, **named)
        return called
    return decorator


@scaled(10.0)
def decorated(x, k=1.0):
    return x * k


@scaled(3.0)
@scaled(2.0)
def decorated_twice(x):
    return decorated(x) + decorated(x, k=2.0)


def copies_of_arrays(x, y):
    """np.array copies, np.asarray does not."""
    a, b, c = np.array(x), np.array(x, copy=True), np.asarray(y)
    a[0], b[1], c[0] = 7, 8, 9
    return a, b, c * 1, x * 1, isinstance(x, np.ndarray), isinstance(x[0], float), isinstance(len(x), int), isinstance(2.0, (int, float))


def keys_and_operators(x):
    """Functions of the program that Python's own call, and the module operator."""
    order = sorted([(2, "b"), (1, "a"), (3, "c")], key=lambda t: -t[0])
    twice = functools.partial(lambda a, b: a * b, 2.0)
    total = functools.reduce(operator.mul, [x[k] for k in range(2)])
    for i, j in itertools.combinations(range(3), 2):
        total += operator.sub(x[i], x[j])
    return twice(x) * order[0][0] + total


def names_of_numbers(x, y):
    """inf, nan, true and false are names as any other."""
    inf, nan = x.sum(), x * 2
    true, false = inf > 1, 3
    for nan_1 in range(2):
        nan = nan + nan_1
    if true:
        inf = inf * false
    return inf * 2, nan + y, true, false


def an_argument_inf(inf):
    return inf * 2


def module_math(a, b):
    """Of numbers that the program computes, too."""
    a, b = a * 1.0, b * 1
    return (math.sin(a) * math.exp(b) + math.sqrt(a) + math.log(a) + math.log(a, 2) + math.atan2(a, b) + math.hypot(a, b, 2.0) + math.pow(a, 2) + math.erf(b),
            math.floor(b), math.ceil(a), math.trunc(b), math.isnan(a), math.isinf(b), math.copysign(a, b), math.fmod(b, 2), math.degrees(a),
            math.isclose(a, a + 1e-12), math.isclose(a, b), math.factorial(3) * a)


def lambda_free(x, y):
    def rate(s, k):
        return y * s - k * s * s
    for _ in range(3):
        k1 = rate(x, 0.5)
        x = x + 0.1 * (k1 + rate(x + 0.1 * k1, 0.5)) / 2
    return np.sum(x)


def local_functions(x, y, n):
    """What they see of the function around is what it is when they are called; they change arrays in place."""
    scale = 2.0
    total = np.zeros_like(x)

    def step(s, dt=0.5, *more, power=1):
        k = scale * s
        total[:] += k ** power
        return s + dt * k + sum(more)

    def clear(z):
        z[0] = 0.0

    square = lambda v, k=y[0]: v * v + k  # noqa: E731
    for i in range(n):
        x = step(x, 0.1, 1.0, y[1], power=2)
        scale = scale * 0.5
        if i == 1:
            clear(x)
    f = np.sin if n > 3 else square
    return f(x), step(y), total, scale


def recursive_helpers(x):
    def outer(a):
        def inner(b):
            return b * a.sum()
        return inner(a) + inner(x)
    return outer(x * 2)


def comprehensions(x, y):
    rows = [np.sum(r) * k for k, r in enumerate(x)]
    pairs = [(a, b) for a in range(2) for b in range(a, 3) if a + b != 2]
    stacked = np.stack([x[a, b] * y for a, b in pairs])
    best = max([v * v for v in y])
    return np.array(rows), stacked, best, sum(r[0] for r in x), [k for k in range(3)][-1] * x


def stars(x):
    """Several values at once, in tuples, calls and targets."""
    first, *rest = x
    *most, last = [first, *rest, 3.0]

    def ends(*values):
        return values[0] + values[-1]

    return first, ends(*rest), len(most), last, ends(*most), *np.linalg.qr(np.outer(x, x) + np.eye(4))


def rebinds_arguments(a, x, n):
    """x is the caller's array until it is bound to another; what is done in place afterwards is not seen by the caller."""
    for k in range(n):
        if k == 1:
            continue
        x = a @ x
        x /= np.sqrt(x @ x)
    while n > 0:
        x = a @ x
        x[0] = 0.5
        n -= 1
    return x


class Semantics(Case):
    def test_local_functions(self):
        for backend in ("interpreter", "cpu"):
            for n in (0, 2, 4):
                self.same(local_functions, np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.4, 2.0]), n, backend=backend)
        self.same(recursive_helpers, np.array([1.0, -2.0]), backend="interpreter")
        x, y = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.4, 2.0])
        gradient = headrace.grad(lambda_free, argnums=(0, 1))(x, y)
        expected = [np.array([np.sum(lambda_free(x + h, y) - lambda_free(x - h, y)) / 2e-6 for h in 1e-6 * np.eye(3)]),
                    np.array([np.sum(lambda_free(x, y + h) - lambda_free(x, y - h)) / 2e-6 for h in 1e-6 * np.eye(3)])]
        for ours, theirs in zip(gradient, expected):
            np.testing.assert_allclose(ours, theirs, rtol=1e-6)

        with self.fails(ValueError, "k is bound in this function, and read before that", "k = k * y", "in f"):
            headrace.program(defines_what_is_unbound, backend="interpreter")(x)

    def test_statements_that_compute_nothing(self):
        self.same(around_statements, np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.4, 2.0]), backend="interpreter")
        parameters = {"w1": np.array([0.5, 2.0, 1.0]), "b1": np.ones(3), "w2": np.array([1.5, -2.0, 1.0]), "b2": np.zeros(3)}
        for x in (np.array([1.0, -2.0, 0.5]), np.zeros(3)):
            got, same = headrace.program(names_of_parameters, backend="interpreter")(parameters, x.copy())
            self.close(got, names_of_parameters(parameters, x.copy())[0], rtol=1e-12)
            self.assertTrue(same)

    def test_the_module_math(self):
        program = headrace.program(module_math, backend="interpreter")
        for a, b in ((2.0, 3.0), (0.5, -1.75)):
            for got, expected in zip(program(a, b), module_math(a, b)):
                self.assertIs(type(got), type(expected))
                self.close(got, expected, rtol=1e-14)
        gradient = headrace.grad(program, of=0)(2.0, 3.0)
        self.close(gradient, (module_math(2.0 + 1e-6, 3.0)[0] - module_math(2.0 - 1e-6, 3.0)[0]) / 2e-6, rtol=1e-7)

    def test_decorators(self):
        x = np.array([1.0, -2.0])
        for f in (decorated, decorated_twice, lambda x: decorated(x, 2.0) + decorated_twice(x)):
            self.same(f, x, backend="interpreter")
        self.close(headrace.grad(headrace.program(lambda x: np.sum(decorated(x)), backend="interpreter"))(x), np.full(2, 10.0))

    def test_names_of_numbers(self):
        for x in (np.ones(3), -np.ones(3)):
            self.same(names_of_numbers, x, x, backend="interpreter")
        with self.fails(ValueError, "an argument called inf, which is a number in the text of programs: give it another name"):
            headrace.program(an_argument_inf, backend="interpreter")(np.ones(3))

    def test_functions_that_python_calls(self):
        self.same(keys_and_operators, np.array([1.0, -2.0, 0.5]), backend="interpreter")

    def test_copies(self):
        self.same(copies_of_arrays, np.array([1.0, -2.0]), np.array([1.0, -2.0]), backend="interpreter")

    def test_comprehensions(self):
        self.same(comprehensions, np.arange(6.0).reshape(2, 3), np.array([1.0, -3.0, 2.0]), backend="interpreter")

    def test_stars(self):
        self.same(stars, np.arange(4.0), backend="interpreter", rtol=1e-10)

    def test_arguments_that_loops_bind_anew(self):
        a = np.random.default_rng(0).standard_normal((3, 3))
        for n in (0, 1, 3):
            self.same(rebinds_arguments, a, np.arange(3.0) + 1, n, backend="interpreter")

    def test_and_or_not(self):
        for x, y, k in ((0.0, 2.0, 3), (0.3, 0.0, 0), (np.float64(0), np.float64(1.5), 2)):
            with self.subTest(x=x):
                self.same(either, x, y, k, backend="interpreter")
        got = headrace.program(either, backend="interpreter")(0.3, 2.0, 1)
        self.assertEqual([type(g) for g in got[:3]], [float, float, float])
        self.assertIs(got[5], False)

    def test_what_is_evaluated_in_some_cases_only(self):
        for backend in ("interpreter", "cpu"):
            for x in (0.5, 1.0, 2.0, 7.0):
                self.same(only_where_needed, np.array([8.0, 12.0]), x, backend=backend)
            self.same(guarded, np.array([1.0, 2.0, 3.0]), 2, backend=backend)
            self.same(guarded, np.array([1.0, -2.0, 7.0]), np.int64(1), backend=backend)
        gradient = headrace.grad(only_where_needed, "x", of=3)(np.array([8.0, 12.0]), 0.5)
        self.assertEqual(gradient, 0)  # no NaN of the root that was not taken

    def test_in_and_equality_of_tuples(self):
        self.same(membership, np.array([1, 2, 3, 7]), 3, backend="interpreter")
        self.same(membership, np.array([1, 2, 3, 7]), np.int32(2), backend="interpreter")
        self.same(pairs, np.array([1.0, 2.0]), np.array([1.0, 3.0]), backend="interpreter")

    def test_variables_of_loops_afterwards(self):
        for backend in ("interpreter", "cpu"):
            self.same(after_loops, np.arange(8.0), backend=backend)

    def test_enumerate_zip_reversed(self):
        for backend in ("interpreter", "cpu"):
            self.same(rows, np.arange(8.0).reshape(2, 4), np.array([1.0, -2.0, 0.5]), backend=backend)

    def test_types_of_branches(self):
        for x in (np.array([-1.0, 2.0, 3.0]), np.array([1.0, -2.0, 0.5])):
            self.same(types_of_branches, x, backend="interpreter")

    def test_loops_that_bind_their_variable(self):
        for backend in ("interpreter", "cpu"):
            self.same(bound_in_their_loops, np.arange(12.0).reshape(2, 6), backend=backend)

    def test_built_in_functions(self):
        self.same(built_in, np.array([1.5, -2.5, 3.0, 0.25]), 7, backend="interpreter")

    def test_what_surrounding_objects_hold_is_followed(self):
        held = [2.0, {"shift": 1.0}, float("nan")]

        class Settings:
            scale = 3.0

        settings = Settings()

        def function(x, given):
            shift = 0.0 if held[2] != held[2] else held[2]
            return (x * held[0] + held[1]["shift"] + shift) * settings.scale * given.factor

        class Given:
            factor = 1.0

        given, x = Given(), np.arange(3.0)
        program = headrace.program(function, backend="interpreter")
        gradient = headrace.grad(lambda x: np.sum(function(x, given)))

        def changes():
            yield
            held[0] = 5.0
            yield
            held[1]["shift"] = -1.0
            yield
            held[2] = 0.5
            yield
            settings.scale = 2.0
            yield
            Settings.scale, settings.__dict__ = 7.0, {}
            yield
            given.factor = 4.0
            yield

        for _ in changes():
            self.close(program(x, given), function(x, given))
            self.close(gradient(x), np.full(3, held[0] * settings.scale * given.factor))
        before = len(program._versions)
        program(x, given)
        self.assertEqual(len(program._versions), before)

    def test_names_around_the_function_are_read_at_each_call(self):
        global FACTOR, scale
        program, x = headrace.program(surroundings, backend="interpreter"), np.ones(3)
        functions = [program, headrace.grad(program), headrace.jacfwd(program)]
        before, function = FACTOR, scale
        try:
            first = [f(x) for f in functions]
            FACTOR = 3.0
            for f, old in zip(functions, first):
                self.close(f(x), np.asarray(old) * 1.5)
            OTHER.factor = 10.0
            self.assertEqual(program(x), 90)
            scale = bump_none
            self.assertEqual(program(x), 30)
        finally:
            FACTOR, scale, OTHER.factor = before, function, 1.0

    def test_variables_of_functions_around(self):
        factor = 2.0

        def inner(x):
            return x * factor

        program = headrace.program(inner, backend="interpreter")
        self.assertEqual(program(1.5), 3)
        factor = 4.0
        self.assertEqual(program(1.5), 6)

    def test_clocks_in_functions_that_it_calls(self):
        with self.fails(headrace.UnsupportedError, "perf_counter gives something else at each call", "return time.perf_counter()", "in the_time"):
            headrace.program(draws_by_a_function, backend="interpreter")(np.ones(2))

    def test_what_has_no_place(self):
        for function, kind, what, where in WRONG:
            with self.subTest(function.__name__), self.fails(kind, what, where, os.path.basename(__file__), "in " + function.__name__, "^"):
                headrace.program(function, backend="interpreter")(np.ones((2, 2)))


def bump_none(x):
    return x


if __name__ == "__main__":
    unittest.main()
