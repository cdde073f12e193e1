"""custom_vjp and checkpoint: functions that are differentiated by a rule of their own.

In a program both are one library node, `program.Function`, which carries its meaning and its backward rule as IR text. What the
rule reads is what is kept: the arguments.
"""

from __future__ import annotations

import json
import re
from typing import Any, Callable

from ..frontend import elementwise
from ..frontend.calls import DTYPES, back, renamed, type_of
from ..frontend.types import Type
from ..frontend.values import Array, broadcast, is_number, value_of
from ..function import Function
from ..gradients import PulledBack, function_of
from ..translated import Translated, Translation
from ..trees import flat


class OwnRule(Function):
    """A function whose gradient `rule(types, forward)` gives: a translated program of the arguments and of one seed per result."""

    def __init__(self, f: Function):
        super().__init__(f, f._backend, f._threads)
        self.inner = f

    def rule(self, types: dict[str, Any], forward: Translated) -> tuple[str, dict[str, str]]:
        """The rule's text, and what its parameters mean: name → "x NAME", "dy RESULT" or "dx NAME"."""
        raise NotImplementedError

    def translate(self, types: dict[str, Any]) -> Translation:
        return Translation(self.base, types, lambda evaluator, given: self.inline(evaluator, list(given.values()), {}))

    def inline(self, evaluator, args: list, named: dict):
        e, given, sizes = evaluator.emitter, self._bind(args, named), {}
        types = renamed({name: type_of(value) for name, value in given.items()}, sizes)
        forward = self.inner.translate(types)
        inputs = [p for p in forward.sdfg.parameters if p.direction != "out"]
        outputs = [p for p in forward.sdfg.parameters if p.direction == "out"]
        if changed := [p.name for p in inputs if p.direction == "inout"]:
            raise TypeError(f"{self.__name__} changes its argument {changed[0]}: a function with a rule of its own leaves them alone")
        values = flat(given)
        operands = [_whole(e, values[p.name], DTYPES[p.type]) for p in inputs]
        made = {p.name: e.transient(DTYPES[p.type], [back(s, sizes) for s in p.shape], p.name) for p in outputs}
        e.read.update(a.root for a in operands)
        e.written.update(a.root for a in made.values())
        ports = {p.name: f"x_{k}" for k, p in enumerate(inputs)} | {p.name: f"y_{k}" for k, p in enumerate(outputs)}
        text, meaning = self.rule(types, forward)
        attributes = {"forward": _wrapped("function", forward.sdfg.text, {n: (port, n) for n, port in ports.items()}, inputs + outputs),
                      "backward": _rule_text(text, meaning, ports, inputs, outputs)}
        listed = ", ".join(f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in attributes.items())
        e.line(f"program.Function{{{listed}}}({', '.join(f'x = {a.name}' for a in operands)}) -> "
               f"({', '.join(f'y = {a.name}' for a in made.values())})")
        return forward.pack([values[r.name] if r.kind == "argument" else made[r.name] for r in forward.results])


def _whole(e, value, dtype) -> Array:
    v = value_of(value)
    if isinstance(v, Array) and v.whole and v.dtype == dtype:
        return v
    return e.materialize(dtype.type(value) if is_number(value) else elementwise.cast(e, value, dtype), "operand")


def _declared(name: str, p) -> str:
    return f"{name}: {p.type}" + (f"[{', '.join(map(str, p.shape))}]" if p.shape else "")


def _renamed_blocks(text: str, prefix: str) -> tuple[str, str]:
    """The text with names of its programs that begin with `prefix`; the first one's name."""
    names = re.findall(r"^(?:entry )?sdfg (\w+)\(", text, re.M)
    text = re.sub(r"^(?:entry )?sdfg (\w+)\(", rf"sdfg {prefix}_\1(", text, flags=re.M)
    text = re.sub(r"\bcall (\w+)\(", lambda m: f"call {prefix}_{m[1]}(" if m[1] in names else m[0], text)
    return text, f"{prefix}_{names[0]}"


def _wrapped(name: str, text: str, ports: dict, parameters) -> str:
    """`text` under the names of ports. `ports`: parameter → (name of the port, parameter)."""
    text, callee = _renamed_blocks(text, "of")
    declared = ", ".join(_declared(ports[p.name][0], p) for p in parameters)
    return f"entry sdfg {name}({declared}) {{\n  call {callee}({', '.join(f'{p.name} = {ports[p.name][0]}' for p in parameters)})\n}}\n{text}"


