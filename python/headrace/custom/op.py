"""Ops that are defined from Python, in the op language of docs/plugins.md."""

from __future__ import annotations

import tempfile
from typing import Any, Callable, Mapping, Sequence

import numpy as np

from .. import _core, registrations
from ..errors import InvalidError, UsageError
from ..frontend.types import Type
from ..onnx import ops
from ..onnx.signature import FAMILIES, NUMPY_OF_IR, Signature, ir_type
from ..onnx.weights import did_you_mean

_ATTRIBUTE_TYPES = {int: "int", float: "float", str: "string", list[int]: "ints", list[float]: "floats", list[str]: "strings",
                    np.ndarray: "tensor"}


_ABOUT = """An op defined by `headrace.op`: called with arrays it runs, in a program it is a library node. Its docstring and signature are
its own: ports, attributes, types."""


class CustomOp(ops.Op):
    __doc__ = ops._OfEach(lambda op: op.signature.describe(), _ABOUT)  # type: ignore[assignment]

    def __init__(self, found: Signature, reference: Callable[..., Any] | None):
        super().__init__(found, found.version)
        self.__module__ = found.domain
        self._reference = reference

    def test(self, reference: Callable[..., Any] | None = None, *, backends: Sequence[str] | None = None) -> OpReport:
        """Runs the op's samples, as `headrace ops OP --test` does: on every backend, in f64, by every implementation, gradients against
        differences in f64; and against `reference(X=…, alpha=…)`, a function of NumPy arrays and attributes by name, which gives the
        outputs. Raises AssertionError, with all that was compared, where something is wrong."""
        domain, name = self.signature.domain, self.signature.name
        backends = list(backends or [b for b in ("interpreter", "cpu") if not _core.backend_ready(b)])
        count = _core.sample_count(domain, name)
        if count == 0:
            raise UsageError(f"{domain}.{name} has no samples: headrace.op(…, samples=[\"X: f32[2, 3]\"])")
        report = OpReport()
        with tempfile.TemporaryDirectory(prefix="headrace-op-") as folder:
            for k in range(count):
                title, inputs, attributes, outputs = _core.sample(domain, name, k)
                report.titles.append(title)
                ways, gradients = _core.check_sample(domain, name, k, backends, folder)
                for implementation, backend, verdict, detail in ways:
                    report.add(k, implementation, backend, verdict, detail)
                for port, rule, verdict, detail, elements, kinks in gradients:
                    refused = verdict == "refused" and rule != "derived"  # a rule that was written must serve its samples
                    counted = f"{elements} elements" + (f", {kinks} at kinks" if kinks else "") if verdict == "agrees" else ""
                    report.add(k, f"gradient {port}", rule, "wrong" if refused else verdict, detail or counted)
                if reference or self._reference:
                    verdict, detail = self._compare(reference or self._reference, inputs, attributes, outputs)
                    report.add(k, "reference", "", verdict, detail)
        if report.wrong:
            raise AssertionError(f"{domain}.{name}: {report.wrong} of {len(report.checks)} checks are wrong\n{report}")
        return report

    def _compare(self, reference: Callable[..., Any], inputs: list, attributes: dict, outputs: list[str]) -> tuple[str, str]:
        given: dict[str, Any] = {}
        for port, value in inputs:
            if self.signature.inputs[port]["variadic"]:
                given.setdefault(port, []).append(value)
            else:
                given[port] = value
        defaults = {n: a["default"] for n, a in self.signature.attributes.items() if a["default"] is not None}
        expected = reference(**given, **{**defaults, **attributes})
        got = self(**given, **attributes, results=outputs)
        pairs = list(zip(outputs, *(list(x) if isinstance(x, (tuple, list)) else [x] for x in (got, expected))))
        if len(pairs) != len(outputs):
            return "wrong", f"the reference does not give {len(outputs)} outputs"
        for name, ours, theirs in pairs:
            ours, theirs = np.asarray(ours), np.asarray(theirs)
            if ours.shape != theirs.shape:
                return "wrong", f"{name} has shape {ours.shape}, and the reference's {theirs.shape}"
            tolerance = 0 if ours.dtype.kind not in "fc" else 4e3 * float(np.finfo(ours.dtype).eps) / (16 if ours.dtype.itemsize < 4 else 1)
            near = np.isclose(ours, theirs.astype(ours.dtype), rtol=tolerance, atol=tolerance, equal_nan=True)
            if not near.all():
                at = tuple(int(i) for i in np.argwhere(~near)[0])
                return "wrong", f"{name}{list(at)} is {ours[at]}, and the reference's {theirs[at]}"
        return "agrees", ""

    def __repr__(self) -> str:
        return f"<op {self.signature.domain}.{self.signature.name}>"


