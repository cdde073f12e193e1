"""Blocks that are translated from their beginning again, in another way, where it turns out midway what they need."""

from __future__ import annotations

from typing import Any, Callable

from ..trees import items
from .errors import NeedsMemory, NeedsNumbers, Rebound, Resized, Retry, Retyped, Unequal
from .fields import at_once
from .parts import part_of, whole_name, with_part
from .source import TranslationError
from .statements import RESULT


class _Before:
    """What a block's translation changes, as it was before it."""

    def __init__(self, lowering: Any):
        scope = lowering.scope
        self.emitter, self.names, self.variables = lowering.emitter.snapshot(), dict(scope.names), dict(lowering._variables)
        self.shared, self.fields, self.exits = set(lowering._shared), dict(lowering._fields), list(lowering._exits)
        self.grouped, self.closed = dict(lowering.grouped), list(lowering._closed)
        self.unbound, self.left, self.holders = dict(scope.unbound), dict(scope.left), dict(scope.holders)

    def put_back(self, lowering: Any) -> None:
        scope = lowering.scope
        lowering.emitter.restore(self.emitter)
        scope.names, lowering._variables, lowering._shared, lowering._fields = self.names, self.variables, self.shared, self.fields
        lowering.grouped, lowering._closed, lowering._exits = self.grouped, self.closed, self.exits
        scope.unbound, scope.left, scope.holders = self.unbound, self.left, self.holders


class Again:
    """Part of Lowering."""

    def _again(self, translate: Callable[[], None], numbers: Callable[[Retry], Callable | None], both: set[str] = frozenset()) -> None:  # type: ignore[assignment]
        """translate(), from the beginning again where the block gives names other types than they had. `numbers(retry)` gives
        what to do instead where it needs numbers in place of sizes, or None. `both`: names that both branches of an `if` bind."""
        written_out, block, at_first, fields = False, self.emitter.block_number, translate, dict(self._fields)
        later: Callable | None = None  # in place of attributes that have memory
        gave_up = exhausted = False    # these won't do; bodies won't
        while True:
            before = _Before(self)
            names = before.names
            try:
                translate()
                self._end_of_block(before)
                return
            except TranslationError:
                if later is None:
                    raise
                before.put_back(self)
                self._without_fields(fields)
                translate, written_out, later, gave_up = later, True, None, True
            except Retry as retry:
                instead = numbers(retry) if isinstance(retry, (NeedsNumbers, Unequal)) else None
                bodies = instead is not None and not written_out and not exhausted
                own = not gave_up and self.can_own(retry, block, before.emitter["collections"]) and (written_out or exhausted or not at_once(instead))
                held = isinstance(retry, Rebound) and (instead is None or written_out) and retry.name not in self._held
                if not (own or held or bodies or self._known(retry, before, block, both)):
                    raise
                before.put_back(self)
                if own:
                    exhausted = exhausted or written_out
                    self.will_own(retry, names)
                    translate, written_out, later = at_first, False, instead
                elif held:
                    self._held.add(retry.name)
                    translate, written_out = at_first, False
                elif instead is not None:
                    gave_up = self._fields.keys() != fields.keys()
                    self._without_fields(fields)
                    translate, written_out, later = instead, True, None
                else:
                    self._as_found(retry, names)

    def _end_of_block(self, before: _Before) -> None:
        for name in self._variables.keys() - before.variables.keys():
            if whole_name(name) == RESULT:
                continue
            if name in self._fields:
                self.disown(name)
            self.let_go(name)
            del self._variables[name]  # from here on it is bound anew as any name, and what shares its memory keeps it

    def _known(self, retry: Retry, before: _Before, block: int, both: set[str]) -> bool:
        """Whether `_as_found` helps."""
        if isinstance(retry, NeedsMemory):
            return retry.selected.block == block
        whole = whole_name(retry.name) if isinstance(retry, (Retyped, Resized)) else ""
        if isinstance(retry, Resized):  # once more only where this is new
            return whole == retry.name in before.names and whole not in before.variables and not self.shrinks(whole, before.names)
        if whole in before.names:
            return whole not in before.variables
        return isinstance(retry, Retyped) and whole in both and retry.name not in self._retyped

    def _as_found(self, retry: Any, names: dict) -> None:
        """Names before the block as it needs them."""
        if isinstance(retry, NeedsMemory):
            retry.selected.place()
            return
        whole = whole_name(retry.name)
        if whole not in names:
            self._retyped[retry.name] = retry
        elif isinstance(retry, Resized):
            self.will_shrink(retry.name, names, self._variables)
        else:
            names[whole] = with_part(names[whole], retry.name, self._as_retyped(part_of(names[whole], retry.name), retry))

    def _without_fields(self, fields: dict) -> None:
        for name in self._fields.keys() - fields.keys():
            self.scope.names.pop(name, None)
        self._fields = dict(fields)
