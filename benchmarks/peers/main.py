"""Headrace and its peers on the same inputs and weights, in turns, checked against f64.

    ./bazelw run //benchmarks:peers -- --suite models --quick --out DIR     8 cases, in 10 minutes at most
    ./bazelw run //benchmarks:peers -- --suite all --out DIR                everything: hours
    ./bazelw run //benchmarks:peers -- --suite models --case "resnet50 8" --out DIR    single rows: measured anew
    ./bazelw run //benchmarks:peers -- --suite models --merge OTHER/rows.jsonl --out DIR --measure nothing

DIR gets rows.jsonl, and SUITE.md and SUITE.svg of all rows that it has; rows of this run that it has already are not measured again,
except those named by --case.
"""

from __future__ import annotations

import argparse
import datetime
import fnmatch
import os
import signal
import sys
import time

from . import rows, suites
from .cases.key import Key
from .coordinator import Coordinator
from .engines import OLDER_PACKAGE, of_suite
from .environment import Environment, EnvironmentFailure
from .machine import Machine, busy, most
from .report import chart, document, table

QUICK_SECONDS = 540  # no case is begun after these


def options_of(arguments: list[str] | None = None) -> argparse.Namespace:
    flags = argparse.ArgumentParser(prog="peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--machine-library", required=True, help=argparse.SUPPRESS)
    flags.add_argument("--suite", default="models", choices=(*suites.SUITES, "all"))
    flags.add_argument("--out", default="", help="folder for rows, tables and pictures; only --list needs none")
    flags.add_argument("--quick", action="store_true", help="8 cases of the suite")
    flags.add_argument("--case", action="append", default=[], metavar="TEXT", help="only cases whose title (as --list prints it) has all of these words; * stands for any part; may be repeated")
    flags.add_argument("--engines", default="", help="only these, with commas between them")
    flags.add_argument("--older", default="", metavar="PACKAGE", help="a folder with another build's Python package (python/package of a build, or an unpacked wheel): one more engine, `older`")
    flags.add_argument("--threads", type=int, default=0, help="of every engine; all processors by default")
    flags.add_argument("--turns", type=int, default=4)
    flags.add_argument("--seconds", type=float, default=0.4, help="a turn")
    flags.add_argument("--limit", type=float, default=0, help="seconds that an engine may take to compile and check a case: 240; 60 of --quick")
    flags.add_argument("--merge", action="append", default=[], metavar="ROWS", help="a rows.jsonl whose rows DIR gets as well")
    flags.add_argument("--measure", default="missing", choices=("missing", "nothing"))
    flags.add_argument("--page", default="", metavar="FILE", help="a page whose tables of the suite are written anew (docs/performance.md)")
    flags.add_argument("--list", action="store_true", help="prints the cases and ends")
    options = flags.parse_args(arguments)
    if not options.out and not options.list:
        flags.error("where to: --out FOLDER")
    return options


def chosen(keys: list[Key], texts: list[str]) -> list[Key]:
    """Those that one of the texts names: its words are words of the title, or patterns (`*resnet50* 8 forward`)."""
    words = {key: key.title.split() for key in keys}
    named = lambda key, text: all(fnmatch.filter(words[key], word) for word in text.split())
    return [key for key in keys if not texts or any(named(key, t) for t in texts)]


class Run:
    def __init__(self, options: argparse.Namespace):
        self.options = options
        here = os.path.abspath(".")
        self.environment = Environment([here, os.path.join(here, "python", "package")])
        threads = options.threads or self.environment.processors
        self.out = os.path.join(os.environ.get("BUILD_WORKING_DIRECTORY", "."), options.out)
        self.store = rows.Store(self.out)
        for path in options.merge:
            for row in rows.read(os.path.join(os.environ.get("BUILD_WORKING_DIRECTORY", "."), path)):
                self.store.add(row)
        self.machine = Machine(options.machine_library, self.environment.processors)
        only = [name for name in options.engines.split(",") if name]
        self.coordinator = Coordinator(self.environment, options.turns, options.seconds, options.limit or (60 if options.quick else 240), only)
        self.threads = threads

    def suite(self, name: str) -> None:
        keys = chosen(suites.keys(name, self.threads, self.options.quick, self.coordinator.names), self.options.case)
        if self.options.list:
            print("\n".join(k.title for k in keys))
            return
        if self.options.measure != "nothing":
            self.measure(name, keys)
        self.write(name, keys)

    def measure(self, suite: str, keys: list[Key]) -> None:
        done = set() if self.options.case else {rows.key_of(r) for r in self.store.rows()}
        left = [k for k in keys if k not in done]
        start = time.monotonic()
        for n, key in enumerate(left, 1):
            if self.options.quick and time.monotonic() - start > QUICK_SECONDS:
                print(f"{len(left) - n + 1} cases are left out: {QUICK_SECONDS} s are over", file=sys.stderr)
                break
            load, machine = busy(), self.machine.now(key.threads)
            measured = self.coordinator.measure(key)
            row = {"key": vars(key), "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
                   "machine": most(machine, self.machine.now(key.threads)), "busy": load,
                   "versions": {s.name: s.version for s in of_suite(suite).values()}, **measured}  # fmt: skip
            self.store.add(row)
            self.write(suite, keys)
            print(f"[{n}/{len(left)}, {time.monotonic() - start:.0f} s] {key.title}: {line_of(key, row)}", flush=True)

    def write(self, suite: str, keys: list[Key]) -> None:
        kept = self.store.rows()
        for name, made in ((f"{suite}.md", table.report(suite, keys, kept)), (f"{suite}.svg", chart.chart(suite, keys, kept))):
            temporary = os.path.join(self.out, name + ".new")
            with open(temporary, "w", encoding="utf-8") as f:
                f.write(made)
            os.replace(temporary, os.path.join(self.out, name))
        if self.options.page:
            self.write_page(os.path.join(os.environ.get("BUILD_WORKING_DIRECTORY", "."), self.options.page), suite, keys)

    def write_page(self, path: str, suite: str, keys: list[Key]) -> None:
        with open(path, encoding="utf-8") as f:
            page = f.read()
        with open(path, "w", encoding="utf-8") as f:
            f.write(document.replaced(page, suite, table.summary(suite, keys, self.store.rows())))


def line_of(key: Key, row: rows.Row) -> str:
    from .report.statistics import entries

    entry = entries([key], [row])[0]
    said = [f"{n} {1e3 * t.seconds:.3g} ms" if t.seconds else f"{n} {t.status}" for n, t in entry.timings.items() if t.status != "not applicable"]
    best = entry.best()
    return (f"{best.value:.2f} of {best.peer}; " if best else "") + ", ".join(said) + row.get("detail", "")


def main() -> int:
    options = options_of()
    if options.older:
        os.environ[OLDER_PACKAGE] = os.path.abspath(os.path.join(os.environ.get("BUILD_WORKING_DIRECTORY", "."), options.older))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # through `finally`
    run = Run(options)
    try:
        for suite in suites.SUITES if options.suite == "all" else [options.suite]:
            run.suite(suite)
            if not options.list:
                print(f"{os.path.join(options.out, suite)}.md, .svg")
    except EnvironmentFailure as e:
        print(f"error: {e}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; the rows so far are kept", file=sys.stderr)
        return 130
    finally:
        run.coordinator.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
