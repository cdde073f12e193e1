"""Order: sorting, ranks, medians, searches; running extrema."""

from __future__ import annotations

import torch

from ..errors import UnsupportedError
from . import sizes
from .emit import COMPLEX, FLOATS, HALVES, TYPES, Size, Value, cast, type_of
from .reductions import Axes, require_elements, wide
from .table import op


def comparable(c, a: Value) -> Value:
    if a.dtype in COMPLEX:
        raise UnsupportedError(f"{c.target} of complex numbers")
    require_elements(a)
    return a if a.dtype != "bool" else c.fill(c.new("u8", a.shape), lambda i: cast(a.at(i), "bool", "u8"))


def ordered(c, a: Value, dim: int, largest: bool, count=None) -> tuple[Value, Value]:
    """The first `count` elements along `dim` and where they were: equal ones keep their order, NaN is the largest."""
    if a.rank == 0:
        return c.fill(c.new(a.dtype, ()), lambda i: a.at(i)), c.fill(c.new("i64", ()), lambda i: "0")
    d = dim % a.rank
    count = a.shape[d] if count is None else count.text if isinstance(count, Size) else count
    if count == 0:
        raise UnsupportedError(f"{c.target} of no elements")
    shape = [*a.shape[:d], count, *a.shape[d + 1:]]
    values, where = c.new(a.dtype, shape, "sorted"), c.new("i64", shape, "order")
    k = c.constant("i64", [count]) if isinstance(count, int) else c.fill(c.new("i64", [1], "k"), lambda i: f"({count})")
    c.node("onnx.TopK", {"axis": d, "largest": int(largest), "sorted": 1}, {"X": a, "K": k},
           {"Values": values, "Indices": where})
    return values, where


def _typed(c, v: Value) -> Value:
    return v if v.dtype == c.dtype else c.fill(c.new(c.dtype, v.shape), lambda i: cast(v.at(i), v.dtype, c.dtype))


@op("sort")
def sort(c, a, dim=-1, descending=False):
    values, where = ordered(c, comparable(c, a), dim, descending)
    return _typed(c, values), where


@op("sort.stable")
def sort_stable(c, a, stable=None, dim=-1, descending=False):
    return sort(c, a, dim, descending)


@op("topk")
def topk(c, a, k, dim=-1, largest=True, sorted=True):
    values, where = ordered(c, comparable(c, a), dim, largest, k)
    return _typed(c, values), where


def _picked(c, values: Value, where: Value, dim: int, keepdim: bool, position) -> tuple[Value, Value]:
    """The elements at `position` (of an index without `dim`) along `dim` of both."""
    if values.rank == 0:
        return _typed(c, values), where
    axes = Axes(values, [dim], keepdim)
    d = axes.dims[0]

    def pick(v):
        def at(i):
            outer = [x for k, x in enumerate(i) if k != d] if keepdim else list(i)
            return v.at(axes.join(outer, [position(outer)]))

        return c.fill(c.new(v.dtype, axes.shape), at)

    return _typed(c, pick(values)), pick(where)


@op("kthvalue")
def kthvalue(c, a, k, dim=-1, keepdim=False):
    values, where = ordered(c, comparable(c, a), dim, False)
    return _picked(c, values, where, dim, keepdim, lambda outer: str(k - 1))


