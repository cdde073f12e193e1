"""A second process with the same model compiles nothing: programs come from the cache."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

from python.tests.case import Case

PROGRAM = """
import os, sys
sys.path.insert(0, os.path.join(os.getcwd(), "python", "package"))
import torch, headrace, headrace.torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 2))
x = torch.randn(3, 4)
for compiled in (torch.compile(model, backend="headrace", fullgraph=True), headrace.module(model)):
    y = compiled(x)
    y.square().sum().backward()
    print(float(y.detach().sum()), float(model[0].weight.grad.sum()))
print(headrace.counters()["torch.compile"]["programs"], headrace.counters()["torch.module"]["programs"])
"""


class SecondProcess(Case):
    def test_compiles_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            log, compiler = os.path.join(folder, "log"), os.path.join(folder, "c++")
            with open(compiler, "w", encoding="utf-8") as file:
                file.write(f'#!/bin/sh\necho "$@" >> "{log}"\nexec "{shutil.which(os.environ.get("CXX") or "c++")}" "$@"\n')
            os.chmod(compiler, os.stat(compiler).st_mode | stat.S_IXUSR)
            environment = {**os.environ, "CXX": compiler, "HEADRACE_CACHE_DIR": os.path.join(folder, "cache")}
            printed, compilations = [], []
            for _ in range(2):
                printed.append(subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True).stdout)
                with open(log, encoding="utf-8") as file:
                    compilations.append(sum("-std=" in line for line in file))
                os.unlink(log)
        self.assertEqual(printed[0].splitlines()[-1], "2 2")
        self.assertEqual(printed[0], printed[1])
        self.assertEqual(compilations, [4, 0])


if __name__ == "__main__":
    unittest.main()
