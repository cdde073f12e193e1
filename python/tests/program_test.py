"""numpy-style programs against the functions themselves, run by NumPy."""

import dataclasses
import inspect
import os
import subprocess
import sys
import unittest

from python.tests.case import Case, headrace, np

N, M, K = (headrace.symbol(s) for s in "NMK")
f64 = headrace.float64


def relu(x):
    return np.maximum(x, 0)


def identity(x):
    return x


def softmax(x):
    top = np.max(x, axis=-1, keepdims=True)
    e = np.exp(x - top)
    return e / np.sum(e, axis=-1, keepdims=True)


class Damped:
    """Methods as programs."""

    steps = 3

    def __init__(self, rate):
        self.rate = rate

    @headrace.program
    def step(self, x):
        return self.rate * x + self.shift(x.shape[0])

    @headrace.program
    def run(self, x, scale=1.0):
        for _ in range(self.steps):
            x = self.step(x)
        return x * scale

    @headrace.program
    def energy(self, x: headrace.float64[N]):
        return np.sum(self.step(x) ** 2)

    @staticmethod
    @headrace.program
    def doubled(x):
        return x * 2

    def shift(self, n):
        return n + self.rate

    slope = headrace.grad(energy, argnums="x")


@dataclasses.dataclass
class Scale:  # equal ones are equal, and there is no hash
    by: float

    @headrace.program
    def apply(self, x):
        return self.by * x


class Methods(Case):
    def test_self_is_bound_as_by_a_function(self):
        x, a, b = np.arange(3.0), Damped(0.5), Damped(2.0)
        self.close(a.step(x), 0.5 * x + 3.5)
        self.close(b.step(x), 2 * x + 5)
        self.close(Damped.step(a, x), 0.5 * x + 3.5)
        self.close(Damped.step(self=a, x=x), 0.5 * x + 3.5)
        self.close(a.run(x, scale=2), 2 * (0.5 * (0.5 * (0.5 * x + 3.5) + 3.5) + 3.5))
        self.close(a.doubled(x), 2 * x)
        self.assertEqual(list(inspect.signature(a.run).parameters), ["x", "scale"])
        with self.fails(TypeError, "multiple values for argument 'self'"):
            a.step(self=a, x=x)

    def test_what_it_reads_of_self_may_change(self):
        x, a, s = np.arange(3.0), Damped(0.5), Scale(2)
        a.run(x)
        a.rate, a.steps = 1.0, 1
        self.close(a.run(x), x + 4)
        self.close(s.apply(x), 2 * x)
        self.close(Scale(3).apply(x), 3 * x)
        s.by = 4
        self.close(s.apply(x), 4 * x)

    def test_gradients_and_programs_of_methods(self):
        x, a = np.arange(3.0), Damped(0.5)
        for gradient in (headrace.grad(a.energy), a.slope):
            self.close(gradient(x), 0.5 * x + 3.5)
        self.close(headrace.vmap(a.step)(np.stack([x, x])), np.stack([a.step(x)] * 2))
        self.assertEqual(a.energy.sdfg.parameters[0].name, "x")
        self.close(a.step.sdfg_for(x).compile()(x), a.step(x))

        class Plain:
            rate = 2.0

            def scaled(self, x, by=1.0):
                return self.rate * by * x

            @classmethod
            def halved(cls, x):
                return x / cls.rate

        plain = Plain()
        scaled = headrace.program(plain.scaled)
        self.close(scaled(x, by=3.0), 6 * x)
        plain.rate = 5.0
        self.close(scaled(x), 5 * x)
        self.close(headrace.grad(lambda x: np.sum(scaled(x)))(x), np.full(3, 5.0))
        self.close(headrace.program(Plain.halved)(x), x / 2)

        def twice(x):
            return a.step(a.step(x))

        self.same(twice, x)


