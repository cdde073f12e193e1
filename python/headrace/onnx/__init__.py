"""ONNX models as programs."""

from .model import NodeArg, ONNXModel

__all__ = ["NodeArg", "ONNXModel"]
