"""What an operator takes and gives, from the registry; and a call's arguments sorted by it."""

from __future__ import annotations

import dataclasses
import inspect
import numbers
import re
from typing import Any, Sequence

import numpy as np

from .. import _core
from ..errors import UnsupportedError
from . import proto
from .weights import did_you_mean

_KINDS = {"int": "an integer", "float": "a number", "string": "a string", "ints": "a list of integers",
          "floats": "a list of numbers", "strings": "a list of strings", "tensor": "an array", "graph": "a graph"}


def ir_type(numpy_name: str) -> str:
    """"float32" → "f32"."""
    special = {"bool": "bool", "object": "string", "bfloat16": "bf16", "float4_e2m1fn": "f4e2m1",
               "float8_e8m0fnu": "f8e8m0"}
    if numpy_name in special:
        return special[numpy_name]
    if numpy_name.startswith("float8_"):
        return "f8" + numpy_name[7:]
    match = re.fullmatch(r"(float|int|uint|complex)(\d+)", numpy_name)
    if not match:
        raise TypeError(f"no operator computes with {numpy_name}")
    return match[1][0] + match[2]


#: words for types of ports of ops from plugins: any dtype of the family
FAMILIES = ("float", "integer", "complex", "number", "any")
NUMPY_OF_IR = {ir_type(numpy): numpy for _, numpy in proto.ELEMENTS.values()}


@dataclasses.dataclass
class Call:
    """A call's arguments: values by input port (a list where it is variadic), attributes that are set, arrays to write by
    output port, names of the outputs that are wanted (variadic ones repeat theirs)."""

    inputs: dict[str, Any]
    attributes: dict[str, Any]
    written: dict[str, Any]
    outputs: list[str]


