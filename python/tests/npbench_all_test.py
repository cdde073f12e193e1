"""All kernels of NPBench: as npbench_test, which runs a few, and at the benchmark's sizes S, compiled."""

import unittest

from python.tests.case import Case, np
from python.tests.npbench_test import CASES, NPBench

from benchmarks.npbench import checks
from benchmarks.npbench.cases import SINGLE


class AllKernels(NPBench):
    kernels = tuple(CASES)


class SizesS(Case):
    """A test for each kernel, so that they are shared among the shards."""


def at_size_s(name: str):
    def test(self):
        case = CASES[name]
        checks.forward(case, "cpu", rtol=1e-10, size="S")
        if name in SINGLE:
            checks.forward(case, "cpu", rtol=1e-5, size="S", dtype=np.float32)
        if not case.reason:
            self.assertEqual(checks.gradients_along_directions(case, "cpu", rtol=1e-6), case.floats(case.arguments()))

    return test


for _name in CASES:
    setattr(SizesS, f"test_{_name}", at_size_s(_name))


class Coverage(Case):
    def test_only_what_counts_or_computes_with_integers_has_no_gradient(self):
        without = {name for name, case in CASES.items() if case.reason}
        self.assertEqual(without, {"compute", "mandelbrot1", "mandelbrot2", "nussinov", "crc16"})
        self.assertGreaterEqual(len(CASES) - len(without), 46)


del NPBench  # here it is a base alone

if __name__ == "__main__":
    unittest.main()
