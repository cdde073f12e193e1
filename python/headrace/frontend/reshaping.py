"""Which parts of arrays are views in another shape, as in NumPy: those whose elements lie at even distances in memory then, too."""

from __future__ import annotations

from typing import Sequence

from .emitter import Emitter
from .sizes import is_size, names_in, product, scaled
from .values import Array, Dim


def view(e: Emitter, v: Array, shape: Sequence, dense: bool = False) -> Array | None:
    """v in another shape of as many elements; None where that is a copy. `dense`: only where its elements lie side by side, as of np.ravel."""
    offset, strides = _layout(v)
    made = _strides(v.shape, strides, shape)
    side_by_side = made is not None and _side_by_side(shape, made)
    if made is None or dense and not side_by_side:
        return None
    container = Array(v.name, v.dtype, v.extents, root=v.root, weak=v.weak)
    if side_by_side and is_size(offset) and not e.symbols & {n for s in (offset, *shape) for n in names_in(s)}:
        return e.reshaped(container, shape, offset)
    return e.flat(container).view(shape, [Dim.of_terms(offset, [(k, s) for k, s in enumerate(made) if shape[k] != 1])])


def is_dense(v: Array) -> bool:
    """Whether its elements lie side by side, the last dimension's innermost."""
    return _side_by_side(v.shape, _layout(v)[1])


def _side_by_side(shape: Sequence, strides: Sequence) -> bool:
    return all(s == 1 or a == b for s, a, b in zip(shape, strides, _row_major(shape)))


def _row_major(shape: Sequence) -> list:
    return [product(shape[k + 1:]) for k in range(len(shape))]


def _layout(v: Array) -> tuple:
    """Where in its container's memory the first element is (a size, or a text), and how far apart the others are."""
    offset, strides = 0, [0] * v.ndim
    for d, stride in zip(v.dims, _row_major(v.extents)):
        numbers = is_size(d.begin) and is_size(offset)
        offset = offset + d.begin * stride if numbers else scaled(str(d.begin), offset, stride)
        for of, step in d.terms:
            strides[of] = strides[of] + step * stride
    return offset, strides


def _strides(old: Sequence, strides: Sequence, new: Sequence) -> list | None:
    """The distances in the new shape, where groups of old dimensions, each of one distance throughout, are groups of new ones."""
    axes = [k for k in range(len(old)) if old[k] != 1]
    sizes, strides = [old[k] for k in axes], [strides[k] for k in axes]
    if _even(sizes, strides):
        return _split(new, strides[-1] if strides else 1)
    made, i, j = [], 0, 0
    while j < len(new):
        if new[j] == 1:
            made, j = [*made, 0], j + 1
            continue
        group = _group(sizes, i, new, j)
        if group is None or not _even(sizes[i:group[0]], strides[i:group[0]]):
            return None
        made += _split(new[j:group[1]], strides[group[0] - 1])
        i, j = group
    return made if i == len(sizes) else None


def _even(sizes: Sequence, strides: Sequence) -> bool:
    return all(strides[k] == strides[k + 1] * sizes[k + 1] for k in range(len(sizes) - 1))


def _split(shape: Sequence, last) -> list:
    return [product(shape[k + 1:]) * last for k in range(len(shape))]


def _group(old: Sequence, i: int, new: Sequence, j: int) -> tuple[int, int] | None:
    """The ends of the shortest parts of both, from i and j, of as many elements."""
    if i == len(old):
        return None
    a, b = old[i], new[j]
    i, j = i + 1, j + 1
    while a != b:
        longer = a < b if isinstance(a, int) and isinstance(b, int) else b // a * a == b
        if i == len(old) if longer else j == len(new):
            return None
        if longer:
            a, i = a * old[i], i + 1
        else:
            b, j = b * new[j], j + 1
    return i, j
