"""Implementations of library nodes from Python, and which of them are preferred."""

from __future__ import annotations

import ctypes
import inspect
import os
import re
from typing import Any, Callable

from .. import _core, registrations
from ..errors import UsageError
from ..onnx import ops
from ..onnx.signature import NUMPY_OF_IR
from ..onnx.weights import did_you_mean
from ..sdfg import Sdfg
from .expansions import ports_of, text_of
from .nodes import Node, condition

_kept: dict[str, Any] = {}  # functions and libraries of C that programs may call


def op_of(op: str) -> tuple[str, str]:
    """"Softplus" or "my.Softplus" → domain and name. Raises UsageError for one that there is not."""
    domain, _, name = op.rpartition(".")
    domain = domain or "onnx"
    known = ops._versions()
    if name not in known.get(domain, {}):
        raise UsageError(f"there is no op {domain}.{name}{did_you_mean(name, list(known.get(domain, {})) or list(known))}")
    return domain, name


def implementation(op: str, *, name: str, when: Callable[[Node], bool | str] | None = None, priority: int = 0,
                   thread_safe: bool = True) -> Callable[[Any], Any]:
    """Registers what it decorates, or is called with, as the implementation `name` of an op; an earlier one of that name is replaced.

        @headrace.onnx.implementation("Softplus", name="stable", when=lambda node: node.inputs["X"].dtype == "float32")
        def softplus(X):                          # numpy-style: inputs and attributes by name; or softplus(X, Y), which writes Y
            return np.maximum(X, 0) + np.log1p(np.exp(-abs(X)))

        @headrace.implementation("my.Softplus", name="made")
        def made(node):                           # one parameter, `node`: gives an Sdfg, IR text or a numpy-style function
            return headrace.Sdfg.parse("sdfg f(X: f32[N], Y: f32[N]) { map i in 0:N { Y[i] = log1p(exp(X[i])) } }")

        headrace.implementation("my.Softplus", name="c")(library.softplus)               # of ctypes: int32_t softplus(hr_call*)
        headrace.implementation("my.Softplus", name="c")(("libsoftplus.so", "softplus"))

    `when(node)` is True, or False or a reason where it does not apply; errors and `Sdfg.choices()` quote it. `priority`: of those
    that apply the largest is taken, then the one registered first, "pure" last; a negative one is taken only when it is asked for.
    `thread_safe`: of C functions, whether calls may overlap."""
    domain, op_name = op_of(op)
    if not name or not isinstance(name, str):
        raise TypeError("an implementation has a name: implementation(op, name=…)")

    def register(given: Any) -> Any:
        plugin = f"python:{domain}.{op_name}@{name}"
        if inspect.isfunction(given) or hasattr(given, "__headrace_function__") or isinstance(given, Sdfg):
            expand = _expansion_of(given)
        else:
            function = f"python_{re.sub(r'[^A-Za-z0-9_]', '_', f'{domain}_{op_name}_{name}')}"
            _core.add_external(f"{plugin}!", function, _address(given, function), thread_safe)
            expand = _call_of(function)
        _core.add_implementation(plugin, domain, op_name, name, priority, condition(when) if when is not None else None, expand)
        registrations.changed()
        return given

    return register


def _expansion_of(given: Any) -> Callable[[dict], str]:
    def expand(described: dict) -> str:
        node = Node(described)
        return text_of(node, given(node) if makes_programs(given) else given, ports_of(node))

    return expand


def makes_programs(function: Any) -> bool:
    """Whether it is a function of a node that gives the program, not the program itself."""
    return inspect.isfunction(function) and list(inspect.signature(function).parameters) == ["node"]


# ---- C functions ----
def _address(given: Any, function: str) -> int:
    if isinstance(given, (tuple, list)) and len(given) == 2:
        path, symbol = os.fspath(given[0]), given[1]
        try:
            library = ctypes.CDLL(path)
        except OSError as error:
            raise UsageError(f"the library {path} can't be loaded: {error}") from error
        given = getattr(library, symbol, None)
        if given is None:
            raise UsageError(f"the library {path} has no symbol '{symbol}': it must be exported, and extern \"C\" in C++")
    if not isinstance(given, ctypes._CFuncPtr):
        raise TypeError("an implementation is a function, an Sdfg, a C function of ctypes or (path of a library, symbol), not "
                        f"{type(given).__name__}")
    _kept[function] = given
    return ctypes.cast(given, ctypes.c_void_p).value or 0


def _call_of(function: str) -> Callable[[dict], str]:
    def expand(described: dict) -> str:
        node = Node(described)
        if wrong := [p for p in (*node.input_ports().values(), *node.output_ports().values()) if p.type not in NUMPY_OF_IR]:
            raise NotImplementedError(f"C functions take arrays, and {wrong[0].name} is none")
        inputs, outputs = node.input_ports(), node.output_ports()
        declared = ", ".join(p.declared() for p in (*inputs.values(), *outputs.values()))
        attributes = ", ".join(f"{n} = {text}" for n, text in node._attribute_texts.items() if text)
        ports = [", ".join(f"{n} = {n}" for n in names) for names in (inputs, outputs)]
        defines = f" defines ({', '.join(node.defines)})" if node.defines else ""
        return (f"sdfg {function}_node({declared}) {{\n  call.{function}{'{' + attributes + '}' if attributes else ''}({ports[0]}) -> "
                f"({ports[1]}){defines}\n}}\n")

    return expand


# ---- preferences ----
def set_implementation(op: str, name: str | None) -> None:
    """From now on nodes of this op ("Softplus", "my.Softplus") are expanded by this implementation wherever it applies, unless the
    node or `implementations=` of compile says otherwise; None: as before."""
    domain, op_name = op_of(op)
    known = list(dict.fromkeys(_core.op_implementations(domain, op_name)))
    if name is not None and name not in known:
        raise UsageError(f"{domain}.{op_name} has no implementation '{name}'{did_you_mean(name, known)}")
    _core.set_preference(f"{domain}.{op_name}", name)
    registrations.changed()

