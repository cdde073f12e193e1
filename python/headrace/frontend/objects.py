"""Instances of users' classes in programs: what their `__init__` makes, and operators as their methods say."""

from __future__ import annotations

import builtins
import types
from typing import Any

import numpy as np

from ..trees import MADE, has_parts, is_record, items
from . import fields, growing
from .errors import Refused
from .functions import attribute
from .generators import is_generator
from .sizes import Size
from .source import Attributes, TranslationError, is_plain, read
from .values import Value, is_number, value_of

BINARY = {"add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv", "floor_divide": "floordiv", "remainder": "mod", "power": "pow",
          "matmul": "matmul", "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor", "left_shift": "lshift", "right_shift": "rshift"}
UNARY = {"negative": "neg", "positive": "pos", "invert": "invert"}
COMPARISONS = {"equal": ("eq", "eq"), "not_equal": ("ne", "ne"), "less": ("lt", "gt"), "less_equal": ("le", "ge"), "greater": ("gt", "lt"),
               "greater_equal": ("ge", "le")}
BY_NAME = (builtins.getattr, builtins.hasattr, builtins.setattr)
BUILTINS = {builtins.abs: "abs", builtins.len: "len", builtins.float: "float", builtins.int: "int", builtins.bool: "bool", builtins.round: "round"}


def of_user(value: Any) -> bool:
    """Whether it may have operators that are written in Python."""
    return not isinstance(value, (Value, Size, str, np.ndarray)) and not is_number(value) and type(value).__module__.partition(".")[0] not in ("builtins", "numpy", "headrace")


def has_attributes(value: Any) -> bool:
    """Whether it is an object that a program may change by its attributes."""
    return has_parts(value) and hasattr(value, "__dict__") and not isinstance(value, (dict, list, tuple))


