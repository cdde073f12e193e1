"""Special functions, computed in f64: the gamma function's family, the error function's, orthogonal polynomials."""

from __future__ import annotations

import math
from fractions import Fraction

from ..errors import UnsupportedError
from .emit import COMPLEX, FLOATS, Value, cast
from .reductions import wide
from .table import op

_PI = repr(math.pi)
# log(exp(x²) erfc(x) / t), t = 2 / (2 + x), as a polynomial in 2 t - 1, the highest power first; to 1e-18 for x ≥ 0
_ERFC = [
    6.051436716090043e-10, -1.2973518648479925e-12, -6.275648318222412e-09, 4.069849872792401e-09, 2.541837369828896e-08,
    -3.9199453421604384e-08, -2.5937589059652304e-08, 1.5339350786367615e-07, -2.149633909011591e-07, -1.6855715814054048e-07,
    1.2197533489378143e-06, -1.2722640226321771e-06, -2.9292422587181827e-06, 8.562596309287005e-06, 1.2945577714822084e-07,
    -3.018787378070675e-05, 3.174776232559942e-05, 7.140101116018354e-05, -0.00017430350626236601, -9.37350306194921e-05,
    0.000673678876415882, -0.00014624686344387507, -0.0023458125078232696, 0.0017589335578036792, 0.008824938557437954,
    -0.009872689366390129, -0.046895610231184354, 0.04734330684190443, 0.6726432239776567, -0.6717940840566923]


def widened(c, a: Value) -> Value:
    """a in f64."""
    if a.dtype in ("c64", "c128"):
        raise UnsupportedError(f"{c.target} of complex numbers")
    return c.fill(c.new("f64", a.shape, "x"), lambda i: cast(a.at(i), a.dtype, "f64"))


def narrow(c, text) -> Value:
    """The node's result from a text of type f64."""
    out = c.result()
    if out.dtype not in FLOATS:
        raise UnsupportedError(f"{c.target} of {out.dtype}")
    return c.fill(out, lambda i: cast(f"({text(i)})", "f64", out.dtype))


def derived(c, shape, text, hint="t") -> Value:
    return c.fill(c.new("f64", shape, hint), text)


def horner(numbers: list[float], v: str) -> str:
    """A polynomial's value at v; the highest power's factor first."""
    text = repr(numbers[0])
    for k in numbers[1:]:
        text = f"({text} * {v} + ({k!r}))"
    return text


def _power(text: str, n: int) -> str:
    return "(" + " * ".join([text] * n) + ")"


# ---- the gamma function ----
def _bernoulli(n: int) -> Fraction:
    numbers = [Fraction(1)]
    for m in range(1, n + 1):
        numbers.append(-sum(math.comb(m + 1, k) * numbers[k] for k in range(m)) / (m + 1))
    return numbers[n]


_SHIFT = 12  # from here on the asymptotic series has f64's precision


def _shifted(c, z: Value) -> Value:
    return derived(c, z.shape, lambda i: f"({z.at(i)} < {_SHIFT} ? {z.at(i)} + {_SHIFT} : {z.at(i)})", "far")


@op("lgamma")
def lgamma(c, a):
    x = widened(c, a)
    z = derived(c, x.shape, lambda i: f"({x.at(i)} < 0.5 ? 1 - {x.at(i)} : {x.at(i)})", "z")
    y = _shifted(c, z)

    def positive(i):
        v = y.at(i)
        series = " + ".join(f"({float(_bernoulli(2 * k) / (2 * k * (2 * k - 1)))!r}) / {_power(v, 2 * k - 1)}" for k in range(1, 8))
        below = " * ".join(f"({z.at(i)} + {k})" for k in range(_SHIFT))
        return f"({v} - 0.5) * log({v}) - {v} + {0.5 * math.log(2 * math.pi)!r} + {series} - ({z.at(i)} < {_SHIFT} ? log({below}) : 0)"

    p = derived(c, x.shape, positive, "p")
    reflected = lambda v, i: f"log({_PI} / abs(sin({_PI} * ({v} - rint({v}))))) - {p.at(i)}"  # noqa: E731
    return narrow(c, lambda i: f"(isinf({x.at(i)}) ? abs({x.at(i)}) : {x.at(i)} < 0.5 ? {reflected(x.at(i), i)} : {p.at(i)})")


