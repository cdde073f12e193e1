"""Two threads beside one on a busy machine: another process spins on every core. usage: busy_test.py DRIVER

    ./bazelw test --config=nightly //benchmarks:busy --test_output=all

Mean times (runs in a fixed time), the two in turns. A region that waits for a thread which the system has not scheduled
shows as a ratio of ten and more; the promise is 1.5.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import onnx
from tests.models import light_models

DRIVER = os.path.abspath(sys.argv[1])
SECONDS, ROUNDS, LIMIT = 2, 3, 1.5

JACOBI = """sdfg jacobi_2d(A: f64[N, N], L: f64) {
  transient B: f64[N, N]
  transient C: f64[N, N]
  state { map i in 0:N, j in 0:N { C[i, j] = A[i, j] ; B[i, j] = A[i, j] } }
  for t in 0:20 {
    state { map i in 1:N - 1, j in 1:N - 1 { B[i, j] = 0.2 * (C[i, j] + C[i, j - 1] + C[i, j + 1] + C[i + 1, j] + C[i - 1, j]) } }
    state { map i in 1:N - 1, j in 1:N - 1 { C[i, j] = 0.2 * (B[i, j] + B[i, j - 1] + B[i, j + 1] + B[i + 1, j] + B[i - 1, j]) } }
  }
  L = 0
  L += C[i, j]
}
"""
HEAT_STEP = """    state { map i in 1:N - 1, j in 1:N - 1, k in 1:N - 1 {
      %(to)s[i, j, k] = %(of)s[i, j, k] + 0.125 * (%(of)s[i + 1, j, k] - 2 * %(of)s[i, j, k] + %(of)s[i - 1, j, k]) +
        0.125 * (%(of)s[i, j + 1, k] - 2 * %(of)s[i, j, k] + %(of)s[i, j - 1, k]) +
        0.125 * (%(of)s[i, j, k + 1] - 2 * %(of)s[i, j, k] + %(of)s[i, j, k - 1])
    } }
"""
HEAT = f"""sdfg heat_3d(A: f64[N, N, N], L: f64) {{
  transient B: f64[N, N, N]
  transient C: f64[N, N, N]
  state {{ map i in 0:N, j in 0:N, k in 0:N {{ C[i, j, k] = A[i, j, k] ; B[i, j, k] = A[i, j, k] }} }}
  for t in 0:10 {{
{HEAT_STEP % {"to": "B", "of": "C"}}{HEAT_STEP % {"to": "C", "of": "B"}}  }}
  L = 0
  L += C[i, j, k]
}}
"""


class Busy(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as f:
            f.write(text)
        return path

    def call(self, *arguments):
        p = subprocess.run([DRIVER, *arguments], capture_output=True, text=True)
        self.assertEqual(p.returncode, 0, p.stderr)
        return p.stdout

    def gradient(self, path):
        return self.write("gradient.sdfg", self.call("opt", path, "--pipeline", "backward{outputs=L, keep-outputs=false}"))

    def spin(self):
        for _ in os.sched_getaffinity(0):
            p = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            self.addCleanup(p.wait)
            self.addCleanup(p.kill)

    def seconds(self, model, threads, *flags):
        bench = json.loads(self.call("bench", model, "--threads", str(threads), "--seconds", str(SECONDS), "--json", *flags))
        return SECONDS / bench["runs"]

    def compare(self, model, *flags):
        self.call("bench", model, "--runs", "1", *flags)  # compiles
        self.spin()
        one = two = 0
        for _ in range(ROUNDS):
            one += self.seconds(model, 1, *flags)
            two += self.seconds(model, 2, *flags)
        print(f"{self.id()}: one thread {one / ROUNDS * 1e3:.3f} ms, two {two / ROUNDS * 1e3:.3f} ms, ratio {two / one:.2f}")
        self.assertLess(two / one, LIMIT)

    def test_jacobi(self):
        self.compare(self.write("jacobi.sdfg", JACOBI), "--dim", "N=400")

    def test_heat(self):
        self.compare(self.write("heat.sdfg", HEAT), "--dim", "N=50")

    def test_gradient_of_jacobi(self):
        self.compare(self.gradient(self.write("jacobi.sdfg", JACOBI)), "--dim", "N=400")

    def test_gradient_of_heat(self):
        self.compare(self.gradient(self.write("heat.sdfg", HEAT)), "--dim", "N=50")

    def test_resnet50(self):
        path = os.path.join(self.folder, "resnet50.onnx")
        onnx.save(light_models.load("resnet50"), path)
        self.compare(path)


if __name__ == "__main__":
    unittest.main()