class Objects:
    """Part of Evaluator, whose `inline` and `bind_field` it uses."""

    def special(self, value: Any, name: str, *args: Any) -> Any:
        """value.__name__(…), where its class has that in Python."""
        method = getattr(type(value), f"__{name}__", None) if of_user(value) else None
        if not isinstance(method, types.FunctionType) or method.__code__.co_filename.startswith("<"):  # a dataclass's own
            return NotImplemented
        return self.inline(method, [value, *args], {})

    def iterated(self, value: Any) -> Any:
        """What a loop goes over, by the `__iter__` of an object of the user's."""
        method = getattr(type(value), "__iter__", None) if of_user(value) else None
        if isinstance(method, types.FunctionType):
            return self.all_generated(types.MethodType(method, value), [], {}) if is_generator(method) else self.special(value, "iter")
        if method is None and isinstance(getattr(type(value), "__getitem__", None), types.FunctionType) and of_user(value):
            raise Refused(f"a loop over a {type(value).__name__}, which has no __iter__", "write __iter__, or a loop over its indices")
        return value

    def overloaded(self, name: str, a: Any, b: Any) -> Any:
        """a op b, by a method of one of them."""
        if not of_user(a) and not of_user(b):
            return NotImplemented
        first, second = COMPARISONS.get(name) or (BINARY[name], f"r{BINARY[name]}")
        made = self.special(a, first, b)
        return self.special(b, second, a) if made is NotImplemented else made

    def is_made(self, function: Any) -> bool:
        """A class of the user's, written in Python throughout, whose instances have attributes that its `__init__` binds."""
        if not isinstance(function, type) or is_record(function) or not isinstance(function.__init__, types.FunctionType):
            return False
        return all(type(k) is type and k.__module__.partition(".")[0] not in ("builtins", "numpy", "headrace", "torch") and "__slots__" not in vars(k)
                   and "__new__" not in vars(k) for k in function.__mro__[:-1])

    def make(self, kind: type, args: list, named: dict) -> Any:
        """kind(…), by its `__init__`; where nothing in it is the program's, as Python makes it if programs can't."""
        made, before = object.__new__(kind), self.emitter.snapshot()
        vars(made)[MADE] = True
        growing.noted(self.emitter, made)
        try:
            self.inline(kind.__init__, [made, *args], named)
        except TranslationError:
            if self._runtime([*args, *named.values()]):
                raise
            self.emitter.restore(before)
            return kind(*args, **named)
        return growing.settled(self.emitter, growing.noted(self.emitter, made))

    def method(self, function: types.MethodType, args: list, named: dict) -> Any:
        """object.f(…), where the object or an argument is the program's. Where nothing in them is, Python calls what programs can't, if that
        leaves the object as it is."""
        owner, before = function.__self__, self.emitter.snapshot()
        try:
            return self.inline(function.__func__, [owner, *args], named)
        except TranslationError:
            if self._runtime([owner, *args, *named.values()]):
                raise
            self.emitter.restore(before)
            attributes = dict(getattr(owner, "__dict__", {}))
            made = function(*args, **named)
            if attributes != getattr(owner, "__dict__", {}):
                vars(owner).clear()
                vars(owner).update(attributes)
                raise
            return made

    @staticmethod
    def known_call(function: Any, args: list, named: dict) -> Any:
        """A call of Python's of what is known. What is made once (None before) is a table; what changes would do so once, and not in each run."""
        owner = getattr(function, "__self__", None) if isinstance(function, types.MethodType) else None
        before = dict(getattr(owner, "__dict__", {})) if of_user(owner) and not isinstance(owner, (type, types.ModuleType)) else {}
        made = function(*args, **named)
        changed = [name for name, value in before.items() if value is not None and vars(owner).get(name) is not value]
        if changed:
            vars(owner).update(before)
            raise Refused(f"{function.__name__} changes {changed[0]} of a {type(owner).__name__} that was made outside of the program", "make it in the program, or return the value")
        return made

    def make_record(self, kind: type, args: list, named: dict) -> Any:
        """A named tuple or an instance of a dataclass, whose `__post_init__` is the program's, as an `__init__` is."""
        after, given_parts = getattr(kind, "__post_init__", None), [*args, *named.values()]
        if not isinstance(after, types.FunctionType) or not self._runtime(given_parts):
            return self._fresh(kind(*args, **named), given_parts)
        given: list = []
        made = type(kind.__name__, (kind,), {"__post_init__": lambda self, *more: given.extend(more)})(*args, **named)
        object.__setattr__(made, "__class__", kind)
        object.__setattr__(made, MADE, True)
        growing.settled(self.emitter, self._fresh(made, given_parts))
        self.inline(after, [made, *given], {})
        return made

    def _fresh(self, made: Any, given: list) -> Any:
        """It, and the lists and dicts of its default factories, as the program's."""
        for _, part in items(made):
            if type(part) in (list, dict) and not any(part is g for g in given):
                growing.noted(self.emitter, part)
        return growing.noted(self.emitter, made)

    def attribute_of(self, base: Any, name: str) -> Any:
        """base.name"""
        if isinstance(base, Size):
            base = value_of(base)
        if isinstance(base, Value):
            return attribute(self.emitter, base, name)
        found = getattr(type(base), name, None)
        if isinstance(found, property) and isinstance(found.fget, types.FunctionType) and has_parts(base):
            return self.inline(found.fget, [base], {})
        value = getattr(base, name)
        if isinstance(base, types.ModuleType) and base is not np and vars(base).get(name) is value:  # some make what is asked for
            read(vars(base), name, value)
        elif not isinstance(base, types.ModuleType) and is_plain(value):
            read(Attributes(base), name, value)
        return value

    def by_name(self, function: Any, owner: Any, name: str, *more: Any) -> Any:
        """getattr, hasattr and setattr."""
        if function is builtins.setattr:
            return self.set_attribute(owner, name, *more)
        known = hasattr(np.ndarray if isinstance(owner, (Value, Size)) else owner, name)
        if function is builtins.hasattr:
            return known
        return self.attribute_of(owner, name) if known or not more else more[0]

    def own_super(self) -> super:
        """super() in a method."""
        code = self.scope.source.function.__code__
        return super(self.scope.find("__class__"), self.name(code.co_varnames[0]))

    def set_attribute(self, owner: Any, name: str, value: Any) -> None:
        """owner.name = value"""
        found, frozen = getattr(type(owner), name, None), getattr(getattr(type(owner), "__dataclass_params__", None), "frozen", False)
        if isinstance(found, property):
            if not isinstance(found.fset, types.FunctionType):
                raise AttributeError(f"property '{name}' of {type(owner).__name__} has no setter")
            self.inline(found.fset, [owner, value], {})
            return
        if frozen:
            raise TypeError(f"{type(owner).__name__} is frozen: dataclasses.replace makes another one")
        if self.bind_field(owner, name, value):
            return
        fields.may_bind(self.emitter, owner, name)
        vars(owner)[name] = self._kept(value, name)
        growing.noted(self.emitter, owner)
