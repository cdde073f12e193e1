"""TRAINED.onnx: models in many shapes, trained for a few steps; ONNX's checker and reference evaluator take the result,
and give with it what headrace gives."""

import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper, parser
from onnx.reference import ReferenceEvaluator

HEADRACE = os.path.abspath(sys.argv[1])
HEADER = '<ir_version: 10, opset_import: ["" : 21{more}]>\n'

LINEAR = """g (float[batch, 4] x) => (float[batch, 3] y) <float[4, 3] W, float[3] b> { h = MatMul(x, W) y = Add(h, b) }"""
# Everything that differs between training and inference.
MODES = """g (float[batch, 4] x) => (float[batch, 3] y, float[3] kept)
  <float[4, 3] W, float[3] s, float[3] b, float[3] mean, float[3] var, float r = {0.5}, bool on = {1}> {
    h = MatMul(x, W)
    n, kept, new_var = BatchNormalization<training_mode = 1>(h, s, b, mean, var)
    y = Dropout(n, r, on) }"""
BRANCH = """g (float[batch, 4] x) => (float[batch, 3] y) <float[4, 3] W, float[3] b, float r = {0.5}, bool on = {1}> {
    h = MatMul(x, W)
    sum = ReduceSum(h)
    zero = Constant<value = float {0}>()
    c = Greater(sum, zero)
    y = If(c) <
      then_branch = t () => (float[batch, 3] u) { d = Dropout(h, r, on) u = Add(d, b) },
      else_branch = e () => (float[batch, 3] v) { v = Sub(h, b) }> }"""
FUNCTION = """g (float[batch, 4] x) => (float[batch, 3] y) <float[4, 3] W, float[3] b> { h = my.linear(x, W, b) y = my.drop(h) }
  <domain: "my", opset_import: ["" : 21]> linear (x, W, b) => (y) { h = MatMul(x, W) y = Add(h, b) }
  <domain: "my", opset_import: ["" : 21]> drop (x) => (y) {
    r = Constant<value = float {0.5}>()
    on = Constant<value = bool {1}>()
    y = Dropout(x, r, on) }"""


def model_of(text, seed=0):
    model = parser.parse_model(HEADER.format(more=', "my" : 1' if "my." in text else "") + text)
    random = np.random.default_rng(seed)
    given = {t.name for t in model.graph.initializer if t.ByteSize() and (t.raw_data or t.float_data or t.int32_data)}
    shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in model.graph.value_info}
    for name, shape in shapes.items():
        if name in given or name not in ("W", "s", "b", "mean", "var"):
            continue
        values = random.uniform(0.5, 1.5, shape) if name in ("s", "var") else random.standard_normal(shape)
        model.graph.initializer.append(numpy_helper.from_array(values.astype(np.float32), name))
    del model.graph.value_info[:]
    onnx.checker.check_model(model, full_check=True)
    return model


class OnnxOutTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        self.folder = self._folder.name
        self.addCleanup(self._folder.cleanup)
        random = np.random.default_rng(1)
        self.x = random.standard_normal((10, 4)).astype(np.float32)
        np.savez(self.at("data.npz"), x=self.x, target=random.integers(0, 3, 10))

    def at(self, name):
        return os.path.join(self.folder, name)

    def headrace(self, *words):
        p = subprocess.run([HEADRACE, *words], cwd=self.folder, capture_output=True, text=True, env=dict(os.environ, HEADRACE_CACHE_DIR=self.at("cache"), HEADRACE_NUM_THREADS="1"))
        self.assertEqual(p.returncode, 0, f"{words}\n{p.stdout}{p.stderr}")
        return p.stdout + p.stderr

    def train(self, model, out="trained.onnx", loss="cross_entropy", **save):
        onnx.save(model, self.at("model.onnx"), **save)
        return self.headrace("train", "model.onnx", "--data", "data.npz", "--loss", loss, "--optimizer", "adam", "--lr", "0.1",
                             "--epochs", "2", "--batch", "4", "--checkpoint", "run", "--out", out)  # fmt: skip

    def expect_same(self, path):
        """The reference evaluator's outputs, which headrace's equal."""
        onnx.checker.check_model(path, full_check=True)
        session = ReferenceEvaluator(path)
        expected = session.run(None, {"x": self.x})
        np.save(self.at("x.npy"), self.x)
        outputs = [w for i, name in enumerate(session.output_names) for w in ("--output", f"{name}=@{self.at(f'{i}.npy')}")]
        self.headrace("run", path, "--input", "x=@x.npy", *outputs)
        for i, value in enumerate(expected):
            np.testing.assert_allclose(np.load(self.at(f"{i}.npy")), value, rtol=1e-5, atol=1e-6)
        return expected

    def values(self, path):
        return {t.name: numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer}

    def test_only_trained_values_differ(self):
        model = model_of(LINEAR)
        model.producer_name = "a producer"
        self.train(model)
        self.expect_same(self.at("trained.onnx"))
        before, after = self.values(self.at("model.onnx")), self.values(self.at("trained.onnx"))
        for name in ("W", "b"):
            self.assertGreater(np.abs(after[name] - before[name]).min(), 1e-3)
        trained = onnx.load(self.at("trained.onnx"))
        for t in trained.graph.initializer:
            t.CopyFrom(next(o for o in onnx.load(self.at("model.onnx")).graph.initializer if o.name == t.name))
        self.assertEqual(trained, onnx.load(self.at("model.onnx")))

    def test_training_mode_is_inference_mode_afterwards(self):
        self.train(model_of(MODES), loss="cross_entropy:y")
        _, kept = self.expect_same(self.at("trained.onnx"))
        values = self.values(self.at("trained.onnx"))
        self.assertGreater(np.abs(values["mean"] - self.values(self.at("model.onnx"))["mean"]).min(), 1e-4)
        np.testing.assert_array_equal(kept, values["mean"])
        self.assertEqual([n.op_type for n in onnx.load(self.at("trained.onnx")).graph.node], ["MatMul", "BatchNormalization", "Identity", "Dropout"])

    def test_running_statistics_are_those_of_the_batches(self):
        """momentum * old + (1 - momentum) * the batch's, in each step, with ONNX's biased variance."""
        model = model_of(MODES)
        onnx.save(model, self.at("model.onnx"))
        self.headrace("train", "model.onnx", "--data", "data.npz", "--loss", "cross_entropy:y", "--lr", "1e-30", "--epochs", "1",
                      "--batch", "10", "--checkpoint", "run", "--out", "trained.onnx")  # fmt: skip
        before, after = self.values(self.at("model.onnx")), self.values(self.at("trained.onnx"))
        h = self.x @ before["W"]
        np.testing.assert_allclose(after["mean"], 0.9 * before["mean"] + 0.1 * h.mean(0), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(after["var"], 0.9 * before["var"] + 0.1 * h.var(0), rtol=1e-5, atol=1e-6)

    def test_branches(self):
        self.train(model_of(BRANCH))
        self.expect_same(self.at("trained.onnx"))

    def test_functions(self):
        self.train(model_of(FUNCTION))
        self.expect_same(self.at("trained.onnx"))
        self.assertEqual([f.name for f in onnx.load(self.at("trained.onnx")).functions], ["linear", "drop"])

    def test_external_data_stays_external(self):
        self.train(model_of(LINEAR), save_as_external_data=True, location="weights.bin", size_threshold=0)
        self.assertIn("trained.onnx.data", os.listdir(self.folder))
        trained = onnx.load(self.at("trained.onnx"), load_external_data=False)
        for t in trained.graph.initializer:
            self.assertEqual(t.data_location, TensorProto.EXTERNAL)
            entries = {e.key: e.value for e in t.external_data}
            self.assertEqual(entries["location"], "trained.onnx.data")
            self.assertEqual(int(entries["offset"]) % 4096, 0)
        self.expect_same(self.at("trained.onnx"))

    def test_the_model_itself_is_refused(self):
        onnx.save(model_of(LINEAR), self.at("model.onnx"))
        with open(self.at("model.onnx"), "rb") as f:
            before = f.read()
        p = subprocess.run([HEADRACE, "train", "model.onnx", "--data", "data.npz", "--loss", "cross_entropy", "--lr", "0.1", "--epochs", "1",
                            "--checkpoint", "run", "--out", "./model.onnx"], cwd=self.folder, capture_output=True, text=True)  # fmt: skip
        self.assertNotEqual(p.returncode, 0)
        self.assertIn("--out is the model itself", p.stderr)
        with open(self.at("model.onnx"), "rb") as f:
            self.assertEqual(f.read(), before)


if __name__ == "__main__":
    unittest.main()
