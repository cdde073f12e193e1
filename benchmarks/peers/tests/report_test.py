"""Rows, ratios, means, table and picture of a fixed file of rows, without any peer. usage: report_test.py [--update FOLDER]"""

import json
import os
import sys
import tempfile
import unittest

from benchmarks.peers import rows
from benchmarks.peers.cases.key import Key
from benchmarks.peers.machine import most
from benchmarks.peers.report import chart, document, statistics, table

HERE = os.path.join("benchmarks", "peers", "tests")
ROWS = os.path.join(HERE, "rows.jsonl")
KEYS = [Key("models", "lenet", "1", "forward"), Key("models", "lenet", "8", "forward"), Key("models", "mixer", "1", "backward"), Key("models", "bert", "1", "backward")]


def row(key, date="2026-01-01", engines=("headrace", "eager"), cpu="A", **more):
    times = {name: {"status": "ok", "turns": [[1.0]], "compile_seconds": 0, "memory": 0} for name in engines}
    return {"key": vars(key), "date": date, "machine": {"cpu": cpu, "processors": 2}, "busy": 0, "flops": 0, "bytes": 0, "engines": times, **more}


class Rows(unittest.TestCase):
    def test_the_latest_row_of_a_case_and_machine_stays(self):
        a, b = KEYS[:2]
        kept = rows.merged([row(a), row(b), row(a, "2026-02-01"), row(a, cpu="B")])
        self.assertEqual([(r["key"]["size"], r["date"], r["machine"]["cpu"]) for r in kept],
                         [("1", "2026-02-01", "A"), ("8", "2026-01-01", "A"), ("1", "2026-01-01", "B")])  # fmt: skip

    def test_a_run_of_few_engines_hides_none_of_all(self):
        kept = rows.merged([row(KEYS[0]), row(KEYS[0], "2026-02-01", ["headrace"])])
        self.assertEqual(list(kept[0]["engines"]), ["headrace", "eager"])

    def test_rows_are_kept_and_a_line_that_was_cut_off_is_not_read(self):
        with tempfile.TemporaryDirectory() as folder:
            store = rows.Store(folder)
            store.add(row(KEYS[0]))
            with open(store.path, "a", encoding="utf-8") as f:
                f.write(json.dumps(row(KEYS[1]))[:40])
            self.assertEqual([rows.key_of(r) for r in store.rows()], [KEYS[0]])


class Machines(unittest.TestCase):
    def test_the_most_that_a_machine_did(self):
        self.assertEqual(most({"cpu": "A", "processors": 2, "f32": 1e9, "bf16": None}, {"cpu": "A", "processors": 2, "f32": 2e9, "bf16": None}),
                         {"cpu": "A", "processors": 2, "f32": 2e9, "bf16": None})  # fmt: skip


class Ratios(unittest.TestCase):
    def setUp(self):
        self.entries = statistics.entries(KEYS, rows.read(ROWS))

    def test_a_time_is_the_median_of_the_turns_fastest_batches(self):
        self.assertEqual(self.entries[0].ours.seconds, 4e-05)
        self.assertAlmostEqual(self.entries[0].ours.spread, 0.1)

    def test_the_best_peer_is_the_fastest_that_is_right(self):
        first, second = self.entries[0].best(), self.entries[1].best()
        self.assertEqual((first.peer, first.value), ("onnxruntime", 0.5))
        self.assertAlmostEqual(first.low, 2e-05 / 4.4e-05)
        self.assertEqual((second.peer, second.value, second.low, second.high), ("eager", 3.0, 2.0, 4.0))

    def test_failed_and_missing_cases_count_as_half(self):
        self.assertEqual([e.counted() for e in self.entries], [0.5, 3.0, 0.5, 0.5])
        self.assertAlmostEqual(statistics.geomean([4.0, None, 1.0]), 2.0)
        self.assertIsNone(statistics.geomean([]))

    def test_a_case_without_peers_counts_nothing(self):
        (entry,) = statistics.entries(KEYS[:1], [row(KEYS[0], engines=["headrace"])])
        self.assertIsNone(entry.counted())

    def test_npbench_has_the_better_of_one_thread_and_of_all(self):
        keys = [Key("npbench", "gemm", "S", "backward", "f64", threads) for threads in (1, 2)]
        measured = [row(key, engines={}) for key in keys]
        for r, ours, jax in zip(measured, (3.0, 2.0), (1.0, 4.0)):
            r["engines"] = {"headrace": {"status": "ok", "turns": [[ours]]}, "jax_literal": {"status": "ok", "turns": [[jax]]}}
        (entry,) = statistics.entries(keys, measured)
        self.assertEqual((entry.ours.seconds, entry.ours.threads, entry.best().value), (2.0, 2, 0.5))

    def test_the_suite_compile_compares_what_compiling_takes(self):
        key = Key("compile", "lenet", "1", "forward")
        r = row(key, engines={})
        r["engines"] = {n: {"status": "ok", "turns": [], "compile_seconds": s} for n, s in (("headrace", 2.0), ("compile", 8.0))}
        self.assertEqual(statistics.entries([key], [r])[0].best().value, 4.0)


class Reports(unittest.TestCase):
    """Goldens: `PYTHONPATH=. python3 benchmarks/peers/tests/report_test.py --update benchmarks/peers/tests` writes them anew."""

    maxDiff = None

    def check(self, name, made):
        with open(os.path.join(HERE, name), encoding="utf-8") as f:
            self.assertEqual(made, f.read())

    def test_table(self):
        self.check("expected.md", table.report("models", KEYS, rows.read(ROWS)))

    def test_chart(self):
        self.check("expected.svg", chart.chart("models", KEYS, rows.read(ROWS)))

    def test_passes_have_a_line_each(self):
        key = Key("passes", "lenet", "8", "forward")
        r = row(key, engines=("headrace", "without alias", "without fuse-maps"))
        r["engines"]["without fuse-maps"]["turns"] = [[3.0]]
        self.assertIn("| without fuse-maps | 3.00 | **3** |\n| without alias | 1.00 | **1** |", table.summary("passes", [key, KEYS[0]], [r]))

    def test_a_page_has_the_tables_between_its_marks(self):
        page = "a\n<!-- models -->\nold\n<!-- end of models -->\nb\n"
        self.assertEqual(document.replaced(page, "models", "new"), page.replace("old", "new"))
        with self.assertRaisesRegex(ValueError, "end of passes"):
            document.replaced(page, "passes", "new")


if __name__ == "__main__" and sys.argv[1:2] == ["--update"]:
    for name, made in (("expected.md", table.report), ("expected.svg", chart.chart)):
        with open(os.path.join(sys.argv[2], name), "w", encoding="utf-8") as f:
            f.write(made("models", KEYS, rows.read(ROWS)))
elif __name__ == "__main__":
    unittest.main()
