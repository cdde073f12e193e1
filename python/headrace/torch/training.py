"""headrace.train_step: forward pass, loss, gradients and the optimizer's update as one program.

The program of module and loss gets the gradients by the parameters, as transients, and a last state with an update of each
parameter. Parameters and the optimizer's states are `inout`: torch's own tensors are written.
"""

from __future__ import annotations

import re
from array import array
from typing import Any, Callable, Iterable, Mapping

import torch

from ..compiled import check_autocast
from ..counters import count
from ..errors import UnsupportedError, UsageError
from ..reports import Report, report_of
from ..sdfg import Sdfg
from .emit import FLOATS, HALVES
from .exporting import Conditions
from .module import State, Version
from .optimizers import Group, Rule, rule_of, structure
from .program import TORCH_TYPES, Runner


class Whole(torch.nn.Module):
    """Module and loss as one, to be traced."""

    def __init__(self, model: torch.nn.Module, loss: Callable | None):
        super().__init__()
        self.model, self.loss = model, loss
        self._headrace_title = f"{type(model).__name__} with its loss"

    def forward(self, inputs: Any, targets: tuple) -> torch.Tensor:
        made = self.model(**inputs) if isinstance(inputs, dict) else self.model(*inputs)
        return made if self.loss is None else self.loss(made, *targets)

    def _original(self) -> torch.nn.Module:
        return self


class TrainStep:
    """What `train_step` gives."""

    def __init__(self, model: torch.nn.Module, loss: Callable | None, optimizer: torch.optim.Optimizer, dynamic: Any, threads: int,
                 keep_denormals: bool = False, autocast: str | None = None, scaler: torch.amp.GradScaler | None = None):
        for hooks in ("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks"):
            if getattr(optimizer, hooks, None):
                raise UnsupportedError("an optimizer with hooks around its step: the update is a part of the program\n"
                                       "hint: headrace.module(model) and optimizer.step()")
        self.model, self.loss, self.optimizer = model, loss, optimizer
        self._whole = Whole(model, loss)
        self.scaler = _scaler(autocast, scaler)
        self._state = _Steps(optimizer, dynamic, threads, keep_denormals, autocast, self.scaler)
        self._losses = array("d")

    def __call__(self, inputs: Any, targets: Any = ()) -> torch.Tensor:
        if not isinstance(inputs, (tuple, list, dict)):
            inputs = (inputs,)
        targets = tuple(targets) if isinstance(targets, (tuple, list)) else (targets,)
        loss = self._state.call(self._whole, (inputs if isinstance(inputs, dict) else tuple(inputs), targets), {})
        self._losses.append(float(loss))
        return loss

    def report(self, sizes: Mapping[str, int] | None = None) -> Report:
        """A dict, which notebooks show with the loss curve and memory over time: `losses` of every step so far; of the latest program
        what was fused, called and compiled, and `memory`, the bytes of temporaries while each statement runs, at the sizes of its latest
        step unless `sizes` has others. UsageError before the first step."""
        latest = self._latest()
        said = report_of(latest.runner.sdfg, "cpu", latest.runner.compiled, None, {**latest.sizes, **(sizes or {})})
        said["losses"] = list(self._losses)
        return said

    @property
    def sdfg(self) -> Sdfg:
        """The program of the latest step."""
        return self._latest().runner.sdfg

    def _latest(self) -> _Step:
        versions = [v for every in self._state.versions.values() for v in every]
        if not versions:
            raise UsageError("nothing is traced yet: call the step once")
        return versions[-1]

    def reset(self) -> None:
        """Forgets what was traced and compiled."""
        self._state.forget()


