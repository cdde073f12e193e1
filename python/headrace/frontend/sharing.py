"""Names that share memory. In Python a name is bound to an array, and `y = x` makes two names of one; here a name that control
flow changes has memory of its own (`_variables` of Lowering), into which what it is bound to is copied. Nobody sees the difference
as long as the other names of that memory keep what they hold when it is written, and nothing is changed in place through a name
that would be shared: the first is seen to here, the second refused."""

from __future__ import annotations

import ast
import contextlib
from typing import Any, NamedTuple

from ..trees import has_parts, items
from . import elementwise, growing
from .parts import whole_name
from .statements import RESULT, assigned, bound_first, read_from
from .values import Array, Part, Value

_RETURNED = "its result"  # of a function that has ended
_CALLER = "(argument)"  # whoever called the program: a name that is never bound anew


class Shared(NamedTuple):
    """`name` has a copy of what it would share with `others`."""

    scope: Any
    name: str
    others: frozenset
    roots: tuple   # its memory and theirs
    since: tuple   # how often each had been changed in place
    before: tuple  # the same, where the loop around began if its next iteration meets both names
    block: int
    statement: ast.stmt
    apart: int = 0  # a loop's body in which `name` is bound to another array by now: until its end nothing is shared


class Loop(NamedTuple):
    scope: Any
    live: set       # names that its next iteration may read
    containers: set
    in_place: dict  # at its beginning
    block: int      # its body's


