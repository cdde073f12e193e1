"""Batches and lengths of 1 and of others, in every order: what is compiled for them, by the counters, and that it is right. PyTorch
takes sizes of 0 and 1 for constants; programs don't have to."""

import copy
import functools
import itertools
import unittest

from python.tests.case import headrace

import torch  # noqa: E402
from torch import nn  # noqa: E402

import headrace.torch  # noqa: E402, F401: registers the backend, as the wheel's entry point does
from python.tests.torch_module_test import TorchCase  # noqa: E402


class Mixed(nn.Module):
    """Views, a causal mask, means over the length, a head: what branches inside of PyTorch on sizes of 1."""

    def __init__(self):
        super().__init__()
        self.words, self.qkv, self.head = nn.Embedding(11, 6), nn.Linear(6, 18), nn.Linear(6, 3)

    def forward(self, ids):
        b, t = ids.shape
        x = self.words(ids)
        q, k, v = (p.view(b, t, 2, 3).transpose(1, 2) for p in self.qkv(x).split(6, dim=2))
        x = x + nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, 6)
        return self.head(x / x.square().mean((1, 2), keepdim=True).sqrt()), x.flatten(0, 1).softmax(0).sum(0)


class Branching(nn.Module):
    """Another function for a batch of 1."""

    def forward(self, x):
        return x.exp() if x.shape[0] == 1 else x * 2


class Dropping(nn.Module):
    """Another rank for a batch of 1."""

    def forward(self, x):
        return x.sin().squeeze(0)


class Repeating(nn.Module):
    """Repeats its positions where the batch isn't 1, which is what it does for 1, too."""

    def forward(self, x):
        positions = torch.arange(x.shape[1])[None]
        if x.shape[0] != 1:
            positions = positions.expand(x.shape[0], -1)[:, :]
        return x * positions.cumsum(1)


class Returning(nn.Module):
    """Its second result is its argument only for a batch of 1."""

    def forward(self, x, y):
        return x * y, y if x.shape[0] == 1 else y.expand(x.shape[0], -1)


class Broadcasting(nn.Module):
    def forward(self, x, y):
        return (x * y).sum(-1)


def ids(batch, length):
    return (torch.randint(0, 11, (batch, length)),)


class Base(TorchCase):
    def setUp(self):
        super().setUp()
        torch._dynamo.reset()

    def compare(self, eager, model, ours, args):
        expected, got = eager(*args), ours(*args)
        expected, got = (r if isinstance(r, tuple) else (r,) for r in (expected, got))
        for a, b in zip(got, expected, strict=True):
            self.same(a, b)
        if expected[0].requires_grad:
            for m, results in ((eager, expected), (model, got)):
                m.zero_grad()
                sum(r.square().mean() for r in results).backward()
            self.same_gradients(model, eager)

    def run_orders(self, compiled, group, counts, orders):
        """Programs, forward and backward, after each order of calls."""
        for order in orders:
            with self.subTest(order=order):
                torch._dynamo.reset()
                headrace.reset_counters()
                torch.manual_seed(0)
                eager = Mixed()
                model = copy.deepcopy(eager)
                ours = compiled(model)
                for batch, length in order:
                    self.compare(eager, model, ours, ids(batch, length))
                self.assertNotIn("torch.fallback", headrace.counters())
                self.assertEqual(headrace.counters()[group]["programs"], counts(order))


