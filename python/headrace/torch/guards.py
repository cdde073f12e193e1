"""Checks of a call's arguments and of its module's state, written as functions of their own: they run before every call."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Callable, Sequence

import torch

if TYPE_CHECKING:
    from .exporting import Conditions


def made(signature: str, lines: Sequence[str], names: dict) -> Callable:
    """The function with this body, in a scope with these names."""
    scope = dict(names)
    body = "\n".join("    " + line for line in lines)
    exec(f"def {signature}:\n{body}", scope)  # noqa: S102: of our own text
    return scope[signature.partition("(")[0]]


def fitting(conditions: Conditions) -> Callable[[Sequence], bool]:
    """Whether arguments have sizes that a trace is for, as one function."""
    e, lines, checks, bound = conditions, [], [], set()
    for k, shape in e.shapes.items():
        lines.append(f"a{k} = leaves[{k}].shape")
        if all(type(s) is int for s in shape):
            checks.append(f"a{k} == {shape!r}")
            continue
        for d, s in enumerate(shape):
            if type(s) is str and s.isidentifier() and s not in bound:
                bound.add(s)
                lines.append(f"{s} = a{k}[{d}]")
            else:
                checks.append(f"a{k}[{d}] == {s}")
    for s, (low, high) in e.ranges.items():
        if s in bound:
            checks.append(f"{low} <= {s}" + (f" <= {high}" if high != float("inf") else ""))
    for code in e.guards:
        text = re.sub(r"L\['(\w+)'\]\.size\(\)\[(\d+)\]", lambda m: f"(a{e.names.index(m[1])}[{m[2]}])", code)
        left, equal, right = text.partition(" == ")
        if "L[" in text:
            checks.append(f"guard({code!r}, leaves)")
        elif not (equal and left == right):
            checks.append(f"({text})")

    known = {"math": math, "torch": torch}  # what torch's own texts take

    def guard(code: str, leaves: Sequence) -> bool:
        """torch's own text, of the arguments by name."""
        return bool(eval(code, {"L": dict(zip(e.names, leaves)), **known}))  # noqa: S307

    return made("fits(leaves)", [*lines, f"return {' and '.join(checks) or 'True'}"], {"guard": guard, **known})


def same_call(args: tuple, parts: Any, sizes: Callable[[Sequence], bool]) -> Callable[[tuple], bool]:
    """Whether a call is like the one with `args`, which are tensors: number, types and dtypes of its arguments, autocast, and of
    the module its parts, what each is training or not, and types and shapes of its parameters. `sizes(arguments)` says
    whether their shapes fit. What this says no to is looked at in full."""
    names: dict[str, Any] = {"Tensor": torch.Tensor, "Parameter": torch.nn.Parameter, "autocast": torch.is_autocast_enabled,
                             "sizes": sizes}
    lines, conditions = [f"if len(args) != {len(args)}: return False"], []
    if args:
        lines.append(", ".join(f"a{k}" for k in range(len(args))) + ", = args")
    for k, a in enumerate(args):
        names[f"t{k}"] = a.dtype
        conditions.append(f"(type(a{k}) is Tensor or type(a{k}) is Parameter) and a{k}.dtype is t{k} and a{k}.dim() == {a.dim()}")
    conditions.append(f"autocast('cpu') is {torch.is_autocast_enabled('cpu')}")
    if torch.is_autocast_enabled("cpu"):
        names["narrow"], names["narrow_now"] = torch.get_autocast_dtype("cpu"), torch.get_autocast_dtype
        conditions.append("narrow_now('cpu') is narrow")
    for n, state in enumerate(parts.states[:1]):
        names[f"m{n}"] = state
        conditions.append(f"m{n}['training'] is {state['training']}")
    lines.append(f"if not ({' and '.join(conditions)}): return False")
    if len(parts.states) > 1:
        names["states"] = [(s, s["training"]) for s in parts.states[1:]]
        lines += ["for state, training in states:", "    if state['training'] is not training: return False"]
    if parts.children:
        names["children"] = list(parts.children)
        lines += ["for parent, name, child in children:", "    if parent.get(name) is not child: return False"]
    if parts.parameters:
        names["owners"] = [(o, len(o)) for o in parts.parameters]
        names["parameters"] = [(o, name, None if p is None else p.dtype, None if p is None else p.shape)
                               for o in parts.parameters for name, p in o.items()]
        lines += ["for owner, count in owners:", "    if len(owner) != count: return False",
                  "for owner, name, dtype, shape in parameters:", "    p = owner.get(name)",
                  "    if p is None:", "        if dtype is not None: return False",
                  "    elif p.dtype is not dtype or p.shape != shape: return False"]
    return made("same(args)", [*lines, "return sizes(args)"], names)
