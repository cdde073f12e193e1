"""Mixed precision as torch.autocast has it: a module is traced under it, so that its own lists decide what is narrow."""

from __future__ import annotations

import contextlib
from typing import Any, ContextManager

import torch
from torch import fx
from torch.amp.autocast_mode import _enter_autocast, _exit_autocast

NARROW = {"bf16": torch.bfloat16, "f16": torch.float16}


def narrow(autocast: str) -> ContextManager:
    """The context that `autocast="bf16"` means; none for ""."""
    return torch.autocast("cpu", NARROW[autocast]) if autocast else contextlib.nullcontext()


def narrowed(gm: fx.GraphModule, autocast: str) -> fx.GraphModule:
    """Dynamo's graph under autocast, as Dynamo writes it; results have the types that Dynamo knows of."""
    graph, known = fx.Graph(), {}
    results = graph.graph_copy(gm.graph, known)
    for n, copied in known.items():
        if hasattr(n, "_dynamo_source"):  # AOTAutograd asks inputs for it
            copied._dynamo_source = n._dynamo_source
    inputs = [n for n in graph.nodes if n.op == "placeholder"]
    after = inputs[-1].next if inputs else next(iter(graph.nodes), None)
    with graph.inserting_before(after):
        mode = graph.call_function(_enter_autocast, ("cpu", NARROW[autocast], True, None))
    graph.call_function(_exit_autocast, (mode,))

    def as_it_was(n: fx.Node) -> Any:
        value = n.meta.get("example_value")
        if n.op == "placeholder" or not isinstance(value, torch.Tensor) or value.dtype != torch.float32:
            return n
        return graph.call_method("to", (n, torch.float32))

    graph.output(fx.node.map_arg(results, as_it_was))
    made = fx.GraphModule(gm, graph)
    made.meta.update(gm.meta)
    if hasattr(gm, "_param_name_to_source"):
        made._param_name_to_source = gm._param_name_to_source
    return made
