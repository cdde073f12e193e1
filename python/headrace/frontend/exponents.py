"""Floats as fractions times powers of two."""

from __future__ import annotations

import numpy as np

from . import elementwise
from .derived import do, floats, op
from .emitter import Emitter
from .functions import handles
from .values import Value


@handles(np.ldexp)
def ldexp(e: Emitter, x1, x2):
    """By three powers of two, each of which is a float: one alone may be none where the product is."""
    v = floats(e, x1)
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
