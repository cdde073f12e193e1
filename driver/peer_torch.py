"""An ONNX model by PyTorch's functions, node by node: what `--verify=torch` and `--compare torch` run.

PyTorch itself writes ONNX files and reads none. An operator that is not here is an error that names it.
"""


def torch_runner(model, feeds, threads):
    """(a function that gives the outputs as NumPy arrays, PyTorch's version)"""
    import numpy as np
    import onnx
    import torch
    import torch.nn.functional as F
    from onnx import helper, numpy_helper

    if threads > 0:
        torch.set_num_threads(threads)

    def tensor(array):
        return torch.from_numpy(np.array(array))  # a copy: initializers are read-only

    def ints(t):
        return [int(i) for i in t.reshape(-1)]

    def axes_of(a, i=1):
        """Of an operator that has them as an attribute, and later as an input."""
        return ints(a["in"][i]) if len(a["in"]) > i and a["in"][i] is not None else list(a.get("axes", []))

    def dtype_of(code):
        return tensor(np.zeros(0, helper.tensor_dtype_to_np_dtype(code))).dtype

    def padded(a, x, kernel, value):
        """The input with the pads of a convolution or a pooling, which may differ in front and behind."""
        rank, automatic = len(kernel), a.get("auto_pad", b"NOTSET").decode()
        strides, dilations = a.get("strides", [1] * rank), a.get("dilations", [1] * rank)
        pads = a.get("pads", [0] * 2 * rank)
        if automatic.startswith("SAME"):
            total = [max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0)
                     for n, k, s, d in zip(x.shape[2:], kernel, strides, dilations)]
            less, more = [t // 2 for t in total], [t - t // 2 for t in total]
            pads = less + more if automatic == "SAME_UPPER" else more + less
        flat = [p for i in reversed(range(rank)) for p in (pads[i], pads[rank + i])]
        return (F.pad(x, flat, value=value) if any(flat) else x), strides, dilations

    def conv(a, x, w, b=None):
        x, strides, dilations = padded(a, x, w.shape[2:], 0.0)
        return (F.conv1d, F.conv2d, F.conv3d)[w.dim() - 3](x, w, b, strides, 0, dilations, a.get("group", 1))

    def conv_transpose(a, x, w, b=None):
        rank = w.dim() - 2
        pads = a.get("pads", [0] * 2 * rank)
        if a.get("auto_pad", b"NOTSET") != b"NOTSET" or "output_shape" in a or pads[:rank] != pads[rank:]:
            raise NotImplementedError("ConvTranspose with automatic or uneven pads")
        return (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[rank - 1](
            x, w, b, a.get("strides", 1), pads[:rank], a.get("output_padding", 0), a.get("group", 1), a.get("dilations", 1))

    def max_pool(a, x):
        if a.get("ceil_mode"):
            raise NotImplementedError("MaxPool with ceil_mode")
        kernel = a["kernel_shape"]
        x, strides, dilations = padded(a, x, kernel, -torch.inf)
        return (F.max_pool1d, F.max_pool2d, F.max_pool3d)[len(kernel) - 1](x, kernel, strides, 0, dilations)

    def average_pool(a, x):
        kernel, pads = a["kernel_shape"], a.get("pads")
        if a.get("ceil_mode") or a.get("dilations", [1]) != [1] * len(a.get("dilations", [1])):
            raise NotImplementedError("AveragePool with ceil_mode or dilations")
        pool = (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)[len(kernel) - 1]
        sums, strides, _ = padded(a, x, kernel, 0.0)
        if a.get("count_include_pad") or not (pads and any(pads) or a.get("auto_pad", b"NOTSET") != b"NOTSET"):
            return pool(sums, kernel, strides)
        return pool(sums, kernel, strides) / pool(padded(a, torch.ones_like(x), kernel, 0.0)[0], kernel, strides)

    def gemm(a, x, y, c=None):
        product = a.get("alpha", 1.0) * (x.T if a.get("transA") else x) @ (y.T if a.get("transB") else y)
        return product if c is None else product + a.get("beta", 1.0) * c

    def reshape(a, x, shape):
        sizes = ints(shape)
        if not a.get("allowzero"):
            sizes = [x.shape[i] if n == 0 else n for i, n in enumerate(sizes)]
        return x.reshape(sizes)

    def slices(a, x, starts, ends, axes=None, steps=None):
        axes = ints(axes) if axes is not None else range(len(starts))
        for axis, begin, end, step in zip(axes, ints(starts), ints(ends), ints(steps) if steps is not None else [1] * len(starts)):
            places = torch.tensor(range(*slice(begin, end if end > -2**31 or step > 0 else None, step).indices(x.shape[axis])))
            x = x.index_select(axis, places.long())
        return x

    def split(a, x, sizes=None):
        axis = a.get("axis", 0)
        parts = ints(sizes) if sizes is not None else a.get("split")
        if parts is None:
            parts = -(-x.shape[axis] // a.get("num_outputs", len(a["out"])))
        return torch.split(x, parts, axis)

    def gather(a, x, i):
        axis = a.get("axis", 0) % x.dim()
        i = torch.where(i < 0, i + x.shape[axis], i).long()
        return x.index_select(axis, i.reshape(-1)).reshape(x.shape[:axis] + i.shape + x.shape[axis + 1:])

    def pad(a, x, pads, value=None, axes=None):
        pads, rank = ints(pads), x.dim()
        axes = [i % rank for i in ints(axes)] if axes is not None else list(range(rank))
        begins, ends = dict(zip(axes, pads)), dict(zip(axes, pads[len(axes):]))
        flat = [p for i in reversed(range(rank)) for p in (begins.get(i, 0), ends.get(i, 0))]
        mode = {b"constant": "constant", b"reflect": "reflect", b"edge": "replicate"}.get(a.get("mode", b"constant"))
        if mode is None:
            raise NotImplementedError("Pad with mode = " + a["mode"].decode())
        if mode == "constant":
            return F.pad(x, flat, value=float(value) if value is not None else 0.0)
        while len(flat) > 2 and flat[-2:] == [0, 0]:
            flat = flat[:-2]
        return F.pad(x, flat, mode)

    def reduce(function):
        def run(a, x, *_):
            axes, keep = axes_of(a), bool(a.get("keepdims", 1))
            if not axes and a.get("noop_with_empty_axes"):
                return x
            for axis in sorted((i % x.dim() for i in axes or range(x.dim())), reverse=True):
                if x.shape[axis] == 0 and function in (torch.amax, torch.amin):
                    raise NotImplementedError("an extreme of nothing")
                x = function(x, axis, keep)
            return x
        return run

    def normalized(a, x, scale, bias=None):
        axis = a.get("axis", -1) % x.dim()
        return F.layer_norm(x, x.shape[axis:], scale, bias, a.get("epsilon", 1e-5))

    def group_norm(a, x, scale, bias):
        if scale.shape[0] != x.shape[1]:
            scale, bias = (t.repeat_interleave(x.shape[1] // t.shape[0]) for t in (scale, bias))
        return F.group_norm(x, a["num_groups"], scale, bias, a.get("epsilon", 1e-5))

    def batch_norm(a, x, scale, bias, mean, variance):
        if a.get("training_mode"):
            raise NotImplementedError("BatchNormalization that trains")
        return F.batch_norm(x, mean, variance, scale, bias, False, 0.0, a.get("epsilon", 1e-5))

    def clip(a, x, low=None, high=None):
        low, high = low if low is not None else a.get("min"), high if high is not None else a.get("max")
        return x if low is None and high is None else torch.clamp(x, low, high)

    def softmax(function):
        def run(a, x):
            if a["opset"] < 13:
                axis = a.get("axis", 1)
                return function(x.reshape(*x.shape[:axis], -1).flatten(0, axis - 1) if axis else x.reshape(1, -1), 1).reshape(x.shape)
            return function(x, a.get("axis", -1))
        return run

    def squeeze(a, x, *_):
        axes = axes_of(a)
        for axis in sorted((i % x.dim() for i in axes or [i for i, n in enumerate(x.shape) if n == 1]), reverse=True):
            x = x.squeeze(axis)
        return x

    def unsqueeze(a, x, *_):
        axes = axes_of(a)
        for axis in sorted(i % (x.dim() + len(axes)) for i in axes):
            x = x.unsqueeze(axis)
        return x

    def flatten(a, x):
        axis = a.get("axis", 1)
        return x.reshape(int(np.prod(x.shape[:axis])), -1)

    def constant(a):
        for name, value in a.items():
            if name == "value":
                return tensor(numpy_helper.to_array(value))
            if name.startswith("value_"):
                return torch.tensor(value, dtype=torch.float32 if "float" in name else torch.int64)

    def arg(function):
        def run(a, x):
            if a.get("select_last_index"):
                raise NotImplementedError("select_last_index")
            return function(x, a.get("axis", 0), bool(a.get("keepdims", 1)))
        return run

    def elementwise(function):
        return lambda a, *x: function(*x)

    def folded(function):
        def run(a, first, *rest):
            for x in rest:
                first = function(first, x)
            return first
        return run

    def divide(x, y):
        return x / y if x.is_floating_point() else torch.div(x, y, rounding_mode="trunc")

    operators = {
        "AveragePool": average_pool, "BatchNormalization": batch_norm, "Clip": clip, "Constant": constant, "Conv": conv,
        "ConvTranspose": conv_transpose, "Flatten": flatten, "Gather": gather, "Gemm": gemm, "GroupNormalization": group_norm,
        "LayerNormalization": normalized, "MaxPool": max_pool, "Pad": pad, "Reshape": reshape, "Slice": slices, "Split": split,
        "Squeeze": squeeze, "Unsqueeze": unsqueeze,
        "ArgMax": arg(torch.argmax), "ArgMin": arg(torch.argmin),
        "LogSoftmax": softmax(torch.log_softmax), "Softmax": softmax(torch.softmax),
        "ReduceL2": reduce(lambda x, i, k: torch.linalg.vector_norm(x, 2, i, k)), "ReduceMax": reduce(torch.amax),
        "ReduceMean": reduce(torch.mean), "ReduceMin": reduce(torch.amin), "ReduceProd": reduce(torch.prod),
        "ReduceSum": reduce(torch.sum),
        "Max": folded(torch.maximum), "Mean": lambda a, *x: sum(x) / len(x), "Min": folded(torch.minimum), "Sum": folded(torch.add),
        "Cast": lambda a, x: x.to(dtype_of(a["to"])),
        "CastLike": lambda a, x, y: x.to(y.dtype),
        "Concat": lambda a, *x: torch.cat(x, a["axis"]),
        "ConstantOfShape": lambda a, shape: torch.full(ints(shape), *([tensor(numpy_helper.to_array(a["value"])).item()]
                                                                     if "value" in a else [0.0]),
                                                       dtype=tensor(numpy_helper.to_array(a["value"])).dtype
                                                       if "value" in a else torch.float32),
        "CumSum": lambda a, x, axis: torch.cumsum(x, int(axis)) if not a.get("exclusive") and not a.get("reverse") else unsupported("CumSum"),
        "Dropout": lambda a, x, ratio=None, training=None: x if training is None or not training else unsupported("Dropout that trains"),
        "Einsum": lambda a, *x: torch.einsum(a["equation"].decode(), *x),
        "Elu": lambda a, x: F.elu(x, a.get("alpha", 1.0)),
        "Expand": lambda a, x, shape: x.expand(torch.broadcast_shapes(x.shape, ints(shape))),
        "GatherElements": lambda a, x, i: torch.gather(x, a.get("axis", 0), torch.where(i < 0, i + x.shape[a.get("axis", 0)], i)),
        "Gelu": lambda a, x: F.gelu(x, approximate=a.get("approximate", b"none").decode()),
        "GlobalAveragePool": lambda a, x: x.mean(tuple(range(2, x.dim())), True),
        "GlobalMaxPool": lambda a, x: x.amax(tuple(range(2, x.dim())), True),
        "HardSigmoid": lambda a, x: torch.clamp(a.get("alpha", 0.2) * x + a.get("beta", 0.5), 0, 1),
        "InstanceNormalization": lambda a, x, s, b: F.instance_norm(x, weight=s, bias=b, eps=a.get("epsilon", 1e-5)),
        "LeakyRelu": lambda a, x: F.leaky_relu(x, a.get("alpha", 0.01)),
        "Mod": lambda a, x, y: torch.fmod(x, y) if a.get("fmod") else torch.remainder(x, y),
        "PRelu": lambda a, x, slope: torch.where(x < 0, x * slope, x),
        "Pow": lambda a, x, y: torch.pow(x, y).to(x.dtype),
        "Range": lambda a, begin, end, step: torch.arange(begin.item(), end.item(), step.item(), dtype=begin.dtype),
        "Selu": lambda a, x: a.get("gamma", 1.0507009873554805) * F.elu(x, a.get("alpha", 1.6732632423543772)),
        "Shape": lambda a, x: torch.tensor(x.shape[a.get("start", 0):a.get("end", None)]),
        "Tile": lambda a, x, times: x.repeat(ints(times)),
        "Transpose": lambda a, x: x.permute(a.get("perm", list(reversed(range(x.dim()))))),
        "Trilu": lambda a, x, k=None: (torch.triu if a.get("upper", 1) else torch.tril)(x, int(k) if k is not None else 0),
        "Where": lambda a, c, x, y: torch.where(c, x, y),
    }
    operators.update({name: elementwise(function) for name, function in {
        "Abs": torch.abs, "Add": torch.add, "And": torch.logical_and, "Ceil": torch.ceil, "Cos": torch.cos, "Div": divide,
        "Equal": torch.eq, "Erf": torch.erf, "Exp": torch.exp, "Floor": torch.floor, "Greater": torch.gt,
        "GreaterOrEqual": torch.ge, "HardSwish": F.hardswish, "Identity": lambda x: x, "Less": torch.lt,
        "LessOrEqual": torch.le, "Log": torch.log, "MatMul": torch.matmul, "Mish": F.mish, "Mul": torch.mul,
        "Neg": torch.neg, "Not": torch.logical_not, "Or": torch.logical_or, "Reciprocal": torch.reciprocal, "Relu": torch.relu,
        "Round": torch.round, "Sigmoid": torch.sigmoid, "Sign": torch.sign, "Sin": torch.sin,
        "Softplus": F.softplus, "Sqrt": torch.sqrt, "Sub": torch.sub, "Tanh": torch.tanh, "Xor": torch.logical_xor}.items()})

    def unsupported(name):
        raise NotImplementedError(name)

    proto = onnx.load(model)
    opset = next((o.version for o in proto.opset_import if o.domain in ("", "ai.onnx")), 1)
    missing = sorted({f"{n.domain}.{n.op_type}" if n.domain not in ("", "ai.onnx") else n.op_type for n in proto.graph.node
                      if n.domain not in ("", "ai.onnx") or n.op_type not in operators})
    if missing:
        raise NotImplementedError("not among the operators that Headrace runs with PyTorch: " + ", ".join(missing))
    weights = {t.name: tensor(numpy_helper.to_array(t)) for t in proto.graph.initializer}
    arguments = {name: tensor(v) for name, v in feeds.items()}
    nodes = [(n, {"opset": opset, **{a.name: helper.get_attribute_value(a) for a in n.attribute}}) for n in proto.graph.node]

    read = {name for n in proto.graph.node for name in n.input if name} | {o.name for o in proto.graph.output}

    @torch.inference_mode()
    def run():
        values = {**weights, **arguments}
        for node, attributes in nodes:
            inputs = [values[name] if name else None for name in node.input]
            given = operators[node.op_type]({**attributes, "in": inputs, "out": node.output}
                                            if node.op_type != "Constant" else attributes, *inputs)
            given = given if isinstance(given, (tuple, list)) else [given]
            if any(name in read for name in node.output[len(given):]):
                raise NotImplementedError(f"{node.op_type} with {len(node.output)} outputs")
            values.update(zip(node.output, given))
        return [values[o.name].numpy() for o in proto.graph.output]

    return run, torch.__version__
