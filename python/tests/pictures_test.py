"""Programs and reports as pictures: well-formed SVG, all text escaped, everything drawn or counted, nothing on top of another."""

import re
import unittest
import xml.etree.ElementTree as ET

from python.tests.case import Case, headrace, np
from headrace.pictures import Series, line_chart, program_svg
from headrace.pictures.dataflow import Dataflow
from headrace.pictures.layered import Layout
from headrace.reports import Report, memory_over_time

MLP = """
sdfg mlp(X: f32[N, 784], W: f32[784, 10], Y: f32[N, 10]) {
  transient H: f32[N, 10]
  state {
    onnx.MatMul(A = X, B = W) -> (Y = H)
    map i in 0:N, j in 0:10 { Y[i, j] = max(H[i, j], 0) }
  }
}
"""


def texts(svg):
    return ["".join(t.itertext()) for t in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def chain(count):
    names = [f"T{k}" for k in range(count - 1)]
    lines = [f"  transient {n}: f32[8]" for n in names] + ["  state {"]
    for a, b in zip(["X", *names], [*names, "Y"]):
        lines.append(f"    onnx.Relu(X = {a}) -> (Y = {b})")
    return headrace.Sdfg.parse("sdfg chain(X: f32[8], Y: f32[8]) {\n" + "\n".join(lines) + "\n  }\n}")


class LayoutTest(Case):
    def check(self, sizes, edges):
        placed = Layout(sizes, edges)
        boxes = [(x, y, x + w, y + h) for (x, y), (w, h) in zip(placed.places, sizes)]
        for k, (x0, y0, x1, y1) in enumerate(boxes):
            self.assertGreaterEqual(x0, -1e-6)
            self.assertLessEqual(x1, placed.width + 1e-6)
            self.assertLessEqual(y1, placed.height + 1e-6)
            for a0, b0, a1, b1 in boxes[k + 1:]:
                self.assertTrue(x1 <= a0 + 1e-6 or a1 <= x0 + 1e-6 or y1 <= b0 + 1e-6 or b1 <= y0 + 1e-6, "boxes overlap")
        for (a, b), route in zip(edges, placed.routes):
            self.assertLess(boxes[a][3], boxes[b][1], "edges go down")
            np.testing.assert_allclose(route[0], ((boxes[a][0] + boxes[a][2]) / 2, boxes[a][3]))
            np.testing.assert_allclose(route[-1], ((boxes[b][0] + boxes[b][2]) / 2, boxes[b][1]))
            for x, y in route[1:-1]:  # past the others, not through them
                self.assertFalse(any(x0 < x < x1 and y0 < y < y1 for x0, y0, x1, y1 in boxes))
        return placed

    def test_random_graphs(self):
        random = np.random.default_rng(0)
        for count in (1, 2, 7, 30, 60):
            sizes = [(float(w), float(h)) for w, h in random.integers(10, 120, (count, 2))]
            edges = sorted({(int(a), int(b)) for a, b in random.integers(0, count, (2 * count, 2)) if a < b})
            self.check(sizes, edges)

    def test_what_can_be_drawn_without_crossings_is(self):
        placed = self.check([(20, 20)] * 6, [(0, 4), (1, 3), (2, 5)])
        columns = [x for x, _ in placed.places]
        self.assertEqual(sorted(range(3), key=lambda k: columns[k]), sorted((1, 0, 2), key=lambda k: columns[{0: 4, 1: 3, 2: 5}[k]]))

    def test_a_cycle_is_refused(self):
        with self.assertRaises(ValueError):
            Layout([(1, 1)] * 2, [(0, 1), (1, 0)])


class ProgramTest(Case):
    def test_everything_is_drawn(self):
        shown = texts(headrace.Sdfg.parse(MLP)._repr_html_().split("<details>")[0].removeprefix('<div style="max-height:760px;overflow:auto">')
                      .removesuffix("</div>"))
        for text in ("mlp", "state", "X", "W", "H", "Y", "f32[784, 10]", "MatMul", "map i in 0:N, j in 0:10", "Y[i, j] = max(H[i, j], 0)"):
            self.assertIn(text, shown)

    def test_control_flow(self):
        shown = texts(program_svg(headrace.Sdfg.parse("""
sdfg f(X: f64[N], n: i64, Y: f64[N]) {
  let T = n
  for t in 0:T {
    if t > 3 { map i in 0:N { Y[i] = X[i] } } else { break }
  }
  call g(A = X, B = Y)
}
sdfg g(A: f64[M], B: f64[M]) { map i in 0:M { B[i] = A[i] } }""").json()))
        for text in ("let T = n[]", "for t = 0; t < T; t = t + 1", "if t > 3", "else", "break", "call g", "map i in 0:M"):
            self.assertIn(text, shown)

    def test_text_is_escaped(self):
        p = headrace.Sdfg.parse('sdfg f(`<script>alert(1)</script>&`: f32[N], Y: f32[N]) '
                                '{ map i in 0:N { Y[i] = `<script>alert(1)</script>&`[i] from "<b>\\"" } }')
        page = p._repr_html_()
        self.assertNotIn("<script", page)
        self.assertNotIn("<b>", page)
        self.assertTrue(any("<script>alert(1)</script>&" in t for t in texts(program_svg(p.json()))))

    def test_large_programs_are_folded(self):
        for count in (40, 200, 3000):
            svg = program_svg(chain(count).json(), most=48)
            shown = texts(svg)
            relus = shown.count("Relu")
            said = [int(m[1]) for t in shown if (m := re.match(r"… (\d+) statements left out", t))]
            self.assertEqual(relus + sum(said), count)
            self.assertEqual(f"{count - relus} statements left out" in shown, count > 48)
            self.assertLess(len(svg), 120_000)
        self.assertIn(f"{3000 - 48} Relu", shown)

    def test_what_is_left_out_stays_connected(self):
        """Views name other containers than those that statements write."""
        lines = ["onnx.Relu(X = X) -> (Y = A)", *(f"onnx.Relu(X = T{k}) -> (Y = T{k + 1})" for k in range(40)), "onnx.Relu(X = W) -> (Y = Y)"]
        lines.insert(1, "onnx.Relu(X = V) -> (Y = T0)")
        declared = ["transient A: f32[8]", "view V: f32[8] of A", *(f"transient T{k}: f32[8]" for k in range(41)), "view W: f32[8] of T40"]
        p = headrace.Sdfg.parse("sdfg f(X: f32[8], Y: f32[8]) {\n" + "\n".join([*declared, "state {", *lines, "}"]) + "\n}")
        flow = Dataflow(p.blocks()[0].nodes, {c.name: c for c in p.containers()}, 3)
        reached, edges = {0}, list(flow._edges)
        for _ in edges:
            reached |= {b for a, b in edges if a in reached} | {a for a, b in edges if b in reached}
        self.assertEqual(reached, set(range(len(flow._boxes))))

    def test_many_states_are_counted(self):
        body = "\n".join(f"  state s{k} {{ map i in 0:N {{ Y[i] = X[i] + {k} }} }}" for k in range(60))
        shown = texts(program_svg(headrace.Sdfg.parse(f"sdfg f(X: f64[N], Y: f64[N]) {{\n{body}\n}}").json()))
        drawn = sum(t.startswith("Y[i] = X[i]") for t in shown)
        self.assertIn(f"{60 - drawn} statements left out", shown)

    def test_edges_are_the_programs(self):
        p = headrace.Sdfg.parse(MLP)
        state = p.blocks()[0]
        flow = Dataflow(state.nodes, {c.name: c for c in p.containers()}, 10)
        said = sorted(text for texts in flow._edges.values() for text in texts)
        self.assertEqual(said, ["H[0:N, 0:10]", "H[0:N, 0:10]", "W[0:784, 0:10]", "X[0:N, 0:784]", "Y[0:N, 0:10]"])

    def test_programs_and_models(self):
        N = headrace.symbol("N")

        @headrace.program
        def f(x: headrace.float64[N]):
            return x * 2

        @headrace.program
        def g(x):
            return x + 1

        self.assertIn("<svg", f._repr_html_())
        self.assertIsNone(g._repr_html_())  # nothing is known of x yet
        g(np.ones(3))
        self.assertIn("f64[3]", g._repr_html_())


class ReportTest(Case):
    def test_memory(self):
        p = headrace.Sdfg.parse("""
sdfg f(X: f64[N], Y: f64[N]) {
  transient A: f64[N]
  transient B: f32[2*N]
  transient C: f64[N]
  state { map i in 0:N { A[i] = X[i] } }
  state { map i in 0:N { B[i] = f32(A[i]); B[i + N] = 1 } }
  for t in 0:3 {
    state { map i in 0:N { C[i] = A[i] } }
    state { map i in 0:N { Y[i] = C[i] * f64(B[i]) } }
  }
}""").json()
        # A lives until the loop ends, B from the second statement, C in the loop.
        self.assertEqual(memory_over_time(p, {"N": 10}), [80, 160, 240, 240])
        self.assertIsNone(memory_over_time(p, {}))

    def test_of_functions(self):
        @headrace.program
        def f(x):
            y = np.tanh(x)
            for _ in range(3):
                y = y[::-1] * np.cumsum(y)
            return np.sum(y)

        x = np.linspace(0, 1, 50)
        g = headrace.grad(f)
        g(x)
        report = g.report()
        self.assertIsInstance(report, dict)
        self.assertGreaterEqual(max(report["memory"]), max(i["bytes"] for i in report["stored"]))
        page = report._repr_html_()
        self.assertIn("Memory over time", page)
        for svg in re.findall(r"<svg.*?</svg>", page):
            ET.fromstring(svg)
        for item in report["stored"]:
            self.assertIn(item["container"], page)

    def test_charts(self):
        random = np.random.default_rng(0)
        for values in ([], [1.0], [2.0, 2.0], list(np.exp(-np.arange(5000) / 500) + 1e-3 * random.random(5000)), [1.0, float("nan"), 3.0],
                       [-1.0, 5.0], [1e-30, 1e30]):
            for log in (False, True):
                svg = line_chart("<loss>", [Series("a & b", list(enumerate(values)))], "step", "loss", log=log)
                numbers = [float(v) for v in re.findall(r"[MLHV] ?(-?[\d.]+)", svg)]
                self.assertTrue(all(-1 <= v <= 721 for v in numbers), (values[:3], log))
                self.assertIn("&lt;loss&gt;", svg)
                ET.fromstring(svg)
                self.assertLess(len(svg), 40_000)
        page = Report(losses=[float(x) for x in np.exp(-np.arange(100) / 10)])._repr_html_()
        self.assertIn("log scale", page)
        self.assertIn("training loss", page)


if __name__ == "__main__":
    unittest.main()
