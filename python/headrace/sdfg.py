"""Programs as objects."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Mapping, Sequence

from . import _core
from .compiled import Compiled, Parameter, compile_program, parse_report


class Sdfg:
    """A program: a dataflow graph that can be read, changed, differentiated, compiled and called.

        program = headrace.Sdfg.parse('''
            sdfg scale(X: f32[N], Y: f32[N]) { state { map i in 0:N { Y[i] = 2 * X[i] } } }
        ''')
        program(numpy.float32([1, 2]))
    """

    def __init__(self, program):
        self._program = program
        self._compiled: Compiled | None = None

    # ---- where programs come from ----
    @classmethod
    def parse(cls, text: str, file: str = "<text>") -> Sdfg:
        """From IR text (docs/notation.md) or JSON; errors have line and caret."""
        return cls(_core.parse(text, file))

    @classmethod
    def load(cls, path: str | os.PathLike) -> Sdfg:
        """From a file of IR text or JSON, or a model that an importer reads."""
        return cls(_core.load_model(os.fspath(path)).program())

    def save(self, path: str | os.PathLike) -> None:
        """As IR text, as JSON where the path ends in .json, compiled where it ends in .hrx."""
        path = os.fspath(path)
        if path.endswith(".hrx"):
            self.compile().save(path)
            return
        text = self._program.json() if path.endswith(".json") else self.text
        temporary = f"{path}.{os.getpid()}"
        with open(temporary, "w", encoding="utf-8") as out:
            out.write(text)
        os.replace(temporary, path)

    def copy(self) -> Sdfg:
        """Another program with the same text and constants."""
        return Sdfg(self._program.copy())

    __copy__ = copy

    def __deepcopy__(self, memo) -> Sdfg:
        return self.copy()

    # ---- what they are ----
    @property
    def text(self) -> str:
        """The IR text, which reads back as the same program."""
        return self._program.text()

    @property
    def name(self) -> str:
        """Of the program's entry."""
        return self._program.name()

    def json(self) -> dict:
        """States, maps, tasklets, library nodes, memlets, edges and origins, as docs of the command's --json describe."""
        return json.loads(self._program.json())

    @property
    def parameters(self) -> list[Parameter]:
        """Arguments and results, in order: each has name, type, shape, direction and whether it may be left out."""
        return [Parameter(*p) for p in self._program.parameters()]

    @property
    def symbols(self) -> list[str]:
        """Sizes that a call binds."""
        return self._program.symbols()

    @property
    def constants(self) -> list[str]:
        """Names of the arrays whose values are part of the program."""
        return self._program.constants()

    def constant(self, name: str):
        """The value of a constant, as a new array."""
        return self._program.constant(name)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<headrace.Sdfg {self.name}({', '.join(map(repr, self.parameters))})>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sdfg) and self.text == other.text

    __hash__ = None  # it can be changed

    # ---- changing them ----
    def validate(self) -> None:
        """Raises what the verifier finds, all of it."""
        self._program.verify()

    def apply(self, pipeline: str) -> Sdfg:
        """Runs passes, "simplify; fuse-maps{max=8}", on this program; returns it."""
        self._program.apply(pipeline)
        self._compiled = None
        return self

    def simplify(self) -> Sdfg:
        """Removes what has no effect and joins what can be one; returns the program."""
        return self.apply("simplify")

    def expand_library_nodes(self) -> Sdfg:
        """Replaces every library node by what implements it: maps, tasklets and calls; returns the program."""
        return self.apply("expand-library-nodes")

    def lowered(self, backend: str = "cpu") -> Sdfg:
        """What the backend is given, as a program of its own."""
        return Sdfg(self._program.lower(backend))

    def gradient(self, outputs: Sequence[str], inputs: Sequence[str], *, given: Sequence[str] = (),
                 keep_outputs: bool = False, sizes: Mapping[str, int] | None = None, memory_limit: int | None = None,
                 store: Sequence[str] = (), recompute: Sequence[str] = ()) -> Gradient:
        """The program of the gradients of the sum of `outputs` by `inputs`. Outputs in `given` take the gradient that
        arrives at them as a further argument. `memory_limit`: bytes of what is kept and recomputed, at `sizes`. `store` and
        `recompute` name arrays of the forward part that are kept, or computed again, whatever the planner thinks."""
        if store or recompute:
            return self._planned_gradient(outputs, inputs, given, keep_outputs, sizes or {}, memory_limit, store, recompute)
        program, of_inputs, of_outputs, report = _core.gradient(
            self._program, list(outputs), list(inputs), list(given), keep_outputs, list((sizes or {}).items()), memory_limit)
        return Gradient(Sdfg(program), dict(of_inputs), dict(of_outputs), parse_report(report))

    def _planned_gradient(self, outputs, inputs, given, keep_outputs, sizes, memory_limit, store, recompute) -> Gradient:
        """By the pass, where every array keeps its name until its fate is decided."""
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "report.json")
            options = {"outputs": outputs, "inputs": inputs, "given": given, "store": store, "recompute": recompute,
                       "sizes": [f"{n}={k}" for n, k in sizes.items()]}
            text = [f'{option} = "{", ".join(names)}"' for option, names in options.items() if names]
            text += [f"keep-outputs = {str(keep_outputs).lower()}", "fuse = false", f'report = "{report}"']
            if memory_limit is not None:
                text.append(f"memory-limit = {memory_limit}")
            program = self.copy().apply(f"backward{{{', '.join(text)}}}")
            with open(report, encoding="utf-8") as file:
                said = parse_report(file.read())
        return Gradient(program, dict(said["input_gradients"]), dict(said["output_gradients"]), said)

    # ---- running them ----
    def compile(self, *, backend: str = "cpu", optimize: str = "default", threads: int = 0,
                implementations: Mapping[str, str] | None = None) -> Compiled:
        """`threads`: 0 = all; `implementations`: {op or node: name of an implementation}."""
        return compile_program(self._program, backend=backend, optimize=optimize, threads=threads,
                               implementations=implementations)

    def __call__(self, *args, **named):
        """Compiles at the first call."""
        if self._compiled is None:
            self._compiled = self.compile()
        return self._compiled(*args, **named)


class Gradient:
    """`program` with `input_gradients` {input: the output that holds its gradient} and `output_gradients` {given output: the
    input that takes its gradient}; `report` says what is kept and what is recomputed."""

    def __init__(self, program: Sdfg, input_gradients: dict[str, str], output_gradients: dict[str, str], report: dict):
        self.program, self.input_gradients, self.output_gradients, self.report = (
            program, input_gradients, output_gradients, report)
