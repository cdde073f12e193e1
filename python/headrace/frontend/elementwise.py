"""NumPy's elementwise functions: types are NumPy's own answer, elements are expressions of the notation."""

from __future__ import annotations

import operator

import numpy as np

from . import powers, selections
from .agreeing import agreeing
from .emitter import Emitter
from .errors import Unequal
from .sizes import Size, is_size
from .types import IR_NAMES
from .values import Value, broadcast, broadcast_shapes, is_number, number_text, text_as, value_of

# ufunc → the text of one element from those of its operands. {0} stands for text that may be repeated where `twice` says so.
TEXTS = {
    "add": "{0} + {1}", "subtract": "{0} - {1}", "multiply": "{0}*{1}", "divide": "{0}/{1}",
    "negative": "-{0}", "positive": "{0}",
    "equal": "{0} == {1}", "not_equal": "{0} != {1}", "less": "{0} < {1}", "less_equal": "{0} <= {1}",
    "greater": "{0} > {1}", "greater_equal": "{0} >= {1}",
    "maximum": "max({0}, {1})", "minimum": "min({0}, {1})",
    "fmax": "(isnan({0}) ? {1} : isnan({1}) ? {0} : max({0}, {1}))",
    "fmin": "(isnan({0}) ? {1} : isnan({1}) ? {0} : min({0}, {1}))",
    "exp": "exp({0})", "expm1": "expm1({0})", "log": "log({0})", "log1p": "log1p({0})", "log2": "log2({0})",
    "sqrt": "sqrt({0})", "sin": "sin({0})", "cos": "cos({0})", "tan": "tan({0})", "arcsin": "asin({0})",
    "arccos": "acos({0})", "arctan": "atan({0})", "sinh": "sinh({0})", "cosh": "cosh({0})", "tanh": "tanh({0})",
    "arcsinh": "asinh({0})", "arccosh": "acosh({0})", "arctanh": "atanh({0})", "arctan2": "atan2({0}, {1})",
    "absolute": "abs({0})", "fabs": "abs({0})", "floor": "floor({0})", "ceil": "ceil({0})", "rint": "rint({0})",
    "trunc": "trunc({0})", "isnan": "isnan({0})", "isinf": "isinf({0})", "isfinite": "!(isnan({0}) || isinf({0}))",
    "square": "{0}*{0}", "reciprocal": "1/{0}", "hypot": "sqrt({0}*{0} + {1}*{1})", "fmod": "fmod({0}, {1})",
    "exp2": "pow(2, {0})", "log10": "log({0})*0.4342944819032518", "cbrt": "(sign({0})*pow(abs({0}), 0.3333333333333333))",
    "conjugate": "conj({0})", "left_shift": "{0} << {1}", "right_shift": "{0} >> {1}",
    "deg2rad": "{0}*0.017453292519943295", "rad2deg": "{0}*57.29577951308232",
    "copysign": "((({1}) < 0 || 1/({1}) < 0) ? -abs({0}) : abs({0}))",
    "heaviside": "({0} < 0 ? 0 : {0} == 0 ? {1} : {0} > 0 ? 1 : {0})",
}
LOGIC = {"logical_and": "{0} && {1}", "logical_or": "{0} || {1}", "logical_not": "!{0}", "logical_xor": "{0} != {1}"}
BITS = {"bitwise_and": ("{0} && {1}", "{0} & {1}"), "bitwise_or": ("{0} || {1}", "{0} | {1}"),
        "bitwise_xor": ("{0} != {1}", "{0} ^ {1}"), "invert": ("!{0}", "~{0}")}
PYTHON = {"add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "floor_divide": operator.floordiv,
          "remainder": operator.mod, "divide": operator.truediv, "power": operator.pow, "negative": operator.neg,
          "positive": operator.pos, "equal": operator.eq, "not_equal": operator.ne, "less": operator.lt,
          "less_equal": operator.le, "greater": operator.gt, "greater_equal": operator.ge, "bitwise_and": operator.and_,
          "bitwise_or": operator.or_, "bitwise_xor": operator.xor, "invert": operator.invert,
          "left_shift": operator.lshift, "right_shift": operator.rshift}
ORDERED = {"less", "less_equal", "greater", "greater_equal", "maximum", "minimum", "fmax", "fmin", "sign", "rint"}
BOOLEAN = {"maximum": "logical_or", "fmax": "logical_or", "minimum": "logical_and", "fmin": "logical_and"}
SUPPORTED = {*TEXTS, *LOGIC, *BITS, "floor_divide", "remainder", "power", "float_power", "sign"}


