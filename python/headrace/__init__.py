"""Headrace: a data-centric compiler for machine learning and array programs."""

import importlib as _importlib
import typing as _typing

from . import _loading  # noqa: F401: before all that uses the extension
from .builder import SdfgBuilder
from .compiled import Compiled, load
from .counters import counters, reset_counters
from .debug import set_dump_dir, set_log
from .errors import HeadraceError, InternalError, InvalidError, MismatchError, UnsupportedError, UsageError
from .frontend.ranges import map
from .frontend.types import TYPES as _TYPES
from .frontend.types import symbol
from .gradients import grad, value_and_grad, vjp
from .program import Program, program
from .sdfg import Gradient, Replacement, Sdfg, replace
from .transforms import checkpoint, custom_vjp, hessian, hvp, jacfwd, jacrev, jvp, stop_gradient, vmap

__version__ = "0.1.0"
globals().update(_TYPES)  # bool, int8 … complex128: types for annotations, headrace.float64[N, M]
__all__ = ["Compiled", "Gradient", "HeadraceError", "InternalError", "InvalidError", "MismatchError", "Program", "Replacement", "Sdfg", "SdfgBuilder", "UnsupportedError",
           "UsageError", "BackwardContext", "BackwardImplementation", "BackwardResult", "backward_implementation", "checkpoint", "counters", "custom_vjp", "grad", "hessian", "hvp", "implementation", "jacfwd", "jacrev", "jvp", "load", "load_plugin", "map", "module", "op", "program", "replace", "reset_counters", "set_dump_dir", "set_implementation", "set_log", "Match", "transformation", "transformations",
           "stop_gradient", "symbol", "train_step", "value_and_grad", "vjp", "vmap", *_TYPES]

# Loaded when first used, for import time and for what needs other packages: module of each name; "" for the module itself.
_LATER = {"autodiff": "", "compat": "", "onnx": "", "onnx_backend": "", "ONNXModel": "onnx.model", "module": "torch", "train_step": "torch"}
_LATER.update({"BackwardImplementation": "custom.backward", "backward_implementation": "custom.backward", "BackwardResult": "autodiff", "BackwardContext": "custom.nodes",
               "implementation": "custom.implementations", "set_implementation": "custom.implementations", "load_plugin": "custom.plugins",
               "op": "custom.op", "Match": "custom.transformations", "transformation": "custom.transformations",
               "transformations": "custom.transformations"})
_LATER.update(dict.fromkeys(
    ("ExecutionMode", "GraphOptimizationLevel", "IOBinding", "InferenceSession", "OrtValue", "RunOptions", "SessionOptions",
     "get_all_providers", "get_available_providers", "get_device"), "onnx.session"))


if _typing.TYPE_CHECKING:
    from . import autodiff, compat, onnx, onnx_backend
    from .autodiff import BackwardResult
    from .custom.backward import BackwardImplementation, backward_implementation
    from .custom.implementations import implementation, set_implementation
    from .custom.nodes import BackwardContext
    from .custom.op import op
    from .custom.plugins import load_plugin
    from .custom.transformations import Match, transformation, transformations
    from .frontend.types import Type as _Type
    from .onnx.model import ONNXModel
    from .onnx.session import (ExecutionMode, GraphOptimizationLevel, InferenceSession, IOBinding, OrtValue, RunOptions, SessionOptions,
                               get_all_providers, get_available_providers, get_device)
    from .torch import module, train_step

    int8: _Type
    int16: _Type
    int32: _Type
    int64: _Type
    uint8: _Type
    uint16: _Type
    uint32: _Type
    uint64: _Type
    float16: _Type
    float32: _Type
    float64: _Type
    complex64: _Type
    complex128: _Type
    bool: _Type
else:
    def __getattr__(name: str):
        if name not in _LATER:
            raise AttributeError(f"module 'headrace' has no attribute '{name}'")
        module = _importlib.import_module("." + (_LATER[name] or name), __name__)
        return getattr(module, name) if _LATER[name] else module


def __dir__():
    return sorted({*globals(), *_LATER})
