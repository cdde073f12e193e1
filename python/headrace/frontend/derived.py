"""NumPy's functions that are made of others: differences, borders, comparisons, functions that leave NaN out."""

from __future__ import annotations

import numpy as np

from . import arrays, creation, elementwise
from .emitter import Emitter
from .functions import FUNCTIONS, handles
from .sizes import Size, maximum, minimum
from .values import Value, broadcast_shapes, is_number, text_as, typed_number, value_of


def do(e: Emitter, function, *args, **named):
    """What the program would write: np.function(…)."""
    return FUNCTIONS[function](e, *args, **named)


def op(e: Emitter, name: str, *args):
    return elementwise.apply(e, name, *args)


def along(e: Emitter, v: Value, axis: int, s) -> Value:
    """v[…, s, …]"""
    return arrays.subscript(e, v, tuple(s if k == axis else slice(None) for k in range(v.ndim)))


def floats(e: Emitter, a) -> Value:
    v = value_of(a)
    return v if v.dtype.kind in "fc" else elementwise.cast(e, v, np.float64)


def known(name: str, n, what: str = "its size") -> int:
    if not isinstance(n, int):
        raise NotImplementedError(f"np.{name} where {what} is {n}: it must be known when the program is translated")
    return n


def one_dimension(name: str, a) -> Value:
    v = value_of(a)
    if v.ndim != 1:
        raise ValueError(f"np.{name} takes arrays of one dimension, not {v.ndim}")
    return v


# ---- differences and sums ----
@handles(np.diff)
def diff(e, a, n=1, axis=-1):
    v = value_of(a)
    axis = arrays.normal(axis, v.ndim)
    for _ in range(n):
        v = e.settled(v)
        v = op(e, "not_equal" if v.dtype.kind == "b" else "subtract", along(e, v, axis, slice(1, None)), along(e, v, axis, slice(None, -1)))
    return v


@handles(np.ediff1d)
def ediff1d(e, ary):
    return diff(e, do(e, np.ravel, ary))


@handles(np.gradient)
def gradient(e, f, *spacing, axis=None, edge_order=1):
    v = e.settled(floats(e, f))
    axes = arrays.axes_of(axis, v.ndim)
    steps = list(spacing) * (len(axes) if len(spacing) == 1 else 1) or [1.0] * len(axes)
    if len(steps) != len(axes):
        raise TypeError("np.gradient takes one spacing, or one for each axis")
    if edge_order != 1 or any(not is_number(h) and value_of(h).ndim for h in steps):
        raise NotImplementedError("np.gradient with edge_order=2, or with an array of positions")
    made = [_slope(e, v, k, h) for k, h in zip(axes, steps)]
    return made[0] if len(made) == 1 else tuple(made)


def _slope(e, v, axis, h):
    part = lambda begin, end: along(e, v, axis, slice(begin, end))  # noqa: E731
    inner = op(e, "divide", op(e, "subtract", part(2, None), part(None, -2)), op(e, "multiply", h, 2.0))
    first = op(e, "divide", op(e, "subtract", part(1, 2), part(None, 1)), h)
    last = op(e, "divide", op(e, "subtract", part(-1, None), part(-2, -1)), h)
    return arrays.concatenate(e, [first, inner, last], axis)


@handles(np.trapezoid)
def trapezoid(e, y, x=None, dx=1.0, axis=-1):
    v = e.settled(floats(e, y))
    axis = arrays.normal(axis, v.ndim)
    both = op(e, "add", along(e, v, axis, slice(1, None)), along(e, v, axis, slice(None, -1)))
    width = dx
    if x is not None:
        width = diff(e, x, axis=-1)
        if width.ndim == 1:
            width = arrays.keep_dims(width, [k for k in range(v.ndim) if k != axis], v.ndim)
    return do(e, np.sum, op(e, "divide", op(e, "multiply", both, width), 2.0), axis)


@handles(np.ptp)
def ptp(e, a, axis=None, keepdims=False):
    v = e.settled(a)
    return op(e, "subtract", do(e, np.max, v, axis, keepdims=keepdims), do(e, np.min, v, axis, keepdims=keepdims))


