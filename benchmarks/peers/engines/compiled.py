"""torch.compile with its default backend and mode."""

from __future__ import annotations

import torch

from .eager import Eager


class Compiled(Eager):
    def transformed(self, module: torch.nn.Module):
        return torch.compile(module)
