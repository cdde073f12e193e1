"""Arrays around a function: small ones are constants of its program, which is another one where they changed."""

import unittest

from python.tests.case import Case, headrace, np

WEIGHTS = np.array([0.5, -1.0, np.inf, 2.0]) ** 2
STEPS = np.array([1, 0, 2, -1])
TABLES = {"a": np.arange(8.0).reshape(4, 2), "z": np.array([1j, 2.0, -1.5 - 1j])}
LARGE = np.zeros(5000)
NODES, AREAS = np.polynomial.legendre.leggauss(4)


def used(x):
    a = WEIGHTS.copy()
    a[0] = x[0]
    b = np.zeros_like(STEPS)
    b += STEPS
    total = 0.0
    for k in range(len(STEPS)):
        total += STEPS[k] * x[k] + x[STEPS[k]]
    moved = np.roll(x, (STEPS[0],), axis=(0,))
    return (a, b, total, moved, STEPS @ x, STEPS + 1, STEPS[::-1] * x, x[STEPS], WEIGHTS > 1, -STEPS, np.where(x > 0, STEPS, 0.5), STEPS.sum() * x,
            TABLES["a"].T @ x, np.concatenate([WEIGHTS, x]), TABLES["z"][1:] * x[0], x.reshape(STEPS[2], 2), np.array(STEPS), TABLES["a"])


def integral(b):
    t = b * (NODES + 1) / 2
    x, w = np.polynomial.legendre.leggauss(3)
    return b / 2 * np.sum(AREAS * np.exp(-t * t)) + np.sum(w * np.sin(b * x + 1))


class Lattice:
    def __init__(self):
        self.weights, self.shifts = np.array([0.5, 0.25, 0.25]), np.array([0, 1, -1])

    @property
    def doubled(self):
        return 2 * self.weights

    def step(self, f):
        for k, w in enumerate(self.weights):
            f = f + w * np.roll(f, self.shifts[k]) * self.doubled[k]
        return f


def changes(x):
    WEIGHTS[0] = x[0]


def adds(x):
    w = WEIGHTS
    w += x


def adds_to_part(x):
    w = WEIGHTS[1:]
    w[0] += x[0]


def fills(x):
    WEIGHTS.fill(0)
    return x


def accumulates(x):
    np.add.at(WEIGHTS, [0], x[0])


def writes(x):
    np.add(x, 1, out=WEIGHTS)


def large(x):
    return x + LARGE


class Surroundings(Case):
    def test_constants(self):
        for backend in ("interpreter", "cpu"):
            self.same(used, np.array([1.0, -2.0, 0.5, 3.0]), backend=backend)
        self.close(headrace.grad(integral)(1.5), (integral(1.5 + 1e-6) - integral(1.5 - 1e-6)) / 2e-6, rtol=1e-6)

    def test_attributes(self):
        lattice, x = Lattice(), np.arange(5.0)
        program = headrace.program(lambda x: lattice.step(x), backend="interpreter")
        self.close(program(x), lattice.step(x))
        lattice.weights[1] = -1.0
        self.close(program(x), lattice.step(x))
        lattice.shifts = np.array([2, 2, 0])
        self.close(program(x), lattice.step(x))

    def test_what_changed_is_another_program(self):
        program = headrace.program(lambda x: x * WEIGHTS[3] + WEIGHTS, backend="interpreter")
        before = WEIGHTS.copy()
        try:
            self.close(program(np.ones(4)), WEIGHTS[3] + WEIGHTS)
            WEIGHTS[:] = 7.0
            self.close(program(np.ones(4)), np.full(4, 14.0))
        finally:
            WEIGHTS[:] = before
        self.close(program(np.ones(4)), WEIGHTS[3] + WEIGHTS)
        self.assertEqual(len(program._versions), 1)

    def test_they_are_read_alone(self):
        for f in (changes, adds, adds_to_part, fills, accumulates, writes):
            with self.subTest(f.__name__), self.fails(headrace.UnsupportedError, "an array of the surroundings is changed in place", "^",
                                                      "hint: pass it as an argument, or change a copy", "in " + f.__name__):
                headrace.program(f, backend="interpreter")(np.ones(4))
        self.assertEqual(WEIGHTS[0], 0.25)
        with self.fails(TypeError, "an array of 5000 elements around the function: pass it as an argument", "x + LARGE"):
            headrace.program(large)(np.ones(5000))


if __name__ == "__main__":
    unittest.main()
