"""Distances between rows, by any p: cdist, pdist."""

from __future__ import annotations

import math
from typing import Callable

from ..errors import UnsupportedError
from .emit import Value
from .table import op


def _checked(c, x: Value, p: float) -> None:
    if p < 0 or x.dtype not in ("f32", "f64"):
        raise UnsupportedError(f"{c.target} of {x.dtype} with p = {p}: programs know f32 and f64, and no negative p")


def _distances(c, out: Value, extents: list, place: Callable, difference: Callable, p: float) -> Value:
    """out[place(i)] of the differences at [*i, d] for each d; equal rows take no gradient. `extents`: of i and d."""
    if p == math.inf:
        return _largest(c, out, extents, place, difference)
    power = {0: "({0} == 0 ? 0 : 1)", 1: "abs({0})", 2: "{0} * {0}"}.get(p, f"pow(abs({{0}}), {p})")
    power = power if p == 0 or p >= 1 else f"({{0}} == 0 ? 0 : {power})"
    root = {0: "{0}", 1: "{0}", 2: "sqrt({0})"}.get(p, f"pow({{0}}, 1 / {p})")
    sums = c.fill(c.new(out.dtype, out.shape, "sums"), lambda i: "0")
    c.maps(extents, lambda i: c.line(f"{sums.at(place(i[:-1]))} += {power.format(difference(i))}"))
    return c.fill(out, lambda i: f"({sums.at(i)} == 0 ? 0 : {root.format(sums.at(i))})")


def _largest(c, out: Value, extents: list, place: Callable, difference: Callable) -> Value:
    """All that are as large take the whole gradient, as torch has it."""
    largest = c.fill(c.new(out.dtype, out.shape, "largest"), lambda i: "0")
    c.maps(extents, lambda i: c.line(f"{largest.at(place(i[:-1]))} max= hold(abs({difference(i)}))"))
    c.fill(out, lambda i: f"hold({largest.at(i)})")

    def slope(i):
        size = f"abs({difference(i)})"
        return f"({size} == {largest.at(place(i[:-1]))} && !isinf({size}) ? {size} - hold({size}) : 0)"

    c.maps(extents, lambda i: c.line(f"{out.at(place(i[:-1]))} += {slope(i)}"))
    return out


@op("_cdist_forward")
def cdist(c, x, y, p, compute_mode=None):
    """Distances of the rows of x[..., n, d] to those of y[..., m, d]."""
    _checked(c, x, p)

    def difference(i):
        return f"({c.operand(x, [*i[:-3], i[-3], i[-1]], x.dtype)} - {c.operand(y, [*i[:-3], i[-2], i[-1]], x.dtype)})"

    return _distances(c, c.result(), [*c.shape, x.shape[-1]], lambda i: i, difference, p)


@op("_pdist_forward")
def pdist(c, x, p=2):
    """Distances of the rows of x[n, d] to those behind them: row by row."""
    _checked(c, x, p)
    n = x.shape[0]

    def place(i):
        return [f"{i[0]} * {n} - {i[0]} * ({i[0]} + 1) // 2 + {i[1]} - {i[0]} - 1"]

    return _distances(c, c.result(), [n, f"_i0 + 1:{n}", x.shape[1]], place, lambda i: f"({x.at([i[0], i[2]])} - {x.at([i[1], i[2]])})", p)
