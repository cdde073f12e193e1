#!python
"""The command `headrace`, which lies in the package; nothing of the package is imported."""
import importlib.util
import os
import sys

spec = importlib.util.find_spec("headrace")
if spec is None or not spec.origin:
    sys.exit("headrace: the package is not installed for " + sys.executable)
program = os.path.join(os.path.dirname(spec.origin), "headrace")
os.execv(program, [program, *sys.argv[1:]])
