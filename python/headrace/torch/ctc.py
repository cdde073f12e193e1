"""CTC loss: a loop over time, which torch has as one kernel that asks for lengths as numbers."""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch import Tensor

from . import sizes
from .emit import Value, cast
from .replaced import replaced
from .table import OPERATORS


@torch.library.custom_op("headrace::ctc_loss", mutates_args=())
def each_loss(log_probs: Tensor, targets: Tensor, offsets: Tensor, lengths: Tensor, target_lengths: Tensor, blank: int) -> Tensor:
    """Of each sequence: log_probs[t, n, class], the labels of n are targets[offsets[n]:offsets[n] + target_lengths[n]]."""
    raise NotImplementedError("it is a part of programs")


@each_loss.register_fake
def _(log_probs, targets, offsets, lengths, target_lengths, blank):
    return log_probs.new_empty(log_probs.shape[1])


def _lower(c, x: Value, targets: Value, offsets: Value, lengths: Value, target_lengths: Value, blank) -> Value:
    time, batch, classes = x.shape
    t_ = x.dtype
    most = c.fill(c.new("i64", (), "most"), lambda i: "0")
    c.maps([batch], lambda i: c.line(f"{most.at([])} max= {cast(target_lengths.at(i), target_lengths.dtype, 'i64')}"))
    states = c.fresh("states")  # a blank before, between and after all labels
    c.decided.add(states)
    c.line(f"let {states} = 2 * {most.at([])} + 1")
    last = sizes.product(targets.shape)
    given = lambda n: cast(target_lengths.at([n]), target_lengths.dtype, "i64")  # noqa: E731
    steps = lambda n: cast(lengths.at([n]), lengths.dtype, "i64")  # noqa: E731
    label = c.new("i64", [batch, states], "label")
    c.fill(label, lambda i: f"({i[1]} % 2 == 0 || {i[1]} // 2 >= {given(i[0])} ? {blank} : "
                            f"{cast(targets.at([f'min({offsets.at([i[0]])} + {i[1]} // 2, {last} - 1)']), targets.dtype, 'i64')})")
    alpha = c.fill(c.new(t_, [batch, states], "alpha"), lambda i: f"({i[1]} <= min(1, 2 * {given(i[0])}) ? {x.at(['0', i[0], label.at(i)])} : (-inf))")
    best, new = c.new(t_, alpha.shape, "best"), c.new(t_, alpha.shape, "new")
    t = c.fresh("t")
    c.open(f"for {t} in 1:{time}")

    def ways(i):
        n, s = i
        skips = f"{s} % 2 == 1 && {s} > 1 && {label.at(i)} != {label.at([n, f'max({s} - 2, 0)'])}"
        one = f"({s} > 0 ? {alpha.at([n, f'max({s} - 1, 0)'])} : (-inf))"
        two = f"({skips} ? {alpha.at([n, f'max({s} - 2, 0)'])} : (-inf))"
        return alpha.at(i), one, two

    def best_of(i):
        a, b, d = ways(i)
        return f"hold(max({a}, max({b}, {d})))"

    def added(i):
        total = " + ".join(f"exp({w} - {best.at(i)})" for w in ways(i))
        reached = f"({best.at(i)} == (-inf) ? (-inf) : {best.at(i)} + log({total}) + {x.at([t, i[0], label.at(i)])})"
        return f"({t} < {steps(i[0])} ? {reached} : {alpha.at(i)})"

    c.fill(best, best_of)
    c.fill(new, added)
    c.fill(alpha, lambda i: new.at(i))
    c.close()
    return _ended(c, x, alpha, given, steps)


def _ended(c, x: Value, alpha: Value, given, steps) -> Value:
    """The two ways to end. torch's gradient by log_probs adds the probabilities themselves, which log_softmax takes out again."""
    time, batch, classes = x.shape
    all_of = c.fill(c.new(x.dtype, [batch], "all"), lambda i: "0")
    c.maps([time, batch, classes], lambda i: c.line(f"{all_of.at(i[1:2])} += ({i[0]} < {steps(i[1])} ? exp({x.at(i)}) : 0)"))
    top = c.new(x.dtype, [batch], "top")

    def ends(n):
        blank = alpha.at([n, f"2 * {given(n)}"])
        return blank, f"({given(n)} > 0 ? {alpha.at([n, f'max(2 * {given(n)} - 1, 0)'])} : (-inf))"

    c.fill(top, lambda i: f"hold(max({', '.join(ends(i[0]))}))")

    def loss(i):
        n = i[0]
        total = " + ".join(f"exp({e} - {top.at(i)})" for e in ends(n))
        found = f"({top.at(i)} == (-inf) ? inf : -({top.at(i)} + log({total})) + ({all_of.at(i)} - hold({all_of.at(i)})))"
        return f"({steps(n)} > 0 ? {found} : ({given(n)} == 0 ? 0 : inf))"

    return c.fill(c.result(), loss)


OPERATORS["headrace.ctc_loss.default"] = _lower


def _numbers(v: Any) -> Tensor:
    return v.long() if isinstance(v, Tensor) else torch.tensor(v, dtype=torch.int64)


def ctc_loss(log_probs: Tensor, targets: Tensor, lengths: Any, target_lengths: Any, blank: int = 0, reduction: int = 1,
             zero_infinity: bool = False) -> Tensor:
    """torch.ctc_loss by what programs know."""
    batched = log_probs.dim() == 3
    x = log_probs if batched else log_probs[:, None]
    lengths, target_lengths = _numbers(lengths).reshape(-1), _numbers(target_lengths).reshape(-1)
    if targets.dim() == 2:
        offsets, most = torch.arange(targets.shape[0]) * targets.shape[1], target_lengths.max().item()
        torch._check(most <= targets.shape[1], lambda: "Expected target_lengths to have value at most as many as there are targets")
    else:
        offsets, most = target_lengths.cumsum(0) - target_lengths, target_lengths.sum().item()
        torch._check(most == targets.shape[0], lambda: "Expected the target_lengths to add up to as many as there are targets")
    longest = lengths.max().item()
    torch._check(longest <= x.shape[0], lambda: "Expected input_lengths to have value at most as many as there are times")
    loss = each_loss(x, targets.reshape(-1), offsets, lengths, target_lengths, blank)
    if zero_infinity:
        loss = torch.where(loss == torch.inf, 0, loss)
    if reduction == 1:
        return (loss / target_lengths.clamp(min=1).to(loss.dtype)).mean()
    return loss.sum() if reduction == 2 else loss if batched else loss[0]


def ctc_loss_as_loop() -> contextlib.AbstractContextManager:
    return replaced((torch, "ctc_loss", ctc_loss))
