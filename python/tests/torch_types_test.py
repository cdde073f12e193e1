"""bfloat16, float16 and float64: autocast, `.to()`, mixed types. What is computed is as near to f64 as eager's results are."""

import copy
import itertools
import unittest
import warnings

from python.tests.case import Case, headrace

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

from python.tests.torch_models import BatchNormNet, Bert, LeNet, images  # noqa: E402
from python.tests.torch_networks import NETWORKS  # noqa: E402

SMALL = {
    "LeNet": (LeNet, images(1, 28)),
    "BERT": (Bert, lambda n: (torch.randint(0, 30, (n, 7)),)),
    "BatchNorm": (BatchNormNet, images(3, 9)),
    **{name: (make, lambda n, args=args: args(n, 6)) for name, (make, args) in NETWORKS.items() if name in ("GPT", "U-Net", "ViT")},
}
WAYS = {"module": headrace.module,
        "torch.compile": lambda m: torch.compile(m, backend="headrace", options={"backend": "interpreter"})}


def loss_of(y):
    return y.float().square().mean() + y.float().sum() * 0.01


def step(f, model, args, amp):
    """The result, and the gradients of the parameters."""
    model.zero_grad()
    with torch.autocast("cpu", dtype=amp or torch.bfloat16, enabled=amp is not None):
        y = f(*args)
    loss_of(y).backward()
    return y, [p.grad for p in model.parameters()]


def exact_step(model, args):
    wide = [a.double() if a.is_floating_point() else a for a in args]
    model = copy.deepcopy(model).double()
    model.kinds = (torch.float64, torch.float64)  # where a model of this file converts
    y = model(*wide)
    (y.square().mean() + y.sum() * 0.01).backward()
    return y, [p.grad for p in model.parameters()]


class TypesCase(Case):
    def setUp(self):
        torch.manual_seed(3)
        torch._dynamo.reset()
        headrace.reset_counters()

    def as_near(self, got, eager, exact, ulp):
        """Types are eager's, and errors against f64 no more than 4 times eager's and four roundings of the largest element."""
        self.assertEqual(got.dtype, eager.dtype)
        self.assertEqual(got.shape, eager.shape)
        ours, theirs = ((t.detach().double() - exact).abs().max() for t in (got, eager))
        self.assertLessEqual(float(ours), float(4 * (theirs + ulp * exact.abs().max())))

    def steps_as_near(self, f, model, reference, args, amp, ulp):
        exact = exact_step(reference, args)
        eager = step(reference, reference, args, amp)
        got = step(f, model, args, amp)
        self.as_near(got[0], eager[0], exact[0], ulp)
        for a, b, x in zip(got[1], eager[1], exact[1], strict=True):
            if x is None or b is None:
                self.assertIsNone(a)
            else:
                self.as_near(a, b, x, ulp)


class Networks(TypesCase):
    def check(self, kinds, convert, amp, ulp):
        for name in kinds:
            make, arguments = SMALL[name]
            for way, wrap in WAYS.items():
                with self.subTest(f"{name}, {way}"):
                    torch.manual_seed(5)
                    reference = convert(make())
                    model = copy.deepcopy(reference)
                    kind = next(reference.parameters()).dtype
                    args = [a.to(kind) if a.is_floating_point() else a for a in arguments(3)]
                    self.steps_as_near(wrap(model), model, reference, args, amp, ulp)
        self.assertNotIn("torch.fallback", headrace.counters())

    def test_autocast_to_bfloat16(self):
        self.check(SMALL, lambda m: m, torch.bfloat16, 2 ** -8)

    def test_autocast_to_float16(self):
        self.check(("LeNet", "BERT"), lambda m: m, torch.float16, 2 ** -11)

    def test_modules_in_bfloat16(self):
        self.check(SMALL, lambda m: m.to(torch.bfloat16), None, 2 ** -8)

    def test_modules_in_float16(self):
        self.check(("BERT", "BatchNorm"), lambda m: m.half(), None, 2 ** -11)

    def test_modules_in_float64(self):
        self.check(("BERT", "U-Net"), lambda m: m.double(), None, 1e-12)


