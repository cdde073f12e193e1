"""Sorting and what it gives: medians, quantiles. One library node, onnx.TopK of all elements; NaN comes last, as in NumPy."""

from __future__ import annotations

import numpy as np

from . import arrays, elementwise
from .derived import along, do, floats, op
from .emitter import Emitter
from .errors import NeedsNumbers
from .functions import METHODS, handles
from .sizes import minimum, product
from .values import Array, Value, number_text, typed_number, value_of


def ordered(e: Emitter, name: str, a, axis, least=None) -> tuple[Value, Value, int]:
    """The elements in ascending order along `axis`, where they were, and the axis; equal ones keep their order. `least`: so many of the
    smallest, in any order."""
    v = value_of(a)
    if axis is None:
        v, axis = do(e, np.ravel, v), 0
    axis = arrays.normal(axis, v.ndim)
    if v.dtype.kind == "c":
        raise NotImplementedError(f"np.{name} of complex numbers, which have no order in programs: take real, imag or abs")
    if v.shape[axis] == 0:
        return v if isinstance(v, Array) else e.materialize(v), elementwise.cast(e, v, np.int64), axis
    dtype = v.dtype
    taken = v if dtype.kind != "b" else elementwise.cast(e, v, np.uint8)
    if not isinstance(taken, Array) or not taken.whole:
        taken = e.materialize(taken, "unsorted")
    if not taken.whole:
        raise NeedsNumbers(v.shape, f"np.{name} of an array whose size a loop changes")
    count = e.transient(np.int64, [1], "count")
    e.fill(count, v.shape[axis] if least is None else least)
    shape = [s if least is None or d != axis else least for d, s in enumerate(v.shape)]
    values, places = e.transient(taken.dtype, shape, "sorted"), e.transient(np.int64, shape, "order")
    e.node(f"onnx.TopK{{axis = {axis}, largest = 0, sorted = {int(least is None)}}}(X = {taken.name}, K = {count.name}) -> (Values = {values.name}, "
           f"Indices = {places.name})", [taken.root, count.root], values)
    e.changed(values, places)
    return (values if dtype.kind != "b" else elementwise.cast(e, values, bool)), places, axis


@handles(np.sort)
def sort(e, a, axis=-1, kind=None, order=None, *, stable=None):
    if order is not None:
        raise NotImplementedError("np.sort by fields")
    return ordered(e, "sort", a, axis)[0]


@handles(np.argsort)
def argsort(e, a, axis=-1, kind=None, order=None, *, stable=None):
    """Stable, whatever `kind` is: NumPy leaves the order of equal elements open."""
    return ordered(e, "argsort", a, axis)[1]


@handles(np.lexsort)
def lexsort(e, keys, axis=-1):
    """By the last key, equal ones by the one before it, and so on."""
    keys = [e.settled(k) for k in (keys if isinstance(keys, (tuple, list)) else [arrays.subscript(e, keys, k) for k in range(value_of(keys).shape[0])])]
    if any(k.ndim != 1 for k in keys):
        raise NotImplementedError("np.lexsort of keys of several dimensions")
    order = argsort(e, keys[0])
    for key in keys[1:]:
        order = do(e, np.take, order, argsort(e, do(e, np.take, key, order)))
    return order


def _sort_in_place(e, a, axis=-1, kind=None, order=None, *, stable=None):
    e.store(a, sort(e, a, axis, kind, order))


METHODS["sort"] = _sort_in_place


def _quantile(e: Emitter, values: Value, k: int, q, dtype: np.dtype) -> Value:
    """Of values in order along axis k, weighed in `dtype`."""
    n = values.shape[k]
    # Between the two elements around q (n - 1).
    at = op(e, "multiply", q, elementwise.cast(e, op(e, "subtract", n, 1), np.float64))
    at = e.materialize(elementwise.cast(e, at, np.float64), "at")
    low = e.materialize(elementwise.cast(e, op(e, "floor", at), np.int64), "low")
    high = e.materialize(op(e, "minimum", op(e, "add", low, 1), op(e, "subtract", n, 1)), "high")
    pick = lambda i: along(e, values, k, e.size_of(i))  # noqa: E731
    a0, a1 = e.settled(pick(low)), e.settled(pick(high))
    part = elementwise.cast(e, op(e, "subtract", at, low), dtype)
    made = op(e, "add", a0, op(e, "multiply", op(e, "subtract", a1, a0), part))
    return elementwise.where(op(e, "isnan", e.settled(along(e, values, k, -1))), np.nan, made)  # NaN is the last one


