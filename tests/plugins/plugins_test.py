"""Third-party plugins as third parties make them: built outside the workspace against the SDK, loaded into the shipped binary."""

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
EXAMPLES = os.path.abspath("plugins/example")
DOCUMENT = os.path.abspath("docs/backward_rules.md")
BAD = os.path.abspath("tests/plugins/bad_plugins.cc")
BAD_PASSES = os.path.abspath("tests/plugins/bad_passes.cc")
OWN_BACKEND = os.path.abspath("tests/plugins/own_backend.cc")
COMPILERS = [c for c in ("g++", "clang++") if shutil.which(c)]

SMOOTH_CLIP = """
sdfg main(X: f32[5], Y: f32[5]) {
  state {
    example.SmoothClip{hi = 2.0, lo = -1.0}(X = X) -> (Y = Y)
  }
}
"""


class Plugins(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        with tarfile.open(SDK) as sdk:
            sdk.extractall(cls.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def build(self, source, out, *flags, compiler="g++"):
        command = [compiler, "-std=c++17", "-shared", "-fPIC", "-I" + self.path("include"), source, "-o", self.path(out), *flags]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.path(out)

    def headrace(self, *args, stdin=None):
        return subprocess.run([DRIVER, *args], capture_output=True, text=True, input=stdin, cwd=self.folder)

    def write(self, name, text):
        with open(self.path(name), "w") as f:
            f.write(text)
        return self.path(name)

    def expect_refused(self, plugin, *texts):
        done = self.headrace("--plugin", plugin, "plugins")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        for text in texts:
            self.assertIn(text, done.stderr)
        self.assertIn("transforms", done.stdout)  # the good ones stay loaded

    def test_an_op_from_every_compiler_runs_on_both_backends(self):
        model = self.write("clip.sdfg", SMOOTH_CLIP)
        for compiler in COMPILERS:
            plugin = self.build(EXAMPLES + "/smooth_clip.cc", f"clip_{compiler}.so", compiler=compiler)
            texts = {}
            x = "X=[-40, 1.34375, 2.578125, 3.796875, 40]"  # results lie far from where their sixth digit changes
            for backend, impl in (("interpreter", "pure"), ("cpu", "pure"), ("cpu", "external")):
                done = self.headrace("--plugin", plugin, "run", model, "--backend", backend, "--impl", impl, "--input", x)
                self.assertEqual(done.returncode, 0, done.stderr)
                texts[backend, impl] = done.stdout
            self.assertEqual(len(set(texts.values())), 1, texts)

    def test_passes_that_are_wrong_are_named_with_their_plugin(self):
        plugin = self.build(BAD_PASSES, "bad_passes.so", "-L" + self.path("lib"), "-lheadrace")
        text = "sdfg f(X: f32[3], Y: f32[3]) {\n  constant W: f32[3] = [1, 2, 3]\n  Y[i] = X[i] * W[i]\n}\n"
        for name, why in (("bad-throw", "pass 'bad-throw' threw an exception: out of coffee"), ("bad-shorten", "error[E0207]")):
            for args in (("opt", "-", "--pipeline", name), ("opt", "-", "--list", "--of", name), ("run", "-", "--pipeline", name + "; default")):
                done = self.headrace("--plugin", plugin, *args, stdin=text)
                if args[2] == "--list" and name == "bad-shorten":
                    continue  # where it would go is no harm
                self.assertIn(why, done.stderr)
                if args[2] != "--list":
                    self.assertIn(f"pass '{name}' failed on a valid program; this is a bug in plugin 'bad_passes'", done.stderr)

    def test_an_op_in_an_onnx_model(self):
        """Its type and sizes come from the plugin; nothing is declared."""
        graph = helper.make_graph([helper.make_node("MatMul", ["x", "W"], ["h"]), helper.make_node("SmoothClip", ["h"], ["y"], domain="example", hi=2.0)], "g",
                                  [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3])], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                                  [numpy_helper.from_array(np.eye(3, dtype=np.float32), "W")])
        model = self.path("clip.onnx")
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("example", 1)], ir_version=10), model)
        x = np.linspace(-3, 3, 12, dtype=np.float32).reshape(4, 3)
        np.save(self.path("x.npy"), x)
        np.savez(self.path("data.npz"), x=x, target=np.zeros((4, 3), np.float32))
        sigmoid = lambda v: 1 / (1 + np.exp(-v))
        for compiler in COMPILERS:
            plugin = self.build(EXAMPLES + "/smooth_clip.cc", f"clip_onnx_{compiler}.so", compiler=compiler)
            run = lambda *args: self.headrace("--plugin", plugin, *args)
            done = run("check", model)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("y: f32[N, 3]", done.stdout)
            for backend in ("interpreter", "cpu"):
                for done in (run("run", model, "--backend", backend, "--input", "x=@x.npy", "--output", "y=@y.npy"),
                             run("grad", model, "--backend", backend, "--input", "x=@x.npy", "--output", "y", "--wrt", "x", "--out", "slopes"),
                             run("train", model, "--backend", backend, "--data", "data.npz", "--loss", "mse", "--lr", "0.1", "--epochs", "2", "--batch", "4", "--checkpoint",
                                 tempfile.mkdtemp(dir=self.folder))):
                    self.assertEqual(done.returncode, 0, done.stderr)
                np.testing.assert_allclose(np.load(self.path("y.npy")), np.log1p(np.exp(x)) - np.log1p(np.exp(x - 2)), rtol=1e-5, atol=1e-6)
                np.testing.assert_allclose(np.load(self.path("slopes/x.npy")), sigmoid(x) - sigmoid(x - 2), rtol=1e-5, atol=1e-6)

    def test_the_table_of_ops_has_what_the_importer_lowers_itself(self):
        missing = self.headrace("ops", "--missing").stdout
        models = {"onnx.If": "g (bool c, float[3] x) => (y) { y = If(c) <then_branch = t () => (float[3] a) { a = Relu(x) }, else_branch = e () => (float[3] b) { b = Exp(x) }> }",
                  "onnx.Loop": "g (float[3] x) => (y) <int64 n = {3}> { y = Loop(n, , x) <body = b (int64 i, bool c, float[3] v) => (bool d, float[3] w) { d = Identity(c)\n w = Relu(v) }> }",
                  "onnx.Scan": "g (float[4, 3] x) => (y) { y = Scan(x) <num_scan_inputs = 1, body = b (float[3] v) => (float[3] w) { w = Relu(v) }> }",
                  "ai.onnx.preview.training.Gradient": "g (float[3] x) => (y) { s = ReduceSum<keepdims = 0>(x)\n y = ai.onnx.preview.training.Gradient<xs = [\"x\"], y = \"s\">(x) }"}
        for op, graph in models.items():
            self.assertNotIn(op, missing)
            shown = self.headrace("ops", op).stdout
            self.assertRegex(shown, r"implementations  import\n +backward +of what it becomes")
            model = self.write("own.onnxtxt", '<ir_version: 10, opset_import: ["" : 21, "ai.onnx.preview.training" : 1]>\n' + graph)
            done = self.headrace("check", model)
            self.assertEqual(done.returncode, 0, op + done.stderr)

    def test_a_backward_rule_is_used_by_grad(self):
        plugin = self.build(EXAMPLES + "/smooth_clip.cc", "clip_grad.so")
        # The gradient node that the rule is the meaning of, written by hand; far from the kinks it is 1, far outside 0.
        text = """
sdfg main(X: f32[4], D: f32[4]) {
  constant given: f32[4] = [-100, 0.5, 1, 100]
  constant ones: f32[4] = fill(1)
  state {
    grad.SmoothClip{domain = "example", hi = 60.0, lo = -60.0}(X = given, grad_Y = ones) -> (grad_X = D)
  }
}
"""
        for backend in ("interpreter", "cpu"):
            done = self.headrace("--plugin", plugin, "run", self.write("grad.sdfg", text), "--backend", backend)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, r"D: f32\[4\] = \S+e-18 1 1 0")
        done = self.headrace("--plugin", plugin, "grad", self.write("clip.sdfg", SMOOTH_CLIP), "--output", "Y", "--wrt", "X",
                             "--backend", "interpreter", "--out", self.path("gradients"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.path.exists(os.path.join(self.path("gradients"), "X.npy")))
        done = self.headrace("--plugin", plugin, "ops", "SmoothClip")
        self.assertRegex(done.stdout, "backward *form")

    def test_a_rule_for_another_plugins_op_as_the_document_writes_it(self):
        with open(DOCUMENT) as f:
            block = re.search(r'```cpp\n(r\.backward\("Relu".*?)```', f.read(), re.S).group(1)
        # Three times as much, so that one sees whose rule it is.
        source = '#include "headrace_plugin.hpp"\nusing headrace_plugin::Node;\nHEADRACE_PLUGIN("relu_rule", "1.0") {\n'
        plugin = self.build(self.write("relu_rule.cc", source + block.replace("? dY[i]", "? 3 * dY[i]") + "}\n"), "relu_rule.so")
        for shape, x, factor in (("4", "[-1, 2, 3, 4]", 3), ("2, 2", "[[-1, 2], [3, 4]]", 1)):  # not a vector: not its case
            text = f"""
sdfg main(D: f32[{shape}]) {{
  constant X: f32[{shape}] = {x}
  constant Y: f32[{shape}] = {x.replace("-1", "0")}
  constant g: f32[{shape}] = fill(1)
  state {{
    grad.Relu{{domain = "onnx"}}(X = X, Y = Y, grad_Y = g) -> (grad_X = D)
  }}
}}
"""
            done = self.headrace("--plugin", plugin, "run", self.write("relu.sdfg", text), "--backend", "interpreter")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, rf"0 {factor} {factor} {factor}")
        done = self.headrace("--plugin", plugin, "ops", "Relu")
        self.assertRegex(done.stdout, "backward *relu_by_output, derived")

    def test_a_pass_from_every_compiler_changes_the_text(self):
        text = 'sdfg main(X: f32[4], Y: f32[4]) {\n  state {\n    map i in 0:4 from "layer1" { Y[i] = X[i] }\n  }\n}\n'
        for compiler in COMPILERS:
            plugin = self.build(EXAMPLES + "/strip_origins.cc", f"strip_{compiler}.so", "-L" + self.path("lib"), "-lheadrace", compiler=compiler)
            before = self.headrace("opt", "-", "--pipeline", "", stdin=text)
            after = self.headrace("--plugin", plugin, "opt", "-", "--pipeline", "strip-origins", stdin=text)
            self.assertEqual(after.returncode, 0, after.stderr)
            self.assertIn('from "layer1"', before.stdout)
            self.assertEqual(after.stdout, before.stdout.replace(' from "layer1"', ""))

    def test_a_transformation_is_listed_and_applied(self):
        text = "sdfg main(X: f32[4, 5], Y: f32[4, 5], Z: f32[5]) {\n  state {\n    map i in 0:4, j in 0:5 { Y[i, j] = X[i, j] }\n    map j in 0:5 { Z[j] = X[0, j] }\n  }\n}\n"
        for compiler in COMPILERS:
            plugin = self.build(EXAMPLES + "/rotate_indices.cc", f"rotate_{compiler}.so", "-L" + self.path("lib"), "-lheadrace", compiler=compiler)
            listed = self.headrace("--plugin", plugin, "opt", "-", "--list", "--of", "rotate-indices", stdin=text)
            self.assertEqual(listed.stdout, "rotate-indices@#0\n    map i in 0:4, j in 0:5 { Y[i, j] = X[i, j] }\n"
                                            "    not advised: which order is best depends on the arrays\n", listed.stderr)
            applied = self.headrace("--plugin", plugin, "opt", "-", "--apply", "rotate-indices@#0", stdin=text)
            self.assertEqual(applied.stdout, text.replace("map i in 0:4, j in 0:5 {", "map j in 0:5, i in 0:4 {"), applied.stderr)

    def test_newer_minor_version_loads(self):
        plugin = self.build(BAD, "newer.so", "-DBAD_MINOR=7")
        done = self.headrace("--plugin", plugin, "plugins")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_wrong_magic(self):
        self.expect_refused(self.build(BAD, "magic.so", "-DBAD_MAGIC=42"), "error[E0334]", "wrong magic number")

    def test_other_major_versions(self):
        for major in (0, 2):
            plugin = self.build(BAD, f"major{major}.so", f"-DBAD_MAJOR={major}", "-DBAD_MINOR=3")
            self.expect_refused(plugin, f"made for plugin interface {major}.3, this headrace has 1.", "error[E0335]", "rebuild the plugin")

    def test_missing_exports(self):
        self.expect_refused(self.build(BAD, "noinfo.so", "-DBAD_NO_INFO"), "error[E0333]", "does not export headrace_plugin_info")
        self.expect_refused(self.build(BAD, "noentry.so", "-DBAD_NO_ENTRY"), "does not export headrace_plugin_v1")

    def test_missing_symbol(self):
        self.expect_refused(self.build(BAD, "undefined.so", "-DBAD_UNDEFINED"), "error[E0332]", "undefined symbol: no_library_has_this")

    def test_throwing_entry(self):
        self.expect_refused(self.build(BAD, "throws.so", "-DBAD_THROWS"), "error[E0338]", "its entry threw an exception: out of coffee")

    def test_entry_that_throws_what_is_no_exception(self):
        self.expect_refused(self.build(BAD, "number.so", "-DBAD_THROWS_NUMBER"), "error[E0338]", "its entry threw an exception")

    def test_nameless_ops(self):
        for name, flag in (("empty", '-DBAD_OP=""'), ("null", "-DBAD_OP=nullptr"), ("nowhere", "-DBAD_DOMAIN=nullptr")):
            self.expect_refused(self.build(BAD, name + ".so", flag), "error[E0303]: plugin bad registers an op without a name or domain")

    def test_an_op_that_is_there_already(self):
        plugin = self.build(BAD, "shadow.so", '-DBAD_DOMAIN="onnx"', '-DBAD_OP="Softmax"')
        self.expect_refused(plugin, "error[E0301]: op onnx.Softmax is defined twice: by onnx_ops and by bad")

    def test_failing_entry(self):
        self.expect_refused(self.build(BAD, "fails.so", "-DBAD_RETURNS=9"), "its entry returned 9")

    def test_double_registration(self):
        first = self.build(BAD, "first.so", '-DBAD_NAME="first"')
        second = self.build(BAD, "second.so", '-DBAD_NAME="second"')
        done = self.headrace("--plugin", first, "--plugin", second, "plugins")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("error[E0301]: op bad.Twice is defined twice: by first and by second", done.stderr)
        again = self.build(BAD, "again.so", '-DBAD_NAME="first"')
        done = self.headrace("--plugin", first, "--plugin", again, "plugins")
        self.assertEqual(done.returncode, 1)
        self.assertIn("error[E0337]: a plugin named 'first' is already loaded", done.stderr)

    def test_reserved_domain(self):
        self.expect_refused(self.build(BAD, "reserved.so", "-DBAD_RESERVED"), "error[E0302]: the op name grad.Conv is reserved")

    def test_a_form_that_does_not_parse_shows_the_place(self):
        self.expect_refused(self.build(BAD, "form.so", "-DBAD_FORM"), "Y = X +", "^")

    def test_an_implementation_that_fails_says_why(self):
        plugin = self.build(BAD, "expand.so", "-DBAD_EXPAND")
        done = self.headrace("--plugin", plugin, "run", "-", "--impl", "fails", stdin="sdfg f(X: f32[4], Y: f32[4]) { bad.Twice(X = X) -> (Y = Y) }")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("error[E0340]: implementation 'fails' failed: out of coffee", done.stderr)

    def test_an_implementation_that_throws_says_what(self):
        plugin = self.build(BAD, "expand_throws.so", "-DBAD_EXPAND", "-DBAD_EXPAND_THROWS")
        done = self.headrace("--plugin", plugin, "run", "-", "--impl", "fails", stdin="sdfg f(X: f32[4], Y: f32[4]) { bad.Twice(X = X) -> (Y = Y) }")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("error[E0340]: implementation 'fails' failed: it threw an exception: out of coffee", done.stderr)

    def test_an_expansion_that_is_no_program_is_refused_where_it_is_made(self):
        for number, (body, code, place) in enumerate((
                ("sdfg g(X: f32[4], Y: f32[4]) { state { map i in 0:4 { Y[i] = Z[i] } } }", "error[E0", "Z"),  # unknown
                ("sdfg g(X: f32[4], Y: f32[4]) { state { map i in 0:9 { Y[i] = X[i] } } }", "error[E026", "X"),  # outside
                ("sdfg g(X: f32[4]", "error[E01", "expansion"))):
            plugin = self.build(BAD, f"expand_text{number}.so", "-DBAD_EXPAND", f'-DBAD_EXPAND_TEXT="{body}"')
            done = self.headrace("--plugin", plugin, "run", "-", "--impl", "fails", stdin="sdfg f(X: f32[4], Y: f32[4]) { bad.Twice(X = X) -> (Y = Y) }")
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(code, done.stderr)
            self.assertIn("expansion 'fails' of bad.Twice", done.stderr)
            self.assertIn(place, done.stderr)

    def test_an_expansion_that_does_not_fit_its_node_is_refused(self):
        for number, (body, why) in enumerate((
                ("sdfg g(X: f64[4], Y: f32[4]) { map i in 0:4 { Y[i] = f32(X[i]) } }", "its expansion has 'X' of another type"),
                ("sdfg g(X: f32[4], Y: f32[2, 2]) { map i in 0:2, j in 0:2 { Y[i, j] = X[2 * i + j] } }", "its expansion has 'Y' of another rank"),
                ("sdfg g(X: f32[4], Y: f32[4]) { }", "its expansion does not write 'Y'"),
                ("sdfg g(X: f32[3], Y: f32[3]) { Y[i] = X[i] }", "its expansion has 'X' of another size"),
                ("sdfg g(inout X: f32[4], Y: f32[4]) { X[i] *= 2; Y[i] = X[i] }", "its expansion writes 'X', which the node only reads"),
                ("sdfg g(X: f32[4]) { }", "its expansion does not write 'Y'"),
                ("sdfg g(X: f32[4], Z: f32[4]) { map i in 0:4 { Z[i] = X[i] } }", "its expansion has a parameter that is no port of the node"),
                ("sdfg g(X: f32[4], Y: f32[4]) { bad.Twice(X = X) -> (Y = Y) }", "the expansion of bad.Twice does not end"))):
            plugin = self.build(BAD, f"expand_fits{number}.so", "-DBAD_EXPAND", f'-DBAD_EXPAND_TEXT="{body}"')
            done = self.headrace("--plugin", plugin, "run", "-", "--impl", "fails", stdin="sdfg f(X: f32[4], Y: f32[4]) { bad.Twice(X = X) -> (Y = Y) }")
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("error[E0342]", done.stderr)
            self.assertIn(why, done.stderr)

    def test_a_backend_of_a_third_party(self):
        for compiler in COMPILERS:
            plugin = self.build(OWN_BACKEND, f"backend_{compiler}.so", "-L" + self.path("lib"), "-lheadrace", compiler=compiler)
            run = lambda *args: self.headrace("--plugin", plugin, *args, stdin="sdfg f(X: f32[4], Y: f32[4]) { state { map i in 0:4 { Y[i] = X[i] * 2 } } }")
            theirs, ours = run("run", "-", "--backend", "tally"), run("run", "-", "--backend", "interpreter")
            self.assertEqual(theirs.returncode, 0, theirs.stderr)
            self.assertEqual(theirs.stdout, ours.stdout)
            self.assertIn("tally: 1 run", theirs.stderr)  # its objects go before the plugin does
            self.assertIn("tally", run("doctor").stdout)
            done = run("compile", "-", "--backend", "tally", "-o", self.path("tally.hrx"))
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn("this backend makes no artifacts", done.stderr)
            done = run("run", "-", "--backend", "tallly")
            self.assertEqual(done.returncode, 2)
            self.assertIn("did you mean 'tally'?", done.stderr)

    def test_another_toolchain(self):
        self.expect_refused(self.build(BAD, "toolchain.so", '-DBAD_TOOLCHAIN="vax"'), "error[E0336]", "was built for vax")

    def test_not_a_shared_object(self):
        self.expect_refused(self.write("text.so", "hello"), "error[E0331]", "it is not an ELF shared object")
        self.expect_refused(self.path("absent.so"), "error[E0330]: can't open the plugin")
        whole = open(self.build(BAD, "whole.so"), "rb").read()
        for keep in (40, 64, 1000, len(whole) // 2):
            with open(self.path("cut.so"), "wb") as f:
                f.write(whole[:keep])
            done = self.headrace("--plugin", self.path("cut.so"), "plugins")
            self.assertEqual(done.returncode, 1, f"cut to {keep} bytes: {done.stderr}")


if __name__ == "__main__":
    unittest.main()
