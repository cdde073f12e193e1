"""Calls of functions → what programs know of them, what they are written out as, or what Python gives."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import sys
import types

import numpy as np

from . import creation, elementwise, growing
from ..trees import assembled, has_parts, is_record, items
from .calling import BY_KEY, CALLING
from .constructs import check_elements, check_place
from .errors import NoArray, Refused
from .functions import FUNCTIONS, Method, stored, ufunc_method
from .generators import is_generator
from .impure import check_pure
from .objects import BUILTINS, BY_NAME, Objects, of_user
from .ranges import Ranges, Rows
from .scope import Remembered, Scope, recalled
from .sizes import Size
from .source import Source, TranslationError
from .types import Type
from .values import Value, value_of

DEEPEST_CALL = 64
WALKS = (enumerate, zip, reversed, map, filter, type({}.keys()), type({}.values()), type({}.items()))
WALKING = (list, tuple, sum, any, all, sorted, enumerate, zip)
OURS = {f"headrace.{m}" for m in ("gradients", "program", "transforms.batch", "transforms.custom", "transforms.forward", "transforms.jacobians")}


class Dispatch(Objects):
    """Of an evaluator, which has values of expressions and the emitter."""

    def of_Call(self, n: ast.Call):
        function = self.value(n.func)
        args, named = self.given(n)
        if is_generator(function):
            return self.all_generated(function, args, named)
        walks = hashable(function) and function in WALKING
        return self.call(function, [self.iterated(a) if walks and of_user(a) else listed(a) for a in args], named)

    def given(self, n: ast.Call) -> tuple[list, dict]:
        """The arguments of a call."""
        args, named = self._values(n.args), {}
        for k in n.keywords:
            named.update(self.value(k.value) if k.arg is None else {k.arg: self.value(k.value)})
        return args, named

    def call(self, function, args: list, named: dict):
        if isinstance(function, functools.partial):
            return self.call(function.func, [*map(recalled, function.args), *args], {**{k: recalled(v) for k, v in function.keywords.items()}, **named})
        if function is functools.partial:
            return function(args[0], *map(self.remembered, args[1:]), **{k: self.remembered(v) for k, v in named.items()})
        if isinstance(function, Method):
            return self._known_function(function, args, named, function.name)
        if function is map or function is functools.reduce:
            return self._mapped(function, *args)
        if hashable(function) and function in BY_KEY and "key" in named:
            return BY_KEY[function](self.call, self.emitter, *args, **named)
        if hashable(function) and function in CALLING and self._runtime([*args, *named.values()]):
            return CALLING[function](self.call, self.emitter, *args, **named)
        if growing.is_method(function) and function.__name__ == "update":
            for key, value in dict(*args, **named).items():
                self.set_item(function.__self__, key, value)
            return None
        if growing.is_method(function):
            return growing.call_method(self.emitter, function, args, named, lambda v: self._kept(v, "item"))
        check_pure(function)
        if function is np.vectorize or isinstance(function, np.vectorize):
            raise Refused("np.vectorize, which calls a function for each element, has no place in a program",
                          "call the function with the whole array, with np.where in place of if")
        check_place(function, self._runtime([*args, *named.values()]))
        check_elements(function, [*args, *named.values()])
        if isinstance(function, Type):
            function = function.dtype
        if isinstance(function, np.dtype):
            function = function.type
        if isinstance(function, type) and issubclass(function, np.generic) and len(args) == 1:
            same = isinstance(args[0], Value) and args[0].ndim and args[0].dtype == function
            return args[0] if same else elementwise.cast(self.emitter, args[0], function)
        if hashable(function) and function in BUILTINS and len(args) == 1 and (made := self.special(args[0], BUILTINS[function])) is not NotImplemented:
            return made
        if hashable(function) and function in BY_NAME:
            return self.by_name(function, *args, **named)
        if hashable(function) and function in FUNCTIONS:
            if not self._runtime([*args, *named.values()]) and function not in creation.NEW_ARRAYS:
                return self._constant(function(*args, **named))
            args, named = [in_program(a) for a in args], {k: in_program(a) for k, a in named.items()}
            return self._known_function(FUNCTIONS[function], args, named, getattr(function, "__name__", str(function)))
        lower = getattr(type(function), "__headrace_lower__", None)  # it knows itself what it is in a program
        if lower is not None:
            return lower(function, self.emitter, args, named)
        if (torch := sys.modules.get("torch")) is not None and isinstance(function, torch.nn.Module):
            from ..torch.inline import call_module

            return call_module(self.emitter, function, args, named)
        if isinstance(ufunc := getattr(function, "__self__", None), np.ufunc):
            return ufunc_method(self.emitter, ufunc, function.__name__, *map(in_program, args), **named)
        if getattr(function, "__module__", None) in OURS:  # headrace.grad and its like make functions, here as anywhere
            if self._runtime([*args, *named.values()]):
                raise NotImplementedError(f"headrace.{function.__name__} of values inside of a program: call grad, value_and_grad or vmap "
                                          "of a function there, and the others outside")
            from ..closures import closed

            return function(*map(closed, args), **{k: closed(v) for k, v in named.items()})
        if isinstance(function, types.MethodType) and isinstance(function.__func__, types.FunctionType) and self._of_program(function, args, named):
            if function.__name__ == "_replace" and hasattr(function.__self__, "_fields"):
                return with_fields(function.__self__, named)
            return self.method(function, args, named)
        if function is dataclasses.replace:
            return with_fields(args[0], named)
        if function is super and not args:
            return self.own_super()
        if self.is_made(function):
            return self.make(function, args, named)
        called = getattr(type(function), "__call__", None)
        if isinstance(called, types.FunctionType) and not isinstance(function, type) and type(function).__module__.partition(".")[0] not in ("headrace", "numpy"):
            return self.inline(called, [function, *args], named)
        inner = _in_programs(function)
        if isinstance(inner, types.FunctionType):
            return self._library_function(inner, args, named) if _of_library(inner) else self.inline(inner, args, named)
        if hasattr(inner, "inline"):  # grad(f), vmap(f), …
            return inner.inline(self, args, named)
        if not self._runtime([*args, *named.values()]) or is_record(function):
            made = self.make_record(function, args, named) if is_record(function) else self.known_call(function, args, named)
            of_numpy = (getattr(function, "__module__", None) or "").startswith("numpy")
            return self._constant(made) if of_numpy or isinstance(made, np.ndarray) else made
        if isinstance(function, type) and "__slots__" in vars(function) and isinstance(function.__init__, types.FunctionType):
            raise Refused(f"{function.__name__} has __slots__, and programs make objects that have a __dict__", "leave __slots__ out")
        raise NotImplementedError(f"{getattr(function, '__name__', function)!s} is not among the functions that programs know")

    def remembered(self, value):
        """What a function keeps of a value until it is called: numbers as they are now, of arrays a name, which has what it had when others are bound
        anew."""
        value = self._kept(value, "default")
        if not (has_parts(value) or isinstance(value, Value) and value.ndim):
            return value
        name = f"its {self.emitter.fresh('default')}"
        self.scope.names[name] = value
        return Remembered(self.scope, name)

    def _library_function(self, function, args: list, named: dict):
        """What NumPy or SciPy write in Python, where programs have all of it; of what is known they are called."""
        if not self._runtime([*args, *named.values()]) and not any(map(callable, (*args, *named.values()))):
            return self._constant(function(*args, **named))
        try:
            return self.inline(function, args, named)
        except TranslationError as inner:  # lines of theirs say nothing to users
            raise NotImplementedError(f"{function.__module__.partition('.')[0]}'s {function.__name__} is not among the functions that programs know") from inner

    def _mapped(self, function, each, *over):
        """map(f, items, …), reduce(f, items, first): one call after the other, written out."""
        if function is map:
            return [self.call(each, list(items), {}) for items in zip(*map(self.several, over))]
        return functools.reduce(lambda a, b: self.call(each, [a, b], {}), self.several(over[0]), *over[1:])

    def _handled(self, handler, args: list, named: dict, name: str):
        if named.get("out") is not None and not _takes_out(handler):
            result = self._handled(handler, args, {k: v for k, v in named.items() if k != "out"}, name)
            return stored(self.emitter, named["out"], result)
        try:
            return handler(self.emitter, *args, **named)
        except TypeError as error:  # a call that does not fit: of the function, not of what stands for it here
            inner = getattr(handler, "handler", handler).__qualname__ + "()"
            if not str(error).startswith((inner + " got ", inner + " missing ", inner + " takes ")):
                raise
            raise TypeError(f"{name}() as programs know it" + str(error).removeprefix(inner)) from error

    def _known_function(self, handler, args: list, named: dict, name: str):
        """Lists among its arguments are axes or shapes, or else arrays."""
        if not any(isinstance(v, (list, tuple)) for v in (*args, *named.values())):
            return self._handled(handler, args, named, name)
        before, first = self.emitter.snapshot(), None
        for kinds in ((), (list,), (list, tuple)):
            def array(v):
                return creation.array(self.emitter, v) if isinstance(v, kinds) and v else v

            try:
                return self._handled(handler, [array(a) for a in args], {k: array(v) for k, v in named.items()}, name)
            except (NoArray, AttributeError) as error:
                first = first or error
                self.emitter.restore(before)
        raise first

    def _of_program(self, method: types.MethodType, args: list, named: dict) -> bool:
        """Whether a method has to do with what the program computes."""
        of = method.__self__
        if id(of) in self.emitter.collections:  # made by the program: what changes it is part of that
            return True
        return self._runtime([*args, *named.values()]) or has_parts(of) and self._runtime([v for _, v in items(of)])

    @staticmethod
    def _runtime(values) -> bool:
        def known(v):
            if isinstance(v, (tuple, list)):
                return all(map(known, v))
            if isinstance(v, dict):
                return all(map(known, v.values()))
            if has_parts(v):
                return all(known(part) for _, part in items(v))
            return not isinstance(v, (Value, Size, Ranges, Rows))
        return not all(map(known, values))

    def _constant(self, value):
        """What NumPy gave for numbers."""
        if isinstance(value, (tuple, list)):
            return type(value)(map(self._constant, value)) if not hasattr(value, "_fields") else value
        if not isinstance(value, np.ndarray):
            return value
        return value[()] if value.ndim == 0 else self.emitter.materialize(value, "copy")

    def inline(self, function: types.FunctionType, args: list, named: dict):
        if self.depth >= DEEPEST_CALL:
            raise RecursionError(f"calls within calls, {DEEPEST_CALL} deep: a function that calls itself ends by what is known when the program is translated")
        source = Source.of(function)
        names = source.arguments(args, named)
        callee = self.function(self.emitter, Scope(source, {}), self.depth + 1)
        for name, value in names.items():
            callee.bind(name, value)
        return callee.run(source.body)


def in_program(value):
    """An array of the surroundings, also in a key, as what the program has for it."""
    if type(value) is tuple:
        return tuple(map(in_program, value))
    return value_of(value) if isinstance(value, np.ndarray) else value


def listed(value):
    """What Python's own functions walk over, as a list."""
    return list(value) if isinstance(value, WALKS) else value


def with_fields(record, fields: dict):
    """A named tuple or an instance of a dataclass with other values of some fields."""
    if unknown := set(fields) - {key for key, _ in _fields(record)}:
        raise ValueError(f"{type(record).__name__} has no field {', '.join(sorted(unknown))}")
    return assembled(type(record), [(key, fields.get(name, v)) for (key, v), (name, _) in zip(items(record), _fields(record))])


def _fields(record) -> list[tuple]:
    return list(zip(record._fields, record)) if hasattr(record, "_fields") else items(record)


def _in_programs(function):
    """What a call of it is in a program. functools.wraps copies attributes: those of a plain function may be another one's."""
    if not isinstance(function, types.FunctionType):
        return getattr(function, "__headrace_function__", function)
    of, inner = getattr(function, "__headrace_inside__", (None, None))
    return inner if of is function else function


def _takes_out(handler) -> bool:
    parameters = inspect.signature(getattr(handler, "handler", handler)).parameters
    return "out" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def _of_library(function) -> bool:
    return (function.__module__ or "").partition(".")[0] in ("numpy", "scipy")


def hashable(x) -> bool:
    try:
        hash(x)
    except (TypeError, ValueError):  # of a memoryview that may be written
        return False
    return True
