"""What compiling took is given back to the system."""

import ctypes
import os
import unittest

from python.tests.case import Case, headrace

STATEMENTS = 200  # none like another


def many_statements() -> str:
    containers = "\n".join(f"transient T{k}: f32[{63 + k}]" for k in range(1, STATEMENTS + 1))
    maps = "\n".join(f"map i in 0:{64 + k} {{ T{k + 1}[i] = T{k}[i % {63 + max(k, 1)}] * 0.5 + sin(T{k}[{k}]) }}" for k in range(STATEMENTS))
    return f"sdfg f(T0: f32[64], Y: f32[1]) {{\n{containers}\nstate {{\n{maps}\nY[0] = T{STATEMENTS}[0]\n}} }}"


def resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@unittest.skipUnless(hasattr(ctypes.CDLL(None), "malloc_trim"), "another allocator")
class Memory(Case):
    def test_compiling_leaves_nothing_to_give_back(self):
        compiled = headrace.Sdfg.parse(many_statements()).compile()
        before = resident()
        ctypes.CDLL(None).malloc_trim(0)
        self.assertLess(before - resident(), 1 << 20)
        del compiled


if __name__ == "__main__":
    unittest.main()
