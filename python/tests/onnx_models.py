"""Models for the tests of this room, and what onnx's reference evaluator says they compute."""

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator


def model(nodes, inputs, outputs, weights=None, opset=17, **graph):
    """inputs and outputs: {name: a list, the shape} (f32) or {name: (type, shape)}."""
    def infos(ports):
        typed = {n: p if isinstance(p, tuple) else (T.FLOAT, p) for n, p in ports.items()}
        return [helper.make_tensor_value_info(n, t, shape) for n, (t, shape) in typed.items()]

    tensors = [numpy_helper.from_array(v, n) for n, v in (weights or {}).items()]
    g = helper.make_graph(nodes, "g", infos(inputs), infos(outputs), tensors, **graph)
    return helper.make_model(g, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def weights(seed=0):
    r = np.random.default_rng(seed)
    return {"W/1": r.standard_normal((4, 3), np.float32), "b": r.standard_normal(3, np.float32),
            "V": r.standard_normal((2, 3), np.float32)}


def perceptron(**options):
    """z = relu(x:0 @ W/1 + b) @ V.T; V is transposed by a node, which simplification folds."""
    nodes = [helper.make_node("MatMul", ["x:0", "W/1"], ["h/1"], name="layer 1"),
             helper.make_node("Add", ["h/1", "b"], ["h/2"]), helper.make_node("Relu", ["h/2"], ["y"]),
             helper.make_node("Transpose", ["V"], ["VT"]), helper.make_node("MatMul", ["y", "VT"], ["z"])]
    return model(nodes, {"x:0": ["batch size", 4]}, {"z": ["batch size", 2]}, weights(), **options)


def reshaper():
    """The rank of y is that of an input's value."""
    return model([helper.make_node("Reshape", ["x", "to"], ["y"])], {"x": ["n", 4], "to": (T.INT64, ["rank"])}, {"y": None})


def reference(proto, feeds, outputs=None):
    return ReferenceEvaluator(proto).run(outputs, feeds)


def save(proto, path):
    onnx.save(proto, path)
    return path
