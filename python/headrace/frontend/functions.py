"""What programs may call: NumPy's functions and methods of arrays, each by the object that a name means. Python's own: builtin.py."""

from __future__ import annotations

import inspect

import numpy as np

from . import arrays, elementwise, folds, gathers, products, selections, tape
from .emitter import Emitter
from .errors import NeedsNumber, Refused, UnknownAttribute
from .sizes import Size, is_size, maximum, minimum, product
from .values import Array, Part, Value, broadcast, is_number, show, strong, value_of

def shape_of(e: Emitter, shape) -> list:
    """The sizes that an argument `shape` means."""
    return [e.size_of(s) for s in (shape if isinstance(shape, (tuple, list)) else (shape,))]


FUNCTIONS: dict = {}  # function object → handler(emitter, *args, **kwargs)


def handles(*functions):
    def register(f):
        for function in functions:
            FUNCTIONS[function] = f
        return f
    return register


# ---- shapes ----
@handles(np.copy)
def copy(e, a):
    return e.materialize(a, "copy")


@handles(np.reshape)
def reshape(e, a, shape, order="C"):
    if order == "C":
        return arrays.reshape(e, value_of(a), shape)
    if order != "F":
        raise Refused(f"np.reshape in the order '{order}'", "there are 'C' and 'F'")
    shape = shape_of(e, shape)
    return arrays.transpose(arrays.reshape(e, arrays.transpose(value_of(a)), shape[::-1]))


@handles(np.ravel)
def ravel(e, a, order="C"):
    return arrays.reshape(e, value_of(a), (-1,), dense=True) if order == "C" else reshape(e, a, (-1,), order)


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


@handles(np.matrix_transpose)
def matrix_transpose(e, x, /):
    if value_of(x).ndim < 2:
        raise ValueError(f"the transpose of a matrix of {value_of(x).ndim} dimensions")
    return swapaxes(e, x, -1, -2)


@handles(np.flip)
def flip(e, m, axis=None):
    v = value_of(m)
    axes = arrays.axes_of(axis, v.ndim)
    return arrays.subscript(e, v, tuple(slice(None, None, -1) if k in axes else slice(None) for k in range(v.ndim)))


@handles(np.flipud)
def flipud(e, m):
    return flip(e, m, 0)


@handles(np.fliplr)
def fliplr(e, m):
    return flip(e, m, 1)


@handles(np.expand_dims)
def expand_dims(e, a, axis):
    v = arrays.alone(value_of(a))
    ndim = v.ndim + (len(axis) if isinstance(axis, (tuple, list)) else 1)
    return arrays.keep_dims(v, arrays.axes_of(axis, ndim), ndim)


@handles(np.squeeze)
def squeeze(e, a, axis=None):
    v = value_of(a)
    axes = [k for k, s in enumerate(v.shape) if s == 1] if axis is None else arrays.axes_of(axis, v.ndim)
    for s in v.shape if axis is None else ():
        if isinstance(s, Size):
            e.line(f'require {s} != 1 else "np.squeeze without an axis of an array in which a size that a call decides is 1: give the axes"')
    if any(v.shape[k] != 1 for k in axes):
        raise ValueError(f"np.squeeze of a dimension that is not known to be 1: the shape is {show(v.shape)}")
    return arrays.subscript(e, v, tuple(0 if k in axes else slice(None) for k in range(v.ndim)))


@handles(np.stack)
def stack(e, parts, axis=0):
    return arrays.stack(e, parts, axis)


@handles(np.roll)
def roll(e, a, shift, axis=None):
    v = e.settled(a)
    if axis is None:
        if v.ndim != 1:
            return arrays.reshape(e, e.materialize(roll(e, arrays.reshape(e, v, (-1,)), shift, 0)), v.shape)
        axis = 0
    if isinstance(axis, (tuple, list)):
        shifts = shift if isinstance(shift, (tuple, list)) else [shift] * len(axis)
        if len(shifts) != len(axis):
            raise ValueError(f"np.roll: {len(shifts)} shifts for {len(axis)} axes")
        for by, k in zip(shifts, axis):
            v = roll(e, v, by, k)
        return v
    axis = arrays.normal(axis, v.ndim)
    by, size = e.size_of(shift), v.shape[axis]
    return Value(v.dtype, v.shape, lambda i: v.at([f"({x} - {arrays.atom(by)}) % {arrays.atom(size)}" if k == axis else x
                                                   for k, x in enumerate(i)]))


