"""headrace.module against eager torch in what networks of users keep: buffers that gradients read or that are written, assertions about data,
tensors that share memory."""

import copy
import unittest

from python.tests.case import headrace

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

import headrace.torch  # noqa: E402, F401: registers the backend, as the wheel's entry point does
from python.tests.torch_user_test import UserCase, leaf  # noqa: E402


class Labels(nn.Module):
    """one_hot looks whether its numbers are classes."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 3))

    def forward(self, labels):
        return F.one_hot(labels, 4).float() @ self.weight


class Product(nn.Module):
    def forward(self, x, y):
        return x * y * y.sin()


class Spectral(nn.Module):
    """Each training pass writes the vectors that its own gradient reads."""

    def __init__(self):
        super().__init__()
        self.first = nn.utils.parametrizations.spectral_norm(nn.Linear(5, 6))
        self.norm = nn.BatchNorm1d(6)
        self.last = nn.utils.parametrizations.weight_norm(nn.Linear(6, 2))

    def forward(self, x):
        return self.last(self.norm(torch.tanh(self.first(x))))


class Twice(nn.Module):
    """A buffer that two parts of one pass write, without gradients; the second layer is called twice."""

    def __init__(self):
        super().__init__()
        self.register_buffer("level", torch.ones(3))
        self.layer = nn.utils.parametrizations.spectral_norm(nn.Linear(3, 3))

    def forward(self, x):
        with torch.no_grad():
            self.level.lerp_(x.mean(0), 0.5)
        y = self.level.clone() * x
        with torch.no_grad():
            torch.mul(self.level, 3, out=self.level)
        held = self.level.clone()
        with torch.no_grad():
            self.level.mul_(0.5)
        return self.layer(y) + self.layer(x) + held, held


class Waves(nn.Module):
    """Complex parameters; i times a real number."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 5, dtype=torch.complex64))

    def forward(self, x):
        z = torch.complex(x[..., :4], x[..., 4:]) @ self.weight
        turned = z * torch.exp(1j * z.abs())
        return turned, torch.view_as_real(z[:, None] * z.conj()).flatten(1), (turned * turned).real.sum(-1)


class Kept(nn.Module):
    """A buffer, or a result, of which parts are written under torch.no_grad()."""

    def __init__(self, write):
        super().__init__()
        self.write = write
        self.weight = nn.Parameter(torch.ones(3))
        self.register_buffer("kept", torch.zeros(4, 3))

    def forward(self, x):
        y = 2 * x
        with torch.no_grad():
            self.write(self.kept, x, y)
        return y * self.weight @ self.kept.T.clone()


def into_a_row(kept, x, y):
    kept[0] = x.mean(0)


def into_views(kept, x, y):
    kept.copy_(kept.roll(1, 0))
    kept[:2].add_(x.mean(0))
    kept.t()[1].mul_(0.5).add_(x.sum())
    kept.view(-1)[:3] = x[1]


def into_a_result(kept, x, y):
    kept += 1
    y[0] = 3 * x[1]
    y.mul_(0.5)


