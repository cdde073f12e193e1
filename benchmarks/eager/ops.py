"""Operators one by one, compiled from their pure forms, beside PyTorch eager: both in this process, in turns.

    ./bazelw run //benchmarks:ops                          every operator at 4, 16 and 64 MiB
    ./bazelw run //benchmarks:ops -- --filter Softmax --sizes 16 --json ops.json
"""

import argparse
import ctypes
import json
import os
import sys
import time

import numpy as np

from benchmarks.eager import cases as ops


class Engine:
    """headrace, through engine.cc."""

    def __init__(self, path):
        self._c = ctypes.CDLL(path)
        self._c.bench_error.restype = ctypes.c_char_p
        self._c.bench_compile.restype = ctypes.c_void_p
        self._c.bench_output.restype = ctypes.c_int64
        self._c.bench_fma_peak.restype = ctypes.c_double
        self._check(self._c.bench_open())

    def _check(self, failed):
        if failed:
            raise RuntimeError(self._c.bench_error().decode())

    def fma_peak(self, threads):
        return self._c.bench_fma_peak(threads)

    def compile(self, case, backend, threads):
        handle = self._c.bench_compile(case.text().encode(), backend.encode(), threads)
        self._check(not handle)
        handle = ctypes.c_void_p(handle)
        for name, array in case.inputs.items():
            array = np.ascontiguousarray(array).reshape(array.shape)
            shape = (ctypes.c_int64 * max(1, array.ndim))(*array.shape)
            self._check(
                self._c.bench_input(handle, name.encode(), ops.DTYPES[array.dtype].encode(), array.ndim, shape, ctypes.c_void_p(array.ctypes.data))
            )
        return handle

    def run(self, handle):
        self._check(self._c.bench_run(handle))

    def output(self, handle):
        """Bytes of the last run's output."""
        data = ctypes.c_void_p()
        size = self._c.bench_output(handle, 0, ctypes.byref(data))
        return ctypes.string_at(data, size) if size else b""

    def free(self, handle):
        self._c.bench_free(handle)


def difference(case, ours, eager):
    """Largest difference over the largest value, NaN and infinities in the same places."""
    import torch

    theirs = eager.detach().contiguous()
    name = str(theirs.dtype)
    if name == "torch.bfloat16":
        a = torch.frombuffer(bytearray(ours), dtype=torch.bfloat16).to(torch.float64).numpy()
    else:
        a = np.frombuffer(ours, dtype=theirs.numpy().dtype).astype(np.float64)
    b = theirs.to(torch.float64).numpy().reshape(-1)
    if a.shape != b.shape:
        return float("inf")
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    if same.all():
        return 0.0
    return float(np.max(np.abs(a[~same] - b[~same])) / max(1e-30, np.max(np.abs(b[np.isfinite(b)]))))


def seconds(run, budget, rest):
    """Times of single runs for about `budget` seconds."""
    times = []
    end = time.perf_counter() + budget
    while time.perf_counter() < end or len(times) < 3:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    time.sleep(rest)  # the other library's threads stop spinning
    return times


def measure(engine, case, arguments):
    """Both, in turns: (ours, eager, difference)."""
    import torch

    tensors = [ops.tensor(a) for a in case.inputs.values()]
    handle = engine.compile(case, arguments.backend, arguments.threads)
    try:
        with torch.no_grad():
            engine.run(handle)
            wrong = difference(case, engine.output(handle), case.eager(*tensors))
            ours, eager = [], []
            slice_ = arguments.seconds / (2 * arguments.turns)
            for turn in range(arguments.turns):
                pair = [(ours, lambda: engine.run(handle)), (eager, lambda: case.eager(*tensors))]
                for times, run in pair if turn % 2 == 0 else reversed(pair):
                    run()
                    times += seconds(run, slice_, arguments.rest)
    finally:
        engine.free(handle)
    return float(np.median(ours)), float(np.median(eager)), wrong


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("engine", help=argparse.SUPPRESS)
    flags.add_argument("--filter", default="", help="only operators whose name has this text")
    flags.add_argument("--sizes", default="4,16,64", help="MiB of the first input, comma-separated")
    flags.add_argument("--threads", type=int, default=os.cpu_count(), help="of either")
    flags.add_argument("--backend", default="cpu")
    flags.add_argument("--seconds", type=float, default=0.6, help="measured per operator and size, half of it eager")
    flags.add_argument("--turns", type=int, default=4, help="how often the two alternate")
    flags.add_argument("--rest", type=float, default=0.003, help="seconds of quiet between turns")
    flags.add_argument("--json", help="a file for the figures")
    arguments = flags.parse_args()
    try:
        import torch
    except ImportError:
        sys.exit(
            f"PyTorch is not installed for {sys.executable}.\n"
            "hint: HEADRACE_WITH_TORCH=1 ./bazelw run //benchmarks:ops installs the pinned one (tools/requirements-torch.txt)."
        )
    torch.set_num_threads(arguments.threads)
    engine = Engine(arguments.engine)

    rows = []
    wrong = []
    print(f"{'operator':<28}{'MiB':>5}{'ours ms':>11}{'eager ms':>11}{'eager / ours':>14}")

    def show(case, mib):
        if arguments.filter.lower() not in case.name.lower():
            return
        try:
            ours, eager, off = measure(engine, case, arguments)
        except RuntimeError as e:
            wrong.append(f"{case.name}: {e}")
            print(f"{case.name:<28}{mib or '':>5}  failed", flush=True)
            return
        row = {"op": case.name, "group": case.group, "mib": mib, "ours_seconds": ours, "eager_seconds": eager, "ratio": eager / ours, "difference": off}
        note = ""
        if case.flops:
            # The same machine at the same time.
            peak = engine.fma_peak(arguments.threads)
            row.update(gflops=case.flops / ours / 1e9, eager_gflops=case.flops / eager / 1e9, peak_gflops=peak / 1e9)
            note = f"   {row['gflops']:.0f} GFLOP/s, {100 * case.flops / ours / peak:.0f} % of the peak of {peak / 1e9:.0f} (eager {row['eager_gflops']:.0f})"
        if not off <= case.tolerance:
            wrong.append(f"{case.name} at {mib} MiB differs from eager by {off:.2g} of the largest value")
            note += "   DIFFERS"
        rows.append(row)
        print(f"{case.name:<28}{mib or '':>5}{1e3 * ours:>11.3f}{1e3 * eager:>11.3f}{eager / ours:>14.2f}{note}", flush=True)

    for mib in [int(s) for s in arguments.sizes.split(",") if s]:
        for case in ops.cases(mib << 20):
            show(case, mib)
    for case in ops.contractions():
        show(case, None)

    below = [f"{r['op']} at {r['mib']} MiB: {r['ratio']:.2f}" for r in rows if r["mib"] and r["ratio"] < 0.5]
    ratios = sorted(r["ratio"] for r in rows if r["mib"])
    if ratios:
        print(f"\n{len(ratios)} measured: {sum(r >= 1 for r in ratios)} at least as fast as eager, {len(below)} below half; median ratio {ratios[len(ratios) // 2]:.2f}")
    for line in below:
        print("below half of eager's speed: " + line)
    for line in wrong:
        print("error: " + line, file=sys.stderr)
    if arguments.json:
        path = os.path.join(os.environ.get("BUILD_WORKING_DIRECTORY", "."), arguments.json)
        with open(path, "w") as f:
            json.dump({"threads": arguments.threads, "torch": torch.__version__, "rows": rows}, f, indent=1)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
