"""The tests in the files given, as one: every_test.py FILE…"""

import importlib.util
import os
import sys
import unittest


def load_tests(loader, standard, pattern):
    suite = unittest.TestSuite()
    for path in sys.argv[1:]:
        name = os.path.splitext(os.path.basename(path))[0]
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        suite.addTests(loader.loadTestsFromModule(module))
    return suite
