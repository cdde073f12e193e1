"""The wheel, installed by pip into a fresh virtual environment and used outside the workspace. usage: wheel_test.py WHEEL"""

import base64
import csv
import glob
import hashlib
import io
import itertools
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import textwrap
import unittest
import zipfile

sys.path.insert(0, os.path.join(os.getcwd(), "python", "wheel"))

import licences  # noqa: E402
from elf import Elf  # noqa: E402

WHEEL = os.path.abspath(sys.argv[1])
OF_THE_MACHINE = re.compile(r"^(libc|libm|libdl|libpthread|librt|libresolv|libstdc\+\+|libgcc_s)\.so|^ld-linux")


class FilesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with zipfile.ZipFile(WHEEL) as wheel:
            cls.files = {i.filename: (wheel.read(i), i) for i in wheel.infolist()}
        cls.objects = {n: Elf(data) for n, (data, _) in cls.files.items() if data[:4] == b"\x7fELF"}

    def text(self, suffix):
        name, = [n for n in self.files if n.endswith(suffix)]
        return self.files[name][0].decode()

    def test_record_lists_every_file_with_its_digest(self):
        rows = {name: (digest, size) for name, digest, size in csv.reader(io.StringIO(self.text(".dist-info/RECORD")))}
        self.assertEqual(rows.keys(), self.files.keys())
        for name, (digest, size) in rows.items():
            data = self.files[name][0]
            if not name.endswith("/RECORD"):
                got = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                self.assertEqual((digest, size), ("sha256=" + got, str(len(data))), name)

    def test_names_sizes_and_times(self):
        name = os.path.basename(WHEEL)
        self.assertRegex(name, r"^headrace-[\d.]+-cp3\d+-(cp3\d+|abi3)-manylinux_2_35_x86_64\.whl$")
        self.assertIn("Tag: " + "-".join(name[:-len(".whl")].split("-")[2:]), self.text(".dist-info/WHEEL").splitlines())
        self.assertLess(os.path.getsize(WHEEL), 60e6)
        self.assertEqual({i.date_time for _, i in self.files.values()}, {(1980, 1, 1, 0, 0, 0)})
        self.assertEqual(self.files["headrace/headrace"][1].external_attr >> 16, 0o100755)

    def test_types(self):
        self.assertIn("headrace/py.typed", self.files)
        stub = self.text("headrace/_core.pyi")
        for line in ("def parse(text: str, file: str = '<text>') -> Program: ...", "class Executable:"):
            self.assertIn(line, stub)

    def test_metadata(self):
        head, _, body = self.text(".dist-info/METADATA").partition("\n\n")
        for line in ("Name: headrace", "Requires-Dist: numpy>=2.0", "Provides-Extra: torch", "Provides-Extra: onnx"):
            self.assertIn(line, head.splitlines())
        self.assertTrue(body.startswith("# "))

    def test_every_entry_point_is_there(self):
        points = [data.decode() for n, (data, _) in self.files.items() if n.endswith("/entry_points.txt")]
        for module, name in re.findall(r"= (headrace[\w.]*):(\w+)$", "\n".join(points), re.M):
            self.assertRegex(self.files[module.replace(".", "/") + ".py"][0].decode(), rf"(?m)^(def|class) {name}\b|^{name} =")

    def test_what_is_needed_is_carried_or_of_the_machine(self):
        carried = {os.path.basename(n) for n in self.objects}
        for name, elf in self.objects.items():
            for n in elf.needed:
                self.assertTrue(n in carried or OF_THE_MACHINE.match(n), f"{name} needs {n}")
            for part in filter(None, elf.search_path.split(":")):
                self.assertTrue(part.startswith("$ORIGIN"), (name, part))
                self.assertNotIn("_solib", part)

    def test_licences_of_all_that_is_not_ours(self):
        """Each library in the wheel, and each that WORKSPACE names, unless licences.py says that the wheel has nothing of it."""
        texts = {}
        for name, (data, _) in self.files.items():
            folder, _, rest = name.partition(".dist-info/licenses/")
            if rest:
                library, _, file = rest.partition("/")
                self.assertRegex(data.decode(errors="replace"), r"(?i)copyright|licen[sc]e", name)
                texts.setdefault(library, []).append(rest)
        for name in self.objects:
            base = os.path.basename(name)
            if base.startswith("hr_"):
                self.assertIn("highs" if base == "hr_highs.so" else base, texts)
        with open("WORKSPACE", encoding="utf-8") as f:
            repositories = re.findall(r'name = "(\w+)"', f.read())
        self.assertIn("isl", repositories)
        for repository in repositories:
            if repository in licences.BUNDLED:
                begins = f"hr_{licences.BUNDLED[repository]}"
                self.assertTrue(any(t.startswith(begins) for t in texts), f"{repository}: no licence of {begins}*")
            elif repository not in (*licences.NOT_IN_THE_WHEEL, "headrace"):
                self.assertIn(repository, texts, f"{repository} has no licence in the wheel; licences.py says where each comes from")
        head = self.text(".dist-info/METADATA").partition("\n\n")[0].splitlines()
        listed = [line.partition(": ")[2] for line in head if line.startswith("License-File: ")]
        self.assertEqual(sorted(listed), sorted(t for files in texts.values() for t in files))

    def test_libraries_of_others_have_names_of_their_own(self):
        for name, elf in self.objects.items():
            if "/lib/" in name:
                self.assertEqual(elf.soname or os.path.basename(name), os.path.basename(name))
                self.assertTrue(re.match(r"libheadrace|libimage_codecs|hr_", os.path.basename(name)), name)

    # By nm, with the visibility that it doesn't show read from the file.
    def test_libraries_export_their_own_names_alone(self):
        others = 0
        for name, elf in self.objects.items():
            if re.search(r"/hr_(?!highs)|^headrace/headrace$", name):
                continue
            ours = r"headrace_|hr_|PyInit__core$|onnx_|_Z(T[ISVT]|GV|Z)*N?[VKRO]*8headrace"
            allowed = "Highs_" if "hr_highs" in name else ours
            foreign = [s for s in elf.exported() if not re.match(allowed, s)]
            self.assertEqual(foreign, [], name)
            path = os.path.join(tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR")), "object.so")
            with open(path, "wb") as f:
                f.write(self.files[name][0])
            listed = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
            others += len(listed.splitlines()) - len(elf.exported())
        self.assertGreater(others, 3000)  # HiGHS alone has so many that nobody finds now


class InstalledTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.home = os.path.join(cls.folder, "home")
        os.mkdir(cls.home)
        venv = os.path.join(cls.folder, "venv")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
        cls.python = os.path.join(venv, "bin", "python")
        cls.bin = os.path.dirname(cls.python)
        # This Python's own pip installs there; nothing is fetched.
        subprocess.run([sys.executable, "-m", "pip", "--python", cls.python, "install", "-q", "--no-index", "--no-deps",
                        "--no-warn-script-location", "--disable-pip-version-check", WHEEL], check=True)
        cls.packages = cls.run_python("import sysconfig; print(sysconfig.get_path('platlib'))").strip()
        with open(os.path.join(cls.packages, "others.pth"), "w") as f:  # numpy, onnx and what else the tests have
            f.write("\n".join([sysconfig.get_path("platlib"), *os.environ.get("HEADRACE_TEST_PACKAGES", "").split(":")]) + "\n")
        cls.write_model()

    @classmethod
    def write_model(cls):
        text = "sdfg twice(X: f32[N], Y: f32[N]) { state { map i in 0:N { Y[i] = 2 * X[i] } } }\n"
        with open(os.path.join(cls.home, "twice.sdfg"), "w") as f:
            f.write(text)
        cls.run_python("""
            import onnx
            from onnx import TensorProto, helper
            info = lambda n: helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n"])
            g = helper.make_graph([helper.make_node("Exp", ["x"], ["y"])], "g", [info("x")], [info("y")])
            onnx.save(helper.make_model(g, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), "model.onnx")
        """)

    @classmethod
    def environment(cls, **more):
        return {"PATH": f"{cls.bin}:/usr/bin:/bin", "HOME": cls.home, **more}

    @classmethod
    def run_python(cls, text, **environment):
        done = subprocess.run([cls.python, "-c", textwrap.dedent(text)], cwd=cls.home, env=cls.environment(**environment),
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(f"exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def command(self, *args, **environment):
        path = shutil.which("headrace", path=self.bin)
        return subprocess.run([path, *args], cwd=self.home, env=self.environment(**environment), capture_output=True, text=True)

    def test_import(self):
        """Half a second at most, the best of three: other tests run beside this one."""
        outs = [self.run_python("""
            import time
            import numpy
            began = time.perf_counter()
            import headrace
            print(time.perf_counter() - began, headrace.__file__)
            import sys
            print([m for m in ("torch", "onnx") if m in sys.modules])
        """) for _ in range(3)]
        self.assertLess(min(float(out.split()[0]) for out in outs), 0.5)
        self.assertTrue(outs[0].split()[1].startswith(self.packages))
        self.assertIn("[]", outs[0])

    def test_programs_and_gradients(self):
        path = os.path.join(self.home, "example.py")
        with open(path, "w") as f:
            f.write(textwrap.dedent("""
                import numpy as np
                import headrace
                @headrace.program
                def loss(x, y):
                    return np.sum(np.sin(x) * y)
                x, y = np.linspace(0, 1, 7), np.arange(7.0)
                np.testing.assert_allclose(loss(x, y), np.sum(np.sin(x) * y))
                np.testing.assert_allclose(headrace.grad(loss)(x, y), np.cos(x) * y)
                print("right")
            """))
        self.assertEqual(self.run_python("exec(compile(open('example.py').read(), 'example.py', 'exec'))"), "right\n")

    def test_onnx_file(self):
        out = self.run_python("""
            import numpy as np, headrace
            x = np.float32([0, 1, 2])
            y = headrace.Sdfg.load("model.onnx")(x)
            np.testing.assert_allclose(y, np.exp(x), rtol=1e-6)
            print(y.dtype)
        """)
        self.assertEqual(out, "float32\n")

    def test_command(self):
        done = self.command("check", "model.onnx")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("f32[n]", done.stdout)
        done = self.command("run", "twice.sdfg", "--input", "X=[1, 2]")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("= 2 4", done.stdout)
        done = self.command("run", "absent.onnx")
        self.assertEqual(done.returncode, 1)
        self.assertIn("absent.onnx", done.stderr)
        version = self.run_python("import headrace; print(headrace.__version__)").strip()
        self.assertIn(version, self.command("--version").stdout)

    def test_plugins_are_the_installed_ones(self):
        out = self.run_python("import headrace; print(*[p[2] for p in headrace._core.plugins()], sep='\\n')").splitlines()
        installed = glob.glob(os.path.join(self.packages, "headrace", "plugins", "*.so"))
        self.assertEqual(sorted(map(os.path.realpath, out)), sorted(map(os.path.realpath, installed)))

    def test_without_a_host_compiler(self):
        only_python = {"PATH": self.bin, "HEADRACE_CACHE_DIR": os.path.join(self.home, "empty")}
        out = self.run_python("""
            import numpy as np, headrace
            program = headrace.Sdfg.load("twice.sdfg")
            print(program.compile(backend="interpreter")(np.float32([1, 2])))
            print(len(headrace.Sdfg.load("model.onnx").parameters))
            try:
                program.compile()
            except headrace.UnsupportedError as error:
                print(error)
        """, **only_python)
        self.assertIn("[2. 4.]\n2\n", out)
        for words in ("E0690", "no C++ compiler was found", "hint: install g++"):
            self.assertIn(words, out)
        done = self.command("check", "model.onnx", "--backend", "interpreter", **only_python)
        self.assertEqual(done.returncode, 0, done.stderr)

    # What a program that was saved needs is found where the wheel has it.
    def test_artifacts_of_plugins_with_bundled_libraries(self):
        out = self.run_python("""
            import numpy as np, onnx, headrace
            from onnx import TensorProto, helper
            info = lambda n, t: helper.make_tensor_value_info(n, t, ["n"])
            node = helper.make_node("RegexFullMatch", ["x"], ["y"], pattern="a+")
            g = helper.make_graph([node], "g", [info("x", TensorProto.STRING)], [info("y", TensorProto.BOOL)])
            onnx.save(helper.make_model(g, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), "match.onnx")
            headrace.Sdfg.load("match.onnx").compile().save("match.hrx")
            print(headrace.load("match.hrx")(np.array(["aa", "b"], object)))
        """)
        self.assertEqual(out, "[ True False]\n")
        done = self.command("run", "match.hrx", "--input", 'x=["a", "ba"]')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("true false", done.stdout.lower())

    def importable(self, wanted):
        found = [n for n in wanted
                 if subprocess.run([self.python, "-c", f"import {n}"], capture_output=True, env=self.environment()).returncode == 0]
        print("beside", ", ".join(found), "; not installed:", ", ".join(sorted(set(wanted) - set(found))) or "none")
        return found

    def test_beside_other_packages(self):
        """Each order of import, also where they ask for RTLD_GLOBAL; libhighs, protobuf and abseil are in several of them."""
        found = self.importable(["onnx", "scipy.optimize", "onnxruntime", "torch", "jax.numpy", "highspy"])
        self.assertIn("onnx", found)
        for other, ours_first, everywhere in itertools.product(found, (False, True), (False, True)):
            with self.subTest(other=other, ours_first=ours_first, everywhere=everywhere):
                self.assertEqual(self.run_python(f"""
                    import os, sys
                    if {everywhere}:
                        sys.setdlopenflags(os.RTLD_NOW | os.RTLD_GLOBAL)
                    flags = sys.getdlopenflags()
                    for name in {(["headrace", other] if ours_first else [other, "headrace"])}:
                        __import__(name)
                    assert sys.getdlopenflags() == flags
                    import ctypes, headrace, numpy as np
                    x = np.float32([0, 1])
                    np.testing.assert_allclose(headrace.Sdfg.load("model.onnx")(x), np.exp(x), rtol=1e-6)
                    program = headrace.Sdfg.parse("sdfg f(X: f64[4], L: f64) {{ L = 0\\n map i in 0:4 {{ L += sin(X[i]) }} }}")
                    x = np.arange(4.0)
                    gradient = program.gradient(["L"], ["X"], memory_limit=100)  # the plan is HiGHS's
                    np.testing.assert_allclose(gradient.program.compile(backend="interpreter")(x), np.cos(x))
                    everyone = ctypes.CDLL(None)
                    print(any(hasattr(everyone, n) for n in ("headrace_plugin_v1", "_ZN8headrace6VerifyERKNS_7ProgramE")))
                """), "False\n")

    def test_among_all_of_them(self):
        """All in one process, also with RTLD_GLOBAL, and each of them still works: ours first and last, nightly (beside_test) at
        every place among them."""
        found = self.importable(["onnx", "onnxruntime", "torch", "jax.numpy", "highspy"])
        places = range(len(found) + 1) if os.environ.get("HEADRACE_TEST_PACKAGES") else (0, len(found))
        for place, everywhere in itertools.product(places, (False, True)):
            order = found[:place] + ["headrace"] + found[place:]
            with self.subTest(order=order, everywhere=everywhere):
                self.assertEqual(self.run_python(f"""
                    import os, sys
                    if {everywhere}:
                        sys.setdlopenflags(os.RTLD_NOW | os.RTLD_GLOBAL)
                    for name in {order}:
                        __import__(name)
                    import headrace, numpy as np
                    x = np.float32([0, 1])
                    np.testing.assert_allclose(headrace.Sdfg.load("model.onnx")(x), np.exp(x), rtol=1e-6)
                    program = headrace.Sdfg.parse("sdfg f(X: f64[4], L: f64) {{ L = 0\\n map i in 0:4 {{ L += sin(X[i]) }} }}")
                    gradient = program.gradient(["L"], ["X"], memory_limit=100).program
                    np.testing.assert_allclose(gradient.compile(backend="interpreter")(np.arange(4.0)), np.cos(np.arange(4.0)))
                    if "onnxruntime" in sys.modules:
                        import onnxruntime
                        session = onnxruntime.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
                        np.testing.assert_allclose(session.run(None, {{"x": x}})[0], np.exp(x), rtol=1e-6)
                    if "torch" in sys.modules:
                        import torch
                        np.testing.assert_allclose(torch.exp(torch.from_numpy(x)).numpy(), np.exp(x), rtol=1e-6)
                        np.testing.assert_allclose(headrace.module(torch.nn.Identity())(torch.from_numpy(x)).numpy(), x)
                    if "jax" in sys.modules:
                        import jax.numpy
                        np.testing.assert_allclose(jax.numpy.exp(x), np.exp(x), rtol=1e-6)
                        y = headrace.Sdfg.load("model.onnx")(jax.numpy.asarray(x))
                        np.testing.assert_allclose(y, np.exp(x), rtol=1e-6)
                    if "highspy" in sys.modules:
                        import highspy
                        solver = highspy.Highs()
                        solver.setOptionValue("output_flag", False)
                        solver.minimize(solver.addVariable(lb=1))
                        assert solver.getObjectiveValue() == 1
                    print("right")
                """), "right\n")

    # A library that many packages carry, read before ours: ours stays the one that it was linked to.
    def test_a_library_of_the_same_name_that_is_loaded_already(self):
        source = os.path.join(self.folder, "fake.c")
        with open(source, "w") as f:
            f.write("int Highs_versionMajor(void) { return 99; }\n")
        fake = os.path.join(self.folder, "libhighs.so")
        subprocess.run(["gcc", "-shared", "-fPIC", "-Wl,-soname,libhighs.so", source, "-o", fake], check=True)
        out = self.run_python(f"""
            import ctypes
            ctypes.CDLL({fake!r}, ctypes.RTLD_GLOBAL)
            import numpy as np, headrace
            program = headrace.Sdfg.parse("sdfg f(X: f64[4], L: f64) {{ L = 0\\n map i in 0:4 {{ L += sin(X[i]) }} }}")
            print(program.gradient(["L"], ["X"], memory_limit=100).program.compile(backend="interpreter")(np.zeros(4)))
        """)
        self.assertEqual(out, "[1. 1. 1. 1.]\n")

    def test_torch_finds_the_backend(self):
        if self.run_python("import importlib.util; print(importlib.util.find_spec('torch') is None)") == "True\n":
            self.skipTest("torch is not installed")
        out = self.run_python("""
            import torch
            compiled = torch.compile(torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()), backend="headrace", fullgraph=True)
            x = torch.randn(5, 4)
            with torch.no_grad():
                torch.testing.assert_close(compiled(x), compiled._orig_mod(x))
            import headrace
            print(headrace.counters()["torch.compile"]["graphs"])
        """)
        self.assertEqual(out, "1\n")

    def test_another_python_is_told(self):
        package = os.path.join(self.folder, "other")
        shutil.copytree(os.path.join(self.packages, "headrace"), os.path.join(package, "headrace"))
        for core in glob.glob(os.path.join(package, "headrace", "_core*.so")):
            os.rename(core, core.replace("cpython-3", "cpython-2").replace("abi3", "abi2"))
        with self.assertRaises(AssertionError) as error:
            self.run_python(f"import sys; sys.path.insert(0, {package!r}); import headrace")
        self.assertIn("install the wheel made for it", str(error.exception))


if __name__ == "__main__":
    unittest.main()