class AgainstNumPy(Case):
    def setUp(self):
        self.rng = np.random.default_rng(0)

    def random(self, *shape, dtype=np.float64):
        return self.rng.standard_normal(shape).astype(dtype)

    # ---- stencils, loops, slices ----
    def test_stencils(self):
        def jacobi(T: int, A: f64[N], B: f64[N]):
            for t in range(1, T):
                B[1:-1] = 0.33333 * (A[:-2] + A[1:-1] + A[2:])
                A[1:-1] = 0.33333 * (B[:-2] + B[1:-1] + B[2:])

        def seidel(T: int, A: f64[N, N]):
            for t in range(T - 1):
                for i in range(1, A.shape[0] - 1):
                    A[i, 1:-1] += A[i - 1, :-2] + A[i - 1, 1:-1] + A[i - 1, 2:] + A[i, 2:]
                    for j in range(1, A.shape[0] - 1):
                        A[i, j] += A[i, j - 1]
                        A[i, j] /= 9.0

        self.same(jacobi, 5, self.random(20), self.random(20))
        self.same(seidel, 3, self.random(8, 8))

    def test_the_right_side_is_whole_before_the_left_is_written(self):
        def shift(A: f64[N], B: f64[M, M]):
            A[1:] = A[:-1]
            A[:] = A[::-1]
            B[:] = B.T + B[::-1, :]

        self.same(shift, self.random(7), self.random(5, 5))

    def test_numbers_are_copied_and_views_are_shared(self):
        def copies(A):
            a = A[0]
            A[0] = 5.0
            b = a + A[0]
            c = a
            for i in range(3):
                a += i
            row = A[1:]
            pair = (A[1] + 1, row)
            row[0] = 9.0
            return a, b, c, A[1], pair[0], pair[1]

        self.same(copies, self.random(4))

    def test_negative_indices_count_from_the_end(self):
        def around(x, k):
            y = x.copy()
            for i in range(x.shape[0]):
                y[i] += x[i - 1] + x[i - 2]
                y[i] += np.sum(x[:i - 1]) + np.sum(x[i - 2:])
            y[k] = 0.0
            return y, x[-2:], x[:-3], x[k], x[-1]

        for k in (0, -1, -4):
            self.same(around, self.random(5), np.int64(k))

    def test_factorisations(self):
        def lu(A: f64[N, N]):
            for i in range(A.shape[0]):
                for j in range(i):
                    A[i, j] -= A[i, :j] @ A[:j, j]
                    A[i, j] /= A[j, j]
                for j in range(i, A.shape[0]):
                    A[i, j] -= A[i, :i] @ A[:i, j]

        def cholesky(A: f64[N, N]):
            A[0, 0] = np.sqrt(A[0, 0])
            for i in range(1, A.shape[0]):
                for j in range(i):
                    A[i, j] -= np.dot(A[i, :j], A[j, :j])
                    A[i, j] /= A[j, j]
                A[i, i] -= np.dot(A[i, :i], A[i, :i])
                A[i, i] = np.sqrt(A[i, i])

        a = self.random(6, 6)
        spd = a @ a.T + 6 * np.eye(6)
        self.same(lu, spd)
        self.same(cholesky, spd)

    def test_loops_with_conditions_and_exits(self):
        def search(x, limit):
            total = 0.0
            steps = 0
            while steps < x.shape[0]:
                if x[steps] < 0:
                    steps += 1
                    continue
                total += x[steps]
                steps += 1
                if total > limit:
                    break
            return total, steps

        self.same(search, self.random(30), 3.0)
        self.same(search, self.random(30), 1e9)

    def test_arrays_rebound_in_loops(self):
        def power(A, x):
            y = x
            for k in range(6):
                y = A @ y
                y = y / np.sqrt(np.sum(y * y))
            return y, x

        def swap(a, b):
            for k in range(3):
                a, b = b, a + b
            return a, b

        self.same(power, self.random(4, 4), self.random(4))
        self.same(swap, self.random(3), self.random(3))

    def test_branches(self):
        def choose(x, flag, k):
            if flag:
                y = x + 1
            else:
                y = x - 1
            if np.sum(x) > k:
                z = y * 2
            else:
                z = y * 3
            return z if k > 0 else y

        def early(x: f64[N]):
            if x[0] > 0:
                return x * 2
            return x * 3

        for flag in (True, False):
            for k in (-100.0, 100.0):
                self.same(choose, self.random(5), flag, k)
        self.same(early, np.ones(3))
        self.same(early, -np.ones(3))

    # ---- functions of NumPy ----
    def test_networks(self):
        def mlp(x, w1, b1, w2, b2):
            return softmax(relu(x @ w1 + b1) @ w2 + b2)

        f = np.float32
        self.same(mlp, self.random(8, 16, dtype=f), self.random(16, 4, dtype=f), self.random(4, dtype=f), self.random(4, 3, dtype=f),
                  self.random(3, dtype=f), rtol=1e-5)

    def test_reductions(self):
        def reduce(A: f64[N, M]):
            return (np.sum(A), A.sum(axis=0), np.mean(A, axis=1), A.std(), np.var(A, axis=0, keepdims=True), np.max(A, axis=-1),
                    A.min(), np.prod(A, axis=0), np.argmax(A, axis=1), np.argmin(A), np.any(A > 2), np.all(A < 100, axis=0),
                    np.cumsum(A, axis=1), np.linalg.norm(A))

        self.same(reduce, self.random(4, 6))

    def test_elementwise(self):
        def math(x, y):
            return (np.exp(x) + np.log(y) - np.tanh(x) * np.sqrt(y), np.maximum(x, y) ** 3, np.where(x > 0, x, -y), x // y, x % y,
                    np.abs(x), np.sign(x), np.clip(x, -0.5, 0.5), -x, 1 / y, 2.0 ** x, np.arctan2(x, y), np.floor(x) + np.ceil(y),
                    (x > 0) & (y > 1) | (x < -1), ~(x > y), np.hypot(x, y), x ** -2, y ** 0.5, np.log10(y), np.exp2(x))

        self.same(math, self.random(3, 4), np.abs(self.random(3, 4)) + 0.5)

    def test_types_are_those_of_numpy(self):
        def types(i, j, f, b, u):
            return (i + j, i / j, i + 1, i * 2.5, f * 2, f + i, b + b, b * i, u - 1, i // j, i % j, np.sum(b), np.sum(i),
                    np.mean(i), f.astype(np.float64) / 3, i == j, f ** 2, np.float32(1) * i, i << 2, i & j)

        self.same(types, np.array([5, -7, 9], np.int32), np.array([2, 2, -4], np.int64), self.random(3, dtype=np.float32),
                  np.array([True, False, True]), np.array([1, 2, 3], np.uint8), rtol=1e-6)

    def test_types_that_meet_seldom(self):
        def numbers(x, s: float):
            return x * np.tanh(s), x * (s * 2), abs(s) * x, np.where(2 > 1, 3, 4) * x, np.cumsum(2.0) + x, np.conj(x)

        def bools(p, q):
            return np.maximum(p, q), np.minimum(p, q), p < q, np.max(p), np.min(q, axis=0), np.abs(p), np.isnan(p)

        def complexes(z):
            return np.isnan(z), np.isfinite(z), np.isinf(z), np.sum(z[0], axis=0)

        self.same(numbers, self.random(3).astype(np.float32), 0.5, rtol=1e-6)  # what NumPy's functions make of a float is an f64
        self.same(bools, self.random(2, 4) > 0, self.random(2, 4) > 0)
        self.same(complexes, np.array([1 + 2j, np.nan, complex(1, np.inf), complex(np.nan, 2)]))
        def unordered(z):
            return np.maximum(z, 1)

        with self.fails(headrace.UnsupportedError, "complex numbers, which have no order"):
            headrace.program(unordered)(np.ones(3, complex))

    def test_products(self):
        def products(A, B, x, y, T):
            return (A @ B, A @ x, y @ A, np.dot(x, x), np.outer(x, y), np.einsum("ij,jk,k->i", A, B, y), np.einsum("ijk->kj", T),
                    np.tensordot(A, T, axes=([1], [1])), T @ B[:3, :2], np.trace(B[:3]))

        self.same(products, self.random(3, 4), self.random(4, 3), self.random(4), self.random(3), self.random(2, 4, 3))

    def test_shapes(self):
        def shapes(A, x):
            B = A.reshape(2, -1)
            B[0, 0] = 7.0  # a view
            return (np.transpose(A, (1, 0)), np.flip(A, 0), np.stack([x, x + 1]), np.concatenate([A, A], axis=1), np.triu(A, 1),
                    np.tril(A), np.diag(x), np.diag(A), A[:, None] + x, A[..., 0], np.roll(x, 1), np.repeat(x, 2), A.T[1], A.ravel(),
                    np.hstack((x, x)), np.vstack((x, x)), np.eye(3), np.arange(3) * x[:3], np.linspace(0, 1, 5), A.copy(),
                    np.zeros_like(A) + 1, x[-1], x[::-2], A[1:, ::2], np.expand_dims(x, 0), np.full((2, 2), 3.0))

        self.same(shapes, self.random(4, 4), self.random(4))

    def test_gathers_masks_and_sparse_rows(self):
        def gather(x, i, A):
            y = x[i] * 2
            x[x < 0] = 0.0
            A[A > 1] *= 0.5
            return y, A[:, i], x[i[0]]

        def spmv(rows, columns, values, x):
            y = np.empty(rows.size - 1, values.dtype)
            for i in range(rows.size - 1):
                c = columns[rows[i]:rows[i + 1]]
                v = values[rows[i]:rows[i + 1]]
                y[i] = v @ x[c]
            return y

        self.same(gather, self.random(6), np.array([3, 0, -1]), self.random(3, 6))
        self.same(spmv, np.array([0, 2, 2, 5], np.int64), np.array([0, 2, 1, 2, 3], np.int64), self.random(5), self.random(4))

    def test_complex(self):
        def waves(z, w):
            pair = np.stack((z, w))
            return (np.vdot(z, w), np.inner(z, w), np.inner(pair, pair), np.std(z), np.var(pair, axis=0), np.mean(z), z ** 2,
                    np.sqrt(z), np.log(w), np.abs(z) > 0.5, z / w, 1 / z, np.power(z, 1.5), np.dot(z, w))

        def more(z, w):
            return z * w + 1j, np.conj(z), np.abs(z), z.real - z.imag, np.sum(z), np.exp(1j * w.real)

        z = self.random(4) + 1j * self.random(4)
        self.same(waves, z, z[::-1].copy())
        self.same(more, z, z[::-1].copy())

    def test_functions_change_their_arguments(self):
        def bump(a, by):
            a += by

        def twice(x):
            bump(x, 1.0)
            bump(x[1:], 2.0)
            return x.sum()

        self.same(twice, self.random(4))

    # ---- one program, many sizes ----
    def test_annotated_sizes_compile_once(self):
        @headrace.program
        def scale(A: f64[N, M], s: float):
            return A * s

        for shape in ((2, 3), (5, 1), (0, 4)):
            a = self.random(*shape)
            self.close(scale(a, 2.0), a * 2.0)
        self.assertEqual(len(scale._versions), 1)
        self.assertEqual([repr(p) for p in scale.sdfg.parameters], ["in A: f64[N, M]", "in s: f64", "out result: f64[N, M]"])

    def test_the_interpreter_gives_the_same(self):
        def f(A, x):
            y = A @ x
            for k in range(3):
                y[k] += y[k - 1]
            return y

        self.same(f, self.random(4, 4), self.random(4), backend="interpreter")


