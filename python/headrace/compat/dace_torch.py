"""DaCeML's spellings of headrace.module."""

from __future__ import annotations

import functools
from typing import Any

import torch

from ..torch.module import module
from .notes import on_cpu, say

_REASONS = {
    "onnx_simplify": (True, "modules don't pass through ONNX"),
    "simplify": (True, "programs are always simplified"),
    "auto_optimize": (None, "compiling always optimizes"),
    "apply_strict": (True, "programs are always simplified"),
    "debug_transients": (False, "headrace.ONNXModel(…, debug_transients=True) has it, for exported models"),
    "compile_torch_extension": (True, "calls need no extension of torch's and have no limit of parameters"),
    "sdfg_name": (None, "programs have the names of their modules"),
}


#: the arguments after inputs_to_skip, in their order
_MORE = ("onnx_simplify", "simplify", "auto_optimize", "debug_transients", "compile_torch_extension", "sdfg_name")


def _options(function: str, cuda: Any, more: tuple, options: dict) -> None:
    if len(more) > len(_MORE):
        raise TypeError(f"{function} takes {6 + len(_MORE)} arguments by position, not {6 + len(more)}")
    if twice := [n for n in _MORE[:len(more)] if n in options]:
        raise TypeError(f"{function}: {twice[0]} is given twice")
    options = {**dict(zip(_MORE, more)), **options}
    on_cpu(function, "cuda", cuda)
    said = {n: v for n, v in options.items() if n != "auto_optimize"}  # true and false alike: it is always done
    if "auto_optimize" in options and not options["auto_optimize"]:
        said["auto_optimize"] = options["auto_optimize"]
    say(function, said, _REASONS)


def DaceModule(module_: torch.nn.Module, dummy_inputs: Any = None, cuda: Any = None, training: bool = False, backward: bool = False,
               inputs_to_skip: Any = None, *more: Any, **options: Any) -> torch.nn.Module:
    """The module, compiled: at its first call, or now where `dummy_inputs` (a tensor or a tuple) are given. The module's own mode
    (train(), eval()) decides what is traced; `training=True` calls train(). Sizes need not be those of `dummy_inputs`."""
    _options("DaceModule", cuda, more, options)
    made = module(module_, backward=backward, inputs_to_skip=inputs_to_skip or ())
    if training:
        made.train()
    if dummy_inputs is not None:
        _trace(made, dummy_inputs)
    return made


def _trace(made: torch.nn.Module, inputs: Any) -> None:
    """Compiles for inputs like these; buffers (running statistics) stay as they are."""
    before = {n: b.clone() for n, b in made.named_buffers()}
    state = torch.get_rng_state()
    made(*(inputs if isinstance(inputs, (tuple, list)) else (inputs,)))
    torch.set_rng_state(state)
    with torch.no_grad():
        for n, b in made.named_buffers():
            b.copy_(before[n])


def dace_module(kind: Any = None, dummy_inputs: Any = None, cuda: Any = None, training: bool = False, backward: bool = False,
                inputs_to_skip: Any = None, *more: Any, **options: Any) -> Any:
    """A decorator of module classes, with or without arguments."""
    _options("dace_module", cuda, more, options)
    if kind is None:
        return functools.partial(dace_module, dummy_inputs=dummy_inputs, training=training, backward=backward,
                                 inputs_to_skip=inputs_to_skip)
    if not (isinstance(kind, type) and issubclass(kind, torch.nn.Module)):
        raise TypeError(f"dace_module decorates a class of modules, not {kind!r}")
    made = module(kind, backward=backward, inputs_to_skip=inputs_to_skip or ())
    if training or dummy_inputs is not None:
        initialize = made.__init__

        @functools.wraps(initialize)
        def __init__(self, *args: Any, **named: Any) -> None:
            initialize(self, *args, **named)
            if training:
                self.train()
            if dummy_inputs is not None:
                _trace(self, dummy_inputs)

        made.__init__ = __init__
    return made
