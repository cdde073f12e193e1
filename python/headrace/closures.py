"""Functions that are defined in a program, where it differentiates, batches or checkpoints them."""

from __future__ import annotations

import ast
import copy
import inspect
from typing import Any

from .frontend.local import LocalFunction, LocalScope
from .frontend.sizes import Size
from .frontend.values import Value
from .function import Function
from .translated import Translation
from .trees import has_parts, items


class Closure(Function):
    """A local function as one of its own: what it reads of the program around it are further arguments, which have their values as
    defaults. A gradient by the function's own arguments leaves them alone; a gradient of the program flows through them."""

    def __init__(self, local: LocalFunction):
        self.local = local
        own = local.signature
        if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.KEYWORD_ONLY) for p in own.parameters.values()):
            raise NotImplementedError(f"{local.__name__}, which is defined in the program, with *args or arguments by name alone: define it outside")
        read = _read(local)
        free = {name: name if name not in own.parameters else f"{name}_around" for name in read}
        P = inspect.Parameter
        self.around = {free[name]: name for name in read}
        parameters = [*(p.replace(kind=P.POSITIONAL_OR_KEYWORD) for p in own.parameters.values()),
                      *(P(free[name], P.POSITIONAL_OR_KEYWORD, default=value) for name, value in read.items())]

        def stub():
            """Has the signature."""

        stub.__name__ = local.__name__ if local.__name__.isidentifier() else "function"
        stub.__signature__ = inspect.Signature(parameters)
        super().__init__(stub, "cpu", 0)

    @property
    def base(self):
        return self.local.outer

    def translate(self, types: dict[str, Any]) -> Translation:
        def body(evaluator, given):
            around = {name: given[ours] for ours, name in self.around.items()}
            own = [given[name] for name in self.local.signature.parameters]
            return _within(self.local, around).inline(evaluator, own, {})

        return Translation(self.base, types, body)

    def inline(self, evaluator, args: list, named: dict):
        """In the program that it is defined in, its statements are enough."""
        given = self._bind(args, named)
        return self.local.inline(evaluator, [given[name] for name in self.local.signature.parameters], {})


def closed(value: Any) -> Any:
    return Closure(value) if isinstance(value, LocalFunction) else value


def _read(local: LocalFunction) -> dict[str, Any]:
    """Names around it that it reads, or functions that it calls read, and that stand for what the program computes."""
    found: dict[str, Any] = {}
    for name, value in _free(local):
        called = value if isinstance(value, LocalFunction) else _local_of(value)
        if called is not None:
            for inner, what in _read(called).items():
                if found.setdefault(inner, what) is not what:
                    raise NotImplementedError(f"{inner} means two things in functions that {local.__name__} calls: define them outside of the program")
        elif _is_computed(value) and found.setdefault(name, value) is not value:
            raise NotImplementedError(f"{name} means two things in {local.__name__} and functions that it calls: define them outside of the program")
    return found


def _free(local: LocalFunction) -> list[tuple[str, Any]]:
    names = dict.fromkeys(n.id for s in local.body for n in ast.walk(s) if isinstance(n, ast.Name) and n.id not in local.own)
    found = []
    for name in names:
        try:
            found.append((name, local.scope.find(name)))
        except NameError:  # bound within, by a comprehension or another function
            pass
    return [(name, value) for name, value in found if value is not local]


def _is_computed(value: Any) -> bool:
    if isinstance(value, (Value, Size)):
        return True
    return has_parts(value) and any(_is_computed(part) for _, part in items(value))


def _within(local: LocalFunction, around: dict[str, Any]) -> LocalFunction:
    """The function with these meanings of names around it that the program computes, and those that it calls alike."""
    moved = copy.copy(local)
    names: dict[str, Any] = {}
    for name, value in _free(local):
        if isinstance(value, LocalFunction):
            names[name] = _within(value, around)
        elif _local_of(value) is not None:
            names[name] = value.of(Closure(_within(value.inner.local, around)))
        elif _is_computed(value):
            names[name] = around[name]
    moved.scope = LocalScope(local.scope.source, names, local.scope)
    return moved


def _local_of(value: Any) -> LocalFunction | None:
    """The function of which this is the gradient."""
    inner = getattr(value, "inner", None) if isinstance(value, Function) and hasattr(value, "of") else None
    return inner.local if isinstance(inner, Closure) else None
