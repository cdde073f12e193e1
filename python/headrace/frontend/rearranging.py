"""NumPy's functions that put elements elsewhere: borders, tiles, parts, joins; elements at places, and the places of numbers."""

from __future__ import annotations

import numpy as np

from . import arrays, creation, elementwise
from .derived import MANY, along, do, floats, known, one_dimension, op
from .errors import NeedsNumber
from .functions import handles, shape_of
from .sizes import Size, minimum, scaled
from .values import Array, Dim, Part, Value, broadcast, broadcast_shapes, is_number, typed_number, value_of


# ---- places ----
@handles(np.take)
def take(e, a, indices, axis=None):
    v = value_of(a)
    if axis is None:
        v, axis = do(e, np.ravel, v), 0
    k = indices if isinstance(indices, (int, Size, Value)) else creation.array(e, indices)
    return arrays.subscript(e, v, (slice(None),) * arrays.normal(axis, v.ndim) + (k,))


@handles(np.take_along_axis)
def take_along_axis(e, arr, indices, axis=-1):
    v, k = value_of(arr), value_of(indices)
    if axis is None:
        v, axis = do(e, np.ravel, v), 0
    if v.ndim != k.ndim:
        raise ValueError("np.take_along_axis takes indices of as many dimensions as the array")
    axis = arrays.normal(axis, v.ndim)
    key = []
    for d in range(v.ndim):
        if d == axis:
            key.append(k)
        else:
            places = do(e, np.arange, v.shape[d])
            key.append(arrays.keep_dims(places, [x for x in range(v.ndim) if x != d], v.ndim))
    return arrays.subscript(e, v, tuple(key))


@handles(np.compress)
def compress(e, condition, a, axis=None):
    v = value_of(a)
    if v.ndim != 1 and axis != 0:
        raise NotImplementedError("np.compress of an array of several dimensions: write a[mask]")
    return arrays.subscript(e, v, (value_of(condition),))


@handles(np.extract)
def extract(e, condition, arr):
    return compress(e, condition, arr)


@handles(np.searchsorted)
def searchsorted(e, a, v, side="left"):
    if side not in ("left", "right"):
        raise ValueError(f"np.searchsorted: side is left or right, not {side!r}")
    order, x = one_dimension("searchsorted", e.settled(a)), e.settled(v)
    before = _before("less" if side == "left" else "less_equal")
    n = order.shape[0]
    if x.ndim and isinstance(n, int) and n > MANY:
        return _by_halves(e, order, x, before)
    return do(e, np.sum, elementwise.cast(e, before(e, order, arrays.keep_dims(x, [x.ndim], x.ndim + 1)), np.int64), -1)


def _before(name: str):
    """Whether an element of the order stands before x: NaN comes last."""
    def test(e, a, x):
        before = op(e, name, a, x)
        if x.dtype.kind != "f":
            return before
        last = op(e, "isnan", x) if name == "less_equal" else op(e, "logical_and", op(e, "isnan", x), op(e, "logical_not", op(e, "isnan", a)))
        return op(e, "logical_or", before, last)
    return test


def _by_halves(e, order, x, before):
    """How many elements of the order stand before each of x: more by the largest power of two that fits, then by half of it, and so on."""
    n, count = order.shape[0], do(e, np.zeros, x.shape, np.int64)
    for more in (1 << k for k in reversed(range(n.bit_length()))):
        next_ = op(e, "add", count, more)
        last = arrays.subscript(e, order, (op(e, "subtract", op(e, "minimum", next_, n), 1),))
        fits = op(e, "logical_and", op(e, "less_equal", next_, n), before(e, last, x))
        count = e.materialize(elementwise.where(fits, next_, count), "place")
    return count


@handles(np.digitize)
def digitize(e, x, bins, right=False):
    edges = e.settled(bins)
    v = e.settled(x)
    side = "left" if right else "right"
    up = searchsorted(e, edges, v, side)
    down = op(e, "subtract", edges.shape[0], searchsorted(e, do(e, np.flip, edges), v, side))
    rising = op(e, "less_equal", arrays.subscript(e, edges, (0,)), arrays.subscript(e, edges, (-1,)))
    return elementwise.where(rising, up, down)


