"""Files are there whole or not at all, a full disk is an error, and progress is quiet. usage: output_test.py DRIVER"""

import fcntl
import os
import pty
import re
import resource
import struct
import subprocess
import termios
import time
import unittest

import numpy as np

from tests.driver.command import DRIVER, RELU, CommandTest

# About a second of interpretation.
SLOW = """sdfg slow(Y: f64[1]) {
  Y[0] = 0
  while Y[0] < 150000 { Y[0] = Y[0] + 1.0 }
}
"""


class OutputTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.write("relu.sdfg", RELU)

    def into(self, target, *args, code=1):
        with open(target, "wb") as out:
            done = subprocess.run([DRIVER, *args], cwd=self.folder, stdout=out, stderr=subprocess.PIPE, text=True, env=self.environment)
        self.assertEqual(done.returncode, code, f"{args}\n{done.stderr}")
        return done.stderr

    def test_a_full_standard_output(self):
        for args in (["compile", "relu.sdfg", "--emit", "ir"], ["compile", "relu.sdfg", "--emit", "json"], ["opt", "relu.sdfg"],
                     ["run", "relu.sdfg", "--backend", "interpreter"], ["run", "relu.sdfg", "--backend", "interpreter", "--json"],
                     ["run", "relu.sdfg", "--backend", "interpreter", "--output", "Y=-"], ["check", "relu.sdfg"], ["ops"], ["ops", "--json"],
                     ["plugins"], ["opt", "--list"], ["--help"], ["--version"], ["explain"]):  # fmt: skip
            said = self.into("/dev/full", *args)
            self.assertIn("E0951", said)
            self.assertIn("no space is left on the device", said)

    def test_files_on_a_full_disk(self):
        """As a limit on the size of files: the same as far as writing goes, and needs no disk of its own."""
        x = np.ones(100000, np.float32)
        self.save("x.npy", x)
        run = ["run", "relu.sdfg", "--backend", "interpreter", "--input", "X=@x.npy"]
        for name, args in (("y.npy", [*run, "--output", "Y=@y.npy"]), ("y.npz", [*run, "--output", "Y=@y.npz"]),
                           ("p.json", ["compile", "relu.sdfg", "--emit", "json", "-o", "p.json"]),
                           ("p.sdfg", ["opt", "relu.sdfg", "-o", "p.sdfg"])):  # fmt: skip
            with open(self.path(name), "w") as f:
                f.write("old")
            limit = 40 if name[0] == "p" else 4096
            done = subprocess.run([DRIVER, *args], cwd=self.folder, capture_output=True, text=True, env=self.environment,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
            self.assertEqual(done.returncode, 1, f"{name}: {done.stderr}")
            self.assertRegex(done.stderr, "(?i)larger than|too large")
            with open(self.path(name)) as f:
                self.assertEqual(f.read(), "old")
        self.assertEqual([n for n in os.listdir(self.folder) if ".tmp" in n], [])

    def test_devices_and_links_stay_what_they_are(self):
        self.assertIn("no space", self.run_headrace("opt", "relu.sdfg", "-o", "/dev/full", code=1).stderr)
        self.run_headrace("opt", "relu.sdfg", "-o", "/dev/null")
        self.assertFalse(os.path.isfile("/dev/null"))
        self.write("real.sdfg", "")
        os.symlink("real.sdfg", self.path("link.sdfg"))
        self.run_headrace("opt", "relu.sdfg", "-o", "link.sdfg")
        self.assertTrue(os.path.islink(self.path("link.sdfg")))
        with open(self.path("real.sdfg")) as f:
            self.assertIn("sdfg main", f.read())
        self.assertIn("its folder does not exist", self.run_headrace("opt", "relu.sdfg", "-o", "no/where", code=1).stderr)

    def test_arrays_on_standard_output(self):
        x = np.array([-1, 2], np.float32)
        self.save("x.npy", x)
        self.into(self.path("y.npy"), "run", "relu.sdfg", "--backend", "interpreter", "--input", "X=@x.npy", "--output", "Y=-", code=0)
        np.testing.assert_array_equal(self.load("y.npy"), [0, 2])
        self.refused("E0461", "both want standard output", args=["run", "relu.sdfg", "--output", "Y=-"])

    # ---- progress ----

    def on_a_terminal(self, *args, columns=80):
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen([DRIVER, *args], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=slave, env=self.environment)
        os.close(slave)
        said, start = b"", time.time()
        while True:
            try:
                chunk = os.read(master, 4096)
            except OSError:
                break
            if not chunk:
                break
            said += chunk
        os.close(master)
        self.assertEqual(process.wait(), 0)
        return said.decode(), time.time() - start

    def test_lines_where_nothing_is_redrawn(self):
        said = self.run_headrace("run", "relu.sdfg", "--progress", "plain").stderr
        self.assertIn("reading\npasses\n", said)
        self.assertNotIn("\r", said)
        self.assertNotIn("\033", said)
        self.assertLess(len(said.splitlines()), 10)

    def test_a_bar_as_wide_as_the_terminal_and_not_too_often(self):
        for columns in (20, 80):
            said, seconds = self.on_a_terminal("run", "relu.sdfg", "--dim", f"N={columns}", columns=columns)
            drawn = [re.sub("\033\\[K", "", line) for line in said.split("\r")]
            self.assertTrue(any("passes" in line for line in drawn), said)
            self.assertTrue(all(len(line) < columns for line in drawn if "note" not in line and "\n" not in line), drawn)
            self.assertLessEqual(sum("%" in line for line in drawn), 10 * (seconds + 1))

    def test_nothing_is_drawn_while_time_is_taken(self):
        self.write("slow.sdfg", SLOW)
        said, _ = self.on_a_terminal("bench", "slow.sdfg", "--backend", "interpreter", "--runs", "2")
        self.assertEqual(re.sub("\033\\[K", "", said.split("passes")[-1]).count("%"), 1, said)


if __name__ == "__main__":
    unittest.main()
