"""x += y, of names, attributes, elements and parts of arrays."""

from __future__ import annotations

import ast

from . import arrays, elementwise, gathers, growing
from .dispatch import in_program
from .evaluate import BINARY, check_own
from .objects import BINARY as METHODS
from .objects import has_attributes
from .selections import Selected
from .values import Array, Part, value_of


class Updates:
    """Part of Lowering, whose `emitter`, `name`, `value`, `binary` and `bind` it uses."""

    def do_AugAssign(self, s: ast.AugAssign) -> None:
        name = BINARY[type(s.op)]
        if isinstance(s.target, ast.Name):
            old = self.name(s.target.id)
            check_own(old)
            value = self.value(s.value)
            new = self.special(old, f"i{METHODS[name]}", value)
            new = self.binary(name, old, value) if new is NotImplemented else new
            if isinstance(old, (Selected, Part)):
                self._update(old, new, name)
            elif isinstance(old, Array) and (old.ndim > 0 or old.in_place):
                self._update(old, new, name)
            else:
                self.bind(s.target.id, new)
            return
        if isinstance(s.target, ast.Attribute) and has_attributes(owner := self.value(s.target.value)):
            self._update_attribute(owner, s.target, self.value(s.value), name)
            return
        if not isinstance(s.target, ast.Subscript):
            part = self._part(s.target)
            self._update(part, self.binary(name, part, self.value(s.value)), name)
            return
        base = self._changed(s.target.value)
        key, value = in_program(self.key(s.target.slice)), self.value(s.value)
        if isinstance(base, (list, dict)):
            self._update_item(base, key, value, name)
            return
        if (old := self.special(base, "getitem", key)) is not NotImplemented:
            self.special(base, "setitem", key, self.binary(name, old, value))
            return
        if isinstance(base, (Array, Part)) and gathers.scatter(self.emitter, base, key, value, name):
            return
        view = arrays.subscript(self.emitter, base, key)
        self._update(view, self.binary(name, view, value), name, element=not view.ndim)

    def _update_attribute(self, owner, target: ast.Attribute, value, name: str) -> None:
        """owner.attr += value"""
        old = self.value(ast.copy_location(ast.Attribute(target.value, target.attr, ast.Load()), target))
        new = self.binary(name, old, value)
        if isinstance(old, (Selected, Part)) or isinstance(old, Array) and (old.ndim > 0 or old.in_place):
            self._update(old, new, name)
        else:
            self.set_attribute(owner, target.attr, new)

    def _update_item(self, owner: list | dict, key, value, name: str) -> None:
        """owner[key] += value, of a list or dict."""
        growing.check_key(owner, key)
        old = owner[key]
        new = self.binary(name, old, value)
        if isinstance(old, (Selected, Part)) or isinstance(old, Array) and (old.ndim > 0 or old.in_place):
            self._update(old, new, name)
        else:
            self.set_item(owner, key, new)

    def _update(self, target: Array, new, name: str, element: bool = False) -> None:
        """target op= …; `element`: one of an array, to which a number is assigned, cast as by target = …"""
        kinds = "bbbbc" if element else "biufc"
        kinds = dict(zip("biufc", map(kinds.index, kinds)))
        got = value_of(new).dtype
        if kinds[got.kind] > kinds[target.dtype.kind] and not (got.kind in "iu" and target.dtype.kind in "iu"):
            raise TypeError(f"cannot cast the result of {name} from {got} to {target.dtype}")
        new = elementwise.cast(self.emitter, new, target.dtype)
        if not (isinstance(target, Selected) and target.update(new)):
            self.emitter.store(target, new)
