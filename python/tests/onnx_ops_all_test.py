"""Every official node case by the operators as functions (onnx_ops_test has every 20th)."""

import os

os.environ["HEADRACE_ALL_NODE_CASES"] = "1"

from onnx_ops_test import Official  # noqa: E402

__all__ = ["Official"]
