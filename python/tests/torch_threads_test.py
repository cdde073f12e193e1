"""Modules in threads, in the worker processes of a DataLoader, and with ever other batches."""

import copy
import unittest

import torch
from torch.utils.data import DataLoader, Dataset

from python.tests.case import Case, headrace, np
from python.tests.threads_test import in_threads, memory
from python.tests.torch_models import LeNet


class Squares(Dataset):
    """Items are computed by a compiled program and by a module, which the parent process has called before."""

    def __init__(self, program, module):
        self.program, self.module = program, module

    def __len__(self):
        return 12

    def __getitem__(self, k):
        x = np.full(3000, k, np.float32)
        with torch.no_grad():
            return torch.from_numpy(self.program(x)), self.module(torch.full((2, 3), float(k)))


class Threads(Case):
    def test_eight_threads_call_one_module(self):
        torch.manual_seed(0)
        eager = LeNet()
        module = headrace.module(copy.deepcopy(eager))
        inputs = [torch.randn(1 + k % 3, 1, 28, 28) for k in range(8)]
        expected = []
        for x in inputs:
            x.requires_grad_()
            y = eager(x)
            expected.append((y.detach(), *torch.autograd.grad(y.square().sum(), [x])))
        module(inputs[0])

        def work(k):
            for _ in range(5):
                x = inputs[k].detach().clone().requires_grad_()
                y = module(x)
                torch.testing.assert_close(y.detach(), expected[k][0], rtol=1e-4, atol=1e-4)
                torch.testing.assert_close(torch.autograd.grad(y.square().sum(), [x])[0], expected[k][1], rtol=1e-4, atol=1e-4)

        in_threads(8, work)

    def test_workers_of_a_data_loader(self):
        square = headrace.Sdfg.parse("sdfg square(X: f32[N], Y: f32[N]) { state { map i in 0:N { Y[i] = X[i] * X[i] } } }").compile()
        module = headrace.module(torch.nn.Linear(3, 2))
        data = Squares(square, module)
        here = [data[k] for k in range(len(data))]  # the threads of the runtime and of torch exist before the fork
        there = list(DataLoader(data, batch_size=None, num_workers=2, multiprocessing_context="fork"))
        self.assertEqual(len(there), len(here))
        for (a, b), (c, d) in zip(there, here):
            torch.testing.assert_close(a, c)
            torch.testing.assert_close(b, d)
        self.assertEqual(there[5][0][0], 25)

    def test_memory_with_changing_batches(self):
        module = headrace.module(torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)))
        data = torch.randn(200, 8)

        def call(m):
            module.zero_grad()
            module(data[:m]).sum().backward()

        for m in range(1, 200):
            call(m)
        before, programs = memory(), headrace.counters()["torch.module"]["programs"]
        for n in range(10_000):
            call(n * 7 % 199 + 1)
        self.assertLess(memory() - before, 4000)
        self.assertEqual(headrace.counters()["torch.module"]["programs"], programs)


if __name__ == "__main__":
    unittest.main()
