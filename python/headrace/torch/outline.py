"""What a trace computes, to be compared: traces for one size and for any size are one program where they have one outline.

PyTorch's exporter and Dynamo treat sizes of 0 and 1 as constants: a trace for a batch of 1 says nothing about other batches, nor
one for others about 1. So a trace for these sizes is made and compared, and what was compiled is used again unless the model
does something else, branches, drops dimensions or broadcasts where the others do not.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import sympy
import torch
from torch import fx

# Checks of what a trace assumes: its guards have them.
_CHECKS = ("aten._assert_scalar.default", "aten._assert_tensor_metadata.default", "aten.sym_constrain_range.default",
           "aten.sym_constrain_range_for_size.default")


@dataclass
class Outline:
    """Nodes in their order, (kind, operator, arguments, types and shapes); sizes are sympy's, tensors the number of their node."""

    nodes: list[tuple]
    inputs: list[tuple]  # types and shapes of the placeholders that are tensors


@dataclass
class Match:
    """How the sizes of a special trace are those of a general one."""

    names: dict[sympy.Symbol, sympy.Symbol]  # of the special trace → of the general one
    values: dict[sympy.Symbol, sympy.Integer]  # of the general trace, where they are constants of the special one


def outline(gm: fx.GraphModule) -> Outline:
    """Of a graph whose nodes know their values, as meta["val"] or meta["example_value"]."""
    numbers: dict[fx.Node, int] = {}
    made = Outline([], [])
    for n in gm.graph.nodes:
        v = value_of(n)
        if n.op != "output" and (is_size(v) or _is_check(n)):
            continue
        numbers[n] = len(made.nodes)
        if n.op == "placeholder":
            made.inputs.append(_described(v))
            made.nodes.append(("placeholder", "", (), _described(v)))
        elif n.op == "get_attr":
            made.nodes.append(("get_attr", "", _held(operator.attrgetter(n.target)(gm)), _described(v)))
        else:
            made.nodes.append((n.op, n.target, _arguments([n.args, n.kwargs], numbers), _described(v)))
    return made


def match(general: Outline, special: Outline) -> Match | None:
    """How `general` with the sizes of `special` is `special`; None where it isn't."""
    if len(general.nodes) != len(special.nodes) or len(general.inputs) != len(special.inputs):
        return None
    made = Match({}, {})
    for g, s in zip(general.inputs, special.inputs):
        if len(g) != len(s):
            return None
        for a, b in zip(g, s):
            if isinstance(a, sympy.Symbol) and isinstance(b, sympy.Integer) and made.values.setdefault(a, b) != b:
                return None
            if isinstance(a, sympy.Symbol) and isinstance(b, sympy.Symbol) and made.names.setdefault(b, a) != a:
                return None
    if sympy.Integer(0) in made.values.values():  # programs take their sizes to be 1 or more
        return None
    return made if all(_equal(g, s, made) for g, s in zip(general.nodes, special.nodes)) else None


def value_of(n: fx.Node) -> Any:
    return n.meta["val"] if "val" in n.meta else n.meta.get("example_value")


def is_size(v: Any) -> bool:
    return isinstance(v, (torch.SymInt, torch.SymFloat, torch.SymBool, int, float, bool))


def _is_check(n: fx.Node) -> bool:
    return str(n.target) in _CHECKS or n.target is torch._check


def _described(v: Any) -> tuple:
    if isinstance(v, torch.Tensor):
        return (str(v.dtype), *[_expression(s) for s in v.shape])
    return tuple(map(_described, v)) if isinstance(v, (tuple, list)) else ()


def _expression(s: Any) -> Any:
    """Integers and symbolic numbers are sympy's; anything else is itself."""
    if isinstance(s, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return s.node.expr
    return sympy.Integer(s) if type(s) is int else s


def _arguments(a: Any, numbers: dict[fx.Node, int]) -> Any:
    if isinstance(a, fx.Node):
        return ("node", numbers[a]) if a in numbers else _expression(value_of(a))
    if isinstance(a, slice):
        return ("slice", *[_arguments(v, numbers) for v in (a.start, a.stop, a.step)])
    if isinstance(a, (list, tuple)):
        return ("list", *[_arguments(v, numbers) for v in a])
    if isinstance(a, dict):
        return ("dict", *[(k, _arguments(a[k], numbers)) for k in sorted(a, key=str)])
    return _expression(a)


def _held(v: Any) -> Any:
    return outline(v).nodes if isinstance(v, fx.GraphModule) else v


def _equal(g: Any, s: Any, sizes: Match) -> bool:
    if isinstance(g, (tuple, list)):
        return isinstance(s, (tuple, list)) and len(g) == len(s) and all(_equal(a, b, sizes) for a, b in zip(g, s))
    if isinstance(g, torch.Tensor):
        return same_tensor(g, s)
    if isinstance(g, sympy.Basic):
        g = g.xreplace(sizes.values)
        s = s.xreplace(sizes.names).xreplace(sizes.values) if isinstance(s, sympy.Basic) else s
        return g == s or _same_number(g, s)
    return type(g) is type(s) and (g is s or bool(g == s))


def same_tensor(a: Any, b: Any) -> bool:
    return a is b or (isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) and a.dtype == b.dtype and a.shape == b.shape
                      and torch.equal(a, b))


def _same_number(g: sympy.Basic, s: Any) -> bool:
    if isinstance(g, sympy.Expr) and isinstance(s, sympy.Expr):
        return sympy.expand(g - s) == 0
    return isinstance(s, (int, float)) and not g.free_symbols and g == s
