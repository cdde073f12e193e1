"""Masks, arrays of indices, loops that change types and names, in programs: against the functions run by NumPy."""

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

    def test_arrays_of_nothing(self):
        def nothing(x):
            none = np.array([], dtype=int)
            x[none] = 2.0
            x[none] += 1
            np.add.at(x, none, 1.0)
            for i in range(len(x)):
                x[::i + 1] += x[::i + 1]
            return x[none], np.array([]), x[x > 0], np.unique(x), np.sort(x), x[::-1].cumsum()

        for n in (0, 1, 4):
            self.same(nothing, self.random(n), backend="interpreter")

    def test_windows_that_reach_beyond_the_end(self):
        """Slices end where the array does, as in Python."""
        for f in (windows, changed_windows):
            for sizes in ({}, {"x": f64[N]}):
                f.__annotations__ = sizes
                for backend in ("interpreter", "cpu"):
                    with self.subTest(f.__name__, sizes=sizes, backend=backend):
                        self.same(f, self.random(9), backend=backend)

    def test_parts_in_another_shape_are_views(self):
        """Where NumPy has a view, what is written to it changes the array."""
        p = self.random(13)
        for f, *args in ((parts_of_a_vector, p), (rows_as_matrices, self.random(4, 6), np.array([2, 0, 3])), (merged_dimensions, self.random(3, 4, 5)),
                         (bound_anew_beside_views, p), (parts_of_parts, self.random(3, 4) + 1j * self.random(3, 4))):
            for backend in ("interpreter", "cpu"):
                with self.subTest(f.__name__, backend=backend):
                    self.same(f, *args, backend=backend)
        by = headrace.grad(headrace.program(lambda_of_parts, backend="interpreter"))(p.copy())
        self.close(by, [(lambda_of_parts(p + h) - lambda_of_parts(p - h)) / 2e-6 for h in 1e-6 * np.eye(13)], rtol=1e-6, atol=1e-7)

    def test_what_is_a_copy(self):
        """And where it has none, nothing else changes."""
        def copies(x, n):
            made = (x.astype(float), np.ascontiguousarray(x.T), np.array(x), x.T.ravel(), x[:, ::2].reshape(-1), x[:, 0].ravel(), x.flatten(),
                    np.round(n), np.nan_to_num(n), np.delete(x, [], axis=0), np.choose(n * 0, [x]), n.astype(np.int64))
            for a in made:
                a += 1
            return made

        def same_arrays(x, n):
            for a in (x.astype(float, copy=False), x.conj(), np.ascontiguousarray(x[1:]), np.einsum("ij->ji", x), np.einsum("ii->i", x[:3, :3]), x.mT,
                      np.matrix_transpose(x), np.asarray(x), n.astype(np.int64, copy=False)):
                a += 1

        def diagonals(x, n):
            d, above = np.diagonal(x), np.diag(x, 1)
            for a in (d, above):
                x *= a[0]
            return d * 1, above * 1

        for f in (copies, same_arrays, diagonals):
            with self.subTest(f.__name__):
                self.same(f, self.random(4, 6), np.arange(24).reshape(4, 6), backend="interpreter")

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

    def test_squeeze_of_a_size_that_is_1(self):
        def squeezed(x: f64[N, 1, 3]):
            return np.squeeze(x)

        program = headrace.program(squeezed, backend="interpreter")
        x = self.random(2, 1, 3)
        self.close(program(x), squeezed(x))
        with self.fails(headrace.InvalidError, "np.squeeze without an axis of an array in which a size that a call decides is 1: give the axes"):
            program(x[:1])

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

        def the_last(A):
            for i in range(3):
                row, k, column = A[i], i, A.T[i, 1:]
            row[0] = k
            return row, column * 2

        self.same(the_last, self.random(3, 3))

        def gone(A):
            for i in range(3):
                row = A[i]
                if row[0] > 9:
                    break
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
        with self.fails(IndexError, "E0650", "hint: a condition around the statement"):
            headrace.grad(element)(np.ones(3), -4)


def annotated(x: f64[N], i: int):
    return x[i:]


def windows(x):
    y, s = np.zeros_like(x), 0.0
    for i in range(len(x)):
        y[i] = x[i:i + 3].mean() - np.max(x[max(i - 2, 0):i + 2])
        s += x[i + 4:].sum() + x[i + 2:i:-1].sum()
        if i + 3 <= len(x):
            s += np.dot(x[i:i + 3], x[:3])
    return y, s


def changed_windows(x):
    for i in range(1, len(x)):
        x[i:i + 2] += x[i - 1]
        part = x[:len(x) // i + 1].copy()
        part[0] += 1
        x[0] += 0.1 * part[-1] + np.sort(x[i:i + 4])[0]


def parts_of_a_vector(p):
    W, b = p[1:7].reshape(2, 3), p[7:9]
    W += np.outer(b, p[:3])
    W[0] *= 2
    p[9:].reshape(2, 2)[:, 0] = 5
    p[::3].reshape(5, 1)[2] = 1
    p[::-1].reshape(13, 1)[3:5] *= 3
    p[2:3].reshape(())[...] = 7
    return W @ p[:3] + b


def rows_as_matrices(x, i):
    for k in range(len(x)):
        y = x[k].reshape(2, 3)
        y[1] += y[0] * 0.5
        x[k, 2:].reshape(2, 2).T[0] *= 2
        np.fill_diagonal(x[k, :4].reshape(2, 2), k)
    for k in range(len(i)):
        y = x[i[k]].reshape(3, 2)[::-1]
        y[:, 1] = np.sin(y[:, 0])
        x[i[k], 1:5].reshape(2, 2)[0] += 1


def merged_dimensions(x):
    x[:, 1:3].reshape(3, 10)[1] *= 2
    x[1:].reshape(8, 5)[3] = 0.5
    x[..., 2:4].reshape(12, 2)[7] = -1
    x[..., 2].reshape(6, 2)[1, 1] = 3
    x[:, :, ::2].reshape(12, 3)[0] += 1
    x[:, 1:3, 1:3].reshape(3, 4)[0] = 9
    x.transpose(0, 2, 1).reshape(15, 4)[0] = 8
    x.T.T.reshape(-1)[5] = 4
    x[0:3].reshape(60)[7:9] = 2
    np.reshape(x[2], (2, 10)).ravel()[3] = 6


def bound_anew_beside_views(p):
    total = 0.0
    for t in range(3):
        W = p.reshape(13, 1)
        V = p[1:7].reshape(2, 3)
        p = p * 0.5 + W[0] * V[1, 2]
        p[2:6].reshape(2, 2)[1] = 1
        total += V.sum() + W[3, 0]
    return p, total


def parts_of_parts(z):
    z.real[1:].reshape(-1)[3] = 5
    z[1].imag.reshape(2, 2)[0] = 7
    z.real.ravel()[0] = 3
    z[:, 1].reshape(3, 1).real[2] = 4


def lambda_of_parts(p):
    parts_of_a_vector(p)
    W = p[3:12].reshape(3, 3)
    return np.sum(np.tanh(W @ W)) + np.sum(p ** 2)


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
