"""Random numbers come from torch's generator: they are drawn before the program, in the order in which eager code draws them."""

from __future__ import annotations

import operator

import torch
from torch import fx

# Operators that draw; what they give depends on sizes alone.
DRAWS = {"aten.rand.default", "aten.randn.default", "aten.rand_like.default", "aten.randn_like.default", "aten.randint.default",
         "aten.randint.low", "aten.randint_like.default", "aten.randint_like.low_dtype", "aten.randperm.default",
         "aten.bernoulli.p", "aten.rand.generator", "aten.randn.generator"}

# Methods that draw all elements anew: normal_(mean, std) and others.
IN_PLACE = {"aten.normal_functional.default": "normal_", "aten.uniform.default": "uniform_", "aten.exponential.default": "exponential_",
            "aten.log_normal.default": "log_normal_", "aten.cauchy.default": "cauchy_", "aten.geometric.default": "geometric_"}
DRAWS |= set(IN_PLACE)


def dropout_mask(size, p: float, dtype: torch.dtype) -> torch.Tensor:
    """What torch's dropout multiplies with, of 0 and 1: the same bits as in eager code."""
    return torch.empty(size, dtype=dtype).bernoulli_(1 - p)


def _sizes(graph: fx.Graph, x: fx.Node) -> list:
    sizes = []
    for d, s in enumerate(x.meta["val"].shape):
        if isinstance(s, int):
            sizes.append(s)
        else:
            n = graph.call_function(torch.ops.aten.sym_size.int, (x, d))
            n.meta["val"] = s
            sizes.append(n)
    return sizes


def split_dropout(gm: fx.GraphModule) -> None:
    """native_dropout becomes a mask, which is drawn, and products."""
    aten = torch.ops.aten
    for node in list(gm.graph.nodes):
        if node.op != "call_function" or str(node.target) != "aten.native_dropout.default":
            continue
        x, p, train = (*node.args, True)[:3]
        if train is False or not isinstance(p, (int, float)):
            continue
        meta, mask_meta = node.meta["val"]
        with gm.graph.inserting_before(node):
            drawn = gm.graph.call_function(dropout_mask, (_sizes(gm.graph, x), float(p), meta.dtype))
            drawn.meta["val"] = meta.new_empty(meta.shape)
            mask = gm.graph.call_function(aten.ne.Scalar, (drawn, 0))
            mask.meta["val"] = mask_meta
            scale = 1.0 / (1.0 - p) if p < 1 else 0.0
            scaled = gm.graph.call_function(aten.mul.Tensor, (drawn, scale))
            scaled.meta["val"] = drawn.meta["val"]
            y = gm.graph.call_function(aten.mul.Tensor, (x, scaled))
            y.meta["val"] = meta
        for user in list(node.users):
            user.replace_all_uses_with(y if user.args[1] == 0 else mask) if user.target is operator.getitem else None
            gm.graph.erase_node(user)
        gm.graph.erase_node(node)
    gm.graph.lint()


def draws(node: fx.Node) -> bool:
    return node.op == "call_function" and (node.target is dropout_mask or str(node.target) in DRAWS)
