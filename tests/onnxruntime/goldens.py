"""What ONNX Runtime computed for the cases, as text: a line per output, `NAME dtype shape base64`. Reading needs NumPy alone.

Written anew, by a Python with tools/requirements-torch.txt: PYTHONPATH=. python tests/onnxruntime/goldens.py tests/onnxruntime/goldens.txt"""

import base64
import sys
import zlib

import numpy as np

from tests.onnxruntime import cases


def read(path):
    """Output name → array."""
    values = {}
    with open(path) as f:
        for line in f:
            name, dtype, shape, data = line.split()
            raw = zlib.decompress(base64.b64decode(data))
            sizes = [int(n) for n in shape[1:-1].split(",") if n]
            values[name] = np.frombuffer(raw, dtype).reshape(sizes)
    return values


def write(path, values):
    with open(path, "w") as f:
        for name, x in values.items():
            data = base64.b64encode(zlib.compress(np.ascontiguousarray(x).tobytes(), 9)).decode()
            f.write(f"{name} {x.dtype} [{','.join(map(str, x.shape))}] {data}\n")


def compute():
    """Every case's outputs by ONNX Runtime, unoptimized and with one thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    values = {}
    for family in cases.FAMILIES:
        for c in family():
            session = onnxruntime.InferenceSession(c.model().SerializeToString(), options, providers=["CPUExecutionProvider"])
            given = {n: x for i, (n, x) in enumerate(zip(c.input_names(), c.inputs)) if n and i not in c.constants}
            names = [n for n in c.output_names() if n]
            values.update(zip(names, session.run(names, given)))
    return values


if __name__ == "__main__":
    write(sys.argv[1], compute())
