"""Prints which kernels of NPBench run, by which arguments they have gradients, and why the others have none.

    ./bazelw build //python:package
    PYTHONPATH=bazel-bin/python/package:. python3 -m benchmarks.npbench.table [--backend cpu] [KERNEL …]
"""

from __future__ import annotations

import argparse

from . import checks
from .cases import CASES


def row(name: str, backend: str) -> tuple[str, str, bool]:
    """(what the forward gives, the gradient's arguments or the reason, whether there is one)."""
    case = CASES[name]
    try:
        checks.forward(case, backend, rtol=1e-10)
        forward = "as NumPy"
    except Exception as error:  # whatever it is, the table says it
        return f"{type(error).__name__}: {str(error).splitlines()[0]}", "", False
    if case.reason:
        return forward, f"none: {case.reason}", False
    try:
        return forward, ", ".join(checks.gradients(case, backend, rtol=1e-6)), True
    except Exception as error:
        return forward, f"{type(error).__name__}: {str(error).strip().splitlines()[0]}", False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", default="interpreter")
    parser.add_argument("kernels", nargs="*", default=list(CASES))
    options = parser.parse_args()
    rows = {name: row(name, options.backend) for name in options.kernels}
    print("| kernel | forward | gradients by |\n|---|---|---|")
    for name, (forward, gradients, _) in rows.items():
        print(f"| {name} | {forward} | {gradients} |")
    print(f"\n{sum(f == 'as NumPy' for f, _, _ in rows.values())} of {len(rows)} run, {sum(g for _, _, g in rows.values())} have gradients")


if __name__ == "__main__":
    main()
