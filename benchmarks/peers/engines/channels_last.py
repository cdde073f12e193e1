"""PyTorch eager with channels last, for networks of images."""

from __future__ import annotations

from typing import Any

import torch

from ..cases.folder import Folder
from .base import NotApplicable
from .eager import Eager


class ChannelsLast(Eager):
    def load(self, case: Folder) -> Any:
        module, inputs, target, by_inputs = super().load(case)
        if not any(x.dim() == 4 for x in inputs.values()):
            raise NotApplicable("no images")
        inputs = {n: x.to(memory_format=torch.channels_last) if x.dim() == 4 else x for n, x in inputs.items()}
        return module.to(memory_format=torch.channels_last), inputs, target, by_inputs
