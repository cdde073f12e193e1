"""The cpu backend's printers decide nothing by numbers and queries of their own: usage printer_literals_test.py SOURCE...

Decisions belong onto the graph or into a device description (docs/schedules.md); how text is cut for who reads it, into
backends/cpu/code_style.h. What C++ and its types ask for is named here: a number beside 0 and 1, or a query, that is
not fails; so does one that is named and gone.
"""

import collections
import os
import re
import sys
import unittest

PRINTERS = re.compile(r"(codegen_\w+|kernel|kernel_printer|kernel_statements|loops|plain_loops|access|arena_code|views)\.cc$")
QUERIES = r"ProveLe|ProveEq|Overlaps|Covers|IsInjective|WithinBounds|CostOf|BoundsOf"

# What C++, its types, or the shape of a tree ask for: nobody could choose another.
FACTS = {
    "arena_code.cc: 60": 1,  # sums of sizes that can't overflow
    "codegen_expr.cc: 2": 5,  # parentheses; alternatives and dimensions of a read among arguments
    "codegen_expr.cc: 4": 4, "codegen_expr.cc: 8": 7,  # bytes; and the length of hr_apart
    "codegen_expr.cc: 20": 1,  # where counts of a tree stop
    "codegen_kernel.cc: 2": 1,  # the length of a placeholder
    "codegen_program.cc: 16": 1,  # bytes
    "kernel_statements.cc: 2": 2,  # halves
    "kernel_statements.cc: UINT16_MAX": 1,  # what compilers unroll
    "loops.cc: 8": 1, "loops.cc: 20": 1,  # bytes; what can't come near 2^63
    "codegen_call.cc: ProveLe": 2, "codegen_call.cc: ProveEq": 1, "views.cc: ProveLe": 1,  # whether a run has to ask
    "codegen_expr.cc: BoundsOf": 2,  # whether a division may be by 0
}


def code(text):
    """Without comments, strings and characters."""
    return re.sub(r"""//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'|^\s*#[^\n]*""", " ", text, flags=re.M)


def found(name, text):
    """How often each number and query stands there."""
    pattern = rf"(?<![\w.])(?:\d[\w.]*|U?INT\d+_M(?:AX|IN)|(?:{QUERIES})(?=\())"
    return collections.Counter(f"{name}: {x}" for x in re.findall(pattern, code(text)) if x not in ("0", "1"))


class PrinterLiterals(unittest.TestCase):
    def test_no_other_numbers_and_queries(self):
        got = collections.Counter()
        for path in sys.argv[1:]:
            if PRINTERS.fullmatch(os.path.basename(path)):
                with open(path, encoding="utf-8") as f:
                    got += found(os.path.basename(path), f.read())
        self.assertEqual(got, collections.Counter(FACTS))

    def test_comments_and_texts_are_none(self):
        text = 'int a = b2 + 0; // 300\nw.Line("for 64");\nif (c == \'7\') f(1);\n#pragma once 9\n'
        self.assertEqual(found("a.cc", text), {})
        self.assertEqual(found("a.cc", "if (x > 4096 || CostOf(s)) y = 2 * 2;"), {"a.cc: 4096": 1, "a.cc: CostOf": 1, "a.cc: 2": 2})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
