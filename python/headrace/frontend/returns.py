"""`return` wherever it stands, as an assignment at the function's end: what follows an `if` that returns becomes its other branch, and a
`return` in a loop is a `break`, after which nothing else is done."""

from __future__ import annotations

import ast
import copy
from typing import Callable

from .statements import RESULT, set_to, unless, without_else

Fresh = Callable[[], str]  # names for what says whether a loop was left


def returning(statements: list[ast.stmt], fresh: Fresh) -> list[ast.stmt]:
    """The statements without `return`: the last one binds RESULT."""
    for k, s in enumerate(statements):
        before, rest = statements[:k], statements[k + 1:]
        if isinstance(s, ast.Return):
            return [*before, _result(s)]
        if isinstance(s, ast.If) and _returns([s]):
            body, orelse = ([*part] if part and _always_returns(part) else [*part, *rest] for part in (s.body, s.orelse))
            return [*before, ast.copy_location(ast.If(s.test, returning(body, fresh), returning(orelse, fresh)), s)]
        if isinstance(s, (ast.For, ast.While)) and _returns([s]):
            return [*before, *_left_by_return(s, rest, fresh)]
    return statements


def _left_by_return(s: ast.For | ast.While, rest: list[ast.stmt], fresh: Fresh) -> list[ast.stmt]:
    """A loop with `return`, and what follows it where that did not leave it."""
    if s.orelse:
        return returning([*without_else(s, fresh()), *rest], fresh)
    left = fresh()
    return [set_to(False, left, s), _with(s, body=_breaking(s.body, left)), unless(left, returning(rest, fresh), s)]


def _breaking(statements: list[ast.stmt], left: str) -> list[ast.stmt]:
    """A loop's body: `return` binds RESULT, sets `left` and leaves this loop and those around it."""
    found: list[ast.stmt] = []
    for s in statements:
        if isinstance(s, ast.Return):
            return [*found, *([] if _of_nothing(s) else [_result(s)]), set_to(True, left, s), ast.copy_location(ast.Break(), s)]
        if not _returns([s]):
            found.append(s)
            continue
        s = _with(s, body=_breaking(s.body, left), orelse=_breaking(s.orelse, left))
        found.append(s)
        if isinstance(s, (ast.For, ast.While)):
            gone = ast.copy_location(ast.Name(left, ast.Load()), s)
            found.append(ast.copy_location(ast.If(gone, [ast.copy_location(ast.Break(), s)], []), s))
    return found


def _of_nothing(s: ast.Return) -> bool:
    return s.value is None or isinstance(s.value, ast.Constant) and s.value.value is None


def _result(s: ast.Return) -> ast.stmt:
    """What it returns, bound to RESULT."""
    value = s.value or ast.copy_location(ast.Constant(None), s)
    return ast.copy_location(ast.Assign([ast.copy_location(ast.Name(RESULT, ast.Store()), s)], value), s)


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
