"""Programs, built piece by piece: each call is a line of IR text, read where it stands, so that errors point at the call."""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import sys
from typing import Any, Iterator, Mapping, Sequence

import numpy as np

from . import _core
from .errors import InvalidError, UsageError
from .frontend.types import IR_NAMES, Type
from .sdfg import Sdfg

_HERE = os.path.dirname(os.path.abspath(__file__))


class SdfgBuilder:
    """Makes an `Sdfg`: containers, then states, maps, tasklets, library nodes, loops and branches.

        b = headrace.SdfgBuilder("scale")
        x, y = b.parameter("X", "f32", ["N"]), b.parameter("Y", headrace.float32[headrace.symbol("N")])
        with b.state(), b.map(i="0:N"):
            b.tasklet("Y[i] = 2 * X[i]")
        program = b.build()

    Expressions, ranges and sizes are texts as docs/notation.md has them, or numbers. What is wrong is an error of the call that
    says it (InvalidError, with the text and a caret); what only the whole program tells is one of `build`.
    """

    def __init__(self, name: str):
        self._name = name
        self._parameters: list[str] = []
        self._declarations: list[str] = []
        self._lines: list[str] = []
        self._open: list[tuple[str, str]] = []  # (line that opened it, kind) of what is open
        self._symbols: list[str] = []           # that statements define
        self._others: dict[str, str] = {}       # programs that this one calls, by name
        self._after_branch = False
        self._check()

    # ---- containers ----
    def parameter(self, name: str, type: Any, shape: Sequence = (), *, inout: bool = False, optional: bool = False) -> str:
        """An argument or result of the program: `type` is "f32" or headrace.float32[N, 3]; gives its name. What statements write
        is a result; `inout` is both."""
        text = f"{'inout ' if inout else ''}{'optional ' if optional else ''}{_declared(name, type, shape)}"
        self._parameters.append(text)
        return self._declared_or_undone(self._parameters, name)

    def transient(self, name: str, type: Any, shape: Sequence = (), *, persistent: bool = False) -> str:
        """An array that lives inside of a run; `persistent`: between runs, too."""
        return self._declare(name, f"{'persistent' if persistent else 'transient'} {_declared(name, type, shape)}")

    def constant(self, name: str, value: Any) -> str:
        """An array whose value is part of the program."""
        a = np.asarray(value)
        if a.dtype not in IR_NAMES:
            raise TypeError(f"constant {name}: no program computes with {a.dtype}")
        from .onnx.inline import data_text  # the notation of elements

        return self._declare(name, f"constant {_declared(name, IR_NAMES[a.dtype], a.shape)} = {data_text(a)}")

    def view(self, name: str, of: str, shape: Sequence, *, offset: Any = None, strides: Sequence | None = None) -> str:
        """Another name for (a part of) the container `of`, whose type it has: element [i…] lies offset + Σ i·strides after the
        base's first one in memory."""
        text = f"view {_declared(name, self._type_of(of), shape)} of {of}"
        text += f" offset {offset}" if offset is not None else ""
        text += f" strides [{_list(strides)}]" if strides is not None else ""
        return self._declare(name, text)

    def _type_of(self, name: str) -> str:
        found = [p for p in self._peek().parameters() if p[0] == name]
        for line in () if found else self._declarations:
            words = line.split(None, 2)
            if words[1].rstrip(":") == name:
                return words[2].split("[")[0].split(" ")[0]
        if not found:
            raise UsageError(f"there is no container {name} to be seen in another shape")
        return found[0][1]

    def _peek(self) -> Any:
        return _core.parse_part(self._text([], []), self._place())

    def _declare(self, name: str, text: str) -> str:
        self._declarations.append(text)
        return self._declared_or_undone(self._declarations, name)

    def _declared_or_undone(self, lines: list[str], name: str) -> str:
        try:
            self._check()
        except Exception:
            lines.pop()
            raise
        return name

    # ---- statements ----
    def tasklet(self, target: str, value: Any = None, op: str = "=") -> None:
        """`tasklet("Y[i] += X[i]")` or `tasklet("Y[i]", "X[i]", "+=")`: writes one element; `op` is one of = += *= max= min=."""
        self._statement(target if value is None else f"{target} {op} {value}")

    def library(self, op: str, inputs: Mapping[str, Any], outputs: Mapping[str, Any], attributes: Mapping[str, Any] | None = None,
                *, version: int = 0, defines: Sequence[str] = (), implementation: str | None = None) -> None:
        """A library node: `library("onnx.Conv", {"X": x, "W": w}, {"Y": y}, {"strides": [2, 2]})`. Ports may have lists of
        containers. `defines`: sizes that it determines. Unknown ops are errors here."""
        _known(op)
        text = op + (f":{version}" if version else "")
        if attributes:
            text += "{" + ", ".join(f"{n} = {_attribute(v)}" for n, v in sorted(attributes.items())) + "}"
        text += f"({_ports(inputs)}) -> ({_ports(outputs)})"
        text += f" defines ({', '.join(defines)})" if defines else ""
        text += f" impl {json.dumps(implementation)}" if implementation else ""
        self._statement(text, defines)

    def call(self, program: Sdfg | str, arguments: Mapping[str, str], sizes: Mapping[str, Any] | None = None) -> None:
        """Calls another program, which becomes a part of this one: {its parameter: a container, "X[i, :]" in a map}. `sizes`:
        {its symbol: an expression} of those that no argument's shape tells."""
        if isinstance(program, Sdfg):
            name, text = program.name, program.text.replace("entry sdfg ", "sdfg ", 1)
            if self._others.setdefault(name, text) != text or name == self._name:
                raise UsageError(f"there is another program called {name} in this one")
        else:
            name = program
        items = [f"{p} = {c}" for p, c in arguments.items()] + [f"{s} := {e}" for s, e in (sizes or {}).items()]
        self._statement(f"call {name}({', '.join(items)})")

    def let(self, symbol: str, value: Any) -> None:
        """A size from data: a symbol from here on."""
        self._statement(f"let {symbol} = {value}", [symbol])

    def require(self, condition: str, message: str, values: Sequence = ()) -> None:
        """Stops the program with `message` where the condition, of sizes alone, is false; each {} in it is one of `values`."""
        self._statement(f"require {condition} else {json.dumps(message)}" + "".join(f", {v}" for v in values))

    def leave(self) -> None:
        """`break`: leaves the innermost loop."""
        self._statement("break")

    def next(self) -> None:
        """`continue`: goes on with the innermost loop's next iteration."""
        self._statement("continue")

    # ---- what has statements inside ----
    def state(self, label: str = "") -> contextlib.AbstractContextManager:
        """Statements in order; those outside of one get a state of their own."""
        return self._block(f"state {label}".strip(), "state")

    def map(self, schedule: str = "", **ranges: Any) -> contextlib.AbstractContextManager:
        """`map(i="0:N", j="0:M:2")`: every index once, in no particular order; `schedule` such as "@parallel"."""
        if not ranges:
            raise TypeError("a map has a range: map(i=\"0:N\")")
        text = ", ".join(f"{i} in {_range(r)}" for i, r in ranges.items())
        return self._block(f"map {text} {schedule}".strip(), "map")

    def loop(self, **variable: Any) -> contextlib.AbstractContextManager:
        """`loop(t="0:T")`: in order. Without a range, until `leave`."""
        if len(variable) > 1:
            raise TypeError("a loop has one variable; nest loops, or use map")
        head = "".join(f"for {t} in {_range(r)}" for t, r in variable.items())
        return self._block(head or "loop", "loop")

    def while_(self, condition: str) -> contextlib.AbstractContextManager:
        """As long as the condition holds, which is tested before."""
        return self._block(f"while {condition}", "loop")

    def branch(self, condition: str) -> contextlib.AbstractContextManager:
        """`if`; what follows at once may be `otherwise`."""
        return self._block(f"if {condition}", "if")

    def otherwise(self, condition: str | None = None) -> contextlib.AbstractContextManager:
        """The `else` of the branch before, or its `else if` where there is a condition."""
        if not self._after_branch:
            raise UsageError("otherwise() stands right after a branch(…)")
        # Read as an `if` of its own; written as part of the one before.
        return self._block(f"if {condition or 'true'}", "if", "} else " + (f"if {condition} {{" if condition else "{"))

    @contextlib.contextmanager
    def _block(self, head: str, kind: str, written: str = "") -> Iterator[None]:
        opener = f"{head}{self._origin()} {{"
        self._check([opener, "}"], self._place())
        before = list(self._lines), list(self._open), self._symbols, self._after_branch
        if written:
            self._lines.pop()  # the branch's bracket
        self._lines.append("  " * len(self._open) + (written or opener))
        self._open.append((opener, kind))
        self._after_branch = False
        try:
            yield
        except BaseException:  # as if the block had not been begun
            self._lines, self._open, self._symbols, self._after_branch = before
            raise
        self._open.pop()
        self._lines.append("  " * len(self._open) + "}")
        self._after_branch = kind == "if"

    def _statement(self, text: str, defines: Sequence[str] = ()) -> None:
        line = text + ("" if text.startswith("require ") else self._origin())
        before = self._symbols
        self._symbols = [s for s in before if s not in defines]
        try:
            self._check([line], self._place())
        finally:
            self._symbols = before
        self._symbols = [*dict.fromkeys([*before, *defines])]
        self._lines.append("  " * len(self._open) + line)
        self._after_branch = False

    # ---- text ----
    def _text(self, inner: list[str], around: list[str]) -> str:
        sizes = [f"{s}: symbol" for s in self._symbols]
        head = f"sdfg {self._name}({', '.join([*self._parameters, *sizes])}) {{"
        return "\n".join([head, *self._declarations, *around, *inner, *("}" for _ in around), "}", *self._others.values()])

    def _check(self, inner: list[str] = (), place: str | None = None) -> None:  # type: ignore[assignment]
        """What is open, with this inside, can be read."""
        _core.parse_part(self._text(list(inner), [o for o, _ in self._open]), place or self._place())

    def build(self) -> Sdfg:
        """The program, verified: results are written, what is read was written before, shapes agree."""
        if self._open:
            raise UsageError(f"a {self._open[-1][1]} is still open")
        head = f"entry sdfg {self._name}({', '.join(self._parameters)}) {{"
        body = ["  " + line for line in (*self._declarations, *self._lines)]
        return Sdfg.parse("\n".join([head, *body, "}", *self._others.values()]) + "\n", f"<{self._name}>")

    @staticmethod
    def _caller() -> tuple[str, int]:
        frame = sys._getframe(1)
        while frame.f_back is not None and (frame.f_code.co_filename.startswith(_HERE) or frame.f_globals.get("__name__") == "contextlib"):
            frame = frame.f_back
        return frame.f_code.co_filename, frame.f_lineno

    def _place(self) -> str:
        file, line = self._caller()
        return f"<{self._name}, built at {file}:{line}>"

    def _origin(self) -> str:
        file, line = self._caller()
        return f" from {json.dumps(f'{os.path.basename(file)}:{line}')}"