def _repeated(e, repeats, size) -> Value:
    """Each place of `size` as often as its number says: the first of each are marked, and counted."""
    if isinstance(repeats, (list, tuple)):
        if isinstance(size, Size) and len(repeats) != 1:
            e.line(f'require {size} == {len(repeats)} else "np.repeat of {{}} elements by {len(repeats)} numbers", {size}')
            size = len(repeats)
        if len(repeats) not in (1, size):
            raise ValueError(f"np.repeat of {size} elements by {len(repeats)} numbers")
        repeats = FUNCTIONS[np.array](e, list(repeats))
    if repeats.dtype.kind not in "iub":
        raise TypeError(f"np.repeat takes numbers that are integers, not {repeats.dtype}")
    ends = e.settled(FUNCTIONS[np.cumsum](e, broadcast(elementwise.cast(e, repeats, np.int64), (size,))))
    total = e.size_of(arrays.subscript(e, ends, (-1,)) if size != 0 else 0)
    passed = FUNCTIONS[np.bincount](e, ends, minlength=elementwise.apply(e, "add", total, 1))
    return FUNCTIONS[np.cumsum](e, arrays.subscript(e, passed, (slice(None, total),)))


@handles(np.repeat)
def repeat(e, a, repeats, axis=None):
    v = value_of(a)
    if axis is None:
        v, axis = (v if v.ndim == 1 else arrays.reshape(e, v, (-1,))), 0
    axis = arrays.normal(axis, v.ndim)
    if isinstance(repeats, (list, tuple)) or isinstance(repeats, Value) and repeats.ndim:
        return arrays.subscript(e, v, (slice(None),) * axis + (_repeated(e, repeats, v.shape[axis]),))
    times = e.size_of(repeats)
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
        raise NeedsNumber("np.diag: k is a number that is known when the program is translated")
    if v.ndim == 1:
        n, name = v.shape[0] + abs(k), elementwise.IR_NAMES[v.dtype]
        place = 0 if k >= 0 else 1
        return Value(v.dtype, (n, n), lambda i: f"({i[1]} == {arrays.scaled(i[0], k, 1)} ? {v.at([i[place]])} : {name}(0))")
    return FUNCTIONS[np.diagonal](e, v, k)


@handles(np.trace)
def trace(e, a, offset=0, axis1=0, axis2=1):
    v = value_of(a)
    if v.ndim < 2:
        raise ValueError(f"np.trace of an array of {v.ndim} dimensions, which has no diagonal")
    return arrays.reduction(e, "sum", FUNCTIONS[np.diagonal](e, v, offset, axis1, axis2), -1)


# ---- reductions, products ----
_OUTSIDE = {"sum": 0, "prod": 1, "any": False, "all": True}
_JOINED = {"sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum"}


def _reduction(name):
    order = list(inspect.signature(getattr(np, name)).parameters)[2:]  # of what may stand behind the axis

    def handler(e, a, axis=None, *more, **named):
        return reduced(e, a, axis, **{**dict(zip(order, more)), **named})

    def reduced(e, a, axis=None, *, dtype=None, out=None, keepdims=False, ddof=0, initial=None, where=None):
        if where is not None and name in ("mean", "var", "std"):
            made = arrays.moment_where(e, name, a, axis, keepdims, ddof, where)
            made = made if dtype is None else elementwise.cast(e, made, dtype)
            return made if out is None else stored(e, out, made)
        if where is not None:
            if name not in _OUTSIDE and (initial is None or name not in _JOINED):
                raise NotImplementedError(f"np.{name} with where=, which has no value where nothing is chosen"
                                          + (": give initial=" if name in _JOINED else ": take a[mask]"))
            a = elementwise.where(where, a, elementwise.cast(e, _OUTSIDE.get(name, initial), value_of(a).dtype))
        if initial is not None and name not in _JOINED:
            raise TypeError(f"np.{name} has no initial value")
        made = arrays.reduction(e, name, a, axis, dtype, keepdims, ddof)
        if initial is not None:
            made = elementwise.apply(e, _JOINED[name], made, elementwise.cast(e, initial, made.dtype))
        return made if out is None else stored(e, out, made)

    handler.handler = reduced
    return handler


