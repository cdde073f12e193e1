"""Arrays joined to one: lists and numbers among them are arrays, too."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import arrays, elementwise
from .creation import array
from .derived import do
from .emitter import Emitter
from .errors import Refused
from .functions import handles
from .values import Value, value_of


def _arrays(e: Emitter, parts: Any) -> list[Value]:
    if isinstance(parts, Value):
        if not parts.ndim or not isinstance(parts.shape[0], int):
            raise TypeError("of arrays only those whose first size is a number are joined part by part")
        parts = [arrays.subscript(e, parts, k) for k in range(parts.shape[0])]
    return [value_of(array(e, p) if isinstance(p, (list, tuple)) else p) for p in parts]


@handles(np.concatenate)
def concatenate(e: Emitter, parts, axis=0):
    found = _arrays(e, parts)
    if axis is None:
        found, axis = [do(e, np.ravel, p) for p in found], 0
    return arrays.concatenate(e, found, axis)


@handles(np.hstack)
def hstack(e: Emitter, parts):
    found = [do(e, np.atleast_1d, p) for p in _arrays(e, parts)]
    return arrays.concatenate(e, found, 0 if found[0].ndim == 1 else 1)


@handles(np.vstack)
def vstack(e: Emitter, parts):
    return arrays.concatenate(e, [do(e, np.atleast_2d, p) for p in _arrays(e, parts)], 0)


def by_subscript(e: Emitter, base: Any, key: Any) -> Value:
    """np.r_[key] and np.c_[key]."""
    found = [_range(e, k) if isinstance(k, slice) else k for k in (key if isinstance(key, tuple) else (key,))]
    if any(isinstance(k, str) for k in found):
        raise Refused("np.r_ and np.c_ with a text that says how", "use np.concatenate or np.stack")
    found = _arrays(e, found)
    dtype = np.result_type(*[p.dtype.type(0).item() if p.weak and not p.ndim else p.dtype for p in found])  # Python's numbers follow arrays
    found = [elementwise.cast(e, do(e, np.atleast_1d, p), dtype) for p in found]
    return do(e, np.concatenate, found) if base is np.r_ else do(e, np.column_stack, found)


def _range(e: Emitter, k: slice) -> Value:
    if isinstance(k.step, complex):
        raise Refused("np.r_ and np.c_ with a number of points", "use np.linspace")
    return do(e, np.arange, 0 if k.start is None else k.start, k.stop, 1 if k.step is None else k.step)
