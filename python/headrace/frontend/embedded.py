"""Calls of programs as objects and of ONNX models from a program that is being translated."""

from __future__ import annotations

import re
from typing import Any, Mapping

import numpy as np

from ..errors import UnsupportedError
from .calls import DTYPES, back, declare, operand
from .emitter import Emitter
from .sizes import Size, canonical
from .values import Array, Part, show, value_of

_MOST_ELEMENTS = 1 << 20  # of constants, which become text


def call_sdfg(e: Emitter, name: str, sdfg: Any, given: Mapping[str, Any]) -> list[Array]:
    """Writes a call of `sdfg` with values for its inputs (and sizes that no input tells), by name; its outputs."""
    if sum(np.size(sdfg.constant(c)) for c in sdfg.constants) > _MOST_ELEMENTS:
        raise UnsupportedError(f"{name} has more than {_MOST_ELEMENTS} numbers built in: inside a program, give its weights as arguments")
    sizes: dict[str, Size | int] = {}
    ports, changed = [], []
    for p in sdfg.parameters:
        if p.direction == "out":
            continue
        if p.name not in given:
            if p.optional:
                continue
            raise TypeError(f"{name}: missing argument {p.name}")
        if p.type not in DTYPES:
            raise UnsupportedError(f"{name}: {p.name} is {p.type}, which no program computes with")
        v = value_of(given[p.name])
        if not v.weak and v.dtype != DTYPES[p.type]:
            raise TypeError(f"{name}: {p.name} is {DTYPES[p.type]}, not {v.dtype}")
        a = operand(e, given[p.name], DTYPES[p.type], False)
        _bind(name, p, a, sizes)
        e.read.add(a.root)
        if p.direction == "inout":
            e.changed(a)
            changed.append((given[p.name], a))
        ports.append(f"{p.name} = {a.name}")
    told = set(sizes)
    for s in sdfg.symbols:
        if s not in told:
            if s not in given:
                raise TypeError(f"{name}: the size {s} is told by no argument: give {s}=…")
            sizes[s] = given[s]
            ports.append(f"{s} := {e.size_of(given[s])}")
    made = {}
    for p in sdfg.parameters:
        if p.direction != "out":
            continue
        if p.type not in DTYPES:
            raise UnsupportedError(f"{name}: {p.name} is {p.type}, which no program computes with")
        made[p.name] = e.transient(DTYPES[p.type], [back(s, {n: _text(size) for n, size in sizes.items()}) for s in p.shape], p.name)
        e.changed(made[p.name])
        ports.append(f"{p.name} = {made[p.name].name}")
    e.line(f"call {declare(e, sdfg.text)}({', '.join(ports)})")
    for original, a in changed:
        if isinstance(original, (Array, Part)) and original.name != a.name:
            e.store(original, a)
    return list(made.values())


def _text(size: Any) -> Size:
    return size if isinstance(size, Size) else Size(str(size))


def _bind(name: str, p: Any, a: Array, sizes: dict) -> None:
    """Sizes of the callee from an argument's shape."""
    if a.ndim != len(p.shape):
        raise TypeError(f"{name}: {p.name} has {len(p.shape)} dimensions, and shape {show(a.shape)} is given")
    for theirs, ours in zip(p.shape, a.shape):
        if isinstance(theirs, str) and theirs.isidentifier():
            theirs = sizes.setdefault(theirs, ours)
        elif isinstance(theirs, str):
            theirs = canonical(str(back(theirs, {n: _text(size) for n, size in sizes.items()})))
        if theirs != ours:
            raise ValueError(f"{name}: {p.name} has shape {show(p.shape)}, and {show(a.shape)} is given")


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name)


def call_model(e: Emitter, model: Any, args: list, named: Mapping[str, Any]) -> Any:
    """Writes a call of an ONNXModel. Its weights are built in, except those that are given by name (where that is none of Python's, with
    _ for what is no letter or digit)."""
    inputs = {p.name for p in model.inputs}
    known = {_identifier(n): n for n in model.weights} | {n: n for n in model.weights}
    weights = {known[n]: v for n, v in named.items() if n in known and known[n] not in inputs}
    if unsaid := [n for n in model.weights.given if n not in weights]:
        raise UnsupportedError(f"{model.name}: the weight '{unsaid[0]}' was set to an array of yours: inside a program, pass it as an "
                               f"argument, {_identifier(unsaid[0])}=…")
    given = {**model._bind(tuple(args), {n: v for n, v in named.items() if n not in known or known[n] in inputs}), **weights}
    if weights:
        program, names = model.with_inputs(list(weights))
    else:
        version = model._main()
        program, names = version.sdfg, {original: ours for ours, original in version.names.items()}
    made = call_sdfg(e, model.name, program, {names[n]: v for n, v in given.items()})[:len(model.outputs)]
    return made[0] if len(made) == 1 else tuple(made)
