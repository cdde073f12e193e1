"""torch.linalg in modules, against eager torch: one matrix and batches of them, by headrace.module, whose gradients are those of the
program, and by torch.compile, whose gradients AOTAutograd makes of the factors."""

import copy
import functools
import unittest

from python.tests.case import headrace

import torch  # noqa: E402

import headrace.torch  # noqa: E402, F401: registers the backend, as the wheel's entry point does
from python.tests.torch_module_test import TorchCase  # noqa: E402
from python.tests.torch_user_test import Whole  # noqa: E402

F64 = torch.float64
WAYS = (headrace.module, functools.partial(torch.compile, backend="headrace", dynamic=True, fullgraph=True))


def positive(a):
    return a @ a.mH + 2 * torch.eye(3, dtype=a.dtype)


def solves(a, y):
    """A matrix on the left, vectors, on the right, one matrix for all."""
    return (torch.linalg.solve(a, y[..., None]), torch.linalg.solve(a, y), torch.linalg.solve(a, y[:, None], left=False),
            torch.linalg.solve(a[0], y[0]), torch.linalg.solve(a + 1, a[0]))


def inverses(a, y):
    return torch.linalg.inv(a), torch.linalg.matrix_power(a[0], -2), torch.linalg.det(a), torch.linalg.det(a.mT)


def logarithms(a, y):
    return *torch.linalg.slogdet(a), torch.logdet(positive(a)), *torch.linalg.slogdet(a.mT * 1e30)


def triangles(a, y):
    b = y[..., None]
    return (torch.linalg.solve_triangular(positive(a), b, upper=False), torch.linalg.solve_triangular(a[0], b, upper=True, unitriangular=True),
            torch.linalg.solve_triangular(positive(a), y[:, None], upper=True, left=False))


def factors(a, y):
    """Of a matrix that isn't symmetric one triangle alone is read."""
    low, high = torch.linalg.cholesky(positive(a)), torch.linalg.cholesky(a + 9 * torch.eye(3, dtype=a.dtype), upper=True)
    return low, high, torch.cholesky_solve(y[..., None], low), torch.cholesky_solve(y[..., None], high, upper=True), torch.cholesky_inverse(low)


def eliminations(a, y):
    lu, pivots = torch.linalg.lu_factor(a)
    return (lu, pivots, torch.linalg.lu_solve(lu, pivots, y[..., None]), torch.linalg.lu_solve(lu, pivots, y[:, None], left=False, adjoint=True))


def eigenvalues(a, y):
    """Also of matrices that aren't symmetric, whose one triangle is read."""
    w, v = torch.linalg.eigh(positive(a))
    return w, v.abs() ** 2, (v * w.sin().to(v.dtype)[..., None, :]) @ v.mH, torch.linalg.eigvalsh(a + a.mH), torch.linalg.eigvalsh(a.real, UPLO="U")


def singular_values(a, y):
    u, s, vh = torch.linalg.svd(a[:, :, :2], full_matrices=False)
    return (s, u.abs() ** 2, (u * s.sin().to(u.dtype)[..., None, :]) @ vh, torch.linalg.svdvals(a[0]), torch.linalg.matrix_norm(a, 2), torch.linalg.cond(a),
            torch.linalg.svd(a[:, :2])[1])


def rotations(a, y):
    return *torch.linalg.qr(a), *torch.linalg.qr(a[:, :2]), *torch.linalg.qr(a[:, :, :2]), torch.linalg.pinv(a[:, :2]), torch.linalg.pinv(a)


def exponentials(a, y):
    """Small, large and none."""
    return torch.matrix_exp(a), torch.linalg.matrix_exp(a[0] * 9), torch.matrix_exp(a * 0), torch.matrix_exp(a * 0.01)


def given(n, dtype=F64):
    return [torch.randn(n, 3, 3, dtype=dtype).requires_grad_(), torch.randn(n, 3, dtype=dtype).requires_grad_()]


