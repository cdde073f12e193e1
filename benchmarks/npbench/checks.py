"""A kernel against NumPy, and its gradients against differences: of every element at small sizes, along directions at NPBench's."""

from __future__ import annotations

from typing import Callable

import numpy as np

import headrace

from .cases import Case


def forward(case: Case, backend: str, rtol: float, size: str | dict = "small", dtype=None) -> None:
    """Runs the kernel by NumPy and compiled, with equal arguments: results and changed arrays must agree, types included.
    `dtype` is that of the arguments; without it, what the case makes."""
    ours, theirs = case.arguments(size, dtype=dtype), case.arguments(size, dtype=dtype)
    expected = ran(case, theirs)
    got = _tuple(headrace.program(case.function, backend=backend)(*ours))
    pairs = [(a, b) for a, b in zip(ours, theirs) if isinstance(a, np.ndarray)] + list(zip(got, expected))
    if len(got) != len(expected):
        raise AssertionError(f"{case.name}: {len(got)} results, not {len(expected)}")
    moved = _last_bits(case, size, dtype) if case.sensitive and size != "small" else [0] * len(pairs)
    for (a, b), own in zip(pairs, moved):
        a, b = np.asarray(a), np.asarray(b)
        if (a.dtype, a.shape) != (b.dtype, b.shape):
            raise AssertionError(f"{case.name}: {a.dtype}{a.shape}, not {b.dtype}{b.shape}")
        atol = rtol * 1e-2
        if size != "small" and b.dtype.kind in "fc":
            # Long sums may be added up in another order: what counts is an element's error beside the largest ones.
            atol = rtol * np.max(np.abs(b), initial=0, where=np.isfinite(b)) + 8 * own
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, err_msg=case.name)


def ran(case: Case, arguments: tuple) -> tuple:
    """What NumPy's run of the kernel returns; the arguments change."""
    with np.errstate(all="ignore"):
        return _tuple(case.function(*arguments))


def _last_bits(case: Case, size, dtype) -> list:
    """How far NumPy's own results move when the arguments do in their last bit, for each array and result."""
    arguments = case.arguments(size, dtype=dtype)
    nudged = tuple(np.nextafter(a, np.inf) if isinstance(a, (float, np.ndarray)) and np.asarray(a).dtype.kind == "f" else a
                   for a in case.arguments(size, dtype=dtype))
    nudged = tuple(float(a) if isinstance(b, float) else a for a, b in zip(nudged, arguments))
    values = [[*(a for a in run if isinstance(a, np.ndarray)), *ran(case, run)] for run in (arguments, nudged)]
    return [np.max(np.abs(np.asarray(a, np.complex128) - b), initial=0) for a, b in zip(*values)]


def _tuple(result) -> tuple:
    return () if result is None else result if isinstance(result, tuple) else (result,)


class Seeds:
    """Σ Re(seed · output) of a kernel, at one size, for random seeds: what gradients are of, without them."""

    def __init__(self, case: Case, size: str | dict = "small", dtype=None):
        self.case, self._size, self._dtype = case, size, dtype
        arguments = self.arguments()
        self.names = [n for n in case.floats(arguments) if size == "small" or n not in case.even]
        returned = ran(case, arguments)
        #: which outputs count: the changed arrays by name, then the results that are new arrays by number
        self.of = [*case.changes, *(k for k, r in enumerate(returned)
                                    if not any(r is a for a in arguments) and np.asarray(r).dtype.kind in "fc")]
        self._values = self._outputs(arguments, returned)
        rng = np.random.default_rng(7)
        self.seeds = [(rng.standard_normal(x.shape) + (1j * rng.standard_normal(x.shape) if x.dtype.kind == "c" else 0)).astype(x.dtype)
                      for x in self._values]

    def arguments(self) -> tuple:
        return self.case.arguments(self._size, dtype=self._dtype)

    def _outputs(self, arguments: tuple, returned: tuple) -> list[np.ndarray]:
        return [np.asarray(returned[o] if isinstance(o, int) else arguments[self.case.names.index(o)]) for o in self.of]

    def loss(self, arguments: tuple) -> float:
        """By NumPy; the arguments change."""
        outputs = self._outputs(arguments, ran(self.case, arguments))
        return sum(np.sum(s * x).real for s, x in zip(self.seeds, outputs))