class Signature:
    def __init__(self, description: dict):
        self.domain, self.name, self.version = description["domain"], description["name"], description["version"]
        self.deprecated, self.doc = description["deprecated"], description["doc"]
        self.inputs = {p["name"]: p for p in description["inputs"]}
        self.outputs = {p["name"]: p for p in description["outputs"]}
        self.attributes = {a["name"]: a for a in description["attributes"]}
        self.types: dict[str, list[str]] = description["types"]

    @property
    def title(self) -> str:
        return f"{self.domain}.{self.name} (since version {self.version})"

    # ---- arguments ----
    def bind(self, args: Sequence[Any], named: dict[str, Any]) -> Call:
        """Raises TypeError, with what was meant, for arguments that the operator does not have or lacks."""
        results = named.pop("results", None)
        inputs = self._positional(args)
        attributes: dict[str, Any] = {}
        written: dict[str, Any] = {}
        for name, value in named.items():
            if name in self.inputs:
                if name in inputs:
                    raise TypeError(f"{self.title}: input {name} is given twice")
                inputs[name] = value
            elif name in self.attributes:
                if value is not None:
                    attributes[name] = self._attribute(self.attributes[name], value)
            elif name in self.outputs:
                if value is not None:
                    written[name] = value
            else:
                known = [*self.inputs, *self.attributes, *self.outputs]
                raise TypeError(f"{self.title} has no input, attribute or output '{name}'{did_you_mean(name, known)}")
        self._complete(inputs, attributes)
        return Call(inputs, attributes, written, self._wanted(results, inputs, attributes, written))

    def _positional(self, args: Sequence[Any]) -> dict[str, Any]:
        inputs: dict[str, Any] = {}
        ports, rest = list(self.inputs.values()), list(args)
        for k, port in enumerate(ports):
            if port["variadic"] and rest:
                inputs[port["name"]] = rest[0] if len(rest) == 1 and _is_list_of_arrays(rest[0]) else rest
                return inputs
            if not rest:
                return inputs
            inputs[port["name"]] = rest.pop(0)
        if rest:
            raise TypeError(f"{self.title} takes {len(ports)} inputs ({', '.join(self.inputs)}), not {len(args)}")
        return inputs

    def _complete(self, inputs: dict, attributes: dict) -> None:
        for name, port in self.inputs.items():
            value = inputs.get(name)
            if port["variadic"]:
                inputs[name] = list(value) if value is not None else []
                if len(inputs[name]) < port["min_count"] and not port["optional"]:
                    raise TypeError(f"{self.title}: input {name} takes at least {port['min_count']} arrays")
            elif value is None:
                inputs.pop(name, None)
                if not port["optional"]:
                    raise TypeError(f"{self.title}: missing input {name}")
        for name, a in self.attributes.items():
            if a["required"] and name not in attributes:
                raise TypeError(f"{self.title}: missing attribute {name}, {_KINDS.get(a['type'], a['type'])}")

    def _attribute(self, a: dict, value: Any) -> Any:
        kind, name = a["type"], a["name"]
        if kind in ("graph", "other"):
            raise UnsupportedError(f"{self.title}: attribute {name} is a graph: write the loop or branch in Python, or use "
                                   "headrace.ONNXModel")
        if kind == "int" and not isinstance(value, numbers.Integral):  # Cast's `to`
            number = proto.NUMBER_OF.get(_dtype_name(value)) if name in ("to", "dtype") else None
            if number is not None:
                return number
        if kind == "tensor":
            return np.asarray(value)
        one = {"int": _integer, "float": _number, "string": _string}[kind.removesuffix("s")]
        try:
            return [one(v) for v in _items(value)] if kind.endswith("s") else one(value)
        except TypeError:
            raise TypeError(f"{self.title}: attribute {name} is {_KINDS[kind]}, not {value!r}") from None

    def _wanted(self, results: Any, inputs: dict, attributes: dict, written: dict) -> list[str]:
        names = list(self.outputs)
        if not names:
            raise UnsupportedError(f"{self.title} has no outputs")
        if results is None:
            variadic = [n for n in names if self.outputs[n]["variadic"]]
            last = max([k for k, n in enumerate(names) if not self.outputs[n]["optional"] or n in written], default=0)
            wanted = names[:last + 1]
            if variadic and variadic[0] in wanted:
                return wanted[:-1] + [variadic[0]] * self._count(inputs, attributes, written.get(variadic[0]))
            return wanted
        if isinstance(results, int):
            if self.outputs[names[-1]]["variadic"] and results > len(names) - 1:
                return names + [names[-1]] * (results - len(names))
            results = names[:results] if 1 <= results <= len(names) else [f"number {results}"]
        for n in results:
            if n not in names:
                raise TypeError(f"{self.title} has no output {n}{did_you_mean(str(n), names)}")
        return list(results)

    def _count(self, inputs: dict, attributes: dict, written: Any) -> int:
        """How many variadic outputs there are, where the call says it."""
        sizes = attributes.get("split", inputs.get("split"))
        for told in (attributes.get("num_outputs"), len(sizes) if isinstance(sizes, (list, tuple, np.ndarray)) else None,
                     len(written) if isinstance(written, (list, tuple)) else None):
            if told is not None:
                return told
        raise TypeError(f"{self.title} has any number of outputs: say how many with results=2")

    # ---- types ----
    def accepted(self, port: dict) -> list[str] | None:
        """The notation's names of the types that a port may have; None: any, as far as is known here."""
        if port["type"] in self.types:
            return self.types[port["type"]]
        return [port["type"]] if port["type"] in NUMPY_OF_IR else None

    def check_types(self, given: Sequence[tuple[str, str]]) -> dict[str, str]:
        """(input, type) of every array; the type that each type variable stands for. Raises TypeError."""
        bound: dict[str, tuple[str, str]] = {}
        for name, got in given:
            port = self.inputs[name]
            if port["type"] in FAMILIES:  # each of its own; a number takes the type of the first
                bound.setdefault(port["type"], (name, got))
                continue
            accepted = self.accepted(port)
            if accepted is not None and got not in accepted:
                raise TypeError(f"{self.title}: input {name} is {_spelled(got)}, and takes {', '.join(map(_spelled, accepted))}")
            if port["type"] not in self.types or port["variadic"] and not port.get("homogeneous", True):
                continue
            first, before = bound.setdefault(port["type"], (name, got))
            if before != got:
                raise TypeError(f"{self.title}: input {name} is {_spelled(got)}, and {first} is {_spelled(before)}: both are "
                                f"{port['type']}, one type")
        return {variable: got for variable, (_, got) in bound.items()}

    def literal(self, name: str, value: Any, bound: dict[str, str]) -> np.ndarray:
        """A Python number, or list of such, as an array of the type that the input takes."""
        port, array = self.inputs[name], np.asarray(value)
        if array.dtype.kind in "OUST":
            return np.asarray(value, dtype=object)
        accepted = self.accepted(port) or [ir_type(str(array.dtype))]
        chosen = bound.get(port["type"]) or _nearest(array.dtype, accepted)
        if chosen is None:
            raise TypeError(f"{self.title}: input {name} takes {', '.join(map(_spelled, accepted))}, not {value!r}")
        made = array.astype(NUMPY_OF_IR[chosen])
        if made.dtype.kind in "iub" and not np.array_equal(made, array):
            raise TypeError(f"{self.title}: input {name} is {_spelled(chosen)}, which {value!r} is not")
        return made

    # ---- for people ----
    def inspect_signature(self) -> inspect.Signature:
        p = inspect.Parameter
        made: list[inspect.Parameter] = []
        for port in self.inputs.values():
            if port["variadic"]:  # nothing optional stands before *inputs
                made = [q.replace(default=p.empty) for q in made] + [p(port["name"], p.VAR_POSITIONAL)]
                continue
            after_optional = bool(made) and made[-1].default is None  # Python wants a default then, a call is told all the same
            default = None if port["optional"] or after_optional else p.empty
            made.append(p(port["name"], p.POSITIONAL_OR_KEYWORD, default=default))
        taken = {q.name for q in made}
        for a in self.attributes.values():
            if a["name"] not in taken:
                default = p.empty if a["required"] else a["default"]
                made.append(p(a["name"], p.KEYWORD_ONLY, default=default))
                taken.add(a["name"])
        for name in [*self.outputs, "results", "opset"]:
            if name not in taken and name.isidentifier():  # "outputs..." of Split's first version is none
                made.append(p(name, p.KEYWORD_ONLY, default=None))
                taken.add(name)
        return inspect.Signature(made)

    def describe(self) -> str:
        """The docstring: what it computes, inputs, outputs, attributes, types."""
        lines = [f"{self.title}{', deprecated' if self.deprecated else ''}", "", inspect.cleandoc(self.doc), ""]
        for title, ports in (("Inputs", self.inputs), ("Outputs", self.outputs)):
            lines.append(f"{title}:")
            for p in ports.values():
                marks = [m for m in ("optional", "variadic") if p[m]]
                lines.append(f"    {p['name']}: {', '.join([p['type'], *marks])}")
        if self.attributes:
            lines.append("Attributes:")
        for a in self.attributes.values():
            default = "required" if a["required"] else f"default {a['default']!r}" if a["default"] is not None else "optional"
            lines.append(f"    {a['name']}: {_KINDS.get(a['type'], a['type'])}, {default}")
        if self.types:
            lines.append("Types:")
        lines += [f"    {name}: {', '.join(map(_spelled, choices))}" for name, choices in self.types.items()]
        return "\n".join(lines)


