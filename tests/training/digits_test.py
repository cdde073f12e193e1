"""The example of docs/training.md: its commands, run as they stand there on real images, and what they promise."""

import csv
import os
import re
import subprocess
import sys
import tempfile
import unittest

HEADRACE = os.path.abspath(sys.argv[1])
ROOT = os.getcwd()
ACCURACY = 98.0


def blocks(document, language):
    with open(document, encoding="utf-8") as f:
        return re.findall(rf"^```{language}\n(.*?)^```$", f.read(), re.M | re.S)


def words(command):
    return command.replace("\\\n", " ").split()


class DigitsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        path = os.path.join(cls.folder.name, "bin")
        os.mkdir(path)
        for name, target in {"headrace": HEADRACE, "python3": sys.executable}.items():
            with open(os.path.join(path, name), "w") as f:
                f.write(f'#!/bin/sh\nexec "{target}" "$@"\n')
            os.chmod(f.name, 0o755)
        os.symlink(os.path.join(ROOT, "examples"), os.path.join(cls.folder.name, "examples"))
        cls.environment = {**os.environ, "PATH": path + ":" + os.environ.get("PATH", "/usr/bin:/bin"), "PYTHONDONTWRITEBYTECODE": "1",
                           "HEADRACE_CACHE_DIR": os.path.join(cls.folder.name, "cache"),
                           # The same bits as with more, and no waiting for each other where other tests run.
                           "HEADRACE_NUM_THREADS": "1"}  # fmt: skip
        cls.commands = blocks("docs/training.md", "sh")
        cls.output = [cls.run_block(c) for c in cls.commands]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def run_block(cls, text):
        p = subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=cls.folder.name, env=cls.environment, capture_output=True, text=True)
        if p.returncode != 0:
            raise AssertionError(f"{text}\nexit {p.returncode}\n{p.stdout}{p.stderr}")
        return p.stdout

    def at(self, *names):
        return os.path.join(self.folder.name, "digits", *names)

    def test_the_trained_model_is_right_in_another_runtime(self):
        told = re.search(r"(\d+) of 397 right: ([\d.]+) %", self.output[0])
        self.assertIsNotNone(told, self.output[0])
        self.assertGreaterEqual(float(told.group(2)), ACCURACY)

    def test_validation_saw_the_same(self):
        right = int(re.search(r"(\d+) of 397 right", self.output[0]).group(1))
        with open(self.at("run", "epochs.csv"), newline="") as f:
            last = list(csv.DictReader(f))[-1]
        # Sums in another order may turn one image that stands on the edge.
        self.assertAlmostEqual(float(last["validation_accuracy"]), right / 397, delta=1.5 / 397)

    def test_what_is_written_where(self):
        names = set(os.listdir(self.at("run")))
        self.assertLessEqual({"losses.csv", "epochs.csv", "losses.svg"}, names)
        self.assertEqual(len([n for n in names if n.endswith(".safetensors")]), 2)

    def test_a_resumed_run_ends_with_the_same_bits(self):
        """The second block stops a run half-way and goes on with it."""
        with open(self.at("trained.onnx"), "rb") as a, open(self.at("resumed.onnx"), "rb") as b:
            self.assertEqual(a.read(), b.read())

    def test_training_mode_is_gone(self):
        import onnx

        model = onnx.load(self.at("trained.onnx"))
        onnx.checker.check_model(model, full_check=True)
        for node in model.graph.node:
            self.assertEqual([o for o in node.output if o], list(node.output[:1]), node.name)
            self.assertNotIn("training_mode", [a.name for a in node.attribute])
        self.assertNotIn("training", [t.name for t in model.graph.initializer])

    def test_the_example_runs_the_same_command(self):
        """//examples:digits, but for the folder."""
        with open("examples/train_digits.sh", encoding="utf-8") as f:
            script = f.read()
        ours = re.search(r'"\$headrace" (train (?:.*\\\n)*.*)', script).group(1)
        shown = re.search(r"^headrace (train (?:.*\\\n)*.*)", self.commands[0], re.M).group(1)
        self.assertEqual(words(ours), [w.replace("digits/", "") for w in words(shown)])


if __name__ == "__main__":
    unittest.main()
