"""New arrays: np.zeros, np.arange, np.mgrid and their like."""

from __future__ import annotations

import numpy as np

from . import arrays, elementwise, reshaping
from .emitter import Emitter
from .functions import handles, shape_of
from .sizes import is_size, maximum
from .values import Array, Value, broadcast, is_number, strong, value_of

# These make something that the program owns, also where all arguments are known.
NEW_ARRAYS = {np.zeros, np.ones, np.empty, np.full, np.ndarray, np.eye, np.identity, np.arange, np.linspace, np.array, np.asarray,
              np.tri, np.meshgrid}


def _filled(e: Emitter, shape, number, dtype, hint: str) -> Array:
    a = e.transient(dtype, shape_of(e, shape), hint)
    number = asarray(e, number) if isinstance(number, (list, tuple)) else number
    e.fill(a, number if is_number(number) else broadcast(value_of(number), a.shape))
    return a


@handles(np.zeros, np.empty, np.ndarray)  # what nobody wrote is zero, not somebody else's memory
def zeros(e, shape, dtype=np.float64):
    return _filled(e, shape, 0, dtype, "zeros")


@handles(np.ones)
def ones(e, shape, dtype=np.float64):
    return _filled(e, shape, 1, dtype, "ones")


@handles(np.full)
def full(e, shape, fill_value, dtype=None):
    fill_value = asarray(e, fill_value) if isinstance(fill_value, (list, tuple)) else fill_value
    return _filled(e, shape, fill_value, dtype or value_of(fill_value).dtype, "full")


@handles(np.zeros_like, np.empty_like)
def zeros_like(e, a, dtype=None):
    return _filled(e, value_of(a).shape, 0, dtype or value_of(a).dtype, "zeros")


@handles(np.ones_like)
def ones_like(e, a, dtype=None):
    return _filled(e, value_of(a).shape, 1, dtype or value_of(a).dtype, "ones")


@handles(np.full_like)
def full_like(e, a, fill_value, dtype=None):
    return _filled(e, value_of(a).shape, fill_value, dtype or value_of(a).dtype, "full")


@handles(np.arange)
def arange(e, start, stop=None, step=1, dtype=None):
    if stop is None:
        start, stop = 0, start
    if all(map(is_number, (start, stop, step))) and any(isinstance(x, (float, np.floating)) for x in (start, stop, step)):
        made = np.arange(start, stop, step, dtype)
        gap = float(start + step) - float(start)
        return elementwise.cast(e, Value(np.float64, made.shape, lambda i: f"(f64({float(start)!r}) + f64({i[0]})*{gap!r})"), made.dtype)
    if not all(is_size(x) or isinstance(x, Value) and x.dtype.kind in "iu" for x in (start, stop)) or not isinstance(step, int):
        raise NotImplementedError("np.arange of numbers that are no integers: use np.linspace")
    start, stop = e.size_of(start), e.size_of(stop)
    length = stop - start if step > 0 else start - stop
    if abs(step) != 1:
        length = (length + (abs(step) - 1)) // abs(step)
    dtype = np.dtype(dtype or np.int64)
    return Value(dtype, (length,), lambda i: f"{elementwise.IR_NAMES[dtype]}({arrays.scaled(i[0], start, step)})")


@handles(np.linspace)
def linspace(e, start, stop, num=50, endpoint=True, retstep=False, dtype=None):
    num = e.size_of(num)
    steps = maximum(num - 1 if endpoint else num, 1)  # of one number there is no step
    dtype = elementwise.common_type(start, stop, 1.0) if dtype is None else dtype
    # Integers of a few bits would wrap.
    start, stop = (elementwise.apply(e, "multiply", x, 1.0) if isinstance(x, Value) and x.dtype.kind in "iub" else x for x in (start, stop))
    gap = elementwise.apply(e, "divide", elementwise.apply(e, "subtract", stop, start), steps)
    index = Value(np.float64, (num,), lambda i: f"f64({i[0]})")
    made = elementwise.apply(e, "add", elementwise.apply(e, "multiply", index, gap), start)
    made = elementwise.cast(e, elementwise.apply(e, "floor", made) if np.dtype(dtype).kind in "iu" else made, dtype)
    return (made, gap) if retstep else made


