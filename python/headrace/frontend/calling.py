"""NumPy's functions that call a function of the user's."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from . import arrays, elementwise
from .derived import known
from .errors import Refused
from .functions import FUNCTIONS
from .ranges import Rows
from .sizes import Size, is_size
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


def in_order(call: Callable, e: Any, items, /, *, key=None, reverse=False):
    """sorted(): by keys that are known, or all of an array."""
    if isinstance(items, Value) and key is None:
        made = FUNCTIONS[np.sort](e, items)
        return FUNCTIONS[np.flip](e, made) if reverse else made
    found = _listed(e, "sorted", items)
    keys = [k if key is None else call(key, [k], {}) for k in found]
    if any(isinstance(part, (Value, Size)) for k in keys for part in _columns(k)):
        return _sorted_by_data(e, found, keys, reverse)
    return [found[k] for k in sorted(range(len(found)), key=keys.__getitem__, reverse=reverse)]


def _columns(item) -> tuple:
    return item if isinstance(item, tuple) else (item,)


def _as_columns(e: Any, what: str, *lists: list) -> list[list[Value]]:
    """An array for each place of numbers, or of tuples of as many, in these lists."""
    made = []
    for some in lists:
        rows = list(map(_columns, some))
        if not all(len(r) == len(rows[0]) and all(is_number(x) or is_size(x) or isinstance(x, Value) and not x.ndim for x in r) for r in rows):
            raise Refused(f"{what}() of what is no number, or by that", "np.sort, np.argsort and np.argmax are of arrays")
        made.append([FUNCTIONS[np.array](e, list(column)) for column in zip(*rows)])
    return made


def _at(e: Any, columns: list[Value], like: Any, k: Any) -> Any:
    made = tuple(arrays.subscript(e, column, k) for column in columns)
    return made if isinstance(like, tuple) else made[0]


def _sorted_by_data(e: Any, found: list, keys: list, reverse: bool) -> list:
    """What is equal stays in its order."""
    columns, by = _as_columns(e, "sorted", found, keys)
    if reverse:  # the last first, and that backwards
        by = [FUNCTIONS[np.flip](e, column) for column in by]
    order = FUNCTIONS[np.lexsort](e, tuple(by[::-1]))
    if reverse:
        order = elementwise.apply(e, "subtract", len(found) - 1, FUNCTIONS[np.flip](e, order))
    order = e.settled(order)
    columns = [e.settled(arrays.subscript(e, column, order)) for column in columns]
    return [_at(e, columns, found[0], k) for k in range(len(found))]


def _extreme(name: str, function: Callable) -> Callable:
    def handler(call: Callable, e: Any, /, *items, key, **named):
        """max and min: the first whose key is the largest, or smallest."""
        if key is None:
            return call(function, list(items), named)
        found = _listed(e, name, items[0]) if len(items) == 1 else list(items)
        keys = [call(key, [x], {}) for x in found]
        if not any(isinstance(part, (Value, Size)) for k in keys for part in _columns(k)):
            return found[function(range(len(found)), key=keys.__getitem__)] if found else function(found, **named)
        columns, (by, *more) = _as_columns(e, name, found, keys)
        if more:
            raise Refused(f"{name}() by several numbers", "sorted(…) has the first and the last")
        return _at(e, [e.settled(column) for column in columns], found[0], FUNCTIONS[np.argmax if name == "max" else np.argmin](e, by))
    return handler


def _listed(e: Any, name: str, items: Any) -> list:
    if isinstance(items, Value):
        return [arrays.subscript(e, items, k) for k in range(known(name, items.shape[0]))]
    return [items[k] for k in range(known(name, items.size))] if isinstance(items, Rows) else list(items)


def fromfunction(call: Callable, e: Any, function, shape, *, dtype=float, **named):
    shape = [e.size_of(s) for s in shape]
    places = [_place(shape, k, dtype, e) for k in range(len(shape))]
    return call(function, places, named)


def _place(shape: list, k: int, dtype, e: Any) -> Value:
    return elementwise.cast(e, Value(np.int64, shape, lambda i: f"i64({i[k]})"), dtype)


BY_KEY = {sorted: in_order, max: _extreme("max", max), min: _extreme("min", min)}
CALLING = {sorted: in_order, np.piecewise: piecewise, np.apply_along_axis: apply_along_axis, np.fromfunction: fromfunction}
