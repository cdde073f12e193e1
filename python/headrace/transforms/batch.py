"""vmap: a function of one, for many."""

from __future__ import annotations

from typing import Any, Callable

from ..frontend import arrays
from ..frontend.sizes import Size
from ..frontend.values import Value, value_of
from ..function import Function
from ..gradients import function_of
from ..translated import Translation
from ..trees import has_parts, is_tree, items, mapped


class Batched(Function):
    """f for each element along an axis of its arguments; a loop, so that whatever f may do may be done in batches."""

    def __init__(self, f: Function, in_axes, out_axes):
        super().__init__(f, f._backend, f._threads)
        self._declared = dict.fromkeys(self._declared)  # f's annotations are of one element
        self._open = list(self._names)
        self.inner, self._out_axes = f, out_axes
        around = getattr(f, "around", ())  # what a local function reads is the same for all
        if around and not isinstance(in_axes, (tuple, list)):
            in_axes = [in_axes] * (len(self._names) - len(around))
        if around:
            in_axes = [*in_axes, *[None] * len(around)]
        if isinstance(in_axes, (tuple, list)) and len(in_axes) != len(self._names):
            raise ValueError(f"{f.__name__} has {len(self._names) - len(around)} arguments, and in_axes is of {len(in_axes) - len(around)}")
        self._in_axes = dict(zip(self._names, in_axes)) if isinstance(in_axes, (tuple, list)) else dict.fromkeys(self._names, in_axes)

    def translate(self, types: dict[str, Any]) -> Translation:
        return Translation(self.base, types, lambda evaluator, given: self._loop(evaluator, given))

    def inline(self, evaluator, args: list, named: dict):
        return self._loop(evaluator, self._bind(args, named))

    def _loop(self, evaluator, given: dict[str, Any]):
        e = evaluator.emitter
        axes = {n: self._in_axes[n] for n, v in given.items() if isinstance(v, Value) and v.ndim or is_tree(v)}
        sizes = {s for n, axis in axes.items() if axis is not None for s in _extents(given[n], axis, n)}
        if len(sizes) != 1:
            raise ValueError("vmap: no argument has the axis" if not sizes else
                             f"vmap: the sizes {', '.join(sorted(map(str, sizes)))} of the batch are not known to be equal")
        size, = sizes
        b = e.fresh("b")
        e.symbols.add(b)
        e.intervals[b], e.loops[b] = (0, None), (0, size - 1)
        with e.block(f"for {b} in 0:{size}"):
            one = {n: _element(e, v, axes.get(n), Size(b)) for n, v in given.items()}
            result = evaluator.call(self.inner, list(one.values()), {})
            stored = _stored(e, result, self._out_axes, size, Size(b))
        del e.loops[b]
        return stored


def _extents(v, axis: int, name: str) -> list:
    if is_tree(v):
        return [s for _, part in items(v) for s in _extents(part, axis, name)]
    if not isinstance(v, Value) or not v.ndim:
        raise ValueError(f"vmap: {name} has no axis {axis}")
    return [v.shape[arrays.normal(axis, v.ndim)]]


def _element(e, v, axis: int | None, b: Size):
    if axis is None:
        return v
    if is_tree(v):
        return mapped(lambda part: _element(e, part, axis, b), v)
    return arrays.subscript(e, v, (slice(None),) * arrays.normal(axis, v.ndim) + (b,))


def _stored(e, result, axis, size, b: Size):
    """The results of one element, at their place in those of all."""
    if result is None:
        return None
    if isinstance(result, (tuple, list)) and isinstance(axis, (tuple, list)):
        return tuple(_stored(e, r, a, size, b) for r, a in zip(result, axis))
    if has_parts(result):
        return mapped(lambda part: _stored(e, part, axis, size, b), result)
    v = value_of(result)
    axis = arrays.normal(axis, v.ndim + 1)
    whole = e.transient(v.dtype, [*v.shape[:axis], size, *v.shape[axis:]], "batch")
    e.store(arrays.subscript(e, whole, (slice(None),) * axis + (b,)), result)
    return whole


def vmap(f: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Batched:
    """f for each element along axis `in_axes` of its arrays (a number for all arguments, or one for each; None: the argument is
    the same for all). Results have the axis `out_axes`. Arrays that f changes are changed in place."""
    return Batched(function_of(f), in_axes, out_axes)
