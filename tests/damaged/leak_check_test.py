"""LeakSanitizer's own death is no finding; a leak is."""

import os
import sys
import tempfile
import unittest

from tests.damaged import leak_check

# Says each line of the list in turn, one per run, and exits 23 where it is not empty.
PROGRAM = """import sys
path, says = sys.argv[1], sys.argv[2:]
n = len(open(path).read())
open(path, "a").write("x")
sys.stderr.write(says[min(n, len(says) - 1)])
sys.exit(23 if says[min(n, len(says) - 1)] else 0)"""
DEATH = "==7==LeakSanitizer has encountered a fatal error.\n==7==HINT: LeakSanitizer does not work under ptrace (strace, gdb, etc)\n"
LEAK = "==7==ERROR: LeakSanitizer: detected memory leaks\n"


class LeakCheck(unittest.TestCase):
    def run_saying(self, *says):
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
            runs = os.path.join(folder, "runs")
            open(runs, "w").close()
            try:
                return leak_check.run([sys.executable, "-c", PROGRAM, runs, *says])
            finally:
                self.runs = os.path.getsize(runs)

    def test_runs_again_after_its_death(self):
        done = self.run_saying(DEATH, "")
        self.assertEqual((done.returncode, done.stderr, self.runs), (0, b"", 2))

    def test_a_leak_is_not_its_death(self):
        done = self.run_saying(LEAK)
        self.assertEqual((done.returncode, self.runs), (23, 1))
        self.assertIn(b"detected memory leaks", done.stderr)

    def test_a_leak_after_its_death(self):
        done = self.run_saying(DEATH, LEAK)
        self.assertEqual((done.returncode, self.runs), (23, 2))

    def test_gives_up(self):
        with self.assertRaisesRegex(AssertionError, "LeakSanitizer itself died 3 times"):
            self.run_saying(DEATH)
        self.assertEqual(self.runs, 3)
