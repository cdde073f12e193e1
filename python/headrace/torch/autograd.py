"""Programs as functions of torch's autograd.

The forward program gives the results and what the backward program needs (a tape); the backward program takes that tape and the
gradients of the results. Both are made of one program by `Sdfg.separate_gradient`. Where a second derivative is asked
for, the backward step runs as a program of its own, forward pass included, which is a function of autograd in turn.
"""

from __future__ import annotations

import math
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Callable, Mapping, Sequence

import torch

from ..counters import count
from ..sdfg import Gradient, Sdfg
from .emit import COMPLEX, FLOATS
from .program import TORCH_TYPES, Runner
from .transformed import Transformed, conjugate, each_of_batch, gradients_of, in_transform, refuse_forward_mode


COMPILED = "the module is compiled, and would not see the change: change its programs after trace_call(), or in a hook, or call reset()"


@dataclass
class Pair:
    """A forward and a backward program for one set of inputs that take gradients."""

    forward: Runner
    backward: Runner
    outputs: int  # results of the function itself; the tape follows them
    takes: list[tuple[str, int]]  # arguments of the backward program: ("saved", k), ("gradient", output k)
    inputs: list[int]  # inputs that are saved
    kept: list[int]  # results of the forward program that are saved
    wanted: list[int]  # inputs whose gradients the backward program gives, in its order
    constant: list[int]  # outputs that no gradient flows to
    owner: Any


