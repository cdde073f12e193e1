"""Random ONNX graphs: 4 to 14 nodes of common operators, some sizes symbolic, in f64 (so that no rounding decides what a
comparison gives). Every node is evaluated by the reference evaluator as it is added; one that gives no finite number, or
numbers of an extreme size, is taken back. Left out is what the evaluator itself gets wrong or only to seven digits: Erf, HardSwish and
Gelu, GlobalMaxPool along one dimension, Loop without a condition."""

import warnings

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

OPSET = 23
LARGEST, MOST_ELEMENTS = 1e3, 4096
FLOATS = (np.float64,)


class Generator:
    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.initializers, self.values, self.names = [], [], {}, set()
        self.symbolic = seed % 2 == 1
        self.inputs = []
        size = {"N": int(self.random.integers(1, 5)), "M": int(self.random.integers(1, 6))}
        for i in range(int(self.random.integers(1, 3))):
            shape = [self.pick(["N", "M", 1, 2, 3, 4, 6, 8]) for _ in range(int(self.random.integers(1, 5)))]
            concrete = [size.get(d, d) for d in shape]
            name = self.fresh("x")
            self.values[name] = self.random.standard_normal(concrete)
            self.inputs.append((name, shape if self.symbolic else concrete))

    # ---- choices ----

    def pick(self, options):
        return options[int(self.random.integers(len(options)))]

    def chance(self, p):
        return self.random.random() < p

    def fresh(self, stem):
        k = 0
        while f"{stem}{k}" in self.names:
            k += 1
        self.names.add(f"{stem}{k}")
        return f"{stem}{k}"

    def constant(self, array):
        name = self.fresh("c")
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        self.values[name] = np.asarray(array)
        return name

    def weights(self, *shape):
        return self.constant(self.random.standard_normal(shape))

    def ints(self, *values):
        return self.constant(np.array(values, np.int64))

    def some(self, condition=lambda v: True, dtypes=FLOATS):
        """A value so far, rather a late one."""
        names = [n for n, v in self.values.items() if not n.startswith("c") and v.dtype in dtypes and condition(v)]
        if not names:
            raise LookupError
        return names[-1] if self.chance(0.5) else self.pick(names)

    def axis(self, value):
        return int(self.random.integers(-value.ndim, value.ndim))

    # ---- operators: each gives (type, inputs, number of outputs, attributes) ----

    def unary(self):
        op = self.pick(["Relu", "Sigmoid", "Tanh", "Abs", "Neg", "Softplus", "Elu", "LeakyRelu", "HardSigmoid", "Selu", "Floor", "Ceil", "Sign", "Cos", "Sin",
                        "Identity", "Softsign", "Mish", "ThresholdedRelu", "Exp", "Round", "Reciprocal", "Sqrt", "Log", "Atan", "Asinh"])
        # Slopes are finite: at 0 the root's times a zero is not a number.
        return op, [self.some(lambda v: op not in ("Sqrt", "Log", "Reciprocal") or np.abs(v).min() > 1e-3)], 1, {}

    def clip(self):
        return "Clip", [self.some(), self.constant(np.float64(-0.5)), self.constant(np.float64(0.7))], 1, {}

    def binary(self):
        a = self.some()
        shape = self.values[a].shape
        op = self.pick(["Add", "Sub", "Mul", "Div", "Max", "Min", "Mean", "Sum", "Mod"])
        same = [n for n, v in self.values.items() if v.dtype == np.float64 and not n.startswith("c") and self.meets(v.shape, shape)]
        if same and self.chance(0.6):
            b = self.pick(same)
        else:
            dims = [d if self.chance(0.7) and not self.symbolic else 1 for d in shape]
            b = self.constant(2.5 + self.random.random(dims[int(self.random.integers(0, len(dims) + 1)):]))
        return op, [a, b] if self.chance(0.7) or op in ("Div", "Mod") else [b, a], 1, {"fmod": 1} if op == "Mod" else {}

    @staticmethod
    def meets(a, b):
        return all(x == y or 1 in (x, y) for x, y in zip(a[::-1], b[::-1]))

    def choose(self):
        a = self.some()
        c = self.fresh("t")
        self.add(self.pick(["Greater", "Less", "GreaterOrEqual", "Equal"]), [a, self.constant(np.float64(0.1))], [c])
        return "Where", [c, a, self.constant(np.float64(-1)) if self.chance(0.5) else self.some(lambda v: self.meets(v.shape, self.values[a].shape))], 1, {}

    def reduce(self):
        a = self.some(lambda v: v.ndim > 0)
        axes = sorted({self.axis(self.values[a]) % self.values[a].ndim for _ in range(2)})
        op = self.pick(["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceSumSquare", "ReduceProd"])
        return op, [a, self.ints(*axes)] if self.chance(0.8) else [a], 1, {"keepdims": int(self.chance(0.7))}

    def arg(self):
        a = self.some(lambda v: v.ndim > 0 and self.differ(v))
        i = self.fresh("t")
        self.add(self.pick(["ArgMax", "ArgMin"]), [a], [i], axis=self.axis(self.values[a]), keepdims=int(self.chance(0.5)))
        return "Cast", [i], 1, {"to": TensorProto.DOUBLE}

    @staticmethod
    def differ(value):
        """No two elements are so near each other that roundings decide which is the larger."""
        return value.size < 2 or np.diff(np.sort(value, axis=None)).min() > 1e-9

    def softmax(self):
        a = self.some(lambda v: v.ndim > 0)
        return self.pick(["Softmax", "LogSoftmax"]), [a], 1, {"axis": self.axis(self.values[a])}

    def transpose(self):
        a = self.some(lambda v: v.ndim > 1)
        return "Transpose", [a], 1, {"perm": [int(i) for i in self.random.permutation(self.values[a].ndim)]}

    def reshape(self):
        a = self.some(lambda v: v.ndim > 0)
        n = self.values[a].ndim
        if self.chance(0.3):
            return "Flatten", [a], 1, {"axis": int(self.random.integers(0, n + 1))}
        if self.chance(0.5):
            return "Reshape", [a, self.ints(*[0] * (n - 1), -1, 1)], 1, {}
        s, d = self.fresh("t"), self.fresh("t")
        self.add("Shape", [a], [s], start=0, end=1)
        self.add("Concat", [s, self.ints(-1)], [d], axis=0)
        return "Reshape", [a, d], 1, {}

    def unsqueeze(self):
        a = self.some(lambda v: v.ndim < 4)
        return "Unsqueeze", [a, self.ints(int(self.random.integers(0, self.values[a].ndim + 1)))], 1, {}

    def concat(self):
        a = self.some(lambda v: v.ndim > 0)
        axis = self.axis(self.values[a])
        cut = lambda s: s[: axis % len(s)] + s[axis % len(s) + 1:]
        b = self.some(lambda v: v.ndim == self.values[a].ndim and cut(v.shape) == cut(self.values[a].shape))
        return "Concat", [a, b], 1, {"axis": axis}

    def split(self):
        a = self.some(lambda v: v.ndim > 0 and v.shape[-1] > 1)
        return "Split", [a], 2, {"axis": -1, "num_outputs": 2}

    def slice(self):
        a = self.some(lambda v: v.ndim > 0)
        axis = self.axis(self.values[a])
        start, end, step = self.pick([(0, 2, 1), (1, 10**6, 1), (-2, 10**6, 1), (0, -1, 1), (-1, -10**6, -1), (0, 10**6, 2), (10**6, -10**6, -2)])
        return "Slice", [a, self.ints(start), self.ints(end), self.ints(axis), self.ints(step)], 1, {}

    def pad(self):
        a = self.some(lambda v: 0 < v.ndim < 4)
        mode = self.pick(["constant", "edge", "reflect", "wrap"])
        most = {"reflect": min(self.values[a].shape) - 1, "wrap": min(self.values[a].shape)}.get(mode, 2)
        pads = [int(self.random.integers(0, min(2, most) + 1)) for _ in range(2 * self.values[a].ndim)]
        return "Pad", [a, self.ints(*pads)], 1, {"mode": mode}

    def tile(self):
        a = self.some(lambda v: 0 < v.ndim < 4)
        return "Tile", [a, self.ints(*self.random.integers(1, 3, self.values[a].ndim))], 1, {}

    def expand(self):
        a = self.some(lambda v: v.ndim < 4)
        return "Expand", [a, self.ints(2, *[1] * self.values[a].ndim)], 1, {}

    def gather(self):
        a = self.some(lambda v: v.ndim > 0)
        axis = self.axis(self.values[a])
        d = self.values[a].shape[axis]
        shape = self.pick([(), (2,), (2, 3)])
        if self.symbolic:
            return "Gather", [a, self.constant(np.array(self.random.integers(-1, 1, shape), np.int64))], 1, {"axis": axis}
        return "Gather", [a, self.constant(np.array(self.random.integers(-d, d, shape), np.int64))], 1, {"axis": axis}

    def cumsum(self):
        a = self.some(lambda v: v.ndim > 0)
        return "CumSum", [a, self.constant(np.int64(self.axis(self.values[a])))], 1, {"exclusive": int(self.chance(0.3)), "reverse": int(self.chance(0.3))}

    def topk(self):
        a = self.some(lambda v: v.ndim > 0 and self.differ(v))
        axis = self.axis(self.values[a])
        return "TopK", [a, self.ints(1)], 2, {"axis": axis, "largest": int(self.chance(0.5))}

    def matmul(self):
        a = self.some(lambda v: v.ndim > 0)
        k = self.values[a].shape[-1]
        if self.symbolic and self.chance(0.5):
            t = self.fresh("t")
            a = self.some(lambda v: v.ndim > 1)
            order = list(range(self.values[a].ndim))
            self.add("Transpose", [a], [t], perm=order[:-2] + [order[-1], order[-2]])
            return "MatMul", [a, t], 1, {}
        return "MatMul", [a, self.weights(k, 3)], 1, {}

    def gemm(self):
        a = self.some(lambda v: v.ndim == 2)
        b = self.weights(4, self.values[a].shape[1])
        return "Gemm", [a, b, self.weights(4)], 1, {"transB": 1, "alpha": 0.5, "beta": 2.0}

    def einsum(self):
        a = self.some(lambda v: v.ndim == 2)
        return "Einsum", [a, a], 1, {"equation": self.pick(["ij,kj->ik", "ij,ij->i", "ij,ij->ji", "ij,ij->"])}

    def conv(self):
        a = self.some(lambda v: v.ndim in (3, 4) and min(v.shape[2:]) >= 2)
        c, n = self.values[a].shape[1], self.values[a].ndim - 2
        group = c if self.chance(0.3) else 1
        pads = [int(self.random.integers(0, 2)) for _ in range(2 * n)]
        if self.chance(0.25):
            return "ConvTranspose", [a, self.weights(c, 2, *[2] * n)], 1, {"strides": [2] * n}
        return "Conv", [a, self.weights(2 * group, c // group, *[2] * n), self.weights(2 * group)], 1, {"group": group, "pads": pads, "strides": [self.pick([1, 2])] * n}

    def pool(self):
        a = self.some(lambda v: v.ndim in (3, 4) and min(v.shape[2:]) >= 2)
        n = self.values[a].ndim - 2
        op = self.pick(["MaxPool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool"])
        if op == "GlobalMaxPool" and n == 1:
            raise LookupError  # the reference loses a dimension
        if op.startswith("Global"):
            return op, [a], 1, {}
        return op, [a], 1, {"kernel_shape": [2] * n, "strides": [self.pick([1, 2])] * n}

    def normalize(self):
        a = self.some(lambda v: v.ndim > 1)
        v = self.values[a]
        op = self.pick(["LayerNormalization", "RMSNormalization", "InstanceNormalization", "BatchNormalization"])
        if op in ("LayerNormalization", "RMSNormalization"):
            scale = [self.weights(v.shape[-1])]
            return "LayerNormalization", [a] + scale + [self.weights(v.shape[-1])], 1, {"axis": -1}
        if v.ndim < 3:
            raise LookupError
        c = v.shape[1]
        if op == "InstanceNormalization":
            return op, [a, self.weights(c), self.weights(c)], 1, {}
        return op, [a, self.weights(c), self.weights(c), self.weights(c), self.constant(0.5 + self.random.random(c))], 1, {}

    def resize(self):
        a = self.some(lambda v: v.ndim in (3, 4))
        n = self.values[a].ndim
        mode = self.pick(["nearest", "linear"])
        scales = [1.0, 1.0] + [self.pick([1.0, 2.0, 1.5]) for _ in range(n - 2)]
        return "Resize", [a, "", self.constant(np.array(scales, np.float32))], 1, {"mode": mode, "coordinate_transformation_mode": self.pick(["half_pixel", "asymmetric", "align_corners"])}

    def depth(self):
        a = self.some(lambda v: v.ndim == 4 and v.shape[1] % 4 == 0)
        return "DepthToSpace", [a], 1, {"blocksize": 2, "mode": self.pick(["DCR", "CRD"])}

    def branch(self):
        a = self.some()
        s, c = self.fresh("t"), self.fresh("t")
        self.add("ReduceSum", [a], [s], keepdims=0)
        self.add("Greater", [s, self.constant(np.float64(0))], [c])
        body = lambda op, out: helper.make_graph([helper.make_node(op, [a], [out])], op, [], [helper.make_empty_tensor_value_info(out)])
        ops = ["Neg", "Tanh", "Abs", "Relu"]
        return "If", [c], 1, {"then_branch": body(self.pick(ops), self.fresh("b")), "else_branch": body(self.pick(ops), self.fresh("b"))}

    def loop(self):
        a = self.some()
        i, c, v, c2, w, u = (self.fresh("b") for _ in range(6))
        body = helper.make_graph(
            [helper.make_node("Identity", [c], [c2]), helper.make_node(self.pick(["Tanh", "Softsign"]), [v], [u]), helper.make_node("Add", [u, a], [w])], "body",
            [helper.make_tensor_value_info(i, TensorProto.INT64, []), helper.make_tensor_value_info(c, TensorProto.BOOL, []), helper.make_empty_tensor_value_info(v)],
            [helper.make_tensor_value_info(c2, TensorProto.BOOL, []), helper.make_empty_tensor_value_info(w)])
        return "Loop", [self.constant(np.int64(self.pick([0, 1, 3]))), self.constant(np.array(True)), a], 1, {"body": body}

    def loop_while(self):
        """Ends when the state has grown, at most after five trips; gives every trip's state as well."""
        a = self.some(lambda v: v.ndim > 0)
        i, c, v, c2, s, n, u, w, h, m = (self.fresh("b") for _ in range(10))
        limit, half = self.constant(np.float64(self.pick([1, 4, 20]))), self.constant(np.float64(0.5))
        flat = self.ints(-1)
        make = helper.make_node
        nodes = [make("Mul", [v, half], [h]), make(self.pick(["Cos", "Sigmoid", "Tanh"]), [h], [u]), make("Add", [u, v], [w]),
                 make("ReduceSumSquare", [w], [n], keepdims=0), make("Less", [n, limit], [c2]), make("Mul", [w, u], [m]),
                 make("Reshape", [m, flat], [s])]  # the evaluator stacks vectors only
        body = helper.make_graph(
            nodes, "body",
            [helper.make_tensor_value_info(i, TensorProto.INT64, []), helper.make_tensor_value_info(c, TensorProto.BOOL, []), helper.make_empty_tensor_value_info(v)],
            [helper.make_tensor_value_info(c2, TensorProto.BOOL, []), helper.make_empty_tensor_value_info(w), helper.make_empty_tensor_value_info(s)])
        return "Loop", [self.constant(np.int64(5)), self.constant(np.array(True)), a], 2, {"body": body}

    def loop_branch(self):
        """A branch by a value in a loop: each trip takes its own."""
        a = self.some(lambda v: v.ndim > 0)
        i, c, v, c2, n, p, w, x, y = (self.fresh("b") for _ in range(9))
        zero = self.constant(np.float64(self.pick([0, 0.3])))
        make = helper.make_node
        branch = lambda op, out: helper.make_graph([make(op, [v, a], [out])], op, [], [helper.make_empty_tensor_value_info(out)])
        nodes = [make("Identity", [c], [c2]), make("ReduceMean", [v], [n], keepdims=0), make("Greater", [n, zero], [p]),
                 make("If", [p], [w], then_branch=branch("Sub", x), else_branch=branch(self.pick(["Add", "Mul"]), y))]
        body = helper.make_graph(
            nodes, "body",
            [helper.make_tensor_value_info(i, TensorProto.INT64, []), helper.make_tensor_value_info(c, TensorProto.BOOL, []), helper.make_empty_tensor_value_info(v)],
            [helper.make_tensor_value_info(c2, TensorProto.BOOL, []), helper.make_empty_tensor_value_info(w)])
        return "Loop", [self.constant(np.int64(self.pick([1, 4]))), self.constant(np.array(True)), a], 1, {"body": body}

    def scan(self):
        a = self.some(lambda v: v.ndim > 1)
        start, v, x, u, w = self.fresh("t"), *(self.fresh("b") for _ in range(4))
        self.add("ReduceSum", [a, self.ints(0)], [start], keepdims=0)
        make = helper.make_node
        info = lambda n: helper.make_tensor_value_info(n, TensorProto.DOUBLE, None)
        body = helper.make_graph([make("Tanh", [v], [u]), make(self.pick(["Add", "Mul"]), [u, x], [w])], "body", [info(v), info(x)], [info(w), info(u)])
        return "Scan", [start, a], 2, {"body": body, "num_scan_inputs": 1}

    def recurrent(self):
        a = self.some(lambda v: v.ndim == 3)
        d, h = self.values[a].shape[2], 2
        op = self.pick(["RNN", "GRU", "LSTM"])
        gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[op]
        bias = self.weights(1, 2 * gates * h) if self.chance(0.5) else ""
        return op, [a, self.weights(1, gates * h, d), self.weights(1, gates * h, h), bias], 2, {"hidden_size": h}

    def pick_elements(self):
        a = self.some(lambda v: v.ndim > 0)
        v, axis = self.values[a], self.axis(self.values[a])
        lowest = -v.shape[axis]
        if self.symbolic:
            raise LookupError
        index = self.constant(self.random.integers(lowest, v.shape[axis], v.shape).astype(np.int64))
        return "GatherElements", [a, index], 1, {"axis": axis}

    def gather_nd(self):
        a = self.some(lambda v: v.ndim > 0)
        v = self.values[a]
        if self.symbolic:
            raise LookupError
        k = int(self.random.integers(1, v.ndim + 1))
        return "GatherND", [a, self.constant(np.stack([self.random.integers(-d, d, 3) for d in v.shape[:k]], -1).astype(np.int64))], 1, {}

    def scatter(self):
        a = self.some(lambda v: v.ndim > 0)
        v, axis = self.values[a], self.axis(self.values[a])
        if self.symbolic:
            raise LookupError
        reduction = self.pick(["none", "add", "mul", "max", "min"])
        if self.chance(0.5):
            d = v.shape[axis]
            index = np.moveaxis(np.broadcast_to(self.random.permutation(d).reshape(-1, *[1] * (v.ndim - 1)), np.moveaxis(v, axis, 0).shape), 0, axis)
            if reduction != "none":
                index = self.random.integers(0, d, v.shape)
            return "ScatterElements", [a, self.constant(index.astype(np.int64)), self.weights(*v.shape)], 1, {"axis": axis, "reduction": reduction}
        rows = self.random.permutation(v.shape[0])[:2] if reduction == "none" else self.random.integers(0, v.shape[0], 3)
        return "ScatterND", [a, self.constant(rows.reshape(-1, 1).astype(np.int64)), self.weights(len(rows), *v.shape[1:])], 1, {"reduction": reduction}

    def trilu(self):
        a = self.some(lambda v: v.ndim > 1)
        return "Trilu", [a, self.constant(np.int64(self.pick([-1, 0, 1])))], 1, {"upper": int(self.chance(0.5))}

    def power(self):
        a = self.fresh("t")
        self.add("Softplus", [self.some()], [a])
        return "Pow", [a, self.constant(np.float64(self.pick([0.5, 2, 3, -1])))], 1, {}

    def determinant(self):
        a = self.some(lambda v: v.ndim > 1 and v.shape[-1] == v.shape[-2])
        return "Det", [a], 1, {}

    def loss(self):
        a = self.some(lambda v: v.ndim > 1)
        v = self.values[a]
        if self.symbolic:
            raise LookupError
        target = self.constant(self.random.integers(0, v.shape[1], v.shape[:1] + v.shape[2:]).astype(np.int64))
        weight = [self.constant(0.5 + self.random.random(v.shape[1]))] if self.chance(0.4) else []
        return self.pick(["SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"]), [a, target] + weight, 1, {"reduction": self.pick(["none", "sum", "mean"])}

    def attention(self):
        a = self.some(lambda v: v.ndim == 4)
        return "Attention", [a, a, a], 1, {"is_causal": int(self.chance(0.5))}

    def sequence(self):
        a = self.some(lambda v: v.ndim > 0 and v.shape[-1] > 1)
        s, e = self.fresh("q"), self.fresh("t")
        at = self.constant(np.int64(self.pick([0, -1])))
        split = helper.make_node("SplitToSequence", [a, self.constant(np.int64(1))], [s], axis=-1, name=s)
        get = helper.make_node("SequenceAt", [s, at], [e], name=e)
        joined = self.fresh("t")
        join = helper.make_node("ConcatFromSequence", [s], [joined], axis=0, name=joined)
        v = self.values[a]
        self.nodes += [split, get, join]
        pieces = [v[..., i:i + 1] for i in range(v.shape[-1])]
        self.values[e], self.values[joined] = pieces[int(self.values[at])], np.concatenate(pieces, 0)
        return "Identity", [joined], 1, {}

    # ---- the graph ----

    def add(self, op, inputs, outputs, **attributes):
        self.nodes.append(helper.make_node(op, inputs, outputs, name=outputs[0], **attributes))
        self.evaluate(self.nodes[-1])

    def evaluate(self, node):
        model = self.wrap([node], [i for i in self.values], list(node.output))
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for name, value in zip(node.output, ReferenceEvaluator(model).run(None, dict(self.values))):
                value = np.asarray(value)
                if value.size == 0 or value.size > MOST_ELEMENTS or (value.dtype.kind == "f" and not (np.abs(value) < LARGEST).all()):
                    raise ValueError(name)
                self.values[name] = value

    def wrap(self, nodes, inputs, outputs):
        graph = helper.make_graph(nodes, "random", [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(self.values[n].dtype), None) for n in inputs],
                                  [helper.make_empty_tensor_value_info(n) for n in outputs])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])

    def step(self):
        before = len(self.nodes), len(self.initializers), dict(self.values)
        kinds = [*3 * [self.unary], *3 * [self.binary], *2 * [self.reduce], self.clip, self.choose, self.reduce, self.arg, self.softmax, self.transpose, self.reshape, self.unsqueeze,
                 self.concat, self.split, self.slice, self.pad, self.tile, self.expand, self.gather, self.cumsum, self.topk, self.matmul, self.gemm, self.einsum, self.conv,
                 self.conv, self.pool, self.normalize, self.resize, self.depth, self.branch, self.loop, self.loop_while, self.loop_branch, self.scan, self.recurrent, self.pick_elements,
                 self.gather_nd, self.scatter, self.trilu, self.power, self.determinant, self.loss, self.attention, self.sequence]
        try:
            op, inputs, outputs, attributes = self.pick(kinds)()
            self.add(op, inputs, [self.fresh("t") for _ in range(outputs)], **attributes)
        except Exception:  # no value fits, or the evaluator refuses: whatever it says, the step is taken back
            del self.nodes[before[0]:], self.initializers[before[1]:]
            self.values = before[2]

    def model(self):
        """The model, its inputs and its outputs: every value that nothing reads, at most four of them."""
        wanted = int(self.random.integers(4, 15))
        for _ in range(200):
            if len(self.nodes) < wanted:
                self.step()
        graphs = lambda n: [a.g for a in n.attribute if a.type == onnx.AttributeProto.GRAPH]
        read = {i for n in self.nodes for i in n.input} | {i for n in self.nodes for g in graphs(n) for m in g.node for i in m.input}
        outputs = [o for n in self.nodes for o in n.output if o not in read][-4:]
        model = self.wrap(self.nodes, [], outputs)
        for name, shape in self.inputs:
            model.graph.input.append(helper.make_tensor_value_info(name, TensorProto.DOUBLE, shape))
        model.graph.initializer.extend(self.initializers)
        for o in model.graph.output:
            o.CopyFrom(helper.make_tensor_value_info(o.name, helper.np_dtype_to_tensor_dtype(self.values[o.name].dtype), None))
        return model, [self.values[n] for n, _ in self.inputs], [self.values[o] for o in outputs]
