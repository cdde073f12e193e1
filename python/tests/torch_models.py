"""Small networks with random weights, which the torch tests share."""

import torch
import torch.nn.functional as F
from torch import nn


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5)
        self.layers = nn.Sequential(nn.Linear(16 * 25, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))

    def forward(self, x):
        x = F.max_pool2d(torch.relu(self.first(x)), 2)
        x = F.max_pool2d(torch.relu(self.second(x)), 2)
        return self.layers(x.flatten(1))


class Bert(nn.Module):
    """Embeddings and one layer of BERT."""

    def __init__(self, width=16, heads=2, words=30):
        super().__init__()
        self.words, self.positions = nn.Embedding(words, width, padding_idx=0), nn.Embedding(40, width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.heads = heads

    def forward(self, ids, mask=None):
        b, t = ids.shape
        x = self.words(ids) + self.positions(torch.arange(t))
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask[:, None, None, :], float("-inf"))
        x = self.norm1(x + self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, -1)))
        return self.norm2(x + self.down(F.gelu(self.up(x))))


class BatchNormNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.b1 = nn.Conv2d(3, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4)
        self.c2, self.b2 = nn.Conv2d(4, 8, 3, stride=2, groups=2, bias=False), nn.BatchNorm2d(8)
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = F.relu(self.b1(self.c1(x)))
        x = F.silu(self.b2(self.c2(x)))
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(4, 6, batch_first=True), nn.Linear(6, 3)

    def forward(self, x):
        y, (h, c) = self.lstm(x)
        return self.head(y), h, c


def mlp():
    return nn.Sequential(nn.Linear(7, 16), nn.Tanh(), nn.Dropout(0.25), nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 4))


def images(channels, size):
    return lambda n: (torch.randn(n, channels, size, size),)


MODELS = {
    "LeNet": (LeNet, images(1, 28)),
    "MLP": (mlp, lambda n: (torch.randn(n, 7),)),
    "BERT": (Bert, lambda n: (torch.randint(0, 30, (n, 5 + n)),)),
    "BatchNorm": (BatchNormNet, images(3, 9)),
    "LSTM": (Recurrent, lambda n: (torch.randn(n, 6, 4),)),
}


def first(result):
    return result if isinstance(result, torch.Tensor) else sum(r.sum() for r in result[1:]) + result[0]
