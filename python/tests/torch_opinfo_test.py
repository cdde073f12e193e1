"""torch's own samples of 40 operators of many kinds, forward and backward, compiled wholly; all 702: torch_opinfo_all_test.py."""

import sys
import types
import unittest

from python.tests.case import Case, headrace

# torch's test utilities derive their TestCase from this package's; the samples need neither.
sys.modules.setdefault("expecttest", types.SimpleNamespace(TestCase=unittest.TestCase))

import torch  # noqa: E402
from torch.testing._internal import common_methods_invocations  # noqa: E402
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

import headrace.torch  # noqa: E402, F401: registers the backend, as the wheel's entry point does

# It sets the seed, which Dynamo can't follow; nothing here draws.
common_methods_invocations.wrapper_set_seed = lambda op, *args, **kwargs: op(*args, **kwargs)

# Ten to a graph, so that four graphs and their gradients are what is compiled.
ELEMENTS = """acos clamp copysign exp lerp pow sigmoid where nn.functional.gelu nn.functional.softplus"""
REDUCTIONS = """amax cumsum logsumexp prod var linalg.vector_norm addmm baddbmm matmul nn.functional.bilinear"""
PLACES = """cat unfold tril roll gather index_put index_add scatter scatter_reduce.amax masked_scatter"""
NETWORKS = """nn.functional.layer_norm nn.functional.conv2d nn.functional.conv_transpose1d nn.functional.max_pool2d nn.functional.embedding
nn.functional.cross_entropy nn.functional.interpolate.bilinear softmax.with_dtype complex nn.functional.scaled_dot_product_attention"""


def named(name):
    return next(o for o in op_db if name == o.name + ("." + o.variant_test_name if o.variant_test_name else ""))


def tensors(tree):
    return [t for t in torch.utils._pytree.tree_leaves(tree) if isinstance(t, torch.Tensor)]


def first(result):
    return result[0] if isinstance(result, tuple) else result


def sample_of(name):
    """An operator and its first sample with elements and without random numbers."""
    op = named(name)
    torch.manual_seed(11)
    for s in op.sample_inputs("cpu", torch.float32, requires_grad=True):
        given = tensors((s.input, s.args, s.kwargs))
        if given and all(t.numel() for t in given) and not s.kwargs.get("dropout_p"):
            return op.op, s
    raise AssertionError(f"no sample of {name}")


class Operators(Case):
    def group(self, names):
        torch._dynamo.reset()
        headrace.reset_counters()
        samples = [sample_of(name) for name in names.split()]
        self.assertEqual(len(samples), 10)

        def all_of_them():
            return [first(function(s.input, *s.args, **s.kwargs)) for function, s in samples]

        leaves = [t for _, s in samples for t in tensors((s.input, s.args, s.kwargs)) if t.requires_grad]
        outcomes = []
        for f in (all_of_them, torch.compile(all_of_them, backend="headrace", fullgraph=True, dynamic=False)):
            results = f()
            torch.manual_seed(12)
            smooth = [r for r in results if r.requires_grad]
            gradients = torch.autograd.grad(smooth, leaves, [torch.randn_like(r) for r in smooth], allow_unused=True)
            outcomes.append((results, gradients))
        for name, a, b in zip(names.split(), outcomes[1][0], outcomes[0][0]):
            with self.subTest(name):
                self.near(a, b)
        for k, (a, b) in enumerate(zip(outcomes[1][1], outcomes[0][1])):
            with self.subTest(gradient=k):
                self.near(a, b)
        self.assertNotIn("torch.fallback", headrace.counters())
        self.assertEqual(headrace.counters()["torch.compile"]["graphs"], 2)

    def near(self, got, expected):
        if got is None or expected is None:
            self.assertIs(got, expected)
            return
        scale = float(expected.detach().abs().max()) if expected.numel() else 0.0
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4 * max(scale, 1e-3), equal_nan=True)

    def test_elements(self):
        self.group(ELEMENTS)

    def test_reductions_and_products(self):
        self.group(REDUCTIONS)

    def test_places(self):
        self.group(PLACES)

    def test_networks(self):
        self.group(NETWORKS)


if __name__ == "__main__":
    unittest.main()
