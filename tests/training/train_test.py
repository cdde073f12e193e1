"""headrace train as a user meets it: data of every kind, batches, schedules, what it says. usage: train_test.py DRIVER"""

import csv
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import unittest
import zipfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.training.runs import samples

DRIVER = sys.argv[1]
F, D, I, I32 = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64, TensorProto.INT32


def info(name, dtype, shape):
    return helper.make_tensor_value_info(name, dtype, shape)


def model(nodes, inputs, outputs, **initializers):
    constants = [numpy_helper.from_array(np.asarray(v), n) for n, v in initializers.items()]
    graph = helper.make_graph([helper.make_node(op, i, o, **a) for op, i, o, a in nodes], "g", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def linear(batch="N", dtype=F, features=3):
    """y = x W + b, W and b from 0."""
    kind = np.float32 if dtype == F else np.float64
    return model([("Gemm", ["x", "W", "b"], ["y"], {})], [info("x", dtype, [batch, features])], [info("y", dtype, [batch, 1])],
                 W=np.zeros((features, 1), kind), b=np.zeros(1, kind))


def line(count=10, kind=np.float32, seed=0):
    x = np.random.default_rng(seed).normal(size=(count, 3)).astype(kind)
    return {"x": x, "target": (x @ np.array([[1], [-2], [0.5]], kind) + 3).astype(kind)}


class TrainTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        self.environment = dict(os.environ, HEADRACE_CACHE_DIR=os.path.join(os.environ.get("TEST_TMPDIR", self.folder), "cache"))

    def path(self, name):
        return os.path.join(self.folder, name)

    def train(self, *options, code=0, run="run", **given):
        """Options by keyword too: lr=0.1. The process that ended."""
        defaults = dict(data="d.npz", loss="mse", optimizer="sgd", lr=0.1, epochs=2, batch=4, checkpoint=run,
                        out=run + ".onnx")
        words = [w for n, v in {**defaults, **given}.items() for w in ("--" + n.replace("_", "-"), str(v)) if w != "True"]
        done = subprocess.run([os.path.abspath(DRIVER), "train", self.model, *words, *options], cwd=self.folder,
                              capture_output=True, text=True, env=self.environment)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def fails(self, *words, code=2, **given):
        done = self.train(code=code, **given)
        for w in words:
            self.assertIn(w, done.stderr)
        return done.stderr

    def use(self, m, name="m.onnx", **arrays):
        self.model = name
        onnx.save(m, self.path(name))
        if arrays:
            np.savez(self.path("d.npz"), **arrays)

    def trained(self, run="run"):
        return {t.name: numpy_helper.to_array(t) for t in onnx.load(self.path(run + ".onnx")).graph.initializer}

    def table(self, name, run="run"):
        with open(self.path(f"{run}/{name}.csv")) as f:
            return [{k: float(v) if v else None for k, v in row.items()} for row in csv.DictReader(f)]

    # ---- the loop ----

    def test_each_step_is_gradient_descent_and_the_rest_is_trained_too(self):
        data = line()
        self.use(linear(), **data)
        self.train("--no-shuffle", epochs=3)
        w, b, losses = np.zeros((3, 1)), np.zeros(1), []
        for _ in range(3):
            for at in (slice(0, 4), slice(4, 8), slice(8, 10)):
                x, t = data["x"][at].astype(float), data["target"][at]
                e = x @ w + b - t
                losses.append((e ** 2).mean())
                w, b = w - 0.1 * 2 * x.T @ e / len(x), b - 0.1 * 2 * e.mean(0)
        np.testing.assert_allclose([r["loss"] for r in self.table("losses")], losses, rtol=1e-5)
        np.testing.assert_allclose(self.trained()["W"], w, rtol=1e-4)
        np.testing.assert_allclose(self.trained()["b"], b, rtol=1e-4)
        # An epoch's loss is that of its samples, not of its steps.
        np.testing.assert_allclose([r["loss"] for r in self.table("epochs")],
                                   np.reshape(losses, (3, 3)) @ [0.4, 0.4, 0.2], rtol=1e-5)

    def test_the_seed_decides_the_order_and_nothing_else_does(self):
        self.use(linear(), **line())
        runs = {"a": {"seed": 1}, "b": {"seed": 1}, "c": {"seed": 2}, "d": {"seed": 1, "threads": 1}}
        for run, given in runs.items():
            self.train(run=run, **given)
        losses = {run: self.table("losses", run) for run in runs}
        self.assertEqual(losses["a"], losses["b"])
        self.assertEqual(losses["a"], losses["d"])
        self.assertNotEqual(losses["a"], losses["c"])

    def test_schedules(self):
        self.use(linear(), **line(8))
        rates = lambda run: [r["rate"] for r in self.table("losses", run)]
        self.train(run="step", schedule="step", step_epochs=1, gamma=0.5, epochs=3)
        self.assertEqual(rates("step"), [0.1, 0.1, 0.05, 0.05, 0.025, 0.025])
        self.train(run="cosine", schedule="cosine")
        np.testing.assert_allclose(rates("cosine"), 0.05 * (1 + np.cos(np.pi * np.arange(4) / 4)))
        self.train(run="warm", warmup=2)
        self.assertEqual(rates("warm"), [0.05, 0.1, 0.1, 0.1])

    def test_a_finished_run_goes_on_with_more_epochs(self):
        self.use(linear(), **line())
        self.train(run="whole", epochs=4)
        self.train(run="two")
        self.train("--resume", run="two", epochs=4)
        for name in ("two.onnx", "two/losses.csv", "two/epochs.csv"):
            with open(self.path(name), "rb") as a, open(self.path(name.replace("two", "whole")), "rb") as b:
                self.assertEqual(a.read(), b.read(), name)
        self.fails("step 12 is done, --epochs 3 ends at step 9", run="two", epochs=3, resume=True)

    def test_resuming_with_nothing_there_starts_anew(self):
        self.use(linear(), **line())
        self.assertIn("holds no checkpoint yet", self.train("--resume").stderr)
        self.assertEqual(len(self.table("losses")), 6)

    def test_validation_is_of_the_whole_set(self):
        self.use(model([("Gemm", ["x", "W", "b"], ["y"], {})], [info("x", F, ["N", 5])], [info("y", F, ["N", 3])],
                       W=np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32), b=np.zeros(3, np.float32)),
                 **samples(30, 5, 3))
        held_out = samples(11, 5, 3, seed=1)
        np.savez(self.path("v.npz"), **held_out)
        said = json.loads(self.train("--json", loss="cross_entropy", validate="v.npz").stdout)
        t = self.trained()
        scores = held_out["x"] @ t["W"] + t["b"]
        p = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
        last = said["epochs"][-1]
        self.assertAlmostEqual(last["validation_loss"], -np.log(p[np.arange(11), held_out["target"]]).mean(), places=5)
        self.assertAlmostEqual(last["validation_accuracy"], (scores.argmax(1) == held_out["target"]).mean())
        row = self.table("epochs")[-1]
        self.assertEqual([row["validation_loss"], row["validation_accuracy"]], [last["validation_loss"], last["validation_accuracy"]])

    # ---- models ----

    def test_several_inputs_one_of_them_integers(self):
        table = np.random.default_rng(0).normal(size=(6, 2)).astype(np.float32)
        self.use(model([("Gather", ["E", "word"], ["e"], {}), ("Concat", ["e", "x"], ["c"], {"axis": 1}),
                        ("MatMul", ["c", "W"], ["y"], {})],
                       [info("word", I32, ["N"]), info("x", F, ["N", 3])], [info("y", F, ["N", 1])], E=table, W=np.ones((5, 1), np.float32)))
        random, data = np.random.default_rng(1), line(20)
        np.savez_compressed(self.path("d.npz"), word=random.integers(0, 5, 20).astype(np.uint8), **data)
        self.train(epochs=20, lr=0.02)
        losses = self.table("epochs")
        self.assertLess(losses[-1]["loss"], losses[0]["loss"] / 2)
        after = self.trained()["E"]
        np.testing.assert_array_equal(after[5], table[5])  # no sample has this word
        self.assertTrue((after[:5] != table[:5]).any(1).all())
        self.fails("E0923", "can't hold element 3", code=1, run="bad",
                   data=self.save("b.npz", word=np.array([0, 0, 0, 1 << 40]), **line(4)))
        self.fails("E0923", "'word' is f64, the model takes i32", code=1, run="bad", data=self.save("b.npz", word=np.zeros(4), **line(4)))

    def save(self, name, **arrays):
        np.savez(self.path(name), **arrays)
        return name

    def test_the_loss_may_be_an_output_of_the_model(self):
        self.use(model([("Gemm", ["x", "W", "b"], ["y"], {}), ("Sub", ["y", "right"], ["d"], {}), ("Abs", ["d"], ["a"], {}),
                        ("ReduceMean", ["a"], ["L"], {"keepdims": 0})],
                       [info("x", F, ["N", 3]), info("right", F, ["N", 1])], [info("L", F, [])],
                       W=np.zeros((3, 1), np.float32), b=np.zeros(1, np.float32)))
        data = line()
        name = self.save("d.npz", x=data["x"], right=data["target"], unused=np.zeros(3))
        said = self.train(loss="L", data=name, epochs=5).stderr
        self.assertIn("array 'unused' is not used", said)
        losses = self.table("losses")
        self.assertLess(losses[-1]["loss"], losses[0]["loss"])
        self.fails("did you mean 'L'?", run="r2", loss="l")

    def test_sequences_first_samples_first(self):
        """[time, batch, features] models take arrays [sample, time, features]."""
        self.use(model([("ReduceSum", ["x", "axes"], ["s"], {"keepdims": 0}), ("MatMul", ["s", "W"], ["y"], {})],
                       [info("x", F, ["T", "N", 3])], [info("y", F, ["N", 1])], W=np.zeros((3, 1), np.float32), axes=np.array([0])))
        data = line(10)
        parts = np.random.default_rng(2).normal(size=(10, 4, 3)).astype(np.float32)
        self.train("--no-shuffle", data=self.save("d.npz", x=parts, target=data["target"]), epochs=1, batch=10)
        x, t = parts.sum(1), data["target"]
        np.testing.assert_allclose(self.trained()["W"], 0.1 * 2 * x.T @ t / 10, rtol=1e-5)

    def test_f64(self):
        self.use(linear(dtype=D), **line(kind=np.float64))
        self.train(epochs=150)
        np.testing.assert_allclose(self.trained()["W"][:, 0], [1, -2, 0.5], atol=1e-2)

    def test_data_of_numpys_own_types(self):
        data = line()
        self.use(linear(), x=np.asfortranarray(data["x"].astype(float)), target=data["target"].astype(float))
        said = self.train().stderr
        self.assertIn("array 'x' is f64, the model takes f32: converted", said)
        data["x"][3, 1] = np.nan
        self.fails("array 'x' holds nan (sample 3)", "E0935", "the loss is not a number", code=1, run="nan", data=self.save("n.npz", **data))

    def test_models_of_one_batch_size(self):
        self.use(linear(batch=4), **line(8))
        self.train()
        self.fails("the model takes batches of 4 samples only", "--batch 4", run="r2", batch=8)
        self.fails("10 samples are no multiple", "leave out 2 samples", run="r3", data=self.save("ten.npz", **line(10)))

    def test_batches_larger_than_the_data(self):
        self.use(linear(), **line(3))
        self.assertIn("there are only 3 samples: each epoch is one step", self.train().stderr)
        self.assertEqual(len(self.table("losses")), 2)

    # ---- what it says ----

    def test_json(self):
        self.use(linear(), **line())
        said = json.loads(self.train("--json").stdout)
        self.assertEqual([said["steps"], said["resumed_at"], said["parameters"], said["out"]], [6, 0, 4, "run.onnx"])
        self.assertEqual([e["step"] for e in said["epochs"]], [3, 6])
        self.assertEqual(said["epochs"][-1]["loss"], self.table("epochs")[-1]["loss"])

    def test_quiet_and_plain(self):
        self.use(linear(), **line())
        done = self.train("--quiet")
        self.assertEqual(done.stdout + done.stderr, "")
        said = self.train("--progress", "plain", run="plain").stderr
        self.assertIn("epoch 2/2 100 %  loss ", said)
        self.assertNotIn("\r", said)

    def test_interpreter(self):
        self.use(linear(), **line())
        self.train(run="a"), self.train(run="b", backend="interpreter")
        np.testing.assert_allclose(self.trained("a")["W"], self.trained("b")["W"], rtol=1e-5)

    def test_a_rate_of_zero_changes_nothing(self):
        self.use(linear(), **line())
        before = {t.name: numpy_helper.to_array(t) for t in onnx.load(self.path("m.onnx")).graph.initializer}
        self.train(lr=0)
        for name, value in before.items():
            np.testing.assert_array_equal(self.trained()[name], value)
        self.assertEqual({row["rate"] for row in self.table("losses")}, {0})

    # ---- what is refused ----

    def test_options(self):
        self.use(linear(), **line())
        self.fails("--lr must be 0 or a positive number", lr=-1)
        self.fails("--lr must be 0 or a positive number", lr="nan")
        self.fails("--epochs must be 1 or more", epochs=0)
        self.fails("--batch must be 1 or more", batch=0)
        self.fails("--every must not be negative", every=-1)
        self.fails("did you mean 'cosine'?", schedule="cosin")
        self.fails("--betas wants two numbers", betas="0.9")
        self.fails("--clip-norm: 'x' is not a number above 0", clip_norm="x")
        self.fails("--memory-limit 3XB is not a size", memory_limit="3XB")
        self.fails("unknown option --epoch", "did you mean --epochs?", epoch=1)
        self.assertFalse(os.path.exists(self.path("run")))

    def test_files(self):
        self.use(linear(), **line())
        self.fails("--out is the model itself", out="m.onnx")
        self.fails("--out is the data itself", out="d.npz")
        self.fails("--out is not a regular file", out="/dev/full")
        self.assertFalse(os.path.exists(self.path("run")))
        self.train(run="own", out="own/trained.onnx")  # the folder is made first
        self.fails("E0933", code=1, out="no/where.onnx")
        self.fails("can't open the file: No such file", code=1, data="e.npz")
        with open(self.path("text.npz"), "w") as f:
            f.write("x,y\n1,2\n")
        self.fails("E0920", "this is not a valid .npz archive: it is no zip file", code=1, data="text.npz")
        np.savez(self.path("o.npz"), x=np.array([{}], object), target=np.zeros(1))
        self.fails("elements of numpy type '|O' can't be read", "o.npz/x.npy", code=3, data="o.npz")
        with zipfile.ZipFile(self.path("bz.npz"), "w", zipfile.ZIP_BZIP2) as z:
            z.write(self.path("d.npz"), "x.npy")
        self.fails("compressed by method 12", code=1, data="bz.npz")

    def test_shapes_and_names(self):
        self.use(linear())
        data = line()
        self.fails("E0921", "there is no array 'x'", "did you mean 'X'?", code=1, data=self.save("b.npz", X=data["x"], target=data["target"]))
        self.fails("E0921", "there is no array 'target'", code=1, data=self.save("b.npz", x=data["x"]))
        self.fails("E0922", "array 'x' has the shape [10, 2], the model takes [samples, 3]", code=1,
                   data=self.save("b.npz", x=data["x"][:, :2], target=data["target"]))
        self.fails("E0922", "array 'target' has the shape [10], the model takes [samples, 1]", ".reshape(-1, 1)", code=1,
                   data=self.save("b.npz", x=data["x"], target=data["target"][:, 0]))
        self.fails("E0922", "array 'target' has 9 samples, 'x' has 10", code=1,
                   data=self.save("b.npz", x=data["x"], target=data["target"][:9]))
        self.fails("E0922", "there are no samples", code=1, data=self.save("b.npz", x=data["x"][:0], target=data["target"][:0]))

    def test_labels(self):
        self.use(model([("MatMul", ["x", "W"], ["y"], {})], [info("x", F, ["N", 5])], [info("y", F, ["N", 3])],
                       W=np.ones((5, 3), np.float32)), **samples(10, 5, 3))
        data = samples(10, 5, 3)
        for labels in (np.uint8, np.int32, np.int64):
            self.train(run="r" + labels.__name__, loss="cross_entropy", data=self.save("b.npz", x=data["x"], target=data["target"].astype(labels)))
        data["target"][7] = 3
        self.fails("E0924", "label 3 of sample 7 is no class: the model has classes 0 to 2", code=1, loss="cross_entropy",
                   data=self.save("b.npz", **data))
        self.fails("array 'target' is f64, the model takes i64", "astype('int64')", code=1, loss="cross_entropy",
                   data=self.save("b.npz", x=data["x"], target=data["target"].astype(float)))

        one_hot = np.eye(3, dtype=np.float32)[samples(10, 5, 3)["target"]]
        self.fails("array 'target' has the shape [10, 3], the model takes [samples]", ".argmax(1)", code=1, loss="cross_entropy",
                   data=self.save("b.npz", x=data["x"], target=one_hot))

    def test_resuming_with_other_options(self):
        self.use(linear(), **line())
        self.train()
        said = self.fails("E0931", "--lr 0.2", "--lr 0.1", "--seed 3", resume=True, lr=0.2, seed=3)
        self.assertNotIn("--batch", said)
        self.fails("E0931", "--data x: f32[10, 3], checksum", resume=True, data=self.save("b.npz", **line(seed=5)))
        self.fails("E0930", "the folder holds the checkpoints of a run, the newest of step 6", "--resume")

    def test_a_checkpoint_of_a_version_with_more_options(self):
        self.use(linear(), **line())
        self.train()
        self.rewrite("run/step-000000006.safetensors", b'"warmup":"0"', b'"warmed":"0"')
        self.fails("E0931", "--warmed 0", "--warmed nothing", resume=True)

    def rewrite(self, file, old, new):
        """Another header of the same length, under a right checksum."""
        with open(self.path(file), "rb") as f:
            text = f.read()
        self.assertEqual((text.count(old), len(old)), (1, len(new)))
        at = text.index(b"blake2b-256:") + 12
        text = text[:at] + b"0" * 64 + text[at + 64:].replace(old, new)
        with open(self.path(file), "wb") as f:
            f.write(text.replace(b"0" * 64, hashlib.blake2b(text, digest_size=32).hexdigest().encode(), 1))

    def test_a_checkpoint_that_is_no_state_of_the_run(self):
        self.use(linear(), **line())
        for old, new, says in [(b'"epoch":"2"', b'"epoch":"9"', "it says that 9 epochs are done"), (b'"W":', b'"V":', "it lacks 'W'")]:
            self.train(run=says[-4:-1])
            self.rewrite(says[-4:-1] + "/step-000000006.safetensors", old, new)
            self.fails("E0934", "the checkpoint of step 6 is not of this model: " + says, code=1, run=says[-4:-1], resume=True)

    def test_ir_text_has_no_place_for_parameters(self):
        self.model = "f.sdfg"
        with open(self.path(self.model), "w") as f:
            f.write("sdfg f(x: f32[N, 3], y: f32[N, 1]) {\n  map i in 0:N { y[i, 0] = x[i, 0] }\n}\n")
        self.fails("IR text has no place for trained parameters", code=3, data=self.save("d.npz", **line()))


if __name__ == "__main__":
    unittest.main()
