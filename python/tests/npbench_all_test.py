"""All kernels of NPBench: as npbench_test, which runs a few."""

import unittest

from python.tests.npbench_test import CASES, NPBench


class AllKernels(NPBench):
    kernels = tuple(CASES)


del NPBench  # here it is a base alone

if __name__ == "__main__":
    unittest.main()
