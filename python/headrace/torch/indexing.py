"""Reads and writes at indices that tensors give."""

from __future__ import annotations

from ..errors import UnsupportedError
from .emit import Value, cast
from .reductions import wide
from .table import op


def _index(indices: Value, i, extent) -> str:
    """An element of an index tensor; negative ones count from the end."""
    return f"wrap({cast(indices.at(i), indices.dtype, 'i64')}, {extent})"


def _integers(*indices: Value) -> None:
    for v in indices:
        if v.dtype not in ("i64", "i32"):
            raise UnsupportedError(f"indices of type {v.dtype}")


@op("index_select")
def index_select(c, a, dim, indices):
    _integers(indices)
    if a.rank == 0:
        return a
    d = dim % a.rank
    out = c.result()
    return c.fill(out, lambda i: a.at([*i[:d], _index(indices, [i[d]] if indices.rank else [], a.shape[d]), *i[d + 1:]]))


@op("gather")
def gather(c, a, dim, indices, sparse_grad=False):
    _integers(indices)
    out = c.result()
    if a.rank == 0 or indices.rank == 0:
        return c.fill(out, lambda i: a.at(["0"] * a.rank if a.rank else []))
    d = dim % a.rank
    return c.fill(out, lambda i: a.at([*i[:d], _index(indices, i, a.shape[d]), *i[d + 1:]]))


class _Advanced:
    """NumPy's advanced indexing: where an element of a[indices] lies in a."""

    def __init__(self, c, a: Value, indices, shape):
        given = [(d, v) for d, v in enumerate(indices) if v is not None]
        if not given:
            raise UnsupportedError("an index of nothing")
        for _, v in given:
            _integers(v)
        self.given, self.shape, self.c, self.a = given, tuple(shape), c, a
        self.rank = max(v.rank for _, v in given)
        dims = [d for d, _ in given]
        together = dims == list(range(dims[0], dims[-1] + 1))
        self.lead = dims[0] if together else 0

    def at(self, i) -> list[str]:
        picked = i[self.lead:self.lead + self.rank]
        rest = iter([*i[:self.lead], *i[self.lead + self.rank:]])
        by = dict(self.given)
        where = []
        for d in range(self.a.rank):
            if d not in by:
                where.append(next(rest))
                continue
            v = by[d]
            own = picked[self.rank - v.rank:] if v.rank else []
            where.append(_index(v, ["0" if s == 1 else x for x, s in zip(own, v.shape)], self.a.shape[d]))
        return where


@op("index.Tensor", "_unsafe_index.Tensor")
def index(c, a, indices):
    out = c.result()
    where = _Advanced(c, a, indices, out.shape)
    return c.fill(out, lambda i: a.at(where.at(i)))


@op("index_put", "_unsafe_index_put")
def index_put(c, a, indices, values, accumulate=False):
    if not accumulate and any(s != 1 for s in values.shape):
        # Where indices meet, torch takes any of the values; a map of ours may not write an element twice.
        raise UnsupportedError("index_put of a tensor, whose indices may meet")
    if accumulate and (a.dtype == "bool" or wide(a.dtype) != a.dtype):
        raise UnsupportedError(f"index_put that accumulates {a.dtype}")
    out = c.result()
    c.fill(out, lambda i: a.at(i))
    given = [v for v in indices if v is not None]
    picked = _broadcast_shape([v.shape for v in given])
    where = _Advanced(c, a, indices, ())
    taken = {d for d, _ in where.given}
    rest = [s for d, s in enumerate(a.shape) if d not in taken]
    shape = [*rest[:where.lead], *picked, *rest[where.lead:]]
    sign = "+=" if accumulate else "="
    c.maps(shape, lambda i: c.line(f"{out.at(where.at(i))} {sign} {c.operand(values, i, out.dtype)}"))
    return out


def _broadcast_shape(shapes):
    out: list = []
    for shape in shapes:
        shape = list(shape)
        longer, shorter = (shape, out) if len(shape) >= len(out) else (out, shape)
        lead = len(longer) - len(shorter)
        out = longer[:lead] + [b if a == 1 else a for a, b in zip(longer[lead:], shorter)]
    return out


def _scattered(c, a: Value, dim: int, indices: Value, text, sign: str) -> Value:
    _integers(indices)
    out = c.result()
    c.fill(out, lambda i: a.at(i))
    if a.rank == 0:
        raise UnsupportedError("a scatter into one number")
    d = dim % a.rank
    c.maps(indices.shape, lambda i: c.line(f"{out.at([*i[:d], _index(indices, i, a.shape[d]), *i[d + 1:]])} {sign} {text(i)}"))
    return out


@op("scatter.src", "scatter.value")
def scatter(c, a, dim, indices, source):
    if isinstance(source, Value):
        # Where indices meet, torch takes any; a map of ours may not write an element twice.
        raise UnsupportedError("scatter of a tensor, whose indices may meet")
    return _scattered(c, a, dim, indices, lambda i: c.operand(source, i, a.dtype), "=")


@op("scatter_add")
def scatter_add(c, a, dim, indices, source):
    if a.dtype == "bool" or wide(a.dtype) != a.dtype:
        raise UnsupportedError(f"scatter_add of {a.dtype}")
    return _scattered(c, a, dim, indices, lambda i: source.at(i), "+=")


@op("scatter_reduce.two")
def scatter_reduce(c, a, dim, indices, source, reduce, include_self=True):
    signs = {"sum": "+=", "prod": "*=", "amax": "max=", "amin": "min="}
    if not include_self or reduce not in signs or a.dtype == "bool" or wide(a.dtype) != a.dtype:
        raise UnsupportedError(f"scatter_reduce of {a.dtype} by {reduce}, include_self={include_self}")
    return _scattered(c, a, dim, indices, lambda i: source.at(i), signs[reduce])


@op("index_add")
def index_add(c, a, dim, indices, source, alpha=1):
    _integers(indices)
    if a.rank == 0 or wide(a.dtype) != a.dtype or a.dtype == "bool" or indices.rank != 1:
        raise UnsupportedError("index_add of one number")
    out = c.result()
    c.fill(out, lambda i: a.at(i))
    d = dim % a.rank
    scale = "" if alpha == 1 else f" * {c.operand(alpha, (), a.dtype)}"
    c.maps(source.shape, lambda i: c.line(
        f"{out.at([*i[:d], _index(indices, [i[d]], a.shape[d]), *i[d + 1:]])} += {source.at(i)}{scale}"))
    return out

