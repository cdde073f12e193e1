"""Modules in which data decide how many elements there are: masks as indices, nonzero, repeat_interleave."""

import unittest

from python.tests.case import Case, headrace

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch.utils import _pytree as pytree  # noqa: E402

F64 = torch.float64


def numbers(*shape):
    return torch.randn(*shape, dtype=F64, generator=torch.Generator().manual_seed(sum(shape)))


class Of(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


class Experts(nn.Module):
    """Each row goes through the layer that its gate chooses."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(4, 3, dtype=F64)
        self.layers = nn.ModuleList(nn.Linear(4, 4, dtype=F64) for _ in range(3))

    def forward(self, x):
        weights = self.gate(x).softmax(-1)
        chosen, out = weights.argmax(-1), torch.zeros_like(x)
        for k, layer in enumerate(self.layers):
            rows = torch.where(chosen == k)[0]
            out = out.index_add(0, rows, layer(x[rows]) * weights[rows, k, None])
        return out


class Agreement(Case):
    def agree(self, module, *calls, programs=2):
        """Results and gradients of each call as eager code has them, by one program."""
        headrace.reset_counters()
        theirs = module if isinstance(module, nn.Module) else Of(module)
        ours = headrace.module(theirs)
        for args in calls:
            made = []
            for f in (ours, theirs):
                leaves = [a.clone().requires_grad_(a.is_floating_point()) for a in args]
                results = pytree.tree_leaves(f(*leaves))
                floats = [a for a in [*leaves, *f.parameters()] if a.requires_grad]
                smooth = [r for r in results if r.requires_grad]
                made.append((results, torch.autograd.grad(sum(r.square().sum() for r in smooth), floats, allow_unused=True) if smooth else ()))
            torch.testing.assert_close(made[0], made[1], rtol=1e-9, atol=1e-12, equal_nan=True)
        self.assertEqual(headrace.counters()["torch.module"], {"traces": 1, "programs": programs})


class Masks(Agreement):
    def test_reads(self):
        x, w, rows = numbers(5, 7), numbers(5, 7) + 1, torch.tensor([True, False, True, True, False])
        self.agree(lambda x: x[x > 0].mean(), (x,), (numbers(8, 7),), (-x.abs(),))
        self.agree(lambda x, w: (x[x > 0.5] * w[x > 0.5]).sum(), (x, w))
        self.agree(lambda x, k: (x[k], x[k].T @ x[k]), (x, rows), (x, ~rows), (x, rows & False))
        self.agree(lambda x, k: x[:, k].cumsum(1), (numbers(3, 5), rows))
        self.agree(lambda x, k: x[:, k].sum(1), (numbers(2, 3, 4), numbers(3, 4) > 0))
        self.agree(lambda x, k, j: x[j, :, k], (numbers(3, 4, 5), rows, torch.tensor([1, 0, 2])))
        self.agree(lambda x: torch.cat([x[x > 0], x[x <= 0]]).sort()[0], (x,))
        self.agree(lambda x: torch.masked_select(x, x[:1] > 0).std(), (x,))

    def test_writes(self):
        def doubled(x):
            y = x * 1.0
            y[y > 0] *= 2
            return y

        def others(x, w):
            y, k = x.clone(), x > 0
            y[k] = w[k] + 1
            return y

        self.agree(doubled, (numbers(5, 7),))
        self.agree(others, (numbers(5, 7), numbers(5, 7)))

    def test_places(self):
        self.agree(lambda x: x[torch.where(x > 0)].sum() + x.flatten()[torch.nonzero(x.flatten() > 0)[:, 0]].square().sum(), (numbers(5, 7),))
        self.agree(lambda x, n: x.repeat_interleave(n, 0).square().sum(), (numbers(5, 7), torch.tensor([1, 0, 2, 3, 1])),
                   (numbers(5, 7), torch.tensor([0, 0, 0, 0, 0])))
        self.agree(lambda x, n: torch.repeat_interleave(x, n, 1, output_size=7), (numbers(3, 5), torch.tensor([1, 0, 2, 3, 1], dtype=torch.int32)))

        with self.fails(headrace.InvalidError, "negative"):
            headrace.module(Of(lambda x, n: x.repeat_interleave(n, 0)))(numbers(3, 2), torch.tensor([2, -1, 2]))

    def test_losses_of_what_is_labelled(self):
        labels = torch.tensor([0, 1, -1, 2, 3, -1, 0, 1, 2])
        self.agree(lambda x, t: F.cross_entropy(x[t >= 0], t[t >= 0]), (numbers(9, 4), labels), (numbers(9, 4), labels.flip(0) - 1))
        self.agree(Experts(), (numbers(6, 4),), (numbers(9, 4),))

    def test_masks_that_are_made_twice(self):
        x, t = numbers(8, 3), numbers(8, 3).sign()
        self.agree(lambda x, t: F.binary_cross_entropy_with_logits(x[t > 0], t[t > 0.0].detach() * 0.5), (x, t), (x, -t))
        with self.fails(headrace.InvalidError, "Target size"):
            headrace.module(Of(lambda x, t: F.binary_cross_entropy_with_logits(x[t > 0], t[t >= -2])))(x, t)

    def test_writes_at_masks_and_indices(self):
        def put(x, rows, columns, values):
            y = x * 1.0
            y[rows, columns[rows]] = values[rows]
            y[rows, 2] += 1
            return y

        rows, columns = torch.tensor([True, False, True, True, False]), torch.tensor([0, 3, 1, 2, 2])
        self.agree(put, (numbers(5, 4), rows, columns, numbers(5)), (numbers(5, 4), ~rows, columns, numbers(5)))

    def test_several_masks(self):
        def put(x, rows, columns):
            y = x * 1.0
            y[rows, columns] += 7
            y[rows, columns] *= x[rows, columns]
            return y

        rows, columns = torch.tensor([True, False, True, False, False]), torch.tensor([False, True, False, False, True, False, False])
        self.agree(put, (numbers(5, 7), rows, columns), (numbers(5, 7), rows.flip(0), columns.flip(0)))
        self.agree(lambda x, rows, columns: x[rows, :, columns].square(), (numbers(5, 3, 7), rows, columns))
        with self.fails(headrace.InvalidError, "shape mismatch"):
            headrace.module(Of(put))(numbers(5, 7), ~rows, columns)

    def test_second_derivatives(self):
        ours = headrace.module(Of(lambda x, w: (torch.sin(x[x > 0]) * w[x > 0]).sum()))
        leaves = [numbers(4, 3).requires_grad_(), numbers(4, 3).requires_grad_()]
        self.assertTrue(torch.autograd.gradcheck(ours, leaves) and torch.autograd.gradgradcheck(ours, leaves))

    def test_sizes_that_must_be_equal(self):
        ours = headrace.module(Of(lambda x, k, y: x[k] + y))
        x, y, rows = numbers(5, 7), numbers(3, 7), torch.tensor([True, False, True, True, False])
        torch.testing.assert_close(ours(x, rows, y), x[rows] + y)
        with self.fails(headrace.InvalidError, "must match the size"):
            ours(x, ~rows, y)
        ours = headrace.module(Of(lambda x, k, m: x[k] * x[m]))
        torch.testing.assert_close(ours(x, rows, rows.flip(0)), x[rows] * x[rows.flip(0)])
        with self.fails(headrace.InvalidError, "must match the size"):
            ours(x, rows, ~rows)

    def test_what_only_data_tell(self):
        x = numbers(5)
        with self.fails(headrace.UnsupportedError, "a result that is a number of chosen elements", "hint: mask.sum()"):
            headrace.module(Of(lambda x: (x, x[x > 0].shape[0])))(x)
        with self.fails(headrace.UnsupportedError, "data-dependent"):
            headrace.module(Of(lambda x: x[x > 0].sum() if x[x > 0].numel() > 3 else x))(x)


if __name__ == "__main__":
    unittest.main()
