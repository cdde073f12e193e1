"""Error codes: read rightly from the sources, one room each, and each quoted by a test. usage: error_codes_test.py FILE..."""

import os
import re
import sys
import tempfile
import unittest

from tools import error_codes

FILES = [f for a in sys.argv[1:] for f in a.split()]
SOURCES = [f for f in FILES if not error_codes.is_test(f)]
TESTS = [f for f in FILES if error_codes.is_test(f)]


class ReadingTest(unittest.TestCase):
    def messages(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".cc") as f:
            f.write(text)
            f.flush()
            return {code: found.messages for code, found in error_codes.codes_of([f.name]).items()}

    def test_the_message_stands_beside_the_code(self):
        self.assertEqual(self.messages('r_.Add("E0226", "container " + Quoted(n) + " is not declared", at, n.str(), Closest(s_, n));'),
                         {"E0226": ["container … is not declared"]})
        self.assertEqual(self.messages('Fail(e, "E0605", "\'" + e->name.str() + "\' is a tensor "\n   "without index", "hint");'),
                         {"E0605": ["\'…\' is a tensor without index"]})
        self.assertEqual(self.messages('return FileError("E0401", path, "no such file");'), {"E0401": ["no such file"]})

    def test_or_in_the_same_diagnostic(self):
        self.assertEqual(self.messages('d.code = "E0420", d.file = dir;\n d.message = "the folder has " + std::to_string(n) + " files";'),
                         {"E0420": ["the folder has … files"]})
        self.assertEqual(self.messages('d.code = "E0801";\n d.message =\n      "no gradient of " + full + ": " + what;'),
                         {"E0801": ["no gradient of …: …"]})


class CodesTest(unittest.TestCase):
    def setUp(self):
        self.codes = error_codes.codes_of(SOURCES)

    def test_there_are_some(self):
        self.assertGreater(len(self.codes), 90)

    def test_a_code_belongs_to_one_room(self):
        for code, found in self.codes.items():
            self.assertEqual(len(found.rooms), 1, f"{code}: {sorted(found.rooms)}")

    def test_each_is_quoted_by_a_test(self):
        """By its number, or by the longest part of its message."""
        text = "".join(open(f, encoding="utf-8").read() for f in TESTS)
        text = re.sub(r'"\s+"', "", text)
        untested = []
        for code, found in sorted(self.codes.items()):
            parts = [max(m.split("…"), key=len).strip() for m in found.messages]
            if code not in text and not any(len(p) >= 10 and p in text for p in parts):
                untested.append(f"{code} {found.messages}")
        self.assertEqual(untested, [])


if __name__ == "__main__":
    unittest.main()
