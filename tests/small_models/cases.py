"""Small models that use ONNX's corners, as text: (name, model, inputs), and what is expected where the reference evaluator
can't say: it knows no Scan backwards, no empty scan outputs, no negative pads, no overloads, no functions that call functions."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, parser


def text(opset, body, functions="", ir=10, domains=()):
    imports = ", ".join([f'"" : {opset}'] + [f'"{d}" : {v}' for d, v in domains])
    return parser.parse_model(f"<ir_version: {ir}, opset_import: [{imports}]> {body} {functions}")


def f32(*shape):
    return np.random.default_rng(sum(shape) + len(shape)).uniform(-2, 2, shape).astype(np.float32)


def i64(*values):
    return np.array(values, np.int64)


def edited(m, edit):
    edit(m)
    return m


def cases():
    yield from control_flow()
    yield from sizes_as_data()
    yield from axes_as_data()
    yield from corners_of_types()
    yield from corners_of_graphs()
    yield from sequences()
    yield from classical()
    yield from old_opsets()
    yield from gradients()


def control_flow():
    branches = text(21, """g (bool c, float[N, 3] x) => (float[M, K] y) <int64[1] one = {1}> {
        t = If (c) <then_branch = a () => (float[P, Q] u) { u = Transpose<perm = [1, 0]>(x) },
                    else_branch = b () => (float[R, S] v) { v = Concat<axis = 0>(x, x, x) }>
        y = Neg(t)
    }""")
    yield "branches of different shapes, true", branches, [np.array(True), f32(4, 3)]
    yield "branches of different shapes, false", branches, [np.array(False), f32(4, 3)]
    yield "an output declared with another rank, all names", text(21, """g (bool c, float[N, 3] x) => (float[M] y) {
        y = If (c) <then_branch = a () => (u) { u = Neg(x) }, else_branch = b () => (v) { v = Exp(x) }>
    }"""), [np.array(True), f32(4, 3)]
    yield "a branch inside a branch", text(21, """g (bool c, bool d, float[N] x) => (float[M] y) {
        y = If (c) <then_branch = a () => (float[A] u) {
                u = If (d) <then_branch = p () => (float[B] p0) { p0 = Concat<axis = 0>(x, x) },
                            else_branch = q () => (float[C] q0) { q0 = Exp(x) }> },
            else_branch = b () => (float[D] v) { v = Identity(x) }>
    }"""), [np.array(True), np.array(True), f32(3)]
    body = """<body = l (int64 i, bool go, float[2] v) => (bool more, float[2] w, float[2] seen) {
        w = Add(v, step)
        seen = Mul(w, w)
        total = ReduceSum<keepdims = 0>(w)
        more = Less(total, limit)
    }>"""
    yield "while loop with a scan output of unknown length", text(21, f"""g (float[2] x, float limit, float[2] step) => (float[2] last, float[K, 2] all) {{
        cond = Constant<value = bool {{1}}>()
        none = Constant<value_string = "unused">()
        last, all = Loop (, cond, x) {body}
    }}"""), [f32(2), np.float32(9.5), np.array([1, 1.5], np.float32)]
    yield "loop of no iterations", text(21, f"""g (float[2] x, float limit, float[2] step, int64 n) => (float[2] last, float[K, 2] all) {{
        last, all = Loop (n, , x) {body}
    }}"""), [f32(2), np.float32(100), f32(2), np.int64(0)], [f32(2), f32(0, 2)]
    yield "loop that grows its value", text(21, """g (float[N] x, int64 n) => (float[M] y) {
        y = Loop (n, , x) <body = l (int64 i, bool go, float[P] v) => (bool more, float[Q] w) {
            more = Identity(go)
            w = Concat<axis = 0>(v, x)
        }>
    }"""), [f32(3), np.int64(4)], [np.tile(f32(3), 5)]
    for name in ("Max", "Sum"):
        yield f"loop over a {name} of halves", text(20, f"""g (int64 n, float16[2, 3] x) => (float16[K, 2] y) <bool true = {{1}}, int64[1] one = {{1}}> {{
            y = Loop (n, true) <body = l (int64 i, bool c) => (bool c, float16[2] m) {{ m = Reduce{name}<keepdims = 0>(x, one) }}> }}"""), [np.int64(3), f32(2, 3).astype(np.float16)], [np.stack([getattr(np, name.lower())(f32(2, 3).astype(np.float16), 1)] * 3)]
    yield "loop whose scan output changes its size", text(21, """g (int64 n) => (float[K] y) {
        s = SequenceEmpty<dtype = 1>()
        q = Loop (n, , s) <body = l (int64 i, bool go, seq(float[P]) v) => (bool more, seq(float[P]) w) {
            more = Identity(go)
            one = Constant<value_ints = [1]>()
            size = Reshape(i, one)
            row = ConstantOfShape(size)
            w = SequenceInsert(v, row)
        }>
        y = ConcatFromSequence<axis = 0>(q)
    }"""), [np.int64(4)], [np.zeros(6, np.float32)]
    yield "loop that counts with the outer value", text(21, """g (float[3] x, int64 n) => (float[3] y, int64 count) <int64 zero = {0}> {
        yes = Constant<value = bool {1}>()
        y, count = Loop (n, yes, x, zero) <body = l (int64 i, bool go, float[3] v, int64 k) => (bool more, float[3] w, int64 k2) {
            f = Cast<to = 1>(i)
            w = Sub(v, f)
            k2 = Add(k, i)
            three = Constant<value_int = 3>()
            more = Less(i, three)
        }>
    }"""), [f32(3), np.int64(10)]
    a, x = f32(2), f32(5, 2)
    sums = a + np.cumsum(x[::-1], axis=0)
    yield "scan backwards", text(21, """g (float[2] a, float[T, 2] x) => (float[2] z, float[T, 2] y) {
        z, y = Scan<num_scan_inputs = 1, scan_input_directions = [1], scan_output_directions = [1],
            body = s (float[2] c, float[2] e) => (float[2] d, float[2] o) { d = Add(c, e)
                                                                       o = Mul(d, e) }>(a, x)
    }"""), [a, x], [sums[-1], (sums * x[::-1])[::-1]]
    a, x = f32(3), f32(3, 4)
    largest = np.maximum.accumulate(np.concatenate([a[:, None], x], 1), 1)[:, 1:]
    yield "scan along the second axis", text(21, """g (float[3] a, float[3, T] x) => (float[3] z, float[3, T] y) {
        z, y = Scan<num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [1],
            body = s (float[3] c, float[3] e) => (float[3] d, float[3] o) { d = Max(c, e)
                                                                       o = Identity(d) }>(a, x)
    }"""), [a, x], [largest[:, -1], largest]


def sizes_as_data():
    yield "reshape to a given shape", text(21, "g (float[N] x, int64[3] s) => (float[A, B, C] y) { y = Reshape(x, s) }"), [f32(24), i64(2, -1, 3)]
    yield "blocks to an image, any batch", text(18, """g (float[N, 4, 4] x) => (float[A, B, C, D] y) <int64[2] image = {4, 4}, int64[2] block = {2, 2}> {
        y = Col2Im<strides = [2, 2]>(x, image, block)
    }"""), [f32(3, 4, 4)]
    yield "resize to the size it has", text(18, """g (float[N, 1, H, W] x) => (float[A, B, C, D] y) {
        s = Shape(x)
        y = Resize<mode = "cubic">(x, , , s)
    }"""), [f32(2, 1, 3, 4)]
    yield "reshape with zeros", text(21, "g (float[N, M] x, int64[2] s) => (float[A, B] y) { y = Reshape(x, s) }"), [f32(4, 6), i64(0, 6)]
    yield "slice by inputs", text(21, "g (float[N, M] x, int64[2] a, int64[2] b, int64[2] c) => (float[P, Q] y) { axes = Constant<value_ints = [0, 1]>() y = Slice(x, a, b, axes, c) }"
                                  ), [f32(7, 5), i64(-1, 0), i64(-100, 100), i64(-2, 3)]
    yield "slice along given axes", text(21, "g (float[N, M] x, int64[1] a, int64[1] b, int64[1] axes) => (float[P, Q] y) { y = Slice(x, a, b, axes) }"), [f32(7, 5), i64(1), i64(4), i64(-1)]
    rows = text(21, "g (float[N, 2] x, int64[1] a, int64[1] b) => (float[P, 2] y, float[Q, 2] z) <int64[1] i = {0}, int64[1] s = {-1}, int64[1] two = {-2}, int64[1] end = {-9}> { y = Slice(x, a, b, i, s) z = Slice(x, two, end, i, s) }")
    for n in (0, 2, 3):
        yield f"{n} rows sliced backwards", rows, [f32(n, 2), i64(-1), i64(-4)]
    yield "slice of one axis by a step of the run", text(21, "g (float[N, 5] x, int64[1] s) => (float[N, Q] y) <int64[1] a = {1}, int64[1] b = {9}, int64[1] i = {1}> { y = Slice(x, a, b, i, s) }"), [f32(3, 5), i64(2)]
    for k in (1, 2, 3):
        outward = text(11, """g (float[1, 1, N, M] x, float[1, 1, %d, %d] w) => (float[1, 1, P, Q] y) { y = ConvTranspose<auto_pad = "SAME_UPPER", strides = [2, 2]>(x, w) }""" % (k, k))
        yield f"transposed convolution that keeps its size, windows of {k} by steps of 2", outward, [f32(1, 1, 3, 4), f32(1, 1, k, k)], [outward_sums(f32(1, 1, 3, 4), f32(1, 1, k, k))]
    yield "range of floats", text(21, "g (float a, float b, float c) => (float[N] y) { y = Range(a, b, c) }"), [np.float32(1), np.float32(-4), np.float32(-0.75)]
    yield "range of integers times its length", text(21, """g (int64 n) => (int64[N] y) {
        zero = Constant<value_int = 0>() one = Constant<value_int = 1>() r = Range(zero, n, one) s = Size(r) y = Mul(r, s) }"""), [np.int64(5)]
    ends = text(21, "g (int64 a, int64 b, int64 s) => (int64[N] y) { na = BitwiseNot(a) nb = BitwiseNot(b) ns = BitwiseNot(s) first = BitwiseNot(na) end = BitwiseNot(nb) step = BitwiseNot(ns) y = Range(first, end, step) }")
    low, high = -2**63, 2**63 - 1
    for a, b, s in ((low, high, 2**62), (high, low, -(2**62)), (low, low + 5, 2), (high, high - 7, -3), (high, low, 1), (low, high, -1), (high - 2, high, 1), (low, 0, low), (0, low, low), (0, high, high)):
        yield f"range from {a} to {b} by {s}", ends, [np.int64(a), np.int64(b), np.int64(s)], [np.array([v for v in range(a, b, s)], np.int64)]
    yield "tile by input", text(21, "g (float[N, M] x, int64[2] r) => (float[P, Q] y) { y = Tile(x, r) }"), [f32(2, 3), i64(3, 2)]
    yield "tile by zero", text(21, "g (float[N, M] x, int64[2] r) => (float[P, Q] y) { y = Tile(x, r) }"), [f32(2, 3), i64(0, 2)]
    yield "expand by input", text(21, "g (float[N, 1] x, int64[3] s) => (float[P, Q, R] y) { y = Expand(x, s) }"), [f32(3, 1), i64(2, 1, 4)]
    yield "expand keeps what is larger", text(21, "g (float[N, M] x, int64[2] s) => (float[P, Q] y) { y = Expand(x, s) }"), [f32(3, 2), i64(1, 1)]
    for mode in ("constant", "reflect", "edge", "wrap"):
        yield f"pad by input, {mode}", text(21, f'g (float[N, M] x, int64[4] p) => (float[P, Q] y) {{ y = Pad<mode = "{mode}">(x, p) }}'), [f32(4, 5), i64(1, 2, 3, 0)]
    yield "einsum of a half", text(13, """g (float[N, M] x) => (float[N, P] y, float z) <int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}> {
        s = Shape(x) m = Slice(s, one, two) h = Div(m, two) left = Slice(x, zero, h, one)
        y = Einsum<equation = "ij,kj->ik">(left, left) z = Einsum<equation = "ij,ij->">(left, left) }"""), [f32(3, 8)]
    yield "a size that is 0 or 1 repeats", text(21, """g (float[N] x, float[M, 2] z) => (float[M, P] y) <int64[1] a = {0}, int64[1] b = {1}, int64[1] axes = {0}, int64[1] step = {2}> {
        first = Slice(x, a, b, axes, step) y = Mul(z, first) }"""), [f32(3), f32(4, 2)]
    yield "pad cuts", text(21, "g (float[N, M] x, int64[4] p, float v) => (float[P, Q] y) { y = Pad(x, p, v) }"), [f32(4, 5), i64(-1, 2, 0, -2), np.float32(7)], [np.pad(f32(4, 5)[1:, :3], ((0, 0), (2, 0)), constant_values=7)]
    yield "shapes from NonZero", text(21, """g (float[N, M] x) => (int64[2, K] where, float[K] picked, float s) {
        where = NonZero(x)
        t = Transpose<perm = [1, 0]>(where)
        picked = GatherND(x, t)
        s = ReduceSum<keepdims = 0>(picked)
    }"""), [np.where(f32(4, 3) > 0, f32(4, 3), 0).astype(np.float32)]
    yield "NonZero of nothing", text(21, "g (float[N] x) => (int64[1, K] y) { y = NonZero(x) }"), [np.zeros(5, np.float32)]
    yield "places of what is not zero, as a vector", text(21, "g (float[N] x) => (int64[K] y) <int64[1] zero = {0}> { t = NonZero(x) y = Squeeze(t, zero) }"), [np.array([1, 0, 2, 0, 3], np.float32)]
    yield "unique columns of no rows", text(13, "g (float[1, 0, 3] x) => (float[1, 0, K] y, int64[L] i) { u, i, j, n = Unique<axis = 2>(x) y = Exp(u) }"), [np.zeros((1, 0, 3), np.float32)], [np.zeros((1, 0, 1), np.float32), i64(0)]
    yield "compress, then a softmax", text(21, "g (float[N, M] x, bool[N] c) => (float[K, M] y) { t = Compress<axis = 0>(x, c) y = Softmax(t) }"), [f32(4, 3), np.array([1, 0, 1, 1], bool)]
    yield "unique, then a count of them", text(21, "g (int64[N] x) => (int64[K] y, int64[K] n, float[K] f) { y, i, j, n = Unique(x) f = Cast<to = 1>(n) }"), [i64(3, 1, 3, 3, 2, 1)]
    yield "the k of TopK is an input", text(21, "g (float[N, M] x, int64[1] k) => (float[N, K] v, int64[N, K] i) { v, i = TopK(x, k) }"), [f32(3, 6), i64(4)]
    yield "split by given sizes", text(21, "g (float[N] x, int64[3] s) => (float[A] a, float[B] b, float[C] c) { a, b, c = Split<axis = 0>(x, s) }"), [f32(9), i64(2, 0, 7)]
    yield "one-hot of a given depth", text(21, "g (int64[N] x, int64 d, float[2] v) => (float[N, D] y) { y = OneHot(x, d, v) }"), [i64(0, -1, 9, 2), np.int64(4), np.array([-1, 5], np.float32)]
    yield "constant of a given shape", text(21, "g (int64[2] s) => (int32[A, B] y) { y = ConstantOfShape<value = int32[1] {7}>(s) }"), [i64(2, 3)]
    yield "resize by given sizes", text(21, "g (float[1, 1, H, W] x, int64[4] s) => (float[1, 1, A, B] y) { y = Resize<mode = \"linear\">(x, , , s) }"), [f32(1, 1, 3, 4), i64(1, 1, 5, 6)]
    for mode in ("linear", "cubic"):
        smooth = text(19, f'g (float[1, 1, H, W] x) => (float[1, 1, A, B] y) <int64[4] s = {{1, 1, 3, 4}}> {{ y = Resize<mode = "{mode}", antialias = 1>(x, , , s) }}')
        yield f"{mode} resize of a smoothed image, sizes by name", smooth, [f32(1, 1, 9, 5)]
    yield "resize by given scales", text(21, "g (float[1, 1, H, W] x, float[4] s) => (float[1, 1, A, B] y) { y = Resize<mode = \"nearest\">(x, , s) }"), [f32(1, 1, 3, 4), np.array([1, 1, 2.5, 0.5], np.float32)]
    yield "squeeze and unsqueeze by shapes", text(21, """g (float[N, M] x) => (float[M, N] y) {
        s = Shape(x) r = Constant<value_ints = [1, 0]>() t = Gather(s, r) z = Reshape(x, t) a = Constant<value_ints = [0]>()
        u = Unsqueeze(z, a) y = Squeeze(u, a) }"""), [f32(3, 4)]
    for name, a, b in (("rows", (3, 1), (1, 4)), ("one", (1, 1), (3, 4)), ("equal", (3, 4), (3, 4)), ("to the left", (3, 4), (1, 1))):
        yield f"broadcasting of symbols, {name}", text(21, "g (float[A, B] x, float[C, D] z) => (float[P, Q] y, bool[P, Q] q) { t = Add(x, z) y = Mul(t, x) q = Less(x, z) }"), [f32(*a), f32(*b)]
    yield "broadcasting of batches", text(21, "g (float[A, B, 2, 3] x, float[C, 3, K] z) => (float[P, Q, 2, K] y) { y = MatMul(x, z) }"), [f32(4, 1, 2, 3), f32(5, 3, 2)]
    yield "a bias of one row", text(21, "g (float[A, 3] x, float[3, B] w, float[C, D] b) => (float[A, B] y) { y = Gemm(x, w, b) }"), [f32(4, 3), f32(3, 2), f32(1, 2)]
    yield "where with symbols", text(21, "g (bool[A] c, float[B, C] x, float z) => (float[P, Q] y) { y = Where(c, x, z) }"), [np.array([1, 0, 1], bool), f32(2, 1), np.float32(3)]
    yield "a size that is a product", text(21, """g (float[N, M] x) => (float[K] y, int64 n) { one = Constant<value_ints = [-1]>() y = Reshape(x, one) n = Size(y) }"""), [f32(3, 5)]
    yield "centre crop by arithmetic on shapes", text(21, """g (float[N, M] x) => (float[P, M] y) {
        s = Shape<start = 0, end = 1>(x) two = Constant<value_ints = [2]>() four = Constant<value_ints = [4]>()
        b = Div(s, four) h = Div(s, two) e = Add(b, h) ax = Constant<value_ints = [0]>() y = Slice(x, b, e, ax) }"""), [f32(9, 2)]


def axes_as_data():
    """Axes that only the run knows: Clip keeps the caller's value from deciding before."""
    def late(names, body, inputs, outputs, opset=21):
        lets = " ".join(f"c_{n} = Clip(f_{n}) {n} = Cast<to = 7>(c_{n})" for n in names)
        return text(opset, f"g ({inputs}) => ({outputs}) {{ {lets} {body} }}")

    fl = lambda *v: np.array(v, np.float32)
    x = f32(4, 5, 3)
    slices = late(["a", "b", "axes", "s"], "y = Slice(x, a, b, axes, s)", "float[N, M, K] x, float[2] f_a, float[2] f_b, float[2] f_axes, float[2] f_s", "float[P, Q, R] y")
    for a, b, axes, s in (((1, -1), (4, -100), (2, 0), (1, -2)), ((0, 3), (100, 0), (-2, -1), (2, -1)), ((-1, 0), (-5, 2), (0, 1), (-1, 3))):
        yield f"slice along axes {axes} by steps {s} of the run", slices, [x, fl(*a), fl(*b), fl(*axes), fl(*s)]
    yield "slice along axes of the run by ones", late(["axes"], "y = Slice(x, a, b, axes)", "float[N, 3] x, float[1] f_axes, int64[1] a, int64[1] b", "float[P, Q] y"), [f32(7, 3), fl(-2), i64(1), i64(-2)]
    for axes in ((0, 2), (-1, 1), (2, 0)):
        yield f"unsqueeze at {axes} of the run", late(["axes"], "y = Unsqueeze(x, axes)", "float[N, M] x, float[2] f_axes", "float[A, B, C, D] y"), [f32(3, 2), fl(*axes)]
        yield f"squeeze of {axes} of the run", late(["axes"], "y = Squeeze(x, axes)", "float[N, M, K] x, float[2] f_axes", "float[A] y"), [np.expand_dims(f32(4), tuple(a % 3 for a in axes)), fl(*axes)]
        for op in ("ReduceMean", "ReduceLogSumExp"):
            yield f"{op} over {axes} of the run", late(["axes"], f"y = {op}(x, axes) z = {op}<keepdims = 0>(x, axes)", "float[N, M, K] x, float[2] f_axes", "float[A, B, C] y, float[D] z"), [x, fl(*axes)]
    for axis in (1, -1, 0):
        yield f"sums along axis {axis} of the run", late(["axis"], "y = CumSum<reverse = 1>(x, axis)", "float[N, M, K] x, float f_axis", "float[A, B, C] y"), [x, np.float32(axis)]
    yield "sums of nothing along an axis of the run, before Reshape took zeros", late(["axis"], "y = CumSum(x, axis)", "float[0] x, float f_axis", "float[A] y", opset=12), [f32(0), np.float32(0)]
    for mode in ("constant", "reflect", "edge"):
        yield f"pad of axes of the run, {mode}", late(["axes", "p"], f'y = Pad<mode = "{mode}">(x, p, , axes)', "float[N, M, K] x, float[2] f_axes, float[4] f_p", "float[A, B, C] y"), [x, fl(-1, 0), fl(1, 2, 0, 1)]


