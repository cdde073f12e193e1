"""Prints, for each kernel of NPBench: whether it computes what NumPy does, by which arguments it has gradients and how far these are
from JAX's, or from differences; and the times of one call by NumPy, Headrace and JAX, taken in turn.

    ./bazelw build //python:package
    PYTHONPATH=bazel-bin/python/package:. python3 -m benchmarks.npbench.table [--size S|M] [--backend cpu] [--jax] [--rounds 5]
                                                                              [--out FILE] [--limit 900] [KERNEL …]

Each kernel has a process and at most `--limit` seconds of its own (`measure.py`). `--out` keeps what was measured, a line each: what
is there already for these options is not measured again, so that a run which was stopped goes on. `--jax` takes the package jax,
which is no part of the workspace's Python."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from typing import Any

from .cases import CASES

HEADER = ("kernel", "forward", "numpy ms", "ms", "gradients by", "error", "ms", "JAX literal ms", "idiomatic ms", "JAX / ours")


def measured(kernel: str, options) -> dict[str, Any]:
    """What the kernel's process wrote until it ended or its time was over."""
    command = [sys.executable, "-m", f"{__package__}.measure", kernel, "--size", options.size, "--backend", options.backend,
               "--rounds", str(options.rounds), *(["--jax"] if options.jax else [])]
    known: dict[str, Any] = {}
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        try:
            code = subprocess.run(command, stdout=out, stderr=errors, timeout=options.limit).returncode
            ended = "" if code == 0 else f"ended with {code}"
        except subprocess.TimeoutExpired:
            ended = f"stopped after {options.limit} s"
        out.seek(0)
        for line in out.read().splitlines():
            if line.startswith("{") and line.endswith("}"):  # not one that was cut off
                known.update(json.loads(line))
        if ended:
            errors.seek(0)
            known["ended"] = " ".join([ended, *errors.read().strip().splitlines()[-1:]])
    return known


def number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def cells(known: dict[str, Any]) -> list[str]:
    ended, times = known.get("ended", ""), known.get("times", {})
    by = known.get("by", ended)
    if "none" in known:
        by = f"none: {known['none']}"
    elif not isinstance(by, str):
        by = ", ".join(by)
    error = f"{known['error']:.0e} ({known['against']})" if "error" in known else ended if "by" in known else ""
    ratios = [times[k] / times["ours"] for k in ("literal", "idiomatic") if k in times]
    return [known.get("forward", ended), number(known.get("numpy_ms")), number(known.get("ms")), by, error, number(times.get("ours")),
            *(known.get(k) or number(times.get(k)) for k in ("literal", "idiomatic")), " / ".join(f"{r:.2g}" for r in ratios)]


class Kept:
    """What was measured, by kernel and options, in a file of lines."""

    def __init__(self, path: str | None):
        self._path = path
        self._rows: dict[str, dict[str, Any]] = {}
        if path and os.path.exists(path):
            with open(path, encoding="utf-8") as lines:
                for line in lines:
                    if line.endswith("\n"):  # not one that was cut off
                        row = json.loads(line)
                        self._rows[json.dumps(row["of"])] = row["known"]

    def of(self, kernel: str, options) -> dict[str, Any]:
        key = [kernel, options.size, options.backend, options.jax]
        found = self._rows.get(json.dumps(key))
        if found is not None:
            return found
        known = measured(kernel, options)
        if self._path:
            with open(self._path, "a", encoding="utf-8") as out:
                out.write(json.dumps({"of": key, "known": known}) + "\n")
        return known


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", default="small", choices=("small", "S", "M"))
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--jax", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", help="file of what was measured; what it has is not measured again")
    parser.add_argument("--limit", type=float, default=900, help="seconds for one kernel")
    parser.add_argument("kernels", nargs="*", default=list(CASES))
    options = parser.parse_args()
    if unknown := sorted(set(options.kernels) - set(CASES)):
        parser.error(f"no kernels: {', '.join(unknown)}; there are {', '.join(CASES)}")
    kept = Kept(options.out)
    print(f"| {' | '.join(HEADER)} |\n|{'---|' * len(HEADER)}", flush=True)
    run = graded = 0
    for name in options.kernels:
        row = cells(kept.of(name, options))
        run += row[0].startswith("as NumPy")
        graded += bool(row[5])
        print(f"| {name} | {' | '.join(row)} |", flush=True)
    print(f"\n{run} of {len(options.kernels)} run, {graded} have gradients")


if __name__ == "__main__":
    main()