def _polygamma(c, n: int, a: Value) -> Value:
    """The n-th derivative of digamma."""
    x = widened(c, a)
    z = derived(c, x.shape, lambda i: f"({x.at(i)} < 0.5 ? 1 - {x.at(i)} : {x.at(i)})", "z")
    y = _shifted(c, z)
    sign = -1 if n % 2 == 0 else 1

    def positive(i):
        v = y.at(i)
        terms = [f"{math.factorial(n - 1)} / {_power(v, n)}" if n else f"(-log({v}))", f"{math.factorial(n) / 2!r} / {_power(v, n + 1)}"]
        terms += [f"({float(_bernoulli(2 * k) * math.factorial(2 * k + n - 1) / math.factorial(2 * k))!r}) / {_power(v, 2 * k + n)}"
                  for k in range(1, 9)]
        below = " + ".join(f"{math.factorial(n)} / {_power(f'({z.at(i)} + {k})', n + 1)}" for k in range(_SHIFT))
        return f"{sign} * ({' + '.join(terms)} + ({z.at(i)} < {_SHIFT} ? {below} : 0))"

    p = derived(c, x.shape, positive, "p")
    cot = [0, 1]  # the n-th derivative of cot, in powers of cot
    for _ in range(n):
        slope = [-k * v for k, v in enumerate(cot)][1:]
        cot = [(slope[k] if k < len(slope) else 0) + (slope[k - 2] if 0 <= k - 2 < len(slope) else 0) for k in range(len(slope) + 2)]

    def text(i):
        v = x.at(i)
        tan = f"tan({_PI} * ({v} - rint({v})))"
        series = " + ".join(f"{k} / {_power(tan, power)}" if power else str(k) for power, k in enumerate(cot) if k)
        reflected = f"{(-1) ** n} * {p.at(i)} - {math.pi ** (n + 1)!r} * ({series})"
        pole = (f"({v} == 0 ? -1 / {v} : nan)" if n == 0 else "inf" if n % 2 else "(-inf)")
        return f"({v} >= 0.5 || isnan({v}) ? {p.at(i)} : {v} == rint({v}) ? {pole} : {reflected})"

    return narrow(c, text)


@op("digamma")
def digamma(c, a):
    return _polygamma(c, 0, a)


@op("polygamma")
def polygamma(c, n, a):
    if not 0 <= n <= 8:
        raise UnsupportedError(f"polygamma of order {n}")
    return _polygamma(c, n, a)


# ---- the error function ----
def _scaled(c, x: Value) -> Value:
    """exp(x²) erfc(x) for |x|; at 0 its slope is that from above."""
    t = derived(c, x.shape, lambda i: f"2 / (2 + ({x.at(i)} < 0 ? -{x.at(i)} : {x.at(i)}))", "t")

    def text(i):
        return f"{t.at(i)} * exp({horner(_ERFC, f'(2 * {t.at(i)} - 1)')})"

    return derived(c, x.shape, text, "erfcx")


@op("erfc", "special_erfc")
def erfc(c, a):
    x = widened(c, a)
    s = _scaled(c, x)
    tail = lambda i: f"(isinf({x.at(i)}) ? 0 : exp(-{x.at(i)} * {x.at(i)}) * {s.at(i)})"  # noqa: E731
    return narrow(c, lambda i: f"({x.at(i)} < 0 ? 2 - {tail(i)} : {tail(i)})")


@op("special_erfcx")
def erfcx(c, a):
    x = widened(c, a)
    s = _scaled(c, x)
    return narrow(c, lambda i: f"({x.at(i)} < 0 ? 2 * exp({x.at(i)} * {x.at(i)}) - {s.at(i)} : {s.at(i)})")


@op("special_log_ndtr")
def log_ndtr(c, a):
    """log(erfc(-x / √2) / 2): below 0 by what is scaled, for erfc has no digits there."""
    given = widened(c, a)
    x = derived(c, a.shape, lambda i: f"(isinf({given.at(i)}) ? 0 : {given.at(i)} * {math.sqrt(0.5)!r})", "x")
    s = _scaled(c, x)

    def text(i):
        v, half = x.at(i), f"({s.at(i)} / 2)"
        finite = f"({v} < 0 ? log({half}) - {v} * {v} : log1p(-exp(-{v} * {v}) * {half}))"
        return f"({given.at(i)} == inf ? 0 : isinf({given.at(i)}) ? {given.at(i)} : {finite})"

    return narrow(c, text)


@op("sinc")
def sinc(c, a):
    """sin(πx) / πx; near 0 by its series, for there the slope's formula has no digits."""
    if a.dtype in COMPLEX:
        x = lambda i: c.operand(a, i, c.dtype)  # noqa: E731
        nothing = lambda i: f"(real({x(i)}) == 0 && imag({x(i)}) == 0)"  # noqa: E731
        return c.fill(c.result(), lambda i: f"({nothing(i)} ? {c.operand(1, (), c.dtype)} : sin({x(i)} * {_PI}) / ({x(i)} * {_PI}))")
    x = widened(c, a)
    t = derived(c, x.shape, lambda i: f"{x.at(i)} * {_PI}", "t")
    terms = [(-1.0) ** k / math.factorial(2 * k + 1) for k in reversed(range(9))]

    def text(i):
        v = t.at(i)
        near = f"abs({v}) < 1"
        far = f"({near} ? 1 : {v})"
        return f"({near} ? {horner(terms, f'({v} * {v})')} : sin({far}) / {far})"

    return narrow(c, text)


