"""One kernel of the table, in a process of its own: python -m benchmarks.npbench.measure KERNEL --size S --backend cpu [--jax]
[--rounds 5]. What is known is written at once, a line of JSON each, so that it stays when the process is stopped."""

from __future__ import annotations

import argparse
import functools
import json
import time
from typing import Any, Callable

import headrace
import numpy as np

from . import checks
from .cases import CASES, SINGLE, Case


def say(**known: Any) -> None:
    print(json.dumps(known), flush=True)


def first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"


def in_turn(contenders: dict[str, Callable[[], Callable]], rounds: int, seconds: float = 20) -> dict[str, float]:
    """Milliseconds of the fastest call of each; they are called one after the other, round after round. Every call is made anew:
    kernels change their arguments."""
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    end = time.perf_counter() + seconds
    for make in contenders.values():
        make()()
    for _ in range(rounds):
        for name, make in contenders.items():
            call = make()
            start = time.perf_counter()
            call()
            taken[name].append(1e3 * (time.perf_counter() - start))
        if time.perf_counter() > end:
            break
    return {name: min(t) for name, t in taken.items()}


def forward(case: Case, options) -> None:
    checks.forward(case, options.backend, 1e-10, options.size)
    said = "as NumPy"
    if case.name in SINGLE:
        checks.forward(case, options.backend, 1e-5, options.size, np.float32)
        said += ", f32 too"
    say(forward=said)
    function = headrace.program(case.function, backend=options.backend)
    taken = in_turn({"numpy": lambda: functools.partial(checks.ran, case, case.arguments(options.size)),
                     "ours": lambda: functools.partial(function, *case.arguments(options.size))}, options.rounds)
    say(numpy_ms=taken["numpy"], ms=taken["ours"])


def by_jax(g: checks.Seeds, kernel: Callable) -> Callable[[], tuple]:
    """The same gradients as jit(grad(…)) of a JAX function."""
    import jax

    from .jax_kernels import COUNTED

    jax.config.update("jax_enable_x64", True)
    arguments = g.arguments()
    if g.case.name in COUNTED:
        kernel = functools.partial(kernel, steps=checks.ran(g.case, g.arguments())[-1])
    at = [g.case.names.index(n) for n in g.names]
    seeds = [jax.numpy.asarray(s) for s in g.seeds]

    def loss(values):
        full = list(arguments)
        for k, value in zip(at, values):
            full[k] = value
        outputs = kernel(*full)
        return sum(jax.numpy.sum(s * x).real for s, x in zip(seeds, outputs if isinstance(outputs, tuple) else (outputs, )))

    compiled = jax.jit(jax.grad(loss))
    values = [jax.numpy.asarray(arguments[k]) for k in at]
    return lambda: jax.block_until_ready(compiled(values))


def difference(ours: tuple, theirs: tuple) -> float:
    """The largest error of an element in parts of the largest element of its array."""
    worst = 0.0
    for a, b in zip(ours, theirs):
        a, b = np.asarray(a), np.asarray(b)
        worst = max(worst, float(np.max(np.abs(a - b), initial=0) / (np.max(np.abs(b), initial=0) or 1)))
    return worst


def jax_contenders(case: Case, g: checks.Gradients) -> dict[str, Callable[[], tuple]]:
    from . import jax_kernels

    kinds = (("literal", jax_kernels.LITERAL), ("idiomatic", jax_kernels.IDIOMATIC))
    return {kind: by_jax(g, kernels[case.name]) for kind, kernels in kinds if case.name in kernels}


def gradients(case: Case, options) -> None:
    g = checks.Gradients(case, options.backend, options.size)
    first, ours = g.pull(), g.pull()
    if difference(ours, first) > 1e-9:
        raise AssertionError("a second call gives other gradients")
    say(by=g.names)
    contenders = {"ours": g.pull}
    theirs = jax_contenders(case, g) if options.jax else {}
    error = 0.0
    for kind, call in theirs.items():
        try:
            error = max(error, difference(ours, call()))
            contenders[kind] = call
        except Exception as failure:  # JAX's own, such as no memory: the table says it
            say(**{kind: first_line(failure)})
    if len(contenders) > 1:
        say(error=error, against="JAX")
    else:
        slopes = [g.error_along(n, x, 1e-6) for n, x in zip(g.names, ours) if n not in case.steps]
        say(error=max(slopes), against="differences")
    say(times=in_turn({kind: lambda call=call: call for kind, call in contenders.items()}, options.rounds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernel", choices=list(CASES))
    parser.add_argument("--size", default="small", choices=("small", "S", "M"))
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--jax", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    case = CASES[options.kernel]
    try:
        forward(case, options)
    except Exception as failure:  # whatever it is, the table says it
        say(forward=first_line(failure))
    if case.reason:
        return say(none=case.reason)
    try:
        gradients(case, options)
    except Exception as failure:
        say(by=first_line(failure))


if __name__ == "__main__":
    main()
