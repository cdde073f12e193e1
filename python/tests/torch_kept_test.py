"""Tensors that modules keep: in attributes that forward binds, by hooks."""

import collections
import copy
import unittest

from python.tests import torch_masks_test as masks
from python.tests.case import headrace
from python.tests.torch_masks_test import F64, numbers

import torch  # noqa: E402
from torch import nn  # noqa: E402



class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4, dtype=F64)

    def forward(self, x):
        y = self.layer(x)
        self.penalty = y.square().mean()
        self.parts = (y.softmax(-1), 3, None)
        return y * self.parts[0]


class Keeps(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.history = Inner(), None

    def forward(self, x):
        self.history, self.positive = [], x > 0
        y = self.inner(x)
        self.history.append(y.tanh())
        return y + self.inner.penalty


class Remembers(nn.Module):
    def __init__(self, h):
        super().__init__()
        self.h = h

    def forward(self, x):
        self.h = (x if self.h is None else x + self.h).mean(0)
        return x * self.h


class Cached(nn.Module):
    """A mask that is made for a length, and made again for another one."""

    mask = None

    def forward(self, x):
        if self.mask is None or self.mask.shape[0] != x.shape[0]:
            self.mask = torch.arange(x.shape[0], dtype=x.dtype)[:, None].cos()
        return x * self.mask


class Kept(masks.Agreement):
    def test_tensors_that_are_kept(self):
        model, kept = nn.Sequential(nn.Linear(4, 5), nn.ReLU()), {}
        model[0].register_forward_hook(lambda part, given, made: kept.update(features=made))
        with self.fails(headrace.UnsupportedError, "a hook of 0 keeps tensors", "hint: return them from forward"):
            headrace.module(model)(torch.ones(2, 4))
        model = nn.Sequential(nn.Linear(4, 5, dtype=F64), nn.ReLU())
        model[0].register_forward_hook(lambda part, given, made: made * 2)
        self.agree(model, (numbers(3, 4),))

    def test_attributes_that_forward_binds(self):
        """As after eager code: with gradients, in parts, and where a whole training step is one program."""
        theirs = Keeps()
        ours = headrace.module(copy.deepcopy(theirs))
        for x in (numbers(3, 4), numbers(5, 4) - 1):
            made = []
            for model in (ours, theirs):
                leaf = x.clone().requires_grad_()
                y = model(leaf)
                loss = y.sum() + model.inner.penalty + model.history[0].square().sum() + model.inner.parts[0].sum()
                made.append((y, model.positive, model.inner.parts[0], torch.autograd.grad(loss, [leaf, *model.parameters()])))
                self.assertEqual(model.inner.parts[1:], (3, None))
            torch.testing.assert_close(*made, rtol=1e-12, atol=1e-12)
        step = headrace.train_step(ours, lambda y: y.sum() + ours.inner.penalty, torch.optim.SGD(ours.parameters(), lr=0.0))
        step(numbers(3, 4))
        theirs(numbers(3, 4))
        torch.testing.assert_close(ours.inner.penalty, theirs.inner.penalty.detach())

    def test_attributes_that_forward_reads_first(self):
        """A state is refused; what is made of sizes alone is made anew."""
        for start in (None, torch.zeros(4, dtype=F64)):
            with self.fails(headrace.UnsupportedError, "forward reads inner.h and binds it to what it computes", 'hint: register_buffer("h"'):
                headrace.module(nn.Sequential(collections.OrderedDict(inner=Remembers(start))))(numbers(3, 4))
        ours = headrace.module(Cached())
        for n in (3, 5, 3):
            torch.testing.assert_close(ours(numbers(n, 4)), Cached()(numbers(n, 4)))


if __name__ == "__main__":
    unittest.main()
