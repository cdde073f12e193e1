"""What a function of two numbers makes of a whole axis, one element after the other: np.logaddexp.reduce and its like."""

from __future__ import annotations

from typing import Callable

import numpy as np

from . import arrays, elementwise
from .emitter import Emitter
from .sizes import Size, maximum, minimum
from .values import Value, scalar, value_of


def reduce(e: Emitter, function: Callable, a, axis=0, keepdims: bool = False):
    """Along several axes: one after the other."""
    v = value_of(a)
    ndim, axes = v.ndim, sorted(arrays.axes_of(axis, v.ndim), reverse=True)
    for k in axes:
        v = _reduced(e, function, v, k)
    return arrays.keep_dims(v, axes, ndim) if keepdims else v


def _reduced(e: Emitter, function: Callable, v: Value, axis: int) -> Value:
    v, k = e.settled(v), e.fresh("k")
    total = e.materialize(_as_result(e, function, along(e, v, axis, 0)))
    with e.block(f"for {k} in 1:{v.shape[axis]}"):
        e.store(total, function(e, total, along(e, v, axis, Size(k))))
    return total


def accumulate(e: Emitter, function: Callable, a, axis=0):
    v, k = e.settled(a), e.fresh("k")
    axis = arrays.normal(axis, v.ndim)
    first = _as_result(e, function, along(e, v, axis, 0))
    result = e.transient(first.dtype, v.shape, "accumulated")
    e.store(along(e, result, axis, 0), first)
    with e.block(f"for {k} in 1:{v.shape[axis]}"):
        e.store(along(e, result, axis, Size(k)), function(e, along(e, result, axis, Size(k) - 1), along(e, v, axis, Size(k))))
    return result


def reduceat(e: Emitter, function: Callable, a, indices, axis, dtype, op: str | None):
    """From each index to the next one, or that element alone where the next one is not larger. `op`: what adds an element up in place."""
    v, places, k, j = e.settled(elementwise.cast(e, a, dtype)), e.settled(indices), e.fresh("k"), e.fresh("j")
    if places.ndim != 1:
        raise ValueError(f"the indices of reduceat have one dimension, not {places.ndim}")
    axis, m = arrays.normal(axis, v.ndim), places.shape[0]
    result = e.transient(dtype, [m if d == axis else s for d, s in enumerate(v.shape)], "parts")
    place = lambda at: e.size_of(arrays.subscript(e, places, at))  # noqa: E731
    with e.rebinding(), e.block(f"for {k} in 0:{m}"):
        begin, after = place(Size(k)), place(minimum(Size(k) + 1, m - 1))
        e.store(along(e, result, axis, Size(k)), along(e, v, axis, begin))
        if op:
            last = e.size_of(scalar(np.int64, f"({k} < {m - 1} ? {after} : {v.shape[axis]})"))
            part = along(e, v, axis, slice(begin + 1, None))
            row = along(e, result, axis, Size(k))
            order = [d for d in range(v.ndim) if d != axis] + [axis]
            shape = [maximum(last - begin - 1, 0) if d == axis else part.shape[d] for d in order]
            e.maps(shape, lambda i: e.write(row, i[:-1], e.expression(part, [i[order.index(d)] for d in range(v.ndim)], dtype), op))
            return result
        with e.block(f"for {j} in {begin} + 1:({k} < {m - 1} ? {after} : {v.shape[axis]})"):
            e.intervals[j] = (0, None)
            row = along(e, result, axis, Size(k))
            e.store(row, function(e, row, along(e, v, axis, Size(j))))
    return result


def along(e: Emitter, v: Value, axis: int, k) -> Value:
    return arrays.subscript(e, v, (slice(None),) * axis + (k,))


def _as_result(e: Emitter, function: Callable, v: Value) -> Value:
    """The first element, in the type that the function gives."""
    return elementwise.cast(e, v, value_of(function(e, v, v)).dtype)
