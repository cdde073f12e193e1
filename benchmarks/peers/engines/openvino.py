"""OpenVINO: inference in f32, bf16 and int8."""

from __future__ import annotations

from typing import Any

from ..cases.folder import Folder
from .base import Call, Engine


class OpenVino(Engine):
    def start(self, threads: int) -> None:
        import openvino

        self._core, self._threads = openvino.Core(), threads

    def load(self, case: Folder) -> Any:
        return case.arrays()

    def prepare(self, case: Folder, loaded: Any) -> Call:
        floats = "bf16" if case.key.dtype == "bf16" else "f32"  # what quantised models leave to floats
        settings = {"INFERENCE_PRECISION_HINT": floats, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": self._threads}
        request = self._core.compile_model(self._core.read_model(case.onnx), "CPU", settings).create_infer_request()
        for name, array in loaded.items():
            request.get_tensor(name)  # fails where a name is not the model's
        return Call(lambda: request.infer(loaded, share_inputs=True, share_outputs=True), lambda outputs, name: outputs[0])