def apply(e: Emitter, name: str, *args):
    """np.<name>(*args)"""
    name = {"true_divide": "divide", "mod": "remainder", "abs": "absolute", "pow": "power", "conj": "conjugate"}.get(name, name)
    if all(is_number(a) for a in args):
        return PYTHON[name](*args) if name in PYTHON else getattr(np, name)(*args)
    if (counted := _counted(e, name, args)) is not None:
        return counted
    return _apply(e, name, *args)


SIZES = ("add", "subtract", "multiply", "floor_divide", "remainder", "negative")


def _counted(e: Emitter, name: str, args) -> Value | None:
    """Arithmetic of integers of which one is of type int64 and a size, too: so is the result."""
    if name not in SIZES or not any(isinstance(a, Value) for a in args) or \
            not all(is_size(a) or isinstance(a, Value) and a.count is not None and a.dtype == np.int64 for a in args):
        return None
    result = _apply(e, name, *args)
    result.count = PYTHON[name](*[a if is_size(a) else a.count for a in args])
    return result


def _apply(e: Emitter, name: str, *args):
    if all(is_size(a) for a in args) and name in SIZES:
        return PYTHON[name](*args)
    if (chosen := selections.apply(lambda *a: apply(e, name, *a), args)) is not None:
        return chosen
    if name not in SUPPORTED:
        raise NotImplementedError(f"np.{name} is not among the functions that programs know")
    if name in LOGIC:
        return _build(e, LOGIC[name], [np.dtype(bool)] * len(args), np.dtype(bool), args)
    *inputs, result = _types(name, args)
    for k, (a, dtype) in enumerate(zip(args, inputs)):
        if not fits(a, dtype):
            if name in COMPARISONS:
                return _beside(name, k, a, args[1 - k])
            raise OverflowError(f"Python integer {a} out of bounds for {dtype}")
    if name in COMPARISONS and {t.kind for t in inputs} == {"i", "u"}:  # NumPy's loops for int64 and uint64
        return _compare_signs(e, name, inputs, args)
    if inputs[0].kind == "c" and name in ORDERED:
        raise NotImplementedError(f"np.{name} of complex numbers, which have no order in programs: take real, imag or abs")
    if inputs[0].kind == "b" and name in ORDERED:
        if name in BOOLEAN:
            return apply(e, BOOLEAN[name], *args)
        inputs = [np.dtype(np.int32)] * 2
    if name in BITS:
        return _build(e, BITS[name][result.kind != "b"], inputs, result, args)
    if name == "power" or name == "float_power":
        return _power(e, args, inputs, result)
    if name == "absolute" and inputs[0].kind == "c":
        return _build(e, "abs({0})", inputs, result, args)
    if name == "sign":
        return _build(e, "sign({0})", inputs, result, args)
    if name in ("floor_divide", "remainder"):
        return _divide(e, name, inputs, result, args)
    if name in ("multiply", "add", "subtract") and result.kind == "b":
        return _build(e, "{0} && {1}" if name == "multiply" else "{0} || {1}", inputs, result, args)
    if name in ("floor", "ceil", "trunc", "rint", "absolute") and inputs[0].kind in "ub" or \
            name in ("floor", "ceil", "trunc", "rint") and inputs[0].kind == "i" or name == "conjugate" and inputs[0].kind != "c":
        return _build(e, "{0}", inputs, result, args)
    if name in ("isnan", "isinf", "isfinite") and inputs[0].kind in "bciu":  # bfloat16 is of kind "V"
        return _kind_of_number(e, name, inputs[0], args[0])
    return _build(e, TEXTS[name], inputs, result, args)


COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


def fits(a, dtype: np.dtype) -> bool:
    """Whether a Python integer is one of this type; what is none fits."""
    if dtype.kind not in "iu" or not isinstance(a, int) or isinstance(a, np.generic):
        return True
    return np.iinfo(dtype).min <= a <= np.iinfo(dtype).max


def _beside(name: str, at: int, number: int, other) -> Value:
    """A comparison of integers with one that is larger, or smaller, than all of their type: the `at`-th operand."""
    sides = (number, 0) if at == 0 else (0, number)  # any number on the other side
    text = "true" if PYTHON[name](*sides) else "false"
    return Value(np.bool_, value_of(other).shape, lambda i: text)


