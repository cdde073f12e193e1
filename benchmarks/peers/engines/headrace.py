"""Headrace: inference of the ONNX model, as ONNX Runtime's users write it; training of the PyTorch module."""

from __future__ import annotations

from typing import Any

from ..cases.folder import Folder
from .base import Call, Engine


class Headrace(Engine):
    """Inference of ONNX models needs no PyTorch."""

    def start(self, threads: int) -> None:
        import headrace  # noqa: F401

        self._torch: Any = None
        self._threads = threads

    def load(self, case: Folder) -> Any:
        if _by_onnx(case):
            return case.arrays()
        if self._torch is None:
            self._torch = _module_engine()
            self._torch.start(self._threads)
        return self._torch.load(case)

    def prepare(self, case: Folder, loaded: Any) -> Call:
        if _by_onnx(case):
            import headrace

            session = headrace.InferenceSession(case.onnx, autocast="bf16" if case.key.dtype == "bf16" else None)
            return Call(lambda: session.run(None, loaded), lambda outputs, name: outputs[0])
        return self._torch.prepare(case, loaded)


def _by_onnx(case: Folder) -> bool:
    return case.key.mode == "forward" and case.key.dtype in ("f32", "bf16", "int8")


def _module_engine() -> Engine:
    import headrace.torch  # noqa: F401
    import torch

    from .eager import Eager, optimizer_of, stepped

    class Module(Eager):
        def transformed(self, module):
            return headrace.module(module)

        def step(self, module, inputs, target, wanted, autocast) -> Call:
            optimizer = optimizer_of(module)
            step = headrace.train_step(module, torch.nn.functional.mse_loss, optimizer)

            def run():
                with autocast():
                    return step(inputs, target)

            return Call(run, lambda loss, name: stepped(optimizer, wanted, loss, name))

    return Module()
