"""int(x) of a tensor while a module is traced: Python's own makes a number of it, which a trace doesn't have. A module's code has
another `int` meanwhile, which leaves it the size that data decide."""

from __future__ import annotations

import contextlib
import dis
import functools
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


@functools.lru_cache(maxsize=None)
def _uses(code: types.CodeType) -> tuple[bool, bool]:
    """Whether code calls int, and whether it has it otherwise but for isinstance: `x.to(int)` takes nothing else."""
    called = other = False
    steps = list(dis.get_instructions(code))
    for k, step in enumerate(steps):
        if step.opname == "LOAD_GLOBAL" and step.argval == "int":
            is_call = bool(step.arg & 1)  # with what calls need below it
            called |= is_call
            other |= not is_call and not _asked_for(code, steps[k + 1:])
    for inner in (c for c in code.co_consts if isinstance(c, types.CodeType)):
        found = _uses(inner)
        called, other = called or found[0], other or found[1]
    return called, other


def _asked_for(code: types.CodeType, steps: list[dis.Instruction]) -> bool:
    """Whether int, loaded just before, is the second argument of isinstance, or in a tuple that is."""
    if "isinstance" not in code.co_names:
        return False
    after = next((s for s in steps if s.opname not in ("LOAD_GLOBAL", "CACHE")), None)
    return after is not None and (after.opname == "BUILD_TUPLE" or after.opname in ("PRECALL", "CALL") and after.arg == 2)


def _codes(names: dict, name: str) -> Iterator[types.CodeType]:
    """Of all functions and methods of a Python module."""
    for value in list(names.values()):
        for f in [value, *(vars(value).values() if isinstance(value, type) and value.__module__ == name else ())]:
            code = getattr(f, "__code__", None)
            if isinstance(code, types.CodeType) and getattr(f, "__globals__", None) is names:
                yield code


def _own(module: torch.nn.Module) -> Iterator[dict]:
    """The globals of the code that is not torch's, of classes, and of functions that parts hold, where it calls int and does nothing else
    with it."""
    for part in module.modules():
        functions = [v for v in vars(part).values() if isinstance(v, types.FunctionType)]
        own = [f.__code__ for f in functions] + [f.__code__ for kind in type(part).__mro__ for f in vars(kind).values() if isinstance(f, types.FunctionType)]
        for name in [kind.__module__ for kind in type(part).__mro__] + [f.__module__ for f in functions]:
            if isinstance(name, str) and name.partition(".")[0] not in ("torch", "builtins", "headrace") and name in sys.modules:
                names = vars(sys.modules[name])
                used = [_uses(code) for code in (*own, *_codes(names, name))]
                if any(called for called, _ in used) and not any(other for _, other in used):
                    yield names


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
