"""Which cases each suite has."""

from __future__ import annotations

from typing import Callable, Iterator

from .cases.key import Key

#: As in cases/networks.py, which needs PyTorch.
MODELS = ("resnet50", "wide_resnet50_2", "mobilenetv2", "efficientnet_b0", "fcn8s", "mixer", "bert_large", "llama", "wavenet", "dlrm", "lenet", "mishnet")
#: Those that are measured in 8 bits, too.
QUANTISED = ("resnet50", "mobilenetv2", "bert_large")
#: Of `--quick`: for each kind of network one that takes little time, and each mode.
QUICK = {
    "models": (
        ("resnet50", "1", "forward", "f32"), ("mobilenetv2", "1", "forward", "f32"), ("bert_large", "1", "forward", "f32"),
        ("wavenet", "1", "forward", "f32"), ("lenet", "1", "forward", "f32"), ("llama", "1", "forward", "bf16"),
        ("bert_large", "1", "backward", "f32"), ("mishnet", "8", "step", "f32"),
    ),
    "ops": tuple((name, "16", mode, "f32") for name, mode in (
        ("Mish", "forward"), ("Mish", "backward"), ("Softmax (last)", "forward"), ("LayerNormalization (1024)", "forward"),
        ("LayerNormalization (1024)", "backward"), ("ReduceSum (last)", "forward"), ("Transpose [0, 2, 1]", "forward"), ("MatMul 1024^3", "forward"))),
    "npbench": tuple((name, "S", "backward", "f64") for name in (
        "gemm", "trmm", "gramschmidt", "jacobi_2d", "seidel_2d", "durbin", "softmax", "atax")),
    "compile": tuple((name, "1", mode, "f32") for name, mode in (
        ("resnet50", "forward"), ("mobilenetv2", "forward"), ("bert_large", "forward"), ("lenet", "forward"), ("dlrm", "forward"),
        ("wavenet", "forward"), ("bert_large", "backward"), ("lenet", "step"))),
    "passes": tuple((name, "1", mode, "f32") for mode in ("forward", "backward") for name in ("mobilenetv2", "bert_large", "wavenet", "lenet")),
}  # fmt: skip
#: Operators whose gradient is measured, too.
DIFFERENTIATED = ("Mish", "Gelu", "Tanh", "Sigmoid", "Relu", "Exp", "Softplus", "Mul", "Softmax (last)", "LogSoftmax (last)", "LayerNormalization (1024)",
                  "RMSNormalization (1024)", "BatchNormalization, training (32x32)", "GroupNormalization (32x32)", "ReduceSum (last)", "ReduceMean (last)",
                  "MaxPool 2x2 by 2", "AveragePool 3x3 by 2", "GlobalAveragePool", "Transpose [0, 2, 1]")  # fmt: skip
#: Networks that passes are left out of.
ABLATED = ("resnet50", "mobilenetv2", "bert_large", "llama", "wavenet", "dlrm", "lenet", "mishnet")
SUITES = ("models", "ops", "npbench", "compile", "passes")


def models(threads: int) -> Iterator[Key]:
    for name in MODELS:
        for size in ("1", "8"):
            for mode in ("forward", "backward", "step"):
                for dtype in ("f32", "bf16"):
                    yield Key("models", name, size, mode, dtype, threads)
            if name in QUANTISED:
                yield Key("models", name, size, "forward", "int8", threads)


def ops(threads: int, names: list[str]) -> Iterator[Key]:
    """Every operator of cases/operators.py at 16 MiB."""
    for name in names:
        yield Key("ops", name, "16", "forward", "f32", threads)
        if name in DIFFERENTIATED:
            yield Key("ops", name, "16", "backward", "f32", threads)


def compile_(threads: int) -> Iterator[Key]:
    for name in MODELS:
        for mode in ("forward", "backward", "step"):
            yield Key("compile", name, "8", mode, "f32", threads)


def passes(threads: int) -> Iterator[Key]:
    for name in ABLATED:
        for mode in ("forward", "backward"):
            yield Key("passes", name, "8", mode, "f32", threads)


def npbench(threads: int, names: list[str]) -> Iterator[Key]:
    """Each side has the better of one thread and of all; the small sizes first."""
    for size in ("S", "M"):
        for name in names:
            for count in sorted({1, threads}):
                yield Key("npbench", name, size, "backward", "f64", count)


def quick(suite: str, threads: int) -> list[Key]:
    return [Key(suite, name, size, mode, dtype, threads) for name, size, mode, dtype in QUICK[suite]]


def keys(suite: str, threads: int, is_quick: bool, names_of: Callable[[str], list[str]]) -> list[Key]:
    """`names_of`: what operators or kernels a suite has; to know them takes the peers' environment."""
    if is_quick:
        return quick(suite, threads)
    if suite in ("ops", "npbench"):
        return list({"ops": ops, "npbench": npbench}[suite](threads, names_of(suite)))
    return list({"models": models, "compile": compile_, "passes": passes}[suite](threads))
