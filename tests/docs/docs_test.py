"""Every command and snippet of README.md and docs/*.md, as a reader meets them: C++ is built outside the workspace, commands run
in one folder per document, from top to bottom, programs are parsed; Python is one script per document. usage: docs_test.py DRIVER SDK DOCUMENT..."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import textwrap
import unittest

from tests.docs import models

DRIVER, SDK = (os.path.abspath(p) for p in sys.argv[1:3])
DOCUMENTS = sys.argv[3:]

# Blocks, by their first line, and commands that don't run here, and why.
NOT_RUN = {
    "./bazelw run //examples:squeezenet      # compiles and runs a real network": "Bazel can't run inside a test",
    "./bazelw test //...                     # passes the tests; HEADRACE_WITH_TORCH=1 before it: those with PyTorch, too": "Bazel can't run inside a test",
    "./bazelw build //python:wheel      # bazel-bin/python/headrace-*.whl": "Bazel can't run inside a test",
    "pip install headrace-*.whl": "//python:wheel_test does so",
    'program   = { [ "entry" ] ( "sdfg" | "kernel" ) NAME "(" [ parameter {"," parameter} ] ")" [ "for" NAME ] [ "@" "flush" ]':
        "the grammar itself",
    "python3 examples/digits.py make digits": "minutes: tests/training/digits_test.py runs it as it stands there",
    "$ headrace tune lenet.onnx --threads 1 --seconds 40": "a session, with what it printed: the commands above it run",
    'half_way() { timeout --signal=INT 1 "$@" || true; }': "minutes: tests/training/digits_test.py runs it as it stands there",
}
# Forms alone can't be run: //docs:documents_test parses them, and the programs once more.
PARSED_ELSEWHERE = ["form"]


class Block:
    def __init__(self, language, lines, line):
        self.language, self.lines, self.line = language, lines, line
        self.text = "\n".join(lines) + "\n"


def blocks_of(text):
    """Fenced blocks, with their language, and indented ones, which are commands ("sh")."""
    found, lines, at = [], text.splitlines(), 0
    while at < len(lines):
        if lines[at].startswith("```"):
            end = lines.index("```", at + 1)
            found.append(Block(lines[at][3:].strip(), lines[at + 1:end], at + 1))
            at = end + 1
        elif lines[at].startswith("    ") and not (found_paragraph(lines, at)):
            end = at
            while end < len(lines) and (lines[end].startswith("    ") or (not lines[end] and end + 1 < len(lines) and lines[end + 1].startswith("    "))):
                end += 1
            found.append(Block("sh", textwrap.dedent("\n".join(lines[at:end])).splitlines(), at + 1))
            at = end
        else:
            at += 1
    return found


def found_paragraph(lines, at):
    """Inside a list item or paragraph, indentation goes on with the text."""
    return at > 0 and lines[at - 1] != "" and not lines[at - 1].startswith("#")


def commands_of(block):
    return [c for c in re.sub(r"\\\n\s*", " ", block.text).splitlines() if c.strip()]


class Folder:
    """Where a document's commands run: `headrace` on the path, $SDK, and the files that documents take for granted."""

    def __init__(self):
        self.path = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        os.makedirs(os.path.join(self.path, "bin"))
        os.symlink(DRIVER, os.path.join(self.path, "bin", "headrace"))
        with tarfile.open(SDK) as sdk:
            sdk.extractall(os.path.join(self.path, "sdk"))
        self.environment = dict(os.environ, PATH=os.path.join(self.path, "bin") + ":" + os.environ["PATH"], SDK=os.path.join(self.path, "sdk"),
                                HEADRACE_CACHE_DIR=os.path.join(self.path, "cache"), HEADRACE_NUM_THREADS="2")
        os.makedirs(self.environment["HEADRACE_CACHE_DIR"], mode=0o700)
        models.write_all(self.path)

    def run(self, command):
        return subprocess.run(["bash", "-c", command], cwd=self.path, env=self.environment, capture_output=True, text=True, timeout=300)

    def write(self, name, text):
        with open(os.path.join(self.path, name), "w", encoding="utf-8") as f:
            f.write(text)


