"""Gradients of programs as objects: `add_backward_pass` changes a program, `make_backward_function` makes two of one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping, Sequence

from .sdfg import Sdfg, names_of

_FLOATS = ("f16", "bf16", "f32", "f64", "c64", "c128")


@dataclass
class BackwardResult:
    """Names: `required_grad_names` {input: the output that holds its gradient}, `given_grad_names` {output: the input that takes
    its gradient}. `report` says what is kept of the forward pass and what is recomputed. `program`: what a BackwardImplementation
    gives, whose names these are."""

    required_grad_names: dict[str, str] = field(default_factory=dict)
    given_grad_names: dict[str, str] = field(default_factory=dict)
    report: dict = field(default_factory=dict)
    program: Any = None


def add_backward_pass(sdfg: Sdfg, outputs: Sequence[str], inputs: Sequence[str], *, given: Sequence[str] = (),
                      sizes: Mapping[str, int] | None = None, memory_limit: int | None = None) -> BackwardResult:
    """Adds to `sdfg` the gradients of the sum of `outputs` by each of `inputs`, as further outputs; the outputs stay. Outputs in
    `given` take the gradient that arrives at them as a further argument. `memory_limit`: bytes of what is kept and recomputed, at
    `sizes`. Raises UnsupportedError where something has neither a rule nor a pure form that can be differentiated."""
    if not isinstance(sdfg, Sdfg):
        raise TypeError(f"add_backward_pass changes a headrace.Sdfg, not {type(sdfg).__name__}; headrace.grad differentiates functions")
    found = sdfg.gradient(outputs, inputs, given=given, keep_outputs=True, sizes=sizes, memory_limit=memory_limit)
    sdfg._changes()
    sdfg._program = found.program._program
    return BackwardResult(found.input_gradients, found.output_gradients, found.report)


def make_backward_function(model: Any, outputs: Sequence[str] | None = None,
                           inputs: Sequence[str] | None = None) -> tuple[Sdfg, Sdfg, BackwardResult]:
    """(forward, backward, names) of an Sdfg, an annotated @headrace.program or a headrace.ONNXModel, which is left as it is.

    forward gives the model's outputs, and after them what backward needs; backward takes what it needs of the arguments and of
    these, by name, and the gradients of `outputs`, and gives those of `inputs`. Without `outputs` and `inputs` these are all of
    floats. An ONNXModel's weights may be among `inputs`: they are then arguments of both programs, which are made of the model anew,
    without changes of `model.sdfg`."""
    from .onnx.model import ONNXModel

    names: dict[str, str] = {}
    if isinstance(model, ONNXModel):
        weights = [n for n in inputs or [] if n in model.weights]
        program = model.sdfg
        names = {original: ours for ours, original in model._main().names.items()}
        if weights:
            program, names = model.with_inputs(weights)
    else:
        program = getattr(model, "sdfg", model)
    if not isinstance(program, Sdfg):
        raise TypeError(f"make_backward_function takes a program or a model, not {type(model).__name__}")
    chosen = [_chosen(program, given, direction, names) for given, direction in ((outputs, "out"), (inputs, "in"))]
    forward, backward = program.separate_gradient(*chosen)
    theirs = {ours: original for original, ours in names.items()}
    return forward, backward.program, BackwardResult({theirs.get(n, n): g for n, g in backward.input_gradients.items()},
                                                     {theirs.get(n, n): g for n, g in backward.output_gradients.items()},
                                                     backward.report)


def _chosen(program: Sdfg, given: Sequence[str] | None, direction: str, names: Mapping[str, str]) -> list[str]:
    if given is not None:
        return [names.get(n, n) for n in names_of(given, "outputs" if direction == "out" else "inputs")]
    return [p.name for p in program.parameters if p.type in _FLOATS and p.direction in (direction, "inout")]
