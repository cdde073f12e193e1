"""Networks on images and volumes, small: see torch_more_models.py, which lists them."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Vgg(nn.Module):
    def __init__(self):
        super().__init__()
        layers, cin = [], 3
        for c in (4, "M", 8, 8, "M"):
            layers += [nn.MaxPool2d(2)] if c == "M" else [nn.Conv2d(cin, c, 3, padding=1), nn.ReLU(inplace=True)]
            cin = cin if c == "M" else c
        self.features = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(2))
        self.head = nn.Sequential(nn.Linear(32, 16), nn.ReLU(True), nn.Dropout(), nn.Linear(16, 5))

    def forward(self, x):
        return self.head(torch.flatten(self.features(x), 1))


class DenseNet(nn.Module):
    def __init__(self, growth=4):
        super().__init__()
        self.stem = nn.Conv2d(3, 6, 3, 2, 1, bias=False)
        self.layers, c = nn.ModuleList(), 6
        for _ in range(3):
            self.layers.append(nn.Sequential(nn.BatchNorm2d(c), nn.ReLU(), nn.Conv2d(c, 8, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, growth, 3, padding=1, bias=False)))
            c += growth
        self.transition = nn.Sequential(nn.BatchNorm2d(c), nn.ReLU(), nn.Conv2d(c, 8, 1, bias=False), nn.AvgPool2d(2, 2))
        self.fc = nn.Linear(8, 4)

    def forward(self, x):
        x = self.stem(x)
        for layer in self.layers:
            x = torch.cat((x, layer(x)), 1)
        return self.fc(F.adaptive_avg_pool2d(self.transition(x), 1).flatten(1))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        conv = lambda i, o: nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.InstanceNorm2d(o, affine=True), nn.LeakyReLU(0.125))
        self.d1, self.d2, self.mid = conv(2, 4), conv(4, 6), conv(6, 8)
        self.up2, self.u2 = nn.ConvTranspose2d(8, 6, 2, 2), conv(12, 6)
        self.u1, self.out = conv(10, 4), nn.Conv2d(4, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        m = self.mid(F.max_pool2d(b, 2))
        y = self.u2(torch.cat((self.up2(m), b), 1))
        y = self.u1(torch.cat((F.interpolate(y, scale_factor=2.0, mode="bilinear", align_corners=True), a), 1))
        return torch.sigmoid(self.out(y))


class Inception(nn.Module):
    def __init__(self):
        super().__init__()
        bn = lambda i, o, k, p: nn.Sequential(nn.Conv2d(i, o, k, padding=p, bias=False), nn.BatchNorm2d(o), nn.ReLU())
        self.b1, self.b2 = bn(3, 4, 1, 0), nn.Sequential(bn(3, 4, 1, 0), bn(4, 4, (1, 7), (0, 3)), bn(4, 4, (7, 1), (3, 0)))
        self.b3, self.b4 = bn(3, 3, 1, 0), bn(3, 3, 1, 0)
        self.last = nn.AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=True)
        self.fc = nn.Linear(14, 3)

    def forward(self, x):
        a = F.avg_pool2d(x, 3, 1, 1, count_include_pad=False)
        m = F.max_pool2d(x, 3, 1, 1)
        y = torch.cat((self.b1(x), self.b2(x), self.b3(a), self.b4(m)), 1)
        y = F.lp_pool2d(torch.relu(self.last(y)) + 0.5, 2, 2, ceil_mode=False)
        return self.fc(y.mean((2, 3)))


class Vit(nn.Module):
    def __init__(self, dim=12, heads=3):
        super().__init__()
        self.patch = nn.Conv2d(3, dim, 4, 4)
        self.cls, self.pos = nn.Parameter(torch.randn(1, 1, dim)), nn.Parameter(torch.randn(1, 17, dim))
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attention = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(approximate="tanh"), nn.Linear(2 * dim, dim))
        self.fc = nn.Linear(dim, 4)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.cls.expand(x.shape[0], -1, -1), x), 1) + self.pos
        y = self.n1(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return self.fc((x + self.mlp(self.n2(x)))[:, 0])


class Detection(nn.Module):
    def __init__(self, c=4, anchors=2, classes=3):
        super().__init__()
        self.c3, self.c4 = nn.Conv2d(3, c, 3, 2, 1), nn.Conv2d(c, c, 3, 2, 1)
        self.lateral = nn.Conv2d(c, c, 1)
        self.cls, self.box = nn.Conv2d(c, anchors * classes, 3, padding=1), nn.Conv2d(c, anchors * 4, 3, padding=1)
        self.classes = classes

    def forward(self, x):
        p3 = torch.relu(self.c3(x))
        p4 = torch.relu(self.c4(p3))
        p3 = self.lateral(p3) + F.interpolate(p4, scale_factor=2.0, mode="nearest")
        scores, boxes = [], []
        for p in (p3, p4):
            scores.append(self.cls(p).permute(0, 2, 3, 1).reshape(x.shape[0], -1, self.classes))
            boxes.append(self.box(p).permute(0, 2, 3, 1).reshape(x.shape[0], -1, 4))
        score, box = torch.cat(scores, 1).sigmoid(), torch.cat(boxes, 1)
        best, label = score.max(-1)
        top, at = best.topk(5, -1)
        box = box.gather(1, at[..., None].expand(-1, -1, 4))
        centre, size = box[..., :2], box[..., 2:].clamp(max=2.0).exp()
        return torch.cat((centre - size / 2, centre + size / 2, top[..., None]), -1)


class SuperResolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2, self.c3 = nn.Conv2d(1, 8, 5, padding=2, padding_mode="reflect"), nn.Conv2d(8, 8, 3, padding=1, groups=2), nn.Conv2d(8, 4, 3, padding=1)
        self.gn, self.inn, self.prelu = nn.GroupNorm(2, 8), nn.InstanceNorm2d(8), nn.PReLU(8)

    def forward(self, x):
        y = self.prelu(self.gn(self.c1(x)))
        y = F.pixel_shuffle(self.c3(F.hardswish(self.inn(self.c2(y)))), 2)
        y = y + F.interpolate(x, scale_factor=2.0, mode="bicubic", align_corners=False)
        return F.pixel_unshuffle(y, 2)


class SpatialTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.loc = nn.Sequential(nn.Conv2d(1, 3, 3), nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(3, 6))
        self.conv = nn.Conv2d(1, 2, 3)

    def forward(self, x):
        theta = self.loc(x).view(-1, 2, 3) * 0.25 + torch.tensor([[1.0, 0, 0], [0, 1, 0]], dtype=x.dtype)
        grid = F.affine_grid(theta, [x.shape[0], 1, 8, 4], align_corners=False)
        y = F.grid_sample(x, grid, mode="bilinear", padding_mode="border", align_corners=False)
        z = F.grid_sample(x, grid, mode="bicubic", padding_mode="zeros", align_corners=True)
        return self.conv(y) + self.conv(z)


class Resampling(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(2, 3, 3, padding=1)

    def forward(self, x):
        y = self.c(x)
        a = F.interpolate(y, size=(11, 7), mode="bilinear", align_corners=False)
        b = F.interpolate(y, size=(11, 7), mode="bicubic", align_corners=True)
        c = F.interpolate(y, size=(11, 7), mode="nearest")
        d = F.interpolate(F.interpolate(y, size=(3, 4), mode="bilinear", align_corners=False, antialias=True), size=(11, 7), mode="bilinear", align_corners=False)
        return a * b + c * d


class ConvNext(nn.Module):
    def __init__(self, c=6):
        super().__init__()
        self.stem, self.dw = nn.Conv2d(3, c, 2, 2), nn.Conv2d(c, c, 7, padding=3, groups=c)
        self.norm, self.up, self.down, self.gamma = nn.LayerNorm(c), nn.Linear(c, 4 * c), nn.Linear(4 * c, c), nn.Parameter(torch.rand(c))

    def forward(self, x):
        x = self.stem(x)
        y = self.down(F.gelu(self.up(self.norm(self.dw(x).permute(0, 2, 3, 1)))))
        return x + (self.gamma * y).permute(0, 3, 1, 2)


class ShuffleNet(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.stem = nn.Conv2d(3, c, 3, 2, 1)
        self.branch = nn.Sequential(nn.Conv2d(c // 2, c // 2, 1), nn.BatchNorm2d(c // 2), nn.ReLU6(), nn.Conv2d(c // 2, c // 2, 3, padding=1, groups=c // 2), nn.BatchNorm2d(c // 2))

    def forward(self, x):
        a, b = self.stem(x).chunk(2, 1)
        y = torch.cat((a, self.branch(b)), 1)
        n, c, h, w = y.shape
        return y.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)


class Swin(nn.Module):
    def __init__(self, dim=8, heads=2, window=4):
        super().__init__()
        self.heads, self.window = heads, window
        self.norm, self.qkv, self.o = nn.LayerNorm(dim), nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.table = nn.Parameter(torch.randn((2 * window - 1) ** 2, heads))
        at = torch.stack(torch.meshgrid(torch.arange(window), torch.arange(window), indexing="ij")).flatten(1)
        relative = at[:, :, None] - at[:, None] + window - 1
        self.register_buffer("relative", relative[0] * (2 * window - 1) + relative[1])
        self.merge = nn.Linear(4 * dim, 2 * dim, bias=False)

    def forward(self, x):
        b, h, w, c = x.shape
        m = self.window
        y = torch.roll(self.norm(x), (-2, -2), (1, 2))
        y = y.view(b, h // m, m, w // m, m, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, m * m, c)
        q, k, v = self.qkv(y).view(y.shape[0], m * m, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        bias = self.table[self.relative.flatten()].view(m * m, m * m, -1).permute(2, 0, 1)
        y = ((q @ k.transpose(-2, -1) / math.sqrt(c // self.heads) + bias).softmax(-1) @ v).transpose(1, 2).flatten(2)
        y = self.o(y).view(b, h // m, w // m, m, m, c).permute(0, 1, 3, 2, 4, 5).reshape(b, h, w, c)
        x = x + torch.roll(y, (2, 2), (1, 2))
        return self.merge(torch.cat((x[:, ::2, ::2], x[:, 1::2, ::2], x[:, ::2, 1::2], x[:, 1::2, 1::2]), -1))


class Volume(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.bn, self.up = nn.Conv3d(1, 3, 3, padding=1), nn.BatchNorm3d(3), nn.ConvTranspose3d(3, 2, 3, stride=2, padding=1, output_padding=1)

    def forward(self, x):
        y = F.max_pool3d(F.elu(self.bn(self.c1(x)), 1.5), 2)
        return F.avg_pool3d(self.up(y), (2, 1, 2)) + F.interpolate(y.mean(1, True), size=(2, 4, 2), mode="trilinear", align_corners=False)


class Unpooling(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(2, 3, 3, padding=1), nn.Conv2d(3, 2, 3, padding=1)

    def forward(self, x):
        y, at = F.max_pool2d(self.c1(x), 2, return_indices=True)
        return self.c2(F.max_unpool2d(torch.tanh(y), at, 2))
