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
SIDE = 32

BF16 = np.dtype([("bf16", np.uint16)])  # numpy has none: its bits
DTYPES = {
    np.dtype(np.float32): "f32",
    np.dtype(np.float64): "f64",
    np.dtype(np.float16): "f16",
    BF16: "bf16",
    np.dtype(np.int32): "i32",
    np.dtype(np.int64): "i64",
    np.dtype(np.uint8): "u8",
    np.dtype(np.bool_): "bool",
}


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
    constants: str = ""  # declarations
    fixed: str = ""  # inputs that no gradient is taken by

    def text(self):
        def declare(name, dtype, shape):
            return f"{name}: {dtype}[{', '.join(map(str, shape))}]"

        parameters = [declare(n, DTYPES[a.dtype], a.shape) for n, a in self.inputs.items()]
        parameters.append(declare("Y", *self.output))
        return f"sdfg f({', '.join(parameters)}) {{ {self.constants}\n state {{ {self.node} }} }}"


def tensor(array):
    """The array as PyTorch sees it."""
    import torch

    array = np.ascontiguousarray(array).reshape(array.shape)
    return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16) if array.dtype == BF16 else torch.from_numpy(array)


class Cases:
    """Arrays for a size, and the families of operators over them."""

    def __init__(self, size):
        self.rng = np.random.default_rng(0)
        self.size = size
        self.n = size // 4

    def uniform(self, shape, low=-1.0, high=1.0, dtype=np.float32):
        return self.rng.uniform(low, high, shape).astype(dtype)

    def case(self, name, group, node, inputs, eager, shape=None, dtype=None, **more):
        shape = inputs[0].shape if shape is None else tuple(shape)
        return Case(name, group, node, dict(zip("XABCD", inputs)), (dtype or DTYPES[inputs[0].dtype], shape), eager, **more)

    def unary(self):
        import torch
        import torch.nn.functional as F

        flat, positive = self.uniform(self.n, -4, 4), self.uniform(self.n, 0.01, 4)
        unit, above = self.uniform(self.n, -0.99, 0.99), self.uniform(self.n, 1, 8)

        def op(name, eager, x=flat, ports="input output", attributes="", label=None, **more):
            i, o = ports.split()
            return self.case(label or name, "elementwise", f"onnx.{name}{attributes}({i} = X) -> ({o} = Y)", [x], eager, **more)

        for name, x in [
            *((f, flat) for f in "Exp Tanh Erf Sin Cos Tan Atan Sinh Cosh Asinh Sign".split()),
            *((f, unit) for f in "Asin Acos Atanh".split()),
            ("Log", positive),
            ("Acosh", above),
        ]:
            yield op(name, getattr(torch, name.lower()), x)
        for name, eager in [
            ("Abs", torch.abs),
            ("Neg", torch.neg),
            ("Reciprocal", torch.reciprocal),
            ("Ceil", torch.ceil),
            ("Floor", torch.floor),
            ("Round", torch.round),
            ("Relu", torch.relu),
            ("Sigmoid", torch.sigmoid),
            ("Gelu", F.gelu),
            ("Mish", F.mish),
            ("Softplus", F.softplus),
            ("Selu", F.selu),
            ("Elu", F.elu),
            ("Celu", F.celu),
            ("Swish", F.silu),
            ("HardSwish", F.hardswish),
            ("LeakyRelu", F.leaky_relu),
            ("ThresholdedRelu", lambda x: F.threshold(x, 1.0, 0.0)),
            ("HardSigmoid", lambda x: torch.clamp(x * 0.2 + 0.5, 0, 1)),
        ]:
            yield op(name, eager, ports="X Y")
        yield op("Gelu", lambda x: F.gelu(x, approximate="tanh"), ports="X Y", attributes='{approximate = "tanh"}', label="Gelu (tanh)")
        yield op("Sqrt", torch.sqrt, positive, ports="X Y")
        yield op("Softsign", F.softsign)
        yield op("Shrink", lambda x: F.hardshrink(x, 0.5))
        yield op("IsNaN", torch.isnan, ports="X Y", dtype="bool")
        yield op("Not", torch.logical_not, self.rng.random(self.size) < 0.5, ports="X Y")
        wide = self.uniform(self.n // 2, 0.1, 4, np.float64)
        for name in "Exp Log Tanh Sin Erf".split():
            yield op(name, getattr(torch, name.lower()), wide, label=f"{name} (f64)")
        half = self.uniform(self.n * 2, -4, 4, np.float16)
        yield op("Relu", torch.relu, half, ports="X Y", label="Relu (f16)")
        yield op("Exp", torch.exp, half, label="Exp (f16)", tolerance=1e-3)

    def binary(self):
        import torch
        import torch.nn.functional as F

        flat, second, positive = self.uniform(self.n, -4, 4), self.uniform(self.n, 0.5, 2), self.uniform(self.n, 0.01, 4)
        mask = self.rng.random(self.n) < 0.5

        def op(name, eager, *inputs, ports="A B C", **more):
            *ins, out = ports.split()
            label, attributes = more.pop("label", name), more.pop("attributes", "")
            given = ", ".join(f"{p} = {v}" for p, v in zip(ins, "XAB"))
            return self.case(label, "elementwise", f"onnx.{name}{attributes}({given}) -> ({out} = Y)", inputs, eager, **more)

        yield op("Pow", torch.pow, positive, second, ports="X Y Z")
        squared = np.float32(2).reshape(())
        yield op("Pow", lambda x, y: torch.pow(x, 2.0), flat, squared, ports="X Y Z", label="Pow (by a scalar)")
        for name in "Add Sub Mul Div".split():
            yield op(name, getattr(torch, name.lower()), flat, second)
        for name in "Max Min".split():
            yield op(name, getattr(torch, f"{name.lower()}imum"), flat, second, ports=f"data_0 data_0 {name.lower()}")
        for name in "Greater Equal LessOrEqual".split():
            eager = {"Greater": torch.gt, "Equal": torch.eq, "LessOrEqual": torch.le}[name]
            yield op(name, eager, flat, second, dtype="bool")
        bits = self.rng.random(self.size) < 0.5
        yield op("And", torch.logical_and, bits, ~bits)
        whole = self.rng.integers(-99, 99, self.n).astype(np.int32)
        yield op("Add", torch.add, whole, whole[::-1], label="Add (i32)")
        yield op("Mul", torch.mul, whole.astype(np.int64)[: self.n // 2], whole.astype(np.int64)[: self.n // 2], label="Mul (i64)")
        yield op("BitwiseAnd", torch.bitwise_and, whole, whole[::-1])
        yield op("Mod", torch.fmod, flat, second, attributes="{fmod = 1}", label="Mod (fmod)")
        yield op("Mod", torch.remainder, whole, np.where(whole == 0, 7, whole)[::-1], label="Mod (i32)")
        yield op("Add", torch.add, self.uniform(self.n // 2, dtype=np.float64), self.uniform(self.n // 2, dtype=np.float64), label="Add (f64)")
        half = self.uniform(self.n * 2, dtype=np.float16)
        yield op("Mul", torch.mul, half, half[::-1], label="Mul (f16)", tolerance=1e-3)
        # broadcast
        rows = self.uniform((self.n // ROW, ROW), -4, 4)
        images = self.uniform((self.n // (CHANNELS * SIDE * SIDE), CHANNELS, SIDE, SIDE), -4, 4)
        for label, x, shape in [
            ("a scalar", flat, ()),
            ("a row", rows, (ROW,)),
            ("a column", rows, (len(rows), 1)),
            ("channels", images, (1, CHANNELS, 1, 1)),
            ("a middle", images, (len(images), 1, SIDE, 1)),
        ]:
            for name in ["Add", "Div"]:
                yield op(name, getattr(torch, name.lower()), x, self.uniform(shape, 0.5, 2), label=f"{name} ({label})")
        side = math.isqrt(self.n)
        yield op("Mul", torch.mul, self.uniform((side, 1)), self.uniform((1, side)), label="Mul (outer)", shape=(side, side))
        slope = self.uniform((CHANNELS, 1, 1))
        yield op("PRelu", lambda x, s: F.prelu(x, s.reshape(-1)), images, slope, ports="X slope Y")
        low, high = np.float32(-0.5).reshape(()), np.float32(0.5).reshape(())
        yield op("Clip", lambda x, a, b: torch.clamp(x, -0.5, 0.5), flat, low, high, ports="input min max output")
        yield self.case("Where", "elementwise", "onnx.Where(condition = B, X = X, Y = A) -> (output = Y)", [flat, second, mask],
                        lambda x, a, c: torch.where(c, x, a))
        row = self.rng.random((len(rows), 1)) < 0.5
        yield self.case("Where (column, scalar)", "elementwise", "onnx.Where(condition = B, X = X, Y = A) -> (output = Y)",
                        [rows, np.float32(0).reshape(()), row], lambda x, a, c: torch.where(c, x, a))

    def casts(self):
        import torch

        flat = self.uniform(self.n, -4, 4)
        half, bits = self.uniform(self.n * 2, -4, 4, np.float16), self.rng.integers(0x3F00, 0x4100, self.n * 2).astype(np.uint16).view(BF16)
        whole, wide = self.rng.integers(-99, 99, self.n).astype(np.int32), self.uniform(self.n // 2, -4, 4, np.float64)
        small = self.rng.integers(0, 255, self.size).astype(np.uint8)
        to = {"i32": (6, torch.int32), "i64": (7, torch.int64), "bf16": (16, torch.bfloat16), "f16": (10, torch.float16),
              "f64": (11, torch.float64), "f32": (1, torch.float32), "bool": (9, torch.bool), "u8": (2, torch.uint8)}  # fmt: skip
        for x, targets in [
            (flat, "i32 i64 bf16 f16 f64 bool"),
            (half, "f32"),
            (bits, "f32"),
            (whole, "f32 i64 f16"),
            (whole.astype(np.int64), "f32 i32"),
            (wide, "f32"),
            (small, "f32"),
            (abs(flat), "u8"),
        ]:
            for target in targets.split():
                number, t = to[target]
                yield self.case(f"Cast {DTYPES[x.dtype]} to {target}", "elementwise", f"onnx.Cast{{to = {number}}}(input = X) -> (output = Y)",
                                [x], lambda x, t=t: x.to(t), dtype=target)

    def reductions(self):
        """Of a 3-dimensional tensor, over each axis, over two and over all."""
        import torch

        block = self.uniform((self.n // (64 * ROW), 64, ROW))
        near_one = self.uniform(block.shape, 0.9999, 1.0001)

        def two(eager):
            def over(x, dim):
                for d in sorted(dim, reverse=True):
                    x = eager(x, d)
                return x

            return over

        norm = lambda p: lambda x, dim: torch.linalg.vector_norm(x, p, dim)
        for name, eager, x in [
            ("ReduceSum", torch.sum, block),
            ("ReduceMax", torch.amax, block),
            ("ReduceMin", torch.amin, block),
            ("ReduceMean", torch.mean, block),
            ("ReduceProd", two(torch.prod), near_one),
            ("ReduceL1", norm(1), block),
            ("ReduceL2", norm(2), block),
            ("ReduceSumSquare", lambda x, dim: torch.sum(x * x, dim), block),
            ("ReduceLogSumExp", torch.logsumexp, block),
        ]:
            for which, axes in [("last", [2]), ("middle", [1]), ("first", [0]), ("last two", [1, 2]), ("first two", [0, 1]), ("outer", [0, 2]), ("all", [0, 1, 2])]:
                shape = [d for i, d in enumerate(x.shape) if i not in axes]
                yield self.case(f"{name} ({which})", "reduction", f"onnx.{name}:11{{axes = {axes}, keepdims = 0}}(data = X) -> (reduced = Y)",
                                [x], lambda x, f=eager, axes=axes: f(x, dim=axes), shape, tolerance=0.1 if name == "ReduceProd" else 1e-4)  # fmt: skip
        for name, eager in [("ArgMax", torch.argmax), ("ArgMin", torch.argmin)]:
            for which, axis in [("last", 2), ("middle", 1), ("first", 0)]:
                shape = [d for i, d in enumerate(block.shape) if i != axis]
                yield self.case(f"{name} ({which})", "reduction", f"onnx.{name}{{axis = {axis}, keepdims = 0}}(data = X) -> (reduced = Y)",
                                [block], lambda x, f=eager, axis=axis: f(x, dim=axis), shape, "i64", tolerance=0)  # fmt: skip
        for which, axis in [("last", 2), ("middle", 1), ("first", 0)]:
            yield self.case(f"CumSum ({which})", "reduction", "onnx.CumSum(x = X, axis = K) -> (y = Y)", [block],
                            lambda x, axis=axis: torch.cumsum(x, axis), tolerance=1e-4, constants=f"constant K: i64 = {axis}")  # fmt: skip
        whole = self.rng.integers(-99, 99, block.shape).astype(np.int32)
        yield self.case("ReduceSum (i32, last)", "reduction", "onnx.ReduceSum:11{axes = [2], keepdims = 0}(data = X) -> (reduced = Y)",
                        [whole], lambda x: torch.sum(x, 2, dtype=torch.int32), block.shape[:2])  # fmt: skip
        wide = self.uniform((self.n // (2 * ROW), ROW), dtype=np.float64)
        for which, axis in [("last", 1), ("first", 0)]:
            yield self.case(f"ReduceSum (f64, {which})", "reduction", f"onnx.ReduceSum:11{{axes = [{axis}], keepdims = 0}}(data = X) -> (reduced = Y)",
                            [wide], lambda x, axis=axis: torch.sum(x, axis), [wide.shape[1 - axis]])  # fmt: skip
        for name, eager in [("Softmax", torch.softmax), ("LogSoftmax", torch.log_softmax)]:
            for which, axis in [("last", 2), ("middle", 1), ("first", 0)]:
                yield self.case(f"{name} ({which})", "softmax", f"onnx.{name}{{axis = {axis}}}(input = X) -> (output = Y)",
                                [block], lambda x, f=eager, axis=axis: f(x, dim=axis))  # fmt: skip
            for width in [10, 128, 32768]:
                rows = self.uniform((self.n // width, width))
                yield self.case(f"{name} (rows of {width})", "softmax", f"onnx.{name}{{axis = 1}}(input = X) -> (output = Y)",
                                [rows], lambda x, f=eager: f(x, dim=1))  # fmt: skip

    def normalisations(self):
        import torch
        import torch.nn.functional as F

        def op(name, node, eager, *inputs, **more):
            return self.case(name, "normalisation", node, inputs, eager, tolerance=1e-4, **more)

        for width in [64, ROW, 4096]:
            rows, scale, shift = self.uniform((self.n // width, width)), self.uniform(width), self.uniform(width)
            yield op(f"LayerNormalization ({width})", "onnx.LayerNormalization(X = X, Scale = A, B = B) -> (Y = Y)",
                     lambda x, a, b, w=width: F.layer_norm(x, (w,), a, b), rows, scale, shift)  # fmt: skip
            yield op(f"RMSNormalization ({width})", "onnx.RMSNormalization(X = X, scale = A) -> (Y = Y)",
                     lambda x, a, w=width: F.rms_norm(x, (w,), a, 1e-5), rows, scale)  # fmt: skip
        for side in [7, SIDE]:
            images = self.uniform((self.n // (CHANNELS * side * side), CHANNELS, side, side))
            scale, shift, mean, variance = (self.uniform(CHANNELS, low, 2) for low in (-2, -2, -2, 0.5))
            label = f" ({side}x{side})"
            yield op("BatchNormalization" + label, "onnx.BatchNormalization(X = X, scale = A, B = B, input_mean = C, input_var = D) -> (Y = Y)",
                     lambda x, a, b, c, d: F.batch_norm(x, c, d, a, b), images, scale, shift, mean, variance)  # fmt: skip
            yield op("BatchNormalization, training" + label,
                     "onnx.BatchNormalization{training_mode = 1}(X = X, scale = A, B = B, input_mean = C, input_var = D) -> (Y = Y)",
                     lambda x, a, b, c, d: F.batch_norm(x, c.clone(), d.clone(), a, b, True), images, scale, shift, mean, variance, fixed="CD")  # fmt: skip
            yield op("InstanceNormalization" + label, "onnx.InstanceNormalization(input = X, scale = A, B = B) -> (output = Y)",
                     lambda x, a, b: F.instance_norm(x, weight=a, bias=b), images, scale, shift)  # fmt: skip
            yield op("GroupNormalization" + label, "onnx.GroupNormalization{num_groups = 8}(X = X, scale = A, bias = B) -> (Y = Y)",
                     lambda x, a, b: F.group_norm(x, 8, a, b), images, scale, shift)  # fmt: skip
            yield op("LRN" + label, "onnx.LRN{size = 5}(X = X) -> (Y = Y)", lambda x: F.local_response_norm(x, 5), images)
        yield op("LpNormalization", "onnx.LpNormalization{axis = 1}(input = X) -> (output = Y)", F.normalize, self.uniform((self.n // ROW, ROW)))

    def movements(self):
        import torch

        block = self.uniform((self.n // (64 * ROW), 64, ROW))
        images = self.uniform((self.n // (CHANNELS * SIDE * SIDE), CHANNELS, SIDE, SIDE))
        flat = images.reshape(-1)

        def op(name, node, eager, *inputs, **more):
            return self.case(name, "movement", f"onnx.{node}", inputs, eager, tolerance=1e-6, **more)

        for x, perm in [(block, [0, 2, 1]), (block, [1, 0, 2]), (block, [2, 1, 0]), (images, [0, 2, 3, 1]), (images, [0, 3, 1, 2])]:
            yield op(f"Transpose {perm}", f"Transpose{{perm = {perm}}}(data = X) -> (transposed = Y)",
                     lambda x, p=perm: x.permute(p).contiguous(), x, shape=[x.shape[p] for p in perm])  # fmt: skip
        for axis in range(3):
            shape = [2 * d if i == axis else d for i, d in enumerate(block.shape)]
            yield op(f"Concat ({axis})", f"Concat{{axis = {axis}}}(inputs = X, inputs = A) -> (concat_result = Y)",
                     lambda x, a, axis=axis: torch.cat([x, a], axis), block, block[::-1], shape=shape)  # fmt: skip
        half = [*block.shape[:2], ROW // 2]
        for label, start, end, step in [("half of the last", 0, ROW // 2, 1), ("every other", 0, ROW, 2)]:
            yield op(f"Slice ({label})", "Slice(data = X, starts = P, ends = Q, axes = R, steps = S) -> (output = Y)",
                     lambda x, a=start, b=end, s=step: x[:, :, a:b:s].contiguous(), block, shape=half,
                     constants=f"constant P: i64[1] = [{start}]; constant Q: i64[1] = [{end}]; constant R: i64[1] = [2]; constant S: i64[1] = [{step}]")  # fmt: skip
        for mode in ["constant", "reflect"]:
            yield op(f"Pad ({mode})", f'Pad{{mode = "{mode}"}}(data = X, pads = P) -> (output = Y)',
                     lambda x, m=mode: torch.nn.functional.pad(x, (1, 1, 1, 1), m), images, shape=[*images.shape[:2], SIDE + 2, SIDE + 2],
                     constants="constant P: i64[8] = [0, 0, 1, 1, 0, 0, 1, 1]")  # fmt: skip
        row = self.uniform((1, ROW))
        yield op("Expand", "Expand(input = X, shape = P) -> (output = Y)", lambda x: x.expand(self.n // ROW, ROW).contiguous(), row,
                 shape=(self.n // ROW, ROW), constants=f"constant P: i64[2] = [{self.n // ROW}, {ROW}]")  # fmt: skip
        yield op("Tile", "Tile(input = X, repeats = P) -> (output = Y)", lambda x: x.repeat(2, 2), block.reshape(-1, ROW),
                 shape=(2 * self.n // ROW, 2 * ROW), constants="constant P: i64[2] = [2, 2]")  # fmt: skip
        yield op("Flatten", "Flatten(input = X) -> (output = Y)", lambda x: x.reshape(len(x), -1).clone(), images, shape=(len(images), flat.size // len(images)))
        yield op("DepthToSpace", 'DepthToSpace{blocksize = 2, mode = "CRD"}(input = X) -> (output = Y)',
                 lambda x: torch.nn.functional.pixel_shuffle(x, 2), images, shape=(len(images), CHANNELS // 4, 2 * SIDE, 2 * SIDE))  # fmt: skip
        rows = self.uniform((self.n // 64, 64))
        which = self.rng.integers(0, len(rows), len(rows))
        yield op("Gather (rows)", "Gather{axis = 0}(data = X, indices = A) -> (output = Y)", lambda x, i: x[i], rows, which)
        columns = self.rng.integers(0, ROW, ROW)
        yield op("Gather (columns)", "Gather{axis = 1}(data = X, indices = A) -> (output = Y)",
                 lambda x, i: torch.index_select(x, 1, i), block.reshape(-1, ROW), columns)  # fmt: skip
        for mode, ours in [("nearest", 'mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"'), ("bilinear", 'mode = "linear"')]:
            yield op(f"Resize ({mode})", f"Resize{{{ours}}}(X = X, scales = P) -> (Y = Y)",
                     lambda x, m=mode: torch.nn.functional.interpolate(x, scale_factor=2, mode=m), images, shape=[*images.shape[:2], 2 * SIDE, 2 * SIDE],
                     constants="constant P: f32[4] = [1, 1, 2, 2]")  # fmt: skip

    def pools(self):
        import torch.nn.functional as F

        images = self.uniform((self.n // (CHANNELS * 56 * 56), CHANNELS, 56, 56))
        for kind, eager in [("Max", F.max_pool2d), ("Average", lambda *a, **k: F.avg_pool2d(*a, **k, count_include_pad=False))]:
            for k, stride, pad in [(2, 2, 0), (3, 2, 1), (3, 1, 1)]:
                side = (56 + 2 * pad - k) // stride + 1
                attributes = f"kernel_shape = [{k}, {k}], strides = [{stride}, {stride}], pads = [{', '.join([str(pad)] * 4)}]"
                yield self.case(f"{kind}Pool {k}x{k} by {stride}", "pooling", f"onnx.{kind}Pool{{{attributes}}}(X = X) -> (Y = Y)", [images],
                                lambda x, f=eager, k=k, s=stride, p=pad: f(x, k, stride=s, padding=p), [*images.shape[:2], side, side])  # fmt: skip
        for kind, eager in [("Max", F.adaptive_max_pool2d), ("Average", F.adaptive_avg_pool2d)]:
            yield self.case(f"Global{kind}Pool", "pooling", f"onnx.Global{kind}Pool(X = X) -> (Y = Y)", [images],
                            lambda x, f=eager: f(x, 1), [*images.shape[:2], 1, 1])  # fmt: skip


def cases(size):
    """All cases whose first input has about `size` bytes."""
    c = Cases(size)
    for family in [c.unary, c.binary, c.casts, c.reductions, c.normalisations, c.movements, c.pools]:
        yield from family()


def contractions():
    """Those whose measure is the machine's multiply-adds."""
    import torch
    import torch.nn.functional as F

    c = Cases(0)

    def op(name, node, eager, flops, shape, *inputs):
        return c.case(name, "contraction", node, inputs, eager, shape, flops=flops, tolerance=1e-4)

    for m, k, n in [(1024, 1024, 1024), (64, 784, 512), (1, 1024, 1024)]:
        name = f"MatMul {m}x{k}x{n}" if (m, k, n) != (1024, 1024, 1024) else "MatMul 1024^3"
        yield op(name, "onnx.MatMul(A = X, B = A) -> (Y = Y)", torch.matmul, 2 * m * k * n, (m, n), c.uniform((m, k)), c.uniform((k, n)))
    yield op("Gemm 512^3, both transposed", "onnx.Gemm{transA = 1, transB = 1}(A = X, B = A) -> (Y = Y)", lambda a, b: a.T @ b.T, 2 * 512**3,
             (512, 512), c.uniform((512, 512)), c.uniform((512, 512)))  # fmt: skip
    yield op("MatMul, 48 of 128x64x128", "onnx.MatMul(A = X, B = A) -> (Y = Y)", torch.matmul, 48 * 2 * 128 * 64 * 128, (4, 12, 128, 128),
             c.uniform((4, 12, 128, 64)), c.uniform((4, 12, 64, 128)))  # fmt: skip
    for n, channels, side, out, kernel, stride, groups in [
        (16, 64, 56, 64, 3, 1, 1),
        (4, 3, 224, 64, 7, 2, 1),
        (8, 256, 56, 64, 1, 1, 1),
        (8, 512, 7, 512, 3, 1, 1),
        (8, 96, 56, 96, 3, 1, 96),
        (64, 16, 8, 32, 3, 1, 1),
    ]:
        pad, after = kernel // 2, (side - 1) // stride + 1
        attributes = f"pads = [{', '.join([str(pad)] * 4)}], strides = [{stride}, {stride}], group = {groups}"
        x, w = c.uniform((n, channels, side, side)), c.uniform((out, channels // groups, kernel, kernel))
        name = f"Conv {kernel}x{kernel} {channels}x{side}x{side}" + (" depthwise" if groups > 1 else "")
        yield op(name, f"onnx.Conv{{{attributes}}}(X = X, W = A) -> (Y = Y)",
                 lambda x, w, s=stride, p=pad, g=groups: F.conv2d(x, w, stride=s, padding=p, groups=g),
                 2 * n * out * after * after * w[0].size, (n, out, after, after), x, w)  # fmt: skip


def every(size):
    """All of both kinds."""
    yield from cases(size)
    yield from contractions()


def names():
    """Of the operators whose arguments NumPy has."""
    return [case.name for case in every(1 << 20) if all(a.dtype != BF16 for a in case.inputs.values()) and case.output[0] != "bf16"]


def find(name, mib):
    """The case of that name at a size in MiB."""
    return next(case for case in every(int(mib) << 20) if case.name == name)
