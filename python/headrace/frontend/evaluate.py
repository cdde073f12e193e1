"""Python expressions → sizes, Python's own objects, and values that the program computes."""

from __future__ import annotations

import ast
import builtins
import contextlib
import dataclasses
import functools
import sys
import types
from typing import Any

import numpy as np

from . import arrays, builtin, counting, creation, derived, elementwise, exponents, factors, growing, joining, linalg, nan, of_math, ordering, products, rearranging, statistics, windows  # noqa: F401: they register functions
from ..trees import assembled, has_parts, is_record, items
from .calling import CALLING
from .constructs import NoPlace
from .emitter import Emitter
from .errors import NeedsNumber, NeedsNumbers, NoArray, OutOfScope, Refused, Retry, Retyped, Unknown
from .functions import FUNCTIONS, Method, attribute, ufunc_method
from .impure import check_pure
from .parts import same_parts
from .ranges import Ranges, Rows
from .sizes import Size
from .source import Attributes, Source, TranslationError, is_plain, read
from .types import Type
from .values import Value, is_number, value_of

BINARY = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide", ast.FloorDiv: "floor_divide",
          ast.Mod: "remainder", ast.Pow: "power", ast.MatMult: "matmul", ast.BitAnd: "bitwise_and", ast.BitOr: "bitwise_or",
          ast.BitXor: "bitwise_xor", ast.LShift: "left_shift", ast.RShift: "right_shift"}
UNARY = {ast.USub: "negative", ast.UAdd: "positive", ast.Not: "logical_not", ast.Invert: "invert"}
COMPARE = {ast.Eq: "equal", ast.NotEq: "not_equal", ast.Lt: "less", ast.LtE: "less_equal", ast.Gt: "greater",
           ast.GtE: "greater_equal"}
DEEPEST_CALL = 64
WALKS = (enumerate, zip, reversed, map, filter, type({}.keys()), type({}.values()), type({}.items()))
OURS = {f"headrace.{m}" for m in ("gradients", "program", "transforms.batch", "transforms.custom", "transforms.forward", "transforms.jacobians")}


class Scope:
    """The names of one call: its own, then those around the function."""

    def __init__(self, source: Source, names: dict[str, Any]):
        self.source, self.names = source, names
        self.unbound: dict[str, Any] = {}  # names that may have no value, and why (paths.py)
        self.left: dict[str, list] = {}    # flags of loops, and the ways on which they are set

    def unbound_by(self, name: str):
        return self.unbound.get(name)

    def find(self, name: str):
        if name in self.names:
            return self.names[name]
        for names in self.source.surroundings:
            if name in names:
                read(names, name, names[name])
                return names[name]
        if hasattr(builtins, name):
            return getattr(builtins, name)
        raise Unknown(f"name '{name}' is not defined here", name, [*self.names, *(n for names in self.source.surroundings for n in names)])