def corners_of_types():
    yield "rank 0 everywhere", text(21, "g (float x, float z) => (float y, int64[0] s) { t = Add(x, z) y = Softplus(t) s = Shape(y) }"), [np.float32(1.5), np.float32(-4)]
    for name, shape in (("rows", (0, 3)), ("columns", (3, 0))):
        yield f"no {name}", text(21, "g (float[N, M] x) => (float[N, M] y, float[N] s, float p) { y = Exp(x) ax = Constant<value_ints = [1]>() s = ReduceSum<keepdims = 0>(x, ax) p = ReduceSum<keepdims = 0>(x) }"), [f32(*shape)]
    yield "a zero point of one element", text(21, """g (uint8[N, 2, 4, 4] x, uint8[3, 2, 3, 3] w) => (int32[N, 3, 2, 2] y) <uint8[1] p = {5}, uint8[1] q = {9}> {
        y = ConvInteger(x, w, p, q)
    }"""), [np.arange(64, dtype=np.uint8).reshape(2, 2, 4, 4), np.arange(54, dtype=np.uint8).reshape(3, 2, 3, 3)]
    yield "no batch through a layer", text(21, "g (float[N, 4] x, float[4, 3] w, float[3] b) => (float[N, 3] y) { t = Gemm(x, w, b) u = Relu(t) y = Softmax(u) }"), [f32(0, 4), f32(4, 3), f32(3)]
    yield "no inner dimension", text(21, "g (float[N, K] x, float[K, M] w) => (float[N, M] y) { y = MatMul(x, w) }"), [f32(2, 0), f32(0, 3)]
    yield "concat with nothing", text(21, "g (float[N, 2] x, float[M, 2] z) => (float[P, 2] y) { y = Concat<axis = 0>(x, z, x) }"), [f32(0, 2), f32(3, 2)]
    for t in ("INT4", "UINT4", "INT2", "UINT2"):
        k = getattr(TensorProto, t)
        yield f"quantized to {t}", text(25, f"g (float[N, M] x) => (float[N, M] y) <float s = {{0.5}}> {{ q = QuantizeLinear<output_dtype = {k}>(x, s) y = DequantizeLinear(q, s) }}", ir=13), [f32(3, 5)]
    for t in ("FLOAT8E4M3FN", "FLOAT8E5M2", "FLOAT8E4M3FNUZ", "FLOAT8E5M2FNUZ", "FLOAT4E2M1", "BFLOAT16", "FLOAT16"):
        k = getattr(TensorProto, t)
        yield f"cast to {t} and back", text(25, f"g (float[N] x) => (float[N] y) {{ h = Cast<to = {k}>(x) y = Cast<to = 1>(h) }}", ir=13), [np.array([0, -0.0, 0.3, 1, -1.75, 5, 300, 1e-3, 65000], np.float32)]
    yield "constants of four bits", edited(text(25, "g (float[5] x) => (float[5] y) { d = DequantizeLinear(w, s) y = Mul(x, d) }", ir=13), lambda m: m.graph.initializer.extend([
        helper.make_tensor("w", TensorProto.INT4, [5], [-8, 7, 0, -1, 3]), helper.make_tensor("s", TensorProto.FLOAT, [], [0.25])])), [f32(5)]
    yield "integers wrap", text(21, "g (uint8[N] x, uint8[N] z) => (uint8[N] y, int8[N] w) { y = Add(x, z) w = Cast<to = 3>(y) }"), [np.array([200, 3, 255], np.uint8), np.array([100, 4, 255], np.uint8)]
    yield "division of negative integers", text(21, "g (int32[N] x, int32[N] z) => (int32[N] y, int32[N] m, int32[N] f) { y = Div(x, z) m = Mod(x, z) f = Mod<fmod = 1>(x, z) }"), [np.array([7, -7, 7, -7], np.int32), np.array([2, 2, -2, -2], np.int32)]
    yield "64-bit integers beyond 2^53", text(21, "g (int64[N] x) => (int64[N] y, uint64[N] u) { y = Mul(x, x) u = Cast<to = 13>(x) }"), [i64(2**31 + 1, -(2**40) - 3, 2**53 + 1)]
    yield "float64 throughout", text(21, "g (double[N, 3] x, double[3, 2] w) => (double[N, 2] y) { t = MatMul(x, w) y = Tanh(t) }"), [f32(2, 3).astype(np.float64) / 3, f32(3, 2).astype(np.float64) / 7]
    yield "strings", text(21, """g (string[N] s, string[M] t) => (string[N] y, string[P, K] parts, int64[P] n, bool[N] q) {
        y = StringConcat(s, t) parts, n = StringSplit<delimiter = "-">(y) q = RegexFullMatch<pattern = "a.*">(y) }"""), [np.array(["a-b", "", "cä-d-e"], object), np.array(["-x"], object)]
    yield "strings to numbers", text(21, "g (string[N] s) => (float[N] y, int64[N] i) { y = Cast<to = 1>(s) f = Cast<to = 1>(s) i = Cast<to = 7>(f) }"), [np.array(["1.5", "-3e2", "7"], object)]
    yield "strings compared", text(21, "g (string[N] s, string[N] t) => (bool[N] y, string[N] u) { y = Equal(s, t) u = Where(y, s, t) }"), [np.array(["a", "b"], object), np.array(["a", "c"], object)]
    yield "strings normalised", text(21, 'g (string[N] s) => (string[M] y) { y = StringNormalizer<case_change_action = "UPPER", is_case_sensitive = 0, stopwords = ["mon"]>(s) }'), [np.array(["Mon", "tue", "wed"], object)]
    yield "strings gathered", text(21, "g (string[N] s, int64[K] i) => (string[K] y) { y = Gather(s, i) }"), [np.array(["p", "q", "r"], object), i64(2, 0, -1)]
    yield "roots and logarithms of integers are truncated", text(18, """g (int32[N, 3] x) => (int32[N] a, int32[N] b, int32[N] c) <int64[1] i = {1}> {
        a = ReduceL2<keepdims = 0>(x, i) b = ReduceLogSum<keepdims = 0>(x, i) c = ReduceLogSumExp<keepdims = 0>(x, i) }"""), [np.array([[3, 4, 1], [9, 1, 1]], np.int32)], [np.array(v, np.int32) for v in ([5, 9], [2, 2], [4, 9])]
    yield "integers shrink by fractions", text(9, "g (int64[N] x) => (int64[N] y) { y = Shrink<lambd = 1.5, bias = 1.25>(x) }"), [i64(-4, -1, 0, 2, 7)], [i64(-2, 0, 0, 0, 5)]
    yield "a shape shrinks", text(9, "g (float[N, 3] x) => (int64[2] y) { s = Shape(x) y = Shrink<lambd = 2.5, bias = 1.0>(s) }"), [f32(4, 3)], [i64(3, 2)]
    yield "limits of a number that is known, one or none", text(13, "g (int64 hi) => (int64 a, int64 b) <int64 two = {2}> { a = Clip(two, , hi) b = Clip(two) }"), [np.int64(1)]
    yield "NaN and infinities", text(21, "g (float[N] x) => (bool[N] a, bool[N] b, float[N] c, float[N] d, float m) { a = IsNaN(x) b = IsInf(x) c = Relu(x) d = Clip(x) m = ReduceMax<keepdims = 0>(c) }"), [np.array([1, np.inf, -np.inf, -2], np.float32)]


