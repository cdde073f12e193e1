"""Models of many nodes that plugins of kernel libraries are tested with, and the comparison with the ops' own forms."""

import os
import subprocess
import tempfile

import numpy as np
import onnx
from onnx import helper, numpy_helper

RNG = np.random.default_rng(3)

# Shape of X and of W, attributes; a list of activations behind it.
CONVOLUTIONS = [
    ((2, 3, 17, 19), (8, 3, 3, 3), {"pads": [1, 1, 1, 1]}, ["Relu"]),
    ((1, 16, 40, 40), (24, 16, 3, 3), {"pads": [1, 1, 1, 1]}, ["residual", "Relu"]),
    ((1, 64, 56, 56), (64, 64, 3, 3), {"pads": [1, 1, 1, 1]}, ["Relu"]),
    ((1, 64, 57, 55), (64, 64, 3, 3), {"pads": [1, 0, 0, 2], "strides": [2, 2]}, []),
    ((1, 32, 56, 56), (128, 32, 1, 1), {"strides": [2, 2]}, ["Clip"]),
    ((3, 32, 14, 14), (32, 1, 3, 3), {"pads": [1, 1, 1, 1], "group": 32}, ["Clip"]),
    ((1, 96, 28, 28), (96, 1, 5, 5), {"pads": [2, 2, 2, 2], "strides": [2, 2], "group": 96}, []),
    ((1, 8, 20, 20), (16, 2, 3, 3), {"pads": [2, 2, 2, 2], "dilations": [2, 2], "group": 4}, ["Sigmoid"]),
    ((2, 6, 50), (9, 6, 7), {"pads": [6, 0], "dilations": [1]}, ["Tanh"]),
    ((1, 4, 9, 10, 11), (6, 4, 3, 2, 3), {"pads": [1, 0, 1, 1, 0, 1]}, []),
    ((9, 16, 12, 12), (16, 16, 3, 3), {"pads": [1, 1, 1, 1]}, ["residual"]),
    ((1, 3, 224, 224), (64, 3, 7, 7), {"pads": [3, 3, 3, 3], "strides": [2, 2]}, ["Relu"]),
]


class Model:
    def __init__(self):
        self.nodes, self.inputs, self.weights, self.outputs, self.arrays = [], [], [], [], {}

    def input(self, *shape, dtype=np.float32):
        name = f"x{len(self.inputs)}"
        self.inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape))
        self.arrays[name] = self.numbers(shape, dtype)
        return name

    def weight(self, *shape, dtype=np.float32):
        return self.constant(self.numbers(shape, dtype))

    def constant(self, array):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def numbers(self, shape, dtype):
        if np.dtype(dtype).kind == "f":
            return RNG.standard_normal(shape).astype(dtype)
        limits = np.iinfo(dtype)
        return RNG.integers(max(limits.min, -1000), min(limits.max, 1000), shape, dtype, endpoint=True)

    def node(self, op, *inputs, **attributes):
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=f"{op}_{name}", **attributes))
        return name

    def output(self, name, rank, dtype=np.float32):
        self.outputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), [f"{name}_{d}" for d in range(rank)]))

    def behind(self, name, acts, shape):
        for act in acts:
            if act == "residual":
                name = self.node("Add", name, self.node("Tanh", self.input(*shape)))
            elif act == "Clip":
                name = self.node("Clip", name, self.scalar(0.0), self.scalar(6.0))
            else:
                name = self.node(act, name)
        return name

    def scalar(self, value, dtype=np.float32):
        return self.constant(np.array(value, dtype))

    def save(self, path):
        graph = helper.make_graph(self.nodes, "g", self.inputs, self.outputs, self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)


