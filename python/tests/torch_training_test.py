"""headrace.train_step against eager torch: losses, parameters and the optimizer's state, step by step."""

import copy
import unittest
import warnings

from python.tests.case import Case, headrace

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

from python.tests.torch_models import BatchNormNet, Bert, LeNet  # noqa: E402

OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=0.01),
    "nesterov": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.8, nesterov=True),
    "dampening": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, dampening=0.3, maximize=True),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "adam_decay": lambda p: torch.optim.Adam(p, lr=0.01, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.1, amsgrad=True),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.01, weight_decay=0.2),
    "adamw_more": lambda p: torch.optim.AdamW(p, lr=torch.tensor(0.01), weight_decay=0.2, amsgrad=True, maximize=True),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.01),
    "rmsprop_more": lambda p: torch.optim.RMSprop(p, lr=torch.tensor(0.01), alpha=0.8, eps=1e-6, weight_decay=0.1, momentum=0.9, centered=True,
                                                  maximize=True),
    "rmsprop_centered": lambda p: torch.optim.RMSprop(p, lr=0.01, alpha=0.9, centered=True, foreach=True),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1),
    "adagrad_more": lambda p: torch.optim.Adagrad(p, lr=0.1, lr_decay=0.2, weight_decay=0.1, initial_accumulator_value=0.3, eps=1e-6,
                                                  maximize=True),
}


class TrainCase(Case):
    def setUp(self):
        torch.manual_seed(1)
        headrace.reset_counters()

    def near(self, got, expected, rtol=1e-4):
        scale = float(expected.detach().abs().max()) if expected.numel() else 0.0
        torch.testing.assert_close(got, expected, rtol=rtol, atol=rtol * max(scale, 1e-3))

    def equal_state(self, ours, eager, rtol=1e-4):
        """Parameters, buffers and the optimizer's state."""
        (model, optimizer), (reference, expected) = ours, eager
        for (name, a), b in zip(model.state_dict().items(), reference.state_dict().values(), strict=True):
            with self.subTest(name):
                self.near(a, b, rtol)
        a, b = optimizer.state_dict()["state"], expected.state_dict()["state"]
        self.assertEqual(a.keys(), b.keys())
        for k in a:
            self.assertEqual(a[k].keys(), b[k].keys())
            for name, value in a[k].items():
                with self.subTest(f"{name} of {k}"):
                    self.near(value, b[k][name], rtol)


def eager_step(model, loss, optimizer, x, y):
    optimizer.zero_grad()
    value = loss(model(x), y)
    value.backward()
    optimizer.step()
    return value.detach()


def two(make, optimizer):
    torch.manual_seed(0)
    eager = make()
    ours = copy.deepcopy(eager)
    return (ours, optimizer(ours.parameters())), (eager, optimizer(eager.parameters()))


def small():
    return nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3))


