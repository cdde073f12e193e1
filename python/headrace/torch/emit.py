"""Writes IR text for a graph of ATen operators: containers, maps, library nodes."""

from __future__ import annotations

import math
import re
from typing import Any, Callable, Sequence

import sympy
import torch

from ..errors import UnsupportedError
from . import sizes

TYPES = {
    torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16", torch.bool: "bool",
    torch.uint8: "u8", torch.int8: "i8", torch.int16: "i16", torch.int32: "i32", torch.int64: "i64",
    torch.complex64: "c64", torch.complex128: "c128",
}
FLOATS = ("f16", "bf16", "f32", "f64")
HALVES = ("f16", "bf16")
COMPLEX = ("c64", "c128")


def type_of(dtype: torch.dtype) -> str:
    if dtype not in TYPES:
        raise UnsupportedError(f"no program computes with {dtype}")
    return TYPES[dtype]


class Value:
    """A tensor of the program. `at` gives the text of one element; `name` is its container where it is a whole, dense one."""

    __slots__ = ("dtype", "shape", "at", "name")

    def __init__(self, dtype: str, shape: Sequence[int | str], at: Callable[[Sequence[str]], str], name: str | None = None):
        self.dtype, self.shape, self.at, self.name = dtype, tuple(shape), at, name

    @property
    def rank(self) -> int:
        return len(self.shape)


class Size:
    """A number that follows from sizes."""

    __slots__ = ("text",)

    def __init__(self, text: int | str):
        self.text = text


class Real:
    """A number that follows from sizes and is none itself: text of type f64."""

    __slots__ = ("text",)

    def __init__(self, text: str):
        self.text = text


class Condition:
    """A truth value that follows from sizes."""

    __slots__ = ("text",)

    def __init__(self, text: str):
        self.text = text


def container(name: str, dtype: str, shape: Sequence[int | str]) -> Value:
    def at(i):
        if len(i) != len(shape):
            raise UnsupportedError(f"{len(i)} indices for {declared(dtype, shape)}")
        return f"{name}[{', '.join(i)}]" if i else name

    return Value(dtype, shape, at, name)


def declared(dtype: str, shape: Sequence[int | str]) -> str:
    return dtype + (f"[{', '.join(map(str, shape))}]" if shape else "")


class Emitter:
    def __init__(self):
        self.declarations: list[str] = []
        self.lines: list[str] = []
        self._depth = 1
        self._names: set[str] = set()
        self._targets: dict[str, str] = {}
        self.origin = ""

    # ---- names and lines ----
    def fresh(self, hint: str) -> str:
        hint = re.sub(r"\W", "_", hint)
        name, k = hint, 0
        while name in self._names:
            k += 1
            name = f"{hint}_{k}"
        self._names.add(name)
        return name

    def line(self, text: str) -> None:
        self.lines.append("  " * self._depth + text + self.origin)

    def open(self, text: str) -> None:
        self.lines.append("  " * self._depth + text + " {")
        self._depth += 1

    def close(self) -> None:
        self._depth -= 1
        self.lines.append("  " * self._depth + "}")

    # ---- containers ----
    def new(self, dtype: str, shape: Sequence[int | str], hint: str = "t") -> Value:
        name = self.fresh(hint)
        self.declarations.append(f"transient {name}: {declared(dtype, shape)}")
        return container(name, dtype, shape)

    def like(self, tensor: torch.Tensor, hint: str = "t") -> Value:
        return self.new(type_of(tensor.dtype), [sizes.text_of(s) for s in tensor.shape], hint)

    def viewed(self, v: Value, shape: Sequence[int | str]) -> Value:
        """The same elements in another shape, row-major."""
        v = self.whole(v)
        name = self.fresh(v.name + "_view")
        self.declarations.append(f"view {name}: {declared(v.dtype, shape)} of {v.name}")
        return container(name, v.dtype, shape)

    def whole(self, v: Value) -> Value:
        """v as a dense container."""
        if v.name is not None:
            return v
        t = self.new(v.dtype, v.shape)
        self.fill(t, lambda i: v.at(i))
        return t

    # ---- statements ----
    def maps(self, extents: Sequence[int | str], body: Callable[[list[str]], None], begin: Sequence[str] | None = None) -> None:
        """`body` for every index; `extents` may be "begin:end" texts, which may read the indices before them (_i0, _i1 …)."""
        if not extents:
            body([])
            return
        index = [f"_i{k}" for k in range(len(extents))]
        ranges = [e if isinstance(e, str) and ":" in e else f"0:{e}" for e in extents]
        self.open("map " + ", ".join(f"{i} in {r}" for i, r in zip(index, ranges)))
        body(index)
        self.close()

    def in_order(self, count: int | str, body: Callable[[str], None]) -> None:
        """`body` for every number below `count`, one after the other: for what must see, or may overwrite, what came before."""
        if count == 1:
            body("0")
            return
        t = self.fresh("t")
        self.open(f"for {t} in 0:{count}")
        body(t)
        self.close()

    def fill(self, target: Value, text: Callable[[list[str]], str], op: str = "=") -> Value:
        """target[i] = text(i) for every i."""
        self.maps(target.shape, lambda i: self.line(f"{target.at(i)} {op} {text(i)}"))
        return target

    def constant(self, dtype: str, values: Sequence, hint: str = "k") -> Value:
        """A list of numbers as a container."""
        name = self.fresh(hint)
        self.declarations.append(f"constant {name}: {dtype}[{len(values)}] = [{', '.join(number(v, dtype).strip('()') for v in values)}]")
        return container(name, dtype, [len(values)])

    def node(self, op: str, attributes: dict[str, Any], inputs: dict[str, Value], outputs: dict[str, Value]) -> None:
        """A library node; inputs become dense containers."""
        ports = {port: self.whole(v) for port, v in inputs.items()}
        given = ", ".join(f"{k} = {_attribute(v)}" for k, v in attributes.items() if v is not None)
        self.line(f"{op}{'{' + given + '}' if given else ''}({', '.join(f'{p} = {v.name}' for p, v in ports.items())}) -> "
                  f"({', '.join(f'{p} = {v.name}' for p, v in outputs.items())})")

    # ---- expressions ----
    def operand(self, v: Any, index: Sequence[str], dtype: str) -> str:
        """The element of v, broadcast to `index`, as `dtype`."""
        if isinstance(v, Value):
            own = index[len(index) - v.rank:] if v.rank else []
            return cast(v.at(["0" if s == 1 else i for i, s in zip(own, v.shape)]), v.dtype, dtype)
        return number(v, dtype)


