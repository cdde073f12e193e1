"""The table: (operator × type × special values), what is expected, and what decides it.

Expected is what the onnx reference evaluator (NumPy) gives, unless a case brings values of its own:
* pools with NaN: PyTorch and ONNX Runtime pass NaN on (the reference evaluator's comparisons lose it); its place is the first
  NaN's in the window, as PyTorch has it for one NaN;
* ReduceLogSumExp of infinities: ONNX Runtime's inf and -inf (the reference evaluator computes inf - inf);
* Selu and Celu of -0: the reference evaluator's (ONNX Runtime differs in the zero's sign);
* QuantizeLinear of infinities: ONNX Runtime's, which saturate;
* pads of removed elements, windows beyond an end: ONNX Runtime's (the reference evaluator has none);
* float to integer where the integer can't hold the value: nobody defines it; ours (docs/notation.md)."""

import dataclasses

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, parser

INF, NAN = np.inf, np.nan
# Both zeros, kinks of activations, halves, saturation points, subnormals, the ends of the range, NaN and infinities.
VALUES = np.array([0, -0.0, NAN, INF, -INF, 1, -1, .5, -.5, 1.5, -1.5, 2.5, -2.5, 3, -3, 88, -88, 100, -100, 710, -710, 1e-30, -1e-30,
                   3e38, -3e38, 7.5], np.float32)
PAIRS = np.array([0, -0.0, NAN, INF, -INF, 1, -1, 2.5, -2.5], np.float32)
ROWS = np.array([[1, NAN, 3, 2], [NAN] * 4, [INF, 1, INF, -INF], [-INF] * 4, [1, 3, NAN, 5], [5, NAN, 7, NAN], [2] * 4, [INF] * 4,
                 [-1, -2, -INF, -3]], np.float32)
UNARY = """Abs Neg Sign Floor Ceil Round Relu LeakyRelu Elu Selu Celu ThresholdedRelu HardSigmoid HardSwish Softplus Sigmoid Tanh Softsign
    Mish Gelu Shrink Exp Log Sqrt Reciprocal Erf Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh""".split()
BINARY = "Add Sub Mul Div Pow Max Min PRelu".split()
COMPARE = "Equal Less Greater LessOrEqual GreaterOrEqual".split()
FLOATS = {"float": np.float32, "double": np.float64, "float16": np.float16}


@dataclasses.dataclass(eq=False)
class Case:
    name: str
    model: onnx.ModelProto
    inputs: list
    expected: list = None
    tolerance: float = None
    opset: int = 21
    either_zero: tuple = ()  # outputs whose zeros may have either sign: nobody says which of 0 and -0 is larger


def text(body, opset=21):
    return parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}]> g {body}')


def case(name, body, inputs, expected=None, tolerance=None, opset=21, either_zero=()):
    return Case(name, text(body, opset), inputs, expected, tolerance, opset, either_zero)


def cases():
    yield from elementwise()
    yield from reductions()
    yield from pools()
    yield from casts()
    yield from integers()
    yield from between()
    yield from empty()


def in_type(values, dtype):
    """What the type can hold: f16 has no 88 squared."""
    with np.errstate(all="ignore"):
        return values.astype(dtype)