def stored(e: Emitter, out, result) -> Array:
    """out=: the array that holds the result."""
    out = out.place() if isinstance(out, Value) else out
    if not isinstance(out, Array):
        raise TypeError("out= takes an array that the program can write")
    e.store(out, elementwise.cast(e, result, out.dtype))
    return out


for _name in ("sum", "prod", "max", "min", "mean", "var", "std", "any", "all", "argmax", "argmin"):
    FUNCTIONS[getattr(np, _name)] = _reduction(_name)
FUNCTIONS[np.amax], FUNCTIONS[np.amin] = _reduction("max"), _reduction("min")


@handles(np.cumsum)
def cumsum(e, a, axis=None, dtype=None):
    return arrays.cumulative(e, "cumsum", a, axis, dtype)


@handles(np.cumprod)
def cumprod(e, a, axis=None, dtype=None):
    return arrays.cumulative(e, "cumprod", a, axis, dtype)


@handles(np.matmul)
def matmul(e, a, b):
    return products.matmul(e, a, b)


@handles(np.dot)
def dot(e, a, b):
    return products.dot(e, a, b)


@handles(np.vecdot, np.linalg.vecdot)
def vecdot(e, x1, x2, *, axis=-1):
    a = value_of(x1)
    products = elementwise.apply(e, "multiply", a if a.dtype.kind != "c" else elementwise.apply(e, "conjugate", a), x2)
    kind = "any" if products.dtype.kind == "b" else "sum"  # in the products' own type, as no sum is
    return arrays.reduction(e, kind, products, axis, None if kind == "any" else products.dtype)


@handles(np.einsum)
def einsum(e, spec, *operands, optimize=None):
    if not isinstance(spec, str):
        spec, operands = products.in_letters(spec, *operands)
    return products.einsum(e, spec, *operands)


@handles(np.einsum_path)
def einsum_path(e, spec, *operands, optimize="greedy"):
    shapes = [value_of(o).shape for o in operands]
    if not all(isinstance(s, int) for shape in shapes for s in shape):
        raise NeedsNumber("np.einsum_path of arrays whose sizes a call decides: np.einsum finds its order itself")
    return np.einsum_path(spec, *[np.empty(s) for s in shapes], optimize=optimize)


@handles(np.tensordot)
def tensordot(e, a, b, axes=2):
    return products.tensordot(e, a, b, axes)


# ---- elementwise ----
REFINED: dict = {}  # name → handler(emitter, argument) that makes more of a function than one expression


def _ufunc(name):
    inputs = getattr(np, name).nin

    def handler(e, *args, out=None, dtype=None, where=None):
        if len(args) > inputs:
            *args, out = args
        if isinstance(out, tuple):
            out, = out
        if dtype is not None and _computes_in(getattr(np, name), np.dtype(dtype)):
            args = [elementwise.cast(e, value_of(a), dtype) for a in args]
        result = REFINED[name](e, *args) if name in REFINED and not all(map(is_number, args)) else elementwise.apply(e, name, *args)
        if isinstance(result, Value) and result.weak:  # of Python's numbers NumPy's functions make its own
            result = Value(result.dtype, result.shape, result.at)
        if dtype is not None:
            result = elementwise.cast(e, result, dtype)
        if where is not None and out is None:
            raise Refused(f"np.{name} with where= and without out=, which has no value where nothing is chosen", "give out=, or use np.where")
        if out is not None:
            return stored(e, out, result if where is None else elementwise.where(where, result, out))
        return result
    return handler


def _computes_in(ufunc: np.ufunc, dtype: np.dtype) -> bool:
    """Whether the function of arguments of this type is of this type, too."""
    return dtype.kind != "b" and f"{dtype.char * ufunc.nin}->{dtype.char}" in ufunc.types


for _name in sorted(elementwise.SUPPORTED):
    FUNCTIONS[getattr(np, _name)] = _ufunc(_name)


