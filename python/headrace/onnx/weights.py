"""A model's initializers as a mapping."""

from __future__ import annotations

import difflib
from collections.abc import MutableMapping
from typing import Any, Iterator

import numpy as np

from . import proto
from .source import Source


class Weights(MutableMapping):
    """{name: value} of a model's initializers. What is read is a copy, until it is set.

    An array or torch tensor that is set is used as it is from the next call on: it is shared, so that a later change of its
    elements is seen by the next call. Its type and shape are the initializer's.
    """

    def __init__(self, source: Source):
        self._source = source
        self.given: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        self._known(name)
        return self.given[name] if name in self.given else self._source.initializer(name)

    def __setitem__(self, name: str, value: Any) -> None:
        declared = self._known(name)
        expected = proto.ELEMENTS[declared.element][1]
        if not (hasattr(value, "dtype") and hasattr(value, "shape")):
            value = np.asarray(value, dtype=expected if expected != "object" else None)
        got = str(value.dtype).removeprefix("torch.")
        if got != expected and not (expected == "object" and np.asarray(value).dtype.kind in "OUST"):
            raise TypeError(f"weight '{name}' is {expected}, not {got}")
        if tuple(value.shape) != declared.shape:
            raise ValueError(f"weight '{name}' has shape {declared.shape}, not {tuple(value.shape)}")
        self.given[name] = value

    def __delitem__(self, name: str) -> None:
        """Back to the model's own value."""
        self._known(name)
        self.given.pop(name, None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._source.info.initializers)

    def __len__(self) -> int:
        return len(self._source.info.initializers)

    def __contains__(self, name: object) -> bool:
        return name in self._source.info.initializers

    def _known(self, name: str) -> proto.Initializer:
        found = self._source.info.initializers.get(name)
        if found is None:
            raise KeyError(f"the model has no weight '{name}'{did_you_mean(name, list(self))}")
        return found

    def __repr__(self) -> str:
        return f"<weights {', '.join(self)}>"


def did_you_mean(name: str, names: list[str]) -> str:
    close = difflib.get_close_matches(name, names, 1)
    return f"; did you mean '{close[0]}'?" if close else f"; there are {', '.join(names[:20])}" if names else ""
