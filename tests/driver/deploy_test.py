"""Artifacts from C and C++ as docs/deploy.md says, in an almost empty root, damaged. usage: deploy_test.py DRIVER SDK DIST DEPLOY.MD"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

DRIVER, SDK, DIST, PAGE = (os.path.abspath(a) for a in sys.argv[1:5])

# All that an artifact and the dist may need of the machine: glibc, libstdc++, libgcc.
SYSTEM = re.compile(r"^(libc|libm|libdl|libpthread|librt|libresolv|libstdc\+\+|libgcc_s)\.so|^ld-linux")


def blocks(language):
    with open(PAGE, encoding="utf-8") as f:
        return re.findall(rf"^```{language}\n(.*?)^```$", f.read(), re.M | re.S)


def needed(path):
    out = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.*)\]", out)


class DeployTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        with tarfile.open(SDK) as tar:
            tar.extractall(os.path.join(cls.folder, "sdk"))
        cls.artifact = cls.compile_program("relu", blocks("sdfg")[0])

    @classmethod
    def compile_program(cls, name, text, *flags):
        source = os.path.join(cls.folder, name + ".sdfg")
        with open(source, "w") as f:
            f.write(text)
        artifact = os.path.join(cls.folder, name + ".hrx")
        done = cls.headrace("compile", source, "-o", artifact, *flags)
        assert done.returncode == 0, done.stderr
        return artifact

    @classmethod
    def headrace(cls, *args):
        return subprocess.run([DRIVER, *args], cwd=cls.folder, capture_output=True, text=True,
                              env=dict(os.environ, HEADRACE_CACHE_DIR=os.path.join(cls.folder, "cache")))

    def build(self, name, text, *compiler):
        path = os.path.join(self.folder, name)
        with open(path, "w") as f:
            f.write(text)
        program = path + ".out"
        done = subprocess.run([*compiler, "-Wall", "-Wextra", "-Werror", f"-I{self.folder}/sdk/include", path, "-o", program, "-ldl"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return program

    def run_program(self, *args):
        # Nothing of Headrace may be found but the artifact.
        return subprocess.run(args, cwd="/", capture_output=True, text=True, env={"PATH": "/nonexistent"})

    def test_the_example_in_c(self):
        text, = blocks("c")
        self.assertLessEqual(len(text.splitlines()), 40)
        program = self.build("relu.c", text, "gcc", "-std=gnu99")
        done = self.run_program(program, self.artifact)
        self.assertEqual((done.returncode, done.stdout), (0, "input X: 22[N, M]\n0 2 0 4\n"), done.stderr)
        self.assertTrue(all(SYSTEM.match(n) for n in needed(program)), needed(program))
        self.check_damage(program)

    def test_the_example_in_cpp(self):
        text, = blocks("cpp")
        self.assertLessEqual(len(text.splitlines()), 40)
        program = self.build("relu.cc", text, "clang++" if shutil.which("clang++") else "g++", "-std=c++11")
        done = self.run_program(program, self.artifact)
        self.assertEqual((done.returncode, done.stdout), (0, "2 2 | 0 2 0 4\n"), done.stderr)
        done = self.run_program(program, os.path.join(self.folder, "absent.hrx"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("absent.hrx", done.stderr)

    # A changed bit in any file, or a missing one, is an error that names the file, before any of its code runs.
    def check_damage(self, program):
        copy = os.path.join(self.folder, "damaged.hrx")
        for name in sorted(os.listdir(self.artifact)):
            for damage in (None, lambda d: d[:len(d) // 2] + bytes([d[len(d) // 2] ^ 1]) + d[len(d) // 2 + 1:], lambda d: bytes(len(d)), lambda d: d[:-1]):
                shutil.rmtree(copy, ignore_errors=True)
                shutil.copytree(self.artifact, copy)
                path = os.path.join(copy, name)
                with open(path, "rb") as f:
                    data = f.read()
                os.remove(path)
                if damage is not None:
                    if not data or damage(data) == data:
                        continue
                    with open(path, "wb") as f:
                        f.write(damage(data))
                done = self.run_program(program, copy)
                self.assertEqual(done.returncode, 1, (name, done))
                if name != "checksums.xxh128":  # then nothing is known of any other
                    self.assertIn(name, done.stderr)

    def test_arguments_are_checked(self):
        text = '''#include <headrace_loader.hpp>
#include <iostream>
template <typename T>
void Try(const headrace::Model& m, std::vector<headrace::Input> in, T sizes) {
  try {
    m.Run(in, sizes);
    std::cout << "ran\\n";
  } catch (const std::exception& e) { std::cout << e.what() << "\\n"; }
}
int main(int, char** argv) {
  const headrace::Model m(argv[1]);
  const std::vector<float> x(100);
  const std::vector<double> d(100);
  using Sizes = std::vector<std::pair<std::string, int64_t>>;
  Try(m, {{"A", {4}, x.data()}, {"B", {9}, x.data()}}, Sizes{{"K", 2}});
  Try(m, {{"A", {4}, x.data()}, {"B", {8}, x.data()}}, Sizes{{"K", 2}});
  Try(m, {{"A", {4}, d.data()}, {"B", {9}, x.data()}}, Sizes{{"K", 2}});
  Try(m, {{"A", {2, 2}, x.data()}, {"B", {9}, x.data()}}, Sizes{{"K", 2}});
  Try(m, {{"A", {4}, x.data()}}, Sizes{{"K", 2}});
  Try(m, {{"A", {4}, x.data()}, {"C", {9}, x.data()}}, Sizes{{"K", 2}});
  Try(m, {{"A", {4}, x.data()}, {"B", {9}, x.data()}}, Sizes{});
}
'''
        artifact = self.compile_program("sizes", "sdfg f(K: symbol, A: f32[N], B: f32[2 * N + 1], Y: f32[N, K]) { Y[i, j] = A[i] + B[2 * i + 1] }\n")
        done = self.run_program(self.build("sizes.cc", text, "g++", "-std=c++17"), artifact)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        for line, words in zip(lines, ["ran", "(9 in dimension 0)", "input 'A' has element type", "input 'A' has shape [2, 2], not [N]", "input 'B' is missing",
                                       "no input 'C'", "size 'K' must be given"], strict=True):
            self.assertIn(words, line)

    # Threads of the caller's, each with results of its own.
    def test_many_threads(self):
        text = '''#include <headrace_loader.hpp>
#include <iostream>
#include <thread>
int main(int, char** argv) {
  const headrace::Model m(argv[1]);
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&m, &wrong, t] {
      const std::vector<float> x(400 * 400, float(t + 1));
      for (int i = 0; i < 50; ++i) {
        const auto r = m.Run({{"X", {400, 400}, x.data()}}, {}, 2);
        for (int k = 0; k < 400 * 400; ++k) wrong[t] += r.data<float>("Y")[k] != x[k];
      }
    });
  for (auto& t : threads) t.join();
  std::cout << wrong[0] + wrong[1] + wrong[2] + wrong[3] << "\\n";
}
'''
        done = self.run_program(self.build("threads.cc", text, "g++", "-std=c++17", "-pthread"), self.artifact)
        self.assertEqual((done.returncode, done.stdout), (0, "0\n"), done.stderr)

    def test_the_dist_and_artifacts_need_only_the_c_and_cpp_libraries(self):
        with tarfile.open(DIST) as tar:
            tar.extractall(os.path.join(self.folder, "dist"))
        for tree in (os.path.join(self.folder, "dist"), self.artifact):
            objects = []
            for at, _, names in os.walk(tree):
                objects += [os.path.join(at, n) for n in names if ".so" in n or n == "headrace"]
            carried = {os.path.basename(o) for o in objects}
            self.assertTrue(any("runtime" in n for n in carried))
            for o in objects:
                for n in needed(o):
                    self.assertTrue(n in carried or SYSTEM.match(n), f"{o} needs {n}")

    # A function with state travels in its plugin's library; the state is made again, of the node's attributes.
    def test_external_functions_with_state(self):
        plugin = self.shared_object("counter", """#include <headrace_plugin.h>
