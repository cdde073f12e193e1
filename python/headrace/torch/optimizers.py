"""Optimizers of torch as IR text: one map per parameter, which updates it and its state in place.

What depends on the step and on settings alone (learning rate, bias corrections) is computed in f64 in Python at every call, as
torch does, and handed over as scalars: schedules and changed settings need no other program.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Callable

import torch

from ..errors import UnsupportedError


@dataclass(frozen=True)
class Rule:
    """How one group's parameters are updated."""

    states: tuple[str, ...]  # names in optimizer.state[p], tensors like p
    scalars: Callable[[dict, int], list[float]]  # (settings of the group, steps taken before this one) → h
    update: tuple[str, ...]  # statements on W, G, the states and h0, h1 …; `name = text` for a name that is new is a local value
    counts: bool = False  # optimizer.state[p]["step"]


def rule_of(optimizer: torch.optim.Optimizer, group: dict) -> Rule:
    """UnsupportedError for other optimizers and for what changes how they work."""
    kind = type(optimizer)
    if kind not in RULES:
        known = ", ".join(k.__name__ for k in RULES)
        raise UnsupportedError(f"no program does the update of {kind.__module__}.{kind.__qualname__}; there are {known}\n"
                               "hint: headrace.module(model) and optimizer.step() work with every optimizer")
    if group.get("differentiable"):
        raise UnsupportedError(f"{kind.__name__}(differentiable=True): the update is no part of autograd\n"
                               "hint: headrace.module(model) and optimizer.step()")
    return RULES[kind](group)


def structure(group: dict) -> tuple:
    """Settings that another program follows from."""
    return tuple(group.get(k) for k in ("nesterov", "amsgrad", "maximize", "decoupled_weight_decay", "differentiable")) + (
        group.get("weight_decay", 0) != 0, group.get("momentum", 0) != 0)


def _gradient(group: dict, decay: str | None) -> list[str]:
    lines = ["g = -G" if group["maximize"] else "g = G"]
    if decay is not None:
        lines.append(f"d = g + {decay} * W")
    return lines


def _sgd(group: dict) -> Rule:
    decays, moves = group["weight_decay"] != 0, group["momentum"] != 0
    lines = _gradient(group, "h1" if decays else None)
    g = "d" if decays else "g"
    if moves:
        lines.append(f"momentum_buffer = h2 * momentum_buffer + h3 * {g}")
        lines.append(f"W = W - h0 * ({g} + h2 * momentum_buffer)" if group["nesterov"] else "W = W - h0 * momentum_buffer")
    else:
        lines.append(f"W = W - h0 * {g}")

    def scalars(group: dict, taken: int) -> list[float]:
        # The first momentum is the gradient, whatever the dampening.
        keep = 1.0 if taken == 0 else 1.0 - float(group["dampening"])
        return [float(group["lr"]), float(group["weight_decay"]), float(group["momentum"]), keep]

    return Rule(("momentum_buffer",) if moves else (), scalars, tuple(lines))


def _adam(group: dict) -> Rule:
    decays, decoupled, most = group["weight_decay"] != 0, group.get("decoupled_weight_decay", False), group["amsgrad"]
    lines = _gradient(group, "h6" if decays and not decoupled else None)
    g = "d" if decays and not decoupled else "g"
    lines += [f"exp_avg = exp_avg + h2 * ({g} - exp_avg)", f"exp_avg_sq = h3 * exp_avg_sq + h4 * {g} * {g}"]
    if most:
        lines.append("max_exp_avg_sq = max(max_exp_avg_sq, exp_avg_sq)")
    root = "sqrt(max_exp_avg_sq)" if most else "sqrt(exp_avg_sq)"
    lines.append(f"W = {'W * h7' if decays and decoupled else 'W'} - h0 * (exp_avg / ({root} / h1 + h5))")

    def scalars(group: dict, taken: int) -> list[float]:
        (beta1, beta2), rate, decay, step = map(float, group["betas"]), group["lr"], float(group["weight_decay"]), taken + 1
        # A rate that is a tensor rounds as it does in torch.
        return [float(rate / (1 - beta1**step)), math.sqrt(1 - beta2**step), 1 - beta1, beta2, 1 - beta2, float(group["eps"]), decay,
                float(1 - rate * decay)]

    return Rule(("exp_avg", "exp_avg_sq", *(("max_exp_avg_sq",) if most else ())), scalars, tuple(lines), counts=True)


RULES: dict[type, Callable[[dict], Rule]] = {torch.optim.SGD: _sgd, torch.optim.Adam: _adam, torch.optim.AdamW: _adam}


class Group:
    """The k-th group of an optimizer: its settings, and the states of the parameters that a program updates."""

    def __init__(self, optimizer: torch.optim.Optimizer, k: int, parameters: list[torch.Tensor]):
        self.optimizer, self.k, self.parameters = optimizer, k, parameters
        self.rule = rule_of(optimizer, self.settings)

    @property
    def settings(self) -> dict:
        return self.optimizer.param_groups[self.k]  # load_state_dict puts another one there

    def begin(self) -> tuple[list[torch.Tensor], list[torch.Tensor], Callable[[], None]]:
        """(states, parameter after parameter; scalars; what is to be called when the update is done).

        UnsupportedError where parameters have taken different numbers of steps: their scalars would differ."""
        every = [self.optimizer.state[p] if p in self.optimizer.state else {} for p in self.parameters]
        steps, states = set(), []
        fresh: list[tuple[torch.Tensor, dict[str, Any]]] = []
        for p, known in zip(self.parameters, every):
            new: dict[str, Any] = {}
            for name in self.rule.states:
                t = known.get(name)
                if t is None:
                    t = new[name] = torch.zeros_like(p, memory_format=torch.contiguous_format)
                states.append(t)
            if self.rule.counts:
                if "step" not in known:
                    new["step"] = torch.zeros((), dtype=torch.float32)
                steps.add(int(known["step"]) if "step" in known else 0)
            elif self.rule.states:
                steps.add(0 if new else 1)
            if new:
                fresh.append((p, new))
        # Without dampening the first step of momentum is as any other.
        if len(steps) > 1 and (self.rule.counts or self.settings["dampening"] != 0):
            raise UnsupportedError(f"parameters of one group of {type(self.optimizer).__name__} have taken different numbers of steps: "
                                   f"{sorted(steps)}\nhint: give them to the optimizer as groups of their own")
        scalars = self.rule.scalars(self.settings, next(iter(steps), 1))

        def done() -> None:
            for p, new in fresh:
                self.optimizer.state[p].update(new)
            if self.rule.counts:
                torch._foreach_add_([self.optimizer.state[p]["step"] for p in self.parameters], 1.0)

        return states, [torch.tensor(scalars, dtype=torch.float64)], done