@op("median.dim", "nanmedian.dim")
def median_dim(c, a, dim, keepdim=False):
    """The lower one of two in the middle; NaN where there is one, unless these are left out."""
    values, where = ordered(c, comparable(c, a), dim, False)
    if values.rank == 0:
        return _picked(c, values, where, dim, keepdim, None)
    d = dim % a.rank
    n = a.shape[d]
    half = (n - 1) // 2 if isinstance(n, int) else f"(({n} - 1) // 2)"
    end = n - 1 if isinstance(n, int) else f"({n} - 1)"
    axes = Axes(values, [d], False)
    if a.dtype not in FLOATS:
        return _picked(c, values, where, dim, keepdim, lambda outer: str(half))
    if "nanmedian" not in c.target:
        last = lambda outer: values.at(axes.join(outer, [str(end)]))  # noqa: E731
        return _picked(c, values, where, dim, keepdim, lambda outer: f"(isnan({last(outer)}) ? {end} : {half})")
    count = c.fill(c.new("i64", axes.shape, "count"), lambda i: "0")
    c.maps([*axes.outer, n], lambda i: c.line(f"{count.at(i[:-1])} += (isnan({values.at(axes.join(i[:-1], i[-1:]))}) ? 0 : 1)"))
    return _picked(c, values, where, dim, keepdim, lambda outer: f"(max({count.at(outer)} - 1, 0) // 2)")


@op("median", "nanmedian")
def median(c, a):
    flat = c.viewed(a, [sizes.product(a.shape)]) if a.rank else a
    return median_dim(c, flat, 0)[0]


@op("mode")
def mode(c, a, dim=-1, keepdim=False):
    """The most frequent element, the smallest where there are several; and the last place where it is."""
    values, where = ordered(c, comparable(c, a), dim, False)
    if values.rank == 0:
        return _typed(c, values), where
    d = dim % a.rank
    axes = Axes(values, [d], False)
    run, most, best = (c.fill(c.new("i64", axes.shape, hint), lambda i: "0") for hint in ("run", "most", "best"))
    at = lambda i, t: values.at(axes.join(i, [t]))  # noqa: E731

    def step(t):
        before = f"max({t} - 1, 0)"
        c.maps(axes.shape, lambda i: c.line(f"{run.at(i)} = ({at(i, t)} == {at(i, before)} ? {run.at(i)} + 1 : 1)"))
        c.maps(axes.shape, lambda i: c.line(f"{best.at(i)} = ({run.at(i)} > {most.at(i)} ? {t} : {best.at(i)})"))
        c.maps(axes.shape, lambda i: c.line(f"{most.at(i)} = max({run.at(i)}, {most.at(i)})"))

    c.in_order(a.shape[d], step)
    return _picked(c, values, where, dim, keepdim, lambda outer: best.at(outer))


# ---- one after the other ----
@op("cummax", "cummin")
def cumulative(c, a, dim):
    """The extremum so far and the last place where it is; NaN stays."""
    source = comparable(c, a)
    values, where = c.new(source.dtype, a.shape), c.new("i64", a.shape)
    if a.rank == 0:
        c.fill(values, lambda i: source.at(i))
        return _typed(c, values), c.fill(where, lambda i: "0")
    d = dim % a.rank
    outer = [s for k, s in enumerate(a.shape) if k != d]
    sign = ">=" if "max" in c.target else "<="
    at = lambda i, t: [*i[:d], t, *i[d:]]  # noqa: E731
    c.maps(outer, lambda i: c.line(f"{values.at(at(i, '0'))} = {source.at(at(i, '0'))}"))
    c.maps(outer, lambda i: c.line(f"{where.at(at(i, '0'))} = 0"))
    time = c.fresh("t")
    c.open(f"for {time} in 1:{a.shape[d]}")
    before = f"{time} - 1"

    def newer(i):
        x, y = source.at(at(i, time)), values.at(at(i, before))
        better = f"{x} {sign} {y}"
        return f"(isnan({x}) || (!isnan({y}) && {better}))" if source.dtype in FLOATS else f"({better})"

    c.maps(outer, lambda i: c.line(f"{where.at(at(i, time))} = ({newer(i)} ? {time} : {where.at(at(i, before))})"))
    c.maps(outer, lambda i: c.line(f"{values.at(at(i, time))} = ({newer(i)} ? {source.at(at(i, time))} : {values.at(at(i, before))})"))
    c.close()
    return _typed(c, values), where


