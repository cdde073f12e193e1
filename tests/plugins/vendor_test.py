"""A library of kernels as third parties make one: packed_product.cc built outside the workspace, chosen, prepared, saved, loaded, run."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

DRIVER, SDK = (os.path.abspath(p) for p in sys.argv[1:3])
EXAMPLE = os.path.abspath("plugins/example/packed_product.cc")
BAD = os.path.abspath("tests/plugins/bad_kernels.cc")
OLD = os.path.abspath("tests/plugins/old_plugin.c")
COMPILERS = [c for c in ("g++", "clang++") if shutil.which(c)]
ROWS, DEPTH, COLUMNS = 40, 33, 50

# Runs an artifact from eight threads on inputs of their own, twenty times each; prints the first result of each.
EIGHT_THREADS = """
#include <headrace_loader.hpp>
#include <cstdio>
#include <thread>

int main(int, char** argv) try {
  const headrace::Model model(argv[1]);
  const int64_t rows = 40, depth = 33, columns = 50;
  std::vector<std::vector<float>> results(8);
  std::vector<std::thread> threads;
  bool same = true;
  for (int t = 0; t < 8; ++t) threads.emplace_back([&, t] {
    std::vector<float> x(rows * depth), r(rows * columns);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i * 7 + t) % 11) / 11;
    for (size_t i = 0; i < r.size(); ++i) r[i] = static_cast<float>((i * 3 + t) % 5) / 5;
    for (int k = 0; k < 20; ++k) {
      const auto y = model.Run({{"x", {rows, depth}, x.data()}, {"r", {rows, columns}, r.data()}});
      const std::vector<float> got(y.data<float>("y"), y.data<float>("y") + rows * columns);
      if (k == 0) results[t] = got;
      else if (got != results[t]) same = false;
    }
  });
  for (auto& t : threads) t.join();
  if (!same) return 3;
  for (const auto& r : results) std::fwrite(r.data(), 4, r.size(), stdout);
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\\n", e.what());
  return 1;
}
"""


def layer(rows):
    """y = relu(sin(x) W1 + b + exp(r)) W2, in onnx; rows: a number or a name."""
    rng = np.random.default_rng(5)
    weights = {"W1": rng.standard_normal((DEPTH, COLUMNS)), "b": rng.standard_normal(COLUMNS), "W2": rng.standard_normal((COLUMNS, COLUMNS))}
    weights = {name: w.astype(np.float32) for name, w in weights.items()}
    nodes = [helper.make_node("Sin", ["x"], ["s"]), helper.make_node("Exp", ["r"], ["e"]), helper.make_node("MatMul", ["s", "W1"], ["p"], name="first"),
             helper.make_node("Add", ["p", "b"], ["q"]), helper.make_node("Add", ["q", "e"], ["t"]), helper.make_node("Relu", ["t"], ["u"]),
             helper.make_node("MatMul", ["u", "W2"], ["y"], name="second")]
    value = lambda name, columns: helper.make_tensor_value_info(name, TensorProto.FLOAT, [rows, columns])
    graph = helper.make_graph(nodes, "layer", [value("x", DEPTH), value("r", COLUMNS)], [value("y", COLUMNS)],
                              [numpy_helper.from_array(w, name) for name, w in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), weights


def expected(weights, x, r):
    x, r, w = x.astype(np.float64), r.astype(np.float64), {name: v.astype(np.float64) for name, v in weights.items()}
    return np.maximum(np.sin(x) @ w["W1"] + w["b"] + np.exp(r), 0) @ w["W2"]


class Vendor(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        with tarfile.open(SDK) as sdk:
            sdk.extractall(cls.folder)
        os.environ["HEADRACE_CACHE_DIR"] = cls.folder + "/cache"
        os.makedirs(cls.folder + "/cache", mode=0o700)
        rng = np.random.default_rng(6)
        cls.x, cls.r = (rng.standard_normal((ROWS, n)).astype(np.float32) for n in (DEPTH, COLUMNS))
        np.save(cls.folder + "/x.npy", cls.x)
        np.save(cls.folder + "/r.npy", cls.r)
        for name, rows in (("fixed", ROWS), ("symbolic", "N")):
            model, cls.weights = layer(rows)
            onnx.save(model, f"{cls.folder}/{name}.onnx")
        cls.plugin = cls.build(EXAMPLE, "packed.so", COMPILERS[0])

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def build(cls, source, out, compiler, *flags, standard="-std=c++17"):
        command = [compiler, standard, "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-Iinclude", source, "-o", cls.folder + "/" + out, *flags]
        done = subprocess.run(command, capture_output=True, text=True, cwd=cls.folder)
        assert done.returncode == 0, done.stderr
        return cls.folder + "/" + out

    def headrace(self, *args, plugin=None, code=0):
        """Standard output, and what the example says of itself."""
        done = subprocess.run([DRIVER, *(["--plugin", plugin] if plugin else []), *args], capture_output=True, text=True, cwd=self.folder, timeout=300,
                              env=dict(os.environ, PACKED_PRODUCT_TRACE="1"))
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout, done.stderr

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w") as f:
            f.write(text)
        return name

    def run_layer(self, model, *flags, plugin=None):
        _, said = self.headrace("run", model, "--input", "x=@x.npy", "--input", "r=@r.npy", "--output", "y=@y.npy", *flags, plugin=plugin)
        wanted = expected(self.weights, self.x, self.r)
        np.testing.assert_allclose(np.load(self.folder + "/y.npy"), wanted, rtol=1e-4, atol=1e-4 * np.abs(wanted).max())
        return said

    def test_it_is_chosen_by_cost_and_by_name(self):
        choice = lambda *flags: re.findall(r"^  (\S+) .* chosen$", self.headrace("ops", "MatMul", *flags, plugin=self.plugin)[0], re.M)
        self.assertEqual(choice("fixed.onnx"), ["packed", "packed"])
        self.assertEqual(choice("symbolic.onnx"), ["pure", "pure"])  # what it costs is not known
        self.assertEqual(choice("symbolic.onnx", "--impl", "packed"), ["packed", "packed"])
        self.assertEqual(choice("fixed.onnx", "--impl", "MatMul=pure"), ["pure", "pure"])
        small = onnx.load(self.folder + "/fixed.onnx")
        for v in (*small.graph.input, *small.graph.output):
            v.type.tensor_type.shape.dim[0].dim_value = 1
        onnx.save(small, self.folder + "/small.onnx")
        self.assertEqual(choice("small.onnx"), ["pure", "pure"])  # too small to be worth a call

    def test_the_values_are_right_with_every_compiler_and_backend(self):
        for compiler in COMPILERS:
            plugin = self.build(EXAMPLE, f"packed_{compiler}.so", compiler)
            for model, *flags in (("fixed.onnx",), ("symbolic.onnx", "--impl", "packed"), ("fixed.onnx", "--threads", "1")):
                said = self.run_layer(model, *flags, plugin=plugin)
                self.assertEqual(said.count("prepared"), 2, said)  # once for each of the two calls
                self.assertEqual(said.count("released"), 2, said)
                said = self.run_layer(model, "--backend", "interpreter", *flags, plugin=plugin)
                self.assertEqual(said.count("prepared"), 2, said)

    def test_epilogue_layout_scratch_and_place_stand_in_the_program(self):
        loops, _ = self.headrace("compile", "fixed.onnx", "--emit", "loops", plugin=self.plugin)
        calls = re.findall(r"call\.packed_product.*", loops)
        self.assertEqual(len(calls), 2, loops)
        self.assertIn('epilogue = ["bias e0 1", "add e1", "relu"]', loops)
        self.assertNotIn("max(", loops)  # the statement is gone
        residual, result = re.search(r"e1 = (\w+)\) -> \(Y = (\w+)", loops).groups()
        self.assertEqual(residual, result)  # in place
        self.assertIn(f"strides [1, {ROWS}]", loops)  # sin(x) is made as the call wants it
        self.assertRegex(loops, rf"u8\[{4 * 16 * ROWS * 4 + 64}\]")
        self.assertIn("in place", self.run_layer("fixed.onnx", plugin=self.plugin))
        for level in ("loops", "scheduled"):  # the text is a program
            text, _ = self.headrace("compile", "fixed.onnx", "--emit", level, plugin=self.plugin)
            self.run_layer(self.write(level + ".sdfg", text), plugin=self.plugin)
            self.run_layer(level + ".sdfg", "--backend", "interpreter", plugin=self.plugin)

    def test_an_artifact_prepares_once_and_runs_from_eight_threads(self):
        for model, *flags in (("fixed.onnx",), ("symbolic.onnx", "--impl", "packed")):
            _, said = self.headrace("compile", model, "-o", "layer.hrx", *flags, plugin=self.plugin)
            self.assertEqual(said.count("prepared"), 2, said)
            self.assertEqual(self.run_layer("layer.hrx").count("prepared"), 2)  # a fresh process without the plugin
            self.write("eight.cc", EIGHT_THREADS)
            built = subprocess.run(["g++", "-std=c++11", "-O1", "-Iinclude", "eight.cc", "-o", "eight", "-ldl", "-pthread"], capture_output=True, text=True,
                                   cwd=self.folder)
            self.assertEqual(built.returncode, 0, built.stderr)
            done = subprocess.run([self.folder + "/eight", self.folder + "/layer.hrx"], capture_output=True, cwd="/", timeout=300,
                                  env={"PACKED_PRODUCT_TRACE": "1"})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stderr.count(b"prepared"), 2)
            self.assertEqual(done.stderr.count(b"in place"), 160)
            got = np.frombuffer(done.stdout, np.float32).reshape(8, ROWS, COLUMNS)
            for t in range(8):
                x = ((np.arange(ROWS * DEPTH) * 7 + t) % 11 / 11).astype(np.float32).reshape(ROWS, DEPTH)
                r = ((np.arange(ROWS * COLUMNS) * 3 + t) % 5 / 5).astype(np.float32).reshape(ROWS, COLUMNS)
                wanted = expected(self.weights, x, r)
                np.testing.assert_allclose(got[t], wanted, rtol=1e-4, atol=1e-4 * np.abs(wanted).max())

    def test_what_functions_do_wrong_is_said(self):
        plugin = self.build(BAD, "bad.so", COMPILERS[0])
        for name, text in (("overrun", "error[E0679]: external function bad_overrun wrote beyond the 32 bytes of its scratch"),
                           ("prepare", "error[E0678]: external function 'bad_prepare' refuses: no kernel for 3 rows"),
                           ("layout", "error[E0678]: external function 'bad_layout' refuses: its layout of 'X' is no order of its dimensions"),
                           ("scratch", "error[E0678]: external function 'bad_scratch' refuses: its scratch speaks of 'nobody'")):
            path = self.write(name + ".sdfg", f"sdfg f(X: f32[3, 4], Y: f32[3, 4]) {{ call.bad_{name}(X = X) -> (Y = Y) }}\n")
            for backend in ("cpu", "interpreter"):
                done = subprocess.run([DRIVER, "--plugin", plugin, "run", path, "--backend", backend], capture_output=True, text=True, cwd=self.folder)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(text, done.stderr)

    def test_what_functions_throw_or_make_of_another_kind_is_an_error(self):
        plugin = self.build(BAD, "bad.so", COMPILERS[0])
        for name, text in (("throw", "E0654]: external function bad_throw failed: no kernel today"),
                           ("throw_number", "E0654]: external function bad_throw_number failed: unknown exception"),
                           ("nothing", "external function bad_nothing"), ("type", "external function bad_type"),
                           ("rank", "external function bad_rank"), ("size", "E0654]: external function bad_size failed")):  # fmt: skip
            path = self.write(name + ".sdfg", f"sdfg f(X: f32[6], Y: f32[1]) {{\n  transient U: f32[k]\n  call.bad_{name}(X = X) -> (Y = U) defines (k)\n  Y[0] = k\n}}\n")
            for backend in ("cpu", "interpreter"):
                done = subprocess.run([DRIVER, "--plugin", plugin, "run", path, "--backend", backend], capture_output=True, text=True, cwd=self.folder)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn(text, done.stderr)

    def test_what_chunks_and_states_throw_is_an_error_or_dropped(self):
        plugin = self.build(BAD, "bad.so", COMPILERS[0])
        run = lambda name, *flags: subprocess.run([DRIVER, "--plugin", plugin, "run", name + ".sdfg", "--input", "X=[1, 2]", *flags], capture_output=True, text=True, cwd=self.folder)
        for name, text in (("chunks", "error[E0654]: external function bad_chunks failed: chunk 60"), ("caught", ""),
                           ("create", "error[E0678]: external function 'bad_create' refuses: it threw an exception: no state today"),
                           ("class", "error[E0678]: external function 'bad_class' refuses: it threw an exception: no class today"), ("destroy", ""), ("release", "")):  # fmt: skip
            self.write(name + ".sdfg", f"sdfg f(X: f32[2], Y: f32[2]) {{ call.bad_{name}(X = X) -> (Y = Y) }}\n")
            for flags in (("--backend", "interpreter"), ("--threads", "1"), ("--threads", "8")):
                done = run(name, *flags)
                self.assertEqual(done.returncode in (1, 3), bool(text), done.stderr)
                self.assertIn(text or "Y: f32[2] = 1 2", done.stdout + done.stderr)

    def test_plugins_of_older_interfaces_load_and_run(self):
        path = self.write("neg.sdfg", "sdfg f(X: f32[2, 2], Y: f32[2, 2]) { onnx.Neg(X = X) -> (Y = Y) }\n")
        np.save(self.folder + "/two.npy", np.array([[1, -2], [3, -4]], np.float32))
        for minor in (0, 1):
            plugin = self.build(OLD, f"old{minor}.so", "gcc", f"-DOLD_MINOR={minor}", "-Wno-unused-parameter", standard="-std=gnu99")
            for backend in ("cpu", "interpreter"):
                self.headrace("run", path, "--impl", "Neg=old", "--input", "X=@two.npy", "--output", "Y=@out.npy", "--backend", backend, plugin=plugin)
                np.testing.assert_array_equal(np.load(self.folder + "/out.npy"), [[-1, 2], [-3, 4]])
            self.headrace("compile", path, "-o", f"old{minor}.hrx", "--impl", "Neg=old", plugin=plugin)
            self.headrace("run", f"old{minor}.hrx", "--input", "X=@two.npy", "--output", "Y=@out.npy")
            np.testing.assert_array_equal(np.load(self.folder + "/out.npy"), [[-1, 2], [-3, 4]])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
