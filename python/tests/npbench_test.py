"""NPBench's kernels (benchmarks/npbench) against NumPy, and their gradients against central differences, at small sizes."""

import unittest

from python.tests.case import Case, headrace, np  # noqa: I001: it finds the built package

from benchmarks.npbench import checks
from benchmarks.npbench.cases import CASES

# One of each kind of program; `npbench_all_test` runs the others, too.
FEW = ("gemm", "doitgen", "symm", "correlation", "spmv", "ludcmp", "durbin", "contour_integral", "stockham_fft", "seidel_2d",
       "vadv", "channel_flow", "lenet", "nbody", "azimint_hist", "mandelbrot1")


class NPBench(Case):
    kernels = FEW

    def test_forward(self):
        for name in self.kernels:
            with self.subTest(name):
                checks.forward(CASES[name], "interpreter", rtol=1e-10)

    def test_gradients_of_every_float_input_called_twice(self):
        for name in self.kernels:
            if CASES[name].reason:
                continue
            with self.subTest(name):
                self.assertTrue(checks.gradients(CASES[name], "interpreter", rtol=1e-6))

    def test_compiled(self):
        for name in ("gemm", "spmv", "durbin", "softmax"):
            with self.subTest(name):
                checks.forward(CASES[name], "cpu", rtol=1e-10)


if __name__ == "__main__":
    unittest.main()
