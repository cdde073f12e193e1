"""Headrace: a data-centric compiler for machine learning and array programs."""

from .compiled import Compiled, load
from .errors import HeadraceError, InternalError, InvalidError, UnsupportedError, UsageError
from .frontend.types import TYPES as _TYPES
from .frontend.types import symbol
from .gradients import grad, value_and_grad, vjp
from .program import Program, program
from .sdfg import Gradient, Sdfg

__version__ = "0.1.0"
globals().update(_TYPES)  # bool, int8 … complex128: types for annotations, headrace.float64[N, M]
__all__ = ["Compiled", "Gradient", "HeadraceError", "InternalError", "InvalidError", "Program", "Sdfg", "UnsupportedError",
           "UsageError", "grad", "load", "program", "symbol", "value_and_grad", "vjp", *_TYPES]