@handles(np.where)
def where(e, condition, *choices):
    if len(choices) not in (0, 2):
        raise ValueError("np.where takes a condition, or a condition and two values")
    if not choices:
        return nonzero(e, condition)
    return elementwise.where(condition, *choices)


@handles(np.nonzero)
def nonzero(e, a):
    return tuple(selections.nonzero(e, value_of(a)))


@handles(np.flatnonzero)
def flatnonzero(e, a):
    return selections.nonzero(e, ravel(e, a))[0]


def _bound(a, bound, beyond, end: str):
    """A bound of np.clip; none where all integers of the type are within it."""
    dtype = value_of(a).dtype
    if dtype.kind in "iu" and isinstance(bound, int) and not isinstance(bound, np.generic) and beyond(bound, getattr(np.iinfo(dtype), end)):
        return None
    return bound


@handles(np.clip)
def clip(e, a, a_min=None, a_max=None, *, min=None, max=None):  # noqa: A002: NumPy's names
    a = a if isinstance(a, Value) and not a.weak else strong(a)
    low, high = (min if a_min is None else a_min), (max if a_max is None else a_max)
    low, high = _bound(a, low, np.less_equal, "min"), _bound(a, high, np.greater_equal, "max")
    if low is not None:
        a = elementwise.apply(e, "maximum", a, low)
    return elementwise.apply(e, "positive" if high is None else "minimum", a, *([] if high is None else [high]))


@handles(np.real)
def real(e, a):
    v = value_of(a)
    return v if v.dtype.kind != "c" else _part(v, "real")


def _part(v: Value, name: str) -> Value:
    if isinstance(v.place(), Array) and v.ndim:
        return Part(v.place(), name)
    return Value(np.float32 if v.dtype == np.complex64 else np.float64, v.shape, lambda i: f"{name}({v.at(i)})")


@handles(np.imag)
def imag(e, a):
    v = value_of(a)
    if v.dtype.kind != "c":
        return FUNCTIONS[np.zeros_like](e, v)
    return _part(v, "imag")


IN_PLACE = {"add": "+=", "multiply": "*=", "maximum": "max=", "minimum": "min="}


def ufunc_method(e: Emitter, ufunc, method: str, *args, axis=0, dtype=None, keepdims=False):
    """np.add.outer, np.add.reduce, np.add.accumulate, np.add.at and those of other functions."""
    name = ufunc.__name__
    args = tuple(FUNCTIONS[np.array](e, list(a)) if isinstance(a, (list, tuple)) and (k == 0 or method == "outer") else a for k, a in enumerate(args))
    if method == "outer":
        a, b = (value_of(x) for x in args)
        handler = FUNCTIONS.get(ufunc) or (lambda e, *given: elementwise.apply(e, name, *given))
        return handler(e, arrays.keep_dims(a, range(a.ndim, a.ndim + b.ndim), a.ndim + b.ndim), b)
    reductions = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any"}
    if method == "reduce" and name in reductions:
        return arrays.reduction(e, reductions[name], args[0], axis, dtype, keepdims)
    if method == "accumulate" and name in ("add", "multiply"):
        return arrays.cumulative(e, "cumsum" if name == "add" else "cumprod", args[0], axis)
    if method == "accumulate" and name in ("maximum", "minimum"):
        return arrays.cumulative(e, name, args[0], axis)
    function = FUNCTIONS.get(ufunc)
    if method in ("reduce", "accumulate") and function is not None and ufunc.nin == 2 and ufunc.nout == 1:
        return folds.reduce(e, function, args[0], axis, keepdims) if method == "reduce" else folds.accumulate(e, function, args[0], axis)
    if method == "at" and name in ("add", "subtract", "multiply", "maximum", "minimum"):
        base, key, v = args[0].place(), _lists_as_arrays(e, args[1]), args[2]
        if base.dtype.kind == "c" and name in elementwise.ORDERED:
            raise NotImplementedError(f"np.{name}.at of complex numbers, which have no order in programs: take real, imag or abs")
        if name == "subtract":
            name, v = "add", elementwise.apply(e, "negative", value_of(elementwise.cast(e, v, base.dtype)))
        gathers.accumulate(e, base, key, v, IN_PLACE[name])
        return None
    if method == "reduceat" and function is not None and ufunc.nin == 2 and ufunc.nout == 1:
        return folds.reduceat(e, function, args[0], _lists_as_arrays(e, args[1]), axis, dtype or arrays.sum_type(name, value_of(args[0]).dtype), IN_PLACE.get(name))
    raise NotImplementedError(f"np.{name}.{method} is not among the functions that programs know")