def _declared(name: str, type_: Any, shape: Sequence) -> str:
    if isinstance(type_, Type):
        shape = shape or type_.shape
        type_ = IR_NAMES[type_.dtype]
    elif not isinstance(type_, str):
        try:
            type_ = IR_NAMES[np.dtype(type_)]
        except (TypeError, KeyError):
            raise TypeError(f"{name}: a type is \"f32\", headrace.float32 or a NumPy type, not {type_!r}") from None
    if isinstance(shape, (str, int)):
        raise TypeError(f"{name}: a shape is a list of sizes, not {shape!r}")
    if negative := [s for s in shape if isinstance(s, (int, np.integer)) and s < 0]:
        raise ValueError(f"{name}: a size is not negative: {negative[0]}")
    return f"{name}: {type_}" + (f"[{_list(shape)}]" if len(shape) else "")


def _list(sizes: Sequence) -> str:
    for s in sizes:
        if isinstance(s, (bool, float, np.floating, np.bool_)) or s is None:
            raise TypeError(f"a size is an integer, a text or a symbol, not {s!r}")
    return ", ".join(map(str, sizes))


def _range(given: Any) -> str:
    if isinstance(given, str):
        return given
    if isinstance(given, (tuple, list)) and len(given) in (2, 3):
        return ":".join(map(str, given))
    raise TypeError(f"a range is \"0:N\", (0, \"N\") or (0, \"N\", 2), not {given!r}")


