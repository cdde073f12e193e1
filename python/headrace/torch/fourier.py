"""Fourier transforms: short ones as products with the matrix of their definition, others as linalg.Fft (n log n steps)."""

from __future__ import annotations

import math

from ..errors import UnsupportedError
from .complex import PART
from .emit import COMPLEX, Value, cast
from .table import op

LONGEST = 32  # of the short ones


def _is_short(n) -> bool:
    return isinstance(n, int) and n <= LONGEST


def _factor(normalization: int, sizes: list, part: str) -> str | None:
    """Of torch's three normalizations, as text: 0 none, 1 by the square root, 2 by the number of elements."""
    if int(normalization) == 0:
        return None
    if all(isinstance(n, int) for n in sizes):
        n = math.prod(sizes)
        return f"{part}({1 / n if int(normalization) == 2 else 1 / math.sqrt(n)!r})"
    n = " * ".join(f"f64({n})" for n in sizes)
    return f"{part}(1 / ({n}))" if int(normalization) == 2 else f"{part}(1 / sqrt({n}))"


def _roots(c, n: int, forward: bool, dtype: str) -> Value:
    """exp(∓2πi k / n) for k below n."""
    part, sign = PART[dtype], "-" if forward else ""
    angle = lambda i: f"f64({i[0]}) * {2 * math.pi / n!r}"  # noqa: E731
    return c.fill(c.new(dtype, [n], "roots"), lambda i: f"complex({part}(cos({angle(i)})), {part}({sign}sin({angle(i)})))")


def _along(c, x: Value, d: int, dtype: str, count, forward: bool) -> Value:
    """The first `count` coefficients along dimension `d`, of n real or complex numbers; not normalized."""
    n = x.shape[d]
    if not _is_short(n):
        return _by_library(c, x, d, dtype, count, forward)
    roots = _roots(c, n, forward, dtype)
    out = c.new(dtype, [*x.shape[:d], count, *x.shape[d + 1:]], "f")
    x = c.whole(x)
    c.fill(out, lambda i: c.operand(0, (), dtype))
    c.maps([*out.shape, n], lambda i: c.line(
        f"{out.at(i[:-1])} += {roots.at([f'{i[d]} * {i[-1]} % {n}'])} * {c.operand(x, [*i[:d], i[-1], *i[d + 1:-1]], dtype)}"))
    return out


def _by_library(c, x: Value, d: int, dtype: str, count, forward: bool) -> Value:
    """With dimension `d` last, as linalg.Fft wants it; it divides inverse transforms by n."""
    n, last = x.shape[d], x.rank - 1
    there = lambda i: [*i[:d], *i[d + 1:], i[d]]  # noqa: E731
    back = lambda i: [*i[:d], i[last], *i[d:last]]  # noqa: E731
    turned = c.fill(c.new(dtype, there(x.shape), "x"), lambda i: c.operand(x, back(i), dtype))
    made = c.new(dtype, turned.shape, "fft")
    c.node("linalg.Fft", {} if forward else {"inverse": 1}, {"X": turned}, {"Y": made})
    count_of_all = cast(f"{PART[dtype]}({n})", PART[dtype], dtype)
    text = (lambda i: made.at(there(i))) if forward else lambda i: f"({made.at(there(i))} * {count_of_all})"
    return Value(dtype, (*x.shape[:d], count, *x.shape[d + 1:]), text)


def _scaled(c, x: Value, factor: str | None) -> Value:
    out = c.result()
    number = factor and cast(factor, PART.get(out.dtype, out.dtype), out.dtype)
    return c.fill(out, lambda i: x.at(i) if number is None else f"{x.at(i)} * {number}")


def _floats(c, dtype: str) -> None:
    if dtype not in COMPLEX:
        raise UnsupportedError(f"{c.target} of half precision")


@op("_fft_c2c")
def c2c(c, x, dims, normalization, forward):
    _floats(c, c.dtype)
    if x.rank == 0 or not dims:
        return _scaled(c, x, None)
    dims = [d % x.rank for d in dims]
    y = x
    for d in dims:
        y = _along(c, y, d, c.dtype, y.shape[d], forward)
    return _scaled(c, y, _factor(normalization, [x.shape[d] for d in dims], PART[c.dtype]))


@op("_fft_r2c")
def r2c(c, x, dims, normalization, onesided):
    _floats(c, c.dtype)
    dims = [d % x.rank for d in dims]
    last = dims[-1]
    y = _along(c, x, last, c.dtype, c.shape[last], True)  # half of them where `onesided`
    for d in dims[:-1]:
        y = _along(c, y, d, c.dtype, y.shape[d], True)
    return _scaled(c, y, _factor(normalization, [x.shape[d] for d in dims], PART[c.dtype]))


@op("_fft_c2r")
def c2r(c, x, dims, normalization, last_size):
    if x.dtype not in COMPLEX:
        raise UnsupportedError(f"{c.target} of {x.dtype}")
    dims = [d % x.rank for d in dims]
    d, y = dims[-1], x
    n = c.shape[d]
    for k in dims[:-1]:
        y = _along(c, y, k, x.dtype, y.shape[k], False)
    y = c.whole(y)
    if isinstance(n, int) and isinstance(x.shape[d], int) and x.shape[d] != n // 2 + 1:
        raise UnsupportedError(f"{x.shape[d]} coefficients of {n} real numbers, expected {n // 2 + 1}")
    real = _short_real if _is_short(n) else _long_real
    return _scaled(c, real(c, y, d, n), _factor(normalization, [*[x.shape[k] for k in dims[:-1]], n], c.dtype))


def _short_real(c, y: Value, d: int, n: int) -> Value:
    roots, half = _roots(c, n, False, y.dtype), n // 2 + 1
    out = c.new(c.dtype, c.shape, "f")
    c.fill(out, lambda i: "0")
    # The other half are conjugates: each but the first, and the middle one, stands for two.
    c.maps([*out.shape, half], lambda i: c.line(
        f"{out.at(i[:-1])} += ({i[-1]} == 0 || 2 * {i[-1]} == {n} ? 1 : 2) * "
        f"real({roots.at([f'{i[d]} * {i[-1]} % {n}'])} * {y.at([*i[:d], i[-1], *i[d + 1:-1]])})"))
    return out


def _long_real(c, y: Value, d: int, n) -> Value:
    """From all n coefficients; the imaginary parts of the first, and of the middle one, are left out."""
    whole = c.new(y.dtype, c.shape, "f")
    at = lambda i, k: y.at([*i[:d], k, *i[d + 1:]])  # noqa: E731

    def text(i):
        k = i[d]
        own = f"complex(real({at(i, k)}), {PART[y.dtype]}(0))"
        return f"({k} == 0 || 2 * {k} == {n} ? {own} : 2 * {k} < {n} ? {at(i, k)} : conj({at(i, f'{n} - {k}')}))"

    c.fill(whole, text)
    made = _by_library(c, whole, d, y.dtype, n, False)
    return Value(c.dtype, c.shape, lambda i: f"real({made.at(i)})")
