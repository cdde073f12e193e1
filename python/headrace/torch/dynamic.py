"""Which sizes of a call's arguments a trace leaves open, and example arguments that don't hide them."""

from __future__ import annotations

import inspect
from typing import Any, Collection

import torch
from torch.export import Dim
from torch.utils import _pytree as pytree

from .transformed import outside, plain

GROWN = (5, 7, 11, 13)  # odd, so that a trace takes none of them for a multiple of something


def is_open(t: torch.Tensor, dim: int) -> bool:
    """Whether a size is one that changes from call to call: the batch, and the sequence of [batch, sequence, features] or of
    [batch, sequence] numbers. Others become open when a call brings another one."""
    return dim == 0 or dim == 1 and (t.dim() == 3 or t.dim() == 2 and not t.is_floating_point())


def open_sizes(leaves: list, moving: set[tuple[int, int]], fixed: Collection[tuple[int, int]] = ()) -> list[list[int]]:
    """For each argument its open dimensions; `moving` (leaf, dimension) are so in any case, but for `fixed`, which never are."""
    return [[d for d in range(t.dim()) if (is_open(t, d) or (k, d) in moving) and (k, d) not in fixed] if isinstance(t, torch.Tensor) else []
            for k, t in enumerate(leaves)]


def shapes_of(module: torch.nn.Module, args: tuple, kwargs: dict, moving: set[tuple[int, int]], fixed: Collection[tuple[int, int]]) -> Any:
    """torch.export's dynamic_shapes for a call."""
    leaves, spec = pytree.tree_flatten((args, kwargs))
    marks = [{d: Dim.AUTO for d in dims if t.shape[d] > 1} if isinstance(t, torch.Tensor) else None
             for t, dims in zip(leaves, open_sizes(leaves, moving, fixed))]
    positional, named = pytree.tree_unflatten(marks, spec)
    return _by_name(module, args, positional, named)


def spelled_out(module: torch.nn.Module, args: tuple, kwargs: dict) -> torch.nn.Module:
    """The module, with a parameter of `forward` for each argument of this call where its own has *args or **kwargs: torch.export
    has two ways to count what these hold, and refuses sizes for them that fit only one."""
    signature = inspect.signature(module.forward)
    collected = {p.kind: p.name for p in signature.parameters.values() if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    if not collected:
        return module
    names = []
    for name, value in signature.bind_partial(*args).arguments.items():
        names += [f"{name}_{k}" for k in range(len(value))] if name == collected.get(inspect.Parameter.VAR_POSITIONAL) else [name]
    kind = type(module)

    def forward(self, *args, **kwargs):
        return kind.forward(self, *args, **kwargs)

    forward.__signature__ = inspect.Signature([inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY),
                                               *[inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names],
                                               *[inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY) for n in kwargs]])
    made = object.__new__(type(kind.__name__, (kind,), {"forward": forward}))
    made.__dict__ = module.__dict__
    return made


def paths_of(module: torch.nn.Module, args: tuple, kwargs: dict) -> list[tuple]:
    """For each leaf of a call its argument's name, and the indices and keys that lead from there to it."""
    names = [p.name for p in inspect.signature(module.forward).parameters.values() if p.kind is not p.KEYWORD_ONLY]
    found = []
    for (place, argument, *rest), _ in pytree.tree_flatten_with_path((args, kwargs))[0]:
        name = argument.key if place.idx else names[argument.idx] if argument.idx < len(names) else f"{names[-1]}_{argument.idx}"
        found.append((name, *[getattr(k, "key", getattr(k, "idx", None)) for k in rest]))
    return found


def _by_name(module, args, positional, named) -> Any:
    parameters = inspect.signature(module.forward).parameters.values()
    if not named:
        return tuple(positional)
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return dict(zip(names, positional)) | named


def grown(args: tuple, kwargs: dict, moving: set[tuple[int, int]], fixed: Collection[tuple[int, int]]) -> tuple[tuple, dict] | None:
    """Arguments whose open sizes of 1 are larger, by repeating: a trace of 1 would take it for a constant. None where there are
    none. A 1 beside other arguments' larger sizes in the same dimension stays: it is broadcast, or no batch."""
    leaves, spec = pytree.tree_flatten((args, kwargs))
    places = open_sizes(leaves, moving, fixed)
    larger = {d for t, dims in zip(leaves, places) for d in dims if t.shape[d] > 1}
    ones = [[d for d in dims if t.shape[d] == 1 and d not in larger] for t, dims in zip(leaves, places)]
    if not any(ones):
        return None
    taken = {s for t in leaves if isinstance(t, torch.Tensor) for s in t.shape}
    sizes = [s for s in GROWN if s not in taken] or list(GROWN)
    with outside():
        made = [_repeated(plain(t), {d: sizes[d % len(sizes)] for d in dims}) if dims else t for t, dims in zip(leaves, ones)]
    return pytree.tree_unflatten(made, spec)


def _repeated(t: torch.Tensor, sizes: dict[int, int]) -> torch.Tensor:
    """t, repeated along these dimensions, with its dimensions in the same order in memory."""
    order = sorted(range(t.dim()), key=lambda d: -t.stride(d))
    made = t.detach().permute(order).repeat([sizes.get(d, 1) for d in order])
    return made.permute([order.index(d) for d in range(t.dim())]).requires_grad_(t.requires_grad)
