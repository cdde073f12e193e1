"""Arrays that a loop shrinks: x = x[mask].

They keep the memory that they have before the loop. All that begin with one size share it: a container holds it from one iteration
to the next, each iteration reads it as a size of its own, and at its end all must have the same size again.
"""

from __future__ import annotations

import contextlib

import numpy as np

from . import elementwise
from .sizes import Size
from .statements import assigned
from .values import Array, Value, value_of


class Group:
    def __init__(self, size: Array, names: list[str]):
        self.size, self.names = size, names
        self.now = None  # the size in this iteration


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

    def will_shrink(self, size, names: dict, variables: dict) -> None:
        self._shrinking |= {(n, size) for n, v in names.items()
                            if isinstance(v, Array) and v.ndim and v.shape[0] == size and n not in variables}

    @contextlib.contextmanager
    def sizes_of_iterations(self, body):
        """Around a loop's body: its arrays that shrink have the size of this iteration, and pass theirs on."""
        e, bound = self.emitter, set(assigned(body, updated=False))
        groups: dict = {}
        for name, size in self._shrinking:
            variable = self._variables.get(name)
            if name in bound and variable is not None and name not in self.grouped and variable.shape[0] == size:
                groups.setdefault(size, []).append(name)
        opened = [self._open(size, names) for size, names in groups.items()]
        yield
        for group in opened:
            self._close(group)

    def _open(self, size, names: list[str]) -> Group:
        e = self.emitter
        group = Group(e.ahead(np.int64, f"i64({size})", "size"), names)
        group.now = e.size_of(group.size)
        e.intervals[group.now.text] = (0, None)
        e.within[group.now.text] = size
        for name in names:
            self.grouped[name] = group
            self.scope.names[name] = _rows(self._variables[name], group.now)
        return group

    def _close(self, group: Group) -> None:
        e = self.emitter
        sizes = {self.scope.names[n].shape[0] for n in group.names}
        if len(sizes) != 1:
            raise NotImplementedError(f"{', '.join(group.names)} begin with one size and end an iteration of this loop with several")
        e.write(group.size, [], f"i64({sizes.pop()})")
        for name in group.names:
            del self.grouped[name]
        self._closed.append(group)

    def sizes_after_loop(self) -> None:
        """After a loop's block: its arrays that shrank have the size that they have now."""
        for group in self._closed:
            now = self.emitter.size_of(group.size)
            self.emitter.intervals[now.text] = (0, None)
            for name in group.names:
                self.scope.names[name] = _rows(self._variables[name], now)
        self._closed = []

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
            if self.scope.names[name].shape[0] != group.now:
                raise NotImplementedError(f"the loop is left after {name} got another size in this iteration: leave it before")


def _rows(whole: Array, n) -> Array:
    """The first n rows."""
    return whole.view((n, *whole.shape[1:]), whole.dims)
