"""Pooling: windows, and bins that adapt to the size of the result."""

from __future__ import annotations

from ..errors import UnsupportedError
from . import sizes
from .emit import FLOATS, Value, cast
from .networks import _list, _require_floats
from .reductions import gathered, wide
from .table import op


def batched(x: Value, spatial: int) -> Value:
    """x with a batch: torch's pools take samples without one."""
    if x.rank == spatial + 2:
        return x
    if x.rank != spatial + 1:
        raise UnsupportedError(f"pooling of {x.rank} dimensions")
    return Value(x.dtype, (1, *x.shape), lambda i: x.at(i[1:]))


def like(y: Value, x: Value) -> Value:
    """y without the batch that `batched` gave x."""
    return y if y.rank == x.rank else Value(y.dtype, y.shape[1:], lambda i: y.at(["0", *i]))


def _pool(x: Value, kernel, stride, padding, dilation=1) -> dict:
    n = len(kernel) if len(kernel) > 1 else x.rank - 2
    k = _list(kernel, n)
    p = _list(padding, n, 0)
    return {"kernel_shape": k, "strides": _list(stride, n) or k, "pads": [*p, *p], "dilations": _list(dilation or [1], n, 1)}


@op("max_pool2d_with_indices", "max_pool3d_with_indices")
def max_pool(c, x, kernel, stride=(), padding=(0,), dilation=(1,), ceil_mode=False):
    spatial = 3 if "3d" in c.target else 2
    given, x = x, batched(x, spatial)
    attributes = _pool(x, _list(kernel, spatial), stride, padding, dilation)
    if ceil_mode:
        attributes["ceil_mode"] = 1
    shape = c.shapes[0] if given is x else (1, *c.shapes[0])
    y = c.new(x.dtype, shape)
    if not c.used(1):
        c.node("onnx.MaxPool", attributes, {"X": x}, {"Y": y})
        return like(y, given), None
    at = c.new("i64", shape)
    c.node("onnx.MaxPool", attributes, {"X": x}, {"Y": y, "Indices": at})
    plane, channels = sizes.product(x.shape[2:]), x.shape[1]
    where = c.fill(c.new("i64", shape), lambda i: f"{at.at(i)} - (i64({i[0]}) * {channels} + i64({i[1]})) * {plane}")
    return like(y, given), like(where, given)


def _place(flat: str, plane) -> list[str]:
    """The indices into a plane that a number of one of its elements stands for."""
    inner = [sizes.product(plane[d + 1:]) for d in range(len(plane))]
    return [f"{flat} // {n}" if d == 0 else f"{flat} // {n} % {plane[d]}" for d, n in enumerate(inner)]


def _to_places(c, g: Value, indices: Value, spatial: int) -> Value:
    """Each gradient added at its place, an index into the plane."""
    lead = len(c.shape) - spatial
    plane = c.shape[lead:]

    def add(sums):
        def body(i):
            c.line(f"{sums.at([*i[:lead], *_place(indices.at(i), plane)])} += {c.operand(g, i, sums.dtype)}")

        c.maps(g.shape, body)

    return gathered(c, c.dtype, c.shape, add)


@op("max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward")
def max_pool_backward(c, g, x, kernel, stride, padding, dilation, ceil_mode, indices):
    return _to_places(c, g, indices, 3 if "3d" in c.target else 2)


def _average(x, kernel, stride, padding, ceil_mode, count_include_pad) -> dict:
    attributes = _pool(x, _list(kernel, x.rank - 2), stride, padding)
    del attributes["dilations"]
    return {**attributes, "ceil_mode": int(ceil_mode), "count_include_pad": int(count_include_pad)}


def _windows(x: Value, kernel, stride, padding):
    """Extents of a window, and the place in x that an index [n, c, result's …, window's …] reads; it may be outside."""
    a = _pool(x, _list(kernel, x.rank - 2), stride, padding)
    n = x.rank - 2
    place = lambda i: [*i[:2], *[f"{o} * {s} + {k} - {p}" for o, s, k, p in zip(i[2:], a["strides"], i[2 + n:], a["pads"])]]  # noqa: E731
    return a["kernel_shape"], place


@op("avg_pool1d", "avg_pool2d", "avg_pool3d")
def avg_pool(c, x, kernel, stride=(), padding=(0,), ceil_mode=False, count_include_pad=True, divisor_override=None):
    _require_floats(x, "average")
    given, x = x, batched(x, int(c.target.split("pool")[1][0]))
    out = c.new(x.dtype, c.shape if given is x else (1, *c.shape))
    if divisor_override is None:
        c.node("onnx.AveragePool", _average(x, kernel, stride, padding, ceil_mode, count_include_pad), {"X": x}, {"Y": out})
        return like(out, given)
    x, t = c.whole(x), wide(x.dtype)
    extents, place = _windows(x, kernel, stride, padding)
    sums = c.fill(c.new(t, out.shape), lambda i: "0")
    c.maps([*out.shape, *extents], lambda i: c.line(f"{sums.at(i[:x.rank])} += {cast(f'({x.at(place(i))} ?? 0)', x.dtype, t)}"))
    return like(c.fill(out, lambda i: cast(f"({sums.at(i)} / {divisor_override})", t, x.dtype)), given)


