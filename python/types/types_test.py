"""The package's types, as mypy sees them: nothing to say of right.py, and of wrong.py exactly the errors in its comments."""

import ast
import glob
import os
import re
import subprocess
import sys
import tempfile
import unittest

from python.tests.case import package

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = next((a for a in sys.argv[1:] if os.path.isdir(a)), "")
STUB = next((a for a in sys.argv[1:] if a.endswith(".pyi")), "")
LINE = re.compile(r"(?:right|wrong)\.py:(\d+): error: .*\[([a-z-]+)\]$", re.M)


def checked(file: str) -> tuple[dict[int, str], str]:
    """{line: code of its first error} and all that mypy says of the file."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "mypy", "--cache-dir", folder, "--follow-imports=silent", "--ignore-missing-imports", "--check-untyped-defs",
                   "--no-color-output", "--no-error-summary", "--config-file=", os.path.join(HERE, file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder,
                              env={**os.environ, "PYTHONPATH": PACKAGES, "MYPYPATH": package()})
    errors: dict[int, str] = {}
    for line, code in LINE.findall(done.stdout):
        errors.setdefault(int(line), code)
    return errors, done.stdout + done.stderr


@unittest.skipUnless(PACKAGES, "mypy is not there: pip found no packages for it")
class Types(unittest.TestCase):
    def test_right_ones(self):
        errors, said = checked("right.py")
        self.assertEqual((errors, said), ({}, ""))

    def test_wrong_ones(self):
        errors, said = checked("wrong.py")
        with open(os.path.join(HERE, "wrong.py"), encoding="utf-8") as f:
            expected = {n: m[1] for n, line in enumerate(f, 1) if (m := re.search(r"# error: ([a-z-]+)$", line))}
        self.assertEqual(errors, expected, said)
        self.assertGreater(len(expected), 40)


class Stub(unittest.TestCase):
    def test_the_extension_as_the_package_uses_it(self):
        with open(STUB, encoding="utf-8") as f:
            defined = {n.name if isinstance(n, (ast.FunctionDef, ast.ClassDef)) else n.target.id
                       for n in ast.parse(f.read()).body if isinstance(n, (ast.FunctionDef, ast.ClassDef, ast.AnnAssign))}
        used = set()
        for file in glob.glob(os.path.join(package(), "headrace", "**", "*.py"), recursive=True):
            with open(file, encoding="utf-8") as f:
                used |= set(re.findall(r"\b_core\.([a-zA-Z]\w*)", f.read()))
        self.assertGreater(len(used), 20)
        self.assertEqual(used - defined, set())


if __name__ == "__main__":
    unittest.main()