def _lists_as_arrays(e: Emitter, key):
    if isinstance(key, tuple):
        return tuple(_lists_as_arrays(e, k) for k in key)
    return FUNCTIONS[np.array](e, key) if isinstance(key, list) else key


# ---- attributes and methods of arrays ----
def attribute(e: Emitter, v: Value, name: str):
    if name == "T":
        return arrays.transpose(v)
    if name == "mT":
        return FUNCTIONS[np.matrix_transpose](e, v)
    if name in ("shape", "ndim", "dtype"):
        return getattr(v, name)
    if name == "size":
        return product(v.shape)
    if name in ("real", "imag"):
        return FUNCTIONS[getattr(np, name)](e, v)
    if name == "flat":
        return arrays.flat(e, v)
    if name == "grad":
        return tape.grad(e, v)
    if name in METHODS:
        return Method(v, METHODS[name], name)
    if name in LATER:
        return Method(v, FUNCTIONS[getattr(np, name)], name)
    raise UnknownAttribute(f"arrays in programs have no attribute '{name}'", name, [*METHODS, *LATER, "T", "mT", "flat", "shape", "ndim", "dtype", "size", "real", "imag"])


# Methods whose functions other files register.
LATER = ("argsort", "diagonal", "nonzero", "round", "take", "compress", "searchsorted", "argpartition")


class Method:
    def __init__(self, value: Value, handler, name: str):
        self.value, self.handler, self.name = value, handler, name

    def __call__(self, e: Emitter, *args, **kwargs):
        return self.handler(e, self.value, *args, **kwargs)


def _reshape_method(e, a, *shape, order="C"):
    return reshape(e, a, shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape, order)


def _transpose_method(e, a, *axes):
    return transpose(e, a, (axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes) or None)


def _fill_method(e, a, number):
    e.store(a, elementwise.cast(e, number, a.dtype))


def _astype_method(e, a, dtype, copy=True):
    return a if not copy and a.dtype == np.dtype(dtype) else elementwise.cast(e, a, dtype)


def _flatten_method(e, a, order="C"):
    return ravel(e, e.materialize(a), order)


def _item_method(e, a, *index):
    """A number of Python's."""
    if not index and any(s != 1 for s in a.shape):
        raise ValueError("item() without an index is of arrays of one element")
    index = index[0] if len(index) == 1 and isinstance(index[0], tuple) else index or (0,) * a.ndim
    if len(index) == 1 and a.ndim > 1:  # counts through all elements
        a = arrays.reshape(e, a, (-1,))
    v = value_of(arrays.subscript(e, a, tuple(index)) if a.ndim else a)
    v = elementwise.cast(e, v, {"i": np.int64, "f": np.float64, "c": np.complex128}.get(v.dtype.kind, v.dtype if v.dtype == np.uint64 or v.dtype.kind == "b" else np.int64))
    return Value(v.dtype, v.shape, v.at, weak=True)


def _tolist_method(e, a):
    if not all(isinstance(s, int) for s in a.shape):
        raise NotImplementedError("a list of an array whose size is not known when the program is translated")
    return [_tolist_method(e, arrays.subscript(e, a, k)) for k in range(a.shape[0])] if a.ndim else _item_method(e, a)


METHODS = {name: FUNCTIONS[getattr(np, name)] for name in (
    "sum", "prod", "max", "min", "mean", "var", "std", "any", "all", "argmax", "argmin", "cumsum", "cumprod", "copy", "dot",
    "clip", "squeeze", "swapaxes", "ravel", "repeat", "trace", "conjugate")}
METHODS.update(item=_item_method, tolist=_tolist_method, reshape=_reshape_method, transpose=_transpose_method, fill=_fill_method,
               flatten=_flatten_method, astype=_astype_method, conj=lambda e, a: a if a.dtype.kind != "c" else elementwise.apply(e, "conjugate", a),
               requires_grad_=tape.requires_grad, backward=tape.backward)