@handles(np.interp)
def interp(e, x, xp, fp, left=None, right=None):
    v, places, values = (e.settled(a if value_of(a).dtype.kind == "c" else elementwise.cast(e, a, np.float64)) for a in (x, xp, fp))
    n = one_dimension("interp", places).shape[0]
    last = n - 1
    j = e.materialize(do(e, np.clip, op(e, "subtract", searchsorted(e, places, v, "right"), 1), 0, op(e, "maximum", last - 1, 0)), "place")
    next_ = op(e, "minimum", op(e, "add", j, 1), last)
    at = lambda a, k: arrays.subscript(e, a, (k,))  # noqa: E731
    width = op(e, "subtract", at(places, next_), at(places, j))
    width = elementwise.where(op(e, "equal", width, 0), 1.0, width)  # of one point, or of two at one place
    slope = op(e, "divide", op(e, "subtract", at(values, next_), at(values, j)), width)
    inside = op(e, "add", op(e, "multiply", slope, op(e, "subtract", v, at(places, j))), at(values, j))
    end = lambda a, k: arrays.subscript(e, a, (k,))  # noqa: E731
    made = elementwise.where(op(e, "greater", v, end(places, -1)), end(values, -1) if right is None else right, inside)
    return elementwise.where(op(e, "less", v, end(places, 0)), end(values, 0) if left is None else left, made)


# ---- shapes ----
_SOURCES = {"edge": "clamp({i}, 0, {n} - 1)", "reflect": "reflect({i}, {n})", "wrap": "({i}) % {n}",
            "symmetric": "min(({i}) % (2*{n}), 2*{n} - 1 - ({i}) % (2*{n}))"}


@handles(np.pad)
def pad(e, array, pad_width, mode="constant", constant_values=0):
    v = e.settled(array)
    widths = _widths(e, pad_width, v.ndim)
    shape = [s + before + after for s, (before, after) in zip(v.shape, widths)]
    if mode not in ("constant", *_SOURCES):
        raise NotImplementedError(f"np.pad with mode={mode!r}: there are constant, edge, reflect, symmetric and wrap")
    if mode == "constant":
        if not is_number(constant_values):
            raise NotImplementedError("np.pad with several constant_values")
        number = typed_number(constant_values, v.dtype)

        def at(i):
            inner = [f"({k} - {arrays.atom(b)})" if b != 0 else k for k, (b, _) in zip(i, widths)]
            tests = [t for k, s, (b, a) in zip(inner, v.shape, widths) for t in ([f"{k} >= 0"] if b != 0 else []) + ([f"{k} < {s}"] if a != 0 else [])]
            return f"({' && '.join(tests)} ? {v.at(inner)} : {number})" if tests else v.at(inner)
        return Value(v.dtype, shape, at)

    def moved(k, s, b, a):
        return k if b == 0 and a == 0 else _SOURCES[mode].format(i=f"{k} - {arrays.atom(b)}", n=arrays.atom(s))
    return Value(v.dtype, shape, lambda i: v.at([moved(k, s, b, a) for k, s, (b, a) in zip(i, v.shape, widths)]))


def _widths(e, width, ndim: int) -> list[tuple]:
    if not isinstance(width, (tuple, list)):
        width = [(width, width)]
    elif not isinstance(width[0], (tuple, list)):
        width = [(width[0], width[-1])]
    width = list(width) * (ndim if len(width) == 1 else 1)
    if len(width) != ndim:
        raise ValueError(f"np.pad of {ndim} dimensions by {len(width)} widths")
    made = [(e.size_of(w[0]), e.size_of(w[-1])) for w in width]
    if any(isinstance(s, int) and s < 0 for w in made for s in w):
        raise ValueError("np.pad: widths are not negative")
    return made


@handles(np.tile)
def tile(e, A, reps):
    v = e.settled(A)
    counts = [e.size_of(r) for r in (reps if isinstance(reps, (tuple, list)) else [reps])]
    n = max(v.ndim, len(counts))
    v = arrays.keep_dims(v, range(n - v.ndim), n)
    counts = [1] * (n - len(counts)) + counts
    return Value(v.dtype, [s * c for s, c in zip(v.shape, counts)],
                 lambda i: v.at([k if c == 1 else f"{k} % {arrays.atom(s)}" for k, s, c in zip(i, v.shape, counts)]))


