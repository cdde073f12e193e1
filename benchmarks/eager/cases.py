"""The operators that are measured: for each a program of one library node, and what PyTorch calls it.

A case is made for a size in bytes of its first input: `cases(bytes)`.
"""

import dataclasses
import math
from typing import Callable

import numpy as np

# Channels, and what one row is, in the cases that have them.
ROW = 1024
CHANNELS = 64


@dataclasses.dataclass
class Case:
    name: str
    group: str
    node: str  # "onnx.Softmax{axis = 1}(input = X) -> (output = Y)"
    inputs: dict  # port variable -> array
    output: tuple  # (dtype, shape)
    eager: Callable  # of tensors, in the order of `inputs`
    flops: float = 0  # multiply-adds count two; 0: a question of bandwidth
    tolerance: float = 1e-5  # of the largest value

    def text(self):
        def declare(name, dtype, shape):
            return f"{name}: {dtype}[{', '.join(map(str, shape))}]"

        parameters = [declare(n, DTYPES[a.dtype], a.shape) for n, a in self.inputs.items()]
        parameters.append(declare("Y", *self.output))
        return f"sdfg f({', '.join(parameters)}) {{ state {{ {self.node} }} }}"


DTYPES = {
    np.dtype(np.float32): "f32",
    np.dtype(np.float64): "f64",
    np.dtype(np.int32): "i32",
    np.dtype(np.int64): "i64",
    np.dtype(np.bool_): "bool",
}


