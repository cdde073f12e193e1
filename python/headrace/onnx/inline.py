"""An operator inside a program: a library node of its IR text."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from .. import _core
from ..errors import UnsupportedError
from ..frontend.emitter import Emitter
from ..frontend.sizes import Size, canonical
from ..frontend.types import IR_NAMES
from ..frontend.values import Array, Value, is_number, value_of
from .signature import NUMPY_OF_IR, Signature, ir_type


def lower(signature: Signature, e: Emitter, args: list, named: dict, implementation: str | None = None) -> Any:
    """Writes the node; gives its outputs as arrays."""
    node = Node(signature, e, args, named, implementation)
    results = node.write()
    return results[0] if len(results) == 1 else tuple(results)


class Node:
    def __init__(self, signature: Signature, e: Emitter, args: list, named: dict, implementation: str | None):
        self.signature, self.e, self.implementation = signature, e, implementation
        self.call = signature.bind(args, named)
        self.attributes = {n: attribute_text(signature.attributes[n]["type"], v) for n, v in self.call.attributes.items()}
        self.parameters: dict[str, tuple[str, tuple]] = {}  # containers that the node reads: type and shape
        self.constants: list[str] = []
        values = [(port, v) for port in signature.inputs for v in self._values(port)]
        bound = signature.check_types([(port, IR_NAMES[v.dtype]) for port, v in values if isinstance(v, Value) and not v.weak])
        self.inputs = [(port, self._container(port, v, bound)) for port, v in values]

    def _values(self, port: str) -> list:
        given = self.call.inputs.get(port)
        if given is None:
            return []
        return given if self.signature.inputs[port]["variadic"] else [given]

    # ---- inputs ----
    def _container(self, port: str, value: Any, bound: dict[str, str]) -> str:
        if isinstance(value, (list, tuple)) and any(isinstance(v, (Size, Value)) for v in value):
            return self._sizes(port, list(value))
        if isinstance(value, Size):
            return self._sizes(port, value)
        if isinstance(value, (list, tuple, np.ndarray)) or is_number(value):
            typed = isinstance(value, (np.ndarray, np.generic))
            return self._constant(value if typed else self.signature.literal(port, value, bound))
        v = value_of(value)
        wanted = np.dtype(NUMPY_OF_IR[bound[self._variable(port)]]) if v.weak and self._variable(port) in bound else v.dtype
        if v.dtype == wanted and isinstance(v, Array) and v.whole:
            array = v
        else:
            array = self.e.transient(wanted, v.shape, port.lower())
            self.e.store(array, v)
        self.e.read.add(array.root)
        self.parameters[array.name] = IR_NAMES[array.dtype], array.shape
        return array.name

    def _variable(self, port: str) -> str:
        return self.signature.inputs[port]["type"]

    def _constant(self, value: Any) -> str:
        array, name = np.asarray(value), self.e.fresh("c")
        text = f"constant {declaration(name, ir_type(str(array.dtype)), array.shape)} = {data_text(array)}"
        self.e.declare(text)
        self.constants.append(text)
        return name

    def _sizes(self, port: str, sizes: Any) -> str:
        """Numbers that calls decide: an array of them, whose elements inference is told."""
        items = [self.e.size_of(s) for s in (sizes if isinstance(sizes, list) else [sizes])]
        array = self.e.transient(np.int64, (len(items),) if isinstance(sizes, list) else (), port.lower())
        for k, size in enumerate(items):
            self.e.write(array, [str(k)] if array.ndim else [], f"i64({size})")
        self.e.read.add(array.root)
        self.parameters[array.name] = "i64", array.shape
        if not self.signature.inputs[port]["variadic"]:
            self.attributes[f"`known.{port}`"] = "[" + ", ".join(json.dumps(str(s)) for s in items) + "]"
        return array.name

    # ---- the node ----
    def _text(self, outputs: list[str]) -> str:
        s = self.signature
        attributes = "{" + ", ".join(f"{n} = {v}" for n, v in sorted(self.attributes.items())) + "}" if self.attributes else ""
        inputs = ", ".join(f"{port} = {container}" for port, container in self.inputs)
        given = ", ".join(f"{port} = {container}" for port, container in zip(self.call.outputs, outputs))
        return f"{s.domain}.{s.name}:{s.version}{attributes}({inputs}) -> ({given})"

    def _chosen(self) -> str:
        return f" impl {json.dumps(self.implementation)}" if self.implementation else ""

    def _infer(self) -> list[tuple]:
        names = [f"_o{k}" for k in range(len(self.call.outputs))]
        sizes = [str(s) for shape in self.parameters.values() for s in shape[1]]
        symbols = {m for s in sizes for m in re.findall(r"[A-Za-z_]\w*(?!\w*\()", s)} - set(sizes)
        declared = [declaration(n, *what) for n, what in self.parameters.items()]
        parameters = ", ".join([*declared, *(f"{n}: f32" for n in names), *(f"{n}: symbol" for n in sorted(symbols))])
        lines = [*self.constants, self._text(names) + self._chosen()]
        found = _core.infer_node(f"sdfg node({parameters}) {{\n" + "\n".join(lines) + "\n}")
        by_port: dict[str, list] = {}
        for port, *rest in found:
            by_port.setdefault(port, []).append(rest)
        return [(port, *by_port[port].pop(0)) for port in self.call.outputs]

    def write(self) -> list[Array]:
        defined: list[str] = []
        made = []
        for port, ir, shape in self._infer():
            if shape is None or ir not in IR_NAMES.values():
                what = f"is {ir}, which no program computes with" if ir else "has no type or shape that is known before it runs"
                raise UnsupportedError(f"{self.signature.title}: output {port} {what}")
            sizes = [self._size(s, defined) for s in shape]
            made.append(self.e.transient(NUMPY_OF_IR[ir], sizes, port.lower()))
        self.e.written.update(a.root for a in made)
        ends = f" defines ({', '.join(defined)})" if defined else ""
        self.e.line(self._text([a.name for a in made]) + ends + self._chosen())
        return [self._given(port, a) for port, a in zip(self.call.outputs, made)]

    def _size(self, size: int | str | None, defined: list[str]) -> int | Size:
        if isinstance(size, int):
            return size
        if size is None:  # known when the node has run
            defined.append(self.e.fresh("n"))
            self.e.intervals[defined[-1]] = (0, None)
            self.e.symbols.add(defined[-1])
            return Size(defined[-1])
        return canonical(size)

    def _given(self, port: str, made: Array) -> Array:
        target = self.call.written.get(port)
        if target is None:
            return made
        if not isinstance(target, Array) or target.dtype != made.dtype:
            raise TypeError(f"{self.signature.title}: output {port} is {made.dtype} and is written into an array of this type")
        self.e.store(target, made)
        return target


def declaration(name: str, ir: str, shape) -> str:
    return f"{name}: {ir}" + (f"[{', '.join(map(str, shape))}]" if shape else "")


def attribute_text(kind: str, value: Any) -> str:
    if kind == "tensor":
        value = np.asarray(value)
        sizes = f"[{', '.join(map(str, value.shape))}]" if value.shape else ""
        return f"tensor {ir_type(str(value.dtype))}{sizes} {data_text(value)}"
    if kind.endswith("s"):
        return "[" + ", ".join(attribute_text(kind[:-1], v) for v in value) + "]"
    return json.dumps(value) if kind == "string" else str(value) if kind == "int" else float_text(value)


def float_text(value: float) -> str:
    return repr(float(value)) if np.isfinite(value) else "nan" if value != value else "inf" if value > 0 else "-inf"


def data_text(array: np.ndarray) -> str:
    """An array's elements as the notation writes them."""
    def one(v: Any) -> str:
        if isinstance(v, complex):
            return f"({float_text(v.real)}, {float_text(v.imag)})"
        if isinstance(v, str):
            return json.dumps(v)
        return str(v).lower() if isinstance(v, bool) else float_text(v) if isinstance(v, float) else str(v)

    if array.ndim == 0:
        return one(array.item())
    return "[" + ", ".join(one(v) for v in array.ravel().tolist()) + "]"