class Gradients(Seeds):
    """The gradients of that sum by every float argument."""

    def __init__(self, case: Case, backend: str, size: str | dict = "small", dtype=None):
        super().__init__(case, size, dtype)
        self.pull = self._pullback(backend)

    def _pullback(self, backend: str) -> Callable[[], tuple]:
        function = headrace.program(self.case.function, backend=backend)
        pull = headrace.vjp(function, *self.arguments(), of=self.of, argnums=self.names)[1]
        return lambda: pull(*self.seeds)

    def by_elements(self, name: str, h: float = 1e-6) -> np.ndarray:
        """∂L/∂x − i ∂L/∂y by central differences (real arguments: ∂L/∂x)."""
        k = self.case.names.index(name)
        value = np.asarray(self.arguments()[k])
        result = np.zeros(value.shape, value.dtype)
        for index in np.ndindex(value.shape):
            unit = np.zeros(value.shape)
            unit[index] = 1
            result[index] = self._slope(k, unit, h)
            if value.dtype.kind == "c":
                result[index] -= 1j * self._slope(k, 1j * unit, h)
        return result

    def _slope(self, k: int, direction: np.ndarray, h: float) -> float:
        return (self._moved(k, direction, h) - self._moved(k, direction, -h)) / (2 * h)

    def _moved(self, k: int, direction: np.ndarray, step: float) -> float:
        moved = list(self.arguments())
        new = moved[k] + step * direction
        moved[k] = new if isinstance(moved[k], np.ndarray) else new.item()
        return self.loss(tuple(moved))

    def error_along(self, name: str, gradient, rtol: float) -> float:
        """How far a gradient is from the slope along a random direction, in parts of what such a slope is. Steps shrink until
        it is less than `rtol`: at these sizes a step may cross a kink, or change how often a loop runs."""
        k = self.case.names.index(name)
        value, gradient = np.asarray(self.arguments()[k]), np.asarray(gradient)
        rng = np.random.default_rng(k)
        direction = rng.standard_normal(value.shape) + (1j * rng.standard_normal(value.shape) if value.dtype.kind == "c" else 0)
        direction = direction * (np.max(np.abs(value), initial=0) or 1)
        got, scale = np.sum(gradient * direction).real, np.linalg.norm(np.ravel(gradient * direction))
        rounding = 4e-16 * np.sqrt(sum(np.linalg.norm(np.ravel(s * x))**2 for s, x in zip(self.seeds, self._values)))  # of the loss
        error = np.inf
        for h in (1e-6, 1e-7, 1e-8, 1e-5, 1e-4):
            slope = self._slope(k, direction, h)
            error = min(error, max(0, abs(got - slope) - rounding / h) / max(abs(slope), scale, 1e-300))
            if error < rtol:
                break
        return error


def gradients(case: Case, backend: str, rtol: float) -> list[str]:
    """Compares the gradients by every float argument at the small size, element by element, twice in a row; gives the
    arguments' names."""
    g = Gradients(case, backend)
    g.pull()
    for name, got in zip(g.names, g.pull()):
        expected = g.by_elements(name)
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol * (1 + np.max(np.abs(expected), initial=0)),
                                   err_msg=f"{case.name}: gradient by {name}")
    return g.names


def gradients_along_directions(case: Case, backend: str, rtol: float) -> list[str]:
    """Compares slopes at size S along a random direction of every float argument, twice in a row; gives the arguments' names."""
    g = Gradients(case, backend, case.along or "S")
    first, second = g.pull(), g.pull()
    for name, a, b in zip(g.names, first, second):
        np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-9 * np.max(np.abs(a), initial=0), err_msg=f"{case.name}: {name}, again")
        if name in case.steps:
            if np.any(a):
                raise AssertionError(f"{case.name}: the gradient by {name} is not 0")
            continue
        error = g.error_along(name, a, rtol)
        if not error < rtol:
            raise AssertionError(f"{case.name}: the gradient by {name} is wrong by {error:.1e}")
    return g.names