def cases(size):
    """All cases whose first input has `size` bytes of f32."""
    import torch
    import torch.nn.functional as F

    rng = np.random.default_rng(0)
    n = size // 4

    def uniform(shape, low=-1.0, high=1.0):
        return rng.uniform(low, high, shape).astype(np.float32)

    def elementwise(name, node, eager, *inputs, dtype="f32", **more):
        return Case(name, "elementwise", node, dict(zip("XABC", inputs)), (dtype, inputs[0].shape), eager, **more)

    flat = uniform(n, -4, 4)
    positive = uniform(n, 0.01, 4)
    second = uniform(n, 0.5, 2)
    mask = rng.random(n) < 0.5

    def unary(name, eager, x=flat, ports="input output", attributes="", label=None):
        i, o = ports.split()
        return elementwise(label or name, f"onnx.{name}{attributes}({i} = X) -> ({o} = Y)", eager, x)

    yield unary("Exp", torch.exp)
    yield unary("Log", torch.log, positive)
    yield unary("Tanh", torch.tanh)
    yield unary("Sigmoid", torch.sigmoid, ports="X Y")
    yield unary("Gelu", F.gelu, ports="X Y", label="Gelu (erf)")
    yield unary("Gelu", lambda x: F.gelu(x, approximate="tanh"), ports="X Y", attributes='{approximate = "tanh"}', label="Gelu (tanh)")
    yield unary("Mish", F.mish, ports="X Y")
    yield unary("Softplus", F.softplus, ports="X Y")
    yield unary("Erf", torch.erf)
    yield unary("Sin", torch.sin)
    yield unary("Cos", torch.cos)
    yield unary("Sqrt", torch.sqrt, positive, ports="X Y")
    yield unary("Relu", torch.relu, ports="X Y")
    yield elementwise("Pow", "onnx.Pow(X = X, Y = A) -> (Z = Y)", torch.pow, positive, second)
    yield elementwise("Add", "onnx.Add(A = X, B = A) -> (C = Y)", torch.add, flat, second)
    yield elementwise("Div", "onnx.Div(A = X, B = A) -> (C = Y)", torch.div, flat, second)
    low, high = np.float32(-0.5).reshape(()), np.float32(0.5).reshape(())
    yield elementwise("Clip", "onnx.Clip(input = X, min = A, max = B) -> (output = Y)", lambda x, a, b: torch.clamp(x, -0.5, 0.5), flat, low, high)
    yield elementwise("Where", "onnx.Where(condition = B, X = X, Y = A) -> (output = Y)", lambda x, a, c: torch.where(c, x, a), flat, second, mask)
    yield elementwise("Cast to i32", "onnx.Cast{to = 6}(input = X) -> (output = Y)", lambda x: x.to(torch.int32), flat, dtype="i32")
    yield elementwise("Cast to bf16", "onnx.Cast{to = 16}(input = X) -> (output = Y)", lambda x: x.to(torch.bfloat16), flat, dtype="bf16")
    yield elementwise("Cast to f16", "onnx.Cast{to = 10}(input = X) -> (output = Y)", lambda x: x.to(torch.float16), flat, dtype="f16")

    # Reductions of a 3-dimensional tensor, over each axis and over all.
    block = uniform((n // (64 * ROW), 64, ROW))
    for name, eager in [
        ("ReduceSum", torch.sum),
        ("ReduceMax", torch.amax),
        ("ReduceMean", torch.mean),
        ("ReduceLogSumExp", torch.logsumexp),
    ]:
        for which, axes in [("last", (2,)), ("middle", (1,)), ("first", (0,)), ("all", (0, 1, 2))]:
            shape = tuple(d for i, d in enumerate(block.shape) if i not in axes)
            yield Case(
                f"{name} ({which})",
                "reduction",
                f"onnx.{name}:11{{axes = {list(axes)}, keepdims = 0}}(data = X) -> (reduced = Y)",
                {"X": block},
                ("f32", shape),
                lambda x, f=eager, axes=axes: f(x, dim=axes),
                tolerance=1e-4,
            )

    for name, eager in [("Softmax", torch.softmax), ("LogSoftmax", torch.log_softmax)]:
        for which, axis in [("last", 2), ("middle", 1)]:
            yield Case(
                f"{name} ({which})",
                "softmax",
                f"onnx.{name}{{axis = {axis}}}(input = X) -> (output = Y)",
                {"X": block},
                ("f32", block.shape),
                lambda x, f=eager, axis=axis: f(x, dim=axis),
            )

    def normalisation(name, node, eager, x, *others):
        return Case(name, "normalisation", node, dict(zip("XABCD", (x,) + others)), ("f32", x.shape), eager, tolerance=1e-4)

    rows = uniform((n // ROW, ROW))
    row_scale, row_shift = uniform(ROW), uniform(ROW)
    side = 32
    images = uniform((n // (CHANNELS * side * side), CHANNELS, side, side))
    scale, shift = uniform(CHANNELS), uniform(CHANNELS)
    mean, variance = uniform(CHANNELS), uniform(CHANNELS, 0.5, 2)
    yield normalisation(
        "LayerNormalization",
        "onnx.LayerNormalization(X = X, Scale = A, B = B) -> (Y = Y)",
        lambda x, a, b: F.layer_norm(x, (ROW,), a, b),
        rows, row_scale, row_shift,
    )
    yield normalisation(
        "RMSNormalization",
        "onnx.RMSNormalization(X = X, scale = A) -> (Y = Y)",
        lambda x, a: F.rms_norm(x, (ROW,), a, 1e-5),
        rows, row_scale,
    )
    yield normalisation(
        "BatchNormalization",
        "onnx.BatchNormalization(X = X, scale = A, B = B, input_mean = C, input_var = D) -> (Y = Y)",
        lambda x, a, b, c, d: F.batch_norm(x, c, d, a, b),
        images, scale, shift, mean, variance,
    )
    yield normalisation(
        "InstanceNormalization",
        "onnx.InstanceNormalization(input = X, scale = A, B = B) -> (output = Y)",
        lambda x, a, b: F.instance_norm(x, weight=a, bias=b),
        images, scale, shift,
    )
    yield normalisation(
        "GroupNormalization",
        "onnx.GroupNormalization{num_groups = 8}(X = X, scale = A, bias = B) -> (Y = Y)",
        lambda x, a, b: F.group_norm(x, 8, a, b),
        images, scale, shift,
    )


def contractions():
    """The two whose measure is the machine's multiply-adds."""
    import torch
    import torch.nn.functional as F

    rng = np.random.default_rng(0)

    def uniform(shape):
        return rng.uniform(-1, 1, shape).astype(np.float32)

    yield Case(
        "MatMul 1024^3",
        "contraction",
        "onnx.MatMul(A = X, B = A) -> (Y = Y)",
        {"X": uniform((1024, 1024)), "A": uniform((1024, 1024))},
        ("f32", (1024, 1024)),
        torch.matmul,
        flops=2 * 1024**3,
        tolerance=1e-4,
    )
    images = (16, 64, 56, 56)
    yield Case(
        "Conv 3x3 64x56x56",
        "contraction",
        "onnx.Conv{pads = [1, 1, 1, 1]}(X = X, W = A) -> (Y = Y)",
        {"X": uniform(images), "A": uniform((64, 64, 3, 3))},
        ("f32", images),
        lambda x, w: F.conv2d(x, w, padding=1),
        flops=2 * math.prod(images) * 64 * 9,
        tolerance=1e-4,
    )
