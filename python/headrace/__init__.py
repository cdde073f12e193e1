"""Headrace: a data-centric compiler for machine learning and array programs."""

from .compiled import Compiled, load
from .counters import counters, reset_counters
from .errors import HeadraceError, InternalError, InvalidError, UnsupportedError, UsageError
from .frontend.types import TYPES as _TYPES
from .frontend.types import symbol
from .gradients import grad, value_and_grad, vjp
from .program import Program, program
from .sdfg import Gradient, Sdfg

__version__ = "0.1.0"
globals().update(_TYPES)  # bool, int8 … complex128: types for annotations, headrace.float64[N, M]
__all__ = ["Compiled", "Gradient", "HeadraceError", "InternalError", "InvalidError", "Program", "Sdfg", "UnsupportedError",
           "UsageError", "counters", "grad", "load", "module", "program", "reset_counters", "symbol", "value_and_grad", "vjp", *_TYPES]


def __getattr__(name: str):
    if name == "module":  # it needs torch, which the rest doesn't
        from .torch import module

        return module
    raise AttributeError(f"module 'headrace' has no attribute {name!r}")
