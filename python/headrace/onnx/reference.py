"""A model run by the onnx package's reference evaluator, for `verify="reference"`."""

from __future__ import annotations

import tempfile
from typing import Any, Mapping

import numpy as np

from ..errors import UnsupportedError
from .source import Source


class Reference:
    """The evaluator of a model, made anew where weights changed."""

    def __init__(self, source: Source):
        self._source = source
        self._evaluator: Any = None
        self._weights: dict[str, np.ndarray] = {}  # with which it was made

    def run(self, given: Mapping[str, Any], weights: Mapping[str, Any]) -> list[Any]:
        """All outputs for {name: value} of the inputs, with these values for some initializers."""
        now = {n: host(v) for n, v in weights.items()}
        if self._evaluator is None or now.keys() != self._weights.keys() or not all(same(v, self._weights[n]) for n, v in now.items()):
            self._evaluator, self._weights = self._made(now), now
        return self._evaluator.run(None, {n: host(v) for n, v in given.items() if v is not None})

    def _made(self, weights: Mapping[str, np.ndarray]) -> Any:
        try:
            import onnx
            import onnx.reference
        except ImportError:
            raise UnsupportedError("verify=\"reference\" needs the package onnx: pip install onnx") from None
        with tempfile.TemporaryDirectory(prefix="headrace-model-") as folder:
            path = self._source.rewritten(folder, weights) if weights else self._source.path
            model = onnx.load(path) if path else onnx.load_model_from_string(self._source.data)
        return onnx.reference.ReferenceEvaluator(model)


def host(value: Any) -> Any:
    """A copy of the value as NumPy's, so that later changes are noticed."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    return np.array(value)


def same(a: np.ndarray, b: Any) -> bool:
    if b is None:
        return False
    b = np.asarray(b.detach().cpu() if hasattr(b, "detach") else b)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
