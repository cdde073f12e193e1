"""Counts the test cases of a `bazel test`: summarize_tests.py EVENTS EXIT_CODE [COMMAND EXIT_CODE]...

EVENTS is what --build_event_json_file wrote; each COMMAND that ran beside it is one case more. Prints the failed cases and, as the last line,
"N passed, N failed"; exits non-zero when something failed. Cases come from the JUnit reports;
a test without a usable report counts as one case, and so does a target that did not build.
"""

import json
import sys
import urllib.parse
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field


@dataclass
class Summary:
    passed: int = 0
    skipped: int = 0
    failed: list = field(default_factory=list)  # "//label: case"


def read_report(path):
    """(passed, skipped, [failed names]) of a JUnit file, or None if it is not one."""
    try:
        cases = list(ET.parse(path).iter("testcase"))
    except (OSError, ET.ParseError):
        return None
    passed, skipped, failed = 0, 0, []
    for case in cases:
        # googletest lists what the filter or another shard left out as "notrun"
        if case.get("status") == "notrun" or case.get("result") == "suppressed":
            continue
        if case.find("failure") is not None or case.find("error") is not None:
            failed.append(".".join(filter(None, [case.get("classname"), case.get("name")])))
        elif case.find("skipped") is not None or case.get("result") == "skipped":
            skipped += 1
        else:
            passed += 1
    return passed, skipped, failed


def report_path(result):
    for output in result.get("testActionOutput", []):
        if output.get("name") == "test.xml" and output.get("uri", "").startswith("file://"):
            return urllib.parse.unquote(urllib.parse.urlparse(output["uri"]).path)
    return None


def summarize(events):
    """The Summary of an iterable of build events (dictionaries)."""
    results = {}  # (label, run, shard) -> last attempt's testResult
    tests, summarized, broken = set(), set(), set()
    for event in events:
        identity = event.get("id", {})
        if "targetConfigured" in identity and "testSize" in event.get("configured", {}):
            tests.add(identity["targetConfigured"]["label"])
        elif "targetCompleted" in identity and not event.get("completed", {}).get("success"):
            # also what was aborted or could not be analysed
            broken.add(identity["targetCompleted"]["label"])
        elif "testResult" in identity and "testResult" in event:
            i = identity["testResult"]
            results[i["label"], i.get("run", 1), i.get("shard", 0)] = event["testResult"]
        elif "testSummary" in identity and "testSummary" in event:
            summarized.add(identity["testSummary"]["label"])

    summary = Summary()
    for (label, _, _), result in sorted(results.items()):
        good = result.get("status") in ("PASSED", "FLAKY")
        path = report_path(result)
        passed, skipped, failed = (path and read_report(path)) or (0, 0, [])
        if good and not (passed or skipped or failed):
            # An empty shard or filter has run nothing; without any report it is one case.
            passed = 0 if path and read_report(path) else 1
        summary.passed += passed
        summary.skipped += skipped
        summary.failed += [f"{label}: {name}" for name in failed]
        if not good and not failed:  # a crash, a time limit, a leak found at the end
            summary.failed.append(f"{label}: {result.get('status', 'no status')}")
    ran = {label for label, _, _ in results}
    summary.failed += [f"{label}: did not build" for label in sorted(broken - ran)]
    # Filtered tests are built and not run; a test with a summary but no result did not start.
    not_run = tests & summarized - ran - broken
    summary.failed += [f"{label}: did not run" for label in sorted(not_run)]
    return summary


def read_events(path):
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            try:
                yield json.loads(line)
            except ValueError:  # the last line, when Bazel was killed
                return


def main(argv):
    events, exit_code = argv[1], int(argv[2])
    try:
        summary = summarize(read_events(events))
    except OSError as error:
        summary = Summary(failed=[f"no build events: {error}"])
    if exit_code and not summary.failed:
        summary.failed.append(f"bazel: exit code {exit_code}")
    for command, code in zip(argv[3::2], argv[4::2], strict=True):
        if int(code):
            summary.failed.append(f"{command}: exit code {code}")
        else:
            summary.passed += 1
    for name in summary.failed:
        print("FAILED", name)
    if summary.skipped:
        print(summary.skipped, "skipped")
    print(f"{summary.passed} passed, {len(summary.failed)} failed")
    return 1 if summary.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