def corners_of_graphs():
    scale = "<domain: \"my\", opset_import: [\"\" : 21, \"my\" : 1]>"
    functions = f"""
        {scale} twice<by>(a) => (b) {{ k = Constant<value_float : float = @by>() t = Mul(a, k) b = my.shift<by : float = @by>(t) }}
        {scale} shift<by>(a) => (b) {{ k = Constant<value_float : float = @by>() b = Add(a, k) }}"""
    yield "functions passing attributes on", text(21, "g (float[N] x) => (float[N] y) { t = my.twice<by = 3.0>(x) y = my.twice<by = -0.5>(t) }", functions, domains=[("my", 1)]), [f32(4)], [(f32(4) * 3 + 3) * -0.5 - 0.5]
    yield "function with a default and an absent input", edited(text(21, "g (float[N] x) => (float[N] y, float[N] z) { y = my.leaky(x) z = my.leaky<slope = 0.5>(x) }",
        f"{scale} leaky(a) => (b) {{ b = LeakyRelu<alpha : float = @slope>(a) }}", domains=[("my", 1)]), lambda m: m.functions[0].attribute_proto.append(helper.make_attribute("slope", 0.25))), [f32(5)], [np.where(f32(5) < 0, f32(5) * np.float32(k), f32(5)) for k in (0.25, 0.5)]

    def overloads(m):
        f = onnx.FunctionProto()
        f.CopyFrom(m.functions[0])
        f.overload = "minus"
        f.node[0].op_type = "Sub"
        m.functions.append(f)
        m.graph.node[1].overload = "minus"
    yield "overloads of a function", edited(text(21, "g (float[N] x, float[N] z) => (float[N] y) { t = my.f(x, z) y = my.f(t, x) }", f"{scale} f(a, b) => (c) {{ c = Add(a, b) }}", domains=[("my", 1)]), overloads), [f32(3), f32(3) + 1], [(f32(3) + (f32(3) + 1)) - f32(3)]
    yield "function with a branch inside", text(21, "g (bool c, float[N] x) => (float[N] y) { y = my.f(c, x) }", f"""{scale} f(c, a) => (b) {{
        b = If (c) <then_branch = p () => (u) {{ u = Exp(a) }}, else_branch = q () => (v) {{ v = Neg(a) }}> }}""", domains=[("my", 1)]), [np.array(False), f32(3)]
    yield "function of another opset", text(21, "g (float[N, 3] x) => (float[N, 3] y) { y = my.f(x) }",
        '<domain: "my", opset_import: ["" : 11]> f(a) => (b) { b = Softmax<axis = 1>(a) }', domains=[("my", 1)]), [f32(2, 3)]
    yield "an input that is an output", text(21, "g (float[N] x) => (float[N] x) { unused = Exp(x) }"), [f32(3)]
    yield "an initializer that is an output", text(21, "g (float[N] x) => (float[N] y, float[2] w) <float[2] w = {1, 2}> { y = Exp(x) }"), [f32(3)]
    twice = text(21, "g (float[N] x) => (float[N] y, float[N] z) { y = Exp(x) }")
    twice.graph.output[1].name = "y"
    yield "a value that is an output twice", twice, [f32(3)], [np.exp(f32(3))] * 2
    yield "an input and an initializer as a branch's outputs", text(21, "g (bool c, float[N] x) => (float[N] y, float[2] w, float[N] x) <float[2] k = {1, 2}> { y, w = If (c) <then_branch = a () => (float[N] x, float[2] k) {}, else_branch = b () => (float[N] u, float[2] v) { u = Neg(x) v = Neg(k) }> }"), [np.array(True), f32(3)], [f32(3), np.array([1, 2], np.float32), f32(3)]
    yield "a loop's value as its result, twice", text(21, "g (int64 n, float[3] x) => (float[3] y, float[3] z, float[A, 3] s) { y, z, s = Loop (n, , x, x) <body = l (int64 i, bool c, float[3] h, float[3] k) => (bool c, float[3] h, float[3] h, float[3] k) {}> }"), [np.int64(2), f32(3)], [f32(3), f32(3), np.stack([f32(3)] * 2)]
    yield "one value as two outputs' source", text(21, "g (float[N] x) => (float[N] a, float[N] b) { t = Exp(x) a = Identity(t) b = Identity(t) }"), [f32(3)]
    yield "initializers listed as inputs", edited(text(8, "g (float[2] x, float[2] w) => (float[2] y) { y = Add(x, w) }", ir=3), lambda m: m.graph.initializer.append(numpy_helper.from_array(f32(2), "w"))), [f32(2)]
    def unknown(m):  # as Paddle and others write them: each is a size of its own
        for value, sizes in ((m.graph.input[0], [-1, "?"]), (m.graph.input[1], [-1, "?"]), (m.graph.output[0], ["?", -1])):
            for dim, size in zip(value.type.tensor_type.shape.dim, sizes, strict=True):
                setattr(dim, "dim_param" if size == "?" else "dim_value", size)
    yield "sizes -1 and ?", edited(text(21, "g (float[A, B] x, float[C, D] z) => (float[E, F] y) { t = MatMul(x, z) y = Exp(t) }"), unknown), [f32(4, 3), f32(3, 5)], [np.exp(f32(4, 3) @ f32(3, 5))]
    yield "nodes out of names", edited(text(21, "g (float[N] x) => (float[N] y) { t = Exp(x) y = Neg(t) }"), lambda m: [n.ClearField("name") for n in m.graph.node]), [f32(3)]
    yield "names that are words of the notation", text(21, "g (float[N] map) => (float[N] state) { for = Exp(map) in = Neg(for) if = Add(in, map) state = Mul(if, for) }"), [f32(3)]

    def odd_names(m):
        for n in m.graph.node:
            n.input[:] = [s.replace("t", "a b/ç.1::") for s in n.input]
            n.output[:] = [s.replace("t", "a b/ç.1::") for s in n.output]
    yield "names of any characters", edited(text(21, "g (float[N] x) => (float[N] y) { t = Exp(x) y = Neg(t) }"), odd_names), [f32(3)]
    yield "dimensions of any name", edited(text(21, "g (float[N] x) => (float[N] y) { y = Exp(x) }"), lambda m: [setattr(v.type.tensor_type.shape.dim[0], "dim_param", "batch size/2!") for v in (m.graph.input[0], m.graph.output[0])]), [f32(3)]
    yield "optional inputs left out", text(21, "g (float[N, M] x, float hi) => (float[N, M] y) { y = Clip(x, , hi) }"), [f32(2, 3), np.float32(0.5)]
    yield "optional outputs left out", text(21, "g (float[2, 2, 3] x, float[1, 8, 3] w, float[1, 8, 2] r) => (float[1, 2, 2] h) { a, h = LSTM<hidden_size = 2>(x, w, r) }"), [f32(2, 2, 3), f32(1, 8, 3), f32(1, 8, 2)]
    yield "a dropout that does nothing", text(21, "g (float[N] x) => (float[N] y, bool[N] m) { y, m = Dropout(x) }"), [f32(4)]
    yield "dead nodes with unknown ops in none", text(21, "g (float[N] x) => (float[N] y) { unused = NonZero(x) y = Exp(x) }"), [f32(3)]
    yield "no inputs at all", text(21, "g () => (float[3] y) { a = Constant<value_floats = [1.0, 2.0, 3.0]>() y = Exp(a) }"), []
    sparse = helper.make_sparse_tensor(helper.make_tensor("v", TensorProto.FLOAT, [2], [3, 4]), helper.make_tensor("i", TensorProto.INT64, [2], [1, 5]), [2, 3])
    yield "a sparse constant", edited(text(21, "g (float[2, 3] x) => (float[2, 3] y) { c = Constant<value_float = 1.0>() y = Mul(x, c) }"), lambda m: m.graph.node[0].CopyFrom(helper.make_node("Constant", [], ["c"], sparse_value=sparse))), [f32(2, 3)], [f32(2, 3) * np.array([[0, 3, 0], [0, 0, 4]], np.float32)]