class _Step(Version):
    """One trace, compiled with the update of one set of parameters."""

    def __init__(self, state: _Steps, exported, module: torch.nn.Module):
        super().__init__(state, exported, module)
        self.optimizer, self.scaler = state.optimizer, state.scaler
        told = [(check, exported.lowered.outputs[check.result]) for check in exported.checks]
        self._known = [c for c, o in told if c.assertion and o.kind != "program"]  # before the run
        self._asserted = [c for c, o in told if c.assertion and o.kind == "program"]
        if written := {name for _, name in exported.buffers} & {name for name, _ in module.named_parameters()}:
            raise UnsupportedError(f"forward writes to the parameter {min(written)}, which the step updates, too\n"
                                   "hint: headrace.module(model) and optimizer.step()")
        places = [what if kind == 1 else None for kind, what in self.order]
        loss = self._loss(module)
        inputs = self._updated(places, self.function.reach[loss])
        groups = [[n for n in inputs if any(_tensor(places[n]) is p for p in settings["params"])] for settings in state.optimizer.param_groups]
        self.groups = [Group(state.optimizer, k, [_tensor(places[n]) for n in members]) for k, members in enumerate(groups) if members]
        members = [m for m in groups if m]
        conditions = [self.function.outputs[o.what] for c, o in told if c in self._asserted]
        text = _composed(self.function, self.function.outputs[loss], members, [g.rule for g in self.groups], self.scaler is not None, conditions)
        count("torch.train_step", "programs")
        self.runner = Runner(Sdfg.parse(text), threads=state.threads, **state.debug)
        self.sizes: dict[str, int] = {}  # of the latest step
        self._loss_like = next(p for p in self.runner.compiled.outputs if p.name == self.function.outputs[loss])
        self._members = [n for m in members for n in m]
        self._where = [places[n] for n in self._members]
        self._structure = self._looked_at()

    def admit(self, conditions: Conditions) -> None:
        super().admit(conditions)
        sizes = self.fits
        self.fits = lambda leaves: sizes(leaves) and self.current()

    def current(self) -> bool:
        return self._looked_at() == self._structure

    def _loss(self, module: Whole) -> int:
        """Which of the program's outputs it is."""
        e = self.exported
        found = e.lowered.outputs[e.results[0]] if len(e.results) == 1 else None
        if found is None or not e.spec.is_leaf():
            raise UsageError(f"the loss is {len(e.results)} values, expected one tensor. hint: loss(model(*inputs), *targets) is called")
        if found.kind != "program" or not self.function.smooth[found.what]:
            raise UsageError("the loss is no floating-point number that the program computes")
        shape = next(p.shape for p in self.function.sdfg.parameters if p.name == self.function.outputs[found.what])
        if any(s != 1 for s in shape):
            raise UsageError(f"the loss has the shape [{', '.join(map(str, shape))}], expected a scalar. hint: .mean() or .sum()")
        return found.what

    def _updated(self, places: list, reach: set[int]) -> list[int]:
        """Inputs of the program that are parameters to update."""
        owned = {id(p) for settings in self.optimizer.param_groups for p in settings["params"]}
        found = [n for n in sorted(reach) if places[n] is not None and _tensor(places[n]).requires_grad and id(_tensor(places[n])) in owned]
        if not found:
            raise UsageError(f"the loss depends on no parameter that {type(self.optimizer).__name__} has and that requires a gradient")
        memory: dict[int, str] = {}
        for n, place in enumerate(places):
            if place is None:
                continue
            p, name = _tensor(place), self.function.inputs[n]
            other = memory.setdefault(p.untyped_storage().data_ptr(), name)
            if other != name and p.numel():
                raise UnsupportedError(f"{other} and {name} share memory\nhint: headrace.module(model) and optimizer.step()")
        return found

    def _looked_at(self) -> tuple:
        """What this program was made for, of parameters and optimizer."""
        groups = self.optimizer.param_groups
        return (tuple(id(_tensor(w)) for w in self._where), tuple([p.requires_grad for g in groups for p in g["params"]]),
                tuple([id(p) for g in groups for p in g["params"]]), tuple([structure(g) for g in groups]))

    def __call__(self, leaves: list) -> torch.Tensor:
        symbols = self.sizes = {s: leaves[k].shape[d] for s, (k, d) in self.sources.items()}
        self._look(self._known, [], leaves, symbols)
        arguments = self._gather(leaves, symbols)
        states, scalars, done = [], [], []
        for group in self.groups:
            s, h, d = group.begin()
            states += s
            scalars += h
            done.append(d)
        if self.scaler is not None:
            scalars.append(_scale(self.scaler).to(TORCH_TYPES[self._loss_like.type]).reshape([1] * len(self._loss_like.shape)))
        sizes = [symbols[s] for s in self.runner.sizes] or None
        with torch.no_grad():
            given = [t.detach() for t in [*arguments, *states, *scalars]]
            written = [k for k in self._written(len(arguments), len(states)) if not given[k].is_contiguous()]
            dense = {k: given[k].contiguous() for k in written}  # programs write row-major memory
            made = self.runner.run([dense.get(k, t) for k, t in enumerate(given)], None, sizes)
            for k, t in dense.items():
                given[k].copy_(t)
            torch.autograd.graph.increment_version([_tensor(w) for w in self._where] + states)
            self._look(self._asserted, made, leaves, symbols)  # without which nothing was updated
            if self.scaler is None or _taken(self.scaler, made[-1]):
                for k, (where, name) in self.buffers:
                    where[name].copy_(self._result(self.exported.lowered.outputs[k], made, leaves, symbols))
                for d in done:
                    d()
        self._look([c for c in self.exported.checks if not c.assertion], made, leaves, symbols)
        if self.attributes:
            self._keep([self._result(o, made, leaves, symbols) for o in self.exported.lowered.outputs])
        self.optimizer._opt_called = True  # what schedulers look at
        return self._result(self.exported.lowered.outputs[self.exported.results[0]], made, leaves, symbols)

    def _look(self, checks: list, made: list, leaves: list, symbols: dict) -> None:
        for check in checks:
            check.look(self._result(self.exported.lowered.outputs[check.result], made, leaves, symbols))

    def _written(self, arguments: int, states: int) -> list[int]:
        """Which of the program's arguments it writes: parameters, and the optimizer's states."""
        return [*self._members, *range(arguments, arguments + states)]


