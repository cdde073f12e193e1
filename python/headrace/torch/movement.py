"""Operators that move elements: most are only another way to read, and write nothing."""

from __future__ import annotations

import sys
from typing import Sequence

from ..errors import UnsupportedError
from . import sizes
from .emit import Size, Value, cast
from .reductions import gathered
from .table import op


def extent(v) -> int | str:
    return v.text if isinstance(v, Size) else int(v)


def _times(a, b: str) -> str:
    return b if a == 1 else f"{a}*({b})"


def _plus(a: str, b) -> str:
    return a if b == 0 else f"{a} + {b}"


# ---- shapes ----
@op("view", "reshape", "_unsafe_view", "_reshape_alias", "squeeze", "squeeze.dim", "squeeze.dims", "unsqueeze",
    "flatten.using_ints", "unflatten.int", "_reshape_copy", "view_copy", "squeeze_copy", "squeeze_copy.dim", "squeeze_copy.dims",
    "unsqueeze_copy")
def view(c, a, *rest):
    shape = c.shape
    if shape == a.shape:
        return a
    kept = [d for d, s in enumerate(a.shape) if s != 1]
    own = [d for d, s in enumerate(shape) if s != 1]
    if [a.shape[d] for d in kept] == [shape[d] for d in own]:  # only ones come and go
        place = dict(zip(kept, own))
        return Value(a.dtype, shape, lambda i: a.at([i[place[d]] if d in place else "0" for d in range(a.rank)]))
    return c.viewed(a, shape)


@op("permute", "permute_copy")
def permute(c, a, dims):
    dims = [d % a.rank for d in dims]
    inverse = [dims.index(d) for d in range(a.rank)]
    return Value(a.dtype, c.shape, lambda i: a.at([i[k] for k in inverse]))


@op("t", "numpy_T", "transpose.int", "t_copy", "transpose_copy.int")
def transpose(c, a, p=0, q=1):
    if a.rank < 2:
        return a
    dims = list(range(a.rank))
    dims[p % a.rank], dims[q % a.rank] = dims[q % a.rank], dims[p % a.rank]
    return permute(c, a, dims)


def broadcast(a: Value, shape) -> Value:
    def at(i):
        own = i[len(i) - a.rank:] if a.rank else []
        return a.at(["0" if s == 1 else x for x, s in zip(own, a.shape)])

    return Value(a.dtype, shape, at)


def broadcast_shape(shapes) -> list:
    """The shape that tensors of these have together."""
    out: list = []
    for shape in shapes:
        shape = list(shape)
        longer, shorter = (shape, out) if len(shape) >= len(out) else (out, shape)
        lead = len(longer) - len(shorter)
        out = longer[:lead] + [b if a == 1 else a for a, b in zip(longer[lead:], shorter)]
    return out


@op("expand", "broadcast_to", "expand_copy")
def expand(c, a, size, **rest):
    return a if tuple(c.shape) == a.shape else broadcast(a, c.shape)


@op("repeat")
def repeat(c, a, counts):
    def at(i):
        own = i[len(i) - a.rank:] if a.rank else []
        return a.at([f"{x} % {s}" if s != 1 else "0" for x, s in zip(own, a.shape)])

    return Value(a.dtype, c.shape, at)


# ---- parts ----
def _start(c, a: Value, dim: int, start) -> str | int:
    n = a.shape[dim]
    if start is None:
        return 0
    start = extent(start)
    if isinstance(start, int) and isinstance(n, int):
        return max(0, min(start + n if start < 0 else start, n))
    if isinstance(start, int):
        return start if start >= 0 else f"({n} - {-start})"
    return _clamped(start, n) if sizes.of_data(start) else f"({start})"


def _clamped(k: int | str, n: int | str) -> str:
    """A bound of a slice of n elements, where it is counted from the end or beyond it."""
    return f"({k} < 0 ? max({k} + {n}, 0) : min({k}, {n}))"


def _decide(c, a: Value, d: int, start, end, step: int) -> None:
    """How long a slice is whose bounds data decide."""
    length = c.shape[d]
    if sizes.of_data(length) != {length} or length in c.decided:
        return
    n = a.shape[d]
    low = "0" if start is None else _clamped(extent(start), n)
    high = n if end is None or isinstance(end, int) and end == sys.maxsize else _clamped(extent(end), n)
    c.decided.add(length)
    c.line(f"let {length} = max({high} - {low} + {step} - 1, 0) // {step}")


@op("slice.Tensor", "slice_copy.Tensor")
def slice_(c, a, dim=0, start=None, end=None, step=1):
    d = dim % a.rank
    _decide(c, a, d, start, end, step)
    first = _start(c, a, d, start)
    return Value(a.dtype, c.shape, lambda i: a.at([*i[:d], _plus(_times(step, i[d]), first), *i[d + 1:]]))


