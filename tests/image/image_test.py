"""Models that decode images: sizes from the file, what can't be decoded, limits, missing libraries. usage: image_test.py DRIVER"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper

DRIVER = os.path.abspath(sys.argv[1])


def ppm(pixels):
    height, width, _ = pixels.shape
    return np.frombuffer(b"P6 %d %d 255\n" % (width, height) + pixels.astype(np.uint8).tobytes(), np.uint8)


class ImageTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.path = lambda *parts: os.path.join(self.folder, *parts)
        self.driver = DRIVER
        self.pixels = np.random.RandomState(0).randint(0, 256, (5, 7, 3))
        # What comes behind the image has sizes that the file decides.
        nodes = [helper.make_node("ImageDecoder", ["e"], ["image"], name="decode"),
                 helper.make_node("Transpose", ["image"], ["y"], perm=[2, 0, 1])]
        values = [helper.make_tensor_value_info(n, TensorProto.UINT8, s) for n, s in (("e", ["n"]), ("y", [3, "h", "w"]))]
        graph = helper.make_graph(nodes, "g", values[:1], values[1:])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), self.path("m.onnx"))

    def run_model(self, encoded, code=0, backend="interpreter", **environment):
        np.save(self.path("e.npy"), encoded)
        done = subprocess.run([self.driver, "run", "m.onnx", "--backend", backend, "--input", "e=@e.npy", "--output", "y=@y.npy"],
                              cwd=self.folder, capture_output=True, text=True,
                              env=dict(os.environ, HEADRACE_CACHE_DIR=self.path("cache"), **environment))
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return np.load(self.path("y.npy")) if code == 0 else done.stderr

    def test_sizes_come_from_the_file(self):
        for backend in ("interpreter", "cpu"):
            for pixels in (self.pixels, self.pixels[:2, :3]):
                np.testing.assert_array_equal(self.run_model(ppm(pixels), backend=backend), pixels.transpose(2, 0, 1))

    def test_what_cannot_be_decoded_is_an_empty_image(self):
        for backend in ("interpreter", "cpu"):
            self.assertEqual(self.run_model(ppm(self.pixels)[:-1], backend=backend).shape, (3, 0, 0))
        self.assertEqual(self.run_model(np.zeros(0, np.uint8)).shape, (3, 0, 0))

    def test_an_artifact_carries_the_codecs(self):
        np.save(self.path("e.npy"), ppm(self.pixels))
        run = lambda *args: subprocess.run([self.driver, *args], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(run("compile", "m.onnx", "-o", "m.hrx").returncode, 0)
        self.assertIn("libimage_codecs.so", os.listdir(self.path("m.hrx")))
        with open(self.path("m.hrx", "libimage_codecs.so"), "r+b") as f:  # they are hashed like everything in it
            f.seek(2000)
            f.write(b"\0" * 64)
        self.assertIn("libimage_codecs.so", run("run", "m.hrx", "--input", "e=@e.npy").stderr)
        shutil.rmtree(self.path("m.hrx"))
        self.assertEqual(run("compile", "m.onnx", "-o", "m.hrx").returncode, 0)
        done = run("run", "m.hrx", "--input", "e=@e.npy", "--output", "y=@y.npy")
        self.assertEqual(done.returncode, 0, done.stderr)
        np.testing.assert_array_equal(np.load(self.path("y.npy")), self.pixels.transpose(2, 0, 1))

    def test_the_limit(self):
        huge = np.frombuffer(b"P6 100000 100000 255\n", np.uint8)
        for encoded, limit in ((huge, ""), (ppm(self.pixels), "34")):
            error = self.run_model(encoded, code=1, HEADRACE_MAX_IMAGE_PIXELS=limit)
            self.assertRegex(error, r"the image has \d+ x \d+ pixels, the limit is (34|268435456) \(HEADRACE_MAX_IMAGE_PIXELS")
            self.assertIn("decode", error)
        self.run_model(ppm(self.pixels), HEADRACE_MAX_IMAGE_PIXELS="35")
        self.assertIn("a positive number", self.run_model(ppm(self.pixels), code=1, HEADRACE_MAX_IMAGE_PIXELS="many"))

    def test_a_missing_library_is_named_with_its_package(self):
        source = os.path.dirname(DRIVER)
        for part in ("plugins", "lib"):
            shutil.copytree(os.path.join(source, part), self.path("copy", part))
        self.driver = shutil.copy(DRIVER, self.path("copy"))
        codecs = self.path("copy", "lib", "libimage_codecs.so")
        # Codecs that need a library which is not there.
        os.chmod(self.path("copy", "lib"), 0o755)
        os.remove(codecs)
        with open(self.path("f.c"), "w") as f:
            f.write("int f(void) { return 0; }\n")
        compile_here = lambda *args: subprocess.run(["g++", "-shared", "-fPIC", *args], cwd=self.folder, check=True)
        compile_here("f.c", "-Wl,-soname,libtiff.so.99", "-o", "libtiff.so.99")
        compile_here("f.c", "-Wl,--no-as-needed", "./libtiff.so.99", "-o", codecs)
        os.remove(self.path("libtiff.so.99"))
        error = self.run_model(ppm(self.pixels), code=1)
        for text in ("the image codecs can't be loaded", "libtiff.so.99", "apt-get install libtiff6", "decode"):
            self.assertIn(text, error)
        os.remove(codecs)
        self.assertIn("libimage_codecs.so", self.run_model(ppm(self.pixels), code=1))


if __name__ == "__main__":
    unittest.main()