class _Steps(State):
    version, group = _Step, "torch.train_step"

    def __init__(self, optimizer: torch.optim.Optimizer, dynamic: Any, threads: int, keep_denormals: bool, autocast: str | None,
                 scaler: torch.amp.GradScaler | None):
        super().__init__(dynamic=dynamic, threads=threads, keep_denormals=keep_denormals, autocast=autocast)
        self.optimizer, self.scaler = optimizer, scaler


def _tensor(place: tuple[dict, str]) -> torch.Tensor:
    return place[0][place[1]]


# ---- loss scaling, as torch.amp.GradScaler does it ----
def _scaler(autocast: str | None, given: torch.amp.GradScaler | None) -> torch.amp.GradScaler | None:
    if given is not None and not isinstance(given, torch.amp.GradScaler):
        raise TypeError(f"scaler is a torch.amp.GradScaler, not {type(given).__name__}")
    if given is None:
        return torch.amp.GradScaler("cpu") if check_autocast(autocast) == "f16" else None
    return given if given.is_enabled() else None


def _scale(scaler: torch.amp.GradScaler) -> torch.Tensor:
    if scaler._scale is None:
        scaler._lazy_init_scale_growth_tracker(torch.device("cpu"))
    return scaler._scale


def _taken(scaler: torch.amp.GradScaler, overflows: torch.Tensor) -> bool:
    """Whether parameters were updated; the scale follows."""
    torch._amp_update_scale_(scaler._scale, scaler._growth_tracker, overflows.reshape(()), scaler.get_growth_factor(),
                             scaler.get_backoff_factor(), scaler.get_growth_interval())
    return not overflows.item()


