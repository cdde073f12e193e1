"""Networks for tests and benchmarks, written out (no torchvision), with seeded random weights.

MODELS maps a name to a function that gives (module, example inputs, input names, dynamic axes). Sizes are the published
ones; `small=True` gives a narrow version of the same structure for quick tests.
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class ConvBn(nn.Sequential):
    def __init__(self, cin, cout, k, stride=1, groups=1, act=None):
        layers = [nn.Conv2d(cin, cout, k, stride, k // 2, groups=groups, bias=False), nn.BatchNorm2d(cout)]
        super().__init__(*layers, *([act] if act else []))


class Bottleneck(nn.Module):
    def __init__(self, cin, width, cout, stride):
        super().__init__()
        self.body = nn.Sequential(ConvBn(cin, width, 1, act=nn.ReLU()), ConvBn(width, width, 3, stride, act=nn.ReLU()), ConvBn(width, cout, 1))
        self.skip = ConvBn(cin, cout, 1, stride) if stride != 1 or cin != cout else nn.Identity()

    def forward(self, x):
        return F.relu(self.body(x) + self.skip(x))


class ResNet50(nn.Module):
    def __init__(self, base=64, widen=1, classes=1000, blocks=(3, 4, 6, 3)):
        super().__init__()
        layers, cin = [ConvBn(3, base, 7, 2, act=nn.ReLU()), nn.MaxPool2d(3, 2, 1)], base
        for stage, count in enumerate(blocks):
            for i in range(count):
                layers.append(Bottleneck(cin, base * widen << stage, 4 * base << stage, 2 if stage and i == 0 else 1))
                cin = 4 * base << stage
        self.features = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.fc = nn.Linear(cin, classes)

    def forward(self, x):
        return self.fc(self.features(x))


class InvertedResidual(nn.Module):
    def __init__(self, cin, cout, stride, expand):
        super().__init__()
        hidden = cin * expand
        self.skip = stride == 1 and cin == cout
        self.body = nn.Sequential(*([ConvBn(cin, hidden, 1, act=nn.ReLU6())] if expand != 1 else []),
                                  ConvBn(hidden, hidden, 3, stride, hidden, nn.ReLU6()), ConvBn(hidden, cout, 1))

    def forward(self, x):
        return x + self.body(x) if self.skip else self.body(x)


class MobileNetV2(nn.Module):
    def __init__(self, width=1.0, classes=1000):
        super().__init__()
        c = lambda n: max(8, int(n * width) // 8 * 8)
        layers, cin = [ConvBn(3, c(32), 3, 2, act=nn.ReLU6())], c(32)
        for t, cout, n, s in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
            for i in range(n):
                layers.append(InvertedResidual(cin, c(cout), s if i == 0 else 1, t))
                cin = c(cout)
        layers.append(ConvBn(cin, c(1280), 1, act=nn.ReLU6()))
        self.features = nn.Sequential(*layers)
        self.fc = nn.Linear(c(1280), classes)

    def forward(self, x):
        return self.fc(self.features(x).mean((2, 3)))


class MBConv(nn.Module):
    def __init__(self, cin, cout, k, stride, expand):
        super().__init__()
        hidden, squeeze = cin * expand, max(1, cin // 4)
        self.skip = stride == 1 and cin == cout
        self.expand = ConvBn(cin, hidden, 1, act=nn.SiLU()) if expand != 1 else nn.Identity()
        self.depthwise = ConvBn(hidden, hidden, k, stride, hidden, nn.SiLU())
        self.se = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(hidden, squeeze, 1), nn.SiLU(), nn.Conv2d(squeeze, hidden, 1), nn.Sigmoid())
        self.project = ConvBn(hidden, cout, 1)

    def forward(self, x):
        y = self.depthwise(self.expand(x))
        y = self.project(y * self.se(y))
        return x + y if self.skip else y


class EfficientNetB0(nn.Module):
    def __init__(self, width=1.0, classes=1000):
        super().__init__()
        c = lambda n: max(8, int(n * width) // 8 * 8)
        layers, cin = [ConvBn(3, c(32), 3, 2, act=nn.SiLU())], c(32)
        for t, cout, n, s, k in ((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5), (6, 192, 4, 2, 5), (6, 320, 1, 1, 3)):
            for i in range(n):
                layers.append(MBConv(cin, c(cout), k, s if i == 0 else 1, t))
                cin = c(cout)
        self.features = nn.Sequential(*layers, ConvBn(cin, c(1280), 1, act=nn.SiLU()), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.fc = nn.Linear(c(1280), classes)

    def forward(self, x):
        return self.fc(self.features(x))


def as_f32(x):
    """Exporters write numbers of f64 models as f32: this one is the same in both."""
    return torch.tensor(x, dtype=torch.float32).item()


class FCN8s(nn.Module):
    def __init__(self, base=64, fc=4096, classes=21):
        super().__init__()

        def block(cin, cout, n):
            layers = []
            for i in range(n):
                layers += [nn.Conv2d(cin if i == 0 else cout, cout, 3, padding=1), nn.ReLU()]
            return nn.Sequential(*layers, nn.MaxPool2d(2, 2, ceil_mode=True))

        self.to3 = nn.Sequential(block(3, base, 2), block(base, 2 * base, 2), block(2 * base, 4 * base, 3))
        self.to4, self.to5 = block(4 * base, 8 * base, 3), block(8 * base, 8 * base, 3)
        self.head = nn.Sequential(nn.Conv2d(8 * base, fc, 7, padding=3), nn.ReLU(), nn.Dropout2d(), nn.Conv2d(fc, fc, 1), nn.ReLU(), nn.Dropout2d(), nn.Conv2d(fc, classes, 1))
        self.score3, self.score4 = nn.Conv2d(4 * base, classes, 1), nn.Conv2d(8 * base, classes, 1)
        self.up2 = nn.ConvTranspose2d(classes, classes, 4, 2, 1, bias=False)
        self.up4 = nn.ConvTranspose2d(classes, classes, 4, 2, 1, bias=False)
        self.up8 = nn.ConvTranspose2d(classes, classes, 16, 8, 4, bias=False)

    def forward(self, x):
        p3 = self.to3(x)
        p4 = self.to4(p3)
        y = self.up2(self.head(self.to5(p4))) + self.score4(p4 * as_f32(0.01))
        y = self.up4(y) + self.score3(p3 * as_f32(0.0001))
        return self.up8(y)


class MixerBlock(nn.Module):
    def __init__(self, tokens, dim):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.token = nn.Sequential(nn.Linear(tokens, dim // 2), nn.GELU(), nn.Linear(dim // 2, tokens))
        self.channel = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        x = x + self.token(self.n1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channel(self.n2(x))


class Mixer(nn.Module):
    def __init__(self, dim=768, depth=12, size=224, patch=16, classes=1000):
        super().__init__()
        self.patch = nn.Conv2d(3, dim, patch, patch)
        self.blocks = nn.Sequential(*[MixerBlock((size // patch) ** 2, dim) for _ in range(depth)])
        self.norm, self.fc = nn.LayerNorm(dim), nn.Linear(dim, classes)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        return self.fc(self.norm(self.blocks(x)).mean(1))


class BertLayer(nn.Module):
    def __init__(self, dim=768, heads=12, hidden=3072):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (nn.Linear(dim, dim) for _ in range(4))
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.up, self.down = nn.Linear(dim, hidden), nn.Linear(hidden, dim)

    def forward(self, x):
        b, s, d = x.shape
        split = lambda t: t.view(b, s, self.heads, d // self.heads).transpose(1, 2)
        q, k, v = split(self.q(x)), split(self.k(x)), split(self.v(x))
        p = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(d // self.heads), -1)
        x = self.n1(x + self.o((p @ v).transpose(1, 2).reshape(b, s, d)))
        return self.n2(x + self.down(F.gelu(self.up(x))))


class LlamaLayer(nn.Module):
    def __init__(self, dim=1024, heads=16, kv_heads=4, hidden=2816):
        super().__init__()
        self.heads, self.kv, self.hd = heads, kv_heads, dim // heads
        self.q = nn.Linear(dim, dim, bias=False)
        self.k, self.v = (nn.Linear(dim, kv_heads * self.hd, bias=False) for _ in range(2))
        self.o = nn.Linear(dim, dim, bias=False)
        self.gate, self.up = (nn.Linear(dim, hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(hidden, dim, bias=False)
        self.w1, self.w2 = (nn.Parameter(torch.rand(dim) + 0.5) for _ in range(2))

    @staticmethod
    def norm(x, w):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w

    def rotate(self, x, cos, sin):
        a, b = x[..., : self.hd // 2], x[..., self.hd // 2 :]  # chunk is a sequence in dynamo's graphs, without a gradient
        return x * cos + torch.cat((-b, a), -1) * sin

    def forward(self, x):
        b, s, d = x.shape
        split = lambda t, h: t.view(b, s, h, self.hd).transpose(1, 2)
        f = 1.0 / 10000 ** (torch.arange(0, self.hd, 2, dtype=x.dtype) / self.hd)
        angle = torch.arange(s)[:, None] * f[None]
        angle = torch.cat((angle, angle), -1)
        y = self.norm(x, self.w1)
        q, k = (self.rotate(t, angle.cos(), angle.sin()) for t in (split(self.q(y), self.heads), split(self.k(y), self.kv)))
        v = split(self.v(y), self.kv)
        k, v = (t[:, :, None].expand(b, self.kv, self.heads // self.kv, s, self.hd).reshape(b, self.heads, s, self.hd) for t in (k, v))
        score = q @ k.transpose(-1, -2) / math.sqrt(self.hd)
        score = score.masked_fill(torch.ones(s, s).triu(1).bool(), float("-inf"))
        x = x + self.o((torch.softmax(score, -1) @ v).transpose(1, 2).reshape(b, s, d))
        y = self.norm(x, self.w2)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class WaveNet(nn.Module):
    def __init__(self, channels=64, skip=128, layers=10, stacks=2, classes=256):
        super().__init__()
        self.start = nn.Conv1d(1, channels, 1)
        self.dilations = [2 ** i for i in range(layers)] * stacks
        self.filters = nn.ModuleList(nn.Conv1d(channels, channels, 2, dilation=d) for d in self.dilations)
        self.gates = nn.ModuleList(nn.Conv1d(channels, channels, 2, dilation=d) for d in self.dilations)
        self.residual = nn.ModuleList(nn.Conv1d(channels, channels, 1) for _ in self.dilations)
        self.skips = nn.ModuleList(nn.Conv1d(channels, skip, 1) for _ in self.dilations)
        self.end = nn.Sequential(nn.ReLU(), nn.Conv1d(skip, skip, 1), nn.ReLU(), nn.Conv1d(skip, classes, 1))

    def forward(self, x):
        x, total = self.start(x), 0
        for d, f, g, r, s in zip(self.dilations, self.filters, self.gates, self.residual, self.skips):
            y = F.pad(x, (d, 0))
            y = torch.tanh(f(y)) * torch.sigmoid(g(y))
            total = total + s(y)
            x = x + r(y)
        return self.end(total)


class DLRM(nn.Module):
    def __init__(self, tables=8, rows=1000, dim=32, dense=13, hot=4):
        super().__init__()
        self.tables = nn.ParameterList(nn.Parameter(torch.randn(rows, dim) * 0.1) for _ in range(tables))
        self.bottom = nn.Sequential(nn.Linear(dense, 128), nn.ReLU(), nn.Linear(128, dim), nn.ReLU())
        n = tables + 1
        self.register_buffer("pairs", torch.tensor([i * n + j for i in range(n) for j in range(i)]))
        self.top = nn.Sequential(nn.Linear(dim + n * (n - 1) // 2, 128), nn.ReLU(), nn.Linear(128, 1), nn.Sigmoid())

    def forward(self, dense, sparse):
        x = self.bottom(dense)
        rows = [F.embedding(sparse[:, i], t).sum(1) for i, t in enumerate(self.tables)]
        z = torch.stack([x] + rows, 1)
        dots = (z @ z.transpose(1, 2)).flatten(1)
        return self.top(torch.cat((x, dots[:, self.pairs]), 1))


class LSTM(nn.Module):
    def __init__(self, inputs=64, hidden=128, layers=2, classes=32):
        super().__init__()
        self.lstm = nn.LSTM(inputs, hidden, layers, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * hidden, classes)

    def forward(self, x):
        y, _ = self.lstm(x)
        return self.fc(y)


def image(size):
    return lambda batch: (torch.randn(batch, 3, size, size),)


# name: (module maker, small module maker, inputs of a batch, small inputs, input names)
_SPECS = {
    "resnet50": (lambda: ResNet50(), lambda: ResNet50(8), image(224), image(64), ["x"]),
    "wide_resnet50_2": (lambda: ResNet50(widen=2), lambda: ResNet50(8, 2), image(224), image(64), ["x"]),
    "mobilenetv2": (lambda: MobileNetV2(), lambda: MobileNetV2(0.25), image(224), image(64), ["x"]),
    "efficientnet_b0": (lambda: EfficientNetB0(), lambda: EfficientNetB0(0.25), image(224), image(64), ["x"]),
    "fcn8s": (lambda: FCN8s(), lambda: FCN8s(8, 32), image(224), image(64), ["x"]),
    "mixer": (lambda: Mixer(), lambda: Mixer(64, 2, 64), image(224), image(64), ["x"]),
    "bert_layer": (lambda: BertLayer(), lambda: BertLayer(64, 4, 128), lambda b: (torch.randn(b, 128, 768),), lambda b: (torch.randn(b, 16, 64),), ["x"]),
    "llama_layer": (lambda: LlamaLayer(), lambda: LlamaLayer(64, 4, 2, 96), lambda b: (torch.randn(b, 128, 1024),), lambda b: (torch.randn(b, 12, 64),), ["x"]),
    "wavenet": (lambda: WaveNet(), lambda: WaveNet(8, 16, 4), lambda b: (torch.randn(b, 1, 2048),), lambda b: (torch.randn(b, 1, 64),), ["x"]),
    "dlrm": (lambda: DLRM(), lambda: DLRM(4, 50, 8), lambda b: (torch.randn(b, 13), torch.randint(0, 1000, (b, 8, 4))), lambda b: (torch.randn(b, 13), torch.randint(0, 50, (b, 4, 3))), ["dense", "sparse"]),
    "lstm": (lambda: LSTM(), lambda: LSTM(8, 12, 2, 5), lambda b: (torch.randn(b, 32, 64),), lambda b: (torch.randn(b, 7, 8),), ["x"]),
}
NAMES = list(_SPECS)


def make(name, small=False):
    """The module in eval mode with random weights and batch statistics, a function batch → inputs, and the input names."""
    maker, small_maker, inputs, small_inputs, names = _SPECS[name]
    torch.manual_seed(0)
    module = (small_maker if small else maker)()
    for m in module.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.running_mean.normal_(0, 0.1)
            m.running_var.uniform_(0.5, 1.5)
            m.weight.data.uniform_(0.5, 1.5)
            m.bias.data.normal_(0, 0.1)
    return module.eval(), (small_inputs if small else inputs), names


def export(name, path, exporter, small=False, dynamic=True):
    """Writes the model; `exporter` is "torchscript" or "dynamo"; the batch is the symbolic size "batch"."""
    module, inputs, names = make(name, small)
    torch.manual_seed(1)
    example = inputs(2)
    if exporter == "dynamo":
        shapes = tuple({0: torch.export.Dim("batch", min=1, max=64)} for _ in names) if dynamic else None
        torch.onnx.export(module, example, path, dynamo=True, input_names=names, output_names=["y"], dynamic_shapes=shapes, external_data=False, verbose=False)
    else:
        axes = {n: {0: "batch"} for n in names + ["y"]} if dynamic else None
        torch.onnx.export(module, example, path, dynamo=False, opset_version=17, input_names=names, output_names=["y"], dynamic_axes=axes)
    return module, inputs, names