class OpReport:
    """What was compared: `checks` are (sample, what, how, verdict, detail); `wrong` of them failed."""

    def __init__(self) -> None:
        self.titles: list[str] = []
        self.checks: list[tuple[int, str, str, str, str]] = []

    def add(self, *check: Any) -> None:
        self.checks.append(check)

    @property
    def wrong(self) -> int:
        return sum(c[3] == "wrong" for c in self.checks)

    def __str__(self) -> str:
        lines = []
        for k, title in enumerate(self.titles):
            lines.append(title)
            for _, what, how, verdict, detail in (c for c in self.checks if c[0] == k):
                lines.append(f"  {what:16} {how:12} {verdict}{': ' + detail if detail else ''}".rstrip())
        return "\n".join(lines)

    __repr__ = __str__


def op(name: str, *, pure: str = "", backward: str = "", samples: Sequence[str] = (), inputs: Mapping[str, Any] | Sequence[str] | None = None,
       outputs: Mapping[str, Any] | Sequence[str] | None = None, attributes: Mapping[str, Any] | None = None, required: Sequence[str] = (),
       shape: str = "", doc: str = "", reference: Callable[..., Any] | None = None) -> CustomOp:
    """Defines an op: on arrays and in programs by what is returned, in IR text as my.Softplus, in ONNX models whose domain is `my`.

        softplus = headrace.op("my.Softplus", pure="Y = max(X, 0) + log1p(exp(-abs(X)))", backward="dX = dY / (1 + exp(-X))",
                               samples=["X: f32[2, 3] in [-100, 100]; at 0, 100"])

    `pure`, `backward`, `shape` and `samples` are texts of docs/plugins.md. `inputs` and `outputs`: names, or {name: type}, a dtype
    (`headrace.float32`, "f32") or family ("float", "integer", "complex", "number", "any"), of an output also an input's name; "float?"
    may be absent, "float*" is any number of them. Where they are not said, they are floats: what the pure form reads and does not
    write, and what it writes and does not read. `shape` need not be said where one input and the outputs are of one size.
    `attributes`: {name: default, or a type without one: int, float, str, list[int] …}; those in `required` must be set.

    Another definition of the same name from Python replaces this one, also for what was compiled before. Raises InvalidError for forms
    that are wrong, with a caret; UsageError where ports or sizes can't be told."""
    if not isinstance(name, str):
        raise TypeError(f"the name of an op is a text, \"my.Op\", not {name!r}")
    domain, _, own = name.rpartition(".")
    if domain and own and not own.isidentifier():
        raise UsageError(f"an op's name is letters, digits and _ after the domain's dot, not {own!r}")
    if not domain or not own or domain in ("onnx", "call", "grad"):
        raise UsageError(f"an op has a domain of its own: headrace.op(\"my.{own or 'Op'}\", …), not {name!r}")
    if isinstance(samples, str):
        raise TypeError("samples is a list of texts")
    signature = [_attribute(n, value, n in required) for n, value in (attributes or {}).items()]
    if unknown := [n for n in required if n not in (attributes or {})]:
        raise UsageError(f"{name}: required attribute {unknown[0]} has no type: attributes={{\"{unknown[0]}\": int}}")
    if not pure and (inputs is None or outputs is None or not shape):
        raise UsageError(f"{name} has no pure form: say inputs=, outputs= and shape=, and register an implementation")
    for what, text in (("pure form", pure), ("backward form", backward), ("shape rule", shape)):
        if text:
            _check_calls(name, what, text)
    told = _core.form_ports(name, pure, list(attributes or {})) if pure else ([], [], "")
    ports = [_ports(name, given, found, what) for given, found, what in ((inputs, told[0], "inputs"), (outputs, told[1], "outputs"))]
    _check_names(name, told[0], [p[0] for p in ports[0]], attributes or {}, "pure form")
    if backward:
        _check_backward(name, backward, *([p[0] for p in some] for some in ports), attributes or {})
    if not shape and set(told[1]) == {p[0] for p in ports[1]} and told[0] == [p[0] for p in ports[0]]:
        shape = told[2]
    if not shape:
        y, x = ports[1][0][0], ports[0][0][0] if ports[0] else "X"
        raise UsageError(f"{name}: the sizes of its outputs are not said: shape=\"shape {y}[dims({x})]\" (docs/plugins.md, \"Shapes\")")
    _core.add_op(f"python:{name}", domain, own, doc, pure, backward, shape, list(samples), *ports, signature)
    registrations.changed()
    found = _core.op_signature(domain, own, 0)
    return CustomOp(Signature(found), reference)


