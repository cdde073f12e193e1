"""torch.compile(backend="headrace") against eager torch: networks, training, options. Operators: torch_opinfo_test.py."""

import copy
import unittest

from python.tests.case import Case, headrace

import torch  # noqa: E402

import headrace.torch  # noqa: E402, F401: registers the backend, as the wheel's entry point does
from python.tests.torch_models import MODELS, first  # noqa: E402

class CompileCase(Case):
    def setUp(self):
        torch._dynamo.reset()
        headrace.reset_counters()
        torch.manual_seed(3)

    def close(self, got, expected, rtol=1e-4):
        if got is None or expected is None:
            self.assertIs(got, expected)
            return
        scale = float(expected.detach().abs().max()) if expected.numel() else 0.0
        torch.testing.assert_close(got, expected, rtol=rtol, atol=rtol * max(scale, 1e-3), equal_nan=True)


class Networks(CompileCase):
    def check(self, name):
        make, inputs = MODELS[name]
        eager = make()
        plain = copy.deepcopy(eager)
        ours = torch.compile(plain, backend="headrace", fullgraph=True, dynamic=False)
        args = inputs(3)
        losses, gradients = [], []
        for model in (eager, ours):
            torch.manual_seed(5)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
            losses.append([])
            for step in range(20):
                optimizer.zero_grad()
                loss = (first(model(*args)) - 0.5).square().mean()
                loss.backward()
                if step == 0:
                    gradients.append([p.grad.clone() for p in model.parameters()])
                optimizer.step()
                losses[-1].append(loss.item())
        for b, a in zip(*gradients):
            self.close(a, b)
        for a, b in zip(*losses):
            self.assertAlmostEqual(a, b, delta=1e-4 * max(abs(a), 1))
        self.assertLess(losses[0][-1], losses[0][0])
        for a, b in zip(plain.buffers(), eager.buffers()):
            self.close(a, b)
        self.assertNotIn("torch.fallback", headrace.counters())
        self.assertEqual(headrace.counters()["torch.compile"]["graphs"], 2)

    def test_lenet(self):
        self.check("LeNet")

    def test_mlp(self):
        self.check("MLP")

    def test_bert(self):
        self.check("BERT")

    def test_batch_norm(self):
        self.check("BatchNorm")


class Ways(CompileCase):
    def test_sizes_change_without_another_program(self):
        f = torch.compile(lambda x, w: torch.relu(x @ w).sum(0), backend="headrace", dynamic=True)
        w = torch.randn(5, 4)
        for n in (3, 7, 16):
            x = torch.randn(n, 5)
            self.close(f(x, w), torch.relu(x @ w).sum(0))
        self.assertEqual(headrace.counters()["torch.compile"]["programs"], 1)

    def test_floats_among_arguments(self):
        for function in (lambda x, p: x * p + x.pow(p), lambda x, p: x.clamp(max=p), lambda x, p: torch.nn.functional.elu(-x, p) / p):
            ours = torch.compile(function, backend="headrace", dynamic=True)
            for p in (3.0, 2.5, 7.0):
                x = torch.tensor([1.0, 2.0, 6.0], requires_grad=True)
                self.close(ours(x, p), function(x, p))
                self.close(torch.autograd.grad(ours(x, p).sum(), x)[0], torch.autograd.grad(function(x, p).sum(), x)[0])

    def test_what_programs_lack_runs_eagerly(self):
        def f(x):
            return torch.linalg.eigvals(x * 0.2 + 0.1).abs().exp() * 3

        x = torch.randn(3, 3, requires_grad=True)
        y = torch.compile(f, backend="headrace")(x)
        self.close(y, f(x))
        self.close(torch.autograd.grad(y.sum(), x)[0], torch.autograd.grad(f(x).sum(), x)[0])
        self.assertIn("aten.linalg_eig.default", headrace.counters()["torch.fallback"])
        self.assertGreaterEqual(headrace.counters()["torch.compile"]["programs"], 2)
        torch._dynamo.reset()
        with self.fails(Exception, "fullgraph=True", "aten.linalg_eig"):
            torch.compile(f, backend="headrace", fullgraph=True)(x)

    def test_denormals(self):
        smallest = torch.full((4,), torch.finfo(torch.float32).tiny)
        half = lambda v: v * 0.5
        self.assertEqual(torch.compile(half, backend="headrace")(smallest).tolist(), [0] * 4)
        self.assertEqual(torch.compile(half, backend="headrace", options={"keep_denormals": True})(smallest).tolist(), (smallest * 0.5).tolist())
        self.assertGreater((smallest * 0.5)[0].item(), 0)  # eager's arithmetic is as before

        class Half(torch.nn.Module):
            def forward(self, x):
                return x * 0.5

        self.assertEqual(headrace.module(Half())(smallest).tolist(), [0] * 4)
        self.assertEqual(headrace.module(Half(), keep_denormals=True)(smallest).tolist(), (smallest * 0.5).tolist())

    def test_mish_far_out(self):
        """exp(x) is infinite from 89 on; values and gradients are not."""
        x = torch.tensor([-100.0, -20.0, -1.0, 0.0, 1.0, 19.0, 21.0, 88.0, 90.0, 1000.0], requires_grad=True)
        ours = torch.compile(torch.nn.functional.mish, backend="headrace", fullgraph=True, dynamic=False)
        got, expected = ours(x), torch.nn.functional.mish(x)
        self.close(got, expected)
        self.close(*[torch.autograd.grad(y.sum(), x)[0] for y in (got, expected)])

    def test_modes_and_options(self):
        x = torch.randn(4)
        for mode in ("default", "reduce-overhead", "max-autotune"):
            torch._dynamo.reset()
            self.close(torch.compile(lambda v: v.sin() + 1, backend="headrace", mode=mode)(x), x.sin() + 1)
        self.close(torch.compile(lambda v: v.cos(), backend="headrace", options={"backend": "interpreter"})(x), x.cos())
        with self.fails(Exception, "did you mean 'threads'"):
            torch.compile(lambda v: v.exp(), backend="headrace", options={"thread": 1}, fullgraph=True)(x)
        with self.fails(Exception, "no option 'colour'"):
            headrace.torch.compile_fx(None, [], options={"colour": 1})

    def test_mutation_views_and_layouts(self):
        def f(x):
            y = x.t()
            x.mul_(2)
            return y + 1, x.view(-1), y.permute(1, 0).unsqueeze(0).contiguous(memory_format=torch.contiguous_format)

        a = torch.randn(3, 4)
        b = a.clone()
        got, expected = torch.compile(f, backend="headrace")(a), f(b)
        self.close(a, b)
        for p, q in zip(got, expected):
            self.close(p, q)
            self.assertEqual(p.stride(), q.stride())
        got[1][0] = 5.0
        self.assertEqual(float(a[0, 0]), 5.0)


if __name__ == "__main__":
    unittest.main()
