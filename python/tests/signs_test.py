"""Numbers that are no sizes may be negative: what reads or writes outside of an array by them says so, on both backends."""

import unittest

from python.tests.case import Case, headrace, np

#: body of `sdfg f(…, inout x: i64[5], y: i64[1])` → values of k that are inside, and ones that are not
BODIES = {
    "y[0] = x[k + 1]": ([-1, 3], [-3, -2, 4]),
    "y[0] = 0\n map i in k:3 { y[0] += x[i] }": ([0, 2, 3], [-1]),
    "y[0] = 0\n for i in k:3 { y[0] += x[i] }": ([0, 2, 9], [-1]),
    "y[0] = 0\n map i in 3:k:-1 { y[0] += x[i] }": ([-1, 2, 3], [-2]),
    "y[0] = 0\n for i in 3:k:-1 { y[0] += x[i] }": ([-1, 2], [-3]),
    "y[0] = 0\n for i in 3:-3:k { y[0] += x[i] }": ([-6], [-4, -1]),
    "y[0] = 1\n x[k] = 3": ([0, 4], [-1, 5]),
    "y[0] = 1\n map i in 0:2 { x[i + k] = i }": ([0, 3], [-1, -2, 4]),
    "view V: i64[2] of x offset k\n y[0] = V[1]": ([0, 3], [-1, 4]),
    "let n = k - 1\n let m = n * 2\n y[0] = x[m + 2]": ([0, 2], [-1, 3]),
    "let n = k\n y[0] = 0\n while n > -2 { y[0] += x[n]\n let n = n - 1 }": ([-2, -5], [-1, 4]),
    "call g(x = x, y = y[0], n := k)": ([0, 4], [-1, 5]),
    "map i in 0:1 { call g(x = x, y = y[i], n := i + k) }": ([0, 4], [-1, 5]),
}
CALLEE = "\nsdfg g(x: i64[5], y: i64, n: symbol) { y = x[n] }"


class Signs(Case):
    def check(self, text, inside, outside, argument, give):
        for backend in ("interpreter", "cpu"):
            run = headrace.Sdfg.parse(text).compile(backend=backend)
            for k in inside:
                with self.subTest(text=text, k=k, backend=backend):
                    run(x=np.arange(5), **{argument: give(k)})
            for k in outside:
                with self.subTest(text=text, k=k, backend=backend), self.fails(headrace.HeadraceError, "[E065"):
                    run(x=np.arange(5), **{argument: give(k)})

    def test_parameters(self):
        for body, (inside, outside) in BODIES.items():
            text = f"sdfg f(inout x: i64[5], y: i64[1], k: symbol) {{ {body} }}"
            self.check(text + CALLEE * ("call" in body), inside, outside, "k", int)

    def test_numbers_from_data(self):
        for body, (inside, outside) in BODIES.items():
            text = f"sdfg f(inout x: i64[5], y: i64[1], K: i64) {{ let k = K\n {body} }}"
            self.check(text + CALLEE * ("call" in body), inside, outside, "K", np.array)


if __name__ == "__main__":
    unittest.main()
