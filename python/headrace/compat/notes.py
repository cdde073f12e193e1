"""Arguments that are accepted and change nothing: each with the reason, said once per call site."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any, Mapping

_PACKAGE = Path(__file__).parents[1]


def say(function: str, given: Mapping[str, Any], reasons: Mapping[str, tuple[Any, str]]) -> None:
    """Warns of every argument in `given` that differs from its usual value. `reasons`: {argument: (usual value, why it has no
    effect)}. TypeError for an argument that is not among them."""
    for name, value in given.items():
        if name not in reasons:
            raise TypeError(f"{function} has no argument '{name}'; it has {', '.join(sorted(reasons))}")
        usual, why = reasons[name]
        if value != usual:
            warnings.warn(f"{function}: {name}={value!r} has no effect: {why}", stacklevel=_caller())


def _caller() -> int:
    """The stack level, seen from the function that asks, of the first frame outside of this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back and Path(frame.f_code.co_filename).is_relative_to(_PACKAGE):
        level, frame = level + 1, frame.f_back
    return level


def on_cpu(function: str, argument: str, wanted: Any) -> None:
    """Warns when a GPU is asked for."""
    say(function, {argument: wanted or None}, {argument: (None, "there is no backend for GPUs, it runs on the CPU")})