def _ports(ports: Mapping[str, Any]) -> str:
    return ", ".join(f"{p} = {c}" for p, given in ports.items() for c in (given if isinstance(given, (list, tuple)) else [given])
                     if c is not None)


def _attribute(value: Any) -> str:
    from .onnx.inline import attribute_text

    if isinstance(value, np.ndarray):
        return attribute_text("tensor", value)
    several = isinstance(value, (list, tuple))
    first = value[0] if several and value else value
    kind = "string" if isinstance(first, str) else "float" if isinstance(first, (float, np.floating)) else "int"
    if several and any(isinstance(v, (float, np.floating)) for v in value):
        kind = "float"
    if not isinstance(first, (str, int, float, np.integer, np.floating, list, tuple)):
        raise TypeError(f"an attribute is a number, a string, a list of such or an array, not {value!r}")
    return attribute_text(kind + "s" if several else kind, value)


_ops: set[str] = set()  # that were looked up before: thousands


def _known(op: str) -> None:
    """InvalidError for an op that no plugin has."""
    domain, _, name = op.rpartition(".")
    if not domain:
        raise InvalidError(f"an op is DOMAIN.NAME such as onnx.Conv, not {op!r}")
    if domain in ("call", "grad") or op in _ops:
        return
    _ops.update(f"{d}.{n}" for d, n, _ in _core.op_versions())  # plugins may have come since
    if op not in _ops:
        close = difflib.get_close_matches(op, _ops, 1)
        raise InvalidError(f"there is no op {op}" + (f"; did you mean {close[0]}?" if close else ""))