class Differentiable:
    """A program whose inputs and outputs are tensors.

    `reach`: for each output the inputs that it depends on differentiably; None: all. `hook(forward, backward)` may look at and
    change both programs before they are compiled.
    """

    def __init__(self, sdfg: Sdfg, *, reach: list[set[int]] | None = None, backend: str = "cpu", threads: int = 0,
                 hook: Callable[[Sdfg, Sdfg], None] | None = None, debug: Mapping[str, Any] | None = None):
        self.sdfg, self._hook = sdfg, hook
        self._options, self._debug = {"backend": backend, "threads": threads}, dict(debug or {})
        parameters = sdfg.parameters
        self.inputs = [p.name for p in parameters if p.direction == "in"]
        self.outputs = [p.name for p in parameters if p.direction == "out"]
        kinds = {p.name: p.type for p in parameters}
        self.sources = {s: (k, d) for k, n in reversed(list(enumerate(self.inputs))) for d, s in enumerate(_shape(parameters, n))
                        if isinstance(s, str) and s.isidentifier()}
        self.types = [TORCH_TYPES[kinds[n]] for n in self.outputs]
        self.complex = any(kinds[n] in COMPLEX for n in [*self.inputs, *self.outputs])
        self.smooth = [kinds[n] in FLOATS or kinds[n] in COMPLEX for n in self.outputs]
        self.seeds: dict[str, int] = {}  # of a joint gradient: its argument → which output's gradient that is
        self.gradients: dict[str, int] = {}  # and its output → which input's gradient
        everything = set(range(len(self.inputs)))
        self.reach = reach or [everything if s else set() for s in self.smooth]
        self._plain: Runner | None = None
        self._pairs: dict[tuple, Pair] = {}
        self._programs: dict[tuple, tuple[Sdfg, Gradient]] = {}  # forward and backward, by inputs that take gradients
        self._joint: dict[tuple, Differentiable] = {}
        self._lock = threading.Lock()

    # ---- calls ----
    def __call__(self, tensors: Sequence[torch.Tensor], skip: frozenset = frozenset()) -> tuple:
        if in_transform():
            return self._transformed(tensors, skip)
        if torch.is_grad_enabled():
            wanted = tuple([k for k, t in enumerate(tensors) if t.requires_grad and k not in skip])
            if wanted:
                pair = self._pairs.get(wanted) or self.pair(wanted)
                if pair is not None:
                    return _apply(pair, *tensors)
        plain = self._plain or self.plain()
        if plain.direct is not None:
            return plain.direct(*tensors)
        return plain.run(tensors, None, self.sizes_for(plain, tensors) if plain.sizes else None)

    def _transformed(self, tensors: Sequence[torch.Tensor], skip: frozenset) -> tuple:
        wanted = tuple([k for k, t in enumerate(tensors) if t.requires_grad and k not in skip]) if torch.is_grad_enabled() else ()
        return Transformed.apply(self, self.pair(wanted) if wanted else None, *tensors)[:len(self.outputs)]

    def sizes_for(self, runner: Runner, tensors: Sequence[torch.Tensor]) -> list[int] | None:
        """Sizes that the program's own arguments don't tell."""
        if not runner.sizes:
            return None
        return [tensors[k].shape[d] for k, d in (self.sources[s] for s in runner.sizes)]

    def plain(self) -> Runner:
        if self._plain is None:
            with self._lock:
                if self._plain is None:
                    count("torch.module", "programs")
                    self._plain = Runner(self.sdfg, **self._options, **self._debug)
                    self.sdfg.fix(COMPILED)
        return self._plain

    def pair(self, wanted: tuple) -> Pair | None:
        """None where no output depends on the wanted inputs."""
        found = self._pairs.get(wanted)
        if found is None:
            with self._lock:
                found = self._pairs.get(wanted)
                if found is None and any(r & set(wanted) for r in self.reach):
                    found = self._pairs[wanted] = self._differentiate(wanted)
        return found

    def _targets(self, wanted: Sequence[int]) -> tuple[list[int], list[int]]:
        """Outputs and inputs between which there are gradients."""
        outputs = [k for k, r in enumerate(self.reach) if self.smooth[k] and r & set(wanted)]
        inputs = [k for k in wanted if any(k in self.reach[o] for o in outputs)]
        return outputs, inputs

    def programs(self, wanted: tuple) -> tuple[Sdfg, Gradient]:
        """The forward and the backward program for these inputs, not yet compiled: they may be changed until then."""
        if wanted not in self._programs:
            outputs, inputs = self._targets(wanted)
            forward, made = self.sdfg.separate_gradient([self.outputs[k] for k in outputs], [self.inputs[k] for k in inputs])
            _turn_images(forward, made.program, self.outputs)
            if self._hook is not None:
                self._hook(forward, made.program)
            self._programs[wanted] = forward, made
        return self._programs[wanted]

    def _differentiate(self, wanted: tuple) -> Pair:
        forward, made = self.programs(wanted)
        count("torch.module", "programs", 2)
        f, b = self._compiled(forward, made.program)
        for program in (self.sdfg, forward, made.program):
            program.fix(COMPILED)
        given = [p.name for p in f.compiled.outputs]
        names_in, names_out = {n: k for k, n in enumerate(self.inputs)}, {n: k for k, n in enumerate(self.outputs)}
        seeds = {gradient: output for output, gradient in made.output_gradients.items()}
        saved: list[tuple[str, int]] = []
        takes: list[tuple[str, int]] = []
        for p in b.compiled.inputs:
            if p.name in seeds:
                takes.append(("gradient", names_out[seeds[p.name]]))
                continue
            source = ("input", names_in[p.name]) if p.name in names_in else ("result", given.index(p.name))
            if source not in saved:
                saved.append(source)
            takes.append(("saved", saved.index(source)))
        order = {gradient: names_in[i] for i, gradient in made.input_gradients.items()}
        # What is saved: inputs first, then results.
        ins = [k for kind, k in saved if kind == "input"]
        res = [k for kind, k in saved if kind == "result"]
        place = {**{("input", k): n for n, k in enumerate(ins)}, **{("result", k): len(ins) + n for n, k in enumerate(res)}}
        takes = [(kind, place[saved[k]]) if kind == "saved" else (kind, k) for kind, k in takes]
        positions = [given.index(n) for n in self.outputs]
        if positions != list(range(len(self.outputs))):
            raise AssertionError("the forward program gives its results first")
        return Pair(f, b, len(self.outputs), takes, ins, res, [order[p.name] for p in b.compiled.outputs],
                    [k for k in range(len(self.outputs)) if not self.smooth[k] or not self.reach[k] & set(wanted)], self)

    def _compiled(self, forward: Sdfg, backward: Sdfg) -> tuple[Runner, Runner]:
        """Side by side: while the compiler's processes work on one, passes do on the other."""
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="headrace-compile") as beside:
            first = beside.submit(Runner, forward, **self._options, **self._debug)
            try:
                second = Runner(backward, **self._options, **self._debug)
            except Exception:
                before = first.exception()
                if before is not None:
                    raise before from None
                raise
            return first.result(), second

    def joint(self, wanted: tuple, seeded: tuple) -> Differentiable:
        """The gradient as one function of all inputs and the gradients of the outputs `seeded`: for second derivatives."""
        key = (wanted, seeded)
        if key not in self._joint:
            outputs = [self.outputs[k] for k in seeded]
            inputs = [k for k in wanted if any(k in self.reach[o] for o in seeded)]
            g = self.sdfg.gradient(outputs, [self.inputs[k] for k in inputs], given=outputs)
            made = Differentiable(g.program, **self._options, debug=self._debug)
            made.seeds = {g.output_gradients[self.outputs[k]]: k for k in seeded}
            made.gradients = {g.input_gradients[self.inputs[k]]: k for k in inputs}
            self._joint[key] = made
        return self._joint[key]


_LANES = 16  # channels that fill vectors
_POOLS = {"onnx.MaxPool", "onnx.AveragePool"}
_PLACES = 9  # of a window, at most, whose weights' gradient is written across memory


