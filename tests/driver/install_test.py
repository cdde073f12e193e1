"""The command works wherever its folder is copied. usage: install_test.py DRIVER DIST.tar"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper

DRIVER, DIST = (os.path.abspath(a) for a in sys.argv[1:3])

RELU = "sdfg main(X: f32[N], Y: f32[N]) { Y[i] = max(X[i], 0) }\n"


class InstallTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.path = lambda *parts: os.path.join(self.folder, *parts)
        # Nothing of the build may help: no runfiles, no plugin path, no library path.
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": self.folder, "HEADRACE_CACHE_DIR": self.path("cache")}

    def run_there(self, program, *args):
        done = subprocess.run([program, *args], cwd=self.folder, env=self.environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, f"{program} {args}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def check_works(self, tree):
        headrace = os.path.join(tree, "headrace")
        objects = [headrace] + [os.path.join(tree, sub, f) for sub in ("plugins", "lib") for f in os.listdir(os.path.join(tree, sub))]
        for line in self.run_there("/usr/bin/ldd", *objects).splitlines():
            self.assertNotIn("not found", line)
            if " => /" in line and not line.split(" => ")[1].startswith(("/lib", "/usr/lib")):
                self.assertTrue(line.split(" => ")[1].startswith(os.path.realpath(tree)), line)
        self.assertIn("onnx_importer", self.run_there(headrace, "plugins"))

        with open(self.path("relu.sdfg"), "w") as f:
            f.write(RELU)
        values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n"]) for n in "XY"]
        graph = helper.make_graph([helper.make_node("Relu", ["X"], ["Y"])], "g", values[:1], values[1:])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), self.path("relu.onnx"))
        np.save(self.path("x.npy"), np.array([-1, 2], np.float32))
        for model in ("relu.sdfg", "relu.onnx"):
            for backend in ("interpreter", "cpu"):
                self.run_there(headrace, "run", model, "--backend", backend, "--input", "X=@x.npy", "--output", "Y=@y.npy")
                np.testing.assert_array_equal(np.load(self.path("y.npy")), [0, 2])

    def test_the_archive_unpacked_anywhere(self):
        with tarfile.open(DIST) as tar:
            tar.extractall(self.path("some where"))
        tree = self.path("some where", "headrace")
        self.check_works(tree)
        moved = self.path("moved")
        os.rename(tree, moved)
        self.check_works(moved)

    def test_the_archive_brings_what_a_bare_system_lacks(self):
        with tarfile.open(DIST) as tar:
            names = [os.path.basename(n) for n in tar.getnames()]
        for stem in ("libheadrace.so", "libheadrace_runtime.so", "libhighs.so", "libre2.so", "libprotobuf.so", "libsodium.so", "libisl.so", "libgmp.so"):
            self.assertTrue(any(n.startswith(stem) for n in names), stem)
        for stem in ("libc.so", "libstdc++.so"):  # the machine's own
            self.assertFalse(any(n.startswith(stem) for n in names), stem)

    def test_a_copy_of_the_built_folder(self):
        tree = self.path("copy")
        os.mkdir(tree)
        shutil.copy(DRIVER, tree)
        for sub in ("plugins", "lib"):
            shutil.copytree(os.path.join(os.path.dirname(DRIVER), sub), os.path.join(tree, sub))
        self.check_works(tree)


if __name__ == "__main__":
    unittest.main()
