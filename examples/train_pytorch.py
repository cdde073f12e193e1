"""A PyTorch module, trained three ways: headrace.module in the usual loop, torch.compile, and a whole step as one program.

    python examples/train_pytorch.py
"""

import torch
import torch.nn.functional as F
from torch import nn

import headrace
import headrace.torch  # noqa: F401: the backend's name, where no wheel is installed


def data(samples=512):
    """Points in three arms of a spiral."""
    torch.manual_seed(0)
    label = torch.arange(samples) % 3
    along = torch.rand(samples)
    angle = 4 * along + label * 2 * torch.pi / 3 + 0.1 * torch.randn(samples)
    return torch.stack([along * torch.cos(angle), along * torch.sin(angle)], 1), label


def network():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 3))


x, y = data()
STEPS = 100


def train(model, parameters):
    optimizer = torch.optim.AdamW(parameters, lr=1e-2)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# Eager PyTorch, to compare with.
eager = network()
expected = train(eager, eager.parameters())

# The module, compiled: forward and backward pass are programs, parameters stay torch's.
compiled = headrace.module(network())
losses = train(compiled, compiled.parameters())
torch.testing.assert_close(torch.tensor(losses), torch.tensor(expected), rtol=1e-3, atol=1e-3)

# The same by torch.compile.
net = network()
losses = train(torch.compile(net, backend="headrace"), net.parameters())
torch.testing.assert_close(torch.tensor(losses), torch.tensor(expected), rtol=1e-3, atol=1e-3)

# Forward pass, loss, backward pass and update as one program.
net = network()
step = headrace.train_step(net, F.cross_entropy, torch.optim.AdamW(net.parameters(), lr=1e-2))
losses = [float(step(x, y)) for _ in range(STEPS)]
torch.testing.assert_close(torch.tensor(losses), torch.tensor(expected), rtol=1e-3, atol=1e-3)

report = step.report()  # in a notebook: the loss curve, and memory over time
print(f"loss {losses[0]:.3f} → {losses[-1]:.3f}, eager {expected[-1]:.3f}; at most {max(report['memory']) / 1024:.0f} KiB of temporaries")
accuracy = (net(x).argmax(1) == y).float().mean().item()
print(f"accuracy {accuracy:.1%}; programs: {headrace.counters()}")
assert accuracy > 0.95
