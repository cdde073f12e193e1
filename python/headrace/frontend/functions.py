"""What programs may call: NumPy's functions, methods of arrays, Python's built-ins, each by the object that a name means."""

from __future__ import annotations

import builtins

import numpy as np

from . import arrays, elementwise
from .emitter import Emitter
from .sizes import Size, is_size, maximum, minimum, product
from .values import Array, Value, is_number, value_of

FUNCTIONS: dict = {}  # function object → handler(emitter, *args, **kwargs)


def handles(*functions):
    def register(f):
        for function in functions:
            FUNCTIONS[function] = f
        return f
    return register


# ---- new arrays ----
def _shape(e: Emitter, shape) -> list:
    return [e.size_of(s) for s in (shape if isinstance(shape, (tuple, list)) else (shape,))]


def _filled(e: Emitter, shape, number, dtype, hint: str) -> Array:
    a = e.transient(dtype, _shape(e, shape), hint)
    e.fill(a, number)
    return a


@handles(np.zeros, np.empty)  # what nobody wrote is zero, not somebody else's memory
def zeros(e, shape, dtype=np.float64):
    return _filled(e, shape, 0, dtype, "zeros")


@handles(np.ones)
def ones(e, shape, dtype=np.float64):
    return _filled(e, shape, 1, dtype, "ones")


@handles(np.full)
def full(e, shape, fill_value, dtype=None):
    return _filled(e, shape, fill_value, dtype or value_of(fill_value).dtype, "full")


@handles(np.zeros_like, np.empty_like)
def zeros_like(e, a, dtype=None):
    return _filled(e, value_of(a).shape, 0, dtype or a.dtype, "zeros")


@handles(np.ones_like)
def ones_like(e, a, dtype=None):
    return _filled(e, value_of(a).shape, 1, dtype or a.dtype, "ones")


@handles(np.full_like)
def full_like(e, a, fill_value, dtype=None):
    return _filled(e, value_of(a).shape, fill_value, dtype or a.dtype, "full")


@handles(np.arange)
def arange(e, start, stop=None, step=1, dtype=None):
    if stop is None:
        start, stop = 0, start
    if not all(is_size(x) or isinstance(x, Value) and x.dtype.kind in "iu" for x in (start, stop)) or not isinstance(step, int):
        raise NotImplementedError("np.arange of numbers that are no integers: use np.linspace")
    start, stop = e.size_of(start), e.size_of(stop)
    length = stop - start if step > 0 else start - stop
    if abs(step) != 1:
        length = (length + (abs(step) - 1)) // abs(step)
    dtype = np.dtype(dtype or np.int64)
    return Value(dtype, (length,), lambda i: f"{elementwise.IR_NAMES[dtype]}({arrays.scaled(i[0], start, step)})")


@handles(np.linspace)
def linspace(e, start, stop, num=50, endpoint=True, dtype=np.float64):
    num = e.size_of(num)
    steps = num - 1 if endpoint else num
    gap = elementwise.apply(e, "divide", elementwise.apply(e, "subtract", stop, start), steps)
    index = Value(np.float64, (num,), lambda i: f"f64({i[0]})")
    return elementwise.cast(e, elementwise.apply(e, "add", elementwise.apply(e, "multiply", index, gap), start), dtype)


@handles(np.eye, np.identity)
def eye(e, n, M=None, k=0, dtype=np.float64):
    rows, columns = e.size_of(n), e.size_of(n if M is None else M)
    name = elementwise.IR_NAMES[np.dtype(dtype)]
    return Value(dtype, (rows, columns), lambda i: f"({i[1]} == {arrays.scaled(i[0], k, 1)} ? {name}(1) : {name}(0))")


@handles(np.copy)
def copy(e, a):
    return e.materialize(a, "copy")


