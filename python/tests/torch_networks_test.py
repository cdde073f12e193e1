"""Networks of torch_networks.py, eager against headrace.module and torch.compile: results and all gradients over batches and lengths,
1 among them, and how many programs that takes. Here a small GPT and an LSTM; torch_networks_all_test.py has all of them."""

import copy
import functools
import unittest

from python.tests.case import headrace

import torch  # noqa: E402

import headrace.torch  # noqa: E402, F401: registers the backend, as the wheel's entry point does
from python.tests.torch_module_test import TorchCase  # noqa: E402
from python.tests.torch_networks import Gpt, Tagger, ids  # noqa: E402

SIZES = ((3, 16), (8, 40), (1, 16), (1, 40), (2, 40), (8, 16))  # batch, length
#: A forward and a backward program for all sizes; torch.compile's first graph has the first sizes built in, unless dynamic=True.
WAYS = {
    "headrace.module": (headrace.module, "torch.module", 2),
    "torch.compile(dynamic=True)": (functools.partial(torch.compile, backend="headrace", dynamic=True), "torch.compile", 2),
    "torch.compile": (functools.partial(torch.compile, backend="headrace"), "torch.compile", 4),
}


def tensors(result) -> list:
    if isinstance(result, torch.Tensor):
        return [result]
    result = result.to_tuple() if hasattr(result, "to_tuple") else result
    return [t for r in result for t in tensors(r)] if isinstance(result, (tuple, list)) else []


class NetworksCase(TorchCase):
    def compare(self, make, arguments, compiled, sizes=SIZES) -> None:
        torch.manual_seed(0)
        eager = make()
        model = copy.deepcopy(eager)
        ours = compiled(model)
        for batch, length in sizes:
            with self.subTest(batch=batch, length=length):
                args = arguments(batch, length)
                expected, got = tensors(eager(*args)), tensors(ours(*args))
                self.assertEqual(len(got), len(expected))
                for a, b in zip(got, expected):
                    self.same(a, b)
                for m, results in ((eager, expected), (model, got)):
                    m.zero_grad()
                    sum(r.square().mean() for r in results).backward()
                self.same_gradients(model, eager)

    def count(self, name, make, arguments, ways=tuple(WAYS)) -> None:
        for way in ways:
            compiled, group, programs = WAYS[way]
            with self.subTest(name=name, way=way):
                headrace.reset_counters()
                torch._dynamo.reset()
                self.compare(make, arguments, compiled)
                counted = headrace.counters()
                self.assertNotIn("torch.fallback", counted)
                print(f"| {name} | {way} | {counted[group]['programs']} |")
                self.assertEqual(counted[group]["programs"], programs)


class Small(NetworksCase):
    def test_gpt(self):
        self.count("GPT", lambda: Gpt(width=12, heads=2, layers=1), ids, ways=["headrace.module"])

    def test_gpt_compiled(self):
        self.count("GPT", lambda: Gpt(width=12, heads=2, layers=1), ids, ways=["torch.compile(dynamic=True)"])

    def test_lstm(self):
        self.count("LSTM", lambda: Tagger(width=4, layers=1), ids, ways=["headrace.module"])


if __name__ == "__main__":
    unittest.main()
