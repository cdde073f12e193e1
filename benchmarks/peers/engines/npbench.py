"""NPBench's gradients: Headrace, and JAX in its two ways (benchmarks/npbench)."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.npbench import checks
from benchmarks.npbench.cases import CASES

from ..cases.folder import Folder
from .base import Call, Engine, NotApplicable


class Headrace(Engine):
    def start(self, threads: int) -> None:
        import headrace  # noqa: F401

    def load(self, case: Folder) -> Any:
        return CASES[case.key.name]

    def prepare(self, case: Folder, loaded: Any) -> Call:
        pull = checks.Gradients(loaded, "cpu", case.key.size).pull
        return Call(pull, lambda gradients, name: flat(gradients[case.wanted.index(name)]))


def flat(gradient: Any) -> np.ndarray:
    """Complex ones as pairs."""
    a = np.ascontiguousarray(gradient)
    return a.reshape(-1).view(np.float64) if a.dtype.kind == "c" else a


class Literal(Engine):
    """Statement by statement, loops as scans."""

    @staticmethod
    def kernels(of: Any) -> dict:
        return of.LITERAL

    def start(self, threads: int) -> None:
        import jax

        jax.config.update("jax_enable_x64", True)

    def load(self, case: Folder) -> Any:
        from benchmarks.npbench import jax_kernels, measure

        kernels = self.kernels(jax_kernels)
        if case.key.name not in kernels:
            raise NotApplicable("no such kernel")
        return measure.by_jax(checks.Seeds(CASES[case.key.name], case.key.size), kernels[case.key.name])

    def prepare(self, case: Folder, loaded: Any) -> Call:
        return Call(loaded, lambda gradients, name: flat(gradients[case.wanted.index(name)]))


class Idiomatic(Literal):
    """As one who knows JAX writes it, which may be the same program."""

    @staticmethod
    def kernels(of: Any) -> dict:
        return {**of.LITERAL, **of.IDIOMATIC}
