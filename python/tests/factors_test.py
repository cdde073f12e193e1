"""np.linalg's factors, stacks of matrices, and functions that count, in programs: against NumPy, and gradients against differences. Signs of
eigenvectors and singular vectors are left open, here as there, so results are looked at that don't depend on them."""

import inspect
import unittest

from python.tests.case import Case, headrace, np
from python.tests.linalg_test import pulled

RNG = np.random.default_rng(0)
A = RNG.normal(size=(4, 4))
T, Z = RNG.normal(size=(5, 3)), A + 1j * RNG.normal(size=(4, 4))
GIVEN = {"A": A, "S": A @ A.T + np.eye(4), "T": T, "W": T.T.copy(), "Z": Z, "H": Z @ Z.conj().T + np.eye(4), "C": Z[:, :3].copy(), "D": Z[:3].copy(),
         "M": RNG.normal(size=(2, 3, 3, 3)), "b": RNG.normal(size=(2, 3, 3, 2)), "c": RNG.normal(size=3), "k": np.array([12, 18, -7, 0, 5]),
         "l": np.array([8, 12, 21, 0, 0]), "x": np.array([1, 3, 3, 0, 7]), "w": RNG.normal(size=5), "u": np.array([1.0, np.nan, 1.0, np.nan, -2.0])}


def logarithms(A, Z, S):
    """A singular matrix has the sign 0."""
    return *np.linalg.slogdet(A), *np.linalg.slogdet(Z), *np.linalg.slogdet(S * 1e200), *np.linalg.slogdet(np.zeros((2, 2)) * A[0, 0])


def eigenvalues(S, H):
    made = np.linalg.eigh(S)
    w, v = np.linalg.eigh(H, UPLO="U")
    return made.eigenvalues, made.eigenvectors ** 2, w, np.abs(v), (v * w) @ v.conj().T, np.linalg.eigvalsh(S, "U")


def singular_values(T, Z):
    u, s, vh = np.linalg.svd(T)
    p, q, r = np.linalg.svd(Z, full_matrices=False)
    return s, (u[:, :3] * s) @ vh, u @ u.T, np.abs(p), (p * q) @ r, np.linalg.svdvals(T)


def q_and_r(T, W, Z):
    return (*np.linalg.qr(T), *np.linalg.qr(W), *np.linalg.qr(Z), *np.linalg.qr(T, mode="complete"), np.linalg.qr(W, mode="r"))


def made_of_them(T, W, A, Z):
    return (np.linalg.pinv(T), np.linalg.pinv(Z, rcond=0.3), np.linalg.matrix_rank(T), np.linalg.matrix_rank(T @ W), np.linalg.cond(A), np.linalg.cond(A, 1),
            np.linalg.cond(T, -2), np.linalg.norm(T, 2), np.linalg.norm(T, "nuc"), np.linalg.norm(T, -2))


def complex_cholesky(H):
    return np.linalg.cholesky(H), np.linalg.cholesky(H, upper=True)


def stacks(M, b, c):
    symmetric = M @ np.swapaxes(M, -1, -2)
    return (np.linalg.solve(M, b), np.linalg.inv(M), np.linalg.det(M), np.linalg.solve(M, c), np.linalg.solve(M[0, 0], b), np.linalg.eigvalsh(symmetric),
            np.linalg.cholesky(symmetric), np.linalg.svdvals(M), np.linalg.slogdet(M).logabsdet, np.linalg.qr(M)[1], np.linalg.pinv(M), np.linalg.cond(M),
            np.linalg.matrix_rank(M))


def divisors(k, l):  # noqa: E741
    return np.gcd(k, l), np.lcm(k, l), np.gcd(k, 6), np.lcm(k[:, None], l), np.gcd(48, 18)


def counts(x, w):
    return np.bincount(x), np.bincount(x, weights=w), np.bincount(x, minlength=12), np.bincount(x, w, 3), np.bincount(x[:0], minlength=2)


def values(k, w, u):
    return np.unique(k), np.unique(w), *np.unique(k % 3, return_counts=True), np.unique(w > 0), np.unique(u), np.partition(w, 2)[2], np.argpartition(w, 0)[0]


def angles(w):
    return np.unwrap(w * 9), np.unwrap(np.outer(w, w) * 7, axis=0), np.unwrap(w * 9, discont=4.0), np.unwrap(w * 5, period=3.0)


ALL = (logarithms, eigenvalues, singular_values, q_and_r, made_of_them, complex_cholesky, stacks, divisors, counts, values, angles)


# ---- with gradients: (function, names of the matrices) ----
def turned(a):
    w, v = np.linalg.eigh(a)
    return np.abs(v) ** 2 @ np.sin(w)


def exponential(a):
    w, v = np.linalg.eigh(a)
    return (v * np.exp(w)) @ v.conj().T


def columns(a):
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return np.abs(u) ** 2 @ (np.sin(s)[:, None] * np.abs(vh) ** 2), (u * np.sin(s)) @ vh


def both_columns(a):
    first, second = columns(a)
    return first + second