def _nearest(dtype: np.dtype, accepted: list[str]) -> str | None:
    """The accepted type that NumPy's type of a literal becomes: itself, or the widest of its kind."""
    own = ir_type(str(dtype))
    if own in accepted:
        return own
    same = [t for t in accepted if t[0] == own[0] and t in NUMPY_OF_IR and t[1:].isdigit()]
    real = [t for t in accepted if own[0] in "iu" and t in ("f32", "f64")]
    return max(same, key=lambda t: int(t[1:]), default=None) or (real[0] if real else None)


def _spelled(ir: str) -> str:
    return NUMPY_OF_IR.get(ir, ir) if ir != "string" else "string"


def _dtype_name(value: Any) -> str:
    try:
        return str(np.dtype(value if isinstance(value, type) else getattr(value, "dtype", value)))
    except TypeError:
        return str(value).removeprefix("torch.")


def _is_list_of_arrays(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and all(hasattr(v, "dtype") for v in value)


def _items(value: Any) -> Any:
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        raise TypeError
    return value


def _integer(value: Any) -> int:
    if not isinstance(value, (numbers.Integral, np.bool_)):
        raise TypeError
    return int(value)


def _number(value: Any) -> float:
    if not isinstance(value, numbers.Real):
        raise TypeError
    return float(value)


def _string(value: Any) -> str:
    if not isinstance(value, (str, bytes)):
        raise TypeError
    return value if isinstance(value, str) else value.decode()


def find(domain: str, name: str, version: int) -> Signature | None:
    found = _core.op_signature(domain, name, version)
    return None if found is None else Signature(found)
