"""Plans of `headrace tune` for programs as objects."""

import os
import tempfile
import unittest
import warnings

from python.tests.case import Case, headrace, np

PROGRAM = headrace.Sdfg.parse("sdfg f(X: f32[40], Y: f32[40]) { Y[i] = X[i] * 2 }")


class PlansTest(Case):
    def test_text_and_file(self):
        x = np.arange(40, dtype=np.float32)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "plan.txt")
            with open(path, "w", encoding="utf-8") as f:
                f.write("# by hand\nwithout fuse-maps\nthreads 1\n")
            for plan in (path, "without fuse-maps", "# nothing\n", None):
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    np.testing.assert_array_equal(PROGRAM.compile(plan=plan)(x), 2 * x)

    def test_what_has_no_effect_is_a_warning(self):
        with self.assertWarnsRegex(UserWarning, "0123456789abcdef is not in this program"):
            PROGRAM.compile(plan="kernel 0123456789abcdef: tile-rows 8")

    def test_wrong_plans(self):
        for plan, words in (("kernel 0123456789abcdef: tile-row 8", "did you mean 'tile-rows'"), ("without fuse-map", "did you mean 'fuse-maps'"),
                            ("threads none", "no number of threads"), ("absent.txt", "not 'absent.txt': No such file")):
            with self.subTest(plan), self.assertRaisesRegex(headrace.UsageError, words):
                PROGRAM.compile(plan=plan)


if __name__ == "__main__":
    unittest.main()
