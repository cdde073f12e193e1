"""Masks, arrays of indices, loops that change types, sizes and names, in programs: against the functions run by NumPy."""

import unittest

from python.tests.case import Case, headrace, np

N = headrace.symbol("N")
f64 = headrace.float64


class Indexing(Case):
    def setUp(self):
        self.rng = np.random.default_rng(0)

    def random(self, *shape):
        return self.rng.standard_normal(shape)

    def test_results_whose_sizes_the_run_decides(self):
        def from_a_number(x, i):
            return x[i:], x[:i] * 2, x[i:-1].copy()

        def from_an_element(x, k):
            i = k[0]
            y = x[i:k[1]]
            return y + 1

        def from_the_data(x):
            return x[np.argmax(x):], x[: np.argmin(x) + 2]

        def of_a_matrix(A, k):
            n = k[1] - k[0]
            return A[n:, k[0]:]

        for i in (0, 2, 6, -2):
            self.same(from_a_number, self.random(6), np.int64(i))
        self.same(from_a_number, self.random(6), 2)
        self.same(from_an_element, self.random(6), np.array([1, 4]))
        self.same(from_an_element, self.random(6), np.array([4, 1]))
        self.same(from_the_data, self.random(7))
        self.same(of_a_matrix, self.random(4, 5), np.array([1, 3]))
        self.close(headrace.program(annotated)(np.arange(5.0), 3), np.arange(5.0)[3:])

    def test_parts_of_complex_arrays_are_views(self):
        for dtype in (np.complex128, np.complex64):
            for f in (parts_that_are_named, parts_in_place, parts_of_rows, parts_of_what_is_bound_anew):
                for backend in ("interpreter", "cpu"):
                    with self.subTest(f.__name__, dtype=dtype):
                        self.same(f, (self.random(4) + 1j * self.random(4)).astype(dtype), 3, backend=backend, rtol=1e-5)
        self.same(parts_of_numbers, self.random(4), 3)
        with self.fails(headrace.UnsupportedError, "w is bound again in a loop or branch", "write w = ….copy()"):
            headrace.program(parts_after_branches, backend="interpreter")(self.random(4) + 1j, 3)

    def test_masks(self):
        def masks(x, A):
            y = x[x > 0]
            x[x < -1] = -1.0
            A[A > 0] = 1.0 / A[A > 0] + np.sqrt(A[A > 0])
            A[A < 0] *= 2.0
            z = A[A > 0.5]
            return y, y.sum(), y.mean(), y.std(), z.max(), z.min(), y.size, np.sum(y * y) / len(y), x[x > 0][0]

        self.same(masks, self.random(9), self.random(3, 4))

    def test_masks_with_arrays_of_values(self):
        def put(x, v, A):
            x[x > 0] = v[x > 0] * 2
            big = A > 0.5
            A[big] = np.arange(len(A[big])) * 0.5
            rows = A[:, 0] > 0
            A[rows] += 10.0
            return np.nonzero(x > 1), np.where(A < 0), np.flatnonzero(A > 0), A[rows]

        def flat(x, v, A):
            a, (b, c), d, e = put(x, v, A)
            return a[0], b, c, d, e

        self.same(flat, self.random(6), self.random(6), self.random(3, 4))

    def test_arrays_of_indices(self):
        def scatter(x, i, j, A, v):
            x[i] = v               # repeated: the last stays
            x[j] += 1.0            # repeated: counts once
            np.add.at(x, i, v)     # repeated: counts twice
            np.maximum.at(x, j, 0.25)
            A[i, 1] = v
            A[:, j] *= 2.0
            return x[i], A[i, i], A[i[0], :], A[1:, i], A[:, None][:, 0, j]

        i = np.array([0, 2, 2, 1])
        self.same(scatter, self.random(4), i, np.array([1, 1, -1]), self.random(4, 4), self.random(4))

    def test_gradients_of_gathers_and_masks(self):
        def loss(x, w):
            y = x[x > 0]
            w[np.array([0, 1, 1])] = x[:3]
            np.add.at(w, np.array([2, 2]), x[:2])
            w[w > 1] = np.sqrt(w[w > 1])
            return np.sum(y * y * y) + np.sum(w * w) + np.std(x[x < 0])

        x, w = self.random(7), self.random(5)
        got = headrace.grad(headrace.program(loss, backend="interpreter"), (0, 1))(x, w)
        for k, g in enumerate(got):
            for i in range(g.size):
                moved = [[x.copy(), w.copy()], [x.copy(), w.copy()]]
                moved[0][k][i] += 1e-6
                moved[1][k][i] -= 1e-6
                np.testing.assert_allclose(g[i], (loss(*moved[0]) - loss(*moved[1])) / 2e-6, rtol=1e-6, atol=1e-7)

    def test_updates_in_loops_reach_the_callers_array(self):
        def update(x, y):
            for k in range(3):
                x += y
                y *= 0.5
            if x[0] > 0:
                x -= 1.0

        self.same(update, self.random(4), self.random(4))

    def test_names_that_change_their_type(self):
        def types(x):
            worst = 1
            steps = 0
            while worst > 0.01:
                worst = np.max(np.abs(x))
                x *= 0.5
                steps += 1
            total = 0
            for k in range(x.shape[0]):
                total += x[k]
            return worst, steps, total

        self.same(types, self.random(5))
        self.same(types, self.random(5).astype(np.float32), rtol=1e-6)

    def test_loops_written_out(self):
        def pyramid(x):
            y = np.zeros(15)
            for i in range(4):
                y[2**i - 1:2**(i + 1) - 1] = np.sum(np.reshape(x, (2**i, 2**(3 - i))), axis=1)
            return y

        self.same(pyramid, self.random(8))
        program = headrace.program(powers, backend="interpreter")
        for n in (0, 1, 5):
            self.assertEqual(program(np.zeros(n)), 2 ** n - 1)

    def test_arrays_that_loops_shrink(self):
        def above_mean(x):
            y, places = x.copy(), np.arange(40)
            rounds = 0
            while len(y) > 2:
                keep = y > np.mean(y)
                y, places = y[keep], places[keep]
                rounds += 1
            return y, places, rounds, y.size

        def early(x):
            y = x * 2
            for k in range(5):
                if not len(y):
                    break
                y = y[y > 0.5]
            return y.size

        self.same(above_mean, self.rng.random(40))
        self.same(early, self.rng.random(6))

    def test_grids_statistics_and_functions_of_functions(self):
        def grids(x, w):
            i, j = np.mgrid[0:3, 1:5]
            a, b = np.meshgrid(x, w)
            counts, edges = np.histogram(x, 4)
            sums = np.histogram(x, 3, range=(-1.0, 1.0), weights=w)[0]
            return (i * j, a - b, counts, edges, sums, np.cov(np.stack((x, w))), np.average(x, weights=w), np.add.outer(x, w),
                    np.multiply.reduce(x), np.add.accumulate(w), np.tri(3), np.cov(x), np.arange(0.5, 2.0, 0.25),
                    np.broadcast_to(x, (2, 7)))

        self.same(grids, self.random(7), self.rng.random(7))

    def test_what_would_share_memory_is_refused(self):
        def stale(A):
            row = A[0]
            total = 0.0
            for i in range(A.shape[0]):
                row = A[i]
                A[i] += 1.0
                total += np.sum(row)
            return total

        with self.fails(NotImplementedError, "row", ".copy()", __file__):
            headrace.program(stale)(self.random(3, 3))

        def gone(A):
            for i in range(3):
                row = A[i]
            return row

        with self.fails(ValueError, "row is bound in a loop", __file__):
            headrace.program(gone)(self.random(3, 3))

    def test_numbers_of_either_sign_as_indices(self):
        def element(x: f64[N], i: int):
            return x[i] * x[i]

        def window(x: f64[N], i: int):
            for k in range(3):
                x[i + k] = x[i + k] + k

        def clamped(x: f64[3], i: int):
            return x[min(i, 2)]

        def corner(x: f64[N, N], i: int, j: int):
            x[i, j] = 1.0
            x[i - 1, j + 1] = 2.0

        for function, at in ((element, (4,)), (window, (4,)), (clamped, (3,)), (corner, (3, 3))):
            program = headrace.program(function)
            for i in range(-6, 7):
                given = (i,) if len(at) == 1 else (i, -2)
                ours, theirs = np.arange(float(np.prod(at))).reshape(at), np.arange(float(np.prod(at))).reshape(at)
                try:
                    expected = function(theirs, *given)
                except IndexError:
                    with self.subTest(function.__name__, i=i), self.fails(IndexError, "index out of range: x["):
                        program(ours, *given)
                    continue
                got = program(ours, *given)
                self.close(ours, theirs)
                if expected is not None:
                    self.assertEqual(got, expected)
        with self.fails(IndexError, "E0650"):
            headrace.grad(element)(np.ones(3), -4)


