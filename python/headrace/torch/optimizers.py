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
    first: Callable[[torch.optim.Optimizer], float] = lambda optimizer: 0.0  # what states begin with


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
    return tuple(group.get(k) for k in ("nesterov", "amsgrad", "centered", "maximize", "decoupled_weight_decay", "differentiable")) + (
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


def _rmsprop(group: dict) -> Rule:
    decays, moves, centered = group["weight_decay"] != 0, group["momentum"] != 0, group["centered"]
    lines = _gradient(group, "h3" if decays else None)
    g = "d" if decays else "g"
    lines.append(f"square_avg = h1 * square_avg + h2 * {g} * {g}")
    if centered:
        lines.append(f"grad_avg = grad_avg + h2 * ({g} - grad_avg)")
    quotient = f"{g} / (sqrt({'square_avg - grad_avg * grad_avg' if centered else 'square_avg'}) + h4)"
    if moves:
        lines.append(f"momentum_buffer = h5 * momentum_buffer + {quotient}")
    lines.append(f"W = W - h0 * {'momentum_buffer' if moves else f'({quotient})'}")

    def scalars(group: dict, taken: int) -> list[float]:
        alpha = float(group["alpha"])
        return [float(group["lr"]), alpha, 1 - alpha, float(group["weight_decay"]), float(group["eps"]), float(group["momentum"])]

    states = ("square_avg", *(("momentum_buffer",) if moves else ()), *(("grad_avg",) if centered else ()))
    return Rule(states, scalars, tuple(lines), counts=True)


def _adagrad(group: dict) -> Rule:
    decays = group["weight_decay"] != 0
    lines = _gradient(group, "h1" if decays else None)
    g = "d" if decays else "g"
    lines += [f"sum = sum + {g} * {g}", f"W = W - h0 * ({g} / (sqrt(sum) + h2))"]

    def scalars(group: dict, taken: int) -> list[float]:
        return [float(group["lr"]) / (1 + taken * float(group["lr_decay"])), float(group["weight_decay"]), float(group["eps"])]

    # torch reads it here, too, not in the group, where a parameter has no state yet.
    return Rule(("sum",), scalars, tuple(lines), counts=True, first=lambda o: float(o.defaults["initial_accumulator_value"]))


RULES: dict[type, Callable[[dict], Rule]] = {torch.optim.SGD: _sgd, torch.optim.Adam: _adam, torch.optim.AdamW: _adam,
                                             torch.optim.RMSprop: _rmsprop, torch.optim.Adagrad: _adagrad}


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
                    t = new[name] = torch.full_like(p, self.rule.first(self.optimizer), memory_format=torch.contiguous_format)
                states.append(t)
            if self.rule.counts:
                if "step" not in known:
                    new["step"] = torch.zeros((), dtype=torch.float32)
                steps.add(int(known["step"]) if "step" in known else 0)
            elif self.rule.states:
                steps.add(0 if new else 1)
            if new:
                fresh.append((p, new))
        # Where nothing depends on the step (momentum without dampening, RMSprop), the first is as any other.
        scalars = [self.rule.scalars(self.settings, taken) for taken in steps or {1}]
        if any(s != scalars[0] for s in scalars):
            raise UnsupportedError(f"parameters of one group of {type(self.optimizer).__name__} have taken different numbers of steps: "
                                   f"{sorted(steps)}\nhint: give them to the optimizer as groups of their own")

        def done() -> None:
            for p, new in fresh:
                self.optimizer.state[p].update(new)
            if self.rule.counts:
                torch._foreach_add_([self.optimizer.state[p]["step"] for p in self.parameters], 1.0)

        return states, [torch.tensor(scalars[0], dtype=torch.float64)], done
