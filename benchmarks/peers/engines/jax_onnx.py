"""ONNX graphs as JAX functions: each node is the jax.numpy or lax call that one would write for it.

What depends on no parameter and no input (shapes, masks, axes) is computed by NumPy while tracing, as in a program written by
hand. Operators without a line here are a NotApplicable.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np
import onnx
from jax import lax
from onnx import numpy_helper

from .base import NotApplicable

OPERATORS: dict[str, Callable] = {}


class Graph:
    """`parameters`: float initializers that are no scalars; calls take them, and the inputs, by name and give the first output."""

    def __init__(self, path: str, half: bool = False):
        self._half = half
        graph = onnx.load(path).graph
        self.parameters, self.constants = {}, {}
        for t in graph.initializer:
            value = numpy_helper.to_array(t)
            (self.parameters if value.dtype == np.float32 and value.ndim else self.constants)[t.name] = value
        self.nodes = [(n.op_type, list(n.input), list(n.output), {a.name: _attribute(a) for a in n.attribute}) for n in graph.node]
        self.output = graph.output[0].name
        if missing := sorted({op for op, *_ in self.nodes} - OPERATORS.keys()):
            raise NotApplicable("not translated: " + ", ".join(missing))

    def __call__(self, parameters: Mapping[str, Any], inputs: Mapping[str, Any]) -> jax.Array:
        values = {"": None, **self.constants, **parameters, **inputs}
        for op, of, to, attributes in self.nodes:
            arguments = [values[name] for name in of]
            known = all(a is None or isinstance(a, (np.ndarray, np.generic)) for a in arguments)
            if not known:
                arguments = [self._constant(a) for a in arguments]
            made = OPERATORS[op](np if known else jnp, arguments, attributes)
            values.update(zip(to, made if isinstance(made, tuple) else (made,)))
        return values[self.output]

    def _constant(self, a: Any) -> Any:
        """Numbers take the type of what they meet; in bf16 tables of constants are bf16, too."""
        if not isinstance(a, (np.ndarray, np.generic)) or a.dtype != np.float32:
            return a
        return a.item() if a.ndim == 0 else jnp.asarray(a, jnp.bfloat16) if self._half else a


def _attribute(a: onnx.AttributeProto) -> Any:
    value = onnx.helper.get_attribute_value(a)
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value.decode() if isinstance(value, bytes) else value


def op(*names: str) -> Callable:
    def register(f: Callable) -> Callable:
        OPERATORS.update({name: f for name in names})
        return f

    return register


def ints(x: Any) -> tuple[int, ...]:
    return tuple(int(i) for i in np.asarray(x).reshape(-1))


# ---- elementwise ----
for _name, _function in {
    "Add": "add", "Sub": "subtract", "Mul": "multiply", "Pow": "power", "Neg": "negative", "Sqrt": "sqrt", "Abs": "abs", "Exp": "exp",
    "Log": "log", "Tanh": "tanh", "Reciprocal": "reciprocal", "Equal": "equal", "Greater": "greater", "Less": "less", "Where": "where",
    "Sin": "sin", "Cos": "cos", "Tan": "tan", "Atan": "arctan", "Sinh": "sinh", "Cosh": "cosh", "Asinh": "arcsinh", "Sign": "sign",
    "Asin": "arcsin", "Acos": "arccos", "Atanh": "arctanh", "Acosh": "arccosh", "Ceil": "ceil", "Floor": "floor", "Round": "round",
    "IsNaN": "isnan", "Not": "logical_not", "And": "logical_and", "Or": "logical_or",
}.items():  # fmt: skip
    OPERATORS[_name] = lambda xp, a, at, f=_function: getattr(xp, f)(*a)
for _name, _function in {
    "Relu": jax.nn.relu, "Sigmoid": jax.nn.sigmoid, "Erf": jax.scipy.special.erf, "Softplus": jax.nn.softplus, "Mish": jax.nn.mish,
    "Softsign": jax.nn.soft_sign, "Selu": jax.nn.selu, "HardSwish": jax.nn.hard_swish, "Swish": jax.nn.silu,
}.items():  # fmt: skip
    OPERATORS[_name] = lambda xp, a, at, f=_function: f(a[0])
OPERATORS.update({
    "Gelu": lambda xp, a, at: jax.nn.gelu(a[0], approximate=at.get("approximate", "none") == "tanh"),
    "Elu": lambda xp, a, at: jax.nn.elu(a[0], at.get("alpha", 1.0)),
    "Celu": lambda xp, a, at: jax.nn.celu(a[0], at.get("alpha", 1.0)),
    "LeakyRelu": lambda xp, a, at: jax.nn.leaky_relu(a[0], at.get("alpha", 0.01)),
    "Identity": lambda xp, a, at: a[0],
    "Constant": lambda xp, a, at: next(np.asarray(v) for v in at.values()),
    "Max": lambda xp, a, at: xp.maximum(*a), "Min": lambda xp, a, at: xp.minimum(*a),
    "Clip": lambda xp, a, at: xp.clip(a[0], *(a[1:] or (at.get("min"), at.get("max")))),
    "Cast": lambda xp, a, at: xp.asarray(a[0]).astype(onnx.helper.tensor_dtype_to_np_dtype(at["to"])),
    "Dropout": lambda xp, a, at: a[0],
})  # fmt: skip


@op("Div")
def _(xp, a, at):
    whole = np.issubdtype(jnp.result_type(*a), np.integer)
    return a[0] // a[1] if whole else a[0] / a[1]


# ---- shapes: known while tracing ----
@op("Shape")
def _(xp, a, at):
    return np.array(np.shape(a[0]), np.int64)


@op("Reshape")
def _(xp, a, at):
    shape = [a[0].shape[i] if d == 0 else d for i, d in enumerate(ints(a[1]))]
    return xp.reshape(a[0], shape)


@op("Flatten")
def _(xp, a, at):
    axis = at.get("axis", 1)
    return xp.reshape(a[0], (int(np.prod(a[0].shape[:axis])), -1))


@op("Transpose")
def _(xp, a, at):
    return xp.transpose(a[0], at.get("perm"))


@op("Unsqueeze")
def _(xp, a, at):
    return xp.expand_dims(a[0], ints(a[1]) if len(a) > 1 else tuple(at["axes"]))


@op("Squeeze")
def _(xp, a, at):
    return xp.squeeze(a[0], ints(a[1]) if len(a) > 1 else at.get("axes"))


@op("Expand")
def _(xp, a, at):
    return xp.broadcast_to(a[0], np.broadcast_shapes(a[0].shape, ints(a[1])))


@op("ConstantOfShape")
def _(xp, a, at):
    return np.full(ints(a[0]), np.asarray(at.get("value", np.zeros(1, np.float32))).reshape(()))


@op("Range")
def _(xp, a, at):
    return np.arange(*(np.asarray(x).item() for x in a), dtype=np.asarray(a[0]).dtype)


@op("Trilu")
def _(xp, a, at):
    return (xp.triu if at.get("upper", 1) else xp.tril)(a[0], ints(a[1])[0] if len(a) > 1 else 0)


@op("Concat")
def _(xp, a, at):
    return xp.concatenate(a, at["axis"])


@op("Split")
def _(xp, a, at):
    axis = at.get("axis", 0)
    return tuple(xp.split(a[0], np.cumsum(ints(a[1]))[:-1], axis))


@op("Slice")
def _(xp, a, at):
    starts, ends = ints(a[1]), ints(a[2])
    axes = ints(a[3]) if len(a) > 3 and a[3] is not None else range(len(starts))
    steps = ints(a[4]) if len(a) > 4 else (1,) * len(starts)
    index = [slice(None)] * a[0].ndim
    for axis, start, end, step in zip(axes, starts, ends, steps):
        index[axis] = slice(start, None if step < 0 and end < -a[0].shape[axis] else end, step)
    return a[0][tuple(index)]


@op("Gather")
def _(xp, a, at):
    return xp.take(a[0], a[1], at.get("axis", 0))


@op("Pad")
def _(xp, a, at):
    p = ints(a[1])
    pairs = list(zip(p[: len(p) // 2], p[len(p) // 2 :]))
    return xp.pad(a[0], pairs, mode=at.get("mode", "constant"))


@op("Tile")
def _(xp, a, at):
    return xp.tile(a[0], ints(a[1]))


# ---- reductions and normalisations ----
def _axes(a: Sequence, at: Mapping) -> tuple[int, ...] | None:
    return ints(a[1]) if len(a) > 1 and a[1] is not None else tuple(at["axes"]) if "axes" in at else None


def _reduction(f: Callable) -> Callable:
    return lambda xp, a, at: f(a[0], axis=_axes(a, at), keepdims=bool(at.get("keepdims", 1)))


for _name, _function in {
    "ReduceSum": jnp.sum, "ReduceMean": jnp.mean, "ReduceMax": jnp.max, "ReduceMin": jnp.min, "ReduceProd": jnp.prod,
    "ReduceL1": lambda x, **k: jnp.sum(jnp.abs(x), **k), "ReduceL2": lambda x, **k: jnp.sqrt(jnp.sum(x * x, **k)),
    "ReduceSumSquare": lambda x, **k: jnp.sum(x * x, **k), "ReduceLogSumExp": jax.scipy.special.logsumexp,
}.items():  # fmt: skip
    OPERATORS[_name] = _reduction(_function)
OPERATORS.update({
    "Softmax": lambda xp, a, at: jax.nn.softmax(a[0], at.get("axis", -1)),
    "LogSoftmax": lambda xp, a, at: jax.nn.log_softmax(a[0], at.get("axis", -1)),
    "GlobalAveragePool": lambda xp, a, at: jnp.mean(a[0], tuple(range(2, a[0].ndim)), keepdims=True),
    "GlobalMaxPool": lambda xp, a, at: jnp.max(a[0], tuple(range(2, a[0].ndim)), keepdims=True),
})  # fmt: skip


@op("LayerNormalization")
def _(xp, a, at):
    axes = tuple(range(at.get("axis", -1) % a[0].ndim, a[0].ndim))
    centred = a[0] - jnp.mean(a[0], axes, keepdims=True)
    y = centred * lax.rsqrt(jnp.mean(centred * centred, axes, keepdims=True) + at.get("epsilon", 1e-5)) * a[1]
    return y + a[2] if len(a) > 2 else y


@op("RMSNormalization")
def _(xp, a, at):
    return a[0] * lax.rsqrt(jnp.mean(a[0] * a[0], -1, keepdims=True) + at.get("epsilon", 1e-5)) * a[1]


@op("BatchNormalization")
def _(xp, a, at):
    x, scale, shift, mean, variance = a
    along = (1, -1) + (1,) * (x.ndim - 2)
    if at.get("training_mode", 0):
        axes = (0, *range(2, x.ndim))
        mean, variance = jnp.mean(x, axes), jnp.var(x, axes)
    factor = scale * lax.rsqrt(variance + at.get("epsilon", 1e-5))
    return (x - mean.reshape(along)) * factor.reshape(along) + shift.reshape(along)


# ---- products and windows ----
@op("MatMul")
def _(xp, a, at):
    return xp.matmul(*a)


@op("Gemm")
def _(xp, a, at):
    x, w = (v.T if at.get(t, 0) else v for v, t in zip(a, ("transA", "transB")))
    y = x @ w
    y = y * at["alpha"] if at.get("alpha", 1.0) != 1.0 else y
    return y + at.get("beta", 1.0) * a[2] if len(a) > 2 and a[2] is not None else y


def _pairs(at: Mapping, n: int) -> list[tuple[int, int]]:
    p = at.get("pads", [0] * 2 * n)
    return list(zip(p[:n], p[n:]))


@op("Conv")
def _(xp, a, at):
    n = a[0].ndim - 2
    y = lax.conv_general_dilated(a[0], a[1], at.get("strides", [1] * n), _pairs(at, n), rhs_dilation=at.get("dilations", [1] * n), feature_group_count=at.get("group", 1))
    return y + a[2].reshape((1, -1) + (1,) * n) if len(a) > 2 and a[2] is not None else y


@op("ConvTranspose")
def _(xp, a, at):
    if at.get("group", 1) != 1 or "output_padding" in at or "output_shape" in at:
        raise NotApplicable("a transposed convolution with groups or sizes of its own")
    n = a[0].ndim - 2
    kernel = a[1].shape[2:]
    pads = [(k - 1 - low, k - 1 - high) for k, (low, high) in zip(kernel, _pairs(at, n))]
    w = jnp.flip(a[1], tuple(range(2, 2 + n))).swapaxes(0, 1)
    y = lax.conv_general_dilated(a[0], w, [1] * n, pads, lhs_dilation=at.get("strides", [1] * n))
    return y + a[2].reshape((1, -1) + (1,) * n) if len(a) > 2 and a[2] is not None else y


@op("MaxPool")
def _(xp, a, at):
    n = a[0].ndim - 2
    window, strides, pads = at["kernel_shape"], at.get("strides", [1] * n), _pairs(at, n)
    if at.get("ceil_mode", 0):  # one more window, where what is left is not empty
        sizes = [d + low + high for d, (low, high) in zip(a[0].shape[2:], pads)]
        pads = [(low, high + (-(s - k) % t)) for (low, high), s, k, t in zip(pads, sizes, window, strides)]
    full = lambda v, fill: [fill, fill, *v]
    return lax.reduce_window(a[0], -jnp.inf, lax.max, full(window, 1), full(strides, 1), full(pads, (0, 0)))


@op("AveragePool")
def _(xp, a, at):
    if at.get("ceil_mode", 0):
        raise NotApplicable("average pooling with ceil_mode")
    n = a[0].ndim - 2
    over = lambda x: lax.reduce_window(x, 0.0, lax.add, [1, 1, *at["kernel_shape"]], [1, 1, *at.get("strides", [1] * n)], [(0, 0), (0, 0), *_pairs(at, n)])
    count = np.prod(at["kernel_shape"]) if at.get("count_include_pad", 0) else over(jnp.ones((1, 1, *a[0].shape[2:]), a[0].dtype))
    return over(a[0]) / count
