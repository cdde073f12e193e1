"""Model files as they are on disk, protobuf's wire format: names, declared types and metadata without the package `onnx`.

Tensors are not read but remembered by where they lie; what a model computes is read by the importer, not here.
"""

from __future__ import annotations

import dataclasses
import struct
from typing import Iterator

# TensorProto.DataType → (name in ONNX's type strings, name in NumPy or ml_dtypes).
ELEMENTS = {
    1: ("float", "float32"), 2: ("uint8", "uint8"), 3: ("int8", "int8"), 4: ("uint16", "uint16"), 5: ("int16", "int16"),
    6: ("int32", "int32"), 7: ("int64", "int64"), 8: ("string", "object"), 9: ("bool", "bool"), 10: ("float16", "float16"),
    11: ("double", "float64"), 12: ("uint32", "uint32"), 13: ("uint64", "uint64"), 14: ("complex64", "complex64"),
    15: ("complex128", "complex128"), 16: ("bfloat16", "bfloat16"), 17: ("float8e4m3fn", "float8_e4m3fn"),
    18: ("float8e4m3fnuz", "float8_e4m3fnuz"), 19: ("float8e5m2", "float8_e5m2"), 20: ("float8e5m2fnuz", "float8_e5m2fnuz"),
    21: ("uint4", "uint4"), 22: ("int4", "int4"), 23: ("float4e2m1", "float4_e2m1fn"), 24: ("float8e8m0", "float8_e8m0fnu"),
    25: ("uint2", "uint2"), 26: ("int2", "int2")}
NUMPY_OF = {onnx: numpy for onnx, numpy in ELEMENTS.values()}
NUMBER_OF = {numpy: number for number, (_, numpy) in ELEMENTS.items()}
# The notation's names of element types.
_IR_SPECIAL = {"bool": "bool", "string": "string", "bf16": "bfloat16", "f4e2m1": "float4e2m1"}


def onnx_type(ir_name: str) -> str:
    """"f32" → "float"."""
    if ir_name in _IR_SPECIAL:
        return _IR_SPECIAL[ir_name]
    if ir_name.startswith("f8"):
        return "float8" + ir_name[2:]
    kind, bits = ir_name[0], int(ir_name[1:])
    return {"f": {16: "float16", 32: "float", 64: "double"}.get(bits), "i": f"int{bits}", "u": f"uint{bits}",
            "c": f"complex{bits}"}[kind]


# ---- reading ----
def fields(data: memoryview) -> Iterator[tuple[int, object]]:
    """(field number, number or bytes) in order."""
    at, end = 0, len(data)
    while at < end:
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = _varint(data, at)
        elif wire == 2:
            length, at = _varint(data, at)
            value = data[at:at + length]
            if len(value) != length:
                raise ValueError("the data is cut off")
            at += length
        elif wire in (1, 5):
            width = 8 if wire == 1 else 4
            value = data[at:at + width]
            at += width
        else:
            raise ValueError("the data is damaged")
        yield number, value


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    result = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("the data is damaged or cut off")
        byte = data[at]
        at += 1
        result |= (byte & 127) << shift
        if byte < 128:
            return result, at
        shift += 7


def _text(value) -> str:
    return bytes(value).decode("utf-8", "replace")


def _signed(n: int) -> int:
    return n - (1 << 64) if n >> 63 else n


@dataclasses.dataclass
class Port:
    """An input or output as the model declares it; `shape` has numbers, names, and None for sizes without either."""

    name: str
    type: str = ""  # "tensor(float)"; "" where the model does not say
    shape: list | None = None


@dataclasses.dataclass
class Initializer:
    name: str
    element: int                # TensorProto.DataType
    shape: tuple
    data: memoryview            # the TensorProto
    external: dict | None = None  # location, offset, length


@dataclasses.dataclass
class Model:
    ir_version: int = 0
    producer_name: str = ""
    producer_version: str = ""
    domain: str = ""
    version: int = 0
    description: str = ""
    graph_name: str = ""
    graph_description: str = ""
    metadata: dict = dataclasses.field(default_factory=dict)
    opsets: dict = dataclasses.field(default_factory=dict)
    declared_inputs: list = dataclasses.field(default_factory=list)
    outputs: list = dataclasses.field(default_factory=list)
    initializers: dict = dataclasses.field(default_factory=dict)
    values: list = dataclasses.field(default_factory=list)  # what the main graph's nodes make, in order
    external: bool = False

    @property
    def inputs(self) -> list[Port]:
        """What a call must give."""
        return [p for p in self.declared_inputs if p.name not in self.initializers]

    @property
    def overridable(self) -> list[Port]:
        """Initializers that are inputs, too: a call may give them."""
        return [p for p in self.declared_inputs if p.name in self.initializers]


