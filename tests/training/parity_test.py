"""`headrace train` against each optimizer written out in NumPy, step by step, on a network with two layers: parity_test.py DRIVER

f64: losses within 1e-9; f32: within 1e-4. The last batch of an epoch is smaller than the others.
"""

import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

DRIVER = os.path.abspath(sys.argv[1])
SAMPLES, BATCH, EPOCHS, RATE = 22, 8, 8, 0.02


def start(dtype):
    random = np.random.default_rng(3)
    return {"W1": random.normal(0, 0.4, (6, 10)).astype(dtype), "b1": random.normal(0, 0.1, 10).astype(dtype),
            "W2": random.normal(0, 0.4, (10, 4)).astype(dtype), "b2": random.normal(0, 0.1, 4).astype(dtype)}


def data(dtype):
    random = np.random.default_rng(4)
    return random.normal(size=(SAMPLES, 6)).astype(dtype), random.integers(0, 4, SAMPLES)


def model(parameters, path):
    kind = helper.np_dtype_to_tensor_dtype(parameters["W1"].dtype)
    nodes = [helper.make_node("MatMul", ["x", "W1"], ["h1"]), helper.make_node("Add", ["h1", "b1"], ["h2"]),
             helper.make_node("Tanh", ["h2"], ["h3"]), helper.make_node("Gemm", ["h3", "W2", "b2"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", kind, ["batch", 6])],
                              [helper.make_tensor_value_info("y", kind, ["batch", 4])],
                              [numpy_helper.from_array(v, n) for n, v in parameters.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)


def forward_and_gradients(p, x, target):
    """Cross-entropy and its gradients, by hand."""
    h = np.tanh(x @ p["W1"] + p["b1"])
    y = h @ p["W2"] + p["b2"]
    e = np.exp(y - y.max(1, keepdims=True))
    probability = e / e.sum(1, keepdims=True)
    rows = np.arange(len(x))
    loss = -np.log(probability[rows, target]).mean()
    dy = probability.copy()
    dy[rows, target] -= 1
    dy /= len(x)
    dh = (dy @ p["W2"].T) * (1 - h * h)
    return loss, {"W1": x.T @ dh, "b1": dh.sum(0), "W2": h.T @ dy, "b2": dy.sum(0)}


def reference(optimizer, decay, clip):
    """The losses of all steps, in f64, by the formulas of torch.optim."""
    p = {n: v.astype(np.float64) for n, v in start(np.float32).items()}
    m, v = ({n: np.zeros_like(w) for n, w in p.items()} for _ in range(2))
    x, target = data(np.float32)
    losses = []
    for _ in range(EPOCHS):
        for at in range(0, SAMPLES, BATCH):
            loss, gradients = forward_and_gradients(p, x[at:at + BATCH].astype(np.float64), target[at:at + BATCH])
            losses.append(loss)
            t = len(losses)
            if clip:
                norm = np.sqrt(sum((g * g).sum() for g in gradients.values()))
                gradients = {n: g * min(1, clip / (norm + 1e-6)) for n, g in gradients.items()}
            for n, g in gradients.items():
                if optimizer == "adamw":
                    p[n] -= RATE * decay * p[n]
                else:
                    g = g + decay * p[n]
                if optimizer == "sgd":
                    p[n] -= RATE * g
                elif optimizer == "momentum":
                    m[n] = 0.9 * m[n] + g
                    p[n] -= RATE * m[n]
                else:
                    m[n] = 0.9 * m[n] + 0.1 * g
                    v[n] = 0.999 * v[n] + 0.001 * g * g
                    p[n] -= RATE * m[n] / (1 - 0.9**t) / (np.sqrt(v[n] / (1 - 0.999**t)) + 1e-8)
    return np.array(losses)


class ParityTest(unittest.TestCase):
    def check(self, optimizer, decay, clip, dtype=np.float64):
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
            x, target = data(np.float32)
            np.savez(os.path.join(folder, "data.npz"), x=x.astype(dtype), target=target)
            model({n: w.astype(dtype) for n, w in start(np.float32).items()}, os.path.join(folder, "model.onnx"))
            flags = ["--clip-norm", str(clip)] if clip else []
            done = subprocess.run(
                [DRIVER, "train", "model.onnx", "--data", "data.npz", "--loss", "cross_entropy", "--optimizer", optimizer,
                 "--lr", str(RATE), "--weight-decay", str(decay), "--epochs", str(EPOCHS), "--batch", str(BATCH), "--no-shuffle",
                 "--checkpoint", "run", "--out", "trained.onnx", *flags],
                cwd=folder, capture_output=True, text=True, env=dict(os.environ, HEADRACE_CACHE_DIR=os.path.join(folder, "cache")))
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            got = np.genfromtxt(os.path.join(folder, "run", "losses.csv"), delimiter=",", names=True)["loss"]
        want = reference(optimizer, decay, clip)
        self.assertEqual(len(got), len(want))
        np.testing.assert_allclose(got, want, rtol=1e-9 if dtype == np.float64 else 1e-4, atol=0)
        self.assertLess(want[-1], want[0])

    def test_sgd(self):
        self.check("sgd", 0, None)

    def test_momentum_with_weight_decay_and_clipping(self):
        self.check("momentum", 0.01, 0.5)

    def test_adam_with_weight_decay(self):
        self.check("adam", 0.01, None)

    def test_adamw_with_clipping(self):
        self.check("adamw", 0.1, 0.3)

    def test_adamw_in_f32(self):
        self.check("adamw", 0.1, 0.3, np.float32)

    def test_only_what_is_asked_for_is_trained(self):
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
            x, target = data(np.float32)
            np.savez(os.path.join(folder, "data.npz"), x=x, target=target)
            model(start(np.float32), os.path.join(folder, "model.onnx"))
            done = subprocess.run(
                [DRIVER, "train", "model.onnx", "--data", "data.npz", "--loss", "cross_entropy", "--lr", "0.1", "--epochs", "1",
                 "--batch", "11", "--only", "W*,b?", "--freeze", "W2", "--checkpoint", "run", "--out", "trained.onnx"],
                cwd=folder, capture_output=True, text=True, env=dict(os.environ, HEADRACE_CACHE_DIR=os.path.join(folder, "cache")))
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            trained = {t.name: numpy_helper.to_array(t) for t in onnx.load(os.path.join(folder, "trained.onnx")).graph.initializer}
        changed = {n for n, w in start(np.float32).items() if not np.array_equal(trained[n], w)}
        self.assertEqual(changed, {"W1", "b1", "b2"})