class Modules(Base):
    def test_one_program_for_all_in_every_order(self):
        orders = [*itertools.permutations(((1, 16), (3, 40), (8, 16))), ((1, 1), (3, 16), (1, 40), (8, 1)), ((3, 1), (1, 40)), ((8, 40), (1, 1))]
        self.run_orders(headrace.module, "torch.module", lambda order: 2, orders)

    def test_a_size_once_admitted_is_known(self):
        ours = headrace.module(Mixed())
        for batch in (3, 1, 1, 8, 1):
            ours(*ids(batch, 16))
        self.assertEqual(headrace.counters()["torch.module"], {"traces": 1, "programs": 2, "sizes admitted": 1})

    def test_what_is_another_program_for_1(self):
        for kind in (Branching, Dropping):
            for order in itertools.permutations((1, 3, 8)):
                with self.subTest(kind=kind.__name__, order=order):
                    headrace.reset_counters()
                    ours = headrace.module(kind())
                    for n in order:
                        self.same(ours(x := torch.randn(n, 4)), kind()(x))
                    self.assertEqual(headrace.counters()["torch.module"], {"traces": 2, "programs": 2})

    def test_what_is_the_same_in_other_words_for_1(self):
        for compiled, group in ((headrace.module, "torch.module"), (functools.partial(torch.compile, backend="headrace", dynamic=True), "torch.compile")):
            for order in itertools.permutations((1, 3, 8)):
                with self.subTest(group=group, order=order):
                    torch._dynamo.reset()
                    headrace.reset_counters()
                    ours = compiled(Repeating())
                    for n in order:
                        self.same(ours(x := torch.randn(n, 5)), Repeating()(x))
                    self.assertEqual(headrace.counters()[group]["programs"], 2 if group == "torch.compile" and order[0] == 1 else 1)

    def test_an_argument_that_is_a_result_for_1(self):
        ours = headrace.module(Returning())
        for n in (3, 1, 8):
            x, y = torch.randn(n, 4), torch.randn(1, 4)
            for a, b in zip(ours(x, y), Returning()(x, y)):
                self.same(a, b)
            self.assertEqual(ours(x, y)[1] is y, n == 1)

    def test_broadcast_sizes(self):
        ours = headrace.module(Broadcasting())
        for a, b in ((3, 3), (1, 1), (1, 3), (3, 1), (8, 8), (1, 8), (8, 1), (1, 1)):
            x, y = torch.randn(a, 5, 4), torch.randn(b, 5, 4)
            self.same(ours(x, y), Broadcasting()(x, y))
        self.assertEqual(headrace.counters()["torch.module"]["programs"], 3)
        with self.fails(RuntimeError, "x is float32[3, 5, 4], y is float32[2, 5, 4]", "must match the size of tensor b (2)"):
            ours(torch.randn(3, 5, 4), torch.randn(2, 5, 4))

    def test_conditions_hold_for_1_too(self):
        class Sized(nn.Module):
            def forward(self, x, y):
                return torch.cat([x, y], 1) if y.shape[0] > 4 else torch.cat([y, x], 1)

        ours = headrace.module(Sized())
        for a, n in ((1, 1), (3, 6), (1, 6), (8, 2), (1, 2), (5, 5)):
            x, y = torch.randn(n, a), torch.randn(n, 3)
            self.same(ours(x, y), Sized()(x, y))

    def test_batch_norm_of_one_value_is_refused_as_in_eager(self):
        ours = headrace.module(nn.BatchNorm1d(3))
        ours(torch.randn(4, 3))
        with self.fails(ValueError, "Expected more than 1 value per channel"):
            ours(torch.randn(1, 3))

    def test_a_state_beside_the_batch(self):
        """The first size of an LSTM's state is its number of layers."""
        torch.manual_seed(0)
        eager = nn.LSTM(3, 4)
        ours = headrace.module(copy.deepcopy(eager))
        for t, b in ((5, 1), (5, 3), (1, 1), (7, 8), (1, 2)):
            x, h, c = torch.randn(t, b, 3), torch.randn(1, b, 4), torch.randn(1, b, 4)
            (y, (h1, c1)), (z, (h2, c2)) = ours(x, (h, c)), eager(x, (h, c))
            for p, q in ((y, z), (h1, h2), (c1, c2)):
                self.same(p, q)

    def test_recurrent_layers(self):
        """Their length is no constant of a trace."""
        for make in (lambda: nn.LSTM(3, 4, 2, bidirectional=True, batch_first=True), lambda: nn.GRU(3, 4),
                     lambda: nn.RNN(3, 4, nonlinearity="relu", batch_first=True)):
            torch.manual_seed(0)
            headrace.reset_counters()
            eager = make()
            model = copy.deepcopy(eager)
            ours = headrace.module(model)
            for sizes in ((5, 4), (1, 4), (7, 1), (1, 1), (8, 9)):
                x = torch.randn(*sizes, 3)
                got, expected = (torch.utils._pytree.tree_leaves(m(x)) for m in (ours, eager))
                for m, results in ((eager, expected), (model, got)):
                    m.zero_grad()
                    sum(r.square().mean() for r in results).backward()
                for a, b in zip(got, expected, strict=True):
                    self.same(a, b)
                self.same_gradients(model, eager)
            self.assertEqual(headrace.counters()["torch.module"]["programs"], 2)


