"""The table of ATen operators that programs know: name → a function that writes its meaning.

A function takes the Lowering and the operator's own arguments: tensors are Values, sizes are Size or int, absent ones None. It
returns a Value, or a tuple of Values where the operator has several results. What it can't say is an UnsupportedError, and then
the operator runs eagerly.
"""

from __future__ import annotations

from typing import Callable

OPERATORS: dict[str, Callable] = {}


def op(*names: str):
    """Registers a function for "aten.NAME.OVERLOAD"; without an overload, ".default". NAME may begin with another namespace."""

    def register(function: Callable) -> Callable:
        for name in names:
            if name.startswith("prims."):
                OPERATORS[f"{name}.default"] = function
            else:
                OPERATORS[f"aten.{name}" if "." in name else f"aten.{name}.default"] = function
        return function

    return register
