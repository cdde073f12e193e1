"""Errors, word by word as a user meets them: messages.txt has commands and what they print.

usage: messages_test.py DRIVER MESSAGES.TXT (a third argument: a file to write what is printed now, to be read and kept)
"""

import gzip
import os
import pickle
import shlex
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile

import numpy as np
import onnx
from onnx import TensorProto, helper

DRIVER = os.path.abspath(sys.argv[1])
MESSAGES = os.path.abspath(sys.argv[2])
UPDATED = os.path.abspath(sys.argv[3]) if len(sys.argv) > 3 else None

TEXTS = {
    "copy.sdfg": "sdfg f(X: f32[N], Y: f32[N]) { map i in 0:N { Y[i] = X[i] } }\n",
    "typo.sdfg": "sdfg f(X: f32[N], Y: f32[N]) {\n  transient T: f33[N]\n  map i in 0:N { T[i] = X[i] }\n"
                 "  map i in 0:N { Y[i] = X[i] + Q[i] }\n  Y[i] = sine(X[i])\n}\n",
    "unclosed.sdfg": "sdfg f(X: f32[N], Y: f32[N]) {\n  map i in 0:N { Y[i = 1 }\n}\n",
    "bounds.sdfg": "sdfg f(X: f32[N], Y: f32[N]) {\n  map i in 0:N {\n    Y[i] = X[i + N]\n  }\n}\n",
    "race.sdfg": "sdfg f(X: f32[N, M], Y: f32[N]) {\n  map i in 0:N, j in 0:M { Y[i] = X[i, j] }\n}\n",
    "order.sdfg": "sdfg f(X: f32[N], Y: f32[N]) {\n  map i in 1:N { Y[i] = X[i] + (Y[i - 1] ?? 0) }\n}\n",
    "unwritten.sdfg": "sdfg f(X: f32, Y: f32) {\n  transient T: f32\n  Y = X + T\n  T = 1\n}\n",
    "break.sdfg": "sdfg f(X: f32[N], Y: f32[N]) {\n  Y[i] = X[i]\n  if N > 3 {\n    break\n  }\n}\n",
    "truth.sdfg": "sdfg f(X: f32, Y: f32) {\n  Y = X\n  if X {\n    Y = 1\n  }\n}\n",
    "mixed.sdfg": "sdfg f(X: i32[N], Y: i32[N]) {\n  Y[i] = X[i] + 0.5\n}\n",
    "narrow.sdfg": "sdfg f(X: f32[N], Y: i32[N]) {\n  Y[i] = X[i]\n}\n",
    "size.sdfg": "sdfg f(X: f32[2 * N], Y: f32[2 * N]) {\n  map i in 0:2 * N { Y[i] = X[i] }\n}\n",
    "call.sdfg": "sdfg f(X: f32[N], Y: f32[N]) {\n  call g(x = X)\n  Y[i] = X[i]\n}\n"
                 "sdfg g(x: f32[M], y: f32[M]) { y[i] = x[i] }\n",
    "gather.sdfg": "sdfg f(X: f32[N], I: i64[M], Y: f32[M]) {\n"
                   "  map i in 0:M { Y[i] = X[I[i]] from \"gather1\" }\n}\n",
    "place.sdfg": "sdfg f(X: f32[N], I: i64[M], Y: f32[M]) {\n  Y[i] = X[I[i]]\n}\n",
    "let.sdfg": "sdfg f(I: i64[N], k: i64, Y: i64) {\n  let n = I[k] else \"k must be less than the length of I\"\n"
                "  Y = n\n}\n",
    "two.sdfg": "sdfg f(A: f32[N], B: f32[N], Y: f32[N]) { Y[i] = A[i] + B[i] }\n",
    "step.sdfg": "sdfg f(k: i64, Y: f32[4]) {\n  let s = k\n  map i in 0:4:s { Y[i] = 1 }\n}\n",
    "points.sdfg": "sdfg f(K: symbol, Y: f32) {\n  Y = 0\n  map i in 0:K, j in 0:K { Y += 1 }\n}\n",
    "optional.sdfg": "sdfg f(X: f32[N], optional B: f32[N], Y: f32[N]) {\n  Y[i] = X[i] + B[i]\n}\n",
    "axis.sdfg": "sdfg f(X: f32[4], Y: f32[4]) {\n  onnx.Softmax:13{axis = 3}(input = X) -> (output = Y)\n}\n",
    "page.onnx": "<!DOCTYPE html>\n<html><head><title>Not Found</title></head></html>\n",
    "lfs.onnx": "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 178728960\n",
    "empty.onnx": "",
}


