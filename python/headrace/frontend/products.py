"""Products of arrays: einsum and what is written by it."""

from __future__ import annotations

import string

import numpy as np

from . import elementwise
from .arrays import normal
from .emitter import Emitter
from .sizes import atom
from .values import Array, Value, broadcast, broadcast_shapes, strong, value_of


def _spelled_out(spec: str, ranks: list[int]) -> str:
    """With letters for what an ellipsis stands for."""
    left, arrow, out = spec.partition("->")
    terms = left.split(",")
    own = [n - len(t.replace("...", "")) if "..." in t else 0 for t, n in zip(terms, ranks)]
    free = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" if c not in spec]
    if min(own, default=0) < 0:
        raise ValueError(f"einsum: '{spec}' has more indices than its arrays have dimensions")
    letters = "".join(free[: max(own, default=0)])
    if not arrow:
        inside = left.replace("...", "").replace(",", "")
        out = "..." + "".join(sorted(c for c in set(inside) if inside.count(c) == 1))
    spelled = [t.replace("...", letters[len(letters) - k:]) for t, k in zip(terms, own)]
    return ",".join(spelled + terms[len(spelled):]) + "->" + out.replace("...", letters)


def in_letters(*given) -> tuple[str, list]:
    """np.einsum(a, [0, 1], b, [1, 2], [0, 2]) as its text and operands."""
    def term(places) -> str:
        if not isinstance(places, (list, tuple)) or not all(p is Ellipsis or isinstance(p, int) and 0 <= p < 52 for p in places):
            raise TypeError("einsum takes a text such as 'ij,jk->ik', or arrays each of which a list of numbers below 52 follows")
        return "".join("..." if p is Ellipsis else string.ascii_letters[p] for p in places)

    out = f"->{term(given[-1])}" if len(given) % 2 else ""
    pairs = given[: len(given) // 2 * 2]
    return ",".join(map(term, pairs[1::2])) + out, list(pairs[::2])


def einsum(e: Emitter, spec: str, *operands, hint: str = "product"):
    spec = spec.replace(" ", "")
    if "..." in spec:
        spec = _spelled_out(spec, [value_of(o).ndim for o in operands])
    left, arrow, out = spec.partition("->")
    terms = left.split(",")
    if not arrow:
        letters = left.replace(",", "")
        out = "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    if len(terms) != len(operands):
        raise ValueError(f"einsum: {len(terms)} terms for {len(operands)} operands")
    extents: dict = {}
    values = [value_of(o) for o in operands]
    for term, v in zip(terms, values):
        if len(term) != v.ndim:
            raise ValueError(f"einsum: '{term}' has {len(term)} indices for an array of {v.ndim} dimensions")
        for c, size in zip(term, v.shape):
            if extents.setdefault(c, size) == 1:
                extents[c] = size
            elif size not in (1, extents[c]):  # NumPy repeats what has one element
                raise ValueError(f"einsum: index {c} runs over {extents[c]} and over {size}")
    if strange := [c for c in out if c not in extents]:
        raise ValueError(f"einsum: the result has the index {strange[0]}, which no operand has")
    if len(values) > 2 and (path := _path(terms, out, values)) is not None:
        return _pairwise(e, terms, out, values, path)
    if len(values) == 1 and not set(terms[0]) - set(out):
        return _reordered(values[0].place(), terms[0], out, extents)
    dtype = np.result_type(*[v.dtype for v in values])
    if dtype.kind == "b":  # whether any product is true
        counts = einsum(e, spec, *[elementwise.cast(e, v, np.int64) for v in values])
        return elementwise.apply(e, "not_equal", counts, 0)
    values = [e.settled(v) for v in values]
    summed = sorted(set("".join(terms)) - set(out))
    target = e.transient(dtype, [extents[c] for c in out], hint)

    def text(places: dict) -> str:
        return "*".join(atom(e.expression(v, ["0" if size == 1 else places[c] for c, size in zip(term, v.shape)], dtype)) for term, v in zip(terms, values))

    if not summed:
        e.maps(target.shape, lambda i: e.write(target, i, text(dict(zip(out, i)))))
        return target
    e.fill(target, 0)
    order = list(out) + summed
    e.maps([extents[c] for c in order],
           lambda i: e.write(target, i[: len(out)], text(dict(zip(order, i))), "+="))
    return target


def _reordered(v: Value, term: str, out: str, extents: dict) -> Value:
    """Dimensions in another order, or diagonals: a view."""
    places, shape = [out.index(c) for c in term], [extents[c] for c in out]
    if isinstance(v, Array):
        return v.view(shape, [d.renumbered(places) for d in v.dims])
    return Value(v.dtype, shape, lambda i: v.at([i[k] for k in places]))


_OPEN = 100  # what a size that is not known counts as


def _path(terms: list[str], out: str, values: list) -> list[tuple] | None:
    """Which operands are multiplied first, where that takes fewer products than all at once."""
    sizes = {c: n if isinstance(n, int) else _OPEN for term, v in zip(terms, values) for c, n in zip(term, v.shape) if n != 1}
    if any(len(set(t)) < len(t) for t in terms):
        return None
    shapes = [np.broadcast_to(0.0, [sizes.get(c, 1) for c in t]) for t in terms]
    path = np.einsum_path(",".join(terms) + "->" + out, *shapes, optimize="greedy")[0][1:]
    return path if len(path) > 1 else None


def _pairwise(e: Emitter, terms: list[str], out: str, values: list, path: list[tuple]):
    terms, values = list(terms), list(values)
    for k, chosen in enumerate(path):
        taken = [(terms[n], values[n]) for n in chosen]
        rest = [n for n in range(len(terms)) if n not in chosen]
        terms, values = [terms[n] for n in rest], [values[n] for n in rest]
        read = set("".join([out, *terms]))
        made = out if k == len(path) - 1 else "".join(dict.fromkeys(c for t, _ in taken for c in t if c in read))
        values.append(einsum(e, ",".join(t for t, _ in taken) + "->" + made, *[v for _, v in taken]))
        terms.append(made)
    return values[0]


def matmul(e: Emitter, a, b):
    a, b = value_of(a), value_of(b)
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError("matmul: an operand has no dimensions")
    inner = (a.shape[-1], b.shape[-2] if b.ndim > 1 else b.shape[0])
    if inner[0] != inner[1]:
        raise ValueError(f"matmul: the inner sizes {inner[0]} and {inner[1]} are not known to be equal")
    if a.ndim <= 2 and b.ndim <= 2:
        left, right = "ik"[2 - a.ndim:], "kj"[: b.ndim]
        return einsum(e, f"{left},{right}->" + left[:-1] + right[1:], a, b)
    batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    letters = "abcdefg"[: len(batch)]
    a = broadcast(a, (*batch, *a.shape[-2:])) if a.ndim > 1 else a
    b = broadcast(b, (*batch, *b.shape[-2:])) if b.ndim > 1 else b
    left = letters + "ik" if a.ndim > 1 else "k"
    right = letters + "kj" if b.ndim > 1 else "k"
    out = letters + ("i" if a.ndim > 1 else "") + ("j" if b.ndim > 1 else "")
    return einsum(e, f"{left},{right}->{out}", a, b)


def dot(e: Emitter, a, b):
    a_, b_ = value_of(a), value_of(b)
    if a_.ndim == 0 or b_.ndim == 0:
        return elementwise.apply(e, "multiply", strong(a), strong(b))
    if b_.ndim <= 2 and a_.ndim <= 2:
        return matmul(e, a, b)
    return tensordot(e, a, b, ([a_.ndim - 1], [max(b_.ndim - 2, 0)]))


def tensordot(e: Emitter, a, b, axes=2):
    a, b = value_of(a), value_of(b)
    if isinstance(axes, int):
        axes = (list(range(a.ndim - axes, a.ndim)), list(range(axes)))
    left, right = ([normal(k, v.ndim) for k in (x if isinstance(x, (list, tuple)) else [x])] for x, v in zip(axes, (a, b)))
    names = iter("abcdefghijklmnopqrstuvwxyz")
    first = [next(names) for _ in range(a.ndim)]
    second = [first[left[right.index(k)]] if k in right else next(names) for k in range(b.ndim)]
    out = [c for k, c in enumerate(first) if k not in left] + [c for k, c in enumerate(second) if k not in right]
    return einsum(e, f"{''.join(first)},{''.join(second)}->{''.join(out)}", a, b)

