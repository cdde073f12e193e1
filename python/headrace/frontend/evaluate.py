"""Python expressions → sizes, Python's own objects, and values that the program computes."""

from __future__ import annotations

import ast
import contextlib
import types
from typing import Any

import numpy as np

from . import arrays, builtin, counting, creation, derived, elementwise, exponents, factors, fourier, growing, joining, linalg, nan, of_itertools, of_math, ordering, products, rearranging, statistics, windows  # noqa: F401: they register functions
from ..trees import assembled, has_parts, items
from .constructs import NoPlace
from .dispatch import Dispatch, in_program
from .emitter import Emitter
from .errors import NeedsNumber, NeedsNumbers, OutOfScope, Refused, Retry, Retyped
from .functions import attribute
from .objects import UNARY as UNARY_METHODS
from .parts import same_parts
from .scope import Scope
from .sizes import Size
from .source import Attributes, TranslationError, is_plain, read
from .values import Value, is_number, value_of

BINARY = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide", ast.FloorDiv: "floor_divide",
          ast.Mod: "remainder", ast.Pow: "power", ast.MatMult: "matmul", ast.BitAnd: "bitwise_and", ast.BitOr: "bitwise_or",
          ast.BitXor: "bitwise_xor", ast.LShift: "left_shift", ast.RShift: "right_shift"}
UNARY = {ast.USub: "negative", ast.UAdd: "positive", ast.Not: "logical_not", ast.Invert: "invert"}
COMPARE = {ast.Eq: "equal", ast.NotEq: "not_equal", ast.Lt: "less", ast.LtE: "less_equal", ast.Gt: "greater",
           ast.GtE: "greater_equal"}


class Evaluator(Dispatch):
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
            raise NeedsNumber("a key that the program computes: use an array")
        return key

    def _values(self, nodes: list[ast.expr]) -> list:
        """Their values; what has a star before it is several."""
        found: list = []
        for x in nodes:
            found += self.several(self.value(x.value)) if isinstance(x, ast.Starred) else [self.value(x)]
        return found

    def several(self, value, count: int | None = None) -> list:
        """What is unpacked: the items of tuples and lists, the parts of arrays along the first dimension, which are `count` where a
        call decides how many there are."""
        if not isinstance(value, Value):
            return list(self.iterated(value))
        n = value.shape[0] if value.ndim else None
        if isinstance(n, Size) and count is not None:
            self.emitter.line(f'require {n} == {count} else "{{}} values for {count} names", {n}')
            n = count
        if not isinstance(n, int):
            raise TypeError("only arrays whose first size is a number can be unpacked")
        return [arrays.subscript(self.emitter, value, k) for k in range(n)]

    def of_Attribute(self, n: ast.Attribute):
        return self.attribute_of(self.value(n.value), n.attr)

    def of_NamedExpr(self, n: ast.NamedExpr):
        value = self.value(n.value)
        self.bind(n.target.id, value)
        return self.name(n.target.id)

    # ---- operators ----
    def binary(self, name: str, a, b):
        if (made := self.overloaded(name, a, b)) is not NotImplemented:
            return made
        if name == "matmul":
            return products.matmul(self.emitter, a, b)
        if isinstance(a, Value) and isinstance(b, (tuple, list)) or isinstance(b, Value) and isinstance(a, (tuple, list)):
            a, b = (creation.array(self.emitter, x) if isinstance(x, (tuple, list)) and x else x for x in (a, b))
        if isinstance(a, str) and isinstance(b, Size):
            raise NeedsNumbers([b], "a string with a number that a loop changes")
        if isinstance(a, str) and name == "remainder" and self._runtime([b]):
            raise Refused("a string with what the program computes", "return the values")
        if isinstance(a, (tuple, list, str)) or isinstance(b, (tuple, list, str)):
            return elementwise.PYTHON[name](a, b)
        if name == "power" and type(b) is int and b == 2 and isinstance(a, Value) and a.dtype.kind == "b":
            return elementwise.apply(self.emitter, "square", a)  # which has another type than np.power
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
        made = self.special(v, UNARY_METHODS[name])
        return elementwise.apply(self.emitter, name, v) if made is NotImplemented else made

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
        before, names = self.emitter.snapshot(), dict(self.scope.names)
        value = self.value(node)
        if not self.emitter.wrote_since(before):
            return value, False
        self.emitter.restore(before)
        self.scope.names = names  # y := … binds some
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
        if (made := self.overloaded(name, a, b)) is not NotImplemented:
            return made
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
            raise NeedsNumber(f"whether a number that the program computes is in a {type(items).__name__}: give a tuple or an array")
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
            made = arrays.subscript(self.emitter, base, in_program(key))
            of_flat = isinstance(n.value, ast.Attribute) and n.value.attr == "flat"  # slices of x.flat are copies
            return self.emitter.materialize(made) if of_flat and made.ndim else made
        if (made := self.special(base, "getitem", key)) is not NotImplemented:
            return made
        if isinstance(key, (Value, Size)) and isinstance(base, (list, tuple, dict)):
            raise NeedsNumber(f"an item of a {type(base).__name__} whose place the program computes: make it an array, by np.array(…)")
        if isinstance(base, np.ndarray) and self._runtime(_parts(key)):
            return arrays.subscript(self.emitter, value_of(base), in_program(key))
        return base[key]


def check_own(v) -> None:
    """Refuses arrays of the surroundings, which a program has as constants."""
    if isinstance(v, np.ndarray):
        raise Refused("an array of the surroundings is changed in place", "pass it as an argument, or change a copy")


def check_truth(v) -> None:
    """ValueError for what has no truth of its own, as in NumPy."""
    if isinstance(v, Value) and v.ndim:
        raise ValueError("the truth of an array with more than one element is ambiguous: use any() or all(), or &, | and ~ for each element")


def _parts(key) -> list:
    """What a subscript is made of."""
    keys = key if isinstance(key, tuple) else (key,)
    return [part for k in keys for part in ((k.start, k.stop, k.step) if isinstance(k, slice) else (k,))]
