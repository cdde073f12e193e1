"""What the numbers of a device file are for: another value makes another schedule, and other C++.

usage: device_numbers_test.py DRIVER DEVICE_FILE
"""

import re
import sys
import unittest

from tests.driver.command import CommandTest

with open(sys.argv[2], encoding="utf-8") as f:
    DEVICE = f.read()

ELEMENTWISE = "(X: f32[1000000], Y: f32[1000000]) { Y[i] = X[i] * 2 }"
LARGE = "(X: f32[6000000], Y: f32[6000000]) { Y[i] = X[i] * 2 }"
ROWS = "(X: f32[500, {0}], Y: f32[500]) {{ Y[i] = 0; Y[i] += X[i, j] }}"
COLUMNS = "(X: f32[300, 1000], Y: f32[1000]) { Y[j] = 0; Y[j] += X[i, j] }"
FEW_COLUMNS = "(X: f32[300000, 64], Y: f32[64]) { Y[j] = 0; Y[j] += X[i, j] }"
SCALED_ROWS = "(X: f32[N, 99], inout g: f32[99]) { transient m: f32 @register; map i in 0:N { m = 0; map j in 0:99 { m max= X[i, j] } map j in 0:99 { g[j] += m * X[i, j] } } }"
CENTRED_ROWS = "(X: f32[500, 128], Y: f32[500, 128]) { transient m: f32 @register; map i in 0:500 { m = 0; map j in 0:128 { m += X[i, j] } map j in 0:128 { Y[i, j] = X[i, j] - m } } }"
TIME_LOOP = "(R: f64[100000], inout X: f64[100000]) { call k(r = R, x = X) }\nkernel k(r: f64[100000], inout x: f64[100000]) { for t in 0:100 { map i in 0:100000 { x[i] = r[i] * x[i] } } }"
TRANSPOSED = "(X: f32[1000, 1000], Y: f32[1000, 1000]) { Y[i, j] = 2 * X[j, i] }"
TRANSPOSED_SYMBOLIC = "(X: f32[N, M], Y: f32[M, N]) { Y[i, j] = X[j, i] }"
PRODUCT = "(A: f32[1000, 900], B: f32[900, 1100], C: f32[1000, 1100]) { C[i, j] = 0; C[i, j] += A[i, k] * B[k, j] }"
TURNED = "(A: f32[4000, 900], B: f32[1100, 900], C: f32[4000, 1100]) { C[i, j] = 0; C[i, j] += A[i, k] * B[j, k] }"
FEW_ROWS = "(A: f32[100, 900], B: f32[1100, 900], C: f32[100, 1100]) { C[i, j] = 0; C[i, j] += A[i, k] * B[j, k] }"
PACKED = "(A: f32[900, 1000], B: f32[900, 2100], C: f32[1000, 2100]) { C[i, j] = 0; C[i, j] += A[k, i] * B[k, j] }"

# The number, its other value, and a program that it decides about.
EXAMPLES = [
    ("chunk-operations", 262144, ELEMENTWISE),
    ("row-elements", 7000, ELEMENTWISE),
    ("sum-elements", 64, COLUMNS),
    ("short-sum", 64, ROWS.format(40)),
    ("short-partial-bytes", 64, ROWS.format(40)),
    ("middle-sum", 500, ROWS.format(100)),
    ("partial-bytes", 128, ROWS.format(100)),
    ("long-sum", 5000, ROWS.format(1000)),
    ("long-partial-bytes", 64, ROWS.format(1000)),
    ("most-parts", 5, FEW_COLUMNS),
    ("part-iterations", 500, SCALED_ROWS),
    ("rows-together", 256, CENTRED_ROWS),
    ("loop-block-bytes", 65536, TIME_LOOP),
    ("transpose-elements", 32, TRANSPOSED_SYMBOLIC),
    ("square-elements", 64, TRANSPOSED),
    ("vector-bytes", 32, PRODUCT),
    ("tile-rows", 6, PRODUCT),
    ("tile-vectors", 1, PRODUCT),
    ("block-rows", 48, PRODUCT),
    ("block-rows-turned", 96, TURNED),
    ("block-columns", 96, PRODUCT),
    ("block-depth", 100, PRODUCT),
    ("block-columns-packed", 96, PACKED),
    ("block-depth-packed", 100, PACKED),
    ("packed-rows", 1, PACKED),
    ("register-square", 1, TURNED),
    ("prefetch-elements", 1000000, FEW_ROWS),
    ("stream-moved", 100000000, LARGE),
    ("stream-bytes", 100000000, LARGE),
    ("stream-line", 1024, LARGE),
]


def changed(number, value):
    """The device's text with this value for that number."""
    text, count = re.subn(rf"(?m)^{number} +\d+", f"{number} {value}", DEVICE)
    assert count == 1, number
    return text


def code(cpp):
    """Without comments: they hold the schedule."""
    return re.sub(r"(?m)^\s*//.*\n", "", cpp)


class DeviceNumbers(CommandTest):
    def scheduled(self, device):
        """The schedule and the C++ of loops.sdfg, for the device of this text."""
        self.write("cpu.txt", device)
        pipeline = "loops; outline; choose-schedule{device=cpu.txt}"
        self.run_headrace("opt", "loops.sdfg", "--pipeline", pipeline, "-o", "scheduled.sdfg")
        with open(self.path("scheduled.sdfg"), encoding="utf-8") as f:
            text = f.read()
        return text, code(self.run_headrace("compile", "scheduled.sdfg", "--emit", "cpp").stdout)

    def test_other_numbers_make_other_schedules(self):
        before = {}
        for number, value, program in EXAMPLES:
            with self.subTest(number=number):
                self.write("loops.sdfg", "sdfg f" + program)
                if program not in before:
                    before[program] = self.scheduled(DEVICE)
                text, cpp = before[program]
                self.assertIn(" for cpu", text)
                other_text, other_cpp = self.scheduled(changed(number, value))
                self.assertNotEqual(text, other_text, "the schedule is the same")
                self.assertNotEqual(cpp, other_cpp, "the C++ is the same")

    def test_the_same_number_makes_the_same(self):
        """What the test above calls another schedule is no accident of a second run."""
        self.write("loops.sdfg", "sdfg f" + PRODUCT)
        tile_rows = re.search(r"(?m)^tile-rows +(\d+)", DEVICE).group(1)
        self.assertEqual(self.scheduled(DEVICE), self.scheduled(changed("tile-rows", tile_rows)))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
