"""Larger kinds of networks than torch_models.py has, small and with random weights; `NETWORKS` has for each what makes it and what
makes arguments of a batch and a length."""

import torch
import torch.nn.functional as F
from torch import nn

WORDS = 50
CHANNELS = 5  # of images; no size of a batch, for Dynamo takes sizes that are equal in a first call for one


class CausalBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (p.view(b, t, self.heads, -1).transpose(1, 2) for p in self.qkv(self.norm1(x)).split(c, dim=2))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.norm2(x))


class Gpt(nn.Module):
    """The last layer shares the weights of the embedding."""

    def __init__(self, width=24, heads=3, layers=2, longest=64):
        super().__init__()
        self.words, self.positions = nn.Embedding(WORDS, width), nn.Embedding(longest, width)
        self.blocks = nn.ModuleList(CausalBlock(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, WORDS, bias=False)
        self.head.weight = self.words.weight

    def forward(self, ids):
        x = self.words(ids) + self.positions(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class UNet(nn.Module):
    def __init__(self, width=4):
        super().__init__()

        def double(a, b):
            return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.GroupNorm(2, b), nn.SiLU(), nn.Conv2d(b, b, 3, padding=1), nn.ReLU())

        self.down1, self.down2, self.middle = double(CHANNELS, width), double(width, 2 * width), double(2 * width, 4 * width)
        self.up2, self.up1 = nn.ConvTranspose2d(4 * width, 2 * width, 2, stride=2), nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.join2, self.join1, self.head = double(4 * width, 2 * width), double(2 * width, width), nn.Conv2d(width, 2, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        x = self.middle(F.avg_pool2d(b, 2))
        x = self.join2(torch.cat([self.up2(x), b], dim=1))
        x = self.join1(torch.cat([self.up1(x), a], dim=1))
        return F.interpolate(self.head(x), scale_factor=2, mode="bilinear", align_corners=False)


class Vit(nn.Module):
    def __init__(self, width=16, heads=2, patch=4, image=16):
        super().__init__()
        self.patches = nn.Conv2d(CHANNELS, width, patch, stride=patch)
        self.token = nn.Parameter(torch.randn(1, 1, width) * 0.1)
        self.positions = nn.Parameter(torch.randn(1, (image // patch) ** 2 + 1, width) * 0.1)
        layer = nn.TransformerEncoderLayer(width, heads, 2 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, 5)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1) + self.positions
        return self.head(self.encoder(x)[:, 0])


class Tagger(nn.Module):
    """A bidirectional LSTM."""

    def __init__(self, width=8, layers=2):
        super().__init__()
        self.words = nn.Embedding(WORDS, width)
        self.lstm = nn.LSTM(width, 6, num_layers=layers, bidirectional=True, batch_first=True)
        self.head = nn.Linear(12, 7)

    def forward(self, ids):
        return self.head(self.lstm(self.words(ids))[0])


def ids(batch, length):
    return (torch.randint(0, WORDS, (batch, length)),)


def images(batch, length):
    return (torch.randn(batch, CHANNELS, 16, 16),)


def hugging_face():
    """Classes of the package transformers, where it is installed: without weights from elsewhere."""
    try:
        import transformers
    except ImportError:
        return {}
    bert = transformers.BertConfig(vocab_size=WORDS, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
                                   max_position_embeddings=64, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    llama = transformers.LlamaConfig(vocab_size=WORDS, hidden_size=16, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                                     intermediate_size=32, max_position_embeddings=64, use_cache=False)
    return {"BERT (Hugging Face)": (lambda: transformers.BertModel(bert), ids), "LLaMA (Hugging Face)": (lambda: transformers.LlamaForCausalLM(llama), ids)}


NETWORKS = {"GPT": (Gpt, ids), "U-Net": (UNet, images), "ViT": (Vit, images), "LSTM": (Tagger, ids), **hugging_face()}
