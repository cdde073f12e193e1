"""Every official node case (onnx_backend_test has every 20th)."""

import os

os.environ["HEADRACE_ALL_NODE_CASES"] = "1"

from onnx_backend_test import Nodes, Official  # noqa: E402

__all__ = ["Nodes", "Official"]
