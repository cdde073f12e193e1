"""`match` as `if` and `elif`: patterns of values, of several of them, of tuples, and names."""

from __future__ import annotations

import ast
import copy
from typing import Any

Pattern = tuple[list[ast.expr], dict[str, ast.expr]]  # what is to be true, and what names are bound to


class WithoutMatch(ast.NodeTransformer):
    """Leaves a `match` as it is where a pattern is of another kind: of classes, of dicts, or with a star."""

    def __init__(self) -> None:
        self._subjects = 0

    def visit_Match(self, s: ast.Match) -> Any:
        self.generic_visit(s)
        before, subject = self._subject(s)
        cases = [_pattern(c.pattern, subject) for c in s.cases]
        if any(c is None for c in cases):
            return s
        made: list[ast.stmt] = []
        for c, (tests, bound) in reversed(list(zip(s.cases, cases))):  # type: ignore[misc]
            if c.guard is not None:
                tests = [*tests, _Put(bound).visit(copy.deepcopy(c.guard))]
            names = [_at(ast.Assign([_at(ast.Name(n, ast.Store()), c.pattern)], v), c.pattern) for n, v in bound.items()]
            body = [*names, *c.body]
            made = [_at(ast.If(_all(tests, c.pattern), body, made), c.pattern)] if tests else body
        return [*before, *made]

    def _subject(self, s: ast.Match) -> tuple[list[ast.stmt], ast.expr]:
        """What is matched, as something that may be read several times, and what makes it that."""
        if isinstance(s.subject, (ast.Name, ast.Constant)):
            return [], s.subject
        if isinstance(s.subject, ast.Tuple) and all(isinstance(x, (ast.Name, ast.Constant)) for x in s.subject.elts):
            return [], s.subject
        self._subjects += 1
        name = f"its subject{self._subjects}"
        return [_at(ast.Assign([_at(ast.Name(name, ast.Store()), s.subject)], s.subject), s.subject)], _at(ast.Name(name, ast.Load()), s.subject)


class _Put(ast.NodeTransformer):
    def __init__(self, values: dict[str, ast.expr]):
        self._values = values

    def visit_Name(self, n: ast.Name) -> ast.expr:
        return self._values.get(n.id, n)


def _pattern(p: ast.pattern, subject: ast.expr) -> Pattern | None:
    if isinstance(p, ast.MatchValue):
        return [_at(ast.Compare(subject, [ast.Eq()], [p.value]), p)], {}
    if isinstance(p, ast.MatchSingleton):
        return [_at(ast.Compare(subject, [ast.Is()], [_at(ast.Constant(p.value), p)]), p)], {}
    if isinstance(p, ast.MatchAs):
        tests, bound = ([], {}) if p.pattern is None else _pattern(p.pattern, subject) or (None, {})
        return None if tests is None else (tests, {**bound, p.name: subject} if p.name else bound)
    if isinstance(p, ast.MatchOr):
        parts = [_pattern(x, subject) for x in p.patterns]
        if any(x is None or x[1] for x in parts):
            return None
        every = [_all(tests, p) for tests, _ in parts]  # type: ignore[misc]
        return [_at(ast.BoolOp(ast.Or(), every), p)], {}
    if isinstance(p, ast.MatchSequence) and not any(isinstance(x, ast.MatchStar) for x in p.patterns):
        return _items(p, subject)
    return None


def _items(p: ast.MatchSequence, subject: ast.expr) -> Pattern | None:
    if isinstance(subject, ast.Tuple):
        parts, tests = subject.elts, [_at(ast.Constant(len(subject.elts) == len(p.patterns)), p)]
    else:
        parts = [_at(ast.Subscript(subject, _at(ast.Constant(k), p), ast.Load()), p) for k in range(len(p.patterns))]
        length = _at(ast.Call(_at(ast.Name("len", ast.Load()), p), [subject], []), p)
        tests = [_at(ast.Compare(length, [ast.Eq()], [_at(ast.Constant(len(p.patterns)), p)]), p)]
    bound: dict[str, ast.expr] = {}
    for x, part in zip(p.patterns, parts):
        found = _pattern(x, part)
        if found is None:
            return None
        tests, bound = [*tests, *found[0]], {**bound, **found[1]}
    return tests, bound


def _all(tests: list[ast.expr], at: ast.AST) -> ast.expr:
    return _at(ast.Constant(True), at) if not tests else tests[0] if len(tests) == 1 else _at(ast.BoolOp(ast.And(), tests), at)


def _at(node: Any, place: ast.AST) -> Any:
    return ast.copy_location(node, place)
