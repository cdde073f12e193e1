"""Operators that work element by element."""

from __future__ import annotations

import functools
import math

import torch

from ..errors import UnsupportedError
from .emit import COMPLEX, FLOATS, Value, type_of
from .table import OPERATORS, op

_RELU = "({0} <= 0 ? 0 : {0})"
_POWER = "exp({0} > 20 ? 20.0 : {0})"  # tanh(log1p(exp(x))) is 1 beyond
_SIGMOID = "({0} >= 0 ? 1 / (1 + exp(-{0})) : exp({0}) / (1 + exp({0})))"

# operator → the text of one element; operands have the result's type
SAME = {
    "add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "neg": "-{0}",
    "maximum": "max({0}, {1})", "minimum": "min({0}, {1})",
    "fmax": "(isnan({1}) || {0} >= {1} ? {0} : {1})", "fmin": "(isnan({1}) || {0} <= {1} ? {0} : {1})",
    "relu": _RELU, "square": "{0} * {0}", "positive": "{0}",
}
# results are floats
FLOAT = {
    "exp": "exp({0})", "expm1": "expm1({0})", "log": "log({0})", "log1p": "log1p({0})", "log2": "log2({0})",
    "log10": "log({0}) * 0.4342944819032518", "exp2": "exp({0} * 0.6931471805599453)", "sqrt": "sqrt({0})", "rsqrt": "rsqrt({0})",
    "sin": "sin({0})", "cos": "cos({0})", "tan": "tan({0})", "asin": "asin({0})", "acos": "acos({0})", "atan": "atan({0})",
    "sinh": "sinh({0})", "cosh": "cosh({0})", "tanh": "tanh({0})", "asinh": "asinh({0})", "acosh": "acosh({0})",
    "atanh": "atanh({0})", "erf": "erf({0})", "atan2": "atan2({0}, {1})", "reciprocal": "1 / {0}", "sigmoid": _SIGMOID,
    "div": "{0} / {1}", "true_divide": "{0} / {1}", "silu": f"{{0}} * {_SIGMOID}",
    "log_sigmoid": "(min({0}, 0) - log1p(exp(-abs({0}))))",
    "deg2rad": "{0} * 0.017453292519943295", "rad2deg": "{0} * 57.29577951308232",
    "mish": f"{{0}} * ({_POWER} * ({_POWER} + 2) / ({_POWER} * ({_POWER} + 2) + 2))",
    "hypot": "sqrt({0} * {0} + {1} * {1})",
}
COMPLEX_TOO = {"add", "sub", "mul", "neg", "exp", "log", "sqrt", "div", "true_divide", "reciprocal", "square", "positive",
               "sin", "cos", "tanh"}
COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
ROUND = {"floor": "floor({0})", "ceil": "ceil({0})", "trunc": "trunc({0})", "round": "rint({0})", "sign": "(isnan({0}) ? 0 : sign({0}))",
         "frac": "{0} - trunc({0})"}


def apply(c, dtype: str, template: str, *operands, result: str | None = None) -> Value:
    """One map over the shape of the node's result; operands are taken as `dtype`, the text is of type `result`."""
    out = c.result()
    if out.dtype != (result or dtype):
        raise UnsupportedError(f"{c.target}: {dtype} as {out.dtype}")
    return c.fill(out, lambda i: "(" + template.format(*[c.operand(v, i, dtype) for v in operands]) + ")")


def common(c, *operands) -> str:
    """The type in which operands of several types meet, by torch's rules; the operands are the node's own."""
    kinds = [c.meta_of(a) for a in operands]
    return type_of(functools.reduce(torch.promote_types, [kinds[0].dtype]) if len(kinds) == 1 else torch.result_type(*kinds))


