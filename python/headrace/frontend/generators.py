"""`for x in f(…)`, where f is a generator function: its statements, and the loop's body where it yields."""

from __future__ import annotations

import ast
import copy
import inspect
import types
from typing import Any, Callable

from . import growing
from .constructs import NoPlace
from .imports import without_contexts
from .returns import returning
from .scope import Scope
from .source import Source
from .statements import RESULT, assigned, exits

_KEPT = "its return"  # what the function around the loop returns, while `return` of the generator is seen to


def yields(body: list[ast.stmt]) -> bool:
    """Whether they are a generator's; functions that are defined in it may be others."""
    return any(isinstance(n, (ast.Yield, ast.YieldFrom)) or yields([c for c in ast.iter_child_nodes(n)])  # type: ignore[misc]
               for n in body if not isinstance(n, (ast.FunctionDef, ast.Lambda)))


def is_generator(function: Any) -> bool:
    return inspect.isgeneratorfunction(function) or yields(getattr(function, "body", None) or [])


class Generators:
    """Part of Lowering, whose `emitter`, `scope`, `bind` and `block` it uses."""

    def generator_of(self, call: ast.expr) -> Any:
        """The generator function that is called there, if it is one."""
        function = self.value(call.func) if isinstance(call, ast.Call) else None
        return function if is_generator(function) else None

    def all_generated(self, function: Any, args: list, named: dict) -> list:
        """What it yields, as a list, which is what a call is that no loop goes over."""
        at, (kept, item) = self._statement, (f"its {self.emitter.fresh(n)}" for n in ("yielded", "item"))
        self.scope.names[kept] = made = growing.noted(self.emitter, [])
        append = ast.Call(ast.Attribute(ast.Name(kept, ast.Load()), "append", ast.Load()), [ast.Name(item, ast.Load())], [])
        loop = ast.For(ast.Name(item, ast.Store()), ast.Constant(function), [ast.Expr(append)], [])
        for n in ast.walk(loop):
            ast.copy_location(n, at)
        self.do_generated(loop, function, args, named)
        del self.scope.names[kept]
        self.scope.names.pop(item, None)
        return made

    def do_generated(self, s: ast.For, function: Any, args: list, named: dict) -> None:
        """Its names are "f x", its surroundings are what they are now."""
        prefix = self.emitter.fresh(function.__name__)
        if isinstance(function, types.MethodType):
            function, args = function.__func__, [function.__self__, *args]
        if isinstance(function, types.FunctionType):
            source = Source.of(function)
            body, arguments = source.body, source.arguments(args, named)
            find: Callable | None = Scope(source, {}).find
        else:
            body, arguments = function.body, function.arguments(args, named)
            find = None if function.scope is self.scope else function.scope.find
        own = {*assigned(body), *arguments}
        body = [_Renamed(prefix, own, find, s.iter).visit(_copied(b)) for b in without_contexts(body)]
        for name, value in arguments.items():
            self.bind(f"{prefix} {name}", value)
        self.block(_spliced(body, s, self.fresh_left, prefix))


def _copied(node: Any) -> Any:
    """Of a tree; what its constants are stays itself."""
    if isinstance(node, list):
        return list(map(_copied, node))
    if not isinstance(node, ast.AST):
        return node
    made = copy.copy(node)
    for name, part in ast.iter_fields(node):
        if not isinstance(node, ast.Constant):
            setattr(made, name, _copied(part))
    return made


class _Renamed(ast.NodeTransformer):
    """A generator's statements with names of their own, and where they stand for errors."""

    def __init__(self, prefix: str, own: set[str], find: Callable | None, at: ast.AST):
        self._prefix, self._own, self._find, self._at = prefix, own, find, at
        self._inner: set[str] = set()  # arguments of functions in it

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, (ast.Lambda, ast.FunctionDef)):
            self._inner |= {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
        made = super().visit(node)
        if self._find is not None and isinstance(made, ast.AST) and hasattr(made, "lineno"):
            ast.copy_location(made, self._at)
        return made

    def visit_Name(self, n: ast.Name) -> ast.expr:
        if n.id in self._inner:
            return n
        if n.id in self._own:
            return ast.copy_location(ast.Name(f"{self._prefix} {n.id}", n.ctx), n)
        return n if self._find is None else ast.copy_location(ast.Constant(self._find(n.id)), n)


class _Returned(ast.NodeTransformer):
    """One name in the place of another."""

    def __init__(self, before: str, after: str):
        self._before, self._after = before, after

    def visit_Name(self, n: ast.Name) -> ast.expr:
        return ast.copy_location(ast.Name(self._after, n.ctx), n) if n.id == self._before else n


def _spliced(generator: list[ast.stmt], s: ast.For, fresh: Callable[[], str], prefix: str) -> list[ast.stmt]:
    """`break` in the loop's body ends the generator, as its own `return` does; what both are for the function around it is kept."""
    body = [_Returned(RESULT, _KEPT).visit(_copied(b)) for b in s.body]
    if exits(body, (ast.Continue,)):  # of this body: a loop that runs once
        once = ast.Name(f"{prefix} once", ast.Store())
        body = [ast.copy_location(ast.For(ast.copy_location(once, s), ast.copy_location(ast.Constant((0,)), s), _ended(body), []), s)]
    else:
        body = _ended(body)
    made = returning(_with_body(generator, s.target, body), fresh)
    made = [_Returned(RESULT, f"{prefix} return").visit(b) for b in made]
    return [_Returned(_KEPT, RESULT).visit(b) for b in made]


def _ended(body: list[ast.stmt]) -> list[ast.stmt]:
    """`return` in the place of `break`."""
    made = []
    for s in body:
        if isinstance(s, ast.Break):
            s = ast.copy_location(ast.Return(None), s)
        elif isinstance(s, ast.If):
            s = ast.copy_location(ast.If(s.test, _ended(s.body), _ended(s.orelse)), s)
        elif isinstance(s, (ast.For, ast.While)):
            s = copy.copy(s)
            s.orelse = _ended(s.orelse)
        made.append(s)
    return made


def _with_body(generator: list[ast.stmt], target: ast.expr, body: list[ast.stmt]) -> list[ast.stmt]:
    made: list[ast.stmt] = []
    for s in generator:
        value = s.value if isinstance(s, ast.Expr) else None
        if isinstance(value, ast.YieldFrom):
            made.append(ast.copy_location(ast.For(target, value.value, body, []), s))
        elif isinstance(value, ast.Yield):
            given = value.value or ast.copy_location(ast.Constant(None), s)
            made += [ast.copy_location(ast.Assign([target], given), s), *map(_copied, body)]
        elif isinstance(s, (ast.If, ast.For, ast.While)):
            s = copy.copy(s)
            s.body, s.orelse = _with_body(s.body, target, body), _with_body(s.orelse, target, body)
            made.append(s)
        elif yields([s]):
            raise NoPlace(next(n for n in ast.walk(s) if isinstance(n, (ast.Yield, ast.YieldFrom))))
        else:
            made.append(s)
    return made
