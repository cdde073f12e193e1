"""stop_gradient."""

from __future__ import annotations

from typing import Any

from ..frontend.functions import handles
from ..frontend.values import Value, value_of
from ..trees import has_parts, mapped


def stop_gradient(x: Any) -> Any:
    """x, of which no gradient flows back; outside of programs just x."""
    return x


@handles(stop_gradient)
def _held(e, x):
    if has_parts(x):
        return mapped(lambda v: _held(e, v), x)
    v = value_of(x)
    return Value(v.dtype, v.shape, lambda i: f"hold({v.at(i)})", v.weak) if v.dtype.kind in "fc" else x
