"""Arguments that are accepted and change nothing: each with the reason, said once per call site."""

from __future__ import annotations

import warnings
from typing import Any, Mapping

from ..errors import UnsupportedError


def say(function: str, given: Mapping[str, Any], reasons: Mapping[str, tuple[Any, str]]) -> None:
    """Warns of every argument in `given` that differs from its usual value. `reasons`: {argument: (usual value, why it has no
    effect)}. TypeError for an argument that is not among them."""
    for name, value in given.items():
        if name not in reasons:
            raise TypeError(f"{function} has no argument '{name}'; it has {', '.join(sorted(reasons))}")
        usual, why = reasons[name]
        if value != usual:
            warnings.warn(f"{function}: {name}={value!r} has no effect: {why}", stacklevel=3)


def only_cpu(function: str, argument: str, wanted: Any) -> None:
    if wanted:
        raise UnsupportedError(f"{function}: {argument}: there is no backend for GPUs\n  hint: leave it out to run on the CPU")
