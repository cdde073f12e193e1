"""How far results are from f64, before they are timed."""

from __future__ import annotations

from typing import Any, Callable, Iterable

import numpy as np

#: The largest error that is right, by mode and type. An array's error is ‖result − f64‖ / ‖f64‖. PyTorch's own f32 has 1e-6 forward, and
#: up to 0.03 in single gradients of MobileNetV2 in training mode, where rounding moves values over the kinks of ReLU6; bf16 has
#: 8 bits, which every layer rounds to.
TOLERANCES = {
    ("forward", "f32"): 1e-4, ("backward", "f32"): 0.03, ("step", "f32"): 0.03,
    ("forward", "bf16"): 0.1, ("backward", "bf16"): 0.5, ("step", "bf16"): 0.5,
}  # fmt: skip
#: Of quantised networks: beside the model as it is written, in steps of its output. Sums that are rounded otherwise move a value to the
#: next step where they lie between two, which other values follow: outputs of ONNX Runtime and OpenVINO are 0.06 to 0.6 steps apart (the
#: root of the mean square), single ones three. What is wrong, a zero point or a scale, moves all of them by many.
STEPS = 1.5
#: In bf16 single gradients of networks with normalisations have no digit left, in PyTorch, too: its autocast is off by 1.2 in ResNet-50, by 13
#: in MobileNetV2 (batch 8). What is no farther from f64 than this many times what PyTorch's autocast is, is right as well.
AS_AUTOCAST = 2
CHUNK = 1 << 18


def tolerance(mode: str, dtype: str) -> float:
    return TOLERANCES.get((mode, dtype), 1e-6)


def tolerance_of_steps(step: float, expected: np.ndarray) -> float:
    """Of an output whose values are `step` apart."""
    return STEPS * step / max(float(np.sqrt(np.mean(np.square(expected, dtype=np.float64)))), step)


def squares(value: np.ndarray, expected: np.ndarray) -> tuple[float, float]:
    """(‖value − expected‖², ‖expected‖²), piece by piece: no copies of whole arrays. Infinities and NaN count as equal in the same
    places, and as an infinite error elsewhere."""
    off = size = 0.0
    a, b = value.reshape(-1), expected.reshape(-1)
    for start in range(0, b.size, CHUNK):
        x, y = a[start : start + CHUNK].astype(np.float64), b[start : start + CHUNK].astype(np.float64)
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        d = np.where(same, 0.0, x - np.where(same, 0.0, y))
        d[same] = 0.0
        off += float(np.sum(np.where(np.isfinite(d), d, np.inf) ** 2))
        size += float(np.sum(np.where(np.isfinite(y), y, 0.0) ** 2))
    return off, size


def error(expected: Iterable[tuple[str, np.ndarray]], value_of: Callable[[str], Any]) -> tuple[float, str]:
    """The root of the mean square of all arrays' errors, or a tenth of the largest one, if that is more; and that one's name: where all
    are right, one may be moved by kinks; where one is wrong, it is off by about its own size. An array that is 0 but for rounding (the
    gradient of a bias before batch normalisation) is measured beside a thousandth of what elements of all arrays are on average."""
    found, total, count = [], 0.0, 0
    for name, b in expected:
        a = np.asarray(value_of(name))
        if a.size != b.size:
            return float("inf"), f"{name}: {a.size} elements, not {b.size}"
        off, size = squares(a, b)
        found.append((name, off, size, b.size))
        total, count = total + size, count + b.size
    if not found:
        return 0.0, ""
    floor = 1e-6 * total / max(1, count)  # of a square
    errors = [(off / max(size, n * floor, 1e-60), name) for name, off, size, n in found]
    worst, name = max(errors)
    return max(sum(e for e, _ in errors) / len(errors), worst / 100) ** 0.5, name