#include <stdlib.h>
#include <string.h>
const hr_plugin_info headrace_plugin_info = {sizeof(hr_plugin_info), HEADRACE_PLUGIN_MAGIC, HEADRACE_ABI_MAJOR, HEADRACE_ABI_MINOR, "counter", "1", NULL};
static void* create(const hr_attribute* a, int32_t n) {
  long* state = calloc(1, sizeof(long));
  for (int i = 0; i < n; ++i)
    if (strcmp(a[i].name, "start") == 0) *state = atol(a[i].text);
  return state;
}
HEADRACE_EXPORT int32_t count(hr_call* c) {
  *(int64_t*)c->outputs[0].data = (*(long*)c->state)++;
  return 0;
}
int32_t headrace_plugin_v1(const hr_host* host) {
  hr_external e;
  memset(&e, 0, sizeof e);
  e.struct_size = sizeof e, e.name = "counter", e.symbol = "count", e.create = create, e.destroy = free;
  return host->add_external(host->ctx, &e);
}
""")
        program = "sdfg f(A: i64[], B: i64[]) { state { call.counter{start = 10}() -> (Y = A)\n call.counter() -> (Y = B) } }\n"
        artifact = self.compile_program("counter", program, "--plugin", plugin)
        os.remove(plugin)
        done = self.headrace("run", artifact)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("A: i64[] = 10\nB: i64[] = 0", done.stdout)
        text = """#include <headrace_loader.hpp>
