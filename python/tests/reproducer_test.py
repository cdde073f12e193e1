"""A pass that fails is our mistake: the exception names a folder that shows it again. usage: reproducer_test.py SDK.TAR"""

import os
import subprocess
import sys
import tarfile
import tempfile
import unittest

from python.tests.case import Case, headrace

SDK = os.path.abspath(sys.argv[1])

# Passes as a plugin in C++ has them: one that says that it failed, one that leaves a wrong program.
PASSES = r"""
#include "ir/plugin.h"

namespace headrace {
namespace {

Status Register(Registry& r) {
  Pass fails, breaks;
  fails.name = "fails", breaks.name = "breaks";
  fails.run = [](Program&, const PassOptions&, const Registry&) -> Result<bool> { return InternalError("out of coffee"); };
  breaks.run = [](Program& p, const PassOptions&, const Registry&) -> Result<bool> {
    p.MutableEntry().order.push_back("ghost");
    return true;
  };
  const Status added = r.Add(fails);
  return added.ok() ? r.Add(breaks) : added;
}

}  // namespace
}  // namespace headrace

HEADRACE_TIER2_PLUGIN("failing_passes", headrace::Register)
"""
TEXT = "sdfg f(X: f32[N], Y: f32[N]) { map i in 0:N { Y[i] = 2 * X[i] } }"


class ReproducerTest(Case):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        with tarfile.open(SDK) as sdk:
            sdk.extractall(folder)
        source, plugin = os.path.join(folder, "passes.cc"), os.path.join(folder, "passes.so")
        with open(source, "w", encoding="utf-8") as f:
            f.write(PASSES)
        subprocess.run(["c++", "-std=c++17", "-shared", "-fPIC", f"-I{folder}/include", source, f"-L{folder}/lib", "-lheadrace", "-o", plugin],
                       check=True)
        headrace.load_plugin(plugin)

    def check(self, error, name):
        folder = error.reproducer
        self.assertIsNotNone(folder, str(error))
        self.assertIn(folder, str(error))
        with open(os.path.join(folder, "before.sdfg"), encoding="utf-8") as f:
            self.assertEqual(headrace.Sdfg.parse(f.read()), headrace.Sdfg.parse(TEXT))
        with open(os.path.join(folder, "replay.sh"), encoding="utf-8") as f:
            self.assertIn(f"--pipeline '{name}'", f.read())

    def test_apply(self):
        for name in ("fails", "breaks"):
            program = headrace.Sdfg.parse(TEXT)
            with self.fails(headrace.InternalError, "E0351", f"pass '{name}' failed on a valid program", "please report it with the folder") as said:
                program.apply(name)
            self.check(said.error.exception, name)

    def test_compile_and_where_it_is_left(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.fails(headrace.InternalError, "E0351", folder) as said:
                headrace.Sdfg.parse(TEXT).compile(optimize="fails", dump_dir=folder)
            self.check(said.error.exception, "fails")
            headrace.set_dump_dir(folder)
            self.addCleanup(headrace.set_dump_dir, None)
            with self.fails(headrace.InternalError, folder) as said:
                headrace.Sdfg.parse(TEXT).apply("breaks")
            self.check(said.error.exception, "breaks")

    def test_verified_compilations(self):
        """HEADRACE_VERIFY: a wrong program is found after the pass that made it."""
        os.environ["HEADRACE_VERIFY"] = "1"
        self.addCleanup(os.environ.pop, "HEADRACE_VERIFY")
        with self.fails(headrace.InternalError, "pass 'breaks' failed") as said:
            headrace.Sdfg.parse(TEXT).compile(optimize="breaks; expand-library-nodes")
        self.check(said.error.exception, "breaks")


if __name__ == "__main__":
    unittest.main()
