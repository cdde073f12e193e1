"""torch modules called inside of programs, with their parameters' gradients, against eager PyTorch."""

import unittest

import numpy as np
import torch
from case import Case, headrace

N = headrace.symbol("N")
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
bare = torch.nn.Linear(4, 3)
normalised = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3)).eval()
wrapped = headrace.module(torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()))


def program(function):
    return headrace.program(function, backend="interpreter")


@program
def forward(x, parameters):
    return net(x, **parameters) * 2


@program
def symbolic(x: headrace.float32[N, 4], w: headrace.float32[3, 4], b: headrace.float32[3]):
    w.requires_grad_()
    loss = np.sum(bare(x, weight=w, bias=b) ** 2)
    loss.backward()
    return loss, w.grad


@program
def loss(parameters, x, y):
    return np.mean((net(x, **parameters) - y) ** 2)


def arrays(module, buffers=False):
    named = [*module.named_parameters(), *(module.named_buffers() if buffers else ())]
    return {n: p.detach().numpy() for n, p in named}


class TorchEmbeddedTest(Case):
    x = np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32)

    def test_forward(self):
        self.close(forward(self.x, arrays(net)), 2 * net(torch.from_numpy(self.x)).detach().numpy(), rtol=1e-5, atol=1e-6)
        changed = {n: p * 0.5 for n, p in arrays(net).items()}
        expected = torch.func.functional_call(net, {n: torch.from_numpy(p) for n, p in changed.items()}, (torch.from_numpy(self.x),))
        self.close(forward(self.x, changed), 2 * expected.detach().numpy(), rtol=1e-5, atol=1e-6)

    def test_sizes_that_calls_decide(self):
        for rows in (5, 1, 3):
            x = torch.from_numpy(self.x[:rows])
            w, b = bare.weight.detach().clone().requires_grad_(), bare.bias.detach()
            expected = (torch.nn.functional.linear(x, w, b) ** 2).sum()
            expected.backward()
            value, of_w = symbolic(self.x[:rows], w.detach().numpy(), b.numpy())
            self.close(value, expected.detach().numpy(), rtol=1e-5)
            self.close(of_w, w.grad.numpy(), rtol=1e-4, atol=1e-5)

    def test_gradients_of_all_parameters(self):
        y = np.ones((5, 3), np.float32)
        ours = headrace.grad(loss)(arrays(net), self.x, y)
        net.zero_grad()
        ((net(torch.from_numpy(self.x)) - torch.from_numpy(y)) ** 2).mean().backward()
        self.assertEqual(list(ours), [n for n, _ in net.named_parameters()])
        for name, p in net.named_parameters():
            self.close(ours[name], p.grad.numpy(), rtol=1e-4, atol=1e-6)

    def test_buffers_and_modules_of_ours(self):
        @program
        def f(x, states):
            return normalised(x, **states)

        self.close(f(self.x, arrays(normalised, buffers=True)), normalised(torch.from_numpy(self.x)).detach().numpy(), rtol=1e-4, atol=1e-5)

        @program
        def g(x, states):
            return wrapped(x, **states)

        expected = np.maximum(self.x @ arrays(wrapped)["0.weight"].T + arrays(wrapped)["0.bias"], 0)
        self.close(g(self.x, arrays(wrapped)), expected, rtol=1e-4, atol=1e-6)

    def test_wrong_use(self):
        training = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Dropout())

        @program
        def without(x):
            return bare(x)

        @program
        def random(x, states):
            return training(x, **states)

        @program
        def another(x, states):
            return bare(x, **states)

        with self.fails(TypeError, "Linear is called without its weight, bias", "named_parameters()", "^^^"):
            without(self.x)
        with self.fails(NotImplementedError, "draws random numbers", "eval()"):
            random(self.x, arrays(training))
        with self.fails(ValueError, "has shape (3, 4), and (4, 4) is given"):
            another(self.x, {"weight": np.zeros((4, 4), np.float32), "bias": np.zeros(3, np.float32)})


if __name__ == "__main__":
    unittest.main()
