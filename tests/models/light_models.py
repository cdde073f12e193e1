"""The `light` networks of the onnx package with weights: their constant-filled ones become seeded random ones.

Weights are drawn so that activations keep their size through the layers (He initialisation), or a difference in the
last layer would say little about the first.
"""

import os
import zlib

import numpy as np
import onnx
from onnx import numpy_helper

NAMES = ["resnet50", "densenet121", "inception_v1", "inception_v2", "vgg19", "shufflenet", "squeezenet", "bvlc_alexnet", "zfnet512"]
FOLDER = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data", "light")


def random_weight(name, shape, role):
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    if role == "variance" or role == "scale":
        return rng.uniform(0.5, 1.5, shape).astype(np.float32)
    if len(shape) >= 2:
        fan_in = np.prod(shape[1:])
        return (rng.standard_normal(shape) * np.sqrt(2.0 / fan_in)).astype(np.float32)
    return (rng.standard_normal(shape) * 0.1).astype(np.float32)


def load(name):
    """The model with random weights as initializers; graph inputs are the real inputs only.

    The output is what the last Softmax reads: a saturated softmax hides differences, and the reference evaluator takes
    Softmax before opset 13 along the wrong axis.
    """
    model = onnx.load(os.path.join(FOLDER, f"light_{name}.onnx"))
    graph = model.graph
    shapes = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
    roles = {}
    for node in graph.node:
        if node.op_type == "BatchNormalization":
            roles[node.input[1]], roles[node.input[4]] = "scale", "variance"
    if graph.node[-1].op_type == "Softmax":
        last = graph.node.pop()
        graph.output[0].CopyFrom(onnx.helper.make_tensor_value_info(last.input[0], onnx.TensorProto.FLOAT, None))
    kept, replaced = [], set()
    for node in graph.node:
        if node.op_type == "ConstantOfShape" and node.input[0] in shapes:
            out = node.output[0]
            shape = [int(d) for d in shapes[node.input[0]]]
            graph.initializer.append(numpy_helper.from_array(random_weight(out, shape, roles.get(out, "")), out))
            replaced.add(node.input[0])
        else:
            kept.append(node)
    del graph.node[:]
    graph.node.extend(kept)
    used = {i for n in kept for i in n.input}
    initializers = [i for i in graph.initializer if i.name in used]
    del graph.initializer[:]
    graph.initializer.extend(initializers)
    names = {i.name for i in initializers}
    inputs = [i for i in graph.input if i.name not in names and i.name in used]
    del graph.input[:]
    graph.input.extend(inputs)
    model.ir_version = 10  # initializers need not be inputs any more
    return model


def random_input(model):
    (only,) = model.graph.input
    shape = [d.dim_value for d in only.type.tensor_type.shape.dim]
    return {only.name: np.random.default_rng(1).standard_normal(shape).astype(np.float32)}
