"""The com.microsoft operators against what ONNX Runtime computed. usage: golden_test.py DRIVER GOLDENS BACKEND [again]

With "again", ONNX Runtime computes everything anew: the recorded values must be what it says today."""

import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx

from tests.onnxruntime import cases, goldens

DRIVER = os.path.abspath(sys.argv[1])
GOLDENS = goldens.read(sys.argv[2])
BACKEND = sys.argv[3]
AGAIN = "again" in sys.argv[4:]


class GoldenTest(unittest.TestCase):
    def run_cases(self, some):
        """Output name → array, and "" or what went wrong."""
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
            onnx.save(cases.model(some), os.path.join(folder, "m.onnx"))
            args = [DRIVER, "run", "m.onnx", "--backend", BACKEND]
            names = []
            for c in some:
                for i, (name, x) in enumerate(zip(c.input_names(), c.inputs)):
                    if name and i not in c.constants:
                        np.save(os.path.join(folder, name + ".npy"), x)
                        args += ["--input", f"{name}=@{name}.npy"]
                names += [n for n in c.output_names() if n]
            for n in names:
                args += ["--output", f"{n}=@{n}.out.npy"]
            done = subprocess.run(args, cwd=folder, capture_output=True, text=True,
                                  env=dict(os.environ, HEADRACE_CACHE_DIR=os.path.join(folder, "cache")))
            if done.returncode != 0:
                return {}, done.stderr
            return {n: np.load(os.path.join(folder, n + ".out.npy")) for n in names}, ""

    def check(self, family):
        some = list(family())
        got, error = self.run_cases(some)
        for c in some:
            with self.subTest(case=c.name):
                if error:  # of one of them: each alone
                    got, wrong = self.run_cases([c])
                    self.assertEqual(wrong, "")
                for name in filter(None, c.output_names()):
                    self.assertEqual(cases.difference(c, got[name], GOLDENS[name]), "", name)


for f in cases.FAMILIES:
    setattr(GoldenTest, "test_" + f.__name__, lambda self, family=f: self.check(family))


class RecordedTest(unittest.TestCase):
    def test_every_case_is_recorded(self):
        names = [n for family in cases.FAMILIES for c in family() for n in c.output_names() if n]
        self.assertEqual(sorted(names), sorted(GOLDENS))
        self.assertEqual(len(names), len(set(names)))

    @unittest.skipUnless(AGAIN, "compares with ONNX Runtime itself")
    def test_onnx_runtime_still_says_so(self):
        now = goldens.compute()
        for family in cases.FAMILIES:
            for c in family():
                for name in filter(None, c.output_names()):
                    self.assertEqual(cases.difference(c, now[name], GOLDENS[name]), "", name)


if __name__ == "__main__":
    unittest.main()
