"""Sizes that data decide, where a program needs them to be those of something else: each run looks at it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Sequence

from .sizes import Size, names_in, product
from .values import Array, Part, Value, value_of

if TYPE_CHECKING:
    from .emitter import Emitter


def decided(e: Emitter, size) -> bool:
    """Whether data decide it; what only a loop changes, a loop that is written out knows."""
    names = set(names_in(size)) if isinstance(size, Size) else set()
    return bool(names & e.symbols) and not names & set(e.loops)


def required(e: Emitter, v: Value, k: int, n) -> Value:
    """v, whose size along k is n from here on."""
    if isinstance(v, Part):
        return v.like(required(e, v.of, k, n))
    v = v.dense()
    e.line(f'require {v.shape[k]} == {n} else "a size that data decide is {{}} where {{}} are needed", {v.shape[k]}, {n}')
    shape = [*v.shape[:k], n, *v.shape[k + 1:]]
    return v.view(shape, v.dims) if isinstance(v, Array) else Value(v.dtype, shape, v.at, v.weak)


def agreeing(e: Emitter, values: Sequence) -> list:
    """The values, with sizes that data decide as those that stand beside them in other shapes."""
    made = [value_of(v) for v in values]
    for back in range(1, max(v.ndim for v in made) + 1):
        here = [k for k, v in enumerate(made) if v.ndim >= back and v.shape[-back] != 1]
        known = {made[k].shape[-back] for k in here if not decided(e, made[k].shape[-back])}
        if len(known) != 1:
            continue
        n, = known
        for k in here:
            if made[k].shape[-back] != n:
                made[k] = required(e, made[k], made[k].ndim - back, n)
    return [m if m.ndim else v for v, m in zip(values, made)]  # numbers stay Python's


def with_elements(e: Emitter, v: Value, total) -> Value | None:
    """v with `total` elements, where data decide one of its sizes; None where they don't."""
    open_ = [k for k, s in enumerate(v.shape) if decided(e, s)]
    if len(open_) != 1:
        return None
    others = product(s for k, s in enumerate(v.shape) if k != open_[0])
    if others == 0 or total // others * others != total:
        return None
    return required(e, v, open_[0], total // others)
