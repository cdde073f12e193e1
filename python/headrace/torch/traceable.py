"""What is otherwise while a module is traced, so that torch.export takes it: the values are the same."""

from __future__ import annotations

import contextlib
from typing import Any, Iterator

import torch
from torch.nn.modules import transformer

from .transformed import plain


@contextlib.contextmanager
def masks_not_compared() -> Iterator[None]:
    """TransformerEncoder and TransformerDecoder look whether a mask is the causal one, which kernels could make use of; what a
    trace gives is the same either way."""
    before = transformer._detect_is_causal_mask
    transformer._detect_is_causal_mask = lambda mask, is_causal=None, size=None: is_causal is True
    try:
        yield
    finally:
        transformer._detect_is_causal_mask = before


@contextlib.contextmanager
def tensors_as_parameters(module: torch.nn.Module) -> Iterator[None]:
    """torch.func.functional_call puts tensors where parameters are, which torch.export refuses."""
    places: list[tuple[dict, str, Any]] = []
    seen: dict[int, torch.nn.Parameter] = {}
    for owner in (m._parameters for m in module.modules()):
        for name, p in owner.items():
            if p is not None and not isinstance(p, torch.nn.Parameter):
                places.append((owner, name, p))
                owner[name] = seen.setdefault(id(p), torch.nn.Parameter(plain(p).detach(), requires_grad=p.requires_grad))
    try:
        yield
    finally:
        for owner, name, p in places:
            owner[name] = p