class Sharing:
    """Part of Lowering, whose `emitter`, `scope` and `_variables` it uses."""

    def release(self, name: str) -> None:
        """Before the memory of `name` gets another array: other names that share it get a copy of what it holds."""
        variable = self._variables[name]
        if has_parts(variable):
            for k in range(len(items(variable))):
                if f"{k} {name}" in self._variables:
                    self.release(f"{k} {name}")
            return
        if variable.ndim == 0:
            return  # numbers are copied when they are bound
        others = {n: v for n, v in self.scope.names.items() if whole_name(n) != whole_name(name) and any(a.root == variable.root for a in _arrays(v))}
        if not others:
            return
        for other, value in others.items():
            if variable.shape != variable.extents and any(a.root == variable.root != a.name for a in _arrays(value)):
                raise NotImplementedError(f"{name} is bound again in a loop or branch while {other} is a view of it in another shape: "
                                          f"write {other} = ….copy()")
        kept = self.emitter.materialize(variable, variable.name)
        if self.is_callers(variable):
            self.note_callers(f"its {min(others)}", kept)
        for other, value in others.items():
            self.scope.names[other] = _moved(self.emitter, value, variable.root, kept)

    def held(self, value, body: list[ast.stmt]):
        """What a loop goes over: a copy where the body binds the name of that memory to another array."""
        memory = _memory(value)
        if self.is_field(memory):
            return self.emitter.materialize(value)
        for name in assigned(body, updated=False) if isinstance(memory, Array) and memory.ndim else ():
            if any(a.root == memory.root for a in _arrays(self.scope.names.get(name))):
                kept = self.emitter.materialize(value)
                self._note(name, {_CALLER}, memory.root, kept.root)
                self.emitter.gone_over.add(kept.root)
                return kept
        return value

    @contextlib.contextmanager
    def going_over(self):
        """Around a loop: what is changed after it has nothing to do with what it went over."""
        before = set(self.emitter.gone_over)
        yield
        ended, self.emitter.gone_over = self.emitter.gone_over - before, before
        self.emitter.sharing = [s for s in self.emitter.sharing if not ended & set(s.roots) or self._counts(s.roots) != s.before]

    @contextlib.contextmanager
    def iterating(self, body: list[ast.stmt]):
        """Around the translation of a loop's body."""
        e = self.emitter
        live = {n for n in self.scope.names if not bound_first(n, body)} | {_CALLER}
        e.around.append(Loop(self.scope, live, set(e.names), dict(e.in_place), e.block_number))
        yield
        e.around.pop()
        # It may have run no time, and then they are shared as before.
        now = e.block_number
        e.sharing = [s._replace(since=self._counts(s.roots), before=self._counts(s.roots), apart=0) if s.apart == now else s
                     for s in e.sharing]

    def note_sharing(self, name: str, own: Array, value) -> None:
        """`own`, the memory of `name`, gets a copy of `value`: notes with whom Python would share it."""
        for source in value.sources if isinstance(value, Value) else ():
            self._note(name, self._names_of(source) - {name} or {_CALLER}, own.root, source.root)
        value = _memory(value)
        if not isinstance(value, Array) or not value.ndim:
            return
        whole = self.scope.names.get(whole_name(name))
        own_part = has_parts(whole) and [a.root for a in _arrays(whole)].count(value.root) == 1  # what the name had until now
        if others := self._names_of(value) - {name, whole_name(name) if own_part else name}:
            self._note(name, others, own.root, value.root)
        for s in [s for s in self.emitter.sharing if value.root in s.roots and own.root not in s.roots and not s.apart]:  # it is a copy itself
            others = (s.others | {s.name}) - {name} if s.scope is self.scope else set()
            for root in s.roots:
                if root != value.root and self._is_held(root, name, s.scope):
                    self._note(name, others or {_CALLER}, own.root, root)

    def note_callers(self, name: str, own: Array, *others: Array) -> None:
        """`own`, the memory of `name`, gets what is_callers, or `others`, of which nobody here knows who has them."""
        self._note(name, {_CALLER}, own.root, *(a.root for a in others))

    def is_callers(self, value) -> bool:
        """Whether this is the caller's array, or holds what a name has that the caller's array was bound to."""
        value = _memory(value)
        return isinstance(value, Array) and value.ndim > 0 and (value.root in self.emitter.arguments or any(
            _CALLER in s.others and value.root in s.roots and not s.apart for s in self.emitter.sharing))

    def _is_held(self, root: str, name: str, scope: Any) -> bool:
        """Whether it is the caller's memory, what a loop goes over, or that of another name which is read from here on."""
        if root in self.emitter.arguments or root in self.emitter.gone_over:
            return True
        return any(a.root == root for s in (scope, self.scope) for n, v in s.names.items() if n != name for a in _arrays(v)
                   if s is not self.scope or self.emitter.around or read_from(whole_name(n), self._statement, s.source.body))

    def _names_of(self, array: Array) -> set[str]:
        """Who has its memory."""
        others = {n for n, other in self.scope.names.items() if any(a.root == array.root for a in _arrays(other))}
        return others | {_CALLER} if array.root in self.emitter.arguments else others

    def choice(self, test, a, b) -> Value:
        """One of the two, with which a name that is bound to it would share memory."""
        a, b = (x.place() if isinstance(x, Value) else x for x in (a, b))
        result = elementwise.choice(test, a, b)
        arrays = [s for x in map(_memory, (a, b)) if isinstance(x, Value) for s in ((x,) if isinstance(x, Array) and x.ndim else x.sources)]
        result.sources = tuple(s for s in arrays if self._names_of(s))
        return result

    def _note(self, name: str, others: set, *roots: str) -> None:
        e, since = self.emitter, self._counts(roots)
        before = since
        for loop in reversed(e.around):  # what an iteration does comes after what the one before it did
            if loop.scope is self.scope and name in loop.live and others & loop.live:
                before = tuple(loop.in_place.get(r, 0) if r in loop.containers else b for r, b in zip(roots, before))
        e.sharing.append(Shared(self.scope, name, frozenset(others), roots, since, before, e.block_number, self._statement))

    def unshare(self, name: str) -> None:
        """`name` is bound anew: it no longer shares anything, if all of that happens in one block."""
        kept = []
        for s in self.emitter.sharing:
            here = s.scope is self.scope and s.block == self.emitter.block_number and self._counts(s.roots) == s.since
            if not here or name != s.name and name not in s.others:
                kept.append(s._replace(apart=self.emitter.block_number) if self._parts(name, s) else s)
            elif name != s.name and len(s.others) > 1:
                kept.append(s._replace(others=s.others - {name}))
        self.emitter.sharing = kept

    def _parts(self, name: str, s: Shared) -> bool:
        """Whether each iteration of the loop around binds `name`, which an argument was bound to, to another array at this place, before
        anything was changed in place."""
        loop = self.emitter.around[-1] if self.emitter.around else None
        return (name == s.name and s.others == {_CALLER} and s.scope is self.scope and loop is not None and loop.scope is self.scope
                and loop.block == self.emitter.block_number and self._counts(s.roots) == s.before)

    def check_sharing(self, result) -> None:
        """At the end of a function: only what it returns, and what its objects, lists and dicts hold, is known to others."""
        returned = {a.root for v in (result, *filter(has_parts, self.scope.names.values())) for a in _arrays(v)}
        kept = []
        for s in self.emitter.sharing:
            if whole_name(s.name) == RESULT:  # nothing comes after a `return` in its function
                if s.scope is not self.scope:
                    kept.append(s)
                    continue
                now = self._counts(s.roots)
                s = s._replace(name=_RETURNED, since=now, before=now)
            if not s.apart and self._counts(s.roots) != s.before:
                raise s.scope.source.error(NotImplementedError(_complaint(s)), s.statement)
            if s.scope is not self.scope or returned & set(s.roots):
                kept.append(s)
        self.emitter.sharing = kept

    def _changes(self, v: Value, target) -> bool:
        """Whether the assignments may change v. Arrays are what they are then, a[:], b[:] = b, a, unless their name's memory is reused."""
        rebound = [a.root for t in target.elts if isinstance(t, ast.Name) for a in _arrays(self._variables.get(t.id))]
        if isinstance(v, Array) and v.ndim:
            return v.root in rebound
        return bool(rebound) or any(isinstance(t, ast.Subscript) for t in target.elts)

    def _counts(self, roots: tuple) -> tuple:
        return tuple(self.emitter.in_place.get(root, 0) for root in roots)


def _complaint(s: Shared) -> str:
    name = s.name.split()[-1]
    if s.name == _RETURNED:
        return (f"what {s.scope.source.function.__name__} returns has another name, too, on one of its ways, and one of them is changed in place: "
                "write return ….copy()")
    return (f"{name} is bound again in a loop or branch to an array that has another name, too, and one of them is changed in "
            f"place: write {name} = ….copy()")


def _arrays(value) -> list[Array]:
    if has_parts(value):
        return [a for _, v in items(value) for a in _arrays(v)]
    value = _memory(value)
    return [value] if isinstance(value, Array) else []


def _memory(value):
    """The array that it is, or is a part of."""
    value = value.current() if isinstance(value, Value) else value
    return value.of if isinstance(value, Part) else value


def _moved(e, value, root: str, kept: Array):
    if has_parts(value):
        return growing.replaced(e, value, lambda v: _moved(e, v, root, kept))
    if isinstance(value, Part):
        return value.like(_moved(e, value.of, root, kept))
    return e.moved(value, kept) if isinstance(value, Array) and value.root == root else value
