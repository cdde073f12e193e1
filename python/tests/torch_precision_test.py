"""autocast= of headrace.module, torch.compile and headrace.train_step: what eager gives under torch.autocast; losses that are scaled."""

import copy
import unittest

from python.tests.case import Case, headrace

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

import headrace.torch  # noqa: E402, F401: registers the backend, as the wheel's entry point does
from python.tests.torch_models import LeNet  # noqa: E402

TYPES = {"bf16": torch.bfloat16, "f16": torch.float16}
OPTIMIZERS = {"momentum": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9), "adamw": lambda p: torch.optim.AdamW(p, lr=0.01)}


def mlp():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(12, 20), nn.GELU(), nn.LayerNorm(20), nn.Linear(20, 4))


def batch(seed=1):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(16, 12, generator=g), torch.randint(0, 4, (16,), generator=g)


class PrecisionCase(Case):
    def setUp(self):
        torch.manual_seed(1)
        torch._dynamo.reset()
        headrace.reset_counters()

    def near(self, got, expected, ulps=4):
        """Of the largest value, in roundings of bf16."""
        scale = float(expected.detach().abs().max())
        self.assertLessEqual(float((got.detach().double() - expected.detach().double()).abs().max()), ulps * 2.0**-8 * scale)


class Mixing(nn.Module):
    """Tokens, then channels, beside what comes in: gradients of the first bias are sums in which nearly all cancels."""

    def __init__(self):
        super().__init__()
        self.before, self.after = nn.LayerNorm(64), nn.LayerNorm(64)
        self.tokens = nn.Sequential(nn.Linear(24, 48), nn.GELU(), nn.Linear(48, 24))
        self.channels = nn.Sequential(nn.Linear(64, 96), nn.GELU(), nn.Linear(96, 64))

    def forward(self, x):
        x = x + self.tokens(self.before(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.after(x))


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.given, self.out = nn.Linear(32, 96), nn.Linear(32, 32)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (4, 8)).transpose(1, 2) for t in self.given(x).chunk(3, -1))
        scores = F.softmax(q @ k.transpose(-1, -2) / 8**0.5, -1)
        return self.out((scores @ v).transpose(1, 2).flatten(2))


def images():
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU6(),
                         nn.Conv2d(16, 16, 3, padding=1, groups=16, bias=False), nn.BatchNorm2d(16), nn.ReLU6(), nn.Conv2d(16, 8, 1, bias=False),
                         nn.BatchNorm2d(8))


class Gradients(PrecisionCase):
    """Sums are in f32 and rounded once, and what is multiplied is rounded no oftener than eager does it."""

    def test_as_near_to_f64_as_eager(self):
        for make, shape in ((Mixing, (4, 24, 64)), (Heads, (2, 160, 32)), (images, (4, 3, 20, 20))):
            torch.manual_seed(3)
            model, x = make(), torch.randn(*shape)
            exact, eager = copy.deepcopy(model).double(), copy.deepcopy(model)
            seed = torch.randn_like(exact(x.double()))
            exact(x.double()).backward(seed)
            compiled = headrace.module(model, autocast="bf16")
            compiled(x).backward(seed.to(compiled(x).dtype))
            with torch.autocast("cpu", torch.bfloat16):
                y = eager(x)
            y.backward(seed.to(y.dtype))
            for (name, p), q, e in zip(exact.named_parameters(), model.parameters(), eager.parameters()):
                error, theirs = (float((g.grad.double() - p.grad).norm() / p.grad.norm()) for g in (q, e))
                if theirs > 1:
                    continue  # a gradient that is nothing but what rounding leaves of 0
                with self.subTest(f"{make.__name__}: {name}"):
                    self.assertLessEqual(error, 1.5 * theirs + 2.0**-9)


