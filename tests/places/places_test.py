"""Each kind that is added for tests touches at most five files, and its patch still fits: usage places_test.py PATCH..."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

MOST = 5


class Places(unittest.TestCase):
    def check(self, patch):
        with open(patch, encoding="utf-8") as f:
            touched = re.findall(r"^\+\+\+ b/(.*)$", f.read(), re.MULTILINE)
        self.assertTrue(touched)
        self.assertLessEqual(len(touched), MOST, touched)
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
            for path in touched:
                os.makedirs(os.path.join(folder, os.path.dirname(path)), exist_ok=True)
                shutil.copyfile(path, os.path.join(folder, path))
            done = subprocess.run(["git", "apply", os.path.abspath(patch)], cwd=folder, capture_output=True, text=True,
                                  env={**os.environ, "GIT_CEILING_DIRECTORIES": os.path.dirname(folder)})
            self.assertEqual(done.returncode, 0, done.stderr)
            for path in touched:
                with open(path, encoding="utf-8") as before, open(os.path.join(folder, path), encoding="utf-8") as after:
                    self.assertNotEqual(before.read(), after.read())


for _patch in sys.argv[1:]:
    setattr(Places, "test_" + os.path.basename(_patch).split(".")[0], lambda self, patch=_patch: self.check(patch))
