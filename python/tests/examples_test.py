"""The examples, run as users run them, each in a process and folder of its own; notebooks cell by cell, without Jupyter. With
`torch` in the test's arguments those that need PyTorch, else the others."""

import ast
import glob
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

from python.tests.case import Case

EXAMPLES = os.path.abspath("examples")
TORCH = "torch" in sys.argv[1:]
# Small enough for a test; without arguments they take minutes.
ARGUMENTS = {"train_bert_tiny.py": ["--width", "32", "--steps", "8"], "train_resnet18.py": ["--width", "4", "--size", "16", "--steps", "3"]}
# Have tests of their own.
ELSEWHERE = {"ddp.py", "digits.py", "make_squeezenet.py"}

# What a notebook does with a cell: runs it, and shows the last expression.
NOTEBOOK = """
import ast, json, linecache, sys
names = {"__name__": "__main__"}
shown = 0
for k, text in enumerate(json.load(open(sys.argv[1]))):
    linecache.cache[f"cell {k}"] = len(text), None, text.splitlines(True), f"cell {k}"  # as IPython does
    cell = ast.parse(text, f"cell {k}")
    last = cell.body.pop() if cell.body and isinstance(cell.body[-1], ast.Expr) else None
    exec(compile(cell, f"cell {k}", "exec"), names)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), f"cell {k}", "eval"), names)
        page = value._repr_html_() if hasattr(value, "_repr_html_") else None
        if page is not None:
            shown += page.count("<svg")
print("pictures:", shown)
"""


def names(pattern):
    return sorted(os.path.basename(p) for p in glob.glob(os.path.join(EXAMPLES, pattern)))


def needs_torch(text):
    return re.search(r"^\s*\"?(import|from) torch\b", text, re.MULTILINE) is not None


class ExamplesTest(Case):
    def run_python(self, *arguments):
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
            environment = {**os.environ, "PYTHONPATH": os.path.abspath(os.path.join("python", "package"))}
            done = subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stdout[-4000:] + done.stderr[-4000:])
        return done.stdout

    def notebook(self, name):
        with open(os.path.join(EXAMPLES, name), encoding="utf-8") as f:
            book = json.load(f)
        self.assertEqual((book["nbformat"], book["nbformat_minor"]), (4, 5))
        self.assertEqual(len({c["id"] for c in book["cells"]}), len(book["cells"]))
        cells = [c for c in book["cells"] if c["cell_type"] == "code"]
        for c in cells:
            self.assertEqual((c["outputs"], c["execution_count"]), ([], None), f"{name} has results stored: clear them")
            ast.parse("".join(c["source"]))
        with tempfile.NamedTemporaryFile("w", suffix=".json", dir=os.environ.get("TEST_TMPDIR")) as f:
            json.dump(["".join(c["source"]) for c in cells], f)
            f.flush()
            said = self.run_python("-c", NOTEBOOK, f.name)
        self.assertGreaterEqual(int(said.rsplit("pictures: ", 1)[1]), 2)

    def test_none_is_forgotten(self):
        self.assertGreaterEqual(len(names("*.py")), 7)
        self.assertLessEqual(ELSEWHERE | set(ARGUMENTS), set(names("*.py")) | ELSEWHERE)
        self.assertTrue(set(names("*.ipynb")))


def add(name):
    with open(os.path.join(EXAMPLES, name), encoding="utf-8") as f:
        torch = needs_torch(f.read())
    if name in ELSEWHERE or torch != TORCH or (torch and importlib.util.find_spec("torch") is None):
        return

    def test(self):
        if name.endswith(".ipynb"):
            self.notebook(name)
        else:
            self.run_python(os.path.join(EXAMPLES, name), *ARGUMENTS.get(name, []))

    setattr(ExamplesTest, "test_" + re.sub(r"\W", "_", name), test)


for example in (*names("*.py"), *names("*.ipynb")):
    add(example)

if __name__ == "__main__":
    unittest.main()
