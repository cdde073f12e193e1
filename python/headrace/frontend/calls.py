"""Calls of other programs, such as gradients, from a program that is being translated."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ..trees import Tree, flat, is_tree, tree_of
from . import elementwise
from .emitter import Emitter
from .sizes import Size, canonical, names_in
from .types import IR_NAMES, Type, Weak
from .values import Array, Part, Value, is_number, value_of

DTYPES = {name: dtype for dtype, name in IR_NAMES.items()}


def type_of(value):
    """What a program is made for where it gets this value: a Type, a Tree of them, or the object itself."""
    if is_tree(value):
        return tree_of(value, type_of)
    if isinstance(value, Size):
        return Weak(np.int64)
    if isinstance(value, Value):
        return Weak(value.dtype) if value.weak and not value.ndim else Type(value.dtype, tuple(value.shape))
    if type(value) in (float, complex):
        return Weak({float: np.float64, complex: np.complex128}[type(value)])
    return value


def embed(e: Emitter, function, given: dict[str, Any]):
    """Calls function.translate(types of the arguments) as a program beside this one; gives what the function returns."""
    types = {name: type_of(value) for name, value in given.items()}
    sizes: dict[str, Size] = {}
    translated = function.translate(renamed(types, sizes))
    values = flat(given)
    ports, made, changed = [], {}, []
    for p in translated.sdfg.parameters:
        dtype = DTYPES[p.type]
        if p.direction == "out":
            a = e.transient(dtype, [back(s, sizes) for s in p.shape], p.name)
            if not a.whole:
                raise NotImplementedError(f"{function.__name__} gives an array whose size a loop changes")
            made[p.name] = a
            e.written.add(a.root)
        else:
            if p.direction == "inout" and not translated.copies and isinstance(values[p.name], Value):
                values[p.name] = values[p.name].place()
            a = operand(e, values[p.name], dtype, p.direction == "inout" and translated.copies)
            e.read.add(a.root)
            if p.direction == "inout" and not translated.copies:
                changed.append((values[p.name], a))
                e.written.add(a.root)
        ports.append(f"{p.name} = {a.name}")
    e.line(f"call {declare(e, translated.sdfg.text)}({', '.join(ports)})")
    for original, a in changed:
        if isinstance(original, (Array, Part)) and original.name != a.name:
            e.store(original, a)
    return translated.pack([values[r.name] if r.kind == "argument" else _result(made[r.name], r) for r in translated.results])


def _result(a: Array, r) -> Array:
    a.weak = r.weak
    return a


def operand(e: Emitter, value, dtype: np.dtype, own: bool) -> Array:
    v = value_of(value)
    if isinstance(v, Array) and v.whole and v.dtype == dtype and not own:
        return v
    made = e.materialize(elementwise.cast(e, value, dtype) if not is_number(value) else dtype.type(value), "operand")
    if not made.whole:
        raise NotImplementedError("an argument whose size a loop changes")
    return made


def renamed(types: dict[str, Any], sizes: dict[str, Size]) -> dict[str, Any]:
    """Sizes such as 2*N, whose N no argument tells, get names of their own; `sizes`: name → what it stands for."""
    leaves = [t for n, w in types.items() for _, t in (w.leaves(n) if isinstance(w, Tree) else [(n, w)]) if isinstance(t, Type)]
    bare = {s.text for t in leaves for s in t.shape if isinstance(s, Size) and s.text.isidentifier()}
    known: dict[str, Size] = {}

    def size(s):
        if not isinstance(s, Size) or set(names_in(s)) <= bare:
            return s
        if s.text not in known:
            known[s.text] = Size(f"d{len(known)}")
            while known[s.text].text in bare:
                known[s.text] = Size(known[s.text].text + "_")
            sizes[known[s.text].text] = s
        return known[s.text]

    def renamed(t):
        if isinstance(t, Tree):
            return Tree(t.kind, tuple((k, renamed(part)) for k, part in t.parts))
        if isinstance(t, Weak) or not isinstance(t, Type):
            return t
        return Type(t.dtype, tuple(map(size, t.shape)))

    return {name: renamed(t) for name, t in types.items()}


def back(s, sizes: dict[str, Size]):
    """A size of the called program in the names of the calling one."""
    if isinstance(s, int):
        return s
    return canonical(re.sub(r"[A-Za-z_]\w*", lambda m: f"({sizes[m[0]]})" if m[0] in sizes else m[0], s))


def declare(e: Emitter, text: str) -> str:
    """Adds a program's text, under names that are free; gives the name of its first function."""
    names = re.findall(r"^(?:entry )?sdfg (\w+)\(", text, re.M)
    renames = {}
    for name in names:
        fresh, k = name, 0
        while fresh in e.program_names or fresh in renames.values():
            k += 1
            fresh = f"{name}_{k}"
        renames[name] = fresh
    e.program_names.update(renames.values())
    text = re.sub(r"^(?:entry )?sdfg (\w+)\(", lambda m: f"sdfg {renames[m[1]]}(", text, flags=re.M)
    text = re.sub(r"\bcall (\w+)\(", lambda m: f"call {renames.get(m[1], m[1])}(", text)
    e.programs = [*e.programs, text]
    return renames[names[0]]
