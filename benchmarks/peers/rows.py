"""What was measured, one JSON line a case, kept with date and machine, and merged.

A line has all engines of a case, for only times of one run are compared: {"key", "date", "machine", "busy", "flops", "bytes", "engines":
{name: {"status", "detail", "turns": [[seconds of a call, …], …], "compile_seconds", "memory", "error", "version"}}}.
"""

from __future__ import annotations

import json
import os
from typing import Any, Iterable

from .cases.key import Key

Row = dict[str, Any]


def key_of(row: Row) -> Key:
    return Key(**row["key"])


def same(row: Row) -> tuple:
    """What a later measurement of is a better one."""
    return key_of(row), row["machine"].get("cpu"), row["machine"].get("processors")


def merged(rows: Iterable[Row]) -> list[Row]:
    """One row a case and machine: the latest of those with the most engines, for a run of two engines must not hide one of all.
    In order of first appearance."""
    best: dict[tuple, Row] = {}
    for row in rows:
        k, rank = same(row), lambda r: (len(r["engines"]), r["date"])
        if k not in best or rank(row) >= rank(best[k]):
            best[k] = row
    return list(best.values())


def read(*paths: str) -> list[Row]:
    rows = []
    for path in paths:
        with open(path, encoding="utf-8") as lines:
            rows += [json.loads(line) for line in lines if line.endswith("\n")]  # not one that was cut off
    return rows


class Store:
    """The file of a folder. Rows are written when they are measured, so that a run that is stopped loses none."""

    def __init__(self, folder: str):
        os.makedirs(folder, exist_ok=True)
        self.path = os.path.join(folder, "rows.jsonl")

    def rows(self) -> list[Row]:
        return merged(read(self.path)) if os.path.exists(self.path) else []

    def add(self, row: Row) -> None:
        with open(self.path, "a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")
