"""run --verify and bench --compare with ONNX Runtime and PyTorch. usage: onnxruntime_test.py DRIVER"""

import unittest

import onnx
import onnx.parser
import onnxruntime
import torch

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

    def test_pytorch(self):
        j = self.json("run", "m.onnx", "--backend", "interpreter", "--verify=torch", "--dim", "n=2")
        self.assertEqual([[o["name"], o["ok"]] for o in j["outputs"]], [["Y", True], ["W", True]])
        j = self.json("bench", "m.onnx", "--dim", "n=4", "--compare", "torch", "--seconds", "0.3", "--threads", "1")
        self.assertEqual(j["compared"]["version"], torch.__version__)

    def test_an_operator_that_pytorch_does_not_run_is_named(self):
        self.write("s.onnx", onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 21]>
            s (float[4] X) => (float[4] Y) { Y = Celu(X) }"""))
        self.refused("E0465", "not among the operators that Headrace runs with PyTorch: Celu",
                     args=["run", "s.onnx", "--backend", "interpreter", "--verify=torch"], exit=1)


if __name__ == "__main__":
    unittest.main()
