"""Steps per second of `headrace train` beside PyTorch eager, in turns, in one run.

    ./bazelw run //benchmarks:training                 both networks, each optimizer of interest, 2 threads
    ./bazelw run //benchmarks:training -- --filter mlp --steps 2000 --json train.json

Ours is what a user gets: batches gathered from the data, loss curves written, all but compiling. Eager is the usual loop.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from examples import digits

BATCH = 64


class Task:
    """A network, its data, and the same in PyTorch."""

    def __init__(self, name, model, module, image, target, optimizer, rate):
        self.name, self.model, self.module = name, model, module
        self.image, self.target = image, target
        self.optimizer, self.rate = optimizer, rate


def mlp(seed):
    """784-512-10, and images of noise in the size of MNIST's."""
    random = np.random.default_rng(seed)
    values = {}
    for i, (outputs, inputs) in enumerate([(512, 784), (10, 512)], 1):
        bound = inputs**-0.5
        values[f"W{i}"] = random.uniform(-bound, bound, (outputs, inputs)).astype(np.float32)
        values[f"b{i}"] = random.uniform(-bound, bound, outputs).astype(np.float32)
    nodes = [
        helper.make_node("Gemm", ["image", "W1", "b1"], ["h"], transB=1),
        helper.make_node("Relu", ["h"], ["a"]),
        helper.make_node("Gemm", ["a", "W2", "b2"], ["scores"], transB=1),
    ]
    graph = helper.make_graph(
        nodes, "mlp",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 784])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["batch", 10])],
        [numpy_helper.from_array(v, k) for k, v in values.items()])  # fmt: skip
    image = random.uniform(0, 1, (64 * BATCH, 784)).astype(np.float32)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), image, random.integers(0, 10, len(image))


def tasks():
    import torch
    from torch import nn

    def values_of(model):
        return {t.name: torch.from_numpy(numpy_helper.to_array(t).copy()) for t in model.graph.initializer}

    model, image, target = mlp(0)
    for optimizer, rate in [("sgd", 0.1), ("adam", 1e-3)]:
        net = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10))
        with torch.no_grad():
            for p, name in zip(net.parameters(), ["W1", "b1", "W2", "b2"]):
                p.copy_(values_of(model)[name])
        yield Task("mlp 784-512-10, " + optimizer, model, net, image, target, optimizer, rate)

    def convolution(i, o):
        return [nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(), nn.MaxPool2d(2)]

    image, target = digits.images()
    image, target = image[: 28 * BATCH], target[: 28 * BATCH]
    for optimizer, rate in [("sgd", 0.1), ("adamw", 3e-3)]:
        net = nn.Sequential(*convolution(1, 24), *convolution(24, 48), nn.Flatten(), nn.Dropout(0.4), nn.Linear(192, 128), nn.ReLU(), nn.Linear(128, 10))
        yield Task("digits cnn, " + optimizer, digits.network(0), net, image, target, optimizer, rate)


def optimizer_of(task):
    import torch

    kinds = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
    extra = {} if task.optimizer == "sgd" else {"weight_decay": 0.0}
    return kinds[task.optimizer](task.module.parameters(), lr=task.rate, **extra)


class Eager:
    """The usual loop."""

    def __init__(self, task):
        import torch

        self.module, self.optimizer = task.module, optimizer_of(task)
        self.image, self.target = torch.from_numpy(task.image), torch.from_numpy(task.target)
        self.loss = torch.nn.CrossEntropyLoss()

    def run(self, steps, shuffle=True):
        """(steps per second, losses)"""
        import torch

        losses = []
        count = len(self.image) // BATCH
        start = time.perf_counter()
        for step in range(steps):
            if step % count == 0:
                order = torch.randperm(len(self.image)) if shuffle else torch.arange(len(self.image))
            chosen = order[step % count * BATCH : (step % count + 1) * BATCH]
            loss = self.loss(self.module(self.image[chosen]), self.target[chosen])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item())
        return steps / (time.perf_counter() - start), losses


