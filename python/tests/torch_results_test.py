"""Gradients that are large: in memory of their own, which the next ones take when they are gone."""

import unittest

from python.tests.case import Case, headrace

import torch  # noqa: E402
from torch import nn  # noqa: E402


class Gradients(Case):
    def setUp(self):
        torch.manual_seed(0)
        self.module = nn.Sequential(nn.Linear(600, 700), nn.Tanh(), nn.Linear(700, 800))
        self.compiled = headrace.module(self.module)
        self.x = torch.randn(3, 600)

    def step(self, module):
        module(self.x).square().sum().backward()
        return [p.grad for p in self.module.parameters()]

    def expected(self):
        self.module.zero_grad()
        found = [g.clone() for g in self.step(self.module)]
        self.module.zero_grad()
        return found

    def test_are_those_of_pytorch_in_every_step(self):
        expected = self.expected()
        for _ in range(3):
            self.module.zero_grad()
            for g, e in zip(self.step(self.compiled), expected):
                torch.testing.assert_close(g, e, rtol=1e-4, atol=1e-4)

    def test_next_ones_are_written_to_their_places(self):
        self.step(self.compiled)
        places = {p.grad.data_ptr() for p in self.module.parameters() if p.dim() == 2}
        self.module.zero_grad()
        self.step(self.compiled)
        self.assertEqual(places, {p.grad.data_ptr() for p in self.module.parameters() if p.dim() == 2})

    def test_ones_that_are_kept_stay(self):
        expected = self.expected()
        kept = self.step(self.compiled)
        for p in self.module.parameters():
            p.grad = None
        self.x = 2 * self.x
        self.step(self.compiled)
        for g, e in zip(kept, expected):
            torch.testing.assert_close(g, e, rtol=1e-4, atol=1e-4)

    def test_accumulate(self):
        expected = self.expected()
        self.step(self.compiled)
        for g, e in zip(self.step(self.compiled), expected):
            torch.testing.assert_close(g, 2 * e, rtol=1e-4, atol=1e-4)

    def test_are_changed_in_place_by_optimizers_and_clipping(self):
        self.step(self.compiled)
        norm = nn.utils.clip_grad_norm_(self.module.parameters(), 1.0)
        self.assertGreater(norm, 1)
        total = torch.cat([p.grad.flatten() for p in self.module.parameters()]).norm()
        torch.testing.assert_close(total, torch.tensor(1.0), rtol=1e-3, atol=1e-3)
        torch.optim.Adam(self.module.parameters()).step()


if __name__ == "__main__":
    unittest.main()