def annotated(x: f64[N], i: int):
    return x[i:]


def powers(x: f64[N]):
    s = 0
    for i in range(x.shape[0]):
        s += 2**i
    return s


def parts_that_are_named(z, n):
    w, v = z.real, np.imag(z)
    w[0] = 5
    w += v
    v[1:] = w[:-1]
    for k in range(n):
        w[k] *= 2
        v += 1
    half = z.imag[::2]
    half[half > 1] = 0
    if n > 1:
        half[0] = 9
    return w * v, half, z * 1, z.real.sum()


def parts_in_place(z, n):
    z.imag[1:] += 1
    z.real[:] = n
    z.imag[z.real > 1] -= 0.5
    z.real[np.array([0, 0, 2])] += 3
    z.imag = z.real * 2
    z.real *= 0.5
    z[1:].real = 4
    z.imag.fill(2)
    z.real[::-1] = z.real
    z.real = z.real[::-1] + z.imag
    return z * 1


def parts_of_rows(z, n):
    A = np.outer(z, z)
    A.real[1] = 7
    A.T.imag[0] += 1
    A.imag.T[1, :] = 2
    A.real.reshape(-1)[:2] = 3
    for row in A.real:
        row -= 1

    def clear(part):
        part[0] = 0

    clear(A.imag)
    clear(A[1].real)
    return A


def parts_of_what_is_bound_anew(z, n):
    total = 0.0
    for k in range(n):
        old = z.imag
        z = z * 2
        z[0] = 1
        total += np.sum(z.imag - old)
    w = z.real
    y = z * 1
    pair = [y.real, 1.0]
    pair[0][0] = 3
    pair[0] += 1
    return y, w * 1, total


def parts_after_branches(z, n):
    if z[0].real > 1:
        w = z.real
    else:
        w = z.imag
    w[0] = 5


def parts_of_numbers(x, n):
    x.real[1:] = 4
    x.real += n
    s = (x[0] * 1j).imag
    s += 1
    return x * 1, s, x.imag


if __name__ == "__main__":
    unittest.main()