@handles(np.moveaxis)
def moveaxis(e, a, source, destination):
    v = value_of(a)
    one = lambda x: [arrays.normal(k, v.ndim) for k in (x if isinstance(x, (tuple, list)) else (x,))]  # noqa: E731
    taken, places = one(source), one(destination)
    order = [k for k in range(v.ndim) if k not in taken]
    for place, k in sorted(zip(places, taken)):
        order.insert(place, k)
    return arrays.transpose(v, order)


@handles(np.rollaxis)
def rollaxis(e, a, axis, start=0):
    v = value_of(a)
    axis = arrays.normal(axis, v.ndim)
    start = start + v.ndim if start < 0 else start
    return moveaxis(e, v, axis, start - 1 if start > axis else start)


@handles(np.rot90)
def rot90(e, m, k=1, axes=(0, 1)):
    v = value_of(m)
    a, b = (arrays.normal(x, v.ndim) for x in axes)
    for _ in range(k % 4):
        v = do(e, np.swapaxes, do(e, np.flip, v, b), a, b)
    return v


@handles(np.atleast_1d)
def atleast_1d(e, a):
    v = arrays.alone(value_of(a))
    return arrays.keep_dims(v, [0], 1) if v.ndim == 0 else v


@handles(np.atleast_2d)
def atleast_2d(e, a):
    v = arrays.alone(value_of(a))
    return arrays.keep_dims(v, range(2 - v.ndim), 2) if v.ndim < 2 else v


@handles(np.atleast_3d)
def atleast_3d(e, a):
    v = arrays.alone(value_of(a))
    added = {0: [0, 1, 2], 1: [0, 2], 2: [2]}.get(v.ndim)
    return arrays.keep_dims(v, added, 3) if added else v


@handles(np.broadcast_to)
def broadcast_to(e, a, shape):
    """Of an array a view, which nobody may write to."""
    v, shape = arrays.alone(value_of(a)), shape_of(e, shape)
    repeated = broadcast(v, shape)
    if isinstance(v := v.place(), Part):
        return v.like(broadcast_to(e, v.of, shape))
    if not isinstance(v, Array):
        return repeated
    offset = len(shape) - v.ndim
    repeats = {k for k, size in enumerate(v.shape) if size != shape[offset + k]}
    return v.view(shape, [Dim.of_terms(d.begin, [(of + offset, step) for of, step in d.terms if of not in repeats]) for d in v.dims]).fixed()


@handles(np.broadcast_arrays)
def broadcast_arrays(e, *parts):
    shape = broadcast_shapes(*[value_of(p).shape for p in parts])
    return tuple(do(e, np.broadcast_to, p, shape) for p in parts)


@handles(np.column_stack)
def column_stack(e, parts):
    return arrays.concatenate(e, [arrays.keep_dims(value_of(p), [1], 2) if value_of(p).ndim == 1 else value_of(p) for p in parts], 1)


@handles(np.dstack)
def dstack(e, parts):
    return arrays.concatenate(e, [atleast_3d(e, p) for p in parts], 2)


@handles(np.block)
def block(e, parts):
    def depth(p):
        return 1 + max(map(depth, p)) if isinstance(p, list) else 0

    levels = depth(parts)
    least = max([levels, *(value_of(p).ndim for p in _leaves(parts))])

    def joined(p, level):
        if not isinstance(p, list):
            v = value_of(p)
            return arrays.keep_dims(v, range(least - v.ndim), least)
        return arrays.concatenate(e, [joined(x, level + 1) for x in p], level - levels)
    return joined(parts, 0)


def _leaves(p):
    return [leaf for x in p for leaf in _leaves(x)] if isinstance(p, list) else [p]


@handles(np.array_split)
def array_split(e, ary, indices_or_sections, axis=0):
    return _split(e, "array_split", ary, indices_or_sections, axis, False)


@handles(np.split)
def split(e, ary, indices_or_sections, axis=0):
    return _split(e, "split", ary, indices_or_sections, axis, True)


@handles(np.hsplit)
def hsplit(e, ary, indices_or_sections):
    return split(e, ary, indices_or_sections, 1 if value_of(ary).ndim > 1 else 0)


@handles(np.vsplit)
def vsplit(e, ary, indices_or_sections):
    return split(e, ary, indices_or_sections, 0)


