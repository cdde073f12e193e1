"""Sums, extrema, statistics, scans."""

from __future__ import annotations

from ..errors import UnsupportedError
from . import sizes
from .emit import COMPLEX, FLOATS, HALVES, Value, cast
from .table import op


class Axes:
    """Which dimensions are reduced: indices of the whole array from those of the result and of the reduced part."""

    def __init__(self, a: Value, dims, keepdim: bool):
        if isinstance(dims, int):
            dims = [dims]
        self.rank, self.keepdim = a.rank, keepdim
        self.dims = sorted({d % a.rank for d in dims}) if dims and a.rank else ([] if not a.rank else list(range(a.rank)))
        self.kept = [d for d in range(a.rank) if d not in self.dims]
        self.extents = [a.shape[d] for d in self.dims]
        self.outer = [a.shape[d] for d in self.kept]
        self.shape = [1 if d in self.dims else s for d, s in enumerate(a.shape)] if keepdim else self.outer
        self.count = sizes.product(self.extents)

    def join(self, outer, inner) -> list[str]:
        both = dict(zip(self.kept, outer)) | dict(zip(self.dims, inner))
        return [both[d] for d in range(self.rank)]

    def target(self, outer) -> list[str]:
        """The result's index."""
        return self.join(outer, ["0"] * len(self.dims)) if self.keepdim else list(outer)

    def of(self, v: Value):
        """Text of the result's element for an index of the whole array."""
        return lambda index: v.at(self.target([index[d] for d in self.kept]))


def wide(dtype: str) -> str:
    return "f32" if dtype in HALVES else dtype


def widened(c, v: Value) -> Value:
    """v's elements in the type that sums of them have."""
    t = wide(v.dtype)
    return v if v.dtype == t else Value(t, v.shape, lambda i: cast(v.at(i), v.dtype, t))


def narrowed(c, v: Value, dtype: str) -> Value:
    return v if v.dtype == dtype else c.fill(c.new(dtype, v.shape), lambda i: cast(v.at(i), v.dtype, dtype))


def gathered(c, dtype: str, shape, add) -> Value:
    """A container that `add(sums)` adds to, in f32 where `dtype` is narrower: rounding each sum would lose what is added late."""
    sums = c.new(wide(dtype), shape, "sums")
    c.fill(sums, lambda i: "0")
    add(sums)
    return narrowed(c, sums, dtype)


def accumulate(c, axes: Axes, dtype: str, sign: str, start: str, text, hint="t") -> Value:
    """A container of the result's shape, of `start` and then `sign` text(index) for every element."""
    out = c.new(dtype, axes.shape, hint)
    c.fill(out, lambda i: start)
    n = len(axes.outer)

    def body(i):
        c.line(f"{out.at(axes.target(i[:n]))} {sign} {text(axes.join(i[:n], i[n:]))}")

    c.maps([*axes.outer, *axes.extents], body)
    return out


def total(c, axes: Axes, a: Value, dtype: str) -> Value:
    t = wide(dtype)
    return accumulate(c, axes, t, "+=", c.operand(0, (), t), lambda i: c.operand(a, i, t))


def settled(c, v: Value) -> Value:
    """v in the node's own type."""
    if v.dtype == c.dtype:
        return v
    return c.fill(c.new(c.dtype, v.shape), lambda i: cast(v.at(i), v.dtype, c.dtype))


@op("sum", "sum.dim_IntList")
def sum_(c, a, dims=None, keepdim=False, dtype=None):
    return settled(c, total(c, Axes(a, dims, keepdim), a, c.dtype))


@op("mean", "mean.dim")
def mean(c, a, dims=None, keepdim=False, dtype=None):
    axes = Axes(a, dims, keepdim)
    s = total(c, axes, a, c.dtype)
    out = c.new(c.dtype, axes.shape)
    return c.fill(out, lambda i: cast(f"({s.at(i)} / {s.dtype}({axes.count}))", s.dtype, out.dtype))


@op("prod", "prod.dim_int")
def prod(c, a, dims=None, keepdim=False, dtype=None):
    t = wide(c.dtype)
    return settled(c, accumulate(c, Axes(a, dims, keepdim), t, "*=", c.operand(1, (), t), lambda i: c.operand(a, i, t)))


def require_elements(a: Value) -> None:
    if any(s == 0 for s in a.shape):
        raise UnsupportedError("an extremum or a scan of no elements")


