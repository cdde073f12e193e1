"""`nonlocal total` in a function that a program defines: the name is an attribute, of an object that the function around has, from there on."""

from __future__ import annotations

import ast
from typing import Any

from ..trees import MADE
from . import growing
from .errors import Refused


class Nonlocal:
    """Has such names of one function."""


def names_of(body: list[ast.stmt]) -> set[str]:
    """Names that these statements of a function, or of functions in it, bind further out."""
    return {name for s in body for n in ast.walk(s) if isinstance(n, ast.Nonlocal) for name in n.names}


class Nonlocals:
    """Part of Lowering, whose `emitter`, `scope` and `set_attribute` it uses."""

    def do_Nonlocal(self, s: ast.Nonlocal) -> None:
        for name in s.names:
            if self.scope.holder_of(name) is None:
                raise SyntaxError(f"no binding for nonlocal '{name}' found")

    def share(self, body: list[ast.stmt]) -> None:
        """Before a function with this body is defined: what it binds here is an attribute of what both have."""
        own = [name for name in names_of(body) if self.scope.holder_of(name) is None and self.scope.is_own(name)]
        if not own:
            return
        holder = Nonlocal()
        vars(holder)[MADE] = True
        for name in own:
            if name in self.scope.names:
                vars(holder)[name] = self.scope.names.pop(name)
            self._variables.pop(name, None)
            self.scope.unbound.pop(name, None)
            self.scope.holders[name] = holder
        growing.settled(self.emitter, growing.noted(self.emitter, holder))

    def check_loop(self, target: ast.expr) -> None:
        for n in ast.walk(target):
            if isinstance(n, ast.Name) and self.scope.holder_of(n.id) is not None:
                raise Refused(f"a loop over {n.id}, which a function binds by nonlocal, too", "give the loop's variable another name")

    def bind_further_out(self, name: str, value: Any) -> bool:
        holder = self.scope.holder_of(name)
        if holder is not None:
            self.set_attribute(holder, name, value)
        return holder is not None
