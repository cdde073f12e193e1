"""run --verify and bench, also beside another runtime. usage: verify_test.py DRIVER"""

import json
import os
import resource
import subprocess
import sys
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper

from tests.driver.command import DRIVER, RELU, CommandTest, onnx_relu

# About half a second of interpretation.
SLOW = """sdfg slow(Y: f64[1]) {
  Y[0] = 0
  while Y[0] < 1000000 { Y[0] = Y[0] + 1.0 }
}
"""


class VerifyTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.write("relu.sdfg", RELU)
        self.write("m.onnx", onnx_relu())

    def test_cpu_against_the_interpreter(self):
        done = self.run_headrace("run", "relu.sdfg", "--verify", "--dim", "N=5")
        self.assertEqual(done.stdout, "Y: ok, max |difference| 0, relative 0\n")
        j = self.json("run", "relu.sdfg", "--verify", "--dim", "N=5")
        self.assertEqual([j["ok"], j["verified_with"], j["outputs"][0]["max_abs"]], [True, "interpreter", 0])

    def test_sizes_that_a_node_finds(self):
        """The interpreter prefers pure forms, which find none."""
        self.write("z.sdfg", "sdfg z(X: f32[4, N], I: i64[2, k]) { onnx.NonZero(X = X) -> (Y = I) defines (k) }\n")
        done = self.run_headrace("run", "z.sdfg", "--verify", "--dim", "N=3")
        self.assertEqual(done.stdout, "I: ok, max |difference| 0, relative 0\n")

    def test_another_runtime(self):
        j = self.json("run", "m.onnx", "--backend", "interpreter", "--verify=reference", "--dim", "n=2")
        self.assertEqual([[o["name"], o["ok"]] for o in j["outputs"]], [["Y", True], ["W", True]])
        self.assertEqual(j["verified_with"], "reference")

    def test_a_difference_is_found(self):
        """A sum in f32: the order of summation shows when nothing may differ."""
        graph = helper.make_graph([helper.make_node("ReduceSum", ["X"], ["Y"], keepdims=0)], "g",
                                  [helper.make_tensor_value_info("X", TensorProto.FLOAT, [5000])],
                                  [helper.make_tensor_value_info("Y", TensorProto.FLOAT, [])])  # fmt: skip
        self.write("s.onnx", helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10))
        self.save("x.npy", (np.random.default_rng(0).random(5000) * 1e3).astype(np.float32))
        run = ["run", "s.onnx", "--backend", "interpreter", "--input", "X=@x.npy", "--verify=reference"]
        self.run_headrace(*run)
        done = self.run_headrace(*run, "--rtol", "0", "--atol", "0", code=4)
        self.assertRegex(done.stdout, r"Y: MISMATCH, max \|difference\| [\d.e+-]+, relative [\d.e+-]+; first at ")
        j = self.json(*run, "--rtol", "0", "--atol", "0", code=4)
        self.assertFalse(j["ok"])
        self.assertGreater(j["outputs"][0]["max_abs"], 0)

    def test_what_can_not_be_verified(self):
        self.refused("E0461", "with itself", args=["run", "relu.sdfg", "--backend", "interpreter", "--verify"])
        self.refused("E0466", "reads ONNX files only", args=["run", "relu.sdfg", "--backend", "interpreter", "--verify=onnxruntime"])
        run = ["run", "m.onnx", "--backend", "interpreter", "--verify=onnxruntime"]
        self.refused("E0464", "can't be run", "HEADRACE_PYTHON", args=run, exit=3, HEADRACE_PYTHON="/nonexistent")
        self.refused("E0465", "ended before it answered", args=run, exit=1, HEADRACE_PYTHON="/bin/true")
        # A Python without packages.
        self.write("python", f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n')
        os.chmod(self.path("python"), 0o755)
        self.refused("E0464", "is not installed", "pip install onnxruntime", args=run, exit=3, HEADRACE_PYTHON=self.path("python"))

    # ---- bench ----

    def test_bench_beside_another_runtime(self):
        j = self.json("bench", "m.onnx", "--dim", "n=4", "--compare", "reference", "--seconds", "0.3", "--backend", "interpreter")
        c = j["compared"]
        self.assertEqual([c["runtime"], c["version"]], ["reference", onnx.__version__])
        self.assertGreater(c["runs"], 3)
        self.assertAlmostEqual(c["ratio"], j["median_seconds"] / c["median_seconds"], delta=0.9 * c["ratio"])
        said = self.run_headrace("bench", "m.onnx", "--compare", "reference", "--runs", "3", "--backend", "interpreter").stdout
        self.assertRegex(said, r"compared +\S+ \S+   \(reference \S+; 3 runs in turns\)\nratio +")

    def test_bench_takes_inputs_and_counts_items(self):
        self.save("x.npy", np.zeros((8, 3), np.float32))
        j = self.json("bench", "m.onnx", "--input", "X=@x.npy", "--runs", "3", "--backend", "interpreter")
        self.assertEqual([j["batch_size"], j["runs"]], [8, 3])
        self.assertAlmostEqual(j["items_per_second"], 8 / j["median_seconds"], delta=1)
        self.write("two.sdfg", "sdfg main(X: f32[N], Z: f32[M], Y: f32[N]) { Y[i] = X[i] * Z[0] }")
        self.assertNotIn("batch_size", self.json("bench", "two.sdfg", "--dim", "N=2", "--runs", "1", "--backend", "interpreter"))

    def test_as_many_runs_as_are_asked_for(self):
        self.write("slow.sdfg", SLOW)

        def seconds(*args):
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            self.run_headrace(*args, "slow.sdfg", "--backend", "interpreter")
            return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before

        start, one = seconds("check"), seconds("run")
        self.assertGreater(one, start)
        self.assertLess(seconds("bench", "--runs", "1"), start + 2 * (one - start))

    def test_its_own_peak(self):
        """A parent with much memory says nothing about the command."""
        script = "import subprocess, sys; x = b'1' * (400 << 20); sys.stdout.write(subprocess.run(sys.argv[1:], capture_output=True, text=True, check=True).stdout)"
        done = subprocess.run([sys.executable, "-c", script, DRIVER, "bench", "relu.sdfg", "--runs", "1", "--backend", "interpreter", "--json"],
                              cwd=self.folder, capture_output=True, text=True, check=True, env=self.environment)  # fmt: skip
        peak = json.loads(done.stdout)["peak_memory_bytes"]
        self.assertIsInstance(peak, int)
        self.assertLess(peak, 300 << 20)
        self.assertGreater(peak, 5 << 20)


if __name__ == "__main__":
    unittest.main()