class Matrices(TorchCase):
    def agree(self, function, ways=WAYS, dtype=F64, programs=2):
        """`programs`: forward and backward, at most, for all batches."""
        for compiled in ways:
            torch._dynamo.reset()
            headrace.reset_counters()
            ours = compiled(Whole(function))
            for n in (4, 8, 1):
                with self.subTest(way=compiled, n=n):
                    pairs = []
                    args = given(n, dtype)
                    for f in (ours, function):
                        own = copy.deepcopy(args)
                        made = f(*own)
                        torch.manual_seed(n)
                        sum((torch.randn_like(r) * r).abs().sum() for r in made if r.requires_grad).backward()
                        pairs.append([*made, *[t.grad for t in own]])
                    for a, b in zip(*pairs, strict=True):
                        self.same(a, b)
            counted = headrace.counters()
            self.assertNotIn("torch.fallback", counted)
            for group in counted.values():
                self.assertLessEqual(group["programs"], programs)

    def test_solves(self):
        self.agree(solves)

    def test_inverses_and_determinants(self):
        self.agree(inverses)

    def test_logarithms_of_determinants(self):
        self.agree(logarithms)

    def test_triangular_systems(self):
        self.agree(triangles)

    def test_cholesky(self):
        self.agree(factors)

    def test_elimination(self):
        self.agree(eliminations, WAYS[:1])

    def test_complex_matrices(self):
        self.agree(lambda a, y: (torch.linalg.solve(a, y), torch.linalg.inv(a), torch.linalg.det(a)), dtype=torch.complex128)

    def test_eigenvalues(self):
        self.agree(eigenvalues)
        self.agree(eigenvalues, WAYS[:1], torch.complex128)

    def test_singular_values(self):
        self.agree(singular_values, programs=6)  # a batch of 1 is another graph
        self.agree(singular_values, WAYS[:1], torch.complex128, programs=6)  # AOTAutograd's gradient asks the data whether it is one

    def test_rotations_and_pseudo_inverses(self):
        self.agree(rotations, programs=4)
        self.agree(rotations, dtype=torch.complex128, programs=4)

    def test_exponentials(self):
        self.agree(exponentials)

    def test_reflections(self):
        def products(a, y):  # PyTorch's are column-major
            return [torch.linalg.householder_product(*v).contiguous() for v in ((a, y), (a[0, :, :2], y[0, :2]))]

        self.agree(products, WAYS[:1], programs=4)
        self.agree(products, WAYS[:1], torch.complex128, programs=4)

    def test_least_squares(self):
        self.agree(lambda a, y: (torch.linalg.lstsq(a[:, :, :2], y[..., None]).solution, torch.linalg.lstsq(a[0, :2], y[0, :2, None])[0]), WAYS[:1],
                   programs=4)
        with self.fails(headrace.UnsupportedError, "rank", "hint: torch.linalg.matrix_rank"):
            headrace.module(Whole(lambda a: torch.linalg.lstsq(a, a).rank))(torch.eye(3))

    def test_orthogonal_layers(self):
        for way in ("matrix_exp", "cayley", "householder"):
            layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(4, 3, dtype=F64), orthogonal_map=way)
            made = []
            for f in (headrace.module(copy.deepcopy(layer)), layer):
                y = f(torch.arange(8, dtype=F64).reshape(2, 4))
                made.append((y, *torch.autograd.grad(y.square().sin().sum(), f.parameters())))
            torch.testing.assert_close(*made)

    def test_open_sizes(self):
        """Rows and columns, of which either may be more."""
        def function(a):
            return *torch.linalg.qr(a), torch.linalg.svdvals(a), torch.linalg.pinv(a)

        ours = headrace.module(Whole(function))
        for rows in (5, 3, 2, 4):
            pairs = []
            a = torch.randn(rows, 3, dtype=F64)
            for f in (ours, function):
                own = a.clone().requires_grad_()
                made = f(own)
                sum((r ** 2 * r.detach().cos()).sum() for r in made).backward()
                pairs.append([*made, own.grad])
            for x, y in zip(*pairs, strict=True):
                self.same(x, y)

    def test_complex_cholesky(self):
        self.agree(lambda a, y: (torch.linalg.cholesky(positive(a @ a.mH)), torch.linalg.cholesky(positive(a @ a.mH), upper=True)), WAYS[:1], torch.complex128)
        ours = headrace.module(Whole(torch.linalg.slogdet))
        a = torch.randn(2, 3, 3, dtype=torch.complex128)
        for x, y in zip(ours(a), torch.linalg.slogdet(a)):
            self.same(x, y)

    def test_second_derivatives(self):
        for f in (lambda a: torch.linalg.slogdet(a)[1], torch.linalg.inv, torch.linalg.svdvals, torch.linalg.qr, lambda a: torch.linalg.eigvalsh(a + a.mT), lambda a: torch.linalg.cholesky(positive(a))):
            ours = headrace.module(Whole(f))
            a = (torch.randn(3, 3, dtype=F64) + 3 * torch.eye(3, dtype=F64)).requires_grad_()
            self.assertTrue(torch.autograd.gradcheck(ours, a) and torch.autograd.gradgradcheck(ours, a))


