"""A case as a PyTorch module, built anew and equal in each process that needs it."""

from __future__ import annotations

import dataclasses

import torch

from . import networks, operators
from .key import Key


@dataclasses.dataclass
class TorchCase:
    module: torch.nn.Module  # in training mode where gradients are taken
    inputs: dict[str, torch.Tensor]
    by_inputs: tuple[str, ...] = ()  # gradients by these instead of by the parameters
    node: str = ""  # the operator in IR text, where it is one
    tolerance: float = 0.0  # 0: that of its mode and type


class _Operator(torch.nn.Module):
    def __init__(self, eager):
        super().__init__()
        self.eager = eager

    def forward(self, *inputs):
        return self.eager(*inputs)


def build(key: Key) -> TorchCase:
    if key.suite == "ops":
        case = operators.find(key.name, key.size)
        inputs = {name: operators.tensor(a) for name, a in case.inputs.items()}
        floats = tuple(n for n, x in inputs.items() if x.is_floating_point() and n not in case.fixed)
        return TorchCase(_Operator(case.eager), inputs, floats, case.text(), 10 * case.tolerance)
    module, inputs = networks.make(key.name, key.batch)
    return TorchCase(module if key.mode == "forward" else networks.trainable(module), inputs)
