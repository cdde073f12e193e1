"""Arrays that loops and branches shrink, in programs: x = x[mask]."""

import unittest

from python.tests.case import Case, headrace, np

N = headrace.symbol("N")
f64 = headrace.float64


class Shrinking(Case):
    def setUp(self):
        self.rng = np.random.default_rng(0)

    def random(self, *shape):
        return self.rng.standard_normal(shape)

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

        def in_two_loops(x):
            y = x[x > 0.1]
            for k in range(2):
                y = y * 2
                for j in range(2):
                    x, y = x[x > 0.2 * (j + k)], y[y > 0.5]
            return np.sum(x * x), x, y

        self.same(above_mean, self.rng.random(40))
        self.same(early, self.rng.random(6))
        self.same(in_two_loops, self.rng.random(9))

    def test_arrays_that_branches_shrink(self):
        def positive(x: f64[N], c: headrace.float64):
            if c > 0:
                x = x[x > 0]
            return np.sum(x * x), len(x)

        def either(x: f64[N], c: headrace.float64):
            y = x * 2
            if c > 0:
                y = y[y > -0.5]
                y = y[y < 2]
            else:
                y = y[y < 0.5]
            if c > 1:
                y = y[y > 0]
            return np.sum(y * y), y

        def in_a_loop(x: f64[N], c: headrace.float64):
            y, z, total = x * 2, x + 1, 0.0
            for k in range(3):
                if c > k:
                    keep = y > k - 1
                    y, z = y[keep], z[keep]
                elif c < -k:
                    y = y + 1
                total += np.sum(y * z)
            return total, y, z

        for f in (positive, either, in_a_loop):
            gradient = headrace.vjp(headrace.program(f, backend="interpreter"), self.random(5), 1.0, argnums=0, of=0)[1](1.0)[0]
            self.assertEqual(gradient.shape, (5,))
            for c in (-1.0, 1.0, 2.5):
                with self.subTest(f=f.__name__, c=c):
                    self.same(f, self.random(9), c, backend="interpreter")


if __name__ == "__main__":
    unittest.main()
