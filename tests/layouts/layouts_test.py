"""Networks whose images have their channels innermost: values as the interpreter's, the same bits with any number of threads,
gradients, artifacts. usage: layouts_test.py DRIVER"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np

DRIVER = os.path.abspath(sys.argv[1])

# Convolutions with borders, strides and groups, depthwise ones, pools, a residual sum, a concatenation, the way to a vector.
NETWORK = """
sdfg network(X: f32[N, 3, 19, 19], S: f32[32], W5: f32[32, 32, 3, 3], Y: f32[N, 10]) {
  constant W1: f32[32, 3, 3, 3] = fill(0.05)
  constant W2: f32[32, 1, 3, 3] = fill(0.1)
  constant W3: f32[32, 32, 1, 1] = fill(0.03)
  constant W4: f32[32, 8, 3, 3] = fill(-0.02)
  constant F: f32[64, 10] = fill(0.1)
  transient A: f32[N, 32, 19, 19]
  transient A2: f32[N, 32, 19, 19]
  transient B: f32[N, 32, 19, 19]
  transient C: f32[N, 32, 19, 19]
  transient D: f32[N, 32, 19, 19]
  transient R: f32[N, 32, 19, 19]
  transient P: f32[N, 32, 10, 10]
  transient Q: f32[N, 32, 10, 10]
  transient E: f32[N, 64, 10, 10]
  transient G: f32[N, 64, 1, 1]
  transient V: f32[N, 64]
  state {
    onnx.Conv{kernel_shape = [3, 3], pads = [1, 1, 1, 1]}(X = X, W = W1, B = S) -> (Y = A)
    onnx.Relu(X = A) -> (Y = A2)
    onnx.Conv{kernel_shape = [3, 3], pads = [1, 1, 1, 1], group = 32}(X = A2, W = W2) -> (Y = B)
    onnx.Conv{kernel_shape = [1, 1]}(X = B, W = W3) -> (Y = C)
    onnx.Conv{kernel_shape = [3, 3], pads = [1, 1, 1, 1], group = 4}(X = C, W = W4) -> (Y = D)
    onnx.Add(A = D, B = A2) -> (C = R)
    onnx.MaxPool{kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]}(X = R) -> (Y = P)
    onnx.Conv{kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]}(X = R, W = W5) -> (Y = Q)
    onnx.Concat{axis = 1}(inputs = P, inputs = Q) -> (concat_result = E)
    onnx.GlobalAveragePool(X = E) -> (Y = G)
    onnx.Flatten(input = G) -> (output = V)
    onnx.MatMul(A = V, B = F) -> (Y = Y)
  }
}
"""


class Layouts(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(self.folder.cleanup)
        with open(self.path("network.sdfg"), "w", encoding="utf-8") as f:
            f.write(NETWORK)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def headrace(self, *args, threads=2):
        environment = dict(os.environ, HEADRACE_CACHE_DIR=self.path("cache"), HEADRACE_NUM_THREADS=str(threads))
        done = subprocess.run([DRIVER, *args], cwd=self.folder.name, capture_output=True, text=True, env=environment, timeout=900)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-4000:])
        return done.stdout

    def results(self, program, *args, out, names=("Y",), threads=2):
        save = [x for n in names for x in ("--output", f"{n}=@{out}_{n}.npy")]
        self.headrace("run", program, "--dim", "N=3", *save, *args, threads=threads)
        return [np.load(self.path(f"{out}_{n}.npy")) for n in names]

    def close(self, got, want):
        self.assertGreater(np.ptp(want), 0)
        self.assertLess(np.max(np.abs(got - want)), 1e-5 * np.max(np.abs(want)))

    def test_channels_are_innermost(self):
        text = self.headrace("opt", "network.sdfg", "--pipeline", "loops")
        self.assertGreater(text.count("layout [d0, d2, d3, d1]"), 4, text)
        weights = re.findall(r"layout \[d2, d3, d1, d0\]|constant W\d_packed", text)  # as lanes read them, or in panels
        self.assertGreater(len(weights), 3, text)
        self.assertRegex(text, r"constant W1_packed: f32\[(1, 3, 3, 3, 32|2, 3, 3, 3, 16)\]")  # as wide as the processor's tiles

    def test_values_threads_and_batches(self):
        (want,) = self.results("network.sdfg", "--backend", "interpreter", out="want")
        (two,) = self.results("network.sdfg", out="two")
        (one,) = self.results("network.sdfg", out="one", threads=1)
        self.close(two, want)
        self.assertEqual(one.tobytes(), two.tobytes())
        (text,) = self.results("network.sdfg", "--backend", "interpreter", "--pipeline", "compile-cpu", out="text")
        self.close(text, want)

    def test_artifacts(self):
        (want,) = self.results("network.sdfg", out="want")
        self.headrace("compile", "network.sdfg", "-o", "network.hrx")
        (got,) = self.results("network.hrx", out="got")
        self.assertEqual(got.tobytes(), want.tobytes())

    def test_gradients(self):
        gradient = self.headrace("opt", "network.sdfg", "--pipeline", "backward{outputs=Y, inputs=\"X S W5\"}")
        with open(self.path("gradient.sdfg"), "w", encoding="utf-8") as f:
            f.write(gradient)
        text = self.headrace("opt", "gradient.sdfg", "--pipeline", "loops")
        self.assertGreater(text.count("layout [d0, d2, d3, d1]"), 4, text)
        names = ("grad_X", "grad_S", "grad_W5")
        want = self.results("gradient.sdfg", "--backend", "interpreter", out="want", names=names)
        got = self.results("gradient.sdfg", out="got", names=names)
        for a, b in zip(got, want):
            self.close(a, b)
