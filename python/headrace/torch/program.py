"""A lowered graph, compiled: called with torch tensors, without copies."""

from __future__ import annotations

from typing import Any, Sequence

import torch

from ..sdfg import Sdfg
from .lower import Lowered

TORCH_TYPES = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16, "bool": torch.bool,
          "u8": torch.uint8, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
          "c64": torch.complex64, "c128": torch.complex128}


def evaluate(size: int | str, symbols: dict[str, int]) -> int:
    """A size's text is an expression of Python, too."""
    return size if isinstance(size, int) else int(eval(size, {"__builtins__": {}, "max": max, "min": min}, symbols))  # noqa: S307


def bind(sources: dict[str, tuple[int, int | None]], args: Sequence[Any]) -> dict[str, int]:
    return {s: int(args[k]) if d is None else args[k].shape[d] for s, (k, d) in sources.items()}


class Runner:
    """Calls a compiled program; results are torch tensors on the CPU."""

    def __init__(self, sdfg: Sdfg, *, backend: str = "cpu", threads: int = 0, **debug: Any):
        """`debug`: `verify`, `dump_dir` and `keep_denormals` of Sdfg.compile."""
        self.sdfg = sdfg
        self.compiled = sdfg.compile(backend=backend, threads=threads, **debug)
        self.run = self.compiled.flat if backend == "cpu" and self.compiled.inputs else self._through_numpy
        #: called with the tensors one by one: nothing is between it and the program
        self.direct = self.compiled.direct if self.run == self.compiled.flat else None
        self.sizes = self.compiled._sizes

    def _through_numpy(self, args, out=None, sizes=None) -> tuple:
        made = self.compiled.flat([_dense(a) for a in args], None, sizes)
        results = []
        for k, (p, r) in enumerate(zip(self.compiled.outputs, made)):
            t = r
            if not isinstance(r, torch.Tensor):  # NumPy has no bfloat16 by itself
                t = torch.from_numpy((r if r.flags.writeable else r.copy()).view("uint16" if p.type == "bf16" else r.dtype))
                t = t.view(TORCH_TYPES[p.type])
            if out is not None and out[k] is not None:
                out[k].copy_(t)
                t = out[k]
            results.append(t)
        return tuple(results)


def _dense(a):
    return a.detach().contiguous() if isinstance(a, torch.Tensor) else a


class GraphProgram:
    """Called with a graph's arguments, in its order; gives the list of its results."""

    def __init__(self, lowered: Lowered, *, backend: str = "cpu", threads: int = 0, **debug: Any):
        self.lowered = lowered
        self.runner = Runner(Sdfg.parse(lowered.text), backend=backend, threads=threads, **debug) if lowered.results else None
        order = lowered.arguments
        untold = bool(self.runner and self.runner.sizes)  # by inputs: results may have sizes that these don't
        self._direct = not lowered.constants and not untold and all(
            o.kind == "program" and o.strides is None for o in lowered.outputs) and [
            o.what for o in lowered.outputs] == list(range(len(lowered.results)))
        self._pick = None if not self._direct else order
        self._run = self.runner.run if self.runner else None
        self._result_strides = [None] * len(lowered.results)
        self._result_shapes: list = [None] * len(lowered.results)
        self._result_types: list = [None] * len(lowered.results)
        if self.runner:
            for k, p in enumerate(self.runner.compiled.outputs):
                self._result_shapes[k], self._result_types[k] = p.shape, TORCH_TYPES[p.type]
        for o in lowered.outputs:
            if o.kind == "program" and o.strides is not None:
                self._result_strides[o.what] = o.strides
        self._needs_symbols = untold or any(s is not None for s in self._result_strides) or any(
            o.kind == "size" for o in lowered.outputs)
        self._placed = any(s is not None for s in self._result_strides)

    def __call__(self, *args: Any) -> list:
        if self._direct:
            return list(self._run([args[k] for k in self._pick]))
        symbols = bind(self.lowered.sources, args) if self._needs_symbols else {}
        made: Sequence = ()
        if self._run is not None:
            out = [self._empty(k, symbols) for k in range(len(self._result_strides))] if self._placed else None
            sizes = [symbols[s] for s in self.runner.sizes] or None
            made = self._run([*[args[k] for k in self.lowered.arguments], *self.lowered.constants], out, sizes)
        results = []
        for o in self.lowered.outputs:
            if o.kind == "program":
                results.append(made[o.what])
            elif o.kind == "argument":
                results.append(args[o.what])
            else:
                results.append(evaluate(o.what, symbols) if o.kind == "size" else o.what)
        return results

    def _empty(self, k: int, symbols: dict[str, int]):
        """Memory for a result that torch lays out in another way than row-major."""
        if self._result_strides[k] is None:
            return None
        shape = [evaluate(s, symbols) for s in self._result_shapes[k]]
        return torch.empty_strided(shape, [evaluate(s, symbols) for s in self._result_strides[k]], dtype=self._result_types[k])
