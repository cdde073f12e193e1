"""Arrays of indices and masks as subscripts: A[i], A[i] = v, A[mask], A[mask] = v, np.add.at."""

from __future__ import annotations

import numpy as np

from . import arrays, elementwise
from .emitter import Emitter
from .selections import Selected, nonzero, same_mask
from .sizes import scaled
from .values import Array, Part, Value, broadcast, broadcast_shapes, value_of


def is_mask(k) -> bool:
    return isinstance(k, Value) and k.ndim > 0 and k.dtype.kind == "b"


def by_array(k) -> bool:
    return isinstance(k, Value) and k.ndim > 0


def complete(base: Value, key) -> list:
    """The key as a list with one entry for each dimension (masks stand for several), None for new ones."""
    keys = list(key) if isinstance(key, tuple) else [key]

    def taken(k) -> int:
        return 0 if k is None else k.ndim if is_mask(k) else 1

    if any(k is Ellipsis for k in keys):
        at = next(n for n, k in enumerate(keys) if k is Ellipsis)
        rest = base.ndim - sum(taken(k) for k in keys) + 1
        keys[at:at + 1] = [slice(None)] * rest
    keys += [slice(None)] * (base.ndim - sum(map(taken, keys)))
    if sum(map(taken, keys)) > base.ndim:
        raise IndexError(f"too many indices: the array has {base.ndim} dimensions")
    return keys


class Places:
    """Which elements of `base` a key with arrays of indices names: `shape`, and where each lies."""

    def __init__(self, e: Emitter, base: Array, keys: list):
        if any(k is None for k in keys):
            raise NotImplementedError("None beside an array of indices: reshape the result")
        self.base = base
        self._keys = self._indices(e, base, keys)
        advanced = [n for n, k in enumerate(self._keys) if not isinstance(k, tuple)]
        self._common = broadcast_shapes(*[k.shape for k in self._keys if isinstance(k, Value)])
        slices = [n for n in range(base.ndim) if n not in advanced]
        together = advanced == list(range(advanced[0], advanced[-1] + 1))
        first = [n for n in slices if n < advanced[0]] if together else []  # else NumPy puts the indices' dimensions first
        order = [*first, None, *(n for n in slices if n not in first)]
        self.shape: list = []
        self._at: dict[int, int] = {}  # dimension of a slice → dimension of the result
        for n in order:
            if n is None:
                self._inner = len(self.shape)
                self.shape += self._common
            else:
                self._at[n] = len(self.shape)
                self.shape.append(self._keys[n][2])

    @staticmethod
    def _indices(e: Emitter, base: Array, keys: list) -> list:
        """For each dimension an array of indices, the text of one index, or (begin, step, length)."""
        found: list = []
        for k in keys:
            size = base.shape[len(found)]
            if is_mask(k):
                check_mask(base.shape[len(found): len(found) + k.ndim], k)
                found += nonzero(e, k)
            elif by_array(k):
                if k.dtype.kind not in "iu":
                    raise TypeError(f"an index is an integer, not {k.dtype}")
                found.append(e.settled(k))
            elif isinstance(k, slice):
                found.append(arrays.slice_bounds(e, k, size))
            else:
                found.append(str(arrays.index_text(e, k, size)))
        return found

    def __call__(self, index: list[str]) -> list[str]:
        inner = index[self._inner: self._inner + len(self._common)]
        places = []
        for n, k in enumerate(self._keys):
            if isinstance(k, tuple):
                places.append(scaled(index[self._at[n]], k[0], k[1]))
            elif isinstance(k, Value):
                text = broadcast(k, self._common).at(inner)
                text = text if k.dtype == np.int64 else f"i64({text})"
                places.append(f"wrap({text}, {self.base.shape[n]})" if k.dtype.kind == "i" and not getattr(k, "counted", False) else text)
            else:
                places.append(k)
        return places


def check_mask(shape, mask: Value) -> None:
    if tuple(shape) != mask.shape:
        raise IndexError(f"a mask of shape {mask.shape} for dimensions of {tuple(shape)}")


