"""Runs of `headrace train` for tests: a small model, its data, the command, and what it leaves on disk."""

import json
import os
import subprocess

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def model(features, hidden, classes, dropout=True):
    """x → Gemm → Relu → Dropout → Gemm → logits, its batch size symbolic."""
    random = np.random.default_rng(1)
    constant = lambda name, value: numpy_helper.from_array(np.asarray(value), name)
    weight = lambda name, *shape: constant(name, random.normal(0, shape[0] ** -0.5, shape).astype(np.float32))
    nodes = [helper.make_node("Gemm", ["x", "W1", "b1"], ["a"]), helper.make_node("Relu", ["a"], ["r"])]
    constants = [weight("W1", features, hidden), constant("b1", np.zeros(hidden, np.float32)),
                 weight("W2", hidden, classes), constant("b2", np.zeros(classes, np.float32))]
    if dropout:
        nodes.append(helper.make_node("Dropout", ["r", "ratio", "training"], ["d"]))
        constants += [constant("ratio", np.float32(0.25)), constant("training", np.bool_(True))]
    nodes.append(helper.make_node("Gemm", ["d" if dropout else "r", "W2", "b2"], ["logits"]))
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", features])],
                              [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", classes])], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def samples(count, features, classes, seed=0):
    """Points around one centre for each class."""
    centres = np.random.default_rng(7).normal(size=(classes, features))
    random = np.random.default_rng(seed)
    target = random.integers(0, classes, count)
    x = centres[target] + random.normal(0, 2, (count, features))
    return {"x": x.astype(np.float32), "target": target.astype(np.int64)}


class Runs:
    """A folder with a model and data, and the command with its options."""

    def __init__(self, driver, folder, features=8, hidden=16, classes=3, count=70, options=None, dropout=True):
        self.driver, self.folder = os.path.abspath(driver), folder
        self.environment = dict(os.environ, HEADRACE_CACHE_DIR=os.path.join(folder, "cache"))
        onnx.save(model(features, hidden, classes, dropout), self.path("model.onnx"))
        np.savez(self.path("train.npz"), **samples(count, features, classes))
        np.savez(self.path("validation.npz"), **samples(33, features, classes, seed=1))
        self.options = {"--data": "train.npz", "--validate": "validation.npz", "--loss": "cross_entropy",
                        "--optimizer": "adam", "--lr": "0.01", "--schedule": "cosine", "--clip-norm": "1",
                        "--batch": "16", "--epochs": "4", "--seed": "5", **(options or {})}

    def path(self, name):
        return os.path.join(self.folder, name)

    def command(self, run, *options):
        """Checkpoints in `run`, the trained model in `run`.onnx; what `options` say replaces the usual."""
        usual = {**self.options, "--checkpoint": run, "--out": run + ".onnx"}
        kept = [word for name, value in usual.items() if name not in options for word in (name, value)]
        return [self.driver, "train", "model.onnx", *kept, *options]

    def start(self, run, *options, **popen):
        return subprocess.Popen(self.command(run, *options), cwd=self.folder, env=self.environment,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **popen)

    def train(self, run, *options, code=0, **popen):
        """Its output. In JSON, messages come first."""
        process = self.start(run, *options, **popen)
        output = process.communicate()[0]
        assert process.returncode == code, f"exit {process.returncode}, not {code}: {' '.join(process.args)}\n{output}"
        return output

    def left(self, run):
        """What a run left: bytes by name, the trained model as ''."""
        files = {}
        for name in sorted(os.listdir(self.path(run))):
            if name != "run.lock":  # holds a process number
                files[name] = read(self.path(os.path.join(run, name)))
        if os.path.exists(self.path(run + ".onnx")):
            files[""] = read(self.path(run + ".onnx"))
        return files

    def checkpoints(self, run):
        return sorted(n for n in os.listdir(self.path(run)) if n.endswith(".safetensors"))


def read(path):
    with open(path, "rb") as f:
        return f.read()


TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U8": "u1",
         "U16": "<u2", "U32": "<u4", "U64": "<u8", "BOOL": "?"}


def safetensors(path):
    """Metadata and arrays of a file, by the format's specification alone."""
    data = read(path)
    size = int.from_bytes(data[:8], "little")
    assert (8 + size) % 8 == 0 and data[8:9] == b"{"
    header, body = json.loads(data[8:8 + size].decode("utf-8")), data[8 + size:]
    metadata, at, arrays = header.pop("__metadata__"), 0, {}
    for name, t in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = t["data_offsets"]
        assert begin == at, "gaps are not allowed"
        at = end
        arrays[name] = np.frombuffer(body[begin:end], TYPES[t["dtype"]]).reshape(t["shape"])
    assert at == len(body)
    return metadata, arrays