def _rule_text(text: str, meaning: dict[str, str], ports: dict[str, str], inputs, outputs) -> str:
    """backward_rule(x_…, dy_…, dx_…), which calls the program `text`."""
    floats = {"f16", "bf16", "f32", "f64", "c64", "c128"}
    declared = [_declared(ports[p.name], p) for p in inputs]
    declared += [_declared("d" + ports[p.name], p) for p in (*outputs, *inputs) if p.type in floats]
    arguments = []
    for parameter, what in meaning.items():
        kind, name = what.split(" ", 1)
        arguments.append(f"{parameter} = {ports[name] if kind == 'x' else 'd' + ports[name]}")
    text, callee = _renamed_blocks(text, "back")
    return f"sdfg backward_rule({', '.join(declared)}) {{\n  call {callee}({', '.join(arguments)})\n}}\n{text}"


class Checkpointed(OwnRule):
    """The gradient computes everything again from the arguments."""

    def rule(self, types, forward):
        pulled = PulledBack(self.inner, [k for k, r in enumerate(forward.results) if r.kind == "output" and r.dtype.kind in "fc"], None)
        translated = pulled.translate(types)
        seeds = [r.name for r in forward.results if r.kind == "output" and r.dtype.kind in "fc"]
        meaning = {p.name: f"x {p.name}" for p in translated.sdfg.parameters if p.direction != "out" and p.name not in translated.seeds}
        meaning.update((s, f"dy {seeds[k]}") for s, k in translated.seeds.items())
        meaning.update((r.name, f"dx {a}") for r, a in zip(translated.results, translated.arguments))
        return translated.sdfg.text, meaning


def checkpoint(f: Callable[..., Any]) -> Checkpointed:
    """f, of whose inside nothing is kept for gradients: it is computed again when they are. For memory, at the cost of time."""
    return Checkpointed(function_of(f))


class CustomVjp(OwnRule):
    """See custom_vjp."""

    def __init__(self, f: Function):
        super().__init__(f)
        self._forward = self._backward = None

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        """fwd(*args) gives (result, what bwd needs); bwd(that, gradient of the result) a tuple with the gradient of each argument
        (None for what is no float). Several results: a tuple of their gradients."""
        if not callable(fwd) or not callable(bwd):
            raise TypeError("defvjp takes two functions: fwd(*args) and bwd(kept, gradient)")
        self._forward, self._backward = fwd, bwd

    def rule(self, types, forward):
        if self._backward is None:
            raise TypeError(f"{self.__name__} has no rule yet: call {self.__name__}.defvjp(fwd, bwd)")
        results = [r for r in forward.results if r.kind == "output" and r.dtype.kind in "fc"]
        shapes = {p.name: (DTYPES[p.type], p.shape) for p in forward.sdfg.parameters}
        seeds = {f"d_{r.name}": Type(shapes[r.name][0], tuple(s if isinstance(s, int) else back(s, {}) for s in shapes[r.name][1]))
                 for r in results}
        floats = [n for n, t in types.items() if isinstance(t, Type) and t.dtype.kind in "fc"]

        def body(evaluator, given):
            args = [given[n] for n in types]
            made = evaluator.call(self._forward, args, {})
            if not isinstance(made, tuple) or len(made) != 2:
                raise TypeError("fwd of a custom_vjp gives two things: the result, and what bwd needs")
            arriving = tuple(given[s] for s in seeds)
            gradients = evaluator.call(self._backward, [made[1], arriving if forward.several else arriving[0]], {})
            if not isinstance(gradients, tuple) or len(gradients) != len(types):
                raise TypeError(f"bwd of a custom_vjp gives a tuple with one gradient for each of {len(types)} arguments")
            return tuple(_shaped(evaluator.emitter, g, types[n], n) for n, g in zip(types, gradients) if n in floats)

        translated = Translation(self.base, {**types, **seeds}, body)
        meaning = {p.name: f"x {p.name}" for p in translated.sdfg.parameters if p.direction != "out" and p.name not in seeds}
        meaning.update((f"d_{r.name}", f"dy {r.name}") for r in results)
        meaning.update((r.name, f"dx {n}") for r, n in zip(translated.results, floats))
        return translated.sdfg.text, meaning


def _shaped(e, gradient, t: Type, name: str):
    """A gradient as an array of its own, of its argument's type and shape."""
    if gradient is None:
        gradient = 0.0
    v = value_of(gradient)
    if v.ndim and tuple(v.shape) != tuple(t.shape):
        raise TypeError(f"bwd gives a gradient of shape {v.shape} for {name}, which has shape {tuple(t.shape)}")
    whole = e.transient(t.dtype, t.shape, f"gradient_{name}")
    e.store(whole, elementwise.cast(e, broadcast(value_of(gradient), t.shape), t.dtype))
    return whole


def custom_vjp(f: Callable[..., Any]) -> CustomVjp:
    """f with a gradient that you write:

        @headrace.custom_vjp
        def root(x):
            return np.sqrt(x)

        def root_forward(x):
            y = np.sqrt(x)
            return y, y

        def root_backward(y, g):
            return (g / (2 * np.maximum(y, 1e-6)),)

        root.defvjp(root_forward, root_backward)
    """
    return CustomVjp(function_of(f))