def _selected(e: Emitter, name: str, v: Value, k: int, q: float) -> Value:
    """The same for one known q of a known number of elements, which needn't be in order: the smallest ones decide."""
    n = v.shape[k]
    low = int(q * (n - 1))
    values, _, _ = ordered(e, name, v, k, min(low + 2, n))
    before, most = _two_largest(e, values, k)
    part = elementwise.cast(e, q * (n - 1) - low, values.dtype)
    made = most if low + 2 > n else op(e, "add", before, op(e, "multiply", op(e, "subtract", most, before), part))
    return along(e, elementwise.where(do(e, np.any, op(e, "isnan", v), k, keepdims=True), np.nan, made), k, 0)


def _two_largest(e: Emitter, values: Value, k: int) -> tuple[Value, Value]:
    """Along axis k, the second (-inf of one element) and the first."""
    place = e.settled(do(e, np.argmax, values, k, keepdims=True))
    most = e.settled(_at_places(values, place, k))
    others = Value(values.dtype, values.shape, lambda i: f"({place.at([x if d != k else '0' for d, x in enumerate(i)])} == {i[k]} ? -inf : {values.at(i)})")
    return e.settled(do(e, np.max, others, k, keepdims=True)), most


def _nan_quantile(e: Emitter, values: Value, k: int, q, dtype: np.dtype) -> Value:
    """Of the numbers among values in order along axis k, behind which NaN stand."""
    n = e.materialize(do(e, np.sum, elementwise.cast(e, op(e, "equal", values, values), np.int64), k), "numbers")
    at = e.materialize(op(e, "multiply", q, elementwise.cast(e, op(e, "subtract", n, 1), np.float64)), "at")
    low = e.materialize(op(e, "maximum", elementwise.cast(e, op(e, "floor", at), np.int64), 0), "low")
    a0, a1 = _beside(e, values, k, low, n)
    part = elementwise.cast(e, op(e, "subtract", at, low), dtype)
    made = op(e, "add", a0, op(e, "multiply", op(e, "subtract", a1, a0), part))
    return elementwise.where(op(e, "equal", n, 0), np.nan, made)


def _beside(e: Emitter, values: Value, k: int, low: Value, n: Value) -> list[Value]:
    """Along axis k the elements at `low` and behind it, each row's own, of n that count."""
    last = op(e, "maximum", op(e, "subtract", n, 1), 0)
    high = e.materialize(op(e, "minimum", op(e, "add", low, 1), last), "high")
    places = [arrays.keep_dims(p, [k], values.ndim) for p in (low, high)]
    return [e.settled(along(e, e.settled(_at_places(values, p, k)), k, 0)) for p in places]


def _nan_median(e: Emitter, values: Value, k: int, q, dtype: np.dtype) -> Value:
    n = e.materialize(do(e, np.sum, elementwise.cast(e, op(e, "equal", values, values), np.int64), k), "numbers")
    low = e.materialize(op(e, "floor_divide", op(e, "maximum", op(e, "subtract", n, 1), 0), 2), "low")
    a0, a1 = _beside(e, values, k, low, n)
    both = op(e, "add", op(e, "multiply", a0, 0.5), op(e, "multiply", a1, 0.5))
    made = elementwise.where(op(e, "equal", op(e, "remainder", n, 2), 0), both, a0)
    return elementwise.where(op(e, "equal", n, 0), np.nan, made)


