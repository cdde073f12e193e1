"""Short Fourier transforms, as products with the matrix of their definition. Longer ones are left to torch's library, which
needs n log n steps where these take n²."""

from __future__ import annotations

import math

from ..errors import UnsupportedError
from .complex import PART
from .emit import COMPLEX, Value
from .table import op

LONGEST = 32


def _length(n) -> int:
    if not isinstance(n, int) or n > LONGEST:
        raise UnsupportedError(f"a Fourier transform of {n} elements: more than {LONGEST} are transformed faster by torch")
    return n


def _scale(normalization: int, sizes: list[int]) -> float:
    """Of torch's three normalizations: 0 none, 1 by the square root, 2 by the number of elements."""
    n = math.prod(sizes)
    return {0: 1.0, 1: 1 / math.sqrt(n), 2: 1 / n}[int(normalization)]


def _roots(c, n: int, forward: bool, dtype: str) -> Value:
    """exp(∓2πi k / n) for k below n."""
    part, sign = PART[dtype], "-" if forward else ""
    angle = lambda i: f"f64({i[0]}) * {2 * math.pi / n!r}"  # noqa: E731
    return c.fill(c.new(dtype, [n], "roots"), lambda i: f"complex({part}(cos({angle(i)})), {part}({sign}sin({angle(i)})))")


def _along(c, x: Value, d: int, dtype: str, count: int, forward: bool) -> Value:
    """The first `count` coefficients along dimension `d`, of n real or complex numbers."""
    n = _length(x.shape[d])
    roots = _roots(c, n, forward, dtype)
    out = c.new(dtype, [*x.shape[:d], count, *x.shape[d + 1:]], "f")
    x = c.whole(x)
    c.fill(out, lambda i: c.operand(0, (), dtype))
    c.maps([*out.shape, n], lambda i: c.line(
        f"{out.at(i[:-1])} += {roots.at([f'{i[d]} * {i[-1]} % {n}'])} * {c.operand(x, [*i[:d], i[-1], *i[d + 1:-1]], dtype)}"))
    return out


def _scaled(c, x: Value, factor: float) -> Value:
    out = c.result()
    text = c.operand(factor, (), out.dtype)
    return c.fill(out, lambda i: x.at(i) if factor == 1 else f"{x.at(i)} * {text}")


def _floats(c, dtype: str) -> None:
    if dtype not in COMPLEX:
        raise UnsupportedError(f"{c.target} of half precision")


@op("_fft_c2c")
def c2c(c, x, dims, normalization, forward):
    _floats(c, c.dtype)
    if x.rank == 0 or not dims:
        return _scaled(c, x, 1.0)
    dims = [d % x.rank for d in dims]
    sizes = [_length(x.shape[d]) for d in dims]
    y = x
    for d in dims:
        y = _along(c, y, d, c.dtype, y.shape[d], forward)
    return _scaled(c, y, _scale(normalization, sizes))


@op("_fft_r2c")
def r2c(c, x, dims, normalization, onesided):
    _floats(c, c.dtype)
    dims = [d % x.rank for d in dims]
    sizes = [_length(x.shape[d]) for d in dims]
    last = dims[-1]
    y = _along(c, x, last, c.dtype, sizes[-1] // 2 + 1 if onesided else sizes[-1], True)
    for d in dims[:-1]:
        y = _along(c, y, d, c.dtype, y.shape[d], True)
    return _scaled(c, y, _scale(normalization, sizes))


@op("_fft_c2r")
def c2r(c, x, dims, normalization, last_size):
    if x.dtype not in COMPLEX:
        raise UnsupportedError(f"{c.target} of {x.dtype}")
    dims, n = [d % x.rank for d in dims], _length(last_size)
    sizes = [*[_length(x.shape[d]) for d in dims[:-1]], n]
    d, y = dims[-1], x
    for k in dims[:-1]:
        y = _along(c, y, k, x.dtype, y.shape[k], False)
    y = c.whole(y)
    roots, half = _roots(c, n, False, x.dtype), n // 2 + 1
    if x.shape[d] != half:
        raise UnsupportedError(f"{x.shape[d]} coefficients of {n} real numbers, expected {half}")
    out = c.new(c.dtype, c.shape, "f")
    c.fill(out, lambda i: "0")
    # The other half are conjugates: each but the first, and the middle one, stands for two.
    c.maps([*out.shape, half], lambda i: c.line(
        f"{out.at(i[:-1])} += ({i[-1]} == 0 || 2 * {i[-1]} == {n} ? 1 : 2) * "
        f"real({roots.at([f'{i[d]} * {i[-1]} % {n}'])} * {y.at([*i[:d], i[-1], *i[d + 1:-1]])})"))
    return _scaled(c, out, _scale(normalization, sizes))
