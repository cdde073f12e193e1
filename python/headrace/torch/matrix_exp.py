"""exp of matrices: a series of the matrix, halved until it is small, and squared as often."""

from __future__ import annotations

from ..errors import UnsupportedError
from .emit import Value
from .table import op

_TERMS = 18  # of a matrix whose norm is at most 1/2: the next one is below 1e-22


@op("linalg_matrix_exp")
def matrix_exp(c, a):
    if a.dtype not in ("f32", "f64"):
        raise UnsupportedError(f"matrix_exp of {a.dtype}")
    t, n = a.dtype, a.shape[-1]
    times = _halvings(c, a)
    small = c.fill(c.new(t, a.shape, "small"), lambda i: f"{a.at(i)} * pow({t}(0.5), {t}({times}))")
    power = c.fill(c.new(t, a.shape, "power"), lambda i: _one(i, t))
    made = c.new(t, a.shape, "made")

    def multiply(left: Value, start: str, factor: str) -> None:
        c.fill(made, lambda i: start.format(one=_one(i, t)))
        c.maps([*a.shape, n], lambda i: c.line(f"{made.at(i[:-1])} += {left.at([*i[:-2], i[-1]])} * {power.at([*i[:-3], i[-1], i[-2]])}{factor}"))
        c.fill(power, lambda i: made.at(i))

    c.in_order(_TERMS, lambda k: multiply(small, "{one}", f" / {t}({_TERMS} - {k})"))
    c.in_order(times, lambda k: multiply(power, "0", ""))
    return power


def _one(i, t: str) -> str:
    return f"({i[-1]} == {i[-2]} ? {t}(1) : {t}(0))"


def _halvings(c, a: Value) -> str:
    """How often the largest of the matrices is halved until its norm is at most 1/2."""
    sums = c.fill(c.new(a.dtype, [*a.shape[:-2], a.shape[-1]], "sums"), lambda i: "0")
    c.maps(a.shape, lambda i: c.line(f"{sums.at([*i[:-2], i[-1]])} += abs({a.at(i)})"))
    norm = c.fill(c.new(a.dtype, (), "norm"), lambda i: "0")
    c.maps(sums.shape, lambda i: c.line(f"{norm.at([])} max= {sums.at(i)}"))
    count = c.fill(c.new("i64", (), "halvings"), lambda i: f"({norm.at([])} > 0.5 ? i64(clamp(ceil(log2({norm.at([])})) + 1, 0, 64)) : 0)")
    name = c.fresh("times")
    c.decided.add(name)
    c.line(f"let {name} = {count.at([])}")
    return name
