"""A library node as the functions see it that decide about it: conditions, expansions, backward rules."""

from __future__ import annotations

import os
import traceback
from typing import Any

import numpy as np

from ..frontend.sizes import Size, canonical
from ..frontend.types import Type
from ..onnx.signature import NUMPY_OF_IR
from ..sdfg import Sdfg


class NodePort:
    """What is connected to a port. `name` is that of the expansion's parameter, `type` as in the notation ("f32"), `shape` has numbers
    and sizes, `constant` is the value where the program knows it, else None."""

    def __init__(self, name: str, type: str, shape: tuple, constant: np.ndarray | None = None):
        self.name, self.type, self.shape, self.constant = name, type, shape, constant

    @property
    def dtype(self) -> str:
        """The element type as NumPy (or ml_dtypes) calls it: "float32"."""
        return NUMPY_OF_IR.get(self.type, self.type)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def argument(self) -> Type:
        """The type of a program's argument for it."""
        try:
            return Type(self.dtype, self.shape)
        except TypeError:
            raise NotImplementedError(f"{self.name} is {self.type or 'no array'}, which no program computes with") from None

    def declared(self, name: str | None = None) -> str:
        """As a parameter of IR text."""
        return f"{name or self.name}: {self.type}" + (f"[{', '.join(map(str, self.shape))}]" if self.shape else "")

    def __repr__(self) -> str:
        return self.declared()


class Node:
    """A library node: `op` ("onnx.Softplus"), `name` in the model or program, `version`, `attributes` {name: value} with the op's
    defaults, `inputs` and `outputs` {port: NodePort}; a port that is absent is None, a variadic one a list.

    `kind` is "op", or for backward rules of statements "map", "tasklet" or "call" (`op` is then "node.map" …), which have
    a `body`."""

    def __init__(self, described: dict):
        self.domain, self.op = described["domain"], f"{described['domain']}.{described['op']}"
        self.name, self.version = described["name"], described["version"]
        self.kind: str = described["op"] if described["domain"] == "node" else "op"
        self._described = described
        self.attributes: dict[str, Any] = described["attributes"]
        self._attribute_texts: dict[str, str] = described["attribute_texts"]
        self._unset, self.defines, self._sizes = set(described["unset"]), described["defines"], set(described["sizes"])
        variadic = set(described["variadic"])
        taken = {p["name"] for p in described["inputs"]}
        self.inputs = _ports(described["inputs"], variadic, set())
        self.outputs = _ports(described["outputs"], variadic, taken)

    @property
    def body(self) -> Sdfg | None:
        """The statement alone, a program whose parameters are the ports; None of an op."""
        return None if self.kind == "op" else Sdfg.parse(self.attributes["body"], f"<{self.kind} {self.name}>")

    @property
    def callee(self) -> str | None:
        """The name of the program that a call calls; None of others."""
        return self.attributes.get("callee") if self.kind == "call" else None

    def input_ports(self) -> dict[str, NodePort]:
        """Those that are present, by the names of the expansion's parameters."""
        return _present(self.inputs)

    def output_ports(self) -> dict[str, NodePort]:
        """The same of its outputs."""
        return _present(self.outputs)

    def __repr__(self) -> str:
        shown = (", ".join(map(repr, _present(p).values())) for p in (self.inputs, self.outputs))
        return f"<node {self.op}({next(shown)}) -> ({next(shown)})>"


BackwardContext = Node  #: what a backward rule sees


def _ports(described: list[dict], variadic: set[str], taken: set[str]) -> dict[str, Any]:
    """`taken`: names of inputs; an output of such a name is the parameter out_NAME."""
    found: dict[str, Any] = {name: [] for name in dict.fromkeys(p["name"] for p in described) if name in variadic}
    for p in described:
        name, shape = p["name"], tuple(_size(s) for s in p["shape"])
        if name in variadic:
            if p["present"]:
                found[name].append(NodePort(f"{name}_{len(found[name])}", p["dtype"], shape, p["constant"]))
        else:
            found[name] = NodePort(f"out_{name}" if name in taken else name, p["dtype"], shape, p["constant"]) if p["present"] else None
    return found


def _size(size: int | str | None) -> int | Size:
    return size if isinstance(size, int) else Size("?") if size is None else canonical(size)


def _present(ports: dict[str, Any]) -> dict[str, NodePort]:
    flat = [q for p in ports.values() for q in (p if isinstance(p, list) else [p]) if q is not None]
    return {p.name: p for p in flat}


def condition(when):
    """`when(node)`, which says True, False or why not, as the core asks: "" where it applies."""

    def asked(described: dict) -> str:
        answer = when(Node(described))
        if isinstance(answer, str):
            return answer
        if isinstance(answer, (bool, np.bool_)):
            return "" if answer else "its condition does not hold"
        raise TypeError(f"{getattr(when, '__name__', 'a condition')} gives True, False or the reason why not, not {answer!r}")

    return asked


def last_line(error: BaseException) -> str:
    """What Python's traceback ends with, and where: "ValueError: boom (rules.py, line 3)"."""
    if type(error).__module__.startswith("headrace."):  # it says itself where
        return str(error)
    text = "".join(traceback.format_exception_only(error)).strip()
    frames = traceback.extract_tb(error.__traceback__)
    ours = os.path.dirname(os.path.dirname(__file__))
    theirs = [f for f in frames if not f.filename.startswith(ours)]
    if "\n" in text or not theirs:
        return text
    return f"{text} ({os.path.basename(theirs[-1].filename)}, line {theirs[-1].lineno})"
