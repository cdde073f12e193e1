"""Modules inside of what PyTorch has around modules: torch.func, batches of gradients, checkpoints, hooks."""

import copy
import unittest

from python.tests.case import Case, headrace

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402


def numbers(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(sum(shape)))


class Transforms(Case):
    def setUp(self):
        torch.manual_seed(0)
        self.eager = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 2)).double()
        self.ours = headrace.module(copy.deepcopy(self.eager))

    def agree(self, function):
        got, expected = function(self.ours), function(self.eager)
        torch.testing.assert_close(got, expected, rtol=1e-9, atol=1e-12)

    def test_other_parameters_for_one_call(self):
        def result(m):
            others = {name: (2 * p.detach()).requires_grad_() for name, p in m.named_parameters()}
            y = torch.func.functional_call(m, others, (numbers(4, 3),))
            return y, torch.autograd.grad(y.square().sum(), list(others.values()))

        self.agree(result)
        self.agree(lambda m: m(numbers(4, 3)))  # its own again

    def test_gradients_of_functions(self):
        def result(m):
            parameters = {name: p.detach() for name, p in m.named_parameters()}
            return torch.func.grad(lambda p: torch.func.functional_call(m, p, (numbers(4, 3),)).square().sum())(parameters)

        self.agree(result)
        self.agree(lambda m: torch.func.vmap(torch.func.grad(lambda x: m(x).sin().sum()))(numbers(4, 3)))

    def test_gradients_of_each_element_of_a_batch(self):
        def result(m):
            parameters, x = {name: p.detach() for name, p in m.named_parameters()}, numbers(4, 3)
            loss = lambda p, row: torch.func.functional_call(m, p, (row[None],)).square().sum()  # noqa: E731
            return torch.func.vmap(torch.func.grad(loss), (None, 0))(parameters, x)

        self.agree(result)

    def test_pulled_back_after_the_call(self):
        def result(m):
            parameters = {name: p.detach() for name, p in m.named_parameters()}
            y, pull = torch.func.vjp(lambda p, x: torch.func.functional_call(m, p, (x,)), parameters, numbers(4, 3))
            return y, pull(y), torch.func.vmap(pull)(torch.stack([y, 2 * y]))

        self.agree(result)

    def test_batches_and_jacobians(self):
        self.agree(lambda m: torch.func.vmap(m)(numbers(4, 5, 3)))
        self.agree(lambda m: torch.func.vmap(m, in_dims=1)(numbers(3, 4)))
        self.agree(lambda m: torch.func.jacrev(m)(numbers(3)))
        self.agree(lambda m: torch.autograd.functional.jacobian(m, numbers(4, 3), vectorize=True))
        self.agree(lambda m: torch.autograd.functional.hessian(lambda x: m(x).sum(), numbers(3)))

    def test_forward_mode_is_refused(self):
        self.agree(lambda m: torch.func.jacrev(torch.func.jacrev(lambda x: m(x).sum()))(numbers(3)))
        for way in (torch.func.jacfwd, torch.func.hessian):
            with self.fails(headrace.UnsupportedError, "forward mode", "hint: torch.func.jacrev"):
                way(lambda x: self.ours(x).sum())(numbers(3))
        with torch.autograd.forward_ad.dual_level(), self.fails(headrace.UnsupportedError, "forward mode"):
            self.ours(torch.autograd.forward_ad.make_dual(numbers(3), numbers(3)))

    def test_an_ensemble(self):
        stacked = {name: torch.stack([p.detach(), 2 * p.detach()]) for name, p in self.eager.named_parameters()}
        x = numbers(4, 3)
        self.agree(lambda m: torch.func.vmap(lambda p: torch.func.functional_call(m, p, (x,)))(stacked))

    def test_gradients_within_are_refused(self):
        class Force(nn.Module):
            def __init__(self, energy):
                super().__init__()
                self.energy = energy

            def forward(self, x):
                return torch.autograd.grad(self.energy(x).sum(), x, create_graph=True)[0]

        class Slopes(nn.Module):
            def forward(self, x):
                return torch.func.vmap(torch.func.jacrev(torch.sin))(x)

        for f in (Force(self.eager), Slopes()):
            with self.fails(headrace.UnsupportedError, "takes gradients itself", "hint: headrace.module of what is differentiated"):
                headrace.module(f)(numbers(4, 3).requires_grad_())
        x = numbers(4, 3).requires_grad_()
        torch.testing.assert_close(Force(self.ours)(x), Force(self.eager)(x))  # as the hint says

    def test_checkpoints(self):
        for reentrant in (True, False):
            self.ours.reset()

            def result(m, reentrant=reentrant):
                m.zero_grad()
                x = numbers(4, 3).requires_grad_()
                checkpoint(m, x, use_reentrant=reentrant).square().sum().backward()
                return [x.grad, *[p.grad for p in m.parameters()]]

            self.agree(result)

    def test_hooks_run_once(self):
        def result(m):
            seen = []
            m.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
            m.register_forward_hook(lambda module, args, y: 2 * y)
            m.register_full_backward_hook(lambda module, inputs, outputs: seen.append("back"))
            m[0].register_forward_hook(lambda module, args, y: y + 1)  # of a part: traced with it
            x = numbers(4, 3).requires_grad_()
            y = m(x)
            y.sum().backward()
            self.assertEqual(seen, ["back"])
            return y, x.grad

        self.agree(result)


if __name__ == "__main__":
    unittest.main()
