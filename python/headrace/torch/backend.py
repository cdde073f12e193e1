"""torch.compile(model, backend="headrace").

Dynamo's graphs go through AOTAutograd, which takes aliases, mutations and gradients away; each of its graphs, forward, backward
or inference, becomes as few programs as possible. AOTAutograd's backward graphs rather than our reverse mode: they are there
whatever operators the model has, and a graph with operators that programs don't know is differentiated all the same.
"""

from __future__ import annotations

import difflib
import functools
from typing import Any

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func

from ..compiled import check_autocast
from ..counters import count
from ..errors import UsageError
from .exporting import decompositions
from .floats import floats_that_change
from .meanings import right_gradients
from .partition import compile_graph
from .precision import narrowed
from .reuse import Compiled, Graph, earlier

#: What `mode` means here: programs are compiled the same way in each.
MODES = {
    "default": "programs as they are",
    "reduce-overhead": "the same: a call has no kernel launches whose overhead could go",
    "max-autotune": "the same: kernels are chosen without trying them out",
    "max-autotune-no-cudagraphs": "the same",
    "lite": "the same",
}
OPTIONS = {
    "threads": "how many threads a program uses; 0 = all",
    "backend": '"cpu", or "interpreter", which needs no compiler and is slow',
    "keep_denormals": "True: exact with floats below 1.2e-38, too, which are zero by default, and slower where they occur",
    "autocast": '"bf16" or "f16": as under torch.autocast("cpu"); results have the types that they have without it',
    "fallback": "False: an operator that programs don't know is an error",
}


def check(mode: str | None, options: dict | None) -> dict:
    if mode is not None and mode not in MODES:
        raise UsageError(f"mode is {mode!r}; there are {', '.join(MODES)}{_meant(mode, MODES)}")
    options = dict(options or {})
    for name in options:
        if name not in OPTIONS:
            raise UsageError(f"no option {name!r}; there are {', '.join(OPTIONS)}{_meant(name, OPTIONS)}")
    return options


def _meant(name: str, known) -> str:
    close = difflib.get_close_matches(str(name), list(known), n=1)
    return f". hint: did you mean {close[0]!r}?" if close else ""


def _fullgraph() -> bool:
    """Whether torch.compile was called with fullgraph=True."""
    from torch._dynamo.symbolic_convert import InstructionTranslator

    try:
        return bool(InstructionTranslator.current_tx().one_graph)
    except AttributeError:  # the graph did not come from Dynamo
        return False


@functools.lru_cache(maxsize=1)
def _table() -> dict:
    from torch._decomp import core_aten_decompositions, get_decompositions

    aten = torch.ops.aten
    table = decompositions(core_aten_decompositions())
    table |= get_decompositions([aten.narrow_copy, aten.batch_norm_backward])
    # Its second result is taken from another algorithm, which the gradient would not know.
    return {k: v for k, v in table.items() if "_scaled_dot_product" not in str(k)}


def headrace(gm: torch.fx.GraphModule, example_inputs: list, *, mode: str | None = None, options: dict | None = None) -> Any:
    """The backend: `mode` and `options` as in MODES and OPTIONS. UsageError for what is in neither."""
    options = check(mode, options)
    whole = not options.pop("fallback", True) or _fullgraph()
    autocast = check_autocast(options.pop("autocast", None))

    def compiler(graph: torch.fx.GraphModule, _inputs: list) -> Any:
        return make_boxed_func(compile_graph(graph, whole=whole, **options))

    count("torch.compile", "calls of the backend")
    graph = Graph(gm, example_inputs, (whole, options, autocast))
    known = earlier(graph)
    if known is not None:
        return known
    from functorch.compile import min_cut_rematerialization_partition

    with right_gradients(), floats_that_change():
        made = aot_autograd(fw_compiler=compiler, decompositions=_table(), partition_fn=min_cut_rematerialization_partition)(
            narrowed(gm, autocast) if autocast else gm, example_inputs)
    return Compiled(graph, made)


def register() -> None:
    """Makes backend="headrace" known where no entry point does, for the package is no installed wheel."""
    from importlib.metadata import entry_points

    from torch._dynamo.backends.registry import _COMPILER_FNS, register_backend

    if "headrace" not in _COMPILER_FNS and "headrace" not in entry_points(group="torch_dynamo_backends").names:
        register_backend(headrace, name="headrace")
