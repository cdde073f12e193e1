"""torch.compile(backend="headrace") against eager torch: networks, training, torch's own samples of 40 operators, options."""

import copy
import sys
import types
import unittest

from python.tests.case import Case, headrace

# torch's test utilities derive their TestCase from this package's; the samples need neither.
sys.modules.setdefault("expecttest", types.SimpleNamespace(TestCase=unittest.TestCase))

import torch  # noqa: E402
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

import headrace.torch  # noqa: E402, F401: registers the backend, as the wheel's entry point does
from python.tests.torch_models import MODELS, first  # noqa: E402

OPERATORS = """abs acos add addmm amax bmm cat clamp cos cumsum true_divide exp expand gather index_select log logsumexp masked_fill matmul
maximum mean mul neg pow prod rsqrt sigmoid sin sqrt sub sum tanh tril unfold var where nn.functional.gelu nn.functional.layer_norm
nn.functional.softplus nn.functional.conv2d""".split()


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


class Operators(CompileCase):
    """Ten operators to a graph, so that four graphs and their gradients are what is compiled."""

    def group(self, names):
        samples = []
        for name in names:
            op = next(o for o in op_db if o.name == name and not o.variant_test_name)
            torch.manual_seed(11)
            given = [s for s in op.sample_inputs("cpu", torch.float32, requires_grad=True) if s.input is not None]
            samples.append((op.op, next(s for s in given if all(t.numel() for t in self.tensors(s)))))

        def all_of_them():
            results = []
            for function, s in samples:
                results.append(function(s.input, *s.args, **s.kwargs))
            return results

        leaves = [t for _, s in samples for t in self.tensors(s) if t.requires_grad]
        outcomes = []
        for f in (all_of_them, torch.compile(all_of_them, backend="headrace", fullgraph=True, dynamic=False)):
            results = f()
            torch.manual_seed(12)
            smooth = [r for r in results if r.requires_grad]
            gradients = torch.autograd.grad(smooth, leaves, [torch.randn_like(r) for r in smooth], allow_unused=True)
            outcomes.append((results, gradients))
        for name, a, b in zip(names, outcomes[1][0], outcomes[0][0]):
            with self.subTest(name):
                self.close(a, b)
        for a, b in zip(outcomes[1][1], outcomes[0][1]):
            self.close(a, b)
        self.assertNotIn("torch.fallback", headrace.counters())

    @staticmethod
    def tensors(sample):
        return [t for t in torch.utils._pytree.tree_leaves((sample.input, sample.args, sample.kwargs)) if isinstance(t, torch.Tensor)]

    def test_first(self):
        self.group(OPERATORS[:10])

    def test_second(self):
        self.group(OPERATORS[10:20])

    def test_third(self):
        self.group(OPERATORS[20:30])

    def test_fourth(self):
        self.group(OPERATORS[30:])


class Ways(CompileCase):
    def test_sizes_change_without_another_program(self):
        f = torch.compile(lambda x, w: torch.relu(x @ w).sum(0), backend="headrace", dynamic=True)
        w = torch.randn(5, 4)
        for n in (3, 7, 16):
            x = torch.randn(n, 5)
            self.close(f(x, w), torch.relu(x @ w).sum(0))
        self.assertEqual(headrace.counters()["torch.compile"]["programs"], 1)

    def test_what_programs_lack_runs_eagerly(self):
        def f(x):
            return torch.sort(x * 2 + 1).values.exp() * 3

        x = torch.randn(6, requires_grad=True)
        y = torch.compile(f, backend="headrace")(x)
        self.close(y, f(x))
        self.close(torch.autograd.grad(y.sum(), x)[0], torch.autograd.grad(f(x).sum(), x)[0])
        self.assertIn("aten.sort.default", headrace.counters()["torch.fallback"])
        self.assertGreaterEqual(headrace.counters()["torch.compile"]["programs"], 2)
        torch._dynamo.reset()
        with self.fails(Exception, "fullgraph=True", "aten.sort"):
            torch.compile(f, backend="headrace", fullgraph=True)(x)

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
