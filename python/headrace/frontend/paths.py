"""Branches, and which names have a value however a program comes to a statement. A name that one branch alone binds has none on the other
way, and Python would say so when the program runs. Within later branches and loops such a name may be read: the program knows when.
A loop is taken to bind what some iteration may bind, as searches do: `if x[i] > best: best, where = x[i], i`."""

from __future__ import annotations

import ast
import contextlib
from typing import Any, NamedTuple, Sequence

from ..trees import items
from .errors import Unbound
from .parts import same_parts
from .sizes import interval, names_in
from .statements import RESULT, assigned, leaves
from .values import Value, is_number


class Cause(NamedTuple):
    statement: ast.stmt  # the branch or loop that may not bind it
    guards: int          # how many branches, and loops that may not run, are around it
    several: bool = False  # a loop binds it in several places, and is left between them


class State(NamedTuple):
    """At the end of one way through statements."""

    names: dict
    unbound: dict  # of these, names that may have no value


class Exits(NamedTuple):
    """Of a loop: where it is left, and where an iteration is."""

    breaks: list
    continues: list


class Paths:
    """Part of Lowering."""

    def state(self) -> State:
        return State(dict(self.scope.names), dict(self.scope.unbound))

    @contextlib.contextmanager
    def guarded(self, really: bool = True):
        self.emitter.guards += really
        yield
        self.emitter.guards -= really

    def _joined(self, s: ast.stmt, before: State, states: list[State]) -> None:
        """After `s`, where all these ways come together."""
        def always(n: str) -> bool:
            return all(n in names and n not in unbound for names, unbound in states)

        cause = Cause(s, self.emitter.guards)
        self.scope.unbound = {n: before.unbound.get(n, cause) for n in self.scope.names if not always(n)}

    def check_bound(self, name: str) -> None:
        cause = self.scope.unbound_by(name)
        if cause is not None and cause.several:
            raise Unbound(f"{name} has several values here: the loop in line {self.scope.source.line(cause.statement)} binds it more than "
                          "once, and is left in between", f"give {name} a value before the loop")
        if cause is not None and isinstance(cause.statement, ast.Delete):
            raise Unbound(f"{name} has no value here: line {self.scope.source.line(cause.statement)} deletes it", "leave the del statement out")
        if cause is not None and cause.guards >= self.emitter.guards:
            kind = "branch" if isinstance(cause.statement, ast.If) else "loop"
            what = f"{name} may have no value here" if name != RESULT else "this function may return nothing"
            raise Unbound(f"{what}: the {kind} in line {self.scope.source.line(cause.statement)} does not always bind it",
                          f"give {name} a value before the {kind}" if name != RESULT else "return a value at its end, too")

    def note_bound(self, name: str, value: Any) -> None:
        self.scope.unbound.pop(name, None)
        if name.startswith("left "):  # see unless(): the ways on which a loop was left
            self.scope.left[name] = [*self.scope.left.get(name, []), self.state()] if value is True else []

    # ---- branches ----
    def do_If(self, s: ast.If) -> None:
        test = self.truth(self.value(s.test))
        if not isinstance(test, Value):
            self.block(s.body if test else s.orelse)
            return
        condition = self.emitter.test(test)
        both = {n for n in assigned(s.body) if n in assigned(s.orelse)}
        retyped = dict(self._retyped)
        self._again(lambda: self._branches(s, condition), lambda retry: None, both)
        self._retyped = retyped

    def _branches(self, s: ast.If, condition: str) -> None:
        self._settle([*s.body, *s.orelse])
        both = [n for n in assigned(s.body) if n in assigned(s.orelse) and n not in self._variables]
        self._shared.update(both)
        groups = self.sizes_of_branches([*s.body, *s.orelse])
        before = self.state()
        with self.guarded(), self.emitter.block(f"if {condition}"):
            ends = self._way(s.body, groups)
            self._from(before, s)
            if s.orelse or groups:
                self.emitter.otherwise()
            other = self._way(s.orelse, groups)
        self.sizes_after_branches(groups)
        self._shared.difference_update(both)
        self._joined(s, before, [*ends, *self.scope.left.get(getattr(s, "left", ""), other)])

    def _way(self, statements: list[ast.stmt], groups: list) -> list[State]:
        """Translates them; the state at their end, if they come to it."""
        for group in groups:
            self.begin(group)
        self.block(statements)
        if leaves(statements):
            return []
        for group in groups:
            self.end_together(group, "a branch")
        return [self.state()]

    def _from(self, before: State, s: ast.stmt) -> None:
        """The names of another branch are not bound in this one."""
        others = {n: Cause(s, self.emitter.guards) for n in self.scope.names if n not in before.names}
        self.scope.unbound = {**before.unbound, **others}

    # ---- loops ----
    def do_Break(self, s) -> None:
        self.check_sizes_before_exit()
        self._exits[-1].breaks.append(self.state())
        self.emitter.line("break")

    def do_Continue(self, s) -> None:
        self.check_sizes_before_exit()
        self._exits[-1].continues.append(self.state())
        self.emitter.line("continue")

    @contextlib.contextmanager
    def looping(self, s: ast.For | ast.While, runs: bool, ends: bool = True):
        """Around a loop's translation. `runs`: whether it surely has an iteration; `ends`: whether it ends without `break`."""
        before, exits = self.state(), Exits([], [])
        self._exits.append(exits)
        states: list[State] = []
        with self.guarded(not runs):
            yield states  # gets the state at the end of its body
        self._exits.pop()
        normal = [*([] if leaves(s.body) else states), *exits.continues, *([] if runs else [before])]
        ways = [*exits.breaks, *(normal if ends else [])]
        self._joined(s, before, ways)
        for n in self.scope.names.keys() - before.names.keys():
            self.scope.unbound.pop(n, None)
            if not _same([names[n] for names, _ in ways if n in names]):
                self.scope.unbound[n] = Cause(s, self.emitter.guards, several=True)

    def surely_runs(self, begin: Any, end: Any, step: int) -> bool | None:
        """Whether a range has a number; None: it has none. That of an argument's size, or up to an integer that is an argument, is taken
        to have one."""
        e, length = self.emitter, end - begin if step > 0 else begin - end
        low, high = interval(length, e.intervals)
        if high is not None and high <= 0:
            return None
        return low is not None and low > 0 or not isinstance(length, int) and not (e.symbols - e.given) & set(names_in(length))

    def skipped(self, s: ast.For) -> None:
        """A loop that surely has no iteration: names that it alone would bind have no value."""
        for n in assigned([s]):
            if n not in self.scope.names:
                self.scope.names[n], self.scope.unbound[n] = 0.0, Cause(s, self.emitter.guards)

    def starts_true(self, test: ast.expr) -> bool:
        """Whether a loop's condition is true at first, for all that it asks for is known."""
        names = dict(self.scope.names)
        value, aside = self.aside(test)
        self.scope.names = names  # the loop evaluates it itself
        return not aside and not isinstance(value := self.truth(value), Value) and bool(value)


def _same(values: Sequence) -> bool:
    if values and all(same_parts(values[0], v) for v in values):
        return all(map(_same, zip(*[[part for _, part in items(v)] for v in values])))
    return all(v is values[0] or is_number(v) and type(v) is type(values[0]) and v == values[0] for v in values)
