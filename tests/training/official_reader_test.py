"""A checkpoint by the safetensors package of the format's authors. usage: official_reader_test.py DRIVER"""

import os
import sys
import tempfile
import unittest

import numpy as np
import safetensors.numpy
from onnx import load, numpy_helper

from tests.training.runs import Runs, safetensors as by_hand


class OfficialReaderTest(unittest.TestCase):
    def test_it_reads_our_checkpoints(self):
        runs = Runs(sys.argv[1], tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR")))
        runs.train("run")
        path = runs.path("run/step-000000020.safetensors")
        theirs = safetensors.numpy.load_file(path)
        metadata, ours = by_hand(path)
        self.assertEqual(sorted(theirs), sorted(ours))
        for name, value in ours.items():
            self.assertEqual(theirs[name].dtype, value.dtype)
            np.testing.assert_array_equal(theirs[name], value)
        for t in load(runs.path("run.onnx")).graph.initializer:
            if t.name in theirs:
                np.testing.assert_array_equal(theirs[t.name], numpy_helper.to_array(t))
        with safetensors.safe_open(path, "numpy") as f:
            self.assertEqual(f.metadata(), metadata)


if __name__ == "__main__":
    unittest.main()
