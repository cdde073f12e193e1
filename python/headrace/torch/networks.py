"""Layers: convolution, pooling, normalisation, softmax, embedding, recurrence."""

from __future__ import annotations

from ..errors import UnsupportedError
from . import sizes
from .emit import FLOATS, Value, cast
from .movement import extent
from .reductions import Axes, accumulate, gathered, moments, narrowed, total, wide
from .table import op


def _list(v, n: int, default=None) -> list:
    if isinstance(v, int):
        v = [v]
    v = [extent(x) for x in v] if v else ([] if default is None else [default] * n)
    return v * n if len(v) == 1 and n > 1 else v


def _require_floats(v: Value, what: str) -> None:
    if v.dtype not in FLOATS:
        raise UnsupportedError(f"{what} of {v.dtype}")


# ---- convolution ----
def _window(stride, padding, dilation, n) -> dict:
    p = _list(padding, n)
    return {"strides": _list(stride, n), "pads": [*p, *p], "dilations": _list(dilation, n)}


@op("convolution")
def convolution(c, x, w, bias, stride, padding, dilation, transposed, output_padding, groups):
    _require_floats(x, "convolution")
    n = x.rank - 2
    attributes = {**_window(stride, padding, dilation, n), "group": groups}
    if transposed:
        attributes["output_padding"] = _list(output_padding, n)
    out = c.result()
    inputs = {"X": x, "W": w}
    if bias is not None:
        inputs["B"] = bias
    c.node("onnx.ConvTranspose" if transposed else "onnx.Conv", attributes, inputs, {"Y": out})
    return out


@op("convolution_backward")
def convolution_backward(c, g, x, w, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, mask):
    _require_floats(x, "convolution")
    n = x.rank - 2
    attributes = {"domain": "onnx", **_window(stride, padding, dilation, n), "group": groups}
    if transposed:
        attributes["output_padding"] = _list(output_padding, n)
    dx, dw = (c.new(v.dtype, v.shape) if m else None for v, m in zip((x, w), mask))
    outputs = {port: v for port, v in (("grad_X", dx), ("grad_W", dw)) if v is not None}
    if outputs:
        c.node("grad.ConvTranspose" if transposed else "grad.Conv", attributes, {"X": x, "W": w, "grad_Y": g}, outputs)
    db = None
    if mask[2]:
        axes = Axes(g, [d for d in range(g.rank) if d != 1], False)
        db = narrowed(c, total(c, axes, g, g.dtype), g.dtype)
    return dx, dw, db


# ---- normalisation ----
def _scaled(c, x: Value, mu, r, weight, bias, t: str, index) -> Value:
    """(x - mu) * r * weight + bias; `mu` and `r` give texts for an index of x, `index` what of it weights read."""

    def text(i):
        y = f"({c.operand(x, i, t)} - {mu(i)}) * {r(i)}"
        if weight is not None:
            y = f"{y} * {cast(weight.at(index(i)), weight.dtype, t)}"
        if bias is not None:
            y = f"{y} + {cast(bias.at(index(i)), bias.dtype, t)}"
        return cast(f"({y})", t, x.dtype)

    return c.fill(c.new(x.dtype, x.shape), text)


def _statistics(c, *values: Value) -> tuple:
    """The results after the first one as torch has them: in the type that it declares, None where nobody reads them."""
    return tuple(narrowed(c, v, c.types[k]) if c.used(k) else None for k, v in enumerate(values, 1))


def _channels(x: Value) -> Axes:
    return Axes(x, [d for d in range(x.rank) if d != 1], False)


def _channel_moments(c, x: Value, t: str) -> tuple[Value, Value]:
    """Mean and variance of each channel, in `t`."""
    axes = _channels(x)
    if x.dtype != t:
        return moments(c, axes, x, t)
    mu, v = c.new(t, axes.shape, "mean"), c.new(t, axes.shape, "var")
    c.node("train.ChannelMoments", {}, {"X": x}, {"mean": mu, "variance": v})
    return mu, v


