"""Products of matrices: sums of products, which the backend makes fast whatever their indices are."""

from __future__ import annotations


from ..errors import UnsupportedError
from .emit import Value, cast
from .reductions import narrowed, wide, widened
from .table import op


def product(c, shape, k, left, right, dtype: str, start=None, scale=None) -> Value:
    """out[i] = start(i) + scale * Σ_k left(i, k) right(i, k); the texts are of `dtype`."""
    t = wide(dtype)
    sum_ = c.new(t, shape)
    zero = c.operand(0, (), t)
    direct = scale in (None, 1)
    c.fill(sum_, lambda i: cast(start(i), dtype, t) if start and direct else zero)

    def body(i):
        c.line(f"{sum_.at(i[:-1])} += {cast(left(i[:-1], i[-1]), dtype, t)} * {cast(right(i[:-1], i[-1]), dtype, t)}")

    c.maps([*shape, k], body)
    if not direct:
        s = c.operand(scale, (), t)
        scaled = c.new(t, shape)
        sum_ = c.fill(scaled, lambda i, v=sum_: f"{s} * {v.at(i)}" + (f" + {cast(start(i), dtype, t)}" if start else ""))
    if t == dtype:
        return sum_
    return c.fill(c.new(dtype, shape), lambda i: cast(sum_.at(i), t, dtype))


def _matrix(c, a: Value, b: Value, start=None, scale=None) -> Value:
    batch = a.rank - 2
    return product(c, c.shape, a.shape[-1],
                   lambda i, k: a.at([*i[:batch], i[-2], k]), lambda i, k: b.at([*i[:batch], k, i[-1]]), a.dtype, start, scale)


@op("mm", "bmm")
def mm(c, a, b):
    return _matrix(c, a, b)


@op("addmm", "baddbmm")
def addmm(c, bias, a, b, beta=1, alpha=1):
    t = c.dtype
    if beta == 0:
        return _matrix(c, a, b, None, alpha)
    start = lambda i: c.operand(bias, i, t) if beta == 1 else f"{c.operand(beta, (), t)} * {c.operand(bias, i, t)}"  # noqa: E731
    return _matrix(c, a, b, start, alpha)


@op("addbmm")
def addbmm(c, bias, a, b, beta=1, alpha=1):
    """The products of a batch, added up."""
    t = c.dtype
    if wide(t) != t or t == "bool":
        raise UnsupportedError(f"addbmm of {t}")
    sums = c.fill(c.new(t, c.shape), lambda i: c.operand(0, (), t))
    c.maps([*c.shape, a.shape[0], a.shape[2]], lambda i: c.line(
        f"{sums.at(i[:2])} += {a.at([i[2], i[0], i[3]])} * {b.at([i[2], i[3], i[1]])}"))
    start = "" if beta == 0 else f" + {c.operand(beta, (), t)} * "
    return c.fill(c.result(), lambda i: f"{c.operand(alpha, (), t)} * {sums.at(i)}" + (start and start + c.operand(bias, i, t)))


@op("linear")
def linear(c, a, w, bias=None):
    start = (lambda i: bias.at([i[-1]])) if bias is not None else None
    if w.rank == 1:
        return product(c, c.shape, a.shape[-1], lambda i, k: a.at([*i, k]), lambda i, k: w.at([k]), a.dtype,
                       (lambda i: bias.at([])) if bias is not None else None)
    return product(c, c.shape, a.shape[-1], lambda i, k: a.at([*i[:-1], k]), lambda i, k: w.at([i[-1], k]), a.dtype, start)


@op("mv")
def mv(c, a, x):
    return product(c, c.shape, a.shape[-1], lambda i, k: a.at([i[0], k]), lambda i, k: x.at([k]), a.dtype)


@op("addmv")
def addmv(c, bias, a, x, beta=1, alpha=1):
    t = c.dtype
    start = lambda i: f"{c.operand(beta, (), t)} * {c.operand(bias, i, t)}"  # noqa: E731
    return product(c, c.shape, a.shape[-1], lambda i, k: a.at([i[0], k]), lambda i, k: x.at([k]), a.dtype, None if beta == 0 else start, alpha)


@op("dot", "vdot")
def dot(c, a, b):
    if c.dtype in ("c64", "c128") and "vdot" in c.target:
        raise UnsupportedError("vdot of complex numbers")
    return product(c, (), a.shape[0], lambda i, k: a.at([k]), lambda i, k: b.at([k]), a.dtype)


# ---- attention as PyTorch's CPU kernel has it: (output, logarithm of the sum of exponentials) ----
def _scores(c, q, k, mask, scale, causal):
    """Shape [N, H, L, S] and the text of a scaled, masked product; None where nothing is kept."""
    n, h, l, e = q.shape
    s = k.shape[2]
    t = wide(q.dtype)
    raw = c.new(t, (n, h, l, s), "scores")
    c.fill(raw, lambda i: c.operand(0, (), t))
    c.maps([n, h, l, s, e], lambda i: c.line(f"{raw.at(i[:4])} += {c.operand(q, [i[0], i[1], i[2], i[4]], t)} * "
                                             f"{c.operand(k, [i[0], i[1], i[3], i[4]], t)}"))
    factor = c.operand(scale, (), t) if scale is not None else f"(1 / sqrt({t}({e})))"

    def text(i):
        x = f"{raw.at(i)} * {factor}"
        if mask is not None:
            x = f"{x} + {c.operand(mask, i, t)}"
        return f"({i[3]} <= {i[2]} ? {x} : -inf)" if causal else f"({x})"

    return t, c.fill(c.new(t, (n, h, l, s), "scores"), text), factor


