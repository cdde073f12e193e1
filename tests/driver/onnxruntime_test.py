"""run --verify and bench --compare with ONNX Runtime. usage: onnxruntime_test.py DRIVER"""

import unittest

import onnxruntime

from tests.driver.command import CommandTest, onnx_relu


class OnnxRuntimeTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.write("m.onnx", onnx_relu())

    def test_verify(self):
        j = self.json("run", "m.onnx", "--backend", "interpreter", "--verify=onnxruntime", "--dim", "n=2")
        self.assertEqual([[o["name"], o["ok"]] for o in j["outputs"]], [["Y", True], ["W", True]])

    def test_compare(self):
        j = self.json("bench", "m.onnx", "--dim", "n=4", "--compare", "onnxruntime", "--seconds", "0.3", "--threads", "1")
        self.assertEqual([j["compared"]["runtime"], j["compared"]["version"]], ["onnxruntime", onnxruntime.__version__])
        self.assertGreater(j["compared"]["ratio"], 0)


if __name__ == "__main__":
    unittest.main()
