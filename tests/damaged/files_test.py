"""Damaged files that are not models: IR text and its JSON, .npy, test data, artifacts. usage: files_test.py DRIVER"""

import os
import random
import shutil
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tests.damaged import leak_check, programs

DRIVER = os.path.abspath(sys.argv[1])


def damaged(data, pieces=10):
    """Cut short in `pieces` places, and as often with one byte changed."""
    r = random.Random(len(data))
    for i in range(pieces):
        yield data[: len(data) * i // pieces]
    for _ in range(pieces):
        at = r.randrange(len(data))
        yield data[:at] + bytes([data[at] ^ (1 << r.randrange(8))]) + data[at + 1 :]


class DamagedFiles(unittest.TestCase):
    def setUp(self):
        outer = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(outer.cleanup)
        self.folder = outer.name

    def path(self, name, data):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as f:
            f.write(data)
        return path

    def run_driver(self, *args):
        return leak_check.run([DRIVER, *args], cwd=self.folder, timeout=120, env=dict(os.environ, HEADRACE_CACHE_DIR=os.path.join(self.folder, "cache")))

    def check(self, *args, may_run=False):
        done = self.run_driver(*args)
        text = done.stderr.decode(errors="replace")
        self.assertNotIn("Sanitizer", text)
        # 2: the size that --dim names is damaged.
        self.assertIn(done.returncode, (0, 1, 2, 3, 4) if may_run else (1, 3), f"{args}: {text[-2000:]}")
        if done.returncode in (1, 2, 3):
            self.assertIn("error", text)
            self.assertNotIn("internal", text.lower())
            self.assertNotIn("std::", text)

    def test_programs(self):
        for name, text in programs.PROGRAMS.items():
            path = self.path(name + ".sdfg", text.encode())
            done = self.run_driver("run", path, "--backend", "interpreter", "--dim", "N=3")
            self.assertEqual(done.returncode, 0, done.stderr)
            for data in damaged(text.encode()):
                self.check("run", self.path("damaged.sdfg", data), "--backend", "interpreter", "--dim", "N=3", may_run=True)

    def test_programs_as_json(self):
        for name, text in programs.PROGRAMS.items():
            done = self.run_driver("opt", self.path(name + ".sdfg", text.encode()), "--pipeline", "simplify", "--emit", "json")
            self.assertEqual(done.returncode, 0, done.stderr)
            for data in damaged(done.stdout):
                self.check("run", self.path("damaged.sdfg", data), "--backend", "interpreter", "--dim", "N=3", may_run=True)

    def test_arrays(self):
        model = self.path("m.sdfg", b"sdfg f(X: f32[N, 2], Y: f32[N, 2]) { state { map i in 0:N, j in 0:2 { Y[i, j] = X[i, j] * 2 } } }")
        whole = self.path("x.npy", b"")
        np.save(whole, np.ones((3, 2), np.float32))
        with open(whole, "rb") as f:
            good = f.read()
        run = lambda path, **k: self.check("run", model, "--backend", "interpreter", "--input", "X=@" + path, **k)
        self.assertEqual(self.run_driver("run", model, "--backend", "interpreter", "--input", "X=@" + whole).returncode, 0)
        for data in damaged(good):
            run(self.path("d.npy", data), may_run=True)
        for old, new in ((b"(3, 2)", b"(-3, 2"), (b"(3, 2)", b"(3, 3)"), (b"<f4", b">f4"), (b"<f4", b"|O8"), (b"<f4", b"<f9"), (b"<f4", b"<U4"), (b"False", b"True "), (b"'descr'", b"'decsr'"),
                         (b"(3, 2), }          ", b"(4294967296, 2**9)}"), (b"(3, 2), }                              ", b"(9223372036854775807, 9223372036854775807)}")):
            assert old in good
            run(self.path("d.npy", good.replace(old, new)), may_run=new in (b">f4", b"True "))
        objects = os.path.join(self.folder, "objects.npy")
        np.save(objects, np.array([{}, []], object), allow_pickle=True)
        run(objects)
        run(os.path.join(self.folder, "absent.npy"))
        run(self.folder)

    def test_test_data(self):
        model = helper.make_model(helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "g", [helper.make_tensor_value_info("x", 1, [3])], [helper.make_tensor_value_info("y", 1, [3])]),
                                  opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        path = self.path("m.onnx", model.SerializeToString())
        x = np.array([1, 2, 3], np.float32)
        good = {f"{kind}_0.pb": numpy_helper.from_array(v, "v").SerializeToString() for kind, v in (("input", x), ("output", -x))}
        for name in good:
            for data in list(damaged(good[name])) + [good[name] * 2, b"\xff" * 100, numpy_helper.from_array(x[:2]).SerializeToString(),
                                                     onnx.SequenceProto(elem_type=1, tensor_values=[numpy_helper.from_array(x)]).SerializeToString()]:
                for n, d in good.items():
                    self.path(n, data if n == name else d)
                self.check("run", path, "--backend", "interpreter", "--test-data", self.folder, may_run=True)

    def test_artifacts(self):
        model = helper.make_model(helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", [helper.make_tensor_value_info("x", 1, ["N", 300])], [helper.make_tensor_value_info("y", 1, ["N", 300])],
                                                    [numpy_helper.from_array(np.ones(300, np.float32), "w")]), opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        whole, copy = os.path.join(self.folder, "m.hrx"), os.path.join(self.folder, "copy.hrx")
        done = self.run_driver("compile", self.path("m.onnx", model.SerializeToString()), "-o", whole)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.run_driver("run", whole).returncode, 0)
        for name in sorted(os.listdir(whole)):
            with open(os.path.join(whole, name), "rb") as f:
                data = f.read()
            for part in [None, *damaged(data, 8)]:
                shutil.rmtree(copy, ignore_errors=True)
                shutil.copytree(whole, copy)
                if part is None:
                    os.remove(os.path.join(copy, name))
                else:
                    with open(os.path.join(copy, name), "wb") as f:
                        f.write(part)
                self.check("run", copy)
