"""Errors that few users meet, each by its code and its words. usage: rare_errors_test.py DRIVER"""

import os
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, parser

from tests.driver.command import RELU, CommandTest, onnx_relu


def model(text, opset=21):
    return parser.parse_model(f'<ir_version: 10, opset_import: ["": {opset}]> {text}')


def float_info(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


class FilesTest(CommandTest):
    def test_an_artifact_in_place_of_a_file(self):
        self.write("relu.sdfg", RELU)
        self.write("a.hrx", "mine")
        self.refused("E0376", "exists and is no .hrx folder", args=["compile", "relu.sdfg", "-o", "a.hrx"], exit=1)

    def test_outputs_that_are_no_files(self):
        self.write("relu.sdfg", RELU)
        self.refused("E0438", "the target is a file", args=["run", "relu.sdfg", "--output", "Y=3"])


class ModelsTest(CommandTest):
    def check(self, proto, code, *words, exit=1):
        self.write("m.onnx", proto)
        self.refused(code, *words, args=["check", "m.onnx", "--backend", "interpreter"], exit=exit)

    def test_an_input_without_type(self):
        m = onnx_relu()
        m.graph.input[0].type.Clear()
        self.check(m, "E0536", "the type is not set")

    def test_a_loop_value_that_changes_its_rank(self):
        self.check(model("""g (float[2] x) => (y) { n = Constant<value_int = 3>()
            y = Loop<body = b (int64 i, bool c, v) => (bool c2, v2) { c2 = Identity(c)
              z = Constant<value_ints = [0]>()
              v2 = Unsqueeze(v, z) }>(n, , x) }"""), "E0544", exit=3)

    def test_a_loop_that_cant_end(self):
        self.check(model("""g (float[2] x) => (float[2] y) {
            y = Loop<body = b (int64 i, bool c, float[2] v) => (bool c2, float[2] v2) { c2 = Constant<value = bool {1}>()
              v2 = Identity(v) }>( , , x) }"""), "E0545", "neither a trip count nor a condition", exit=3)

    def test_gradient_of_a_value_that_is_not_there(self):
        graph = helper.make_graph([helper.make_node("Relu", ["X"], ["Y"]),
                                   helper.make_node("Gradient", ["X"], ["D", "E"], domain="ai.onnx.preview.training", xs=["X"], y="Y")],
                                  "g", [float_info("X", [2])], [float_info("D", [2]), float_info("E", [2])])
        self.check(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.preview.training", 1)],
                                     ir_version=10), "E0535", "Gradient has more outputs than names in xs")

    def test_models_that_cant_be_fed_with_samples(self):
        self.write("m.onnx", model("g (float x, float[n, 2] z) => (float[n, 2] y) { y = Mul(x, z) }"))
        np.savez(self.path("d.npz"), x=np.zeros(4, np.float32), z=np.zeros((4, 2), np.float32), target=np.zeros((4, 2), np.float32))
        self.refused("E0937", "input 'x' is a scalar", args=["train", "m.onnx", "--data", "d.npz", "--loss", "mse", "--checkpoint", "c", "--epochs", "1", "--lr", "0.1"], exit=3)


class ProgramsTest(CommandTest):
    def test_an_op_before_its_opset(self):
        self.write("g.sdfg", "sdfg f(X: f32[4], Y: f32[4]) { onnx.Gelu:11(X = X) -> (Y = Y) }")
        self.refused("E0320", "onnx.Gelu does not exist in opset 11", "Gelu since 20", args=["check", "g.sdfg", "--backend", "interpreter"], exit=3)

    def test_an_unknown_pass(self):
        self.write("f.sdfg", RELU)
        self.refused("E0353", "unknown pass 'defualt'", "did you mean 'default'?", args=["run", "f.sdfg", "--pipeline", "defualt"])

    def test_a_constant_of_a_file_that_is_too_short(self):
        self.write("f.sdfg", 'sdfg f(X: f32[4], Y: f32[4]) {\n constant W: f32[4] = file("w.bin", 8)\n state { onnx.Add(A = X, B = W) -> (C = Y) } }')
        self.write("w.bin", "sixteen letters.")
        self.refused("E0121", 'w.bin" has 16 bytes; 16 are needed at offset 8', args=["check", "f.sdfg"], exit=1)

    def test_comments_of_another_language(self):
        self.write("f.sdfg", "// the identity\n" + RELU)
        self.refused("E0100", "expected 'sdfg', found '//'", "comments begin with '#'", args=["check", "f.sdfg"], exit=1)


if __name__ == "__main__":
    unittest.main()