def cast(text: str, have: str, want: str) -> str:
    if have == want:
        return text
    if want == "bool":
        return f"({text} != 0)" if have not in COMPLEX else f"(real({text}) != 0 || imag({text}) != 0)"
    if want in COMPLEX:
        if have in COMPLEX:
            return f"{want}({text})"
        part = "f32" if want == "c64" else "f64"
        return f"complex({cast(text, have, part)}, {part}(0))"
    if have in COMPLEX:
        return cast(f"real({text})", "f32" if have == "c64" else "f64", want)
    return f"{want}({text})"


def number(v: Any, dtype: str) -> str:
    """A Python number, or a size, as a literal of `dtype`."""
    if isinstance(v, Real):
        return cast(f"({v.text})", "f64", dtype)
    if isinstance(v, Condition):
        return cast(v.text, "bool", dtype)
    if isinstance(v, Size):
        if isinstance(v.text, int):
            return number(v.text, dtype)
        if dtype in COMPLEX:
            raise UnsupportedError("a size as a complex number")
        return f"({v.text})" if dtype == "i64" else f"{dtype}({v.text})"
    if dtype == "bool":
        return "true" if v else "false"
    if dtype in COMPLEX:
        v = complex(v)
        text = f"complex({_float(v.real)}, {_float(v.imag)})"
        return text if dtype == "c128" else f"c64({text})"
    if isinstance(v, complex):
        raise UnsupportedError(f"{v} as {dtype}")
    if dtype in FLOATS:
        return _float(float(v))
    if isinstance(v, float) and not math.isfinite(v):
        raise UnsupportedError(f"{v} as {dtype}")
    v = int(v)
    return str(v) if v >= 0 else f"({v})"


def _float(v: float) -> str:
    if math.isnan(v):
        return "nan"
    if math.isinf(v):
        return "inf" if v > 0 else "(-inf)"
    text = repr(v).replace("e+", "e")
    return f"({text})" if text.startswith("-") else text


def _attribute(v: Any) -> str:
    if isinstance(v, bool):
        return str(int(v))
    if isinstance(v, Size):
        return _attribute_size(v.text)
    if isinstance(v, str):
        return f'"{v}"'
    if isinstance(v, (list, tuple)):
        return "[" + ", ".join(_attribute_size(x) if sizes.is_open(x) else _attribute(x) for x in v) + "]"
    return repr(v).replace("e+", "e") if isinstance(v, float) else str(v)


def _attribute_size(text: int | str) -> str:
    if isinstance(text, str):
        raise sizes.must_be_number(text, f"an operator's number of groups, stride, padding or window that is the size {text}")
    return str(text)


def scalar_of(node_value: Any) -> Any:
    """What a SymInt, SymFloat or SymBool of the graph is here."""
    if isinstance(node_value, torch.SymInt):
        return Size(sizes.text_of(node_value))
    if isinstance(node_value, (torch.SymFloat, torch.SymBool)):
        e = node_value.node.expr
        if isinstance(e, sympy.Basic) and not e.free_symbols:
            return bool(e) if isinstance(node_value, torch.SymBool) else float(e)
        if isinstance(node_value, torch.SymFloat):
            return Real(_real(e))
        raise UnsupportedError(f"a truth value that is {e}")
    return node_value


def _real(e: sympy.Expr) -> str:
    kind = type(e).__name__
    if e.is_Integer or e.is_Float:
        return f"f64({_float(float(e))})"
    if kind in ("FloatTrueDiv", "IntTrueDiv"):
        return f"({_real(e.args[0])} / {_real(e.args[1])})"
    if kind == "Add" and not e.is_integer:
        return "(" + " + ".join(map(_real, e.args)) + ")"
    if kind == "Mul" and not e.is_integer:
        return "(" + " * ".join(map(_real, e.args)) + ")"
    if kind in ("OpaqueUnaryFn_sqrt", "FloatPow", "Pow") and (kind.endswith("sqrt") or e.args[1] == 0.5):
        return f"sqrt({_real(e.args[0])})"
    return f"f64({sizes.text_of(e.args[0] if kind == 'ToFloat' else e)})"
