"""C functions as implementations, plugins loaded by path, and those of installed packages' entry points."""

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

import numpy as np
from case import Case, headrace

HEADERS = os.path.join(os.getcwd(), "plugins", "api")
TWICE = r"""
#include "headrace_plugin.hpp"

extern "C" HEADRACE_EXPORT int32_t twice(hr_call* call) {
  const hr_value& x = call->inputs[0];
  if (x.dtype != HR_F64) return call->fail(call, "twice takes f64"), 1;
  if (!call->outputs[0].data && call->allocate(call, 0, x.dtype, x.rank, x.shape) != 0) return 1;
  const double scale = headrace_plugin::Attributes(call->attributes, call->n_attributes).number("scale", 2);
  int64_t n = 1;
  for (int i = 0; i < x.rank; ++i) n *= x.shape[i];
  for (int64_t i = 0; i < n; ++i) static_cast<double*>(call->outputs[0].data)[i] = scale * static_cast<const double*>(x.data)[i];
  return 0;
}

#ifdef PLUGIN
HEADRACE_PLUGIN("from_a_test", "1.0") {
  r.op("plug.Thrice").Doc("Three times X.").Input("X", "float").Output("Y", "float").Shape("shape Y[dims(X)]").Pure("Y = 3 * X");
  using headrace_plugin::Node;
  r.impl("plug.Thrice", "written", [](const Node& n) { return std::string(n.input("X")->rank == 1 ? "" : "only vectors"); },
         [](const Node& n) {
           const std::string size = Node::Shape(n.input("X"));
           return "sdfg thrice(X: f64[" + size + "], Y: f64[" + size + "]) { map i in 0:" + size + " { Y[i] = X[i] * 3 } }";
         });
  r.backward("node.map", "straight through",
             [](const Node& n) {
               if (!n.output("rounded")) return "it rounds nothing";
               return n.attribute("body").find("rint(") == std::string::npos ? "it does not round" : "";
             },
             [](const Node& n, const std::vector<std::string>&, const std::vector<std::string>&) {
               const std::string size = Node::Shape(n.output("rounded"));
               return "sdfg same(drounded: f64[" + size + "], dx: f64[" + size + "]) { map i in 0:" + size + " { dx[i] = drounded[i] } }";
             });
}
#endif
"""


class Folder(Case):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="headrace-plugins-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)

    def built(self, name, *flags):
        source, library = os.path.join(self.folder, "twice.cc"), os.path.join(self.folder, name)
        if not os.path.exists(library):
            with open(source, "w", encoding="utf-8") as f:
                f.write(TWICE)
            os.makedirs(os.path.dirname(library), exist_ok=True)
            subprocess.run(["c++", "-std=c++17", "-shared", "-fPIC", f"-I{HEADERS}", *flags, source, "-o", library], check=True)
        return library


class FunctionsTest(Folder):
    def setUp(self):
        self.op = headrace.op("plug.Twice", pure="Y = scale * X", attributes={"scale": 2.0})
        self.x = np.arange(6.0).reshape(2, 3)

    def test_of_a_library(self):
        library = self.built("libtwice.so")
        headrace.implementation("plug.Twice", name="c", when=lambda node: node.inputs["X"].type == "f64" or "only float64")(
            (library, "twice"))
        program = headrace.Sdfg.parse("sdfg f(X: f64[N, 3], Y: f64[N, 3]) { plug.Twice{scale = 4.0}(X = X) -> (Y = Y) }")
        self.assertEqual(program.choices()[0].chosen, "c")
        for backend in ("interpreter", "cpu"):
            compiled = program.compile(backend=backend)
            self.close(compiled(self.x), 4 * self.x)
        path = os.path.join(self.folder, "twice.hrx")
        with self.fails(headrace.UnsupportedError, "E0375", "the artifact can't carry it"):
            compiled.save(path)
        self.close(self.op(self.x.astype(np.float32)), (2 * self.x).astype(np.float32))  # by the pure form

    def test_of_ctypes_and_its_gradient(self):
        library = ctypes.CDLL(self.built("libtwice.so"))
        headrace.implementation("plug.Twice", name="c", priority=-1)(library.twice)
        self.close(self.op(self.x, implementation="c"), 2 * self.x)
        headrace.implementation("plug.Twice", name="c", priority=-1)(library.twice)  # again, as a notebook's cell does
        program = headrace.Sdfg.parse('sdfg f(X: f64[N], Y: f64[N]) { plug.Twice(X = X) -> (Y = Y) impl "c" }')
        gradient = program.gradient(["Y"], ["X"], keep_outputs=True).program
        value, of_x = gradient.compile(backend="interpreter")(np.ones(2))
        self.close(value, np.array([2.0, 2]))
        self.close(of_x, np.array([2.0, 2]))
        with self.fails(headrace.HeadraceError, "twice takes f64"):
            self.op(self.x.astype(np.float32), implementation="c")

    def test_a_rule_of_the_function(self):
        headrace.implementation("plug.Twice", name="c", priority=-1)((self.built("libtwice.so"), "twice"))

        @headrace.backward_implementation("call.python_plug_Twice_c")
        def rule(X, dY):
            return 20 * dY

        program = headrace.Sdfg.parse("sdfg f(X: f64[N], Y: f64[N]) { call.python_plug_Twice_c(X = X) -> (Y = Y) }")
        gradient = program.gradient(["Y"], ["X"]).program
        self.close(gradient.compile(backend="interpreter")(X=np.ones(2)) if gradient.parameters[0].direction == "in" else None,
                   np.array([20.0, 20]))

    def test_functions_that_there_are_not(self):
        library = self.built("libtwice.so")
        register = headrace.implementation("plug.Twice", name="missing")
        with self.fails(headrace.UsageError, "has no symbol 'trice'"):
            register((library, "trice"))
        with self.fails(headrace.UsageError, "can't be loaded"):
            register((library + ".old", "twice"))


