"""What leaves NaN out: nansum, nanmean and their like."""

from __future__ import annotations

import numpy as np

from . import elementwise
from .derived import do, floats, op
from .functions import FUNCTIONS, handles


def _without(e, a, number):
    v = e.settled(a)
    return v if v.dtype.kind not in "fc" else elementwise.where(op(e, "isnan", v), number, v)


@handles(np.nansum)
def nansum(e, a, axis=None, dtype=None, *, keepdims=False):
    return do(e, np.sum, _without(e, a, 0.0), axis, dtype, keepdims=keepdims)


@handles(np.nanprod)
def nanprod(e, a, axis=None, dtype=None, *, keepdims=False):
    return do(e, np.prod, _without(e, a, 1.0), axis, dtype, keepdims=keepdims)


@handles(np.nancumsum)
def nancumsum(e, a, axis=None):
    return do(e, np.cumsum, _without(e, a, 0.0), axis)


def _zero_for_nan(e, v, of):
    return elementwise.where(op(e, "isnan", of), 0.0, v)


def _counted(e, v, axis, keepdims, dtype=None):
    return do(e, np.sum, elementwise.cast(e, op(e, "equal", v, v), dtype or v.dtype), axis, keepdims=keepdims)


@handles(np.nanmean)
def nanmean(e, a, axis=None, *, keepdims=False):
    v = e.settled(floats(e, a))
    return op(e, "divide", nansum(e, v, axis, keepdims=keepdims), _counted(e, v, axis, keepdims))


@handles(np.nanvar)
def nanvar(e, a, axis=None, *, ddof=0, keepdims=False):
    v = e.settled(floats(e, a))
    gap = e.settled(_zero_for_nan(e, op(e, "subtract", v, e.settled(nanmean(e, v, axis, keepdims=True))), v))
    gap = e.settled(op(e, "absolute", gap)) if gap.dtype.kind == "c" else gap
    total = do(e, np.sum, op(e, "multiply", gap, gap), axis, keepdims=keepdims)
    free = op(e, "subtract", _counted(e, v, axis, keepdims, gap.dtype), ddof)
    return op(e, "divide", total, elementwise.where(op(e, "greater", free, 0), free, np.nan))


@handles(np.nanstd)
def nanstd(e, a, axis=None, *, ddof=0, keepdims=False):
    return op(e, "sqrt", nanvar(e, a, axis, ddof=ddof, keepdims=keepdims))


def _nan_extreme(function, outside):
    def handler(e, a, axis=None, *, keepdims=False):
        v = e.settled(a)
        if v.dtype.kind != "f":
            return do(e, function, v, axis, keepdims=keepdims)
        found = do(e, function, _without(e, v, outside), axis, keepdims=keepdims)
        return elementwise.where(op(e, "equal", _counted(e, v, axis, keepdims), 0), np.nan, found)
    return handler


FUNCTIONS[np.nanmax], FUNCTIONS[np.nanmin] = _nan_extreme(np.max, -np.inf), _nan_extreme(np.min, np.inf)


def _nan_place(function, outside):
    """The first place where the number is no NaN, as NumPy's; it raises where there is none, and a program gives 0."""
    def handler(e, a, axis=None, *, keepdims=False):
        v = e.settled(a)
        return do(e, function, _without(e, v, outside), axis, keepdims=keepdims)
    return handler


FUNCTIONS[np.nanargmax], FUNCTIONS[np.nanargmin] = _nan_place(np.argmax, -np.inf), _nan_place(np.argmin, np.inf)


@handles(np.nancumprod)
def nancumprod(e, a, axis=None):
    return do(e, np.cumprod, _without(e, a, 1.0), axis)