def _each_q(e: Emitter, name: str, a, q, axis, keepdims: bool, scale: float, of=_quantile):
    """For several q, as many results along a first dimension. `of`: one result, of values in order."""
    if isinstance(q, Value) and q.ndim:
        if q.ndim > 1 or not isinstance(q.shape[0], int):
            raise NotImplementedError(f"np.{name} for q of another kind than one number or a known number of them")
        q = [arrays.subscript(e, q, k) for k in range(q.shape[0])]
    v, k, axes, ndim = _one_axis(e, a, axis)
    if of is _quantile and isinstance(q, (int, float)) and 0 <= q <= scale and isinstance(v.shape[k], int) and v.shape[k] > 0:
        made = _selected(e, name, v, k, q / scale)
        return arrays.keep_dims(made, axes, ndim) if keepdims else made
    values = ordered(e, name, v, k)[0]
    several = isinstance(q, (list, tuple))
    dtype = values.dtype
    if several:  # an array of q has a type, unlike a number
        given = np.result_type(*(value_of(x).dtype for x in q))
        dtype = np.result_type(dtype, given) if given.kind == "f" else dtype if scale == 1 else np.result_type(dtype, np.float64)
    made = [of(e, values, k, one if scale == 1 else op(e, "divide", one, scale), dtype) for one in (q if several else [q])]
    made = [arrays.keep_dims(m, axes, ndim) if keepdims else m for m in made]
    return do(e, np.stack, made) if several else made[0]


def _one_axis(e: Emitter, a, axis) -> tuple[Value, int, list[int], int]:
    """The array with the axes as one, its place, and which they were of how many."""
    v = floats(e, a)
    axes = arrays.axes_of(axis, v.ndim)
    if len(axes) == 1:
        return v, axes[0], axes, v.ndim
    others = [k for k in range(v.ndim) if k not in axes]
    moved = v if not others else arrays.transpose(v, [*others, *sorted(axes)])
    return arrays.reshape(e, moved, [*(v.shape[k] for k in others), product(v.shape[k] for k in axes)]), len(others), axes, v.ndim


@handles(np.quantile)
def quantile(e, a, q, axis=None, *, keepdims=False):
    return _each_q(e, "quantile", a, q, axis, keepdims, 1)


@handles(np.percentile)
def percentile(e, a, q, axis=None, *, keepdims=False):
    return _each_q(e, "percentile", a, q, axis, keepdims, 100.0)


@handles(np.nanquantile)
def nanquantile(e, a, q, axis=None, *, keepdims=False):
    return _each_q(e, "nanquantile", a, q, axis, keepdims, 1, _nan_quantile)


@handles(np.nanpercentile)
def nanpercentile(e, a, q, axis=None, *, keepdims=False):
    return _each_q(e, "nanpercentile", a, q, axis, keepdims, 100.0, _nan_quantile)


@handles(np.nanmedian)
def nanmedian(e, a, axis=None, *, keepdims=False):
    return _each_q(e, "nanmedian", a, 0.5, axis, keepdims, 1, _nan_median)


def _at_places(values: Value, place: Value, k: int) -> Value:
    """np.take_along_axis; NaN where there is no such element."""
    nothing = typed_number(np.nan, values.dtype)
    return Value(values.dtype, place.shape, lambda i: f"({values.at([place.at(i) if d == k else x for d, x in enumerate(i)])} ?? {nothing})")


@handles(np.median)
def median(e, a, axis=None, *, keepdims=False):
    """Of n // 2 + 1 elements, the smallest in any order: the largest, or its mean with the one before it."""
    v, k, axes, ndim = _one_axis(e, a, axis)
    n = v.shape[k]
    if n == 0:
        made = Value(v.dtype, [s for d, s in enumerate(v.shape) if d != k], lambda i: number_text(np.nan, v.dtype))
        return arrays.keep_dims(made, axes, ndim) if keepdims else made
    values, _, _ = ordered(e, "median", v, k, minimum(n // 2 + 1, n))
    before, most = _two_largest(e, values, k)
    mean = op(e, "add", *(op(e, "multiply", x, elementwise.cast(e, 0.5, values.dtype)) for x in (before, most)))
    made = elementwise.where(op(e, "equal", op(e, "remainder", n, 2), 0), mean, most)
    made = along(e, elementwise.where(do(e, np.any, op(e, "isnan", v), k, keepdims=True), np.nan, made), k, 0)
    return arrays.keep_dims(made, axes, ndim) if keepdims else made
