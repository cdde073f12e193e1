"""Values for inputs and places for outputs: files, archives, numbers, lists, standard input. usage: inputs_test.py DRIVER"""

import os
import unittest

import numpy as np
from onnx import TensorProto, helper, parser

from tests.driver.command import CommandTest, onnx_relu

SUM = "sdfg main(X: f32[N], S: f32, I: i64[M], U: u64, B: bool, Y: f32[N], J: i64[M], V: u64, C: bool) {\n" \
      "  Y[i] = X[i] + S\n  J[i] = I[i]\n  V = U\n  C = B\n}\n"  # fmt: skip
GIVEN = ["--input", "S=0.5", "--input", "I=[9007199254740993, -9223372036854775808]", "--input", "U=18446744073709551615", "--input", "B=true"]
ALL = [f"--output={n}=@out.npz" for n in "YJVC"]


class InputsTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.write("sum.sdfg", SUM)
        self.x = np.array([1, 2, 3], np.float32)
        np.savez(self.path("two.npz"), X=self.x, other=np.zeros(2, np.float32))
        np.savez_compressed(self.path("one.npz"), unnamed=self.x)

    def test_archives(self):
        for value in ("@two.npz", "@two.npz:X", "@one.npz", "@one.npz:unnamed"):
            self.interpret("sum.sdfg", *GIVEN, "--input", "X=" + value, *ALL)
            np.testing.assert_array_equal(self.load("out.npz")["Y"], self.x + 0.5)
        run = ["run", "sum.sdfg", "--backend", "interpreter", "--input"]
        self.refused("E0467", "'x' in the archive", "did you mean 'X'?", args=[*run, "X=@two.npz:x"])
        np.savez(self.path("none.npz"), a=self.x, b=self.x)
        self.refused("E0467", "it holds a, b", ":ARRAY", args=[*run, "X=@none.npz"])
        self.write("text.npz", "text")
        self.refused("E0920", "no zip file", args=[*run, "X=@text.npz"], exit=1)

    def test_numbers_exactly(self):
        self.interpret("sum.sdfg", *GIVEN, "--input", "X=[1, 2.5, -3e-1]", *ALL)
        out = self.load("out.npz")
        np.testing.assert_array_equal(out["Y"], np.array([1, 2.5, -0.3], np.float32) + np.float32(0.5))
        self.assertEqual(out["J"].tolist(), [9007199254740993, -9223372036854775808])
        self.assertEqual([int(out["V"]), bool(out["C"])], [18446744073709551615, True])
        self.assertEqual([out["V"].dtype, out["J"].dtype, out["C"].dtype], [np.uint64, np.int64, np.bool_])

    def test_what_is_no_value(self):
        run = ["run", "sum.sdfg", "--backend", "interpreter", "--input"]
        for text, words in (("S=two", "'two' is not a value"), ("S=[1]", "has 1 dimension, 'S' has 0"), ("X=3", "write a list"),
                            ("X=[1, [2]]", "the same length"), ("I=[1.5]", "not a value of type i64"), ("U=-1", "not a value of type u64"),
                            ("B=1", "not a value of type bool"), ("I=[18446744073709551615]", "integers from -9223372036854775808"),
                            ("S={}", "is not a value"), ("X=x.npy", "NAME=@FILE.npy")):  # fmt: skip
            self.refused("E0462", words, args=[*run, text])
        self.refused("E0439", "did you mean 'X'?", args=[*run, "x=[1]"])
        self.refused("E0440", "given twice", args=[*run, "X=[1]", "--input", "X=[2]"])
        self.refused("E0440", "another output goes there", args=["run", "sum.sdfg", "--output", "Y=@a.npz:y", "--output", "J=@a.npz:y"])

    def test_archives_that_are_written(self):
        os.mkdir(self.path("folder.npz"))
        self.refused("E0424", "not a regular file", args=["run", "sum.sdfg", "--backend", "interpreter", *GIVEN, "--output", "Y=@folder.npz"], exit=1)
        self.interpret("sum.sdfg", *GIVEN, "--input", "X=@one.npz", "--output", "Y=@a.npz:first", "--output", "J=@a.npz", "--output", "Y=@b.npy")
        with self.load("a.npz") as out:
            self.assertEqual(sorted(out.files), ["J", "first"])
            np.testing.assert_array_equal(out["first"], self.load("b.npy"))
        with open(self.path("a.npz"), "rb") as f:
            first = f.read()
        self.interpret("sum.sdfg", *GIVEN, "--input", "X=@one.npz", "--output", "Y=@a.npz:first", "--output", "J=@a.npz")
        with open(self.path("a.npz"), "rb") as f:
            self.assertEqual(f.read(), first)

    def test_models_on_standard_input(self):
        data = onnx_relu().SerializeToString()
        self.save("x.npy", np.array([[-1, 2, -3]], np.float32))
        self.interpret("-", "--input", "X=@x.npy", "--output", "Y=@y.npy", stdin=data)
        np.testing.assert_array_equal(self.load("y.npy"), [[0, 2, 0]])
        self.assertIn(b"X: f32[n, 3]", self.run_headrace("check", "-", stdin=data).stdout)
        self.assertIn(b"onnx.Relu", self.run_headrace("compile", "-", "--emit", "ir", stdin=data).stdout)
        self.run_headrace("grad", "-", "--output", "Y", "--wrt", "X", "--out", "g", "--backend", "interpreter", stdin=data)
        self.interpret("-", *GIVEN, "--input", "X=[1]", stdin=SUM)
        self.assertIn(b"E0502", self.run_headrace("check", "-", stdin=b"\x00\x01\x02", code=1).stderr)

    def test_names_that_are_words_of_the_notation(self):
        self.write("words.onnx", parser.parse_model('<ir_version: 10, opset_import: ["" : 21]> g (float[i32] i8, float[i32] if) => (float[i32] f64) { f64 = Add(i8, if) }'))
        self.interpret("words.onnx", "--input", "i8=[1, 2]", "--input", "if=[3, 4]", "--output", "f64=@y.npy")
        self.assertEqual(self.load("y.npy").tolist(), [4, 6])
        for size in ("i32=3", "i32_=3"):  # as in the model, and as notes and `check` write it
            self.assertIn("f64: f32[3]", self.interpret("words.onnx", "--dim", size).stdout)

    def test_a_value_that_decides_shapes(self):
        info = lambda name, kind, shape: helper.make_tensor_value_info(name, kind, shape)
        graph = helper.make_graph([helper.make_node("ReduceSum", ["X", "axes"], ["Y"], keepdims=0)], "g",
                                  [info("X", TensorProto.FLOAT, [2, 3]), info("axes", TensorProto.INT64, [1])],
                                  [info("Y", TensorProto.FLOAT, None)])  # fmt: skip
        self.write("r.onnx", helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10))
        for axis, size in ((0, 3), (1, 2)):
            self.assertIn(f"Y: f32[{size}]", self.interpret("r.onnx", "--input", f"axes=[{axis}]").stdout)


if __name__ == "__main__":
    unittest.main()
