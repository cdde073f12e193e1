"""Backward rules as Python classes and functions."""

from __future__ import annotations

import inspect
from typing import Any, Callable, Sequence

from .. import _core, registrations
from ..autodiff import BackwardResult
from ..errors import UsageError
from ..onnx.weights import did_you_mean
from .expansions import Ports, text_of
from .implementations import op_of
from .nodes import BackwardContext, Node, NodePort, condition

_FLOATS = ("f16", "bf16", "f32", "f64", "c64", "c128")
_KINDS = ("map", "tasklet", "call")


class BackwardImplementation:
    """A backward rule; subclasses are registered by `@headrace.backward_implementation(op)`, or `(node="map")`."""

    @staticmethod
    def backward_can_be_applied(node: Node) -> bool | str:
        """True, or False or the reason where the rule does not serve this node; then the next rule is asked, and at last the derivative
        of the op's pure form, or of the statement itself, is taken."""
        return True

    @staticmethod
    def backward(context: BackwardContext, given: Sequence[str], required: Sequence[str]) -> Any:
        """The program of the gradients of the inputs in `required`, for gradients that arrive at the outputs in `given` (names of ports;
        variadic ones have numbers, X_0).

        It is an Sdfg, IR text, an annotated @headrace.program or a numpy-style function, whose parameters are inputs and outputs of the
        node, which it may read, and gradients: dY is the one that arrives at output Y, dX that of input X. A numpy-style function
        returns those that are required, in this order (or a dict), and may also have attributes among its parameters. With other
        names: `headrace.BackwardResult(required_grad_names={"X": "gx"}, given_grad_names={"Y": "gy"}, program=…)`."""
        raise NotImplementedError


def backward_implementation(op: str | None = None, *, node: str | None = None, name: str = "",
                            when: Callable[[Node], bool | str] | None = None, priority: int = 1) -> Callable[[Any], Any]:
    """Registers a BackwardImplementation, or a numpy-style function, as a backward rule of an op ("Softplus", "my.Softplus"), of a
    C function that programs call ("call.NAME"), or of the statements of a kind: `node="map"`, `"tasklet"` or `"call"`.

        @headrace.backward_implementation("my.Softplus")
        def softplus_backward(X, dY):
            return dY / (1 + np.exp(-X))

        @headrace.backward_implementation(node="map", when=lambda node: set(node.outputs) == {"quantized"})
        def straight_through(x, dquantized):
            return dquantized

    A rule by kind of statement is asked about those outside of maps, in every program that is differentiated; say `when`, or
    `backward_can_be_applied`, or it gets all of them. Ports are the arrays by name, those of a call as the callee names them; what the
    statement only writes in part, or adds to, is also an input, with its value from before, and the result is out_NAME. Loop variables
    and other integers that no size tells are inputs v_NAME. `node.kind`, `node.callee` and `node.body`, the statement as an Sdfg, say
    more; `node.body.gradient(…)` is its ordinary derivative. UnsupportedError where a rule can be applied to a statement that keeps
    state, holds sequences or arrays whose sizes change while the program runs.

    Rules of larger `priority` are asked first; those that come with ops have 0."""
    if (op is None) == (node is None):
        raise TypeError("a backward rule is that of an op or of a kind of statement: backward_implementation(\"my.Op\") or "
                        "backward_implementation(node=\"map\")")
    if node is not None:
        if node not in _KINDS:
            raise UsageError(f"there are no backward rules for the kind {node!r}{did_you_mean(str(node), list(_KINDS))}")
        domain, op_name = "node", node
    else:
        domain, op_name = ("call", op[len("call."):]) if op.startswith("call.") else op_of(op)

    def register(rule: Any) -> Any:
        own = name or getattr(rule, "__name__", "rule")
        if inspect.isclass(rule) and issubclass(rule, BackwardImplementation):
            applies, backward = rule.backward_can_be_applied, rule.backward
        elif inspect.isfunction(rule) or hasattr(rule, "__headrace_function__"):
            applies, backward = None, lambda context, given, required: _Every(rule)
        else:
            raise TypeError(f"a backward rule is a subclass of BackwardImplementation or a function, not {rule!r}")
        both = [w for w in (when, applies) if w is not None]
        asked = condition(lambda node: _first_reason(both, node)) if both else None
        if asked and domain == "node":  # an error of a condition is one of the rule: the statement is not passed over
            asked, backward = _without_errors(asked), _asking_again(both, backward)
        _core.add_backward(f"python:backward of {domain}.{op_name}@{own}", domain, op_name, own, priority, asked, _as_asked(backward))
        registrations.changed()
        return rule

    return register


