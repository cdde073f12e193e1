"""torch's own samples of its operators (OpInfo) through torch.compile(backend="headrace"), forward and backward, against eager.

    python torch_opinfo.py --out results.jsonl [--only add,cat] [--samples 3] [--minutes 110] [--backend interpreter]

prints a table: for each operator compiled (no part ran eagerly), fallback (right, with parts that ran eagerly), refused (no graph
was made, or torch itself refuses), wrong. Results go to a file, line by line: a second run goes on where the first one ended.
Exits with 1 where something is wrong.
"""

import argparse
import collections
import json
import logging
import os
import sys
import time
import warnings

sys.path.insert(0, os.path.join(os.getcwd(), "python", "package"))
warnings.filterwarnings("ignore")

import types  # noqa: E402
import unittest  # noqa: E402

# torch's test utilities derive their TestCase from this package's; the samples need neither.
sys.modules.setdefault("expecttest", types.SimpleNamespace(TestCase=unittest.TestCase))

import torch  # noqa: E402
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402
from torch.utils import _pytree as pytree  # noqa: E402

import headrace  # noqa: E402
import headrace.torch  # noqa: E402, F401: registers the backend

# Results that are memory nobody wrote, or random numbers that the eager operator draws in another order.
UNDEFINED = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"}


def tensors(tree):
    return [t for t in pytree.tree_leaves(tree) if isinstance(t, torch.Tensor)]


def copied(tree, gradients):
    def copy(t):
        if not isinstance(t, torch.Tensor):
            return t
        c = t.detach().clone(memory_format=torch.preserve_format)
        return c.requires_grad_(gradients and t.requires_grad)

    return pytree.tree_map(copy, tree)


def run(function, op, sample, gradients):
    """Results, and gradients of the tensors among the arguments."""
    args, kwargs = copied((sample.input, *sample.args), gradients), copied(sample.kwargs, gradients)
    torch.manual_seed(7)
    result = function(*args, **kwargs)
    if sample.output_process_fn_grad is not None and gradients:
        result = sample.output_process_fn_grad(result)
    outs = tensors(result)
    grads = []
    if gradients:
        smooth = [t for t in outs if t.requires_grad]
        leaves = [t for t in tensors((args, kwargs)) if t.requires_grad]
        if smooth and leaves:
            torch.manual_seed(8)
            grads = torch.autograd.grad(smooth, leaves, [torch.randn_like(t) for t in smooth], allow_unused=True)
    return outs, list(grads)


def compare(got, expected, dtype):
    rtol, atol = (1e-4, 1e-5) if dtype == torch.float32 else (1e-7, 1e-9)
    assert len(got) == len(expected), f"{len(got)} results, expected {len(expected)}"
    for a, b in zip(got, expected):
        if a is None or b is None:
            assert a is None and (b is None), "one gradient is None"
            continue
        torch.testing.assert_close(a, b, rtol=rtol, atol=atol, equal_nan=True, check_stride=False)


def one(op, sample, dtype, backend):
    """("compiled" | "fallback" | "refused" | "wrong", details) of one sample."""
    gradients = op.supports_autograd and dtype in (torch.float32, torch.float64)
    try:
        expected = run(op.op, op, sample, gradients)
    except Exception as e:  # noqa: BLE001: torch refuses the sample's gradient
        try:
            gradients = False
            expected = run(op.op, op, sample, False)
        except Exception:  # noqa: BLE001
            return "refused", f"eager: {e}"
    torch._dynamo.reset()
    headrace.reset_counters()
    compiled = torch.compile(lambda *a, **k: op.op(*a, **k), backend="headrace", options={"backend": backend}, dynamic=False)
    try:
        got = run(compiled, op, sample, gradients)
    except Exception as e:  # noqa: BLE001: every failure is a line of the table
        return "wrong", f"{type(e).__name__}: {e}"[:600]
    counters = headrace.counters()
    try:
        if op.name not in UNDEFINED:
            compare(got[0], expected[0], dtype)
            compare(got[1], expected[1], dtype)
    except AssertionError as e:
        return "wrong", str(e)[:600]
    fallback = counters.get("torch.fallback")
    if fallback:
        return "fallback", ", ".join(sorted(fallback))
    return ("compiled", "") if counters.get("torch.compile", {}).get("programs") else ("refused", "no program was made")


def operator(op, samples, backend):
    worst, details = None, ""
    order = ["compiled", "fallback", "refused", "wrong"]
    for dtype, most in ((torch.float32, samples), (torch.float64, 1)):
        if dtype not in op.dtypes:
            continue
        for n, sample in enumerate(op.sample_inputs("cpu", dtype, requires_grad=op.supports_autograd)):
            if n == most:
                break
            what, why = one(op, sample, dtype, backend)
            if worst is None or order.index(what) > order.index(worst):
                worst, details = what, why
    return (worst, details) if worst else ("refused", "no samples in f32 and f64")


def main(arguments=None):
    p = argparse.ArgumentParser()
    p.add_argument("--out", required=True)
    p.add_argument("--only", default="")
    p.add_argument("--samples", type=int, default=3)
    p.add_argument("--minutes", type=float, default=110)
    p.add_argument("--backend", default="cpu")
    p.add_argument("--part", default="0/1", help="k/n: every n-th operator from the k-th")
    o = p.parse_args(arguments)
    known = {}
    if os.path.exists(o.out):
        for line in open(o.out, encoding="utf-8"):
            r = json.loads(line)
            known[r["name"]] = r
    end = time.time() + 60 * o.minutes
    only = set(filter(None, o.only.split(",")))
    k, n = map(int, o.part.split("/"))
    torch._logging.set_logs(dynamo=logging.ERROR)  # it tells at length of each graph that ends early
    with open(o.out, "a", encoding="utf-8") as out:
        for op in op_db[k::n]:
            name = op.name + ("." + op.variant_test_name if op.variant_test_name else "")
            if (only and op.name not in only) or name in known or time.time() > end:
                continue
            what, why = operator(op, o.samples, o.backend)
            known[name] = {"name": name, "result": what, "why": why}
            out.write(json.dumps(known[name]) + "\n")
            out.flush()
    for r in sorted(known.values(), key=lambda r: (r["result"], r["name"])):
        print(f"{r['result']:9} {r['name']:50} {r['why'][:150].splitlines()[0] if r['why'] else ''}")
    totals = collections.Counter(r["result"] for r in known.values())
    print(dict(totals), "of", len(op_db))
    return 1 if totals["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
