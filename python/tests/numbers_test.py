"""Numbers of NumPy's as arguments, literals, and the edges of types: as NumPy 2 has them."""

import itertools
import unittest

from python.tests.case import Case, headrace, np

NUMBERS = [np.int8(-5), np.uint8(200), np.int16(3), np.int32(3), np.uint32(7), np.int64(3), np.uint64(2**63 + 5), np.float16(1.5), np.float32(2.5),
           np.float64(2.5), np.bool_(True), np.array(3, np.int32), np.array(200, np.uint8), np.array(2.5, np.float32), np.array(True)]
ARRAYS = [np.arange(4, dtype=np.float32), np.arange(4, dtype=np.int32), np.arange(4.0), np.array([1, 2, 200], np.uint8),
          np.array([1, -2, 100], np.int8), np.arange(3, dtype=np.float16), np.array([True, False]), np.arange(3, dtype=np.uint64)]
INTEGERS = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)


def promotes(a, b):
    return a * b, a + b, b + 1, b * 2.5, b / 2, b, np.maximum(a, b), a > b, np.where(a > 0, a, b)


def sizes(a, n):
    x = np.zeros(n)
    y = np.zeros((n + 1, n))
    for i in range(n):
        x[i] = a[i] * n
        y[i + 1, :] += x
    m = n * 2 - n // 2
    return x, y, a[n], m, -n, n % 2, n ** 2, n / 2, np.sum(a[-n:]), np.arange(n), max(n, m)


def in_place(z):
    z[...] = z * 2 + 1
    z += 1
    return z + 1


def rebound(s, x):
    for k in range(2):
        s = s + x[k]
        s *= 2
    return s


def changes_a_size(n):
    n[...] = n + 1
    return n


def edges(a, b):
    return (a + b, a - b, a * b, -a, abs(a), a // b, a % b, a / b, a & b, a ^ 3, ~a, (a << 1) >> 1, a ** 3, (a + b) // 2, (a - b) < 0,
            a.sum(), a.prod(), a.max(), a.min(), a.argmin(), np.cumsum(a), a.mean(), a.astype(np.int16), a.astype(np.float32))


def compared(a):
    return a > 2**70, a == 2**70, a != -(2**70), -(2**70) < a, 2**70 <= a


def one_more_than_fits(a):
    return a + 2**70


def writes_too_much(a):
    a[0] = 2**70


def floats(a, b):
    return a // b, a % b, divmod(a, b)[0]


def literals(a):
    return a * 0.1, a + 0.3, a ** 3.7, a / 3.3


def part(n):
    n[:2] += 0.5


def whole(n):
    n += 0.5