@op("select.int", "select_copy.int")
def select(c, a, dim, index):
    d = dim % a.rank
    k = _position(a, d, index)
    return Value(a.dtype, c.shape, lambda i: a.at([*i[:d], k, *i[d:]]))


def place(index: Value, at: Sequence[str], size: int | str) -> str:
    """An index that a tensor's element gives; negative ones count from the end."""
    return f"wrap({cast(index.at(at), index.dtype, 'i64')}, {size})"


def _position(a: Value, d: int, index) -> str:
    if isinstance(index, Value):
        return place(index, [], a.shape[d])
    k = extent(index)
    if isinstance(k, int) and k < 0:
        return str(a.shape[d] + k) if isinstance(a.shape[d], int) else f"{a.shape[d]} - {-k}"
    return str(k)


@op("split_with_sizes", "split.Tensor", "unbind.int", "chunk", "split_with_sizes_copy", "unsafe_split.Tensor", "split.sizes",
    "unbind_copy.int", "split_copy.Tensor", "unsafe_split_with_sizes")
def split(c, a, parts=None, dim=0):
    unbind = "unbind" in c.target
    d = (parts if unbind and parts is not None else dim) % a.rank
    results, at = [], 0
    for k, shape in enumerate(c.shapes):
        def part(i, at=at):
            return a.at([*i[:d], str(at), *i[d:]] if unbind else [*i[:d], _plus(i[d], at), *i[d + 1:]])

        results.append(Value(a.dtype, shape, part))
        if unbind:
            at = k + 1
        else:
            at = at + shape[d] if isinstance(at, int) and isinstance(shape[d], int) else f"{at} + {shape[d]}"
    return tuple(results)


@op("diagonal", "diagonal_copy")
def diagonal(c, a, offset=0, dim1=0, dim2=1):
    p, q = dim1 % a.rank, dim2 % a.rank
    rest = [d for d in range(a.rank) if d not in (p, q)]

    def at(i):
        where = dict(zip(rest, i[:-1])) | {p: _plus(i[-1], max(-offset, 0)), q: _plus(i[-1], max(offset, 0))}
        return a.at([where[d] for d in range(a.rank)])

    return Value(a.dtype, c.shape, at)


@op("flip")
def flip(c, a, dims):
    dims = {d % a.rank for d in dims} if a.rank else set()
    return Value(a.dtype, a.shape, lambda i: a.at([f"{s} - 1 - ({x})" if d in dims else x for d, (x, s) in enumerate(zip(i, a.shape))]))


@op("roll")
def roll(c, a, shifts, dims=()):
    if not dims:
        if a.rank > 1:
            raise UnsupportedError("roll without dims")
        dims = [0] * len(shifts)
    by: dict[int, int] = {}
    for s, d in zip(shifts, dims):
        by[d % a.rank] = by.get(d % a.rank, 0) + extent(s)
    return Value(a.dtype, a.shape, lambda i: a.at([
        f"(({x}) - {by[d] % s if isinstance(s, int) else by[d]} + {s}) % {s}" if d in by else x for d, (x, s) in enumerate(zip(i, a.shape))]))


@op("unfold", "unfold_copy")
def unfold(c, a, dim, size, step):
    if a.rank == 0:
        return Value(a.dtype, c.shape, lambda i: a.at([]))
    d = dim % a.rank
    return Value(a.dtype, c.shape, lambda i: a.at([*i[:d], _plus(_times(step, i[d]), i[-1]), *i[d + 1:-1]]))


# ---- joining ----
@op("cat", "concat")
def cat(c, tensors, dim=0):
    out = c.result()
    d = dim % len(out.shape)
    at: int | str = 0
    for a in tensors:
        if a.rank == 1 and a.shape[0] == 0:
            continue
        c.maps(a.shape, lambda i: c.line(
            f"{out.at([*i[:d], _plus(i[d], at), *i[d + 1:]])} = {cast(a.at(i), a.dtype, out.dtype)}"))  # noqa: B023: used at once
        at = at + a.shape[d] if isinstance(at, int) and isinstance(a.shape[d], int) else f"{at} + {a.shape[d]}"
    return out


@op("stack")
def stack(c, tensors, dim=0):
    out = c.result()
    d = dim % len(out.shape)
    for k, a in enumerate(tensors):
        c.maps(a.shape, lambda i: c.line(f"{out.at([*i[:d], str(k), *i[d:]])} = {cast(a.at(i), a.dtype, out.dtype)}"))  # noqa: B023
    return out