@op("_native_batch_norm_legit_no_training")
def batch_norm_inference(c, x, weight, bias, mean, var, momentum, eps):
    t = wide(x.dtype)
    r = c.fill(c.new(t, mean.shape), lambda i: f"1 / sqrt({c.operand(var, i, t)} + {c.operand(eps, (), t)})")
    y = _scaled(c, x, lambda i: c.operand(mean, [i[1]], t), lambda i: r.at([i[1]]), weight, bias, t, lambda i: [i[1]])
    return y, None, None


@op("_native_batch_norm_legit_functional", "_native_batch_norm_legit.no_stats", "native_batch_norm", "_batch_norm_with_update_functional")
def batch_norm(c, x, weight, bias, *rest):
    if "no_stats" in c.target:
        (training, momentum, eps), mean, var = rest, None, None
    elif "update" in c.target:
        (mean, var, momentum, eps), training = rest, True
    else:
        mean, var, training, momentum, eps = rest
    if not training:
        y = batch_norm_inference(c, x, weight, bias, mean, var, momentum, eps)[0]
        return (y, None, None, mean, var) if "functional" in c.target else (y, None, None)
    if "native_batch_norm.default" in c.target and mean is not None:
        raise UnsupportedError("native_batch_norm that updates its arguments")
    t = wide(x.dtype)
    axes = _channels(x)
    mu, v = _channel_moments(c, x, t)
    r = c.fill(c.new(t, mu.shape), lambda i: f"1 / sqrt({v.at(i)} + {c.operand(eps, (), t)})")
    y = _scaled(c, x, axes.of(mu), axes.of(r), weight, bias, t, lambda i: [i[1]])
    if "functional" not in c.target:
        return y, *_statistics(c, mu, r)
    keep, take = c.operand(1 - momentum, (), t), c.operand(momentum, (), t)
    unbiased = f"{t}({axes.count}) / max({t}({axes.count}) - 1, 1)"
    updated = []
    for k, (old, text) in enumerate(((mean, mu.at), (var, lambda i: f"{v.at(i)} * ({unbiased})")), -2):
        updated.append(None if old is None else c.fill(c.new(c.types[k], old.shape), lambda i: cast(
            f"({c.operand(old, i, t)} * {keep} + {text(i)} * {take})", t, c.types[k])))  # noqa: B023: used at once
    saved = _statistics(c, mu, r)
    return (y, *saved, *updated) if "update" not in c.target else (y, *saved, None, *updated)


@op("native_layer_norm")
def layer_norm(c, x, shape, weight, bias, eps):
    _require_floats(x, "layer_norm")
    t = wide(x.dtype)
    axes = Axes(x, list(range(x.rank - len(shape), x.rank)), True)
    mu, v = moments(c, axes, x, t)
    r = c.fill(c.new(t, mu.shape, "rstd"), lambda i: f"1 / sqrt({v.at(i)} + {c.operand(eps, (), t)})")
    y = _scaled(c, x, axes.of(mu), axes.of(r), weight, bias, t, lambda i: i[x.rank - len(shape):])
    return y, *_statistics(c, mu, r)


@op("native_group_norm")
def group_norm(c, x, weight, bias, n, channels, plane, groups, eps):
    _require_floats(x, "group_norm")
    if not isinstance(x.shape[1], int):
        return _open_group_norm(c, x, weight, bias, groups, eps)
    t, d = wide(x.dtype), x.shape[1] // groups
    rows = c.viewed(x, [x.shape[0], groups, d, sizes.product(x.shape[2:])])
    axes = Axes(rows, [2, 3], False)
    mu, v = moments(c, axes, rows, t)
    r = c.fill(c.new(t, mu.shape, "rstd"), lambda i: f"1 / sqrt({v.at(i)} + {c.operand(eps, (), t)})")
    y = _scaled(c, rows, axes.of(mu), axes.of(r), weight, bias, t, lambda i: [f"{i[1]} * {d} + {i[2]}"])
    return c.viewed(y, x.shape), *_statistics(c, mu, r)


