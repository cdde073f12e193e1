"""ONNX Runtime: inference in f32 and int8."""

from __future__ import annotations

from typing import Any

from ..cases.folder import Folder
from .base import Call, Engine


class OnnxRuntime(Engine):
    def start(self, threads: int) -> None:
        import onnxruntime

        onnxruntime.set_default_logger_severity(4)
        self._threads = threads

    def load(self, case: Folder) -> Any:
        return case.arrays()

    def prepare(self, case: Folder, loaded: Any) -> Call:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = self._threads, 1
        session = onnxruntime.InferenceSession(case.onnx, options, providers=["CPUExecutionProvider"])
        return Call(lambda: session.run(None, loaded), lambda outputs, name: outputs[0])
