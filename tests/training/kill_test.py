"""SIGKILL at random moments, then --resume: the same bits as an uninterrupted run. usage: kill_test.py DRIVER KILLS"""

import csv
import os
import random
import signal
import sys
import tempfile
import time
import unittest

import numpy as np
from onnx import numpy_helper, load

from tests.training.runs import Runs, safetensors

DRIVER, KILLS = sys.argv[1], int(sys.argv[2])


class KillTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # A checkpoint of some MB after each step: most of the time one is being written.
        cls.runs = Runs(DRIVER, tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR")), features=256, hidden=1024,
                        options={"--every": "1"})
        cls.runs.train("compiles")
        start = time.monotonic()
        cls.runs.train("whole")
        cls.seconds = time.monotonic() - start
        cls.whole = cls.runs.left("whole")
        cls.steps = 20

    def same(self, run):
        left = self.runs.left(run)
        self.assertEqual(sorted(left), sorted(self.whole))
        for name, content in self.whole.items():
            self.assertTrue(left[name] == content, f"{run}: {name or 'the trained model'} differs")
        self.assertEqual([n for n in os.listdir(self.runs.folder) if n.startswith(run + ".onnx.")], [])

    # ---- moments ----

    def after_a_while(self, run, process, moment):
        time.sleep(moment * self.seconds)

    def while_a_checkpoint_is_written(self, run, process, moment):
        """Sees the temporary file of about the step at `moment`."""
        step = 1 + int(moment * self.steps)
        while process.poll() is None:
            try:
                names = os.listdir(self.runs.path(run))
            except FileNotFoundError:
                continue
            if any(".tmp" in n and n >= f"step-{step:09d}" for n in names):
                return

    def after_a_checkpoint(self, run, process, moment):
        step = 1 + int(moment * (self.steps - 1))
        while process.poll() is None:
            if os.path.exists(self.runs.path(f"{run}/step-{step:09d}.safetensors")):
                return time.sleep(moment * 0.02)

    def while_the_model_is_written(self, run, process, moment):
        while process.poll() is None:
            if any(n.startswith(run + ".onnx.tmp") for n in os.listdir(self.runs.folder)):
                return

    def kill(self, run, number, *options):
        """Whether the run was killed before its end."""
        moments = random.Random(f"{number} {run}")
        how = [self.after_a_while, self.while_a_checkpoint_is_written, self.after_a_checkpoint,
               self.while_the_model_is_written][number % 4]
        process = self.runs.start(run, *options)
        how(run, process, moments.random())
        process.send_signal(signal.SIGKILL)
        process.communicate()
        return process.returncode == -signal.SIGKILL

    def test_a_killed_run_goes_on_as_if_nothing_had_happened(self):
        killed, number = 0, 0
        while killed < KILLS:
            run = f"run{number}"
            with self.subTest(run=run):
                killed += self.kill(run, number)
                self.runs.train(run, "--resume")
                self.same(run)
            number += 1
            self.assertLess(number, 2 * KILLS + 10, "runs end before they are killed")

    def test_many_kills_in_one_run(self):
        killed = sum(self.kill("often", number, "--resume") for number in range(KILLS))
        self.assertGreater(killed, 0)
        self.runs.train("often", "--resume")
        self.same("often")

    # ---- what was compared is what it should be ----

    def test_the_uninterrupted_run(self):
        self.assertEqual(self.whole, self.runs.left("compiles"), "two runs of the same seed differ")
        self.assertEqual(self.runs.checkpoints("whole"), ["step-000000019.safetensors", "step-000000020.safetensors"])
        losses = list(csv.DictReader(self.whole["losses.csv"].decode().splitlines()))
        self.assertEqual([int(l["step"]) for l in losses], list(range(1, self.steps + 1)))
        self.assertLess(float(losses[-1]["loss"]), 0.5 * float(losses[0]["loss"]))
        epochs = list(csv.DictReader(self.whole["epochs.csv"].decode().splitlines()))
        self.assertEqual([(int(e["epoch"]), int(e["step"])) for e in epochs], [(1, 5), (2, 10), (3, 15), (4, 20)])
        self.assertGreater(float(epochs[-1]["validation_accuracy"]), 0.5)

    def test_the_checkpoint_by_a_reader_of_the_format(self):
        metadata, arrays = safetensors(self.runs.path("whole/step-000000020.safetensors"))
        self.assertEqual(metadata["step"], "20")
        trained = {t.name: numpy_helper.to_array(t) for t in load(self.runs.path("whole.onnx")).graph.initializer}
        for name in ["W1", "b1", "W2", "b2"]:
            np.testing.assert_array_equal(arrays[name], trained[name])
            for moment in [".exp_avg", ".exp_avg_sq"]:
                self.assertEqual(arrays[name + moment].shape, arrays[name].shape)
                self.assertGreater(np.abs(arrays[name + moment]).max(), 0)


if __name__ == "__main__":
    unittest.main()
