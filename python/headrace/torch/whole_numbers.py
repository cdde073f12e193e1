"""int(x) of a tensor while a module is traced: Python's own makes a number of it, which a trace doesn't have. A module's code has
another `int` meanwhile, which leaves it the size that data decide."""

from __future__ import annotations

import contextlib
import sys
import threading
import types
from typing import Any, Iterator

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols


class _Kind(type):
    """Like `int` in all else: isinstance, issubclass, ==."""

    here = 0  # the thread that traces

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, int)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, int)

    def __eq__(cls, other: Any) -> bool:
        return other is int or other is cls

    def __hash__(cls) -> int:
        return hash(int)

    def __call__(cls, *args: Any, **named: Any) -> Any:
        if len(args) == 1 and not named and threading.get_ident() == cls.here:
            value = args[0]
            if isinstance(value, torch.Tensor) and value.numel() == 1:
                value = (value if value.dtype == torch.int64 else value.to(torch.int64)).item()
            if isinstance(value, torch.SymInt) and free_unbacked_symbols(value):
                return value
            args = (value,)
        return int(*args, **named)


class _Int(int, metaclass=_Kind):
    pass


def _own(module: torch.nn.Module) -> Iterator[dict]:
    """The globals of the code that is not torch's: of classes, and of functions that parts hold."""
    for part in module.modules():
        functions = [v for v in vars(part).values() if isinstance(v, types.FunctionType)]
        names = [kind.__module__ for kind in type(part).__mro__] + [f.__module__ for f in functions]
        for name in names:
            if isinstance(name, str) and name.partition(".")[0] not in ("torch", "builtins", "headrace") and name in sys.modules:
                yield vars(sys.modules[name])


@contextlib.contextmanager
def numbers_kept(module: torch.nn.Module) -> Iterator[None]:
    places = [names for names in {id(names): names for names in _own(module)}.values() if "int" not in names]
    before, _Kind.here = _Kind.here, threading.get_ident()
    try:
        for names in places:
            names["int"] = _Int
        yield
    finally:
        _Kind.here = before
        for names in places:
            names.pop("int", None)