@handles(np.eye)
def eye(e, N, M=None, k=0, dtype=np.float64):
    rows, columns = e.size_of(N), e.size_of(N if M is None else M)
    name = elementwise.IR_NAMES[np.dtype(dtype)]
    return Value(dtype, (rows, columns), lambda i: f"({i[1]} == {arrays.scaled(i[0], k, 1)} ? {name}(1) : {name}(0))")


@handles(np.identity)
def identity(e, n, dtype=np.float64):
    return eye(e, n, dtype=dtype)


@handles(np.array)
def array(e, a, dtype=None, *, copy=True, ndmin=0):
    made = asarray(e, a, dtype)
    made = e.materialize(made, "copy") if copy and made is a and isinstance(made, Array) and made.ndim else made
    more = ndmin - value_of(made).ndim
    return arrays.keep_dims(value_of(made), range(more), ndmin) if more > 0 else made


@handles(np.ascontiguousarray)
def ascontiguousarray(e, a, dtype=None):
    made = value_of(asarray(e, a, dtype))
    if not made.ndim:
        return arrays.reshape(e, made, (1,))
    memory = made.place()
    return made if isinstance(memory, Array) and reshaping.is_dense(memory) else e.materialize(made, "copy")


@handles(np.asarray, np.asanyarray)
def asarray(e, a, dtype=None):
    if isinstance(a, (list, tuple)) and not a:
        return zeros(e, (0,), np.float64 if dtype is None else dtype)
    if isinstance(a, (list, tuple)):
        a = arrays.stack(e, [asarray(e, x) if isinstance(x, (list, tuple)) else value_of(x) for x in a])
    v = value_of(a)
    if dtype is not None and v.dtype != np.dtype(dtype):
        return elementwise.cast(e, a, dtype)
    return strong(v) if v.weak else a


@handles(np.tri)
def tri(e, N, M=None, k=0, dtype=np.float64):
    rows, columns = e.size_of(N), e.size_of(N if M is None else M)
    name = elementwise.IR_NAMES[np.dtype(dtype)]
    return Value(dtype, (rows, columns), lambda i: f"({i[1]} <= {arrays.scaled(i[0], k, 1)} ? {name}(1) : {name}(0))")


@handles(np.meshgrid)
def meshgrid(e, *parts, indexing="xy", sparse=False):
    parts = [v if v.ndim == 1 else arrays.reshape(e, v, (-1,)) for v in map(value_of, parts)]
    order = list(range(len(parts)))
    if indexing == "xy" and len(parts) > 1:
        order[:2] = [1, 0]
    return _spread([parts[k] for k in order], order, sparse)


def grid(e: Emitter, key, sparse: bool):
    """np.mgrid[key] and, sparse, np.ogrid[key], as a tuple of arrays."""
    keys = key if isinstance(key, tuple) else (key,)
    parts = [arange(e, 0 if k.start is None else k.start, k.stop, 1 if k.step is None else k.step) for k in keys]
    return _spread(parts, list(range(len(parts))), sparse)


def _spread(parts, order, sparse: bool) -> tuple:
    """Vectors along dimensions of their own: the k-th dimension is that of parts[k], the k-th result that of order[k]."""
    shape = [p.shape[0] for p in parts]
    found = {}
    for axis, (part, k) in enumerate(zip(parts, order)):
        wide = Value(part.dtype, [s if n == axis else 1 for n, s in enumerate(shape)], lambda i, part=part, axis=axis: part.at([i[axis]]))
        found[k] = wide if sparse else broadcast(wide, shape)
    return tuple(found[k] for k in range(len(parts)))