def elementwise():
    for t, dtype in FLOATS.items():
        x = in_type(VALUES, dtype)
        ops = [op for op in UNARY if op != "Celu" or t == "float"]  # Celu has no other type
        nodes = " ".join(f"{op} = {op}(x)" for op in ops)
        outputs = ", ".join(f"{t}[N] {op}" for op in ops)
        yield case(f"unary, {t}", f"({t}[N] x) => ({outputs}, bool[N] nan, bool[N] inf, bool[N] up) {{ {nodes} nan = IsNaN(x) inf = IsInf(x) up = IsInf<detect_negative = 0>(x) }}",
                   [x], tolerance={"float": 2e-5, "double": 2e-6, "float16": 5e-3}[t], either_zero=("Relu",))
        if t == "float16":
            continue
        a, b = [v.ravel().astype(dtype) for v in np.meshgrid(PAIRS, PAIRS, indexing="ij")]
        nodes = " ".join(f"{op} = {op}(a, b)" for op in BINARY + COMPARE) + " fmod = Mod<fmod = 1>(a, b)"
        outputs = ", ".join([f"{t}[N] {op}" for op in BINARY] + [f"bool[N] {op}" for op in COMPARE] + [f"{t}[N] fmod"])
        yield case(f"binary, {t}", f"({t}[N] a, {t}[N] b) => ({outputs}) {{ {nodes} }}", [a, b], either_zero=("Max", "Min"))
    for lo, hi in ((-1, 1), (NAN, 1), (-1, NAN), (2, 1), (-INF, INF), (0, 0)):
        yield case(f"clip to {lo} and {hi}", "(float[N] x, float a, float b) => (float[N] y, float[N] z) { y = Clip(x, a, b) z = Clip(x, , b) }", [VALUES, np.array(lo, np.float32), np.array(hi, np.float32)], either_zero=("y", "z"))
    narrow = lambda v: v.astype(ml_dtypes.bfloat16).astype(np.float32)
    x = narrow(VALUES)
    nodes = " ".join(f"{op}_ = {op}(h) {op} = Cast<to = 1>({op}_)" for op in ("Abs", "Sign", "Neg", "Exp"))
    with np.errstate(all="ignore"):
        yield case("unary, bfloat16", f"(float[N] x) => (float[N] Abs, float[N] Sign, float[N] Neg, float[N] Exp, bool[N] inf) {{ h = Cast<to = 16>(x) {nodes} inf = IsInf(h) }}",
                   [VALUES], [np.abs(x), np.sign(x), -x, narrow(np.exp(x)), np.isinf(x)], tolerance=1e-2)
    yield case("gelu by tanh", "(float[N] x) => (float[N] y) { y = Gelu<approximate = \"tanh\">(x) }", [VALUES], tolerance=5e-5)


def reductions():
    reduced = "ReduceMax ReduceMin ReduceSum ReduceProd ReduceMean ReduceL1 ReduceL2 ReduceLogSum ReduceSumSquare".split()
    for t, dtype in FLOATS.items():
        x = ROWS.astype(dtype)
        nodes = " ".join(f"{op} = {op}<keepdims = 0>(x, a)" for op in reduced)
        yield case(f"reductions, {t}", f"({t}[N, M] x) => ({', '.join(f'{t}[N] {op}' for op in reduced)}) <int64[1] a = {{1}}> {{ {nodes} }}", [x])
        with np.errstate(all="ignore"):
            top = np.where(np.isinf(x.max(1)), 0, x.max(1))
            lse = top + np.log(np.exp(x - top[:, None]).sum(1))
        yield case(f"log of sums of exponentials, {t}", f"({t}[N, M] x) => ({t}[N] y) <int64[1] a = {{1}}> {{ y = ReduceLogSumExp<keepdims = 0>(x, a) }}", [x], [lse.astype(dtype)])
        yield case(f"softmax and its kin, {t}", f"({t}[N, M] x) => ({t}[N, M] s, {t}[N, M] l, {t}[N, M] h, {t}[N, M] c) <int64 a = {{1}}> {{ s = Softmax(x) l = LogSoftmax(x) h = Hardmax(x) c = CumSum(x, a) }}", [x])
        if t != "float":
            continue
        yield case(f"places of extrema, {t}", f"({t}[N, M] x) => (int64[N] a, int64[N] b, int64[N] c, int64[N] d) {{ a = ArgMax<axis = 1, keepdims = 0>(x) b = ArgMin<axis = 1, keepdims = 0>(x) "
                   "c = ArgMax<axis = 1, keepdims = 0, select_last_index = 1>(x) d = ArgMin<axis = 1, keepdims = 0, select_last_index = 1>(x) }", [x])
        yield case(f"largest and smallest, {t}", f"({t}[N, M] x) => ({t}[N, K] v, int64[N, K] i, {t}[N, K] w, int64[N, K] j) <int64[1] k = {{3}}> {{ v, i = TopK(x, k) w, j = TopK<largest = 0>(x, k) }}", [x])
    yield case("hardmax of opset 11", "(float[N, M] x) => (float[N, M] y) { y = Hardmax<axis = 1>(x) }", [ROWS], [np.eye(4, dtype=np.float32)[np.argmax(ROWS, 1)]], opset=11)


