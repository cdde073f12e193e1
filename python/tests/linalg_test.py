"""np.linalg and np.fft in programs, and their gradients against differences."""

import unittest

from python.tests.case import Case, headrace, np


def pulled(test, function, *args, h=1e-6, rtol=1e-6):
    """Gradients of Σ Re(seed · result) by every argument against central differences (∂/∂x − i ∂/∂y)."""
    rng = np.random.default_rng(3)
    value = np.asarray(function(*args))
    seed = rng.standard_normal(value.shape) + (1j * rng.standard_normal(value.shape) if value.dtype.kind == "c" else 0)
    gradients = headrace.vjp(headrace.program(function, backend="interpreter"), *args)[1](seed)
    for k, got in enumerate(gradients):
        expected = np.zeros_like(args[k])
        steps = [(h, 1)] if expected.dtype.kind == "f" else [(h, 1), (1j * h, -1j)]
        for i in np.ndindex(expected.shape):
            for step, factor in steps:
                moved = [[np.array(a) for a in args] for _ in range(2)]
                moved[0][k][i] += step
                moved[1][k][i] -= step
                expected[i] += factor * np.sum(seed * (function(*moved[0]) - function(*moved[1]))).real / (2 * h)
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol * (1 + np.max(np.abs(expected))))


def solve(a, b):
    return np.linalg.solve(a, b)


def inverse(a):
    return np.linalg.inv(a)


def determinant(a):
    return np.linalg.det(a)


def cholesky(a):
    return np.linalg.cholesky(a)


def spectrum(x):
    return np.fft.fft(x) * np.fft.ifft(x, axis=0)


def real_spectrum(x):
    return np.fft.rfft(x)


def smoothed(x):
    return np.fft.irfft(np.fft.rfft(x) * 0.5)


def scaled_spectra(x, n):
    z = x + 1j * x[:, ::-1]
    return (np.fft.fft(x, norm="ortho"), np.fft.ifft(z, n, axis=0, norm="forward"), np.fft.rfft(x, n), np.fft.irfft(z, n, norm="ortho"),
            np.fft.fft2(x, norm="ortho"), np.fft.ifft2(z, (n, 3)), np.fft.rfft2(x, (3, n)), np.fft.irfft2(z, (4, n), norm="forward"),
            np.fft.rfftn(x), np.fft.irfftn(z), np.fft.fftn(z, (n,)), np.fft.hfft(z, n), np.fft.ihfft(x, norm="ortho"))


class LinearAlgebra(Case):
    def setUp(self):
        self.rng = np.random.default_rng(0)
        self.a = self.rng.standard_normal((4, 4))
        self.a[0, 0] = 0  # elimination must exchange rows
        self.z = self.a + 1j * self.rng.standard_normal((4, 4))
        self.b = self.rng.standard_normal((4, 2))
        self.definite = self.a @ self.a.T + np.eye(4)

    def same(self, function, *args, rtol=1e-12):
        for backend in ("interpreter", "cpu"):
            self.close(headrace.program(function, backend=backend)(*args), function(*args), rtol=rtol, atol=rtol)

    def test_forward(self):
        for a in (self.a, self.z):
            self.same(solve, a, self.b)
            self.same(solve, a, self.b[:, 0].copy())
            self.same(inverse, a)
            self.same(determinant, a)
        self.same(cholesky, self.definite)
        self.same(solve, self.a.astype(np.float32), self.b.astype(np.float32), rtol=1e-4)

        @headrace.program
        def several(a):
            return np.linalg.matrix_power(a, 3), np.linalg.matrix_power(a, -2), np.linalg.cholesky(a @ a.T, upper=True)

        for got, expected in zip(several(self.a), (self.a @ self.a @ self.a, np.linalg.matrix_power(self.a, -2),
                                                   np.linalg.cholesky(self.a @ self.a.T).T)):
            self.close(got, expected, rtol=1e-10, atol=1e-10)

    def test_triangular_systems(self):
        upper = np.triu(np.random.default_rng(1).standard_normal((40, 40))) + 8 * np.eye(40)
        right = np.random.default_rng(2).standard_normal((40, 3))
        for a in (upper, upper.T.copy(), np.diag(np.diag(upper)), upper + 1j * np.triu(upper)):
            self.same(solve, a, right.astype(a.dtype), rtol=1e-11)
            self.same(solve, a, right[:, 0].astype(a.dtype), rtol=1e-11)
        pulled(self, solve, upper[:4, :4].copy(), right[:4].copy())

    def test_transforms(self):
        self.same(spectrum, self.z)
        self.same(real_spectrum, self.a)
        self.same(real_spectrum, self.a[0, :3].copy())
        self.same(smoothed, self.a)

    def test_transforms_of_other_lengths_and_scales(self):
        N, M = headrace.symbol("N"), headrace.symbol("M")
        scaled_spectra.__annotations__ = {"x": headrace.float64[N, M], "n": int}
        any_size = headrace.program(scaled_spectra, backend="interpreter")
        for shape, n in (((4, 4), 4), ((3, 5), 7), ((2, 6), 5), ((5, 2), 1), ((1, 3), 2)):
            x = np.random.default_rng(n).standard_normal(shape)
            scaled_spectra.__annotations__ = {}
            for program in (any_size, headrace.program(scaled_spectra, backend="interpreter")):
                for got, expected in zip(program(x, n), scaled_spectra(x, n)):
                    self.close(got, expected, rtol=1e-11, atol=1e-11)
        for k in range(13):
            pulled(self, lambda x, k=k: scaled_spectra(x, 3)[k], self.a[:2])

    def test_gradients(self):
        pulled(self, solve, self.a, self.b)
        pulled(self, solve, self.z, self.b + 0j)
        for a in (self.a, self.z):
            pulled(self, inverse, a)
            pulled(self, determinant, a)
        pulled(self, cholesky, self.definite)
        pulled(self, spectrum, self.z)
        pulled(self, real_spectrum, self.a)
        pulled(self, smoothed, self.a)

    def test_errors(self):
        for function, kind, text in ((solve, ValueError, "2 equations"), (cholesky, ValueError, "takes matrices"),
                                     (inverse, ValueError, "3 rows and 2 columns"), (scaled_spectra, ValueError, "a Fourier transform of -2 numbers")):
            args = {solve: (np.eye(2), np.ones(3)), cholesky: (np.ones(3),), inverse: (np.ones((3, 2)),), scaled_spectra: (np.ones((2, 2)), -2)}[function]
            with self.fails(kind, text, __file__):
                headrace.program(function)(*args)


if __name__ == "__main__":
    unittest.main()
