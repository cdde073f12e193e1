"""torch's own samples of its operators (OpInfo) through torch.compile(backend="headrace"), forward and backward, against eager.

    python torch_opinfo.py --out results.jsonl [--table table.md] [--only add,cat] [--samples 3] [--minutes 110] [--backend interpreter]
                            [--dtype bfloat16]

prints a table: for each operator compiled (no part ran eagerly), nothing (right: only views and random numbers, which torch makes),
fallback (right, with parts that ran eagerly: in the backend's graphs, or because Dynamo made no graph), refused (there is no sample,
or torch itself refuses it), wrong. An operator is what the worst of its samples is. Samples are those of f32 and one of f64;
where an operator has neither, one of another type; with --dtype, of that type alone. Results go to a file, line by line: a second run goes on where the first one
ended. Exits with 1 where something is wrong.
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
from torch._dynamo.utils import counters as dynamo_counters  # noqa: E402
from torch.testing._internal import common_methods_invocations  # noqa: E402
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402
from torch.utils import _pytree as pytree  # noqa: E402

import headrace  # noqa: E402
import headrace.torch  # noqa: E402, F401: registers the backend

ORDER = ["nothing", "compiled", "fallback", "refused", "wrong"]  # the worst comes last
NARROW = (torch.float32, torch.bfloat16, torch.float16)  # whose results may differ by what eager's own are wrong
OTHER_TYPES = (torch.int64, torch.complex64, torch.bool, torch.uint8, torch.bfloat16)

# Samples of random operators set the seed within what is compiled, which Dynamo can't follow; here it is set before every call.
common_methods_invocations.wrapper_set_seed = lambda op, *args, **kwargs: op(*args, **kwargs)

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
    rtol, atol = {torch.float64: (1e-7, 1e-9), torch.bfloat16: (2e-2, 1e-2), torch.float16: (2e-3, 1e-3)}.get(dtype, (1e-4, 1e-5))
    assert len(got) == len(expected), f"{len(got)} results, expected {len(expected)}"
    for a, b in zip(got, expected):
        if a is None or b is None:
            assert a is None and (b is None), "one gradient is None"
            continue
        torch.testing.assert_close(a, b, rtol=rtol, atol=atol, equal_nan=True, check_stride=False)


def as_near(op, sample, gradients, got, expected):
    """Whether results that differ from eager's are as near as those to the same in f64: both are only rounded."""
    def wide(t):
        if not isinstance(t, torch.Tensor) or t.dtype not in NARROW:
            return t
        return t.detach().double().requires_grad_(t.requires_grad)

    class Wide:
        input, args, kwargs = pytree.tree_map(wide, (sample.input, sample.args, sample.kwargs))
        output_process_fn_grad = staticmethod(sample.output_process_fn_grad) if sample.output_process_fn_grad else None

    gradient_of = torch.randn_like
    torch.randn_like = lambda t: gradient_of(t.float()).to(t.dtype)  # the same in both types
    try:
        exact = run(op.op, op, Wide, gradients)
    finally:
        torch.randn_like = gradient_of
    for a, b, x in zip(*[made[0] + made[1] for made in (got, expected, exact)]):
        if a is None or not a.numel():
            continue
        finite = x.isfinite()
        if not torch.equal(a.isfinite(), finite) or not (a - x)[finite].abs().max() <= 4 * (b - x)[finite].abs().max():
            return False
    return True


def one(op, sample, dtype, backend):
    """(one of ORDER, details) of one sample."""
    gradients = op.supports_autograd and (dtype.is_floating_point or dtype.is_complex)
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
    dynamo_counters.clear()
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
        if dtype not in NARROW or not as_near(op, sample, gradients, got, expected):
            return "wrong", str(e)[:600]
    fallback, ours = counters.get("torch.fallback"), counters.get("torch.compile", {})
    if fallback:
        return "fallback", ", ".join(sorted(fallback))
    if dynamo_counters["graph_break"] or not ours.get("calls of the backend"):
        reason = next(iter(dynamo_counters["graph_break"]), "nothing to trace").split(" Hint:")[0]
        return "fallback", "Dynamo: " + " ".join(reason.split())[:200]
    return ("compiled", "") if ours.get("programs") else ("nothing", "only views, constants or random numbers")


def operator(op, samples, backend, dtype=None):
    worst, details = None, ""
    kinds = [(t, n) for t, n in ((torch.float32, samples), (torch.float64, 1)) if t in op.dtypes]
    kinds = kinds or [(t, 1) for t in OTHER_TYPES if t in op.dtypes][:1]
    if dtype is not None:
        kinds = [(dtype, samples)] if dtype in op.dtypes else []
    for dtype, most in kinds:
        gradients = op.supports_autograd and (dtype.is_floating_point or dtype.is_complex)
        for n, sample in enumerate(op.sample_inputs("cpu", dtype, requires_grad=gradients)):
            if n == most:
                break
            what, why = one(op, sample, dtype, backend)
            if worst is None or ORDER.index(what) > ORDER.index(worst):
                worst, details = what, why
    return (worst, details) if worst else ("refused", "no samples")


def table(known):
    """Markdown, generated: one line for each operator, totals first."""
    totals = collections.Counter(r["result"] for r in known.values())
    lines = [f"# torch's OpInfo operators through torch.compile(backend=\"headrace\"): {len(known)}", "",
             ", ".join(f"{what} {totals[what]}" for what in ORDER), "", "| operator | result | details |", "|---|---|---|"]
    for r in sorted(known.values(), key=lambda r: r["name"]):
        why = " ".join(r["why"].split()).replace("|", "\\|")[:160]
        lines.append(f"| {r['name']} | {r['result']} | {why} |")
    return "\n".join(lines) + "\n"


def main(arguments=None):
    p = argparse.ArgumentParser()
    p.add_argument("--out", required=True)
    p.add_argument("--table", help="a Markdown file to write")
    p.add_argument("--only", default="")
    p.add_argument("--samples", type=int, default=3)
    p.add_argument("--minutes", type=float, default=110)
    p.add_argument("--backend", default="cpu")
    p.add_argument("--dtype", help="of the samples: bfloat16, float16, int32 …")
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
            what, why = operator(op, o.samples, o.backend, getattr(torch, o.dtype) if o.dtype else None)
            known[name] = {"name": name, "result": what, "why": why}
            out.write(json.dumps(known[name]) + "\n")
            out.flush()
    for r in sorted(known.values(), key=lambda r: (r["result"], r["name"])):
        print(f"{r['result']:9} {r['name']:50} {r['why'][:150].splitlines()[0] if r['why'] else ''}")
    if o.table:
        with open(o.table, "w", encoding="utf-8") as file:
            file.write(table(known))
    totals = collections.Counter(r["result"] for r in known.values())
    print(dict(totals), "of", len(op_db))
    return 1 if totals["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
