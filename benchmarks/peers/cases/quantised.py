"""Networks in 8 bits, as those who deploy them make them: ONNX Runtime's static quantisation of the f32 model, with its defaults but for
what its documentation advises on processors with VNNI: QuantizeLinear and DequantizeLinear around the operators, u8 activations,
i8 weights with a scale for each channel. Activations of networks of images have zero points; those of BERT's layer, which have both signs
everywhere, are symmetric.
"""

from __future__ import annotations

import os
from typing import Iterator, Mapping

import numpy as np
import onnx

#: Networks whose activations are symmetric.
SYMMETRIC = ("bert_large",)


class _Inputs:
    """The case's own: once."""

    def __init__(self, inputs: Mapping[str, np.ndarray]):
        self._left: Iterator = iter([dict(inputs)])

    def get_next(self) -> dict | None:
        return next(self._left, None)


def quantise(name: str, source: str, path: str, inputs: Mapping[str, np.ndarray]) -> None:
    """Writes the model of `source` in 8 bits; its activations' ranges are those that these inputs give."""
    from onnxruntime import quantization
    from onnxruntime.quantization import shape_inference

    prepared = source + ".prepared"
    shape_inference.quant_pre_process(source, prepared, skip_symbolic_shape=True)
    quantization.quantize_static(
        prepared, path, _Inputs(inputs), quant_format=quantization.QuantFormat.QDQ, per_channel=True,
        activation_type=quantization.QuantType.QUInt8, weight_type=quantization.QuantType.QInt8,
        extra_options={"ActivationSymmetric": name in SYMMETRIC})  # fmt: skip
    os.remove(prepared)


def values(path: str, inputs: Mapping[str, np.ndarray]) -> np.ndarray:
    """What the model gives as it is written: each operator in f32, between values that are rounded to their 256 steps."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"]).run(None, dict(inputs))[0]


def step_of_output(path: str) -> float:
    """How far the values of the model's output are apart: the scale of the last value that is dequantised on the way to it."""
    model = onnx.load(path)
    made_by = {output: node for node in model.graph.node for output in node.output}
    scales = {t.name: t for t in model.graph.initializer}
    left, seen = [model.graph.output[0].name], set()
    while left:
        name = left.pop(0)
        node = made_by.get(name)
        if node is None or name in seen:
            continue
        seen.add(name)
        if node.op_type == "DequantizeLinear" and node.input[0] in made_by:
            return float(np.max(onnx.numpy_helper.to_array(scales[node.input[1]])))
        left += node.input
    raise ValueError(f"{path}: no value on the way to the output is quantised")