@handles(np.count_nonzero)
def count_nonzero(e, a, axis=None, *, keepdims=False):
    return do(e, np.sum, elementwise.cast(e, op(e, "not_equal", a, 0), np.int64), axis, keepdims=keepdims)


@handles(np.convolve)
def convolve(e, a, v, mode="full"):
    x, y = (e.settled(one_dimension("convolve", w)) for w in (a, v))
    n, m = x.shape[0], y.shape[0]
    dtype = np.result_type(x.dtype, y.dtype)
    full = e.transient(dtype, [n + m - 1], "convolution")
    e.fill(full, 0)
    terms = op(e, "multiply", arrays.keep_dims(x, [1], 2), arrays.keep_dims(y, [0], 2))
    with e.rebinding():
        e.maps([n, m], lambda i: e.write(full, [f"{i[0]} + {i[1]}"], e.expression(terms, i, dtype), "+="))
    most, least = maximum(n, m), minimum(n, m)
    if mode == "full":
        return full
    if mode not in ("same", "valid"):
        raise ValueError(f"np.convolve: mode is full, same or valid, not {mode!r}")
    begin, length = ((least - 1) // 2, most) if mode == "same" else (least - 1, most - least + 1)
    return arrays.subscript(e, full, (slice(begin, begin + length),))


@handles(np.correlate)
def correlate(e, a, v, mode="valid"):
    n, m = one_dimension("correlate", a).shape[0], one_dimension("correlate", v).shape[0]
    if mode != "full" and not (isinstance(n, int) and isinstance(m, int) and n >= m):
        raise NotImplementedError(f"np.correlate of {n} and {m} elements with mode={mode!r}: the first is to be known as the longer one")
    return convolve(e, a, op(e, "conjugate", do(e, np.flip, v)), mode)


# ---- rounding ----
@handles(np.round, np.around)
def round_(e, a, decimals=0):
    v = value_of(a)
    if v.dtype.kind in "iub" and decimals >= 0:
        return v
    if decimals == 0:
        return op(e, "rint", v)
    power = 10.0 ** abs(decimals)
    if decimals > 0:
        return op(e, "divide", op(e, "rint", op(e, "multiply", v, power)), power)
    return elementwise.cast(e, op(e, "multiply", op(e, "rint", op(e, "divide", v, power)), power), v.dtype)


@handles(np.fix)
def fix(e, x):
    return op(e, "trunc", x)


@handles(np.modf)
def modf(e, x):
    v = e.settled(floats(e, x))
    whole = e.settled(op(e, "trunc", v))
    return op(e, "copysign", elementwise.where(op(e, "isinf", v), 0.0, op(e, "subtract", v, whole)), v), whole


@handles(np.signbit)
def signbit(e, x):
    v = value_of(x)
    return op(e, "less", op(e, "copysign", 1.0, v) if v.dtype.kind == "f" else v, 0)


@handles(np.degrees)
def degrees(e, x):
    return op(e, "rad2deg", x)


@handles(np.radians)
def radians(e, x):
    return op(e, "deg2rad", x)


@handles(np.divmod)
def divmod_(e, x1, x2):
    a, b = e.settled(x1), e.settled(x2)
    return op(e, "floor_divide", a, b), op(e, "remainder", a, b)


# ---- comparisons ----
@handles(np.isclose)
def isclose(e, a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    a, b = e.settled(a), e.settled(b)
    near = op(e, "less_equal", op(e, "absolute", op(e, "subtract", a, b)),
              op(e, "add", atol, op(e, "multiply", rtol, op(e, "absolute", b))))
    result = op(e, "logical_or", op(e, "logical_and", near, op(e, "isfinite", b)), op(e, "equal", a, b))
    if equal_nan:
        result = op(e, "logical_or", result, op(e, "logical_and", op(e, "isnan", a), op(e, "isnan", b)))
    return result


@handles(np.allclose)
def allclose(e, a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    return do(e, np.all, isclose(e, a, b, rtol, atol, equal_nan))


@handles(np.array_equal)
def array_equal(e, a1, a2):
    a, b = value_of(a1), value_of(a2)
    if a.ndim != b.ndim or any(isinstance(m, int) and isinstance(n, int) and m != n for m, n in zip(a.shape, b.shape)):
        return False
    return do(e, np.all, op(e, "equal", a, b))


@handles(np.isin)
def isin(e, element, test_elements):
    v = value_of(element)
    tests = test_elements if isinstance(test_elements, (list, tuple)) else None
    if tests is not None:
        found = value_of(False)
        for t in tests:
            found = op(e, "logical_or", found, op(e, "equal", v, t))
        return elementwise.where(found, np.bool_(True), np.bool_(False)) if v.ndim and not found.ndim else found
    other = e.settled(do(e, np.ravel, test_elements))
    return do(e, np.any, op(e, "equal", arrays.keep_dims(v, [v.ndim], v.ndim + 1), other), -1)


@handles(np.nan_to_num)
def nan_to_num(e, x, copy=True, nan=0.0, posinf=None, neginf=None):
    if not copy:
        raise NotImplementedError("np.nan_to_num in place: assign x[...] = np.nan_to_num(x)")
    v = e.settled(x)
    if v.dtype.kind != "f":
        return v
    info = np.finfo(v.dtype)
    high, low = (float(info.max) if posinf is None else posinf), (float(info.min) if neginf is None else neginf)
    v = e.settled(elementwise.where(op(e, "isnan", v), nan, v))
    v = e.settled(elementwise.where(op(e, "equal", v, np.inf), high, v))
    return elementwise.where(op(e, "equal", v, -np.inf), low, v)


@handles(np.select)
def select(e, condlist, choicelist, default=0):
    if len(condlist) != len(choicelist):
        raise ValueError("np.select takes as many conditions as choices")
    result = default
    for condition, choice in reversed(list(zip(condlist, choicelist))):
        result = elementwise.where(condition, choice, result)
    return result


# ---- what leaves NaN out ----
def _without(e, a, number):
    v = e.settled(a)
    return v if v.dtype.kind != "f" else elementwise.where(op(e, "isnan", v), number, v)


@handles(np.nansum)
def nansum(e, a, axis=None, dtype=None, keepdims=False):
    return do(e, np.sum, _without(e, a, 0.0), axis, dtype, keepdims)


@handles(np.nanprod)
def nanprod(e, a, axis=None, dtype=None, keepdims=False):
    return do(e, np.prod, _without(e, a, 1.0), axis, dtype, keepdims)


@handles(np.nancumsum)
def nancumsum(e, a, axis=None):
    return do(e, np.cumsum, _without(e, a, 0.0), axis)


def _zero_for_nan(e, v, of):
    return elementwise.where(op(e, "isnan", of), 0.0, v)


def _counted(e, v, axis, keepdims):
    return do(e, np.sum, elementwise.cast(e, op(e, "equal", v, v), v.dtype), axis, keepdims=keepdims)


@handles(np.nanmean)
def nanmean(e, a, axis=None, keepdims=False):
    v = e.settled(floats(e, a))
    return op(e, "divide", nansum(e, v, axis, keepdims=keepdims), _counted(e, v, axis, keepdims))


@handles(np.nanvar)
def nanvar(e, a, axis=None, ddof=0, keepdims=False):
    v = e.settled(floats(e, a))
    gap = e.settled(_zero_for_nan(e, op(e, "subtract", v, e.settled(nanmean(e, v, axis, True))), v))
    total = do(e, np.sum, op(e, "multiply", gap, gap), axis, keepdims=keepdims)
    return op(e, "divide", total, op(e, "subtract", _counted(e, v, axis, keepdims), ddof))


@handles(np.nanstd)
def nanstd(e, a, axis=None, ddof=0, keepdims=False):
    return op(e, "sqrt", nanvar(e, a, axis, ddof, keepdims))


def _nan_extreme(function, outside):
    def handler(e, a, axis=None, keepdims=False):
        v = e.settled(a)
        if v.dtype.kind != "f":
            return do(e, function, v, axis, keepdims=keepdims)
        found = do(e, function, _without(e, v, outside), axis, keepdims=keepdims)
        return elementwise.where(op(e, "equal", _counted(e, v, axis, keepdims), 0), np.nan, found)
    return handler


FUNCTIONS[np.nanmax], FUNCTIONS[np.nanmin] = _nan_extreme(np.max, -np.inf), _nan_extreme(np.min, np.inf)


# ---- elementwise ----
@handles(np.logaddexp)
def logaddexp(e, x1, x2):
    return _log_of_sum(e, x1, x2, "exp", "log")


@handles(np.logaddexp2)
def logaddexp2(e, x1, x2):
    return _log_of_sum(e, x1, x2, "exp2", "log2")


def _log_of_sum(e, x1, x2, power, log):
    a, b = (e.settled(floats(e, x)) for x in (x1, x2))
    most = op(e, "maximum", a, b)
    most = e.settled(Value(most.dtype, most.shape, lambda i, m=most: f"hold({m.at(i)})"))  # shifts both alike: no part of the gradient
    finite = e.settled(elementwise.where(op(e, "isfinite", most), most, 0.0))
    total = op(e, "add", *(op(e, power, op(e, "subtract", x, finite)) for x in (a, b)))
    return op(e, "add", op(e, log, total), finite)


@handles(np.sinc)
def sinc(e, x):
    v = e.settled(floats(e, x))
    y = e.settled(op(e, "multiply", np.pi, elementwise.where(op(e, "equal", v, 0.0), 1.0e-20, v)))
    return op(e, "divide", op(e, "sin", y), y)


@handles(np.angle)
def angle(e, z, deg=False):
    v = e.settled(z)
    made = op(e, "arctan2", do(e, np.imag, v), do(e, np.real, v)) if v.dtype.kind == "c" else elementwise.where(op(e, "less", v, 0), np.pi, 0.0)
    return op(e, "rad2deg", made) if deg else made


@handles(np.polyval)
def polyval(e, p, x):
    coefficients = one_dimension("polyval", p if isinstance(p, Value) else do(e, np.array, p))
    n = known("polyval", coefficients.shape[0], "the number of coefficients")
    v, result = e.settled(x), None
    for k in range(n):
        c = arrays.subscript(e, coefficients, (k,))
        result = c if result is None else op(e, "add", op(e, "multiply", result, v), c)
    return op(e, "add", result, op(e, "multiply", v, 0)) if n == 1 else result


@handles(np.vander)
def vander(e, x, N=None, increasing=False):
    v = e.settled(one_dimension("vander", x))
    n = v.shape[0] if N is None else e.size_of(N)
    power = do(e, np.arange, n)
    if not increasing:
        power = op(e, "subtract", n - 1 if not isinstance(n, Size) else Size(f"({n}) - 1"), power)
    return op(e, "power", arrays.keep_dims(v, [1], 2), power)


@handles(np.cross)
def cross(e, a, b):
    x, y = e.settled(a), e.settled(b)
    if x.shape[-1] != 3 or y.shape[-1] != 3:
        raise NotImplementedError("np.cross of other than 3 elements in the last dimension")
    part = lambda v, k: along(e, v, v.ndim - 1, k)  # noqa: E731
    made = [op(e, "subtract", op(e, "multiply", part(x, i), part(y, j)), op(e, "multiply", part(x, j), part(y, i)))
            for i, j in ((1, 2), (2, 0), (0, 1))]
    return arrays.stack(e, made, -1)


@handles(np.kron)
def kron(e, a, b):
    x, y = e.settled(a), e.settled(b)
    n = max(x.ndim, y.ndim)
    x, y = (arrays.keep_dims(v, range(n - v.ndim), n) for v in (x, y))
    shape = [p * q for p, q in zip(x.shape, y.shape)]
    dtype = np.result_type(x.dtype, y.dtype)

    def at(i):
        return (f"{text_as(x, [f'{k} // {arrays.atom(s)}' for k, s in zip(i, y.shape)], dtype)} * "
                f"{text_as(y, [f'{k} % {arrays.atom(s)}' for k, s in zip(i, y.shape)], dtype)}")
    return Value(dtype, shape, lambda i: f"({at(i)})")


@handles(np.linalg.multi_dot)
def multi_dot(e, parts):
    result = parts[0]
    for p in parts[1:]:
        result = do(e, np.dot, result, p)
    return result


@handles(np.corrcoef)
def corrcoef(e, x, rowvar=True):
    c = e.settled(do(e, np.cov, x, rowvar))
    if c.ndim == 0:
        return op(e, "divide", c, c)
    d = e.settled(op(e, "sqrt", do(e, np.diag, c)))
    return op(e, "divide", op(e, "divide", c, arrays.keep_dims(d, [1], 2)), d)


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
    before = op(e, "less" if side == "left" else "less_equal", order, arrays.keep_dims(x, [x.ndim], x.ndim + 1))
    return do(e, np.sum, elementwise.cast(e, before, np.int64), -1)


@handles(np.digitize)
def digitize(e, x, bins, right=False):
    edges = e.settled(bins)
    v = e.settled(x)
    up = searchsorted(e, edges, v, "left" if right else "right")
    down = op(e, "subtract", edges.shape[0], searchsorted(e, do(e, np.flip, edges), v, "right" if right else "left"))
    rising = op(e, "less_equal", arrays.subscript(e, edges, (0,)), arrays.subscript(e, edges, (-1,)))
    return elementwise.where(rising, up, down)


@handles(np.interp)
def interp(e, x, xp, fp, left=None, right=None):
    v, places, values = e.settled(floats(e, x)), e.settled(floats(e, xp)), e.settled(floats(e, fp))
    n = one_dimension("interp", places).shape[0]
    last = n - 1
    j = e.materialize(do(e, np.clip, op(e, "subtract", searchsorted(e, places, v, "right"), 1), 0, last - 1), "place")
    next_ = op(e, "add", j, 1)
    at = lambda a, k: arrays.subscript(e, a, (k,))  # noqa: E731
    slope = op(e, "divide", op(e, "subtract", at(values, next_), at(values, j)), op(e, "subtract", at(places, next_), at(places, j)))
    inside = op(e, "add", op(e, "multiply", slope, op(e, "subtract", v, at(places, j))), at(values, j))
    end = lambda a, k: arrays.subscript(e, a, (k,))  # noqa: E731
    made = elementwise.where(op(e, "greater", v, end(places, -1)), end(values, -1) if right is None else right, inside)
    return elementwise.where(op(e, "less", v, end(places, 0)), end(values, 0) if left is None else left, made)


# ---- shapes ----
_SOURCES = {"edge": "clamp({i}, 0, {n} - 1)", "reflect": "reflect({i}, {n})", "wrap": "({i}) % {n}"}


@handles(np.pad)
def pad(e, array, pad_width, mode="constant", constant_values=0):
    v = e.settled(array)
    widths = _widths(e, pad_width, v.ndim)
    shape = [s + before + after for s, (before, after) in zip(v.shape, widths)]
    if mode not in ("constant", *_SOURCES):
        raise NotImplementedError(f"np.pad with mode={mode!r}: there are constant, edge, reflect and wrap")
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
    v = value_of(a)
    return arrays.keep_dims(v, [0], 1) if v.ndim == 0 else v


@handles(np.atleast_2d)
def atleast_2d(e, a):
    v = value_of(a)
    return arrays.keep_dims(v, range(2 - v.ndim), 2) if v.ndim < 2 else v


@handles(np.atleast_3d)
def atleast_3d(e, a):
    v = value_of(a)
    added = {0: [0, 1, 2], 1: [0, 2], 2: [2]}.get(v.ndim)
    return arrays.keep_dims(v, added, 3) if added else v


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
    v = value_of(a)
    if v.ndim != 2:
        raise NotImplementedError("np.diagonal of an array of other than two dimensions")
    return do(e, np.diag, v if (axis1, axis2) == (0, 1) else arrays.transpose(v), offset)


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


# ---- what NumPy computes of numbers ----
def _of_numbers(name):
    def handler(e, *args, **named):
        raise NotImplementedError(f"np.{name} of a size that a call decides")
    return handler


for _name in ("blackman", "hamming", "hanning", "bartlett", "kaiser", "logspace", "geomspace"):
    FUNCTIONS[getattr(np, _name)] = _of_numbers(_name)
FUNCTIONS[np.fft.fftfreq], FUNCTIONS[np.fft.rfftfreq] = _of_numbers("fft.fftfreq"), _of_numbers("fft.rfftfreq")