# ---- the program ----
def _composed(function, loss: str, groups: list[list[int]], rules: list[Rule], scaled: bool, conditions: list[str]) -> str:
    """IR text: the gradient of `loss` by the inputs in `groups`, and after it their updates. `scaled`: the gradient of the loss is an
    argument, what the others are divided by; where one is not finite nothing is updated, and the last result says how many numbers are
    not. Nor is anything where one of the outputs in `conditions` is false."""
    wanted = [function.inputs[n] for members in groups for n in members]
    gradient = function.sdfg.gradient([loss], wanted, keep_outputs=True, given=[loss] if scaled else [])
    text, gradients = gradient.program.text, gradient.input_gradients
    head, signature, body = re.fullmatch(r"(sdfg \w+)\((.*?)\) \{\n(.*)\}\n*", text, re.DOTALL).groups()
    parameters = _split(signature)
    types = dict(p.split(": ", 1) for p in parameters)
    names = set(re.findall(r"\w+", text))
    inputs = [("inout " if p.split(":")[0] in wanted else "") + p for p in parameters if p.split(":")[0] in function.inputs]
    outputs = [p for p in parameters if p.split(":")[0] in function.outputs]
    symbols = [p for p in parameters if p.endswith(": symbol")]
    declared = [f"transient {g}: {types[g]}" for g in gradients.values()]
    states, scalars, lines = [], [], []
    guard = _Guard(gradient.output_gradients[loss] if scaled else None, types, gradients.values(), names, conditions) if scaled or conditions else None
    for k, (members, rule) in enumerate(zip(groups, rules)):
        h = _unused(f"settings_{k}", names)
        scalars.append(f"{h}: f64[{len(rule.scalars(_ANY, 1))}]")
        for n in members:
            name = function.inputs[n]
            kept = {s: _unused(f"{name}_{s}", names) for s in rule.states}
            states += [f"inout {s}: {types[name]}" for s in kept.values()]
            lines += _update(rule, name, gradients[name], kept, h, types[name], declared, names, guard)
    if guard is not None and scaled:
        scalars.append(guard.scale)
        outputs.append(f"{guard.overflows}: f32[1]")
        lines = guard.lines + lines
    everything = [*inputs, *states, *scalars, *outputs, *symbols]
    declarations = "".join(f"  {d}\n" for d in declared)
    assumed, rest = re.fullmatch(r"((?:  assume [^\n]*\n)*)(.*)", body, re.DOTALL).groups()
    update = "  state optimizer {\n" + "".join(f"    {line}\n" for line in lines) + "  }\n"
    return f"{head}({', '.join(everything)}) {{\n{assumed}{declarations}{rest}{update}}}\n"


# Any settings, to count a rule's scalars.
_ANY = {"lr": 1, "weight_decay": 0, "momentum": 0, "dampening": 0, "betas": (0.5, 0.5), "eps": 1, "alpha": 0.5, "lr_decay": 0}


class _Guard:
    """Of updates: when there are any. Of scaled gradients: what they are divided by, and whether all are finite."""

    def __init__(self, seed: str | None, types: dict[str, str], gradients: Iterable[str], names: set[str], conditions: list[str]):
        met = [f"{c}{_indexed(['0'] * len(_sizes(types[c])))} != 0" for c in conditions]
        self.divisor: str | None = None
        if seed is not None:
            self.scale = f"{seed}: {types[seed]}"  # declared
            self.overflows = _unused("overflows", names)
            self.divisor = seed + _indexed(["0"] * len(_sizes(types[seed])))
            self.lines = [f"{self.overflows}[0] = 0"]
            for g in gradients:
                sizes = _sizes(types[g])
                index = [_unused(f"i{k}_", names, keep=False) for k in range(len(sizes))]
                element = g + _indexed(index)
                self.lines += _mapped(index, sizes, [f"{self.overflows}[0] += isnan({element}) || isinf({element}) ? 1.0 : 0.0"])
            met.append(f"{self.overflows}[0] == 0")
        self.passed = " && ".join(met)


def _sizes(type_: str) -> list[str]:
    _, _, sizes = type_.partition("[")
    return sizes.rstrip("]").split(", ") if sizes else []


def _indexed(index: list[str]) -> str:
    return f"[{', '.join(index)}]" if index else ""


def _mapped(index: list[str], sizes: list[str], lines: list[str]) -> list[str]:
    if not index:  # of one number: registers live in an iteration, too
        index, sizes = ["i_"], ["1"]
    return [f"map {', '.join(f'{i} in 0:{s}' for i, s in zip(index, sizes))} {{", *("  " + line for line in lines), "}"]


