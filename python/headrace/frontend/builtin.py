"""Python's built-in functions in programs: abs, max, range, enumerate, zip …"""

from __future__ import annotations

import builtins
import copy
import functools
import itertools

import numpy as np

from ..trees import assembled, has_parts, items
from . import arrays, elementwise, growing
from .errors import NeedsNumbers, Refused
from .functions import FUNCTIONS, flip, handles
from .ranges import Ranges, Rows
from .sizes import Size, is_size, maximum, minimum
from .values import Value, is_number, value_of


@handles(builtins.abs)
def python_abs(e, a):
    return elementwise.apply(e, "absolute", a)


def _extreme(name, of_sizes):
    def handler(e, *args):
        if len(args) == 1 and isinstance(args[0], Value):
            if args[0].ndim != 1:
                raise ValueError(f"{name[:3]}() of an array of {args[0].ndim} dimensions: use np.{name[:3]}")
            return arrays.reduction(e, name[:3], args[0])
        args = list(args[0]) if len(args) == 1 and isinstance(args[0], (tuple, list)) else list(args)
        result = args[0]
        for a in args[1:]:
            if is_size(result) and is_size(a):
                result = of_sizes(result, a)
                continue
            counts = [x if is_size(x) else getattr(x, "count", None) for x in (result, a)]
            result = elementwise.apply(e, name, result, a)
            if None not in counts and isinstance(result, Value) and result.dtype == np.int64:
                result.count = of_sizes(*counts)
        return result
    return handler


FUNCTIONS[builtins.max] = _extreme("maximum", maximum)
FUNCTIONS[builtins.min] = _extreme("minimum", minimum)


@handles(builtins.sum)
def python_sum(e, items, start=0):
    for item in items if isinstance(items, (tuple, list)) else [arrays.subscript(e, items, k) for k in range(value_of(items).shape[0])]:
        start = elementwise.apply(e, "add", start, item)
    return start


@handles(builtins.range)
def python_range(e, *bounds):
    begin, end, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1) if len(bounds) == 2 else bounds
    return Ranges([(begin, end, step)])


@handles(builtins.reversed)
def python_reversed(e, items):
    if isinstance(items, Ranges) and len(items.bounds) == 1 and items.bounds[0][2] in (1, -1):
        begin, end, step = items.bounds[0]
        begin, end = e.size_of(begin), e.size_of(end)
        return Ranges([(end - step, begin - step, -step)])
    return flip(e, items, 0) if isinstance(items, Value) else list(reversed(items))


@handles(builtins.enumerate)
def python_enumerate(e, items, start=0):
    if not isinstance(items, Value):
        return list(enumerate(items, start))
    return Rows([items], items.shape[0], lambda parts, k: (elementwise.apply(e, "add", k, start), arrays.subscript(e, parts[0], k)))


def _first(numbers, beside) -> list:
    """Of itertools.count and its like as many as there are of what stands beside them."""
    sizes = [x.shape[0] if isinstance(x, Value) else len(x) for x in beside if hasattr(x, "__len__") or isinstance(x, Value)]
    if not all(isinstance(s, int) for s in sizes):
        raise NotImplementedError("zip of an iterator and of arrays whose size is not known: use enumerate")
    return list(itertools.islice(numbers, min(sizes)))


@handles(builtins.zip)
def python_zip(e, *items):
    if not any(isinstance(x, Value) for x in items):
        return list(zip(*items))
    items = [x if hasattr(x, "__len__") or isinstance(x, Value) else _first(x, items) for x in items]
    known = [len(x) for x in items if not isinstance(x, Value)]
    size = functools.reduce(minimum, [*known, *[x.shape[0] for x in items if isinstance(x, Value)]])
    if known:  # lists of Python's: written out
        if not isinstance(size, int):
            raise NotImplementedError("zip of lists and of arrays whose size is not known")
        return [tuple(arrays.subscript(e, x, k) if isinstance(x, Value) else x[k] for x in items) for k in range(size)]
    return Rows(list(items), size, lambda parts, k: tuple(arrays.subscript(e, x, k) for x in parts))


@handles(builtins.len)
def python_len(e, a):
    if isinstance(a, Value) and not a.ndim:
        raise TypeError(f"len() of a number of type {a.dtype}")
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


