"""An operator on arrays: a model of one node, compiled once for each set of types, shapes and attributes."""

from __future__ import annotations

import collections
import threading
from typing import Any, Sequence

import numpy as np

from .. import registrations
from ..errors import HeadraceError
from . import proto
from .model import ONNXModel, renamed
from .signature import Call, Signature, ir_type

#: what operators on arrays are compiled with; "interpreter" needs no compiler and no time for one
backend = "cpu"

_MOST_KEPT = 512
_kept: collections.OrderedDict[tuple[bytes, str, str | None, int], ONNXModel] = collections.OrderedDict()
_lock = threading.Lock()
_ATTRIBUTE_TYPES = {"float": 1, "int": 2, "string": 3, "tensor": 4, "floats": 6, "ints": 7, "strings": 8}


def run(signature: Signature, args: Sequence[Any], named: dict[str, Any], implementation: str | None = None) -> Any:
    call = signature.bind(args, named)
    values = [(port, v) for port in signature.inputs for v in _values(signature, call, port)]
    arrays = [(port, ir_type(_dtype(v))) for port, v in values if hasattr(v, "dtype")]
    bound = signature.check_types(arrays)
    feeds: dict[str, Any] = {}
    names: list[str] = []
    parts: list[bytes] = []
    for k, (port, value) in enumerate(values):
        name = f"{port}_{k}" if value is not None else ""
        names.append(name)
        if hasattr(value, "dtype") and hasattr(value, "shape"):
            feeds[name] = value
            parts.append(proto.bytes_field(11, proto.value_info(name, proto.NUMBER_OF[_dtype(value)], tuple(value.shape))))
        elif _is_sequence(signature, port, value):
            feeds[name] = list(value)
            parts.append(proto.bytes_field(11, _sequence_info(name, value)))
        elif value is not None:  # a literal: its value may decide shapes
            parts.append(proto.bytes_field(5, _literal(name, signature.literal(port, value, bound))))
    while names and not names[-1]:
        names.pop()
    model = _model(signature, call, names, parts, implementation)
    written = [call.written.get(n) for n in call.outputs]
    try:
        results = model.run(feeds, written if any(w is not None for w in written) else None)
    except (HeadraceError, TypeError, ValueError) as error:  # by the names of ports
        raise renamed(error, {f"{n}__{k}": n for k, n in enumerate(call.outputs)} | {n: n.rpartition("_")[0] for n in feeds}) from error.__cause__
    return results[0] if len(results) == 1 else tuple(results)


def _values(signature: Signature, call: Call, port: str) -> list:
    if signature.inputs[port]["variadic"]:
        return call.inputs[port]
    return [call.inputs.get(port)]


def _dtype(value: Any) -> str:
    name = str(value.dtype).removeprefix("torch.")
    return "object" if getattr(value.dtype, "kind", "") in ("U", "S", "T") else name


def _is_sequence(signature: Signature, port: str, value: Any) -> bool:
    accepted = signature.accepted(signature.inputs[port]) or []
    return isinstance(value, (list, tuple)) and bool(value) and all(hasattr(v, "dtype") for v in value) and any(
        t.startswith("seq(") for t in accepted)


def _sequence_info(name: str, value: Sequence[Any]) -> bytes:
    """Elements of one rank have its sizes, as far as they are equal."""
    tensor = proto.number_field(1, proto.NUMBER_OF[_dtype(value[0])])
    if len({len(v.shape) for v in value}) == 1:
        sizes = [set(map(int, s)) for s in zip(*(v.shape for v in value))]
        tensor += proto.bytes_field(2, b"".join(proto.bytes_field(1, proto.number_field(1, s.pop()) if len(s) == 1 else b"") for s in sizes))
    return proto.bytes_field(1, name) + proto.bytes_field(2, proto.bytes_field(4, proto.bytes_field(1, proto.bytes_field(1, tensor))))


def _literal(name: str, value: np.ndarray) -> bytes:
    if value.dtype == object:
        return proto.string_tensor(value.shape, value.ravel()) + proto.bytes_field(8, name)
    return proto.tensor(proto.NUMBER_OF[str(value.dtype)], value.shape, np.ascontiguousarray(value).tobytes(), name)


def _attribute(name: str, kind: str, value: Any) -> bytes:
    out = proto.bytes_field(1, name) + proto.number_field(20, _ATTRIBUTE_TYPES[kind])
    write = {"float": lambda v: proto.float_field(2, v), "int": lambda v: proto.number_field(3, v),
             "string": lambda v: proto.bytes_field(4, v), "tensor": lambda v: proto.bytes_field(5, _literal("", v)),
             "floats": lambda v: b"".join(proto.float_field(7, x) for x in v),
             "ints": lambda v: b"".join(proto.number_field(8, x) for x in v),
             "strings": lambda v: b"".join(proto.bytes_field(9, x) for x in v)}
    return out + write[kind](value)


def _model(signature: Signature, call: Call, inputs: list[str], parts: list[bytes], implementation: str | None) -> ONNXModel:
    """The model of one node with these inputs and initializers."""
    outputs = [f"{name}__{k}" for k, name in enumerate(call.outputs)]
    positions = _positions(signature, call.outputs, outputs)
    domain = "" if signature.domain == "onnx" else signature.domain
    node = b"".join(proto.bytes_field(1, n) for n in inputs) + b"".join(proto.bytes_field(2, n) for n in positions)
    node += proto.bytes_field(3, signature.name) + proto.bytes_field(4, signature.name) + proto.bytes_field(7, domain)
    node += b"".join(proto.bytes_field(5, _attribute(n, signature.attributes[n]["type"], v)) for n, v in call.attributes.items())
    graph = proto.bytes_field(1, node) + proto.bytes_field(2, signature.name) + b"".join(parts)
    graph += b"".join(proto.bytes_field(12, proto.value_info(n)) for n in outputs)
    opset = proto.bytes_field(8, proto.bytes_field(1, domain) + proto.number_field(2, signature.version))
    data = proto.number_field(1, 10) + proto.bytes_field(7, graph) + opset
    with _lock:
        key = (data, backend, implementation, registrations.generation)
        model = _kept.get(key)
        if model is None:
            model = _kept[key] = ONNXModel(signature.name, data, backend=backend)
            if implementation is not None:
                model._options["implementations"] = {f"{signature.domain}.{signature.name}": implementation}
            if len(_kept) > _MOST_KEPT:
                _kept.popitem(last=False)
        _kept.move_to_end(key)
        return model


def _positions(signature: Signature, wanted: list[str], names: list[str]) -> list[str]:
    """The node's outputs in the operator's order, "" for those that nobody wants."""
    made = []
    for port in signature.outputs:
        made += [n for w, n in zip(wanted, names) if w == port] or [""]
    while made and not made[-1]:
        made.pop()
    return made