def _turn_images(forward: Sdfg, backward: Sdfg, outputs: Sequence[str]) -> None:
    """What convolutions and pools beside them give and the backward program takes lies with its channels innermost, as both programs compute best."""
    nodes = [n for n in forward.nodes("library") if n.sdfg == forward.name]
    if all(n.op != "onnx.Conv" for n in nodes):
        return
    given = {c for n in nodes if n.op == "onnx.Conv" or n.op in _POOLS for c in n.outputs.values()}
    shapes = {c.name: c.shape for c in forward.containers()}
    for n in nodes:
        if n.op != "onnx.Conv":
            continue
        image, weights = shapes[n.inputs["X"]], shapes[n.inputs["W"]]
        if _has_large_windows(weights):
            given -= {n.inputs["X"]}
        if 1 != weights[1] != image[1]:  # in groups: few channels meet
            given -= {n.inputs["X"], *n.outputs.values()}
    seen = {c.base for p in (forward, backward) for c in p.containers() if c.kind == "view"}
    taken = {p.name for p in backward.parameters}
    names = [p.name for p in forward.parameters
             if p.name in given & taken and p.name not in seen and p.name not in outputs and p.type in FLOATS
             and len(p.shape) > 3 and isinstance(p.shape[1], int) and p.shape[1] >= _LANES]
    if names:
        for program in (forward, backward):
            program.apply(f'parameter-innermost{{names="{" ".join(names)}"}}')


def _has_large_windows(weights: tuple) -> bool:
    _, channels, *window = weights
    return channels != 1 and all(isinstance(k, int) for k in window) and math.prod(window) > _PLACES


def _shape(parameters, name: str) -> tuple:
    return next(p.shape for p in parameters if p.name == name)


class _Function(torch.autograd.Function):
    jvp = staticmethod(refuse_forward_mode)

    @staticmethod
    def forward(ctx, pair: Pair, *tensors):
        direct = pair.forward.direct
        made = direct(*tensors) if direct is not None else pair.forward.run(tensors, None, pair.owner.sizes_for(pair.forward, tensors))
        ctx.pair = pair
        if pair.inputs or pair.kept:
            ctx.save_for_backward(*[tensors[k] for k in pair.inputs], *[made[k] for k in pair.kept])
        ctx.arguments = tensors  # for second derivatives; whether they changed is looked at then
        ctx.versions = [t._version for t in tensors]
        if pair.constant:
            ctx.mark_non_differentiable(*[made[k] for k in pair.constant])
        ctx.set_materialize_grads(False)
        if pair.outputs == 1:  # a gradient that is missing, and so must be made, is one of several
            return made if len(made) == 1 else made[:1]
        made = made[:pair.outputs]
        ctx.shapes = [m.shape for m in made]
        return made

    @staticmethod
    def backward(ctx, *gradients):
        pair: Pair = ctx.pair
        owner: Differentiable = pair.owner
        n = len(ctx.arguments)
        given = {k for k, g in enumerate(gradients) if g is not None}
        if not given:
            return (None,) * (n + 1)
        alive = owner.reach[0] if pair.outputs == 1 else {i for k in given for i in owner.reach[k]}
        made = each_of_batch(lambda *one: _Function.backward(ctx, *one), gradients)
        if made is not None:
            return made
        if owner.complex:
            gradients = [conjugate(g) for g in gradients]
        if torch.is_grad_enabled() or in_transform():
            return (None, *_second(ctx, pair, gradients))
        saved = ctx.saved_tensors
        arguments = [saved[k] if kind == "saved" else gradients[k] if gradients[k] is not None
                     else torch.zeros(ctx.shapes[k], dtype=owner.types[k]) for kind, k in pair.takes]
        made = pair.backward.run(arguments, None, owner.sizes_for(pair.backward, ctx.arguments))
        results: list = [None] * (n + 1)
        for k, g in zip(pair.wanted, made):
            if k in alive:
                results[k + 1] = conjugate(g) if owner.complex else g
        return tuple(results)


# torch.autograd.Function.apply looks for functorch's wrappers first, which takes half of its time.
_apply = torch._C._FunctionBase.__dict__["apply"].__get__(None, _Function)


def _second(ctx, pair: Pair, gradients) -> list:
    owner = pair.owner
    ctx.saved_tensors  # noqa: B018: raises where one was changed in place
    for k, (t, version) in enumerate(zip(ctx.arguments, ctx.versions)):
        if t._version != version:
            raise RuntimeError(f"one of the variables needed for gradient computation has been modified by an inplace operation: "
                               f"'{owner.inputs[k]}' is at version {t._version}; expected version {version} instead")
    return gradients_of(owner, ctx.arguments, ctx.needs_input_grad[1:], gradients)