def sequences():
    yield "sequence by hand", text(21, """g (float[N] x, float[M] z, int64 at) => (float[K] y, int64 n, float[P] one) {
        s = SequenceConstruct(x, z, x) t = SequenceErase(s, at) n = SequenceLength(t) one = SequenceAt(t, at) y = ConcatFromSequence<axis = 0>(t) }"""), [f32(2), f32(3), np.int64(-2)]
    yield "split to a sequence and back", text(21, "g (float[N, 3] x, int64 k) => (float[N, 3] y) { s = SplitToSequence<axis = 0>(x, k) y = ConcatFromSequence<axis = 0>(s) }"), [f32(7, 3), np.int64(3)]
    yield "a function over a sequence", text(21, """g (float[N, 3] x) => (float[M, 3] y) { s = SplitToSequence<axis = 0, keepdims = 1>(x)
        t = SequenceMap<body = b (float[1, 3] e) => (float[1, 3] f) { f = Exp(e) }>(s) y = ConcatFromSequence<axis = 0>(t) }"""), [f32(4, 3)]
    yield "parts of a sequence by position", text(21, """g (float[N, 7] x, int64 at) => (float[N, 3] y, float[N, 2] z, seq(float[N, M]) s) {
        k = Constant<value = int64[3] {3, 2, 2}>() i = Constant<value = int64 {0}>() j = Constant<value = int64 {-1}>()
        s = SplitToSequence<axis = 1>(x, k) y = SequenceAt(s, i) a = SequenceAt(s, j) b = SequenceAt(s, at) z = Sub(a, b) }"""), [f32(2, 7), np.int64(1)]
    yield "rows of a sequence stacked", text(12, """g (float[3, N] x) => (float[N, 3] y) { t = Constant<value = int64 {2}>() o = Constant<value = int64 {0}>()
        s = SplitToSequence<keepdims = 0>(x) a = SequenceAt(s, t) b = SequenceAt(s, o) q = SequenceConstruct(a, b, a) y = ConcatFromSequence<axis = -1, new_axis = 1>(q) }"""), [f32(3, 2)]
    yield "an optional that is there", text(21, "g (float[N] x) => (float[N] y, bool b) { o = Optional(x) y = OptionalGetElement(o) b = OptionalHasElement(o) }"), [f32(3)], [f32(3), np.array(True)]
    yield "a sequence as the output", text(21, "g (float[N] x) => (seq(float[M]) y) { t = Neg(x) y = SequenceConstruct(x, t) }"), [f32(3)]


