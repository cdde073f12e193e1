"""Operators where torch's own samples look too little: special functions over their whole range, indices that meet, order with
ties and NaN; gradients of the same through headrace.module."""

import copy
import functools
import math
import unittest

from python.tests.case import Case, headrace

import torch  # noqa: E402

import headrace.torch  # noqa: E402, F401: registers the backend, as the wheel's entry point does

F64 = torch.float64


class OperatorCase(Case):
    def same(self, function, *args, rtol=1e-12, atol=1e-13):
        torch._dynamo.reset()
        headrace.reset_counters()
        got = torch.compile(function, backend="headrace", options={"backend": "interpreter"}, fullgraph=True)(*args)
        torch.testing.assert_close(got, function(*args), rtol=rtol, atol=atol, equal_nan=True)
        self.assertNotIn("torch.fallback", headrace.counters())


class Special(OperatorCase):
    GRID = torch.cat([torch.linspace(-20.3, 20, 1201, dtype=F64),
                      torch.tensor([0.0, -0.0, 1e-10, -1e-10, 1e5, 1e30, 8.0, -8.0, math.nan], dtype=F64)])

    def test_gamma(self):
        self.same(lambda x: (torch.lgamma(x), torch.digamma(x)), self.GRID, rtol=1e-11, atol=1e-12)
        self.same(lambda x: (torch.polygamma(1, x), torch.polygamma(2, x), torch.polygamma(5, x)), self.GRID.abs() + 0.01, rtol=1e-8)
        between = torch.linspace(-9.7, -0.3, 41, dtype=F64)
        between = between[(between - between.round()).abs() > 0.05]
        self.same(lambda x: (torch.polygamma(1, x), torch.polygamma(2, x), torch.polygamma(3, x)), between, rtol=1e-8)
        self.same(torch.lgamma, torch.tensor([-1.0, -7.0, math.inf, -math.inf], dtype=F64))

    def test_errors(self):
        self.same(lambda x: (torch.erfc(x), torch.special.erfcx(x), torch.special.log_ndtr(x)), self.GRID)
        self.same(torch.erfinv, torch.cat([torch.linspace(-1, 1, 401, dtype=F64), torch.tensor([2.0, -3.0, math.nan], dtype=F64)]))
        self.same(torch.erfc, torch.tensor([math.inf, -math.inf, 26.0, 30.0], dtype=F64))

    def test_bessel(self):
        self.same(lambda x: (torch.i0(x), torch.special.i0e(x), torch.special.i1(x), torch.special.i1e(x)), self.GRID)

    def test_quotients(self):
        edges = torch.tensor([math.inf, -math.inf, math.nan, 1.0, -1.0, 0.0, 0.1, -0.3, 5.0, 1e15, -1e-3], dtype=F64)
        a, b = torch.cartesian_prod(edges, edges).T
        for x, y in ((a, b), (a.float(), b.float())):
            self.same(lambda x, y: (x // y, x // 2.0, torch.div(x, y, rounding_mode="floor"), x % y, torch.fmod(x, y), x.sign()), x, y)

    def test_shifts(self):
        places, numbers = torch.tensor([1, 0, 5, 64, -1]), torch.tensor([3, -4, 100, -1, 2])
        for kind in (torch.int64, torch.int32, torch.int8, torch.uint8):
            self.same(lambda a, b: (a >> b, a << b, a >> 1, a << 2, a.bitwise_left_shift(b), a.bitwise_right_shift(70)),
                      numbers.to(kind), places.to(kind))

    def test_triangles_as_indices(self):
        x = torch.arange(12.0).reshape(3, 4)
        for offset in (-1, 0, 1):
            self.same(lambda x, offset=offset: (x[tuple(torch.triu_indices(3, 4, offset))], x[tuple(torch.tril_indices(3, 4, offset))]), x)

    def test_polynomials(self):
        s = torch.special
        x, n = torch.linspace(-1.5, 1.5, 13, dtype=F64)[:, None], torch.arange(-1, 12)
        for f in (s.chebyshev_polynomial_t, s.chebyshev_polynomial_u, s.hermite_polynomial_h, s.laguerre_polynomial_l):
            self.same(f, x, n, rtol=1e-9, atol=1e-9)
        self.same(s.legendre_polynomial_p, x, n, rtol=1e-9, atol=1e-9)
        self.same(lambda v: s.hermite_polynomial_he(v, 7), x)

    def test_complex_numbers(self):
        z = torch.complex(torch.tensor([3.0, 0.0, -1e300, math.inf], dtype=F64), torch.tensor([-4.0, 0.0, 1e300, 1.0], dtype=F64))
        self.same(lambda v: (v.abs(), v.angle(), torch.view_as_real(v), v.conj() * 2), z)
        self.same(torch.sgn, z[:2])
        self.same(torch.sinc, torch.tensor([0.5 + 0.5j, 0, 0.25], dtype=torch.complex64), rtol=1e-5, atol=1e-6)
        self.same(lambda v: torch.fft.irfft(torch.fft.rfft(v, norm="ortho"), n=9), torch.randn(2, 9, dtype=F64))
        self.same(lambda v: torch.fft.ifft2(torch.fft.fft2(v)).real, torch.randn(3, 4, 5, dtype=F64))

    def test_long_transforms(self):
        for n in (33, 64, 97, 1000):
            x, z = torch.randn(3, n, dtype=F64), torch.randn(3, n, dtype=torch.complex128)
            for norm in ("forward", "backward", "ortho"):
                self.same(lambda v, norm=norm: (torch.fft.fft(v, norm=norm), torch.fft.ifft(v, norm=norm)), z, rtol=1e-11, atol=1e-11)
                self.same(lambda v, norm=norm: (torch.fft.rfft(v, norm=norm), torch.fft.fft(v, norm=norm)), x, rtol=1e-11, atol=1e-11)
                # The first coefficient's imaginary part, and the middle one's, are left out.
                self.same(lambda v, norm=norm: (torch.fft.irfft(v, norm=norm), torch.fft.irfft(v, n=2 * n - 1, norm=norm)), z, rtol=1e-11, atol=1e-11)  # noqa: B023
        x = torch.randn(2, 40, 3, 50, dtype=torch.complex64)
        self.same(lambda v: torch.fft.fftn(v, dim=(1, 3)), x, rtol=1e-4, atol=1e-3)
        self.same(lambda v: torch.fft.ifft(v, dim=1), x, rtol=1e-4, atol=1e-5)
        self.same(lambda v: torch.fft.irfft2(torch.fft.rfft2(v, dim=(0, 1)), dim=(0, 1)), torch.randn(36, 48, 2, dtype=F64), atol=1e-12)

    def test_gradients_of_long_transforms(self):
        class Filter(torch.nn.Module):
            def __init__(self, n):
                super().__init__()
                self.n, self.weight = n, torch.nn.Parameter(torch.randn(n // 2 + 1, dtype=F64))

            def forward(self, x):
                spectrum = torch.fft.rfft(x)
                return torch.fft.irfft(spectrum * self.weight, n=self.n), torch.fft.fft(x, dim=0).abs()

        for n in (20, 64, 75):
            x = torch.randn(40, n, dtype=F64)
            model = Filter(n)
            gradients = []
            for way in (lambda m: m, headrace.module, lambda m: torch.compile(m, backend="headrace", fullgraph=True)):
                copied, given = copy.deepcopy(model), x.clone().requires_grad_()
                a, b = way(copied)(given)
                (a.square().sum() + b.sum()).backward()
                gradients.append((a, b, given.grad, copied.weight.grad))
            for got in gradients[1:]:
                torch.testing.assert_close(got, gradients[0], rtol=1e-9, atol=1e-9)


class Meeting(OperatorCase):
    """Where indices meet, the last value stays, as in eager code."""

    def test_writes(self):
        a, at = torch.zeros(4, 3), torch.tensor([1, 3, 1, -1, 1])
        v = torch.arange(15.0).reshape(5, 3)
        self.same(lambda a, at, v: a.index_put((at,), v), a, at, v)
        self.same(lambda a, at, v: a.index_put((at,), v, accumulate=True), a, at, v)
        self.same(lambda a, at, v: a.scatter(0, at.abs()[:, None].expand(5, 3), v), a, at, v)
        self.same(self.columns, a, at, v)
        self.same(lambda a, at: torch.put(a, at, torch.arange(5.0)), a, at)
        self.same(lambda a, at, v: a.index_copy(0, at.abs(), v), a, at, v)
        for reduce in ("prod", "mean", "amin", "amax"):
            for own in (True, False):
                self.same(lambda a, at, v: torch.index_reduce(a + 2, 0, at.abs(), v, reduce, include_self=own), a, at, v)  # noqa: B023

    @staticmethod
    def columns(a, at, v):
        a = a.clone()
        a[:, at.abs() % 3] = v[:, :1].T.expand(4, 5)
        return a

    def test_order(self):
        x = torch.tensor([[3.0, math.nan, 1.0, 3.0, -0.0, 0.0], [2.0, 2.0, 2.0, -math.inf, 5.0, 2.0]])
        for descending in (False, True):
            self.same(lambda x: torch.sort(x, stable=True, descending=descending), x)  # noqa: B023
        self.same(lambda x: (*torch.cummax(x, 1), *torch.cummin(x, 0)), x)
        self.same(lambda x: (torch.median(x, 1).values, torch.nanmedian(x, 1).values, x.median(), x.nanmedian()), x)
        self.same(lambda x: torch.logcumsumexp(x, 1), x.nan_to_num())
        self.same(lambda x: torch.mode(x, 1).values, x.nan_to_num())
        edges = torch.tensor([-1.0, 0.0, 2.0, 2.0, 3.0])
        for right in (False, True):
            self.same(lambda x: (torch.bucketize(x, edges, right=right), torch.searchsorted(edges, x, right=right)), x)  # noqa: B023


class Gradients(Case):
    def check(self, function, *args):
        class Module(torch.nn.Module):
            def forward(self, a, b=None):
                return function(a) if b is None else function(a, b)

        self.assertTrue(torch.autograd.gradcheck(headrace.module(Module()), args))

    def test_writes_and_order(self):
        torch.manual_seed(2)
        a, v = (torch.randn(n, 2, dtype=F64, requires_grad=True) for n in (4, 5))
        at = torch.tensor([1, 3, 1, 0, 1])
        self.check(lambda a, v: a.index_put((at,), v) * 2, a, v)
        self.check(lambda a, v: a.scatter(0, at[:, None].expand(5, 2), v) * a, a, v)
        self.check(lambda a: torch.sort(a, dim=1).values.cumsum(0) * a, a)


class AgreeCase(Case):
    def agree(self, function, *args, compiled=True):
        class Module(torch.nn.Module):
            def forward(self, *args):
                return function(*args)

        torch._dynamo.reset()
        made = []
        for f in (function, headrace.module(Module()), *([torch.compile(function, backend="headrace")] if compiled else [])):
            leaves = [a.clone().requires_grad_() for a in args]
            y = f(*leaves)
            weights = torch.arange(1.0, 1 + y.numel(), dtype=y.dtype).reshape(y.shape)
            made.append((y.detach(), torch.autograd.grad(y, leaves, weights)))
        for got in made[1:]:
            torch.testing.assert_close(got, made[0], rtol=1e-5, atol=1e-6, equal_nan=True)


class Kinks(AgreeCase):
    """Where a function has no derivative, or its formula would lose it, gradients are eager code's."""

    def test_certain_probabilities(self):
        cross = torch.nn.functional.binary_cross_entropy
        x, y = torch.tensor([0.0, 0, 1, 1, 0.3, 1e-8, 20]), torch.tensor([0.0, 1, 0, 1, 0.25, 1, 0])
        self.agree(lambda x: cross(x, y[:6], reduction="none"), x[:6])
        self.agree(lambda x: cross(torch.sigmoid(x), 1 - y, y + 0.5), x)
        self.agree(lambda x, y: cross(x, y, reduction="sum"), x[4:6], y[4:6])

    def test_margins_of_labels(self):
        loss = torch.nn.functional.multilabel_margin_loss
        x, y = torch.tensor([[0.1, 0.2, 0.4, 0.8], [0.3, 0.1, -0.2, 0.5]]), torch.tensor([[3, -1, 0, 1], [0, 2, 2, -1]])
        for reduction in ("none", "mean", "sum"):
            self.agree(lambda x: loss(x, y, reduction=reduction), x)  # noqa: B023
        self.agree(lambda x: loss(x, torch.tensor([0, 2, -1])), torch.tensor([0.0, 1, 1]))

    def test_products_with_logarithms(self):
        x, y = torch.tensor([0.0, 0, 0, 1, -1]), torch.tensor([2.0, 0.5, 1, 0, 3])
        self.agree(lambda x: torch.xlogy(x, y) + torch.special.xlog1py(x, y - 1) + torch.xlogy(x, 2.5), x)
        self.agree(lambda y: torch.xlogy(x, y) + torch.special.xlog1py(x, y), y)
        self.agree(lambda x: torch.xlogy(x, x) + torch.xlogy(0.0, x + 1), torch.tensor([1.0, 2, 0.5]))
        self.agree(lambda x: torch.xlogy(x, -y), torch.zeros(5))
        draws = torch.tensor([0.3, 0.7])
        for family in (torch.distributions.Beta, torch.distributions.Gamma):
            self.agree(lambda a, b: family(a, b).log_prob(draws), torch.tensor([1.0, 2]), torch.tensor([1.0, 0.5]))  # noqa: B023
        self.agree(lambda a: torch.distributions.Dirichlet(a).log_prob(draws), torch.ones(2))

    def test_special_functions(self):
        x = torch.tensor([0.0, -0.0, -30, 30, 1e-30, -1e-20, 0.5, -0.5, 3, -3, 0.01], dtype=F64)
        self.agree(lambda x: torch.erfc(x) + torch.special.log_ndtr(x), x)
        self.agree(lambda x: torch.special.erfcx(x) - torch.special.log_ndtr(x), x.clamp(-4, 4))
        self.agree(torch.sinc, x)
        self.agree(torch.special.log_ndtr, torch.tensor([math.inf]))

    def test_roots_of_nothing(self):
        equal = torch.ones(2, 3)
        self.agree(lambda x: x.std(1) + torch.std_mean(x, 1, correction=0)[0] + x.std() + torch.std_mean(x * 2)[1], equal)
        x = torch.tensor([[0.0, 0, 0], [0, 1, -2]])
        for p in (0.5, 1.5, 2, 3, 4):
            self.agree(lambda x: x.norm(p=p, dim=1), x)  # noqa: B023
        self.agree(lambda x: torch.nn.functional.normalize(x, p=3.0), x)

    def test_bounds_that_are_tensors(self):
        x, low, high = torch.tensor([[0.0, 1, 0.5, -1, 2, 3, 1, 2], [0.0] * 8, [1.0] * 6 + [0.5, math.nan]])
        self.agree(torch.clamp, x, low, high)
        self.agree(lambda x, low: torch.clamp(x, min=low) + torch.clamp(low, max=x), x, low)
        self.agree(lambda x, y: torch.fmax(x, y) * 2 + torch.fmin(x, y), x, high)

    def test_ties_of_bins(self):
        pool = torch.nn.functional
        self.agree(lambda x: pool.adaptive_max_pool1d(x, 2), torch.ones(1, 1, 5))
        self.agree(lambda x: pool.adaptive_max_pool2d(x.relu(), (2, 3)), torch.eye(5)[None] * 2 - 1)


class Strided(torch.nn.Module):
    def forward(self, x):
        return x.as_strided((2, x.shape[1]), (x.shape[1], 1), 1) + x.as_strided((2, 1), (1, 2))


class Both(AgreeCase):
    """What once only torch.compile knew, or only for sizes that are constants."""

    def test_smaller_operators(self):
        x = torch.tensor([[0.5, -1, 2], [3, 0.25, 1]])
        self.agree(lambda x: torch.ldexp(x, torch.tensor([1, 2, 0])) + torch.nn.functional.rrelu(x, training=False), x)
        self.agree(lambda x, y: torch.dist(x, y) + torch.dist(x, y * 2, p=3), x, x + 1)
        self.agree(lambda x: torch.dist(x, x.detach()), x)

    def test_distances_of_other_orders(self):
        x, y = torch.randn(2, 4, 3, dtype=F64), torch.randn(2, 5, 3, dtype=F64)
        for p in (1, 1.5, 2, 3):
            self.agree(lambda x, y, p=p: torch.cdist(x, y, p=p), x, y)
            self.agree(lambda x, p=p: torch.cdist(x, x, p=p), x)

    def test_means_of_complex_numbers(self):
        self.agree(lambda x: torch.view_as_real(torch.view_as_complex(x).mean(0)).sum(-1), torch.randn(4, 3, 2, dtype=F64))

    def test_strides_that_follow_from_sizes(self):
        ours = headrace.module(Strided())
        for n in (3, 4):
            x = torch.randn(5, n)
            torch.testing.assert_close(ours(x), Strided()(x))

    def test_groups_of_raw_channels(self):
        norm = torch.nn.functional.group_norm
        x = torch.randn(2, 4, 5, dtype=F64)
        self.agree(lambda x: norm(x, 1) + norm(x, 2), x)
        self.agree(lambda x, w: norm(x, 2, w, w + 1), x[..., 0], x[0, :, 0])

    def test_rounding_to_quantised_numbers(self):
        x, zero = torch.randn(5, 4) * 9, torch.tensor([0, 1, 2], dtype=torch.int32)
        self.agree(lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 3, -128, 127), x)
        self.agree(lambda x: torch.fake_quantize_per_tensor_affine(x, torch.tensor(0.07), torch.tensor(9, dtype=torch.int32), 0, 255), x)
        self.agree(lambda x: torch.fake_quantize_per_channel_affine(x, torch.tensor([0.05, 0.1, 0.2]), zero, 1, -127, 127), x[:, :3])

    def test_divergences_of_distributions(self):
        def divergence(m, low):
            own = torch.distributions.MultivariateNormal(m, scale_tril=low.tril(-1) + torch.diag_embed(low.diagonal(dim1=1, dim2=2).exp()))
            unit = torch.distributions.MultivariateNormal(torch.zeros(3, dtype=F64), torch.eye(3, dtype=F64))
            return torch.distributions.kl_divergence(own, unit)

        # torch.compile takes it with no backend: PyTorch calls torch._C._infer_size there, with shapes that are tuples in Dynamo.
        self.agree(divergence, torch.randn(4, 3, dtype=F64), torch.randn(4, 3, 3, dtype=F64), compiled=False)

    def test_losses_with_variances(self):
        loss, x = torch.nn.functional.gaussian_nll_loss, torch.randn(4, 3, dtype=F64)
        for variances in (torch.tensor([[0.5], [0], [2], [1e-8]], dtype=F64), torch.rand(4, 3, dtype=F64)):
            self.agree(lambda x, y, v: loss(x, y, v) + loss(x, y, v, full=True, reduction="sum"), x, x + 1, variances)

        class Loss(torch.nn.GaussianNLLLoss):
            pass

        with self.assertRaisesRegex(RuntimeError, "var has negative entry"):
            headrace.module(Loss())(x, x, -torch.ones_like(x))

    def test_resampling_with_filters(self):
        x = torch.randn(2, 3, 9, 12, dtype=F64)
        for mode in ("bilinear", "bicubic"):
            for where in ({"size": (4, 30)}, {"size": (20, 5), "align_corners": True}, {"size": (1, 1), "align_corners": True},
                          {"scale_factor": 0.45}):
                self.agree(lambda x: torch.nn.functional.interpolate(x, mode=mode, antialias=True, **where), x)

    def test_samples_of_volumes(self):
        x, grid = torch.randn(2, 3, 4, 5, 6, dtype=F64), torch.rand(2, 2, 3, 4, 3, dtype=F64) * 3 - 1.5
        for padding in ("zeros", "border", "reflection"):
            for align in (False, True):
                sample = functools.partial(torch.nn.functional.grid_sample, padding_mode=padding, align_corners=align)
                self.agree(sample, x, grid)
                self.agree(lambda x: sample(x, grid, mode="nearest"), x)

    def test_pools_of_volumes_of_any_size(self):
        pool = torch.nn.functional
        ways = (lambda x: pool.max_pool3d(x, 2), lambda x: pool.adaptive_max_pool3d(x, 2),
                lambda x: pool.max_unpool3d(*pool.max_pool3d(x, 2, return_indices=True), 2))
        for function in ways:
            torch._dynamo.reset()
            ours = torch.compile(function, backend="headrace", dynamic=True)
            for sizes in ((4, 6, 2), (6, 4, 8)):
                x = torch.randn(1, 2, *sizes)
                given = [x.clone().requires_grad_() for _ in range(2)]
                for f, g in zip((ours, function), given):
                    f(g).square().sum().backward()
                torch.testing.assert_close(given[0].grad, given[1].grad)


if __name__ == "__main__":
    unittest.main()
