"""BERT-tiny (2 layers, width 128, 2 heads) trained by torch.compile(backend="headrace") to tell which of two words is more frequent
in a sentence; eager PyTorch beside it.

    python examples/train_bert_tiny.py [--width 128 --steps 30 --eager]
"""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

import headrace
import headrace.torch  # noqa: F401: the backend's name, where no wheel is installed


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x):
        batch, words, width = x.shape
        q, k, v = self.qkv(x).view(batch, words, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, words, width)
        x = self.norm1(x + self.out(attended))
        return self.norm2(x + self.down(F.gelu(self.up(x))))


class Bert(nn.Module):
    def __init__(self, vocabulary=64, longest=32, width=128, heads=2, layers=2, classes=2):
        super().__init__()
        self.words, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(longest, width)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.pool, self.head = nn.Linear(width, width), nn.Linear(width, classes)

    def forward(self, ids):
        x = self.norm(self.words(ids) + self.positions(torch.arange(ids.shape[1])))
        for layer in self.layers:
            x = layer(x)
        return self.head(torch.tanh(self.pool(x[:, 0])))


def batch(generator, size=32, words=16):
    ids = torch.randint(0, 8, (size, words), generator=generator)
    return ids, ((ids == 1).sum(1) > (ids == 2).sum(1)).long()


def train(model, parameters, steps):
    optimizer, generator = torch.optim.AdamW(parameters, lr=1e-3), torch.Generator().manual_seed(0)
    losses = []
    for _ in range(steps):
        ids, label = batch(generator)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(ids), label)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--width", type=int, default=128)
    p.add_argument("--steps", type=int, default=30)
    p.add_argument("--eager", action="store_true", help="eager PyTorch alone")
    a = p.parse_args()
    torch.manual_seed(0)
    reference = Bert(width=a.width)
    model = Bert(width=a.width)
    model.load_state_dict(reference.state_dict())
    expected = train(reference, reference.parameters(), a.steps)
    print("eager:   ", *(f"{v:.4f}" for v in expected[:: max(1, a.steps // 6)]), f"… {expected[-1]:.4f}")
    if not a.eager:
        losses = train(torch.compile(model, backend="headrace"), model.parameters(), a.steps)
        print("headrace:", *(f"{v:.4f}" for v in losses[:: max(1, a.steps // 6)]), f"… {losses[-1]:.4f}")
        worst = max(abs(x - y) for x, y in zip(losses, expected))
        print(f"largest difference {worst:.1e}; {headrace.counters()}")
        assert worst < 1e-3, worst
