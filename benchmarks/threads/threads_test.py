"""The table of //benchmarks:speedup: a row for each program, a column for each number of threads."""

import subprocess
import sys
import tempfile
import unittest

from benchmarks.threads import threads

HEADRACE = sys.argv.pop(1)
STATEMENT = "sdfg f(X: f32[N], Y: f32[N]) { map i in 0:N { Y[i] = X[i] + 1 } }"


class Threads(unittest.TestCase):
    def test_counts(self):
        self.assertEqual(threads.counts(1), [1])
        self.assertEqual(threads.counts(8), [1, 2, 4, 8])
        self.assertEqual(threads.counts(6), [1, 2, 4, 6])

    def test_table(self):
        with tempfile.NamedTemporaryFile("w", suffix=".sdfg") as f:
            f.write(STATEMENT)
            f.flush()
            p = subprocess.run([sys.executable, "-m", "benchmarks.threads.threads", HEADRACE, "--most", "2", "--turns", "1",
                                "--seconds", "0.01", "--dim", "N=1000", f.name], capture_output=True, text=True)
        self.assertEqual(p.returncode, 0, p.stderr)
        head, row = p.stdout.splitlines()
        self.assertEqual(head.split()[-3:], ["1", "thread", "2"])
        self.assertRegex(row, r"\.sdfg +[0-9.]+ ms +[0-9.]+$")

    def test_programs_check(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, path in threads.write(folder, HEADRACE):
                with self.subTest(name):
                    p = subprocess.run([HEADRACE, "check", path], capture_output=True, text=True)
                    self.assertEqual(p.returncode, 0, p.stderr)


if __name__ == "__main__":
    unittest.main()