def _compare_signs(e: Emitter, name: str, inputs, args) -> Value:
    """An int64 and a uint64, exactly."""
    if inputs[0].kind == "u":
        name = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal"}.get(name, name)
        inputs, args = inputs[::-1], args[::-1]
    negative = "{0} < 0 ||" if name in ("less", "less_equal", "not_equal") else "{0} >= 0 &&"
    text = TEXTS[name].replace("{0}", "u64({0})")
    return _build(e, f"{negative} ({text})", inputs, np.dtype(bool), args)


def _kind_of_number(e: Emitter, name: str, dtype: np.dtype, z) -> Value:
    """isnan, isinf and isfinite of complex numbers, by their parts, and of integers."""
    if dtype.kind != "c":
        v = value_of(z)
        return Value(np.bool_, v.shape, lambda i: "true" if name == "isfinite" else "false")
    z = e.settled(z)
    part = np.dtype(np.float32 if z.dtype == np.complex64 else np.float64)
    parts = [Value(part, z.shape, lambda i, f=f: f"{f}({z.at(i)})") for f in ("real", "imag")]
    return apply(e, "logical_and" if name == "isfinite" else "logical_or", *[apply(e, name, p) for p in parts])


def _types(name: str, args) -> list[np.dtype]:
    """Operand types and result type, with NumPy's rule for Python's numbers."""
    ufunc = getattr(np, name)
    wanted = []
    for a in args:
        v = value_of(a)
        weak = v.weak or (is_number(a) and not isinstance(a, np.generic))
        wanted.append({"i": int, "u": int, "f": float, "c": complex}.get(v.dtype.kind, v.dtype) if weak else v.dtype)
    if all(isinstance(w, type) for w in wanted):
        wanted = [value_of(a).dtype for a in args]
    return list(ufunc.resolve_dtypes((*wanted, *[None] * ufunc.nout)))


def common_type(*args) -> np.dtype:
    """The type that they have together, by NumPy's rule for Python's numbers."""
    values = [value_of(a) for a in args]
    return np.result_type(*[v.dtype.type(0).item() if v.weak else v.dtype for v in values])


def result_type(name: str, *args) -> np.dtype:
    return _types(name, args)[-1]


def _one_shape(e: Emitter, args) -> tuple[tuple, list]:
    """The shape that they have together, and the arguments for it."""
    try:
        return broadcast_shapes(*[value_of(a).shape for a in args]), args
    except Unequal:
        args = agreeing(e, args)
        return broadcast_shapes(*[value_of(a).shape for a in args]), args


def _build(e: Emitter, template: str, inputs, result, args) -> Value:
    if any(template.count("{%d}" % k) > 1 for k in range(len(args))):
        args = [a if is_number(a) else e.settled(a) for a in args]
    shape, args = _one_shape(e, args)
    weak = all(is_number(a) and not isinstance(a, np.generic) or value_of(a).weak for a in args) and result.kind != "b"
    parts = [(a, broadcast(value_of(a), shape)) for a in args]

    def at(index):
        texts = [_operand(a, v, index, t) for (a, v), t in zip(parts, inputs)]
        return "(" + template.format(*texts) + ")"

    return Value(result, shape, at, weak)


def _operand(original, v: Value, index, dtype) -> str:
    if is_number(original) and not isinstance(original, np.generic):
        return text_as(original, (), dtype)
    if isinstance(original, Size):
        return text_as(original, (), dtype)
    return text_as(v, index, dtype)


def hypot(e: Emitter, a: Value, b: Value) -> Value:
    """Squares of what is very large or very small are taken of less, or of more; an infinity beside a NaN is one, too."""
    a, b = e.settled(a), e.settled(b)
    dtype = np.result_type(a.dtype, b.dtype)
    if dtype == np.float16:
        return _apply(e, "hypot", a, b)
    bits = np.finfo(dtype).maxexp // 2
    most = e.settled(_apply(e, "maximum", _apply(e, "absolute", a), _apply(e, "absolute", b)))
    small = where(_apply(e, "less", most, 0.5 ** (bits - 50)), 2.0 ** bits, 1.0)
    scale = e.settled(cast(e, where(_apply(e, "greater", most, 2.0 ** (bits - 2)), 0.5 ** bits, small), dtype))
    length = _apply(e, "divide", _apply(e, "hypot", _apply(e, "multiply", a, scale), _apply(e, "multiply", b, scale)), scale)
    return where(_apply(e, "logical_or", _apply(e, "isinf", a), _apply(e, "isinf", b)), dtype.type(np.inf), length)


