"""A model's initializers as a mapping."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, MutableMapping
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
        self.given[name] = self._checked(name, value)

    def replace(self, values: Any) -> None:
        """Sets these, and takes all others back to the model's own values."""
        if not isinstance(values, Mapping):
            raise TypeError(f"weights are {{name: array}}, not {type(values).__name__}")
        self.given = {name: self._checked(name, value) for name, value in values.items()}

    def _checked(self, name: str, value: Any) -> Any:
        """The value as an array of the initializer's type and shape."""
        declared = self._known(name)
        expected = proto.ELEMENTS[declared.element][1]
        if not (hasattr(value, "dtype") and hasattr(value, "shape")):
            if value is None:
                raise TypeError(f"weight '{name}' is an array of {expected}, not None: del model.weights['{name}'] takes it back to the model's")
            try:
                value = np.asarray(value, dtype=expected if expected != "object" else None)
            except (TypeError, ValueError) as error:
                raise TypeError(f"weight '{name}' is an array of {expected}, not {value!r}: {error}") from None
        got = str(value.dtype).removeprefix("torch.")
        if got != expected and not (expected == "object" and np.asarray(value).dtype.kind in "OUST"):
            raise TypeError(f"weight '{name}' is {expected}, not {got}")
        if tuple(value.shape) != declared.shape:
            raise ValueError(f"weight '{name}' has shape {declared.shape}, not {tuple(value.shape)}")
        return value

    def __delitem__(self, name: str) -> None:
        """Back to the model's own value."""
        self._known(name)
        self.given.pop(name, None)

    def clear(self) -> None:
        """All back to the model's own values."""
        self.given = {}

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
