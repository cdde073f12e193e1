"""docs/command.md has every verb and option of --help, and no other. usage: help_test.py DRIVER DOCUMENT"""

import re
import sys
import unittest

from tests.driver.command import CommandTest

DOCUMENT = sys.argv[2]


def options(text):
    return set(re.findall(r"--[a-z][a-z-]+", text))


def sections(text):
    """Title → the first column of its tables."""
    parts = re.split(r"^## (.+)$", text, flags=re.M)[1:]
    return {title: "\n".join(re.findall(r"^\| (.*?) \|", body, re.M)) for title, body in zip(parts[::2], parts[1::2])}


class HelpTest(CommandTest):
    def setUp(self):
        super().setUp()
        with open(DOCUMENT, encoding="utf-8") as f:
            self.sections = sections(f.read())

    def help(self, *verb):
        return self.run_headrace(*verb, "--help").stdout

    def of_verb(self, verb):
        """Declared, not mentioned in a description."""
        return set(re.findall(r"^  (?:-\w,)?(--[a-z][a-z-]+)", self.help(verb), re.M)) - {"--help"}

    def test_every_verb_and_option(self):
        general = self.help()
        verbs = re.findall(r"^  (\w+)  ", general.split("Subcommands:")[1], re.M)
        self.assertEqual(sorted(verbs), sorted(t.split()[1] for t in self.sections if t.startswith("headrace ")))
        declared = set(re.findall(r"^  (?:-\w,)?(--[a-z][a-z-]+)", general.split("Subcommands:")[0], re.M))
        self.assertEqual(declared, options(self.sections["General options"]))
        model = options(self.sections["Options of a model"])
        for verb in verbs:
            with self.subTest(verb=verb):
                found, documented = self.of_verb(verb), options(self.sections["headrace " + verb])
                if "--backend" in found:
                    self.assertLessEqual(model, found)
                    found -= model
                self.assertEqual(found, documented)

    def test_exit_codes(self):
        self.assertEqual(re.findall(r"\d+", self.sections["Exit codes"]), ["0", "1", "2", "3", "4", "130"])
        self.write("d.sdfg", "sdfg f(X: f32[N], Y: f32[N]) { Y[i] = X[i] }")
        self.write("x.onnx", b"")
        for code, args in ((0, ["check", "d.sdfg", "--backend", "interpreter"]), (1, ["check", "x.onnx"]), (2, ["chekc"]),
                           (3, ["check", "d.sdfg", "--backend", "cuda"])):  # fmt: skip
            self.run_headrace(*args, code=code)  # 4: verify_test; 130: driver_test


if __name__ == "__main__":
    unittest.main()
