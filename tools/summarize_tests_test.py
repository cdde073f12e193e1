import os
import subprocess
import sys
import tempfile
import unittest

from tools import run_unittest, summarize_tests


class SummarizeTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.reports = 0

    def result(self, label, status, report=None, attempt=1, shard=0):
        outputs = []
        if report is not None:
            self.reports += 1
            path = os.path.join(self.folder, f"report {self.reports}.xml")
            with open(path, "w") as f:
                f.write(report)
            outputs = [{"name": "test.xml", "uri": "file://" + path.replace(" ", "%20")}]
        return {
            "id": {"testResult": {"label": label, "run": 1, "shard": shard, "attempt": attempt}},
            "testResult": {"status": status, "testActionOutput": outputs},
        }

    def test_counts_cases_of_googletest(self):
        report = """<testsuites><testsuite>
            <testcase name="Adds" status="run" result="completed" classname="Expr" />
            <testcase name="Folds" status="run" result="completed" classname="Expr">
              <failure message="1 != 2" /></testcase>
            <testcase name="Gpu" status="run" result="skipped" classname="Expr">
              <skipped /></testcase>
            <testcase name="DISABLED_Old" status="notrun" result="suppressed" classname="Expr" />
            </testsuite></testsuites>"""
        summary = summarize_tests.summarize([self.result("//ir:expr_test", "FAILED", report)])
        self.assertEqual(summary.passed, 1)
        self.assertEqual(summary.skipped, 1)
        self.assertEqual(summary.failed, ["//ir:expr_test: Expr.Folds"])

    def test_a_test_without_report_is_one_case(self):
        summary = summarize_tests.summarize([
            self.result("//a:good", "PASSED"),
            self.result("//a:late", "TIMEOUT"),
            self.result("//a:torn", "FAILED", "<testsuite><testca"),
        ])
        self.assertEqual(summary.passed, 1)
        self.assertEqual(summary.failed, ["//a:late: TIMEOUT", "//a:torn: FAILED"])

    def test_failure_after_the_cases_passed_is_kept(self):
        summary = summarize_tests.summarize([
            self.result("//a:leaks", "FAILED", "<testsuite><testcase name='x'/></testsuite>"),
        ])
        self.assertEqual(summary.passed, 1)
        self.assertEqual(summary.failed, ["//a:leaks: FAILED"])

    def test_last_attempt_counts_and_shards_add_up(self):
        one = "<testsuite><testcase name='x'/></testsuite>"
        summary = summarize_tests.summarize([
            self.result("//a:t", "FAILED", attempt=1, shard=1),
            self.result("//a:t", "PASSED", one, attempt=2, shard=1),
            self.result("//a:t", "PASSED", one, shard=2),
            self.result("//a:t", "PASSED", "<testsuite></testsuite>", shard=3),
        ])
        self.assertEqual(summary.passed, 2)
        self.assertEqual(summary.failed, [])

    def test_what_did_not_build_has_failed(self):
        summary = summarize_tests.summarize([
            {"id": {"targetConfigured": {"label": "//a:t"}}, "configured": {"testSize": "SMALL"}},
            {"id": {"targetCompleted": {"label": "//a:t"}}, "completed": {}},
            {"id": {"targetCompleted": {"label": "//a:lib"}},
             "aborted": {"reason": "ANALYSIS_FAILURE"}},
        ])
        self.assertEqual(summary.failed, ["//a:lib: did not build", "//a:t: did not build"])

    def test_last_line_and_exit_code(self):
        def run(text, *arguments):
            path = os.path.join(self.folder, "events")
            with open(path, "w") as f:
                f.write(text)
            done = subprocess.run(
                [sys.executable, summarize_tests.__file__, path, *arguments],
                stdout=subprocess.PIPE, text=True)
            return done.returncode, done.stdout.splitlines()[-1]

        self.assertEqual(run('{"id": {}}\n{"torn', "0"), (0, "0 passed, 0 failed"))
        self.assertEqual(run("", "37"), (1, "0 passed, 1 failed"))
        self.assertEqual(run("", "0", "./bazelw run //a", "0"), (0, "1 passed, 0 failed"))
        self.assertEqual(run("", "0", "./bazelw run //a", "1"), (1, "0 passed, 1 failed"))


class RunUnittestTest(unittest.TestCase):
    """The runner's reports, read by the summary."""

    CASES = """
import sys, unittest
class T(unittest.TestCase):
    def test_good(self): self.assertEqual(sys.argv[1:], ["an argument"])
    def test_bad(self): self.fail("control \\x01 character")
    def test_raises(self): raise KeyError("k")
    @unittest.skip("not here")
    def test_skipped(self): pass
    def test_parts(self):
        for i in range(3):
            with self.subTest(i=i): self.assertNotEqual(i, 1)
"""

    def run_cases(self, **environ):
        with tempfile.TemporaryDirectory() as folder:
            path, report = os.path.join(folder, "cases.py"), os.path.join(folder, "report.xml")
            with open(path, "w") as f:
                f.write(self.CASES)
            inherited = {k: v for k, v in os.environ.items() if not k.startswith("TEST")}
            code = subprocess.run(
                [sys.executable, run_unittest.__file__, path, "an argument"],
                stderr=subprocess.DEVNULL,
                env={**inherited, **environ, "XML_OUTPUT_FILE": report,
                     "TEST_SHARD_STATUS_FILE": os.path.join(folder, "status")}).returncode
            return code, summarize_tests.read_report(report)

    def test_reports_each_case(self):
        code, (passed, skipped, failed) = self.run_cases()
        self.assertEqual((code, passed, skipped), (1, 1, 1))
        self.assertEqual(failed, ["cases.T.test_bad", "cases.T.test_parts", "cases.T.test_raises"])

    def test_filter(self):
        self.assertEqual(self.run_cases(TESTBRIDGE_TEST_ONLY="good"), (0, (1, 0, [])))

    def test_shards_cover_every_case_once(self):
        total = 0
        for shard in range(3):
            _, (passed, skipped, failed) = self.run_cases(
                TEST_TOTAL_SHARDS="3", TEST_SHARD_INDEX=str(shard))
            total += passed + skipped + len(failed)
        self.assertEqual(total, 5)
