"""Packed sequences while a module is traced: pack_padded_sequence and its inverse in smaller operators, in which the longest length and
the number of rows are sizes that data decide."""

from __future__ import annotations

import contextlib
import functools
from typing import Any

import torch
from torch import Tensor, _VF, nn
from torch.nn.utils.rnn import PackedSequence

from .replaced import replaced

_BATCH = "_headrace_batch"  # an attribute of batch sizes: how many sequences there are, as the program calls it


def _active(sizes: Tensor, batch: Any) -> Tensor:
    """[time, batch]: whether a sequence goes on."""
    return torch.arange(batch, device=sizes.device) < sizes[:, None]


def _pack(x: Tensor, lengths: Tensor, batch_first: bool) -> tuple[Tensor, Tensor]:
    x = x.transpose(0, 1) if batch_first else x
    longest, shortest = lengths.max().item(), lengths.min().item()
    torch._check(shortest > 0, lambda: "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0")
    torch._check(longest <= x.shape[0], lambda: "Expected `len(lengths)` and the sequences to agree: a length is larger than the padded one")
    rising = (lengths[1:] > lengths[:-1]).sum().item()
    torch._check(rising < 1, lambda: "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. "
                                     "You can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this")
    active = torch.arange(longest, device=x.device)[:, None] < lengths
    sizes = active.sum(1)
    setattr(sizes, _BATCH, x.shape[1])
    return x.narrow(0, 0, longest)[active], sizes


def _batch(sizes: Tensor) -> Any:
    return getattr(sizes, _BATCH) if hasattr(sizes, _BATCH) else sizes[0].item()


def _pad(data: Tensor, sizes: Tensor, batch_first: bool, value: float, length: Any) -> tuple[Tensor, Tensor]:
    active = _active(sizes, _batch(sizes))
    out = data.new_full((sizes.shape[0], *active.shape[1:], *data.shape[1:]), value)
    out[active] = data
    if length is not sizes.shape[0]:
        out = torch.cat([out, out.new_full((length - sizes.shape[0], *out.shape[1:]), value)])
    return (out.transpose(0, 1) if batch_first else out), active.sum(0)


def _with_states(kind: type) -> Any:
    """forward, where a packed sequence without states has zeros: PyTorch's own ask data for their size."""
    before = kind.forward

    @functools.wraps(before)
    def forward(self, input, hx=None):
        if hx is None and isinstance(input, PackedSequence):
            count = self.num_layers * (2 if self.bidirectional else 1)
            hidden, batch = self.proj_size or self.hidden_size, _batch(input.batch_sizes)
            hx = input.data.new_zeros(count, batch, hidden)
            if kind is nn.LSTM:
                hx = hx, input.data.new_zeros(count, batch, self.hidden_size)
        return before(self, input, hx)

    return forward


def _expected(self, input: Tensor, sizes: Tensor | None) -> tuple:
    """The shape of states."""
    batch = input.shape[0 if self.batch_first else 1] if sizes is None else _batch(sizes)
    return self.num_layers * (2 if self.bidirectional else 1), batch, self.proj_size or self.hidden_size


def sequences_packed() -> contextlib.AbstractContextManager:
    layers = (nn.LSTM, nn.GRU, nn.RNN)
    return replaced((_VF, "_pack_padded_sequence", _pack), (_VF, "_pad_packed_sequence", _pad), (nn.RNNBase, "get_expected_hidden_size", _expected),
                    *[(kind, "forward", _with_states(kind)) for kind in layers])
