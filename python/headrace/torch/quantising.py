"""fake_quantize while a module is traced: torch's own have no shapes in a trace."""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch import Tensor

from .replaced import replaced


def _quantised(x: Tensor, scale: Any, zero: Any, low: int, high: int) -> Tensor:
    """Rounded to multiples of `scale`, within bounds; the gradient passes where x is within them."""
    step = torch.round(x * (1.0 / scale)) + zero
    made = (step.clamp(low, high) - zero) * scale
    return made.detach().to(x.dtype) + torch.where((step >= low) & (step <= high), x - x.detach(), 0)


def per_tensor(x: Tensor, scale: Any, zero_point: Any, quant_min: int, quant_max: int) -> Tensor:
    return _quantised(x, scale, zero_point, quant_min, quant_max)


def per_channel(x: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int) -> Tensor:
    shape = [-1 if d == axis % x.dim() else 1 for d in range(x.dim())]
    return _quantised(x, scale.reshape(shape), zero_point.reshape(shape), quant_min, quant_max)


def quantising_in_parts() -> contextlib.AbstractContextManager:
    return replaced((torch, "fake_quantize_per_tensor_affine", per_tensor), (torch, "fake_quantize_per_channel_affine", per_channel))