def _first_reason(conditions: list, node: Node) -> bool | str:
    for applies in conditions:
        answer = applies(node)
        if answer is not True and answer != "":
            return answer
    return True


def _without_errors(asked: Callable[[dict], str]) -> Callable[[dict], str]:
    def quiet(described: dict) -> str:
        try:
            return asked(described)
        except Exception:
            return ""

    return quiet


def _asking_again(conditions: list, backward: Callable[..., Any]) -> Callable[..., Any]:
    ask = condition(lambda node: _first_reason(conditions, node))

    def raising(node: Node, given: list[str], required: list[str]) -> Any:
        ask(node._described)
        return backward(node, given, required)

    return raising


class _Every:
    """A function that serves whatever is required: it returns the gradients of all of the node's inputs of floats, in their order."""

    def __init__(self, function: Any):
        self.function = function


def _as_asked(backward: Callable[..., Any]) -> Callable[..., tuple]:
    """backward(node, given, required) as the core asks it."""

    def asked(described: dict, given: list[str], required: list[str]) -> tuple[str, dict, dict]:
        node = Node(described)
        made = backward(node, given, required)
        result = BackwardResult()
        if isinstance(made, tuple) and len(made) == 2 and isinstance(made[1], BackwardResult):
            made, result = made
        elif isinstance(made, BackwardResult):
            made, result = made.program, made
        wanted, arriving = {n: f"d{n}" for n in required}, {n: f"d{n}" for n in given}
        text = text_of(node, made.function if isinstance(made, _Every) else made, _ports(node, made, result, wanted, arriving))
        return text, wanted, arriving

    return asked


def _ports(node: Node, made: Any, result: BackwardResult, wanted: dict[str, str], arriving: dict[str, str]) -> Ports:
    inputs, outputs = node.input_ports(), node.output_ports()

    def gradients(ports: dict[str, NodePort], names: Sequence[str]) -> dict[str, NodePort]:
        return {f"d{n}": NodePort(f"d{n}", ports[n].type, ports[n].shape) for n in names}

    floats = [n for n, p in inputs.items() if p.type in _FLOATS]
    given, gives = gradients(outputs, list(arriving)), gradients(inputs, list(wanted))
    zeros = gradients(outputs, [n for n, p in outputs.items() if p.type in _FLOATS and n not in arriving])
    groups: dict[str, Any] = {n: p for n, p in {**node.inputs, **node.outputs}.items() if p is None or isinstance(p, list)}
    groups.update(dict.fromkeys(zeros, 0.0))
    for name, p in node.outputs.items():
        if isinstance(p, list):
            groups[f"d{name}"] = [given.get(f"d{q.name}", 0.0) for q in p]
    named = [(result.required_grad_names, wanted), (result.given_grad_names, arriving)]
    return Ports({**inputs, **outputs, **given}, gives, groups, unwanted=gradients(inputs, [n for n in floats if n not in wanted]),
                 zeros=zeros, aliases={theirs[n]: ours[n] for theirs, ours in named for n in ours if n in theirs},
                 returned=[f"d{n}" for n in floats] if isinstance(made, _Every) else None)
