"""What processes with a model start: compilers, for forward and backward program at once, and in the second process none."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
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


ONE = """
import os, sys
sys.path.insert(0, os.path.join(os.getcwd(), "python", "package"))
import torch, headrace, headrace.torch
headrace.module(torch.nn.Linear(4, 8))(torch.randn(3, 4))
"""


def with_compiler(folder: str, script: str) -> dict:
    """The environment for a process that compiles by a shell script, with an empty cache."""
    compiler = os.path.join(folder, "c++")
    with open(compiler, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n" + script)
    os.chmod(compiler, os.stat(compiler).st_mode | stat.S_IXUSR)
    return {**os.environ, "CXX": compiler, "HEADRACE_CACHE_DIR": os.path.join(folder, "cache")}


class SideBySide(Case):
    def test_an_error_of_both_programs_is_said_once(self):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**with_compiler(folder, ""), "CXX": os.path.join(folder, "none")}
            process = subprocess.run([sys.executable, "-c", ONE], env=environment, capture_output=True, text=True, check=False)
        self.assertNotEqual(process.returncode, 0)
        self.assertEqual(process.stderr.count("E0690"), 1, process.stderr)
        self.assertEqual(process.stderr.count("Traceback"), 1, process.stderr)

    def test_ctrl_c_ends_both(self):
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, "log")
            environment = with_compiler(folder, f'case "$*" in *--version*) echo c++ 1;; *) echo started >> "{log}"; exec sleep 300;; esac\n')
            process = subprocess.Popen([sys.executable, "-c", ONE], env=environment, stderr=subprocess.PIPE, text=True)
            started = 0
            for _ in range(1200):
                if os.path.exists(log):
                    with open(log, encoding="utf-8") as file:
                        started = len(file.readlines())
                if started >= 2 or process.poll() is not None:
                    break
                time.sleep(0.1)
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=60)[1]
        self.assertGreaterEqual(started, 2, said)
        self.assertIn("KeyboardInterrupt", said)


class SecondProcess(Case):
    def test_compiles_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, "log")
            environment = with_compiler(folder, f'echo "$@" >> "{log}"\nexec "{shutil.which(os.environ.get("CXX") or "c++")}" "$@"\n')
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