@handles(np.array, np.asarray, np.ascontiguousarray)
def array(e, a, dtype=None):
    if isinstance(a, (list, tuple)):
        a = arrays.stack(e, [array(e, x) if isinstance(x, (list, tuple)) else value_of(x) for x in a])
    return a if dtype is None or value_of(a).dtype == np.dtype(dtype) else elementwise.cast(e, a, dtype)


# ---- shapes ----
@handles(np.reshape)
def reshape(e, a, shape):
    return arrays.reshape(e, value_of(a), shape)


@handles(np.ravel)
def ravel(e, a):
    return arrays.reshape(e, value_of(a), (-1,))


@handles(np.transpose)
def transpose(e, a, axes=None):
    return arrays.transpose(value_of(a), axes)


@handles(np.swapaxes)
def swapaxes(e, a, axis1, axis2):
    v = value_of(a)
    order = list(range(v.ndim))
    i, j = arrays.normal(axis1, v.ndim), arrays.normal(axis2, v.ndim)
    order[i], order[j] = order[j], order[i]
    return arrays.transpose(v, order)


@handles(np.flip)
def flip(e, a, axis=None):
    v = value_of(a)
    axes = arrays.axes_of(axis, v.ndim)
    return arrays.subscript(e, v, tuple(slice(None, None, -1) if k in axes else slice(None) for k in range(v.ndim)))


@handles(np.flipud)
def flipud(e, a):
    return flip(e, a, 0)


@handles(np.fliplr)
def fliplr(e, a):
    return flip(e, a, 1)


@handles(np.expand_dims)
def expand_dims(e, a, axis):
    v = value_of(a)
    return arrays.keep_dims(v, [arrays.normal(axis, v.ndim + 1)], v.ndim + 1)


@handles(np.squeeze)
def squeeze(e, a, axis=None):
    v = value_of(a)
    axes = [k for k, s in enumerate(v.shape) if s == 1] if axis is None else arrays.axes_of(axis, v.ndim)
    return arrays.subscript(e, v, tuple(0 if k in axes else slice(None) for k in range(v.ndim)))


@handles(np.stack)
def stack(e, parts, axis=0):
    return arrays.stack(e, parts, axis)


@handles(np.concatenate)
def concatenate(e, parts, axis=0):
    return arrays.concatenate(e, parts, axis)


@handles(np.hstack)
def hstack(e, parts):
    return arrays.concatenate(e, parts, 0 if value_of(parts[0]).ndim == 1 else 1)


@handles(np.vstack)
def vstack(e, parts):
    return arrays.stack(e, parts) if value_of(parts[0]).ndim == 1 else arrays.concatenate(e, parts, 0)


@handles(np.broadcast_to)
def broadcast_to(e, a, shape):
    return arrays.broadcast(value_of(a), _shape(e, shape))


@handles(np.roll)
def roll(e, a, shift, axis=None):
    v = e.settled(a)
    if axis is None:
        if v.ndim != 1:
            raise NotImplementedError("np.roll of several dimensions without an axis")
        axis = 0
    axis = arrays.normal(axis, v.ndim)
    by, size = e.size_of(shift), v.shape[axis]
    return Value(v.dtype, v.shape, lambda i: v.at([f"({x} - {arrays.atom(by)}) % {arrays.atom(size)}" if k == axis else x
                                                   for k, x in enumerate(i)]))


@handles(np.repeat)
def repeat(e, a, repeats, axis=None):
    v = value_of(a)
    if axis is None:
        v, axis = (v if v.ndim == 1 else arrays.reshape(e, v, (-1,))), 0
    axis, times = arrays.normal(axis, v.ndim), e.size_of(repeats)
    shape = [s * times if k == axis else s for k, s in enumerate(v.shape)]
    return Value(v.dtype, shape, lambda i: v.at([f"{x} // {arrays.atom(times)}" if k == axis else x for k, x in enumerate(i)]))