class Evaluator:
    function: type  # set by lower.py

    def __init__(self, emitter: Emitter, scope: Scope, depth: int):
        self.emitter, self.scope, self.depth = emitter, scope, depth

    @contextlib.contextmanager
    def at(self, node: ast.AST):
        """Errors within say where; statements written within say where they come from."""
        before, self.emitter.origin = self.emitter.origin, self.scope.source.origin(node)
        try:
            yield
        except (TranslationError, KeyboardInterrupt):
            raise
        except Retry as again:
            again.located = again.located or self.scope.source.error(again, node)
            raise
        except Exception as error:
            raise self.scope.source.error(error, node) from error
        finally:
            self.emitter.origin = before

    def name(self, name: str):
        self.check_bound(name)
        value = self.scope.find(name)
        if isinstance(value, OutOfScope):
            raise NameError(f"{name} is bound in a loop to what only exists there: bind it before the loop, too, or copy it")
        return value.current() if isinstance(value, Value) else value

    def value(self, node: ast.expr):
        handler = getattr(self, "of_" + type(node).__name__, None)
        if handler is None:
            with self.at(node):
                raise NoPlace(node)
        with self.at(node):
            value = handler(node)
            return value.current() if isinstance(value, Value) else value

    def truth(self, value):
        """What a condition asks of a value: of sizes whether they are zero."""
        return elementwise.apply(self.emitter, "not_equal", value, 0) if isinstance(value, Size) else value

    def _as_retyped(self, value, retry: Retyped) -> Value:
        """The value with the type that a block gives its name later."""
        value = elementwise.cast(self.emitter, value, retry.dtype)
        return value if retry.strong else Value(retry.dtype, (), value_of(value).at, weak=True)

    # ---- leaves ----
    def of_Constant(self, n: ast.Constant):
        return n.value

    def of_Name(self, n: ast.Name):
        return self.name(n.id)

    def of_Tuple(self, n: ast.Tuple):
        return tuple(self._values(n.elts))

    def of_List(self, n: ast.List):
        return growing.noted(self.emitter, self._values(n.elts))

    def of_Dict(self, n: ast.Dict):
        made: dict = {}
        for key, value in zip(n.keys, n.values):
            made.update(self.value(value) if key is None else {self._key_of(key): self.value(value)})
        return growing.noted(self.emitter, made)

    def of_Set(self, n: ast.Set) -> set:
        if self._runtime(items := self._values(n.elts)):
            raise Refused("a set of what the program computes", "write a tuple")
        return set(items)

    def of_JoinedStr(self, n: ast.JoinedStr) -> str:
        return "".join(self._formatted(part, n) if isinstance(part, ast.FormattedValue) else part.value for part in n.values)

    def _formatted(self, part: ast.FormattedValue, whole: ast.JoinedStr) -> str:
        value = self.value(part.value)
        if isinstance(value, Size):
            raise NeedsNumbers([value], "a string with a number that a loop changes")
        if self._runtime([value]):
            raise NoPlace(whole)
        value = {"s": str, "r": repr, "a": ascii}[chr(part.conversion)](value) if part.conversion > 0 else value
        return format(value, self.of_JoinedStr(part.format_spec) if part.format_spec else "")

    def _key_of(self, node: ast.expr):
        if isinstance(key := self.value(node), (Value, Size)):
            raise NotImplementedError("a key that the program computes: use an array")
        return key

    def _values(self, nodes: list[ast.expr]) -> list:
        """Their values; what has a star before it is several."""
        found: list = []
        for x in nodes:
            found += self.several(self.value(x.value)) if isinstance(x, ast.Starred) else [self.value(x)]
        return found

    def several(self, value) -> list:
        """What is unpacked: the items of tuples and lists, the parts of arrays along the first dimension."""
        if not isinstance(value, Value):
            return list(value)
        if value.ndim == 0 or not isinstance(value.shape[0], int):
            raise TypeError("only arrays whose first size is a number can be unpacked")
        return [arrays.subscript(self.emitter, value, k) for k in range(value.shape[0])]

    def of_Attribute(self, n: ast.Attribute):
        base = self.value(n.value)
        if isinstance(base, Size):
            base = value_of(base)
        if isinstance(base, Value):
            return attribute(self.emitter, base, n.attr)
        found = getattr(type(base), n.attr, None)
        if isinstance(found, property) and isinstance(found.fget, types.FunctionType) and is_record(type(base)):
            return self.inline(found.fget, [base], {})
        value = getattr(base, n.attr)
        if isinstance(base, types.ModuleType) and base is not np and vars(base).get(n.attr) is value:  # some make what is asked for
            read(vars(base), n.attr, value)
        elif not isinstance(base, types.ModuleType) and is_plain(value):
            read(Attributes(base), n.attr, value)
        return value

    def of_NamedExpr(self, n: ast.NamedExpr):
        value = self.value(n.value)
        self.bind(n.target.id, value)
        return self.name(n.target.id)

    # ---- operators ----
    def binary(self, name: str, a, b):
        if name == "matmul":
            return products.matmul(self.emitter, a, b)
        if isinstance(a, Value) and isinstance(b, (tuple, list)) or isinstance(b, Value) and isinstance(a, (tuple, list)):
            a, b = (creation.array(self.emitter, x) if isinstance(x, (tuple, list)) and x else x for x in (a, b))
        if isinstance(a, str) and isinstance(b, Size):
            raise NeedsNumbers([b], "a string with a number that a loop changes")
        if isinstance(a, (tuple, list, str)) or isinstance(b, (tuple, list, str)):
            return elementwise.PYTHON[name](a, b)
        return elementwise.apply(self.emitter, name, a, b)

    def of_BinOp(self, n: ast.BinOp):
        return self.binary(BINARY[type(n.op)], self.value(n.left), self.value(n.right))

    def of_UnaryOp(self, n: ast.UnaryOp):
        v = self.value(n.operand)
        name = UNARY[type(n.op)]
        if name == "logical_not":
            if not isinstance(v, (Value, Size)):
                return not v
            return self._not(v)
        return elementwise.apply(self.emitter, name, v)

    def _not(self, v):
        """not v: a bool of Python's."""
        check_truth(v)
        result = elementwise.apply(self.emitter, "logical_not", v)
        result.weak = True
        return result

    def of_BoolOp(self, n: ast.BoolOp):
        result = self.value(n.values[0])
        for node in n.values[1:]:
            result = self._and_or(isinstance(n.op, ast.And), result, node)
        return result

    def _and_or(self, both: bool, a, node: ast.expr):
        """a and b, a or b: one of the two, as in Python; b is evaluated where a does not decide."""
        if not isinstance(a, (Value, Size)):  # known
            return self.value(node) if bool(a) == both else a
        check_truth(a)
        test = self.truth(a)
        b, aside = self.aside(node)
        if aside:
            return self.chosen(test if both else elementwise.apply(self.emitter, "logical_not", test), node, a)
        if value_of(a).dtype.kind == "b" and value_of(b).dtype.kind == "b":
            return elementwise.apply(self.emitter, "logical_and" if both else "logical_or", a, b)
        return self.choice(test, b, a) if both else self.choice(test, a, b)

    def aside(self, node: ast.expr):
        """(value, whether statements were written for it), of what is evaluated in some cases only. The statements are taken back."""
        before = self.emitter.snapshot()
        value = self.value(node)
        if not self.emitter.wrote_since(before):
            return value, False
        self.emitter.restore(before)
        return None, True

    def chosen(self, test, node: ast.expr, other):
        """The expression `node` where the test is true, else `other` (an expression, or what one gave), by a branch."""
        names = [f"its {self.emitter.fresh(n)}" for n in ("chosen", "test", "other")]
        self.scope.names[names[1]] = test
        if not isinstance(other, ast.expr):
            self.scope.names[names[2]] = other
            other = ast.copy_location(ast.Name(names[2], ast.Load()), node)
        parts = [ast.copy_location(ast.Assign([ast.copy_location(ast.Name(names[0], ast.Store()), node)], x), node) for x in (node, other)]
        test_node = ast.copy_location(ast.Name(names[1], ast.Load()), node)
        self.block([ast.copy_location(ast.If(test_node, parts[:1], parts[1:]), node)])
        result = self.scope.names[names[0]]
        for n in names:
            self.scope.names.pop(n, None)
        return result

    def of_Compare(self, n: ast.Compare):
        left, result = self.value(n.left), True
        for op, node in zip(n.ops, n.comparators):
            right = self.value(node)
            one = self._compare(op, left, right)
            if len(n.ops) > 1:
                check_truth(one)
            result = one if result is True else elementwise.apply(self.emitter, "logical_and", result, one)
            left = right
        return result

    def _compare(self, op, a, b):
        if isinstance(op, (ast.Is, ast.IsNot)):
            return (a is b) == isinstance(op, ast.Is)
        if isinstance(op, (ast.In, ast.NotIn)):
            found = self._among(a, b)
            return found if isinstance(op, ast.In) else self._not(found) if isinstance(found, Value) else not found
        name = COMPARE[type(op)]
        if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)) and self._runtime([a, b]):
            return self._compare_items(name, a, b)
        if isinstance(a, Size) or isinstance(b, Size):
            if a == b:
                return name in ("equal", "less_equal", "greater_equal")
        elif not isinstance(a, Value) and not isinstance(b, Value):
            return elementwise.PYTHON[name](a, b)
        result = elementwise.apply(self.emitter, name, a, b)
        result.weak = not result.ndim and value_of(a).weak and value_of(b).weak
        return result

    def _among(self, a, items):
        """a in items"""
        if isinstance(items, Value):
            same = elementwise.apply(self.emitter, "equal", items, a)
            return arrays.reduction(self.emitter, "any", same)
        if not self._runtime([a, items] if isinstance(items, (tuple, list)) else [a]):
            return a in items
        if not isinstance(items, (tuple, list, set)):
            raise NotImplementedError(f"whether a number that the program computes is in a {type(items).__name__}: give a tuple or an array")
        found: Any = False
        for item in items:
            one = self._compare(ast.Eq(), a, item)
            found = one if found is False else elementwise.apply(self.emitter, "logical_or", found, one)
        return found

    def _compare_items(self, name: str, a, b):
        """Tuples are equal where all their items are."""
        if name not in ("equal", "not_equal"):
            raise NotImplementedError("the order of tuples of what the program computes: compare their items")
        same: Any = len(a) == len(b)
        for x, y in zip(a, b) if same else ():
            one = self._compare(ast.Eq(), x, y)
            check_truth(one)
            same = one if same is True else elementwise.apply(self.emitter, "logical_and", same, one)
        return same if name == "equal" else self._not(same) if isinstance(same, Value) else not same

    def of_IfExp(self, n: ast.IfExp):
        test = self.truth(self.value(n.test))
        if not isinstance(test, Value):
            return self.value(n.body if test else n.orelse)
        check_truth(test)
        parts = [self.aside(x) for x in (n.body, n.orelse)]
        if any(aside for _, aside in parts):
            return self.chosen(test, n.body, n.orelse)
        return self._choice_of_parts(test, *[v for v, _ in parts])

    def _choice_of_parts(self, test, a, b):
        """One of two numbers, arrays, or tuples of as many."""
        if has_parts(a) and same_parts(a, b) and not isinstance(a, (list, dict)):
            return assembled(type(a), [(key, self._choice_of_parts(test, x, y)) for (key, x), (_, y) in zip(items(a), items(b))])
        if not all(isinstance(v, (Value, Size)) or is_number(v) for v in (a, b)):
            raise NotImplementedError("a choice between what is no number or array, by what the program computes")
        return self.choice(test, a, b)

    # ---- subscripts ----
    def key(self, node: ast.expr):
        if isinstance(node, ast.Tuple):
            return tuple(self.key(x) for x in node.elts)
        if isinstance(node, ast.Slice):
            return slice(*(None if x is None else self.value(x) for x in (node.lower, node.upper, node.step)))
        value = self.value(node)
        return creation.array(self.emitter, value) if isinstance(value, list) and value else value

    def of_Subscript(self, n: ast.Subscript):
        base, key = self.value(n.value), self.key(n.slice)
        if base is np.mgrid or base is np.ogrid:
            return creation.grid(self.emitter, key, base is np.ogrid)
        if base is np.r_ or base is np.c_:
            return joining.by_subscript(self.emitter, base, key)
        if isinstance(base, Value):
            return arrays.subscript(self.emitter, base, key)
        if isinstance(key, (Value, Size)) and isinstance(base, (list, tuple, dict)):
            raise NeedsNumber(f"an item of a {type(base).__name__} whose place the program computes: make it an array, by np.array(…)")
        return value_of(base) if isinstance(base, np.ndarray) and self._runtime(_parts(key)) else base[key]

    # ---- calls ----
    def of_Call(self, n: ast.Call):
        function = self.value(n.func)
        args, named = [listed(a) for a in self._values(n.args)], {}
        for k in n.keywords:
            named.update(self.value(k.value) if k.arg is None else {k.arg: self.value(k.value)})
        return self.call(function, args, named)

    def call(self, function, args: list, named: dict):
        if isinstance(function, functools.partial):
            return self.call(function.func, [*function.args, *args], {**function.keywords, **named})
        if isinstance(function, Method):
            return self._known_function(function, args, named, function.name)
        if function is map or function is functools.reduce:
            return self._mapped(function, *args)
        if _hashable(function) and function in CALLING and self._runtime([*args, *named.values()]):
            return CALLING[function](self.call, self.emitter, *args, **named)
        if growing.is_method(function):
            return growing.call_method(self.emitter, function, args, named, lambda v: self._kept(v, "item"))
        check_pure(function)
        if function is np.vectorize or isinstance(function, np.vectorize):
            raise Refused("np.vectorize, which calls a function for each element, has no place in a program",
                          "call the function with the whole array, with np.where in place of if")
        if isinstance(function, Type):
            function = function.dtype
        if isinstance(function, np.dtype):
            function = function.type
        if isinstance(function, type) and issubclass(function, np.generic) and len(args) == 1:
            return elementwise.cast(self.emitter, args[0], function)
        if _hashable(function) and function in FUNCTIONS:
            if not self._runtime([*args, *named.values()]) and function not in creation.NEW_ARRAYS:
                return self._constant(function(*args, **named))
            return self._known_function(FUNCTIONS[function], args, named, getattr(function, "__name__", str(function)))
        lower = getattr(type(function), "__headrace_lower__", None)  # it knows itself what it is in a program
        if lower is not None:
            return lower(function, self.emitter, args, named)
        if (torch := sys.modules.get("torch")) is not None and isinstance(function, torch.nn.Module):
            from ..torch.inline import call_module

            return call_module(self.emitter, function, args, named)
        if isinstance(ufunc := getattr(function, "__self__", None), np.ufunc):
            return ufunc_method(self.emitter, ufunc, function.__name__, *args, **named)
        if getattr(function, "__module__", None) in OURS:  # headrace.grad and its like make functions, here as anywhere
            if self._runtime([*args, *named.values()]):
                raise NotImplementedError(f"headrace.{function.__name__} of values inside of a program: call grad, value_and_grad or vmap "
                                          "of a function there, and the others outside")
            from ..closures import closed

            return function(*map(closed, args), **{k: closed(v) for k, v in named.items()})
        if isinstance(function, types.MethodType) and isinstance(function.__func__, types.FunctionType) and self._of_program(function, args, named):
            if function.__name__ == "_replace" and hasattr(function.__self__, "_fields"):
                return with_fields(function.__self__, named)
            return self.inline(function.__func__, [function.__self__, *args], named)
        if function is dataclasses.replace:
            return with_fields(args[0], named)
        called = getattr(type(function), "__call__", None)
        if isinstance(called, types.FunctionType) and not isinstance(function, type) and type(function).__module__.partition(".")[0] not in ("headrace", "numpy"):
            return self.inline(called, [function, *args], named)
        inner = _in_programs(function)
        if isinstance(inner, types.FunctionType):
            return self._library_function(inner, args, named) if _of_library(inner) else self.inline(inner, args, named)
        if hasattr(inner, "inline"):  # grad(f), vmap(f), …
            return inner.inline(self, args, named)
        if not self._runtime([*args, *named.values()]) or is_record(function):
            made = function(*args, **named)
            return self._constant(made) if (getattr(function, "__module__", None) or "").startswith("numpy") else made
        raise NotImplementedError(f"{getattr(function, '__name__', function)!s} is not among the functions that programs know")

    def _library_function(self, function, args: list, named: dict):
        """What NumPy or SciPy write in Python, where programs have all of it."""
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
        return self._runtime([*args, *named.values()]) or is_record(type(method.__self__)) and self._runtime([v for _, v in items(method.__self__)])

    @staticmethod
    def _runtime(values) -> bool:
        def known(v):
            if isinstance(v, (tuple, list)):
                return all(map(known, v))
            if isinstance(v, dict):
                return all(map(known, v.values()))
            return not isinstance(v, (Value, Size, Ranges, Rows))
        return not all(map(known, values))

    def _constant(self, value):
        """What NumPy gave for numbers."""
        if isinstance(value, (tuple, list)):
            return type(value)(map(self._constant, value)) if not hasattr(value, "_fields") else value
        if not isinstance(value, np.ndarray):
            return value
        return value[()] if value.ndim == 0 else creation.array(self.emitter, value.tolist(), value.dtype)

    def inline(self, function: types.FunctionType, args: list, named: dict):
        if self.depth >= DEEPEST_CALL:
            raise RecursionError(f"calls within calls, {DEEPEST_CALL} deep: a function that calls itself ends by what is known when the program is translated")
        source = Source.of(function)
        names = source.arguments(args, named)
        callee = self.function(self.emitter, Scope(source, {}), self.depth + 1)
        for name, value in names.items():
            callee.bind(name, value)
        return callee.run(source.body)


def check_truth(v) -> None:
    """ValueError for what has no truth of its own, as in NumPy."""
    if isinstance(v, Value) and v.ndim:
        raise ValueError("the truth of an array with more than one element is ambiguous: use any() or all(), or &, | and ~ for each element")


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


def _parts(key) -> list:
    """What a subscript is made of."""
    keys = key if isinstance(key, tuple) else (key,)
    return [part for k in keys for part in ((k.start, k.stop, k.step) if isinstance(k, slice) else (k,))]


def _in_programs(function):
    """What a call of it is in a program. functools.wraps copies attributes: those of a plain function may be another one's."""
    if not isinstance(function, types.FunctionType):
        return getattr(function, "__headrace_function__", function)
    of, inner = getattr(function, "__headrace_inside__", (None, None))
    return inner if of is function else function


def _of_library(function) -> bool:
    return (function.__module__ or "").partition(".")[0] in ("numpy", "scipy")


def _hashable(x) -> bool:
    try:
        hash(x)
    except TypeError:
        return False
    return True
