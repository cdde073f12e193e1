"""Complex numbers: parts, and tensors of pairs that are read as them."""

from __future__ import annotations

from ..errors import UnsupportedError
from .emit import COMPLEX, FLOATS, Value
from .pointwise import absolute, apply
from .table import op

PART = {"c64": "f32", "c128": "f64"}


@op("view_as_real", "view_as_real_copy")
def view_as_real(c, a):
    if a.dtype not in COMPLEX:
        raise UnsupportedError(f"view_as_real of {a.dtype}")
    return Value(PART[a.dtype], c.shape, lambda i: f"({i[-1]} == 0 ? real({a.at(i[:-1])}) : imag({a.at(i[:-1])}))")


@op("view_as_complex", "view_as_complex_copy")
def view_as_complex(c, a):
    if a.dtype not in PART.values():
        raise UnsupportedError(f"view_as_complex of {a.dtype}")
    return Value(c.dtype, c.shape, lambda i: f"complex({a.at([*i, '0'])}, {a.at([*i, '1'])})")


@op("real")
def real(c, a):
    return a if a.dtype not in COMPLEX else Value(PART[a.dtype], a.shape, lambda i: f"real({a.at(i)})")


@op("imag")
def imag(c, a):
    return Value(PART[a.dtype], a.shape, lambda i: f"imag({a.at(i)})")


@op("complex")
def complex_(c, re, im):
    if c.dtype not in COMPLEX:
        raise UnsupportedError(f"complex numbers of {re.dtype}")
    out, t = c.result(), PART[c.dtype]
    return c.fill(out, lambda i: f"complex({c.operand(re, i, t)}, {c.operand(im, i, t)})")


@op("polar")
def polar(c, size, angle):
    if c.dtype not in COMPLEX:
        raise UnsupportedError(f"complex numbers of {size.dtype}")
    out, t = c.result(), PART[c.dtype]
    r, p = (lambda i: c.operand(size, i, t)), (lambda i: c.operand(angle, i, t))
    return c.fill(out, lambda i: f"complex({r(i)} * cos({p(i)}), {r(i)} * sin({p(i)}))")


@op("angle")
def angle(c, a):
    if a.dtype in COMPLEX:
        return c.fill(c.result(), lambda i: f"atan2(imag({a.at(i)}), real({a.at(i)}))")
    if c.dtype not in FLOATS:
        raise UnsupportedError(f"angle of {a.dtype}")
    return apply(c, c.dtype, "(isnan({0}) ? {0} : {0} < 0 ? 3.141592653589793 : 0)", a)


def modulus(text: str) -> str:
    """|z| without the overflow of a sum of squares."""
    x, y = f"abs(real({text}))", f"abs(imag({text}))"
    top = f"max({x}, {y})"
    return f"({top} == 0 || isinf({top}) ? {top} : {top} * sqrt(({x} / {top}) * ({x} / {top}) + ({y} / {top}) * ({y} / {top})))"


@op("abs")
def abs_(c, a):
    return absolute(c, a) if a.dtype not in COMPLEX else c.fill(c.result(), lambda i: modulus(a.at(i)))


@op("sgn")
def sgn(c, a):
    if a.dtype not in COMPLEX:
        return apply(c, c.dtype, "{0}" if c.dtype == "bool" else "sign({0})", a)
    part = PART[a.dtype]
    r = c.fill(c.new(part, a.shape), lambda i: modulus(a.at(i)))
    return c.fill(c.result(), lambda i: f"({r.at(i)} == 0 ? {a.at(i)} : {a.at(i)} / complex({r.at(i)}, {part}(0)))")


@op("_conj", "_conj_physical", "conj_physical")
def conjugate(c, a):
    return apply(c, a.dtype, "conj({0})", a) if a.dtype in COMPLEX else a
