"""Loops over what is known when a program is translated: one body after the other."""

from __future__ import annotations

import ast
from typing import Any, Callable, Iterable

from . import arrays
from .ranges import Ranges
from .statements import assigned, exits, leaving, read_after, unless, without_else
from .values import Value

MOST_WRITTEN_OUT = 256  # iterations of a loop whose variable must be a number


class WrittenOut:
    """Part of Lowering, whose `emitter`, `scope`, `assign` and `block` it uses."""

    def one_by_one(self, s: ast.For, items: Iterable) -> None:
        """The loop's body for each of the items."""
        if exits(s.body):
            self._until_left(s, items)
            return
        for item in items:
            self.assign(s.target, item)
            self.block(s.body)

    def first_apart(self, s: ast.For, bounds: list, rows: Value | None) -> Callable[[], None] | None:
        """The first iteration, and a loop of the others, for which what was None before has a value; None for a loop that may have no iteration."""
        begin, end, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1) if len(bounds) == 2 else bounds
        begin, end = self.emitter.size_of(begin), self.emitter.size_of(end)
        if not isinstance(step, int) or not self.surely_runs(begin, end, step):
            return None

        def bodies() -> None:
            if not isinstance(end - begin, int):
                self.emitter.line(f'require {begin} {"<" if step > 0 else ">"} {end} else "a loop that binds what was None before has an iteration at least"')
            first = ast.Constant([begin if rows is None else arrays.subscript(self.emitter, rows, begin)])
            others = ast.Constant(Ranges([(begin + step, end, step)]) if rows is None else arrays.subscript(self.emitter, rows, slice(1, None)))
            later = ast.copy_location(ast.For(s.target, ast.copy_location(others, s.iter), s.body, []), s)
            self.do_For(ast.copy_location(ast.For(s.target, ast.copy_location(first, s.iter), s.body, [later]), s))

        return bodies

    def while_known(self, s: ast.While, retry: Exception) -> Callable[[], None] | None:
        """The loop's body as often as its condition is true, where that is known; None for a loop that has other ends."""
        def bodies() -> None:
            for _ in range(MOST_WRITTEN_OUT):
                test = self.truth(self.value(s.test))
                if isinstance(test, Value):
                    raise retry
                if not test:
                    return
                self.block(s.body)
            raise retry

        return None if exits(s.body) else bodies

    def _until_left(self, s: ast.For, items: Iterable) -> None:
        """Bodies with `break` or `continue`: those after one that may have left the loop are branches."""
        left = self.fresh_left()
        body = leaving(s.body, left, lambda inner: without_else(inner, self.fresh_left()), self.fresh_left)
        kept = any(read_after(n, s, self.scope.source.body) for n in assigned([s.target]))
        self.scope.names[left] = False
        for item in items:
            gone = self.scope.names[left]
            if isinstance(gone, Value):
                self._unless_left(s, left, item, body, kept)
            elif gone:
                break
            else:
                self.assign(s.target, item)
                self.block(body)
        del self.scope.names[left]

    def _unless_left(self, s: ast.For, left: str, item: Any, body: list[ast.stmt], kept: bool) -> None:
        """`kept`: what the loop's variable is after `break` may be read, so it is bound in the branch, too."""
        if kept:
            body = [ast.copy_location(ast.Assign([s.target], ast.copy_location(ast.Constant(item), s.iter)), s), *body]
        else:
            self.assign(s.target, item)
        self.block([unless(left, body, s)])

    def fresh_left(self) -> str:
        return f"left {self.emitter.fresh('loop')}"
