"""Numbers that are read from tensors, as sizes, bounds and factors; what is asserted of them; unique and bincount."""

import sys
import types
import unittest

from python.tests import torch_masks_test as masks
from python.tests.case import headrace
from python.tests.torch_masks_test import Of, numbers

import torch  # noqa: E402
from torch import nn  # noqa: E402

X = numbers(5, 7)


def called(*values):
    return tuple([(X, *map(torch.tensor, v)) if isinstance(v, tuple) else (X, torch.tensor(v)) for v in values])


def up_to_the_longest(x, lengths):
    n = int(lengths.max())
    torch._check(n <= x.shape[1])
    return x[:, :n] * (torch.arange(n) < lengths[:, None])


def three_rows(x, k):
    y = x[k]
    torch._check(y.shape[0] == 3)
    return y.reshape(3, 7) @ x.T


def means_of_groups(x, group):
    names, place, count = torch.unique(group, return_inverse=True, return_counts=True)
    return x.new_zeros(names.shape[0], x.shape[1]).index_add(0, place, x) / count[:, None], names


class Tail(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(7, 2, dtype=masks.F64)

    def forward(self, x):
        return self.layer(x)[int((x > 0).sum()) % 4:]


class Items(masks.Agreement):
    def test_sizes_of_new_tensors(self):
        self.agree(lambda x, n: torch.arange(n.item()) * x.sum(), *called(4, 7, 0))
        self.agree(lambda x, n: torch.cat([x.flatten(), x.new_zeros(n.item())]), *called(4, 1))
        self.agree(lambda x: torch.ones(int((x > 0).sum()), dtype=x.dtype) * x.sum(), (X,), (-X,))

    def test_bounds_of_slices(self):
        self.agree(lambda x, n: x[:n.item()].sum(0), *called(3, 5, 9, -2))
        self.agree(lambda x, n: x[n.item():].square(), *called(3, 5, 9, -2, -9))
        self.agree(lambda x, n, m: x[n.item():m.item():2], *called((0, 4), (3, 1), (-4, -1)))
        self.agree(lambda x, n: x.narrow(0, n.item(), 2), *called(3, 1))
        self.agree(lambda x, n: torch.stack([part.sum() for part in x.split(n.tolist())]), *called([2, 3], [4, 1]))
        self.agree(up_to_the_longest, *called([3, 6, 2, 1, 5], [1, 1, 1, 1, 1]))
        self.agree(Tail(), (X,), (-X,))

    def test_factors(self):
        self.agree(lambda x, n: x * n.item() + n.item() / 2, *called(4, -3))
        self.agree(lambda x: x * (x.norm().item() * 2 + 1) ** 2 - x.mean().item(), (X,))

    def test_what_is_asserted_stops_the_program(self):
        self.agree(three_rows, (X, torch.tensor([True, False, True, True, False])))
        with self.fails(headrace.InvalidError, "Expected cond to be True"):
            headrace.module(Of(three_rows))(X, torch.tensor([True] * 5))
        with self.fails(headrace.InvalidError, "Expected cond to be True"):
            headrace.module(Of(lambda x, n: (torch._check(n.item() > 2), x * n)[1]))(X, torch.tensor(1))
        with self.fails(headrace.InvalidError, "Expected cond to be True"):
            headrace.module(Of(lambda x: (torch._check(x.sum().item() < 100), x * 2)[1]))(X + 1000)

    def test_int_as_a_type(self):
        """Also in code that reads numbers by int(x)."""
        code = sys.modules["typed"] = types.ModuleType("typed")
        code.torch = torch
        exec("def f(x): return x.to(int) + torch.zeros(x.shape, dtype=int) + int(x.dim())", vars(code))
        self.assertTrue(torch.equal(headrace.module(Of(code.f))(X), code.f(X)))
        exec("""
def cut(x, n):
    n = int(n)
    torch._check(n <= x.shape[0])
    count = torch.ones(3, dtype=int) if isinstance(n, int) or True else None
    def more(y): return y.to(int) * int(count.dim())
    return x[:n] * count.sum(), more(x)
""", vars(code))
        before = code.cut.__code__
        self.agree(code.cut, *called(3, 5, 0))
        self.assertIs(code.cut.__code__, before)

    def test_loops_over_them_are_refused(self):
        with self.fails(headrace.UnsupportedError, "control flow that depends on data", "in range(", "hint: x.item()"):
            headrace.module(Of(lambda x, n: sum(x * k for k in range(n.item()))))(X, torch.tensor(3))

    def test_what_occurs(self):
        whole = torch.randint(0, 6, (4, 5), generator=torch.Generator().manual_seed(1))
        self.agree(lambda i: (torch.unique(i), torch.unique(i, return_inverse=True, return_counts=True)), (whole,), (whole * 0,), programs=1)
        self.agree(lambda i: torch.unique(i % 2, dim=0, return_inverse=True, return_counts=True), (whole,), (whole * 0,), programs=1)
        self.agree(lambda i: torch.unique(i % 2, dim=1), (whole,), programs=1)
        self.agree(lambda i: torch.unique_consecutive(i % 2, return_inverse=True, return_counts=True), (whole,), programs=1)
        self.agree(means_of_groups, (X, torch.tensor([7, 3, 7, 7, 2])), (X, torch.tensor([1, 1, 1, 1, 1])))
        self.agree(lambda i: torch.bincount(i.flatten()), (whole,), (whole * 2,), programs=1)
        self.agree(lambda i, x: torch.bincount(i[:, 0], x[:4, 0].detach(), minlength=9), (whole, X), programs=1)
        with self.fails(headrace.InvalidError, "non-negative"):
            headrace.module(Of(torch.bincount))(torch.tensor([1, -1]))


if __name__ == "__main__":
    unittest.main()