def _power(e: Emitter, args, inputs, result) -> Value:
    base, exponent = args
    if is_number(exponent) and np.isfinite(exponent) and exponent == int(exponent.real if isinstance(exponent, complex) else exponent):
        k = int(exponent.real if isinstance(exponent, complex) else exponent)
        if 0 < abs(k) <= 8 and (k > 0 or result.kind in "fc"):
            b = e.settled(base)
            text = "*".join(["{0}"] * abs(k))
            return _build(e, text if k > 0 else f"1/({text})", inputs[:1], result, [b])
        if k == 0:
            return _build(e, "{0}*0 + 1" if result.kind in "iu" else "({0} == {0} ? 1 : 1)", inputs[:1], result, [e.settled(base)])
        if result.kind in "iu" and k < 0:
            raise ValueError("Integers to negative integer powers are not allowed: convert them to float64")
        if result.kind in "iu":
            return powers.by_squares(e, cast(e, base, result), k)
    if result.kind in "iu":
        return powers.by_the_run(e, base, exponent, result)
    if is_number(exponent) and exponent == 0.5:
        return _build(e, "sqrt({0})", inputs[:1], result, [base])
    if result.kind == "c":  # 0 to the power of 0
        return _build(e, f"({{1}} == {number_text(0, inputs[1])} ? {number_text(1, result)} : pow({{0}}, {{1}}))", inputs, result, args)
    return _build(e, "pow({0}, {1})", inputs, result, args)


def _divide(e: Emitter, name: str, inputs, result, args) -> Value:
    if result.kind in "iu":
        return _build(e, "{0} // {1}" if name == "floor_divide" else "{0} % {1}", inputs, result, args)
    if name == "floor_divide":
        return _whole_quotient(e, inputs, result, args)
    # fmod's result, moved to the divisor's sign: exact, as NumPy's, and a zero has that sign, too
    rest = e.settled(_build(e, "fmod({0}, {1})", inputs, result, args))
    moved = "({0} == 0 ? ({1} < 0 ? -(0 - {0}) : {0} + 0) : ({0} < 0) != ({1} < 0) ? {0} + {1} : {0})"
    return _build(e, moved, [result, result], result, [rest, args[1]])


def _whole_quotient(e: Emitter, inputs, result, args) -> Value:
    """By the exact remainder, as NumPy: 1.0 // 0.1 is 9, for 0.1 is more than a tenth."""
    args = [a if is_number(a) else e.settled(a) for a in args]
    rest = e.settled(_build(e, "fmod({0}, {1})", inputs, result, args))
    types = [*inputs, result]
    near = e.settled(_build(e, "(({0} - {2})/{1} - ({2} != 0 && ({2} < 0) != ({1} < 0) ? 1 : 0))", types, result, [*args, rest]))
    whole = "({1} == 0 ? {0}/{1} : {2} == 0 ? {0}/{1}*0 : {2} - floor({2}) > 0.5 ? floor({2}) + 1 : floor({2}))"  # a zero has the quotient's sign
    return _build(e, whole, types, result, [*args, near])


def cast(e: Emitter, x, dtype) -> Value:
    dtype = np.dtype(dtype)
    if dtype not in IR_NAMES:
        raise TypeError(f"no program computes with {dtype}")
    if is_number(x):
        return dtype.type(x)
    if (chosen := selections.apply(lambda a: cast(e, a, dtype), [x])) is not None:
        return chosen
    v = value_of(x)
    if isinstance(x, Size):
        return Value(dtype, (), lambda i: text_as(x, (), dtype))
    return Value(dtype, v.shape, lambda i: text_as(v, i, dtype))


def choice(condition, a, b) -> Value:
    """Python's `a if condition else b`: numbers of Python's stay what they are."""
    result = where(condition, a, b)
    result.weak = not result.ndim and all(value_of(x).weak for x in (a, b))
    return result


def where(condition, a, b) -> Value:
    """np.where(condition, a, b); of a and b only the chosen one is evaluated."""
    if (chosen := selections.apply(where, [condition, a, b])) is not None:
        return chosen
    test = value_of(condition)
    result = np.dtype(bool) if _is_bool(a) and _is_bool(b) else _types("add", (a, b))[2]
    shape = broadcast_shapes(test.shape, value_of(a).shape, value_of(b).shape)
    test = broadcast(test, shape)
    parts = [(x, broadcast(value_of(x), shape)) for x in (a, b)]

    def at(index):
        yes, no = (_operand(x, v, index, result) for x, v in parts)
        return f"({text_as(test, index, np.dtype(bool))} ? {yes} : {no})"

    return Value(result, shape, at)


def _is_bool(x) -> bool:
    return value_of(x).dtype.kind == "b"
