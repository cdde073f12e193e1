"""Programs of many kinds (algorithms_float.py, algorithms_other.py): results and changed arguments as NumPy has them, with known sizes and
with symbols for them; gradients as differences have them, and as vmap, jvp and hessian have them."""

import inspect
import unittest

from python.tests import algorithms_float, algorithms_other
from python.tests.case import Case, headrace, np
from python.tests.program_cases import ALL

PROGRAMS = [(f, args, grad) for module in (algorithms_float, algorithms_other) for f, args, grad in ALL[module.__name__]]
# Sizes agree in these because of their numbers, or recursions end because of them.
KNOWN_SIZES_ONLY = {"filter2d", "overlap_aug", "cg", "fft_recursive", "leapfrog", "quaternion", "mat_aug"}


def copies(values):
    return [v.copy() if isinstance(v, np.ndarray) else v for v in values]


def differences(f, args, at):
    """The gradient of f by its `at`-th argument, to fourth order."""
    v = np.array(args[at], dtype=np.float64)
    result = np.zeros_like(v)
    for i in np.ndindex(v.shape):
        h = 1e-5 * max(1, abs(v[i]))

        def value(step):
            w, given = v.copy(), copies(args)
            w[i] += step
            given[at] = w if v.shape else float(w)
            return f(*given)

        result[i] = (8 * (value(h) - value(-h)) - (value(2 * h) - value(-2 * h))) / (12 * h)
    return result


def with_symbols(f, args):
    """The function's arrays with annotations: equal sizes are one symbol."""
    symbols = {}
    found = {}
    for name, v in zip(inspect.signature(f).parameters, args):
        if isinstance(v, np.ndarray) and v.shape:
            shape = tuple(symbols.setdefault(n, headrace.symbol(f"N{len(symbols)}")) for n in v.shape)
            found[name] = getattr(headrace, v.dtype.name)[shape]
    return found


class Algorithms(Case):
    def agrees(self, f, program, args):
        ours, theirs = copies(args), copies(args)
        with np.errstate(over="ignore"):
            got, expected = program(*ours), f(*theirs)
        many = lambda x: list(x) if isinstance(x, tuple) else [x]
        self.assertEqual(len(many(got)), len(many(expected)))
        for a, b in zip([*many(got), *ours], [*many(expected), *theirs]):
            if isinstance(b, (np.ndarray, np.generic, bool, int, float, complex)):
                self.close(a, b, rtol=1e-11, atol=1e-13)
                if not isinstance(b, np.ndarray):
                    self.assertIs(type(a), type(b))


def _add(f, args, grad):
    def test_known_sizes(self):
        for backend in ("interpreter", "cpu"):
            with self.subTest(backend=backend):
                self.agrees(f, headrace.program(f, backend=backend), args)

    def test_symbols(self):
        f.__annotations__ = with_symbols(f, args)
        try:
            program = headrace.program(f, backend="interpreter")
        finally:
            f.__annotations__ = {}
        self.agrees(f, program, args)

    def test_gradient(self):
        gradients = headrace.grad(headrace.program(f, backend="interpreter"), argnums=grad)(*copies(args))
        for at, g in zip(grad, gradients):
            np.testing.assert_allclose(g, differences(f, args, at), rtol=1e-6, atol=1e-7)

    setattr(Algorithms, f"test_{f.__name__}", test_known_sizes)
    if f.__name__ not in KNOWN_SIZES_ONLY:
        setattr(Algorithms, f"test_{f.__name__}_with_symbols", test_symbols)
    if grad:
        setattr(Algorithms, f"test_{f.__name__}_gradient", test_gradient)


for _program in PROGRAMS:
    _add(*_program)


class Transforms(Case):
    """Of some of them."""

    def test_second_derivatives(self):
        for name, step in (("huber", 1e-5), ("dtw", 1e-5), ("lu", 1e-5), ("iir", 1e-5), ("stencil_view", 1e-5)):
            f, args, _ = next(p for p in PROGRAMS if p[0].__name__ == name)
            with self.subTest(name):
                program = headrace.program(f, backend="interpreter")
                gradient, x = headrace.grad(program), args[0]
                direction = np.random.default_rng(1).standard_normal(x.shape)
                expected = (gradient(x + step * direction, *args[1:]) - gradient(x - step * direction, *args[1:])) / (2 * step)
                H = headrace.hessian(program)(*copies(args))
                np.testing.assert_allclose(np.tensordot(H, direction, axes=x.ndim), expected, rtol=1e-5, atol=1e-6)
                value, tangent = headrace.jvp(program, copies(args), [direction, *[np.zeros(np.shape(a)) for a in args[1:]]])
                self.close(value, f(*copies(args)), rtol=1e-11)
                np.testing.assert_allclose(tangent, np.sum(gradient(*copies(args)) * direction), rtol=1e-9, atol=1e-12)

    def test_batches(self):
        for name in ("moving_avg", "gram_schmidt", "triangular", "iir", "neg_slices"):
            f, args, _ = next(p for p in PROGRAMS if p[0].__name__ == name)
            with self.subTest(name):
                many = np.random.default_rng(2).standard_normal((3, *args[0].shape))
                got = headrace.vmap(headrace.program(f, backend="interpreter"))(many.copy())
                self.close(got, np.stack([f(x.copy()) for x in many]), rtol=1e-10)


if __name__ == "__main__":
    unittest.main()
