"""ONNX: models as programs, and every operator as a function: `headrace.onnx.Conv(X=x, W=w, strides=[2, 2])`.

`opset(18).Split` is an operator as that opset has it; `domain("ai.onnx.ml")` and `domain("com.microsoft")` have more.
"""

from typing import Any, Callable

from .model import NodeArg, ONNXModel
from .ops import Domain, Op, domain, opset

__all__ = ["Domain", "NodeArg", "ONNXModel", "Op", "domain", "implementation", "opset"]


def implementation(op: str, **options: Any) -> Callable[[Any], Any]:
    """`headrace.implementation` of an operator of ONNX: `@headrace.onnx.implementation("Softplus", name="stable")`."""
    from ..custom.implementations import implementation as register

    return register(op, **options)


def __getattr__(name: str) -> Any:
    return getattr(Domain("onnx"), name)


def __dir__() -> list[str]:
    return sorted({*__all__, *dir(Domain("onnx"))})
