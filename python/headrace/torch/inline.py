"""torch modules called inside of programs: `net(x, **parameters)`, with parameters and buffers as arguments, as of
torch.func.functional_call. Nothing of the module's own values is built in, so nothing grows old."""

from __future__ import annotations

import re
from typing import Any, Mapping

import torch
from torch.export import Dim
from torch.utils import _pytree as pytree

from ..errors import UnsupportedError
from ..frontend.embedded import call_sdfg
from ..frontend.emitter import Emitter
from ..frontend.sizes import Size, names_in
from ..frontend.types import IR_NAMES
from ..frontend.values import Array, Value
from ..sdfg import Sdfg
from .exporting import Exported, export
from .program import TORCH_TYPES, evaluate

_EXAMPLES = (5, 7, 11, 13, 17, 19, 23, 29)  # of sizes that calls decide


def call_module(e: Emitter, module: torch.nn.Module, args: list, named: Mapping[str, Any]) -> Any:
    """Writes a call of the module's trace for arguments of these types; what the module gives."""
    module = getattr(module, "_original", lambda: module)()
    name = type(module).__name__
    states = [n for n, _ in [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]]
    known = {re.sub(r"\W", "_", n): n for n in states} | {n: n for n in states}
    given = {known[n]: v for n, v in named.items() if n in known}
    rest = {n: v for n, v in named.items() if n not in known}
    values, spec = pytree.tree_flatten((tuple(args), rest), is_leaf=lambda v: isinstance(v, (Value, Size)))
    traced = _traced(module, values, spec)
    program, inputs = _program(name, traced)
    wanted = {k: n for k, n, _ in traced.states if k in inputs}
    if missing := [n for n in wanted.values() if n not in given]:
        raise TypeError(f"{name} is called without its {', '.join(missing[:5])}: in a program parameters are arguments, "
                        "net(x, **parameters), of a call with dict(net.named_parameters())")
    leaves = dict(traced.users)
    arguments = {inputs[k]: given[wanted[k]] if k in wanted else values[leaves[k]] for k in inputs}
    made = call_sdfg(e, name, program, arguments)
    results = [_result(name, traced.lowered.outputs[k], made, values, leaves) for k in traced.results]
    return pytree.tree_unflatten(results, traced.spec)


def _traced(module: torch.nn.Module, values: list, spec: Any) -> Exported:
    name = type(module).__name__
    numbers: dict[str, int] = {}
    examples, marks = [], []
    for v in values:
        if isinstance(v, Size):
            raise UnsupportedError(f"{name} takes a size as an argument: inside a program its arguments are arrays and numbers")
        if not isinstance(v, Value):
            examples.append(v)
            marks.append(None)
            continue
        for n in (n for s in v.shape for n in names_in(s) if not isinstance(s, int)):
            numbers.setdefault(n, _EXAMPLES[len(numbers) % len(_EXAMPLES)])
        shape = [evaluate(s if isinstance(s, int) else s.text, numbers) for s in v.shape]
        examples.append(torch.zeros(shape, dtype=TORCH_TYPES[IR_NAMES[v.dtype]]))
        marks.append({d: Dim.AUTO for d, s in enumerate(v.shape) if isinstance(s, Size)})
    args, rest = pytree.tree_unflatten(examples, spec)
    shapes: Any = False
    if any(marks):
        positional, keywords = pytree.tree_unflatten(marks, spec)
        if keywords:
            raise UnsupportedError(f"{name} has arguments by name, {', '.join(keywords)}, and sizes that a call decides: give them by position")
        shapes = tuple(positional)
    traced = export(module, args, rest, shapes, set())
    if traced.draws:
        raise UnsupportedError(f"{name} draws random numbers: inside a program call {name}.eval() before")
    if traced.buffers:
        raise UnsupportedError(f"{name} changes its buffer {traced.buffers[0][1]}: inside a program call {name}.eval() before")
    if asserted := [check.message for check in traced.checks if check.assertion]:
        raise UnsupportedError(f"{name} looks at its data, \"{asserted[0]}\": inside a program nothing can be raised for that")
    conditions = [g for g in traced.guards if g.partition(" == ")[0] != g.partition(" == ")[2]]
    limits = [f"{low} <= {s} <= {high}" for s, (low, high) in traced.ranges.items() if low > 1 or high != float("inf")]
    if any(marks) and (conditions or limits):
        raise UnsupportedError(f"{name} is the same program only for sizes with {', '.join([*conditions, *limits])}: give its arguments sizes "
                               "that are numbers")
    return traced


def _program(name: str, traced: Exported) -> tuple[Sdfg, dict[int, str]]:
    """The trace with the tensors that it holds built in; placeholder → the input's name."""
    lowered = traced.lowered
    if not lowered.text:
        raise UnsupportedError(f"{name} computes nothing")
    program = Sdfg.parse(lowered.text)
    inputs = {k: lowered.names[k] for k in lowered.arguments}
    held = {inputs.pop(k): tensor for k, tensor in traced.constants if k in inputs}
    order = [p.name for p in program.parameters if p.direction != "out"]
    held.update(zip(order[len(lowered.arguments):], lowered.constants))
    return (program.input_to_constant(**{n: t.detach().contiguous() for n, t in held.items()}) if held else program), inputs


def _result(name: str, output: Any, made: list[Array], values: list, leaves: dict[int, int]) -> Any:
    if output.kind == "program":
        return made[output.what]
    if output.kind == "constant":
        return output.what
    if output.kind == "argument" and output.what in leaves:
        return values[leaves[output.what]]
    raise UnsupportedError(f"{name} gives {output.kind} {output.what}, which is no array that it computes")
