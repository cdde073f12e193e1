"""What more threads give: programs on 1, 2, 4 … threads, in turns, and how many times as fast each is as on one.

    ./bazelw run //benchmarks:speedup
    ./bazelw run //benchmarks:speedup -- --most 8 --turns 5 resnet50.onnx step.sdfg

Without files: programs of each kind that has a schedule of its own. Inputs are those of `headrace bench`; times are the least of all turns.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

CONVOLUTION = """
sdfg convolution(X: f32[8, 64, 56, 56], W: f32[64, 64, 3, 3], Y: f32[8, 64, 56, 56]) {
  state { onnx.Conv{pads = [1, 1, 1, 1], kernel_shape = [3, 3]}(X = X, W = W) -> (Y = Y) }
}
"""
PROGRAMS = {
    "product": """
sdfg product(A: f32[1024, 1024], B: f32[1024, 1024], Y: f32[1024, 1024]) { state { onnx.MatMul(A = A, B = B) -> (Y = Y) } }
""",
    "convolution": CONVOLUTION,
    "convolution backward": CONVOLUTION,
    "softmax": """
sdfg softmax(X: f32[4096, 1024], Y: f32[4096, 1024]) { state { onnx.Softmax{axis = -1}(input = X) -> (output = Y) } }
""",
    "elements": """
sdfg elements(X: f32[4194304], Y: f32[4194304]) { map i in 0:4194304 { Y[i] = X[i] * tanh(log(1 + exp(X[i]))) } }
""",
    "sum": """
sdfg total(X: f32[16777216], Y: f32) { Y = 0 ; map i in 0:16777216 { Y += X[i] } }
""",
    "stencil": """
sdfg stencil(X: f64[1000, 1000], Y: f64[1000, 1000]) {
  transient A: f64[1000, 1000]
  transient B: f64[1000, 1000]
  map i in 0:1000, j in 0:1000 { A[i, j] = X[i, j] }
  map i in 0:1000, j in 0:1000 { B[i, j] = X[i, j] }
  for t in 0:10 {
    map i in 1:999, j in 1:999 { B[i, j] = 0.2 * (A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j] + A[i - 1, j]) }
    map i in 1:999, j in 1:999 { A[i, j] = 0.2 * (B[i, j] + B[i, j - 1] + B[i, j + 1] + B[i + 1, j] + B[i - 1, j]) }
  }
  map i in 0:1000, j in 0:1000 { Y[i, j] = A[i, j] }
}
""",
}


def call(*arguments):
    p = subprocess.run(arguments, capture_output=True, text=True)
    if p.returncode != 0:
        sys.exit(p.stderr.strip())
    return p.stdout


def counts(most):
    """1, 2, 4 … and all of them."""
    out = [1]
    while 2 * out[-1] <= most:
        out.append(2 * out[-1])
    return out if out[-1] == most else [*out, most]


def write(folder, headrace):
    """The programs above as files."""
    for name, text in PROGRAMS.items():
        path = os.path.join(folder, name.replace(" ", "_") + ".sdfg")
        with open(path, "w") as f:
            f.write(text)
        if name.endswith("backward"):
            text = call(headrace, "opt", path, "--pipeline", "backward{outputs=Y, keep-outputs=false}")
            with open(path, "w") as f:
                f.write(text)
        yield name, path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("headrace")
    parser.add_argument("files", nargs="*", help="models and IR text; none: the programs of this file")
    parser.add_argument("--most", type=int, default=len(os.sched_getaffinity(0)), help="threads; all by default")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5, help="of one measurement")
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=N", help="as of `headrace bench`")
    o = parser.parse_intermixed_args()
    headrace, threads = os.path.abspath(o.headrace), counts(o.most)
    dims = [word for d in o.dim for word in ("--dim", d)]
    print(f"{'times as fast as on one thread':28}{'1 thread':>12}" + "".join(f"{n:>8}" for n in threads[1:]))
    with tempfile.TemporaryDirectory() as folder:
        where = os.environ.get("BUILD_WORKING_DIRECTORY", ".")
        programs = [(os.path.basename(f), os.path.join(where, f)) for f in o.files] or write(folder, headrace)
        for name, path in programs:
            least = {}
            for _ in range(o.turns):
                for n in threads:
                    report = json.loads(call(headrace, "bench", path, "--threads", str(n), "--seconds", str(o.seconds), "--json", *dims))
                    least[n] = min(least.get(n, report["min_seconds"]), report["min_seconds"])
            print(f"{name:28}{least[1] * 1e3:9.3f} ms" + "".join(f"{least[1] / least[n]:8.2f}" for n in threads[1:]), flush=True)


if __name__ == "__main__":
    main()
