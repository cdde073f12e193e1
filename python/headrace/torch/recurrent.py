"""Recurrent layers: a loop over time, whose gradient the core takes."""

from __future__ import annotations

from ..errors import UnsupportedError
from .emit import FLOATS, Value
from .pointwise import _SIGMOID
from .reductions import narrowed, widened
from .table import op


def _gates(c, x: Value, w: Value, bias: Value | None) -> Value:
    """x[t, b, i] w[j, i] + bias[j], for all times at once."""
    out = c.new(x.dtype, [*x.shape[:2], w.shape[0]], "gates")
    c.fill(out, lambda i: bias.at([i[2]]) if bias is not None else "0")
    c.maps([*out.shape, x.shape[2]], lambda i: c.line(f"{out.at(i[:3])} += {x.at([i[0], i[1], i[3]])} * {w.at([i[2], i[3]])}"))
    return out


def _direction(c, x: Value, h0, c0, weights: list[Value], has_biases: bool, reverse: bool, step,
               packed: Packed | None) -> tuple[Value, Value, Value | None]:
    """One layer, one direction: (outputs[t, b, j], last h, last c); h0 and c0 give texts for [b, j]. A projection, the last one of
    `weights` beyond the usual, makes h narrower than the gates. Packed, x and the outputs are rows of one time."""
    w, r = weights[:2]
    wb, rb = weights[2:4] if has_biases else (None, None)
    projection = weights[-1] if len(weights) % 2 else None
    time, batch = x.shape[:2] if packed is None else (packed.time, packed.batch)
    size = r.shape[1] if projection is None else projection.shape[1]
    gx = _gates(c, x, w, wb)
    h = c.fill(c.new(x.dtype, [batch, r.shape[1]], "h"), h0)
    inner = h if projection is None else c.new(x.dtype, [batch, size], "inner")
    cell = c.fill(c.new(x.dtype, [batch, size], "c"), c0) if c0 else None
    out = c.new(x.dtype, [*x.shape[:2], r.shape[1]], "y")
    gh = c.new(x.dtype, [batch, r.shape[0]], "gh")
    s = c.fresh("s")
    c.open(f"for {s} in 0:{time}")
    t = f"{time} - 1 - {s}" if reverse else s
    c.fill(gh, lambda i: rb.at([i[1]]) if rb is not None else "0")
    c.maps([*gh.shape, r.shape[1]], lambda i: c.line(f"{gh.at(i[:2])} += {h.at([i[0], i[2]])} * {r.at([i[1], i[2]])}"))
    read = (lambda j, b: gx.at([t, b, j])) if packed is None else lambda j, b: packed.read(gx, t, b, j)
    keep = (lambda new, old, i: new) if packed is None else lambda new, old, i: f"({packed.goes_on(t, i[0])} ? {new} : {old.at(i)})"
    step(lambda q, i: (read(f"{q} * {size} + {i[1]}", i[0]), gh.at([i[0], f"{q} * {size} + {i[1]}"])), inner, cell, keep)
    if projection is not None:
        made = c.fill(h if packed is None else c.new(x.dtype, h.shape, "projected"), lambda i: "0")
        c.maps([*h.shape, size], lambda i: c.line(f"{made.at(i[:2])} += {inner.at([i[0], i[2]])} * {projection.at([i[1], i[2]])}"))
        if made is not h:
            c.fill(h, lambda i: keep(made.at(i), h, i))
    if packed is None:
        c.maps(h.shape, lambda i: c.line(f"{out.at([t, *i])} = {h.at(i)}"))
    else:
        c.maps(h.shape, lambda i: c.line(f"{out.at(['0', packed.row(t, i[0]), i[1]])} ?? = {h.at(i)}"))
    c.close()
    return out, h, cell


def _lstm_step(c):
    def step(gate, h, cell, keep):
        def total(q, i):
            a, b = gate(q, i)
            return f"({a} + {b})"

        sig = lambda q, i: _SIGMOID.format(total(q, i))  # noqa: E731
        c.fill(cell, lambda i: keep(f"{sig(1, i)} * {cell.at(i)} + {sig(0, i)} * tanh({total(2, i)})", cell, i))
        c.fill(h, lambda i: keep(f"{sig(3, i)} * tanh({cell.at(i)})", h, i))

    return step


def _gru_step(c):
    def step(gate, h, cell, keep):
        def both(q, i):
            a, b = gate(q, i)
            return _SIGMOID.format(f"({a} + {b})")

        def text(i):
            a, b = gate(2, i)
            n = f"tanh({a} + {both(0, i)} * {b})"
            return keep(f"(1 - {both(1, i)}) * {n} + {both(1, i)} * {h.at(i)}", h, i)

        c.fill(h, text)

    return step


def _rnn_step(c, function):
    def step(gate, h, cell, keep):
        def text(i):
            a, b = gate(0, i)
            return keep(f"tanh({a} + {b})" if function == "tanh" else f"({a} + {b} <= 0 ? 0 : {a} + {b})", h, i)

        c.fill(h, text)

    return step