@op("_scaled_dot_product_flash_attention_for_cpu")
def attention(c, q, k, v, dropout=0.0, is_causal=False, attn_mask=None, scale=None):
    if dropout:
        raise UnsupportedError("attention with dropout")
    t, x, _ = _scores(c, q, k, attn_mask, scale, is_causal)
    n, h, l, s = x.shape
    top = c.new(t, (n, h, l))
    c.fill(top, lambda i: "(-inf)")
    c.maps(x.shape, lambda i: c.line(f"{top.at(i[:3])} max= {x.at(i)}"))
    sum_ = c.new(t, (n, h, l))
    c.fill(sum_, lambda i: "0")
    c.maps(x.shape, lambda i: c.line(f"{sum_.at(i[:3])} += exp({x.at(i)} - {top.at(i[:3])})"))
    lse = c.fill(c.new(t, (n, h, l), "lse"), lambda i: f"{top.at(i)} + log({sum_.at(i)})")
    p = c.fill(c.new(t, x.shape, "weights"), lambda i: f"exp({x.at(i)} - {lse.at(i[:3])})")
    out = c.new(t, (n, h, l, v.shape[3]))
    c.fill(out, lambda i: "0")
    c.maps([*out.shape, s], lambda i: c.line(f"{out.at(i[:4])} += {p.at([*i[:3], i[4]])} * {c.operand(v, [i[0], i[1], i[4], i[3]], t)}"))
    return out if t == q.dtype else c.fill(c.new(q.dtype, out.shape), lambda i: cast(out.at(i), t, q.dtype)), lse


@op("_scaled_dot_product_flash_attention_for_cpu_backward")
def attention_backward(c, g, q, k, v, out, lse, dropout, is_causal, attn_mask=None, scale=None):
    if dropout:
        raise UnsupportedError("the gradient of attention with dropout")
    given = q.dtype
    g, q, k, v, out = (widened(c, a) for a in (g, q, k, v, out))
    t, x, factor = _scores(c, q, k, attn_mask, scale, is_causal)
    p = c.fill(c.new(t, x.shape, "weights"), lambda i: f"exp({x.at(i)} - {lse.at(i[:3])})")

    def sums(shape, extent, text):
        y = c.new(t, shape)
        c.fill(y, lambda i: "0")
        c.maps([*shape, extent], lambda i: c.line(f"{y.at(i[:-1])} += {text(i)}"))
        return y

    n, h, l, s = x.shape
    e, ev = q.shape[3], v.shape[3]
    dv = sums(v.shape, l, lambda i: f"{p.at([i[0], i[1], i[4], i[2]])} * {g.at([i[0], i[1], i[4], i[3]])}")
    dp = sums(x.shape, ev, lambda i: f"{g.at([i[0], i[1], i[2], i[4]])} * {v.at([i[0], i[1], i[3], i[4]])}")
    delta = sums((n, h, l), ev, lambda i: f"{g.at(i)} * {out.at(i)}")
    ds = c.fill(c.new(t, x.shape), lambda i: f"{p.at(i)} * ({dp.at(i)} - {delta.at(i[:3])}) * {factor}")
    dq = sums(q.shape, s, lambda i: f"{ds.at([i[0], i[1], i[2], i[4]])} * {k.at([i[0], i[1], i[4], i[3]])}")
    dk = sums(k.shape, l, lambda i: f"{ds.at([i[0], i[1], i[4], i[2]])} * {q.at([i[0], i[1], i[4], i[3]])}")
    return tuple(narrowed(c, d, given) for d in (dq, dk, dv))


@op("_trilinear")
def trilinear(c, a, b, w, expand_a, expand_b, expand_w, summed, unroll=1):
    """Σ a b w over the dimensions `summed`, after each got dimensions of extent 1 at its `expand`."""
    t = c.dtype
    if wide(t) != t:
        raise UnsupportedError(f"_trilinear of {t}")
    factors = [(v, set(expand)) for v, expand in ((a, expand_a), (b, expand_b), (w, expand_w))]
    rank = a.rank + len(expand_a)
    extents: list = [1] * rank
    for v, expand in factors:
        for d, s in zip([d for d in range(rank) if d not in expand], v.shape):
            extents[d] = s if s != 1 else extents[d]

    def element(v, expand, i):
        own = [i[d] for d in range(rank) if d not in expand]
        return v.at(["0" if s == 1 else x for x, s in zip(own, v.shape)])

    kept = [d for d in range(rank) if d not in summed]
    out = c.fill(c.result(), lambda i: c.operand(0, (), t))

    def body(i):
        at = dict(zip([*kept, *summed], i))
        where = [at[d] for d in range(rank)]
        c.line(f"{out.at(i[:len(kept)])} += " + " * ".join(element(v, expand, where) for v, expand in factors))

    c.maps([extents[d] for d in [*kept, *summed]], body)
    return out
