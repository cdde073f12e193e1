"""Damaged models through the command: exit 1 or 3, a clear error, under two seconds of processor time and 500 MB, and nothing
opened outside the model's folder. usage: damaged_test.py DRIVER BYTES_BETWEEN_TRUNCATIONS"""

import ctypes
import os
import resource
import sys
import tempfile
import unittest

import onnx

from tests.damaged import cases, leak_check

DRIVER, STEP = os.path.abspath(sys.argv[1]), int(sys.argv[2])
SANITIZED = "ASAN_OPTIONS" in os.environ  # --config=asan: slower, and the shadow counts as memory
SECONDS, BYTES = (40, 4 * 2**30) if SANITIZED else (2, 500 * 2**20)


class Watch:
    """Counts how often any of some files was opened, by whatever path: inotify watches the inode."""

    IN_OPEN = 0x20

    def __init__(self, paths):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(os.O_NONBLOCK)
        for path in paths:
            if libc.inotify_add_watch(self.fd, path.encode(), self.IN_OPEN) < 0:
                raise OSError(ctypes.get_errno(), "inotify", path)

    def opened(self):
        try:
            return len(os.read(self.fd, 4096)) // 16
        except BlockingIOError:
            return 0


class Damaged(unittest.TestCase):
    def setUp(self):
        outer = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(outer.cleanup)
        self.folder = os.path.join(outer.name, "model")
        os.makedirs(os.path.join(outer.name, "elsewhere"))
        os.makedirs(self.folder)
        for path in ("secret.bin", "elsewhere/secret.bin", "model/data.bin"):
            with open(os.path.join(outer.name, path), "wb") as f:
                f.write(b"\x00\x00\x80\x3f" * 2)
        os.symlink("../secret.bin", os.path.join(self.folder, "link.bin"))
        os.symlink("../elsewhere", os.path.join(self.folder, "folder"))
        os.link(os.path.join(outer.name, "secret.bin"), os.path.join(self.folder, "hard.bin"))
        os.mkfifo(os.path.join(self.folder, "pipe"))
        self.outside = Watch([os.path.join(outer.name, path) for path in ("secret.bin", "elsewhere/secret.bin", "model/pipe")])
        self.addCleanup(lambda: os.close(self.outside.fd))

    def run_calmly(self, content, verb="check", *flags):
        """Runs again what took too long, up to twice: on a busy machine even processor time stretches."""
        for _ in range(3):
            result = self.run_on(content, verb, *flags)
            if result[2] < SECONDS:
                break
        return result

    def run_on(self, content, verb="check", *flags):
        path = os.path.join(self.folder, "m.onnx")
        with open(path, "wb") as f:
            f.write(content.SerializeToString() if isinstance(content, onnx.ModelProto) else content)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (5 * SECONDS, 5 * SECONDS))
        # Memory is measured by a process of its own: RUSAGE_CHILDREN keeps the largest of all.
        watch = ("import os, resource, subprocess, sys; rc = subprocess.call(sys.argv[2:]); "
                 "open(sys.argv[1], 'w').write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)); sys.exit(rc if rc >= 0 else 128 - rc)")
        peak = os.path.join(self.folder, "..", "peak")
        done = leak_check.run([sys.executable, "-S", "-c", watch, peak, DRIVER, verb, path, *flags], cwd=self.folder, timeout=120, preexec_fn=limit,
                              env=dict(os.environ, HEADRACE_CACHE_DIR=os.path.join(self.folder, "..", "cache")))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        with open(peak) as f:
            bytes_used = int(f.read()) * 1024
        return done, done.stderr.decode(errors="replace"), seconds, bytes_used

    def check_error(self, content, says="", may_run=False, verbs=(["check"], ["run"], ["compile", "--emit", "ir"], ["grad", "--backend", "interpreter"])):
        for verb, *flags in verbs:
            done, text, seconds, used = self.run_calmly(content, verb, *flags)
            self.assertEqual(self.outside.opened(), 0, f"{verb} opened a file outside the model's folder")
            self.assertNotIn("Sanitizer", text)
            self.assertNotIn("runtime error:", text)
            if may_run and done.returncode == 0:
                continue
            if verb in ("check", "compile") and done.returncode == 0:
                self.assertLess(seconds, SECONDS)
                self.assertLess(used, BYTES)
                continue  # nothing wrong before the run
            if verb == "grad" and done.returncode == 2:
                continue  # no output of one element: the loss must be named
            self.assertIn(done.returncode, (1, 3), f"{verb}: {text[-2000:]}")
            self.assertIn("error", text)
            self.assertNotIn("internal", text.lower())
            self.assertNotIn("std::", text)
            self.assertIn(says, text)
            self.assertLess(max(map(len, text.splitlines())), 3000)
            self.assertLess(seconds, SECONDS, text[-500:])
            self.assertLess(used, BYTES, text[-500:])


def add(name, function):
    setattr(Damaged, "test_" + "".join(c if c.isalnum() else "_" for c in name), function)


for _name, _content, _says in cases.cases():
    add(_name, lambda self, c=_content, s=_says: self.check_error(c, s))
for _name, _content, _says in cases.either():
    add(_name, lambda self, c=_content: self.check_error(c, may_run=True))


for _name, _content in cases.heavy():
    add("heavy, " + _name, lambda self, c=_content: self.check_error(c, verbs=(["check"], ["compile", "--emit", "ir", "-o", os.devnull])))


def truncations(self, content):
    whole = content if isinstance(content, bytes) else content.SerializeToString()
    self.assertLessEqual(len(whole), 64 * 1024)
    done, text, _, _ = self.run_on(whole)
    self.assertEqual(done.returncode, 0, text)
    for n in range(0, len(whole), STEP):
        self.check_error(whole[:n], may_run=True, verbs=(["check"], ["run"]))  # what is left may be a model


for _name, _content in cases.whole():
    add("truncated " + _name, lambda self, c=_content: truncations(self, c))


def folder(self):
    os.mkdir(os.path.join(self.folder, "d.onnx"))
    done = leak_check.run([DRIVER, "check", "d.onnx"], cwd=self.folder)
    self.assertEqual(done.returncode, 1, done.stderr)
    self.assertIn(b"d.onnx", done.stderr)


add("folder", folder)
