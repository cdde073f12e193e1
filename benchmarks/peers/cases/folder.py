"""A case on disk: what the oracle wrote, and the engines read. Those that need no PyTorch never import it."""

from __future__ import annotations

import json
import os
from typing import Any, Iterator, Mapping

import numpy as np

from .key import Key

LEARNING_RATE, MOMENTUM = 1e-3, 0.9  # of the mode `step`


class Folder:
    """`case.json`: what it is. `inputs.npz`: inputs, and `target`, the output's gradient (backward) or the loss's target (step).
    `model.onnx`: the network with its initial weights, in training mode where gradients are taken. `expected.bin`: values in
    f64, rounded to f32; of a quantised network those of the model as it is written."""

    def __init__(self, path: str):
        self.path = path
        with open(os.path.join(path, "case.json"), encoding="utf-8") as f:
            self.about: dict[str, Any] = json.load(f)
        self.key = Key(**self.about["key"])

    @property
    def onnx(self) -> str:
        return os.path.join(self.path, "model.onnx")

    @property
    def oracle(self) -> str:
        """What `expected` is of."""
        return "the model as it is written" if self.key.dtype == "int8" else "f64"

    @property
    def names(self) -> list[str]:
        """Of the inputs, in the model's order."""
        return self.about["inputs"]

    @property
    def wanted(self) -> list[str]:
        """What gradients are by."""
        return self.about["wanted"]

    def arrays(self) -> dict[str, np.ndarray]:
        with np.load(os.path.join(self.path, "inputs.npz")) as stored:
            return {name: stored[name] for name in stored.files}

    def expected(self) -> Iterator[tuple[str, np.ndarray]]:
        """Mapped, not read: memory that is measured afterwards does not have them."""
        for name, shape, offset in self.about["expected"]:
            if 0 in shape:
                yield name, np.empty(shape, np.float32)
            else:
                yield name, np.memmap(os.path.join(self.path, "expected.bin"), np.float32, "r", offset, tuple(shape))


def write(path: str, key: Key, inputs: Mapping[str, np.ndarray], target: np.ndarray | None, wanted: list[str],
          expected: Mapping[str, np.ndarray], **about: Any) -> None:
    """All but `model.onnx`."""
    index, offset = [], 0
    with open(os.path.join(path, "expected.bin"), "wb") as out:
        for name, value in expected.items():
            data = np.ascontiguousarray(value, np.float32)
            index.append((name, value.shape, offset))
            offset += out.write(data.tobytes())
    np.savez(os.path.join(path, "inputs.npz"), **inputs, **({} if target is None else {"target": target}))
    with open(os.path.join(path, "case.json"), "w", encoding="utf-8") as f:
        json.dump({"key": vars(key), "inputs": list(inputs), "wanted": wanted, "expected": index, **about}, f)


def allow(path: str, tolerance: float) -> None:
    """Another tolerance for the case that is there."""
    about = dict(Folder(path).about, tolerance=tolerance)
    with open(os.path.join(path, "case.json"), "w", encoding="utf-8") as f:
        json.dump(about, f)
