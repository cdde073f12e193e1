"""Integers and what counts: greatest common divisors, how often values occur, and which there are."""

from __future__ import annotations

import numpy as np

from . import arrays, elementwise, gathers, selections
from .derived import do, op
from .emitter import Emitter
from .functions import handles
from .ordering import ordered
from .values import Value, broadcast, broadcast_shapes, is_number, value_of


def _integers(name: str, *given) -> list[Value]:
    values = [value_of(v) for v in given]
    if any(v.dtype.kind not in "iub" for v in values):
        raise TypeError(f"np.{name} takes integers, not {', '.join(str(v.dtype) for v in values)}")
    return values


def _divisor(e: Emitter, name: str, x1, x2) -> tuple[Value, Value, Value]:
    """Euclid's algorithm on all elements at once, for as long as one of them goes on; the absolute values, too."""
    a, b = _integers(name, x1, x2)
    dtype = op(e, "add", x1, x2).dtype
    shape = broadcast_shapes(a.shape, b.shape)
    x, y = (e.materialize(op(e, "absolute", elementwise.cast(e, broadcast(v, shape), dtype)), "whole") for v in (a, b))
    high, low = e.materialize(x, "divisor"), e.materialize(y, "rest")
    left = e.transient(np.int64, (), "left")

    def look() -> None:
        e.write(left, [], "i64(0)")
        e.maps(shape, lambda i: e.write(left, [], f"({e.expression(low, i, dtype)} != 0 ? i64(1) : i64(0))", "max="))

    with e.rebinding():
        look()
        e.read.add(left.name)
        with e.block(f"while {left.name} > 0"):
            rest = e.materialize(Value(dtype, shape, lambda i: f"({low.at(i)} != 0 ? {high.at(i)} % {low.at(i)} : {low.at(i)})"), "remainder")
            e.maps(shape, lambda i: e.write(high, i, f"({low.at(i)} != 0 ? {low.at(i)} : {high.at(i)})"))
            e.maps(shape, lambda i: e.write(low, i, e.expression(rest, i, dtype)))
            look()
    return high, x, y


@handles(np.gcd)
def gcd(e: Emitter, x1, x2):
    found, *_ = _divisor(e, "gcd", x1, x2)
    return op(e, "absolute", found) if found.dtype.kind == "i" else found


@handles(np.lcm)
def lcm(e: Emitter, x1, x2):
    divisor, x, y = _divisor(e, "lcm", x1, x2)
    return Value(divisor.dtype, divisor.shape,  # an integer divided by zero is 0
                 lambda i: f"({divisor.at(i)} == 0 ? {divisor.at(i)} : {x.at(i)} / {divisor.at(i)} * {y.at(i)})")


@handles(np.bincount)
def bincount(e: Emitter, x, weights=None, minlength=0):
    v, = _integers("bincount", x)
    if v.ndim != 1:
        raise ValueError(f"np.bincount takes arrays of one dimension, not {v.ndim}")
    v = e.materialize(elementwise.cast(e, v, np.int64), "counted")
    least, most = e.reduce(v, [0], "min=", 0, np.int64, "least"), e.reduce(v, [0], "max=", -1, np.int64, "most")
    low, n = e.size_of(least), e.size_of(op(e, "maximum", op(e, "add", most, 1), minlength))
    e.intervals[n.text] = (0, None)
    e.line(f"require {low} >= 0 else \"np.bincount takes no negative numbers, and there is {{}}\", {low}")
    if weights is None:
        out = e.transient(np.int64, (n,), "bins")
        one = lambda i: "i64(1)"  # noqa: E731
    else:
        w = e.settled(elementwise.cast(e, value_of(weights), np.float64))
        if w.shape != v.shape:
            raise ValueError(f"np.bincount of {v.shape[0]} numbers with weights of shape {w.shape}")
        out = e.transient(np.float64, (n,), "bins")
        one = lambda i: e.expression(w, i, np.float64)  # noqa: E731
    with e.rebinding():
        e.fill(out, 0)
        e.maps(v.shape, lambda i: e.write(out, [e.expression(v, i, np.int64)], one(i), "+="))
    return out


