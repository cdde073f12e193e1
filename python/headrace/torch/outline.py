"""What a trace computes, to be compared: traces for one size and for any size are one program where they have one outline.

PyTorch's exporter and Dynamo treat sizes of 0 and 1 as constants: a trace for a batch of 1 says nothing about other batches, nor
one for others about 1. So a trace for these sizes is made and compared, and what was compiled is used again unless the model
does something else, branches, drops dimensions or broadcasts where the others do not.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, Callable

import sympy
import torch
from torch import fx

# Checks of what a trace assumes: its guards have them.
_CHECKS = ("aten._assert_scalar.default", "aten._assert_tensor_metadata.default", "aten.sym_constrain_range.default",
           "aten.sym_constrain_range_for_size.default")

# Views that are their base where they have its shape; by the name of export, or of Dynamo's methods.
_VIEWS = ("aten.expand.default", "aten.slice.Tensor", "expand")


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
    if len(general.inputs) != len(special.inputs):
        return None
    made, told = Match({}, {}), {}  # told: of the general trace → of the special one, where equal sizes must be equal, too
    for g, s in zip(general.inputs, special.inputs):
        if len(g) != len(s):
            return None
        for a, b in zip(g, s):
            if isinstance(a, sympy.Symbol) and isinstance(b, (sympy.Symbol, sympy.Integer)) and told.setdefault(a, b) != b:
                return None
            if isinstance(a, sympy.Symbol) and isinstance(b, sympy.Symbol) and made.names.setdefault(b, a) != a:
                return None
    made.values.update((a, b) for a, b in told.items() if isinstance(b, sympy.Integer))
    if sympy.Integer(0) in made.values.values():  # programs take their sizes to be 1 or more
        return None
    ours = _without_identities(general.nodes, lambda size: size.xreplace(made.values))
    theirs = _without_identities(special.nodes, lambda size: size)
    return made if len(ours) == len(theirs) and all(_equal(g, s, made) for g, s in zip(ours, theirs)) else None


def _without_identities(nodes: list[tuple], size_of: Callable[[sympy.Basic], sympy.Basic]) -> list[tuple]:
    """The nodes, without views that with these sizes are their own base: expand to a batch of 1, say, which models do only where
    the batch isn't 1. Results of the graph keep them, for whether one is an argument or a view of it is seen from outside."""
    shapes = [_mapped(described, size_of) for *_, described in nodes]
    places: dict[int, int] = {}  # node → its place among those that remain, or its base's
    kept: list[tuple] = []
    named = _results(nodes)
    for k, (kind, target, arguments, described) in enumerate(nodes):
        base = _base(target, arguments)
        if base is not None and k not in named and shapes[base] == shapes[k]:
            places[k] = places[base]
            continue
        places[k] = len(kept)
        kept.append((kind, target, _placed(arguments, places), described))
    return kept


def _results(nodes: list[tuple]) -> set[int]:
    """The nodes that are results of the graph."""
    found, rest = set(), [a for kind, _, a, _ in nodes if kind == "output"]
    while rest:
        a = rest.pop()
        if isinstance(a, tuple) and len(a) == 2 and a[0] == "node":
            found.add(a[1])
        elif isinstance(a, tuple):
            rest += a
    return found


def _base(target: Any, arguments: Any) -> int | None:
    """Of what node this one is a view that is the same where its shape is."""
    if target is not operator.getitem and str(target) not in _VIEWS:
        return None
    first, *rest = arguments[1][1:]  # of ("list", ("list", first, …), ("dict", …))
    if target is operator.getitem:
        indices = rest[0][1:] if isinstance(rest[0], tuple) and rest[0][0] == "list" else (rest[0],)
        if not all(isinstance(i, tuple) and i[0] == "slice" for i in indices):
            return None
    return first[1] if _is_node(first) else None


def _is_node(a: Any) -> bool:
    return isinstance(a, tuple) and len(a) == 2 and a[0] == "node"


def _placed(a: Any, places: dict[int, int]) -> Any:
    if _is_node(a):
        return ("node", places[a[1]])
    return tuple(_placed(v, places) for v in a) if isinstance(a, tuple) else a


def _mapped(described: Any, size_of: Callable[[sympy.Basic], sympy.Basic]) -> Any:
    if isinstance(described, tuple):
        return tuple(_mapped(d, size_of) for d in described)
    return size_of(described) if isinstance(described, sympy.Basic) else described


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
