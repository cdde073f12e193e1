"""What a model asserts of its data, and library routines that may fail: a program raises nothing, so what they look at becomes
further results, which are looked at after the run."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Callable

import torch
from torch import fx
from torch.export.graph_signature import OutputKind

CHECKS = ("aten._assert_async.msg", "aten._assert_async.default")
EFFECTS = ("aten._linalg_check_errors.default",)  # checks that a trace orders by tokens


@dataclass
class Check:
    """A further result that is looked at after the run."""

    result: int
    message: str
    look: Callable[[torch.Tensor], None]  # raises
    assertion: bool  # of the model; else a library's routine may fail, and its results have infinities and NaN then


def asserts(node: fx.Node) -> bool:
    """Whether a node computes nothing, and raises where data is not what the model needs."""
    return str(node.target) in CHECKS or str(node.target) == "with_effects" and str(node.args[1]) in EFFECTS


def without_tokens(gm: fx.GraphModule, specs: list) -> list:
    """Takes the tokens from the graph's results; the specifications of the others."""
    output = next(n for n in gm.graph.nodes if n.op == "output")
    kept = [(r, spec) for r, spec in zip(output.args[0], specs, strict=True) if spec.kind != OutputKind.TOKEN]
    output.args = (tuple([r for r, _ in kept]),)
    return [spec for _, spec in kept]


def to_results(gm: fx.GraphModule) -> list[Check]:
    """What torch asserts of data, such as the classes of one_hot, becomes further results: a program has no errors of its own."""
    output = next(n for n in gm.graph.nodes if n.op == "output")
    results, checks = list(output.args[0]), []
    for node in [n for n in gm.graph.nodes if n.op == "call_function" and asserts(n)]:
        if str(node.target) in CHECKS:
            given, message = node.args[0], node.args[1] if len(node.args) > 1 else "Expected Tensor with single nonzero value"
            checks.append(Check(len(results), message, functools.partial(_must_be_true, message), True))
        else:
            token, check, given, *rest = node.args
            for item in list(node.users):  # the next token
                item.replace_all_uses_with(token)
                gm.graph.erase_node(item)
            look = functools.partial(_looked_at, check, tuple(rest), dict(node.kwargs))
            checks.append(Check(len(results), f"{rest[0]} may fail", look, False))
        results.append(given)
        gm.graph.erase_node(node)
    output.args = (tuple(results),)
    return checks


def _must_be_true(message: str, value: torch.Tensor) -> None:
    if not value:
        raise RuntimeError(message)


def _looked_at(check: Any, rest: tuple, named: dict, value: torch.Tensor) -> None:
    check(value, *rest, **named)
