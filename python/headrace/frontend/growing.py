"""Lists and dicts that a program makes and changes: Python's own, changed while it is translated. What changes one that was made
before a loop of the program is in that loop once here and often there: such a loop is written out, or refused."""

from __future__ import annotations

import types
from typing import Any

from ..trees import has_parts, mapped
from .errors import NeedsNumber, NeedsNumbers
from .sizes import Size
from .values import Value

_CHANGES = {list: ("append", "extend", "insert", "pop", "clear", "reverse"), dict: ("setdefault", "pop", "clear")}
_COMPARES = ("sort", "index", "count", "remove")


def noted(e: Any, made: Any):
    """A list, dict or object with attributes that the program has made here, or changed."""
    if type(made) in _CHANGES or has_parts(made) and hasattr(made, "__dict__"):
        before, contents = e.collections.get(id(made)), made.copy() if type(made) in _CHANGES else dict(vars(made))
        e.collections[id(made)] = (made, contents, before[2] if before else e.block_number)
    return made


def settled(e: Any, made: Any):
    """What has its parts as a name has them, and so has them from here on: it is itself for all that name it."""
    if id(made) in e.collections:
        e.settled_parts.add(id(made))
    return made


def _fill(made: Any, contents: Any) -> None:
    if isinstance(made, list):
        made[:] = contents
        return
    names = made if isinstance(made, dict) else vars(made)
    names.clear()
    names.update(contents if isinstance(contents, dict) else vars(contents))


def put_back(collections: dict) -> None:
    """Everything as it was noted."""
    for made, contents, _ in collections.values():
        _fill(made, contents)


def replaced(e: Any, value: Any, part):
    """part(v) for each part v: in a list or dict of the program's itself, else in a copy."""
    new = mapped(part, value)
    if id(value) not in e.collections:
        return new
    _fill(value, new)
    return noted(e, value)


def is_here(e: Any, owner: Any) -> bool:
    """Whether it was made in the block that is open now."""
    kind = type(owner).__name__
    if id(owner) not in e.collections:
        first = f"copy it first, by {kind}(…)" if type(owner) in _CHANGES else f"make another {kind}"
        raise NotImplementedError(f"a {kind} that was made outside of the program has no change in it: {first}")
    return block_of(e, owner) == e.block_number


def block_of(e: Any, made: Any) -> int:
    """The block that it was made in."""
    return e.collections[id(made)][2]


def may_change(e: Any, owner: list | dict) -> None:
    if not is_here(e, owner):
        raise NeedsNumbers([], f"a {type(owner).__name__} that is changed in a branch or loop of the program")


def is_method(function: Any) -> bool:
    return isinstance(function, types.BuiltinMethodType) and type(getattr(function, "__self__", None)) in _CHANGES


def call_method(e: Any, function: Any, args: list, named: dict, keep):
    """A method of a list or dict. `keep`: what an item is when it is put into one."""
    owner, name = function.__self__, function.__name__
    if name in _COMPARES and any(isinstance(x, (Value, Size)) for x in (*owner, *args)):
        raise NotImplementedError(f"{name}() of what the program computes: use an array")
    if isinstance(owner, dict) and args and isinstance(args[0], (Value, Size)):
        raise NeedsNumber("a key that the program computes: use an array")
    if name not in _CHANGES[type(owner)]:
        return function(*args, **named)
    may_change(e, owner)
    result = function(*[keep(a) for a in args], **{k: keep(a) for k, a in named.items()})
    noted(e, owner)
    return result


def check_key(owner: Any, key: Any) -> None:
    if isinstance(key, (Value, Size)):
        raise NeedsNumbers([], f"an item of a {type(owner).__name__} whose key the program computes")

