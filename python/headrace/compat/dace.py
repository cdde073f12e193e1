"""DaCe's and DaCeML's spellings: `import headrace.compat.dace as dace`.

| there | here |
|---|---|
| `dace.program`, `.to_sdfg()` | headrace.program, `.sdfg`, `.sdfg_for(…)` |
| `dace.float32[5, 3]`, `dace.symbol("N")` | headrace.float32[5, 3], headrace.symbol("N") |
| `dace.define_local`, `dace.define_local_scalar` | numpy.zeros (memory that nobody wrote is zero) |
| `dace.map[0:N]` | headrace.map[0:N] |
| `DaceModule`, `dace_module` | headrace.module |
| `ONNXModel`, `donnx.ONNXConv` | headrace.ONNXModel, headrace.onnx.Conv |
| `@python_pure_op_implementation` | headrace.implementation |
| `add_backward_pass` | headrace.Sdfg.gradient |

Arguments that change nothing here are accepted with a warning that says why.
"""

from __future__ import annotations

import difflib
import enum
import functools
import inspect
import types
from typing import Any, Sequence

import numpy as np

from ..custom.implementations import implementation
from ..errors import UnsupportedError
from ..frontend import creation
from ..frontend.functions import FUNCTIONS
from ..frontend.ranges import map  # noqa: A004: its name there
from ..frontend.sizes import Size
from ..frontend.types import TYPES, Type
from ..frontend.types import symbol as _symbol
from ..program import Program
from ..sdfg import Gradient, Sdfg
from .notes import on_cpu, say

globals().update(TYPES)
bool_ = TYPES["bool"]

_ALWAYS = "compiling always optimizes; headrace.Sdfg.compile(optimize=\"none\") does not"
_ONCE = "a program is made and compiled once for each set of argument types, and found again in the cache"


class DeviceType(enum.Enum):
    """Where a program runs: GPU has no effect, and one line says so."""

    CPU = 1
    GPU = 2


class DaceProgram(Program):
    """headrace.Program with DaCe's methods."""

    def to_sdfg(self, *args: Any, simplify: bool = True, **named: Any) -> Sdfg:
        """The program for arguments like these; of annotated ones none need be given."""
        sdfg = (self.sdfg_for(*args, **named) if args or named else self.sdfg).copy()
        return sdfg.simplify() if simplify else sdfg

    def compile(self, *args: Any, simplify: bool = True, **named: Any) -> Any:
        """The program for arguments like these, compiled: a headrace.Compiled."""
        return self.to_sdfg(*args, simplify=simplify, **named).compile()


def program(function: Any = None, *, device: DeviceType = DeviceType.CPU, **options: Any) -> Any:
    """dace.program, with or without arguments."""
    on_cpu("dace.program", "device", device is not DeviceType.CPU and device)
    say("dace.program", options, {
        "auto_optimize": (False, _ALWAYS), "simplify": (None, _ALWAYS), "recreate_sdfg": (True, _ONCE),
        "regenerate_code": (True, _ONCE), "recompile": (True, _ONCE),
        "constant_functions": (False, "functions of constants are always evaluated when the program is made"),
        "distributed_compilation": (False, "each process compiles, or finds the program in the cache that they share")})
    if function is None:
        return functools.partial(program, device=device)
    if not inspect.isfunction(function):
        raise TypeError("dace.program takes a function")
    return DaceProgram(function, backend="cpu", threads=0)


def symbol(name: str, dtype: Any = None, **assumptions: Any) -> Size:
    """A size. All are int64."""
    only = dict(assumptions, **({} if dtype is None else {"dtype": dtype}))
    say("dace.symbol", only, {"dtype": (TYPES["int64"], "sizes are int64"), "positive": (True, "sizes are never negative"),
                              "nonnegative": (True, "sizes are never negative"), "integer": (True, "sizes are integers")})
    return _symbol(name)


# ---- inside programs ----
def define_local(shape: Sequence, dtype: Any, **options: Any) -> np.ndarray:
    """A new array. (Of `storage` and `lifetime` the compiler decides.)"""
    _placed(options)
    return np.zeros(shape, _dtype(dtype))


def define_local_scalar(dtype: Any, **options: Any) -> np.ndarray:
    """A new number, as an array without dimensions: `x[...] = value`."""
    _placed(options)
    return np.zeros((), _dtype(dtype))


def _placed(options: dict) -> None:
    say("dace.define_local", options, {n: (None, "the compiler decides where arrays lie") for n in ("storage", "lifetime")})


def _dtype(t: Any) -> np.dtype:
    return t.dtype if isinstance(t, Type) else np.dtype(t)


def _lower_local(emitter: Any, shape: Any, dtype: Any, **options: Any) -> Any:
    _placed(options)
    return creation.zeros(emitter, shape, _dtype(dtype))


def _lower_scalar(emitter: Any, dtype: Any, **options: Any) -> Any:
    _placed(options)
    return creation.zeros(emitter, (), _dtype(dtype))


