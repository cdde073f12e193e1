"""What is asked for is there and has an effect, or is named with the nearest word. usage: choices_test.py DRIVER"""

import unittest

import numpy as np

from tests.driver.command import RELU, CommandTest, onnx_relu

TRAIN = ["train", "m.onnx", "--data", "d.npz", "--loss", "mse:Y", "--checkpoint", "c", "--epochs", "1", "--lr", "0"]


class ChoicesTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.write("relu.sdfg", RELU)
        self.write("m.onnx", onnx_relu())

    def warned(self, text, *args):
        self.assertIn("warning: " + text, self.run_headrace(*args).stderr)

    def test_implementations(self):
        for verb in (["check", "m.onnx"], ["run", "m.onnx"], ["bench", "m.onnx"], ["compile", "m.onnx", "--emit", "lowered"],
                     ["grad", "m.onnx", "--output", "Y", "--wrt", "X", "--out", "g"]):  # fmt: skip
            self.refused("E0460", "--impl bogus", args=[*verb, "--impl", "bogus"])
        self.refused("E0460", "did you mean 'Relu'?", args=["check", "m.onnx", "--impl", "Rellu=pure"])
        self.refused("E0460", "Relu has no implementation 'pur'", "did you mean 'pure'?", args=["check", "m.onnx", "--impl", "Relu=pur"])
        self.refused("E0460", "Conv has no implementation 'bogus'", args=["check", "m.onnx", "--impl", "Conv=bogus"])
        self.refused("E0460", "did you mean 'clip'?", args=["check", "m.onnx", "--impl", "clap=pure"])
        self.warned("--impl Conv=pure has no effect: the model has no Conv", "check", "m.onnx", "--impl", "Conv=pure")
        for right in ("pure", "Relu=pure", "onnx.Relu=pure", "clip=pure"):
            self.assertEqual(self.run_headrace("check", "m.onnx", "--impl", right).stderr, "")

    def test_forms_are_of_tensors(self):
        self.write("s.sdfg", """sdfg s(x: f32[4], z: i64, y: f32[4]) {
          sequence s: seq(f32)
          sequence t: seq(f32)
          onnx.SequenceConstruct(inputs = x, inputs = x) -> (output_sequence = s)
          onnx.Identity(input = s) -> (output = t)
          onnx.SequenceAt(input_sequence = t, position = z) -> (tensor = y)
        }""")
        run = ["run", "s.sdfg", "--backend", "interpreter", "--input", "z=1", "--impl"]
        self.refused("E0321", "input is a sequence, and a form is of tensors", args=[*run, "Identity=pure"], exit=3)
        self.run_headrace(*run, "pure")

    def test_sizes(self):
        self.refused("E0463", "did you mean 'N'?", args=["run", "relu.sdfg", "--dim", "n=4"])
        self.refused("E0463", "there is no size 'bach'", "it has N", args=["check", "relu.sdfg", "--dim", "bach=4"])
        done = self.run_headrace("check", "m.onnx", "--dim", "m=4", code=2)
        self.assertIn("did you mean 'n'?", done.stderr)
        self.run_headrace("check", "m.onnx", "--dim", "n=4")

    def test_sizes_and_implementations_of_an_artifact(self):
        self.run_headrace("compile", "relu.sdfg", "-o", "relu.hrx")
        self.refused("E0463", "there is no size 'bach'", args=["run", "relu.hrx", "--dim", "bach=4"])
        self.refused("E0461", "--impl has no effect on an artifact", args=["run", "relu.hrx", "--impl", "pure"])
        self.refused("E0461", "--keep-denormals has no effect on an artifact", args=["run", "relu.hrx", "--keep-denormals"])
        self.refused("E0461", "--autocast has no effect on an artifact", args=["run", "relu.hrx", "--autocast", "bf16"])
        self.assertIn("f32[4]", self.run_headrace("run", "relu.hrx", "--dim", "N=4").stdout)
        self.refused("E0461", "an artifact is a folder", args=["compile", "relu.sdfg", "-o", "-"])

    def test_backends(self):
        for verb in (["run", "relu.sdfg"], ["check", "relu.sdfg"], ["bench", "relu.sdfg"], ["compile", "relu.sdfg", "--emit", "ir"]):
            self.refused("E0435", "cuda", args=[*verb, "--backend", "cuda"], exit=3)
            self.refused("E0435", "did you mean 'cpu'?", args=[*verb, "--backend", "cqu"])

    def test_threads(self):
        self.warned("--threads has no effect: the interpreter uses one", "run", "relu.sdfg", "--backend", "interpreter", "--threads", "2")
        self.warned("--threads has no effect", "compile", "relu.sdfg", "--emit", "ir", "--threads", "2")
        self.warned("--threads has no effect", "check", "relu.sdfg", "--threads", "2")
        self.warned("--impl has no effect", "compile", "m.onnx", "--emit", "ir", "--impl", "pure")

    def test_numbers(self):
        bench, run = ["bench", "relu.sdfg", "--seconds"], ["run", "relu.sdfg", "--verify"]
        for number in ("nan", "inf", "0", "-1", "1s"):
            self.refused("E0430", "--seconds", f"'{number}' is not a number above 0", args=[*bench, number])
        for flag in ("--rtol", "--atol", "--seed"):
            self.refused("E0430", flag, "'-1' is not a number of 0 or more", args=[*run, f"{flag}=-1"])
        self.refused("E0430", "--rtol", "'nan' is not a number", args=[*run, "--rtol", "nan"])
        for flag in ("--momentum", "--eps", "--weight-decay", "--clip-norm"):
            self.refused("E0430", flag, "'nan' is not a number", args=[*TRAIN, flag, "nan"])
        self.refused("E0430", "--clip-norm", "'0' is not a number above 0", args=[*TRAIN, "--clip-norm", "0"])
        for betas in ("nan,0.9", "0.9,1", "-0.1,0.9"):
            self.refused("E0443", f"--betas {betas}", args=[*TRAIN, "--optimizer", "adam", f"--betas={betas}"])

    def test_options_of_another_optimizer_or_schedule(self):
        np.savez(self.path("d.npz"), X=np.zeros((2, 3), np.float32), target=np.zeros((2, 3), np.float32))
        for flag, value, what in (("--momentum", "0.5", "--optimizer momentum"), ("--betas", "0.9,0.9", "adam"), ("--eps", "1e-3", "adam"),
                                  ("--gamma", "0.5", "--schedule step"), ("--step-epochs", "2", "--schedule step")):  # fmt: skip
            self.refused("E0461", flag + " has no effect here", what, args=[*TRAIN, flag, value])
        self.refused("E0461", "--betas", args=[*TRAIN, "--optimizer", "momentum", "--betas", "0.9,0.9"])
        self.refused("E0460", "--impl bogus", args=[*TRAIN, "--impl", "bogus"])
        self.refused("E0435", "cuda", args=[*TRAIN, "--backend", "cuda"], exit=3)

    def test_options_that_exclude_each_other(self):
        run = ["run", "relu.sdfg"]
        self.refused("E0461", "--rtol has no effect here", "--verify", args=[*run, "--rtol", "1"])
        self.refused("E0461", "--input has no effect here", "--test-data gives all", args=[*run, "--test-data", ".", "--input", "X=[1]"])
        self.refused("E0461", "--seconds has no effect here", args=["bench", "relu.sdfg", "--seconds", "3", "--runs", "2"])
        self.refused("E0461", "--pipeline has no effect here", args=["opt", "--list", "--pipeline", "simplify"])
        for given in (["relu.sdfg", "--of", "fuse-maps"], ["relu.sdfg", "--list", "--ids"], ["relu.sdfg", "--ids", "--emit", "json"],
                      ["relu.sdfg", "--list", "-o", "x.sdfg"], ["--list", "--apply", "fuse-maps@#0+#2"]):
            self.refused("E0461", "has no effect here", args=["opt", *given])
        self.refused("E0430", "excludes", args=["-q", "-v", *run])

    def test_words_that_are_none(self):
        for args, text in (
            (["bnech"], "did you mean 'bench'?"),
            (["--plugin", "nothing.so", "bnech"], "did you mean 'bench'?"),
            (["cache", "lsit"], "did you mean 'cache list'?"),
            (["run", "relu.sdfg", "-backend", "cpu"], "did you mean --backend?"),
            (["run", "relu.sdfg", "--imput=X=[1]"], "did you mean --input?"),
            (["run", "--bakend", "cpu"], "did you mean --backend?"),
            (["check", "relu.sdfg", "--seed", "1"], "it is an option of "),
            (["run", "relu.sdfg", "more"], "one argument too many: 'more'"),
            (["compile", "relu.sdfg", "--emit", "lowred"], "did you mean 'lowered'?"),
            (["run", "relu.sdfg", "--progress", "plian"], "did you mean 'plain'?"),
            (["run", "relu.sdfg", "--autocast", "bf61"], "did you mean 'bf16'?"),
            (["compile", "relu.sdfg", "--autocast", "half"], "it is one of"),
            (["run", "relu.sdfg", "--verify=interpeter"], "did you mean 'interpreter'?"),
            (["bench", "relu.sdfg", "--compare", "onxruntime"], "did you mean 'onnxruntime'?"),
            (["run", "relu.sdfg", "--threads", "many"], "--threads"),
        ):  # fmt: skip
            self.refused("E0430", text, args=args)


if __name__ == "__main__":
    unittest.main()
