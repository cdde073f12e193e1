"""What a compiled module must share with the module it was: state, autograd's rules, hooks, errors."""

import copy
import pickle
import unittest

from python.tests.case import Case, Wrong, headrace

import torch  # noqa: E402
from torch import nn  # noqa: E402


class Gate(nn.Module):
    """Nested results, keyword arguments, a shared parameter, one that nothing reads."""

    def __init__(self, width=3):
        super().__init__()
        self.a = nn.Linear(width, width)
        self.b = nn.Linear(width, width)
        self.b.weight = self.a.weight
        self.unused = nn.Parameter(torch.ones(2))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, x, *, scale=None, power: int = 1):
        self.calls += 1
        y = torch.tanh(self.a(x)) * self.b(x.detach()) ** power
        if scale is not None:
            y = y * scale
        return {"y": y, "more": (y.sum(), x, [x.argmax(-1)])}


@headrace.module(inputs_to_skip="b")
class Product(nn.Module):
    """Decorated."""

    def __init__(self, bias):
        super().__init__()
        self.bias = nn.Parameter(torch.full((2,), bias))

    def forward(self, a, b):
        return a * b + self.bias


class Behaviour(Case):
    def setUp(self):
        torch.manual_seed(0)
        headrace.reset_counters()

    def check(self, got, expected):
        torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-6)

    def test_structures_state_and_gradients(self):
        eager = Gate()
        ours = headrace.module(copy.deepcopy(eager))
        x, scale = torch.randn(4, 3), torch.rand(3)
        expected, got = eager(x, scale=scale, power=2), ours(x, scale=scale, power=2)
        for result in (expected, got):
            (result["y"].square().sum() + result["more"][0]).backward()
        self.check(got["y"], expected["y"])
        self.assertIs(got["more"][1], x)
        self.assertTrue(torch.equal(got["more"][2][0], expected["more"][2][0]))
        self.assertFalse(got["more"][2][0].requires_grad)
        for (name, p), (other, q) in zip(eager.named_parameters(), ours.named_parameters()):
            self.assertEqual(name, other)
            self.assertEqual(p.grad is None, q.grad is None, name)
            if p.grad is not None:
                self.check(q.grad, p.grad)
        self.assertIsNone(ours.unused.grad)
        self.assertEqual(int(ours.calls), 1)
        self.assertEqual(list(eager.state_dict()), list(ours.state_dict()))
        self.assertIsInstance(ours, Gate)
        self.assertIs(ours.b.weight, ours.a.weight)

        ours.load_state_dict({k: v + 1 for k, v in eager.state_dict().items()})
        eager.load_state_dict(ours.state_dict())
        self.check(ours(x, scale=scale, power=2)["y"], eager(x, scale=scale, power=2)["y"])
        self.assertEqual(headrace.counters()["torch.module"]["traces"], 1)
        with torch.no_grad():
            self.assertIsNone(ours(x, scale=scale, power=2)["y"].grad_fn)

        other = copy.deepcopy(ours)
        other.a.weight = nn.Parameter(torch.zeros(3, 3))  # replaced: found at the next call
        other.b.weight = other.a.weight
        self.check(other(x)["y"], torch.tanh(other.a.bias) * other.b.bias.expand(4, 3))
        self.assertFalse(torch.equal(ours.a.weight, other.a.weight))
        again = pickle.loads(pickle.dumps(ours))
        self.assertEqual(list(again.state_dict()), list(ours.state_dict()))

    def test_rules_of_autograd(self):
        f = headrace.module(Multiply())
        x, y = torch.rand(3, requires_grad=True), torch.rand(3, requires_grad=True)
        a, b = f(x, y)
        (first,) = torch.autograd.grad(a.sum(), x, retain_graph=True)
        (second,) = torch.autograd.grad(a.sum(), x)
        self.check(first, 2 * x * y)
        self.check(second, first)
        with self.assertRaisesRegex(RuntimeError, "second time"):
            torch.autograd.grad(a.sum(), x)
        self.assertEqual(torch.autograd.grad(f(x, y)[1].sum(), [x, y], allow_unused=True)[0], None)
        a, b = f(x, y)
        with torch.no_grad():
            x += 1
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            a.sum().backward()
        y.requires_grad_(False)
        a, b = f(x, y)
        self.assertTrue(a.requires_grad)
        self.assertFalse(b.requires_grad)
        self.check(f(torch.ones(1).expand(3), y)[0], y)  # an expanded argument

    def test_gradcheck(self):
        f = headrace.module(Multiply()).double()
        x, y = (torch.rand(4, dtype=torch.float64, requires_grad=True) for _ in range(2))
        self.assertTrue(torch.autograd.gradcheck(f, (x, y)))
        self.assertTrue(torch.autograd.gradgradcheck(f, (x, y)))

    def test_what_a_trace_could_lose(self):
        x = torch.rand(3, requires_grad=True)
        for make in (NoGradient, Nested):
            eager = make()
            ours = headrace.module(copy.deepcopy(eager))
            with torch.no_grad():
                ours(x)  # the trace is the same whether or not gradients are on
            leaves = lambda m: [x, *m.parameters()]  # noqa: E731
            got = torch.autograd.grad(ours(x).sum(), leaves(ours), allow_unused=True)
            for a, b in zip(got, torch.autograd.grad(eager(x).sum(), leaves(eager), allow_unused=True)):
                self.assertEqual(a is None, b is None)
                if b is not None:
                    self.check(a, b)
        with self.fails(headrace.UnsupportedError, "Scaled has a gradient of its own", "torch.compile"):
            headrace.module(Own())(x)
        ours = headrace.module(Nested())
        self.assertEqual(ours(x).shape, (2,))
        ours.last = nn.Linear(4, 5)  # a part is replaced
        self.assertEqual(ours(x).shape, (5,))

    def test_training_mode_and_types(self):
        eager = nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(0.5))
        ours = headrace.module(copy.deepcopy(eager))
        x = torch.randn(5, 3)
        results = []
        for model in (eager, ours):
            torch.manual_seed(2)
            results.append([model(x), model.eval()(x), model.double()(x.double())])
        for a, b in zip(*results):
            self.check(b, a)
        for a, b in zip(ours.buffers(), eager.buffers()):
            self.check(a, b)

    def test_decorator_hooks_and_reset(self):
        f = Product(1.0)
        seen = []
        f.append_post_onnx_hook(lambda sdfg: seen.append(("read", len(sdfg.parameters))))
        f.prepend_post_onnx_hook(lambda sdfg: seen.append("first"))
        f.append_post_autodiff_hook(lambda forward, backward: seen.append(
            [any(p.name.startswith("grad_") for p in s.parameters) for s in (forward, backward)]))
        f.append_post_compile_hook(lambda program: seen.append("compiled"))
        a, b = torch.rand(2, requires_grad=True), torch.rand(2, requires_grad=True)
        f(a, b).sum().backward()
        self.check(a.grad, b.detach())
        self.assertIsNone(b.grad)
        self.check(f.bias.grad, torch.ones(2))
        self.assertEqual(seen, ["first", ("read", 4), "compiled", [False, True]])
        with self.fails(headrace.UsageError, "post_onnx_hook", "too late", "reset()"):
            f.append_post_onnx_hook(print)
        f.reset()
        f.append_post_onnx_hook(print)
        self.assertEqual(f.__doc__, "Decorated.")

    def test_wrong_use(self):
        with self.fails(TypeError, "torch.nn.Module", "int"):
            headrace.module(3)
        with self.fails(headrace.UnsupportedError, "Branch", "torch.export", "hint"):
            headrace.module(Branch())(torch.ones(2))
        with self.fails(headrace.UnsupportedError, "aten.histc"):
            headrace.module(Counted())(torch.ones(2))
        with self.fails(headrace.UsageError, "inputs_to_skip: Linear has no argument 'inputs'; did you mean 'input'?"):
            headrace.module(nn.Linear(2, 2), inputs_to_skip=["inputs"])(torch.ones(1, 2))
        for name in ("sdfg", "forward_sdfg", "backward_sdfg"):
            with self.fails(headrace.UsageError, "nothing is traced"):
                getattr(headrace.module(nn.Linear(2, 2)), name)

    def test_arguments_that_eager_code_refuses_too(self):
        for backward in (True, False):
            f, x = headrace.module(nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)), backward=backward), torch.ones(5, 3)
            for wrong, kind, parts in ((x.double(), RuntimeError, ("input is float64[5, 3]", "Double and Float", "hint: its parameters are float32")),
                                       (x[:, :2], RuntimeError, ("input is float32[5, 2]", "cannot be multiplied")),
                                       (x.long(), RuntimeError, ("input is int64[5, 3]",)), (None, TypeError, ("input is None", "must be Tensor"))):
                for _ in range(2):  # before and after there is a program
                    with self.fails(kind, "Sequential does not take these arguments", *parts) as e:
                        f(wrong)
                    self.assertIsInstance(e.error.exception, headrace.InvalidError)
                    self.assertNotIn("-->", str(e.error.exception))
                f(x)
            self.assertEqual(f[1].num_batches_tracked, 4)  # what was refused has changed nothing
        table = headrace.module(nn.Embedding(10, 4))
        table(torch.tensor([1]))
        with self.fails(IndexError, "Embedding does not take these arguments: input is int64[2]", "index out of range"):
            table(torch.tensor([1, 10]))

        class Own(ValueError):
            def __init__(self, one, two):
                super().__init__(f"{one} {two}")

        class Refuses(nn.Module):
            def forward(self, x):
                raise Own("no", "ones")

        with self.fails(Own, "no ones"):
            headrace.module(Refuses())(x)

    def test_programs_may_be_changed_before_they_are_compiled(self):
        torch.manual_seed(0)
        plain = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
        model, x = headrace.module(copy.deepcopy(plain)), torch.randn(5, 3)
        headrace.reset_counters()
        model.trace_call(x)
        self.assertEqual(headrace.counters()["torch.module"], {"traces": 1})
        self.assertIn("tanh(", model.sdfg.text)
        model.sdfg.apply(lambda s: setattr(s, "_program", headrace.Sdfg.parse(s.text.replace("tanh(", "sin("))._program))
        plain[1].forward = torch.sin  # what is compiled is the program as it was changed
        self.assertIs(model.forward_sdfg.apply("simplify"), model.forward_sdfg)
        step = model.backward_sdfg.matches("eliminate-dead-code", "fuse-states", "fuse-maps")
        model.backward_sdfg.apply(step[0] if step else "simplify")
        model(x).square().sum().backward()
        plain(x).square().sum().backward()
        for p, q in zip(plain.parameters(), model.parameters()):
            torch.testing.assert_close(q.grad, p.grad)
        for program in (model.sdfg, model.forward_sdfg, model.backward_sdfg):
            with self.fails(headrace.UsageError, "can't be changed any more", "trace_call"):
                program.apply("simplify")
            program.copy().apply("simplify")
        headrace.module(plain).requires_grad_(False)
        with torch.no_grad():
            model(x)
        self.assertIn("sdfg", model.forward_sdfg.text)  # still those of the trace

    def test_what_takes_no_gradients_has_no_backward_program(self):
        model = headrace.module(nn.Linear(2, 2).requires_grad_(False))
        model.trace_call(torch.ones(1, 2))
        with self.fails(headrace.UsageError, "takes no gradients"):
            model.backward_sdfg
        model.sdfg.apply("simplify")
        torch.testing.assert_close(model(torch.ones(1, 2)), model._original()(torch.ones(1, 2)))
        with self.fails(headrace.UsageError, "can't be changed any more"):
            model.sdfg.apply("simplify")

    def test_any_number_of_arguments(self):
        class Sum(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(3, 3)

            def forward(self, *parts, scale=1.0, **named):
                total = sum(parts) * scale
                for key in sorted(named):
                    total = total + named[key] * len(key)
                return self.layer(total)

        plain = Sum()
        model = headrace.module(copy.deepcopy(plain))
        a, b, d = torch.randn(3, 2, 3)
        for args, named in (((a,), {}), ((a, b), {}), ((a, b, d), {"scale": 2.0}), ((a,), {"other": b}), ((a,), {"other": b, "more": d}), ((a, b), {})):
            for size in (2, 1):
                cut = [x[:size] for x in args], {k: v[:size] if isinstance(v, torch.Tensor) else v for k, v in named.items()}
                torch.testing.assert_close(model(*cut[0], **cut[1]), plain(*cut[0], **cut[1]))


class Multiply(nn.Module):
    def forward(self, x, y):
        return x * x * y, y.sin()


class Branch(nn.Module):
    def forward(self, x):
        return x + 1 if x.sum() > 0 else x


class NoGradient(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        with torch.no_grad():
            y = self.layer(x)
            z = y * 2
        return y * x + z


class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = headrace.module(nn.Linear(3, 4)), nn.Linear(4, 2)

    def forward(self, x):
        return self.last(self.first(x))


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return g * 100


class Own(nn.Module):
    def forward(self, x):
        return Scaled.apply(x) + 1


class Counted(nn.Module):
    def forward(self, x):
        return x.histc(bins=4)


class DebuggingTest(Case):
    def test_verify(self):
        for kind in (torch.float32, torch.float64, torch.bfloat16):
            torch.manual_seed(0)
            net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).to(kind)
            checked = headrace.module(copy.deepcopy(net), verify="interpreter")
            x = torch.randn(5, 3, dtype=kind)
            for _ in range(2):
                checked(x).sum().backward()
            torch.testing.assert_close(checked(x), net(x), rtol=5e-2 if kind == torch.bfloat16 else 1e-5, atol=1e-2 if kind == torch.bfloat16 else 1e-6)
        function = next(iter(checked._headrace_state.versions.values()))[0].function
        runner = next(iter(function._pairs.values())).forward if function._pairs else function._plain
        compiled = runner.compiled
        compiled._executable = Wrong(compiled._executable, 0, (1, 1))
        with self.fails(headrace.MismatchError, "the interpreter gives"):
            checked(x)
        with self.fails(headrace.UsageError, "verify is 'interpreter'"):
            headrace.module(net, verify="reference")

    def test_what_a_program_writes_is_seen_by_autograd(self):
        def scale(x, by):
            x *= by

        program, total = headrace.program(scale), headrace.program(lambda x: x + 1)
        w, x = torch.ones(3, requires_grad=True), torch.ones(3)
        loss = (w * x).sum()
        version = x._version
        program(x, 2.0)
        torch.testing.assert_close(x, torch.full((3,), 2.0))
        self.assertEqual(x._version, version + 1)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            loss.backward()
        version = x._version
        total.sdfg_for(x).compile()(x)
        self.assertEqual(x._version, version)  # only read
        y = torch.empty(3)
        total.sdfg_for(x).compile()(x, out=[y])
        self.assertEqual(y._version, 1)
        with torch.inference_mode():
            z = torch.ones(3)
            program(z, 2.0)
        program(z, 2.0)
        torch.testing.assert_close(z, torch.full((3,), 4.0))

    def test_dump_dir(self):
        import os
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            headrace.module(nn.Linear(3, 4), dump_dir=folder)(torch.randn(2, 3)).sum().backward()
            self.assertEqual(len(os.listdir(folder)), 2)


if __name__ == "__main__":
    unittest.main()
