"""headrace.module against eager torch in how users call networks beside layers: collected arguments, masks, sorting, sizes that data decide,
recurrent projections."""

import copy
import functools
import unittest

from python.tests.case import headrace

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils import _pytree as pytree  # noqa: E402

import headrace.torch  # noqa: E402, F401: registers the backend, as the wheel's entry point does
from python.tests.torch_module_test import TorchCase  # noqa: E402


class Collected(nn.Module):
    """Arguments that `forward` has no names for."""

    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList(nn.Linear(3, 2) for _ in range(2))

    def forward(self, first, *rest, scale=1.0, **named):
        made = [part(x) * scale for part, x in zip(self.parts, (first, *rest))]
        return sum(made), {name: value.square() for name, value in named.items()}


class Ranked(nn.Module):
    """Orders along the length and along the batch."""

    def forward(self, x):
        values, where = x.sort(dim=1, descending=True, stable=True)
        top = x.topk(x.shape[1] // 2 + 1, dim=1)
        return values.cumsum(1), where, *top, x.argsort(0), *x.median(dim=1), *x.nanmedian(dim=0), *x.kthvalue(2, dim=1)


class Masked(nn.Module):
    """Writes at masks, of one value for all their places."""

    def forward(self, x):
        a, b, c = x.clone(), x.clone(), x.clone()
        a[a > 0.5] = 1
        b[b[:, 0] > 0] = x[0]
        c[:, x[0] > 0] = x.sum()
        return a, b, c, x.index_put((x < 0,), x.mean(), accumulate=True)


class Quantized(nn.Module):
    """The nearest rows of a book, with gradients that pass the choice by."""

    def __init__(self):
        super().__init__()
        self.encode, self.book = nn.Conv1d(2, 4, 3, padding=1), nn.Embedding(8, 4)

    def forward(self, x):
        z = self.encode(x).transpose(1, 2)
        distances = torch.cdist(z.flatten(0, 1), self.book.weight)
        chosen = self.book(distances.argmin(1)).view_as(z)
        return z + (chosen - z).detach(), F.mse_loss(chosen.detach(), z), distances, torch.cdist(z, z + 1), torch.cdist(z[:1], z)


class Projected(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.lstm = nn.LSTM(3, 5, batch_first=True, **options)

    def forward(self, x):
        y, (h, c) = self.lstm(x)
        return y, h, c


class Whole(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


class Bags(nn.Module):
    """Sums, means and maxima of rows, some bags of none; padding, weights."""

    def __init__(self):
        super().__init__()
        self.means, self.sums, self.maxima = (nn.EmbeddingBag(9, 3, mode=mode, padding_idx=padding)
                                              for mode, padding in (("mean", 3), ("sum", None), ("max", 2)))

    def forward(self, rows, flat, offsets, weights):
        ends = torch.cat([offsets, torch.tensor([flat.shape[0]])])
        return (self.means(rows), self.means(flat, offsets), self.sums(flat, offsets, per_sample_weights=weights), self.maxima(flat, offsets),
                F.embedding_bag(flat, self.sums.weight, ends, include_last_offset=True))


class Autoencoder(nn.Module):
    """With torch.distributions, which draw from torch's generator."""

    def __init__(self):
        super().__init__()
        self.encode, self.decode = nn.Linear(4, 6), nn.Linear(3, 4)

    def forward(self, x):
        mean, raw = self.encode(x).chunk(2, -1)
        q, p = torch.distributions.Normal(mean, F.softplus(raw)), torch.distributions.Normal(torch.zeros_like(mean), 1.0)
        z = q.rsample() if self.training else q.mean
        noise = torch.empty_like(z).uniform_(-0.1, 0.1) + torch.empty_like(z).exponential_(2.0)
        return self.decode(z + noise), torch.distributions.kl_divergence(q, p).sum(-1), torch.distributions.Categorical(logits=mean).entropy()


class Warped(nn.Module):
    def forward(self, x, grid):
        return [F.grid_sample(x, grid, mode=mode, padding_mode=padding, align_corners=corners)
                for mode, padding, corners in (("bilinear", "zeros", False), ("bilinear", "border", True), ("nearest", "reflection", False))]


class Splines(nn.Module):
    """Between which knots numbers are."""

    def forward(self, knots, x):
        knots = knots.sort(-1).values
        k = torch.searchsorted(knots.detach(), x.detach()).clamp(1, knots.shape[-1] - 1)
        low, high = knots.gather(-1, k - 1), knots.gather(-1, k)
        return (x - low) / (high - low + 0.1), k, torch.bucketize(x.detach(), knots[0].detach(), right=True)


class Capitals(nn.Module):
    """Arguments as papers call them."""

    def forward(self, Q, K, pair, V=None):
        return Q @ K.mT @ (pair["V"] if V is None else V) + pair["w"][0]


class MaskedRows(nn.Module):
    """Attention with rows that may look at nothing: padding."""

    def forward(self, q, k, v, mask):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


class Causal(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True), 2, enable_nested_tensor=False)
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8, 0.0, batch_first=True), 1)

    def forward(self, x, padding):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        memory = self.encoder(x, mask=mask, src_key_padding_mask=padding)
        return memory, self.decoder(x, memory, tgt_mask=mask)


