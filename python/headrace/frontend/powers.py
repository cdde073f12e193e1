"""Integers to powers, modulo what their type holds."""

from __future__ import annotations

import numpy as np

from . import elementwise
from .emitter import Emitter
from .sizes import Size
from .types import IR_NAMES
from .values import Value, broadcast, broadcast_shapes, is_number, value_of


def by_the_run(e: Emitter, base, exponent, dtype: np.dtype) -> Value:
    """base ** exponent: all elements at once, by squares, for as long as one of them has bits left."""
    _check_not_negative(e, exponent)
    weak = all(is_number(v) and not isinstance(v, np.generic) or value_of(v).weak for v in (base, exponent))
    shape = broadcast_shapes(value_of(base).shape, value_of(exponent).shape)
    parts = [broadcast(value_of(elementwise.cast(e, v, dtype)), shape) for v in (base, exponent)]
    if is_number(base) and base == 2:
        return _power_of_two(e, parts[1], dtype, weak)
    square, bits = (e.materialize(p, hint) for p, hint in zip(parts, ("square", "bits")))
    name = IR_NAMES[dtype]
    result = e.materialize(Value(dtype, shape, lambda i: f"{name}(1)", weak), "power")
    left = e.transient(np.int64, (), "left")

    def look() -> None:
        e.write(left, [], "i64(0)")
        e.maps(shape, lambda i: e.write(left, [], f"({e.expression(bits, i, dtype)} != 0 ? i64(1) : i64(0))", "max="))

    def step(i: list[str]) -> None:
        e.write(result, i, f"{result.at(i)}*(({bits.at(i)} & 1) != 0 ? {square.at(i)} : {name}(1))")
        e.write(square, i, f"{square.at(i)}*{square.at(i)}")
        e.write(bits, i, f"{bits.at(i)} >> 1")

    with e.rebinding():
        look()
        e.read.add(left.name)
        with e.block(f"while {left.name} > 0"):
            e.maps(shape, step)
            look()
    return result


def _power_of_two(e: Emitter, exponent: Value, dtype: np.dtype, weak: bool) -> Value:
    k, name = e.settled(exponent), IR_NAMES[dtype]
    return Value(dtype, k.shape, lambda i: f"({k.at(i)} < {dtype.itemsize * 8} ? {name}(1) << {k.at(i)} : {name}(0))", weak)


def _check_not_negative(e: Emitter, exponent) -> None:
    v = value_of(exponent)
    if v.dtype.kind != "i" or isinstance(exponent, Size) and not e.may_be_negative(exponent):
        return
    least = e.size_of(e.reduce(v, range(v.ndim), "min=", 0, v.dtype, "least"))
    e.line(f"require {least} >= 0 else \"integers to negative integer powers are not allowed: convert them to float64\"")


def by_squares(e: Emitter, base: Value, k: int) -> Value:
    """An integer to the power k > 0."""
    square, made = base, None
    while True:
        if k & 1:
            made = square if made is None else elementwise.apply(e, "multiply", made, square)
        k >>= 1
        if not k:
            return made
        square = e.settled(elementwise.apply(e, "multiply", square, square))
