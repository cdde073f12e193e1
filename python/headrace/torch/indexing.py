"""Reads and writes at indices that tensors give."""

from __future__ import annotations

from ..errors import UnsupportedError
from . import sizes
from .emit import FLOATS, Value, cast
from .masks import agree, indices_of, ranks, written_to
from .movement import broadcast, broadcast_shape, place
from .reductions import narrowed, wide
from .table import op


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
    return c.fill(out, lambda i: a.at([*i[:d], place(indices, [i[d]] if indices.rank else [], a.shape[d]), *i[d + 1:]]))


@op("gather")
def gather(c, a, dim, indices, sparse_grad=False):
    _integers(indices)
    out = c.result()
    if a.rank == 0 or indices.rank == 0:
        return c.fill(out, lambda i: a.at(["0"] * a.rank if a.rank else []))
    d = dim % a.rank
    return c.fill(out, lambda i: a.at([*i[:d], place(indices, i, a.shape[d]), *i[d + 1:]]))


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
            where.append(place(v, ["0" if s == 1 else x for x, s in zip(own, v.shape)], self.a.shape[d]))
        return where


@op("index.Tensor", "_unsafe_index.Tensor")
def index(c, a, indices):
    indices = indices_of(c, indices, c.shape)
    out = c.result()
    where = _Advanced(c, a, indices, out.shape)
    return c.fill(out, lambda i: a.at(where.at(i)))


@op("index_put", "_unsafe_index_put")
def index_put(c, a, indices, values, accumulate=False):
    if accumulate and a.dtype == "bool":
        raise UnsupportedError(f"index_put that accumulates {a.dtype}")
    given = [v for v in indices if v is not None]
    if len(given) == 1 and given[0].dtype == "bool":
        return _put_where(c, a, list(indices).index(given[0]), given[0], values, accumulate)
    indices = written_to(c, indices)
    given = [v for v in indices if v is not None]
    out = _begun(c, a, accumulate)
    picked = broadcast_shape([v.shape for v in given])
    where = _Advanced(c, a, indices, ())
    taken = {d for d, _ in where.given}
    rest = [s for d, s in enumerate(a.shape) if d not in taken]
    shape = [*rest[:where.lead], *picked, *rest[where.lead:]]
    write = lambda i, sign: c.line(f"{out.at(where.at(i))} {sign} {c.operand(values, i, out.dtype)}")  # noqa: E731
    if accumulate or all(s == 1 for s in values.shape):  # where indices meet, each writes the same
        c.maps(shape, lambda i: write(i, "+=" if accumulate else "="))
    else:
        _in_order(c, shape, range(where.lead, where.lead + len(picked)), lambda i: write(i, "="))
    return narrowed(c, out, a.dtype)


def _begun(c, a: Value, accumulates: bool, start=None) -> Value:
    """What is written to: a's elements, or `start`. Sums and products of halves are carried in f32, as `gathered` has it."""
    out = c.new(wide(a.dtype) if accumulates else a.dtype, a.shape, c.current.name)
    return c.fill(out, start or (lambda i: c.operand(a, i, out.dtype)))


def _put_where(c, a, lead: int, mask: Value, values, accumulate: bool) -> Value:
    """a[:, …, mask] = values, the mask after `lead` dimensions: a choice."""
    after = a.rank - lead - mask.rank
    before = None  # of each place of the mask, where its value is
    if isinstance(values, Value) and values.rank > after and values.shape[values.rank - 1 - after] != 1:
        flat, found = ranks(c, _flat(c, mask))
        agree(c, values.shape[values.rank - 1 - after], found)
        before = c.viewed(flat, mask.shape)

    def chosen(i):
        k = before.at(i[lead:lead + mask.rank]) if before else "0"
        value = c.operand(values, [*i[:lead], k, *i[lead + mask.rank:]], a.dtype)
        return f"({mask.at(i[lead:lead + mask.rank])} ? {f'{a.at(i)} + ' * accumulate}{value} : {a.at(i)})"

    return c.fill(c.result(), chosen)


def _in_order(c, shape, dims, body) -> None:
    """`body` for every index of `shape`, one after the other along `dims`: where indices meet, the last one's value stays."""
    dims = list(dims)
    rest = [d for d in range(len(shape)) if d not in dims]

    def inner(at):
        c.maps([shape[d] for d in rest], lambda i: body([{**at, **dict(zip(rest, i))}[d] for d in range(len(shape))]))

    def loop(k, at):
        if k == len(dims):
            inner(at)
        else:
            c.in_order(shape[dims[k]], lambda t: loop(k + 1, {**at, dims[k]: t}))

    loop(0, {})


def _scattered(c, a: Value, dim: int, indices: Value, source, sign: str, start=None) -> Value:
    """`sign` "=" writes in order along `dim`. `start`: what is there first, a's elements unless said. Sums and products are as wide as they
    are carried."""
    _integers(indices)
    out = _begun(c, a, sign in ("+=", "*="), start)
    text = lambda i: c.operand(source, i, out.dtype)  # noqa: E731
    if a.rank == 0:  # one number, whatever the index
        c.maps(indices.shape, lambda i: c.line(f"{out.at([])} {sign} {text(i)}"))
        return out
    d = dim % a.rank
    write = lambda i: c.line(f"{out.at([*i[:d], place(indices, i, a.shape[d]), *i[d + 1:]])} {sign} {text(i)}")  # noqa: E731
    if sign == "=":
        _in_order(c, indices.shape, [d], write)
    else:
        c.maps(indices.shape, write)
    return out


