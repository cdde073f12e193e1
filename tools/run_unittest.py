"""Runs the unittest cases of one file for Bazel: run_unittest.py FILE ARGS...

Honours Bazel's test protocol: sharding, --test_filter (parts of names, shell patterns) and the
JUnit report, from which tools/summarize_tests.py counts cases.
"""

import fnmatch
import importlib.util
import os
import sys
import time
import unittest
import xml.etree.ElementTree as ET


def load(path):
    """Imports the file as a module; the workspace's root is on sys.path for its own imports."""
    sys.path.insert(0, os.getcwd())
    sys.path.insert(1, os.path.dirname(os.path.abspath(path)))
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def flatten(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flatten(test)
        else:
            yield test


def select(cases, environ):
    """The cases of this shard that pass the filter, in the order of their names."""
    cases = sorted(cases, key=lambda case: case.id())
    pattern = environ.get("TESTBRIDGE_TEST_ONLY")
    if pattern:
        cases = [c for c in cases if fnmatch.fnmatchcase(c.id(), f"*{pattern}*")]
    total = int(environ.get("TEST_TOTAL_SHARDS") or 1)
    if total > 1:
        open(environ["TEST_SHARD_STATUS_FILE"], "w").close()  # tells Bazel that we do shard
        cases = cases[int(environ["TEST_SHARD_INDEX"])::total]
    return cases


class Result(unittest.TextTestResult):
    """A text result that also fills the <testsuite> element `self.report`."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.report = ET.Element("testsuite")
        self.entry = None

    def startTest(self, test):
        super().startTest(test)
        classname, _, name = test.id().rpartition(".")
        self.entry = ET.SubElement(self.report, "testcase", name=name, classname=classname)
        self.started = time.monotonic()

    def stopTest(self, test):
        self.entry.set("time", f"{time.monotonic() - self.started:.3f}")
        self.entry = None
        super().stopTest(test)

    def _note(self, kind, test, text):
        entry = self.entry
        if entry is None:  # setUpClass and the like fail outside any case
            entry = ET.SubElement(self.report, "testcase", name=str(test), classname="")
        ET.SubElement(entry, kind, message=text.strip().rpartition("\n")[2]).text = text

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._note("failure", test, self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self._note("error", test, self.errors[-1][1])

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._note("failure", subtest, f"{subtest}\n{self._exc_info_to_string(err, test)}")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self._note("failure", test, "unexpected success")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._note("skipped", test, reason)


def write_report(report, path):
    report.set("tests", str(len(report)))
    report.set("failures", str(len(report.findall("testcase/failure"))))
    report.set("errors", str(len(report.findall("testcase/error"))))
    for element in report.iter():  # XML cannot hold control characters, messages may
        for key, value in element.attrib.items():
            element.set(key, _printable(value))
        if element.text:
            element.text = _printable(element.text)
    ET.ElementTree(report).write(path, encoding="utf-8", xml_declaration=True)


def _printable(text):
    return "".join(c if c in "\t\n" or " " <= c < "\ud800" or "\ue000" <= c < "\ufffe" else "?"
                   for c in text)


def main(argv):
    path = argv[1]
    sys.argv = argv[1:]
    every = list(flatten(unittest.defaultTestLoader.loadTestsFromModule(load(path))))
    if not every:
        sys.exit(f"{path}: no unittest cases")
    suite = unittest.TestSuite(select(every, os.environ))
    result = unittest.TextTestRunner(resultclass=Result, verbosity=2).run(suite)
    if os.environ.get("XML_OUTPUT_FILE"):
        write_report(result.report, os.environ["XML_OUTPUT_FILE"])
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))
