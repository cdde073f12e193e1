"""DaCe: NPBench's NumPy programs as it takes them, with `dace.autodiff`."""

from __future__ import annotations

import importlib.util
import os
import tempfile
from typing import Any

import numpy as np

from benchmarks.npbench import checks
from benchmarks.npbench.cases import CASES

from ..cases.folder import Folder
from .base import Call, Engine, NotApplicable


class Dace(Engine):
    def start(self, threads: int) -> None:
        import dace  # noqa: F401

    def load(self, case: Folder) -> Any:
        return checks.Seeds(CASES[case.key.name], case.key.size)

    def prepare(self, case: Folder, loaded: Any) -> Call:
        from dace.autodiff import add_backward_pass

        wanted = loaded.names
        # A number has a gradient where it is an array of one element.
        given = {n: np.array([a], np.float64) if n in wanted and not isinstance(a, np.ndarray) else a
                 for n, a in zip(loaded.case.names, loaded.arguments())}  # fmt: skip
        if any(np.iscomplexobj(a) for a in [*given.values(), *loaded.seeds]):
            raise NotApplicable("complex numbers")
        given.update({f"seed{k}": s for k, s in enumerate(loaded.seeds)}, loss=np.zeros(1))
        sdfg = _program(loaded).to_sdfg(*given.values(), simplify=True)
        add_backward_pass(sdfg, outputs=["loss"], inputs=wanted)
        compiled = sdfg.compile()
        arrays = {n: np.copy(a) for n, a in given.items() if isinstance(a, np.ndarray)}
        numbers = {n: a for n, a in given.items() if n not in arrays and n in sdfg.arglist()}
        gradients = {n: np.zeros_like(given[n]) for n in wanted}

        def run():
            for n, a in arrays.items():  # the program changes them
                np.copyto(a, given[n])
            for g in gradients.values():
                g[...] = 0
            compiled(**arrays, **numbers, **{"gradient_" + n: g for n, g in gradients.items()}, gradient_loss=np.ones(1))
            return gradients

        return Call(run, lambda made, name: made[name])


def _program(seeds: checks.Seeds) -> Any:
    """The kernel and, behind it, the one number whose gradient DaCe takes. In a file, for DaCe reads sources."""
    kernel, names = seeds.case.function, seeds.case.names
    results = [f"r{k}" for k in range(1 + max((o for o in seeds.of if isinstance(o, int)), default=-1))]
    terms = " + ".join(f"np.sum(seed{k} * {o if isinstance(o, str) else results[o]})" for k, o in enumerate(seeds.of))
    numbers = {n for n, a in zip(names, seeds.arguments()) if n in seeds.names and not isinstance(a, np.ndarray)}
    given = ", ".join(f"{n}[0]" if n in numbers else n for n in names)
    call = f"{', '.join(results)}{' = ' if results else ''}kernel({given})"
    arguments = ", ".join([*names, *(f"seed{k}" for k in range(len(seeds.of))), "loss"])
    text = (f"import dace\nimport numpy as np\nfrom {kernel.__module__} import {kernel.__name__}\n\nkernel = dace.program({kernel.__name__})\n\n\n"
            f"@dace.program\ndef with_loss({arguments}):\n    {call}\n    loss[0] = {terms}\n")
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "with_loss.py")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    spec = importlib.util.spec_from_file_location("with_loss", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.with_loss