def environment(*more):
    path = [os.path.dirname(os.path.dirname(headrace.__file__)), *more]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}


class PluginsTest(Folder):
    def run_python(self, text, *more):
        return subprocess.run([sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, env=environment(*more), check=False)

    def test_by_path(self):
        library = self.built("one/libfrom_a_test.so", "-DPLUGIN")
        for path in (library, os.path.dirname(library)):
            done = self.run_python(f"""
                import numpy, headrace
                headrace.load_plugin({path!r})
                print(headrace.onnx.domain("plug").Thrice(numpy.ones(2)).tolist())
            """)
            self.assertEqual((done.stdout.strip(), done.returncode), ("[3.0, 3.0]", 0), done.stderr)
        with self.fails(headrace.InvalidError, "E0331", "not an ELF shared object"):
            headrace.load_plugin(__file__)
        with self.fails(headrace.UsageError, "there is no plugin in the folder"):
            headrace.load_plugin(HEADERS)

    def test_expansions_speak_of_the_nodes_sizes(self):
        library = self.built("one/libfrom_a_test.so", "-DPLUGIN")
        done = self.run_python(f"""
            import numpy, headrace
            headrace.load_plugin({library!r})
            f = headrace.Sdfg.parse('sdfg f(Z: f64[N], A: f64[2 * N + 1], B: f64[2 * N + 1]) {{ '
                                    'plug.Thrice(X = A) -> (Y = B) impl "written"; map i in 0:N {{ B[i] = B[i] + Z[i] }} }}')
            print(f.compile(backend="interpreter")(numpy.ones(1), numpy.ones(3)).tolist())
        """)
        self.assertEqual((done.stdout.strip(), done.returncode), ("[4.0, 3.0, 3.0]", 0), done.stderr)

    def test_rules_by_kind_of_statement(self):
        library = self.built("one/libfrom_a_test.so", "-DPLUGIN")
        done = self.run_python(f"""
            import numpy, headrace
            headrace.load_plugin({library!r})
            text = 'sdfg f(x: f64[N], L: f64) {{ transient rounded: f64[N]; map i in 0:N {{ rounded[i] = %s(x[i]) }}; L = 0;' \\
                   'map i in 0:N {{ L += 5 * rounded[i] }} }}'
            for function in ("rint", "floor"):
                g = headrace.Sdfg.parse(text % function).gradient(["L"], ["x"])
                print(g.program.compile(backend="interpreter")(numpy.ones(2)).tolist())
        """)
        self.assertEqual((done.stdout.split("\n")[:2], done.returncode), (["[5.0, 5.0]", "[0.0, 0.0]"], 0), done.stderr)

    def test_entry_points(self):
        site = os.path.join(self.folder, "site")
        information = os.path.join(site, "some_ops-2.5.dist-info")
        os.makedirs(information)
        library = self.built("one/libfrom_a_test.so", "-DPLUGIN")
        with open(os.path.join(information, "METADATA"), "w", encoding="utf-8") as f:
            f.write("Metadata-Version: 2.1\nName: some-ops\nVersion: 2.5\n")
        with open(os.path.join(information, "entry_points.txt"), "w", encoding="utf-8") as f:
            f.write("[headrace.plugins]\nlibrary = some_ops:PATH\nops = some_ops:register\nbad = some_ops:broken\nodd = some_ops:NUMBER\n"
                    "gone = some_ops.nowhere:register\n")
        with open(os.path.join(site, "some_ops.py"), "w", encoding="utf-8") as f:
            f.write(textwrap.dedent(f"""
                import headrace
                PATH = {library!r}
                NUMBER = 3
                def register():
                    headrace.op("entry.Half", pure="Y = X / 2")
                def broken():
                    raise RuntimeError("no licence")
            """))
        done = self.run_python("""
            import sys, threading, numpy, headrace
            assert "some_ops" not in sys.modules
            found = []
            threads = [threading.Thread(target=lambda: found.append(headrace.onnx.domain("entry").Half)) for _ in range(4)]
            [t.start() for t in threads], [t.join() for t in threads]
            x = numpy.ones(2)
            print(len(found), headrace.onnx.domain("plug").Thrice(x).tolist(), found[0](x).tolist())
        """, site)
        self.assertEqual((done.stdout.strip(), done.returncode), ("4 [3.0, 3.0] [0.5, 0.5]", 0), done.stderr)
        for part in ("the plugin 'bad' of some-ops 2.5 can't be loaded: RuntimeError: no licence",
                     "the plugin 'odd' of some-ops 2.5 can't be loaded: TypeError: it is the path of a plugin or a function to call, not int",
                     "the plugin 'gone' of some-ops 2.5 can't be loaded: ModuleNotFoundError"):
            self.assertEqual(done.stderr.count(part), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()
