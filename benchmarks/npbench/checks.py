"""A kernel against NumPy, and its gradients against central differences."""

from __future__ import annotations

import numpy as np

import headrace

from .cases import Case


def forward(case: Case, backend: str, rtol: float, size: str | dict = "small") -> None:
    """Runs the kernel by NumPy and compiled, with equal arguments: results and changed arrays must agree, types included."""
    ours, theirs = case.arguments(size), case.arguments(size)
    with np.errstate(all="ignore"):
        expected = case.function(*theirs)
    got = headrace.program(case.function, backend=backend)(*ours)
    pairs = [(a, b) for a, b in zip(ours, theirs) if isinstance(a, np.ndarray)] + list(zip(_tuple(got), _tuple(expected)))
    if len(_tuple(got)) != len(_tuple(expected)):
        raise AssertionError(f"{case.name}: {len(_tuple(got))} results, not {len(_tuple(expected))}")
    for a, b in pairs:
        a, b = np.asarray(a), np.asarray(b)
        if (a.dtype, a.shape) != (b.dtype, b.shape):
            raise AssertionError(f"{case.name}: {a.dtype}{a.shape}, not {b.dtype}{b.shape}")
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * 1e-2, err_msg=case.name)


def _tuple(result) -> tuple:
    return () if result is None else result if isinstance(result, tuple) else (result,)


def _outputs(case: Case, arguments: tuple) -> list[np.ndarray]:
    """What the kernel changes and what it returns, floats only, each array once."""
    with np.errstate(all="ignore"):
        returned = _tuple(case.function(*arguments))
    changed = [arguments[case.names.index(n)] for n in case.changes]
    new = [r for r in returned if not any(r is a for a in arguments)]
    return [x for x in map(np.asarray, changed + new) if x.dtype.kind in "fc"]


def gradients(case: Case, backend: str, rtol: float) -> list[str]:
    """Compares the gradients by every float argument of Σ Re(seed · output), twice in a row; gives the arguments' names."""
    arguments = case.arguments()
    names = case.floats(arguments)
    rng = np.random.default_rng(7)
    seeds = [rng.standard_normal(x.shape) + (1j * rng.standard_normal(x.shape) if x.dtype.kind == "c" else 0)
             for x in _outputs(case, case.arguments())]
    pull = headrace.vjp(headrace.program(case.function, backend=backend), *arguments, of=_of(case), argnums=names)[1]
    pull(*seeds)
    for name, got in zip(names, pull(*seeds)):
        expected = _differences(case, case.names.index(name), seeds)
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol * (1 + np.max(np.abs(expected), initial=0)),
                                   err_msg=f"{case.name}: gradient by {name}")
    return names


def _of(case: Case) -> list:
    """The changed arrays by name, then the results that are new arrays by number."""
    arguments = case.arguments()
    with np.errstate(all="ignore"):
        returned = _tuple(case.function(*arguments))
    return [*case.changes, *(k for k, r in enumerate(returned)
                             if not any(r is a for a in arguments) and np.asarray(r).dtype.kind in "fc")]


def _differences(case: Case, k: int, seeds: list, h: float = 1e-6):
    """∂L/∂x − i ∂L/∂y by central differences (real arguments: ∂L/∂x)."""

    def loss(index: tuple, step: complex) -> float:
        moved = list(case.arguments())
        if isinstance(moved[k], np.ndarray):
            moved[k][index] += step
        else:
            moved[k] += step
        return sum(np.sum(s * x).real for s, x in zip(seeds, _outputs(case, tuple(moved))))

    value = np.asarray(case.arguments()[k])
    result = np.zeros(value.shape, value.dtype)
    for index in np.ndindex(value.shape):
        result[index] = (loss(index, h) - loss(index, -h)) / (2 * h)
        if value.dtype.kind == "c":
            result[index] -= 1j * (loss(index, 1j * h) - loss(index, -1j * h)) / (2 * h)
    return result
