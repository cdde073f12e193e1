"""The command as a user meets it: exit codes, messages, files, JSON, interrupts. usage: driver_test.py DRIVER"""

import json
import os
import pty

import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

DRIVER = os.path.abspath(sys.argv[1])
VERBS = ["run", "compile", "check", "opt", "grad", "bench", "ops", "plugins", "cache", "doctor"]

RELU = """sdfg main(X: f32[N], Y: f32[N]) {
  state {
    map i in 0:N { Y[i] = max(X[i], 0) }
  }
}
"""

def model(nodes, inputs, outputs, opset=21, initializers=()):
    infos = lambda values: [helper.make_tensor_value_info(n, t, s) for n, t, s in values]
    graph = helper.make_graph(nodes, "g", infos(inputs), infos(outputs), list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)

class DriverTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        self.environment = dict(os.environ, HEADRACE_CACHE_DIR=os.path.join(self.folder, "cache"))

    def run_headrace(self, *args, code=0, stdin=None, **environment):
        done = subprocess.run([DRIVER, *args], cwd=self.folder, input=stdin, capture_output=True, text=True,
                              env=dict(self.environment, **environment))
        self.assertEqual(done.returncode, code, f"headrace {' '.join(args)}\n{done.stdout}\n{done.stderr}")
        return done

    def write(self, name, content):
        path = os.path.join(self.folder, name)
        if isinstance(content, onnx.ModelProto):
            onnx.save(content, path)
        else:
            with open(path, "w") as f:
                f.write(content)
        return name

    def save(self, name, array):
        np.save(os.path.join(self.folder, name), array)
        return name

    def load(self, name):
        return np.load(os.path.join(self.folder, name))

    # ---- help, versions, usage ----

    def test_help_of_every_verb_fits_a_terminal(self):
        for args in [[]] + [[v] for v in VERBS]:
            done = self.run_headrace(*args, "--help")
            for line in done.stdout.splitlines():
                self.assertLessEqual(len(line), 80, line)
            self.assertIn("Usage:" if "Usage:" in done.stdout else "Options", done.stdout)

    def test_version(self):
        self.assertRegex(self.run_headrace("--version").stdout, r"headrace \d+\.\d+\.\d+\n")

    def test_unknown_verbs_and_flags_are_usage_errors_with_a_guess(self):
        self.assertIn("did you mean 'bench'?", self.run_headrace("bnech", code=2).stderr)
        self.assertIn("did you mean --backend?", self.run_headrace("run", "m.onnx", "--bakend", "cpu", code=2).stderr)
        self.run_headrace("run", code=2)

    # ---- run ----

    def test_run_reads_and_writes_npy_with_a_symbolic_size(self):
        self.write("relu.sdfg", RELU)
        for n in (1, 5, 1000):
            x = np.linspace(-1, 1, n, dtype=np.float32)
            self.save("x.npy", x)
            for backend in ("cpu", "interpreter"):
                self.run_headrace("run", "relu.sdfg", "--backend", backend, "--input", "X=@x.npy", "--output", "Y=@y.npy")
                np.testing.assert_array_equal(self.load("y.npy"), np.maximum(x, 0))

    def test_random_inputs_are_seeded(self):
        self.write("relu.sdfg", RELU)
        one = self.run_headrace("run", "relu.sdfg", "--dim", "N=6").stdout
        self.assertEqual(one, self.run_headrace("run", "relu.sdfg", "--dim", "N=6").stdout)
        self.assertNotEqual(one, self.run_headrace("run", "relu.sdfg", "--dim", "N=6", "--seed", "1").stdout)
        self.assertIn("f32[6]", one)
        self.assertIn("size N = 1", self.run_headrace("run", "relu.sdfg").stderr)

    def test_an_input_with_a_default_can_be_given(self):
        self.write("m.onnx", model([helper.make_node("Add", ["X", "B"], ["Y"])],
                                   [("X", TensorProto.FLOAT, [2]), ("B", TensorProto.FLOAT, [2])], [("Y", TensorProto.FLOAT, [2])],
                                   initializers=[numpy_helper.from_array(np.array([10, 20], np.float32), "B")]))
        self.save("x.npy", np.array([1, 2], np.float32))
        self.save("b.npy", np.array([5, 6], np.float32))
        self.run_headrace("run", "m.onnx", "--input", "X=@x.npy", "--output", "Y=@y.npy")
        np.testing.assert_array_equal(self.load("y.npy"), [11, 22])
        self.run_headrace("run", "m.onnx", "--input", "X=@x.npy", "--input", "B=@b.npy", "--output", "Y=@y.npy")
        np.testing.assert_array_equal(self.load("y.npy"), [6, 8])

    def test_text_from_standard_input(self):
        self.assertIn("Y: f32[3]", self.run_headrace("run", "-", "--dim", "N=3", stdin=RELU).stdout)

    def test_json(self):
        self.write("relu.sdfg", RELU)
        j = json.loads(self.run_headrace("run", "relu.sdfg", "--dim", "N=2", "--json").stdout)
        self.assertEqual(j["outputs"][0]["shape"], [2])
        j = json.loads(self.run_headrace("run", "missing.onnx", "--json", code=1).stdout)
        self.assertEqual(j["errors"][0]["message"], "no such file")
        self.assertEqual(j["exit"], 1)
        json.loads(self.run_headrace("bench", "relu.sdfg", "--runs", "3", "--json").stdout)
        json.loads(self.run_headrace("ops", "--json").stdout)
        json.loads(self.run_headrace("plugins", "--json").stdout)

    def test_wrong_inputs_name_what_is_wrong(self):
        self.write("relu.sdfg", RELU)
        self.save("x.npy", np.zeros(3, np.float32))
        self.save("double.npy", np.zeros(3, np.float64))
        self.save("matrix.npy", np.zeros((3, 3), np.float32))
        cases = [
            (["--input", "x=@x.npy"], 2, "did you mean 'X'?"),
            (["--input", "X"], 2, "--input wants NAME=VALUE"),
            (["--input", "X=x.npy"], 2, "NAME=@FILE.npy"),
            (["--input", "X=@absent.npy"], 1, "absent.npy"),
            (["--input", "X=@double.npy"], 1, "f64"),
            (["--input", "X=@matrix.npy"], 1, "X"),
            (["--output", "Z=@z.npy"], 2, "no output 'Z'"),
            (["--dim", "N=-1"], 2, "--dim N=-1"),
            (["--backend", "cqu"], 2, "did you mean 'cpu'?"),
        ]
        for args, code, text in cases:
            self.assertIn(text, self.run_headrace("run", "relu.sdfg", *args, code=code).stderr)

    def test_outputs_go_to_stdout_and_everything_else_to_stderr(self):
        self.write("relu.sdfg", RELU)
        done = self.run_headrace("run", "relu.sdfg")
        self.assertRegex(done.stdout, r"\AY: f32\[1\] = \S+\n\Z")
        self.assertEqual(self.run_headrace("-q", "run", "relu.sdfg").stderr, "")

    def test_test_data_decides_the_exit_code(self):
        self.write("add.onnx", model([helper.make_node("Add", ["a", "b"], ["c"])], [("a", 1, ["n"]), ("b", 1, ["n"])], [("c", 1, ["n"])]))
        os.mkdir(os.path.join(self.folder, "data"))
        for name, value in (("input_0", [1, 2]), ("input_1", [3, 4]), ("output_0", [4, 6])):
            with open(os.path.join(self.folder, "data", name + ".pb"), "wb") as f:
                f.write(numpy_helper.from_array(np.array(value, np.float32)).SerializeToString())
        self.assertIn("c: ok", self.run_headrace("run", "add.onnx", "--test-data", "data").stdout)
        with open(os.path.join(self.folder, "data", "output_0.pb"), "wb") as f:
            f.write(numpy_helper.from_array(np.array([4, 7], np.float32)).SerializeToString())
        done = self.run_headrace("run", "add.onnx", "--test-data", "data", code=4)
        self.assertIn("MISMATCH", done.stdout)
        self.run_headrace("run", "add.onnx", "--test-data", "data", "--atol", "2")
        self.assertIn("there is no such folder\n  --> nowhere", self.run_headrace("run", "add.onnx", "--test-data", "nowhere", code=1).stderr)

    # ---- models that can't be compiled ----

    def test_every_blocker_is_reported_at_once(self):
        nodes = [helper.make_node("ImageDecoder", ["e"], ["i"], name="decode", pixel_format="HSV"), helper.make_node("NotAnOp", ["i"], ["j"], name="odd")]
        self.write("bad.onnx", model(nodes, [("e", TensorProto.UINT8, [8])], [("j", TensorProto.UINT8, None)]))
        done = self.run_headrace("check", "bad.onnx", code=self.run_code("check", "bad.onnx"))
        self.assertIn("NotAnOp", done.stderr)
        self.assertNotEqual(done.returncode, 0)

    def run_code(self, *args):
        return subprocess.run([DRIVER, *args], cwd=self.folder, capture_output=True, env=self.environment).returncode

    def test_unsupported_is_exit_3_with_op_type_and_reason(self):
        self.write("decode.onnx", model([helper.make_node("ImageDecoder", ["e"], ["i"], name="decode", pixel_format="HSV")],
                                        [("e", TensorProto.UINT8, ["n"])], [("i", TensorProto.UINT8, ["h", "w", 3])]))
        for verb in ("check", "run"):
            error = self.run_headrace(verb, "decode.onnx", code=3).stderr
            for text in ("ImageDecoder", "u8", "decode", "opset", "HSV"):
                self.assertIn(text, error)

    def test_not_a_model(self):
        with open(os.path.join(self.folder, "noise.onnx"), "wb") as f:
            f.write(os.urandom(1000))
        self.assertIn("noise.onnx", self.run_headrace("run", "noise.onnx", code=1).stderr)
        self.write("empty.onnx", "")
        self.run_headrace("run", "empty.onnx", code=1)
        self.assertIn("no such file", self.run_headrace("run", "absent.onnx", code=1).stderr)
        self.assertIn("folder", self.run_headrace("run", ".", code=1).stderr)

    def test_a_mistake_in_text_shows_the_place(self):
        self.write("bad.sdfg", RELU.replace("max(X[i], 0)", "max(X[i], "))
        error = self.run_headrace("run", "bad.sdfg", code=1).stderr
        self.assertRegex(error, r"bad\.sdfg:3:\d+")
        self.assertIn("^", error)
        self.write("typo.sdfg", RELU.replace("X[i]", "XX[i]"))
        self.assertIn("XX", self.run_headrace("run", "typo.sdfg", code=1).stderr)

    # ---- opt, compile, ops ----

    def test_opt_gives_text_that_is_its_own_fixed_point(self):
        once = self.run_headrace("opt", "-", "--pipeline", "simplify", stdin=RELU).stdout
        self.assertEqual(once, self.run_headrace("opt", "-", "--pipeline", "simplify", stdin=once).stdout)
        self.assertIn("did you mean 'simplify'?", self.run_headrace("opt", "-", "--pipeline", "simplfy", code=2, stdin=RELU).stderr)
        self.assertIn("expand-library-nodes", self.run_headrace("opt", "--list").stdout)

    def test_single_steps(self):
        text = "sdfg main(X: f32[N], Y: f32[N]) {\n  transient T: f32[N]\n  state {\n    map i in 0:N { T[i] = X[i] + 1 }\n  }\n" \
               "  state {\n    map i in 0:N { Y[i] = T[i] * 2 }\n  }\n}\n"
        listed = self.run_headrace("opt", "-", "--list", stdin=text).stdout
        self.assertEqual(listed, "alias@#2+Y\n    map i in 0:N { Y[i] = T[i] * 2 }  +  Y: f32[N]\n"
                         "fuse-states@#b0+#b1\n    state  +  state\noutline@#0\n    map i in 0:N { T[i] = X[i] + 1 }\n"
                         "outline@#2\n    map i in 0:N { Y[i] = T[i] * 2 }\n")
        listed = self.run_headrace("opt", "-", "--pipeline", "fuse-states", "--list", "--of", "fuse-maps", stdin=text).stdout
        self.assertEqual(listed, "fuse-maps@#0+#2\n    map i in 0:N { T[i] = X[i] + 1 }  +  map i in 0:N { Y[i] = T[i] * 2 }\n")
        numbered = self.run_headrace("opt", "-", "--ids", stdin=text).stdout
        self.assertIn("  state {  #b1\n    map i in 0:N {  #2\n      Y[i] = T[i] * 2  #3\n", numbered)
        self.assertEqual(self.run_headrace("opt", "-", stdin=numbered).stdout, text)
        steps = ["--apply", "fuse-states@#b0+#b1", "--apply", "fuse-maps@#0+#2", "--apply", "scalarize@T"]
        fused = self.run_headrace("opt", "-", *steps, stdin=text).stdout
        self.assertIn("transient T: f32 @register", fused)
        self.assertEqual(fused.count("map"), 2)  # one map, by "fuse-maps"
        self.assertEqual(self.run_headrace("opt", "-", "--pipeline", "fuse-states@#b0+#b1; fuse-maps@#0+#2; scalarize@T", stdin=text).stdout, fused)
        self.assertIn("no matching steps", self.run_headrace("opt", "-", "--list", "--of", "scalarize", stdin=text).stderr)
        for step, code in (("fuse-maps@#0+#2", "E0367"), ("fuse-maps@#9", "E0366"), ("replace@#0", "E0368"), ("fuse-maps@", "E0350")):
            self.assertIn(code, self.run_headrace("opt", "-", "--apply", step, stdin=text, code=2).stderr)

    def test_programs_go_through_json(self):
        text = self.run_headrace("opt", "-", stdin=RELU).stdout
        as_json = self.run_headrace("opt", "-", "--emit", "json", stdin=RELU).stdout
        self.assertEqual(json.loads(as_json)["entry"], "main")
        self.assertEqual(self.run_headrace("opt", "-", stdin=as_json).stdout, text)
        self.write("relu.json", as_json)
        self.assertIn("Y: f32[3]", self.run_headrace("run", "relu.json", "--dim", "N=3").stdout)
        self.assertIn("error[E0406]", self.run_headrace("run", "-", stdin="{", code=1).stderr)

    def test_emit(self):
        self.write("relu.sdfg", RELU)
        self.assertIn("map i in 0:N", self.run_headrace("compile", "relu.sdfg", "--emit", "ir").stdout)
        source = self.run_headrace("compile", "relu.sdfg", "--emit", "cpp").stdout
        self.assertEqual(source, self.run_headrace("compile", "relu.sdfg", "--emit", "cpp").stdout)
        self.assertIn("for (", source)

    def test_denormals(self):
        smallest = np.finfo(np.float32).tiny
        self.write("half.sdfg", "sdfg f(X: f32[4], Y: f32[4]) { map i in 0:4 { Y[i] = X[i] * 0.5 } }")
        self.save("x.npy", np.full(4, smallest, np.float32))
        io = ["--input", "X=@x.npy", "--output", "Y=@y.npy"]
        for backend in ("cpu", "interpreter"):
            for option, expected in (([], 0), (["--keep-denormals"], smallest / 2)):
                self.run_headrace("run", "half.sdfg", "--backend", backend, *io, *option)
                np.testing.assert_array_equal(self.load("y.npy"), np.full(4, expected, np.float32))
        self.run_headrace("run", "half.sdfg", "--verify", *io)
        for emit in ("loops", "scheduled"):
            self.assertEqual("@flush" in self.run_headrace("compile", "half.sdfg", "--emit", emit).stdout, emit == "scheduled")
            self.assertNotIn("@flush", self.run_headrace("compile", "half.sdfg", "--emit", emit, "--keep-denormals").stdout)
        self.run_headrace("compile", "half.sdfg", "-o", "half.hrx", "--keep-denormals")
        self.run_headrace("run", "half.hrx", *io)
        np.testing.assert_array_equal(self.load("y.npy"), np.full(4, smallest / 2, np.float32))

    def test_autocast(self):
        self.write("product.sdfg", "sdfg f(X: f32[6, 32], W: f32[32, 8], Y: f32[6, 8]) { onnx.MatMul(A = X, B = W) -> (Y = Y) }")
        random = np.random.default_rng(0)
        x, w = (random.standard_normal(s).astype(np.float32) for s in ((6, 32), (32, 8)))
        self.save("x.npy", x), self.save("w.npy", w)
        io = ["--input", "X=@x.npy", "--input", "W=@w.npy", "--output", "Y=@y.npy"]

        def check(least, most, y=x @ w):
            self.assertEqual(self.load("y.npy").dtype, np.float32)
            self.assertTrue(least < np.abs(self.load("y.npy") - y).max() / np.abs(y).max() < most)

        for option, least, most in (("bf16", 1e-4, 0.02), ("f16", 1e-5, 0.002)):
            for backend in ("cpu", "interpreter"):
                self.run_headrace("run", "product.sdfg", "--backend", backend, *io, "--autocast", option)
                check(least, most)
            self.run_headrace("run", "product.sdfg", "--verify", *io, "--autocast", option)
            self.run_headrace("compile", "product.sdfg", "-o", option + ".hrx", "--autocast", option)
            self.run_headrace("run", option + ".hrx", *io)
            check(least, most)
            self.assertIn(option, self.run_headrace("compile", "product.sdfg", "--emit", "scheduled", "--autocast", option).stdout)
        self.run_headrace("grad", "product.sdfg", "--output", "Y", "--wrt", "W", *io[:4], "--out", "g", "--autocast", "bf16")
        gradient = np.repeat(x.sum(0)[:, None], 8, 1)
        got = self.load("g/W.npy")
        self.assertEqual(got.dtype, np.float32)
        self.assertTrue(1e-4 < np.abs(got - gradient).max() / np.abs(gradient).max() < 0.02)

    def test_an_artifact_runs_without_a_compiler(self):
        self.write("relu.sdfg", RELU)
        self.run_headrace("compile", "relu.sdfg", "-o", "relu.hrx")
        self.save("x.npy", np.array([-1, 2], np.float32))
        shutil.rmtree(os.path.join(self.folder, "cache"), ignore_errors=True)
        self.run_headrace("run", "relu.hrx", "--input", "X=@x.npy", "--output", "Y=@y.npy", PATH="/nonexistent", CXX="/nonexistent")
        np.testing.assert_array_equal(self.load("y.npy"), [0, 2])

    def test_ops(self):
        self.assertIn("pure", self.run_headrace("ops", "Softmax").stdout)
        self.assertIn("did you mean 'Softmax'?", self.run_headrace("ops", "Sotfmax", code=2).stderr)
        self.assertRegex(self.run_headrace("ops").stdout, r"\d+ of \d+ ops have an implementation")

    # ---- cache, environment, interrupts ----

    def test_cache_lists_and_clears(self):
        self.write("relu.sdfg", RELU)
        self.run_headrace("run", "relu.sdfg")
        entries = json.loads(self.run_headrace("cache", "list", "--json").stdout)["entries"]
        self.assertGreaterEqual(len(entries), 1)
        self.run_headrace("cache", "clear")
        self.assertEqual(json.loads(self.run_headrace("cache", "list", "--json").stdout)["entries"], [])

    def test_nothing_is_written_beside_the_model(self):
        self.write("relu.sdfg", RELU)
        self.run_headrace("run", "relu.sdfg")
        self.assertEqual(sorted(os.listdir(self.folder)), ["cache", "relu.sdfg"])

    def test_progress_only_on_a_terminal(self):
        self.write("relu.sdfg", RELU)
        self.assertNotIn("\r", self.run_headrace("run", "relu.sdfg").stderr)
        master, slave = pty.openpty()
        process = subprocess.Popen([DRIVER, "run", "relu.sdfg", "--dim", "N=77"], cwd=self.folder, stdout=subprocess.DEVNULL,
                                   stderr=slave, env=dict(self.environment, HEADRACE_CACHE_DIR=os.path.join(self.folder, "other")))
        os.close(slave)
        said = b""
        while True:
            try:
                chunk = os.read(master, 4096)
            except OSError:
                break
            if not chunk:
                break
            said += chunk
        self.assertEqual(process.wait(), 0)
        self.assertIn(b"passes", said)

    def test_one_interrupt_stops_within_a_second(self):
        loop = """sdfg main(X: f64[1], Y: f64[1]) {
  state { Y[0] = X[0] }
  while Y[0] < 1e300 {
    state { Y[0] = Y[0] * 1.0 }
  }
}
"""
        self.write("endless.sdfg", loop)
        for backend in ("interpreter", "cpu"):
            seconds = [self.seconds_to_stop("endless.sdfg", backend)]
            while seconds[-1] >= 2 and len(seconds) < 3:  # on a machine on which others are busy
                seconds.append(self.seconds_to_stop("endless.sdfg", backend))
            self.assertLess(seconds[-1], 2, f"{backend}: {seconds}")

    def seconds_to_stop(self, program, backend):
        process = subprocess.Popen([DRIVER, "run", program, "--backend", backend], cwd=self.folder, env=self.environment, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        time.sleep(4 if backend == "cpu" else 1)
        self.assertIsNone(process.poll(), backend)
        start = time.time()
        process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=20)
        finally:
            process.kill()
        self.assertEqual(process.returncode, 130, backend)
        return time.time() - start

    def test_names_that_are_not_utf_8(self):
        data = model([helper.make_node("Exp", ["xx"], ["yy"])], [("xx", TensorProto.FLOAT, [2])], [("yy", TensorProto.FLOAT, [2])]).SerializeToString()
        with open(os.path.join(self.folder, "utf8.onnx"), "wb") as f:
            f.write(data.replace(b"xx", b"\xff\xfe").replace(b"yy", b"\xc3("))
        for verb in (["check"], ["run", "--backend", "interpreter"]):
            done = self.run_headrace(verb[0], "utf8.onnx", "--json", *verb[1:])
            self.assertIn("\ufffd", json.dumps(json.loads(done.stdout), ensure_ascii=False))
        folder = os.path.join(self.folder, os.fsdecode(b"cache\xff"))
        done = subprocess.run([DRIVER, "cache", "list", "--json"], capture_output=True, text=True, env=dict(self.environment, HEADRACE_CACHE_DIR=folder))
        self.assertIn("\ufffd", json.loads(done.stdout)["folder"], done.stderr)

    def test_works_when_started_from_anywhere(self):
        done = subprocess.run([DRIVER, "plugins"], cwd="/", capture_output=True, text=True, env=self.environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("cpu", "interpreter", "onnx_importer", "onnx_ops", "transforms"):
            self.assertIn(name, done.stdout)

if __name__ == "__main__":
    unittest.main()
