"""Floats among the arguments of a graph of Dynamo. AOTAutograd takes them into its graphs as tensors where the operator has that form; of
others it builds the first call's number in and, where the same float is a tensor elsewhere, Dynamo is not told: the next call's number
would be forgotten. It is told here, and makes a graph for each."""

from __future__ import annotations

import contextlib
from typing import Any, Iterator

import sympy
import torch
from torch._dynamo.exc import TensorifyScalarRestartAnalysis
from torch._dynamo.symbolic_convert import TensorifyState
from torch._functorch._aot_autograd import graph_compile
from torch._guards import detect_fake_mode
from torch.fx.passes import _tensorify_python_scalars as tensorify
from torch.utils._sympy.symbol import SymT, symbol_is_type

from .replaced import replaced


@contextlib.contextmanager
def floats_that_change() -> Iterator[None]:
    """Around a compilation by AOTAutograd."""
    built_in: set[str] = set()
    guard, convert = tensorify.guard_scalar, graph_compile._apply_tensorify_python_scalars

    def guarded(value: Any) -> Any:
        built_in.update(_floats(value.node.expr))
        return guard(value)

    def converted(graph: torch.fx.GraphModule) -> None:
        convert(graph)
        mode = detect_fake_mode()
        built_in.update(_decided(mode.shape_env) if mode is not None and mode.shape_env is not None else ())
        if new := {name for name in built_in if not TensorifyState.should_specialize(name)}:
            for name in new:
                TensorifyState.specialize(name)
            raise TensorifyScalarRestartAnalysis

    with replaced((tensorify, "guard_scalar", guarded), (graph_compile, "_apply_tensorify_python_scalars", converted)):
        yield


def _floats(e: sympy.Basic) -> set[str]:
    return {str(s) for s in e.free_symbols if symbol_is_type(s, SymT.FLOAT)}


def _decided(sizes: Any) -> set[str]:
    """Those that are taken for a number already."""
    equal = [g.expr for g in sizes.guards if isinstance(g.expr, sympy.Eq)]
    return set().union(*map(_floats, [*equal, *sizes.replacements]))