@op("avg_pool2d_backward", "avg_pool3d_backward")
def avg_pool_backward(c, g, x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override):
    spatial = 3 if "3d" in c.target else 2
    given, x, g = x, batched(x, spatial), batched(g, spatial)
    if divisor_override is None:
        out = c.new(x.dtype, x.shape)
        attributes = _average(x, kernel, stride, padding, ceil_mode, count_include_pad)
        c.node("grad.AveragePool", {"domain": "onnx", **attributes, "`like.X`": [x.dtype, *map(str, x.shape)]}, {"grad_Y": g}, {"grad_X": out})
        return like(out, given)
    extents, place = _windows(x, kernel, stride, padding)
    out = gathered(c, x.dtype, x.shape, lambda sums: c.maps([*g.shape, *extents], lambda i: c.line(
        f"{sums.at(place(i))} ?? += {c.operand(g, i[:x.rank], sums.dtype)} / {divisor_override}")))
    return like(out, given)


def _bins(x: Value, out_sizes, lead: int):
    """Ranges "begin:end" of the elements that an adaptive pool's output element covers; indices _i{lead}… are the output's."""
    ranges = []
    for d, o in enumerate(out_sizes):
        n, i = x.shape[lead + d], f"_i{lead + d}"
        ranges.append(f"{i} * {n} // {o}:(({i} + 1) * {n} + {o} - 1) // {o}")
    return ranges


@op("_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "adaptive_avg_pool1d")
def adaptive_avg_pool(c, x, size):
    _require_floats(x, "average")
    out, spatial = c.result(), len(size)
    lead = x.rank - spatial
    o = out.shape[lead:]
    t = wide(x.dtype)
    sum_ = c.new(t, out.shape)
    c.fill(sum_, lambda i: "0")
    bins = _bins(x, o, lead)
    c.maps([*out.shape, *bins], lambda i: c.line(f"{sum_.at(i[:x.rank])} += {c.operand(x, [*i[:lead], *i[x.rank:]], t)}"))

    def mean(i):
        count = " * ".join(f"{t}({b.split(':')[1]} - ({b.split(':')[0]}))" for b in bins)
        return cast(f"({sum_.at(i)} / ({count}))", t, out.dtype)

    return c.fill(out, mean)


@op("_adaptive_avg_pool2d_backward", "_adaptive_avg_pool3d_backward")
def adaptive_avg_pool_backward(c, g, x):
    t = wide(c.dtype)
    lead = x.rank - (3 if "3d" in c.target else 2)
    bins = _bins(x, g.shape[lead:], lead)
    count = " * ".join(f"{t}({b.split(':')[1]} - ({b.split(':')[0]}))" for b in bins)
    return gathered(c, c.dtype, c.shape, lambda sums: c.maps([*g.shape, *bins], lambda i: c.line(
        f"{sums.at([*i[:lead], *i[g.rank:]])} += {c.operand(g, i[:g.rank], t)} / ({count})")))


@op("adaptive_max_pool2d", "adaptive_max_pool3d")
def adaptive_max_pool(c, x, size):
    """The largest of each bin and its place in the plane: the first one, NaN before all."""
    _require_floats(x, "adaptive_max_pool")
    shape, spatial = c.shapes[0], len(size)
    lead = x.rank - spatial
    x = c.whole(x)
    top, where = c.new(x.dtype, shape, "top"), c.new("i64", shape)
    bins, plane = _bins(x, shape[lead:], lead), x.shape[lead:]
    count = sizes.product(plane)
    inner = lambda i: [*i[:lead], *i[x.rank:]]  # noqa: E731
    c.fill(top, lambda i: "(-inf)")
    c.maps([*shape, *bins], lambda i: c.line(f"{top.at(i[:x.rank])} max= {x.at(inner(i))}"))
    c.fill(where, lambda i: str(count))

    def place(i):
        flat = " + ".join(f"i64({k}) * {sizes.product(plane[d + 1:])}" for d, k in enumerate(i[x.rank:]))
        v = x.at(inner(i))
        c.line(f"{where.at(i[:x.rank])} min= (({v} == {top.at(i[:x.rank])} || isnan({v})) ? {flat} : {count})")

    c.maps([*shape, *bins], place)
    return c.fill(c.new(x.dtype, shape), lambda i: x.at([*i[:lead], *_place(where.at(i), plane)])), where


@op("adaptive_max_pool2d_backward", "adaptive_max_pool3d_backward")
def adaptive_max_pool_backward(c, g, x, indices):
    return _to_places(c, g, indices, 3 if "3d" in c.target else 2)
