"""Attributes of objects that control flow binds: each is a name of its own, `Sum's total`, of the function whose loop or branch it is, with
memory of its own while that is translated."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from ..trees import has_parts
from . import growing
from .errors import NeedsNumber, NeedsNumbers, Refused, Retry
from .sizes import is_size
from .values import Array, Value, is_number

MOST_AT_ONCE = 16  # iterations that are written out rather than having attributes in memory


class BoundField(NeedsNumbers):
    """An attribute that a block binds, of an object that was made before it."""

    def __init__(self, owner: Any, attribute: str):
        kind, before = type(owner).__name__, getattr(owner, attribute)
        what = f"{kind}.{attribute} is {'None' if before is None else 'a ' + type(before).__name__} before this block, and bound in it" if not _plain(before) else \
            f"an attribute of {kind} that changes in a branch or loop of the program"
        super().__init__([], what)
        self.owner, self.attribute, self.of_nothing = owner, attribute, before is None


def at_once(instead: Callable | None) -> bool:
    """Whether a loop is better written out: programs know most then."""
    return instead is not None and getattr(instead, "times", 0) <= MOST_AT_ONCE


def may_bind(e: Any, owner: Any, attribute: str) -> None:
    """Before owner.attribute = …, where it has no memory."""
    here = growing.is_here(e, owner)
    if not here and growing.block_of(e, owner) not in e.open_blocks:
        raise Refused(f"a {type(owner).__name__} that a branch or loop made or chose has a change after it", "make the change there, or choose its numbers and arrays")
    if id(owner) in e.carried:
        raise NeedsNumber(f"an attribute of a {type(owner).__name__} whose name a branch or loop binds anew: make another {type(owner).__name__}")
    if not here:
        if not hasattr(owner, attribute):
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
        return not known and _plain(getattr(retry.owner, retry.attribute, None))

    def will_own(self, retry: BoundField, names: dict) -> None:
        """From the next time on that the block is translated."""
        kind = type(retry.owner).__name__
        count = sum(type(owner) is type(retry.owner) and name == retry.attribute for owner, name in self._fields.values())
        name = f"{kind}'s {retry.attribute}" if not count else f"{kind}'s {count + 1}. {retry.attribute}"
        self._fields = {**self._fields, name: (retry.owner, retry.attribute)}
        names[name] = getattr(retry.owner, retry.attribute)

    def own_fields(self) -> None:
        """Memory for those that have none yet."""
        for name, (owner, attribute) in self._fields.items():
            if name not in self._variables:
                vars(owner)[attribute] = None  # the object itself shares nothing with it
                self._variables[name] = self._own(name, self.scope.names[name])
                self.emitter.fields[id(owner), attribute] = (self, name)
                self._noted(owner, attribute, self._variables[name])

    def disown(self, name: str) -> None:
        """After the block: it is an attribute like others."""
        owner, attribute = self._fields.pop(name)
        self.emitter.fields.pop((id(owner), attribute), None)
        self.scope.names.pop(name, None)

    def bind_field(self, owner: Any, attribute: str, value: Any) -> bool:
        """owner.attribute = value, where it has memory."""
        holder, name = self.emitter.fields.get((id(owner), attribute), (None, ""))
        if holder is None:
            return False
        if not _plain(value):
            raise NeedsNumber(f"{name} is {'None' if value is None else 'a ' + type(value).__name__} here, and a number or array before")
        variable = holder._variables[name]
        holder.unshare(name)
        if isinstance(value, Array) and value.ndim and value.root != variable.root:
            holder.note_callers(name, variable, value)
        holder._set(name, variable, value)
        self._noted(owner, attribute, variable)
        return True

    def is_field(self, value: Any) -> bool:
        """Whether it is, or is a view of, the memory of an attribute, which another statement may bind anew."""
        return isinstance(value, Array) and value.ndim > 0 and any(holder._variables[name].root == value.root for holder, name in self.emitter.fields.values())

    def _noted(self, owner: Any, attribute: str, value: Any) -> None:
        vars(owner)[attribute] = value
        growing.noted(self.emitter, owner)


def _plain(value: Any) -> bool:
    return not has_parts(value) and (isinstance(value, (Value, np.ndarray)) or is_number(value) or is_size(value))