class Numbers(Case):
    def test_means_of_narrow_floats(self):
        """Of many numbers that lie far from zero and near each other, and of a sum that float16 has no number for."""
        near = (1000 + 0.1 * np.random.default_rng(0).standard_normal(2_000_000)).astype(np.float32)
        large = np.full(1000, 100, np.float16)

        def moments(x, h):
            return x.var(), np.std(x.reshape(-1, 1000), axis=1), h.mean(), np.mean(h, dtype=np.float32), np.mean(x[:9], dtype=np.float64)

        for backend in ("interpreter", "cpu"):
            for got, expected in zip(headrace.program(moments, backend=backend)(near, large), moments(near, large)):
                self.close(got, expected, rtol=1e-4)

    def test_elements_take_what_other_types_give(self):
        """Arrays don't: an element is a number to which another one is assigned."""
        def elements(n, u, b, i):
            n[0] += 0.75
            n[i] *= 1.5
            u[1] /= 2
            b[0] += 1
            for k in range(len(n)):
                n[k] -= 0.25 * k

        self.same(elements, np.array([3, -5, 7]), np.array([200, 101], np.uint8), np.array([False, True]), 1, backend="interpreter")
        for target in ("n[:2]", "n"):
            with self.subTest(target), self.fails(TypeError, "cannot cast the result of add from float64 to int64"):
                headrace.program(whole if target == "n" else part, backend="interpreter")(np.array([3, 5, 7]))

    def test_typed_numbers_promote_as_numpys(self):
        for number, array in itertools.product(NUMBERS, ARRAYS):
            with self.subTest(number=repr(number), array=array.dtype), np.errstate(all="ignore"):
                self.same(promotes, array, number, rtol=1e-6, backend="interpreter")

    def test_a_new_type_is_a_new_specialisation(self):
        program = headrace.program(rebound, backend="interpreter")
        x = np.arange(2, dtype=np.float32)
        for s in (np.float32(1), np.float64(1), 1.0, np.float32(2)):
            got, expected = program(s, x), rebound(s, x)
            self.assertEqual((type(got), got), (type(expected), expected))
        self.assertEqual(len(program._versions), 3)

    def test_integers_may_be_sizes(self):
        for n in (np.int64(3), np.int32(3), np.uint8(3), np.array(3, np.int16), 3):
            with self.subTest(n=repr(n)), np.errstate(over="ignore"):
                self.same(sizes, np.arange(6.0), n, backend="interpreter")

        @headrace.program(backend="interpreter")
        def annotated(a: headrace.float32[4], n: headrace.int64):
            return a[:3] * n + np.sum(np.zeros(n + 1))

        self.assertEqual(annotated(np.ones(4, np.float32), 4).dtype, np.float64)

    def test_arrays_without_dimensions_are_changed_in_place(self):
        for z in (np.array(2.5), np.array(2.5, np.float32)):
            self.same(in_place, z, backend="interpreter")
        with self.fails(headrace.UnsupportedError, "n is changed in place", "one element", "n[...] = n + 1"):
            headrace.program(changes_a_size, backend="interpreter")(np.array(3))

    def test_integers_at_their_edges(self):
        for t in INTEGERS:
            info = np.iinfo(t)
            a = np.array([info.max, info.min, 1, 7, info.max // 2, 5], t)
            b = np.array([3, 1, 2, 3, 5, info.max], t)
            for backend in ("interpreter", "cpu") if t in (np.uint8, np.int64) else ("interpreter",):
                with self.subTest(type=t.__name__, backend=backend), np.errstate(all="ignore"):
                    self.same(edges, a, b, rtol=1e-6, backend=backend)
            self.same(compared, a, backend="interpreter")
            for wrong in (one_more_than_fits, writes_too_much):
                with self.assertRaises(OverflowError):
                    wrong(a.copy())
                with self.fails(ValueError, f"in {wrong.__name__}", "^"):
                    headrace.program(wrong, backend="interpreter")(a)

    def test_numbers_that_are_too_large_for_a_parameter(self):
        for t, numbers in (("i8", (128, -129)), ("u8", (256, -1)), ("u64", (2**64, -1)), ("i64", (2**63,)), ("u32", (2**32, -1))):
            f = headrace.Sdfg.parse(f"sdfg f(X: {t}, Y: f64) {{ Y = f64(X) }}").compile(backend="interpreter")
            self.assertEqual(f(7), 7)
            for n in numbers:
                with self.subTest(type=t, number=n), self.assertRaises(OverflowError):
                    f(n)
        self.assertEqual(headrace.Sdfg.parse("sdfg f(X: u64, Y: f64) { Y = f64(X) }").compile(backend="interpreter")(2**63), 2.0**63)

    def test_quotients_of_floats(self):
        special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 0.1, -0.1, -2.5, 3.0, 0.3, 1e300]
        pairs = np.array(list(itertools.product(special, special)))
        for t in (np.float64, np.float32, np.float16):
            for backend in ("interpreter", "cpu"):
                with self.subTest(type=t.__name__, backend=backend), np.errstate(all="ignore"):
                    self.same(floats, pairs[:, 0].astype(t), pairs[:, 1].astype(t), rtol=0, backend=backend)
        self.same(floats, 1.0, 0.1, backend="interpreter")

    def test_literals_have_the_bits_of_their_type(self):
        for t in (np.float16, np.float32):
            self.same(literals, np.linspace(1, 9, 50).astype(t), rtol=0 if t is np.float16 else 1e-6, backend="interpreter")


if __name__ == "__main__":
    unittest.main()
