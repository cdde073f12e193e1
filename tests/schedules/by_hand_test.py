"""A person's schedules: a matrix product and a stencil, from loops to near the strategy's speed by steps and by text.

usage: by_hand_test.py DRIVER
"""

import json
import sys
import unittest

import numpy as np

from tests.driver.command import CommandTest

SHARE = 0.7  # of the strategy's speed
ROUNDS = 7
# A tile whose sums fill this processor's registers, and sizes that are multiples of it.
with open("/proc/cpuinfo", encoding="ascii", errors="replace") as f:
    LONG_VECTORS = "avx512f" in f.read()
ROWS, COLUMNS = (8, 32) if LONG_VECTORS else (6, 16)
SIZES = ((512, 512, 512), (256, 384, 640)) if LONG_VECTORS else ((480, 512, 544), (240, 384, 640))

PRODUCT = """sdfg f(A: f32[{m}, {k}], B: f32[{k}, {n}], C: f32[{m}, {n}]) {{
  state {{
    map i in 0:{m}, j in 0:{n} {{ C[i, j] = 0 }}
    map i in 0:{m}, j in 0:{n}, k in 0:{k} {{ C[i, j] += A[i, k] * B[k, j] }}
  }}
}}
"""
PRODUCT_STEPS = [f"split-range@k1:#0{{index=i0, by={ROWS}}}",
                 f"split-range@k1:#0{{index=i1, by={COLUMNS}}}",
                 "reorder-ranges@k1:#0{order=i0_0 | i1_0 | i2 | i0 | i1}",
                 "schedule-range@k1:#0{index=i0_0, as=parallel}",
                 "schedule-range@k1:#0{index=i1_0, as=sequential}",
                 "schedule-range@k1:#0{index=i2, as=sequential}",
                 "schedule-range@k1:#0{index=i0, as=unroll}",
                 "schedule-range@k1:#0{index=i1, as=vector}",
                 "keep-near@k1:#0{container=p0, index=i2}",
                 "fuse-multiply-add@k1:#0{index=i2}"]
PRODUCT_TEXT = """sdfg f(A: f32[{m}, {k}], B: f32[{k}, {n}], C: f32[{m}, {n}]) {{
  call product(a = A, b = B, c = C)
}}
kernel product(a: f32[{m}, {k}], b: f32[{k}, {n}], c: f32[{m}, {n}]) for cpu {{
  map i in 0:{m}:{rows} @parallel {{
    for j in 0:{n}:{columns} {{
      local t: f32[{rows}, {columns}]
      map r in 0:{rows} @unroll {{ map u in 0:{columns} @vector {{ t[r, u] = 0 }} }}
      for k in 0:{k} {{
        map r in 0:{rows} @unroll {{ map u in 0:{columns} @vector {{ t[r, u] = fma(a[i + r, k], b[k, j + u], t[r, u]) }} }}
      }}
      map r in 0:{rows} @unroll {{ map u in 0:{columns} @vector {{ c[i + r, j + u] = t[r, u] }} }}
    }}
  }}
}}
"""
STENCIL = """sdfg f(X: f64[{n}, {m}], inout Y: f64[{n}, {m}]) {{
  state {{
    map i in 1:{n} - 1, j in 1:{m} - 1 {{ Y[i, j] = 0.2 * (X[i, j] + X[i - 1, j] + X[i + 1, j] + X[i, j - 1] + X[i, j + 1]) }}
  }}
}}
"""
STENCIL_STEPS = ["split-range@k0:#0{index=i0, by=32}",
                 "reorder-ranges@k0:#0{order=i0_0 | i0 | i1}",
                 "schedule-range@k0:#0{index=i0_0, as=parallel}",
                 "schedule-range@k0:#0{index=i0, as=sequential}",
                 "schedule-range@k0:#0{index=i1, as=vector}"]
STENCIL_TEXT = """sdfg f(X: f64[{n}, {m}], inout Y: f64[{n}, {m}]) {{
  call stencil(x = X, y = Y)
}}
kernel stencil(x: f64[{n}, {m}], inout y: f64[{n}, {m}]) for cpu {{
  map i0 in 1:{n} - 1:32 @parallel {{
    for i in i0:+32 {{
      map j in 1:{m} - 1 @vector {{ y[i, j] = 0.2 * (x[i, j] + x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1]) }}
    }}
  }}
}}
"""


class ByHand(CommandTest):
    def output(self, program, inputs, output):
        given = [word for name in inputs for word in ("--input", f"{name}=@{name}.npy")]
        self.run_headrace("run", program, *given, "--output", f"{output}=@out.npy")
        return self.load("out.npy")

    def compare(self, loops, steps, text, inputs, output):
        """The same values, and SHARE of the strategy's speed, by steps and by text, on one thread and in turns."""
        arguments = [word for step in steps for word in ("--apply", step)]
        programs = {"strategy": self.write("loops.sdfg", loops), "text": self.write("text.sdfg", text), "steps": "steps.sdfg"}
        self.run_headrace("opt", "loops.sdfg", "--pipeline", "expand-library-nodes; simplify; fuse; outline", *arguments, "-o", "steps.sdfg")
        for name, value in inputs.items():
            self.save(name + ".npy", value)
        values = {name: self.output(program, inputs, output) for name, program in programs.items()}
        for name in ("steps", "text"):
            np.testing.assert_allclose(values[name], values["strategy"], rtol=1e-4, atol=1e-4)
        seconds = {name: [] for name in programs}
        for _ in range(ROUNDS):
            for name, program in programs.items():
                report = json.loads(self.run_headrace("bench", program, "--threads", "1", "--seconds", "0.3", "--json").stdout)
                seconds[name].append(report["min_seconds"])
        best = {name: min(times) for name, times in seconds.items()}
        for name in ("steps", "text"):
            share = best["strategy"] / best[name]
            print(f"{name}: {share:.2f} of the strategy's speed", flush=True)
            self.assertGreaterEqual(share, SHARE)

    def test_matrix_product(self):
        r = np.random.default_rng(0)
        for m, k, n in SIZES:
            a, b = r.standard_normal((m, k)).astype(np.float32), r.standard_normal((k, n)).astype(np.float32)
            with self.subTest(m=m, k=k, n=n):
                self.compare(PRODUCT.format(m=m, k=k, n=n), PRODUCT_STEPS, PRODUCT_TEXT.format(m=m, k=k, n=n, rows=ROWS, columns=COLUMNS), {"A": a, "B": b}, "C")

    def test_stencil(self):
        r = np.random.default_rng(1)
        for n, m in ((1000, 1000), (300, 5000)):
            x = r.standard_normal((n, m))
            with self.subTest(n=n, m=m):
                self.compare(STENCIL.format(n=n, m=m), STENCIL_STEPS, STENCIL_TEXT.format(n=n, m=m), {"X": x, "Y": np.zeros((n, m))}, "Y")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