def value(name, shape=("n",), dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def model(nodes, opset=21, inputs=("X",), outputs=("Y",), dtype=TensorProto.FLOAT):
    graph = helper.make_graph(nodes, "g", [value(i, dtype=dtype) for i in inputs], [value(o, dtype=dtype) for o in outputs])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10).SerializeToString()


def sequence_model():
    out = helper.make_tensor_sequence_value_info("Y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node("SequenceConstruct", "sequence1")], "g", [value("X")], [out])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()


def node(op, name, inputs=("X",), **attributes):
    return helper.make_node(op, list(inputs), ["Y"], name=name, **attributes)


def write_files(folder):
    """Everything that the commands of messages.txt name."""
    files = {name: text.encode() for name, text in TEXTS.items()}
    relu = model([node("Relu", "relu1")])
    files.update({
        "relu.onnx": relu,
        "ints.onnx": model([node("Abs", "abs1")], dtype=TensorProto.INT64),
        "sequence.onnx": sequence_model(),
        "cut.onnx": relu[:len(relu) // 2],
        "gelu.onnx": model([node("Gelu", "gelu1")], opset=11),
        "upsample.onnx": model([node("Upsample", "up1", ("X", "S"))], opset=10, inputs=("X", "S")),
        "unknown.onnx": model([node("Rellu", "act1")]),
        "attribute.onnx": model([node("Softmax", "soft1", axes=1)]),
        "nowhere.onnx": model([node("Relu", "relu1", ("x",))]),
        "weights.pkl": pickle.dumps({"w": 1}, protocol=2),
        "mobile.tflite": struct.pack("<I", 28) + b"TFL3" + bytes(20),
        "weights.safetensors": struct.pack("<Q", 40) + b'{"w":{"dtype":"F32","shape":[1]}}'.ljust(40) + bytes(4),
        "model.onnx.gz": gzip.compress(relu, mtime=0),
        "cut.npy": b"\x93NUMPY\x01\x00v\x00{'descr': '<f4'",
        "saved/saved_model.pb": b"\x08\x01",
    })
    for name, content in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(content)
    with zipfile.ZipFile(os.path.join(folder, "net.pt"), "w") as z:
        z.writestr("net/data.pkl", b"\x80\x02.")
    arrays = {
        "x3": np.zeros(3, np.float32), "x2": np.zeros(2, np.float32), "x23": np.zeros((2, 3), np.float32),
        "i99": np.array([0, 99]), "i2": np.arange(2), "k5": np.array(5), "k0": np.array(0), "objects": np.array([{}], dtype=object)
    }
    for name, array in arrays.items():
        np.save(os.path.join(folder, name + ".npy"), array)
    os.mkdir(os.path.join(folder, "empty"))
    os.mkdir(os.path.join(folder, "made.hrx"))


def read_messages():
    """[(command, text)]: a line "$ command" and what it prints up to the next one."""
    cases = []
    with open(MESSAGES, encoding="utf-8") as f:
        for line in f:
            if line.startswith("$ "):
                cases.append([line[2:].rstrip("\n"), ""])
            elif cases:
                cases[-1][1] += line
    return [(command, text.rstrip("\n")) for command, text in cases]


class MessagesTest(unittest.TestCase):
    def test_every_word(self):
        cases, now = read_messages(), ""
        self.assertGreaterEqual(len(cases), 40)
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
            write_files(folder)
            for command, text in cases:
                words = shlex.split(command)
                given = dict(os.environ, HEADRACE_CACHE_DIR=os.path.join(folder, "cache"))
                while "=" in words[0]:
                    given.update([words.pop(0).split("=", 1)])
                done = subprocess.run([DRIVER] + words[1:], cwd=folder, env=given, stdin=subprocess.DEVNULL,
                                      capture_output=True, text=True, timeout=60)
                printed = done.stderr.replace(folder, "FOLDER").rstrip("\n")
                now += f"$ {command}\n{printed}\n\n"
                with self.subTest(command=command):
                    self.assertEqual(printed, text)
                    if "error" in text:
                        self.assertIn(done.returncode, (1, 2, 3, 4))
        if UPDATED:
            with open(UPDATED, "w", encoding="utf-8") as f:
                f.write(now)