def read_model(data) -> Model:
    m = Model()
    texts = {2: "producer_name", 3: "producer_version", 4: "domain", 6: "description"}
    for number, value in fields(memoryview(data)):
        if number in texts:
            setattr(m, texts[number], _text(value))
        elif number == 1:
            m.ir_version = value
        elif number == 5:
            m.version = _signed(value)
        elif number == 7:
            _read_graph(value, m)
        elif number == 8:
            entry = dict(fields(value))
            m.opsets[_text(entry.get(1, b""))] = entry.get(2, 0)
        elif number == 14:
            entry = dict(fields(value))
            m.metadata[_text(entry.get(1, b""))] = _text(entry.get(2, b""))
    return m


def _read_graph(data: memoryview, m: Model) -> None:
    for number, value in fields(data):
        if number == 1:
            m.values += [_text(v) for k, v in fields(value) if k == 2 and len(v)]
        elif number == 2:
            m.graph_name = _text(value)
        elif number == 10:
            m.graph_description = _text(value)
        elif number == 5:
            one = _read_initializer(value)
            m.initializers[one.name] = one
            m.external |= one.external is not None
        elif number in (11, 12):
            (m.declared_inputs if number == 11 else m.outputs).append(_read_port(value))


def _read_initializer(data: memoryview) -> Initializer:
    shape, element, name, external, outside = [], 0, "", {}, False
    for number, value in fields(data):
        if number == 1:
            if isinstance(value, int):
                shape.append(_signed(value))
            else:  # packed
                at = 0
                while at < len(value):
                    size, at = _varint(value, at)
                    shape.append(_signed(size))
        elif number == 2:
            element = value
        elif number == 8:
            name = _text(value)
        elif number == 13:
            entry = dict(fields(value))
            external[_text(entry.get(1, b""))] = _text(entry.get(2, b""))
        elif number == 14:
            outside = value == 1
    return Initializer(name, element, tuple(shape), data, external if outside else None)


def _read_port(data: memoryview) -> Port:
    port = Port("")
    for number, value in fields(data):
        if number == 1:
            port.name = _text(value)
        elif number == 2:
            port.type, port.shape = _read_type(value)
    return port


def _read_type(data: memoryview) -> tuple[str, list | None]:
    for number, value in fields(data):
        inner = dict(fields(value)) if number in (1, 4, 8, 9) else {}
        if number in (1, 8):
            element = ELEMENTS.get(inner.get(1, 0), ("undefined",))[0]
            shape = None if 2 not in inner else [_read_size(d) for k, d in fields(inner[2]) if k == 1]
            return f"{'tensor' if number == 1 else 'sparse_tensor'}({element})", shape
        if number in (4, 9):
            return f"{'seq' if number == 4 else 'optional'}({_read_type(inner.get(1, memoryview(b'')))[0]})", None
        if number == 5:
            return "map", None
    return "", None


def _read_size(data: memoryview):
    for number, value in fields(data):
        if number == 1:
            return _signed(value)
        if number == 2:
            return _text(value) or None
    return None


# ---- writing ----
def varint(n: int) -> bytes:
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def number_field(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


def bytes_field(number: int, value: bytes | str) -> bytes:
    value = value.encode() if isinstance(value, str) else bytes(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def float_field(number: int, value: float) -> bytes:
    return varint(number << 3 | 5) + struct.pack("<f", value)


def more_outputs(names: list[str]) -> bytes:
    """What, behind a model's bytes, makes these values outputs too: parsers merge messages that come twice."""
    return bytes_field(7, b"".join(bytes_field(12, bytes_field(1, n)) for n in names))


def tensor(element: int, shape, raw: bytes, name: str = "") -> bytes:
    """A TensorProto of raw data, little-endian."""
    parts = [number_field(1, s) for s in shape] + [number_field(2, element)]
    if name:
        parts.append(bytes_field(8, name))
    return b"".join(parts) + bytes_field(9, raw)


def string_tensor(shape, texts) -> bytes:
    parts = [number_field(1, s) for s in shape] + [number_field(2, 8)]
    return b"".join(parts + [bytes_field(6, t if isinstance(t, bytes) else str(t)) for t in texts])


def value_info(name: str, element: int | None = None, shape=None) -> bytes:
    """A ValueInfoProto of a tensor; `shape` has numbers and names."""
    out = bytes_field(1, name)
    if element is not None:
        sizes = b"".join(bytes_field(1, number_field(1, s) if isinstance(s, int) else bytes_field(2, s)) for s in shape)
        out += bytes_field(2, bytes_field(1, number_field(1, element) + bytes_field(2, sizes)))
    return out
