"""Tuples, named tuples, dataclasses, lists and dicts that control flow binds: each part is a name of its own, `0 t` and `1 t` of t, with memory of its
own, and the name stands for what these hold."""

from __future__ import annotations

from typing import Any

from ..trees import assembled, has_parts, items
from . import fields, growing
from .errors import Rebound
from .sizes import is_size
from .statements import RESULT
from .values import Array, Value, is_number


def whole_name(name: str) -> str:
    """The name that a part belongs to: `t` of `1 0 t`, the part 1 of the part 0."""
    while name.partition(" ")[0].isdigit():
        name = name.partition(" ")[2]
    return name


def part_of(value: Any, name: str) -> Any:
    """The part of `value` that has this name."""
    for k in _path(name):
        value = items(value)[k][1]
    return value


def with_part(value: Any, name: str, part: Any) -> Any:
    """`value` with another part of this name."""
    return _with(value, _path(name), part)


def _path(name: str) -> list[int]:
    words = name.removesuffix(whole_name(name)).split()
    return [int(k) for k in reversed(words)]


def _with(value: Any, path: list[int], part: Any) -> Any:
    if not path:
        return part
    return assembled(type(value), [(key, _with(v, path[1:], part) if k == path[0] else v) for k, (key, v) in enumerate(items(value))])


def same_parts(a: Any, b: Any) -> bool:
    """Whether both are tuples or lists of as many parts, records of the same kind, or dicts with the same keys."""
    return has_parts(b) and type(a) is type(b) and {key for key, _ in items(a)} == {key for key, _ in items(b)}


def _called(value: Any) -> str:
    if value is None:
        return "nothing"
    return f"a {type(value).__name__} of {len(items(value))} parts" if has_parts(value) else "a number or array"


