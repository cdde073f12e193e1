"""Everything that users find in the package is described. usage: reference_test.py REFERENCE.MD"""

import inspect
import os
import sys
import unittest

from python.tests.case import Case, headrace  # noqa: F401: before reference, which imports the package

sys.path.insert(0, os.path.join(os.getcwd(), "python", "wheel"))

import reference  # noqa: E402

PAGE = os.path.abspath(sys.argv[1])


class ReferenceTest(Case):
    def test_everything_has_a_docstring(self):
        bare, found = [], 0
        for module in reference.MODULES:
            for name, what in reference.public(module):
                found += 1
                own = reference.members(what) if inspect.isclass(what) else ()
                bare += [f"{module.__name__}.{name}{m}" for m, inner in [("", what), *(("." + m, i) for m, i in own)] if not inspect.getdoc(inner)]
        self.assertGreater(found, 60)
        self.assertEqual(bare, [])

    def test_the_page(self):
        with open(PAGE, encoding="utf-8") as f:
            text = f.read()
        for name, _, doc, _ in reference.of_torch():
            self.assertTrue(doc, name)
        for part in ("### `headrace.ONNXModel(", "### `headrace.InferenceSession(", "### `headrace.module(target: Any=None", "#### `report(",
                     "### `headrace.autodiff.add_backward_pass(", "### `headrace.set_log(", "### `headrace.MismatchError", "### `headrace.grad(", "#### `Sdfg.simplify(", "## headrace.compat.dace", "The arguments are left as they are."):
            self.assertIn(part, text)


if __name__ == "__main__":
    unittest.main()
