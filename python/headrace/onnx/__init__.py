"""ONNX: models as programs, and every operator as a function."""

from .model import NodeArg, ONNXModel

__all__ = ["NodeArg", "ONNXModel"]
