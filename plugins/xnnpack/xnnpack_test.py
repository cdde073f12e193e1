"""Each function of the plugin against the op's own form: many nodes in one model. usage: xnnpack_test.py DRIVER PLUGIN"""

import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np

from plugins.kernels import testing


class Xnnpack(testing.Comparison, unittest.TestCase):
    DRIVER, PLUGIN = (os.path.abspath(p) for p in sys.argv[1:3])
    NAME = "xnnpack"

    def test_convolutions_and_pools(self):
        # Without the convolution of three dimensions and the pool whose padding counts.
        self.compare(testing.convolutions(), {"xnnpack_conv": len(testing.CONVOLUTIONS) + 1, "xnnpack_pool": 2, "xnnpack_mean": 1})

    def test_products_and_rows(self):
        self.compare(testing.products(), {"xnnpack_product": 5, "xnnpack_batched_product": 1, "xnnpack_softmax": 2})

    def test_more_convolutions(self):
        m = testing.Model()
        for x, w, attributes in [
            ((2, 8, 9, 11), (16, 1, 3, 3), {"group": 8, "pads": [1, 1, 1, 1]}),  # two results for each channel
            ((1, 5, 7, 6), (5, 1, 1, 1), {"group": 5}),
            ((1, 1, 12, 3), (1, 1, 3, 3), {"pads": [1, 1, 1, 1]}),
            ((3, 3, 1, 1), (7, 3, 1, 1), {}),
            ((1, 512, 7, 7), (512, 512, 3, 3), {"pads": [1, 1, 1, 1]}),  # blocks of channels
            ((2, 64, 8, 8), (128, 32, 3, 3), {"group": 2, "pads": [1, 1, 1, 1], "strides": [2, 1]}),
            ((1, 3, 5, 40), (4, 3, 3, 3), {"pads": [7, 0, 7, 0]}),  # rows of the padding alone
            ((2, 6, 30), (6, 1, 5), {"group": 6, "pads": [2, 2], "strides": [3]}),
        ]:
            m.output(m.node("Conv", m.input(*x), m.weight(*w), m.weight(w[0]), **attributes), len(x))
        self.compare(m, {"xnnpack_conv": 8})

    def test_more_pools(self):
        m = testing.Model()
        for op, x, attributes in [
            ("MaxPool", (2, 3, 13, 11), {"kernel_shape": [3, 3], "pads": [2, 1, 2, 1], "strides": [2, 2]}),
            ("MaxPool", (1, 5, 30, 20), {"kernel_shape": [3, 2], "dilations": [2, 3]}),
            ("MaxPool", (1, 64, 112, 112), {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]}),
            ("MaxPool", (9, 7, 31), {"kernel_shape": [4], "pads": [1, 2], "strides": [3]}),
            ("AveragePool", (1, 32, 56, 56), {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
            ("AveragePool", (2, 6, 14, 14), {"kernel_shape": [7, 7], "strides": [7, 7]}),
            ("AveragePool", (1, 3, 40), {"kernel_shape": [6], "pads": [5, 3], "strides": [4]}),
            ("GlobalAveragePool", (8, 200, 7, 7), {}),
            ("GlobalAveragePool", (1, 3, 50), {}),
        ]:
            m.output(m.node("Relu", m.node(op, m.input(*x), **attributes)), len(x))
        self.compare(m, {"xnnpack_pool": 7, "xnnpack_mean": 2})

    def test_more_products(self):
        m = testing.Model()
        m.output(m.node("MatMul", m.input(40, 30), m.input(30, 20)), 2)
        m.output(m.node("MatMul", m.input(3, 9, 30), m.input(30, 300)), 3)
        m.output(m.node("MatMul", m.input(2, 3), m.weight(3, 1)), 2)
        m.output(m.node("MatMul", m.input(1, 1500), m.weight(1500, 1000)), 2)
        m.output(m.node("Clip", m.node("Gemm", m.input(70, 1), m.weight(1, 5), m.weight(5)), m.scalar(-1.0), m.scalar(1.0)), 2)
        self.compare(m, {"xnnpack_product": 3, "xnnpack_batched_product": 2})
    def odd(self, m, *shape):
        """An input with NaN and infinities."""
        name = m.input(*shape)
        flat = m.arrays[name].reshape(-1)
        flat[[len(flat) // 2, -1]] = np.nan
        flat[[3, len(flat) // 3]] = np.inf, -np.inf
        return name

    def test_numbers_that_are_not_finite(self):
        m = testing.Model()
        weights = m.weight(6, 5, 3, 3)
        spoilt = m.constant(np.where(np.arange(45).reshape(9, 5) == 7, np.nan, np.float32(1)).astype(np.float32))
        m.output(m.node("Conv", self.odd(m, 2, 5, 30, 9), weights, pads=[1, 1, 1, 1]), 4)
        m.output(m.node("Relu", m.node("Conv", self.odd(m, 1, 5, 30, 9), weights, m.weight(6), strides=[2, 2])), 4)
        m.output(m.node("Relu", m.node("Conv", self.odd(m, 1, 8, 9, 9), m.weight(8, 1, 3, 3), group=8)), 4)
        m.output(m.node("Relu", m.node("Add", m.node("MatMul", self.odd(m, 40, 9), m.weight(9, 33)), m.weight(33))), 2)
        m.output(m.node("MatMul", m.input(7, 9), spoilt), 2)
        m.output(m.node("MatMul", m.input(3, 7, 9), self.odd(m, 3, 9, 20)), 3)
        m.output(m.node("Gemm", self.odd(m, 7, 9), m.weight(20, 9), transB=1), 2)
        m.output(m.node("Relu", m.node("MaxPool", self.odd(m, 2, 5, 30, 9), kernel_shape=[3, 3], pads=[1, 1, 1, 1])), 4)
        m.output(m.node("AveragePool", self.odd(m, 2, 5, 30, 9), kernel_shape=[3, 3], pads=[1, 1, 1, 1]), 4)
        m.output(m.node("GlobalAveragePool", self.odd(m, 2, 40, 3, 3)), 4)
        m.output(m.node("Softmax", self.odd(m, 30, 9)), 2)
        masked = m.input(20, 13)
        m.arrays[masked][:, 5:] = -np.inf
        m.arrays[masked][7] = -np.inf
        m.output(m.node("Softmax", masked), 2)
        self.compare(m, {"xnnpack_conv": 3, "xnnpack_product": 3, "xnnpack_batched_product": 1, "xnnpack_pool": 2, "xnnpack_mean": 1, "xnnpack_softmax": 2})

    def test_choice(self):
        m = testing.Model()
        m.output(m.node("Conv", m.input(1, 64, 28, 28), m.weight(64, 64, 3, 3)), 4)
        self.quantized_convolution(m, (1, 64, 28, 28), (64, 64, 3, 3), np.int8, np.int8)
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
            m.save(folder + "/m.onnx")
            command = [self.DRIVER, "--plugin", self.PLUGIN, "compile", folder + "/m.onnx", "--emit", "loops"]
            loops = subprocess.run(command, capture_output=True, text=True, cwd=folder).stdout
        with open("/proc/cpuinfo") as f:
            flags = f.read().split()
        self.assertNotIn("call.xnnpack_conv", loops)
        self.assertEqual("call.xnnpack_qconv_i8" in loops, "avx2" in flags and "avx512_vnni" not in flags)

    def quantized_convolution(self, m, x, w, data, weights, scales=1, **attributes):
        zero = m.constant(np.zeros(scales, weights)) if data == np.int8 else m.scalar(131 if weights == np.uint8 else 0, weights)
        y_zero, x_zero = (m.scalar(v - 128 if data == np.int8 else v, data) for v in (97, 120))
        scale = np.linspace(0.001, 0.002, scales).astype(np.float32)
        inputs = [m.input(*x, dtype=data), m.scalar(0.02), x_zero, m.weight(*w, dtype=weights), m.constant(scale if scales > 1 else scale[0]), zero,
                  m.scalar(0.05), y_zero, m.weight(w[0], dtype=np.int32)]
        m.output(m.node("QLinearConv", *inputs, **attributes), len(x), data)

    def test_quantized_convolutions(self):
        m = testing.Model()
        for data, weights in ((np.int8, np.int8), (np.uint8, np.uint8), (np.uint8, np.int8)):
            for x, w, attributes in [
                ((2, 3, 17, 19), (8, 3, 3, 3), {"pads": [1, 1, 1, 1]}),
                ((1, 64, 28, 28), (72, 64, 3, 3), {"pads": [1, 1, 1, 1], "strides": [2, 2]}),
                ((1, 32, 28, 28), (48, 32, 1, 1), {}),
                ((3, 24, 14, 14), (24, 1, 3, 3), {"pads": [1, 1, 1, 1], "group": 24}),
                ((1, 8, 20, 20), (16, 2, 3, 3), {"pads": [2, 2, 2, 2], "dilations": [2, 2], "group": 4}),
                ((2, 6, 50), (9, 6, 7), {"pads": [6, 0]}),
            ]:
                self.quantized_convolution(m, x, w, data, weights, **attributes)
        self.quantized_convolution(m, (1, 16, 12, 12), (40, 16, 3, 3), np.int8, np.int8, scales=40, pads=[1, 1, 1, 1])
        self.compare(m, {"xnnpack_qconv_i8": 7, "xnnpack_qconv_u8": 12})

    def test_quantized_products(self):
        m = testing.Model()
        for data, weights, zero in ((np.int8, np.int8, 0), (np.uint8, np.uint8, 131), (np.uint8, np.int8, 3)):
            for a, b in (((300, 70), (70, 90)), ((2, 3, 33), (33, 1)), ((1, 2000), (2000, 500))):
                zeros = [m.scalar(v - 128 if data == np.int8 else v, data) for v in (120, 97)]
                inputs = [m.input(*a, dtype=data), m.scalar(0.02), zeros[0], m.weight(*b, dtype=weights), m.scalar(0.002), m.scalar(zero, weights),
                          m.scalar(0.05), zeros[1]]
                m.output(m.node("QLinearMatMul", *inputs), len(a), data)
        self.compare(m, {"xnnpack_qproduct_i8": 3, "xnnpack_qproduct_u8": 6})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
