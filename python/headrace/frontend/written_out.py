"""Loops over what is known when a program is translated: one body after the other."""

from __future__ import annotations

import ast
from typing import Any, Callable, Iterable

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