# ---- products with logarithms: 0 where x is, whatever the logarithm ----
def _times_log(log: str, pole: int):
    def lower(c, x, y):
        t = wide(c.dtype)

        def text(i):
            a, b = c.operand(x, i, t), c.operand(y, i, t)
            nothing = f"{a} == 0 && ({b} <= {pole} || {b} == inf)"
            return cast(f"({nothing} ? 0 : {a} * {log}({nothing} ? 1 : {b}))", t, c.dtype)

        return c.fill(c.result(), text)

    return lower


op("xlogy.Tensor", "xlogy.Scalar_Self", "xlogy.Scalar_Other")(_times_log("log", 0))
op("special_xlog1py", "special_xlog1py.self_scalar", "special_xlog1py.other_scalar")(_times_log("log1p", -1))


@op("erfinv", "special_erfinv")
def erfinv(c, a):
    """A first guess in powers of log(1 - y²), then three steps of Newton's."""
    y = widened(c, a)
    w = derived(c, y.shape, lambda i: f"(-log((1 - {y.at(i)}) * (1 + {y.at(i)})))", "w")
    near = [2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164, 0.246640727,
            1.50140941]
    far = [-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047, 1.00167406,
           2.83297682]

    x = derived(c, y.shape, lambda i: f"{y.at(i)} * ({w.at(i)} < 5 ? {horner(near, f'({w.at(i)} - 2.5)')} "
                                       f": {horner(far, f'(sqrt({w.at(i)}) - 3)')})", "guess")
    for _ in range(3):
        x = derived(c, y.shape, lambda i, x=x: (
            f"{x.at(i)} - (erf({x.at(i)}) - {y.at(i)}) / ({2 / math.sqrt(math.pi)!r} * exp(-{x.at(i)} * {x.at(i)}))"), "better")
    return narrow(c, lambda i: f"(abs({y.at(i)}) < 1 ? {x.at(i)} : {y.at(i)} == 1 ? inf : {y.at(i)} == -1 ? -inf : nan)")


# ---- orthogonal polynomials: p[0] = 1, p[1], then p[k] of q = p[k - 1] and p = p[k - 2] ----
_TWICE = "2 * {x} * {q} - {p}"
_POLYNOMIALS = {
    "chebyshev_polynomial_t": ("{x}", _TWICE), "chebyshev_polynomial_u": ("2 * {x}", _TWICE),
    "chebyshev_polynomial_v": ("2 * {x} - 1", _TWICE), "chebyshev_polynomial_w": ("2 * {x} + 1", _TWICE),
    "hermite_polynomial_h": ("2 * {x}", "2 * {x} * {q} - 2 * ({k} - 1) * {p}"),
    "hermite_polynomial_he": ("{x}", "{x} * {q} - ({k} - 1) * {p}"),
    "laguerre_polynomial_l": ("1 - {x}", "((2 * {k} - 1 - {x}) * {q} - ({k} - 1) * {p}) / {k}"),
    "legendre_polynomial_p": ("{x}", "((2 * {k} - 1) * {x} * {q} - ({k} - 1) * {p}) / {k}"),
}


def _polynomial(name: str):
    shifted = name.startswith("shifted_")
    first, step = _POLYNOMIALS[name.removeprefix("shifted_")]

    def lower(c, a, n):
        shape = c.shape
        x = derived(c, shape, lambda i: f"2 * {c.operand(a, i, 'f64')} - 1" if shifted else c.operand(a, i, "f64"), "x")
        order = c.fill(c.new("i64", shape, "order"), lambda i: c.operand(n, i, "i64"))
        most = c.fill(c.new("i64", (), "most"), lambda i: "0")
        c.maps(shape, lambda i: c.line(f"{most.at([])} max= {order.at(i)}"))
        p, q = derived(c, shape, lambda i: "1", "p"), derived(c, shape, lambda i: first.format(x=x.at(i)), "q")
        top, k = c.fresh("top"), c.fresh("k")
        c.line(f"let {top} = {most.at([])}")
        c.open(f"for {k} in 2:{top} + 1")
        r = c.new("f64", shape, "r")
        c.fill(r, lambda i: f"({k} <= {order.at(i)} ? {step.format(x=x.at(i), q=q.at(i), p=p.at(i), k=f'f64({k})')} : {q.at(i)})")
        c.fill(p, q.at)
        c.fill(q, r.at)
        c.close()
        limit = {"f64": 512}.get(c.dtype, 128) if "hermite" in name else None  # torch's
        beyond = (lambda i: f"{order.at(i)} > {limit} ? nan : ") if limit else (lambda i: "")  # noqa: E731
        return narrow(c, lambda i: f"({order.at(i)} < 0 ? 0 : {order.at(i)} == 0 ? 1 : {beyond(i)}{q.at(i)})")

    return lower


for _name in [*_POLYNOMIALS, *("shifted_" + n for n in _POLYNOMIALS if n.startswith("chebyshev"))]:
    op(f"special_{_name}", f"special_{_name}.n_scalar", f"special_{_name}.x_scalar")(_polynomial(_name))
