"""Recurrent layers while a module is traced: PyTorch finds their results' shapes by running them step by step, which would make the
length a constant of the trace. Here the shapes follow from those of the arguments."""

from __future__ import annotations

import contextlib
import threading
from typing import Callable

import torch
from torch._C import DispatchKey
from torch._decomp import decomposition_table
from torch.fx.experimental.proxy_tensor import get_proxy_mode

_LAYERS = [getattr(torch.ops.aten, name) for name in ("lstm", "gru", "rnn_tanh", "rnn_relu")]
_lock = threading.RLock()  # who traces, for the table belongs to all threads


def _shapes(x, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
    """Results without their values, which a trace doesn't need."""
    states = list(hx) if isinstance(hx, (list, tuple)) else [hx]
    batch, time = (x.shape[0], x.shape[1]) if batch_first else (x.shape[1], x.shape[0])
    out = states[0].new_empty([time, batch, states[0].shape[2] * (2 if bidirectional else 1)])
    return (out.transpose(0, 1) if batch_first else out, *[torch.empty_like(s, memory_format=torch.contiguous_format) for s in states])


def _packed_shapes(x, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional):
    states = list(hx) if isinstance(hx, (list, tuple)) else [hx]
    return (x.new_empty([x.shape[0], states[0].shape[2] * (2 if bidirectional else 1)]), *[torch.empty_like(s) for s in states])


def _meaning(shapes: Callable, before: Callable, thread: int) -> Callable:
    """What fake tensors are computed by; for others, and where the steps themselves are wanted, what it was before."""
    def run(*args, **kwargs):
        return (shapes if threading.get_ident() == thread and get_proxy_mode() is None else before)(*args, **kwargs)

    return run


@contextlib.contextmanager
def recurrent_layers_whole():
    operators = [(o.input, _shapes) for o in _LAYERS] + [(o.data, _packed_shapes) for o in _LAYERS]
    places = [(o.py_kernels, DispatchKey.CompositeImplicitAutograd, s) for o, s in operators] + [(decomposition_table, o, s) for o, s in operators]
    with _lock:
        before = [table[key] for table, key, _ in places]
        for (table, key, shapes), function in zip(places, before):
            table[key] = _meaning(shapes, function, threading.get_ident())
        try:
            yield
        finally:
            for (table, key, _), function in zip(places, before):
                table[key] = function