@op("constant_pad_nd")
def pad(c, a, pads, value=0):
    out = c.result()
    a = c.whole(a)
    low = {a.rank - 1 - k: extent(pads[2 * k]) for k in range(len(pads) // 2)}
    fill = c.operand(value, (), out.dtype)
    return c.fill(out, lambda i: f"({a.at([f'{x} - ({low[d]})' if low.get(d, 0) != 0 else x for d, x in enumerate(i)])} ?? {fill})")


# ---- a part replaced: the whole is copied, then the part is written ----
def _copied(c, a: Value) -> Value:
    out = c.result()
    return c.fill(out, lambda i: a.at(i))


@op("select_scatter")
def select_scatter(c, a, source, dim, index):
    out = _copied(c, a)
    d = dim % a.rank
    k = _position(a, d, index)
    c.maps(source.shape, lambda i: c.line(f"{out.at([*i[:d], k, *i[d:]])} = {cast(source.at(i), source.dtype, out.dtype)}"))
    return out


@op("slice_scatter")
def slice_scatter(c, a, source, dim=0, start=None, end=None, step=1):
    out = _copied(c, a)
    d = dim % a.rank
    first = _start(c, a, d, start)
    c.maps(source.shape, lambda i: c.line(
        f"{out.at([*i[:d], _plus(_times(step, i[d]), first), *i[d + 1:]])} = {cast(source.at(i), source.dtype, out.dtype)}"))
    return out


@op("diagonal_scatter")
def diagonal_scatter(c, a, source, offset=0, dim1=0, dim2=1):
    out = _copied(c, a)
    target = _diagonal_index(a, offset, dim1, dim2)
    c.maps(source.shape, lambda i: c.line(f"{out.at(target(i))} = {cast(source.at(i), source.dtype, out.dtype)}"))
    return out


def _diagonal_index(a: Value, offset: int, dim1: int, dim2: int):
    p, q = dim1 % a.rank, dim2 % a.rank
    rest = [d for d in range(a.rank) if d not in (p, q)]

    def at(i):
        where = dict(zip(rest, i[:-1])) | {p: _plus(i[-1], max(-offset, 0)), q: _plus(i[-1], max(offset, 0))}
        return [where[d] for d in range(a.rank)]

    return at


@op("copy")
def copy(c, a, source, *rest):
    out = c.result()
    return c.fill(out, lambda i: c.operand(source, i, out.dtype))


def _strided(c, a: Value, shape, stride, offset):
    """a's elements in the order of memory, and where an index of `shape` lies there."""
    if not c.dense_argument(0):
        raise UnsupportedError("as_strided of what isn't dense in memory")
    numbers = [*a.shape, *[extent(s) for s in [*stride, offset or 0]]]
    if any(isinstance(s, str) for s in numbers):
        raise sizes.must_be_number(" ".join(map(str, numbers)), "as_strided of sizes or strides that are open")
    first = extent(offset or 0)
    last = first + sum((s - 1) * extent(k) for s, k in zip(shape, stride) if isinstance(s, int))
    if 0 not in shape and not 0 <= last < max(sizes.product(a.shape), 1):
        raise UnsupportedError("as_strided that reads beyond what is given: its memory is another tensor's")
    return c.viewed(a, [sizes.product(a.shape)]), lambda i: " + ".join([str(first), *[_times(extent(k), x) for x, k in zip(i, stride)]])


@op("as_strided", "as_strided_copy")
def as_strided(c, a, size, stride, offset=None):
    flat, where = _strided(c, a, c.shape, stride, offset)
    return Value(a.dtype, c.shape, lambda i: flat.at([where(i)]))


@op("as_strided_scatter")
def as_strided_scatter(c, a, source, size, stride, offset=None):
    _, where = _strided(c, a, source.shape, stride, offset)
    out = _copied(c, a)
    flat = c.viewed(out, [sizes.product(a.shape)])

    def write(d, i):  # in order: places may meet
        if d == source.rank:
            c.line(f"{flat.at([where(i)])} = {cast(source.at(i), source.dtype, out.dtype)}")
        else:
            c.in_order(source.shape[d], lambda t: write(d + 1, [*i, t]))

    write(0, [])
    return out


@op("replication_pad1d_backward", "replication_pad2d_backward", "replication_pad3d_backward")
def replication_pad_backward(c, g, x, padding):
    """What was read beyond the edges flows back to them."""
    spatial = len(padding) // 2
    lead = x.rank - spatial
    low = [extent(padding[2 * (spatial - 1 - d)]) for d in range(spatial)]

    def add(sums):
        def body(i):
            at = [f"min(max({k} - ({low[d]}), 0), {x.shape[lead + d]} - 1)" for d, k in enumerate(i[lead:])]
            c.line(f"{sums.at([*i[:lead], *at])} += {c.operand(g, i, sums.dtype)}")

        c.maps(g.shape, body)

    return gathered(c, c.dtype, c.shape, add)