class Calls(PrecisionCase):
    def test_modules(self):
        for kind, dtype in TYPES.items():
            for make, args in ((mlp, (batch()[0],)), (LeNet, (torch.randn(3, 1, 28, 28),))):
                with self.subTest(f"{make.__name__} in {kind}"):
                    model = make()
                    eager = copy.deepcopy(model)
                    compiled = headrace.module(model, autocast=kind)
                    with torch.autocast("cpu", dtype):
                        expected = eager(*args)
                    got = compiled(*args)
                    self.assertEqual(got.dtype, expected.dtype)
                    self.near(got, expected)
                    got.float().square().mean().backward()
                    expected.float().square().mean().backward()
                    for p, q in zip(compiled.parameters(), eager.parameters()):
                        self.assertEqual(p.grad.dtype, torch.float32)
                        self.near(p.grad, q.grad, 16)

    def test_torch_compile(self):
        for kind in TYPES:
            model = mlp()
            eager = copy.deepcopy(model)
            x, y = batch()
            compiled = torch.compile(model, backend="headrace", options={"autocast": kind, "backend": "interpreter"})
            got, expected = compiled(x), eager(x)
            self.assertEqual(got.dtype, torch.float32)
            self.near(got, expected, 8)
            self.assertGreater(float((got - expected).abs().max()), 1e-5)  # it is narrow
            F.cross_entropy(got, y).backward()
            F.cross_entropy(expected, y).backward()
            for p, q in zip(model.parameters(), eager.parameters()):
                self.near(p.grad, q.grad, 16)

    def test_wrong_use(self):
        for call in (lambda: headrace.module(mlp(), autocast="half"),
                     lambda: headrace.train_step(mlp(), F.cross_entropy, torch.optim.SGD(mlp().parameters()), autocast="f8")):
            with self.assertRaisesRegex(headrace.UsageError, "autocast is \"bf16\" or \"f16\""):
                call()
        with self.assertRaisesRegex(TypeError, "scaler is a torch.amp.GradScaler, not int"):
            headrace.train_step(mlp(), F.cross_entropy, torch.optim.SGD(mlp().parameters()), scaler=3)


class Training(PrecisionCase):
    def test_losses_are_those_of_float32(self):
        x, y = batch()
        for name, make in OPTIMIZERS.items():
            last = {}
            for kind in (None, "bf16", "f16"):
                model = mlp()
                step = headrace.train_step(model, F.cross_entropy, make(model.parameters()), autocast=kind)
                losses = [float(step(x, y)) for _ in range(20)]
                last[kind] = losses[-1]
                self.assertLess(losses[-1], 0.7 * losses[0], f"{name} in {kind}")
                self.assertEqual({p.dtype for p in model.parameters()}, {torch.float32})
                self.assertEqual(step.scaler is not None, kind == "f16")
            for kind in TYPES:
                self.assertAlmostEqual(last[kind], last[None], delta=0.05)

    def test_a_step_that_overflows_is_left_out(self):
        x, y = batch()
        for name, make in OPTIMIZERS.items():
            with self.subTest(name):
                model = mlp()
                optimizer = make(model.parameters())
                scaler = torch.amp.GradScaler("cpu", init_scale=2.0**40, growth_interval=2)
                step = headrace.train_step(model, F.cross_entropy, optimizer, autocast="f16", scaler=scaler)
                before = copy.deepcopy(model.state_dict())
                step(x, y)
                for a, b in zip(model.state_dict().values(), before.values()):
                    self.assertTrue(torch.equal(a, b))
                self.assertEqual(optimizer.state_dict()["state"], {})
                self.assertEqual(scaler.get_scale(), 2.0**39)
                skipped = 1
                while all(torch.equal(a, b) for a, b in zip(model.state_dict().values(), before.values())):
                    step(x, y)
                    skipped += 1
                    self.assertLess(skipped, 40)
                self.assertEqual(scaler.get_scale(), 2.0**(41 - skipped))
                # The first step that is taken is the first of all, at that scale.
                other = mlp()
                fresh = torch.amp.GradScaler("cpu", init_scale=scaler.get_scale())
                headrace.train_step(other, F.cross_entropy, make(other.parameters()), autocast="f16", scaler=fresh)(x, y)
                for a, b in zip(model.parameters(), other.parameters()):
                    self.assertTrue(torch.equal(a, b))
                step(x, y)
                self.assertEqual(scaler.get_scale(), 2.0**(42 - skipped))  # two good steps
                self.assertEqual(scaler.state_dict()["_growth_tracker"], 0)

    def test_as_eager_with_a_scaler(self):
        x, y = batch()
        model = mlp()
        reference = copy.deepcopy(model)
        optimizer = torch.optim.SGD(reference.parameters(), lr=0.05, momentum=0.9)
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        step = headrace.train_step(model, F.cross_entropy, torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9), autocast="f16",
                                   scaler=torch.amp.GradScaler("cpu", init_scale=1024.0))
        for _ in range(10):
            optimizer.zero_grad()
            with torch.autocast("cpu", torch.float16):
                loss = F.cross_entropy(reference(x), y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            self.assertAlmostEqual(float(step(x, y)), float(loss), delta=0.01)
        for p, q in zip(model.parameters(), reference.parameters()):
            self.near(p, q, 2)


if __name__ == "__main__":
    unittest.main()
