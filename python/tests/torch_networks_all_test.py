"""GPT, U-Net, ViT, LSTM, and Hugging Face's BERT and LLaMA where transformers is installed: eager against headrace.module and
torch.compile, results and all gradients, over batches and lengths; prints one table."""

import copy
import unittest

from python.tests.case import headrace

import torch  # noqa: E402

from python.tests.torch_module_test import TorchCase  # noqa: E402
from python.tests.torch_networks import NETWORKS  # noqa: E402

SIZES = ((3, 16), (8, 16), (1, 16), (2, 40), (3, 40))  # batch, length


def tensors(result) -> list:
    if isinstance(result, torch.Tensor):
        return [result]
    result = result.to_tuple() if hasattr(result, "to_tuple") else result
    return [t for r in result for t in tensors(r)] if isinstance(result, (tuple, list)) else []


class Networks(TorchCase):
    def compare(self, make, arguments, compiled) -> None:
        torch.manual_seed(0)
        eager = make()
        model = copy.deepcopy(eager)
        ours = compiled(model)
        for batch, length in SIZES:
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

    def test_networks(self):
        print("| network | way | programs |")
        for name, (make, arguments) in NETWORKS.items():
            for way, compiled in (("headrace.module", headrace.module),
                                  ("torch.compile", lambda m: torch.compile(m, backend="headrace", dynamic=True))):
                with self.subTest(name=name, way=way):
                    headrace.reset_counters()
                    torch._dynamo.reset()
                    self.compare(make, arguments, compiled)
                    counted = headrace.counters()
                    self.assertNotIn("torch.fallback", counted)
                    print(f"| {name} | {way} | {sum(group.get('programs', 0) for group in counted.values())} |")
        if len(NETWORKS) == 4:
            print("left out, for transformers is not installed: BERT and LLaMA of Hugging Face")


if __name__ == "__main__":
    unittest.main()
