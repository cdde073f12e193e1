"""An ONNX model: called, looked into, differentiated, and run by ONNX Runtime's interface. Needs the package onnx to make one.

    python examples/onnx_model.py
"""

import os
import tempfile

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

import headrace

random = np.random.default_rng(0)
floats = lambda *shape: random.standard_normal(shape).astype(np.float32)  # noqa: E731


def convolutional():
    """Convolution, normalisation, ReLU, mean over the picture, a dense layer; any number of pictures."""
    weights = {"conv.weight": floats(8, 3, 3, 3), "norm.scale": 1 + 0.1 * floats(8), "norm.bias": floats(8), "norm.mean": 0.1 * floats(8),
               "norm.var": np.abs(floats(8)) + 1, "fc.weight": floats(8, 5), "fc.bias": floats(5)}
    nodes = [helper.make_node("Conv", ["x", "conv.weight"], ["c"], name="conv", pads=[1, 1, 1, 1], strides=[2, 2]),
             helper.make_node("BatchNormalization", ["c", "norm.scale", "norm.bias", "norm.mean", "norm.var"], ["n"], name="norm"),
             helper.make_node("Relu", ["n"], ["r"], name="relu"), helper.make_node("GlobalAveragePool", ["r"], ["g"], name="mean"),
             helper.make_node("Flatten", ["g"], ["f"], name="flatten"),
             helper.make_node("Gemm", ["f", "fc.weight", "fc.bias"], ["logits"], name="fc"),
             helper.make_node("Softmax", ["logits"], ["p"], name="softmax")]
    port = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)  # noqa: E731
    graph = helper.make_graph(nodes, "g", [port("x", ["batch", 3, 16, 16])], [port("logits", ["batch", 5]), port("p", ["batch", 5])],
                              [numpy_helper.from_array(v, n) for n, v in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "net.onnx")
    save(convolutional(), path)

    # verify= runs the onnx package's evaluator beside each call, while one looks for a mistake.
    model = headrace.ONNXModel("net", path, verify="reference")
    print(model)
    for batch in (1, 4):  # compiled once
        logits, p = model(floats(batch, 3, 16, 16))
        np.testing.assert_allclose(p.sum(1), 1, rtol=1e-5)
    print("probabilities of the last picture:", np.round(p[-1], 3))

    # Every intermediate value, by its name in the model.
    values = {}
    headrace.ONNXModel("net", path, save_transients=values)(floats(2, 3, 16, 16))
    print("intermediate values:", {name: value.shape for name, value in values.items()})

    # Weights are arrays that can be set: here by their own gradients, which are those of the sum of the outputs named.
    x, before = floats(4, 3, 16, 16), model.weights["fc.bias"].copy()
    gradients = model.grad(["fc.bias", "x"], ["p"])(x)
    np.testing.assert_allclose(gradients["fc.bias"], 0, atol=1e-5)  # probabilities add up to one whatever the bias
    by_logits = model.grad(["fc.bias"], ["logits"])(x)["fc.bias"]
    np.testing.assert_allclose(by_logits, 4, rtol=1e-5)             # one for each picture
    model.weights["fc.bias"] = before - 0.1 * by_logits
    np.testing.assert_allclose(model(x)[0], headrace.ONNXModel("net", path)(x)[0] - 0.4, rtol=1e-3, atol=1e-4)

    # ONNX Runtime's interface.
    session = headrace.InferenceSession(path)
    print("session:", [(i.name, i.type, i.shape) for i in session.get_inputs()])
    (again,) = session.run(["p"], {"x": x})
    np.testing.assert_allclose(again, headrace.ONNXModel("net", path)(x)[1], rtol=1e-5)

    # An artifact needs no compiler: `headrace run net.hrx` and C programs run it, too (docs/deploy.md).
    artifact = os.path.join(folder, "net.hrx")
    headrace.ONNXModel("net", path).compiled.save(artifact)
    np.testing.assert_allclose(headrace.load(artifact)(x)[1], again, rtol=1e-6)
    print("artifact:", headrace.load(artifact))
