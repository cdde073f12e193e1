"""Attributes of objects, and items of lists and dicts, that control flow binds: each is a name of its own, `Sum's total`, of the function whose
loop or branch it is, with memory of its own while that is translated."""

from __future__ import annotations

import operator
import re
from typing import Any, Callable

import numpy as np

from ..trees import has_parts
from . import growing
from .errors import NeedsNumber, NeedsNumbers, Refused, Retry
from .sizes import is_size
from .values import Array, Value, is_number

MOST_AT_ONCE = 16  # iterations that are written out rather than having attributes in memory


class BoundField(NeedsNumbers):
    """An attribute or item that a block binds, of an object that was made before it."""

    def __init__(self, owner: Any, attribute: Any):
        kind, before = type(owner).__name__, get(owner, attribute)
        called = f"{kind}[{attribute!r}]" if isinstance(owner, (dict, list)) else f"{kind}.{attribute}"
        what = f"{called} is {'None' if before is None else 'a ' + type(before).__name__} before this block, and bound in it" if not _plain(before) else \
            f"{called}, which changes in a branch or loop of the program"
        super().__init__([], what)
        self.owner, self.attribute, self.of_nothing = owner, attribute, before is None


def at_once(instead: Callable | None) -> bool:
    """Whether a loop is better written out: programs know most then."""
    return instead is not None and getattr(instead, "times", 0) <= MOST_AT_ONCE


def get(owner: Any, attribute: Any) -> Any:
    """owner.attribute, or owner[attribute]"""
    return owner[attribute] if isinstance(owner, (dict, list)) else getattr(owner, attribute, None)


def put(owner: Any, attribute: Any, value: Any) -> None:
    """owner.attribute = value, or owner[attribute] = value"""
    (owner if isinstance(owner, (dict, list)) else vars(owner))[attribute] = value


def bound_anew(owner: Any) -> NeedsNumber:
    what = "item" if isinstance(owner, (dict, list)) else "attribute"
    return NeedsNumber(f"an {what} of a {type(owner).__name__} whose name a branch or loop binds anew: make another {type(owner).__name__}")


def may_bind(e: Any, owner: Any, attribute: Any) -> None:
    """Before owner.attribute = … or owner[attribute] = …, where it has no memory."""
    here, what = growing.is_here(e, owner), "item" if isinstance(owner, (dict, list)) else "attribute"
    if not here and growing.block_of(e, owner) not in e.open_blocks:
        raise Refused(f"a {type(owner).__name__} that a branch or loop made or chose has a change after it", "make the change there, or choose its numbers and arrays")
    if id(owner) in e.carried or id(owner) in e.shared_objects:
        raise bound_anew(owner)
    if not here:
        if what == "item":
            if attribute not in (owner if isinstance(owner, dict) else range(len(owner))):
                raise NeedsNumbers([], f"a {type(owner).__name__} that gets {attribute!r} in a branch or loop of the program and has no such item before")
        elif not hasattr(owner, attribute):
            raise Refused(f"{type(owner).__name__}.{attribute}, which has no value before this block", f"give {attribute} a value where the object is made")
        raise BoundField(owner, attribute)


class Fields:
    """Part of Lowering, whose `emitter`, `scope`, `_own`, `_set` and `_variables` it uses."""

    _fields: dict[str, tuple]  # by name: object and attribute

    def can_own(self, retry: Retry, block: int, before: dict) -> bool:
        """Whether the block that is open, around what is translated again, is where that object was made (`before` has those made so far), and a
        name can have the attribute."""
        if not isinstance(retry, BoundField) or id(retry.owner) not in before or growing.block_of(self.emitter, retry.owner) != block:
            return False
        known = any(owner is retry.owner and attribute == retry.attribute for owner, attribute in self._fields.values())
        return not known and _plain(get(retry.owner, retry.attribute))

    def will_own(self, retry: BoundField, names: dict) -> None:
        """From the next time on that the block is translated."""
        kind = type(retry.owner).__name__
        word = _word(retry.attribute)
        count = sum(type(owner) is type(retry.owner) and _word(name) == word for owner, name in self._fields.values())
        name = f"{kind}'s {word}" if not count else f"{kind}'s {count + 1}. {word}"
        self._fields = {**self._fields, name: (retry.owner, retry.attribute)}
        names[name] = get(retry.owner, retry.attribute)

    def own_fields(self) -> None:
        """Memory for those that have none yet."""
        for name, (owner, attribute) in self._fields.items():
            if name not in self._variables:
                put(owner, attribute, None)  # the object itself shares nothing with it
                self._variables[name] = self._own(name, self.scope.names[name])
                self.emitter.fields[id(owner), attribute] = (self, name)
                self._noted(owner, attribute, self._variables[name])

    def disown(self, name: str) -> None:
        """After the block: it is an attribute like others."""
        owner, attribute = self._fields.pop(name)
        self.emitter.fields.pop((id(owner), attribute), None)
        self.scope.names.pop(name, None)

    def set_item(self, owner: list | dict, key: Any, value: Any) -> None:
        """owner[key] = value"""
        growing.check_key(owner, key)
        if isinstance(owner, list):
            key = operator.index(key)
            key += len(owner) if key < 0 else 0
            if not 0 <= key < len(owner):
                raise IndexError("list assignment index out of range")
        if self.bind_field(owner, key, value):
            return
        may_bind(self.emitter, owner, key)
        owner[key] = self._kept(value, "item")
        growing.noted(self.emitter, owner)

    def bind_field(self, owner: Any, attribute: Any, value: Any) -> bool:
        """owner.attribute = value, or owner[attribute] = value, where it has memory."""
        holder, name = self.emitter.fields.get((id(owner), attribute), (None, ""))
        if holder is None:
            return False
        if not _plain(value):
            raise NeedsNumber(f"{name} is {'None' if value is None else 'a ' + type(value).__name__} here, and a number or array before")
        variable = holder._variables[name]
        if name[0].isdigit():  # a part of what a name stands for
            holder.note_changed(name, owner)
            holder.bind(name, value)
            self._noted(owner, attribute, variable)
            return True
        holder.unshare(name)
        if isinstance(value, Array) and value.ndim and value.root != variable.root:
            holder.note_callers(name, variable, value)
        holder._set(name, variable, value)
        self._noted(owner, attribute, variable)
        return True

    def is_field(self, value: Any) -> bool:
        """Whether it is, or is a view of, the memory of an attribute, which another statement may bind anew."""
        return isinstance(value, Array) and value.ndim > 0 and any(
            holder._variables[name].root == value.root for holder, name in self.emitter.fields.values() if not name[0].isdigit())

    def _noted(self, owner: Any, attribute: Any, value: Any) -> None:
        put(owner, attribute, value)
        growing.noted(self.emitter, owner)


def _word(attribute: Any) -> str:
    """What its memory may be called."""
    return attribute if isinstance(attribute, str) and attribute.isidentifier() else "item_" + re.sub(r"\W+", "_", str(attribute))


def _plain(value: Any) -> bool:
    return not has_parts(value) and (isinstance(value, (Value, np.ndarray)) or is_number(value) or is_size(value))