@handles(np.unique)
def unique(e: Emitter, ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True, sorted=True):
    if axis is not None:
        raise NotImplementedError("np.unique by an axis: it is of all elements")
    v, order, _ = ordered(e, "unique", ar, None)
    v = e.materialize(v, "all")
    same = (lambda a, b: f"({a} == {b} || {a} != {a} && {b} != {b})") if v.dtype.kind == "f" and equal_nan else lambda a, b: f"{a} == {b}"
    first = e.materialize(Value(np.bool_, v.shape, lambda i: f"({i[0]} == 0 ? true : !({same(v.at(i), v.at([f'max({i[0]} - 1, 0)']))}))"), "first")
    found = [arrays.subscript(e, v, (first,))]
    places, = selections.nonzero(e, first) if return_index or return_counts else (None,)
    if return_index:  # of equal elements the first comes first
        found.append(arrays.subscript(e, order, (places,)))
    if return_inverse:
        found.append(_which(e, first, order, value_of(ar).shape))
    if return_counts:
        found.append(do(e, np.diff, do(e, np.append, places, elementwise.cast(e, v.shape[0], np.int64))))
    return found[0] if len(found) == 1 else tuple(found)


@handles(np.union1d)
def union1d(e: Emitter, ar1, ar2):
    return unique(e, arrays.concatenate(e, [do(e, np.ravel, ar1), do(e, np.ravel, ar2)]))


@handles(np.intersect1d)
def intersect1d(e: Emitter, ar1, ar2):
    return _among(e, ar1, ar2, True)


@handles(np.setdiff1d)
def setdiff1d(e: Emitter, ar1, ar2):
    return _among(e, ar1, ar2, False)


def _among(e: Emitter, ar1, ar2, wanted: bool):
    """The different elements of the first that are, or are not, in the second."""
    found = e.settled(value_of(unique(e, ar1)).place())
    inside = do(e, np.isin, found, ar2)
    return arrays.subscript(e, found, (inside if wanted else op(e, "logical_not", inside),))


def _which(e: Emitter, first: Value, order: Value, shape) -> Value:
    """For each element the place of its value among the different ones."""
    which = e.transient(np.int64, first.shape, "inverse")
    number = op(e, "subtract", do(e, np.cumsum, first), 1)
    gathers.scatter(e, which, order, number)
    return arrays.reshape(e, which, shape)


@handles(np.argwhere)
def argwhere(e: Emitter, a):
    v = value_of(a)
    places = selections.nonzero(e, v)
    return do(e, np.stack, places, 1)


@handles(np.unravel_index)
def unravel_index(e: Emitter, indices, shape):
    rest, found = value_of(indices), []
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    for size in reversed(sizes[1:]):
        rest = e.settled(rest)
        found.append(op(e, "remainder", rest, size))
        rest = op(e, "floor_divide", rest, size)
    return (rest, *reversed(found))


# ---- what NumPy leaves open: any order around the k-th element ----
@handles(np.partition)
def partition(e: Emitter, a, kth, axis=-1):
    """All of it in order, which is one of the orders that NumPy may give."""
    return ordered(e, "partition", a, axis)[0]


@handles(np.argpartition)
def argpartition(e: Emitter, a, kth, axis=-1):
    return ordered(e, "argpartition", a, axis)[1]


@handles(np.unwrap)
def unwrap(e: Emitter, p, discont=None, axis=-1, *, period=2 * np.pi):
    v = value_of(p)
    if v.dtype.kind not in "f" or not is_number(period) or isinstance(period, int):
        raise NotImplementedError(f"np.unwrap of {v.dtype} with period {period!r}: angles and periods are floats")
    axis, half = arrays.normal(axis, v.ndim), period / 2
    steps = e.settled(do(e, np.diff, e.settled(v), axis=axis))
    turned = e.settled(op(e, "subtract", op(e, "remainder", op(e, "add", steps, half), period), half))
    turned = elementwise.where(op(e, "logical_and", op(e, "equal", turned, -half), op(e, "greater", steps, 0)), half, turned)
    least = half if discont is None else op(e, "maximum", discont, half)
    moved = elementwise.where(op(e, "less", op(e, "absolute", steps), least), 0.0, op(e, "subtract", turned, steps))
    borders = [(0, 0)] * v.ndim
    borders[axis] = (1, 0)
    return op(e, "add", v, do(e, np.cumsum, do(e, np.pad, e.settled(moved), tuple(borders)), axis))
