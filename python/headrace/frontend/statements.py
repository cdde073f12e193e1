"""What can be seen of statements before they are translated, and of values afterwards."""

from __future__ import annotations

import ast
import copy
import re
from typing import Callable

from ..trees import has_parts, items
from .selections import Selected
from .sizes import Size, canonical, is_size
from .values import Array, Dim, Part, Value

RESULT = "return"  # what a function returns, as a name: no Python name is a keyword


def assigned(statements: list[ast.stmt], updated: bool = True) -> list[str]:
    """Names that the statements bind, in order; without `updated`, those that only x += … binds are left out."""
    nodes = [n for s in statements for n in ast.walk(s)]
    left_out = set() if updated else {id(n.target) for n in nodes if isinstance(n, ast.AugAssign)}
    return list(dict.fromkeys(n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
                              and id(n) not in left_out))


def bound_first(name: str, body: list[ast.stmt]) -> bool:
    """Whether a run of the body binds the name before it reads it, however it goes."""
    for s in body:
        uses = [n for n in ast.walk(s) if isinstance(n, ast.Name) and n.id == name]
        if uses:
            return isinstance(s, ast.Assign) and all(isinstance(n.ctx, ast.Store) for n in uses)
    return False


def read_from(name: str, at: ast.stmt, function: list[ast.stmt]) -> bool:
    """Whether a statement of the function reads the name that stands at `at` or below, or a function that is defined in it does."""
    inner = [n for s in function for n in ast.walk(s) if isinstance(n, (ast.FunctionDef, ast.Lambda))]
    return any(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) and (k >= len(function) or n.lineno >= at.lineno)
               for k, s in enumerate([*function, *inner]) for n in ast.walk(s))


def read_after(name: str, loop: ast.For, function: list[ast.stmt]) -> bool:
    """Whether what the loop leaves in its variable may be read: outside of all loops over that variable."""
    def reads(node: ast.AST) -> bool:
        if isinstance(node, ast.Name):
            return node.id == name and isinstance(node.ctx, ast.Load)
        inside = isinstance(node, ast.For) and any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node.target))
        return any(map(reads, [node.iter] if inside else ast.iter_child_nodes(node)))

    return any(map(reads, function))


def named_anew(loop: ast.For, name: str) -> ast.For:
    """The loop with another variable, whose value its own gets at the beginning of each iteration."""
    first = ast.Assign([loop.target], ast.copy_location(ast.Name(name, ast.Load()), loop.target))
    return ast.copy_location(ast.For(ast.copy_location(ast.Name(name, ast.Store()), loop.target), loop.iter,
                                     [ast.copy_location(first, loop.target), *loop.body], []), loop)


