"""Programs of one library node, as cases/operators.py writes them, as ONNX models."""

from __future__ import annotations

import json
import re

import onnx
from onnx import TensorProto, helper

TYPES = {"f32": TensorProto.FLOAT, "f64": TensorProto.DOUBLE, "f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16, "i32": TensorProto.INT32,
         "i64": TensorProto.INT64, "u8": TensorProto.UINT8, "bool": TensorProto.BOOL}  # fmt: skip
NODE = re.compile(r"onnx\.(\w+)(?::(\d+))?(?:\{(.*?)\})?\((.*?)\) -> \((.*?)\)")
OPSET = 23


def declared(text: str) -> list[tuple[str, int, list[int]]]:
    """(name, ONNX's type, shape) of `X: f32[2, 3], A: i64`."""
    found = re.findall(r"(\w+): (\w+)(?:\[([\d, ]*)\])?", text)
    return [(name, TYPES[dtype], [int(d) for d in shape.split(",") if d.strip()]) for name, dtype, shape in found]


def model(text: str) -> onnx.ModelProto:
    """Of `sdfg f(X: f32[4], Y: f32[4]) { constants state { node } }`; `Y` is the output."""
    parameters = declared(text[text.index("(") + 1 : text.index(") {")])
    name, version, attributes, inputs, outputs = NODE.search(text).groups()
    opset = int(version or OPSET)
    schema = onnx.defs.get_schema(name, opset, "")
    given: dict[str, list[str]] = {}
    for port, variable in (pair.split(" = ") for pair in inputs.split(", ")):
        given.setdefault(port, []).append(variable)
    ordered = [v for port in schema.inputs for v in given.get(port.name, [""])]
    while ordered and not ordered[-1]:
        ordered.pop()
    ports = [port.split(" = ") for port in outputs.split(", ")]
    results = [next((v for p, v in ports if p == o.name), "") for o in schema.outputs]
    while results and not results[-1]:
        results.pop()
    node = helper.make_node(name, ordered, results, **_attributes(attributes or ""))
    constants = []
    for kind, value in re.findall(r"constant (\w+: \w+(?:\[\d*\])?) = (\[.*?\]|[^;\s]+)", text):
        (constant, dtype, shape), numbers = declared(kind)[0], json.loads(value)
        constants.append(helper.make_tensor(constant, dtype, shape, numbers if isinstance(numbers, list) else [numbers]))
    values = [helper.make_tensor_value_info(*p) for p in parameters]
    graph = helper.make_graph([node], "f", values[:-1], values[-1:], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def _attributes(text: str) -> dict:
    """`axis = 1, pads = [1, 1], mode = "reflect"`."""
    return {name: json.loads(value) for name, value in re.findall(r"(\w+) = (\[.*?\]|\"[^\"]*\"|[^,\s]+)", text)}


def save(text: str, path: str) -> None:
    onnx.save(model(text), path)