#include <iostream>
int main(int, char** argv) {
  const headrace::Model m(argv[1]);
  for (int i = 0; i < 2; ++i) {
    const auto r = m.Run({});
    std::cout << *r.data<int64_t>("A") << " " << *r.data<int64_t>("B") << "\\n";
  }
}
"""
        done = self.run_program(self.build("counter.cc", text, "g++", "-std=c++17"), artifact)
        self.assertEqual((done.returncode, done.stdout), (0, "10 0\n11 1\n"), done.stderr)

    def test_an_external_function_whose_plugin_lacks_a_library(self):
        other = self.shared_object("abacus", "int beads(void) { return 7; }\n", "-Wl,-soname,libabacus.so")
        plugin = self.shared_object("needy", """#include <headrace_plugin.h>
#include <string.h>
int beads(void);
const hr_plugin_info headrace_plugin_info = {sizeof(hr_plugin_info), HEADRACE_PLUGIN_MAGIC, HEADRACE_ABI_MAJOR, HEADRACE_ABI_MINOR, "needy", "1", NULL};
HEADRACE_EXPORT int32_t seven(hr_call* c) {
  *(int64_t*)c->outputs[0].data = beads();
  return 0;
}
int32_t headrace_plugin_v1(const hr_host* host) {
  hr_external e;
  memset(&e, 0, sizeof e);
  e.struct_size = sizeof e, e.name = "seven", e.symbol = "seven";
  return host->add_external(host->ctx, &e);
}
""", other, f"-Wl,-rpath,{self.folder}")
        artifact = self.compile_program("needy", "sdfg f(A: i64[]) { state { call.seven() -> (Y = A) } }\n", "--plugin", plugin)
        self.assertEqual(self.headrace("run", artifact).returncode, 0)
        os.remove(other)
        done = self.headrace("run", artifact)
        self.assertEqual(done.returncode, 1)
        for words in ("E0379", "external function 'seven' can't be loaded", "libabacus.so"):
            self.assertIn(words, done.stderr)

    def shared_object(self, name, text, *flags):
        source, path = os.path.join(self.folder, f"lib{name}.c"), os.path.join(self.folder, f"lib{name}.so")
        with open(source, "w") as f:
            f.write(text)
        done = subprocess.run(["gcc", "-shared", "-fPIC", f"-I{self.folder}/sdk/include", source, "-o", path, *flags], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return path

    def test_targets(self):
        if os.uname().machine != "x86_64":
            self.skipTest("the levels are x86-64's")
        artifact = self.compile_program("v2", blocks("sdfg")[0], "--target", "x86-64-v2")
        done = self.headrace("check", artifact)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("input  X: f32[N, M]", done.stdout)
        done = self.headrace("compile", os.path.join(self.folder, "v2.sdfg"), "-o", "v9.hrx", "--target", "x86-64-v9")
        self.assertEqual(done.returncode, 2)
        self.assertIn("E0378", done.stderr)

    def test_what_the_verbs_say_of_artifacts(self):
        for args, code, words in ((["compile", "relu.sdfg", "-o", "absent/relu.hrx"], 1, "E0370"), (["check", self.artifact], 0, "ok (artifact)"), (["check", self.artifact + "/", "--no-verify"], 0, "not verified"),
                                  (["compile", self.artifact, "--emit", "ir"], 2, "E0445"), (["compile", self.artifact, "-o", "x.hrx"], 2, "E0445"),
                                  (["train", self.artifact, "--data", "x.npz", "--loss", "mse", "--checkpoint", "c", "--epochs", "1", "--lr", "0.1"], 2, "E0445"),
                                  (["grad", self.artifact, "--output", "Y", "--wrt", "X", "--out", "g"], 2, "E0445"),
                                  (["opt", self.artifact, "--pipeline", "simplify"], 1, "run, bench and check take it"),
                                  (["run", self.artifact, "--dim", "NN=4"], 2, "did you mean 'N'?"), (["run", self.artifact, "--dim", "N=4"], 0, "Y: f32[4, 1]"),
                                  (["run", self.artifact, "--impl", "pure"], 2, "E0461")):
            done = self.headrace(*args)
            self.assertEqual(done.returncode, code, (args, done))
            self.assertIn(words, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