class Parts:
    """Part of Lowering, whose `emitter`, `scope`, `bind`, `_own` and `_before_parts` it uses."""

    def own_parts(self, name: str, value: Any) -> Any:
        """Memory for each part."""
        if isinstance(value, (list, dict)) and whole_name(name) not in self._held:
            raise Rebound(whole_name(name), type(value).__name__)
        made, alone = [], self._is_alone(name, value)
        for k, (key, part) in enumerate(items(value)):
            if has_parts(part) or isinstance(part, Value) or is_number(part) or is_size(part):
                inner = f"{k} {name}"
                part = self._variables[inner] = self._own(inner, self._as_noted(inner, part))
            made.append((key, part))
        self.scope.names[name] = own = self._carried(name, assembled(type(value), made), alone)
        return own

    def _carried(self, name: str, made: Any, alone: bool) -> Any:
        """What a name stands for while control flow binds it: a new object each time, so what is changed of it would be lost for others. `alone`:
        there are none."""
        self.emitter.carried[id(made)] = made
        self.emitter.loops_of[id(made)] = len(self.emitter.around)
        for k, (key, part) in enumerate(items(made) if alone else []):
            if f"{k} {name}" in self._variables:
                self.emitter.fields[id(made), key] = (self, f"{k} {name}")
        return growing.noted(self.emitter, made)

    def _note_shared(self, value: Any) -> None:
        """Two names have this object, and each its own memory for the parts: nothing of it may change from here on."""
        e = self.emitter
        e.shared_objects[id(value)] = value
        names = {(id(scope), n) for scope in e.open_scopes for n, v in scope.names.items() if v is value}
        e.shared_names |= names
        if names & e.changed_names:  # before that in the loop, and after it in the next iteration
            raise fields.bound_anew(value)

    def note_changed(self, name: str, owner: Any) -> None:
        """A part of what `name` stands for is bound."""
        e, key = self.emitter, (id(self.scope), whole_name(name))
        if len(e.around) > e.loops_of[id(owner)]:
            e.changed_names.add(key)
        if id(owner) in e.shared_objects or key in e.changed_names & e.shared_names:
            raise fields.bound_anew(owner)

    def _leave(self, name: str, own: Any) -> None:
        """Before a name gets another object: for others that have this one it holds what it held."""
        others = not isinstance(own, tuple) and any(_holds(v, own) for scope in self.emitter.open_scopes for n, v in scope.names.items()
                                                    if scope is not self.scope or whole_name(n) != name)
        for k, (key, part) in enumerate(items(own)):
            self.emitter.fields.pop((id(own), key), None)
            if others and isinstance(part, Value) and not part.ndim and f"{k} {name}" in self._variables:
                fields.put(own, key, self.emitter.materialize(part))
        if others:
            growing.noted(self.emitter, own)

    def _is_alone(self, name: str, value: Any) -> bool:
        """Whether no other name has it, so that its parts may be bound anew where they are."""
        if isinstance(value, tuple) or id(value) in self.emitter.shared_objects or any(has_parts(part) for _, part in items(value)):
            return False
        return not any(_holds(v, value) for scope in self.emitter.open_scopes for n, v in scope.names.items() if scope is not self.scope or whole_name(n) != name)

    def _exchanged(self, value: Any, memory: set[str]) -> Any:
        """An object as it is now, for another name: one of which others know stays so."""
        now = self._read_now(value, memory)
        known = sum(_holds(v, value) for scope in self.emitter.open_scopes for n, v in scope.names.items() if whole_name(n) == n)
        if known > 1 or not any((id(value), key) in self.emitter.fields for key, _ in items(value)):
            self.emitter.shared_objects[id(now)] = now
        return now

    def let_go(self, name: str) -> None:
        """After the block in which it had memory: its object is one like others, if no other name has it."""
        own = self.scope.names.get(name)
        if not has_parts(own) or self.emitter.carried.get(id(own)) is not own:
            return
        kept = [self.emitter.fields.pop((id(own), key), None) for key, _ in items(own)]
        if any(kept):
            del self.emitter.carried[id(own)]
            self.emitter.collections[id(own)] = (*self.emitter.collections[id(own)][:2], self.emitter.block_number)

    def bind_parts(self, name: str, own: Any, value: Any) -> None:
        """The parts of `value` into the memory that those of `name` have. All are read before the first is written."""
        if not same_parts(own, value):
            raise self.other_kind(name, own, value)
        alone = self._is_alone(name, value)
        if not alone and not isinstance(value, tuple):
            self._note_shared(value)
        self._leave(name, own)
        memory, theirs = {a.root for a in arrays_of(own)}, dict(items(value))
        parts = [self._read_now(theirs[key], memory) if len(theirs) > 1 else theirs[key] for key, _ in items(own)]
        made = []
        for k, ((key, mine), part) in enumerate(zip(items(own), parts)):
            inner = f"{k} {name}"
            if inner in self._variables:
                self.bind(inner, part)
                mine = self.scope.names[inner]
            elif part is not mine and not (type(part) is type(mine) and part == mine):
                raise NotImplementedError(f"a part of {whole_name(name)} is a {type(part).__name__}, which control flow can't change")
            made.append((key, mine))
        self.scope.names[name] = self._carried(name, assembled(type(own), made), alone)

    def other_kind(self, name: str, before: Any, now: Any) -> Exception:
        if whole_name(name) == RESULT:
            return TypeError(f"this function returns {_called(before)} in one place, and {_called(now)} here")
        return TypeError(f"{whole_name(name)} is {_called(before)} before this block, and {_called(now)} in it")

    def _read_now(self, v: Any, memory: set[str]) -> Any:
        """What would change when these arrays are written, as it is now."""
        if has_parts(v):
            return assembled(type(v), [(key, self._read_now(part, memory)) for key, part in items(v)])
        if not isinstance(v, Value) or isinstance(v, Array) and v.root not in memory:
            return v
        now = self.emitter.materialize(v)
        if self.is_callers(v):
            self.note_callers("its part", now)
        return now


def _holds(value: Any, it: Any) -> bool:
    return value is it or has_parts(value) and any(_holds(part, it) for _, part in items(value))


def arrays_of(value: Any) -> list[Array]:
    if has_parts(value):
        return [a for _, v in items(value) for a in arrays_of(v)]
    return [value] if isinstance(value, Array) else []
