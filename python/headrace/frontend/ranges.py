"""`headrace.map[0:N, 1:M:2]`: ranges of a loop over several variables, whose iterations are independent of each other."""

from __future__ import annotations

import ast
import itertools
from typing import Any, Callable, Iterator

from .statements import exits


class Ranges:
    """Iterated over in Python, in order; in a program, loops."""

    def __init__(self, bounds: list[tuple[Any, Any, Any]]):
        self.bounds = bounds

    def __iter__(self) -> Iterator:
        if len(self.bounds) == 1:
            return iter(range(*self.bounds[0]))
        return itertools.product(*(range(*b) for b in self.bounds))

    def loops(self, loop: ast.For) -> ast.For:
        """A loop over one variable of each range, the last innermost."""
        names = loop.target.elts if isinstance(loop.target, (ast.Tuple, ast.List)) else [loop.target]
        if len(names) != len(self.bounds):
            raise ValueError(f"{len(names)} names for {len(self.bounds)} ranges")

        def at(node: ast.AST) -> Any:
            return ast.copy_location(node, loop)

        body, leaves = loop.body, exits(loop.body, (ast.Break,))
        for k, (name, bounds) in reversed(list(enumerate(zip(names, self.bounds)))):
            over = ast.copy_location(ast.Constant(Ranges([bounds])), loop.iter)
            body = [at(ast.For(name, over, body, []))]
            if leaves and k > 0:  # break leaves the loops around, too
                body[0].orelse = [at(ast.Continue())]
                body.append(at(ast.Break()))
        return body[0]


class Rows:
    """enumerate(x), zip(x, y) of arrays: a loop over their first dimension, `size`. `at(k)` gives what the loop binds."""

    def __init__(self, parts: list, size: Any, at: Callable[[list, Any], Any]):
        self.parts, self.size, self._at = parts, size, at

    def __getitem__(self, k: Any) -> Any:
        return self._at(self.parts, k)

    def loop(self, loop: ast.For, name: str) -> ast.For:
        """The same loop over a range, whose variable is `name`."""
        def at(node: ast.AST) -> Any:
            return ast.copy_location(node, loop.iter)

        row = at(ast.Subscript(at(ast.Constant(self)), at(ast.Name(name, ast.Load())), ast.Load()))
        first = ast.copy_location(ast.Assign([loop.target], row), loop)
        return ast.copy_location(ast.For(at(ast.Name(name, ast.Store())), at(ast.Constant(Ranges([(0, self.size, 1)]))),
                                         [first, *loop.body], []), loop)


class Map:
    """for i, j in headrace.map[0:N, 0:M]: …"""

    def __getitem__(self, key) -> Ranges:
        bounds = []
        for part in key if isinstance(key, tuple) else (key,):
            if not isinstance(part, slice) or part.stop is None:
                raise TypeError(f"headrace.map takes ranges with an end, such as 0:N, not {part!r}")
            step = 1 if part.step is None else part.step
            if not isinstance(step, int) or step <= 0:
                raise TypeError(f"headrace.map: a step is a positive number, not {step!r}")
            bounds.append((0 if part.start is None else part.start, part.stop, step))
        return Ranges(bounds)

    def __repr__(self) -> str:
        return "headrace.map"


map = Map()
