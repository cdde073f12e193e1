"""ONNX Runtime's exceptions."""

from __future__ import annotations

from ..errors import HeadraceError


class RuntimeStatus(HeadraceError):
    """`[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : …`"""

    number, word = 1, "FAIL"

    def __init__(self, text: str, diagnostics: list[dict] | None = None):
        super().__init__(f"[ONNXRuntimeError] : {self.number} : {self.word} : {text}", diagnostics)


class Fail(RuntimeStatus, RuntimeError):
    """A model that is wrong."""


class InvalidArgument(RuntimeStatus, ValueError):
    """A feed or name that the model does not take."""

    number, word = 2, "INVALID_ARGUMENT"


class NoSuchFile(RuntimeStatus, FileNotFoundError):
    number, word = 3, "NO_SUCHFILE"


class InvalidProtobuf(RuntimeStatus, ValueError):
    """What is no model at all."""

    number, word = 7, "INVALID_PROTOBUF"