def extremum(c, axes: Axes, a: Value, sign: str) -> Value:
    t = a.dtype
    if t in COMPLEX:
        raise UnsupportedError("extrema of complex numbers")
    require_elements(a)
    out = c.new(t, axes.shape)
    n = len(axes.outer)
    if t in FLOATS:
        c.fill(out, lambda i: "(-inf)" if sign == "max=" else "inf")
    else:
        first = lambda i: [i[k] if not axes.keepdim else i[d] for k, d in enumerate(axes.kept)]  # noqa: E731
        c.fill(out, lambda i: a.at(axes.join(first(i), ["0"] * len(axes.dims))))
    c.maps([*axes.outer, *axes.extents], lambda i: c.line(f"{out.at(axes.target(i[:n]))} {sign} {a.at(axes.join(i[:n], i[n:]))}"))
    return out


def _as_numbers(c, a: Value) -> Value:
    return a if a.dtype != "bool" else c.fill(c.new("u8", a.shape), lambda i: cast(a.at(i), "bool", "u8"))


@op("amax", "max")
def amax(c, a, dims=None, keepdim=False):
    return settled(c, extremum(c, Axes(a, dims, keepdim), _as_numbers(c, a), "max="))


@op("amin", "min")
def amin(c, a, dims=None, keepdim=False):
    return settled(c, extremum(c, Axes(a, dims, keepdim), _as_numbers(c, a), "min="))


def position(c, a: Value, dim: int, keepdim: bool, sign: str) -> Value:
    """The first index of the extremum; NaN is the largest and the smallest."""
    axes = Axes(a, [dim], False)
    a = _as_numbers(c, a)
    best = extremum(c, axes, a, sign)
    out = c.new("i64", axes.shape)
    c.fill(out, lambda i: f"{axes.count}")
    n = len(axes.outer)

    def body(i):
        x = a.at(axes.join(i[:n], i[n:]))
        hit = f"{x} == {best.at(i[:n])}" + (f" || isnan({x})" if a.dtype in FLOATS else "")
        c.line(f"{out.at(i[:n])} min= ({hit} ? i64({i[n]}) : {axes.count})")

    c.maps([*axes.outer, *axes.extents], body)
    if not keepdim:
        return out
    kept = Axes(a, [dim], True)
    return c.fill(c.new("i64", kept.shape), lambda i: out.at([x for d, x in enumerate(i) if d not in kept.dims]))


@op("argmax", "argmin")
def argmax(c, a, dim=None, keepdim=False):
    sign = "max=" if "argmax" in c.target else "min="
    if dim is None:
        flat = c.viewed(a, [sizes.product(a.shape)])
        found = position(c, flat, 0, False, sign)
        return found if not keepdim else c.viewed(found, [1] * a.rank)
    if a.rank == 0:
        return c.fill(c.new("i64", ()), lambda i: "0")
    return position(c, a, dim, keepdim, sign)


@op("max.dim", "min.dim")
def max_dim(c, a, dim, keepdim=False):
    if a.rank == 0:
        return a, c.fill(c.new("i64", ()), lambda i: "0")
    a = c.whole(a)
    where = position(c, a, dim, True, "max=" if "max" in c.target else "min=")
    axes = Axes(a, [dim], keepdim)
    n, d = a.shape[axes.dims[0]], axes.dims[0]

    def chosen(i):
        at = list(i) if keepdim else axes.join(i, ["0"])
        at[d] = "0"
        return [*at[:d], f"i64({where.at(at)})", *at[d + 1:]]

    values = c.fill(c.new(a.dtype, axes.shape), lambda i: a.at(chosen(i)))
    if keepdim:
        return values, where
    return values, c.fill(c.new("i64", axes.shape), lambda i: where.at(axes.join(i, ["0"])))


def _count(c, axes: Axes, text) -> Value:
    return accumulate(c, axes, "i64", "+=", "0", text)


@op("any", "any.dim", "any.dims")
def any_(c, a, dims=None, keepdim=False):
    axes = Axes(a, dims, keepdim)
    n = _count(c, axes, lambda i: f"({c.operand(a, i, 'bool')} ? 1 : 0)")
    return c.fill(c.new("bool", axes.shape), lambda i: f"{n.at(i)} > 0")


@op("all", "all.dim", "all.dims")
def all_(c, a, dims=None, keepdim=False):
    axes = Axes(a, dims, keepdim)
    n = _count(c, axes, lambda i: f"({c.operand(a, i, 'bool')} ? 0 : 1)")
    return c.fill(c.new("bool", axes.shape), lambda i: f"{n.at(i)} == 0")


