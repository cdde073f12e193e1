"""np.histogram, np.cov, np.average: functions of NumPy that are made of others."""

from __future__ import annotations

import numpy as np

from . import arrays, elementwise, products
from .emitter import Emitter
from .functions import FUNCTIONS, handles
from .values import Value, broadcast, value_of


@handles(np.histogram)
def histogram(e: Emitter, a, bins=10, range=None, density=None, weights=None):
    """Counts are integers, as NumPy's; weighted sums have the weights' type."""
    v = value_of(a)
    v = e.settled(v if v.ndim == 1 else arrays.reshape(e, v, (-1,)))
    if isinstance(bins, str):
        raise NotImplementedError(f"np.histogram with bins={bins!r}, whose number the data decide: give the number of bins, or edges")
    place, edges = _of_edges(e, v, value_of(bins)) if value_of(bins).ndim else _of_one_width(e, v, e.size_of(bins), range)
    first, last = (arrays.subscript(e, edges, k) for k in (0, -1))
    inside = e.materialize(_both(e, elementwise.apply(e, "greater_equal", v, first), elementwise.apply(e, "less_equal", v, last)), "inside")
    counts = _counted(e, place, inside, edges.shape[0] - 1, weights)
    if density:
        width = elementwise.apply(e, "subtract", *(arrays.subscript(e, edges, s) for s in (slice(1, None), slice(None, -1))))
        counts = elementwise.apply(e, "divide", elementwise.apply(e, "divide", counts, width), arrays.reduction(e, "sum", counts))
    return counts, edges


def _of_edges(e: Emitter, v: Value, edges: Value) -> tuple[Value, Value]:
    """The bin of each element, the last one with both of its edges."""
    n = edges.shape[0] - 1
    found = elementwise.apply(e, "subtract", FUNCTIONS[np.searchsorted](e, edges, v, "right"), 1)
    return e.materialize(Value(np.int64, v.shape, lambda i: f"clamp({found.at(i)}, 0, {n} - 1)"), "place"), edges


def _of_one_width(e: Emitter, v: Value, n, range) -> tuple[Value, Value]:
    low, high = range or (arrays.reduction(e, "min", v), arrays.reduction(e, "max", v))
    low, high = (e.materialize(elementwise.cast(e, x, np.float64), h) for x, h in ((low, "low"), (high, "high")))
    half = elementwise.where(elementwise.apply(e, "equal", low, high), 0.5, 0.0)  # where all are equal, a bin around them
    low, high = (e.materialize(elementwise.apply(e, name, x, half), "edge") for name, x in (("subtract", low), ("add", high)))
    edges = e.materialize(elementwise.cast(e, _edges(e, low, high, n), v.dtype if v.dtype.kind == "f" else np.float64), "edges")
    return e.materialize(_places(e, v, low, high, edges, n), "place"), edges


def _counted(e: Emitter, place: Value, inside: Value, n, weights) -> Value:
    if weights is None:
        step, dtype = Value(np.int64, place.shape, lambda i: f"({inside.at(i)} ? i64(1) : i64(0))"), np.dtype(np.int64)
    else:
        w = value_of(weights)
        w, dtype = (w if w.ndim == 1 else arrays.reshape(e, w, (-1,))), w.dtype
        step = elementwise.where(inside, w, dtype.type(0))
    counts = e.transient(dtype, (n,), "counts")
    e.fill(counts, 0)
    e.maps(place.shape, lambda i: e.write(counts, [e.expression(place, i, np.int64)], e.expression(step, i, dtype), "+="))
    return counts


def _both(e: Emitter, a, b):
    return elementwise.apply(e, "logical_and", a, b)


def _edges(e: Emitter, low, high, n):
    """np.linspace(low, high, n + 1); the last is `high` itself."""
    gap = elementwise.apply(e, "divide", elementwise.apply(e, "subtract", high, low), n)
    return Value(np.float64, (n + 1,), lambda i: f"({i[0]} == {n} ? {high.at([])} : f64({i[0]})*{gap.at([])} + {low.at([])})")


def _places(e: Emitter, v: Value, low, high, edges, n):
    """The bin of each element: computed, then moved where rounding put it beside its edges, as NumPy does."""
    text = elementwise.apply(e, "divide", elementwise.apply(e, "subtract", elementwise.cast(e, v, np.float64), low),
                             elementwise.apply(e, "subtract", high, low))
    first = e.materialize(Value(np.int64, v.shape, lambda i: f"clamp(i64({text.at(i)}*f64({n})), 0, {n} - 1)"), "guess")

    def moved(i):
        x, k = f"f64({v.at(i)})", first.at(i)
        return f"({x} < f64({edges.at([k])}) ? max({k} - 1, 0) : {k} < {n} - 1 && {x} >= f64({edges.at([f'min({k} + 1, {n})'])}) ? {k} + 1 : {k})"

    return Value(np.int64, v.shape, moved)


def _rows(v: Value, rowvar: bool) -> Value:
    if v.ndim == 1:
        return arrays.keep_dims(v, [0], 2)
    return v if rowvar else arrays.transpose(v)


@handles(np.cov)
def cov(e: Emitter, m, y=None, rowvar: bool = True, bias: bool = False, ddof=None):
    """Covariances of the rows of `m` and `y` (of their columns, without `rowvar`)."""
    v, *others = [_rows(value_of(x), rowvar) for x in (m, y) if x is not None]
    v = arrays.concatenate(e, [v, *others], 0) if others else v
    v = elementwise.cast(e, v, np.result_type(v.dtype, np.float64))
    mean = arrays.reduction(e, "mean", v, 1, None, True)
    gap = e.materialize(elementwise.apply(e, "subtract", v, mean), "gap")
    other = arrays.transpose(gap)
    if v.dtype.kind == "c":
        other = e.materialize(elementwise.apply(e, "conjugate", other))
    free = arrays.freedom(e, v.shape[1], (0 if bias else 1) if ddof is None else ddof, np.float64)
    result = elementwise.apply(e, "divide", products.matmul(e, gap, other), free)
    return arrays.reshape(e, result, ()) if v.shape[0] == 1 else result


@handles(np.average)
def average(e: Emitter, a, axis=None, weights=None):
    if weights is None:
        return arrays.reduction(e, "mean", a, axis)
    v, w = value_of(a), value_of(weights)
    if axis is not None and w.ndim == 1 and v.ndim > 1:
        w = arrays.keep_dims(w, [k for k in range(v.ndim) if k != arrays.normal(axis, v.ndim)], v.ndim)
    dtype = elementwise.result_type("divide", elementwise.apply(e, "multiply", v, w), v)
    v, w = elementwise.cast(e, v, dtype), elementwise.cast(e, w, dtype)  # products of integers would wrap
    total = arrays.reduction(e, "sum", elementwise.apply(e, "multiply", v, w), axis, dtype)
    share = arrays.reduction(e, "sum", broadcast(w, v.shape), axis, dtype)
    return elementwise.apply(e, "divide", total, share)