class Compiled(Base):
    def test_sizes_that_were_equal_once(self):
        """To Dynamo equal sizes of a first call are one, and its graph for them is none for others."""
        ours = torch.compile(Broadcasting(), backend="headrace", dynamic=True)
        for a, b in ((3, 3), (8, 3), (5, 5), (4, 2)):
            x, y = torch.randn(a, b, 4), torch.randn(a, b, 4)
            self.same(ours(x, y), Broadcasting()(x, y))
        self.assertEqual(headrace.counters()["torch.compile"]["programs"], 2)

    def test_dynamic(self):
        """The graph for any size serves 1; one for 1 that comes first is Dynamo's own."""
        self.run_orders(lambda m: torch.compile(m, backend="headrace", dynamic=True), "torch.compile",
                        lambda order: 2 if 1 not in order[0] else 4,
                        (((3, 16), (1, 16), (8, 40), (1, 40), (3, 1)), ((1, 16), (3, 40), (1, 40), (8, 16))))

    def test_plain(self):
        """The first sizes are constants of Dynamo's first graph; the second call's graph is for any."""
        self.run_orders(lambda m: torch.compile(m, backend="headrace"), "torch.compile", lambda order: 4,
                        (((3, 16), (8, 40), (1, 16), (1, 40), (3, 1)), ((1, 16), (3, 40), (1, 40), (8, 16))))

    def test_what_is_another_program_for_1(self):
        for kind in (Branching, Dropping):
            with self.subTest(kind=kind.__name__):
                torch._dynamo.reset()
                headrace.reset_counters()
                ours = torch.compile(kind(), backend="headrace", dynamic=True)
                for n in (3, 1, 8, 1):
                    self.same(ours(x := torch.randn(n, 4)), kind()(x))
                self.assertEqual(headrace.counters()["torch.compile"]["programs"], 2)

    def test_other_surroundings_are_other_programs(self):
        """Gradients, inference, aliasing and layouts."""
        def f(x, y):
            return (x * y + y).sum(0)

        ours = torch.compile(f, backend="headrace", dynamic=True)
        self.enterContext(torch._dynamo.config.patch(recompile_limit=64))
        for n in (3, 8, 1):
            x, y = torch.randn(n, 4), torch.randn(n, 4)
            self.same(ours(x, y), f(x, y))
            self.same(ours(x, x), f(x, x))
            self.same(ours(x.t().contiguous().t(), y), f(x, y))
            a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
            ours(a, y).sum().backward()
            f(b, y).sum().backward()
            self.same(a.grad, b.grad)
            with torch.no_grad():
                self.assertFalse(ours(a, y).requires_grad)

    def test_mutation(self):
        def f(x):
            x.mul_(2)
            return x + 1, x.view(-1)

        ours = torch.compile(f, backend="headrace", dynamic=True)
        for n in (3, 1, 8, 1):
            a = torch.randn(n, 4)
            b = a.clone()
            got, expected = ours(a), f(b)
            self.same(a, b)
            for p, q in zip(got, expected):
                self.same(p, q)
            got[1][0] = 7.0
            self.assertEqual(float(a[0, 0]), 7.0)


if __name__ == "__main__":
    unittest.main()