def _same(name: str, template: str):
    def lower(c, *args, alpha=1):
        t = c.dtype
        if t in COMPLEX and name not in COMPLEX_TOO:
            raise UnsupportedError(f"{name} of complex numbers")
        if t == "bool":
            texts = {"add": "{0} || {1}", "mul": "{0} && {1}", "maximum": "{0} || {1}", "minimum": "{0} && {1}"}
            if name not in texts or alpha not in (1, True):
                raise UnsupportedError(f"{name} of truth values")
            return apply(c, "bool", texts[name], *args)
        if alpha != 1:
            return apply(c, t, template.replace("{1}", "({2} * {1})"), *args, alpha)
        return apply(c, t, template, *args)

    return lower


def _float(name: str, template: str):
    def lower(c, *args):
        if c.dtype in COMPLEX and name not in COMPLEX_TOO:
            raise UnsupportedError(f"{name} of complex numbers")
        return apply(c, c.dtype, template, *args)

    return lower


for _name, _template in SAME.items():
    op(_name, f"{_name}.Tensor", f"{_name}.Scalar")(_same(_name, _template))
for _name, _template in FLOAT.items():
    op(_name, f"{_name}.Tensor", f"{_name}.Scalar")(_float(_name, _template))


def _compare(name: str, sign: str):
    def lower(c, a, b):
        t = common(c, 0, 1)
        if t in COMPLEX and name in ("eq", "ne"):
            x, y = "real({0}) == real({1})", "imag({0}) == imag({1})"
            return apply(c, t, f"{'!' if name == 'ne' else ''}({x} && {y})", a, b, result="bool")
        if t == "bool":
            t = "u8"
        return apply(c, t, f"{{0}} {sign} {{1}}", a, b, result="bool")

    return lower


for _name, _sign in COMPARE.items():
    op(f"{_name}.Tensor", f"{_name}.Scalar")(_compare(_name, _sign))


def _round(name: str, template: str):
    def lower(c, a):
        if c.dtype not in FLOATS:
            return apply(c, c.dtype, "sign({0})" if name == "sign" and c.dtype != "bool" else "{0}", a)
        return apply(c, c.dtype, template, a)

    return lower


for _name, _template in ROUND.items():
    op(_name)(_round(_name, _template))


# ---- arithmetic with modes ----
@op("rsub.Tensor", "rsub.Scalar")
def rsub(c, a, b, alpha=1):
    return apply(c, c.dtype, "{1} - {2} * {0}" if alpha != 1 else "{1} - {0}", a, b, alpha)


@op("div.Tensor_mode", "div.Scalar_mode")
def div_mode(c, a, b, rounding_mode=None):
    t = c.dtype
    if rounding_mode is None:
        return apply(c, t, "{0} / {1}", a, b)
    if t in FLOATS:
        # As torch does: a remainder taken off, so that the quotient of numbers that divide is exact.
        if rounding_mode == "trunc":
            return apply(c, t, "trunc({0} / {1})", a, b)
        m = "fmod({0}, {1})"
        q = f"(({{0}} - {m}) / {{1}} - (({m} < 0 ? {{1}} > 0 : {m} > 0 && {{1}} < 0) ? 1 : 0))"
        return apply(c, t, f"({{1}} == 0 ? {{0}} / {{1}} : {q} == 0 ? {{0}} / {{1}} * 0 : rint({q}))", a, b)
    return apply(c, t, "{0} // {1}" if rounding_mode == "floor" else "{0} / {1}", a, b)


@op("floor_divide")
def floor_divide(c, a, b):
    return div_mode(c, a, b, "floor")


@op("remainder.Tensor", "remainder.Scalar")
def remainder(c, a, b):
    return apply(c, c.dtype, "{0} % {1}", a, b)


@op("fmod.Tensor", "fmod.Scalar")
def fmod(c, a, b):
    return apply(c, c.dtype, "fmod({0}, {1})" if c.dtype in FLOATS else "{0} - {0} / {1} * {1}", a, b)


