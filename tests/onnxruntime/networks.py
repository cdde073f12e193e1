"""Small networks of the shapes that ONNX Runtime's optimizer and quantizers know, and what those make of them."""

import os
import warnings

import numpy as np
import onnx
import torch
from torch import nn

HIDDEN, HEADS, WORDS, LENGTH = 32, 4, 50, 8
# Without VNNI, ONNX Runtime adds pairs of products in 16 bits, which weights of 8 bits overflow: its own results are wrong then.
REDUCE_RANGE = True


class Attention(nn.Module):
    """As Hugging Face's BertSelfAttention is exported, which is what the optimizer looks for."""

    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(HIDDEN, HIDDEN) for _ in range(3))
        self.dense, self.norm = nn.Linear(HIDDEN, HIDDEN), nn.LayerNorm(HIDDEN)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], HEADS, HIDDEN // HEADS).permute(0, 2, 1, 3)

    def forward(self, x, mask):
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = torch.matmul(q, k.transpose(-1, -2)) / np.sqrt(HIDDEN // HEADS) + mask
        context = torch.matmul(torch.softmax(scores, -1), v).permute(0, 2, 1, 3).contiguous()
        return self.norm(self.dense(context.view(x.shape[0], x.shape[1], HIDDEN)) + x)


class Feed(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide, self.narrow, self.norm = nn.Linear(HIDDEN, 64), nn.Linear(64, HIDDEN), nn.LayerNorm(HIDDEN)

    def forward(self, x):
        return self.norm(self.narrow(nn.functional.gelu(self.wide(x))) + x)


class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places, self.kinds = nn.Embedding(WORDS, HIDDEN), nn.Embedding(16, HIDDEN), nn.Embedding(2, HIDDEN)
        self.norm = nn.LayerNorm(HIDDEN)
        self.attention, self.feed = nn.ModuleList(Attention() for _ in range(2)), nn.ModuleList(Feed() for _ in range(2))

    def forward(self, input_ids, attention_mask, token_type_ids):
        mask = (1.0 - attention_mask[:, None, None, :].float()) * -10000.0
        places = torch.arange(LENGTH)[None, :]
        x = self.norm(self.words(input_ids) + self.kinds(token_type_ids) + self.places(places))
        for attention, feed in zip(self.attention, self.feed):
            x = feed(attention(x, mask))
        return x


def bert():
    ids = np.random.RandomState(1).randint(0, WORDS, (2, LENGTH)).astype(np.int64)
    mask = np.array([[1] * LENGTH, [1] * 5 + [0] * 3], np.int64)
    return Bert(), {"input_ids": ids, "attention_mask": mask, "token_type_ids": (np.arange(LENGTH) > 3).astype(np.int64)[None].repeat(2, 0)}


class Gpt(nn.Module):
    """GPT-2's blocks: normalised first, one product for queries, keys and values, Gelu by tanh."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, HIDDEN), nn.Embedding(16, HIDDEN)
        self.blocks = nn.ModuleList(
            nn.ModuleList([nn.LayerNorm(HIDDEN), nn.Linear(HIDDEN, 3 * HIDDEN), nn.Linear(HIDDEN, HIDDEN), nn.LayerNorm(HIDDEN),
                           nn.Linear(HIDDEN, 64), nn.Linear(64, HIDDEN)]) for _ in range(2))
        self.norm = nn.LayerNorm(HIDDEN)

    def forward(self, input_ids):
        x = self.words(input_ids) + self.places(torch.arange(LENGTH)[None, :])
        causal = torch.tril(torch.ones(LENGTH, LENGTH)).view(1, 1, LENGTH, LENGTH)
        split = lambda t: t.view(t.shape[0], t.shape[1], HEADS, HIDDEN // HEADS).permute(0, 2, 1, 3)
        for first, qkv, out, second, wide, narrow in self.blocks:
            q, k, v = (split(t) for t in qkv(first(x)).split(HIDDEN, dim=2))
            scores = torch.matmul(q, k.transpose(-1, -2)) / float(np.sqrt(HIDDEN // HEADS))
            scores = torch.where(causal > 0, scores, torch.tensor(-10000.0))
            context = torch.matmul(torch.softmax(scores, -1), v).permute(0, 2, 1, 3).contiguous()
            x = x + out(context.view(x.shape[0], x.shape[1], HIDDEN))
            h = wide(second(x))
            x = x + narrow(0.5 * h * (1.0 + torch.tanh(np.sqrt(2.0 / np.pi) * (h + 0.044715 * torch.pow(h, 3.0)))))
        return self.norm(x)


def gpt():
    return Gpt(), {"input_ids": np.random.RandomState(2).randint(0, WORDS, (2, LENGTH)).astype(np.int64)}


def conv(i, o, kernel, stride=1, groups=1, act=None):
    return nn.Sequential(*filter(None, [nn.Conv2d(i, o, kernel, stride, kernel // 2, groups=groups, bias=False),
                                        nn.BatchNorm2d(o), act]))


class Bottleneck(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.main = nn.Sequential(conv(i, 8, 1, act=nn.ReLU()), conv(8, 8, 3, stride, act=nn.ReLU()), conv(8, o, 1))
        self.short = conv(i, o, 1, stride) if stride > 1 or i != o else nn.Identity()

    def forward(self, x):
        return torch.relu(self.main(x) + self.short(x))


def resnet():
    net = nn.Sequential(conv(3, 8, 7, 2, act=nn.ReLU()), nn.MaxPool2d(3, 2, 1), Bottleneck(8, 16, 1), Bottleneck(16, 16, 1),
                        Bottleneck(16, 32, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
    return net, {"x": np.random.RandomState(3).uniform(-1, 1, (2, 3, 32, 32)).astype(np.float32)}


class Inverted(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.main = nn.Sequential(conv(i, 4 * i, 1, act=nn.ReLU6()), conv(4 * i, 4 * i, 3, stride, 4 * i, act=nn.ReLU6()), conv(4 * i, o, 1))
        self.add = stride == 1 and i == o

    def forward(self, x):
        return x + self.main(x) if self.add else self.main(x)


def mobilenet():
    net = nn.Sequential(conv(3, 8, 3, 2, act=nn.ReLU6()), Inverted(8, 8, 1), Inverted(8, 16, 2), Inverted(16, 16, 1),
                        conv(16, 32, 1, act=nn.ReLU6()), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
    return net, {"x": np.random.RandomState(4).uniform(-1, 1, (2, 3, 32, 32)).astype(np.float32)}


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.lstm, self.out = nn.Embedding(WORDS, 16), nn.LSTM(16, 12, bidirectional=True), nn.Linear(24, WORDS)

    def forward(self, input_ids):
        return self.out(self.lstm(self.words(input_ids))[0])


def lstm():
    return Lstm(), {"input_ids": np.random.RandomState(5).randint(0, WORDS, (LENGTH, 1)).astype(np.int64)}


class Activations(nn.Module):
    """What the static quantizer's own operators come from: LeakyRelu, Sigmoid, Concat, Where, pools, Softmax."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(3, 4, 1)

    def forward(self, x):
        a, b = nn.functional.leaky_relu(self.a(x), 0.1), torch.sigmoid(self.b(x))
        y = torch.cat([a * b, torch.where(x[:, :1] > 0, a, b)], 1)
        return torch.softmax(nn.functional.avg_pool2d(y, 2).flatten(1), -1)


def activations():
    return Activations(), {"x": np.random.RandomState(6).uniform(-1, 1, (2, 3, 8, 8)).astype(np.float32)}


def export(make, path):
    """The network with statistics of its own, exported; its inputs."""
    torch.manual_seed(0)
    net, inputs = make()
    for m in net.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.running_mean.uniform_(-0.2, 0.2)
            m.running_var.uniform_(0.5, 1.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(net.eval(), tuple(torch.from_numpy(x) for x in inputs.values()), path, input_names=list(inputs),
                          output_names=["y"], opset_version=17, dynamo=False)
    return inputs


class Calibration:
    """The inputs a few times, the way that the static quantizer reads them."""

    def __init__(self, inputs):
        self.left = [inputs, {n: x * np.float32(0.8) if x.dtype == np.float32 else x for n, x in inputs.items()}]

    def get_next(self):
        return self.left.pop() if self.left else None


def optimized(path, kind):
    """By the transformer optimizer."""
    from onnxruntime.transformers import optimizer

    out = path.replace(".onnx", ".optimized.onnx")
    model = optimizer.optimize_model(path, model_type=kind, num_heads=HEADS, hidden_size=HIDDEN, opt_level=0, use_gpu=False)
    model.save_model_to_file(out)
    return out


def fused(path):
    """By a session's own optimizer, up to what can be stored for any machine."""
    import onnxruntime

    out = path.replace(".onnx", ".fused.onnx")
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = out
    options.log_severity_level = 4
    onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return out


def dynamic(path):
    from onnxruntime import quantization

    out = path.replace(".onnx", ".dynamic.onnx")
    quantization.quantize_dynamic(path, out, weight_type=quantization.QuantType.QInt8, reduce_range=REDUCE_RANGE,
                                  extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT})
    return out


def static(path, inputs, qdq, **options):
    from onnxruntime import quantization

    out = path.replace(".onnx", ".qdq.onnx" if qdq else ".static.onnx")
    quantization.quantize_static(
        path, out, Calibration(inputs),
        quant_format=quantization.QuantFormat.QDQ if qdq else quantization.QuantFormat.QOperator,
        activation_type=quantization.QuantType.QUInt8, weight_type=quantization.QuantType.QInt8, reduce_range=REDUCE_RANGE,
        **options)
    return out


def operators(path):
    """Those of a domain of ONNX Runtime, by name."""
    nodes = onnx.load(path).graph.node
    return {n.op_type for n in nodes if n.domain == "com.microsoft" or n.op_type == "SimplifiedLayerNormalization"}
