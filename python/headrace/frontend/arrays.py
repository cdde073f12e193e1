"""Slices, shapes and reductions: what programs do with arrays beside arithmetic."""

from __future__ import annotations

import operator
from typing import Sequence

import numpy as np

from . import elementwise, gathers, reshaping, selections
from .agreeing import decided, with_elements
from .emitter import Emitter
from .errors import Unequal
from .sizes import Size, atom, canonical, is_size, maximum, minimum, product, scaled
from .values import Array, Dim, Part, Value, broadcast, value_of


# ---- indexing ----
def slice_bounds(e: Emitter, s: slice, size):
    """begin, step and length of a slice of `size` elements."""
    step = 1 if s.step is None else s.step
    if isinstance(step, np.integer):
        step = int(step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    step, up = (step, step > 0) if isinstance(step, int) else e.step_of(step)

    signed = []  # bounds that may count from the end: only the run knows where they are

    def bound(x, default):
        if x is None:
            return default
        x = e.size_of(x)
        if isinstance(x, int) and x < 0:
            x = size + x
            if isinstance(x, int) and x < 0:
                return 0 if up else -1
            return x
        if isinstance(x, int) and isinstance(size, int):
            return min(x, size if up else size - 1)
        if isinstance(x, Size) and e.may_be_negative(x):  # counts from the end then
            signed.append(x)
            return canonical(f"clamp(wrap({x}, {size}), {0 if up else -1}, {size if up else size - 1})")
        if isinstance(x, Size) and e.goes_beyond(x, size if up else size - 1):
            signed.append(x)
            return minimum(x, size if up else size - 1)
        return x

    if up:
        begin, end = bound(s.start, 0), bound(s.stop, size)
        if decided(e, size) and isinstance(s.stop, int) and s.stop > 0 == begin:  # the first of them, and the last: there may be fewer
            end = minimum(s.stop, size)
        if decided(e, size) and isinstance(s.start, int) and s.start < 0 and s.stop is None:
            begin = maximum(size + s.start, 0)
        length = end - begin
    else:
        begin, end = bound(s.start, size - 1), bound(s.stop, -1)
        length = begin - end
    apart = step if up else -step
    if apart != 1:
        length = (length + (apart - 1)) // apart
    if isinstance(length, int):
        length = max(length, 0)
    elif signed and s.start is not None and s.stop is not None:  # it may end before it begins
        length = maximum(length, 0)
    return begin, step, length


def subscript(e: Emitter, base, key):
    """base[key] of an array: a view; with arrays or masks among the keys, NumPy's gather, which is a copy."""
    if isinstance(base, Part) and not any(map(gathers.by_array, key if isinstance(key, tuple) else (key,))):
        return base.like(subscript(e, base.of, key))
    keys = gathers.complete(base, key)
    if any(isinstance(k, Value) and k.ndim > 0 for k in keys):
        return gathers.gather(e, _in_memory(e, base), keys)
    if not base.ndim and keys:
        base = alone(base)
    base = _in_memory(e, base.place() if len(keys) > sum(map(is_index, keys)) else base)
    begins = [d.begin for d in base.dims]
    terms: list[list] = [[] for _ in base.dims]
    where: list[list] = [[] for _ in base.shape]  # of one without a place in memory nothing; of a diagonal several
    for n, d in enumerate(base.dims):
        for of, apart in d.terms:
            where[of].append((n, apart))
    shape: list = []
    axis = 0
    for k in keys:
        if k is None:
            shape.append(1)
            continue
        size, places = base.shape[axis], where[axis]
        axis += 1
        if isinstance(k, slice):
            begin, step, length = slice_bounds(e, k, size)
            for n, apart in places:
                begins[n] = _place(begin, begins[n], apart)
                terms[n].append((len(shape), apart * step))
            shape.append(length)
        else:
            index = index_text(e, k, size)
            for n, apart in places:
                begins[n] = _place(index, begins[n], apart)
    if base.whole and shape == list(base.shape) and all(isinstance(k, slice) and k == slice(None) for k in keys):
        return base
    made = base.view(shape, [Dim.of_terms(b, t) for b, t in zip(begins, terms)])
    made.in_place = not shape and base.ndim > 0 and any(k is Ellipsis for k in (key if isinstance(key, tuple) else (key,)))
    return made


def alone(v: Value) -> Value:
    """v, where it is a number what is no view of it: what an array shares memory with is another array."""
    return Value(v.dtype, (), v.at, v.weak) if isinstance(v, Array) and not v.ndim and not v.in_place else v


def is_index(k) -> bool:
    return k is not None and not isinstance(k, slice)


def _in_memory(e: Emitter, base: Value) -> Array:
    return base if isinstance(base, Array) else base.dense() if isinstance(base, selections.Selected) else e.materialize(base)


def _place(index, begin, step):
    """Where the index of a view lies in the container."""
    if is_size(index) and is_size(begin) and is_size(step):
        return begin + step * index
    return scaled(str(index), begin, step)


def index_text(e: Emitter, k, size):
    """One index: negative numbers count from the end."""
    if isinstance(k, (bool, np.bool_)):
        raise TypeError("True and False are no indices")
    if isinstance(k, (int, np.integer)):
        k = int(k)
        if isinstance(size, int) and not -size <= k < size:
            raise IndexError(f"index {k} is out of bounds for a dimension of {size}")
        return k if k >= 0 else size + k
    if isinstance(k, Value) and k.count is not None:
        k = e.size_of(k)
    if isinstance(k, Size):
        return canonical(f"wrap({k}, {size})") if e.may_be_negative(k) else k
    v = value_of(k)
    if v.dtype.kind not in "iu":
        raise TypeError(f"an index is an integer, not {v.dtype}")
    text = e.expression(v, (), np.int64)
    return f"wrap({text}, {size})" if v.dtype.kind == "i" else text


# ---- shapes ----
def transpose(v: Value, axes: Sequence[int] | None = None):
    if isinstance(v, Part):
        return v.like(transpose(v.of, axes))
    axes = list(reversed(range(v.ndim))) if axes is None else [normal(a, v.ndim) for a in axes]
    if sorted(axes) != list(range(v.ndim)):
        raise ValueError(f"axes {axes} don't match an array of {v.ndim} dimensions")
    shape = [v.shape[a] for a in axes]
    back, v = {a: k for k, a in enumerate(axes)}, v.place()
    if isinstance(v, Array):
        return v.view(shape, [d.renumbered(back) for d in v.dims])
    return Value(v.dtype, shape, lambda i: v.at([i[back[k]] for k in range(v.ndim)]), v.weak)


def reshape(e: Emitter, v: Value, shape, dense: bool = False) -> Value:
    """A view wherever it is one in NumPy; `dense`: in np.ravel."""
    shape = list(shape) if isinstance(shape, (tuple, list)) else [shape]
    shape = [e.size_of(s) for s in shape]
    if shape.count(-1) > 1:
        raise ValueError("can only specify one unknown dimension")
    total = product(v.shape)
    if -1 in shape:
        at = shape.index(-1)
        others = product(s for n, s in enumerate(shape) if n != at)
        shape[at] = total // others
        if shape[at] * others != total and isinstance(total, int):
            raise Unequal(f"cannot reshape {total} elements into {shape}")
    elif product(shape) != total:
        known = with_elements(e, v, product(shape))
        if known is None:
            raise Unequal(f"cannot reshape {total} elements into {shape}: the sizes are not known to agree")
        v = known
    v = alone(v.place())
    memory = v.of if isinstance(v, Part) else v
    if isinstance(memory, Array) and (memory.whole or memory.ndim) and not (dense and memory is not v):
        made = e.reshaped(memory, shape) if memory.whole else reshaping.view(e, memory, shape, dense)
        if made is not None:
            made.read_only = memory.read_only
            return made if memory is v else v.like(made)
    v = e.materialize(v)
    return e.reshaped(v, shape) if v.whole else _reordered(e, v, shape)


def flat(e: Emitter, v: Value) -> Value:
    """All elements in order. Where that is a copy, nobody writes to it."""
    made = reshape(e, v, (-1,))
    return made.fixed() if isinstance(made, Array) and isinstance(v.place(), Array) and made.root != v.place().root else made


def _reordered(e: Emitter, v: Array, shape: Sequence) -> Array:
    """The elements of a part of a container in another shape, copied."""
    def at(index):
        place = position(index, shape)
        old = []
        for k in range(v.ndim):
            below = atom(product(v.shape[k + 1:]))
            old.append(f"({place}) // {below}" if k == 0 else f"({place}) // {below} % {atom(v.shape[k])}")
        return v.at(old)

    return e.materialize(Value(v.dtype, shape, at), "reshaped")


def position(index: Sequence[str], shape: Sequence) -> str:
    """The row-major position of an index."""
    return " + ".join(f"{i}*{atom(product(shape[k + 1:]))}" for k, i in enumerate(index)) or "0"


def normal(axis, ndim: int) -> int:
    axis = operator.index(axis)
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis {axis} is out of bounds for an array of {ndim} dimensions")
    return axis % ndim


def axes_of(axis, ndim: int) -> list[int]:
    if axis is None or ndim == 0 and axis in (0, -1):  # numbers, too, are reduced along their first axis
        return list(range(ndim))
    axes = [normal(a, ndim) for a in (axis if isinstance(axis, (tuple, list)) else (axis,))]
    if len(set(axes)) != len(axes):
        raise ValueError("duplicate value in 'axis'")
    return axes


def keep_dims(r: Value, axes: Sequence[int], ndim: int) -> Value:
    kept = [k for k in range(ndim) if k not in axes]
    shape = [1] * ndim
    for k, size in zip(kept, r.shape):
        shape[k] = size
    if isinstance(r, Array):
        return r.view(shape, [d.renumbered(kept) for d in r.dims])
    return Value(r.dtype, shape, lambda i: r.at([i[k] for k in kept]))


def stack(e: Emitter, parts: Sequence, axis: int = 0) -> Array:
    parts = [value_of(p) for p in parts]
    axis = normal(axis, parts[0].ndim + 1)
    return concatenate(e, [keep_dims(p, [axis], p.ndim + 1) for p in parts], axis)


def concatenate(e: Emitter, parts: Sequence, axis: int = 0) -> Array:
    parts = [value_of(p) for p in parts]
    axis = normal(axis, parts[0].ndim)
    for p in parts[1:]:
        if p.ndim != parts[0].ndim or any(a != b for k, (a, b) in enumerate(zip(p.shape, parts[0].shape)) if k != axis):
            raise Unequal("all dimensions of concatenated arrays but the one along the axis must be equal")
    dtype = np.result_type(*[p.dtype for p in parts])
    shape = list(parts[0].shape)
    for p in parts[1:]:
        shape[axis] = shape[axis] + p.shape[axis]
    result = e.transient(dtype, shape, "joined")
    at = 0
    for p in parts:
        dims = [Dim(at if k == axis else 0, 1, k) for k in range(len(shape))]
        e.store(result.view(p.shape, dims), p)
        at = at + p.shape[axis]
    return result


# ---- reductions ----
_SUM_TYPES = {"b": np.int64, "i": np.int64, "u": np.uint64}


def sum_type(name: str, dtype: np.dtype) -> np.dtype:
    """What sums and products of elements have, and what other functions reduce them to."""
    return np.dtype(_SUM_TYPES.get(dtype.kind, dtype) if name in ("add", "multiply") and dtype.itemsize < 8 else dtype)


def _range_text(dtype: np.dtype, lowest: bool):
    if dtype.kind == "f":
        return -float("inf") if lowest else float("inf")
    if dtype.kind == "b":
        return not lowest
    if dtype.kind == "c":
        raise NotImplementedError("complex numbers have no order in programs: take real, imag or abs")
    info = np.iinfo(dtype)
    return int(info.min if lowest else info.max)


def reduction(e: Emitter, name: str, v, axis=None, dtype=None, keepdims: bool = False, ddof: int = 0):
    """np.<name>(v, axis)"""
    v = value_of(v)
    axes = axes_of(axis, v.ndim)
    if isinstance(v, selections.Selected) and v.ndim == 1 and v.full.ndim == v.mask.ndim and not keepdims and name in OF_CHOSEN:
        return _of_chosen(e, name, v, dtype, ddof)
    if name in ("mean", "var", "std"):
        return _moment(e, name, v, axes, dtype, keepdims, ddof)
    if name in ("any", "all"):
        bits = elementwise.cast(e, elementwise.cast(e, v, bool), np.int32)
        r = e.reduce(bits, axes, "max=" if name == "any" else "min=", int(name == "all"), np.int32)
        r = elementwise.cast(e, r, bool)
    elif name in ("sum", "prod"):
        out = np.dtype(dtype) if dtype else sum_type("add", v.dtype)
        r = e.reduce(elementwise.cast(e, v, out) if out != v.dtype else v, axes, "+=" if name == "sum" else "*=",
                     0 if name == "sum" else 1, out)
    elif name in ("max", "min") and v.dtype.kind == "b":
        return reduction(e, "any" if name == "max" else "all", v, axis, None, keepdims)
    elif name in ("max", "min"):
        for k in axes:
            if v.shape[k] == 0:
                raise ValueError(f"np.{name} of nothing has no value")
        r = e.reduce(v, axes, name + "=", _range_text(v.dtype, name == "max"), v.dtype)
    else:
        return _arg(e, name, v, axis, keepdims)
    return keep_dims(r, axes, v.ndim) if keepdims else r


OF_CHOSEN = {"sum", "prod", "max", "min", "any", "all", "mean", "var", "std"}


def freedom(e: Emitter, count, ddof, dtype):
    """What squared distances of `count` elements are divided by: never below 0, as in NumPy."""
    if isinstance(ddof, (int, float)) and ddof == 0:
        return count
    if is_size(count) and is_size(ddof):
        return maximum(count - ddof, 0)
    left = elementwise.cast(e, value_of(elementwise.apply(e, "subtract", count, ddof)), dtype)
    return elementwise.apply(e, "maximum", left, np.dtype(dtype).type(0))


def _of_chosen(e: Emitter, name: str, v: selections.Selected, dtype, ddof: int):
    """A reduction of what a mask chose, over all that it was chosen from."""
    if name not in ("mean", "var", "std"):
        outside = {"sum": 0, "prod": 1, "any": False, "all": True}
        other = outside[name] if name in outside else _range_text(v.dtype, name == "max")
        return reduction(e, name, v.filled(other), None, dtype)
    if v.dtype.kind in "iub":
        v = elementwise.cast(e, v, np.float64)
    n = selections.count(e, v.mask)
    mean = elementwise.apply(e, "divide", reduction(e, "sum", v.filled(0)), elementwise.cast(e, n, v.dtype))
    if name == "mean":
        return elementwise.cast(e, mean, dtype) if dtype else mean
    gap = elementwise.apply(e, "subtract", v, e.materialize(mean, "mean"))
    total = reduction(e, "sum", elementwise.apply(e, "square", elementwise.apply(e, "absolute", gap)).filled(0))
    result = elementwise.apply(e, "divide", total, freedom(e, elementwise.cast(e, n, total.dtype), ddof, total.dtype))
    return elementwise.apply(e, "sqrt", result) if name == "std" else result


def _wide(dtype: np.dtype, name: str) -> np.dtype:
    """What a mean is summed up in: as NumPy's of float16 in float32; where distances from it are taken, a sum of many float32 is too rough."""
    if dtype == np.float16:
        return np.dtype(np.float32)
    return np.dtype(np.float64) if dtype == np.float32 and name != "mean" else dtype


def _moment(e: Emitter, name: str, v: Value, axes, dtype, keepdims: bool, ddof: int):
    if dtype or v.dtype.kind in "iub":
        v = elementwise.cast(e, v, dtype or np.float64)
    count = product(v.shape[k] for k in axes)
    if name != "mean":
        v = e.settled(v)
    within = _wide(v.dtype, name)
    total = e.reduce(v if within == v.dtype else elementwise.cast(e, v, within), axes, "+=", 0, within)
    mean = elementwise.cast(e, elementwise.apply(e, "divide", total, count), v.dtype)
    if name != "mean":
        wide = keep_dims(e.materialize(mean), axes, v.ndim)
        gap = elementwise.apply(e, "subtract", v, wide)
        gap = e.materialize(elementwise.apply(e, "absolute", gap) if v.dtype.kind == "c" else gap)
        total = e.reduce(elementwise.apply(e, "multiply", gap, gap), axes, "+=", 0, gap.dtype)
        mean = elementwise.apply(e, "divide", total, freedom(e, count, ddof, total.dtype))
        if name == "std":
            mean = elementwise.apply(e, "sqrt", mean)
    return keep_dims(mean, axes, v.ndim) if keepdims else mean


def moment_where(e: Emitter, name: str, a, axis, keepdims: bool, ddof: int, where):
    """mean, var or std of the elements that `where` chooses."""
    v = value_of(a)
    v = e.settled(v if v.dtype.kind in "fc" else elementwise.cast(e, v, np.float64))
    where = e.settled(broadcast(value_of(where), v.shape))
    count = reduction(e, "sum", elementwise.cast(e, where, np.int64), axis, None, True)
    divided = lambda x, n: elementwise.apply(e, "divide", reduction(e, "sum", elementwise.where(where, x, x.dtype.type(0)), axis, None, True),  # noqa: E731
                                             elementwise.cast(e, n, x.dtype))
    made = divided(v, count)
    if name != "mean":
        gap = e.settled(elementwise.apply(e, "absolute", elementwise.apply(e, "subtract", v, e.materialize(made, "mean"))))
        made = divided(elementwise.apply(e, "multiply", gap, gap), freedom(e, count, ddof, gap.dtype))
        made = elementwise.apply(e, "sqrt", made) if name == "std" else made
    axes = axes_of(axis, v.ndim)
    return made if keepdims else subscript(e, e.settled(made), tuple(0 if k in axes else slice(None) for k in range(v.ndim)))


def _arg(e: Emitter, name: str, v: Value, axis, keepdims: bool):
    v = e.settled(v)
    ndim, every = v.ndim, axis is None
    if every:
        v, axis = reshape(e, v, (-1,)), 0
    axis = normal(axis, v.ndim)
    best = keep_dims(reduction(e, name[3:], v, axis), [axis], v.ndim)
    size = v.shape[axis]
    same = elementwise.apply(e, "equal", v, best)
    if v.dtype.kind == "f":  # the first NaN is the largest and the smallest, as in NumPy
        same = elementwise.apply(e, "logical_or", same, elementwise.apply(e, "isnan", v))
    places = Value(np.int64, v.shape, lambda i: f"({same.at(i)} ? i64({i[axis]}) : i64({size}))")
    r = e.reduce(places, [axis], "min=", int(np.iinfo(np.int64).max), np.int64)
    return keep_dims(r, range(ndim) if every else [axis], ndim) if keepdims else r


def cumulative(e: Emitter, name: str, v, axis=None, dtype=None):
    """cumsum, cumprod, or what maximum and minimum accumulate."""
    v = value_of(v) if dtype is None else value_of(elementwise.cast(e, value_of(v), dtype))
    if axis is None:
        v, axis = (v if v.ndim == 1 else reshape(e, v, (-1,))), 0
    axis = normal(axis, v.ndim)
    sums = name in ("cumsum", "cumprod")
    out = np.dtype(_SUM_TYPES.get(v.dtype.kind, v.dtype)) if sums and dtype is None and v.dtype.itemsize < 8 else v.dtype
    result = e.transient(out, v.shape, name)
    if v.shape[axis] == 0:
        return result
    t = e.fresh("k")
    part = subscript(e, v if isinstance(v, Array) else e.materialize(v), (slice(None),) * axis + (Size(t),))
    row = subscript(e, result, (slice(None),) * axis + (Size(t),))
    before = subscript(e, result, (slice(None),) * axis + (Size(t) - 1,))
    with e.block(f"for {t} in 0:{v.shape[axis]}"):
        first = Value(out, row.shape, lambda i: f"({t} == 0 ? {_start(name, part, i)} : {before.at(i)})")
        joined = elementwise.apply(e, {"cumsum": "add", "cumprod": "multiply"}.get(name, name), elementwise.cast(e, part, out), first)
        e.maps(row.shape, lambda i: e.write(row, i, e.expression(joined, i, out)))
    return result


def _start(name: str, part: Value, index) -> str:
    return {"cumsum": "0", "cumprod": "1"}.get(name) or part.at(index)