class Depthwise(nn.Module):
    """Filters of each image's own, and a picture of one and a half times its size: numbers of groups and sizes that programs have
    only as numbers."""

    def forward(self, x, w):
        y = F.conv2d(x.reshape(1, -1, *x.shape[2:]), w.reshape(-1, 1, 3, 3), groups=x.shape[0] * x.shape[1], padding=1)
        return y.reshape(x.shape), F.interpolate(x, scale_factor=1.5, mode="bilinear"), F.avg_pool2d(x, x.shape[2:])


class UserCase(TorchCase):
    def pair(self, make, compiled=headrace.module):
        """The network, eager and compiled; a network with parametrizations can't be copied, so both are made."""
        made = []
        for _ in range(2):
            torch.manual_seed(0)
            made.append(make())
        return made[0], made[1], compiled(made[1])

    def agree(self, eager, model, ours, args, named=None):
        given = [copy.deepcopy((args, named or {})) for _ in range(2)]
        expected, got = eager(*given[0][0], **given[0][1]), ours(*given[1][0], **given[1][1])
        expected, got = pytree.tree_leaves(expected), pytree.tree_leaves(got)
        for a, b in zip(got, expected, strict=True):
            self.same(a, b)
        for m, result in ((model, got), (eager, expected)):
            m.zero_grad()
            smooth = [r.square().mean() for r in result if r.requires_grad]
            if smooth:
                sum(smooth).backward()
        self.same_gradients(model, eager)
        for a, b in zip(model.buffers(), eager.buffers(), strict=True):
            self.same(a, b)
        for a, b in zip(*map(pytree.tree_leaves, given)):
            self.same(b.grad, a.grad)


def leaf(*shape):
    return torch.randn(*shape).requires_grad_()