def _open_group_norm(c, x, weight, bias, groups, eps):
    """The same of a number of channels that is not known: no view divides it."""
    t, d = wide(x.dtype), f"({x.shape[1]} // {groups})"
    x = c.whole(x)
    rows = Value(x.dtype, [x.shape[0], groups, d, *x.shape[2:]], lambda i: x.at([i[0], f"{i[1]} * {d} + {i[2]}", *i[3:]]))
    mu, v = moments(c, Axes(rows, list(range(2, rows.rank)), False), rows, t)
    r = c.fill(c.new(t, mu.shape, "rstd"), lambda i: f"1 / sqrt({v.at(i)} + {c.operand(eps, (), t)})")
    of = lambda s: lambda i: s.at([i[0], f"{i[1]} // {d}" if groups > 1 else "0"])  # noqa: E731
    return _scaled(c, x, of(mu), of(r), weight, bias, t, lambda i: [i[1]]), *_statistics(c, mu, r)


# ---- softmax ----
def _softmax_node(c, name: str, x: Value, dim: int):
    if c.dtype != x.dtype:
        raise UnsupportedError(f"{c.target} of {x.dtype} into {c.dtype}")
    if x.rank == 0:
        raise UnsupportedError("softmax of one number")
    out = c.result()
    c.node(f"onnx.{name}", {"axis": dim % x.rank}, {"input": x}, {"output": out})
    return out


@op("_softmax")
def softmax(c, x, dim, half_to_float=False):
    return _softmax_node(c, "Softmax", x, dim)


@op("_log_softmax")
def log_softmax(c, x, dim, half_to_float=False):
    return _softmax_node(c, "LogSoftmax", x, dim)


def _softmax_gradient(c, g, y, dim, log: bool):
    if c.dtype != y.dtype or y.rank == 0:
        raise UnsupportedError("a gradient of softmax in another type")
    axes = Axes(y, [dim], True)
    t = wide(y.dtype)
    sums = accumulate(c, axes, t, "+=", "0", lambda i: c.operand(g, i, t) + ("" if log else f" * {c.operand(y, i, t)}"))
    s = axes.of(sums)
    out = c.result()
    if log:
        return c.fill(out, lambda i: cast(f"({c.operand(g, i, t)} - exp({c.operand(y, i, t)}) * {s(i)})", t, out.dtype))
    return c.fill(out, lambda i: cast(f"(({c.operand(g, i, t)} - {s(i)}) * {c.operand(y, i, t)})", t, out.dtype))


@op("_softmax_backward_data")
def softmax_backward(c, g, y, dim, dtype):
    return _softmax_gradient(c, g, y, dim, False)


@op("_log_softmax_backward_data")
def log_softmax_backward(c, g, y, dim, dtype):
    return _softmax_gradient(c, g, y, dim, True)


# ---- embedding ----
@op("embedding")
def embedding(c, weight, indices, padding_idx=-1, *rest):
    out = c.result()
    n = indices.rank

    def text(i):
        row = cast(indices.at(i[:n]), indices.dtype, "i64")
        x = weight.at([row, i[n]])
        if isinstance(padding_idx, int) and padding_idx >= 0:  # that row takes no gradient
            return f"({row} == {padding_idx} ? hold({x}) : {x})"
        return x

    return c.fill(out, text)


@op("embedding_dense_backward")
def embedding_backward(c, g, indices, rows, padding_idx, scale_by_freq):
    if scale_by_freq:
        raise UnsupportedError("embeddings scaled by frequency")
    n = indices.rank

    def add(sums):
        def body(i):
            row = cast(indices.at(i[:n]), indices.dtype, "i64")
            x = c.operand(g, i, sums.dtype)
            if isinstance(padding_idx, int) and padding_idx >= 0:
                x = f"({row} == {padding_idx} ? 0 : {x})"
            c.line(f"{sums.at([row, i[n]])} += {x}")

        c.maps(g.shape, body)

    return gathered(c, c.dtype, c.shape, add)