def classical():
    ml = [("ai.onnx.ml", 3)]
    yield "scaler and linear classifier", text(21, """g (float[N, 3] x) => (int64[N] label, float[N, 3] scores) {
        s = ai.onnx.ml.Scaler<offset = [0.5, 0.0, -0.5], scale = [2.0, 1.0, 0.5]>(x)
        label, scores = ai.onnx.ml.LinearClassifier<classlabels_ints = [10, 20, 30], coefficients = [1.0, 0.0, 0.5, -1.0, 0.25, 0.0, 0.5, 0.5, -2.0], intercepts = [0.1, 0.2, 0.3], post_transform = "SOFTMAX">(s)
    }""", domains=ml), [f32(4, 3)]
    yield "tree ensemble", text(21, """g (float[N, 2] x) => (float[N, 1] y) {
        y = ai.onnx.ml.TreeEnsembleRegressor<n_targets = 1, nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2], nodes_featureids = [1, 0, 0], nodes_values = [0.25, 0.0, 0.0],
            nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids = [1, 0, 0], nodes_falsenodeids = [2, 0, 0], target_treeids = [0, 0], target_nodeids = [1, 2], target_ids = [0, 0], target_weights = [-1.5, 4.0]>(x)
    }""", domains=ml), [f32(5, 2)]
    yield "labels by index, an operator set said twice", edited(text(21, """g (float[N, 3] x) => (int64[A, B] y) <int64[3] labels = {7, 8, 9}> {
        best = ArgMax<axis = 1>(x)
        y = ai.onnx.ml.ArrayFeatureExtractor(labels, best)
    }""", domains=ml), lambda m: m.opset_import.add(domain="", version=21)), [f32(4, 3)], [np.array([7, 8, 9])[np.argmax(f32(4, 3), 1)][None]]
    yield "label encoder from strings", text(21, """g (string[N] s) => (int64[N] y) { y = ai.onnx.ml.LabelEncoder<keys_strings = ["a", "b"], values_int64s = [7, 8], default_int64 = -5>(s) }""", domains=ml), [np.array(["b", "zz", "a"], object)]
    yield "one-hot encoder and normalizer", text(21, """g (int64[N] s, float[N, 3] x) => (float[N, 3] y, float[N, 3] z) { y = ai.onnx.ml.OneHotEncoder<cats_int64s = [1, 2, 4], zeros = 1>(s) z = ai.onnx.ml.Normalizer<norm = "L2">(x) }""", domains=ml), [i64(4, 9), f32(2, 3)]
    yield "binarizer, imputer", text(21, """g (float[N, 2] x) => (float[N, 2] y, float[N, 2] z) { y = ai.onnx.ml.Binarizer<threshold = 0.1>(x) z = ai.onnx.ml.Imputer<imputed_value_floats = [9.0, 8.0], replaced_value_float = 0.0>(x) }""", domains=ml), [np.array([[0, 1], [2, 0]], np.float32)]


