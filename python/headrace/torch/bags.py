"""Bags of embeddings: sums, means and maxima of rows of a table, bag by bag."""

from __future__ import annotations

from ..errors import UnsupportedError
from .emit import HALVES, Value
from .table import op

SUM, MEAN, MAX = range(3)


@op("_embedding_bag", "_embedding_bag_forward_only")
def embedding_bag(c, weight, indices, offsets, scale_grad_by_freq=False, mode=SUM, sparse=False, per_sample_weights=None,
                  include_last_offset=False, padding_idx=-1):
    """The first result: [bags, width]. The others are for eager's backward pass; bags without rows are 0."""
    if weight.dtype in HALVES or scale_grad_by_freq or sparse:
        raise UnsupportedError(f"{c.target} of {weight.dtype}" + (" with gradients by frequency" if scale_grad_by_freq else "")
                               + (" with sparse gradients" if sparse else ""))
    bag = _bags(c, indices, offsets)
    rows, width = weight.shape
    padding = padding_idx % rows if isinstance(rows, int) and padding_idx >= 0 else padding_idx
    counts = lambda k: "true" if padding_idx < 0 else f"({indices.at([k])} != {padding})"  # noqa: E731
    row = lambda k: f"i64({indices.at([k])})"  # noqa: E731
    n, out = indices.shape[0], c.new(c.types[0], c.shapes[0], "bags")
    zero = c.operand(0, (), weight.dtype)
    if mode == MAX:
        return _maxima(c, weight, out, n, bag, row, counts), None, None, None
    c.fill(out, lambda i: zero)
    factor = lambda k: "" if per_sample_weights is None else f" * {per_sample_weights.at([k])}"  # noqa: E731
    c.maps([n, width], lambda i: c.line(
        f"{out.at([bag.at(i[:1]), i[1]])} += ({counts(i[0])} ? {weight.at([row(i[0]), i[1]])}{factor(i[0])} : {zero})"))
    if mode == MEAN:
        size = c.fill(c.new("i64", out.shape[:1], "size"), lambda i: "0")
        c.maps([n], lambda i: c.line(f"{size.at([bag.at(i)])} += ({counts(i[0])} ? 1 : 0)"))
        sums, out = out, c.new(c.types[0], c.shapes[0], "means")
        c.fill(out, lambda i: f"{sums.at(i)} / {weight.dtype}(max({size.at(i[:1])}, 1))")
    return out, None, None, None


def _bags(c, indices: Value, offsets: Value) -> Value:
    """Which bag each index is in: how many of the later bags have begun."""
    n, count = indices.shape[0], offsets.shape[0]
    begun = c.fill(c.new("i64", [f"{n} + 1" if isinstance(n, str) else n + 1], "begun"), lambda i: "0")
    c.maps([f"1:{count}"], lambda i: c.line(f"{begun.at([f'i64({offsets.at(i)})'])} += 1"))
    bag, so_far = c.new("i64", [n], "bag"), c.new("i64", (), "so_far")
    c.line(f"{so_far.name} = 0")

    def step(k: str) -> None:
        c.line(f"{so_far.name} = {so_far.name} + {begun.at([k])}")
        c.line(f"{bag.at([k])} = {so_far.name}")

    c.in_order(n, step)
    return bag


def _maxima(c, weight: Value, out: Value, n, bag: Value, row, counts) -> Value:
    """By the place of each: gradients go to the first row that has the largest number."""
    best = c.fill(c.new("i64", out.shape, "best"), lambda i: "(-1)")

    def step(k: str) -> None:
        def better(j: str) -> str:
            held = best.at([bag.at([k]), j])
            larger = f"{weight.at([row(k), j])} > {weight.at([f'max({held}, 0)', j])}"
            return f"({counts(k)} && ({held} < 0 || {larger}) ? {row(k)} : {held})"

        c.maps(weight.shape[1:], lambda j: c.line(f"{best.at([bag.at([k]), *j])} = {better(j[0])}"))

    c.in_order(n, step)
    zero = c.operand(0, (), weight.dtype)
    return c.fill(out, lambda i: f"({best.at(i)} < 0 ? {zero} : {weight.at([f'max({best.at(i)}, 0)', i[1]])})")