class Scaled(nn.Module):
    """With a parameter of one number, and a buffer that a part binds anew."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(0.5))
        self.first, self.average = nn.Linear(5, 3), Average()

    def forward(self, x):
        return self.average(self.first(x)) * self.scale.exp()


class Average(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))

    def forward(self, x):
        self.mean = 0.9 * self.mean + 0.1 * x.detach().mean(0)
        return x - self.mean


class Optimizers(TrainCase):
    def test_parameters_of_one_number_and_buffers_bound_anew(self):
        for name in ("momentum", "adam_decay", "adamw", "rmsprop_more", "adagrad_more"):
            with self.subTest(name):
                ours, eager = two(Scaled, OPTIMIZERS[name])
                step = headrace.train_step(ours[0], F.mse_loss, ours[1])
                for n in (4, 6, 4):
                    x, y = torch.randn(n, 5), torch.randn(n, 3)
                    self.near(step(x, y), eager_step(eager[0], F.mse_loss, eager[1], x, y))
                self.equal_state(ours, eager)

    def test_parameters_that_are_not_row_major(self):
        def make():
            return nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(16, 2)).to(memory_format=torch.channels_last)

        ours, eager = two(make, OPTIMIZERS["adam"])
        step, strides = headrace.train_step(ours[0], F.mse_loss, ours[1]), ours[0][0].weight.stride()
        for n in (4, 6, 4):
            x, y = torch.randn(n, 3, 4, 4), torch.randn(n, 2)
            self.near(step(x, y), eager_step(eager[0], F.mse_loss, eager[1], x, y))
        self.equal_state(ours, eager)
        self.assertEqual(ours[0][0].weight.stride(), strides)

    def check(self, name, dtype):
        ours, eager = two(lambda: small().to(dtype), OPTIMIZERS[name])
        step = headrace.train_step(ours[0], F.mse_loss, ours[1])
        rtol = 1e-4 if dtype == torch.float32 else 1e-10
        before = [p.data_ptr() for p in ours[0].parameters()]
        for n in range(6):
            x, y = torch.randn(4, 5, dtype=dtype), torch.randn(4, 3, dtype=dtype)
            if n == 3:  # a schedule, and torch's own step between ours
                for o in (ours[1], eager[1]):
                    o.param_groups[0]["lr"] = o.param_groups[0]["lr"] / 2
                eager_step(ours[0], F.mse_loss, ours[1], x, y)
                eager_step(eager[0], F.mse_loss, eager[1], x, y)
            got, expected = step(x, y), eager_step(eager[0], F.mse_loss, eager[1], x, y)
            self.near(got, expected, rtol)
            self.assertFalse(got.requires_grad)
        self.equal_state(ours, eager, rtol)
        self.assertEqual([p.data_ptr() for p in ours[0].parameters()], before)
        self.assertEqual(headrace.counters()["torch.train_step"], {"traces": 1, "programs": 1})

    def test_sgd(self):
        self.check("sgd", torch.float32)

    def test_momentum(self):
        self.check("momentum", torch.float64)

    def test_nesterov(self):
        self.check("nesterov", torch.float32)

    def test_dampening(self):
        self.check("dampening", torch.float32)

    def test_adam(self):
        self.check("adam", torch.float64)

    def test_adam_decay(self):
        self.check("adam_decay", torch.float64)

    def test_adamw(self):
        self.check("adamw", torch.float32)

    def test_adamw_more(self):
        self.check("adamw_more", torch.float64)

    def test_rmsprop(self):
        self.check("rmsprop", torch.float64)

    def test_rmsprop_more(self):
        self.check("rmsprop_more", torch.float64)

    def test_rmsprop_centered(self):
        self.check("rmsprop_centered", torch.float32)

    def test_adagrad(self):
        self.check("adagrad", torch.float32)

    def test_adagrad_more(self):
        self.check("adagrad_more", torch.float64)

    def test_sums_of_parameters_that_join_later(self):
        def some(parameters):
            return torch.optim.Adagrad(list(parameters)[:2], lr=0.1, initial_accumulator_value=0.3)

        ours, eager = two(small, some)
        step = headrace.train_step(ours[0], F.mse_loss, ours[1])
        x, y = torch.randn(3, 5), torch.randn(3, 3)
        for joined in (False, True, True):
            if joined and len(ours[1].param_groups) == 1:
                for model, optimizer in (ours, eager):
                    optimizer.add_param_group({"params": list(model.parameters())[2:], "initial_accumulator_value": 7.0})
            self.near(step(x, y), eager_step(eager[0], F.mse_loss, eager[1], x, y))
        self.equal_state(ours, eager)


class Networks(TrainCase):
    """20 steps of a network, with its buffers."""

    def check(self, make, inputs, loss, optimizer, steps=20):
        ours, eager = two(make, optimizer)
        step = headrace.train_step(ours[0], loss, ours[1])
        losses = []
        for n in range(steps):
            x, y = inputs(4 if n % 3 else 6)  # the batch changes, the program doesn't
            torch.manual_seed(n)
            expected = eager_step(eager[0], loss, eager[1], x, y)
            torch.manual_seed(n)
            got = step(x, y)
            self.assertAlmostEqual(float(got), float(expected), delta=1e-4 * max(1, abs(float(expected))), msg=f"step {n}")
            losses.append(float(got))
        self.assertLess(min(losses[-3:]), losses[0])
        for (name, a), b in zip(ours[0].named_buffers(), eager[0].buffers(), strict=True):
            with self.subTest(name):
                self.near(a, b, 1e-3)
        self.assertEqual(headrace.counters()["torch.train_step"]["programs"], 1)

    def test_lenet(self):
        x = torch.randn(6, 1, 28, 28)
        self.check(LeNet, lambda n: (x[:n], torch.arange(n)), F.cross_entropy, OPTIMIZERS["momentum"])

    def test_batch_norm_and_dropout(self):
        x = torch.randn(6, 3, 9, 9)

        def make():
            return nn.Sequential(BatchNormNet(), nn.Dropout(0.2))

        self.check(make, lambda n: (x[:n], torch.arange(n) % 5), F.cross_entropy, lambda p: torch.optim.SGD(p, lr=0.02))

    def test_bert(self):
        ids, y = torch.randint(0, 30, (6, 7)), torch.randn(6, 7, 16)
        self.check(Bert, lambda n: (ids[:n], y[:n]), F.mse_loss, OPTIMIZERS["adamw"])


class Tied(nn.Module):
    """A shared parameter, one that the loss doesn't reach, one without a gradient."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)
        self.b.weight = self.a.weight
        self.unused = nn.Parameter(torch.ones(2))
        self.c.bias.requires_grad_(False)

    def forward(self, x):
        return self.c(torch.tanh(self.b(torch.tanh(self.a(x)))))


