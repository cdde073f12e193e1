"""The base of this room's tests: the built package, imported as users do."""

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.getcwd(), "python", "package"))
os.environ.setdefault("HEADRACE_CACHE_DIR", os.path.join(os.environ.get("TEST_TMPDIR", tempfile.gettempdir()), "cache"))

import numpy as np  # noqa: E402

import headrace  # noqa: E402


class Case(unittest.TestCase):
    def close(self, got, expected, rtol=1e-6, atol=1e-9):
        got, expected = np.asarray(got), np.asarray(expected)
        self.assertEqual((got.dtype, got.shape), (expected.dtype, expected.shape))
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=atol)

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
                for part in parts:
                    test.assertIn(part, str(self.error.exception))
                return done

        return Expect()


__all__ = ["Case", "headrace", "np"]
