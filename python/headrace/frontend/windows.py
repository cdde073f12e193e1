"""Parts of arrays that overlap, and places by their numbers: windows, diagonals, np.ix_, np.put, np.copyto."""

from __future__ import annotations

import numpy as np

from . import arrays, creation, elementwise, gathers
from .derived import do, known
from .emitter import Emitter
from .functions import handles
from .sizes import atom, minimum
from .values import Array, Dim, Value, show, value_of


@handles(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(e: Emitter, x, window_shape, axis=None):
    """x[i + j]: nothing is copied."""
    v = e.settled(x)
    windows = list(window_shape) if isinstance(window_shape, (tuple, list)) else [window_shape]
    axes = arrays.axes_of(axis, v.ndim)
    if len(windows) != len(axes):
        raise ValueError(f"sliding_window_view: {len(windows)} sizes of windows for {len(axes)} axes")
    shape = list(v.shape)
    for k, w in zip(axes, windows):
        shape[k] = shape[k] - e.size_of(w) + 1
        if isinstance(shape[k], int) and shape[k] <= 0:
            raise ValueError("window shape cannot be larger than input array shape")

    shape += map(e.size_of, windows)
    if isinstance(v, Array):
        more = {k: v.ndim + n for n, k in enumerate(axes)}
        terms = [[t for of, step in d.terms for t in ((of, step), *([(more[of], step)] if of in more else []))] for d in v.dims]
        return v.view(shape, [Dim.of_terms(d.begin, t) for d, t in zip(v.dims, terms)]).fixed()

    def at(i):
        inner = dict(zip(axes, i[v.ndim:]))
        return v.at([f"{i[k]} + {inner[k]}" if k in inner else i[k] for k in range(v.ndim)])

    return Value(v.dtype, shape, at)


@handles(np.ix_)
def ix_(e: Emitter, *args):
    """One array of indices for each dimension, each along its own."""
    made = []
    for k, a in enumerate(args):
        v = do(e, np.flatnonzero, a) if value_of(a).dtype.kind == "b" else value_of(a)
        if v.ndim != 1:
            raise ValueError("np.ix_ takes arrays of one dimension")
        made.append(arrays.keep_dims(v, [n for n in range(len(args)) if n != k], len(args)))
    return tuple(made)


@handles(np.fill_diagonal)
def fill_diagonal(e: Emitter, a, val, wrap=False):
    a = a.place() if isinstance(a, Value) else a
    if not isinstance(a, Array) or a.ndim != 2:
        raise NotImplementedError("np.fill_diagonal of what is no array of two dimensions")
    n = minimum(*a.shape)
    if wrap and a.shape[0] is not n:
        raise NotImplementedError("np.fill_diagonal with wrap=")
    diagonal = a.view((n,), [d.renumbered((0, 0)) for d in a.dims])
    e.store(diagonal, elementwise.cast(e, val, a.dtype))


@handles(np.copyto)
def copyto(e: Emitter, dst, src, *, where=True):
    dst = dst.place() if isinstance(dst, Value) else dst
    if not isinstance(dst, Value):
        raise TypeError("np.copyto writes an array of the program")
    e.store(dst, elementwise.cast(e, src if where is True else elementwise.where(where, src, dst), dst.dtype))


@handles(np.putmask)
def putmask(e: Emitter, a, mask, values):
    v = value_of(values)
    if v.ndim and v.shape != a.shape:
        a, v = value_of(a), do(e, np.ravel, v)
        values = Value(v.dtype, a.shape, lambda i: v.at([f"({arrays.position(i, a.shape)}) % {atom(v.shape[0])}"]))
    copyto(e, a, values, where=mask)


@handles(np.place)
def place(e: Emitter, arr, mask, vals):
    """The elements that the mask chooses get `vals`, one after the other and again from the first."""
    arr, v = value_of(arr), do(e, np.ravel, vals)
    if v.shape[0] == 0:
        raise ValueError("np.place of no values")
    counted = do(e, np.cumsum, elementwise.cast(e, do(e, np.ravel, elementwise.cast(e, value_of(mask), bool)), np.int64))
    before = Value(np.int64, arr.shape, lambda i: f"({counted.at([arrays.position(i, arr.shape)])} - 1)")
    values = Value(v.dtype, arr.shape, lambda i: v.at([f"max({before.at(i)}, 0) % {atom(v.shape[0])}"]))
    copyto(e, arr, values, where=arrays.reshape(e, elementwise.cast(e, value_of(mask), bool), arr.shape))


@handles(np.put)
def put(e: Emitter, a, ind, v, mode="raise"):
    a = a.place() if isinstance(a, Value) else a
    if mode != "raise" or not isinstance(a, Array) or not (a.ndim == 1 or a.whole):
        raise NotImplementedError("np.put with mode=, or into a part of an array")
    ind = creation.array(e, ind) if isinstance(ind, (list, tuple)) else ind
    gathers.scatter(e, a if a.ndim == 1 else arrays.reshape(e, a, -1), (ind,), v)


@handles(np.put_along_axis)
def put_along_axis(e: Emitter, arr, indices, values, axis):
    v, i = arr.place(), value_of(indices)
    axis = arrays.normal(axis, v.ndim)
    key = [i if k == axis else arrays.keep_dims(do(e, np.arange, i.shape[k]), [n for n in range(v.ndim) if n != k], v.ndim) for k in range(v.ndim)]
    gathers.scatter(e, v, tuple(key), values)


@handles(np.choose)
def choose(e: Emitter, a, choices, out=None, mode="raise"):
    if out is not None or mode != "raise":
        raise NotImplementedError("np.choose with out= or mode=")
    parts = list(choices) if isinstance(choices, (list, tuple)) else list(unstack(e, choices))
    place, result = e.settled(a), elementwise.where(True, *parts[:1] * 2)
    for k, part in enumerate(parts[1:], 1):
        result = elementwise.where(elementwise.apply(e, "equal", place, k), part, result)
    return result


@handles(np.indices)
def indices(e: Emitter, dimensions, dtype=int, sparse=False):
    shape = tuple(map(e.size_of, dimensions))
    each = [Value(np.int64, shape, lambda i, k=k: f"i64({i[k]})") for k in range(len(shape))]
    if sparse:
        raise NotImplementedError("np.indices with sparse=: use np.ogrid")
    return elementwise.cast(e, arrays.stack(e, each), dtype)


@handles(np.diag_indices)
def diag_indices(e: Emitter, n, ndim=2):
    return (do(e, np.arange, n),) * ndim


@handles(np.diag_indices_from)
def diag_indices_from(e: Emitter, arr):
    v = value_of(arr)
    if v.ndim < 2 or any(s != v.shape[0] for s in v.shape):
        raise ValueError(f"np.diag_indices_from of an array of shape {show(v.shape)}, which is not square")
    return diag_indices(e, v.shape[0], v.ndim)


def _triangle(function, name: str):
    def handler(e: Emitter, n, k=0, m=None):
        return tuple(value_of(creation.array(e, part.tolist(), part.dtype))
                     for part in function(known(name, n), k, m if m is None else known(name, m)))
    return handler


for _name in ("tril_indices", "triu_indices"):
    handles(getattr(np, _name))(_triangle(getattr(np, _name), _name))
    handles(getattr(np, _name + "_from"))(
        lambda e, arr, k=0, _f=_triangle(getattr(np, _name), _name): _f(e, arr.shape[-2], k, arr.shape[-1]))


@handles(np.unstack)
def unstack(e: Emitter, x, axis=0):
    v = value_of(x)
    axis = arrays.normal(axis, v.ndim)
    return tuple(arrays.subscript(e, v, (slice(None),) * axis + (k,)) for k in range(known("unstack", v.shape[axis])))