def _split(e, name, ary, cuts, axis, equal):
    v = value_of(ary)
    axis = arrays.normal(axis, v.ndim)
    n = v.shape[axis]
    if isinstance(cuts, (list, tuple)):
        edges = [0, *cuts, n]
    else:
        n, parts = known(name, n), known(name, cuts, "the number of parts")
        if equal and n % parts:
            raise ValueError(f"np.split of {n} elements into {parts} parts is no equal division")
        small, more = divmod(n, parts)
        edges = [k * small + min(k, more) for k in range(parts + 1)]
    return [along(e, v, axis, slice(a, b)) for a, b in zip(edges, edges[1:])]


@handles(np.diagonal)
def diagonal(e, a, offset=0, axis1=0, axis2=1):
    v = e.settled(a).place()
    first, second = arrays.normal(axis1, v.ndim), arrays.normal(axis2, v.ndim)
    if first == second:
        raise ValueError("np.diagonal takes two axes")
    if not isinstance(offset, int):
        raise NeedsNumber("np.diagonal: the offset is a number that is known when the program is translated")
    others = [k for k in range(v.ndim) if k not in (first, second)]
    length = minimum(v.shape[first] + min(offset, 0), v.shape[second] - max(offset, 0))
    shape, begins = [*(v.shape[k] for k in others), length], {first: max(-offset, 0), second: max(offset, 0)}
    if isinstance(v, Array):
        square = arrays.subscript(e, v, tuple(slice(begins[k], begins[k] + length) if k in begins else slice(None) for k in range(v.ndim)))
        places = [others.index(k) if k in others else len(others) for k in range(v.ndim)]
        return square.view(shape, [d.renumbered(places) for d in square.dims]).fixed()

    def at(i):
        place = {**dict(zip(others, i)), **{k: scaled(i[-1], begin, 1) for k, begin in begins.items()}}
        return v.at([place[k] for k in range(v.ndim)])

    return Value(v.dtype, shape, at)


@handles(np.diagflat)
def diagflat(e, v, k=0):
    return do(e, np.diag, do(e, np.ravel, v), k)


@handles(np.append)
def append(e, arr, values, axis=None):
    parts = [value_of(arr), value_of(values)]
    if axis is None:
        parts = [atleast_1d(e, p) if p.ndim == 0 else do(e, np.ravel, p) for p in parts]
        axis = 0
    return arrays.concatenate(e, parts, axis)


@handles(np.delete)
def delete(e, arr, obj, axis=None):
    if isinstance(obj, (list, tuple)) and all(isinstance(k, (int, np.integer)) and not isinstance(k, bool) for k in obj):
        v, axis = (do(e, np.ravel, arr), 0) if axis is None else (value_of(arr), axis)
        size = known("delete", v.shape[axis]) if any(k < 0 for k in obj) else 0
        for k in sorted({k % size if k < 0 else k for k in map(int, obj)}, reverse=True):
            v = delete(e, v, k, axis)
        return v if obj else e.materialize(v)
    v, axis, k = _one_place(e, "delete", arr, obj, axis)
    return arrays.concatenate(e, [along(e, v, axis, slice(None, k)), along(e, v, axis, slice(k + 1, None))], axis)


@handles(np.insert)
def insert(e, arr, obj, values, axis=None):
    v, axis, k = _one_place(e, "insert", arr, obj, axis, 1)
    shape = [1 if d == axis else s for d, s in enumerate(v.shape)]
    made = elementwise.cast(e, values, v.dtype)
    if made.ndim and made.ndim != v.ndim - 1:
        raise NotImplementedError("np.insert of several elements in one place: concatenate slices")
    if made.ndim:
        made = arrays.keep_dims(made, [axis], v.ndim)
    return arrays.concatenate(e, [along(e, v, axis, slice(None, k)), do(e, np.broadcast_to, made, shape), along(e, v, axis, slice(k, None))], axis)


def _one_place(e, name, arr, obj, axis, more=0):
    v = value_of(arr)
    if axis is None:
        v, axis = do(e, np.ravel, v), 0
    axis = arrays.normal(axis, v.ndim)
    if isinstance(obj, bool) or not isinstance(obj, (int, np.integer)):
        raise NotImplementedError(f"np.{name} at other than one place that is known when the program is translated")
    k = int(obj)
    if k < 0:
        k = known(name, v.shape[axis]) + k
    if isinstance(v.shape[axis], int) and not 0 <= k < v.shape[axis] + more:
        raise IndexError(f"np.{name}: index {obj} is out of bounds for {v.shape[axis]} elements")
    return v, axis, k