def _pooled():
    x, z = f32(1, 2, 1, 3), f32(1, 1, 2, 2)
    # One row of windows; the first column of them starts in the padding, the second holds the last two values.
    y = np.stack([x[..., 0] / 4, (x[..., 1] + x[..., 2]) / 4], -1)
    return [y, z.max(axis=2, keepdims=True)[..., :1]]


POOLED = _pooled()


def old_opsets():
    x = np.exp(np.repeat(np.repeat(f32(1, 2, 2, 3), 2, 2), 3, 3))
    yield "opset 7: upsample, dropout, softmax of two axes", text(7, """g (float[1, 2, H, W] x) => (float[1, 2, A, B] y) { t = Upsample<mode = "nearest", scales = [1.0, 1.0, 2.0, 3.0]>(x) d, m = Dropout(t) y = Softmax<axis = 2>(d) }""", ir=3), [f32(1, 2, 2, 3)], [x / x.sum((2, 3), keepdims=True)]
    yield "opset 7: slices and squeezes by attributes", text(7, "g (float[N, 4] x) => (float[N] y) { t = Slice<axes = [1], starts = [1], ends = [2]>(x) y = Squeeze<axes = [1]>(t) }", ir=3), [f32(3, 4)]
    yield "opset 8: sum, max and mean of many", text(8, "g (float[N, 3] x, float[3] z, float[1] w) => (float[N, 3] a, float[N, 3] b, float[N, 3] c) { a = Sum(x, z, w) b = Max(x, z) c = Mean(x, z, w, x) }", ir=3), [f32(2, 3), f32(3), f32(1)]
    yield "opset 9: scan, constant of shape", text(9, "g (float[N, 4] x) => (float[N, 4] y) { s = Shape(x) c = ConstantOfShape<value = float[1] {2.5}>(s) y = Mul(x, c) }", ir=4), [f32(3, 4)]
    yield "opset 10: slice with negative steps, resize", text(10, """g (float[1, 1, H, W] x) => (float[1, 1, A, B] y) <float[4] k = {1, 1, 2, 2}, int64[1] a = {-1}, int64[1] b = {-9999}, int64[1] ax = {3}, int64[1] st = {-1}> {
        t = Slice(x, a, b, ax, st) y = Resize<mode = "nearest">(t, k) }""", ir=5), [f32(1, 1, 2, 3)], [np.repeat(np.repeat(f32(1, 1, 2, 3)[..., ::-1], 2, 2), 2, 3)]
    yield "opset 11: clip, pad, gather of negative indices", text(11, """g (float[N, 3] x) => (float[N, 5] y) <float lo = {-1}, float hi = {1}, int64[4] p = {0, 1, 0, 1}, int64[3] i = {-1, 0, -2}> {
        c = Clip(x, lo, hi) g0 = Gather<axis = 1>(c, i) y = Pad(g0, p) }""", ir=6), [f32(2, 3)]
    yield "opset 12: argmax of the last, einsum", text(12, 'g (float[B, I, J] x, float[B, J, K] z) => (float[B, I, K] y, int64[B, I] m) { y = Einsum<equation = "bij,bjk->bik">(x, z) m = ArgMax<axis = -1, keepdims = 0, select_last_index = 1>(y) }', ir=7), [f32(2, 3, 4), f32(2, 4, 2)]
    for opset in (12, 19, 22):  # the last window must not lie in the padding behind
        yield f"opset {opset}: pools that round up", text(opset, """g (float[1, 2, 1, 3] x, float[1, 1, H, W] z) => (float[1, 2, A, B] y, float[1, 1, C, D] m) {
            y = AveragePool<ceil_mode = 1, kernel_shape = [2, 2], pads = [1, 1, 1, 0], strides = [2, 2], count_include_pad = 1>(x)
            m = MaxPool<ceil_mode = 1, kernel_shape = [3, 1], pads = [0, 0, 1, 0], strides = [2, 2]>(z) }""", ir=7), [f32(1, 2, 1, 3), f32(1, 1, 2, 2)], POOLED
    yield "opset 13: split and squeeze by inputs", text(13, "g (float[N, 6] x) => (float[N, 2] a, float[N, 4] b) <int64[2] s = {2, 4}> { a, b = Split<axis = 1>(x, s) }", ir=7), [f32(2, 6)]
    yield "opset 28: the newest of plain ops", text(28, "g (float[N, 8] x, float[8] w) => (float[N, 8] y) { t = RMSNormalization(x, w) u = Gelu(t) y = Swish(u) }", ir=13), [f32(3, 8), f32(8)]