@op("logcumsumexp")
def logcumsumexp(c, a, dim):
    if a.dtype not in FLOATS or a.dtype in HALVES:
        raise UnsupportedError(f"logcumsumexp of {a.dtype}")
    require_elements(a)
    out = c.result()
    if a.rank == 0:
        return c.fill(out, lambda i: a.at(i))
    d = dim % a.rank
    outer = [s for k, s in enumerate(a.shape) if k != d]
    at = lambda i, t: [*i[:d], t, *i[d:]]  # noqa: E731
    c.maps(outer, lambda i: c.line(f"{out.at(at(i, '0'))} = {a.at(at(i, '0'))}"))
    time = c.fresh("t")
    c.open(f"for {time} in 1:{a.shape[d]}")

    def text(i):
        x, y = a.at(at(i, time)), out.at(at(i, f"{time} - 1"))
        top, low = f"max({x}, {y})", f"min({x}, {y})"
        return f"({top} == {low} && isinf({top}) ? {top} : {top} + log1p(exp({low} - {top})))"

    c.maps(outer, lambda i: c.line(f"{out.at(at(i, time))} = {text(i)}"))
    c.close()
    return out


# ---- searches ----
def _search(c, bounds: Value, values: Value, right: bool, sorter: Value | None) -> Value:
    """How many of the ascending `bounds`, the last dimension's, are below each value (`right`: or equal), by halving."""
    n, out = bounds.shape[-1], c.result()
    if bounds.dtype in COMPLEX or values.dtype in COMPLEX:
        raise UnsupportedError(f"{c.target} in numbers of {bounds.dtype}")
    t = wide(bounds.dtype if bounds.dtype == values.dtype else _meeting(bounds.dtype, values.dtype))
    low = c.fill(c.new("i64", values.shape, "low"), lambda i: "0")
    high = c.fill(c.new("i64", values.shape, "high"), lambda i: str(n))
    goes = c.new("bool", values.shape, "goes")
    middle = lambda i: f"(({low.at(i)} + {high.at(i)}) // 2)"  # noqa: E731

    def bound(i):
        lead = i[:-1] if bounds.rank > 1 else []
        k = f"min({middle(i)}, {n} - 1)"
        k = k if sorter is None else sorter.at([*lead, k])
        return cast(bounds.at([*lead, k]), bounds.dtype, t)

    def step(_):
        sign = ">" if right else ">="  # what compares with NaN is false, and NaN comes last
        c.fill(goes, lambda i: f"({low.at(i)} < {high.at(i)} && !({bound(i)} {sign} {cast(values.at(i), values.dtype, t)}))")
        moved = c.fill(c.new("i64", values.shape, "middle"), middle)
        c.fill(high, lambda i: f"({low.at(i)} < {high.at(i)} && !{goes.at(i)} ? {moved.at(i)} : {high.at(i)})")
        c.fill(low, lambda i: f"({goes.at(i)} ? {moved.at(i)} + 1 : {low.at(i)})")

    if isinstance(n, int):
        if n:
            c.in_order(n.bit_length() + 1, step)
    else:
        left = c.new("i64", (), "left")
        c.line(f"{left.name} = {n}")
        c.open(f"while {left.name} > 0")
        step(None)
        c.line(f"{left.name} = {left.name} // 2")
        c.close()
    return c.fill(out, lambda i: cast(low.at(i), "i64", out.dtype))


def _meeting(a: str, b: str) -> str:
    kinds = {name: t for t, name in TYPES.items()}
    return type_of(torch.promote_types(kinds[a], kinds[b]))


def _number(c, v, dtype: str) -> Value:
    return v if isinstance(v, Value) else c.fill(c.new(dtype, ()), lambda i: c.operand(v, i, dtype))


@op("searchsorted.Tensor", "searchsorted.Scalar")
def searchsorted(c, bounds, values, out_int32=False, right=False, side=None, sorter=None):
    return _search(c, bounds, _number(c, values, bounds.dtype), right or side == "right", sorter)


@op("bucketize.Tensor", "bucketize.Scalar")
def bucketize(c, values, bounds, out_int32=False, right=False):
    return _search(c, bounds, _number(c, values, bounds.dtype), right, None)
