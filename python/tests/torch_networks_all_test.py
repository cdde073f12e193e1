"""GPT, U-Net, ViT, LSTM, and Hugging Face's BERT and LLaMA where transformers is installed: eager against headrace.module and
torch.compile, results and all gradients, over batches and lengths; prints one table, and asserts the number of programs."""

import unittest

from python.tests.torch_networks import NETWORKS  # noqa: E402
from python.tests.torch_networks_test import WAYS, NetworksCase  # noqa: E402


class Networks(NetworksCase):
    @classmethod
    def setUpClass(cls):
        print("| network | way | programs |")
        if not any("Hugging Face" in name for name in NETWORKS):
            print("left out, for transformers is not installed: BERT and LLaMA of Hugging Face")


def check(name):
    make, arguments = NETWORKS[name]
    # Dynamo leaves nn.LSTM to eager code, and what is around it are graphs of their own.
    ways = ["headrace.module"] if name == "LSTM" else WAYS
    return lambda self: self.count(name, make, arguments, ways)


for _name in NETWORKS:
    setattr(Networks, "test_" + "".join(c if c.isalnum() else "_" for c in _name.lower()), check(_name))


if __name__ == "__main__":
    unittest.main()