class Switches(TypesCase):
    def test_autocast_on_and_off(self):
        for way, wrap in WAYS.items():
            with self.subTest(way):
                reference = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4))
                model = copy.deepcopy(reference)
                f, x = wrap(model), torch.randn(5, 8)
                for amp in (None, torch.bfloat16, None, torch.bfloat16, torch.float16):
                    self.steps_as_near(f, model, reference, [x], amp, 2 ** -22 if amp is None else 2 ** -8)

    def test_autocast_within_the_module(self):
        class Mixed(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)
                self.kinds = (torch.bfloat16, torch.float32)

            def forward(self, x):
                with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.kinds[0] is torch.bfloat16):
                    y = self.a(x)
                    with torch.autocast("cpu", enabled=False):
                        y = self.b(y.to(self.kinds[1]))
                return y + x

        for way, wrap in WAYS.items():
            with self.subTest(way):
                reference = Mixed()
                model = copy.deepcopy(reference)
                self.steps_as_near(wrap(model), model, reference, [torch.randn(3, 8)], None, 2 ** -8)

    def test_a_module_that_is_converted_after_it_was_called(self):
        reference = nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 2))
        m = headrace.module(copy.deepcopy(reference))
        for kind, ulp in ((torch.float32, 2 ** -22), (torch.bfloat16, 2 ** -8), (torch.float64, 2 ** -50), (torch.float16, 2 ** -11)):
            m.to(kind), reference.to(kind)
            self.steps_as_near(m, m, reference, [torch.randn(4, 6, dtype=kind)], None, ulp)

    def test_sums_of_many_elements(self):
        """Thousands of terms: sums that were rounded at each step would stand still."""
        labels = torch.arange(3000) % 10
        functions = {
            "bias": (lambda x, w: F.conv2d(x, w, w[:, 0, 0, 0]), (4, 2, 24, 24), (2, 2, 3, 3)),
            "transposed": (lambda x, w: F.conv_transpose2d(x, w, padding=1), (4, 2, 24, 24), (2, 2, 3, 3)),
            "embedding": (lambda x, w: F.embedding(labels, w) * x[:, None], (3000,), (10, 4)),
            "cross entropy": (lambda x, w: F.cross_entropy(x * w, labels), (3000, 10), (10,)),
            "cumsum": (lambda x, w: (x * w).cumsum(0), (1500, 3), (3,)),
            "layer norm": (lambda x, w: F.layer_norm(x, (8,), w), (2000, 8), (8,)),
            "attention": (lambda x, w: F.scaled_dot_product_attention(x * w, x, x * w), (1, 2, 200, 8), (8,)),
            "average": (lambda x, w: F.adaptive_avg_pool2d(x * w, 2), (1, 2, 64, 64), (64,)),
        }
        for (name, (f, *shapes)), kind in itertools.product(functions.items(), (torch.bfloat16, torch.float16)):
            given = [torch.randn(s).to(kind) for s in shapes]
            made = torch.randn(f(*given).shape)
            compiled = torch.compile(f, backend="headrace", dynamic=False, options={"backend": "interpreter"})
            results = []
            for function, to in ((f, torch.float64), (f, kind), (compiled, kind)):
                leaves = [t.detach().to(to).requires_grad_() for t in given]
                y = function(*leaves)
                y.backward(made.to(to))
                results.append([y, *[t.grad for t in leaves]])
            for exact, eager, got in zip(*results):
                with self.subTest(name, kind=kind):
                    self.as_near(got, eager, exact.detach(), torch.finfo(kind).eps)
        self.assertNotIn("torch.fallback", headrace.counters())

    def test_scattered_sums_are_rounded_once(self):
        at = torch.arange(3000) % 10
        rows = at[:, None].expand(3000, 4)
        functions = {
            "scatter_add": lambda x, w: w.scatter_add(0, rows, x),
            "index_add": lambda x, w: w.index_add(0, at, x, alpha=0.3),
            "scatter_reduce, sum": lambda x, w: w.scatter_reduce(0, rows, x, "sum", include_self=False),
            "scatter_reduce, mean": lambda x, w: w.scatter_reduce(0, rows, x, "mean"),
            "scatter_reduce, prod": lambda x, w: w.scatter_reduce(0, rows[:30], x[:30] + 0, "prod"),
            "scatter_reduce, amax": lambda x, w: w.scatter_reduce(0, rows, x, "amax"),
            "index_reduce": lambda x, w: w.index_reduce(0, at, x, "mean", include_self=False),
            "index_put": lambda x, w: w.index_put((at,), x, accumulate=True),
            "put": lambda x, w: w.put(rows, x, accumulate=True),
            "gradient of an index": lambda x, w: w[at] + x,
        }
        for (name, f), kind in itertools.product(functions.items(), (torch.bfloat16, torch.float16)):
            x, w = (torch.rand(3000, 4) + 0.5).to(kind), torch.rand(10, 4).to(kind)
            made = torch.ones(f(x, w).shape, dtype=kind)
            compiled = torch.compile(f, backend="headrace", dynamic=False, options={"backend": "interpreter"})
            results = []
            for function, to in ((f, torch.float64), (compiled, kind)):
                leaves = [t.detach().to(to).requires_grad_() for t in (x, w)]
                y = function(*leaves)
                results.append([y.detach(), *torch.autograd.grad(y, leaves, made.to(to), allow_unused=True)])
            for exact, got in zip(*results):
                with self.subTest(name, kind=kind):
                    self.assertEqual(got.dtype, kind)
                    bound = torch.finfo(kind).eps * exact.abs().max()
                    self.assertLessEqual(float((got.double() - exact).abs().max()), float(bound))
        self.assertNotIn("torch.fallback", headrace.counters())

    def test_parts_of_other_types(self):
        class Head(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.head = nn.Linear(8, 8).to(torch.bfloat16), nn.Linear(8, 3)
                self.kinds = (torch.bfloat16, torch.float32)

            def forward(self, x):
                return self.head(F.relu(self.body(x.to(self.kinds[0]))).to(self.kinds[1]))

        for way, wrap in WAYS.items():
            with self.subTest(way):
                reference = Head()
                model = copy.deepcopy(reference)
                self.steps_as_near(wrap(model), model, reference, [torch.randn(4, 8)], None, 2 ** -8)

    def test_wrong_types_are_refused_as_in_eager(self):
        m = nn.Linear(4, 2).to(torch.bfloat16)
        for f in (headrace.module(copy.deepcopy(m)), torch.compile(m, backend="headrace")):
            with self.assertRaisesRegex(Exception, "(?i)dtype|type"):
                f(torch.randn(3, 4))


class Exchange(TypesCase):
    def test_bfloat16_by_dlpack(self):
        text = "sdfg f(X: {0}[N], inout Z: {0}[N], Y: {0}[N]) {{ state {{ map i in 0:N {{ Y[i] = X[i] * X[i]; Z[i] = Z[i] + X[i] }} }} }}"
        for (name, kind), backend in itertools.product((("bf16", torch.bfloat16), ("f16", torch.float16)), ("cpu", "interpreter")):
            with self.subTest(name, backend=backend):
                program = headrace.Sdfg.parse(text.format(name)).compile(backend=backend)
                x, z = torch.linspace(-3, 3, 9, dtype=kind), torch.ones(9, dtype=kind)
                y = program(x, z)
                self.assertIsInstance(y, torch.Tensor)
                torch.testing.assert_close(y, x * x, rtol=0, atol=0)
                torch.testing.assert_close(z, x + 1, rtol=0, atol=0)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    unittest.main()
