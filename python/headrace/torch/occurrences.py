"""What occurs in a tensor, and how often: unique, bincount. How many results there are is a size that data decide."""

from __future__ import annotations

from ..errors import UnsupportedError
from . import sizes
from .emit import Value, cast
from .masks import agree, ranks
from .sorting import comparable, ordered
from .table import op


@op("_unique2")
def unique(c, a, sorted=True, return_inverse=False, return_counts=False):
    """Each element that occurs, in ascending order."""
    flat = c.viewed(comparable(c, a), [sizes.product(a.shape)])
    values, where = ordered(c, flat, 0, False)
    return _runs(c, a, values, lambda k: where.at([k]), return_inverse, return_counts)


@op("unique_consecutive")
def unique_consecutive(c, a, return_inverse=False, return_counts=False, dim=None):
    if dim is not None and a.rank != 1:
        raise UnsupportedError("unique_consecutive along a dimension\nhint: torch.unique(x, dim=…)")
    flat = c.viewed(comparable(c, a), [sizes.product(a.shape)])
    return _runs(c, a, flat, lambda k: k, return_inverse, return_counts)


def _runs(c, a: Value, values: Value, where, return_inverse: bool, return_counts: bool) -> tuple:
    """One of each run of equal elements; the k-th was at where(k)."""
    n = values.shape[0]
    begins = c.fill(c.new("bool", [n], "begins"), lambda i: f"({i[0]} == 0 || {values.at(i)} != {values.at([f'max({i[0]} - 1, 0)'])})")
    before, found = ranks(c, begins)
    count = c.shapes[0][0]
    agree(c, count, found)
    out = c.new(c.types[0], [count], "unique")
    c.maps([n], lambda i: c.line(
        f"{out.at([f'({begins.at(i)} ? {before.at(i)} : {count})'])} ?? = {cast(values.at(i), values.dtype, out.dtype)}"))
    group = lambda i: f"({before.at(i)} + ({begins.at(i)} ? 0 : -1))"  # noqa: E731
    inverse = None
    if return_inverse:
        flat = c.new("i64", [n], "inverse")
        c.maps([n], lambda i: c.line(f"{flat.at([where(i[0])])} = {group(i)}"))
        inverse = c.viewed(flat, a.shape)
    return out, inverse, _counted(c, count, n, group) if return_counts else None


def _counted(c, count, n, group) -> Value:
    counts = c.fill(c.new("i64", [count], "counts"), lambda i: "0")
    c.maps([n], lambda i: c.line(f"{counts.at([group(i)])} += 1"))
    return counts


@op("unique_dim")
def unique_dim(c, a, dim, sorted=True, return_inverse=False, return_counts=False):
    """Each slice along a dimension that occurs, in the order of their elements: every two are compared."""
    x, d = comparable(c, a), dim % a.rank
    n, rest = a.shape[d], [s for k, s in enumerate(a.shape) if k != d]
    flat = c.new(x.dtype, [n, sizes.product(rest)], "slices")
    rows = c.viewed(flat, [n, *rest])
    c.fill(rows, lambda i: x.at([*i[1:d + 1], i[0], *i[d + 1:]]))
    order = c.fill(c.new("i64", [n, n], "order"), lambda i: "0")

    def compare(t):
        def text(i):
            left, right = flat.at([i[0], t]), flat.at([i[1], t])
            return f"({order.at(i)} != 0 ? {order.at(i)} : {left} < {right} ? -1 : {left} == {right} ? 0 : 1)"

        c.fill(order, text)

    c.in_order(flat.shape[1], compare)
    earlier = c.fill(c.new("i64", [n], "earlier"), lambda i: "0")
    c.maps([n, n], lambda i: c.line(f"{earlier.at(i[:1])} += ({i[1]} < {i[0]} && {order.at(i)} == 0 ? 1 : 0)"))
    group, found = c.fill(c.new("i64", [n], "group"), lambda i: "0"), c.fill(c.new("i64", (), "found"), lambda i: "0")
    c.maps([n, n], lambda i: c.line(f"{group.at(i[:1])} += ({earlier.at(i[1:])} == 0 && {order.at(i)} > 0 ? 1 : 0)"))
    c.maps([n], lambda i: c.line(f"{found.at([])} += ({earlier.at(i)} == 0 ? 1 : 0)"))
    count = c.shapes[0][d]
    agree(c, count, found)
    out = c.new(c.types[0], c.shapes[0], "unique")
    place = lambda i: f"({earlier.at(i[:1])} == 0 ? {group.at(i[:1])} : {count})"  # noqa: E731
    c.maps([n, *rest], lambda i: c.line(
        f"{out.at([*i[1:d + 1], place(i), *i[d + 1:]])} ?? = {cast(rows.at(i), x.dtype, out.dtype)}"))
    return out, group, _counted(c, count, n, lambda i: group.at(i))


@op("bincount")
def bincount(c, a, weights=None, minlength=0):
    """How often, or with which weights, each number occurs: as many as the largest one, or `minlength`, asks for."""
    number = lambda i: cast(a.at(i), a.dtype, "i64")  # noqa: E731
    most, least = c.fill(c.new("i64", (), "most"), lambda i: "(-1)"), c.fill(c.new("i64", (), "least"), lambda i: "0")
    c.maps(a.shape, lambda i: c.line(f"{most.at([])} max= {number(i)}"))
    c.maps(a.shape, lambda i: c.line(f"{least.at([])} min= {number(i)}"))
    lowest = c.fresh("lowest")
    c.line(f"let {lowest} = {least.at([])}")
    c.line(f'require {lowest} >= 0 else "bincount only supports 1-d non-negative integral inputs."')
    agree(c, c.shape[0], c.fill(c.new("i64", (), "bins"), lambda i: f"max({most.at([])} + 1, {c.operand(minlength, [], 'i64')})"))
    out = c.fill(c.result(), lambda i: "0")
    c.maps(a.shape, lambda i: c.line(f"{out.at([number(i)])} += {'1' if weights is None else c.operand(weights, i, out.dtype)}"))
    return out