def _update(rule: Rule, name: str, gradient: str, states: dict[str, str], h: str, type_: str, declared: list[str], names: set[str],
            guard: _Guard | None) -> list[str]:
    """The map of one parameter's update."""
    dtype, sizes = type_.partition("[")[0], _sizes(type_)
    if dtype not in FLOATS:
        raise UnsupportedError(f"{name} is {type_}: optimizers update f16, bf16, f32 and f64")
    index = [_unused(f"i{k}_", names, keep=False) for k in range(len(sizes))]
    work = "f32" if dtype in HALVES else dtype
    place = _indexed(index)
    arrays = {"W": name + place, "G": gradient + place, **{s: c + place for s, c in states.items()}}
    local: dict[str, str] = {}

    def read(match: re.Match) -> str:
        word = match[0]
        if word in arrays:
            element = f"{work}({arrays[word]})" if dtype in HALVES else arrays[word]
            return f"({element} / {work}({guard.divisor}))" if word == "G" and guard is not None and guard.divisor else element
        if word in local:
            return local[word]
        return f"{work}({h}[{word[1:]}])" if re.fullmatch(r"h\d", word) else word

    lines = []
    for statement in rule.update:
        target, _, value = statement.partition(" = ")
        value = re.sub(r"\b[A-Za-z_]\w*", read, value)
        if target in arrays:
            value = f"{dtype}({value})" if dtype in HALVES else value
            lines.append(f"{arrays[target]} = " + (f"{guard.passed} ? {value} : {arrays[target]}" if guard is not None else value))
        else:
            local[target] = _unused(f"{target}_{name}", names)
            declared.append(f"transient {local[target]}: {work} @register")
            lines.append(f"{local[target]} = {value}")
    return _mapped(index, sizes, lines)


def _split(signature: str) -> list[str]:
    """Parameters, at the commas between them."""
    found, depth, start = [], 0, 0
    for k, c in enumerate(signature):
        depth += (c in "[(") - (c in "])")
        if c == "," and depth == 0:
            found.append(signature[start:k].strip())
            start = k + 1
    return [*found, signature[start:].strip()]


def _unused(name: str, names: set[str], keep: bool = True) -> str:
    made, k = name, 0
    while made in names:
        k += 1
        made = f"{name}_{k}"
    if keep:
        names.add(made)
    return made


def train_step(model: torch.nn.Module, loss: Callable | None, optimizer: torch.optim.Optimizer, *, dynamic: Any = True,
               threads: int = 0, keep_denormals: bool = False, autocast: str | None = None,
               scaler: torch.amp.GradScaler | None = None) -> TrainStep:
    """A function that trains `model` by one step: forward pass, loss, backward pass and update are one compiled program.

        step = headrace.train_step(model, torch.nn.functional.cross_entropy, torch.optim.AdamW(model.parameters()))
        for x, y in batches:
            value = step(x, y)                        # what loss(model(x), y) was, before the update

    `step(inputs, targets)` takes tensors, or tuples of them; `inputs` may be a dict of keyword arguments. It computes
    `loss(model(*inputs), *targets)`; `loss=None`: the model's own result. The result is a scalar tensor outside autograd.
    Parameters, buffers and `optimizer.state` are torch's own tensors, updated in place: `optimizer.step()`, `state_dict()`,
    `load_state_dict` and learning-rate schedules work as ever. `p.grad` is neither read nor written. Module and optimizer may be
    changed between steps (`train()`, `requires_grad_`, `add_param_group`); sizes, `dynamic`, `threads` and
    `keep_denormals` are as in `headrace.module`.

    `autocast`: "bf16" or "f16", as in `headrace.module`. With "f16", or where a `scaler` is given, the loss's gradient is multiplied by the
    scaler's scale and parameters' gradients divided by it; a step with one that is not finite leaves parameters, buffers and the
    optimizer's state as they are, and the scale follows as `torch.amp.GradScaler` has it. `step.scaler` is that object, whose `state_dict()`
    belongs into checkpoints.

    Optimizers: torch.optim.SGD, Adam, AdamW, RMSprop and Adagrad, all their settings but `differentiable`. UnsupportedError for another
    one, for modules that `headrace.module` refuses, and for parameters that share memory; UsageError for a loss that is no scalar.
    """
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"train_step takes a torch.nn.Module, not {type(model).__name__}")
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise TypeError(f"train_step takes a torch.optim.Optimizer, not {type(optimizer).__name__}")
    if any(isinstance(m, torch.nn.parallel.DistributedDataParallel) for m in model.modules()):
        raise UnsupportedError("DistributedDataParallel sums gradients between the backward pass and the update, which are one program here\n"
                               "hint: DistributedDataParallel(headrace.module(model)) and optimizer.step()")
    if loss is not None and not callable(loss):
        raise TypeError(f"loss is a function of the model's result and the targets, or None, not {type(loss).__name__}")
    for settings in optimizer.param_groups:
        rule_of(optimizer, settings)
    return TrainStep(model, loss, optimizer, dynamic, threads, keep_denormals, autocast, scaler)
