"""np.linalg and np.fft as library nodes (plugins/linalg), which have gradients of their own; inner products."""

from __future__ import annotations

import numpy as np

from ..trees import sequence
from . import arrays, elementwise, products
from .emitter import Emitter
from .errors import NeedsNumber, NeedsNumbers
from .functions import FUNCTIONS, handles
from .types import IR_NAMES
from .values import Array, Value, broadcast, broadcast_shapes, show, strong, value_of


def floats(e: Emitter, a) -> Value:
    v = value_of(a)
    return v if v.dtype.kind in "fc" and v.dtype != np.float16 else elementwise.cast(e, v, np.float64)


def matrices(name: str, v: Value) -> Value:
    if v.ndim < 2:
        raise ValueError(f"np.linalg.{name} takes matrices, and arrays of them, not {v.ndim} dimensions")
    return v


def square(name: str, v: Value) -> Value:
    rows, columns = matrices(name, v).shape[-2:]
    if rows != columns:
        raise ValueError(f"np.linalg.{name}: the matrix has {rows} rows and {columns} columns, which are not known to be equal")
    return v


def each_matrix(e: Emitter, v: Value, one):
    """`one` of the matrix, or of each of a stack of them in a loop, whose results are stacks."""
    if v.ndim == 2:
        return one(v)
    v = e.settled(v)
    return in_stack(e, v.shape[:-2], lambda index: one(Value(v.dtype, v.shape[-2:], lambda i: v.at([*index, *i]))))


def in_stack(e: Emitter, batch, made_at):
    """What `made_at` makes for each index of `batch`, a value or a tuple of them, as arrays of all."""
    stacks = []
    with e.nest(batch) as index:
        made = made_at(index)
        for part in made if isinstance(made, tuple) else (made,):
            part = value_of(part)
            stack = e.transient(part.dtype, [*batch, *part.shape], "stack")
            with e.rebinding():
                e.maps(part.shape, lambda i: e.write(stack, [*index, *i], e.expression(part, i, part.dtype)))  # noqa: B023
            stacks.append(stack)
    return sequence(type(made), stacks) if isinstance(made, tuple) else stacks[0]


def _whole(e: Emitter, v: Value) -> Array:
    """A container of its own with just these elements: what a port of a node takes."""
    if isinstance(v, Array) and v.whole:
        return v
    made = e.materialize(v, "operand")
    if not made.whole:
        raise NeedsNumbers(made.shape, "a library function of a matrix whose size a loop changes")
    return made


def nodes(e: Emitter, op: str, inputs: dict[str, Value], outputs: dict[str, tuple], dtype, attributes: str = "") -> list[Array]:
    """Its outputs, whose shapes are given."""
    named = {port: _whole(e, v) for port, v in inputs.items()}
    results = {port: e.transient(dtype, shape, op.lower()) for port, shape in outputs.items()}
    ports = ", ".join(f"{port} = {a.name}" for port, a in named.items())
    given = ", ".join(f"{port} = {a.name}" for port, a in results.items())
    first, *others = results.values()
    e.node(f"linalg.{op}{attributes}({ports}) -> ({given})", [a.root for a in named.values()], first)
    e.changed(*others)
    return [first, *others]


def node(e: Emitter, op: str, inputs: dict[str, Value], output: str, dtype, shape, attributes: str = "") -> Array:
    return nodes(e, op, inputs, {output: shape}, dtype, attributes)[0]


@handles(np.linalg.solve)
def solve(e: Emitter, a, b):
    a, b = square("solve", floats(e, a)), floats(e, b)
    dtype = np.result_type(a.dtype, b.dtype)
    a, b = elementwise.cast(e, a, dtype), elementwise.cast(e, b, dtype)
    n = a.shape[-1]
    if b.ndim == 0 or b.shape[max(b.ndim - 2, 0)] != n:
        raise ValueError(f"np.linalg.solve: {n} equations, and a right side of shape {show(b.shape)}")

    def one(matrix: Value, right: Value) -> Value:
        columns = right if right.ndim == 2 else arrays.keep_dims(right, [1], 2)
        x = node(e, "Solve", {"A": matrix, "B": columns}, "X", dtype, columns.shape)
        return x if right.ndim == 2 else arrays.reshape(e, x, right.shape)

    if a.ndim == 2 and b.ndim <= 2:
        return one(a, b)
    batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a = e.settled(broadcast(e.settled(a), (*batch, n, n)))
    if b.ndim == 1:  # one for all
        return in_stack(e, batch, lambda index: one(Value(dtype, (n, n), lambda i: a.at([*index, *i])), b))
    b = e.settled(broadcast(e.settled(b), (*batch, *b.shape[-2:])))
    return in_stack(e, batch, lambda index: one(Value(dtype, (n, n), lambda i: a.at([*index, *i])),
                                                Value(dtype, b.shape[-2:], lambda i: b.at([*index, *i]))))


@handles(np.linalg.inv)
def inv(e: Emitter, a):
    def one(m: Value) -> Value:
        t = IR_NAMES[m.dtype]
        unit = Value(m.dtype, m.shape, lambda i: f"({i[0]} == {i[1]} ? {t}(1) : {t}(0))")
        return node(e, "Solve", {"A": m, "B": unit}, "X", m.dtype, m.shape)
    return each_matrix(e, square("inv", floats(e, a)), one)


