"""headrace.module against eager torch: results, gradients, training, and what a module must remain."""

import copy
import unittest

from python.tests.case import Case, headrace

import torch  # noqa: E402
from torch import nn  # noqa: E402

from python.tests.torch_models import MODELS, first  # noqa: E402


def pair(make):
    torch.manual_seed(0)
    eager = make()
    return eager, headrace.module(copy.deepcopy(eager))


class TorchCase(Case):
    def setUp(self):
        torch.manual_seed(1)
        headrace.reset_counters()

    def same(self, got, expected, rtol=1e-4):
        if expected is None or got is None:
            self.assertEqual(got is None, expected is None)
            return
        self.assertEqual((got.dtype, got.shape, got.requires_grad), (expected.dtype, expected.shape, expected.requires_grad))
        rtol = 1e-9 if expected.dtype == torch.float64 else rtol
        scale = float(expected.detach().abs().max()) if expected.numel() else 0.0
        torch.testing.assert_close(got, expected, rtol=rtol, atol=rtol * max(scale, 1e-3))

    def same_gradients(self, ours, eager):
        for (name, p), q in zip(eager.named_parameters(), ours.parameters()):
            with self.subTest(name):
                self.same(q.grad, p.grad)


class Images(TorchCase):
    def test_what_convolutions_and_pools_give_is_kept_with_channels_innermost(self):
        def make():
            depthwise = nn.Conv2d(16, 16, 3, stride=2, padding=1, groups=16, bias=False)
            return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.MaxPool2d(3, 1, 1), depthwise, nn.BatchNorm2d(16),
                                 nn.ReLU(), nn.Conv2d(16, 8, 1), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 25, 4))

        eager, ours = pair(make)
        for n in (2, 5):
            x = torch.randn(n, 3, 10, 10)
            theirs, mine = x.clone().requires_grad_(), x.clone().requires_grad_()
            for model in (eager, ours):
                model.zero_grad()
            eager(theirs).square().sum().backward()
            ours(mine).square().sum().backward()
            self.same(mine.grad, theirs.grad)
            self.same_gradients(ours, eager)
        held = {p.name: p.shape for p in ours.forward_sdfg.parameters if p.name.endswith("_innermost")}
        self.assertEqual(len(held), 3)  # of two convolutions and the pool
        self.assertEqual({s[-1] for s in held.values()}, {16})  # 8 channels fill no vector
        self.assertEqual({p.name: p.shape for p in ours.backward_sdfg.parameters if p.name.endswith("_innermost")}, held)

    def test_images_of_convolutions_in_groups_stay_as_they_are(self):
        def make():
            return nn.Sequential(nn.Conv2d(3, 32, 1), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1, groups=4), nn.ReLU(),
                                 nn.Conv2d(32, 16, 1), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 64, 4))

        eager, ours = pair(make)
        x = torch.randn(2, 3, 8, 8)
        for model in (eager, ours):
            model(x).square().sum().backward()
        self.same_gradients(ours, eager)
        held = [p.shape[-1] for p in ours.forward_sdfg.parameters if p.name.endswith("_innermost")]
        self.assertEqual(held, [32, 16])  # of the first convolution and the last


class Networks(TorchCase):
    def check(self, name):
        make, inputs = MODELS[name]
        eager, ours = pair(make)
        for n in (3, 8, 1):
            args = inputs(n)
            mine = [a.clone().requires_grad_() if a.is_floating_point() else a for a in args]
            theirs = [a.clone().requires_grad_() if a.is_floating_point() else a for a in args]
            torch.manual_seed(n)
            expected = first(eager(*theirs))
            torch.manual_seed(n)
            got = first(ours(*mine))
            self.same(got, expected)
            weight = torch.randn_like(expected)
            for model in (eager, ours):
                model.zero_grad()
            (expected * weight).sum().backward()
            (got * weight).sum().backward()
            self.same_gradients(ours, eager)
            for a, b in zip(mine, theirs):
                self.same(a.grad, b.grad)
            for a, b in zip(ours.buffers(), eager.buffers()):
                self.same(a, b)
            if n == 8:  # another size was no other program
                self.assertEqual(headrace.counters()["torch.module"], {"traces": 1, "programs": 2})
        self.train(eager, ours, inputs(4))

    def train(self, eager, ours, args):
        """20 steps: the losses are the same at each."""
        losses = []
        for model in (eager, ours):
            torch.manual_seed(5)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
            losses.append([])
            for _ in range(20):
                optimizer.zero_grad()
                loss = (first(model(*args)) - 0.5).square().mean()
                loss.backward()
                optimizer.step()
                losses[-1].append(loss.item())
        self.assertLess(losses[0][-1], losses[0][0])
        for a, b in zip(*losses):
            self.assertAlmostEqual(a, b, delta=1e-4 * max(abs(a), 1))

    def test_lenet(self):
        self.check("LeNet")

    def test_mlp(self):
        self.check("MLP")

    def test_bert(self):
        self.check("BERT")

    def test_batch_norm(self):
        self.check("BatchNorm")

    def test_interpolation(self):
        class Resized(nn.Module):
            def forward(self, x):
                return [nn.functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False),
                        nn.functional.interpolate(x, size=(7, 4), mode="nearest"),
                        nn.functional.interpolate(x, size=(5, 9), mode="bicubic", align_corners=True)]

        ours = headrace.module(Resized())
        for n in (3, 2):
            x = torch.randn(n, 2, 4, 5)
            mine, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
            got, expected = ours(mine), Resized()(theirs)
            for a, b in zip(got, expected):
                self.same(a, b)
            sum((r * r).sum() for r in got).backward()
            sum((r * r).sum() for r in expected).backward()
            self.same(mine.grad, theirs.grad)

    def test_lstm(self):
        self.check("LSTM")


if __name__ == "__main__":
    unittest.main()
