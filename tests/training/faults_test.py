"""What goes wrong while a model is trained: a clear error, the right exit code, and the last complete checkpoint stays as it
is. usage: faults_test.py DRIVER"""

import fcntl
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np

from tests.training.runs import Runs, read, samples

DRIVER = sys.argv[1]
ROOT = os.geteuid() == 0
NAMESPACE = ["unshare", "--mount"] if ROOT else ["unshare", "--map-root-user", "--mount"]
MOUNTS = shutil.which("unshare") and subprocess.run(
    [*NAMESPACE, "sh", "-c", "mount -t tmpfs -o size=1m t /mnt"], capture_output=True).returncode == 0


class FaultsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.runs = Runs(DRIVER, tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR")), options={"--every": "1"})
        cls.runs.train("whole")
        cls.whole = cls.runs.left("whole")
        # A run that died in its third epoch; on a busy machine it may end before the signal comes.
        while True:
            process = cls.runs.start("dead")
            while process.poll() is None and not os.path.exists(cls.runs.path("dead/step-000000011.safetensors")):
                pass
            process.send_signal(signal.SIGKILL)
            process.communicate()
            cls.stopped_at = cls.runs.checkpoints("dead")[-1]
            if cls.stopped_at < "step-000000018":
                break
            shutil.rmtree(cls.runs.path("dead"))

    def dead_run(self):
        """A folder of this test's own, as the dead run left it."""
        run = self.id().split(".")[-1]
        shutil.copytree(self.runs.path("dead"), self.runs.path(run))
        return run

    def fails(self, run, *options, code=1, says=(), **popen):
        """With this exit code and these words; the last two checkpoints stay."""
        before = dict(list(self.checkpoints(run).items())[-2:])
        output = self.runs.train(run, *options, code=code, **popen)
        for part in says:
            self.assertIn(part, output)
        after = self.checkpoints(run)
        for name in before:
            self.assertTrue(after.get(name) == before[name], f"{name} has changed\n{output}")
        return output

    def checkpoints(self, run):
        if not os.path.isdir(self.runs.path(run)):
            return {}
        return {name: read(self.runs.path(f"{run}/{name}")) for name in self.runs.checkpoints(run)}

    def goes_on(self, run, says=()):
        """And ends as if nothing had happened."""
        output = self.runs.train(run, "--resume")
        for part in says:
            self.assertIn(part, output)
        left = self.runs.left(run)
        for name in self.whole:
            self.assertTrue(left[name] == self.whole[name], f"{name or 'the trained model'} differs\n{output}")
        self.assertEqual([n for n in left if ".tmp" in n], [])
        return output

    # ---- where nothing can be written ----

    def test_full_disk_by_the_limit_of_a_files_size(self):
        run = self.dead_run()
        size = len(self.whole["step-000000020.safetensors"]) - 1

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

        self.fails(run, "--resume", says=["E0951", ".safetensors", "the file would be larger than"], preexec_fn=limit)
        self.goes_on(run)

    def in_namespace(self, run, script):
        """Runs shell commands that mount things, which end with them. $train is the command."""
        train = shlex.join(self.runs.command(run))
        done = subprocess.run([*NAMESPACE, "sh", "-c", f"set -e; train={shlex.quote(train)}\n{script}"], text=True,
                              cwd=self.runs.folder, env=self.runs.environment, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    @unittest.skipUnless(MOUNTS, "this user may not mount file systems")
    def test_full_disk(self):
        run = "full"
        os.mkdir(self.runs.path(run))
        size = len(self.whole["step-000000020.safetensors"])
        pages = 2 * -(-size // 4096) + 4  # two checkpoints, two curves, the lock, and no third checkpoint
        output = self.in_namespace(run, f"""
            mount -t tmpfs -o size={4 * pages}k tmpfs {run}
            code=0; $train || code=$?; echo exit $code; ls {run}; [ $code = 1 ]
            mount -o remount,size=4m {run}
            code=0; $train --resume || code=$?; [ $code = 0 ]
            rm {run}/run.lock; cp -r {run} saved
            """)
        self.assertIn("error[E0951]: can't write here: no space is left on the device", output)
        self.assertNotIn(".tmp", output)
        self.assertRegex(output, r"exit 1\nepochs.csv\nlosses.csv(\nlosses.svg)?\nrun.lock\nstep-.*\n(step-.*\n)?")
        shutil.copy(self.runs.path("full.onnx"), self.runs.path("saved.onnx"))
        self.assertEqual(self.runs.left("saved"), self.whole)

    @unittest.skipUnless(MOUNTS, "this user may not mount file systems")
    def test_read_only_file_system(self):
        run = self.dead_run()
        output = self.in_namespace(run, f"""
            mount --bind {run} {run}; mount -o remount,bind,ro {run}
            code=0; $train --resume || code=$?; echo exit $code
            """)
        self.assertIn("error[E0951]: can't write here: the file system is read-only", output)
        self.assertIn("exit 1", output)
        self.goes_on(run)

    def test_a_folder_that_cant_be(self):
        self.fails("train.npz/run", "--out", "o.onnx", says=["E0951", "train.npz/run", "a part of its path is a file"])
        self.fails("run_not_made", "--out", "nowhere/o.onnx", says=["E0933", "nowhere/o.onnx"])

    # ---- data ----

    def bad_data(self, **arrays):
        data = samples(70, 8, 3)
        data.update(arrays)
        np.savez(self.runs.path("bad.npz"), **{n: a for n, a in data.items() if a is not None})
        return "--data", "bad.npz"

    def test_data_that_does_not_fit(self):
        labels = samples(70, 8, 3)["target"]
        for says, data in [
            (["no array 'target'"], dict(target=None)),
            (["no array 'x'"], dict(x=None)),
            (["'x'", "[70, 9]"], dict(x=np.zeros((70, 9), np.float32))),
            (["'target'"], dict(target=labels[:69])),
            (["label 3 of sample 40 is no class"], dict(target=np.where(np.arange(70) == 40, 3, labels))),
            (["label -1 of sample 40 is no class"], dict(target=np.where(np.arange(70) == 40, -1, labels))),
        ]:
            with self.subTest(says=says):
                for run, more in [("never", []), ("dead", ["--resume"])]:
                    self.fails(run, *self.bad_data(**data), *more, says=["error[E09", "bad.npz", *says])
                self.assertFalse(os.path.exists(self.runs.path("never.onnx")))

    def test_a_loss_that_is_not_a_number(self):
        run = "diverges"
        self.fails(run, "--optimizer", "sgd", "--lr", "1e38", "--schedule", "constant",
                   says=["E0935", "at step 2", "learning rate 1e+38", "step 1 is from before"])
        self.assertEqual(self.runs.checkpoints(run), ["step-000000001.safetensors"])
        self.assertFalse(os.path.exists(self.runs.path(run + ".onnx")))

    # ---- interrupts ----

    def interrupt(self, process, number=signal.SIGINT):
        """What it still says, and the seconds until its end: its own, as other processes may hold it up."""
        process.send_signal(number)
        with open(f"/proc/{process.pid}/stat") as f:
            ticks = sum(int(n) for n in f.read().rsplit(")", 1)[1].split()[11:13])
        output = process.stdout.read()
        status, used = os.wait4(process.pid, 0)[1:]
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 130, output)
        self.assertIn("interrupted", output)
        self.assertIn("--resume goes on", output)
        return used.ru_utime + used.ru_stime - ticks / os.sysconf("SC_CLK_TCK"), output

    def test_an_interrupted_run_stops_at_once_and_goes_on(self):
        long = ["--epochs", "400", "--every", "200"]
        self.runs.train("uninterrupted", *long)
        process = self.runs.start("interrupted", *long)
        while process.poll() is None and not os.path.exists(self.runs.path("interrupted/step-000000200.safetensors")):
            time.sleep(0.001)
        seconds, output = self.interrupt(process)
        self.assertLess(seconds, 1, output)
        self.runs.train("interrupted", "--resume", *long)
        self.assertTrue(self.runs.left("interrupted") == self.runs.left("uninterrupted"))

    def test_a_long_step_is_cut_off_and_nothing_is_lost(self):
        runs = Runs(DRIVER, tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR")), features=256, hidden=4096, count=96,
                    options={"--backend": "interpreter", "--epochs": "1"})
        runs.train("whole")
        process = runs.start("cut", "--progress", "plain")
        while process.poll() is None and " % " not in process.stdout.readline():
            pass
        seconds, output = self.interrupt(process, signal.SIGHUP)  # the terminal went away
        self.assertLess(seconds, 1, output)
        done, = re.findall(r"stopped after step (\d) of 6", output)
        self.assertEqual(runs.checkpoints("cut"), [f"step-00000000{done}.safetensors"])
        runs.train("cut", "--resume")
        left = runs.left("cut")
        for name, content in runs.left("whole").items():
            self.assertTrue(left[name] == content, f"{name or 'the trained model'} differs")

    def test_interrupted_before_the_first_step(self):
        process = self.runs.start("early")
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        process.communicate()
        self.assertIn(process.returncode, [130, -signal.SIGINT])
        self.goes_on("early")

    def test_interrupted_while_it_compiles(self):
        runs = Runs(DRIVER, tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR")), hidden=17)
        os.mkdir(runs.path("tmp"))
        runs.environment["TMPDIR"] = runs.path("tmp")
        files = lambda: [f for _, _, names in os.walk(runs.path("cache")) for f in names]
        process = runs.start("run")
        while process.poll() is None and not any(f.endswith(".cc") for f in files()):
            pass
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        output = process.communicate()[0]
        self.assertEqual(process.returncode, 130, output)
        self.assertEqual([f for f in files() if not f.startswith("lock")], [])
        self.assertEqual(os.listdir(runs.path("tmp")), [])
        self.assertEqual(runs.checkpoints("run"), [])
        runs.train("run", "--resume")

    # ---- what lies in the folder ----

    def test_a_torn_checkpoint_is_named_with_the_one_used_instead(self):
        run = self.dead_run()
        newest = self.runs.path(f"{run}/{self.stopped_at}")
        os.truncate(newest, os.path.getsize(newest) // 2)
        older = self.runs.checkpoints(run)[-2]
        self.goes_on(run, says=[f"{self.stopped_at}: this is not a complete checkpoint", f"{older} is used instead"])

    def test_foreign_files_are_named_and_stay(self):
        run = self.dead_run()
        header = b'{"w":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}'
        for name in ["step-000000999.safetensors", "theirs.safetensors"]:
            with open(self.runs.path(f"{run}/{name}"), "wb") as f:
                f.write(len(header).to_bytes(8, "little") + header + b"xy")
        self.goes_on(run, says=["step-000000999.safetensors: this is not a complete checkpoint: it has no checksum",
                                "theirs.safetensors is not a checkpoint of this run",
                                f"{self.stopped_at} is used instead"])
        self.assertIn("step-000000999.safetensors", self.runs.checkpoints(run))

    def test_no_complete_checkpoint(self):
        run = self.dead_run()
        for name in self.runs.checkpoints(run):
            os.truncate(self.runs.path(f"{run}/{name}"), 100)
        self.fails(run, "--resume", says=["E0953", self.stopped_at, "its header is cut off"])

    def test_a_new_run_does_not_write_over_an_old_one(self):
        self.fails(self.dead_run(), code=2, says=["E0930", "--resume goes on with it"])

    def test_another_model_or_other_options(self):
        run = self.dead_run()
        self.fails(run, "--resume", "--lr", "0.5", code=2, says=["--lr", "0.5"])
        self.goes_on(run)

    def test_one_run_at_a_time(self):
        run = self.dead_run()
        with open(self.runs.path(f"{run}/run.lock"), "r+") as f:
            fcntl.flock(f, fcntl.LOCK_EX)
            self.fails(run, "--resume", says=["E0954", run, "another run writes its checkpoints here"])
        self.goes_on(run)


if __name__ == "__main__":
    unittest.main()