class Rules(TrainCase):
    def test_what_takes_part_may_change(self):
        ours, eager = two(Tied, lambda p: torch.optim.AdamW(p, lr=0.02))
        step = headrace.train_step(ours[0], F.mse_loss, ours[1])
        x, y = torch.randn(3, 4), torch.randn(3, 4)

        def both():
            self.near(step(x, y), eager_step(eager[0], F.mse_loss, eager[1], x, y))
            self.equal_state(ours, eager)

        both()
        both()
        for model in (ours[0], eager[0]):
            model.a.bias.requires_grad_(False)
        both()
        self.assertEqual(headrace.counters()["torch.train_step"]["programs"], 2)
        self.assertIsNone(ours[0].c.weight.grad)

    def test_groups_state_and_schedules(self):
        def groups(parameters):
            parameters = list(parameters)
            return torch.optim.SGD([{"params": parameters[:1], "momentum": 0.9, "lr": 0.2}, {"params": parameters[1:]}], lr=0.05)

        ours, eager = two(small, groups)
        step = headrace.train_step(ours[0], F.mse_loss, ours[1])
        schedules = [torch.optim.lr_scheduler.ExponentialLR(o, 0.7) for o in (ours[1], eager[1])]
        x, y = torch.randn(3, 5), torch.randn(3, 3)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for n in range(4):
                self.near(step(x, y), eager_step(eager[0], F.mse_loss, eager[1], x, y))
                for s in schedules:
                    s.step()
                if n == 1:
                    ours[1].load_state_dict(copy.deepcopy(ours[1].state_dict()))
        self.equal_state(ours, eager)

    def test_arguments(self):
        class Pair(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(torch.ones(3))

            def forward(self, x, *, scale):
                return (x * self.w * scale).sum(), x

        model = Pair()
        x, scale = torch.rand(3), torch.rand(3)
        step = headrace.train_step(model, lambda made, power: made[0] ** power, torch.optim.SGD(model.parameters(), lr=1.0))
        w = torch.ones(3, requires_grad=True)
        expected = (x * w * scale).sum() ** 2
        (g,) = torch.autograd.grad(expected, w)
        self.near(step({"x": x, "scale": scale}, 2), expected.detach())
        self.near(model.w.detach(), 1 - g)

    def test_a_backward_pass_after_the_update_is_refused(self):
        model = small()
        step = headrace.train_step(model, F.mse_loss, torch.optim.SGD(model.parameters(), lr=0.1))
        x, y = torch.randn(3, 5), torch.randn(3, 3)
        value = F.mse_loss(model(x), y)
        step(x, y)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            value.backward()

    def test_wrong_use(self):
        model = small()
        with self.fails(headrace.UnsupportedError, "torch.optim.rprop.Rprop", "SGD, Adam, AdamW, RMSprop, Adagrad",
                        "hint: headrace.module"):
            headrace.train_step(model, F.mse_loss, torch.optim.Rprop(model.parameters()))
        with self.fails(headrace.UnsupportedError, "differentiable=True"):
            headrace.train_step(model, F.mse_loss, torch.optim.SGD(model.parameters(), differentiable=True))
        sgd = torch.optim.SGD(model.parameters(), lr=0.1)
        broken = headrace.train_step(other := torch.nn.Linear(3, 2), F.cross_entropy, torch.optim.SGD(other.parameters(), 0.1))
        with self.fails(RuntimeError, "Linear with its loss does not take these arguments: inputs is (float64[4, 3]), targets is (int64[4])"):
            broken(torch.ones(4, 3).double(), torch.zeros(4, dtype=torch.int64))
        with self.fails(TypeError, "missing 1 required positional argument: 'target'"):
            broken(torch.ones(4, 3))
        with self.fails(TypeError, "torch.nn.Module", "function"):
            headrace.train_step(lambda x: x, F.mse_loss, sgd)
        with self.fails(TypeError, "torch.optim.Optimizer", "float"):
            headrace.train_step(model, F.mse_loss, 0.1)
        x, y = torch.randn(3, 5), torch.randn(3, 3)
        with self.fails(headrace.UsageError, "the loss has the shape [", "expected a scalar", ".mean()"):
            headrace.train_step(model, lambda made, t: made - t, sgd)(x, y)
        with self.fails(headrace.UsageError, "depends on no parameter that SGD has"):
            headrace.train_step(model, F.mse_loss, torch.optim.SGD(small().parameters(), lr=0.1))(x, y)
        shared = nn.Linear(3, 3)
        shared.bias = nn.Parameter(shared.weight.detach()[0])
        with self.fails(headrace.UnsupportedError, "share memory"):
            headrace.train_step(shared, F.mse_loss, torch.optim.SGD(shared.parameters(), lr=0.1))(y, y)
        with self.fails(headrace.UsageError, "nothing is traced yet"):
            headrace.train_step(model, F.mse_loss, sgd).sdfg


if __name__ == "__main__":
    unittest.main()
