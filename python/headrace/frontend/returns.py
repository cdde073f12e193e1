"""`return` wherever it stands, as an assignment at the function's end: what follows an `if` that returns becomes its other branch, and a
`return` in a loop is a `break`, after which nothing else is done."""

from __future__ import annotations

import ast
import copy
from typing import Callable

from .statements import MOST_TWICE, RESULT, set_to, size, unless, without_else

Fresh = Callable[[], str]  # names for what says whether a loop was left


def returning(statements: list[ast.stmt], fresh: Fresh, left: tuple[str, ...] = ()) -> list[ast.stmt]:
    """The statements without `return`: the last one binds RESULT. `left`: names that say so."""
    for k, s in enumerate(statements):
        before, rest = statements[:k], statements[k + 1:]
        if isinstance(s, ast.Return):
            return [*before, *_result(s, left)]
        if isinstance(s, ast.If) and _returns([s]):
            if rest and not _always_returns(s.body) and not _always_returns(s.orelse) and size(rest) > MOST_TWICE:
                more = fresh()
                branches = _if(s, returning(s.body, fresh, (*left, more)), returning(s.orelse, fresh, (*left, more)))
                return [*before, set_to(False, more, s), branches, unless(more, returning(rest, fresh, left), s)]
            body, orelse = ([*part] if part and _always_returns(part) else [*part, *rest] for part in (s.body, s.orelse))
            return [*before, _if(s, returning(body, fresh, left), returning(orelse, fresh, left))]
        if isinstance(s, (ast.For, ast.While)) and _returns([s]):
            return [*before, *_left_by_return(s, rest, fresh, left)]
    return statements


def _left_by_return(s: ast.For | ast.While, rest: list[ast.stmt], fresh: Fresh, left: tuple[str, ...]) -> list[ast.stmt]:
    """A loop with `return`, and what follows it where that did not leave it."""
    if s.orelse:
        return returning([*without_else(s, fresh()), *rest], fresh, left)
    more = fresh()
    return [set_to(False, more, s), _with(s, body=_breaking(s.body, (*left, more))), unless(more, returning(rest, fresh, left), s)]


def _if(s: ast.If, body: list[ast.stmt], orelse: list[ast.stmt]) -> ast.If:
    return ast.copy_location(ast.If(s.test, body, orelse), s)


def _breaking(statements: list[ast.stmt], left: tuple[str, ...]) -> list[ast.stmt]:
    """A loop's body: `return` binds RESULT and leaves this loop and those around it, the last name of `left` says whether it did."""
    found: list[ast.stmt] = []
    for s in statements:
        if isinstance(s, ast.Return):
            return [*found, *_result(s, left), ast.copy_location(ast.Break(), s)]
        if not _returns([s]):
            found.append(s)
            continue
        s = _with(s, body=_breaking(s.body, left), orelse=_breaking(s.orelse, left))
        found.append(s)
        if isinstance(s, (ast.For, ast.While)):
            gone = ast.copy_location(ast.Name(left[-1], ast.Load()), s)
            found.append(ast.copy_location(ast.If(gone, [ast.copy_location(ast.Break(), s)], []), s))
    return found


def _result(s: ast.Return, left: tuple[str, ...]) -> list[ast.stmt]:
    """What it returns, bound to RESULT; nothing, where that is known to be nothing and others are told."""
    told = [set_to(True, name, s) for name in left]
    if left and (s.value is None or isinstance(s.value, ast.Constant) and s.value.value is None):
        return told
    value = s.value or ast.copy_location(ast.Constant(None), s)
    return [ast.copy_location(ast.Assign([ast.copy_location(ast.Name(RESULT, ast.Store()), s)], value), s), *told]


def _with(s: ast.stmt, **parts: list[ast.stmt]) -> ast.stmt:
    """The statement with other parts."""
    made = copy.copy(s)
    for name, part in parts.items():
        setattr(made, name, part)
    return made


def _returns(statements: list[ast.stmt]) -> bool:
    """Whether a `return` in them is this function's own."""
    return any(isinstance(s, ast.Return) or any(_returns(getattr(s, part, [])) for part in ("body", "orelse"))
               for s in statements if not isinstance(s, (ast.FunctionDef, ast.ClassDef)))


def _always_returns(statements: list[ast.stmt]) -> bool:
    last = statements[-1] if statements else None
    return isinstance(last, ast.Return) or (
        isinstance(last, ast.If) and _always_returns(last.body) and _always_returns(last.orelse))