@handles(np.linalg.det)
def det(e: Emitter, a):
    return each_matrix(e, square("det", floats(e, a)), lambda m: node(e, "Det", {"A": m}, "D", m.dtype, ()))


def adjoint(m: Value) -> Value:
    return Value(m.dtype, m.shape[::-1], lambda i: f"conj({m.at(i[::-1])})" if m.dtype.kind == "c" else m.at(i[::-1]))


@handles(np.linalg.cholesky)
def cholesky(e: Emitter, a, *, upper: bool = False):
    def one(m: Value) -> Value:
        factor = node(e, "Cholesky", {"A": adjoint(m) if upper else m}, "L", m.dtype, m.shape)
        return adjoint(factor) if upper else factor
    return each_matrix(e, square("cholesky", floats(e, a)), one)


@handles(np.linalg.matrix_power)
def matrix_power(e: Emitter, a, n):
    a = value_of(a)
    if a.ndim != 2:
        raise NotImplementedError(f"np.linalg.matrix_power of an array of {a.ndim} dimensions: call it for each matrix, in a loop")
    a = square("matrix_power", a)
    if not isinstance(n, int):
        raise NeedsNumber("np.linalg.matrix_power: n is a number that is known when the program is translated")
    base, result = (inv(e, a) if n < 0 else a), None
    for bit in bin(abs(n))[:1:-1]:
        if bit == "1":
            result = base if result is None else products.matmul(e, result, base)
        base = e.settled(products.matmul(e, base, base))
    one = IR_NAMES[a.dtype]
    return Value(a.dtype, a.shape, lambda i: f"({i[0]} == {i[1]} ? {one}(1) : {one}(0))") if n == 0 else result


# ---- inner products ----
@handles(np.inner)
def inner(e, a, b):
    a, b = value_of(a), value_of(b)
    if a.ndim == 0 or b.ndim == 0:
        return elementwise.apply(e, "multiply", strong(a), strong(b))
    return products.tensordot(e, a, b, ([a.ndim - 1], [b.ndim - 1]))


@handles(np.vdot)
def vdot(e, a, b):
    a, b = (v if v.ndim == 1 else arrays.reshape(e, v, (-1,)) for v in (value_of(a), value_of(b)))
    return products.dot(e, elementwise.apply(e, "conjugate", a) if a.dtype.kind == "c" else a, b)


@handles(np.outer)
def outer(e, a, b):
    flat = [v if v.ndim == 1 else arrays.reshape(e, v, (-1,)) for v in (value_of(a), value_of(b))]
    return elementwise.apply(e, "multiply", arrays.keep_dims(flat[0], [1], 2), flat[1])


@handles(np.linalg.norm)
def norm(e, x, ord=None, axis=None, keepdims=False):
    made = _norm(e, e.settled(floats(e, x)), ord, axis, keepdims)
    return elementwise.cast(e, made, np.float16) if value_of(x).dtype == np.float16 else made


def _norm(e: Emitter, v: Value, ord, axis, keepdims: bool):
    if axis is None and ord is not None and v.ndim not in (1, 2):
        raise ValueError("np.linalg.norm: axis says which one or two dimensions are meant")
    axes = arrays.axes_of(axis, v.ndim)
    size = elementwise.apply(e, "absolute", v)
    if ord is None or ord == "fro" or ord == 2 and len(axes) == 1:
        return elementwise.apply(e, "sqrt", arrays.reduction(e, "sum", elementwise.apply(e, "square", size), axis, keepdims=keepdims))
    if len(axes) == 1:
        return _of_vectors(e, size, ord, axis, keepdims)
    if ord in (2, -2, "nuc") and v.ndim == 2 and not keepdims:
        values = FUNCTIONS[np.linalg.svdvals](e, v)
        return arrays.reduction(e, {2: "max", -2: "min", "nuc": "sum"}[ord], values, None)
    if ord not in (1, -1, np.inf, -np.inf) or keepdims:
        raise NotImplementedError(f"np.linalg.norm of matrices with ord={ord!r}: there are 'fro', 'nuc', 1, -1, 2, -2, inf and -inf, "
                                  "without keepdims, and those by singular values of one matrix alone")
    rows, columns = axes
    first, second = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = arrays.reduction(e, "sum", size, first)
    return arrays.reduction(e, "max" if ord > 0 else "min", sums, second - (second > first))


def _of_vectors(e, size, ord, axis, keepdims):
    if abs(ord) == np.inf:
        return arrays.reduction(e, "max" if ord > 0 else "min", size, axis, keepdims=keepdims)
    if ord == 0:
        return arrays.reduction(e, "sum", elementwise.cast(e, elementwise.apply(e, "not_equal", size, 0), size.dtype), axis, keepdims=keepdims)
    total = arrays.reduction(e, "sum", size if ord == 1 else elementwise.apply(e, "power", size, ord), axis, keepdims=keepdims)
    return total if ord == 1 else elementwise.apply(e, "power", total, 1.0 / ord)
