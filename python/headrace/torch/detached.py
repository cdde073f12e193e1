"""What autograd doesn't follow: detached tensors, and parts under torch.no_grad(). It is marked before decompositions forget it.

Under torch.no_grad() tensors are read as constants, and memory that is written keeps the gradient that it had: the new numbers are
passed over, as eager code does.
"""

from __future__ import annotations

import operator
from typing import Iterator

import torch
from torch import fx

from ..errors import UnsupportedError
from .emit import COMPLEX, Value
from .pointwise import apply
from .table import OPERATORS

_DETACH = ("aten.detach.default", "aten.detach_.default")


@torch.library.custom_op("headrace::hold", mutates_args=())
def hold(x: torch.Tensor) -> torch.Tensor:
    """x, as a constant to reverse mode: what detach means."""
    return x.clone()


@hold.register_fake
def _(x):
    return torch.empty_like(x)


@torch.library.custom_op("headrace::in_place_of", mutates_args=())
def in_place_of(new: torch.Tensor, old: torch.Tensor) -> torch.Tensor:
    """new, with the gradient that old has."""
    return new.clone()


@in_place_of.register_fake
def _(new, old):
    return torch.empty_like(new)


def _in_place_of(c, new: Value, old: Value) -> Value:
    passed = "hold({0}) + ({1} - hold({1}))"
    if new.dtype in COMPLEX:
        return apply(c, new.dtype, passed, new, old)
    return apply(c, new.dtype, f"(isnan({{1}}) || isinf({{1}}) ? hold({{0}}) : {passed})", new, old)


OPERATORS["headrace.in_place_of.default"] = _in_place_of


def floats(n: fx.Node) -> bool:
    v = n.meta.get("val")
    return any(isinstance(t, torch.Tensor) and (t.is_floating_point() or t.is_complex()) for t in (v if isinstance(v, (tuple, list)) else [v]))


def hold_detached(gm: fx.GraphModule) -> None:
    for m in [s for s in gm.modules() if isinstance(s, fx.GraphModule)]:
        _refuse_written(m.graph)
        for node in list(m.graph.nodes):
            if node.op != "call_function":
                continue
            name = str(node.target)
            if name in _DETACH:
                if floats(node):
                    node.target = torch.ops.headrace.hold.default
            elif "set_grad_enabled" in name:
                if name != "wrap_with_set_grad_enabled" or node.args[0] is not False:
                    raise UnsupportedError("a module that turns gradients on within torch.no_grad()")
                _hold_part(m, node)
        m.recompile()


def _memory(n: fx.Node) -> fx.Node:
    """The node that made the memory that n is, or may be, a view of."""
    while n.op == "call_function":
        view = n.target is operator.getitem or isinstance(n.target, torch._ops.OpOverload) and any(
            r.alias_info for r in n.target._schema.returns)
        if not view or not n.args or not isinstance(n.args[0], fx.Node):
            break
        n = n.args[0]
    return n


def _writes(graph: fx.Graph) -> Iterator[tuple[fx.Node, fx.Node]]:
    """Nodes that write, and what they write to."""
    for n in graph.nodes:
        if n.op == "call_function" and isinstance(n.target, torch._ops.OpOverload) and n.target._schema.is_mutable:
            for k, a in enumerate(n.target._schema.arguments):
                given = n.args[k] if k < len(n.args) else n.kwargs.get(a.name)
                if a.alias_info and a.alias_info.is_write and isinstance(given, fx.Node):
                    yield n, given


def _refuse_written(graph: fx.Graph) -> None:
    """A detached tensor is the memory of the other; here it is a copy, so neither may be written afterwards."""
    written = {_memory(given): n for n, given in _writes(graph)}  # the last write
    for n in graph.nodes:
        last = written.get(_memory(n)) if str(n.target) in _DETACH and floats(n) else None
        if last is not None and n < last:
            raise UnsupportedError("a detached tensor is changed in place, or what it was detached from, whose memory it shares\n"
                                   f"  at {last.format_node()}\nhint: detach().clone() has memory of its own")


def _hold_part(gm: fx.GraphModule, region: fx.Node) -> None:
    """A part under torch.no_grad()."""
    graph, part = gm.graph, operator.attrgetter(region.args[1].target)(gm)
    inner = [n for n in part.graph.nodes if n.op == "placeholder"]
    operands = dict(zip(inner, region.args[2:]))
    targets = {_memory(given) for _, given in _writes(part.graph)}
    written = [a for p, a in operands.items() if p in targets]
    shared = {_memory(a) for a in written}
    raw = {p for p, a in operands.items() if isinstance(a, fx.Node) and _memory(a) in shared}
    with graph.inserting_before(region):
        region.args = (*region.args[:2], *[_held(graph, a) if p not in raw else a for p, a in operands.items()])
        before = {a: _call(graph, torch.ops.aten.clone.default, a) for a in written if floats(a)}
    _hold_results(graph, part, region, raw)
    with graph.inserting_after(region):
        for a, old in reversed(before.items()):  # each is put right behind the region
            new = _call(graph, torch.ops.headrace.in_place_of.default, a, old)
            with graph.inserting_after(new):
                _call(graph, torch.ops.aten.copy_.default, a, new)


def _call(graph: fx.Graph, target, first: fx.Node, *rest: fx.Node) -> fx.Node:
    made = graph.call_function(target, (first, *rest))
    made.meta["val"] = first.meta["val"]
    return made


def _held(graph: fx.Graph, a):
    return _call(graph, torch.ops.headrace.hold.default, a) if isinstance(a, fx.Node) and floats(a) else a


def _hold_results(graph: fx.Graph, part: fx.GraphModule, region: fx.Node, raw: set[fx.Node]) -> None:
    """Those that are no memory that the part was given and that is written."""
    results = next(n for n in part.graph.nodes if n.op == "output").args[0]
    for item in list(region.users):
        if item.target is not operator.getitem:
            raise UnsupportedError("a torch.no_grad() region whose results are used in an unknown way")
        if floats(item) and _memory(results[item.args[1]]) not in raw:
            with graph.inserting_after(item):
                held = _held(graph, item)
            item.replace_all_uses_with(held, delete_user_cb=lambda user, held=held: user is not held)