def without_else(loop: ast.For | ast.While, left: str) -> list[ast.stmt]:
    """The loop and what its `else` does where no `break` left it, with a name that says so."""
    def marked(statements: list[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for s in statements:
            if isinstance(s, ast.Break):
                found.append(set_to(True, left, s))
            elif isinstance(s, ast.If):
                s = ast.copy_location(ast.If(s.test, marked(s.body), marked(s.orelse)), s)
            elif isinstance(s, (ast.For, ast.While)) and s.orelse:  # a break in its else is of this loop
                s = copy.copy(s)
                s.orelse = marked(s.orelse)
            found.append(s)
        return found

    plain = copy.copy(loop)
    plain.orelse = []
    if not exits(loop.body):
        return [plain, *loop.orelse]
    plain.body = marked(loop.body)
    return [set_to(False, left, loop), plain, unless(left, loop.orelse, loop)]


def unless(name: str, body: list[ast.stmt], at: ast.stmt) -> ast.If:
    """if not name: body"""
    test = ast.copy_location(ast.UnaryOp(ast.Not(), ast.copy_location(ast.Name(name, ast.Load()), at)), at)
    made = ast.copy_location(ast.If(test, body, []), at)
    made.left = name  # type: ignore[attr-defined]
    return made


def leaving(statements: list[ast.stmt], left: str, without: Callable[[ast.stmt], list[ast.stmt]], fresh: Callable[[], str],
            gone: tuple[str, ...] = ()) -> list[ast.stmt]:
    """A loop's body without `break` and `continue`: what follows an `if` with one becomes its other branch, and `break` sets the name
    `left`. `without`: the statements of an inner loop with an `else`, without it. `gone`: names that say that the body was left."""
    for k, s in enumerate(statements):
        before, rest = statements[:k], statements[k + 1:]
        told = [set_to(True, name, s) for name in gone]
        if isinstance(s, ast.Continue):
            return [*before, *told]
        if isinstance(s, ast.Break):
            return [*before, set_to(True, left, s), *told]
        if isinstance(s, (ast.For, ast.While)) and exits(s.orelse):
            return leaving([*before, *without(s), *rest], left, without, fresh, gone)
        if isinstance(s, ast.If) and exits([s]):
            again = lambda part, *more: leaving(part, left, without, fresh, (*gone, *more))  # noqa: E731
            if rest and not leaves(s.body) and not leaves(s.orelse) and size(rest) > MOST_TWICE:
                name = fresh()
                branches = ast.copy_location(ast.If(s.test, again(s.body, name) or [ast.copy_location(ast.Pass(), s)], again(s.orelse, name)), s)
                return [*before, set_to(False, name, s), branches, unless(name, again(rest), s)]
            body, orelse = again([*s.body, *rest]), again([*s.orelse, *rest])
            test = s.test if body else ast.copy_location(ast.UnaryOp(ast.Not(), s.test), s.test)
            return [*before, ast.copy_location(ast.If(test, body, orelse) if body else ast.If(test, orelse, []), s)]
    return statements


def leaves(statements: list[ast.stmt]) -> bool:
    """Whether what follows them is never reached."""
    last = statements[-1] if statements else None
    return isinstance(last, (ast.Break, ast.Continue)) or isinstance(last, ast.If) and leaves(last.body) and leaves(last.orelse)


MOST_TWICE = 40  # nodes of what follows a branch that may leave: so much stands in both branches


def size(statements: list[ast.stmt]) -> int:
    return sum(1 for s in statements for _ in ast.walk(s))


def set_to(value: bool, name: str, at: ast.stmt) -> ast.stmt:
    """name = value"""
    return ast.copy_location(ast.Assign([ast.copy_location(ast.Name(name, ast.Store()), at)],
                                        ast.copy_location(ast.Constant(value), at)), at)


def exits(body: list[ast.stmt], kinds: tuple = (ast.Break, ast.Continue)) -> bool:
    """Whether a `break` or `continue` in it belongs to this loop."""
    for s in body:
        if isinstance(s, kinds):
            return True
        if isinstance(s, (ast.For, ast.While)):
            if exits(s.orelse, kinds):
                return True
            continue
        if any(exits(getattr(s, part, []), kinds) for part in ("body", "orelse")):
            return True
    return False


def at_last(value, variable: str, last):
    """A size, or a part of an array, with the last number of a loop in the place of its variable; None for what data decide, too."""
    def put(x):
        return x if isinstance(x, int) else canonical(re.sub(rf"\b{variable}\b", f"({last})", str(x)))

    if isinstance(value, Size):
        return put(value)
    if isinstance(value, Part):
        of = at_last(value.of, variable, last)
        return None if of is None else value.like(of)
    if not isinstance(value, Array) or not all(is_size(p) for d in value.dims for p in (d.begin, *(step for _, step in d.terms))):
        return None
    return value.view(list(map(put, value.shape)), [Dim.of_terms(put(d.begin), [(of, put(step)) for of, step in d.terms]) for d in value.dims])


def mentions(value) -> set[str]:
    """Names in the sizes and places of a value."""
    if has_parts(value):
        return set().union(*(mentions(v) for _, v in items(value)))
    parts = [value] if isinstance(value, Size) else []
    if isinstance(value, Selected):
        return mentions(value.full)
    if isinstance(value, Part):
        return mentions(value.of)
    if isinstance(value, Value):
        parts += value.shape
    if isinstance(value, Array):
        parts += [p for d in value.dims for p in (d.begin, *(step for _, step in d.terms))]
    return {name for p in parts for name in re.findall(r"[A-Za-z_]\w*", str(p))}
