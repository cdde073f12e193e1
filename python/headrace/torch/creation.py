"""Tensors from sizes and numbers."""

from __future__ import annotations

from ..errors import UnsupportedError
from .emit import FLOATS, Value, cast
from .pointwise import apply
from .table import op


def _filled(c, value) -> Value:
    return apply(c, c.dtype, "{0}", value)


@op("full")
def full(c, size, value, **rest):
    return _filled(c, value)


@op("full_like", "new_full")
def full_like(c, a, *args, **rest):
    return _filled(c, args[-1])


@op("fill.Scalar", "fill.Tensor")
def fill(c, a, value):
    return _filled(c, value)


@op("zeros", "zeros_like", "new_zeros", "empty.memory_format", "empty_like", "new_empty", "empty_strided", "new_empty_strided",
    "empty_permuted", "_efficientzerotensor")
def zeros(c, *args, **rest):
    return _filled(c, 0)


@op("ones", "ones_like", "new_ones")
def ones(c, *args, **rest):
    return _filled(c, 1)


@op("scalar_tensor", "prims.scalar_tensor")
def scalar_tensor(c, value, **rest):
    return _filled(c, value)


@op("arange", "arange.start", "arange.start_step")
def arange(c, *bounds, **rest):
    start, step = (bounds[0] if len(bounds) > 1 else 0), (bounds[2] if len(bounds) > 2 else 1)
    out = c.result()
    t = out.dtype
    if t in FLOATS:
        return c.fill(out, lambda i: f"{c.operand(start, (), t)} + {t}({i[0]}) * {c.operand(step, (), t)}")
    if isinstance(start, float) or isinstance(step, float):
        raise UnsupportedError("arange of integers with bounds that are none")
    return c.fill(out, lambda i: cast(f"({c.operand(start, (), 'i64')} + i64({i[0]}) * {c.operand(step, (), 'i64')})", "i64", t))


@op("eye", "eye.m")
def eye(c, *sizes, **rest):
    out = c.result()
    one, zero = c.operand(1, (), out.dtype), c.operand(0, (), out.dtype)
    return c.fill(out, lambda i: f"({i[0]} == {i[1]} ? {one} : {zero})")


@op("tril", "triu")
def triangle(c, a, diagonal=0):
    out = c.result()
    sign = "<=" if "tril" in c.target else ">="
    zero = c.operand(0, (), out.dtype)
    return c.fill(out, lambda i: f"({i[-1]} {sign} {i[-2]} + {c.operand(diagonal, (), 'i64')} ? {c.operand(a, i, out.dtype)} : {zero})")