class Averages(nn.Module):
    """A part that binds its buffers to new tensors."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        before = self.mean
        self.count = self.count + 1
        self.mean = 0.5 * self.mean + x.detach().mean(0)
        return (x - self.mean) * before / self.count


class Windows(nn.Module):
    """Batches counted back from windows, by a quotient of floats."""

    def forward(self, x):
        _, h, w = x.shape
        windows = x.reshape(-1, h // 2, 2, w // 2, 2).transpose(2, 3).reshape(-1, 2, 2).softmax(-1)
        batch = int(windows.shape[0] / (h * w / 2 / 2))
        return windows.view(batch, h // 2, w // 2, 2, 2).transpose(2, 3).reshape(batch, h, w)


class Ring(nn.Module):
    """Tensors of one number as indices: a step of a schedule, the place in a buffer."""

    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.zeros(4, 3))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))

    def forward(self, x, t, step):
        with torch.no_grad():
            self.kept[self.count % 4] = x.mean(0)
            self.count += 1
        y = x.clone()
        y[..., step] = 7
        y[step, :, None] += 1
        y[step][1] = 2
        row = y[-step]
        row.mul_(3)
        return y, t.cumprod(0)[step], x[step, step], x[None, step], x @ self.kept.T.clone()


class Detached(nn.Module):
    def forward(self, x):
        y = x + 1
        y.detach().mul_(2)
        return y


class State(UserCase):
    def test_assertions_about_data(self):
        eager, model, ours = self.pair(Labels)
        self.agree(eager, ours, ours, (torch.tensor([[1, 2], [0, 3]]),))
        for wrong, text in ((4, "smaller than num_classes"), (-1, "non-negative")):
            for compiled in (ours, torch.compile(model, backend="headrace", fullgraph=True)):
                with self.fails(RuntimeError, f"Class values must be {text}"):
                    compiled(torch.tensor([[1, wrong]]))
        self.assertNotIn("torch.fallback", headrace.counters())

    def test_steps_of_data_that_is_wrong_change_nothing(self):
        for make in (lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), lambda p: torch.optim.AdamW(p, lr=0.1)):
            for scaler in (None, torch.amp.GradScaler("cpu")):
                model = Labels()
                eager, optimizer = copy.deepcopy(model), make(model.parameters())
                step, theirs = headrace.train_step(model, lambda y: y.square().sum(), optimizer, scaler=scaler), make(eager.parameters())
                for k in range(3):
                    loss = eager(torch.tensor([[1, k]])).square().sum()
                    theirs.zero_grad()
                    loss.backward()
                    theirs.step()
                    self.same(step(torch.tensor([[1, k]])), loss.detach())
                    with self.fails(RuntimeError, "Class values must be smaller than num_classes"):
                        step(torch.tensor([[1, 4]]))
                    self.same(model.weight.detach(), eager.weight.detach())

    def test_buffers_that_gradients_read(self):
        eager, model, ours = self.pair(Twice)
        for n in (4, 2):
            self.agree(eager, ours, ours, (leaf(n, 3),))
        self.assertFalse(ours(leaf(n, 3))[1].requires_grad)
        headrace.reset_counters()
        eager, model, ours = self.pair(Spectral)
        for n in (3, 8, 3):
            self.agree(eager, ours, ours, (leaf(n, 5),))
        self.assertEqual(headrace.counters()["torch.module"], {"traces": 1, "programs": 2})
        for m in (eager, ours):
            m.eval()
        self.agree(eager, ours, ours, (leaf(4, 5),))

    def test_writes_without_gradients(self):
        for write in (into_a_row, into_views, into_a_result):
            with self.subTest(write=write.__name__):
                eager, model, ours = self.pair(lambda write=write: Kept(write))
                for n in (2, 3):
                    self.agree(eager, ours, ours, (leaf(n, 3),))
        with self.fails(headrace.UnsupportedError, "a detached tensor is changed in place", "detach().clone()"):
            headrace.module(Detached())(leaf(3))

    def test_buffers_that_are_bound_anew(self):
        for make in (Averages, lambda: nn.Sequential(nn.Linear(3, 3), nn.Sequential(Averages()))):
            eager, model, ours = self.pair(make)
            for n in (2, 3, 2):
                self.agree(eager, ours, ours, (leaf(n, 3),))

    def test_sizes_that_are_quotients_of_floats(self):
        eager, model, ours = self.pair(Windows)
        for shape in ((2, 4, 6), (3, 4, 6), (3, 8, 6), (2, 4, 6), (1, 2, 2), (3, 8, 4)):
            self.agree(eager, ours, ours, (leaf(*shape),))

    def test_tensors_of_one_number_as_indices(self):
        eager, model, ours = self.pair(Ring)
        for n, step in ((2, 1), (3, 0), (5, 2), (3, -1), (4, 1)):
            self.agree(eager, ours, ours, (leaf(n, 3), leaf(5), torch.tensor(step)))
        with self.fails(IndexError, "is out of bounds"):
            ours(leaf(3, 3), leaf(5), torch.tensor(6))

    def test_complex_numbers(self):
        eager, model, ours = self.pair(Waves)
        for n in (3, 8, 1):
            x = torch.randn(n, 8)
            for m in (ours, eager):
                m.zero_grad()
                z, pairs, sums = m(x)
                (z * torch.linspace(0, 1, 5)).imag.sum().backward(retain_graph=True)  # a complex gradient comes in
                (pairs.square().sum() + sums.sum()).backward()
            self.same_gradients(ours, eager)
            if n == 8:
                self.assertEqual(headrace.counters()["torch.module"]["programs"], 2)
        double = headrace.module(Product())
        given = [torch.randn(2, 3, dtype=torch.complex128).requires_grad_() for _ in range(2)]
        self.assertTrue(torch.autograd.gradcheck(double, given) and torch.autograd.gradgradcheck(double, given))

    def test_tensors_whose_elements_are_not_what_is_in_memory(self):
        x = torch.randn(3, 5, dtype=torch.complex64)
        ours = headrace.module(Product())
        compiled = torch.compile(Product(), backend="headrace")
        for given in (x.conj(), x.conj().imag, x.conj().imag.T):
            self.assertTrue(given.is_conj() or given.is_neg())
            for f in (ours, compiled):
                self.same(f(given, given), given * given * given.sin())

    def test_second_derivatives_beside_written_buffers(self):
        eager, model, ours = self.pair(lambda: nn.Sequential(nn.Linear(3, 4, bias=False), nn.BatchNorm1d(4), nn.Tanh()))
        x = torch.randn(5, 3)
        for m in (eager, ours):
            given = x.clone().requires_grad_()
            g, = torch.autograd.grad(m(given).square().sum(), given, create_graph=True)
            g.square().sum().backward()
        self.same_gradients(ours, eager)


if __name__ == "__main__":
    unittest.main()
