"""What the command says about itself: explain, doctor, cache, HEADRACE_LOG, places of errors. usage: inspect_test.py DRIVER"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper

DRIVER = os.path.abspath(sys.argv[1])
TEXT = "sdfg scale(X: f32[N], I: i64[M], Y: f32[M]) {\n  Y[i] = 2 * X[I[i]]\n}\n"


def model(nodes, inputs):
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [value(name, dtype, [size]) for name, dtype, size in inputs],
                              [value("Y", TensorProto.FLOAT, ["k"])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def gather():
    return model([helper.make_node("Gather", ["X", "I"], ["Y"], name="gather1")],
                 [("X", TensorProto.FLOAT, "n"), ("I", TensorProto.INT64, "k")])


def chain():
    nodes = [helper.make_node("Relu", ["X"], ["R"], name="relu1"), helper.make_node("Exp", ["R"], ["Y"], name="exp1")]
    return model(nodes, [("X", TensorProto.FLOAT, "k")])


class InspectTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = cls.temporary.name
        onnx.save(gather(), os.path.join(cls.folder, "gather.onnx"))
        onnx.save(chain(), os.path.join(cls.folder, "chain.onnx"))
        with open(os.path.join(cls.folder, "scale.sdfg"), "w", encoding="utf-8") as f:
            f.write(TEXT)
        np.save(os.path.join(cls.folder, "x.npy"), np.arange(3, dtype=np.float32))
        np.save(os.path.join(cls.folder, "good.npy"), np.array([0, 2]))
        np.save(os.path.join(cls.folder, "bad.npy"), np.array([0, 99]))

    def setUp(self):
        self.cache = os.path.join(self.folder, "cache of " + self.id().rsplit(".", 1)[-1])

    def run_driver(self, *args, code=0, **variables):
        env = {**os.environ, "HEADRACE_CACHE_DIR": self.cache, **variables}
        done = subprocess.run([DRIVER, *args], cwd=self.folder, env=env, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def run_scale(self, *more, **variables):
        return self.run_driver("run", "scale.sdfg", "--input", "X=@x.npy", "--input", "I=@good.npy", *more, **variables)

    def test_explain(self):
        one = self.run_driver("explain", "e650").stdout
        self.assertTrue(one.startswith("E0650: an index out of range\n  cause: "), one)
        every = self.run_driver("explain").stdout.splitlines()
        self.assertGreater(len(every), 250)
        rows = json.loads(self.run_driver("explain", "E0100", "E0201", "--json").stdout)
        self.assertEqual([row["code"] for row in rows], ["E0100", "E0201"])

    def test_a_failed_run_names_its_node(self):
        """On both backends: name and op of a model's node; file, line and column in text."""
        for backend in ("interpreter", "cpu"):
            with self.subTest(backend=backend):
                arguments = ["--backend", backend, "--input", "X=@x.npy", "--input", "I=@bad.npy", "--json"]
                error = json.loads(self.run_driver("run", "gather.onnx", *arguments, code=1).stdout)["errors"][0]
                self.assertEqual((error["code"], error["node"], error["op"]), ("E0650", "gather1", "onnx.Gather (opset 13)"))
                self.assertIn("99", error["message"])
                error = json.loads(self.run_driver("run", "scale.sdfg", *arguments, code=1).stdout)["errors"][0]
                self.assertEqual((error["code"], error["file"], error["line"], error["column"]), ("E0650", "scale.sdfg", 2, 3))
                shown = self.run_driver("run", "scale.sdfg", *arguments[:-1], code=1).stderr
                self.assertIn(" 2 |   Y[i] = 2 * X[I[i]]\n   |   ^\n", shown)

    def test_log_and_the_reason_of_a_miss(self):
        topics = self.run_scale("--backend", "interpreter", HEADRACE_LOG="passes,choice").stderr
        self.assertRegex(topics, r"(?m)^\[passes\] .*: (changed|no change), [0-9.]+ ms$")
        first = self.run_scale(HEADRACE_LOG="cache,recompiles").stderr
        self.assertIn("[cache] miss: no entry of a program named 'scale'\n", first)
        self.assertRegex(first, r"(?m)^\[recompiles\] scale: compiled by /\S+: no entry")
        self.assertIn("[cache] hit: ", self.run_scale("-v").stderr)
        self.assertNotIn("[cache]", self.run_scale().stderr)
        other = self.run_scale("-v", CXX="g++ -DNOTHING").stderr
        self.assertIn("[cache] miss: the compiler has changed\n", other)
        with open(os.path.join(self.folder, "scale.sdfg"), "w", encoding="utf-8") as f:
            f.write(TEXT.replace("2 *", "3 *"))
        self.addCleanup(lambda: open(os.path.join(self.folder, "scale.sdfg"), "w", encoding="utf-8").write(TEXT))
        self.assertIn("[cache] miss: the program has changed\n", self.run_scale("-v").stderr)

    def test_variables_with_wrong_values(self):
        for name, value, said in (("HEADRACE_NUM_THREADS", "two", "is a number of threads, not 'two'"),
                                  ("HEADRACE_NUM_THREADS", "0", "is a number of threads, not '0'"),
                                  ("HEADRACE_CACHE_MAX_BYTES", "2GB", "is a number of bytes, as 2147483648, not '2GB'"),
                                  ("HEADRACE_MAP_ORDER", "backwards", "does not know 'backwards': did you mean backward?")):
            with self.subTest(name=name, value=value):
                self.assertIn(f"warning: {name} {said}\n", self.run_scale(**{name: value}).stderr)
        self.assertIn("[cache] hit: ", self.run_scale("-v").stderr)  # it is not as small as 2 bytes

    def test_folders_that_are_none(self):
        file = os.path.join(self.folder, "scale.sdfg")
        for folder in (file, os.path.join(file, "cache")):
            said = self.run_scale(HEADRACE_CACHE_DIR=folder).stderr
            self.assertIn(f"warning: nothing is kept in HEADRACE_CACHE_DIR, '{folder}': {file} is not a folder\n", said)
        self.assertNotIn("HEADRACE_CACHE_DIR", self.run_scale(HEADRACE_CACHE_DIR=os.path.join(self.folder, "not", "yet")).stderr)
        shared = tempfile.mkdtemp(dir=self.folder)
        os.chmod(shared, 0o777)
        self.assertIn("others may write to it (chmod 700)", self.run_scale(HEADRACE_CACHE_DIR=shared).stderr)
        refused = self.run_driver("compile", "scale.sdfg", "-o", "dumped.hrx", code=1, HEADRACE_DUMP_DIR=file)
        self.assertIn("error[E0691]: cannot write " + file, refused.stderr)
        self.assertIn("HEADRACE_DUMP_DIR", refused.stderr)

    def test_fusion_and_choice(self):
        log = self.run_driver("compile", "chain.onnx", "--emit", "lowered", HEADRACE_LOG="fusion,choice").stderr
        self.assertIn("[choice] onnx.Relu 'relu1': ", log)
        self.assertRegex(log, r"(?m)^\[fusion\] \S+: relu1 and exp1 in one map$")

    def test_cache_verify(self):
        self.run_scale()
        self.assertIn("0 were damaged", self.run_driver("cache", "verify").stdout)
        entry = next(n for n in sorted(os.listdir(self.cache)) if len(n) == 64)
        with open(os.path.join(self.cache, entry, "program.so"), "r+b") as f:
            f.seek(1000)
            f.write(b"damage")
        found = self.run_driver("cache", "verify", code=1)
        self.assertIn("error[E0456]: a damaged entry of the cache: program.so has another hash than its manifest says", found.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.cache, entry)))
        self.assertIn("0 were damaged", self.run_driver("cache", "verify").stdout)

    def test_doctor(self):
        page = self.run_driver("doctor").stdout
        for line in ("compiler   /", "threads    ", "features   ", "cache      ", "backend cpu ready", "loaded   "):
            self.assertIn(line, page)
        self.assertIn("threads    3 (from HEADRACE_NUM_THREADS)", self.run_driver("doctor", HEADRACE_NUM_THREADS="3").stdout)
        self.assertRegex(self.run_driver("doctor", CXX="env g++").stdout, r"compiler   /\S+/env g\+\+ \(from CXX\)")
        missing = self.run_driver("doctor", code=1, CXX="no-such-compiler -O2").stdout
        self.assertIn("CXX names 'no-such-compiler', which is not there", missing)
        error = json.loads(self.run_driver("run", "scale.sdfg", "--json", code=3, CXX="no-such-compiler").stdout)["errors"][0]
        self.assertEqual(error["code"], "E0690")
        with open(os.path.join(self.folder, "broken.so"), "w", encoding="utf-8") as f:
            f.write("nothing")
        page = self.run_driver("doctor", "--plugin", "broken.so", code=1).stdout
        self.assertRegex(page, r"(?m)^  broken   \S*broken\.so: \S.*$")
