"""docs/environment.md lists the variables that the sources read, and no other. usage: environment_test.py PAGE FILE..."""

import re
import sys
import unittest

PAGE = sys.argv[1]
FILES = [f for a in sys.argv[2:] for f in a.split()]
READ = re.compile(r'\b(?:getenv|envname)\("([A-Z_]+)"\)')
READ_IN_TURN = re.compile(r'for \(const char\* name : \{([^}]*)\}\)(?:[^;]{0,80}getenv\(name\))', re.S)


def listed(heading):
    with open(PAGE, encoding="utf-8") as f:
        section = f.read().split(heading, 1)[1].split("\n## ", 1)[0]
    return {name for line in section.splitlines() if line.startswith("| `")
            for name in re.findall(r"`([A-Z_]+)`", line.split(" | ")[0])}


class EnvironmentTest(unittest.TestCase):
    def test_the_page_lists_what_is_read(self):
        names = set()
        for path in FILES:
            if "_test." in path or "testing" in path:
                continue
            with open(path, encoding="utf-8") as f:
                text = f.read()
            names |= set(READ.findall(text))
            for turn in READ_IN_TURN.findall(text):
                names |= set(re.findall(r'"([A-Z_]+)"', turn))
        self.assertIn("HEADRACE_NUM_THREADS", names)
        self.assertEqual(sorted(names), sorted(listed("## Running")))