def gradients():
    """ai.onnx.preview.training.Gradient at places that the official cases leave out; expected values by hand."""
    grad = lambda body: text(21, body, domains=[("ai.onnx.preview.training", 1)])
    x, w = f32(3), f32(4)[:3]
    branches = grad("""g (bool c, float[3] x, float[3] w) => (float[3] y, float[3] dx, float[3] dw) {
        y = If (c) <then_branch = a () => (float[3] u) { s = Mul(x, x) u = Mul(s, w) }, else_branch = b () => (float[3] v) { v = Sin(x) }>
        dx, dw = ai.onnx.preview.training.Gradient<xs = ["x", "w"], y = "y">(x, w) }""")
    yield "gradient through a branch, true", branches, [np.array(True), x, w], [x * x * w, 2 * x * w, x * x]
    yield "gradient through a branch, false", branches, [np.array(False), x, w], [np.sin(x), np.cos(x), 0 * w]
    loop = grad("""g (int64 n, float[3] x, float[3] w) => (float[3] y, float[3] dx, float[3] dw) { go = Constant<value = bool {1}>()
        y = Loop (n, go, x) <body = l (int64 i, bool c, float[3] h) => (bool d, float[3] k) { d = Identity(c) m = Mul(h, h) k = Add(m, w) }>
        dx, dw = ai.onnx.preview.training.Gradient<xs = ["x", "w"], y = "y">(x, w) }""")
    for n in (0, 1, 3):
        h, dx, dw = x / 2, np.ones(3, np.float32), np.zeros(3, np.float32)
        for _ in range(n):
            h, dx, dw = h * h + w, 2 * h * dx, 2 * h * dw + 1
        yield f"gradient through a loop of {n}", loop, [np.int64(n), x / 2, w], [h, dx, dw]
    yield "gradient through a scan that runs backwards", grad("""g (float[4, 3] s, float[3] x) => (float[3] y, float[4, 3] all, float[4, 3] ds, float[3] dx) {
        y, all = Scan <num_scan_inputs = 1, scan_input_directions = [1], scan_output_directions = [1], body = l (float[3] h, float[3] e) => (float[3] k, float[3] o) { k = Mul(h, e) o = Identity(k) }>(x, s)
        ds, dx = ai.onnx.preview.training.Gradient<xs = ["s", "x"], y = "all">(s, x) }"""), [f32(4, 3), x], _scan(f32(4, 3), x)
    yield "two gradient nodes that are read further", grad("""g (float[3] x, float[3] w) => (float[3] z) { p = Mul(x, w) y = Mul(p, x)
        dx = ai.onnx.preview.training.Gradient<xs = ["x"], y = "y">(x) dw = ai.onnx.preview.training.Gradient<xs = ["w"], y = "y">(w)
        a = Mul(dx, dw) z = Add(a, y) }"""), [x, w], [2 * x * w * x * x + x * x * w]
    yield "gradient by a value in between", grad("""g (float[3] x, float[3] w) => (float[3] y, float[3] dt) { t = Mul(x, w) e = Exp(t) y = Mul(e, x)
        dt = ai.onnx.preview.training.Gradient<xs = ["t"], y = "y">(t) }"""), [x, w], [np.exp(x * w) * x, np.exp(x * w) * x]
    yield "gradient with inputs held constant", grad("""g (float[3] x, float[3] w) => (float[3] dx) { t = Mul(x, w) y = Mul(t, t)
        dx = ai.onnx.preview.training.Gradient<xs = ["x"], y = "y", zs = ["w"]>(x, w) }"""), [x, w], [2 * x * w * w]
    yield "gradient of a gradient", grad("""g (float[3] x) => (float[3] d, float[3] dd, float[3] ddd) { s = Mul(x, x) y = Mul(s, s)
        d = ai.onnx.preview.training.Gradient<xs = ["x"], y = "y">(x) dd = ai.onnx.preview.training.Gradient<xs = ["x"], y = "d">(x)
        ddd = ai.onnx.preview.training.Gradient<xs = ["x"], y = "dd">(x) }"""), [x], [4 * x**3, 12 * x**2, 24 * x]
    yield "gradient by an initializer", grad("""g (float[N, 3] x) => (float[2, 3] dw) <float[2, 3] w = {1, 2, 3, 4, 5, 6}> { t = Gemm<transB = 1>(x, w) y = ReduceSumSquare<keepdims = 0>(t)
        dw = ai.onnx.preview.training.Gradient<xs = ["w"], y = "y">(w) }"""), [f32(4, 3)], [2 * (np.arange(1, 7, dtype=np.float32).reshape(2, 3) @ f32(4, 3).T @ f32(4, 3))]