@op("scatter.src", "scatter.value")
def scatter(c, a, dim, indices, source):
    return _scattered(c, a, dim, indices, source, "=")


@op("scatter_add")
def scatter_add(c, a, dim, indices, source):
    if a.dtype == "bool":
        raise UnsupportedError(f"scatter_add of {a.dtype}")
    return narrowed(c, _scattered(c, a, dim, indices, source, "+="), a.dtype)


_SIGNS = {"sum": "+=", "prod": "*=", "mean": "+=", "amax": "max=", "amin": "min="}
_START = {"sum": "0", "prod": "1", "mean": "0", "amax": "(-inf)", "amin": "inf"}


@op("scatter_reduce.two")
def scatter_reduce(c, a, dim, indices, source, reduce, include_self=True):
    if reduce not in _SIGNS or a.dtype not in FLOATS and not (include_self and reduce != "mean" and a.dtype in ("i32", "i64")):
        raise UnsupportedError(f"scatter_reduce of {a.dtype} by {reduce}, include_self={include_self}")
    if include_self and reduce != "mean":
        return narrowed(c, _scattered(c, a, dim, indices, source, _SIGNS[reduce]), a.dtype)
    d = dim % a.rank if a.rank else 0
    counts = c.new("i64", a.shape, "count")
    c.fill(counts, lambda i: "0")
    where = lambda i: [*i[:d], place(indices, i, a.shape[d]), *i[d + 1:]] if a.rank else []  # noqa: E731
    c.maps(indices.shape, lambda i: c.line(f"{counts.at(where(i))} += 1"))
    t = wide(a.dtype) if reduce in ("sum", "prod", "mean") else a.dtype
    start = None if include_self else lambda i: f"({counts.at(i)} == 0 ? {c.operand(a, i, t)} : {_START[reduce]})"
    out = _scattered(c, a, dim, indices, source, _SIGNS[reduce], start)
    if reduce != "mean":
        return narrowed(c, out, a.dtype)
    more = f"{t}(1)" if include_self else f"{t}(0)"
    return c.fill(c.new(a.dtype, out.shape), lambda i: cast(f"({out.at(i)} / max({t}({counts.at(i)}) + {more}, 1))", t, a.dtype))


def _spread(dim: int, indices: Value, source: Value) -> Value:
    """The index of each element of `source`, where there is one for each position along `dim`."""
    d = dim % source.rank if source.rank else 0
    return Value(indices.dtype, source.shape, lambda i: indices.at([i[d]] if indices.rank and source.rank else ["0"] * indices.rank))


@op("index_reduce")
def index_reduce(c, a, dim, indices, source, reduce, include_self=True):
    spread = _spread(dim, indices, source)
    return scatter_reduce(c, a, dim, spread, source, reduce, include_self)


def _flat(c, a: Value) -> Value:
    return c.viewed(a, [sizes.product(a.shape)])


@op("put")
def put(c, a, indices, source, accumulate=False):
    _integers(indices)
    out = _begun(c, a, accumulate)
    flat, n = _flat(c, out), sizes.product(a.shape)
    at, values = _flat(c, indices), _flat(c, source)
    write = lambda t, sign: c.line(f"{flat.at([place(at, [t], n)])} {sign} {c.operand(values, [t], out.dtype)}")  # noqa: E731
    if accumulate:
        c.maps(at.shape, lambda i: write(i[0], "+="))
    else:
        c.in_order(at.shape[0], lambda t: write(t, "="))
    return narrowed(c, out, a.dtype)


@op("masked_scatter")
def masked_scatter(c, a, mask, source):
    flat_mask = _flat(c, broadcast(mask, a.shape))
    (before, _), values, n = ranks(c, flat_mask), _flat(c, source), sizes.product(a.shape)
    old = _flat(c, a)
    out = c.fill(c.new(a.dtype, [n]), lambda i: f"({flat_mask.at(i)} ? {values.at([before.at(i)])} : {old.at(i)})")
    return c.viewed(out, c.shape)


@op("masked_scatter_backward")
def masked_scatter_backward(c, g, mask, size):
    n = sizes.product(c.shape)
    flat_mask = _flat(c, broadcast(mask, g.shape))
    (before, _), given = ranks(c, flat_mask), _flat(c, g)
    out = c.fill(c.new(g.dtype, [n]), lambda i: "0")  # each is added to once at most
    c.maps(given.shape, lambda i: c.line(f"{out.at([f'({flat_mask.at(i)} ? {before.at(i)} : {n})'])} ?? += {given.at(i)}"))
    return c.viewed(out, c.shape)


@op("index_add")
def index_add(c, a, dim, indices, source, alpha=1):
    if a.dtype == "bool":
        raise UnsupportedError(f"index_add of {a.dtype}")
    t = wide(a.dtype)
    scaled = source if alpha == 1 else Value(t, source.shape, lambda i: f"({c.operand(source, i, t)} * {c.operand(alpha, (), t)})")
    return narrowed(c, _scattered(c, a, dim, _spread(dim, indices, scaled), scaled, "+="), a.dtype)
