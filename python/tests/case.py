"""The base of this room's tests: the built package, imported as users do."""

import os
import sys
import tempfile
import unittest
import zipfile


def package():
    """The folder that the package is imported from: the built one, or on another Python (python/pythons) what a wheel has in it."""
    if wheel := os.environ.get("HEADRACE_TEST_WHEEL"):
        folder = tempfile.mkdtemp(dir=os.environ["TEST_TMPDIR"])
        with zipfile.ZipFile(wheel) as files:
            files.extractall(folder)
        return folder
    return os.path.join(os.getcwd(), "python", "package")


sys.path.insert(0, package())
os.environ.setdefault("HEADRACE_CACHE_DIR", os.path.join(os.environ.get("TEST_TMPDIR", tempfile.gettempdir()), "cache"))

import numpy as np  # noqa: E402

import headrace  # noqa: E402


class Case(unittest.TestCase):
    def close(self, got, expected, rtol=1e-6, atol=1e-9):
        got, expected = np.asarray(got), np.asarray(expected)
        self.assertEqual((got.dtype, got.shape), (expected.dtype, expected.shape))
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=atol)

    def same(self, function, *args, rtol=1e-12, **options):
        """Runs the function twice, by NumPy and compiled, with equal arguments: results and changed arrays must agree."""
        program = headrace.program(function, **options)
        ours = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        theirs = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        got, expected = program(*ours), function(*theirs)
        pairs = list(zip(ours, theirs))
        if isinstance(expected, tuple):
            self.assertEqual(len(got), len(expected))
            pairs += list(zip(got, expected))
        elif expected is not None:
            pairs.append((got, expected))
        else:
            self.assertIsNone(got)
        for a, b in pairs:
            if isinstance(b, (np.ndarray, np.generic, float, int)) and not callable(b):
                self.close(a, b, rtol=rtol)

    def fails(self, kind, *parts):
        """Expects an exception of this type whose text has all the parts."""
        test = self

        class Expect:
            def __enter__(self):
                self.inner = test.assertRaises(kind)
                self.error = self.inner.__enter__()
                return self

            def __exit__(self, *info):
                done = self.inner.__exit__(*info)
                if not done:
                    return done  # another exception is on its way: it is what the test shows
                for part in parts:
                    test.assertIn(part, str(self.error.exception))
                return done

        return Expect()


class Wrong:
    """An executable whose results are wrong in one place."""

    def __init__(self, executable, output, place):
        self._executable, self._output, self._place = executable, output, place

    def __getattr__(self, name):
        return getattr(self._executable, name)

    def __call__(self, *args, out=None, sizes=None):
        results = self._executable(*args, out=out, sizes=sizes)
        results[self._output][self._place] += 1
        return results

    def run(self, arguments, sizes):
        results = self._executable.run(arguments, sizes)
        results[self._output][self._place] += 1
        return results


__all__ = ["Case", "Wrong", "headrace", "np"]
