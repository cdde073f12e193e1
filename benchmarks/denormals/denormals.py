"""What denormals cost, and what taking them for zero gives: programs that meet them, by default and with --keep-denormals, in turns.

    ./bazelw run //benchmarks:tiny_floats
    ./bazelw run //benchmarks:tiny_floats -- --threads 2 --turns 5

Inputs and weights are uniform in [-1, 1), as `headrace bench` makes them; the last row meets none and is there to compare with.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile

# A layer's attention without training: scores spread so far that softmax leaves denormals, which the product with V reads.
ATTENTION = """
sdfg attention(X: f32[512, 256], Wq: f32[256, 256], Wk: f32[256, 256], Wv: f32[256, 256], Y: f32[512, 256]) {
  transient Q: f32[512, 256]
  transient K: f32[512, 256]
  transient V: f32[512, 256]
  transient KT: f32[256, 512]
  transient L: f32[512, 512]
  transient M: f32[512, 512]
  transient P: f32[512, 512]
  state {
    onnx.MatMul(A = X, B = Wq) -> (Y = Q)
    onnx.MatMul(A = X, B = Wk) -> (Y = K)
    onnx.MatMul(A = X, B = Wv) -> (Y = V)
    onnx.Transpose{perm = [1, 0]}(data = K) -> (transposed = KT)
    onnx.MatMul(A = Q, B = KT) -> (Y = L)
    map i in 0:512, j in 0:512 { M[i, j] = L[i, j] * SCALE }
    onnx.Softmax{axis = -1}(input = M) -> (output = P)
    onnx.MatMul(A = P, B = V) -> (Y = Y)
  }
}
"""
# A state that dies out, and stays at its end.
DECAY = """
sdfg decay(X: f32[65536], Y: f32[65536]) {
  transient S: f32[65536]
  map i in 0:65536 { S[i] = X[i] }
  for t in 0:2000 { map i in 0:65536 { S[i] = S[i] * 0.9 } }
  map i in 0:65536 { Y[i] = S[i] }
}
"""
BACKWARD = "backward{outputs=Y, keep-outputs=false}"
PROGRAMS = [("attention", ATTENTION.replace("SCALE", "0.0625"), ""), ("attention backward", ATTENTION.replace("SCALE", "0.0625"), BACKWARD),
            ("decay", DECAY, ""), ("attention, small scores", ATTENTION.replace("SCALE", "0.001"), "")]


def call(*arguments):
    p = subprocess.run(arguments, capture_output=True, text=True)
    if p.returncode != 0:
        raise RuntimeError(p.stderr)
    return p.stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("headrace")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5)
    o = parser.parse_args()
    headrace = os.path.abspath(o.headrace)
    print(f"{'':26} default   kept     ratio (median of {o.turns} turns, {o.threads} threads)")
    with tempfile.TemporaryDirectory() as folder:
        for name, text, pipeline in PROGRAMS:
            path = os.path.join(folder, "program.sdfg")
            with open(path, "w") as f:
                f.write(text)
            if pipeline:
                text = call(headrace, "opt", path, "--pipeline", pipeline)
                with open(path, "w") as f:
                    f.write(text)

            def seconds(*option):
                return json.loads(call(headrace, "bench", path, "--threads", str(o.threads), "--seconds", str(o.seconds), "--json",
                                       *option))["median_seconds"]

            turns = [(seconds(), seconds("--keep-denormals")) for _ in range(o.turns)]
            ours, kept = (statistics.median(t[k] for t in turns) for k in (0, 1))
            ratio = statistics.median(b / a for a, b in turns)
            print(f"{name:26} {ours * 1e3:7.3f} {kept * 1e3:8.3f} ms {ratio:6.2f}", flush=True)


if __name__ == "__main__":
    main()
