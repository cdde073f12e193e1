"""Single steps on programs: where they can be taken, what they do; transformations of one's own."""

import re
import unittest

from python.tests.case import Case, headrace, np

TEXT = """sdfg f(X: f64[N, M], Y: f64[N]) {
  transient E: f64[N, M]
  state {
    map i in 0:N, k in 0:M { E[i, k] = exp(X[i, k]) }
    map i in 0:N { Y[i] = 0 }
    map i in 0:N, k in 0:M { Y[i] += E[i, k] }
  }
}"""
X = np.random.default_rng(0).normal(size=(5, 7))


class Steps(Case):
    def setUp(self):
        self.program = headrace.Sdfg.parse(TEXT)

    def same(self, program):
        np.testing.assert_allclose(program(X), np.exp(X).sum(1), rtol=1e-13)

    def test_each_match_alone(self):
        found = self.program.matches("fuse-maps", "fuse-states", "eliminate-copies")
        self.assertEqual([str(m) for m in found], ["fuse-maps@#0+#4", "fuse-maps@#2+#4"])
        first = found[0]
        self.assertEqual((first.transformation, first.place, first.advised, first.note), ("fuse-maps", "#0+#4", True, ""))
        self.assertEqual(first.what[0], "map i in 0:N, k in 0:M { E[i, k] = exp(X[i, k]) }")
        for match in found:
            changed = self.program.copy().apply(match)
            self.assertEqual(len(list(changed.blocks()[0])[0].nodes), 2)
            self.same(changed.compile(backend="interpreter"))

    def test_one_after_another_and_in_pipelines(self):
        changed = self.program.copy()
        while found := changed.matches("fuse-maps", "scalarize"):
            changed.apply(found[0])
        self.assertIn("transient E: f64 @register", changed.text)
        self.same(changed)
        by_text = self.program.copy().apply("fuse-maps@#2+#4; scalarize")
        self.assertEqual(len(by_text.blocks()[0].nodes), 2)
        self.assertEqual(self.program.text, headrace.Sdfg.parse(TEXT).text)  # looking changes nothing

    def test_numbers_of_statements_and_blocks(self):
        self.assertEqual([n.id for n in self.program.nodes()], ["#0", "#1", "#2", "#3", "#4", "#5"])
        self.assertEqual(self.program.blocks()[0].id, "#b0")

    def test_options_are_those_of_the_pass(self):
        self.assertFalse(self.program.matches("fuse-maps", max=1)[0].advised)
        self.assertIn("more than 1 statements", self.program.matches("fuse-maps", max=1)[0].note)

    def test_mistakes(self):
        with self.assertRaisesRegex(headrace.UsageError, "did you mean 'fuse-maps'"):
            self.program.matches("fuse-map")
        with self.assertRaisesRegex(headrace.UsageError, "(?s)can't be applied at #0\\+#2.*there it can: #0\\+#4, #2\\+#4"):
            self.program.apply("fuse-maps@#0+#2")
        with self.assertRaisesRegex(headrace.UsageError, "no statement of that number"):
            self.program.apply("fuse-maps@#0+#99")
        with self.assertRaisesRegex(headrace.UsageError, "has no single steps"):
            self.program.apply("replace@#0")


class OfOnesOwn(Case):
    def register(self, advised=False):
        @headrace.transformation("swap-indices")
        class SwapIndices:
            """Turns maps of two indices round."""

            @staticmethod
            def find(program):
                places = [n.id for n in program.nodes("map") if len(n.ranges) == 2]
                return places if advised else [(p, "it is a matter of taste") for p in places]

            @staticmethod
            def apply(program, place):
                node = next(n for n in program.nodes("map") if n.id == place)
                (i, *_), (j, *_) = node.ranges
                lines, count = program.text.split("\n"), -1
                for n, line in enumerate(lines):
                    count += len(re.findall(r"\bmap\b", line)) * 2  # each of these maps holds one statement
                    if count > int(place[1:]):
                        lines[n] = re.sub(f"map ({i} in [^,]*), ({j} in [^{{]*) {{", r"map \2, \1 {", line)
                        break
                return headrace.Sdfg.parse("\n".join(lines))

        return SwapIndices

    def test_is_found_applied_and_a_pass(self):
        self.register()
        self.assertIn("swap-indices", headrace.transformations())
        program = headrace.Sdfg.parse(TEXT)
        match = program.matches("swap-indices")[1]
        self.assertEqual((str(match), match.advised, match.note), ("swap-indices@#4", False, "it is a matter of taste"))
        program.apply(match)
        self.assertIn("map k in 0:M, i in 0:N { Y[i] += E[i, k] }", program.text)
        self.assertIn("map i in 0:N, k in 0:M { E[i, k] = exp", program.text)
        np.testing.assert_allclose(program(X), np.exp(X).sum(1), rtol=1e-13)
        before = program.text
        self.assertEqual(program.apply("swap-indices").text, before)  # the pass does what is advised: nothing

    def test_what_it_raises_is_the_cause(self):
        @headrace.transformation("broken")
        class Broken:
            @staticmethod
            def find(program):
                return ["#0"] if program.name == "f" else ["#77"]

            @staticmethod
            def apply(program, place):
                raise ValueError("it is too late")

        program = headrace.Sdfg.parse(TEXT)
        with self.assertRaisesRegex(headrace.HeadraceError, "transformation 'broken' failed: .*too late") as raised:
            program.apply("broken@#0")
        self.assertIsInstance(raised.exception.__cause__, ValueError)
        with self.assertRaisesRegex(headrace.UsageError, "no statement of that number"):
            headrace.Sdfg.parse(TEXT.replace("sdfg f", "sdfg g")).matches("broken")

        @headrace.transformation("broken")
        class Worse:
            find = Broken.find

            @staticmethod
            def apply(program, place):
                return place

        with self.assertRaisesRegex(headrace.HeadraceError, "returns an Sdfg or None, not str"):
            program.apply("broken@#0")


if __name__ == "__main__":
    unittest.main()