@op("pow.Tensor_Scalar")
def pow_scalar(c, a, k):
    if isinstance(k, (int, float)) and k == int(k) and 0 < abs(k) <= 8:
        power = " * ".join(["{0}"] * abs(int(k)))
        if k > 0:
            return apply(c, c.dtype, power, a)
        if c.dtype in FLOATS:
            return apply(c, c.dtype, f"1 / ({power})", a)
    if c.dtype not in FLOATS:
        raise UnsupportedError(f"pow of {c.dtype} by {k}")
    if k == 0.5:
        return apply(c, c.dtype, "sqrt({0})", a)
    return apply(c, c.dtype, "pow({0}, {1})", a, k)


@op("pow.Tensor_Tensor", "pow.Scalar")
def pow_tensor(c, a, k):
    if c.dtype not in FLOATS:
        raise UnsupportedError(f"pow of {c.dtype}")
    return apply(c, c.dtype, "pow({0}, {1})", a, k)


# ---- truth values and bits ----
def _logical(name: str, sign: str):
    op(name)(lambda c, a, b: apply(c, "bool", f"{{0}} {sign} {{1}}", a, b))


for _name, _sign in {"logical_and": "&&", "logical_or": "||", "logical_xor": "!="}.items():
    _logical(_name, _sign)


@op("logical_not")
def logical_not(c, a):
    return apply(c, "bool", "!{0}", a)


def _bitwise(name: str, logic: str, bits: str):
    op(f"bitwise_{name}.Tensor", f"bitwise_{name}.Scalar", f"bitwise_{name}.Scalar_Tensor")(
        lambda c, a, b: apply(c, c.dtype, f"{{0}} {logic if c.dtype == 'bool' else bits} {{1}}", a, b))


for _name, _logic, _bits in (("and", "&&", "&"), ("or", "||", "|"), ("xor", "!=", "^")):
    _bitwise(_name, _logic, _bits)


_BITS = {"u8": 8, "i8": 8, "i16": 16, "i32": 32, "i64": 64}


def _shifted(c, a, b, beyond: str, sign: str) -> Value:
    if c.dtype not in _BITS:
        raise UnsupportedError(f"shifts of {c.dtype}")
    return apply(c, c.dtype, f"({{1}} < 0 || {{1}} >= {_BITS[c.dtype]} ? {beyond} : {{0}} {sign} {{1}})", a, b)


@op(*[f"{name}.{kind}" for name in ("__lshift__", "__rshift__") for kind in ("Scalar", "Tensor")],
    *[f"bitwise_{name}_shift.{kind}" for name in ("left", "right") for kind in ("Tensor", "Tensor_Scalar", "Scalar_Tensor")])
def shift(c, a, b):
    """By less than nothing, or by more bits than there are, no bit is left, and to the right that of the sign."""
    if "lshift" in c.target or "left" in c.target:
        return _shifted(c, a, b, f"{c.dtype}(0)", "<<")
    return _shifted(c, a, b, f"({{0}} < 0 ? {c.dtype}(-1) : {c.dtype}(0))" if c.dtype != "u8" else "u8(0)", ">>")


@op("bitwise_not")
def bitwise_not(c, a):
    return apply(c, c.dtype, "!{0}" if c.dtype == "bool" else "~{0}", a)


@op("isnan")
def isnan(c, a):
    return apply(c, a.dtype, "isnan({0})" if a.dtype in FLOATS else "false", a, result="bool")


@op("isinf")
def isinf(c, a):
    return apply(c, a.dtype, "isinf({0})" if a.dtype in FLOATS else "false", a, result="bool")


@op("isfinite")
def isfinite(c, a):
    return apply(c, a.dtype, "!(isnan({0}) || isinf({0}))" if a.dtype in FLOATS else "true", a, result="bool")


_NEGATIVE = "({0} < 0 || ({0} == 0 && 1 / {0} < 0))"


@op("signbit")
def signbit(c, a):
    if a.dtype in FLOATS:
        return apply(c, a.dtype, _NEGATIVE, a, result="bool")
    return apply(c, a.dtype, "false" if a.dtype == "bool" else "{0} < 0", a, result="bool")