def _layers(c, x: Value, states, weights, has_biases, layers, dropout, train, bidirectional, batch_first, step,
            packed=None):
    """Narrow types compute in f32."""
    if x.dtype not in FLOATS or x.rank != 3:
        raise UnsupportedError(f"a recurrent layer of {x.dtype} and rank {x.rank}")
    if dropout and train and layers > 1:
        raise UnsupportedError("dropout between recurrent layers")
    directions = 1 + bool(bidirectional)
    per = len(weights) // (layers * directions)  # one more with projections
    given = x.dtype
    x, states, weights = widened(c, x), [widened(c, s) for s in states], [c.whole(widened(c, w)) for w in weights]
    if batch_first:
        x = _swapped(x)
    ends: list[list[Value]] = [[], []]
    for layer in range(layers):
        outputs = []
        for d in range(directions):
            k = layer * directions + d
            starts = [(lambda i, s=s, k=k: s.at([str(k), *i])) for s in states]
            y, h, cell = _direction(c, c.whole(x), starts[0], starts[1] if len(starts) > 1 else None, weights[k * per:(k + 1) * per],
                                    has_biases, d == 1, step, packed)
            outputs.append(y)
            ends[0].append(h)
            if cell is not None:
                ends[1].append(cell)
        x = _side_by_side(c, outputs)
    out = _swapped(x) if batch_first else x
    return tuple(narrowed(c, v, given) for v in (out, *[_stacked(c, e) for e in ends if e]))


def _swapped(x: Value) -> Value:
    return Value(x.dtype, [x.shape[1], x.shape[0], x.shape[2]], lambda i: x.at([i[1], i[0], i[2]]))


def _side_by_side(c, parts: list[Value]) -> Value:
    if len(parts) == 1:
        return parts[0]
    size = parts[0].shape[2]
    out = c.new(parts[0].dtype, [*parts[0].shape[:2], size * len(parts)], "y")
    for k, p in enumerate(parts):
        c.maps(p.shape, lambda i: c.line(f"{out.at([i[0], i[1], f'{k * size} + {i[2]}'])} = {p.at(i)}"))  # noqa: B023: used at once
    return out


def _stacked(c, parts: list[Value]) -> Value:
    out = c.new(parts[0].dtype, [len(parts), *parts[0].shape], "last")
    for k, p in enumerate(parts):
        c.maps(p.shape, lambda i: c.line(f"{out.at([str(k), *i])} = {p.at(i)}"))  # noqa: B023
    return out


# ---- sequences of different lengths ----
class Packed:
    """Rows of time 0, then of time 1 …: sequences in descending order of their lengths, so that the first `sizes[t]` go on at t."""

    def __init__(self, c, rows, sizes: Value, batch):
        self.rows, self.sizes, self.time, self.batch = rows, sizes, sizes.shape[0], batch
        so_far = c.fill(c.new("i64", (), "so_far"), lambda i: "0")
        self.begin = c.new("i64", [self.time], "begin")

        def add(t):
            c.line(f"{self.begin.at([t])} = {so_far.at([])}")
            c.line(f"{so_far.at([])} = {so_far.at([])} + {sizes.at([t])}")

        c.in_order(self.time, add)

    def goes_on(self, t: str, b: str) -> str:
        return f"{b} < {self.sizes.at([t])}"

    def row(self, t: str, b: str) -> str:
        """Beyond the last one where the sequence has ended."""
        return f"({self.goes_on(t, b)} ? {self.begin.at([t])} + {b} : {self.rows})"

    def read(self, v: Value, t: str, b: str, j: str) -> str:
        return f"({v.at(['0', self.row(t, b), j])} ?? 0)"


def _packed(c, x: Value, sizes: Value, states, weights, has_biases, layers, dropout, train, bidirectional, step):
    """As _layers, of rows: those whose sequence has ended keep their state."""
    if x.dtype not in FLOATS:
        raise UnsupportedError(f"a recurrent layer of {x.dtype}")
    given, packed = x.dtype, Packed(c, x.shape[0], c.whole(sizes), states[0].shape[1])
    x = c.whole(widened(c, x))
    x = Value(x.dtype, [1, *x.shape], lambda i, x=x: x.at(i[1:]))  # as of one time
    y, *ends = _layers(c, x, states, weights, has_biases, layers, dropout, train, bidirectional, False, step, packed)
    return tuple(narrowed(c, v, given) for v in (Value(y.dtype, y.shape[1:], lambda i: y.at(["0", *i])), *ends))


@op("lstm.data")
def lstm_packed(c, x, sizes, states, weights, has_biases, layers, dropout, train, bidirectional):
    return _packed(c, x, sizes, states, weights, has_biases, layers, dropout, train, bidirectional, _lstm_step(c))


@op("gru.data")
def gru_packed(c, x, sizes, h, weights, has_biases, layers, dropout, train, bidirectional):
    return _packed(c, x, sizes, [h], weights, has_biases, layers, dropout, train, bidirectional, _gru_step(c))


@op("rnn_tanh.data", "rnn_relu.data")
def rnn_packed(c, x, sizes, h, weights, has_biases, layers, dropout, train, bidirectional):
    return _packed(c, x, sizes, [h], weights, has_biases, layers, dropout, train, bidirectional,
                   _rnn_step(c, "tanh" if "tanh" in c.target else "relu"))


@op("lstm.input")
def lstm(c, x, states, weights, has_biases, layers, dropout, train, bidirectional, batch_first):
    return _layers(c, x, states, weights, has_biases, layers, dropout, train, bidirectional, batch_first, _lstm_step(c))


@op("gru.input")
def gru(c, x, h, weights, has_biases, layers, dropout, train, bidirectional, batch_first):
    return _layers(c, x, [h], weights, has_biases, layers, dropout, train, bidirectional, batch_first, _gru_step(c))


@op("rnn_tanh.input", "rnn_relu.input")
def rnn(c, x, h, weights, has_biases, layers, dropout, train, bidirectional, batch_first):
    return _layers(c, x, [h], weights, has_biases, layers, dropout, train, bidirectional, batch_first,
                   _rnn_step(c, "tanh" if "tanh" in c.target else "relu"))
