"""What surrounds a program's statements and computes nothing: imports, `with np.errstate(…)`, `del`."""

from __future__ import annotations

import ast
import copy
import importlib
from typing import Any

import numpy as np

from . import growing
from .constructs import NoPlace
from .errors import Refused
from .paths import Cause


def without_contexts(statements: list[ast.stmt]) -> list[ast.stmt]:
    """The bodies of `with` statements stand after these, which are empty then."""
    found: list[ast.stmt] = []
    for s in statements:
        if isinstance(s, (ast.If, ast.For, ast.While, ast.With)):
            s = copy.copy(s)
            inner = without_contexts(s.body)
            s.body = [] if isinstance(s, ast.With) else inner
            if not isinstance(s, ast.With):
                s.orelse = without_contexts(s.orelse)
            found += [s, *inner] if isinstance(s, ast.With) else [s]
        else:
            found.append(s)
    return found


class Imports:
    """Part of Lowering, whose `scope` and `value` it uses."""

    def do_With(self, s: ast.With) -> None:
        for item in s.items:
            call = item.context_expr
            if item.optional_vars or not isinstance(call, ast.Call) or self.value(call.func) is not np.errstate:
                raise NoPlace(s)
            for what in call.keywords:
                if self.value(what.value) not in ("ignore", "warn"):
                    raise Refused("no operation of a program raises an exception", 'use "ignore", and look at the results: np.isfinite(…)')

    def do_Import(self, s: ast.Import) -> None:
        for a in s.names:
            module = importlib.import_module(a.name)
            self._import(a.asname or a.name.partition(".")[0], module if a.asname else importlib.import_module(a.name.partition(".")[0]))

    def do_ImportFrom(self, s: ast.ImportFrom) -> None:
        name = "." * s.level + (s.module or "")
        module = importlib.import_module(name, self.scope.source.surroundings[-1].get("__package__"))
        for a in s.names:
            self._import(a.asname or a.name, getattr(module, a.name))

    def _import(self, name: str, value: Any) -> None:
        self.scope.unbound.pop(name, None)
        self.scope.names[name] = value

    def do_Delete(self, s: ast.Delete) -> None:
        for t in s.targets:
            if isinstance(t, ast.Name):
                self.name(t.id)
                self.scope.unbound[t.id] = Cause(s, self.emitter.guards)
            elif isinstance(t, ast.Subscript) and isinstance(owner := self.value(t.value), (list, dict)):
                growing.call_method(self.emitter, owner.pop, [self.key(t.slice)], {}, lambda key: key)
            else:
                raise NoPlace(s)
