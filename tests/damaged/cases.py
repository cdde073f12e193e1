"""Models with one thing wrong each: (name, model or bytes, what the error says); and whole ones, to be cut short."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

F, I64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def info(name, shape=(2,), dtype=F):
    return helper.make_tensor_value_info(name, dtype, shape)


def graph(nodes, inputs=("x",), outputs=("y",), initializers=(), name="g"):
    as_info = lambda values: [v if isinstance(v, onnx.ValueInfoProto) else info(v) for v in values]
    return helper.make_graph(list(nodes), name, as_info(inputs), as_info(outputs), list(initializers))


def model(nodes, inputs=("x",), outputs=("y",), initializers=(), opset=21, **kwargs):
    imports = [helper.make_opsetid("", opset)] + [helper.make_opsetid(f.domain, 1) for f in kwargs.get("functions", [])]
    return helper.make_model(graph(nodes, inputs, outputs, initializers), opset_imports=imports, ir_version=10, **kwargs)


def node(op, *inputs, outputs=("y",), **attributes):
    return helper.make_node(op, list(inputs), list(outputs), **attributes)


def constant(name, values, dtype=np.int64):
    return numpy_helper.from_array(np.asarray(values, dtype), name)


def raw(name, dims, dtype=F, data=b""):
    t = TensorProto(name=name, data_type=dtype, raw_data=data)
    t.dims.extend(dims)
    return t


def edited(m, edit):
    edit(m)
    return m


def exp(**kwargs):
    return model([node("Exp", "x")], **kwargs)


def nested_if(depth):
    """The bytes of an If in an If in an If …: Python's protobuf refuses to build it. The innermost branch is Exp."""
    def varint(n):
        return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)

    def field(number, payload):  # length-delimited
        return varint(number << 3 | 2) + varint(len(payload)) + payload

    def branch(name, body):
        return field(5, field(1, name) + field(6, body) + varint(20 << 3) + varint(onnx.AttributeProto.GRAPH))

    inner = graph([node("Exp", "x", outputs=["y0"])], [], ["y0"]).SerializeToString()
    for i in range(1, depth + 1):
        other = graph([node("Neg", "x", outputs=[f"n{i}"])], [], [f"n{i}"]).SerializeToString()
        nested = helper.make_node("If", ["c"], [f"y{i}"]).SerializeToString() + branch(b"then_branch", inner) + branch(b"else_branch", other)
        inner = graph([], [], [f"y{i}"]).SerializeToString() + field(1, nested)
    inputs = graph([], ["x", info("c", [], BOOL)], []).SerializeToString()
    m = helper.make_model(graph([], [], []), opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    m.ClearField("graph")
    return m.SerializeToString() + field(7, inner + inputs)


def external(location, offset=None, length=None):
    t = TensorProto(name="w", data_type=F, data_location=TensorProto.EXTERNAL)
    t.dims.extend([2])
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        if value is not None:
            t.external_data.add(key=key, value=str(value))
    return model([node("Add", "x", "w")], initializers=[t])


def function(name, nodes, inputs=("a",), outputs=("b",), attributes=(), domain="my"):
    return helper.make_function(domain, name, list(inputs), list(outputs), nodes, [helper.make_opsetid("", 21), helper.make_opsetid("my", 1)],
                                list(attributes))


def calling(*functions, **attributes):
    return model([node("f", "x", domain="my", **attributes)], functions=list(functions))


def cases():
    add = lambda *i, **k: model([node("Add", "x", "w")], initializers=i, **k)
    loop_body = graph([node("Identity", "c", outputs=["c2"]), node("Exp", "v", outputs=["w"])], [info("i", [], I64), info("c", [], BOOL), "v"], [info("c2", [], BOOL), "w"])

    # ---- the file ----
    yield "empty file", b"", "empty"
    yield "text", b"hello, world\n" * 20, "ONNX model"
    yield "png", b"\x89PNG\r\n\x1a\n" + bytes(200), ""
    yield "zeros", bytes(4096), ""
    yield "ones", b"\xff" * 4096, ""
    yield "endless varint", b"\x08" + b"\x80" * 3000, ""
    yield "length beyond the end", b"\x3a\xff\xff\xff\xff\x0f" + b"x" * 100, ""
    yield "deeply nested groups", b"\x0b" * 20000, ""

    # ---- the model ----
    yield "no graph", onnx.ModelProto(ir_version=10, opset_import=[helper.make_opsetid("", 21)]), ""
    yield "no outputs", model([node("Exp", "x")], outputs=[]), "no outputs"
    yield "no IR version", edited(exp(), lambda m: m.ClearField("ir_version")), "IR version"
    yield "IR version 0", edited(exp(), lambda m: setattr(m, "ir_version", 0)), "IR version"
    yield "IR version -1", edited(exp(), lambda m: setattr(m, "ir_version", -1)), "IR version"
    yield "IR version 99", edited(exp(), lambda m: setattr(m, "ir_version", 99)), "IR version"
    yield "opset 0", exp(opset=0), "opset"
    yield "opset -5", exp(opset=-5), "opset"
    yield "opset 999", exp(opset=999), "opset"
    yield "no opset", edited(exp(), lambda m: m.ClearField("opset_import")), "imports no operator set"
    yield "an operator set of another domain only", edited(model([node("If", "c", else_branch=graph([node("Exp", "x", outputs=["e"])], [], ["e"]))], inputs=["x", info("c", [], BOOL)]),
                                                           lambda m: m.opset_import[0].CopyFrom(helper.make_opsetid("ai.onnx.preview.training", 1))), "imports no operator set"
    yield "opset twice", edited(exp(), lambda m: m.opset_import.add(domain="", version=7)), "imported twice"
    yield "unknown domain", model([node("Bar", "x", domain="foo")]), "foo"
    yield "unknown domain, imported", edited(model([node("Bar", "x", domain="foo")]), lambda m: m.opset_import.add(domain="foo", version=1)), "Bar"
    yield "training graph only", edited(exp(), lambda m: m.graph.ClearField("node")), ""

    # ---- names ----
    yield "undefined input", model([node("Add", "x", "absent")]), "'absent' is defined nowhere"
    yield "undefined output", model([node("Exp", "x", outputs=["z"])]), "made by no node"
    yield "duplicate value", model([node("Exp", "x"), node("Neg", "x")]), "defined twice"
    yield "value named as an input", model([node("Exp", "x", outputs=["x"]), node("Neg", "x")]), ""
    yield "duplicate input", model([node("Exp", "x")], inputs=["x", "x"]), ""
    yield "duplicate initializer", add(constant("w", [1, 2], np.float32), constant("w", [3, 4], np.float32)), ""
    yield "cycle", model([node("Add", "x", "z"), node("Exp", "y", outputs=["z"])]), "cycle"
    yield "self cycle", model([node("Add", "x", "y")]), "cycle"
    yield "nameless input", model([node("Exp", "x")], inputs=["x", ""]), ""
    yield "nameless output of a node", model([node("Exp", "x", outputs=[""])]), ""
    yield "an empty required input", model([node("Add", "x", "")]), "input"

    # ---- attributes ----
    yield "unknown attribute", model([node("LeakyRelu", "x", alpah=0.1)]), "alpah"
    yield "attribute type", model([node("LeakyRelu", "x", alpha="steep")]), "alpha"
    yield "attribute list", model([node("LeakyRelu", "x", alpha=[0.1, 0.2])]), "alpha"
    yield "attribute missing", model([node("Concat", "x", "x")]), "axis"
    yield "attribute twice", edited(model([node("LeakyRelu", "x", alpha=0.1)]), lambda m: m.graph.node[0].attribute.add(name="alpha", f=0.5, type=1)), ""
    yield "attribute reference outside a function", edited(model([node("LeakyRelu", "x", alpha=0.1)]), lambda m: setattr(m.graph.node[0].attribute[0], "ref_attr_name", "q")), ""
    yield "graph where a number belongs", model([node("LeakyRelu", "x", alpha=graph([], [], []))]), "alpha"
    for axis in (3, -4, 2**62, -2**63):
        yield f"axis {axis}", model([node("Softmax", "x", axis=axis)]), ""
        yield f"concat axis {axis}", model([node("Concat", "x", "x", axis=axis)]), ""
        yield f"transpose {axis}", model([node("Transpose", "x", perm=[axis])]), ""
        yield f"flatten {axis}", model([node("Flatten", "x", axis=axis)]), ""
        yield f"reduce {axis}", model([node("ReduceSum", "x", "a")], initializers=[constant("a", [axis])]), ""
        yield f"unsqueeze {axis}", model([node("Unsqueeze", "x", "a")], initializers=[constant("a", [axis])]), ""
        yield f"split axis {axis}", model([node("Split", "x", axis=axis, num_outputs=1)]), ""
        yield f"gather axis {axis}", model([node("Gather", "x", "a", axis=axis)], initializers=[constant("a", [0])]), ""
    for parts in (-1, 0, 2, 2**31 - 1, 2**62):
        yield f"split into {parts}", model([node("Split", "x", axis=0, num_outputs=parts)]), "num_outputs"
    for dims in (-2, -1, 1, 2, 2**62):
        yield f"batch dims {dims}", model([node("GatherND", "x", "i", batch_dims=dims)], inputs=["x", info("i", [2, 1], I64)], outputs=[info("y", None)]), "batch_dims"
    yield "a list of 2^31 sizes", model([node("AffineGrid", "x", "s")], inputs=[info("x", [2, 3, 4]), info("s", [2**31 - 1], I64)], outputs=[info("y", [2, 4, 5, 6, 3])], opset=20), ""
    yield "perm twice", model([node("Transpose", "x", perm=[0, 0])], inputs=[info("x", [2, 2])]), ""
    image = [info("x", [1, 1, 4, 4])]
    kernel = constant("w", np.ones((1, 1, 3, 3)), np.float32)
    for name, attributes in {"no stride": dict(strides=[0, 0]), "negative stride": dict(strides=[-1, 1]), "dilation 0": dict(dilations=[0, 1]),
                             "negative pads": dict(pads=[-9, 0, 0, 0]), "huge pads": dict(pads=[2**62, 0, 0, 0]), "three strides": dict(strides=[1, 1, 1]),
                             "group 0": dict(group=0), "group 7": dict(group=7), "wrong kernel": dict(kernel_shape=[5, 5]),
                             "auto_pad": dict(auto_pad="SOMETIMES"), "huge list": dict(pads=[1] * 100000)}.items():
        yield "Conv, " + name, model([node("Conv", "x", "w", **attributes)], inputs=image, outputs=[info("y", None)], initializers=[kernel]), ""
    yield "pool larger than its input", model([node("MaxPool", "x", kernel_shape=[9, 9])], inputs=image, outputs=[info("y", None)]), ""
    yield "pool of nothing", model([node("MaxPool", "x", kernel_shape=[0, 0])], inputs=image, outputs=[info("y", None)]), ""
    yield "einsum", model([node("Einsum", "x", equation="i,j->")]), ""
    yield "einsum of noise", model([node("Einsum", "x", equation="->->i,,..")]), ""
    yield "cast to nothing", model([node("Cast", "x", to=0)]), ""
    yield "cast to 99", model([node("Cast", "x", to=99)]), ""

    # ---- shapes and types ----
    yield "broadcast", model([node("Add", "x", "z")], inputs=["x", info("z", [3])]), ""
    yield "types", model([node("Add", "x", "z")], inputs=["x", info("z", [2], TensorProto.DOUBLE)]), ""
    yield "declared type", edited(exp(), lambda m: setattr(m.graph.output[0].type.tensor_type, "elem_type", I64)), ""
    yield "declared shape", model([node("Exp", "x")], outputs=[info("y", [3])]), ""
    yield "declared rank", model([node("Exp", "x")], outputs=[info("y", [2, 2])]), ""
    yield "type 0", edited(exp(), lambda m: setattr(m.graph.input[0].type.tensor_type, "elem_type", 0)), ""
    yield "type 77", edited(exp(), lambda m: setattr(m.graph.input[0].type.tensor_type, "elem_type", 77)), ""
    yield "no type", edited(exp(), lambda m: m.graph.input[0].ClearField("type")), ""
    yield "negative size", exp(inputs=[info("x", [-3])]), "negative"
    yield "2^64 elements", exp(inputs=[info("x", [2**32, 2**32])], outputs=[info("y", [2**32, 2**32])]), "more elements"
    yield "2^63 elements in many", exp(inputs=[info("x", [2] * 63)], outputs=[info("y", [2] * 63)]), "more elements"
    yield "2^64-element result", model([node("Expand", "x", "s")], outputs=[info("y", None)], initializers=[constant("s", [2**31, 2**31, 2])]), ""
    yield "2^64-element constant", model([node("ConstantOfShape", "s")], inputs=[], outputs=[info("y", None)], initializers=[constant("s", [2**32, 2**32])]), ""
    yield "2^40 bytes of range", model([node("Range", "a", "b", "c")], inputs=[], outputs=[info("y", None, I64)],
                                       initializers=[constant("a", 0), constant("b", 2**62), constant("c", 1)]), ""
    yield "range that stands still", model([node("Range", "a", "b", "c")], inputs=[], outputs=[info("y", None, I64)],
                                           initializers=[constant("a", 0), constant("b", 5), constant("c", 0)]), ""
    yield "reshape", model([node("Reshape", "x", "s")], outputs=[info("y", None)], initializers=[constant("s", [7])]), ""
    yield "reshape -1 twice", model([node("Reshape", "x", "s")], outputs=[info("y", None)], initializers=[constant("s", [-1, -1])]), ""
    yield "reshape -2", model([node("Reshape", "x", "s")], outputs=[info("y", None)], initializers=[constant("s", [-2])]), ""
    yield "reshape 0 beyond", model([node("Reshape", "x", "s")], outputs=[info("y", None)], initializers=[constant("s", [2, 0])]), ""
    yield "tile -1", model([node("Tile", "x", "s")], outputs=[info("y", None)], initializers=[constant("s", [-1])]), ""
    yield "tile by a table", model([node("Tile", "x", "s")], inputs=["x", info("s", [2, 100], I64)], outputs=[info("y", None)]), ""
    yield "clip by a list", model([node("Clip", "x", "", "s")], inputs=["x", info("s", [2**31 - 1])]), "must be one number"
    yield "pad below nothing", model([node("Pad", "x", "s")], outputs=[info("y", None)], initializers=[constant("s", [-2, -3])]), ""
    yield "one-hot depth", model([node("OneHot", "i", "d", "v")], inputs=[info("i", [2], I64)], outputs=[info("y", None)],
                                 initializers=[constant("d", -4), constant("v", [0, 1], np.float32)]), ""
    yield "matmul", model([node("MatMul", "x", "z")], inputs=[info("x", [2, 3]), info("z", [2, 3])], outputs=[info("y", None)]), ""
    yield "split sizes", model([node("Split", "x", "s", outputs=["y", "z"])], outputs=["y"], initializers=[constant("s", [1, 7])]), ""
    yield "slice lists", model([node("Slice", "x", "a", "b")], outputs=[info("y", None)], initializers=[constant("a", [0, 1]), constant("b", [1])]), ""
    yield "slice step 0", model([node("Slice", "x", "a", "b", "c", "d")], outputs=[info("y", None)],
                                initializers=[constant("a", [0]), constant("b", [1]), constant("c", [0]), constant("d", [0])]), ""
    yield "resize to nothing", model([node("Resize", "x", "", "s")], outputs=[info("y", None)], initializers=[constant("s", [0.0], np.float32)]), ""
    yield "resize by nan", model([node("Resize", "x", "", "s")], outputs=[info("y", None)], initializers=[constant("s", [np.nan], np.float32)]), ""
    yield "resize by infinity", model([node("Resize", "x", "", "s")], outputs=[info("y", None)], initializers=[constant("s", [np.inf], np.float32)]), ""
    yield "resize by 1e30", model([node("Resize", "x", "", "s")], outputs=[info("y", None)], initializers=[constant("s", [1e30], np.float32)]), ""

    # ---- tensors ----
    yield "tensor too short", add(raw("w", [2], data=b"\0" * 7)), "does not fit"
    yield "tensor too long", add(raw("w", [2], data=b"\0" * 80)), "does not fit"
    yield "tensor of 2^64 elements", add(raw("w", [2**32, 2**32], data=b"\0" * 8)), ""
    yield "tensor of negative size", add(raw("w", [-2], data=b"\0" * 8)), "negative"
    yield "tensor of type 0", add(raw("w", [2], 0, b"\0" * 8)), ""
    yield "tensor of type 99", add(raw("w", [2], 99, b"\0" * 8)), ""
    yield "tensor in two places", edited(add(raw("w", [2], data=b"\0" * 8)), lambda m: m.graph.initializer[0].float_data.extend([1, 2])), ""
    yield "tensor in the wrong field", edited(add(raw("w", [2], data=b"")), lambda m: m.graph.initializer[0].int64_data.extend([1, 2])), ""
    yield "strings too few", edited(model([node("Identity", "w")], inputs=[], outputs=[info("y", [3], TensorProto.STRING)], initializers=[TensorProto(name="w", data_type=TensorProto.STRING, dims=[3])]),
                                    lambda m: m.graph.initializer[0].string_data.extend([b"a"])), ""
    yield "strings as raw data", model([node("Identity", "w")], inputs=[], outputs=[info("y", [1], TensorProto.STRING)], initializers=[raw("w", [1], TensorProto.STRING, b"abcd")]), ""
    yield "nameless initializer", add(raw("", [2], data=b"\0" * 8)), ""
    for name, indices, dims in (("outside", [7], [2]), ("negative", [-1], [2]), ("too many", [0, 1, 1], [2]), ("size", [0], [2**40, 2**40])):
        sparse = onnx.SparseTensorProto(values=constant("w", [1.0] * len(indices), np.float32), indices=constant("i", indices), dims=dims)
        yield "sparse, " + name, edited(add(), lambda m, s=sparse: m.graph.sparse_initializer.append(s)), ""

    # ---- external data ----
    yield "external, parent folder", external("../secret.bin"), ""
    yield "external, folders and back", external("a/../../secret.bin"), ""
    yield "external, absolute", external("/etc/passwd"), ""
    yield "external, symbolic link", external("link.bin"), ""
    yield "external, hard link", external("hard.bin"), ""
    yield "external, through a linked folder", external("folder/secret.bin"), ""
    yield "external, absent", external("absent.bin"), ""
    yield "external, no location", external(None), ""
    yield "external, empty location", external(""), ""
    yield "external, a folder", external("."), ""
    yield "external, a device", external("/dev/zero"), ""
    yield "external, a pipe", external("pipe"), ""
    yield "external, beyond the end", external("data.bin", 4, 8), ""
    yield "external, negative offset", external("data.bin", -8, 8), ""
    yield "external, offset overflows", external("data.bin", 2**64 - 4, 8), ""
    yield "external, length is not the size", external("data.bin", 0, 4), ""
    yield "external, offset is no number", external("data.bin", "four", 8), ""
    yield "external, zero byte in the name", external("data.bin\0.txt"), ""
    yield "external, backslashes", external("..\\secret.bin"), ""
    yield "external in a subgraph", model([node("If", "c", then_branch=graph([node("Constant", outputs=["t"], value=external("../secret.bin").graph.initializer[0])], [], ["t"]),
                                                else_branch=graph([node("Exp", "x", outputs=["e"])], [], ["e"]))], inputs=["x", info("c", [], BOOL)]), ""
    yield "external in a function", calling(function("f", [node("Constant", outputs=["k"], value=external("../secret.bin").graph.initializer[0]),
                                                           node("Add", "a", "k", outputs=["b"])])), ""

    # ---- subgraphs and functions ----
    yield "nested too deep", nested_if(500), "nested deeper"
    yield "if without a branch", model([node("If", "c", then_branch=graph([node("Exp", "x", outputs=["t"])], [], ["t"]))], inputs=["x", info("c", [], BOOL)]), "else_branch"
    yield "a bad branch of a known condition", model([node("If", "k", then_branch=graph([node("Reluu", "x", outputs=["t"])], [], ["t"]), else_branch=graph([node("Exp", "x", outputs=["e"])], [], ["e"]))],
                                                     initializers=[constant("k", True, bool)]), "Reluu"
    yield "a bad value for a known branch", model([node("Add", "x", "bad", outputs=["b"]), node("If", "k", then_branch=graph([node("Exp", "b", outputs=["t"])], [], ["t"]), else_branch=graph([node("Exp", "x", outputs=["e"])], [], ["e"]))],
                                                  inputs=["x", info("bad", [2], 27)], initializers=[constant("k", True, bool)]), "bad"
    yield "branches of unequal types", model([node("If", "c", then_branch=graph([node("Exp", "x", outputs=["t"])], [], ["t"]),
                                                   else_branch=graph([node("Cast", "x", outputs=["e"], to=7)], [], [info("e", [2], I64)]))], inputs=["x", info("c", [], BOOL)]), ""
    yield "branches of unequal counts", model([node("If", "c", then_branch=graph([node("Exp", "x", outputs=["t"])], [], ["t"]),
                                                    else_branch=graph([], [], []))], inputs=["x", info("c", [], BOOL)]), ""
    yield "branch with inputs", model([node("If", "c", then_branch=graph([node("Exp", "q", outputs=["t"])], ["q"], ["t"]),
                                            else_branch=graph([node("Exp", "x", outputs=["e"])], [], ["e"]))], inputs=["x", info("c", [], BOOL)]), ""
    yield "condition of a float", model([node("If", "x", then_branch=graph([node("Exp", "x", outputs=["t"])], [], ["t"]), else_branch=graph([node("Exp", "x", outputs=["e"])], [], ["e"]))]), ""
    yield "a branch's value used outside", model([node("If", "c", outputs=["z"], then_branch=graph([node("Exp", "x", outputs=["t"])], [], ["t"]),
                                                       else_branch=graph([node("Exp", "x", outputs=["e"])], [], ["e"])), node("Neg", "t")], inputs=["x", info("c", [], BOOL)]), "'t'"
    yield "loop without a body", model([node("Loop", "", "", "x")]), "body"
    yield "loop body of few inputs", model([node("Loop", "", "c", "x", body=graph([node("Exp", "x", outputs=["w"])], [], ["w"]))], inputs=["x", info("c", [], BOOL)]), ""
    yield "loop of many values", model([node("Loop", "", "c", "x", "x", body=loop_body, outputs=["y", "z"])], inputs=["x", info("c", [], BOOL)]), ""
    yield "scan without inputs", model([node("Scan", "x", body=loop_body, num_scan_inputs=5)]), ""
    yield "scan of none", model([node("Scan", "x", body=loop_body, num_scan_inputs=0)]), ""
    yield "scan of -1", model([node("Scan", "x", body=loop_body, num_scan_inputs=-1)]), ""
    f = function("f", [node("f", "a", outputs=["b"], domain="my")])
    yield "function that calls itself", calling(f), "calls itself"
    yield "functions in a ring", calling(function("f", [node("h", "a", outputs=["b"], domain="my")]), function("h", [node("f", "a", outputs=["b"], domain="my")])), "calls itself"
    yield "function with a cycle", calling(function("f", [node("Add", "a", "k", outputs=["b"]), node("Exp", "b", outputs=["k"])])), ""
    yield "function without its output", calling(function("f", [node("Exp", "a", outputs=["k"])])), ""
    yield "function twice", calling(function("f", [node("Exp", "a", outputs=["b"])]), function("f", [node("Neg", "a", outputs=["b"])])), ""
    yield "function of too many inputs", edited(calling(function("f", [node("Exp", "a", outputs=["b"])])), lambda m: m.graph.node[0].input.extend(["x", "x"])), ""
    reference = helper.make_node("LeakyRelu", ["a"], ["b"])
    reference.attribute.add(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    concat = helper.make_node("Concat", ["a", "a"], ["b"])
    concat.attribute.add(name="axis", ref_attr_name="axis", type=onnx.AttributeProto.INT)
    yield "function without a needed attribute", calling(function("f", [concat], attributes=["axis"])), "axis"
    yield "function attribute of another type", calling(function("f", [reference], attributes=["slope"]), slope="steep"), ""
    bomb = [function("f" if i == 0 else f"f{i}", [node(f"f{i + 1}", "a", outputs=["k"], domain="my"), node(f"f{i + 1}", "k", outputs=["b"], domain="my")]) for i in range(40)]
    yield "functions that double 40 times", calling(*bomb, function("f40", [node("Exp", "a", outputs=["b"])])), ""


def either():
    """Against the letter of the specification but of clear meaning: an error or a result, never a crash."""
    yield "duplicate output", model([node("Exp", "x")], outputs=["y", "y"]), ""
    yield "attribute without a type", edited(model([node("LeakyRelu", "x", alpha=0.1)]), lambda m: m.graph.node[0].attribute[0].ClearField("type")), ""
    yield "shadowing", model([node("Neg", "x", outputs=["t"]), node("If", "c", then_branch=graph([node("Exp", "x", outputs=["t"])], [], ["t"]),
                                                                    else_branch=graph([node("Exp", "x", outputs=["e"])], [], ["e"]))], inputs=["x", info("c", [], BOOL)]), ""
    yield "nan attribute", model([node("LeakyRelu", "x", alpha=float("nan"))]), ""
    yield "range by a step given at run time", model([node("Range", "a", "b", "c")], inputs=[info(n, [], I64) for n in "abc"], outputs=[info("y", ["K"], I64)]), ""
    yield "zero point of another type", model([node("QuantizeLinear", "x", "s", "z")], outputs=[info("y", [2], TensorProto.UINT8)],
                                              initializers=[constant("s", 0.5, np.float32), constant("z", 3, np.int16)]), ""
    yield "scale of zero", model([node("QuantizeLinear", "x", "s")], outputs=[info("y", [2], TensorProto.UINT8)], initializers=[constant("s", 0.0, np.float32)]), ""


def heavy():
    """Small models that ask for much: importing them must not."""
    f32 = lambda name, *shape: constant(name, np.ones(shape), np.float32)
    chain = lambda n, op, first, **a: [node(op, *([first] * a.get("inputs", 1) if i == 0 else [f"t{i}"] * a.get("inputs", 1)), outputs=[f"t{i + 1}" if i + 1 < n else "y"],
                                            **{k: v for k, v in a.items() if k != "inputs"}) for i in range(n)]
    free = [info("y", None)]
    yield "constant that doubles 40 times", model(chain(40, "Concat", "w", inputs=2, axis=0), inputs=[], outputs=free, initializers=[f32("w", 2)])
    yield "constants of 64 KiB by the thousand", model([node("Expand", "w", "s", outputs=["e"])] + chain(2000, "Sin", "e"), inputs=[], outputs=free, initializers=[f32("w", 1), constant("s", [16384])])
    yield "a tensor of 2^40 elements from constants", model([node("Expand", "w", "s", outputs=["e"]), node("ReduceSum", "e")], inputs=[], outputs=free, initializers=[f32("w", 1), constant("s", [2**20, 2**20])])
    yield "10000 inputs", model([node("Concat", *[f"x{i}" for i in range(10000)], axis=0)], inputs=[f"x{i}" for i in range(10000)], outputs=free)
    yield "one input 20000 times", model([node("Concat", *["x"] * 20000, axis=0)], outputs=free)
    yield "5000 initializers", model([node("Add", "x" if i == 0 else f"t{i}", f"w{i}", outputs=[f"t{i + 1}" if i < 4999 else "y"]) for i in range(5000)], initializers=[f32(f"w{i}", 2) for i in range(5000)])
    yield "50000 errors", model([node(f"Nope{i}", "x", outputs=[f"y{i}"]) for i in range(50000)])
    branch = lambda name: graph([node("Exp", "x", outputs=[name])], [], [name])
    yield "1000 branches that see 1000 names", model([n for i in range(1000) for n in (node("Sin", "x", outputs=[f"a{i}"]), node("If", "c", outputs=["y" if i == 0 else f"b{i}"], then_branch=branch(f"t{i}"),
                                                                                                                                      else_branch=branch(f"e{i}")))], inputs=["x", info("c", [], BOOL)])
    yield "a name of a megabyte", model([node("Reluu", "x" * 1000000)], inputs=["x" * 1000000])


def whole():
    """Good models of at most 64 KiB."""
    random = np.random.default_rng(0)
    weight = lambda name, *shape: constant(name, random.standard_normal(shape), np.float32)
    yield "conv", model([node("Conv", "x", "w", "b", outputs=["c"], pads=[1, 1, 1, 1]), node("Relu", "c", outputs=["r"]), node("GlobalAveragePool", "r", outputs=["p"]),
                         node("Flatten", "p", outputs=["f"]), node("Gemm", "f", "m")], inputs=[info("x", ["N", 3, 8, 8])], outputs=[info("y", ["N", 10])],
                        initializers=[weight("w", 16, 3, 3, 3), weight("b", 16), weight("m", 16, 10)])
    yield "lstm", model([node("LSTM", "x", "w", "r", outputs=["y"], hidden_size=16)], inputs=[info("x", [5, "N", 8])], outputs=[info("y", [5, 1, "N", 16])],
                        initializers=[weight("w", 1, 64, 8), weight("r", 1, 64, 16)])
    yield "nested", nested_if(24)
    yield "function", calling(function("f", [node("Exp", "a", outputs=["k"]), node("Neg", "k", outputs=["b"])]))
    yield "strings", model([node("StringConcat", "s", "t")], inputs=[info("s", ["N"], TensorProto.STRING)], outputs=[info("y", ["N"], TensorProto.STRING)],
                           initializers=[helper.make_tensor("t", TensorProto.STRING, [1], [b"tail"])])