def logarithm(a):
    sign, logdet = np.linalg.slogdet(a)
    return sign * logdet


def first_rotation(a):
    q, r = np.linalg.qr(a)
    return q[0, 0] * r + np.sum(q)


def whole_rotation(a):
    q, r = np.linalg.qr(a, mode="complete")
    return q[0, 0] * r + np.sum(q)


def upper(a):
    return np.linalg.cholesky(a, upper=True) + np.linalg.cholesky(a)


def pseudo(a):
    return np.linalg.pinv(a)


def numbers(a):
    return np.linalg.norm(a, "nuc") + np.linalg.norm(a, 2) * np.linalg.cond(a)


def equal_values(a):
    return np.sum(np.linalg.svdvals(a)) + np.sum(np.linalg.eigvalsh(a))


def each(a):
    return np.linalg.inv(a[0]) * np.linalg.det(a[0])[:, None, None] + np.linalg.eigvalsh(a[0] @ np.swapaxes(a[0], 1, 2))[:, None]


def turns(a):
    return np.unwrap(a * 9, axis=0) ** 2


def bins(a):
    return np.bincount(np.array([0, 2, 1, 2]), weights=a[0]) ** 2 * np.partition(a[0], 1)[1]


SMOOTH = {turned: "SH", exponential: "SH", both_columns: "ATWZCD", logarithm: "AZ", first_rotation: "ATWZCD", whole_rotation: "AW", upper: "SH", pseudo: "ATWC",
          numbers: "AT", each: "M", turns: "A", bins: "A"}


class Factors(Case):
    def test_values(self):
        for f in ALL:
            args = [GIVEN[n] for n in inspect.signature(f).parameters]
            with np.errstate(divide="ignore"):
                expected = f(*args)
            for backend in ("interpreter", "cpu"):
                with self.subTest(f.__name__, backend=backend):
                    got = headrace.program(f, backend=backend)(*[a.copy() for a in args])
                    for a, b in zip(got, expected, strict=True):
                        self.close(a, b, rtol=1e-9, atol=1e-11)

    def test_gradients(self):
        for f, names in SMOOTH.items():
            for n in names:
                with self.subTest(f.__name__, matrix=n):
                    pulled(self, f, GIVEN[n].copy(), rtol=1e-5)

    def test_equal_values_have_gradients(self):
        self.close(headrace.grad(headrace.program(equal_values, backend="interpreter"))(np.eye(3)), 2 * np.eye(3))

    def test_symbols(self):
        n, m = headrace.symbol("N"), headrace.symbol("M")

        @headrace.program(backend="interpreter")
        def f(a: headrace.float64[n, m]):
            u, s, vh = np.linalg.svd(a, full_matrices=False)
            q, r = np.linalg.qr(a)
            return np.sum(np.abs(u)) + np.sum(s) + np.sum(np.abs(vh)), q @ r, np.linalg.pinv(a)

        for a in (T, T.T.copy(), A):
            q, r = np.linalg.qr(a)
            u, s, vh = np.linalg.svd(a, full_matrices=False)
            for got, expected in zip(f(a), (np.sum(np.abs(u)) + np.sum(s) + np.sum(np.abs(vh)), q @ r, np.linalg.pinv(a))):
                self.close(got, expected, rtol=1e-9, atol=1e-11)

    def test_what_can_t_be_factored_is_nan(self):
        for function in (np.linalg.eigvalsh, np.linalg.svdvals, np.linalg.pinv):
            def f(a):
                return function(a)  # noqa: B023
            self.assertTrue(np.all(np.isnan(headrace.program(f, backend="interpreter")(np.array([[np.nan, 1.0], [1.0, 2.0]])))))

    def test_errors(self):
        def least_squares(a):
            return np.linalg.lstsq(a, a)

        def hermitian(a):
            return np.linalg.pinv(a, hermitian=True)

        def raw(a):
            return np.linalg.qr(a, mode="raw")

        def vector(a):
            return np.linalg.svd(a[0])

        def rows(a):
            return np.unique(a, axis=0)

        def halves(a):
            return np.gcd(a, 2)

        for f, kind, text in ((least_squares, TypeError, "not the residuals of np.linalg.lstsq"), (hermitian, NotImplementedError, "leave it out"),
                              (raw, NotImplementedError, "there are 'reduced'"), (vector, ValueError, "takes matrices"),
                              (rows, NotImplementedError, "it is of all elements"), (halves, TypeError, "takes integers, not float64")):
            with self.subTest(f.__name__), self.fails(kind, text, __file__):
                headrace.program(f)(np.eye(2))

        @headrace.program(backend="interpreter")
        def negative(x):
            return np.bincount(x)

        with self.fails(ValueError, "np.bincount takes no negative numbers, and there is -3"):
            negative(np.array([1, -3]))

        @headrace.program(backend="interpreter")
        def complete(a):
            return np.sum(np.linalg.qr(a, mode="complete")[0])

        with self.fails(headrace.UnsupportedError, "its last columns are any that are orthogonal"):
            headrace.grad(complete)(T)


if __name__ == "__main__":
    unittest.main()