@handles(builtins.bool)
def python_bool(e, a):
    v = value_of(a)
    if v.ndim:
        raise ValueError("the truth of an array with more than one element is ambiguous: use any() or all()")
    v = elementwise.cast(e, a if isinstance(a, Value) else v, np.bool_)
    return Value(v.dtype, v.shape, v.at, weak=True)


@handles(builtins.complex)
def python_complex(e, real, imag=0):
    v = elementwise.cast(e, real, np.complex128)
    if not is_number(imag) or imag:
        v = elementwise.apply(e, "add", v, elementwise.apply(e, "multiply", imag, 1j))
    return Value(v.dtype, v.shape, v.at, weak=True)


@handles(builtins.round)
def python_round(e, a, ndigits=None):
    return python_int(e, elementwise.apply(e, "rint", a)) if ndigits is None else FUNCTIONS[np.round](e, a, ndigits)


@handles(builtins.str)
def python_str(e, a=""):
    if isinstance(a, Size):
        raise NeedsNumbers([a], "a string with a number that a loop changes")
    if isinstance(a, Value):
        raise Refused("a string with what the program computes", "return the values")
    return str(a)


@handles(builtins.list)
def python_list(e, a=()):
    return growing.noted(e, _items(e, a))


@handles(builtins.iter)
def python_iter(e, items):
    return items if isinstance(items, Value) else list(items)


@handles(builtins.tuple)
def python_tuple(e, a=()):
    return tuple(_items(e, a))


@handles(builtins.dict)
def python_dict(e, /, *items, **named):
    return growing.noted(e, dict(*items, **named))


def _items(e, a) -> list:
    if not isinstance(a, Value):
        return list(a)
    if not a.ndim or not isinstance(a.shape[0], int):
        raise TypeError("only arrays whose first size is a number are turned into lists")
    return [arrays.subscript(e, a, k) for k in range(a.shape[0])]


@handles(builtins.divmod)
def python_divmod(e, a, b):
    return elementwise.apply(e, "floor_divide", a, b), elementwise.apply(e, "remainder", a, b)


@handles(builtins.pow)
def python_pow(e, a, b):
    return elementwise.apply(e, "power", a, b)


def _every(name):
    def handler(e, items):
        if isinstance(items, Value):
            if items.ndim != 1:
                raise ValueError(f"{name}() of an array of {items.ndim} dimensions: use np.{name}")
            return arrays.reduction(e, name, items)
        return functools.reduce(lambda a, b: elementwise.apply(e, "logical_and" if name == "all" else "logical_or", a, b), items,
                                name == "all")
    return handler


FUNCTIONS[builtins.all], FUNCTIONS[builtins.any] = _every("all"), _every("any")


@handles(builtins.type)
def python_type(e, a):
    return _kind_of(a) if isinstance(a, (Value, Size)) else type(a)


@handles(copy.copy)
def shallow_copy(e, a):
    if isinstance(a, Value):
        return FUNCTIONS[np.copy](e, a)
    return growing.noted(e, assembled(type(a), items(a))) if has_parts(a) else copy.copy(a)


@handles(copy.deepcopy)
def deep_copy(e, a):
    """Each object in it once."""
    done: dict[int, object] = {}

    def copied(x):
        if id(x) not in done:
            done[id(x)] = (growing.noted(e, assembled(type(x), [(k, copied(part)) for k, part in items(x)])) if has_parts(x) else
                           e.materialize(x) if isinstance(x, Value) else copy.deepcopy(x))
        return done[id(x)]

    return copied(a)


@handles(builtins.isinstance)
def python_isinstance(e, a, kind):
    return isinstance(a, kind) if not isinstance(a, (Value, Size)) else issubclass(_kind_of(a), kind)


def _kind_of(a) -> type:
    if isinstance(a, Size):
        return int
    if a.ndim or getattr(a, "in_place", False):
        return np.ndarray
    return type(a.dtype.type(0).item()) if a.weak else a.dtype.type


def _operator(name: str):
    return lambda e, *args: elementwise.apply(e, name, *args)


FUNCTIONS.update({function: _operator(name) for name, function in elementwise.PYTHON.items()})  # the module operator
