"""NumPy's functions that call a function of the user's."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from . import arrays, elementwise
from .derived import known
from .sizes import is_size
from .values import Value, is_number, value_of

MOST_CALLS = 256


def piecewise(call: Callable, e: Any, x, condlist, funclist, *args, **named):
    """Each function is called with all of x, and its results are taken where its condition is true."""
    v = e.settled(x)
    conditions = list(condlist) if isinstance(condlist, (list, tuple)) else [condlist]
    if len(funclist) not in (len(conditions), len(conditions) + 1):
        raise ValueError(f"with {len(conditions)} condition(s), either {len(conditions)} or {len(conditions) + 1} functions are expected")
    functions = list(funclist)
    result = functions.pop() if len(functions) > len(conditions) else 0
    result = _of(call, result, v, args, named)
    for condition, f in zip(conditions, functions):
        result = elementwise.where(condition, _of(call, f, v, args, named), result)
    return elementwise.cast(e, result, v.dtype)


def _of(call: Callable, f, v: Value, args, named):
    return f if isinstance(f, Value) or is_size(f) or is_number(f) else call(f, [v, *args], named)


def apply_along_axis(call: Callable, e: Any, func1d, axis, arr, *args, **named):
    """One call for each row, written out."""
    v = e.settled(arr)
    axis = arrays.normal(axis, v.ndim)
    others = [known("apply_along_axis", v.shape[k], "the number of rows") for k in range(v.ndim) if k != axis]
    if (calls := int(np.prod(others))) > MOST_CALLS:
        raise NotImplementedError(f"np.apply_along_axis with {calls} calls, each of which would be written out: write a loop")
    rows = []
    for index in np.ndindex(*others):
        key = [*index[:axis], slice(None), *index[axis:]]
        rows.append(value_of(call(func1d, [arrays.subscript(e, v, tuple(key)), *args], named)))
    stacked = arrays.stack(e, rows)
    made = arrays.reshape(e, stacked, (*others, *stacked.shape[1:]))
    more = stacked.ndim - 1  # dimensions of each result: they stand where the axis was
    order = [*range(axis), *range(len(others), len(others) + more), *range(axis, len(others))]
    return arrays.transpose(made, order)


def fromfunction(call: Callable, e: Any, function, shape, *, dtype=float, **named):
    shape = [e.size_of(s) for s in shape]
    places = [_place(shape, k, dtype, e) for k in range(len(shape))]
    return call(function, places, named)


def _place(shape: list, k: int, dtype, e: Any) -> Value:
    return elementwise.cast(e, Value(np.int64, shape, lambda i: f"i64({i[k]})"), dtype)


CALLING = {np.piecewise: piecewise, np.apply_along_axis: apply_along_axis, np.fromfunction: fromfunction}
