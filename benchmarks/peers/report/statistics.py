"""Times to ratios. Nothing here imports anything but Python's own library."""

from __future__ import annotations

import dataclasses
import math
from statistics import median
from typing import Any, Iterable, Mapping

from ..cases.key import Key

OURS = "headrace"
MISSING = 0.5  # what a case that fails, is wrong or was not measured counts as


@dataclasses.dataclass
class Timing:
    """Of one engine and case. `turns`: the fastest batch of each turn, seconds of a call."""

    status: str
    turns: list[float]
    detail: str = ""
    compile_seconds: float | None = None
    memory: float | None = None
    error: float | None = None
    threads: int = 0

    @property
    def seconds(self) -> float | None:
        """The median of the turns: a turn's minimum leaves out what disturbs a call, the median what disturbs a turn."""
        return median(self.turns) if self.status == "ok" and self.turns else None

    @property
    def spread(self) -> float:
        """How far apart the turns are, beside their median."""
        return (max(self.turns) - min(self.turns)) / median(self.turns) if self.turns else 0.0


@dataclasses.dataclass
class Ratio:
    """A peer's time over ours: more than 1 is where we are faster. `low`, `high`: of single turns."""

    peer: str
    value: float
    low: float
    high: float


@dataclasses.dataclass
class Entry:
    """One line of a table."""

    key: Key
    timings: dict[str, Timing]
    row: Mapping[str, Any]

    @property
    def ours(self) -> Timing:
        return self.timings.get(OURS) or Timing("not measured", [])

    @property
    def peers(self) -> dict[str, Timing]:
        return {n: t for n, t in self.timings.items() if n != OURS}

    def ratio(self, peer: str) -> Ratio | None:
        a, b = self.ours, self.timings.get(peer)
        if not b or not a.seconds or not b.seconds:
            return None
        turns = [y / x for x, y in zip(a.turns, b.turns)]
        return Ratio(peer, b.seconds / a.seconds, min(turns), max(turns))

    def best(self, among: Iterable[str] | None = None) -> Ratio | None:
        """Against the fastest peer whose results are right."""
        right = {n: t.seconds for n, t in self.peers.items() if t.seconds and (among is None or n in among)}
        return self.ratio(min(right, key=right.get)) if right and self.ours.seconds else None

    def counted(self, among: Iterable[str] | None = None) -> float | None:
        """What it counts in a mean. None: no peer was measured."""
        if not self.ours.seconds:
            return MISSING
        best = self.best(among)
        return best.value if best else None


def timing(measured: Mapping[str, Any], threads: int, is_compile: bool) -> Timing:
    turns = [min(batches) for batches in measured.get("turns", []) if batches]
    if is_compile and measured["status"] == "ok":
        turns = [measured["compile_seconds"]]
    return Timing(measured["status"], turns, measured.get("detail", ""), measured.get("compile_seconds"), measured.get("memory"),
                  measured.get("error"), threads)  # fmt: skip


def entries(keys: Iterable[Key], rows: Iterable[Mapping[str, Any]]) -> list[Entry]:
    """An entry for each case that was planned, measured or not. NPBench's cases are measured with one thread and with all: each
    engine has its better one."""
    found = {Key(**row["key"]): row for row in rows}
    made: dict[Key, Entry] = {}
    for key in keys:
        shown = dataclasses.replace(key, threads=0) if key.suite == "npbench" else key
        row = found.get(key)
        entry = made.setdefault(shown, Entry(shown, {}, row or {}))
        for name, measured in (row or {}).get("engines", {}).items():
            new, old = timing(measured, key.threads, key.suite == "compile"), entry.timings.get(name)
            if old is None or (new.seconds or math.inf) < (old.seconds or math.inf):
                entry.timings[name] = new
    return list(made.values())


def geomean(values: Iterable[float | None]) -> float | None:
    """Of what there is; None: of nothing."""
    logs = [math.log(v) for v in values if v]
    return math.exp(sum(logs) / len(logs)) if logs else None
