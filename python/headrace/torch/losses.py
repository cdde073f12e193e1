"""Losses whose gradients at saturation, or labels, no formula of smaller operators gives."""

from __future__ import annotations

from .emit import Value, cast
from .networks import _require_floats
from .reductions import Axes, accumulate, narrowed, wide, widened
from .table import op


@op("nll_loss_forward", "nll_loss2d_forward")
def nll_loss(c, x, target, weight, reduction, ignore_index):
    """(loss, total weight): target[n, …] names a class of x[n, class, …]."""
    _require_floats(x, "nll_loss")
    if x.rank == 1:
        one = nll_loss(c, _batch_of(x), _batch_of(target), weight, reduction, ignore_index)
        return tuple(v if v.rank == 0 else Value(v.dtype, (), lambda i, v=v: v.at(["0"])) for v in one)
    given, x, weight = x.dtype, widened(c, x), weight if weight is None else widened(c, weight)
    t = x.dtype
    w = lambda i: weight.at([_label(target, i, ignore_index)]) if weight is not None else c.operand(1, (), t)  # noqa: E731
    kept = lambda i: f"{target.at(i)} != {c.operand(ignore_index, (), 'i64')}"  # noqa: E731
    each = lambda i: f"({kept(i)} ? -{x.at([i[0], _label(target, i, ignore_index), *i[1:]])} * {w(i)} : 0)"  # noqa: E731
    whole = Axes(target, None, False)
    weights = accumulate(c, whole, t, "+=", "0", lambda i: f"({kept(i)} ? {w(i)} : 0)")
    if reduction == 0:
        return c.fill(c.new(given, target.shape), lambda i: cast(each(i), t, given)), c.fill(c.new(given, ()), lambda i: "0")
    loss = accumulate(c, whole, t, "+=", "0", each)
    if reduction == 1:
        loss = Value(t, (), lambda i, sum_=loss: f"({sum_.at(i)} / {weights.at(i)})")
    return c.whole(narrowed(c, loss, given)), narrowed(c, weights, given)


def _batch_of(v: Value) -> Value:
    return Value(v.dtype, (1, *v.shape), lambda i: v.at(i[1:]))


def _label(target: Value, i, ignore_index) -> str:
    """A class that is there, also where the target is ignored."""
    return f"({target.at(i)} == {ignore_index if ignore_index >= 0 else f'({ignore_index})'} ? 0 : {target.at(i)})"


@op("nll_loss_backward", "nll_loss2d_backward")
def nll_loss_backward(c, g, x, target, weight, reduction, ignore_index, total_weight):
    out = c.result()
    t = wide(out.dtype)
    g, total_weight = widened(c, g), widened(c, total_weight)

    def text(i):
        i = i if x.rank > 1 else ["0", *i]
        at = [i[0], *i[2:]] if x.rank > 1 else []
        w = c.operand(weight, [i[1]], t) if weight is not None else c.operand(1, (), t)
        scale = g.at(at) if reduction == 0 else g.at([]) if reduction == 2 else f"{g.at([])} / {total_weight.at([])}"
        hit = f"{target.at(at)} == i64({i[1]}) && {target.at(at)} != {c.operand(ignore_index, (), 'i64')}"
        return cast(f"({hit} ? -{w} * {scale} : 0)", t, out.dtype)

    return c.fill(out, text)


_SATURATED = "(1 - {0}) * {0} < 1e-12"
# There, where the probability is 0 or 1, logarithms are bounded and the slope is (x - y) / 1e-12, as torch has them.
_SLOPE = "hold(1e12 * ({0} - {1})) * ({0} - hold({0}))"


@op("binary_cross_entropy")
def binary_cross_entropy(c, x, target, weight=None, reduction=1):
    _require_floats(x, "binary_cross_entropy")
    t = wide(x.dtype)

    def each(i):
        p, y = c.operand(x, i, t), c.operand(target, i, t)
        saturated = _SATURATED.format(p)
        inner = f"({saturated} ? 0.5 : {p})"
        rest, log = (f"({saturated} ? hold(max({text.format(p)}, -100)) : {text.format(inner)})" for text in ("log1p(-{0})", "log({0})"))
        loss = f"(({y} - 1) * {rest} - {y} * {log} + ({saturated} ? {_SLOPE.format(p, y)} : 0))"
        return loss if weight is None else f"{loss} * {c.operand(weight, i, t)}"

    if reduction == 0:
        return c.fill(c.result(), lambda i: cast(f"({each(i)})", t, c.dtype))
    whole = Axes(x, None, False)
    loss = accumulate(c, whole, t, "+=", "0", each)
    count = f" / {t}({whole.count})" if reduction == 1 else ""
    return c.fill(c.result(), lambda i: cast(f"({loss.at(i)}{count})", t, c.dtype))
