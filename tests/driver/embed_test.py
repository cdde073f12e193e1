"""examples/embed.cc, built outside the workspace with the SDK and run with the libraries of the dist.
usage: embed_test.py SDK DIST EMBED.CC DEPLOY.MD"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

SDK, DIST, EXAMPLE, PAGE = (os.path.abspath(a) for a in sys.argv[1:5])
RELU = "sdfg relu(X: f32[N, M], Y: f32[N, M]) { Y[i, j] = max(X[i, j], 0) }\n"


class EmbedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        for archive, to in ((SDK, "sdk"), (DIST, ".")):
            with tarfile.open(archive) as tar:
                tar.extractall(os.path.join(cls.folder, to))
        shutil.copy(EXAMPLE, os.path.join(cls.folder, "embed.cc"))
        with open(PAGE, encoding="utf-8") as f:
            command, = re.findall(r"`(c\+\+ [^`]*embed\.cc[^`]*)`", f.read())
        done = subprocess.run(command.replace("c++ ", "c++ -Wall -Wextra -Werror ", 1), shell=True, cwd=cls.folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    def run_it(self, text, *args, **environment):
        with open(os.path.join(self.folder, "program.sdfg"), "w") as f:
            f.write(text)
        return subprocess.run(["./embed", "program.sdfg", *args], cwd=self.folder, capture_output=True, text=True,
                              env={"PATH": "/usr/bin:/bin", "HEADRACE_CACHE_DIR": os.path.join(self.folder, "cache"), **environment})

    def test_it_is_short(self):
        with open(EXAMPLE, encoding="utf-8") as f:
            self.assertLessEqual(len(f.readlines()), 40)

    def test_it_compiles_and_runs(self):
        done = self.run_it(RELU)
        self.assertEqual((done.returncode, done.stdout), (0, "0 2 0 4 "), done.stderr)

    def test_onnx_models(self):
        import onnx
        from onnx import TensorProto, helper
        info = lambda n: helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n", 2])
        g = helper.make_graph([helper.make_node("Neg", ["X"], ["Y"])], "g", [info("X")], [info("Y")])
        path = os.path.join(self.folder, "neg.onnx")
        onnx.save(helper.make_model(g, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
        done = subprocess.run(["./embed", path], cwd=self.folder, capture_output=True, text=True,
                              env={"PATH": "/usr/bin:/bin", "HEADRACE_CACHE_DIR": os.path.join(self.folder, "cache")})
        self.assertEqual((done.returncode, done.stdout), (0, "1 -2 3 -4 "), done.stderr)

    def test_failures_are_said(self):
        for text, args, environment, words in [
                ("sdfg f(X: f32[N) {}", [], {}, ["E0100", "program.sdfg"]),
                ("sdfg f(X: f64[N, M], Y: f64[N, M]) { Y[i, j] = X[i, j] }", [], {}, ["E0672", "input X"]),
                (RELU, ["cuda"], {}, ["E0435", "cuda"]),
                (RELU.replace("relu", "again"), [], {"PATH": "/nonexistent", "HEADRACE_CACHE_DIR": "none"}, ["E0690", "install g++"])]:
            with self.subTest(words):
                done = self.run_it(text, *args, **environment)
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                for w in words:
                    self.assertIn(w, done.stderr)

    def test_what_the_library_exports(self):
        out = subprocess.run(["nm", "-D", "--defined-only", os.path.join(self.folder, "headrace/lib/libheadrace_compile.so")],
                             capture_output=True, text=True, check=True).stdout
        names = [line.split()[-1] for line in out.splitlines()]
        self.assertTrue(any("CompileProgram" in n for n in names))
        self.assertEqual([n for n in names if "8headrace" not in n and "basic_string" not in n], [])


if __name__ == "__main__":
    unittest.main()