def outward_sums(x, w):
    """Each element adds its window; what is beyond twice the size is cut, half at each end, the odd one behind."""
    h, v, k = x.shape[2], x.shape[3], w.shape[2]
    y = np.zeros((2 * (h - 1) + k, 2 * (v - 1) + k))
    for i in range(h):
        for j in range(v):
            y[2 * i:2 * i + k, 2 * j:2 * j + k] += x[0, 0, i, j] * w[0, 0]
    lo = max(k - 2, 0) // 2
    return y[lo:lo + 2 * h, lo:lo + 2 * v][None, None].astype(np.float32)


def _scan(s, x):
    """h = h · e over the rows of s from the last, all of them as outputs, from the last; gradients of their sum."""
    suffix = np.cumprod(s[::-1], 0)[::-1]
    ds = np.stack([sum(np.prod(np.delete(s[i:], k - i, 0), 0) for i in range(k + 1)) for k in range(len(s))]) * x
    return [suffix[0] * x, suffix * x, ds.astype(np.float32), suffix.sum(0)]


def impossible():
    """(name, model, inputs, message): sizes that only the run knows, and that can't be. Clip keeps the caller's value from deciding before."""
    def sized(body):
        return text(21, "g (float[N, 6] x, float[2] s) => (float y) { c = Clip(s) i = Cast<to = 7>(c) " + body + " y = ReduceSum<keepdims = 0>(t) }")

    x = f32(2, 6)
    two = lambda *v: [x, np.array(v, np.float32)]
    split = sized("a, b = Split<axis = 1>(x, i) d = Exp(b) t = Concat<axis = 1>(a, d)")
    yield "parts that are too few", split, two(1, 2), "Split 'Split_a': the sizes of its parts don't add up to 6, or one is negative"
    yield "parts that are too many", split, two(1, 6), "Split 'Split_a': the sizes of its parts don't add up to 6, or one is negative"
    yield "a negative part", split, two(-1, 7), "Split 'Split_a': the sizes of its parts don't add up to 6, or one is negative"
    reshape = sized("r = Reshape(x, i) t = Exp(r)")
    yield "a shape of fewer elements", reshape, two(2, 3), "Reshape 'Reshape_r': its input of 6 * N elements doesn't fit the shape that it is given"
    yield "a shape of more elements", reshape, two(7, 2), "Reshape 'Reshape_r': its input of 6 * N elements doesn't fit the shape that it is given"
    yield "a shape that leaves a rest", reshape, two(5, -1), "Reshape 'Reshape_r': its input of 6 * N elements doesn't fit the shape that it is given"
    yield "two open sizes", reshape, two(-1, -1), "Reshape 'Reshape_r': its input of 6 * N elements doesn't fit the shape that it is given"
    yield "negative sizes", reshape, two(-3, -4), "Reshape 'Reshape_r': its input of 6 * N elements doesn't fit the shape that it is given"
    yield "tiled a negative number of times", sized("r = Tile(x, i) t = Exp(r)"), two(-1, -1), "Tile 'Tile_r': a size that it is given is negative"
    yield "expanded to negative sizes", sized("m = ReduceMax<keepdims = 1>(x) r = Expand(m, i) t = Exp(r)"), two(-2, -3), "Expand 'Expand_r': a size that it is given is negative"
    slices = text(21, "g (float[N, 6] x, float[2] s, float[2] f) => (float[A, B] y) <int64[2] a = {0, 0}, int64[2] b = {9, 9}> { c = Clip(s) axes = Cast<to = 7>(c) d = Clip(f) steps = Cast<to = 7>(d) y = Slice(x, a, b, axes, steps) }")
    axes = "Slice 'Slice_y': one of its axes is out of range or given twice"
    yield "an axis out of range", slices, two(0, 2) + [np.array([1, 1], np.float32)], axes
    yield "an axis given twice", slices, two(1, -1) + [np.array([1, 1], np.float32)], axes
    yield "a step of zero along axes of the run", slices, two(1, 0) + [np.array([1, 0], np.float32)], "Slice 'Slice_y': a step is zero"
    step = text(21, "g (float[N] x, float[1] f) => (float[A] y) <int64[1] a = {0}, int64[1] b = {9}> { c = Clip(f) s = Cast<to = 7>(c) y = Slice(x, a, b, a, s) }")
    yield "a step of zero", step, [f32(4), np.array([0], np.float32)], "Slice 'Slice_y': a step is zero"
    ranges = text(21, "g (int64 a, int64 b, int64 s) => (int64[N] y) { na = BitwiseNot(a) nb = BitwiseNot(b) ns = BitwiseNot(s) first = BitwiseNot(na) end = BitwiseNot(nb) step = BitwiseNot(ns) y = Range(first, end, step) }")
    low, high = np.int64(-2**63), np.int64(2**63 - 1)
    yield "a range of all integers", ranges, [low, high, np.int64(1)], "Range 'Range_y': it has too many elements"
    yield "a range of all integers downwards", ranges, [high, low, np.int64(-1)], "Range 'Range_y': it has too many elements"
    yield "a range without a step", ranges, [np.int64(0), np.int64(3), np.int64(0)], "Range 'Range_y': its step is zero"
    floats = text(21, "g (float a, float b, float s) => (float[N] y) { c = Clip(s) y = Range(a, b, c) }")
    for name, values in (("no float step", (0, 3, 0)), ("an endless float range", (0, np.inf, 1)), ("a float range of nothing known", (0, np.nan, 1)), ("float steps too short", (0, 3e38, 1e-38))):
        yield name, floats, [np.float32(v) for v in values], "Range 'Range_y': its start, limit and step give no number of elements"
    norm = text(17, "g (float[N, C, 3] x) => (float[N, D, 3] y) <float[2] s = {1, 2}, float[2] b = {0, 1}> { y = BatchNormalization(x, s, b, b, s) }")
    yield "more channels than are normalised", norm, [f32(2, 3, 3)], "X has 3 in dimension 1 and input_mean has 2 in dimension 0, which must be equal"
    yield "fewer channels than are normalised", norm, [f32(2, 1, 3)], "X has 1 in dimension 1 and input_mean has 2 in dimension 0, which must be equal"
    conv = text(17, "g (float[N, C, 2, 2] x) => (float[N, D, 2, 2] y) <float[1, 2, 1, 1] w = {1, 2}> { y = Conv(x, w) }")
    yield "more channels than weights", conv, [f32(2, 3, 2, 2)], "X has 3 channels where W and group need 2"
    yield "fewer channels than weights", conv, [f32(2, 1, 2, 2)], "X has 1 channels where W and group need 2"
    yield "a constant of another size", text(17, "g (float[N, 2] x) => (float[A, B] y) <float[6] c = {1, 2, 3, 4, 5, 6}> { s = Shape(x) r = Reshape(c, s) y = Add(r, x) }"), [f32(4, 2)], "reshaped has 8 elements and data has 6 elements, which must be equal"
    yield "a dimension that is not one", text(17, "g (float[N, M] x) => (float[A] y) <int64[1] a = {1}> { y = Squeeze(x, a) }"), [f32(3, 2)], "data has 6 elements and squeezed has 3 elements, which must be equal"
