"""200 training steps against eager from the same seed: headrace.module with torch's optimizer, and headrace.train_step."""

import copy
import unittest

from python.tests.case import Case, headrace

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

from python.tests.torch_models import LeNet  # noqa: E402

STEPS = 200


class Block(nn.Module):
    """Two convolutions and what goes around them."""

    def __init__(self, before, after, stride):
        super().__init__()
        self.c1, self.b1 = nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after)
        self.c2, self.b2 = nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after)
        plain = stride == 1 and before == after
        self.around = nn.Identity() if plain else nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x):
        return F.relu(self.b2(self.c2(F.relu(self.b1(self.c1(x))))) + self.around(x))


class ResNet18(nn.Module):
    """He and others 2015, table 1, with the first layer for small images; `width` of the first stage."""

    def __init__(self, width=64):
        super().__init__()
        widths = [width, width, 2 * width, 4 * width, 8 * width]
        blocks = [Block(a if k == 0 else b, b, 2 if k == 0 and a != b else 1) for a, b in zip(widths, widths[1:]) for k in range(2)]
        self.first, self.norm = nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
        self.blocks, self.head = nn.Sequential(*blocks), nn.Linear(8 * width, 10)

    def forward(self, x):
        return self.head(self.blocks(F.relu(self.norm(self.first(x)))).mean((2, 3)))


class BertTiny(nn.Module):
    """Two layers of width 128 with two heads; the first token's class."""

    def __init__(self, words=1000, width=128):
        super().__init__()
        self.words, self.positions, self.norm = nn.Embedding(words, width), nn.Embedding(64, width), nn.LayerNorm(width)
        self.layers = nn.ModuleList(nn.ModuleDict({
            "qkv": nn.Linear(width, 3 * width), "out": nn.Linear(width, width), "norm1": nn.LayerNorm(width),
            "up": nn.Linear(width, 4 * width), "down": nn.Linear(4 * width, width), "norm2": nn.LayerNorm(width)}) for _ in range(2))
        self.dropout, self.head = nn.Dropout(0.1), nn.Linear(width, 4)

    def forward(self, ids):
        b, t = ids.shape
        x = self.dropout(self.norm(self.words(ids) + self.positions(torch.arange(t))))
        for layer in self.layers:
            q, k, v = layer["qkv"](x).view(b, t, 3, 2, -1).permute(2, 0, 3, 1, 4)
            a = ((q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).softmax(-1) @ v).transpose(1, 2).reshape(b, t, -1)
            x = layer["norm1"](x + self.dropout(layer["out"](a)))
            x = layer["norm2"](x + self.dropout(layer["down"](F.gelu(layer["up"](x)))))
        return self.head(torch.tanh(x[:, 0]))


def mlp():
    return nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 5))


def bright(channels, size, classes, batch):
    """Images that are brighter the higher their class, with noise."""
    def make(random):
        y = torch.randint(0, classes, (batch,), generator=random)
        return torch.randn(batch, channels, size, size, generator=random) + y[:, None, None, None] / classes, y

    return make


def again(make):
    """The same batch at every step."""
    made = make(torch.Generator().manual_seed(2))
    return lambda random: made


def points(random):
    x = torch.randn(32, 20, generator=random)
    return x, x[:, :5].argmax(1)


def sentences(random):
    ids = torch.randint(0, 40, (8, 16), generator=random)
    return ids, ids[:, 0] % 4


class Training(Case):
    """Learning rates are those at which rounding does not grow, which is asserted: at 0.01 LeNet's losses in f32 and in f64, both
    eager, are up to 0.7 apart, ResNet-18's at 1e-4 up to 6e-4."""

    def check(self, make, batch, optimizer):
        torch.manual_seed(0)
        start = make()
        losses = {}
        for way in ("f64", "eager", "module", "train_step"):
            model = copy.deepcopy(start)
            if way == "f64":
                model.double()
            trained = headrace.module(model) if way == "module" else model
            update = optimizer(model.parameters())
            step = headrace.train_step(model, F.cross_entropy, update) if way == "train_step" else None
            random = torch.Generator().manual_seed(1)
            losses[way] = []
            for n in range(STEPS):
                x, y = batch(random)
                x = x.double() if way == "f64" and x.is_floating_point() else x
                torch.manual_seed(n)
                if step is not None:
                    losses[way].append(float(step(x, y)))
                    continue
                update.zero_grad()
                loss = F.cross_entropy(trained(x), y)
                loss.backward()
                update.step()
                losses[way].append(loss.item())
        eager = losses.pop("eager")
        reproducible = max(abs(a - b) for a, b in zip(eager, losses.pop("f64")))
        print(f"eager f32 against f64: {reproducible:.2g}")
        if not any(m.p for m in start.modules() if isinstance(m, nn.Dropout)):  # masks are drawn in the type of what they mask
            self.assertLess(reproducible, 2.5e-5, "this training says nothing: rounding grows")
        self.assertLess(sum(eager[-20:]), 0.95 * sum(eager[:20]))  # it does learn
        for way, got in losses.items():
            worst = max(range(STEPS), key=lambda n: abs(got[n] - eager[n]))
            print(f"{way}: largest difference {abs(got[worst] - eager[worst]):.2g} at step {worst}; loss {eager[0]:.4f} to {eager[-1]:.4f}")
            self.assertLess(abs(got[worst] - eager[worst]), 1e-4, f"{way}, step {worst}")

    def test_lenet(self):
        self.check(LeNet, bright(1, 28, 10, 16), lambda p: torch.optim.SGD(p, lr=0.003, momentum=0.9))

    def test_mlp(self):
        self.check(mlp, points, lambda p: torch.optim.Adam(p, lr=1e-3))

    def test_bert_tiny(self):
        self.check(BertTiny, sentences, lambda p: torch.optim.AdamW(p, lr=1e-3))

    def test_resnet18(self):
        self.check(lambda: ResNet18(16), again(bright(3, 16, 10, 32)), lambda p: torch.optim.SGD(p, lr=1e-5))


if __name__ == "__main__":
    unittest.main()
