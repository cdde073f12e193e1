"""int(x) of a tensor while a module is traced: Python's own makes a number of it, which a trace doesn't have. A module's code has
another `int` meanwhile, which leaves it the size that data decide; where it has int as a type, as in `x.to(int)`, that has another name."""

from __future__ import annotations

import contextlib
import dis
import functools
import sys
import threading
import types
from typing import Any, Iterable, Iterator

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


TYPE = "int of Python"


@functools.lru_cache(maxsize=None)
def _uses(code: types.CodeType) -> tuple[bool, bool]:
    """Whether code calls int, and whether it has it otherwise."""
    loads = [step.arg & 1 for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL" and step.argval == "int"]  # 1: to be called
    inner = [_uses(c) for c in code.co_consts if isinstance(c, types.CodeType)]
    return any(loads) or any(called for called, _ in inner), not all(loads) or any(other for _, other in inner)


@functools.lru_cache(maxsize=None)
def _renamed(code: types.CodeType) -> types.CodeType:
    """The code, which has int by the name TYPE where it does not call it."""
    code = code.replace(co_consts=tuple(_renamed(c) if isinstance(c, types.CodeType) else c for c in code.co_consts))
    names, steps = code.co_names, bytearray(code.co_code)
    if "int" not in names or len(names) >= MOST_NAMES:
        return code
    before, load = names.index("int") << 1, dis.opmap["LOAD_GLOBAL"]
    for at in range(0, len(steps), 2):
        if steps[at:at + 2] == bytes([load, before]) and steps[at - 2:at - 1] != bytes([dis.EXTENDED_ARG]):
            steps[at + 1] = len(names) << 1
    return code.replace(co_code=bytes(steps), co_names=(*names, TYPE))


MOST_NAMES = 128  # of a function: the number of a name is one byte in its code, with a bit for calls


def _functions(values: Iterable[Any], names: dict, name: str) -> Iterator[types.FunctionType]:
    """Those of a Python module among the values, and methods of its classes."""
    for value in list(values):
        if isinstance(value, type) and value.__module__ == name:
            yield from _functions([v for v in vars(value).values() if not isinstance(v, type)], names, name)
        for f in (getattr(value, "__func__", None), getattr(value, "fget", None), value):
            if isinstance(f, types.FunctionType) and f.__globals__ is names:
                yield f


def _own(module: torch.nn.Module) -> Iterator[tuple[dict, list[types.FunctionType]]]:
    """The globals of the code that is not torch's, of classes, and of functions that parts hold, where it calls int; and the functions that
    have int as a type, too."""
    for part in module.modules():
        held = [v for v in vars(part).values() if isinstance(v, types.FunctionType)]
        for name in [kind.__module__ for kind in type(part).__mro__] + [f.__module__ for f in held]:
            if isinstance(name, str) and name.partition(".")[0] not in ("torch", "builtins", "headrace") and name in sys.modules:
                names = vars(sys.modules[name])
                functions = [*_functions([*held, *type(part).__mro__], names, name), *_functions(names.values(), names, name)]
                if any(_uses(f.__code__)[0] for f in functions):
                    yield names, [f for f in functions if _uses(f.__code__)[1]]


@contextlib.contextmanager
def numbers_kept(module: torch.nn.Module) -> Iterator[None]:
    own = list(_own(module))
    places = {id(names): names for names, _ in own if "int" not in names}
    typed = {id(f): (f, f.__code__) for names, functions in own if id(names) in places for f in functions}
    before, _Kind.here = _Kind.here, threading.get_ident()
    try:
        for names in places.values():
            names.update({"int": _Int, TYPE: int})
        for f, code in typed.values():
            f.__code__ = _renamed(code)
        yield
    finally:
        _Kind.here = before
        for f, code in typed.values():
            f.__code__ = code
        for names in places.values():
            names.pop("int", None)
            names.pop(TYPE, None)
