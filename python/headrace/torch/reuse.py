"""Graphs of Dynamo that were compiled for any size, for those of sizes 0 and 1, which Dynamo takes for constants: it calls the
backend again, and where that graph is an earlier one with its sizes, nothing is compiled."""

from __future__ import annotations

import weakref
from typing import Any, Callable, Sequence

import torch
from torch import fx
from torch._guards import detect_fake_mode

from ..counters import count
from .outline import Match, Outline, is_size, match, outline, value_of

_compiled: weakref.WeakSet[Compiled] = weakref.WeakSet()  # by Dynamo's cache alive


class Compiled:
    """What the backend made of a graph, which other graphs may call."""

    def __init__(self, graph: Graph, function: Callable):
        self.graph, self.function = graph, function
        _compiled.add(self)

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)


class Graph:
    """A graph as the backend is given it: its outline and whatever else compiled code depends on."""

    def __init__(self, gm: fx.GraphModule, example_inputs: Sequence[Any], options: Any):
        self.placeholders = [value_of(n) for n in gm.graph.nodes if n.op == "placeholder"]
        self.tensors = [v for v in self.placeholders if isinstance(v, torch.Tensor)]
        mode = detect_fake_mode(example_inputs)
        self.sizes = mode.shape_env if mode else None
        # Modules and tensors that a graph holds are not among its arguments.
        self.alone = all(n.op not in ("call_module", "get_attr") for n in gm.graph.nodes) and self.sizes is not None and all(
            is_size(v) or isinstance(v, torch.Tensor) for v in self.placeholders)
        self.outline: Outline | None = outline(gm) if self.alone else None
        storages = [t.untyped_storage()._cdata for t in self.tensors]
        self.context = (repr(options), torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cpu"),
                        torch.get_autocast_dtype("cpu"), torch.get_default_dtype(),
                        [(t.requires_grad, type(t), storages.index(s)) for t, s in zip(self.tensors, storages)])


def earlier(graph: Graph) -> Callable | None:
    """A compiled graph that this one is with its sizes, as a function of this one's arguments."""
    if not graph.alone:
        return None
    for known in list(_compiled):
        if known.graph.alone and known.graph.context == graph.context:
            sizes = match(known.graph.outline, graph.outline)
            if sizes is not None and _same_strides(known.graph, graph, sizes) and _holds(known.graph, graph, sizes):
                places = _places(known.graph)
                if places is not None:
                    count("torch.compile", "sizes admitted")
                    return _Again(known, places, [k for k, v in enumerate(graph.placeholders) if isinstance(v, torch.Tensor)])
    return None


class _Again:
    """Calls compiled code with the sizes that it takes as arguments."""

    def __init__(self, known: Compiled, places: list, tensors: list[int]):
        self._known, self._places, self._tensors = known, places, tensors

    def __call__(self, *args: Any) -> Any:
        tensors = [args[k] for k in self._tensors]
        return self._known(*[tensors[p] if type(p) is int else tensors[p[0]].shape[p[1]] for p in self._places])


def _places(graph: Graph) -> list | None:
    """For each placeholder which tensor it is, or of which one's dimension the size; None where a number is something else."""
    found: dict[Any, tuple[int, int]] = {}
    for k, t in enumerate(graph.tensors):
        for d, s in enumerate(t.shape):
            if isinstance(s, torch.SymInt):
                found.setdefault(s.node.expr, (k, d))
    places: list = []
    for v in graph.placeholders:
        if isinstance(v, torch.Tensor):
            places.append(sum(type(p) is int for p in places))
        elif isinstance(v, torch.SymInt) and v.node.expr in found:
            places.append(found[v.node.expr])
        else:
            return None
    return places


def _same_strides(general: Graph, special: Graph, sizes: Match) -> bool:
    def text(s: Any) -> Any:
        return s.node.expr.xreplace(sizes.names).xreplace(sizes.values) if isinstance(s, torch.SymInt) else s

    return all(type(size) is int and size == 1 or text(a) == text(b) for g, s in zip(general.tensors, special.tensors)
               for size, a, b in zip(s.shape, g.stride(), s.stride()))


def _holds(general: Graph, special: Graph, sizes: Match) -> bool:
    """Whether the sizes are those the general graph is for; what of that can change becomes a condition of the special one."""
    back = {g: s for s, g in sizes.names.items()}
    inputs = {s for v in general.placeholders for n in (v.shape if isinstance(v, torch.Tensor) else [v]) if isinstance(n, torch.SymInt)
              for s in n.node.expr.free_symbols}
    for guard in general.sizes.guards:
        condition = guard.expr.xreplace(sizes.values).xreplace(back)
        # Numbers that are no arguments of the graph were made constants of it, which are compared.
        if condition == True or not guard.expr.free_symbols & inputs:  # noqa: E712: sympy's
            continue
        if condition == False or not condition.free_symbols <= set(back.values()):  # noqa: E712
            return False
        if not special.sizes.evaluate_expr(condition):
            return False
    return True