class Refused(Case):
    def refused(self, kind, function, *parts, args=None):
        with self.fails(kind, __file__, *parts):
            program = headrace.program(function)
            program(*args) if args is not None else program.sdfg  # noqa: B018

    def test_errors_point_into_the_source(self):
        def unknown(A: f64[N]):
            return np.linalg.eig(A)

        def sizes(A: f64[N], B: f64[M]):
            return A + B

        def attribute(A: f64[N]):
            return A.nonsense

        def caught(A: f64[N]):
            try:
                return A
            finally:
                pass

        def kinds(A: f64[N], k: headrace.int64[N]):
            k[:] += A

        def bounds(A: f64[3]):
            return A[5]

        def name(A: f64[N]):
            return A + undefined  # noqa: F821

        self.refused(NotImplementedError, unknown, "eig", "np.linalg.eig(A)", "^^^^")
        self.refused(ValueError, sizes, "(N,) and (M,)", "one symbol for both")
        self.refused(TypeError, attribute, "nonsense")
        self.refused(headrace.UnsupportedError, caught, "try")
        self.refused(TypeError, kinds, "float64 to int64")
        self.refused(ValueError, bounds, "index 5 is out of bounds")
        self.refused(ValueError, name, "undefined")

    def test_wrong_arguments(self):
        @headrace.program
        def f(A: f64[N], B: f64[N]):
            return A + B

        with self.fails(ValueError, "A has the wrong type", "f32"):
            f(np.zeros(3, np.float32), np.zeros(3))
        with self.fails(ValueError, "sizes disagree"):
            f(np.zeros(3), np.zeros(4))
        with self.assertRaises(TypeError):
            f(np.zeros(3))
        with self.fails(TypeError, "argument x", "a tuple or an array"):
            headrace.program(identity)([1.0, 2.0])

    def test_python_minus_c(self):
        text = (f"import sys; sys.path.insert(0, {os.path.dirname(os.path.dirname(headrace.__file__))!r})\n"
                "import numpy as np, headrace\n"
                "@headrace.program\n"
                "def f(x):\n"
                "    return x + 1\n"
                "print(f(np.ones(2)))\n")
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
        self.assertEqual((done.stdout, done.stderr), ("[2. 2.]\n", ""))


if __name__ == "__main__":
    unittest.main()