def windows(x, kernel, strides, pads, dilations=(1, 1)):
    """[rows, columns, kernel] of flat places in x, -1 in the padding."""
    h, w = x.shape
    out = [(n + pads[d] + pads[d + 2] - dilations[d] * (kernel[d] - 1) - 1) // strides[d] + 1 for d, n in enumerate((h, w))]
    at = np.full((*out, kernel[0] * kernel[1]), -1)
    for i in range(out[0]):
        for j in range(out[1]):
            for k in range(kernel[0] * kernel[1]):
                r = i * strides[0] + k // kernel[1] * dilations[0] - pads[0]
                c = j * strides[1] + k % kernel[1] * dilations[1] - pads[1]
                if 0 <= r < h and 0 <= c < w:
                    at[i, j, k] = r * w + c
    return at


def max_pool(x, at, column_major=False):
    values = np.where(at < 0, -INF, x.ravel()[at])
    place = np.take_along_axis(at, np.argmax(np.where(at < 0, -INF, values), -1)[..., None], -1)[..., 0]  # argmax: the first NaN wins
    for i, j in np.ndindex(place.shape):  # a maximum of -inf is not in the padding
        inside = at[i, j][at[i, j] >= 0]
        if len(inside) and not np.isnan(x.ravel()[inside]).any():
            place[i, j] = inside[np.argmax(x.ravel()[inside])]
    y = np.where(place < 0, -INF, x.ravel()[place]).astype(x.dtype)
    if column_major:
        place = np.where(place < 0, place, place % x.shape[1] * x.shape[0] + place // x.shape[1])
    return [y[None, None], place[None, None].astype(np.int64)]


def pools():
    x = ROWS
    for name, kernel, strides, pads, dilations in (("", (2, 2), (1, 1), (0, 0, 0, 0), (1, 1)), (" padded", (3, 2), (2, 2), (1, 1, 1, 0), (1, 1)), (" dilated", (2, 2), (1, 1), (0, 0, 0, 0), (2, 2)),
                                                  (" with windows of padding alone", (2, 2), (2, 2), (2, 2, 2, 2), (1, 1))):
        at = windows(x, kernel, strides, pads, dilations)
        for order in (0, 1):
            attributes = f"kernel_shape = [{kernel[0]}, {kernel[1]}], strides = [{strides[0]}, {strides[1]}], pads = [{', '.join(map(str, pads))}], dilations = [{dilations[0]}, {dilations[1]}], storage_order = {order}"
            yield case(f"max pool{name}, order {order}", f"(float[1, 1, N, M] x) => (float[1, 1, A, B] y, int64[1, 1, C, D] i) {{ y, i = MaxPool<{attributes}>(x) }}", [x[None, None]], max_pool(x, at, order == 1))
    at = windows(x, (2, 2), (1, 1), (0, 0, 0, 0))
    with np.errstate(all="ignore"):
        values = x.ravel()[at]
        yield case("average and norm pools", "(float[1, 1, N, M] x) => (float[1, 1, A, B] y, float[1, 1, C, D] z) { y = AveragePool<kernel_shape = [2, 2]>(x) z = LpPool<kernel_shape = [2, 2]>(x) }", [x[None, None]],
                   [values.mean(-1)[None, None], np.sqrt((values**2).sum(-1))[None, None].astype(np.float32)])
        yield case("pools of everything", "(float[N, 1, M] x) => (float[N, 1, A] y, float[N, 1, B] z, float[N, 1, C] w) { y = GlobalMaxPool(x) z = GlobalAveragePool(x) w = GlobalLpPool(x) }", [x[:, None]],
                   [x.max(1)[:, None, None], x.mean(1)[:, None, None], np.sqrt((x**2).sum(1))[:, None, None].astype(np.float32)])


def casts():
    # (value, as i8, u8, i16, i32, u32, i64, u64): a value that 64 bits hold keeps its low bits, another is the nearest; NaN is 0.
    x = np.array([0.9, -0.9, 127, -128, 300, -300, 70000, 2147483520, -2147483648], np.float32)
    names = {"int8": 3, "uint8": 2, "int16": 5, "int32": 6, "uint32": 12, "int64": 7, "uint64": 13}
    nodes = " ".join(f"{n} = Cast<to = {k}>(x)" for n, k in names.items())
    wide = x.astype(np.int64)
    yield case("floats as integers", f"(float[N] x) => ({', '.join(f'{n}[N] {n}' for n in names)}, bool[N] b) {{ {nodes} b = Cast<to = 9>(x) }}", [x], [wide.astype(n) for n in names] + [x != 0])
    x = np.array([NAN, INF, -INF, 1e30, -1e30], np.float32)
    low, high = -2**63, 2**63 - 1
    yield case("floats that no integer holds", "(float[N] x) => (int64[N] a, bool[N] b) { a = Cast<to = 7>(x) b = Cast<to = 9>(x) }", [x], [np.array([0, high, low, high, low]), np.ones(5, bool)])
    x = np.array([NAN, INF, -INF, 0, -0.0, 65504, 65519, 65520, 448, 464, 465, 57344, 61440, 240, 1e30, -1e30, 6, 7, 1e-8, 1e-45], np.float32)
    for t in ("FLOAT16", "BFLOAT16", "FLOAT8E4M3FN", "FLOAT8E5M2", "FLOAT8E4M3FNUZ", "FLOAT8E5M2FNUZ"):
        for saturate in (1, 0) if "8" in t else (1,):
            k = getattr(TensorProto, t)
            option = f", saturate = {saturate}" if "8" in t else ""
            yield case(f"cast to {t}{option}", f"(float[N] x) => (float[N] y) {{ h = Cast<to = {k}{option}>(x) y = Cast<to = 1>(h) }}", [x])
    x = np.array([INF, -INF, 1e30, -1e30, 300, -300, 0.25, 0.75, 1.25, -0.25, 0, -0.0], np.float32)
    for t, low, high in (("uint8", 0, 255), ("int8", -128, 127)):  # ONNX Runtime's: infinities saturate
        with np.errstate(all="ignore"):
            expected = np.clip(np.rint(x / np.float32(0.5)) + 3, low, high).astype(t)
        yield case(f"quantised to {t}", f"(float[N] x) => ({t}[N] y) <float s = {{0.5}}, {t} z = {{3}}> {{ y = QuantizeLinear(x, s, z) }}", [x], [expected])


def integers():
    i = np.array([0, 1, -1, 2**31 - 1, -2**31, 7, -7], np.int32)
    a, b = [v.ravel() for v in np.meshgrid(i, i, indexing="ij")]
    yield case("int32", "(int32[N] a, int32[N] b) => (int32[N] s, int32[N] d, int32[N] m, int32[N] g, int32[N] l, int32[N] n, int32[N] p, int32[N] q) "
               "{ s = Add(a, b) d = Sub(a, b) m = Mul(a, b) g = Max(a, b) l = Min(a, b) n = Neg(a) p = Abs(a) q = Sign(a) }", [a, b])
    keep = (b != 0) & ~((a == -2**31) & (b == -1))
    yield case("int32 quotients", "(int32[N] a, int32[N] b) => (int32[N] d, int32[N] m, int32[N] f) { d = Div(a, b) m = Mod(a, b) f = Mod<fmod = 1>(a, b) }", [a[keep], b[keep]])


def empty():
    none = np.zeros((2, 0), np.float32)
    ops = "ReduceMax ReduceMin ReduceSum ReduceProd ReduceMean ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare".split()
    yield case("reductions of nothing", f"(float[N, M] x) => ({', '.join(f'float[N] {op}' for op in ops)}) <int64[1] a = {{1}}> {{ {' '.join(f'{op} = {op}<keepdims = 0>(x, a)' for op in ops)} }}", [none])
    for t in ("int32", "uint8", "int8"):
        yield case(f"extrema of nothing, {t}", f"({t}[N, M] x) => ({t}[N] y, {t}[N] z) <int64[1] a = {{1}}> {{ y = ReduceMax<keepdims = 0>(x, a) z = ReduceMin<keepdims = 0>(x, a) }}", [np.zeros((2, 0), t)])
    yield case("softmax of nothing", "(float[N, M] x) => (float[N, M] s, float[N, M] l, float[N, M] h) { s = Softmax(x) l = LogSoftmax(x) h = Hardmax(x) }", [none])


def between():
    """Integers between elements; boxes of every size; what a window or a border lies beyond."""
    image = np.array([[[[0, 10, 255, 3], [7, 7, 250, 1], [9, 8, 200, 90]]]])
    for t, x in (("uint8", image), ("int8", image - 128), ("int32", 1001 * image)):
        for mode in ("linear", "cubic"):
            yield case(f"Resize of {t}, {mode}", f'({t}[1, 1, 3, N] x) => ({t}[1, 1, 3, M] y) <float[4] s = {{1, 1, 1, 1.7}}> {{ y = Resize<mode = "{mode}">(x, "", s) }}', [x.astype(t)], opset=19)
    x = np.sin(np.arange(48, dtype=np.float32)).reshape(2, 2, 3, 4)
    boxes = np.array([[-20, -3, 30, 4], [-200, -200, 300, 300], [3, 2, 1, 1], [1, 1, 1, 1], [0, 0, 2, 2], [9, 9, 90, 90], [-9, -9, -5, -5]], np.float32)
    for mode in ("avg", "max"):
        for where in ("half_pixel", "output_half_pixel"):
            for n in (0, 2):
                yield case(f"RoiAlign, {mode}, {where}, {n}", f'''(float[2, 2, H, W] x, float[R, 4] b, int64[R] i) => (float[R, 2, 2, 3] y) {{
                    y = RoiAlign<output_height = 2, output_width = 3, mode = "{mode}", sampling_ratio = {n}, coordinate_transformation_mode = "{where}">(x, b, i) }}''',
                           [x, boxes, np.arange(7) % 2], tolerance=1e-4, opset=16, either_zero=("y",))
    line = np.arange(8, dtype=np.float32).reshape(1, 1, 8)
    yield case("AveragePool beyond the end", '(float[1, 1, N] x) => (float[1, 1, M] y) { y = AveragePool<kernel_shape = [3], strides = [3], ceil_mode = 1, count_include_pad = 1, auto_pad = "VALID">(x) }',
               [line], [np.array([[[1, 4, 6.5]]], np.float32)])
    rows = np.arange(6, dtype=np.float32).reshape(2, 3)
    for pads, columns in (((-1, 2), [1, 2, 1, 2]), ((4, -2), [0] * 5), ((-2, 3), [2] * 4)):
        yield case(f"Pad by {pads}, wrapped", f'(float[2, N] x) => (float[2, M] y) <int64[4] p = {{0, {pads[0]}, 0, {pads[1]}}}> {{ y = Pad<mode = "wrap">(x, p) }}', [rows], [rows[:, columns]])


def refused():
    """(name, model, inputs, message): what ONNX Runtime refuses, with fixed sizes and with sizes that the run brings."""
    x = np.ones((2, 3), np.float32)
    nothing = np.ones((0, 3), np.float32)
    for t in ("2, 3", "N, M"):
        for pads in ((0, 3, 0, 0), (0, 0, 0, 3), (2, 0, 0, 0)):
            yield (f"reflection of {t} by {pads}", text(f'(float[{t}] x) => (float[A, B] y) <int64[4] p = {{{", ".join(map(str, pads))}}}> {{ y = Pad<mode = "reflect">(x, p) }}'), [x],
                   "can't be mirrored")
    yield ("reflection by sizes of the run", text('(float[N, M] x, float[4] f) => (float[A, B] y) { c = Clip(f) p = Cast<to = 7>(c) y = Pad<mode = "reflect">(x, p) }'), [x, np.array([0, 0, 0, 3], np.float32)], "can't be mirrored")
    for mode in ("reflect", "edge", "wrap"):
        yield (f"{mode} of nothing", text(f'(float[N, M] x) => (float[A, B] y) <int64[4] p = {{1, 0, 0, 0}}> {{ y = Pad<mode = "{mode}">(x, p) }}'), [nothing], "Pad")
    for op in ("ArgMax", "ArgMin"):
        yield (f"{op} of nothing", text(f"(float[N, M] x) => (int64[A, B] y) {{ y = {op}<axis = 0>(x) }}"), [nothing], "has no element")
        yield (f"{op} of nothing, fixed", text(f"(float[0, 3] x) => (int64[A, B] y) {{ y = {op}<axis = 0>(x) }}"), [nothing], "has no element")
