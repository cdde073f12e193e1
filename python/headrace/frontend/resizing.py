"""Arrays that a loop or a branch shrinks: x = x[mask].

They keep the memory that they have before it. All that begin with one size share it: a container holds it from one iteration to the
next, or from the branches to what comes after them. Each iteration reads it as a size of its own, and at its end, as at that of a
branch, all must have the same size again.
"""

from __future__ import annotations

import contextlib

import numpy as np

from . import elementwise
from .sizes import Size
from .statements import assigned
from .values import Array, Value, value_of


class Group:
    def __init__(self, container: Array, names: list[str], before, now, around: dict):
        self.container, self.names = container, names
        self.before = before  # the size before the loop or the branches
        self.now = now        # and at the beginning of an iteration, or of a branch
        self.around = around  # name → its group around this one
        self.changed = False


class Resizing:
    """Part of Lowering."""

    def no_groups(self) -> None:
        self._shrinking: set[tuple] = set()   # (name, size before the loop) of arrays that a loop shrinks
        self.grouped: dict[str, Group] = {}
        self._closed: list[Group] = []

    def may_shrink(self, v: Value, variable: Array) -> bool:
        """Whether this is another number of rows, none more than there were."""
        return v.ndim == variable.ndim > 0 and v.shape[1:] == variable.shape[1:] and self._within(v.shape[0], variable.shape[0])

    def _within(self, size, largest) -> bool:
        while size != largest and isinstance(size, Size) and size.text in self.emitter.within:
            size = self.emitter.within[size.text]
        return size == largest

    def shrinks(self, name: str, names: dict) -> bool:
        return (name, value_of(names[name]).shape[0]) in self._shrinking

    def will_shrink(self, name: str, names: dict, variables: dict) -> None:
        size = value_of(names[name]).shape[0]
        self._shrinking |= {(name, size)} | {(n, size) for n, v in names.items()
                            if isinstance(v, Array) and v.ndim and v.shape[0] == size and n not in variables}

    @contextlib.contextmanager
    def sizes_of_iterations(self, body):
        """Around a loop's body: its arrays that shrink have the size of this iteration, and pass theirs on."""
        e, opened = self.emitter, []
        for size, names in self._begin_together(body).items():
            container = e.ahead(np.int64, f"i64({size})", "size")
            now = e.size_of(container)
            self._known_within(now, size)
            opened.append(self._open(container, names, size, now))
        yield
        for group in opened:
            self.end_together(group, "an iteration of this loop")
            self._close(group)
        self._closed += opened

    def _begin_together(self, statements) -> dict:
        """Of the arrays that shrink those that the statements bind: size → names."""
        bound, groups = set(assigned(statements, updated=False)), {}
        for name, size in sorted(self._shrinking, key=str):
            variable = self._variables.get(name)
            if name in bound and variable is not None and variable.shape[0] == size:
                groups.setdefault(self.scope.names[name].shape[0], []).append(name)
        return groups

    def _known_within(self, size: Size, largest) -> None:
        self.emitter.intervals[size.text] = (0, None)
        self.emitter.within[size.text] = largest

    def _open(self, container: Array, names: list[str], before, now) -> Group:
        group = Group(container, names, before, now, {n: self.grouped[n] for n in names if n in self.grouped})
        self.grouped.update(dict.fromkeys(names, group))
        self.begin(group)
        return group

    def begin(self, group: Group) -> None:
        """An iteration, or a branch."""
        self._have(group, group.now)

    def _have(self, group: Group, size) -> None:
        for name in group.names:
            self.scope.names[name] = _rows(self._variables[name], size)

    def end_together(self, group: Group, what: str) -> None:
        sizes = {self.scope.names[n].shape[0] for n in group.names}
        if len(sizes) != 1:
            raise NotImplementedError(f"{', '.join(group.names)} begin with one size and end {what} with several")
        size = sizes.pop()
        group.changed |= size != group.now
        self.emitter.write(group.container, [], f"i64({size})")

    def _close(self, group: Group) -> None:
        for name in group.names:
            del self.grouped[name]
        self.grouped.update(group.around)

    def _after(self, group: Group) -> None:
        now = self.emitter.size_of(group.container)
        self._known_within(now, group.before)
        self._have(group, now)

    def sizes_after_loop(self) -> None:
        """After a loop's block: its arrays that shrank have the size that they have now."""
        for group in self._closed:
            self._after(group)
        self._closed = []

    def sizes_of_branches(self, statements) -> list[Group]:
        """Before an `if`: groups of the arrays that its branches shrink."""
        return [self._open(self.emitter.transient(np.int64, (), "size"), names, size, size) for size, names in self._begin_together(statements).items()]

    def sizes_after_branches(self, groups: list[Group]) -> None:
        for group in groups:
            self._close(group)
            if group.changed:
                self._after(group)

    def resize(self, name: str, variable: Array, value) -> None:
        """Binds a name of a group, with as many rows as the value has."""
        v = value_of(value)
        if v.ndim != variable.ndim or v.shape[1:] != variable.shape[1:] or not self._within(v.shape[0], self.grouped[name].now):
            raise ValueError(f"{name} has shape {self.scope.names[name].shape} before this and {v.shape} then, which may be larger")
        if v.dtype != variable.dtype:
            raise TypeError(f"{name} is {variable.dtype} before this block and {v.dtype} in it")
        rows = _rows(variable, v.shape[0])
        self.note_sharing(name, variable, value)
        with self.emitter.rebinding():
            self.emitter.store(rows, elementwise.cast(self.emitter, value, variable.dtype))
        self.scope.names[name] = rows

    def check_sizes_before_exit(self) -> None:
        for name, group in self.grouped.items():
            while name in group.around:
                group = group.around[name]
            if self.scope.names[name].shape[0] != group.now:
                raise NotImplementedError(f"the loop is left after {name} got another size in this iteration: leave it before")


def _rows(whole: Array, n) -> Array:
    """The first n rows."""
    return whole.view((n, *whole.shape[1:]), whole.dims)
