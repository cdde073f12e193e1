"""Floats as fractions times powers of two."""

from __future__ import annotations

import numpy as np

from . import elementwise
from .derived import do, floats, op
from .emitter import Emitter
from .functions import handles
from .values import Value, value_of


@handles(np.ldexp)
def ldexp(e: Emitter, x1, x2):
    """By three powers of two, each of which is a float: one alone may be none where the product is."""
    v = floats(e, x1)
    if v.dtype == np.float16:  # whose own powers of two are too few
        return elementwise.cast(e, ldexp(e, elementwise.cast(e, v, np.float32), x2), np.float16)
    most, left = np.finfo(v.dtype).maxexp - 24, e.settled(x2)
    for last in (False, False, True):
        part = e.settled(do(e, np.clip, left, -most, most))
        v = op(e, "multiply", v, _two_to(e, part, v.dtype))
        left = left if last else e.settled(op(e, "subtract", left, part))
    return v


def _two_to(e: Emitter, k, dtype: np.dtype) -> Value:
    return op(e, "exp2", elementwise.cast(e, k, dtype))


@handles(np.frexp)
def frexp(e: Emitter, x):
    """(m, k) with x = m·2^k and 1/2 <= |m| < 1; k is 0 of zeros, infinities and NaN."""
    v = e.settled(floats(e, x))
    if v.dtype == np.float16:
        m, k = frexp(e, elementwise.cast(e, v, np.float32))
        return elementwise.cast(e, m, np.float16), k
    info = np.finfo(v.dtype)
    ordinary = e.settled(op(e, "logical_and", op(e, "isfinite", v), op(e, "not_equal", v, 0)))
    small = e.settled(op(e, "less", op(e, "absolute", v), float(info.tiny)))  # their logarithms are not exact enough
    moved = elementwise.where(small, op(e, "multiply", v, 2.0 ** (info.nmant + 2)), v)
    moved = e.settled(elementwise.where(ordinary, moved, elementwise.cast(e, 1.0, v.dtype)))
    k = e.settled(op(e, "add", elementwise.cast(e, op(e, "floor", op(e, "log2", op(e, "absolute", moved))), np.int32), np.int32(1)))
    m = e.settled(ldexp(e, moved, op(e, "negative", k)))
    length = e.settled(op(e, "absolute", m))  # the logarithm beside a power of two may be its own
    by = e.settled(elementwise.where(op(e, "greater_equal", length, 1), np.int32(1), elementwise.where(op(e, "less", length, 0.5), np.int32(-1), np.int32(0))))
    m = op(e, "multiply", m, elementwise.where(op(e, "equal", by, 1), 0.5, elementwise.where(op(e, "equal", by, -1), 2.0, 1.0)))
    k = op(e, "subtract", op(e, "add", k, by), elementwise.where(small, np.int32(info.nmant + 2), np.int32(0)))
    return (e.materialize(elementwise.where(ordinary, elementwise.cast(e, m, v.dtype), v), "fraction"),
            e.materialize(elementwise.where(ordinary, k, np.int32(0)), "exponent"))


@handles(np.nextafter)
def nextafter(e: Emitter, x1, x2):
    """The float beside x1 on the way to x2: a unit in the last place away, half of one below a power of two."""
    dtype = elementwise.result_type("arctan2", value_of(x1), value_of(x2))
    v, to = (e.settled(elementwise.cast(e, floats(e, x), dtype)) for x in (x1, x2))
    info = np.finfo(dtype)
    m, k = frexp(e, v)
    shrinks = op(e, "equal", op(e, "less", to, v), op(e, "greater", v, 0))
    halves = op(e, "logical_and", shrinks, op(e, "equal", op(e, "absolute", m), 0.5))
    k = op(e, "subtract", k, elementwise.where(halves, np.int32(info.nmant + 2), np.int32(info.nmant + 1)))
    least = np.int32(info.minexp - info.nmant)
    k = e.settled(elementwise.where(op(e, "equal", v, 0), least, op(e, "maximum", k, least)))
    step = e.settled(ldexp(e, elementwise.cast(e, 1.0, dtype), k))
    moved = elementwise.where(op(e, "greater", to, v), op(e, "add", v, step), op(e, "subtract", v, step))
    moved = e.settled(moved)
    moved = op(e, "copysign", moved, elementwise.where(op(e, "equal", v, 0), moved, v))  # a zero is v's
    moved = elementwise.where(op(e, "isinf", v), op(e, "copysign", dtype.type(info.max), v), moved)
    moved = elementwise.where(op(e, "equal", v, to), to, moved)
    return elementwise.where(op(e, "logical_or", op(e, "isnan", v), op(e, "isnan", to)), op(e, "add", v, to), moved)