def moments(c, axes: Axes, a: Value, dtype: str, correction=0) -> tuple[Value, Value]:
    """Mean and variance, in `dtype`."""
    s = accumulate(c, axes, dtype, "+=", "0", lambda i: c.operand(a, i, dtype))
    mu = c.fill(c.new(dtype, axes.shape, "mean"), lambda i: f"{s.at(i)} / {dtype}({axes.count})")
    m = axes.of(mu)
    q = accumulate(c, axes, dtype, "+=", "0", lambda i: f"({c.operand(a, i, dtype)} - {m(i)}) * ({c.operand(a, i, dtype)} - {m(i)})")
    left = f"{dtype}({axes.count})" if correction == 0 else f"max({dtype}({axes.count}) - {c.operand(correction, (), dtype)}, 0)"
    return mu, c.fill(c.new(dtype, axes.shape, "var"), lambda i: f"{q.at(i)} / {left}")


def flat_at_zero(root: str, x: str) -> str:
    """The root of x, with the gradient 0 where x is 0."""
    return f"({x} == 0 ? 0 : {root.format(f'({x} == 0 ? 1 : {x})')})"


@op("var.correction", "std.correction", "var_mean.correction", "std_mean.correction")
def var(c, a, dims=None, correction=1, keepdim=False):
    if a.dtype in COMPLEX:
        raise UnsupportedError("variance of complex numbers")
    t = wide(a.dtype)
    mu, v = moments(c, Axes(a, dims, keepdim), a, t, 1 if correction is None else correction)
    to = lambda x: x if t == a.dtype else c.fill(c.new(a.dtype, x.shape), lambda i: cast(x.at(i), t, a.dtype))  # noqa: E731
    if "std" in c.target:
        v = c.fill(c.new(t, v.shape, "std"), lambda i: flat_at_zero("sqrt({0})", v.at(i)))
    return (to(v), to(mu)) if "_mean" in c.target else to(v)


@op("linalg_vector_norm")
def vector_norm(c, a, order=2, dims=None, keepdim=False, dtype=None):
    if a.dtype in COMPLEX or not isinstance(order, (int, float)):
        raise UnsupportedError(f"the norm of order {order} of {a.dtype}")
    axes, t = Axes(a, dims, keepdim), wide(c.dtype)
    if order in (float("inf"), float("-inf")):
        sizes_ = c.fill(c.new(c.dtype, a.shape), lambda i: f"abs({c.operand(a, i, c.dtype)})")
        return extremum(c, axes, sizes_, "max=" if order > 0 else "min=")
    x = lambda i: c.operand(a, i, t)  # noqa: E731
    p = c.operand(float(order), (), t)
    power, root = {0: ("({0} != 0 ? 1 : 0)", "{0}"), 1: ("abs({0})", "{0}"), 2: ("{0} * {0}", "sqrt({0})")}.get(
        order, (f"pow(abs({{0}}), {p})", f"pow({{0}}, 1 / {p})"))
    guarded = flat_at_zero if order > 0 and order != 1 else str.format
    s = accumulate(c, axes, t, "+=", "0", lambda i: power.format(x(i)) if order == 2 else guarded(power, x(i)))
    return c.fill(c.new(c.dtype, axes.shape), lambda i: cast(guarded(root, s.at(i)), t, c.dtype))


def _scan(c, a: Value, dim: int, sign: str) -> Value:
    require_elements(a)
    if a.rank == 0:
        return c.fill(c.result(), lambda i: c.operand(a, i, c.dtype))
    out = c.new(wide(c.dtype), c.shape, "scan")
    d = dim % a.rank
    outer = [s for k, s in enumerate(a.shape) if k != d]
    at = lambda i, t: [*i[:d], t, *i[d:]]  # noqa: E731
    c.maps(outer, lambda i: c.line(f"{out.at(at(i, '0'))} = {c.operand(a, at(i, '0'), out.dtype)}"))
    time = c.fresh("t")
    c.open(f"for {time} in 1:{a.shape[d]}")
    c.maps(outer, lambda i: c.line(
        f"{out.at(at(i, time))} = {out.at(at(i, time + ' - 1'))} {sign} {c.operand(a, at(i, time), out.dtype)}"))
    c.close()
    return narrowed(c, out, c.dtype)


@op("cumsum")
def cumsum(c, a, dim, dtype=None):
    return _scan(c, a, dim, "+")


@op("cumprod")
def cumprod(c, a, dim, dtype=None):
    return _scan(c, a, dim, "*")
