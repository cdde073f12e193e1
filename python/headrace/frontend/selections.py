"""What a mask chooses: A[mask] without its size, which only the data know.

A Selected is as large as what it was chosen from, and says which elements count. Arithmetic, reductions and assignments under
the same mask need nothing more; whatever asks for its shape or its elements one by one makes it a dense array. Outside of the
mask its elements are zeros, also in memory, so that derivatives of what was never computed are zeros and not NaN.
"""

from __future__ import annotations

from typing import Callable, NamedTuple

import numpy as np

from .emitter import Emitter
from .errors import NeedsMemory
from .types import IR_NAMES
from .values import Array, Value, number_text


class Selected(Value):
    """`full` under `mask`, two expressions of the same leading dimensions."""

    def __init__(self, e: Emitter, mask: Array, key: tuple, full: Value):
        self.mask, self.key = mask, key
        self.dtype, self.weak = full.dtype, False
        zero = number_text(0, full.dtype) if full.dtype.kind == "c" else f"{IR_NAMES[full.dtype]}({number_text(0, full.dtype)})"
        self.full = Value(full.dtype, full.shape, lambda i: f"({mask.at(i[: mask.ndim])} ? {full.at(i)} : {zero})")
        self._e, self._own, self.block = e, None, e.block_number

    @classmethod
    def of(cls, e: Emitter, mask: Value, base: Value) -> Selected:
        return cls(e, e.materialize(mask, "mask"), e.identity(mask), base)

    def like(self, full: Value) -> Selected:
        return Selected(self._e, self.mask, self.key, full)

    def filled(self, number) -> Value:
        """All of it, with `number` outside of the mask: reductions."""
        other = number_text(number, self.dtype)
        return Value(self.dtype, self.full.shape, lambda i: f"({self.mask.at(i[: self.mask.ndim])} ? {self.full.at(i)} : {other})")

    def kept(self) -> Selected:
        """With memory of its own, for a name."""
        if self._own is not None:
            return self
        own = self._e.materialize(self.full, "chosen")
        made = self.like(own)
        made._own = own
        return made

    @property
    def ndim(self) -> int:
        return len(self.full.shape) - self.mask.ndim + 1

    @property
    def shape(self) -> tuple:
        return self.dense().shape

    def at(self, index):
        return self.dense().at(index)

    def dense(self) -> Array:
        """Its elements alone, to be read."""
        known = self._e.dense.get(id(self))
        return known.array if known is not None and (known.alone or known.block in self._e.open_blocks) else self._made(alone=False)

    def place(self) -> Array:
        """The array that it is from here on: something changes it in place, or is a view of it."""
        if self._own is None:
            return self.dense()  # nobody else has it
        known = self._e.dense.get(id(self))
        if known is not None and known.alone:
            return known.array
        if self.block != self._e.block_number and self.block in self._e.open_blocks:
            raise NeedsMemory(self)
        return self._made(alone=True)

    def current(self) -> Value:
        known = self._e.dense.get(id(self))
        return known.array if known is not None and known.alone else self

    def _made(self, alone: bool) -> Array:
        e, places = self._e, nonzero(self._e, self.mask, self.key)
        rest = self.full.shape[self.mask.ndim:]
        chosen = Value(self.dtype, (*places[0].shape, *rest), lambda i: self.full.at([p.at(i[:1]) for p in places] + list(i[1:])))
        array = e.materialize(chosen, "dense")
        e.dense[id(self)] = Dense(self, array, e.block_number, alone)
        return array

    def update(self, new: Value) -> bool:
        """Changes it in place, where `new` is as large as what it was chosen from."""
        if self._own is None or self.block != self._e.block_number or not isinstance(new, Selected) or new.key != self.key:
            return False
        self._e.store(self._own, new.full)
        self._e.dense.pop(id(self), None)
        return True


class Dense(NamedTuple):
    """The elements of `of` alone, in memory since `block`. `alone`: its other memory no longer counts."""

    of: Selected
    array: Array
    block: int
    alone: bool


def same_mask(e: Emitter, v: Selected, mask: Value) -> bool:
    return v.key == e.identity(mask) or (isinstance(mask, Array) and mask.name == v.mask.name and e.identity(mask) == e.identity(v.mask))


def lifted(args) -> Selected | None:
    """The selection that an elementwise function of these arguments is one of: all others are numbers, or chosen alike."""
    chosen = [a for a in args if isinstance(a, Selected)]
    if not chosen or any(a.key != chosen[0].key or a.full.ndim != chosen[0].full.ndim for a in chosen):
        return None
    if any(isinstance(a, Value) and not isinstance(a, Selected) and a.ndim for a in args):
        return None
    return chosen[0]


def apply(function: Callable, args) -> Selected | None:
    """function(*args) under their mask; None where that is not possible."""
    chosen = lifted(args)
    if chosen is None:
        return None
    return chosen.like(function(*[a.full if isinstance(a, Selected) else a for a in args]))


def count(e: Emitter, mask: Value) -> Array:
    """How many elements are true."""
    ones = Value(np.int64, mask.shape, lambda i: f"({mask.at(i)} ? i64(1) : i64(0))")
    return e.reduce(ones, range(mask.ndim), "+=", 0, np.int64, "count")


def nonzero(e: Emitter, v: Value, key: tuple | None = None) -> list[Array]:
    """np.nonzero(v): an array of indices for each dimension. Masks with one identity share theirs."""
    key = key or e.identity(v)
    if key in e.places:
        return e.places[key]
    mask = v if v.dtype.kind == "b" else Value(np.bool_, v.shape, lambda i, v=v: f"({v.at(i)} != 0)")
    mask = e.materialize(mask, "mask")
    n = e.size_of(count(e, mask))
    e.intervals[n.text] = (0, None)
    if mask.ndim == 1:
        e.within[n.text] = mask.shape[0]
    found = [e.transient(np.int64, (n,), "places") for _ in mask.shape]
    for f in found:
        f.counted = True  # never negative
        e.fill(f, 0)
    at = e.transient(np.int64, (), "next")
    e.write(at, [], "i64(0)")
    with e.nest(mask.shape) as index:
        with e.block(f"if {e.expression(mask, index, np.bool_)}"):
            place = e.size_of(at)
            for f, i in zip(found, index):
                e.write(f, [str(place)], f"i64({i})")
            e.write(at, [], f"{at.at([])} + 1")
    e.places[key] = found
    return found