def _new_axes(keys: list, ndim: int) -> list[int] | None:
    """Where the Nones of a key stand in its result, of which the indices have `ndim` dimensions; None where they are between indices."""
    advanced = [n for n, k in enumerate(keys) if k is not None and not isinstance(k, slice)]
    first, last = advanced[0], advanced[-1]
    if any(k is None for k in keys[first:last]):
        return None
    together = not any(isinstance(k, slice) for k in keys[first:last])
    axes, at = [], 0 if together else ndim
    for n, k in enumerate(keys):
        if k is None:
            axes.append(at)
        at += ndim if together and n == first else k is None or isinstance(k, slice)
    return axes


def gather(e: Emitter, base: Array, keys: list) -> Value:
    """base[keys], a copy. One mask at the front gives what is still as large as `base`, see selections.py."""
    if None in [k if k is None else 0 for k in keys] and not any(map(is_mask, keys)):
        indices = broadcast_shapes(*[k.shape for k in keys if by_array(k)])
        if (axes := _new_axes(keys, len(indices))) is not None:
            plain = gather(e, base, [k for k in keys if k is not None])
            return arrays.keep_dims(plain, axes, plain.ndim + len(axes))
    if is_mask(keys[0]) and all(isinstance(k, slice) and k == slice(None) for k in keys[1:]):
        check_mask(base.shape[: keys[0].ndim], keys[0])
        return Selected.of(e, keys[0], base)
    places = Places(e, base, keys)
    return Value(base.dtype, places.shape, lambda i: base.at(places(i)))


def scatter(e: Emitter, base: Array, key, v, op: str = "") -> bool:
    """base[key] = v, or base[key] op= v with the name of an operator; False where the key has no arrays."""
    keys = key if isinstance(key, tuple) else (key,)
    if not any(map(by_array, keys)):
        return False
    keys = _apart(e, complete(base, key), base)
    if is_mask(keys[0]) and all(isinstance(k, slice) and k == slice(None) for k in keys[1:]):
        check_mask(base.shape[: keys[0].ndim], keys[0])
        if _masked(e, base, keys[0], v, op):
            return True
    places = Places(e, base, keys)
    target = Value(base.dtype, places.shape, lambda i: base.at(places(i)))
    if op:
        v = elementwise.apply(e, op, target, v)
    v = elementwise.cast(e, v, base.dtype)
    source = e.materialize(broadcast(value_of(v), places.shape), "new")
    if 0 in places.shape:
        return True
    # One after the other: where an element is named twice, the last value stays, as in NumPy.
    with e.nest(places.shape) as index:
        e.write(base, places(index), e.expression(source, index, base.dtype))
    return True


def _apart(e: Emitter, keys: list, base: Value) -> list:
    """The keys with copies of indices that are read of the memory which is written."""
    root = getattr(base.of if isinstance(base, Part) else base, "root", None)
    return [e.materialize(k) if by_array(k) and not is_mask(k) and root in e.roots(k) else k for k in keys]


def accumulate(e: Emitter, base: Array, key, v, op: str) -> None:
    """np.add.at(base, key, v) and its like: elements that are named twice take both."""
    base = base.place()
    places = Places(e, base, _apart(e, complete(base, key), base))
    source = e.materialize(broadcast(value_of(elementwise.cast(e, v, base.dtype)), places.shape), "new")
    e.maps(places.shape, lambda i: e.write(base, places(i), e.expression(source, i, base.dtype), op))


def _masked(e: Emitter, base: Array, mask: Value, v, op: str) -> bool:
    """An assignment that needs no positions: of one number, or of what the same mask chose."""
    if isinstance(v, Selected):
        if not same_mask(e, v, mask):
            return False
        mask, v = v.mask, v.full
    elif isinstance(v, Value) and v.ndim:
        return False
    if op:
        v = elementwise.apply(e, op, base, v)
    rows = Value(np.bool_, base.shape, lambda i: mask.at(i[: mask.ndim]))
    e.store(base, elementwise.cast(e, elementwise.where(rows, v, base), base.dtype))
    return True
