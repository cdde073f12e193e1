"""Resize as users of exported models get it: ONNX Runtime's arithmetic, f32 operation by operation, written here in NumPy.
Where ONNX Runtime is installed its own results are compared too (the nightly target). usage: resize_test.py DRIVER SCALES"""

import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import parser

try:
    import onnxruntime
except ImportError:
    onnxruntime = None

DRIVER, SCALES = os.path.abspath(sys.argv[1]), [np.float32(s) for s in sys.argv[2].split(",")]
WIDTH = 97
f, d = np.float32, np.float64
COORDINATES = ["asymmetric", "half_pixel", "pytorch_half_pixel", "half_pixel_symmetric"]
ROUNDINGS = {  # a millionth from the middle of two elements counts as the middle
    "floor": np.floor,
    "ceil": np.ceil,
    "round_prefer_floor": lambda x: np.ceil(x.astype(d) - 0.5 - 1e-6),
    "round_prefer_ceil": lambda x: np.floor(x.astype(d) + 0.5 + 1e-6),
}


def coordinate(mode, size, scale):
    """Source coordinates of the output's elements; `size`: of the output."""
    p = np.arange(size).astype(f)
    if mode == "asymmetric":
        return p / scale
    if mode == "half_pixel_symmetric":
        off = f(WIDTH) / f(2) * (f(1) - f(size) / (scale * f(WIDTH)))
        return (d(off) + (p.astype(d) + 0.5) / d(scale) - 0.5).astype(f)
    half = (p + f(0.5)) / scale - f(0.5)
    return half if mode == "half_pixel" or size > 1 else 0 * half


def model(opset, op, attributes, inputs, initializers):
    return parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}]> g (float[1, 1, 1, {WIDTH}] x) => (float[1, 1, 1, N] y) <{initializers}> {{ y = {op}<{attributes}>({inputs}) }}')


def cases():
    """(name, model, expected nearest places, or None: linear or cubic)"""
    for scale in SCALES:
        size = int(np.floor(d(scale) * WIDTH))
        by = f"float[4] s = {{1, 1, 1, {float(scale)!r}}}"
        for c in COORDINATES:
            x = coordinate(c, size, scale)
            for n, rounding in ROUNDINGS.items():
                attributes = f'mode = "nearest", coordinate_transformation_mode = "{c}", nearest_mode = "{n}"'
                yield f"{c}, {n}, {scale}", model(19, "Resize", attributes, "x, , s", by), rounding(x)
            for mode in ("linear", "cubic"):
                yield f"{c}, {mode}, {scale}", model(19, "Resize", f'mode = "{mode}", coordinate_transformation_mode = "{c}"', "x, , s", by), None
        # By sizes the scale is their quotient in f32.
        x = coordinate("asymmetric", size, f(size) / f(WIDTH))
        sizes = f"int64[4] s = {{1, 1, 1, {size}}}"
        yield f"by size, {scale}", model(19, "Resize", 'mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"', "x, , , s", sizes), np.floor(x)
        x = coordinate("asymmetric", size, scale)
        yield f"opset 10, {scale}", model(10, "Resize", 'mode = "nearest"', "x, s", by), np.ceil(x) if scale < 1 else np.floor(x)


def taps(x, mode, values):
    """Linear and cubic interpolation at coordinates x, in f64; elements outside are those at the border."""
    x = x.astype(d)
    first = np.floor(x)
    total = 0
    for k in (0, 1) if mode == "linear" else (-1, 0, 1, 2):
        u = np.abs(first + k - x)
        a = -0.75
        w = 1 - u if mode == "linear" else np.where(u <= 1, ((a + 2) * u - (a + 3)) * u * u + 1, ((a * u - 5 * a) * u + 8 * a) * u - 4 * a)
        total = total + w * values[np.clip(first + k, 0, WIDTH - 1).astype(int)]
    return total


class Resize(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.values = np.random.default_rng(3).uniform(-1, 1, WIDTH).astype(f)
        cls.cases = list(cases())
        cls.got = {}
        for opset in (10, 19):
            cls.run_together(opset, [c for c in cls.cases if c[1].opset_import[0].version == opset])

    @classmethod
    def run_together(cls, opset, together):
        """One model of all costs one compilation."""
        graph = onnx.GraphProto(name="resize")
        graph.input.extend(together[0][1].graph.input)
        flags = []
        for i, (_, m, _) in enumerate(together):
            part = onnx.compose.add_prefix_graph(m.graph, f"c{i}_")
            part.node[0].input[0] = "x"
            part.output[0].type.tensor_type.shape.dim[3].dim_param = f"n{i}"
            graph.node.extend(part.node)
            graph.initializer.extend(part.initializer)
            graph.output.extend(part.output)
            flags += ["--output", f"{part.output[0].name}=@{i}.npy"]
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
            onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=10), os.path.join(folder, "model.onnx"))
            np.save(os.path.join(folder, "x.npy"), cls.values.reshape(1, 1, 1, WIDTH))
            for backend in ("interpreter", "cpu"):
                done = subprocess.run([DRIVER, "run", "model.onnx", "--backend", backend, "--input", "x=@x.npy", *flags], cwd=folder, capture_output=True, text=True, timeout=900)
                if done.returncode != 0:
                    raise AssertionError(f"{backend}: {done.stderr[-3000:]}")
                for i, (name, _, _) in enumerate(together):
                    cls.got[name, backend] = np.load(os.path.join(folder, f"{i}.npy")).ravel()

    def compare(self, name, got, expected, exact):
        self.assertEqual(got.shape, expected.shape, name)
        wrong = np.nonzero(got != expected if exact else np.abs(got - expected) > 2e-5)[0]
        self.assertEqual(len(wrong), 0, f"{name}: at {wrong[:5]} {got[wrong[:5]]} instead of {expected[wrong[:5]]}")

    def test_places_and_weights(self):
        for name, _, places in self.cases:
            if places is not None:
                expected = self.values[np.clip(places, 0, WIDTH - 1).astype(int)]
            else:
                c, mode, scale = name.split(", ")
                expected = taps(coordinate(c, int(np.floor(d(f(scale)) * WIDTH)), f(scale)), mode, self.values)
            for backend in ("interpreter", "cpu"):
                self.compare(f"{name}, {backend}", self.got[name, backend], expected, places is not None)

    def test_index_17_of_scale_1_7_reads_10(self):
        if f(1.7) in SCALES:
            for backend in ("interpreter", "cpu"):
                self.assertEqual(self.got[f"asymmetric, floor, {f(1.7)}", backend][17], self.values[10])

    @unittest.skipIf(onnxruntime is None, "onnxruntime is not installed: HEADRACE_WITH_TORCH=1")
    def test_onnx_runtime(self):
        for name, m, places in self.cases:
            session = onnxruntime.InferenceSession(m.SerializeToString(), providers=["CPUExecutionProvider"])
            expected = session.run(None, {"x": self.values.reshape(1, 1, 1, WIDTH)})[0].ravel()
            self.compare(name, self.got[name, "interpreter"], expected, places is not None)
