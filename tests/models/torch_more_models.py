"""More architectures, small, each with constructs that those of torch_models.py lack; same interface (small is ignored).

Numbers in them are exact in f32: exporters write attributes, and some constants of f64 models, as f32.
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.models.torch_image_networks import (ConvNext, DenseNet, Detection, Inception, Resampling, ShuffleNet, SpatialTransformer, SuperResolution, Swin, UNet,
                                                Unpooling, Vgg, Vit, Volume)


class Gru(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru, self.fc = nn.GRU(4, 5, 2, bidirectional=True), nn.Linear(10, 3)

    def forward(self, x, h):
        y, last = self.gru(x.transpose(0, 1), h.transpose(0, 1).contiguous())
        return self.fc(y.transpose(0, 1)) + last.sum()


class BiLstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 4)
        self.lstm, self.rnn = nn.LSTM(4, 5, 1, bidirectional=True, batch_first=True), nn.RNN(10, 3, nonlinearity="relu", batch_first=True)

    def forward(self, tokens):
        y, (h, c) = self.lstm(self.embed(tokens))
        z, _ = self.rnn(y)
        return torch.cat((z[:, -1], h[0], c[1]), -1)


class Rms(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(dim) + 0.5)

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 2.0**-20) * self.weight


class Gpt(nn.Module):
    def __init__(self, vocab=13, dim=16, heads=2, layers=2):
        super().__init__()
        self.heads, self.hd = heads, dim // heads
        self.embed = nn.Embedding(vocab, dim)
        self.qkv = nn.ModuleList(nn.Linear(dim, 3 * dim) for _ in range(layers))
        self.o = nn.ModuleList(nn.Linear(dim, dim, bias=False) for _ in range(layers))
        self.gate = nn.ModuleList(nn.Linear(dim, 4 * dim) for _ in range(layers))
        self.down = nn.ModuleList(nn.Linear(2 * dim, dim) for _ in range(layers))
        self.norm = nn.ModuleList(Rms(dim) for _ in range(2 * layers + 1))

    def rope(self, x):  # pairs next to each other
        s = x.shape[2]
        f = 10000 ** (-torch.arange(0, self.hd, 2, dtype=x.dtype) / self.hd)
        angle = torch.arange(s, dtype=x.dtype)[:, None] * f
        a, b = x[..., ::2], x[..., 1::2]
        return torch.stack((a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()), -1).flatten(-2)

    def forward(self, tokens):
        x = self.embed(tokens)
        b, s, d = x.shape
        for i, (qkv, o, gate, down) in enumerate(zip(self.qkv, self.o, self.gate, self.down)):
            q, k, v = (t.view(b, s, self.heads, self.hd).transpose(1, 2) for t in qkv(self.norm[2 * i](x)).chunk(3, -1))
            y = F.scaled_dot_product_attention(self.rope(q), self.rope(k), v, is_causal=True)
            x = x + o(y.transpose(1, 2).reshape(b, s, d))
            u, w = gate(self.norm[2 * i + 1](x)).split(2 * d, -1)
            x = x + down(F.silu(u) * w)
        return self.norm[-1](x) @ self.embed.weight.T


class Whisper(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.c1, self.c2 = nn.Conv1d(5, dim, 3, padding=1), nn.Conv1d(dim, dim, 3, stride=2, padding=1)
        f = torch.exp(-torch.arange(dim // 2) * math.log(10000) / (dim // 2 - 1))
        angle = torch.arange(8)[:, None] * f
        self.register_buffer("pos", torch.cat((angle.sin(), angle.cos()), 1))
        self.layer = nn.TransformerEncoderLayer(dim, 2, 16, 0.0, "gelu", batch_first=True, norm_first=True)
        self.norm = nn.LayerNorm(dim)

    def forward(self, mel):
        x = F.gelu(self.c2(F.gelu(self.c1(mel)))).permute(0, 2, 1)
        return self.norm(self.layer(x + self.pos))


class T5(nn.Module):
    def __init__(self, dim=8, heads=2, buckets=8):
        super().__init__()
        self.heads, self.buckets = heads, buckets
        self.q, self.k, self.v, self.o = (nn.Linear(dim, dim, bias=False) for _ in range(4))
        self.bias, self.scale = nn.Embedding(buckets, heads), nn.Parameter(torch.rand(dim) + 0.5)

    def bucket(self, relative):
        half, exact = self.buckets // 2, self.buckets // 4
        side = (relative > 0).long() * half
        n = relative.abs()
        far = exact + (torch.log(n.float().clamp(min=1) / exact) / math.log(16 / exact) * (half - exact)).long()
        return side + torch.where(n < exact, n, far.clamp(max=half - 1))

    def forward(self, x, mask):
        b, s, d = x.shape
        y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.scale
        q, k, v = (f(y).view(b, s, self.heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        at = torch.arange(s)
        bias = self.bias(self.bucket(at[None] - at[:, None])).permute(2, 0, 1)[None]
        score = q @ k.transpose(-1, -2) + bias + mask[:, None, None] * -10
        return x + self.o((score.softmax(-1) @ v).transpose(1, 2).flatten(2))


class Flow(nn.Module):
    def __init__(self, dim=4):
        super().__init__()
        self.s, self.t = (nn.Sequential(nn.Linear(dim // 2, 8), nn.Tanh(), nn.Linear(8, dim // 2)) for _ in range(2))
        self.w, self.log_scale, self.shift = nn.Parameter(torch.eye(dim) + 0.1 * torch.randn(dim, dim)), nn.Parameter(0.1 * torch.randn(dim)), nn.Parameter(torch.randn(dim))

    def forward(self, x):
        x = (x + self.shift) * torch.exp(self.log_scale)
        x = x @ self.w
        a, b = x[:, :2], x[:, 2:]
        s = torch.tanh(self.s(a))
        z = torch.cat((a, b * s.exp() + self.t(a)), 1)
        logdet = s.sum(1) + self.log_scale.sum() + torch.log(torch.abs(torch.det(self.w)))
        return -0.5 * (z ** 2).sum(1) - 0.5 * z.shape[1] * math.log(2 * math.pi) + logdet


class Einsums(nn.Module):
    def __init__(self, dim=6, heads=2):
        super().__init__()
        self.w = nn.Parameter(torch.randn(3, dim, heads, 3))
        self.o, self.core = nn.Parameter(torch.randn(heads, 3, dim)), nn.Parameter(torch.randn(dim, dim, 4))

    def forward(self, x):
        q, k, v = (torch.einsum("bsd,dhe->bhse", x, self.w[i]) for i in range(3))
        p = torch.einsum("bhie,bhje->bhij", q, k).softmax(-1)
        y = torch.einsum("bhij,bhje,hed->bid", p, v, self.o)
        z = torch.einsum("bid,bie,def->bif", y, x, self.core)
        return torch.cat((z, torch.einsum("bii->bi", torch.einsum("bid,bjd->bij", y, x))[..., None]), -1)


class GraphNet(nn.Module):
    def __init__(self, dim=5):
        super().__init__()
        self.message, self.update, self.score = nn.Linear(2 * dim, dim), nn.Linear(2 * dim, dim), nn.Linear(dim, 1)

    def forward(self, x, source, target):  # nodes of a batch are one graph
        x = x.flatten(0, 1)
        source, target = source.flatten(), target.flatten()
        m = F.elu(self.message(torch.cat((x[source], x[target]), -1)))
        total = torch.zeros_like(x).scatter_add(0, target[:, None].expand(-1, x.shape[1]), m)
        most = torch.zeros_like(x).scatter_reduce(0, target[:, None].expand(-1, x.shape[1]), m, "amax", include_self=False)
        y = self.update(torch.cat((total + most, x), -1))
        z = y.index_put((source[:2],), m[:2])
        return torch.logsumexp(self.score(z), 0) + torch.cumsum(y, 0)


class Losses(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 5)
        self.register_buffer("weight", torch.tensor([0.5, 1.0, 2.0, 0.3, 0.7]))

    def forward(self, x, target):
        y = self.fc(x)
        flat = y.flatten(0, 1)
        t = target.flatten()
        a = F.cross_entropy(flat, t, weight=self.weight, ignore_index=1)
        b = F.nll_loss(F.log_softmax(y * 0.5, -1).flatten(0, 1), t, reduction="sum", ignore_index=2)
        c = F.cross_entropy(y.transpose(1, 2), target, reduction="none", weight=self.weight).mean()
        d = F.binary_cross_entropy_with_logits(y, x.new_full((5,), 0.25).expand_as(y))
        return torch.stack((a, b, c, d, F.mse_loss(y.softmax(-1), y.sigmoid()), F.kl_div(F.log_softmax(y, -1), y.sigmoid(), reduction="sum")))


class Conformer(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.norm, self.p1, self.dw, self.bn, self.p2 = nn.LayerNorm(dim), nn.Conv1d(dim, 2 * dim, 1), nn.Conv1d(dim, dim, 5, padding=2, groups=dim), nn.BatchNorm1d(dim), nn.Conv1d(dim, dim, 1)
        self.tcn = torch.nn.utils.parametrizations.weight_norm(nn.Conv1d(dim, dim, 3, dilation=2))

    def forward(self, x):
        y = F.glu(self.p1(self.norm(x).transpose(1, 2)), 1)
        y = self.p2(F.silu(self.bn(self.dw(y))))
        return x + F.mish(self.tcn(F.pad(y, (4, 0)))).transpose(1, 2)


class Vae(nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.mu, self.lv, self.d = nn.Linear(6, 5), nn.Linear(5, 3), nn.Linear(5, 3), nn.Linear(3, 6)

    def forward(self, x, noise):
        h = F.softplus(self.e(x), beta=2.0)
        mu, lv = self.mu(h), self.lv(h)
        y = torch.sigmoid(self.d(mu + noise * torch.exp(0.5 * lv)))
        bce = -(torch.sigmoid(x) * torch.log(y) + (1 - torch.sigmoid(x)) * torch.log1p(-y)).sum(-1)
        return bce - 0.5 * (1 + lv - mu.pow(2) - lv.exp()).sum(-1)


class Statistics(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(5, 4)

    def forward(self, x):
        y = self.fc(x)
        parts = [y.amax(1), y.amin(1), y.std(1), y.var(1, unbiased=False), y.norm(dim=1), y.norm(p=1, dim=1), y.prod(1), y.abs().mean(1), F.normalize(y, dim=-1).sum(1),
                 F.cosine_similarity(y, y.flip(1), dim=-1)[:, :4], torch.linalg.vector_norm(y, 4, dim=1), y.logsumexp(1), y.tril().sum(1), y.clamp(-0.5, 0.4).sum(1)]
        return torch.cat(parts, -1)


class Experts(nn.Module):
    def __init__(self, dim=4, experts=3):
        super().__init__()
        self.gate, self.w = nn.Linear(dim, experts), nn.Parameter(torch.randn(experts, dim, dim))

    def forward(self, x):
        value, at = self.gate(x).topk(2, -1)
        gates = torch.zeros_like(self.gate(x)).scatter(-1, at, value.softmax(-1))
        return torch.einsum("bse,bsd,edf->bsf", gates, x, self.w) + F.one_hot(at[..., 0], 4).to(x.dtype) * x


class LinearAttention(nn.Module):
    def __init__(self, dim=4):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(dim, dim) for _ in range(3))

    def forward(self, x):
        q, k, v = F.elu(self.q(x)) + 1, F.elu(self.k(x)) + 1, self.v(x)
        state = torch.cumsum(k[..., :, None] * v[..., None, :], 1)
        total = torch.cumsum(k, 1)
        return (q[..., None, :] @ state).squeeze(-2) / (q * total).sum(-1, keepdim=True)


class Crf(nn.Module):
    def __init__(self, tags=3):
        super().__init__()
        self.emit, self.move = nn.Linear(4, tags), nn.Parameter(torch.randn(tags, tags))

    def forward(self, x, tags):
        e = self.emit(x)
        a = e[:, 0]
        for t in range(1, x.shape[1]):
            a = torch.logsumexp(a[:, :, None] + self.move, 1) + e[:, t]
        path = e.gather(2, tags[..., None]).sum((1, 2)) + self.move[tags[:, :-1], tags[:, 1:]].sum(1)
        return path - torch.logsumexp(a, 1)


class MaskedAttention(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.q, self.kv = nn.Linear(dim, dim), nn.Linear(dim, 2 * dim)
        self.layer = nn.TransformerDecoderLayer(dim, 2, 12, 0.1, batch_first=True)

    def forward(self, x, memory, keep):
        split = lambda t: t.unflatten(-1, (2, -1)).transpose(1, 2)
        k, v = self.kv(memory).chunk(2, -1)
        y = F.scaled_dot_product_attention(split(self.q(x)), split(k), split(v), attn_mask=keep[:, None, None] > 0, dropout_p=0.0)
        return self.layer(y.transpose(1, 2).flatten(2), memory)


class Fourier(nn.Module):
    def __init__(self):
        super().__init__()
        self.w, self.fc = nn.Parameter(torch.randn(3, 4)), nn.Linear(8, 3)

    def forward(self, x):
        p = 6.25 * x @ self.w  # a number that f32 has: exporters write it as such
        y = self.fc(torch.cat((p.sin(), p.cos()), -1))
        density, colour = F.softplus(y[..., 0]), y[..., 1:].sigmoid()
        through = torch.exp(-torch.cumsum(density, -1))
        return ((1 - torch.exp(-density)) * through)[..., None] * colour + torch.atan2(y[..., 1:], y[..., :1] + 3)


class Activations(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.prelu = nn.Linear(4, 6), nn.PReLU()

    def forward(self, x):
        y = self.fc(x)
        parts = [F.hardswish(y), F.relu6(y * 4), self.prelu(y), F.leaky_relu(y, 0.25), F.elu(y, 0.375), F.mish(y), F.softplus(y, 3.0),
                 F.hardshrink(y, 0.25), F.softshrink(y, 0.25), F.tanhshrink(y), F.logsigmoid(y), F.softsign(y), F.gelu(y), F.hardtanh(y), F.softmin(y, -1), torch.erf(y), y.sin()]
        return torch.cat(parts, -1)


class ScriptedLoop(nn.Module):
    """A loop and a branch that stay in the graph (torch.jit.script)."""

    def __init__(self):
        super().__init__()
        self.w, self.u = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        h = torch.zeros_like(x[:, 0])
        total = torch.zeros_like(h)
        for t in range(x.size(1)):
            h = torch.tanh(self.w(x[:, t]) + self.u(h))
            if bool((h.sum() > 0).item()):
                total = total + h * 2.0
            else:
                total = total - h * h
        return total


def _image(c, h, w=None):
    return lambda b: (torch.randn(b, c, h, w or h),)


def _tokens(n, s):
    return lambda b: (torch.randint(0, n, (b, s)),)


# name: (module maker, inputs of a batch, input names)
_SPECS = {
    "vgg": (Vgg, _image(3, 16), ["x"]),
    "densenet": (DenseNet, _image(3, 12), ["x"]),
    "unet": (UNet, _image(2, 12), ["x"]),
    "inception": (Inception, _image(3, 10), ["x"]),
    "gru": (Gru, lambda b: (torch.randn(b, 5, 4), torch.randn(b, 4, 5)), ["x", "h"]),
    "bilstm": (BiLstm, _tokens(11, 6), ["tokens"]),
    "vit": (Vit, _image(3, 16), ["x"]),
    "gpt": (Gpt, _tokens(13, 7), ["tokens"]),
    "whisper": (Whisper, lambda b: (torch.randn(b, 5, 16),), ["mel"]),
    "t5": (T5, lambda b: (torch.randn(b, 9, 8), torch.rand(b, 9)), ["x", "mask"]),
    "flow": (Flow, lambda b: (torch.randn(b, 4),), ["x"]),
    "detection": (Detection, _image(3, 8), ["x"]),
    "super_resolution": (SuperResolution, _image(1, 7), ["x"]),
    "spatial_transformer": (SpatialTransformer, _image(1, 8), ["x"]),
    "resampling": (Resampling, _image(2, 6), ["x"]),
    "einsums": (Einsums, lambda b: (torch.randn(b, 4, 6),), ["x"]),
    "graph_net": (GraphNet, lambda b: (torch.randn(b, 4, 5), torch.randint(0, 2, (b, 6)), torch.randint(0, 2, (b, 6))), ["x", "source", "target"]),
    "losses": (Losses, lambda b: (torch.randn(b, 3, 4), torch.randint(0, 5, (b, 3))), ["x", "target"]),
    "convnext": (ConvNext, _image(3, 10), ["x"]),
    "shufflenet": (ShuffleNet, _image(3, 8), ["x"]),
    "swin": (Swin, lambda b: (torch.randn(b, 8, 8, 8),), ["x"]),
    "conformer": (Conformer, lambda b: (torch.randn(b, 9, 6),), ["x"]),
    "volume": (Volume, lambda b: (torch.randn(b, 1, 4, 4, 4),), ["x"]),
    "vae": (Vae, lambda b: (torch.randn(b, 6), torch.randn(b, 3)), ["x", "noise"]),
    "statistics": (Statistics, lambda b: (torch.randn(b, 6, 5),), ["x"]),
    "experts": (Experts, lambda b: (torch.randn(b, 5, 4),), ["x"]),
    "linear_attention": (LinearAttention, lambda b: (torch.randn(b, 5, 4),), ["x"]),
    "crf": (Crf, lambda b: (torch.randn(b, 5, 4), torch.randint(0, 3, (b, 5))), ["x", "tags"]),
    "masked_attention": (MaskedAttention, lambda b: (torch.randn(b, 3, 8), torch.randn(b, 5, 8), torch.tensor([[1, 1, 1, 0, 1]]).expand(b, 5).contiguous()), ["x", "memory", "keep"]),
    "unpooling": (Unpooling, _image(2, 6), ["x"]),
    "fourier": (Fourier, lambda b: (torch.randn(b, 5, 3),), ["x"]),
    "activations": (Activations, lambda b: (torch.randn(b, 4),), ["x"]),
    "scripted_loop": (lambda: torch.jit.script(ScriptedLoop()), lambda b: (torch.randn(b, 5, 4),), ["x"]),
}
NAMES = list(_SPECS)

# Where an exporter of PyTorch does not take the network, those that do.
EXPORTERS = {"spatial_transformer": ("dynamo",), "resampling": ("dynamo",), "graph_net": ("dynamo",), "unpooling": ("dynamo",), "scripted_loop": ("torchscript",)}


def make(name, small=True):
    """The module in eval mode with random weights and batch statistics, a function batch → inputs, and the input names."""
    maker, inputs, names = _SPECS[name]
    torch.manual_seed(0)
    module = maker()
    for m in module.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            m.running_mean.normal_(0, 0.1)
            m.running_var.uniform_(0.5, 1.5)
            m.weight.data.uniform_(0.5, 1.5)
            m.bias.data.normal_(0, 0.1)
    return module.eval(), inputs, names