FUNCTIONS[define_local], FUNCTIONS[define_local_scalar] = _lower_local, _lower_scalar
creation.NEW_ARRAYS.update((define_local, define_local_scalar))


# ---- gradients ----
def add_backward_pass(sdfg: Sdfg, *names: Any, state: Any = None, outputs: Sequence[str] | None = None, inputs: Sequence[str] | None = None,
                      data_to_recompute: Sequence[str] | None = None, separate_sdfgs: bool = False, **options: Any) -> Any:
    """Adds to `sdfg` the gradient of the sum of `outputs` by each of `inputs`, as further outputs; returns their names (and what
    is kept and recomputed). The lists of names stand after `sdfg`, as in DaCe, or after `state`, as in DaCeML, which has no effect:
    the whole program is differentiated. With `separate_sdfgs` the result is (forward program, gradient), and `sdfg` stays as it is.
    `data_to_recompute`: variables that are computed again."""
    if names and not isinstance(names[0], (list, tuple, str)):
        state, *names = names
    given = [*names, *(n for n in (outputs, inputs) if n is not None)]
    if len(given) != 2 or not all(isinstance(g, (list, tuple)) for g in given):
        raise TypeError("add_backward_pass(sdfg, outputs, inputs) or (sdfg, state, outputs, inputs): outputs and inputs are lists of names")
    said = {**options, **({} if state is None else {"state": state})}
    say("add_backward_pass", said, {
        "state": (None, "all states of a program are differentiated"), "simplify": (None, _ALWAYS), "autooptimize": (None, _ALWAYS),
        "data_forwarding_strategy": (None, "what is kept is chosen by cost; data_to_recompute, and memory_limit of headrace.grad, decide")})
    if separate_sdfgs:
        if data_to_recompute:
            raise UnsupportedError("add_backward_pass: data_to_recompute of separate programs\n  hint: leave out separate_sdfgs")
        return sdfg.separate_gradient(*given)
    found = sdfg.gradient(*given, keep_outputs=True, recompute=tuple(data_to_recompute or ()))
    sdfg._changes()
    sdfg._program = found.program._program
    return found


# ---- models ----
def ONNXModel(name: str, model: Any, infer_shapes: bool = True, cuda: Any = False, **options: Any) -> Any:
    """headrace.ONNXModel with DaCeML's arguments."""
    from ..onnx.model import ONNXModel as Model

    on_cpu("ONNXModel", "cuda", cuda)
    kept = {n: options.pop(n) for n in ("save_transients", "debug_transients", "simplify") if n in options}
    if "onnx_simplify" in options:
        kept["simplify"] = options.pop("onnx_simplify")
    say("ONNXModel", options, {"auto_optimize": (False, _ALWAYS), "fold_constants": (True, "simplify= decides of it"),
                               "auto_merge": (False, "sizes that must agree are one"), "storage": (None, _ALWAYS),
                               "parent_pytorch_module": (None, "headrace.module needs none"),
                               "apply_strict": (False, _ALWAYS)})
    return Model(name, model, infer_shapes=infer_shapes, **kept)


def python_pure_op_implementation(function: Any = None, **compute: Any) -> Any:
    """Registers a numpy-style function as an implementation of the ONNX operator of its name: it writes those of its parameters
    that are outputs. It is taken before the operator's own. Names that it only reads are attributes of the node, or what
    `compute` says of it: `axis=lambda node: node.axis`."""
    if function is None:
        return functools.partial(python_pure_op_implementation, **compute)
    if not inspect.isfunction(function):
        raise TypeError("python_pure_op_implementation takes a function whose name is that of an operator")

    def made(node: Any) -> Any:
        own = types.SimpleNamespace(**node.attributes)
        known = {name: node.attributes[name] for name in function.__code__.co_names if name in node.attributes}
        known.update((name, value(own)) for name, value in compute.items())
        return types.FunctionType(function.__code__, {**function.__globals__, **known}, function.__name__, function.__defaults__,
                                  function.__closure__)

    implementation(function.__name__, name="python")(made)
    return function


class _Operators:
    """donnx.ONNXConv(X=x, W=w, Y=y, strides=[2, 2]) is headrace.onnx.Conv."""

    def __getattr__(self, name: str) -> Any:
        from .. import onnx

        if not name.startswith("ONNX"):
            raise AttributeError(f"donnx.{name}: operators are called ONNX…, such as donnx.ONNXConv")
        return ONNXModel if name == "ONNXModel" else getattr(onnx, name[len("ONNX"):])


donnx = _Operators()


def __getattr__(name: str) -> Any:
    if name in ("DaceModule", "dace_module", "module"):
        from . import dace_torch  # it needs torch

        return getattr(dace_torch, "dace_module" if name == "module" else name)
    near = difflib.get_close_matches(name, [n for n in globals() if not n.startswith("_")], 1)
    raise AttributeError(f"headrace.compat.dace has no '{name}'" + (f": did you mean {near[0]}?" if near else "; its docstring has a table"))
