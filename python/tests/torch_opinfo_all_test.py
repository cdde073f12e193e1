"""All of torch's OpInfo samples through torch.compile(backend="headrace"): prints the table, fails where something is wrong."""

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.getcwd())

from python.tests import torch_opinfo  # noqa: E402


class All(unittest.TestCase):
    """One test per part, so that a test runner may spread them."""


def _part(k: int, parts: int):
    def test(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(torch_opinfo.main(["--out", os.path.join(folder, "results.jsonl"), "--part", f"{k}/{parts}"]), 0)

    return test


for _k in range(16):
    setattr(All, f"test_part_{_k:02}", _part(_k, 16))

if __name__ == "__main__":
    unittest.main()
