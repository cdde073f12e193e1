"""A graph of ATen operators as programs, as few as possible; what programs don't know stays in torch."""

from __future__ import annotations

import logging
from typing import Any, Callable

import torch
from torch import fx
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from ..counters import count
from ..errors import HeadraceError, UnsupportedError
from .checks import asserts
from .lower import lower, probe
from .program import GraphProgram
from .randomness import draws, split_dropout

log = logging.getLogger("headrace.torch")


class Support(OperatorSupportBase):
    """Which nodes may be parts of programs; remembers why the others may not."""

    def __init__(self):
        self.reasons: dict[fx.Node, str] = {}
        self._known: dict[fx.Node, bool] = {}

    def is_node_supported(self, submodules, node: fx.Node) -> bool:
        if node not in self._known:
            self._known[node] = self._look(node)
        return self._known[node]

    def _look(self, node: fx.Node) -> bool:
        if node.op != "call_function" or not computes(node):
            return False
        if getattr(node.target, "__name__", "") == "getitem":
            producer = node.args[0]
            return isinstance(producer, fx.Node) and self.is_node_supported(None, producer)
        try:
            probe(node)
        except UnsupportedError as e:
            self.reasons[node] = str(e)
            return False
        except (TypeError, ValueError, IndexError, KeyError, AttributeError) as e:  # a form of the operator that the table doesn't foresee
            self.reasons[node] = f"{type(e).__name__}: {e}"
            return False
        return True


def is_size(node: fx.Node) -> bool:
    return isinstance(node.meta.get("val"), (torch.SymInt, torch.SymFloat, torch.SymBool, int, float, bool))


def computes(node: fx.Node) -> bool:
    """Whether a node is a program's to know: torch draws random numbers, and raises what it asserts of data, by itself."""
    return not draws(node) and not is_size(node) and not asserts(node)


class Part(torch.nn.Module):
    """A program in the place of a part of the graph."""

    def __init__(self, program: GraphProgram, single: bool):
        super().__init__()
        self.program, self.single = program, single

    def forward(self, *args):
        made = self.program(*args)
        return made[0] if self.single else tuple(made)


def compile_graph(gm: fx.GraphModule, *, whole: bool = False, **options: Any) -> Callable:
    """A function of the graph's arguments that gives the list of its results. `whole`: an operator that programs don't know is
    an UnsupportedError, not a part that runs eagerly."""
    split_dropout(gm)
    support = Support()
    computing = [n for n in gm.graph.nodes if n.op == "call_function" and computes(n)]
    refused = [n for n in computing if not support.is_node_supported(None, n) and n in support.reasons]
    count("torch.compile", "graphs")
    for n in refused:
        count("torch.fallback", str(n.target))
        log.info("%s runs eagerly: %s", n.target, support.reasons[n])
    if whole and refused:
        raise UnsupportedError("fullgraph=True, and programs don't know\n  " + "\n  ".join(
            f"{n.target}: {support.reasons[n]}" for n in refused))
    if not any(draws(n) or asserts(n) for n in gm.graph.nodes) and not refused:
        if not computing:
            return gm
        try:
            return _program(gm, options)
        except HeadraceError as e:
            _failed(e, whole)
            return gm
    return _partitioned(gm, support, whole, options)


def _program(gm: fx.GraphModule, options: dict) -> GraphProgram:
    made = GraphProgram(lower(gm), **options)
    count("torch.compile", "programs")
    return made


def _failed(e: HeadraceError, whole: bool) -> None:
    if whole:
        raise e
    count("torch.fallback", "a program that could not be compiled")
    log.warning("a part of the graph runs eagerly: %s", e)


def _partitioned(gm: fx.GraphModule, support: Support, whole: bool, options: dict) -> fx.GraphModule:
    partitioner = CapabilityBasedPartitioner(gm, support, allows_single_node_partition=True)
    fused = partitioner.fuse_partitions(partitioner.propose_partitions())
    for node in list(fused.graph.nodes):
        if node.op != "call_module":
            continue
        part = fused.get_submodule(node.target)
        output = next(n for n in part.graph.nodes if n.op == "output").args[0]
        try:
            program = _program(part, options)
        except HeadraceError as e:
            _failed(e, whole)
            continue
        parent, _, name = node.target.rpartition(".")
        setattr(fused.get_submodule(parent), name, Part(program, isinstance(output, fx.Node)))
    fused.recompile()
    return fused
