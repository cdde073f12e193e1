"""Arguments that are dicts, lists, tuples and dataclasses of arrays: one parameter for each array, put together again in the program."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any, Callable, Iterable


class Tree:
    """The structure of such an argument; hashable. `parts`: (key, Tree or what a leaf is described by)."""

    def __init__(self, kind: type, parts: tuple):
        self.kind, self.parts = kind, parts

    def __eq__(self, other) -> bool:
        return isinstance(other, Tree) and (self.kind, self.parts) == (other.kind, other.parts)

    def __hash__(self) -> int:
        return hash((self.kind, self.parts))

    def leaves(self, name: str) -> list[tuple[str, Any]]:
        """(name of its own, description) of each leaf."""
        found = []
        for key, part in self.parts:
            inner = leaf_name(name, key)
            found += part.leaves(inner) if isinstance(part, Tree) else [(inner, part)]
        return found

    def build(self, name: str, leaf: Callable[[str], Any]):
        """A value of this structure of what `leaf` gives for each leaf's name."""
        made = [(key, part.build(leaf_name(name, key), leaf) if isinstance(part, Tree) else leaf(leaf_name(name, key)))
                for key, part in self.parts]
        return assembled(self.kind, made)

    def __repr__(self) -> str:
        return f"{self.kind.__name__} of {len(self.leaves(''))} arrays"


def leaf_name(name: str, key) -> str:
    text = f"{name}__{key}"
    return text if text.isidentifier() else "".join(c if c.isalnum() or c == "_" else "_" for c in text)


MADE = "_made_by_program"  # an attribute of instances of classes that are no dataclasses


def is_array(value) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype") and value.shape is not None


def sequence(kind: type, parts: Iterable):
    """A list, a tuple or a tuple with names of these parts."""
    return kind(*parts) if hasattr(kind, "_fields") else kind(parts)


def has_parts(value) -> bool:
    """A dict, list or tuple, also one with names, or an instance of a dataclass of the user's, or of a class that a program made."""
    if isinstance(value, (dict, list, tuple)):
        return isinstance(value, dict) or type(value) in (list, tuple) or hasattr(value, "_fields")
    return _is_dataclass(type(value)) or MADE in getattr(value, "__dict__", ())


def _is_dataclass(kind: type) -> bool:
    return hasattr(kind, "__dataclass_fields__") and kind.__module__.partition(".")[0] != "headrace"


def is_record(kind) -> bool:
    """A type of tuples with names, or a dataclass of the user's."""
    return isinstance(kind, type) and (issubclass(kind, tuple) and hasattr(kind, "_fields") or _is_dataclass(kind))


def is_tree(value) -> bool:
    """What has parts, with an array among them."""
    return has_parts(value) and any(is_array(v) or is_tree(v) for _, v in items(value))


def items(value) -> list[tuple]:
    """(key, part) of each part."""
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, (list, tuple)):
        return list(enumerate(value))
    if not _is_dataclass(type(value)) or MADE in getattr(value, "__dict__", ()):
        return [(name, part) for name, part in vars(value).items() if name != MADE]
    return [(f.name, getattr(value, f.name)) for f in dataclasses.fields(value)]


def assembled(kind: type, parts: Iterable[tuple]):
    """A value of this kind of (key, part) of each part. Of a dataclass neither __init__ nor __post_init__ runs: what they would
    look at may be no array yet."""
    if issubclass(kind, dict):
        return collections.OrderedDict(parts) if issubclass(kind, collections.OrderedDict) else dict(parts)
    if issubclass(kind, (list, tuple)):
        return sequence(kind, (part for _, part in parts))
    made = object.__new__(kind)
    parts = list(parts)
    if not _is_dataclass(kind) or any(name not in kind.__dataclass_fields__ for name, _ in parts):
        object.__setattr__(made, MADE, True)
    for name, part in parts:
        object.__setattr__(made, name, part)
    return made


def mapped(function: Callable[[Any], Any], value):
    """The same structure with function(part) in place of each part."""
    return assembled(type(value), [(k, function(v)) for k, v in items(value)])


def leaves_like(structure, value, name: str) -> list:
    """The leaves of `value` in the order of those of `structure`. TypeError where it is built otherwise."""
    if not is_tree(structure):
        return [value]
    theirs = dict(items(value)) if has_parts(value) else {}
    if {k for k, _ in items(structure)} != set(theirs):
        raise TypeError(f"what goes with {name} is built like it, a {type(structure).__name__} of {len(items(structure))} parts, not a {type(value).__name__}")
    return [leaf for k, part in items(structure) for leaf in leaves_like(part, theirs[k], name)]


def tree_of(value, describe: Callable[[Any], Any]) -> Tree:
    return Tree(type(value), tuple((k, tree_of(v, describe) if is_tree(v) else describe(v)) for k, v in items(value)))


def flat(given: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call with those that are trees as their leaves."""
    found: dict[str, Any] = {}
    for name, value in given.items():
        if is_tree(value):
            found.update(flat({leaf_name(name, k): v for k, v in items(value)}))
        else:
            found[name] = value
    return found