def _check_names(op: str, read: Sequence[str], ports: Sequence[str], attributes: Mapping[str, Any], what: str) -> None:
    known = [*ports, *attributes]
    for n in read:
        if n not in known:
            raise InvalidError(f"{op}: its {what} reads '{n}', which is no input or attribute of the op{did_you_mean(n, known)}")


def _check_calls(op: str, what: str, text: str) -> None:
    wrong, known = _core.form_calls(op if what == "pure form" else f"{what.split()[0]} of {op}", text)
    for function, complaint in wrong:
        missing = f", which is no function{did_you_mean(function, known)}"
        raise InvalidError(f"{op}: its {what} calls '{function}'{' ' + complaint if complaint else missing}")


def _check_backward(op: str, backward: str, inputs: list[str], outputs: list[str], attributes: Mapping[str, Any]) -> None:
    """Names of the backward form: inputs, outputs, attributes and dY of an output are read, dX of an input is written."""
    arriving, made = [f"d{y}" for y in outputs], [f"d{x}" for x in inputs]
    read, written, _ = _core.form_ports(f"backward of {op}", backward, list(attributes))
    _check_names(op, read, [*inputs, *outputs, *arriving], attributes, "backward form")
    for n in written:
        if n not in made:
            raise InvalidError(f"{op}: its backward form gives '{n}', which is the gradient of no input: it may give {', '.join(made)}")


def _ports(op: str, given: Any, found: list[str], what: str) -> list[tuple[str, str, bool, bool]]:
    if given is None:
        if not found:
            raise UsageError(f"{op}: its {what} can't be told from the pure form: {what}={{\"{'X' if what == 'inputs' else 'Y'}\": \"float\"}}")
        given = found
    if isinstance(given, str):
        raise TypeError(f"{what} is a dict of types, or a list of names, not one name")
    all_ports = dict(given) if isinstance(given, Mapping) else dict.fromkeys(given, "float")
    made = [_port(op, name, kind, all_ports) for name, kind in all_ports.items()]
    for name, kind, _, _ in made if what == "inputs" else ():
        if kind not in FAMILIES and kind not in NUMPY_OF_IR:
            raise TypeError(f"{op}: the type of {name} is a dtype or a family of them ({', '.join(FAMILIES)}), not {kind!r}")
    return made


def _port(op: str, name: str, kind: Any, all_ports: Mapping[str, Any]) -> tuple[str, str, bool, bool]:
    optional = variadic = False
    if isinstance(kind, str):
        optional, variadic = kind.endswith("?"), kind.endswith("*")
        kind = kind.rstrip("?*")
        # An output's type may name inputs, which the core knows: `y_zero_point|f32`.
        return name, kind if kind in FAMILIES or kind in NUMPY_OF_IR else _other(op, name, kind), optional, variadic
    try:
        return name, ir_type((kind.dtype if isinstance(kind, Type) else np.dtype(kind)).name), optional, variadic
    except TypeError:
        raise TypeError(f"{op}: the type of {name} is a dtype or a family of them, not {kind!r}") from None


def _other(op: str, name: str, kind: str) -> str:
    try:
        return ir_type(np.dtype(kind).name)
    except TypeError:
        return kind


def _attribute(name: str, given: Any, required: bool) -> tuple[str, str, bool, Any]:
    if isinstance(given, type) or getattr(given, "__origin__", None) is list:
        if given not in _ATTRIBUTE_TYPES:
            raise TypeError(f"attribute {name}: its type is one of int, float, str, list[int], list[float], list[str], numpy.ndarray, "
                            f"not {given!r}")
        return name, _ATTRIBUTE_TYPES[given], required, None
    if required:
        raise TypeError(f"attribute {name} is required and has a default")
    if isinstance(given, (list, tuple)) and given:
        kinds = {float if isinstance(v, float) else int if isinstance(v, int) else type(v) for v in given}
        kind = list[float] if kinds == {int, float} else list[kinds.pop()] if len(kinds) == 1 else None
        given = list(given)
    else:
        kind = int if isinstance(given, (bool, int)) else type(given)
        given = int(given) if isinstance(given, bool) else given
    if kind not in _ATTRIBUTE_TYPES or kind is np.ndarray:
        raise TypeError(f"attribute {name}: {given!r} is no number, string or list of such")
    return name, _ATTRIBUTE_TYPES[kind], False, given
