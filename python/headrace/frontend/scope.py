"""Names and what they are."""

from __future__ import annotations

import builtins
from typing import Any

from .errors import Unknown
from .source import Source, read


def held(holder: Any, name: str) -> Any:
    if name not in vars(holder):
        raise NameError(f"{name} has no value yet")
    return vars(holder)[name]


class Scope:
    """The names of one call: its own, then those around the function."""

    def __init__(self, source: Source, names: dict[str, Any]):
        self.source, self.names = source, names
        self.unbound: dict[str, Any] = {}  # names that may have no value, and why (paths.py)
        self.left: dict[str, list] = {}    # flags of loops, and the ways on which they are set
        self.holders: dict[str, Any] = {}  # who has names that functions in this one bind, too (nonlocals.py)

    def unbound_by(self, name: str):
        return self.unbound.get(name)

    def holder_of(self, name: str) -> Any:
        return self.holders.get(name)

    def is_own(self, name: str) -> bool:
        """Whether the function binds it."""
        return True

    def find(self, name: str):
        if name in self.names:
            return self.names[name]
        if name in self.holders:
            return held(self.holders[name], name)
        for names in self.source.surroundings:
            if name in names:
                read(names, name, names[name])
                return names[name]
        if hasattr(builtins, name):
            return getattr(builtins, name)
        raise Unknown(f"name '{name}' is not defined here", name, [*self.names, *(n for names in self.source.surroundings for n in names)])


class Remembered:
    """An array, or what holds some, that a function keeps until it is called: a name of the function around."""

    def __init__(self, scope: Scope, name: str):
        self.scope, self.name = scope, name


def recalled(value: Any) -> Any:
    return value.scope.names[value.name] if isinstance(value, Remembered) else value
