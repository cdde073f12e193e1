"""Prints, for each kernel of NPBench: whether it computes what NumPy does, by which arguments it has gradients and how far these are
from JAX's, or from differences; and the times of one call by NumPy, Headrace and JAX, taken in turn.

    ./bazelw build //python:package
    PYTHONPATH=bazel-bin/python/package:. python3 -m benchmarks.npbench.table [--size S] [--backend cpu] [--jax] [--rounds 5] [KERNEL …]

`--jax` takes the package jax, which is no part of the workspace's Python."""

from __future__ import annotations

import argparse
import functools
import time
from typing import Callable

import headrace
import numpy as np

from . import checks
from .cases import CASES, SINGLE, Case

HEADER = ("kernel", "forward", "numpy ms", "ms", "gradients by", "error", "ms", "JAX literal ms", "idiomatic ms", "JAX / ours")


def in_turn(contenders: dict[str, Callable[[], Callable]], rounds: int, seconds: float = 20) -> dict[str, float]:
    """Milliseconds of the fastest call of each; they are called one after the other, round after round. Every call is made anew:
    kernels change their arguments."""
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    end = time.perf_counter() + seconds
    for make in contenders.values():
        make()()
    for _ in range(rounds):
        for name, make in contenders.items():
            call = make()
            start = time.perf_counter()
            call()
            taken[name].append(1e3 * (time.perf_counter() - start))
        if time.perf_counter() > end:
            break
    return {name: min(t) for name, t in taken.items()}


def first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"


def forward_cells(case: Case, options) -> list[str]:
    try:
        checks.forward(case, options.backend, 1e-10, options.size)
        said = "as NumPy"
        if case.name in SINGLE:
            checks.forward(case, options.backend, 1e-5, options.size, np.float32)
            said += ", f32 too"
    except Exception as error:  # whatever it is, the table says it
        return [first_line(error), "", ""]
    function = headrace.program(case.function, backend=options.backend)
    taken = in_turn({"numpy": lambda: functools.partial(checks.ran, case, case.arguments(options.size)),
                     "ours": lambda: functools.partial(function, *case.arguments(options.size))}, options.rounds)
    return [said, f"{taken['numpy']:.3g}", f"{taken['ours']:.3g}"]


def by_jax(g: checks.Gradients, kernel: Callable) -> Callable[[], tuple]:
    """The same gradients as jit(grad(…)) of a JAX function."""
    import jax

    jax.config.update("jax_enable_x64", True)
    arguments = g.arguments()
    at = [g.case.names.index(n) for n in g.names]
    seeds = [jax.numpy.asarray(s) for s in g.seeds]

    def loss(values):
        full = list(arguments)
        for k, value in zip(at, values):
            full[k] = value
        outputs = kernel(*full)
        return sum(jax.numpy.sum(s * x).real for s, x in zip(seeds, outputs if isinstance(outputs, tuple) else (outputs, )))

    compiled = jax.jit(jax.grad(loss))
    values = [jax.numpy.asarray(arguments[k]) for k in at]
    return lambda: jax.block_until_ready(compiled(values))


def difference(ours: tuple, theirs: tuple) -> float:
    """The largest error of an element in parts of the largest element of its array."""
    worst = 0.0
    for a, b in zip(ours, theirs):
        a, b = np.asarray(a), np.asarray(b)
        worst = max(worst, float(np.max(np.abs(a - b), initial=0) / (np.max(np.abs(b), initial=0) or 1)))
    return worst


def gradient_cells(case: Case, options) -> list[str]:
    if case.reason:
        return [f"none: {case.reason}", "", "", "", "", ""]
    try:
        g = checks.Gradients(case, options.backend, options.size)
        contenders = {"ours": g.pull}
        if options.jax:
            from . import jax_kernels

            for kind, kernels in (("literal", jax_kernels.LITERAL), ("idiomatic", jax_kernels.IDIOMATIC)):
                if case.name in kernels:
                    contenders[kind] = by_jax(g, kernels[case.name])
        ours = g.pull()
        errors = [difference(ours, call()) for kind, call in contenders.items() if kind != "ours"]
        if errors:
            error = f"{max(errors):.0e} (JAX)"
        else:
            error = f"{max(g.error_along(n, x, 1e-6) for n, x in zip(g.names, ours) if n not in case.steps):.0e}"
        taken = in_turn({kind: lambda call=call: call for kind, call in contenders.items()}, options.rounds)
    except Exception as error:
        return [first_line(error), "", "", "", "", ""]
    ratios = [taken[k] / taken["ours"] for k in ("literal", "idiomatic") if k in taken]
    return [", ".join(g.names), error, f"{taken['ours']:.3g}", *(f"{taken[k]:.3g}" if k in taken else "" for k in ("literal", "idiomatic")),
            " / ".join(f"{r:.2g}" for r in ratios)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", default="small", choices=("small", "S"))
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--jax", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("kernels", nargs="*", default=list(CASES))
    options = parser.parse_args()
    print(f"| {' | '.join(HEADER)} |\n|{'---|' * len(HEADER)}", flush=True)
    run = graded = 0
    for name in options.kernels:
        cells = [*forward_cells(CASES[name], options), *gradient_cells(CASES[name], options)]
        run += cells[0].startswith("as NumPy")
        graded += bool(cells[5])
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print(f"\n{run} of {len(options.kernels)} run, {graded} have gradients")


if __name__ == "__main__":
    main()
