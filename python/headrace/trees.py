"""Arguments that are dicts, lists and tuples of arrays: one parameter for each array, put together again in the program."""

from __future__ import annotations

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
        return dict(made) if self.kind is dict else sequence(self.kind, (value for _, value in made))

    def __repr__(self) -> str:
        return f"{self.kind.__name__} of {len(self.leaves(''))} arrays"


def leaf_name(name: str, key) -> str:
    text = f"{name}__{key}"
    return text if text.isidentifier() else "".join(c if c.isalnum() or c == "_" else "_" for c in text)


def is_array(value) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype") and value.shape is not None


def sequence(kind: type, parts: Iterable):
    """A list, a tuple or a tuple with names of these parts."""
    return kind(*parts) if hasattr(kind, "_fields") else kind(parts)


def is_tree(value) -> bool:
    """A dict, list or tuple, also one with names, with an array in it."""
    if type(value) is dict:
        return any(is_array(v) or is_tree(v) for v in value.values())
    return (type(value) in (list, tuple) or isinstance(value, tuple) and hasattr(value, "_fields")) and any(is_array(v) or is_tree(v) for v in value)


def items(value) -> list[tuple]:
    return list(value.items()) if isinstance(value, dict) else list(enumerate(value))


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
