"""The models and arrays that the documents' commands name."""

import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def model(nodes, inputs, outputs, weights=(), domains=()):
    value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "g", [value(*i) for i in inputs], [value(*o) for o in outputs],
                              [numpy_helper.from_array(w, n) for n, w in weights])
    opsets = [helper.make_opsetid("", 21)] + [helper.make_opsetid(d, 1) for d in domains]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def write_all(folder):
    random = np.random.default_rng(0)
    floats = lambda *shape: random.standard_normal(shape).astype(np.float32)
    save = lambda m, name: onnx.save(m, os.path.join(folder, name))
    save(model([helper.make_node("MatMul", ["x", "W"], ["y"], name="product"),
                helper.make_node("ReduceMean", ["y"], ["loss"], name="mean", keepdims=0)],
               [("x", ["batch", 4])], [("y", ["batch", 3]), ("loss", [])], [("W", floats(4, 3))]), "model.onnx")
    save(model([helper.make_node("MatMul", ["x", "W"], ["h"], name="product"),
                helper.make_node("Softplus", ["h"], ["y"], name="softplus", domain="my")],
               [("x", ["batch", 4])], [("y", ["batch", 3])], [("W", floats(4, 3))], ["my"]), "my_model.onnx")
    save(model([helper.make_node("Conv", ["x", "W1"], ["h"], name="mix"),
                helper.make_node("Conv", ["h", "W3"], ["y"], name="blur", pads=[1, 1, 1, 1])],
               [("x", [1, 3, 8, 8])], [("y", [1, 2, 8, 8])], [("W1", floats(5, 3, 1, 1)), ("W3", floats(2, 5, 3, 3))]), "convolutions.onnx")
    save(model([helper.make_node("MatMul", ["x", "W"], ["y"], name="product")],
               [("x", ["batch", 4])], [("y", ["batch", 3])], [("W", floats(4, 3))]), "digits.onnx")
    np.save(os.path.join(folder, "x.npy"), floats(8, 4))
    for name in ("train.npz", "test.npz"):
        np.savez(os.path.join(folder, name), x=floats(64, 4), target=random.integers(0, 3, 64))
    np.savez(os.path.join(folder, "numbers.npz"), x=floats(64, 4), target=floats(64, 3))
    with open(os.path.join(folder, "f.sdfg"), "w") as f:
        f.write("sdfg f(X: f64[4], W: f64[4], L: f64) {\n  L = 0\n  map i in 0:4 { L += sin(X[i]) * W[i] }\n}\n")
    with open(os.path.join(folder, "program.sdfg"), "w") as f:
        f.write("sdfg f(X: f32[4], Y: f32[4]) {\n  constant c: f32[4] = [1, 2, 3, 4]\n  map i in 0:4 { Y[i] = X[i] * c[i] }\n}\n")
