"""Many processes and one model: compiled once, the same everywhere. usage: parallel_test.py DRIVER MODEL"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx

DRIVER, MODEL = (os.path.abspath(a) for a in sys.argv[1:3])

# What a network has, in a few lines: contractions, windows, reductions, elementwise work, sizes that are symbols.
TEXT = """sdfg main(X: f32[N, 64], W: f32[64, 48], V: f32[48, 64], Y: f32[N, 64], S: f32[N]) {
  transient H: f32[N, 48]
  transient M: f32[N]
  H[n, j] = 0
  H[n, j] += X[n, k] * W[k, j]
  H[n, j] = max(H[n, j], 0) + log1p(exp(-abs(H[n, j])))
  M[n] = -inf
  M[n] max= H[n, j]
  S[n] = 0
  S[n] += exp(H[n, j] - M[n])
  Y[n, i] = 0
  Y[n, i] += H[n, j] * V[j, i] / S[n]
}
"""


class ParallelTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.model = self.path("model.sdfg")
        with open(self.model, "w") as f:
            f.write(TEXT)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def start(self, *args, cache="cache", **environment):
        return subprocess.Popen([DRIVER, *args], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=dict(os.environ, HEADRACE_CACHE_DIR=self.path(cache), **environment))

    def finish(self, process):
        out, err = process.communicate(timeout=600)
        self.assertEqual(process.returncode, 0, err.decode())
        return out

    def digest(self, name):
        with open(self.path(name), "rb") as f:
            return hashlib.sha256(f.read()).hexdigest()

    # A stand-in for the compiler that counts how often it links a program, and calls the real one.
    def counting_compiler(self):
        real = shutil.which("g++") or shutil.which("c++")
        counter, script = self.path("linked"), self.path("g++")
        with open(script, "w") as f:
            f.write(f'#!/bin/sh\ncase " $* " in *" -shared "*) echo x >>"{counter}";; esac\nexec {real} "$@"\n')
        os.chmod(script, 0o755)
        return script, counter

    def test_sixteen_processes_compile_once(self):
        compiler, counter = self.counting_compiler()
        running = [self.start("run", self.model, "--dim", "N=33", "--output", f"Y=@y{i}.npy", "--output", f"S=@s{i}.npy", CXX=compiler)
                   for i in range(16)]
        for process in running:
            self.finish(process)
        for output in "ys":
            self.assertEqual(len({self.digest(f"{output}{i}.npy") for i in range(16)}), 1)
        with open(counter) as f:
            self.assertEqual(len(f.readlines()), 1)
        entries = json.loads(self.finish(self.start("cache", "list", "--json")))["entries"]
        self.assertEqual(len(entries), 1)
        # And right: the interpreter agrees.
        self.finish(self.start("run", self.model, "--dim", "N=33", "--backend", "interpreter", "--output", "Y=@want.npy"))
        np.testing.assert_allclose(np.load(self.path("y0.npy")), np.load(self.path("want.npy")), rtol=1e-5, atol=1e-5)

    def check_sources(self, model, count):
        # Hashing of names must not depend on the process: each has its own seed, environment and folder of work.
        running = [self.start("compile", model, "--emit", "cpp", PYTHONHASHSEED=str(i), HEADRACE_NUM_THREADS=str(1 + i % 4))
                   for i in range(count)]
        self.assertEqual(len({self.finish(p) for p in running}), 1)

    def test_ten_processes_write_the_same_source(self):
        self.check_sources(self.model, 10)

    def test_ten_processes_write_the_same_source_for_a_network(self):
        self.check_sources(MODEL, 10)

    def test_threads_do_not_change_a_bit(self):
        for model, args, outputs in ((self.model, ["--dim", "N=1000"], ["Y", "S"]), (MODEL, [], [o.name for o in onnx.load(MODEL).graph.output])):
            digests = set()
            for threads in ("1", "2", "2", "5"):
                flags = [x for o in outputs for x in ("--output", f"{o}=@{o}.npy")]
                self.finish(self.start("run", model, *args, *flags, HEADRACE_NUM_THREADS=threads))
                digests.add(tuple(self.digest(f"{o}.npy") for o in outputs))
            self.assertEqual(len(digests), 1, model)


if __name__ == "__main__":
    unittest.main()