class Docs(unittest.TestCase):
    def check_cpp(self, folder, block):
        name = re.match(r"// (\w+\.cc)", block.text)
        if name:
            folder.write(name.group(1), block.text)
            file, text = name.group(1), block.text
        else:  # a part of a plugin's body
            file = f"fragment_{block.line}.cc"
            text = ('#include "headrace_plugin.hpp"\nusing headrace_plugin::Node;\n'
                    f'HEADRACE_PLUGIN("fragment_{block.line}", "1.0") {{\n{block.text}}}\n')
            folder.write(file, text)
        library = file.replace(".cc", ".so")
        more = " -L$SDK/lib -lheadrace" if "TIER2" in text else ""
        done = folder.run(f"c++ -std=c++17 -Wall -Werror -shared -fPIC -I$SDK/include {file} -o {library}{more} && headrace --plugin ./{library} plugins")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(library, done.stdout)

    # Of docs/deploy.md: built here as a reader does it, and run on an artifact in tests/driver/deploy_test.py.
    def check_program(self, folder, block):
        file, compiler = (f"program_{block.line}.c", "cc -std=gnu99") if block.language == "c" else (f"program_{block.line}.cc", "c++ -std=c++11")
        folder.write(file, block.text)
        done = folder.run(f"{compiler} -Wall -Werror -I$SDK/include {file} -o {file}.out -ldl")
        self.assertEqual(done.returncode, 0, done.stderr)

    def check_sdfg(self, folder, block):
        folder.write("snippet.sdfg", block.text)
        plugins = "".join(f"--plugin ./{p} " for p in sorted(os.listdir(folder.path)) if p.endswith(".so"))
        done = folder.run(f"headrace {plugins} opt snippet.sdfg --pipeline ''")
        self.assertEqual(done.returncode, 0, done.stderr)

    # One script, its lines where the document has them; what needs torch is a script of its own.
    def check_python(self, folder, path, blocks):
        torch = [b for b in blocks if "torch" in b.lines[0]]
        if torch and importlib.util.find_spec("torch") is None:
            print(f"{path}: left out, for torch is not installed: lines {', '.join(str(b.line) for b in torch)}")
            torch = []
        for script in filter(None, [[b for b in blocks if "torch" not in b.lines[0]], *([b] for b in torch)]):
            lines = []
            for b in script:
                lines += [""] * (b.line - len(lines)) + b.lines
            with self.subTest(f"{path}:{script[0].line}"):
                folder.write("python.py", "\n".join(lines) + "\n")
                folder.environment["PYTHONPATH"] = os.path.abspath("python/package")
                done = folder.run(f"{sys.executable} python.py")
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def check_document(self, path):
        with open(path, encoding="utf-8") as f:
            blocks = blocks_of(f.read())
        folder = Folder()
        self.addCleanup(shutil.rmtree, folder.path)
        self.check_python(folder, path, [b for b in blocks if b.language == "python"])
        for block in blocks:
            with self.subTest(f"{path}:{block.line}"):
                first = block.lines[0].strip()
                if first in NOT_RUN or block.language in PARSED_ELSEWHERE:
                    continue
                if block.language in ("c", "cpp") and "int main(" in block.text:
                    self.check_program(folder, block)
                elif block.language == "cpp":
                    self.check_cpp(folder, block)
                elif block.language == "python":
                    pass  # check_python ran it
                elif block.language == "sdfg":
                    self.check_sdfg(folder, block)
                elif block.language == "sh":
                    for command in commands_of(block):
                        if command in NOT_RUN:
                            continue
                        done = folder.run(command)
                        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}{done.stderr}")
                else:
                    self.fail(f"a block in language '{block.language}': c, cpp, sdfg, form, python and sh are tested; say which it is")

    def test_what_is_left_out_stands_in_a_document(self):
        lines = set()
        for path in DOCUMENTS:
            with open(path, encoding="utf-8") as f:
                lines |= {line.strip() for line in f}
        self.assertEqual([line for line in NOT_RUN if line not in lines], [])


def add(path):
    name = "test_" + re.sub(r"\W", "_", os.path.basename(path))
    setattr(Docs, name, lambda self: self.check_document(path))


for document in DOCUMENTS:
    add(document)

if __name__ == "__main__":
    unittest.main()