def convolutions():
    m = Model()
    for k, (x, w, attributes, acts) in enumerate(CONVOLUTIONS):
        inputs = [m.input(*x), m.weight(*w)] + ([m.weight(w[0])] if k % 2 == 0 else [])
        spatial = len(x) - 2
        pads, strides, dilations = attributes.get("pads", [0] * 2 * spatial), attributes.get("strides", [1] * spatial), attributes.get("dilations", [1] * spatial)
        y = [x[0], w[0]] + [(x[d + 2] + pads[d] + pads[d + spatial] - dilations[d] * (w[d + 2] - 1) - 1) // strides[d] + 1 for d in range(spatial)]
        m.output(m.behind(m.node("Conv", *inputs, **attributes), acts, y), len(x))
    x = m.node("Conv", m.input(2, 16, 24, 24), m.weight(32, 16, 3, 3), pads=[1, 1, 1, 1])  # one after the other, channels last in between
    x = m.node("MaxPool", m.node("Relu", x), kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    x = m.node("Conv", x, m.weight(8, 32, 1, 1))
    x = m.node("AveragePool", x, kernel_shape=[2, 2], count_include_pad=1, pads=[1, 1, 0, 0])
    m.output(m.node("GlobalAveragePool", x), 4)
    m.output(m.node("AveragePool", m.input(1, 3, 10, 11), kernel_shape=[3, 2], pads=[1, 1, 1, 0]), 4)
    return m


def products():
    m = Model()
    for rows, acts in ((300, ["Relu"]), (64, ["residual"]), (7, [])):
        m.output(m.behind(m.node("Add", m.node("MatMul", m.input(rows, 70), m.weight(70, 90)), m.weight(90)), acts, (rows, 90)), 2)
    m.output(m.node("MatMul", m.input(3, 5, 20), m.weight(20, 33)), 3)
    m.output(m.node("MatMul", m.input(2, 4, 30, 16), m.input(2, 4, 16, 25)), 4)
    m.output(m.node("Gemm", m.input(33, 40), m.weight(50, 40), m.weight(50), transB=1), 2)
    m.output(m.node("Gemm", m.input(33, 40), m.weight(40, 1), m.weight()), 2)  # its C has no dimension: the op's own form
    m.output(m.node("Softmax", m.input(3, 700, 65)), 3)
    m.output(m.node("Sin", m.node("Softmax", m.node("Sin", m.input(3, 700, 65)))), 3)  # in place
    m.output(m.node("LayerNormalization", m.node("Sin", m.input(500, 77)), m.weight(77), m.weight(77), epsilon=1e-5), 2)
    return m


class Comparison:
    """Of a unittest.TestCase that has DRIVER, PLUGIN and NAME, the implementation's."""

    def run_model(self, folder, m, path, *flags):
        command = [self.DRIVER, "--plugin", self.PLUGIN, "run", path, *flags]
        for name in m.arrays:
            command += ["--input", f"{name}=@{folder}/{name}.npy"]
        for o in m.outputs:
            command += ["--output", f"{o.name}=@{folder}/{o.name}.npy"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {o.name: np.load(f"{folder}/{o.name}.npy") for o in m.outputs}

    def compare(self, m, functions):
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
            m.save(folder + "/m.onnx")
            for name, a in m.arrays.items():
                np.save(f"{folder}/{name}.npy", a)
            wanted = self.run_model(folder, m, folder + "/m.onnx", "--impl", "pure")
            loops = subprocess.run([self.DRIVER, "--plugin", self.PLUGIN, "compile", folder + "/m.onnx", "--emit", "loops", "--impl", self.NAME], capture_output=True,
                                   text=True, cwd=folder)
            for function, count in functions.items():
                self.assertEqual(loops.stdout.count("call." + function), count, loops.stdout[-3000:] + loops.stderr)
            for flags in (("--threads", "2"), ("--threads", "1"), ("--backend", "interpreter")):
                got = self.run_model(folder, m, folder + "/m.onnx", "--impl", self.NAME, *flags)
                for o in m.outputs:
                    self.agree(got[o.name], wanted[o.name], f"{o.name} {flags}")
                if flags == ("--threads", "2"):
                    two = got
                elif flags == ("--threads", "1"):
                    for o in m.outputs:
                        np.testing.assert_array_equal(got[o.name], two[o.name])
            made = subprocess.run([self.DRIVER, "--plugin", self.PLUGIN, "compile", folder + "/m.onnx", "-o", folder + "/m.hrx", "--impl", self.NAME], capture_output=True,
                                  text=True)
            self.assertEqual(made.returncode, 0, made.stderr)
            got = self.run_model(folder, m, folder + "/m.hrx")
            for o in m.outputs:
                np.testing.assert_array_equal(got[o.name], two[o.name])

    def agree(self, got, wanted, what):
        if wanted.dtype.kind == "f":
            largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=1)
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=2e-5 * largest, err_msg=what)
            return
        self.assertEqual(got.dtype, wanted.dtype, what)  # quantised: a step apart where a sum lies between two
        steps = np.abs(got.astype(np.int64) - wanted.astype(np.int64))
        self.assertLessEqual(steps.max(), 1, what)
        self.assertLess((steps > 0).mean(), 1e-3, what)
