"""Networks that ONNX Runtime's optimizer and quantizers rewrote, against ONNX Runtime itself. usage: models_test.py DRIVER"""

import logging
import os
import subprocess
import sys
import tempfile
import unittest
import warnings

import numpy as np
import onnxruntime

from tests.onnxruntime import networks

DRIVER = os.path.abspath(sys.argv[1])


class ModelsTest(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        kept = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(kept.cleanup)
        self.folder = kept.name

    def export(self, make):
        path = os.path.join(self.folder, make.__name__ + ".onnx")
        self.inputs = networks.export(make, path)
        return path

    def by_onnx_runtime(self, path):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"]).run(["y"], self.inputs)[0]

    def check(self, path, expected, quantized):
        """Both backends on a model with the operators `expected`."""
        self.assertLessEqual(expected, networks.operators(path))
        y = self.by_onnx_runtime(path)
        for n, x in self.inputs.items():
            np.save(os.path.join(self.folder, n + ".npy"), x)
        for backend in ("interpreter", "cpu"):
            args = [DRIVER, "run", path, "--backend", backend, "--output", "y=@y.npy"]
            for n in self.inputs:
                args += ["--input", f"{n}=@{n}.npy"]
            done = subprocess.run(args, cwd=self.folder, capture_output=True, text=True,
                                  env=dict(os.environ, HEADRACE_CACHE_DIR=os.path.join(self.folder, "cache")))
            with self.subTest(model=os.path.basename(path), backend=backend):
                self.assertEqual(done.returncode, 0, done.stderr)
                got = np.load(os.path.join(self.folder, "y.npy"))
                self.assertEqual((got.dtype, got.shape), (y.dtype, y.shape))
                # One step more or less somewhere is rounding; in float arithmetic nothing is.
                off = np.linalg.norm(got - y) / np.linalg.norm(y)
                self.assertLess(off, 0.02 if quantized else 1e-5)
                print(f"{os.path.basename(path)}, {backend}: {sorted(networks.operators(path))}, off by {off:.1e}")

    def test_bert(self):
        path = self.export(networks.bert)
        optimized = networks.optimized(path, "bert")
        self.check(optimized, {"Attention", "BiasGelu", "SkipLayerNormalization"}, False)
        self.check(networks.dynamic(optimized), {"QAttention"}, True)
        self.check(networks.fused(path), {"FusedMatMul", "Gelu", "SkipLayerNormalization"}, False)
        self.check(networks.fused(networks.dynamic(path)), {"DynamicQuantizeMatMul", "MatMulIntegerToFloat"}, True)

    def test_gpt(self):
        path = self.export(networks.gpt)
        optimized = networks.optimized(path, "gpt2")
        self.check(optimized, {"FastGelu", "SkipLayerNormalization"}, False)
        self.check(networks.dynamic(optimized), {"FastGelu"}, True)
        self.check(networks.fused(path), {"FastGelu", "FusedMatMul", "SkipLayerNormalization"}, False)
        self.check(networks.fused(networks.dynamic(path)), {"DynamicQuantizeMatMul"}, True)

    def test_resnet(self):
        path = self.export(networks.resnet)
        self.check(networks.fused(path), {"FusedConv"}, False)
        self.check(networks.static(path, self.inputs, qdq=False), {"QGemm", "QLinearAdd", "QLinearGlobalAveragePool"}, True)
        qdq = networks.static(path, self.inputs, qdq=True)
        self.check(qdq, set(), True)
        self.check(networks.fused(qdq), {"QGemm", "QLinearAdd", "QLinearGlobalAveragePool"}, True)

    def test_mobilenet(self):
        path = self.export(networks.mobilenet)
        self.check(networks.fused(path), {"FusedConv"}, False)
        self.check(networks.static(path, self.inputs, qdq=False, per_channel=True), {"QGemm", "QLinearAdd"}, True)
        self.check(networks.fused(networks.static(path, self.inputs, qdq=True)), {"QGemm", "QLinearAdd"}, True)
        self.check(networks.fused(networks.dynamic(path)), {"DynamicQuantizeMatMul"}, True)

    def test_lstm(self):
        path = self.export(networks.lstm)
        self.check(networks.dynamic(path), {"DynamicQuantizeLSTM"}, True)

    def test_activations(self):
        path = self.export(networks.activations)
        self.check(networks.fused(networks.static(path, self.inputs, qdq=True)),
                   {"QLinearAveragePool", "QLinearConcat", "QLinearLeakyRelu", "QLinearMul", "QLinearSigmoid", "QLinearSoftmax",
                    "QLinearWhere"}, True)


if __name__ == "__main__":
    unittest.main()