@op("abs")
def absolute(c, a):
    return apply(c, c.dtype, "{0}" if c.dtype == "bool" else "abs({0})", a)


@op("copysign.Tensor", "copysign.Scalar")
def copysign(c, a, b):
    return apply(c, c.dtype, f"({_NEGATIVE.format('{1}')} ? -abs({{0}}) : abs({{0}}))", a, b)


@op("round.decimals")
def round_decimals(c, a, decimals=0):
    if c.dtype not in FLOATS:
        raise UnsupportedError(f"round of {c.dtype} to decimals")
    scale = 10.0 ** abs(decimals)
    text = "rint({0} * {1}) / {1}" if decimals > 0 else "rint({0} / {1}) * {1}"
    return apply(c, c.dtype, text if decimals else "rint({0})", a, scale)


# ---- choices ----
@op("where.self", "where.ScalarSelf", "where.ScalarOther", "where.Scalar")
def where(c, condition, a, b):
    out = c.result()
    return c.fill(out, lambda i: f"({c.operand(condition, i, 'bool')} ? {c.operand(a, i, out.dtype)} : {c.operand(b, i, out.dtype)})")


@op("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(c, a, mask, value):
    return where(c, mask, value, a)


@op("clamp", "clamp.Tensor")
def clamp(c, a, low=None, high=None):
    t = c.dtype
    if t in FLOATS and not isinstance(low, Value) and not isinstance(high, Value):
        # Within the bounds, both included, the gradient is one; NaN stays.
        text = "{0}"
        if high is not None:
            text = "({0} > {2} ? {2} : " + text + ")"
        if low is not None:
            text = "({0} < {1} ? {1} : " + text + ")" if high is None or low <= high else "({2} + 0 * {2})"
        return apply(c, t, text, a, low if low is not None else 0, high if high is not None else 0)
    if t in FLOATS:
        below, above = "(isnan({1}) ? nan : {0} < {1} ? {1} : {0})", "(isnan({1}) ? nan : {0} > {1} ? {1} : {0})"
        both = "(isnan({1}) || isnan({2}) ? nan : {0} > {2} || {1} > {2} ? {2} : {0} < {1} ? {1} : {0})"
    else:
        below, above, both = "max({0}, {1})", "min({0}, {1})", "min(max({0}, {1}), {2})"
    if low is None or high is None:
        return apply(c, t, below if high is None else above, a, low if high is None else high)
    return apply(c, t, both, a, low, high)


@op("clamp_min", "clamp_min.Tensor")
def clamp_min(c, a, low):
    return clamp(c, a, low, None)


@op("clamp_max", "clamp_max.Tensor")
def clamp_max(c, a, high):
    return clamp(c, a, None, high)


@op("hardtanh")
def hardtanh(c, a, low=-1, high=1):
    return apply(c, c.dtype, "({0} <= {1} ? {1} : {0} >= {2} ? {2} : {0})", a, low, high)


@op("leaky_relu")
def leaky_relu(c, a, slope=0.01):
    return apply(c, c.dtype, "({0} > 0 ? {0} : {0} * {1})", a, slope)


@op("rrelu_with_noise", "rrelu_with_noise_functional")
def rrelu(c, a, noise, lower=1 / 8, upper=1 / 3, training=False, generator=None):
    if training:
        raise UnsupportedError("rrelu with random slopes")
    y = apply(c, c.dtype, "({0} > 0 ? {0} : {0} * {1})", a, (lower + upper) / 2)
    return (y, noise) if "functional" in c.target else y


@op("elu")
def elu(c, a, alpha=1, scale=1, input_scale=1):
    return apply(c, c.dtype, "({0} <= 0 ? {1} * {2} * expm1({0} * {3}) : {2} * {0})", a, alpha, scale, input_scale)


@op("hardsigmoid")
def hardsigmoid(c, a):
    return apply(c, c.dtype, "({0} <= -3 ? 0 : {0} >= 3 ? 1 : {0} / 6 + 0.5)", a)


@op("hardswish")
def hardswish(c, a):
    return apply(c, c.dtype, "({0} <= -3 ? 0 : {0} >= 3 ? {0} : {0} * ({0} / 6 + 0.5))", a)


@op("softplus")
def softplus(c, a, beta=1, threshold=20):
    return apply(c, c.dtype, "({0} * {1} > {2} ? {0} : log1p(exp({0} * {1})) / {1})", a, beta, threshold)


@op("gelu")
def gelu(c, a, approximate="none"):
    if approximate == "tanh":
        inner = f"{math.sqrt(2 / math.pi)!r} * ({{0}} + 0.044715 * {{0}} * {{0}} * {{0}})"
        return apply(c, c.dtype, f"0.5 * {{0}} * (1 + tanh({inner}))", a)
    return apply(c, c.dtype, f"0.5 * {{0}} * (1 + erf({{0}} * {math.sqrt(0.5)!r}))", a)


@op("gelu_backward")
def gelu_backward(c, g, a, approximate="none"):
    if approximate == "tanh":
        k = math.sqrt(2 / math.pi)
        t = f"tanh({k!r} * ({{1}} + 0.044715 * {{1}} * {{1}} * {{1}}))"
        return apply(c, c.dtype, f"{{0}} * (0.5 * (1 + {t}) + 0.5 * {{1}} * (1 - {t} * {t}) * {k!r} * (1 + 0.134145 * {{1}} * {{1}}))", g, a)
    density = f"{{1}} * exp(-0.5 * {{1}} * {{1}}) * {1 / math.sqrt(2 * math.pi)!r}"
    return apply(c, c.dtype, f"{{0}} * (0.5 * (1 + erf({{1}} * {math.sqrt(0.5)!r})) + {density})", g, a)


@op("threshold")
def threshold(c, a, limit, value):
    return apply(c, c.dtype, "({0} <= {1} ? {2} : {0})", a, limit, value)


@op("threshold_backward")
def threshold_backward(c, g, a, limit):
    return apply(c, c.dtype, "({1} <= {2} ? 0 : {0})", g, a, limit)


@op("sigmoid_backward")
def sigmoid_backward(c, g, y):
    return apply(c, c.dtype, "{0} * (1 - {1}) * {1}", g, y)


@op("tanh_backward")
def tanh_backward(c, g, y):
    return apply(c, c.dtype, "{0} * (1 - {1} * {1})", g, y)


@op("addcmul")
def addcmul(c, a, x, y, value=1):
    return apply(c, c.dtype, "{0} + {3} * {1} * {2}" if value != 1 else "{0} + {1} * {2}", a, x, y, value)


@op("addcdiv")
def addcdiv(c, a, x, y, value=1):
    return apply(c, c.dtype, "{0} + {3} * {1} / {2}" if value != 1 else "{0} + {1} / {2}", a, x, y, value)


@op("lerp.Scalar", "lerp.Tensor")
def lerp(c, a, b, w):
    return apply(c, c.dtype, "({2} < 0.5 && {2} > -0.5 ? {0} + {2} * ({1} - {0}) : {1} - ({1} - {0}) * (1 - {2}))", a, b, w)


# ---- conversions ----
@op("_to_copy", "prims.convert_element_type")
def to_copy(c, a, dtype=None, **rest):
    return apply(c, c.dtype, "{0}", a)


@op("clone", "alias", "lift_fresh_copy", "lift_fresh", "contiguous", "alias_copy", "detach_copy", "detach")
def identity(c, a, **rest):
    return a


def hold(c, a):
    """detach, as the exporter sees it; AOTAutograd's own detach means nothing in its graphs."""
    if a.dtype not in FLOATS:
        return a
    return apply(c, a.dtype, "hold({0})", a)


OPERATORS["headrace.hold.default"] = hold
