"""Programs in many threads and processes: the GIL is free while they run, equal ones are compiled once, memory stays flat."""

import copy
import os
import pickle
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest

from python.tests.case import Case, headrace, np

REVERSED = "sdfg reversed_{0}(X: f32[N], Y: f32[N]) {{ state {{ map i in 0:N {{ Y[i] = {0} * X[N - 1 - i] }} }} }}"


def memory():
    """KiB of this process in memory."""
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def in_threads(n, work):
    """Runs work(0) … work(n - 1) at once; gives what they returned, or raises the first that failed."""
    ready, results, errors = threading.Barrier(n), [None] * n, []

    def run(k):
        try:
            ready.wait()
            results[k] = work(k)
        except BaseException as error:  # of whatever kind: it is raised where the test sees it
            errors.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise errors[0]
    return results


def doubled(x):
    return 2 * x


class Gil(Case):
    def longest_pause(self, call):
        """(seconds of the call in another thread, the longest time this thread stood still meanwhile)."""
        took = []

        def timed():
            start = time.perf_counter()
            call()
            took.append(time.perf_counter() - start)

        other = threading.Thread(target=timed)
        last, longest = time.perf_counter(), 0.0
        other.start()
        while other.is_alive():
            time.sleep(0.001)
            now = time.perf_counter()
            longest, last = max(longest, now - last), now
        other.join()
        return took[0], longest

    def test_it_is_released_while_a_program_runs(self):
        text = "sdfg long(X: f64, Y: f64) { Y = X\n for k in 0:%d { Y = sin(Y) } }"
        for backend, steps in (("cpu", 40_000_000), ("interpreter", 1_600_000)):
            with self.subTest(backend):
                f = headrace.Sdfg.parse(text % steps).compile(backend=backend)
                took, pause = self.longest_pause(lambda: f(1.0))
                self.assertGreater(took, 0.1)
                self.assertLess(pause, 0.5 * took)

    def test_it_is_released_while_the_host_compiler_works(self):
        sdfg = headrace.Sdfg.parse(REVERSED.format(3))
        took, pause = self.longest_pause(sdfg.compile)
        self.assertGreater(took, 0.1)
        self.assertLess(pause, 0.5 * took)


class Once(Case):
    def test_threads_with_equal_programs(self):
        reports = in_threads(4, lambda k: headrace.Sdfg.parse(REVERSED.format(5)).compile().report())
        self.assertEqual(sorted(r["cache hit"] for r in reports), [0, 1, 1, 1])

    def test_processes_with_equal_programs(self):
        program = textwrap.dedent(f"""
            import sys; sys.path.insert(0, {os.path.dirname(os.path.dirname(headrace.__file__))!r})
            import headrace
            print(headrace.Sdfg.parse({REVERSED.format(7)!r}).compile().report()["cache hit"])
        """)
        with tempfile.TemporaryDirectory() as empty:
            environment = {**os.environ, "HEADRACE_CACHE_DIR": empty}
            running = [subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True)
                       for _ in range(2)]
            self.assertEqual(sorted(float(p.communicate()[0]) for p in running), [0, 1])


N = headrace.symbol("N")


@headrace.program
def product(x: headrace.float64[N], y: headrace.float64[N]):
    return np.sum(np.sin(x) * y)


class Flat(Case):
    def test_programs_are_sent_as_functions_are(self):
        x = np.arange(3.0)
        gradient = headrace.grad(product, "y")
        for made in (pickle.loads(pickle.dumps(product)), copy.copy(product), copy.deepcopy([product])[0]):
            self.assertIs(made, product)
        for made in (pickle.loads(pickle.dumps(gradient)), copy.deepcopy(gradient)):
            self.close(made(x, x), np.sin(x))
        self.close(pickle.loads(pickle.dumps(headrace.program(doubled, backend="interpreter")))(x), 2 * x)

    def test_eight_threads_take_gradients_of_one_function(self):
        gradient = headrace.value_and_grad(product, ("x", "y"))

        def work(k):
            for n in range(1, 60):
                x, y = np.linspace(k, k + 1, n), np.arange(float(n))
                value, (dx, dy) = gradient(x, y)
                self.close(value, np.sum(np.sin(x) * y), rtol=1e-12)
                self.close(dx, np.cos(x) * y, rtol=1e-12)
                self.close(dy, np.sin(x), rtol=1e-12)

        in_threads(8, work)

    def test_programs_that_come_and_go(self):
        x = np.ones(10, np.float32)
        before = 0
        for k in range(200):
            if k == 80:
                before = memory()
            self.assertEqual(headrace.Sdfg.parse(REVERSED.format(9)).compile()(x)[0], 9)
        self.assertLess(memory() - before, 2000)

    def test_a_function_and_its_gradient_with_changing_sizes(self):
        gradient = headrace.grad(product, "y")
        x = np.linspace(0, 1, 1000)

        sums = np.cumsum(np.sin(x) * x)

        def call(m):
            self.assertAlmostEqual(product(x[:m], x[:m]), sums[m - 1], places=9)

        for m in range(1, 1000):
            call(m)
            gradient(x[:m], x[:m])
        before = memory()
        for n in range(10_000):
            call(n * 7 % 997 + 1)
            if n % 5 == 0:
                m = n * 3 % 997 + 1
                self.assertEqual(gradient(x[:m], x[:m]).shape, (m,))
        self.assertLess(memory() - before, 3000)


if __name__ == "__main__":
    unittest.main()
