"""Gradients of whole networks beside PyTorch eager, in turns, in one run: every parameter and float input, batch 3, f32.

    ./bazelw run //benchmarks:gradients                 all networks of tests/models/torch_models.py, 2 threads
    ./bazelw run //benchmarks:gradients -- --filter resnet --threads 1 --json gradients.json

Ours is the compiled program that the pass `backward` makes, with parameters as inputs; eager is forward and backward.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings

import onnx

BATCH = 3


def export(module, inputs, names, path):
    """The network with its float parameters as inputs."""
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, inputs, path, dynamo=False, opset_version=17, input_names=names, output_names=["y"], do_constant_folding=False)
    model = onnx.load(path)
    graph = model.graph
    kept = []
    for t in graph.initializer:
        if t.data_type == onnx.TensorProto.FLOAT and t.dims:
            graph.input.append(onnx.helper.make_tensor_value_info(t.name, t.data_type, list(t.dims)))
        else:
            kept.append(t)
    del graph.initializer[:]
    graph.initializer.extend(kept)
    onnx.save(model, path)


class Ours:
    def __init__(self, headrace, folder, threads):
        self.headrace, self.program, self.threads = headrace, os.path.join(folder, "gradients.sdfg"), threads
        with open(self.program, "w") as f:
            f.write(self.call("opt", os.path.join(folder, "model.onnx"), "--pipeline", "backward{outputs=y, keep-outputs=false}"))

    def call(self, *arguments):
        p = subprocess.run([self.headrace, *arguments], capture_output=True, text=True)
        if p.returncode != 0:
            raise RuntimeError(p.stderr)
        return p.stdout

    def run(self, seconds):
        return json.loads(self.call("bench", self.program, "--threads", str(self.threads), "--seconds", str(seconds), "--json"))["median_seconds"]


class Eager:
    def __init__(self, module, inputs):
        self.module, self.inputs = module, inputs

    def step(self):
        self.module.zero_grad(set_to_none=True)
        inputs = [v.detach().requires_grad_() if v.is_floating_point() else v for v in self.inputs]
        self.module(*inputs).sum().backward()

    def run(self, seconds):
        self.step()
        times, end = [], time.perf_counter() + seconds
        while not times or time.perf_counter() < end:
            start = time.perf_counter()
            self.step()
            times.append(time.perf_counter() - start)
        return sorted(times)[len(times) // 2]


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("headrace", help=argparse.SUPPRESS)
    flags.add_argument("--filter", default="", help="only networks whose name has this text")
    flags.add_argument("--seconds", type=float, default=3, help="per turn")
    flags.add_argument("--turns", type=int, default=3)
    flags.add_argument("--threads", type=int, default=2, help="of either")
    flags.add_argument("--json", help="a file for the figures")
    arguments = flags.parse_args()
    try:
        import torch
    except ImportError:
        sys.exit(
            f"PyTorch is not installed for {sys.executable}.\n"
            "hint: HEADRACE_WITH_TORCH=1 ./bazelw run //benchmarks:gradients installs the pinned one (tools/requirements-torch.txt)."
        )
    from tests.models import torch_models

    torch.set_num_threads(arguments.threads)
    rows = []
    print(f"{'milliseconds':<20}{'ours':>9}{'eager':>9}{'eager / ours':>14}")
    for name in torch_models.NAMES:
        if arguments.filter.lower() not in name:
            continue
        module, make_inputs, names = torch_models.make(name, small=False)
        torch.manual_seed(1)
        inputs = make_inputs(BATCH)
        with tempfile.TemporaryDirectory() as folder:
            export(module, inputs, names, os.path.join(folder, "model.onnx"))
            ours, eager = Ours(os.path.abspath(arguments.headrace), folder, arguments.threads), Eager(module, inputs)
            turns = [(ours.run(arguments.seconds), eager.run(arguments.seconds)) for _ in range(arguments.turns)]
        a, b = (1e3 * sorted(t[i] for t in turns)[len(turns) // 2] for i in (0, 1))
        rows.append({"network": name, "ours_ms": a, "eager_ms": b, "ratio": b / a})
        print(f"{name:<20}{a:>9.2f}{b:>9.2f}{b / a:>14.2f}", flush=True)
    if arguments.json:
        path = os.path.join(os.environ.get("BUILD_WORKING_DIRECTORY", "."), arguments.json)
        with open(path, "w") as f:
            json.dump({"threads": arguments.threads, "torch": torch.__version__, "rows": rows}, f, indent=1)


if __name__ == "__main__":
    main()
