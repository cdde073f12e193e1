"""Which engines there are: module, class, what they measure, and the environment of their processes."""

from __future__ import annotations

import dataclasses
import importlib
import os

from ..environment import REQUIREMENTS

#: glibc gives large blocks back to the kernel after every operator, and faults them in again: up to three times the time of
#: an operator. Nobody who measures PyTorch at its best leaves that on.
NON_TRIMMING = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(16 << 30), "MALLOC_MMAP_THRESHOLD_": str(8 << 30)}
ALL = ("forward", "backward", "step")


@dataclasses.dataclass(frozen=True)
class Spec:
    name: str
    module: str
    cls: str
    modes: tuple = ALL
    dtypes: tuple = ("f32", "bf16")
    environment: tuple = tuple(NON_TRIMMING.items())
    venv: str = "peers"
    package: str = "torch"  # whose version is told

    def measures(self, mode: str, dtype: str) -> bool:
        return mode in self.modes and dtype in self.dtypes

    @property
    def version(self) -> str:
        """As the requirements pin it."""
        if self.name in (OURS, OLDER) or self.module == "without":
            return ""
        with open(os.path.join(os.path.dirname(os.path.dirname(__file__)), REQUIREMENTS[self.venv]), encoding="utf-8") as f:
            return next(line.strip().replace("==", " ") for line in f if line.startswith(self.package + "=="))

    def make(self):
        return getattr(importlib.import_module(f"{__name__}.{self.module}"), self.cls)()


OURS = "headrace"
#: Another build of it, a peer like others: --older's folder, which workers find in this variable.
OLDER, OLDER_PACKAGE = "older", "PEERS_OLDER_PACKAGE"
ENGINES = {
    spec.name: spec
    for spec in (
        Spec(OURS, "headrace", "Headrace", dtypes=("f32", "bf16", "int8"), environment=()),
        Spec("eager", "eager", "Eager"),
        Spec("channels_last", "channels_last", "ChannelsLast"),
        Spec("compile", "compiled", "Compiled"),
        Spec("onnxruntime", "ort", "OnnxRuntime", modes=("forward",), dtypes=("f32", "int8"), package="onnxruntime"),
        Spec("openvino", "openvino", "OpenVino", modes=("forward",), dtypes=("f32", "bf16", "int8"), package="openvino"),
        Spec("jax", "jax", "Jax", package="jax"),
    )
}
NPBENCH = {
    spec.name: spec
    for spec in (
        Spec(OURS, "npbench", "Headrace", ("backward",), ("f64",), ()),
        Spec("jax_literal", "npbench", "Literal", ("backward",), ("f64",), package="jax"),
        Spec("jax_idiomatic", "npbench", "Idiomatic", ("backward",), ("f64",), package="jax"),
        Spec("dace", "dace", "Dace", ("backward",), ("f64",), venv="dace", package="dace"),
    )
}
#: Passes that `--suite passes` leaves out, one at a time.
PASSES = ("fuse-maps", "assign-layouts", "fuse-epilogue", "pack-constants", "forward-registers", "share-calls", "hoist-calls", "alias", "plan-memory", "denormals")
COMPILERS = (OURS, "compile", "onnxruntime", "openvino", "jax")


def of_suite(suite: str) -> dict[str, Spec]:
    if suite == "compile":
        engines = {name: ENGINES[name] for name in COMPILERS}
    elif suite == "passes":
        engines = {OURS: ENGINES[OURS], **{s.name: s for s in map(_without, PASSES)}}
    else:
        engines = NPBENCH if suite == "npbench" else ENGINES
    package = os.environ.get(OLDER_PACKAGE)
    return {**engines, OLDER: older(engines[OURS], package)} if package else engines


def _without(name: str) -> Spec:
    return Spec(f"without {name}", "without", "Without", environment=(("PEERS_WITHOUT", name),))


def older(ours: Spec, package: str) -> Spec:
    workspace = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
    return dataclasses.replace(ours, name=OLDER, environment=(*ours.environment, ("PYTHONPATH", os.pathsep.join((workspace, package)))))
