"""The networks of the suite `models`: those of tests/models at their published sizes, and four more.

Weights are PyTorch's own initial ones, from a seed; batch normalisation gets statistics that differ from 0 and 1, or else
folding it would change nothing.
"""

from __future__ import annotations

from typing import Callable

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.models import torch_models as published


class LeNet(nn.Sequential):
    """LeNet-5 for images of 28×28."""

    def __init__(self):
        super().__init__(
            nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10), nn.LogSoftmax(1))


class MishNet(nn.Module):
    """Four convolutions, each with Mish behind it, and a classifier."""

    def __init__(self, channels: int = 32, classes: int = 10):
        super().__init__()
        self.convolutions = nn.ModuleList(nn.Conv2d(3 if k == 0 else channels, channels, 3, padding=1) for k in range(4))
        self.fc = nn.Linear(channels, classes)

    def forward(self, x):
        for convolution in self.convolutions:
            x = F.mish(convolution(x))
        return self.fc(x.mean((2, 3)))


def _floats(*shape: int) -> Callable:
    return lambda batch: {"x": torch.randn(batch, *shape)}


#: name: (module, inputs of a batch)
NETWORKS: dict[str, tuple[Callable, Callable]] = {
    "resnet50": (published.ResNet50, _floats(3, 224, 224)),
    "wide_resnet50_2": (lambda: published.ResNet50(widen=2), _floats(3, 224, 224)),
    "mobilenetv2": (published.MobileNetV2, _floats(3, 224, 224)),
    "efficientnet_b0": (published.EfficientNetB0, _floats(3, 224, 224)),
    "fcn8s": (published.FCN8s, _floats(3, 224, 224)),
    "mixer": (published.Mixer, _floats(3, 224, 224)),
    "bert_large": (lambda: published.BertLayer(1024, 16, 4096), _floats(512, 1024)),
    "llama": (lambda: published.LlamaLayer(2048, 32, 4, 5632), _floats(128, 2048)),
    "wavenet": (published.WaveNet, _floats(1, 2048)),
    "dlrm": (published.DLRM, lambda b: {"dense": torch.randn(b, 13), "sparse": torch.randint(0, 1000, (b, 8, 4))}),
    "lenet": (LeNet, _floats(1, 28, 28)),
    "mishnet": (MishNet, _floats(3, 112, 112)),
}


def make(name: str, batch: int) -> tuple[nn.Module, dict[str, torch.Tensor]]:
    """The network, for inference, and its inputs by name: the same in every process."""
    maker, inputs = NETWORKS[name]
    torch.manual_seed(0)
    module = maker()
    for m in module.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.running_mean.normal_(0, 0.1)
            m.running_var.uniform_(0.5, 1.5)
            m.weight.data.uniform_(0.5, 1.5)
            m.bias.data.normal_(0, 0.1)
    torch.manual_seed(1)
    return module.eval(), inputs(batch)


def trainable(module: nn.Module) -> nn.Module:
    """In training mode, dropout excepted: no two engines draw the same random numbers."""
    module.train()
    for m in module.modules():
        if isinstance(m, nn.modules.dropout._DropoutNd):
            m.eval()
    return module


class WithLoss(nn.Module):
    """A network with the loss that all engines train with: the mean squared distance of output and target."""

    def __init__(self, module: nn.Module):
        super().__init__()
        self.module = module

    def forward(self, target, *inputs):
        return F.mse_loss(self.module(*inputs), target)