class Ours:
    """headrace train, a process per turn."""

    def __init__(self, task, headrace, folder, threads):
        self.headrace, self.folder, self.task, self.threads, self.runs = headrace, folder, task, threads, 0
        onnx.save(task.model, os.path.join(folder, "model.onnx"))
        np.savez(os.path.join(folder, "data.npz"), image=task.image, target=task.target)

    def run(self, steps, *more):
        self.runs += 1
        checkpoint = os.path.join(self.folder, f"run{self.runs}")
        epochs = max(1, steps * BATCH // len(self.task.image))
        # Under `bazel run` headrace would look for its files where the user is.
        environment = {k: v for k, v in os.environ.items() if k != "BUILD_WORKING_DIRECTORY"}
        p = subprocess.run(
            [self.headrace, "train", "model.onnx", "--data", "data.npz", "--loss", "cross_entropy", "--optimizer", self.task.optimizer,
             "--lr", str(self.task.rate), "--epochs", str(epochs), "--batch", str(BATCH), "--every", "1000000", "--checkpoint", checkpoint,
             "--threads", str(self.threads), "--json", *more],
            cwd=self.folder, env=environment, capture_output=True, text=True)  # fmt: skip
        if p.returncode != 0:
            raise RuntimeError(p.stdout + p.stderr)
        with open(os.path.join(checkpoint, "losses.csv"), newline="") as f:
            losses = [float(row["loss"]) for row in csv.DictReader(f)]
        return json.loads(p.stdout)["samples_per_second"] / BATCH, losses


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("headrace", help=argparse.SUPPRESS)
    flags.add_argument("--filter", default="", help="only tasks whose name has this text")
    flags.add_argument("--steps", type=int, default=1000, help="per turn")
    flags.add_argument("--turns", type=int, default=3)
    flags.add_argument("--threads", type=int, default=2, help="of either")
    flags.add_argument("--json", help="a file for the figures")
    arguments = flags.parse_args()
    try:
        import torch
    except ImportError:
        sys.exit(
            f"PyTorch is not installed for {sys.executable}.\n"
            "hint: HEADRACE_WITH_TORCH=1 ./bazelw run //benchmarks:training installs the pinned one (tools/requirements-torch.txt)."
        )
    torch.set_num_threads(arguments.threads)
    rows, wrong = [], []
    print(f"{'steps per second':<28}{'ours':>9}{'eager':>9}{'ours / eager':>14}")
    for task in tasks():
        if arguments.filter.lower() not in task.name.lower():
            continue
        with tempfile.TemporaryDirectory() as folder:
            ours, eager = Ours(task, os.path.abspath(arguments.headrace), folder, arguments.threads), Eager(task)
            # The same samples in the same order give the same losses, where nothing is random.
            ours_first, eager_first = ours.run(1, "--no-shuffle")[1], eager.run(20, shuffle=False)[1]
            if "mlp" in task.name and not np.allclose(ours_first[:20], eager_first, rtol=1e-4):
                wrong.append(f"{task.name}: losses {ours_first[:20]} differ from eager's {eager_first}")
            speeds = [(ours.run(arguments.steps)[0], eager.run(arguments.steps)[0]) for _ in range(arguments.turns)]
        a, b = (float(np.median([s[i] for s in speeds])) for i in (0, 1))
        rows.append({"task": task.name, "ours": a, "eager": b, "ratio": a / b})
        print(f"{task.name:<28}{a:>9.0f}{b:>9.0f}{a / b:>14.2f}", flush=True)
    for line in wrong:
        print("error: " + line, file=sys.stderr)
    if arguments.json:
        path = os.path.join(os.environ.get("BUILD_WORKING_DIRECTORY", "."), arguments.json)
        with open(path, "w") as f:
            json.dump({"threads": arguments.threads, "torch": torch.__version__, "rows": rows}, f, indent=1)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
