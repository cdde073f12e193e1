"""check says everything that stops a model in one run. usage: check_test.py DRIVER"""

import json
import unittest

from onnx import TensorProto, helper

from tests.driver.command import RELU, CommandTest


class CheckTest(CommandTest):
    def codes(self, *args, code, **how):
        return [e["code"] for e in json.loads(self.run_headrace("check", *args, "--json", code=code, **how).stdout)["errors"]]

    def write_broken(self):
        """An op that does not exist, an attribute that is missing."""
        info = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        nodes = [helper.make_node("Rleu", ["X"], ["a"]), helper.make_node("Concat", ["X", "Z"], ["b"])]
        graph = helper.make_graph(nodes, "g", [info("X", [2]), info("Z", [3])], [info(n, None) for n in "ab"])
        self.write("m.onnx", helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10))

    def test_all_of_a_model_and_of_the_machine(self):
        self.write_broken()
        self.assertEqual(self.codes("m.onnx", code=3), ["E0523", "E0524"])
        both = self.codes("m.onnx", code=3, CXX="/nonexistent")
        self.assertEqual(both[:2], ["E0523", "E0524"])
        self.assertEqual(len(both), 3)
        self.assertEqual(self.codes("m.onnx", "--backend", "cuda", code=3), ["E0523", "E0524", "E0435"])

    def test_unknown_ops_wrong_shapes_and_missing_implementations_at_once(self):
        info = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        nodes = [helper.make_node("Rleu", ["X"], ["a"]), helper.make_node("MatMul", ["X", "Z"], ["b"], name="product"),
                 helper.make_node("Sigmoid", ["b"], ["c"]), helper.make_node("Celu", ["X"], ["d"], name="bare")]
        graph = helper.make_graph(nodes, "g", [info("X", [2, 4]), info("Z", [3, 2])], [info(n, None) for n in "acd"])
        self.write("m.onnx", helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10))
        self.assertEqual(self.codes("m.onnx", "--backend", "cuda", code=3), ["E0523", "E0540", "E0435"])

    def test_a_machine_without_compiler(self):
        self.write("relu.sdfg", RELU)
        done = self.run_headrace("check", "relu.sdfg", code=3, CXX="/nonexistent")
        self.assertIn("/nonexistent", done.stderr)
        self.run_headrace("check", "relu.sdfg", "--backend", "interpreter", CXX="/nonexistent")

    def test_every_op_without_implementation(self):
        self.write("two.sdfg", "sdfg f(X: f32[N], Y: f32[N], Z: f32[N]) { my.One(X = X) -> (Y = Y)\n my.Two(X = X) -> (Y = Z) }")
        done = self.run_headrace("check", "two.sdfg", code=3, CXX="/nonexistent")
        for text in ("my.One", "my.Two", "/nonexistent"):
            self.assertIn(text, done.stderr)


if __name__ == "__main__":
    unittest.main()
