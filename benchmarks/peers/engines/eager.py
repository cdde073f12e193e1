"""PyTorch eager."""

from __future__ import annotations

import contextlib
from typing import Any

import torch

from ..cases import torch_case
from ..cases.folder import LEARNING_RATE, MOMENTUM, Folder
from .base import Call, Engine


class Eager(Engine):
    def start(self, threads: int) -> None:
        torch.set_num_threads(threads)

    def load(self, case: Folder) -> Any:
        built = torch_case.build(case.key)
        arrays = {n: torch.from_numpy(a) for n, a in case.arrays().items()}
        target = arrays.pop("target", None)
        return built.module, arrays, target, built.by_inputs

    def prepare(self, case: Folder, loaded: Any) -> Call:
        module, inputs, target, by_inputs = loaded
        wanted = {n: x.requires_grad_() for n, x in inputs.items() if n in case.wanted} if by_inputs else dict(module.named_parameters())
        return getattr(self, case.key.mode)(module, tuple(inputs.values()), target, wanted, _autocast(case.key.dtype))

    def transformed(self, module: torch.nn.Module) -> Any:
        """The module as it is called."""
        return module

    def forward(self, module, inputs, target, wanted, autocast) -> Call:
        called = self.transformed(module)

        def run():
            with torch.no_grad(), autocast():
                return called(*inputs)

        return Call(run, lambda y, name: _array(y))

    def backward(self, module, inputs, target, wanted, autocast) -> Call:
        called = self.transformed(module)

        def run():
            for p in wanted.values():
                p.grad = None
            with autocast():
                y = called(*inputs)
            y.backward(target.to(y.dtype))
            return y

        return Call(run, lambda y, name: _array(y if name == "y" else wanted[name].grad))

    def step(self, module, inputs, target, wanted, autocast) -> Call:
        called = self.transformed(module)
        optimizer = optimizer_of(module)

        def run():
            optimizer.zero_grad(set_to_none=True)
            with autocast():
                loss = torch.nn.functional.mse_loss(called(*inputs), target)
            loss.backward()
            optimizer.step()
            return loss

        return Call(run, lambda loss, name: stepped(optimizer, wanted, loss, name))


def _autocast(dtype: str):
    return (lambda: torch.autocast("cpu", torch.bfloat16)) if dtype == "bf16" else contextlib.nullcontext


def optimizer_of(module: torch.nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(module.parameters(), lr=LEARNING_RATE, momentum=MOMENTUM)


def stepped(optimizer, wanted, loss, name: str):
    """After one step the momentum is the gradient."""
    return _array(loss if name == "loss" else optimizer.state[wanted[name]]["momentum_buffer"])


def _array(x: torch.Tensor):
    x = x.detach()
    return (x.float() if x.dtype == torch.bfloat16 else x).numpy()
