"""ResNet-18 trained by headrace.module on small random pictures of four kinds; eager PyTorch beside it.

    python examples/train_resnet18.py [--width 64 --size 32 --steps 10 --eager]
"""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

import headrace


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs)
        self.conv2, self.norm2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs)
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)))))
        return F.relu(y + self.shortcut(x))


class ResNet18(nn.Module):
    """With `width` 64 the usual one; the first convolution is that for small pictures."""

    def __init__(self, width=64, classes=4):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
        widths = [width, width, 2 * width, 4 * width, 8 * width]
        self.blocks = nn.Sequential(*(block for k in range(4) for block in (Block(widths[k], widths[k + 1], 1 if k == 0 else 2),
                                                                            Block(widths[k + 1], widths[k + 1], 1))))
        self.head = nn.Linear(8 * width, classes)

    def forward(self, x):
        x = self.blocks(F.relu(self.norm(self.conv(x))))
        return self.head(x.mean((2, 3)))


def pictures(generator, count, size):
    """Waves in four directions, in noise."""
    kind = torch.randint(0, 4, (count,), generator=generator)
    y, x = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    angle = kind[:, None, None] * torch.pi / 4
    waves = torch.sin(0.8 * (x * torch.cos(angle) + y * torch.sin(angle)))
    return waves[:, None] + 0.5 * torch.randn(count, 3, size, size, generator=generator), kind


def train(model, parameters, a):
    optimizer, generator = torch.optim.SGD(parameters, lr=0.05, momentum=0.9), torch.Generator().manual_seed(0)
    losses = []
    for _ in range(a.steps):
        x, kind = pictures(generator, a.batch, a.size)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), kind)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--width", type=int, default=16, help="64 is ResNet-18's own")
    p.add_argument("--size", type=int, default=32)
    p.add_argument("--batch", type=int, default=16)
    p.add_argument("--steps", type=int, default=10)
    p.add_argument("--eager", action="store_true", help="eager PyTorch alone")
    a = p.parse_args()
    torch.manual_seed(0)
    reference = ResNet18(a.width)
    model = ResNet18(a.width)
    model.load_state_dict(reference.state_dict())
    expected = train(reference, reference.parameters(), a)
    print("eager:   ", *(f"{v:.4f}" for v in expected))
    if not a.eager:
        losses = train(headrace.module(model), model.parameters(), a)
        print("headrace:", *(f"{v:.4f}" for v in losses))
        worst = max(abs(x - y) for x, y in zip(losses, expected))
        print(f"largest difference {worst:.1e}; {headrace.counters()}")
        assert worst < 2e-2, worst  # rounding grows from step to step
        for (name, ours), theirs in zip(model.named_buffers(), reference.buffers()):
            torch.testing.assert_close(ours, theirs, rtol=2e-2, atol=2e-2, msg=name)
