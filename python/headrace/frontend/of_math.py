"""The module math in programs: of numbers that the program computes, as Python's."""

from __future__ import annotations

import math

import numpy as np

from . import elementwise
from .builtin import python_float, python_int, python_list
from .derived import do, op
from .functions import FUNCTIONS
from .values import Value, value_of

_SAME = {"sin": "sin", "cos": "cos", "tan": "tan", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "sinh": "sinh",
         "cosh": "cosh", "tanh": "tanh", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "exp": "exp", "exp2": "exp2", "expm1": "expm1",
         "log2": "log2", "log10": "log10", "log1p": "log1p", "sqrt": "sqrt", "cbrt": "cbrt", "fabs": "fabs", "fmod": "fmod", "copysign": "copysign",
         "pow": "power", "degrees": "degrees", "radians": "radians"}
_WHOLE = {"floor": "floor", "ceil": "ceil", "trunc": "trunc"}
_TESTS = {"isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite"}


def _number(e, name: str, a) -> Value:
    v = value_of(a)
    if v.ndim:
        raise TypeError(f"math.{name} of an array: np.{_SAME.get(name, name)} takes arrays")
    return python_float(e, v)


def _weak(v: Value) -> Value:
    return Value(v.dtype, v.shape, v.at, weak=True)


def _same(name: str, of: str):
    def handler(e, *args):
        return _weak(value_of(do(e, getattr(np, of), *[_number(e, name, a) for a in args])))
    return handler


def _whole(name: str, of: str):
    def handler(e, x):
        return python_int(e, do(e, getattr(np, of), _number(e, name, x)))
    return handler


def _log(e, x, base=None):
    made = op(e, "log", _number(e, "log", x))
    return _weak(made if base is None else op(e, "divide", made, op(e, "log", _number(e, "log", base))))


def _hypot(e, *coordinates):
    parts = [_number(e, "hypot", c) for c in coordinates]
    total = op(e, "square", parts[0])
    for p in parts[1:]:
        total = op(e, "add", total, op(e, "square", p))
    return _weak(op(e, "sqrt", total))


def _fsum(e, seq):
    total = 0.0
    for x in python_list(e, seq):
        total = op(e, "add", total, _number(e, "fsum", x))
    return total


def _prod(e, iterable, *, start=1):
    for x in python_list(e, iterable):
        start = op(e, "multiply", start, x)
    return start


def _dist(e, p, q):
    p, q = python_list(e, p), python_list(e, q)
    if len(p) != len(q):
        raise ValueError(f"math.dist of points with {len(p)} and {len(q)} coordinates")
    return _hypot(e, *[op(e, "subtract", a, b) for a, b in zip(p, q)])


def _erf(e, x):
    v = _number(e, "erf", x)
    return Value(v.dtype, (), lambda i: f"erf({v.at(i)})", weak=True)


def _isclose(e, a, b, *, rel_tol=1e-9, abs_tol=0.0):
    gap = op(e, "absolute", op(e, "subtract", a, b))
    most = op(e, "maximum", op(e, "multiply", rel_tol, op(e, "maximum", op(e, "absolute", a), op(e, "absolute", b))), abs_tol)
    return _weak(elementwise.apply(e, "less_equal", gap, most))


FUNCTIONS.update({getattr(math, name): _same(name, of) for name, of in {**_SAME, **_TESTS}.items() if hasattr(math, name)})
FUNCTIONS.update({getattr(math, name): _whole(name, of) for name, of in _WHOLE.items()})
FUNCTIONS.update({math.log: _log, math.fsum: _fsum, math.prod: _prod, math.dist: _dist, math.hypot: _hypot, math.erf: _erf, math.isclose: _isclose})
