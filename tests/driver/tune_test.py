"""Plans and `headrace tune` (docs/tuning.md)."""

import os
import re
import signal
import subprocess
import time
import unittest

from tests.driver.command import DRIVER, CommandTest

PRODUCT = "sdfg main(A: f32[200, 300], B: f32[300, 150], C: f32[200, 150]) { C[i, j] = 0; C[i, j] += A[i, k] * B[k, j] }\n"
CHAIN = """sdfg main(X: f32[N, 64], W: f32[64, 32], Y: f32[N, 32]) {
  transient H: f32[N, 32]
  state {
    onnx.MatMul(A = X, B = W) -> (Y = H)
    map i in 0:N, j in 0:32 { Y[i, j] = max(H[i, j], 0) }
  }
}
"""


class Plans(CommandTest):
    def setUp(self):
        super().setUp()
        self.write("p.sdfg", PRODUCT)

    def plan(self, text):
        return self.write("plan.txt", text)


class PlanTest(Plans):
    def test_passes_left_out(self):
        self.write("c.sdfg", CHAIN)
        self.plan("without fuse-maps\nwithout fuse-epilogue\n")
        kernels = lambda *args: self.run_headrace("compile", "c.sdfg", "--emit", "scheduled", *args).stdout.count("kernel k")
        self.assertGreater(kernels("--plan", "plan.txt"), kernels())

    def test_wrong_plans(self):
        for text, code, word in [("kernal 1", "E0385", ""), ("without fuse-map", "E0468", "did you mean 'fuse-maps'?"),
                                 ("kernel 0123456789abcdef: tile-row 1", "E0369", "did you mean 'tile-rows'?"),
                                 ("kernel 0123456789abcdef: block-threads 64", "E0369", "'block-threads' can't be another"),
                                 ("implementation MatMul = bogus", "E0460", "MatMul")]:
            self.plan(text)
            self.refused(code, word, args=["run", "p.sdfg", "--plan", "plan.txt"])
        self.refused("E0446", "the plan can't be read", args=["run", "p.sdfg", "--plan", "absent.txt"])

    def test_a_plan_of_nothing(self):
        self.write("plan.txt", "")
        self.assertEqual(self.scheduled("--plan", "plan.txt"), self.scheduled())

    def scheduled(self, *args):
        return self.run_headrace("compile", "p.sdfg", "--emit", "scheduled", *args).stdout

    def test_what_has_no_effect_is_said(self):
        self.plan("without profile\nkernel 0123456789abcdef: tile-rows 1  # conv1\n")
        said = self.run_headrace("compile", "p.sdfg", "--emit", "scheduled", "--plan", "plan.txt").stderr
        self.assertIn("warning: the plan's 'without profile' has no effect", said)
        self.assertIn("warning: the plan's kernel 0123456789abcdef (conv1) is not in this program", said)
        said = self.interpret("p.sdfg", "--plan", "plan.txt").stderr
        self.assertIn("the plan's kernels have no effect", said)
        said = self.run_headrace("compile", "p.sdfg", "--emit", "library", "--plan", "plan.txt").stderr
        self.assertIn("--plan has no effect on the imported program", said)

    def test_a_plan_of_an_artifact(self):
        self.plan("threads 1\n")
        self.run_headrace("compile", "p.sdfg", "-o", "p.hrx", "--plan", "plan.txt")
        self.refused("E0461", "--plan has no effect on an artifact", args=["run", "p.hrx", "--plan", "plan.txt"])


class TuneTest(Plans):
    def test_it_ends_in_time_and_agrees(self):
        start = time.monotonic()
        found = self.json("tune", "p.sdfg", "--seconds", "10", "--threads", "1", "-o", "out.txt")
        self.assertLess(time.monotonic() - start, 60)
        self.assertGreater(found["programs"], 0)
        with open(self.path("out.txt"), encoding="utf-8") as f:
            self.assertEqual(f.read(), found["plan"])
        self.run_headrace("run", "p.sdfg", "--plan", "out.txt", "--threads", "1", "--verify")
        if "kept" in found:
            self.assertLess(found["tuned_seconds"], found["untuned_seconds"])
            self.assertTrue(os.path.exists(found["kept"]))

    def test_a_plan_that_is_kept(self):
        """It is taken by later runs, listed, and cleared. A plan is text: this one is written by hand."""
        plan = "# by hand\nwithout fuse-maps\n"
        kept = self.keep(plan)
        bench = lambda *args: self.json("bench", "p.sdfg", "--runs", "1", "--threads", "1", *args)
        self.assertEqual(bench().get("plan"), plan)
        self.assertNotIn("plan", bench("--plan", "none"))
        self.assertNotIn("plan", self.json("bench", "p.sdfg", "--runs", "1", "--threads", "2"))  # made for one
        self.assertNotIn("plan", bench("--pipeline", "default"))
        self.keep("implementation * = absent\n")  # of a plugin that is not loaded now
        self.assertNotIn("plan", bench())
        self.keep("kernel 0123456789abcdef: tile-stripes 2\n")  # of a headrace whose strategy had other numbers
        self.assertNotIn("plan", bench())
        self.assertIn("is not taken", self.run_headrace("run", "p.sdfg", "--threads", "1").stderr)
        self.keep(plan)
        self.assertIn("by hand", self.run_headrace("cache", "list").stdout)
        self.assertEqual(self.json("cache", "list")["plans"][0]["title"], "by hand")
        self.run_headrace("cache", "clear")
        self.assertFalse(os.path.exists(kept))
        self.assertNotIn("plan", bench())

    def keep(self, plan):
        """Where `run -v` looks is where `tune` writes."""
        said = self.run_headrace("run", "p.sdfg", "--threads", "1", "-v").stderr
        path = re.search(r"plan(?: in|:) (\S+)", said).group(1)
        with open(path, "w", encoding="utf-8") as f:
            f.write(plan)
        os.chmod(path, 0o600)
        return path

    def test_interrupted(self):
        """Ctrl-C ends the search, not the command: what was found is measured again and kept."""
        process = subprocess.Popen([DRIVER, "tune", "p.sdfg", "--seconds", "600", "--threads", "1", "--progress", "plain", "-o", "out.txt"],
                                   cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        seen = 0
        for line in process.stderr:
            seen += "s left" in line
            if seen == 2:
                break
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, err)
        self.assertTrue(os.path.exists(self.path("out.txt")))
        self.assertRegex(out, "tried in|nothing is faster")

    def test_sizes_by_name(self):
        self.write("c.sdfg", CHAIN)
        done = self.run_headrace("tune", "c.sdfg", "--seconds", "1", "--dim", "N=50")
        self.assertRegex(done.stdout, "programs")
        self.refused("E0445", "can't be tuned", args=["tune", "x.hrx"])


if __name__ == "__main__":
    unittest.main()