class Calls(UserCase):
    def test_collected_arguments_have_open_sizes(self):
        eager, model, ours = self.pair(Collected)
        for n in (2, 5, 1):
            self.agree(eager, ours, ours, (leaf(n, 3), leaf(n, 3)), {"b": leaf(n, 4), "a": leaf(n, 2)})
        self.assertEqual(headrace.counters()["torch.module"], {"traces": 1, "programs": 2, "sizes admitted": 1})
        for n in (2, 5):  # another number of them is another trace
            self.agree(eager, ours, ours, (leaf(n, 3),), {"scale": torch.tensor(2.0)})
        self.assertEqual(headrace.counters()["torch.module"], {"traces": 2, "programs": 4, "sizes admitted": 1})

    def test_arguments_with_capitals(self):
        eager, model, ours = self.pair(Capitals)
        for n, m in ((2, 5), (3, 4), (1, 2)):
            self.agree(eager, ours, ours, (leaf(n, 3), leaf(m, 3), {"V": leaf(m, 4), "w": [leaf(4)]}))
            self.agree(eager, ours, ours, (leaf(n, 3), leaf(m, 3), {"V": leaf(m, 4), "w": [leaf(4)]}), {"V": leaf(m, 4)})
        skipping = headrace.module(Capitals(), inputs_to_skip="Q")
        q = leaf(2, 3)
        skipping(q, leaf(4, 3), {"V": leaf(4, 5), "w": [leaf(5)]}).sum().backward()
        self.assertIsNone(q.grad)

    def test_masked_rows(self):
        eager, model, ours = self.pair(MaskedRows)
        nothing = torch.tensor([[False, False, False], [True, False, True]])
        for mask in (nothing, torch.zeros(2, 3).masked_fill(~nothing, -torch.inf)):
            self.agree(eager, ours, ours, (leaf(4, 2, 5), leaf(4, 3, 5), leaf(4, 3, 5), mask))
            self.assertTrue(ours(leaf(4, 2, 5), leaf(4, 3, 5), leaf(4, 3, 5), mask).isfinite().all())

    def test_causal_masks(self):
        eager, model, ours = self.pair(Causal)
        for n, t in ((2, 5), (3, 4)):
            self.agree(eager, ours, ours, (leaf(n, t, 4), torch.arange(t) >= torch.full((n, 1), t - 1)))

    def test_large_identities(self):
        class Loops(nn.Module):
            def forward(self, x):
                return x + torch.eye(x.shape[0]) + 2 * torch.eye(300, x.shape[1])

        eager, model, ours = self.pair(Loops)
        self.agree(eager, ours, ours, (leaf(300, 300),))

    def test_sizes_that_programs_have_only_as_numbers(self):
        eager, model, ours = self.pair(Depthwise)
        for shape in ((2, 3, 4, 6), (4, 3, 4, 6), (1, 3, 4, 6), (2, 3, 5, 6), (2, 3, 4, 6)):
            self.agree(eager, ours, ours, (leaf(*shape), leaf(*shape[:2], 9)))

    def test_numbers_after_tensors(self):
        class Scaled(nn.Module):  # without parameters: the call's tensors are all of the program's arguments
            def forward(self, x, power: int, scale=1.0, back=False):
                return (-x if back else x) ** power * scale

        model = headrace.module(Scaled())
        for takes in (True, False):
            x = torch.rand(2, 3, requires_grad=takes)
            for args, named in (((2,), {}), ((3, 2.5), {}), ((2, 0.5, True), {}), ((2,), {"scale": 1.5}), ((2,), {"back": True})):
                torch.testing.assert_close(model(x, *args, **named), Scaled()(x, *args, **named))

    def test_writes_at_masks(self):
        ours = headrace.module(Masked())
        for n in (2, 3, 5, 1):
            self.agree(Masked(), ours, ours, (leaf(n, 4),), {})

        class Several(nn.Module):
            def forward(self, x):
                y = x.clone()
                y[x > 0] = x[:2]
                return y

        x = torch.tensor([1.0, -1.0, 2.0])
        ours = headrace.module(Several())
        self.same(ours(x), Several()(x))
        with self.fails(headrace.InvalidError, "shape mismatch"):
            ours(-x)

    def test_operators_that_programs_do_not_know(self):
        class Quantile(nn.Module):
            def forward(self, x):
                y = x.exp()
                return torch.special.zeta(y, 2.0) + y

        with self.fails(headrace.UnsupportedError, "special_zeta", "torch_user_test.py", "in forward: return torch.special.zeta(y, 2.0) + y",
                        "hint: torch.compile(model, backend=\"headrace\") leaves to PyTorch"):
            headrace.module(Quantile())(torch.rand(3))
        self.same(torch.compile(Quantile(), backend="headrace")(torch.ones(3)), Quantile()(torch.ones(3)))

    def test_sizes_that_data_decide(self):
        class Each(nn.Module):
            def forward(self, x, n):
                return x * torch.arange(n.item()).sum()

        x = torch.randn(3)
        for n in (2, 5):
            self.same(headrace.module(Each())(x, torch.tensor(n)), Each()(x, torch.tensor(n)))

    def test_orders_along_open_sizes(self):
        eager, model, ours = self.pair(Ranked)
        for batch, length in ((3, 7), (4, 10), (2, 5)):
            self.agree(eager, ours, ours, (leaf(batch, length, 2),))
        self.assertEqual(headrace.counters()["torch.module"], {"traces": 1, "programs": 2})

    def test_distances(self):
        eager, model, ours = self.pair(Quantized)
        for n in (3, 4, 8):  # beyond 25 rows torch computes another way
            self.agree(eager, ours, ours, (leaf(n, 2, 6),))
            self.assertEqual(headrace.counters()["torch.module"], {"traces": 1 + n // 8, "programs": 2 + n // 8 * 2})
        x = torch.randn(3, 4, dtype=torch.float64)
        for f in (lambda x: torch.cdist(x, x), lambda x: torch.cdist(x, x[:, None] * 2)):
            given = [x.clone().requires_grad_() for _ in range(2)]
            for g, run in zip(given, (f, headrace.module(Whole(f)))):
                (run(g) ** 2 + run(g)).sum().backward()  # of a row with itself: 0, without a gradient
            self.same(given[1].grad, given[0].grad)

    def test_bags(self):
        eager, model, ours = self.pair(Bags)
        for n in (3, 5, 2):
            offsets = torch.tensor([0, 0, n, 2 * n, 2 * n, 3 * n + 1])
            self.agree(eager, ours, ours, (torch.randint(0, 9, (n, 4)), torch.randint(0, 9, (3 * n + 1,)), offsets, leaf(3 * n + 1)))
        self.assertEqual(headrace.counters()["torch.module"]["programs"], 2)

    def test_distributions(self):
        eager, model, ours = self.pair(Autoencoder)
        for n in (3, 8, 1):
            made = []
            for m in (ours, eager):
                torch.manual_seed(n)
                made.append(m(torch.ones(n, 4)))
                m.zero_grad()
                sum(r.sum() for r in made[-1]).backward()
            for a, b in zip(*made, strict=True):
                self.same(a, b)
            self.same_gradients(ours, eager)
        self.assertEqual(headrace.counters()["torch.module"], {"traces": 1, "programs": 2, "sizes admitted": 1})
        with self.fails(ValueError, "constraint"):  # eager code looks at its parameters as ever
            torch.distributions.Normal(torch.zeros(2), -torch.ones(2))

    def test_warping(self):
        eager, model, ours = self.pair(Warped)
        for n in (2, 3):
            self.agree(eager, ours, ours, (leaf(n, 2, 4, 5), (torch.rand(n, 3, 2, 2) * 2.4 - 1.2).requires_grad_()))

    def test_searches_along_open_sizes(self):
        eager, model, ours = self.pair(Splines)
        for batch, length in ((3, 10), (4, 33), (2, 2), (5, 64)):
            self.agree(eager, ours, ours, (leaf(batch, length), leaf(batch, 2 * length)))
        self.assertLessEqual(headrace.counters()["torch.module"]["programs"], 4)  # the length opens when another one comes

    def test_projections(self):
        for options in ({"proj_size": 2}, {"proj_size": 3, "num_layers": 2, "bidirectional": True, "bias": False}):
            headrace.reset_counters()
            eager, model, ours = self.pair(lambda: Projected(**options))
            for batch, length in ((2, 6), (4, 3)):
                self.agree(eager, ours, ours, (leaf(batch, length, 3),))
            self.assertEqual(headrace.counters()["torch.module"], {"traces": 1, "programs": 2})


    def test_arguments_that_have_gradients_already(self):
        x = leaf(3, 4)
        for n in range(2):  # one is added to the other
            eager, model, ours = self.pair(lambda: nn.Linear(4, 2))
            twin = x.detach().clone().requires_grad_()
            twin.grad = None if x.grad is None else x.grad.clone()
            eager(twin).square().sum().backward()
            ours(x).square().sum().backward()
            self.same(x.grad, twin.grad)


    def test_sizes_that_only_results_have(self):
        """In the forward graph the length of x, in the backward graph of a part of x all of x."""
        def spread(x, y):
            return torch.ones(x.shape[0], 2) * y.sum(), torch.arange(x.shape[0]) * 2, y[0] * y[1]

        for compiled in (headrace.module, functools.partial(torch.compile, backend="headrace", dynamic=True)):
            torch._dynamo.reset()
            ours = compiled(Whole(spread))
            for n in (3, 5):
                given = [(torch.randn(n), leaf(n, 2))]
                given.append(copy.deepcopy(given[0]))
                for f, args in zip((ours, spread), given):
                    made = f(*args)
                    (made[0].square().sum() + made[2].sum()).backward()
                    given.append(made)
                for a, b in zip(given[2], given[3], strict=True):
                    self.same(a, b)
                self.same(given[0][1].grad, given[1][1].grad)
        self.assertNotIn("torch.fallback", headrace.counters())


if __name__ == "__main__":
    unittest.main()