def _triangle(keep):
    def handler(e, m, k=0):
        v = value_of(m)
        def at(i):
            return f"({arrays.atom(i[-1])} {keep} {arrays.scaled(i[-2], k, 1)} ? {v.at(i)} : {elementwise.IR_NAMES[v.dtype]}(0))"
        return Value(v.dtype, v.shape, at)
    return handler


FUNCTIONS[np.triu] = _triangle(">=")
FUNCTIONS[np.tril] = _triangle("<=")


@handles(np.diag)
def diag(e, v, k=0):
    v = e.settled(v)
    if not isinstance(k, int):
        raise TypeError("np.diag: k is a number that is known when the program is translated")
    if v.ndim == 1:
        n, name = v.shape[0] + abs(k), elementwise.IR_NAMES[v.dtype]
        place = 0 if k >= 0 else 1
        return Value(v.dtype, (n, n), lambda i: f"({i[1]} == {arrays.scaled(i[0], k, 1)} ? {v.at([i[place]])} : {name}(0))")
    rows, columns = v.shape[0] + min(k, 0), v.shape[1] - max(k, 0)
    length = minimum(rows, columns)
    return Value(v.dtype, (length,), lambda i: v.at([arrays.scaled(i[0], max(-k, 0), 1), arrays.scaled(i[0], max(k, 0), 1)]))


@handles(np.trace)
def trace(e, a):
    return arrays.reduction(e, "sum", diag(e, a))


# ---- reductions, products ----
def _reduction(name):
    def handler(e, a, axis=None, dtype=None, keepdims=False, ddof=0):
        return arrays.reduction(e, name, a, axis, dtype, keepdims, ddof)
    return handler


for _name in ("sum", "prod", "max", "min", "mean", "var", "std", "any", "all", "argmax", "argmin"):
    FUNCTIONS[getattr(np, _name)] = _reduction(_name)
FUNCTIONS[np.amax], FUNCTIONS[np.amin] = _reduction("max"), _reduction("min")


@handles(np.cumsum)
def cumsum(e, a, axis=None):
    return arrays.cumulative(e, "cumsum", a, axis)


@handles(np.cumprod)
def cumprod(e, a, axis=None):
    return arrays.cumulative(e, "cumprod", a, axis)


@handles(np.matmul)
def matmul(e, a, b):
    return arrays.matmul(e, a, b)


@handles(np.dot, np.inner, np.vdot)
def dot(e, a, b):
    return arrays.dot(e, a, b)


@handles(np.outer)
def outer(e, a, b):
    flat = [v if v.ndim == 1 else arrays.reshape(e, v, (-1,)) for v in (value_of(a), value_of(b))]
    return elementwise.apply(e, "multiply", arrays.keep_dims(flat[0], [1], 2), flat[1])


@handles(np.einsum)
def einsum(e, spec, *operands):
    return arrays.einsum(e, spec, *operands)


@handles(np.tensordot)
def tensordot(e, a, b, axes=2):
    return arrays.tensordot(e, a, b, axes)


@handles(np.linalg.norm)
def norm(e, a):
    return elementwise.apply(e, "sqrt", arrays.reduction(e, "sum", elementwise.apply(e, "square", elementwise.apply(e, "absolute", a))))


# ---- elementwise ----
def _ufunc(name):
    def handler(e, *args, out=None, dtype=None):
        result = elementwise.apply(e, name, *args)
        if dtype is not None:
            result = elementwise.cast(e, result, dtype)
        if out is not None:
            e.store(out, elementwise.cast(e, result, out.dtype))
            return out
        return result
    return handler


for _name in sorted(elementwise.SUPPORTED):
    FUNCTIONS[getattr(np, _name)] = _ufunc(_name)


@handles(np.where)
def where(e, condition, *choices):
    if len(choices) != 2:
        raise NotImplementedError("np.where(mask) gives a result whose size depends on data")
    return elementwise.where(condition, *choices)


