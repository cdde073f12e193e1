"""Masks as indices: how many elements are chosen is a size that data decide, `let u0 = …` in the program."""

from __future__ import annotations

from ..errors import UnsupportedError
from . import sizes
from .emit import Value, cast
from .movement import broadcast, broadcast_shape
from .table import op


def ranks(c, mask: Value) -> tuple[Value, Value]:
    """Of each element of a flat mask, how many before it are set; and how many are in all."""
    n = mask.shape[0]
    before = c.new("i64", [n], "before")
    found = c.new("i64", (), "found")
    c.fill(found, lambda i: "0")

    def count(t):
        c.line(f"{before.at([t])} = {found.at([])}")
        c.line(f"{found.at([])} = {found.at([])} + ({c.operand(mask, [t], 'bool')} ? 1 : 0)")

    c.in_order(n, count)
    return before, found


def agree(c, count: int | str | None, found: Value) -> int | str:
    """`count`, as torch calls it, is what `found` holds: from here on, or, where it is a number or the size of something else, this
    is asked for. None: torch has no name for it."""
    if count is None:
        count = c.fresh("chosen")
        c.decided.add(count)
        c.line(f"let {count} = {found.at([])}")
        return count
    if sizes.of_data(count) == {count} and count not in c.decided:
        c.decided.add(count)
        c.line(f"let {count} = {found.at([])}")
        return count
    have = c.fresh("chosen_count")
    c.line(f"let {have} = {found.at([])}")
    c.line(f'require {have} == {count} else "{{}} elements are chosen where {{}} are needed", {have}, {count}')
    return count


def places(c, mask: Value, count: int | str | None) -> list[Value]:
    """The indices of the elements that are set, `count` of them: one tensor for each dimension."""
    if mask.rank == 0:
        raise UnsupportedError("a mask of one number as an index\nhint: torch.where(mask, x, y) chooses between two tensors")
    flat = c.viewed(Value("bool", mask.shape, lambda i: cast(mask.at(i), mask.dtype, "bool")), [sizes.product(mask.shape)])
    before, found = ranks(c, flat)
    count = agree(c, count, found)
    chosen = c.new("i64", [count], "chosen")
    c.maps(flat.shape, lambda i: c.line(f"{chosen.at([f'({flat.at(i)} ? {before.at(i)} : {count})'])} ?? = {i[0]}"))

    def along(d: int) -> Value:
        below = sizes.product(mask.shape[d + 1:])
        part = f" // {below}" if below != 1 else ""
        whole = f" % {mask.shape[d]}" if d else ""
        return Value("i64", [count], lambda i: f"(({chosen.at(i)}{part}){whole})")

    return [along(d) for d in range(mask.rank)]


def indices_of(c, indices: list, shape) -> list:
    """Indices with the places of masks instead of these. `shape`: of what is read with them."""
    if all(v is None or v.dtype != "bool" for v in indices):
        return indices
    dims, d = [], 0
    for v in indices:
        taken = v.rank if v is not None and v.dtype == "bool" else 1
        dims += range(d, d + taken) if v is not None else []
        d += taken
    lead = dims[0] if dims == list(range(dims[0], dims[-1] + 1)) else 0
    rank = max(1 if v.dtype == "bool" else v.rank for v in indices if v is not None)
    return [w for v in indices for w in (places(c, v, shape[lead + rank - 1]) if v is not None and v.dtype == "bool" else [v])]


def written_to(c, indices: list) -> list:
    """The same for indices of what is written: how many there are, the other indices tell, or nobody."""
    count = next((v.shape[0] for v in indices if v is not None and v.dtype != "bool" and v.rank == 1 and v.shape[0] != 1), None)
    made: list = []
    for v in indices:
        if v is not None and v.dtype == "bool":
            v = places(c, v, count)
            count = v[0].shape[0]
            made += v
        else:
            made.append(v)
    return made


@op("nonzero")
def nonzero(c, a):
    out = c.result()
    for d, v in enumerate(places(c, a, c.shape[0])):
        c.maps([c.shape[0]], lambda i, d=d, v=v: c.line(f"{out.at([i[0], str(d)])} = {v.at(i)}"))
    return out


@op("masked_select")
def masked_select(c, a, mask):
    both = broadcast_shape([a.shape, mask.shape])
    where = places(c, broadcast(mask, both), c.shape[0])
    given = broadcast(a, both)
    return c.fill(c.result(), lambda i: given.at([v.at(i) for v in where]))


@op("repeat_interleave.Tensor")
def repeat_interleave(c, repeats, output_size=None):
    """Each index as often as its number says: as many as end at or before a place."""
    n, total = repeats.shape[0], c.shape[0]
    found, ends = c.new("i64", (), "found"), c.new("i64", [n], "ends")
    c.fill(found, lambda i: "0")

    def add(t):
        c.line(f"{found.at([])} = {found.at([])} + {cast(repeats.at([t]), repeats.dtype, 'i64')}")
        c.line(f"{ends.at([t])} = {found.at([])}")

    c.in_order(n, add)
    least = c.fill(c.new("i64", (), "least"), lambda i: "0")
    c.maps([n], lambda i: c.line(f"{least.at([])} min= {cast(repeats.at(i), repeats.dtype, 'i64')}"))
    lowest = c.fresh("lowest")
    c.line(f"let {lowest} = {least.at([])}")
    c.line(f'require {lowest} >= 0 else "repeats can not be negative"')
    agree(c, total, found)
    ended, out = c.fill(c.new("i64", [total], "ended"), lambda i: "0"), c.result()
    c.maps([n], lambda i: c.line(f"{ended.at([ends.at(i)])} ?? += 1"))
    now = c.fill(c.new("i64", (), "now"), lambda i: "0")

    def count(t):
        c.line(f"{now.at([])} = {now.at([])} + {ended.at([t])}")
        c.line(f"{out.at([t])} = {cast(now.at([]), 'i64', out.dtype)}")

    c.in_order(total, count)
    return out
