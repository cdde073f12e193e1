"""Ctrl-C while programs are compiled and while they run."""

import os
import signal
import threading
import time
import unittest

from python.tests.case import Case, headrace, np

FOREVER = 2_000_000_000


def loops(steps, x):
    for t in range(steps):
        x[1:-1] = 0.5 * (x[:-2] + x[2:])


def one_map(x, y):
    return np.sum(np.sin(x[:, None] * y[None, :]) + np.cos(x[:, None] + y[None, :]))


class Interrupt(Case):
    def interrupted(self, call, after=0.4):
        """Ctrl-C `after` seconds; what call raises then must be KeyboardInterrupt, within a second."""
        timer = threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT))
        start = time.monotonic()  # before the timer: what passes until the call begins is part of what it waits for
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            call()
            time.sleep(after + 5)  # the call was over too soon: the test would not tell
            self.fail("nothing came")
        took = time.monotonic() - start
        timer.join()
        self.assertLess(took, after + 1)
        self.assertGreaterEqual(took, after)

    def test_a_loop(self):
        program = headrace.program(loops)
        x = np.random.default_rng(0).random(1000)
        program(10, x)
        program.sdfg_for(FOREVER, x).compile()  # into the cache
        self.interrupted(lambda: program(FOREVER, x), after=1.0)
        program(10, x)  # and nothing of it is left

    def test_one_large_map(self):
        x = np.linspace(0, 1, 150_000)
        compiled = headrace.program(one_map).sdfg_for(x, x).compile()
        self.interrupted(lambda: compiled(x, x))

    def test_one_call_of_a_library(self):
        rng = np.random.default_rng(0)
        n = 4000

        def well(a):  # symmetric, with large diagonal elements
            return np.linalg.cholesky(a)

        calls = {
            "inv": (np.linalg.inv, rng.standard_normal((n, n))),
            "cholesky": (well, np.eye(2 * n) * n + 1),
            "eigh": (lambda a: np.linalg.eigh(a)[1], np.eye(n) + 1),
            "svd": (lambda a: np.linalg.svd(a)[0], rng.standard_normal((n // 2, n // 2))),
            "qr": (lambda a: np.linalg.qr(a)[0], rng.standard_normal((n, n))),
            "fft of a prime length": (np.fft.fft, rng.standard_normal(4_000_037) + 0j),
            "fft of a power of two": (np.fft.fft, rng.standard_normal(1 << 24) + 0j),
            "sort": (np.sort, rng.standard_normal(20_000_000)),
            "unique": (np.unique, rng.standard_normal(20_000_000)),
        }
        for name, (function, x) in calls.items():
            with self.subTest(name):
                def call(x, function=function):
                    return function(x)

                compiled = headrace.program(call).sdfg_for(x).compile()
                self.interrupted(lambda: compiled(x))

    def test_the_interpreter(self):
        program = headrace.program(loops).sdfg_for(FOREVER, np.ones(100)).compile(backend="interpreter")
        self.interrupted(lambda: program(np.ones(100)))

    def test_a_program_that_another_thread_compiled(self):
        made = []
        thread = threading.Thread(target=lambda: made.append(headrace.program(loops).sdfg_for(FOREVER, np.ones(1000)).compile()))
        thread.start()
        thread.join()
        self.interrupted(lambda: made[0](np.ones(1000)))

    def test_compilation(self):
        lines = [f"    y = np.sin(y * {k}.5 + x) * np.cos(x - {k}) + np.tanh(y[::-1] + {time.time() + k})" for k in range(400)]
        scope = {"np": np}
        import linecache

        source = "def many(x):\n    y = x * 2\n" + "\n".join(lines) + "\n    return y\n"
        linecache.cache["<many>"] = (len(source), None, source.splitlines(True), "<many>")
        exec(compile(source, "<many>", "exec"), scope)
        program = headrace.program(scope["many"]).sdfg_for(np.ones(100))
        self.interrupted(program.compile)

    def test_own_handlers_are_called_when_the_run_is_done(self):
        came = []
        before = signal.signal(signal.SIGINT, lambda *_: came.append(time.monotonic()))
        try:
            x = np.ones(1000)
            program = headrace.program(loops)
            program(3_000_000, x)
            start = time.monotonic()
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
            program(3_000_000, x)
            self.assertGreater(time.monotonic() - start, 0.1)
        finally:
            signal.signal(signal.SIGINT, before)
        self.assertEqual(len(came), 1)

    def test_runs_of_other_threads_go_on(self):
        program = headrace.program(loops)
        x = np.ones(1000)
        program(3_000_000, x)
        failed = []

        def run():
            try:
                program(3_000_000, x)
            except BaseException as error:
                failed.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        with self.assertRaises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
        thread.join()
        self.assertEqual(failed, [])


if __name__ == "__main__":
    unittest.main()
