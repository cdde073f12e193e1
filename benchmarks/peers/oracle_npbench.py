"""Expected gradients of NPBench's kernels: JAX's idiomatic program, the quicker one, which is held against the literal one where
both are measured; where JAX has none, Headrace's own, held against differences here."""

from __future__ import annotations

import os

import numpy as np

from benchmarks.npbench import checks, measure
from benchmarks.npbench.cases import CASES

from .cases import folder
from .cases.key import Key
from .engines.npbench import flat

TOLERANCE = 1e-5  # expected values are kept in f32


def make(key: Key, path: str) -> dict:
    os.makedirs(path, exist_ok=True)
    case = CASES[key.name]
    seeds = checks.Seeds(case, key.size)
    gradients = _by_jax(case, seeds) or _by_differences(case, key.size)
    expected = {name: flat(g) for name, g in zip(seeds.names, gradients)}
    arrays = [np.asarray(a) for a in seeds.arguments() if isinstance(a, np.ndarray)]
    moved = 2 * sum(a.nbytes for a in arrays) + sum(np.asarray(g).nbytes for g in gradients)
    folder.write(path, key, {}, None, seeds.names, expected, flops=0, bytes=moved, tolerance=TOLERANCE)
    return {"flops": 0, "bytes": moved}


def _by_jax(case, seeds):
    from benchmarks.npbench import jax_kernels

    kernel = {**jax_kernels.LITERAL, **jax_kernels.IDIOMATIC}.get(case.name)
    return kernel and [np.asarray(g) for g in measure.by_jax(seeds, kernel)()]


def _by_differences(case, size: str):
    g = checks.Gradients(case, "cpu", size)
    gradients = g.pull()
    worst = max((g.error_along(n, x, 1e-6) for n, x in zip(g.names, gradients) if n not in case.steps), default=0.0)
    if worst > TOLERANCE:
        raise AssertionError(f"{case.name}: no JAX program, and {worst:.2g} from differences")
    return gradients
