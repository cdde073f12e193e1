"""Functions that are defined within a program, lambdas, and lists that are written as comprehensions."""

from __future__ import annotations

import ast
import copy
import inspect
import types
from typing import Any

import numpy as np

from . import arrays, growing
from .dispatch import DEEPEST_CALL
from .evaluate import Evaluator
from .ranges import Rows
from .nonlocals import names_of
from .scope import Scope, held, recalled
from .source import Source
from .statements import assigned
from .values import Value

MOST_ITEMS = 256  # of a comprehension


class LocalScope(Scope):
    """The names of one call of a local function, which sees those around it as they are then."""

    def __init__(self, source: Source, names: dict[str, Any], around: Scope, own: frozenset[str] = frozenset()):
        super().__init__(source, names)
        self.around, self.own = around, own

    def unbound_by(self, name: str):
        return self.unbound.get(name) if name in self.names or name in self.own else self.around.unbound_by(name)

    def holder_of(self, name: str) -> Any:
        return self.holders.get(name) or (None if name in self.own else self.around.holder_of(name))

    def is_own(self, name: str) -> bool:
        return name in self.own

    def find(self, name: str):
        if name in self.names:
            return self.names[name]
        if name in self.holders:
            return held(self.holders[name], name)
        if name in self.own:
            raise NameError(f"{name} is bound in this function, and read before that")
        return self.around.find(name)


class LocalFunction:
    """A `def` or lambda in a program: whoever calls it gets its statements."""

    def __init__(self, evaluator: Evaluator, node: ast.FunctionDef | ast.Lambda):
        self.__name__ = getattr(node, "name", "<lambda>")
        self.scope, self._evaluator = evaluator.scope, evaluator
        self.signature = _signature(evaluator, node.args)
        body = node.body if isinstance(node, ast.FunctionDef) else [ast.copy_location(ast.Return(node.body), node.body)]
        self._source = copy.copy(evaluator.scope.source)
        around = evaluator.scope.source.function
        self.outer = getattr(around, "outer", around)  # the Python function at the bottom
        self._source.body, self._source.function = body, types.SimpleNamespace(__name__=self.__name__, outer=self.outer)
        self.own = (frozenset(assigned(body)) - names_of([s for s in body if isinstance(s, ast.Nonlocal)])) | frozenset(self.signature.parameters)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """As a key of sorted(), and where else Python's own functions call it."""
        return self.inline(self._evaluator, list(args), named)

    @property
    def body(self) -> list[ast.stmt]:
        return self._source.body

    def arguments(self, args: list, named: dict) -> dict[str, Any]:
        """What its names are in such a call."""
        bound = self.signature.bind(*args, **named)
        bound.apply_defaults()
        return {name: recalled(v) for name, v in bound.arguments.items()}

    def inline(self, evaluator: Evaluator, args: list, named: dict) -> Any:
        if evaluator.depth >= DEEPEST_CALL:
            raise RecursionError(f"calls within calls, {DEEPEST_CALL} deep: a function that calls itself ends by what is known when the program is translated")
        names = self.arguments(args, named)
        callee = evaluator.function(evaluator.emitter, LocalScope(self._source, {}, self.scope, self.own), evaluator.depth + 1)
        for name, value in names.items():
            callee.bind(name, value)
        return callee.run(self._source.body)


class Local:
    """Part of Lowering."""

    def do_FunctionDef(self, s: ast.FunctionDef) -> None:
        if s.decorator_list:
            raise NotImplementedError("a function with a decorator that is defined in a program: define it outside")
        self.share(s.body)
        self.bind(s.name, LocalFunction(self, s))

    def of_Lambda(self, n: ast.Lambda) -> LocalFunction:
        return LocalFunction(self, n)

    def of_ListComp(self, n: ast.ListComp | ast.GeneratorExp) -> list:
        return growing.noted(self.emitter, comprehension(self, n))

    of_GeneratorExp = of_ListComp

    def of_DictComp(self, n: ast.DictComp) -> dict:
        pair = ast.copy_location(ast.Tuple([n.key, n.value], ast.Load()), n)
        return growing.noted(self.emitter, dict(comprehension(self, ast.copy_location(ast.GeneratorExp(pair, n.generators), n))))


def _signature(evaluator: Evaluator, args: ast.arguments) -> inspect.Signature:
    """With default values as they are where the function is defined."""
    P = inspect.Parameter
    positional = [*args.posonlyargs, *args.args]
    defaults = [P.empty] * (len(positional) - len(args.defaults)) + [evaluator.remembered(evaluator.value(d)) for d in args.defaults]
    found = [P(a.arg, P.POSITIONAL_ONLY if k < len(args.posonlyargs) else P.POSITIONAL_OR_KEYWORD, default=d)
             for k, (a, d) in enumerate(zip(positional, defaults))]
    if args.vararg:
        found.append(P(args.vararg.arg, P.VAR_POSITIONAL))
    found += [P(a.arg, P.KEYWORD_ONLY, default=P.empty if d is None else evaluator.remembered(evaluator.value(d))) for a, d in zip(args.kwonlyargs, args.kw_defaults)]
    if args.kwarg:
        found.append(P(args.kwarg.arg, P.VAR_KEYWORD))
    return inspect.Signature(found)


_WALKS = (enumerate, zip, reversed, dict, type({}.keys()), type({}.values()), type({}.items()))


def comprehension(evaluator: Evaluator, node: ast.ListComp | ast.GeneratorExp) -> list:
    """What it goes over is known when the program is translated: numbers of a range, items of a tuple or list, rows of an array whose
    number is known."""
    own = frozenset(n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name))
    inner = evaluator.function(evaluator.emitter, LocalScope(evaluator.scope.source, {}, evaluator.scope, own), evaluator.depth)
    made: list = []

    def run(generators: list[ast.comprehension]) -> None:
        if not generators:
            made.append(inner._kept(inner.value(node.elt), "item"))
            return
        first, *rest = generators
        for item in _items(inner.emitter, inner.iterated(inner.value(first.iter))):
            inner.assign(first.target, item)
            if all(_known(inner.truth(inner.value(test))) for test in first.ifs):
                run(rest)

    run(node.generators)
    return made


def _items(e: Any, over: Any) -> list:
    if isinstance(over, _WALKS):
        over = list(over)
    array = isinstance(over, Value) and over.ndim > 0
    size = over.shape[0] if array else over.size if isinstance(over, Rows) else len(over) if isinstance(over, (range, tuple, list, str)) else None
    if not isinstance(size, int):
        raise NotImplementedError("a comprehension over what is not known when the program is translated: write a loop over an array")
    if size > MOST_ITEMS:
        raise NotImplementedError(f"a comprehension of {size} items, each of which would be written out: write a loop over an array")
    return [arrays.subscript(e, over, k) if array else over[k] for k in range(size)]


def _known(test: Any) -> bool:
    if not isinstance(test, (bool, np.bool_, int)):
        raise NotImplementedError("a comprehension whose condition the program computes: write a loop, or np.where")
    return bool(test)
