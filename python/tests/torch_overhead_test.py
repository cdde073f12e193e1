"""What a call costs beside the arithmetic: a module that adds 8 numbers; and what the short way must still notice."""

import time
import unittest

from python.tests.case import Case, headrace, np

import torch  # noqa: E402
from torch import nn  # noqa: E402

BATCHES, CALLS = 5, 2_000


class Add(nn.Module):
    def forward(self, x, y):
        return x + y


class Empty(torch.autograd.Function):
    """The least that a function of autograd written in Python costs."""

    @staticmethod
    def forward(ctx, x, y):
        return torch.empty(8)

    @staticmethod
    def backward(ctx, g):
        return g, g


def microseconds(**functions):
    """The minimum of the batches; they take turns, so that what else runs on the machine is shared."""
    best = dict.fromkeys(functions, float("inf"))
    for _ in range(BATCHES):
        for name, f in functions.items():
            start = time.perf_counter()
            for _ in range(CALLS):
                f()
            best[name] = min(best[name], (time.perf_counter() - start) / CALLS * 1e6)
    return best


class Overhead(Case):
    def test_calls(self):
        ours, eager = headrace.module(Add()), Add()
        x, y = torch.randn(8), torch.randn(8)
        a, b = (torch.randn(8, requires_grad=True) for _ in range(2))
        added = headrace.Sdfg.parse("sdfg add(x: f32[8], y: f32[8], z: f32[8]) { map i in 0:8 { z[i] = x[i] + y[i] } }").compile()
        u, v = np.ones(8, np.float32), np.ones(8, np.float32)
        self.close(added(u, v), u + v)
        with torch.no_grad():
            torch.testing.assert_close(ours(x, y), x + y, rtol=0, atol=0)
            took = microseconds(module=lambda: ours(x, y), eager=lambda: eager(x, y), numpy=lambda: added(u, v))
        torch.testing.assert_close(ours(a, b), a + b, rtol=0, atol=0)
        took |= {"autograd " + k: t for k, t in microseconds(
            module=lambda: ours(a, b), eager=lambda: eager(a, b), empty=lambda: Empty.apply(a, b)).items()}
        print("µs a call:", ", ".join(f"{k} {t:.1f}" for k, t in took.items()))
        # Ratios, and wide ones: machines are busy.
        self.assertLess(took["module"], 6 * took["eager"])
        self.assertLess(took["autograd module"], 6 * took["autograd empty"])
        self.assertLess(took["numpy"], 4 * took["eager"])


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 2)
        self.drop = nn.Dropout(1.0)

    def forward(self, x):
        return self.drop(self.inner(x))


class Noticed(Case):
    """Each changes one thing after a call that was like the one before."""

    def setUp(self):
        torch.manual_seed(1)
        self.model = Layer().eval()
        self.ours = headrace.module(self.model)
        self.x = torch.randn(4, 3)
        for _ in range(2):
            self.check()

    def check(self, *args):
        args = args or (self.x,)
        torch.testing.assert_close(self.ours(*args), Layer.forward(self.ours, *args), rtol=1e-5, atol=1e-6)

    def test_arguments(self):
        self.check(torch.randn(7, 3))
        self.check(torch.randn(3))
        self.check(torch.randn(2, 4, 3))
        with self.assertRaises(TypeError):
            self.ours()
        with self.assertRaises(Exception):
            self.ours(self.x.double())
        self.check()

    def test_parameters(self):
        self.ours.inner.weight.data = torch.randn(2, 3)
        self.check()
        self.ours.inner.weight = nn.Parameter(torch.randn(2, 3))
        self.check()
        self.ours.inner.bias = None
        self.check()
        self.ours.double()
        self.check(self.x.double())

    def test_parts_and_modes(self):
        self.ours.train()
        self.assertFalse(self.ours(self.x).any())
        self.ours.eval()
        self.check()
        self.ours.drop.train()
        self.assertFalse(self.ours(self.x).any())
        self.ours.drop.eval()
        self.ours.inner = nn.Linear(3, 5)
        self.check()
        with torch.autocast("cpu", torch.bfloat16):
            self.assertEqual(self.ours(self.x).dtype, torch.bfloat16)
        self.check()

    def test_gradients(self):
        x = self.x.requires_grad_()
        self.assertTrue(self.ours(x).requires_grad)
        with torch.no_grad():
            self.assertFalse(self.ours(x).requires_grad)
        y = self.ours(x)
        with torch.no_grad():
            self.ours.inner.weight.add_(1)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            y.sum().backward()
        self.ours.inner.requires_grad_(False)
        self.assertFalse(self.ours(self.x.detach()).requires_grad)

    def test_results_lie_on_the_cpu(self):
        with torch.device("meta"):
            self.assertEqual(self.ours(self.x).device.type, "cpu")

    def test_transforms(self):
        self.ours(self.x)
        gradients = [torch.func.grad(lambda x: f(x).sum())(self.x.detach()) for f in (self.ours, self.model)]
        torch.testing.assert_close(*gradients)


if __name__ == "__main__":
    unittest.main()
