"""Random programs give what NumPy gives, and gradients that agree with differences. HEADRACE_SEEDS="0 2000" chooses other programs
(nightly: many more), HEADRACE_BACKEND another backend; `python python/tests/random_programs.py SEED` prints one."""

import importlib.util
import os
import tempfile
import unittest

from python.tests import random_programs
from python.tests.case import Case, headrace, np

FIRST, LAST = map(int, os.environ.get("HEADRACE_SEEDS", "0 120").split())
BACKEND = os.environ.get("HEADRACE_BACKEND", "interpreter")


def load(folder: str, seed: int):
    """(function, its arguments)"""
    text, shapes = random_programs.program(seed)
    path = os.path.join(folder, f"random_{seed}.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write("import numpy as np\n\n\n" + text)
    spec = importlib.util.spec_from_file_location(f"random_{seed}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    r = np.random.default_rng(seed)
    return module.f, [r.standard_normal(s) if s else float(r.standard_normal()) for s in shapes.values()]


def copies(values):
    return [v.copy() if isinstance(v, np.ndarray) else v for v in values]


class RandomPrograms(Case):
    def test_they_do_as_numpy_does(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        refused, compared, gradients = [], 0, 0
        for seed in range(FIRST, LAST):
            with self.subTest(seed=seed):
                f, values = load(folder, seed)
                theirs, ours = copies(values), copies(values)
                expected = f(*theirs)
                if not np.isfinite(expected):
                    continue
                program = headrace.program(f, backend=BACKEND)
                try:
                    got = program(*ours)
                    gradient = headrace.grad(program, argnums=tuple(range(len(values))))(*copies(values))
                except headrace.UnsupportedError as e:
                    refused.append(f"{seed}: {str(e).splitlines()[0]}")
                    continue
                for a, b in zip([got, *ours], [expected, *theirs]):
                    np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9)
                compared += 1
                gradients += self.agrees(f, values, gradient, seed)
        print(f"{compared} programs agree, {gradients} gradients, {len(refused)} refused:", *refused, sep="\n  ")
        self.assertEqual(gradients, compared)
        self.assertLess(len(refused), (LAST - FIRST) / 20 + 1)

    def agrees(self, f, values, gradient, seed) -> bool:
        """Along a random direction. Where a maximum or a branch changes sides, smaller steps do not."""
        r = np.random.default_rng([seed, 1])
        direction = [r.standard_normal(np.shape(v)) for v in values]
        ours = sum(float(np.sum(g * d)) for g, d in zip(gradient, direction))
        at = lambda h: f(*[v + h * d if isinstance(v, np.ndarray) else v + h * float(d) for v, d in zip(values, direction)])
        differences = [(at(h) - at(-h)) / (2 * h) for h in (1e-6, 1e-5, 1e-7)]
        self.assertTrue(any(np.isclose(ours, d, rtol=1e-4, atol=1e-5) for d in differences), (seed, ours, differences))
        return True


if __name__ == "__main__":
    unittest.main()