class Failures(TorchCase):
    """What LAPACK can't do is eager's exception."""

    def fail_alike(self, function, wrong, right):
        with self.assertRaises(torch.linalg.LinAlgError) as expected:
            function(wrong)
        for compiled in WAYS:
            ours = compiled(Whole(function))
            self.same(ours(right), function(right))
            with self.fails(torch.linalg.LinAlgError, str(expected.exception)):
                ours(wrong)
            self.same(ours(right), function(right))

    def test_singular(self):
        good = torch.randn(2, 3, 3, dtype=F64)
        singular = good.clone()
        singular[1, 2] = 0
        ones = torch.ones(2, 3, 3, dtype=F64)  # whose solution for ones is not unique
        self.fail_alike(torch.linalg.inv, singular, good)
        self.fail_alike(lambda a: torch.linalg.solve(a, torch.ones(3, 1, dtype=F64)), ones, good)

    def test_small_determinants_are_not_singular(self):
        tiny = torch.randn(2, 3, 3, dtype=F64) * 1e-120
        self.same(headrace.module(Whole(torch.linalg.inv))(tiny), torch.linalg.inv(tiny))

    def test_indefinite(self):
        good = positive(torch.randn(2, 3, 3, dtype=F64))
        wrong = good.clone()
        wrong[1, 1, 1] = -1
        self.fail_alike(torch.linalg.cholesky, wrong, good)

    def test_a_step_of_training_says_it_too(self):
        w = torch.nn.Linear(3, 3, bias=False).to(F64)
        step = headrace.train_step(torch.nn.Sequential(w, Whole(torch.linalg.inv)), lambda y: y.square().sum(), torch.optim.SGD(w.parameters(), lr=0.0))
        x = torch.randn(2, 3, 3, dtype=F64)
        self.same(step(x), torch.linalg.inv(w(x)).square().sum().detach())
        with self.fails(torch.linalg.LinAlgError, "linalg.inv: (Batch element 0)", "singular"):
            step(torch.zeros(2, 3, 3, dtype=F64))

    def test_what_is_refused(self):
        for function, *texts in ((torch.linalg.eigvals, "linalg_eig", "not among the operators that programs know"),
                                 (lambda a: torch.linalg.pinv(a, hermitian=True), "linalg_pinv", "one triangle"),
                                 (lambda a: torch.linalg.qr(a, mode="complete").Q, "complete Q of more rows than columns")):
            with self.subTest(texts[0]), self.fails(headrace.UnsupportedError, *texts):
                headrace.module(Whole(function))(torch.randn(4, 3 if "complete" in texts[0] else 4).requires_grad_())


if __name__ == "__main__":
    unittest.main()
