"""Resampling in smaller operators, where torch's table has none: filters as wide as what is left out, samples of volumes."""

from __future__ import annotations

import itertools
import math
from typing import Callable

import torch
from torch import Tensor


def _triangle(u: Tensor) -> Tensor:
    return torch.relu(1 - u.abs())


def _cubic(u: Tensor) -> Tensor:
    u, a = u.abs(), -0.5
    near, far = ((a + 2) * u - (a + 3)) * u * u + 1, ((u - 5) * u + 8) * u * a - 4 * a
    return torch.where(u < 1, near, torch.where(u < 2, far, 0))


def _along(x: Tensor, dim: int, size: int, align_corners: bool, given: float | None, filter: Callable[[Tensor], Tensor], width: int) -> Tensor:
    """Each of `size` places is a mean of those of x that the filter, `width` places of the smaller one wide, reaches from there."""
    length = x.shape[dim]
    if align_corners:
        scale = (length - 1) / (size - 1) if size > 1 else 0.0
    else:
        scale = 1 / given if given else length / size
    reach = width / 2 * max(scale, 1.0)
    place = torch.arange(size, dtype=x.dtype, device=x.device)
    center = scale * (place + 0.5)
    first = (center - reach + 0.5).to(torch.int64).clamp(min=0)
    end = (center + reach + 0.5).to(torch.int64).clamp(max=length)
    at = first[:, None] + torch.arange(2 * math.ceil(reach) + 1, device=x.device)
    weight = filter((at - center[:, None] + 0.5) / max(scale, 1.0))
    weight = torch.where(at < end[:, None], weight, 0)
    weight = weight / weight.sum(1, keepdim=True)
    taken = x.movedim(dim, -1)[..., at.clamp(max=length - 1)]
    return (taken * weight).sum(-1).movedim(-1, dim)


def _antialiased(filter: Callable[[Tensor], Tensor], width: int) -> Callable[..., Tensor]:
    def resampled(x: Tensor, size: list[int], align_corners: bool, height: float | None = None, wide: float | None = None) -> Tensor:
        if not x.is_floating_point():
            return NotImplemented
        y = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
        y = _along(y, -1, size[1], align_corners, wide, filter, width)
        return _along(y, -2, size[0], align_corners, height, filter, width).to(x.dtype)

    return resampled


def _reflected(x: Tensor, low: float, high: float) -> Tensor:
    """Back into [low, high], from wall to wall."""
    if low == high:
        return torch.zeros_like(x)
    away, span = (x - low).abs(), high - low
    rest, times = torch.fmod(away, span), torch.floor(away / span)
    return torch.where(times % 2 == 0, rest + low, high - rest)


def _source(c: Tensor, length: int, padding: int, align_corners: bool) -> Tensor:
    """Where a coordinate in [-1, 1] lies. `padding`: 0 zeros, 1 border, 2 reflection."""
    x = (c + 1) / 2 * (length - 1) if align_corners else ((c + 1) * length - 1) / 2
    if padding == 2:
        x = _reflected(x, 0, length - 1) if align_corners else _reflected(x, -0.5, length - 0.5)
    if padding:
        x = torch.where(x <= 0, 0, torch.where(x >= length - 1, length - 1, x))  # no gradient at the border
    return x


def grid_sampler_3d(x: Tensor, grid: Tensor, mode: int, padding: int, align_corners: bool) -> Tensor:
    """x[n, c, z, y, x] at grid[n, …, (x, y, z)]. `mode`: 0 linear, 1 nearest."""
    batch, channels = x.shape[:2]
    source = [_source(grid[..., 2 - d], x.shape[2 + d], padding, align_corners) for d in range(3)]
    n = torch.arange(batch, device=x.device).reshape(-1, 1, 1, 1)
    below = [torch.round(s) if mode == 1 else torch.floor(s) for s in source]
    total = x.new_zeros(())
    for corner in itertools.product((0, 1) if mode == 0 else (0,), repeat=3):
        weight, inside, index = torch.ones_like(source[0]), torch.ones_like(source[0], dtype=torch.bool), []
        for s, b, k, length in zip(source, below, corner, x.shape[2:]):
            if mode == 0:
                weight = weight * (s - b if k else 1 - (s - b))
            at = b + k
            inside = inside & (at >= 0) & (at < length)
            index.append(at.clamp(0, length - 1).to(torch.int64))
        taken = x.permute(0, 2, 3, 4, 1)[n, index[0], index[1], index[2]]  # channels last
        total = total + taken * torch.where(inside, weight, 0)[..., None]
    return total.movedim(-1, 1)


MEANINGS = {
    torch.ops.aten._upsample_bilinear2d_aa.default: _antialiased(_triangle, 2),
    torch.ops.aten._upsample_bicubic2d_aa.default: _antialiased(_cubic, 4),
    torch.ops.aten.grid_sampler_3d.default: grid_sampler_3d,
}