@handles(np.clip)
def clip(e, a, a_min=None, a_max=None):
    if a_min is not None:
        a = elementwise.apply(e, "maximum", a, a_min)
    return a if a_max is None else elementwise.apply(e, "minimum", a, a_max)


@handles(np.real)
def real(e, a):
    v = value_of(a)
    return v if v.dtype.kind != "c" else Value(np.float32 if v.dtype == np.complex64 else np.float64, v.shape, lambda i: f"real({v.at(i)})")


@handles(np.imag)
def imag(e, a):
    v = value_of(a)
    if v.dtype.kind != "c":
        return zeros_like(e, v)
    return Value(np.float32 if v.dtype == np.complex64 else np.float64, v.shape, lambda i: f"imag({v.at(i)})")


# ---- Python's own ----
@handles(builtins.abs)
def python_abs(e, a):
    return elementwise.apply(e, "absolute", a)


def _extreme(name, of_sizes):
    def handler(e, *args):
        args = list(args[0]) if len(args) == 1 and isinstance(args[0], (tuple, list)) else list(args)
        result = args[0]
        for a in args[1:]:
            result = of_sizes(result, a) if is_size(result) and is_size(a) else elementwise.apply(e, name, result, a)
        return result
    return handler


FUNCTIONS[builtins.max] = _extreme("maximum", maximum)
FUNCTIONS[builtins.min] = _extreme("minimum", minimum)


@handles(builtins.sum)
def python_sum(e, items, start=0):
    for item in items if isinstance(items, (tuple, list)) else [arrays.subscript(e, items, k) for k in range(value_of(items).shape[0])]:
        start = elementwise.apply(e, "add", start, item)
    return start


@handles(builtins.len)
def python_len(e, a):
    return a.shape[0] if isinstance(a, Value) else len(a)


@handles(builtins.int)
def python_int(e, a):
    if is_size(a) or is_number(a):
        return a if is_size(a) else int(a)
    v = elementwise.cast(e, elementwise.apply(e, "trunc", a) if value_of(a).dtype.kind == "f" else a, np.int64)
    return Value(v.dtype, v.shape, v.at, weak=True)


@handles(builtins.float)
def python_float(e, a):
    v = elementwise.cast(e, a, np.float64)
    return v if is_number(v) else Value(v.dtype, v.shape, v.at, weak=True)


# ---- attributes and methods of arrays ----
def attribute(e: Emitter, v: Value, name: str):
    if name == "T":
        return arrays.transpose(v)
    if name in ("shape", "ndim", "dtype"):
        return getattr(v, name)
    if name == "size":
        return product(v.shape)
    if name in ("real", "imag"):
        return FUNCTIONS[getattr(np, name)](e, v)
    if name in METHODS:
        return Method(v, METHODS[name])
    raise AttributeError(f"arrays in programs have no attribute '{name}'")


class Method:
    def __init__(self, value: Value, handler):
        self.value, self.handler = value, handler

    def __call__(self, e: Emitter, *args, **kwargs):
        return self.handler(e, self.value, *args, **kwargs)


def _reshape_method(e, a, *shape):
    return reshape(e, a, shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape)


def _transpose_method(e, a, *axes):
    return transpose(e, a, (axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes) or None)


def _fill_method(e, a, number):
    e.store(a, elementwise.cast(e, number, a.dtype))


def _flatten_method(e, a):
    return ravel(e, e.materialize(a))


METHODS = {name: FUNCTIONS[getattr(np, name)] for name in (
    "sum", "prod", "max", "min", "mean", "var", "std", "any", "all", "argmax", "argmin", "cumsum", "cumprod", "copy", "dot",
    "clip", "squeeze", "swapaxes", "ravel", "repeat", "trace", "conjugate")}
METHODS.update(conj=METHODS["conjugate"], reshape=_reshape_method, transpose=_transpose_method, fill=_fill_method,
               flatten=_flatten_method, astype=lambda e, a, dtype, copy=True: elementwise.cast(e, a, dtype))
