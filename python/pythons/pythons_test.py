"""One wheel on every Python of this machine: installed by pip into a fresh environment, and the quick start run.
usage: pythons_test.py MACHINE.json --wheel WHEEL | --missing TEXT"""

import argparse
import json
import os
import shutil
import subprocess
import tempfile
import unittest

parser = argparse.ArgumentParser()
parser.add_argument("machine", help="what third_party/python.bzl found and left out")
parser.add_argument("--wheel", type=os.path.abspath)
parser.add_argument("--missing", help="why there is no wheel for every Python")
OPTIONS = parser.parse_args()
with open(OPTIONS.machine, encoding="utf-8") as f:
    MACHINE = json.load(f)

QUICK_START = """
import time

import numpy as np

began = time.perf_counter()
import headrace

taken = time.perf_counter() - began
N = headrace.symbol("N")


@headrace.program
def jacobi(steps: int, A: headrace.float64[N], B: headrace.float64[N]):
    for t in range(steps):
        B[1:-1] = (A[:-2] + A[1:-1] + A[2:]) / 3
        A[1:-1] = (B[:-2] + B[1:-1] + B[2:]) / 3


def loss(x, y):
    return np.sum(np.sin(x) * y)


def numpy_jacobi(steps, A, B):
    for t in range(steps):
        B[1:-1] = (A[:-2] + A[1:-1] + A[2:]) / 3
        A[1:-1] = (B[:-2] + B[1:-1] + B[2:]) / 3


def turned(x):
    return x * (1 + 2j)


rng = np.random.default_rng(0)
a, b = rng.random(20), rng.random(20)
c, d = a.copy(), b.copy()
jacobi(10, a, b)
numpy_jacobi(10, c, d)
np.testing.assert_allclose(a, c)
x, y = rng.random(7), rng.random(7)
value, gradient = headrace.value_and_grad(loss, "x")(x, y)
np.testing.assert_allclose(value, np.sum(np.sin(x) * y))
np.testing.assert_allclose(gradient, np.cos(x) * y)
np.testing.assert_allclose(headrace.program(turned, backend="interpreter")(2.0), 2 + 4j)
np.testing.assert_allclose(headrace.Sdfg.parse("sdfg f(x: c128, y: c128) { y = x * x }")(1 + 2j), (1 + 2j)**2)
try:
    headrace.Sdfg.parse("sdfg f(")
except headrace.InvalidError as error:
    assert "error[" in str(error), error
print(headrace._core.__file__, taken)
"""


class Pythons(unittest.TestCase):
    def check(self, python, packages):
        folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        venv = os.path.join(folder, "venv")
        made = subprocess.run([python, "-m", "venv", venv], capture_output=True, text=True)
        if made.returncode != 0:
            self.skipTest(f"no virtual environment with pip: {made.stdout.strip()}")
        inside = os.path.join(venv, "bin", "python")
        subprocess.run([inside, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--disable-pip-version-check", OPTIONS.wheel],
                       check=True)
        path = os.path.join(folder, "quick_start.py")
        with open(path, "w") as f:
            f.write(QUICK_START)
        environment = {"PATH": os.path.dirname(inside) + ":/usr/bin:/bin", "HOME": folder, "PYTHONPATH": packages}
        done = subprocess.run([inside, path], env=environment, cwd=folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        core, taken = done.stdout.split()
        self.assertTrue(core.startswith(venv), core)
        self.assertLess(float(taken), 0.5)
        version = subprocess.run(["headrace", "--version"], env=environment, capture_output=True, text=True, check=True).stdout
        self.assertRegex(version, r"\d+\.\d+")
        return os.path.basename(core)


def on(version):
    def test(self):
        if OPTIONS.missing:
            self.skipTest(f"the wheel for every Python was not built: it lacks the headers of {OPTIONS.missing}")
        if version in MACHINE["left out"]:
            self.skipTest(MACHINE["left out"][version])
        core = self.check(*MACHINE["found"][version])
        self.assertRegex(core, r"cpython-311" if version == "3.11" else r"^_core\.abi3\.so$")

    return test


for _version in (*MACHINE["found"], *MACHINE["left out"]):
    setattr(Pythons, f"test_python_{_version.replace('.', '_')}", on(_version))

if __name__ == "__main__":
    unittest.main()
