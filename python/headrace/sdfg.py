"""Programs as objects."""

from __future__ import annotations

import difflib
import json
import os
import re
import warnings
from typing import TYPE_CHECKING, Any, Callable, Iterator, Mapping, NamedTuple, Sequence

import numpy as np

from . import _core, debug, registrations, walk
from .compiled import Compiled, Parameter, compile_program, load
from .errors import UsageError
from .pictures import program_html

if TYPE_CHECKING:
    from .custom.transformations import Match


class Sdfg:
    """A program: a dataflow graph that can be read, changed, differentiated, compiled and called.

        program = headrace.Sdfg.parse('''
            sdfg scale(X: f32[N], Y: f32[N]) { state { map i in 0:N { Y[i] = 2 * X[i] } } }
        ''')
        program(numpy.float32([1, 2]))
    """

    def __init__(self, program):
        self._program = program
        self._fixed = ""  # why it can't be changed any more
        self._compiled: Compiled | None = None
        self._generation = registrations.generation

    # ---- where programs come from ----
    @classmethod
    def parse(cls, text: str, file: str = "<text>") -> Sdfg:
        """From IR text (docs/notation.md) or JSON; errors have line and caret."""
        if not isinstance(text, str):
            raise TypeError(f"parse takes IR text, not {type(text).__name__}; Sdfg.load reads files")
        return cls(_core.parse(text, file))

    @classmethod
    def load(cls, path: str | os.PathLike) -> Sdfg | Compiled:
        """From a file of IR text or JSON, or a model that an importer reads. An artifact (.hrx) is code, not a program: it gives a
        `Compiled`, as `headrace.load` does, which has parameters and is called, and can't be looked at, changed or differentiated."""
        path = os.fspath(path)
        return load(path) if path.rstrip("/").endswith(".hrx") else cls(_core.load_model(path).program())

    def save(self, path: str | os.PathLike) -> None:
        """As IR text, as JSON where the path ends in .json, compiled where it ends in .hrx."""
        path = os.fspath(path)
        if path.endswith(".hrx"):
            self.compile().save(path)
            return
        text = self._program.json() if path.endswith(".json") else self.text
        if not os.path.isdir(folder := os.path.dirname(path) or "."):
            raise FileNotFoundError(f"{path}: there is no folder {folder}")
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

    def __reduce__(self) -> tuple:
        return Sdfg.parse, (self.text, f"<{self.name}>")

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

    def containers(self, sdfg: str | None = None) -> list[walk.Container]:
        """Arrays of the entry (or of the sdfg of that name): parameters first, then what is declared inside."""
        return walk.containers(self._json_of(sdfg), sdfg)

    def blocks(self, sdfg: str | None = None) -> list[walk.Block]:
        """The control flow of the entry (or of the sdfg of that name): states, loops, branches; iterating over one gives all that is
        inside."""
        return walk.blocks(self._json_of(sdfg), sdfg)

    def _json_of(self, sdfg: str | None) -> dict:
        program = self.json()
        names = [s["name"] for s in program["sdfgs"]]
        if sdfg is not None and sdfg not in names:
            raise UsageError(f"the program has no sdfg '{sdfg}'{_near(sdfg, names)}")
        return program

    def nodes(self, kind: str | None = None) -> Iterator[walk.Node]:
        """Every statement, those inside of maps after their map, of the entry and then of the programs it calls; `kind`: "tasklet",
        "map", "library" or "call" alone."""
        kinds = ("tasklet", "map", "library", "call")
        if kind is not None and kind not in kinds:
            raise UsageError(f"there are nodes of kind {', '.join(kinds)}, not {kind!r}")
        for block in walk.every_block(self.json()):
            for node in (inner for n in block.nodes for inner in n):
                if kind is None or node.kind == kind:
                    yield node

    def edges(self) -> Iterator[walk.Edge]:
        """The dataflow between the statements of each state: what depends on what, by which container."""
        for block in walk.every_block(self.json()):
            yield from block.edges

    def constant(self, name: str):
        """The value of a constant, as a new array. KeyError where there is none of this name."""
        if name not in self.constants:
            raise KeyError(f"the program has no constant '{name}'{_near(str(name), self.constants)}")
        return self._program.constant(name)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<headrace.Sdfg {self.name}({', '.join(map(repr, self.parameters))})>"

    def _repr_html_(self) -> str:
        """The graph as a picture, for notebooks; of large programs a part, which says how much is left out."""
        return program_html(self.json(), self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sdfg) and self.text == other.text

    __hash__ = None  # it can be changed

    # ---- changing them ----
    def fix(self, why: str) -> None:
        """From now on this object can't be changed, and says why; copies can."""
        self._fixed = why

    def _changes(self) -> None:
        if self._fixed:
            raise UsageError(f"{self.name} can't be changed any more: {self._fixed}")
        self._compiled = None

    def validate(self) -> None:
        """Raises what the verifier finds, all of it."""
        self._program.verify()

    def matches(self, *transformations: str, **options: Any) -> list[Match]:
        """Where single steps of these transformations (none: of all) can be taken, each on its own, without changing what the program
        computes: `program.apply(program.matches("fuse-maps")[0])`. `options` are those of the pass. UsageError for a name that has
        no single steps (`headrace.transformations()`)."""
        from .custom.transformations import matches

        return matches(self._program, transformations, options)

    def apply(self, pipeline: str | Match | Callable[[Sdfg], Any]) -> Sdfg:
        """Runs passes and single steps, "simplify; fuse-maps{max=8}; fuse-maps@#1+#3", a match, or a function such as
        `headrace.replace(…)`, on this program; returns it.
        The verifier runs after each pass: where one fails, InternalError names the folder that shows it (`.reproducer`). UsageError for
        a pass or option that there is not."""
        self._changes()
        if callable(pipeline):
            pipeline(self)
        elif pipeline is None or isinstance(pipeline, (list, tuple, dict)) and not hasattr(pipeline, "place"):
            raise TypeError(f"apply takes a text of passes, \"simplify; fuse\", a match or a function, not {pipeline!r}")
        else:
            self._program.apply(str(pipeline), debug.reproducer_folder())
        return self

    def parameter_to_transient(self, *names: str) -> Sdfg:
        """Outputs that the caller no longer gets; returns the program."""
        self._changes()
        self._program.run_pass("parameter-to-transient", [("names", " ".join(names))])
        return self

    def input_to_constant(self, **values: Any) -> Sdfg:
        """`input_to_constant(W=array)`: the values of these inputs become part of the program, which returns. Types are the
        inputs', and shapes are numbers; Python's numbers, and lists of them, become the input's type."""
        self._changes()
        changed, types = self._program.copy(), {p.name: p.type for p in self.parameters}
        for name, value in values.items():
            changed.input_to_constant(name, _literal(name, value, types.get(name)) if not hasattr(value, "dtype") else value)
        self._program = changed
        return self

    def constant_folding(self, max_bytes: int = 1 << 16) -> Sdfg:
        """Computes library nodes of constants now, where a result has at most `max_bytes`; returns the program. Random ops stay."""
        self._changes()
        self._program.run_pass("constant-folding", [("max-bytes", str(max_bytes))])
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
        `recompute` name arrays of the forward part that are kept, or computed again, whatever the planner thinks.

        Gradients have the types and shapes of their inputs, which are of floats or complex numbers. UsageError for a name that there
        is not and for an input that is not of floats, UnsupportedError for what has no gradient or does not fit the limit."""
        program, of_inputs, of_outputs, report = _core.gradient(
            self._program, names_of(outputs, "outputs"), names_of(inputs, "inputs"), names_of(given, "given"), keep_outputs, list((sizes or {}).items()),
            memory_limit, list(store), list(recompute))
        return Gradient(Sdfg(program), dict(of_inputs), dict(of_outputs), report)

    def separate_gradient(self, outputs: Sequence[str], inputs: Sequence[str], *, sizes: Mapping[str, int] | None = None,
                          memory_limit: int | None = None) -> tuple[Sdfg, Gradient]:
        """The same in two: a forward program, whose further results are what the backward one takes by the same names. The
        gradients of all `outputs` are arguments of the backward one."""
        forward, backward, of_inputs, of_outputs, report = _core.separate_gradient(
            self._program, names_of(outputs, "outputs"), names_of(inputs, "inputs"), list((sizes or {}).items()), memory_limit)
        return Sdfg(forward), Gradient(Sdfg(backward), dict(of_inputs), dict(of_outputs), report)

    def choices(self) -> list[Choice]:
        """Which implementation each library node gets, and why not others; as compiled without `implementations=`."""
        return [Choice(node, op, chosen, [Candidate(*c) for c in candidates])
                for node, op, chosen, candidates in _core.choices(self._program)]

    # ---- running them ----
    def compile(self, *, backend: str = "cpu", optimize: str = "default", threads: int = 0,
                implementations: Mapping[str, str] | None = None, verify: str | None = None,
                dump_dir: str | os.PathLike | None = None, keep_denormals: bool = False,
                plan: str | os.PathLike | None = None, autocast: str | None = None) -> Compiled:
        """`optimize`: "default", "none" (what the backend needs and no more) or the text of a pipeline. `threads`: 0 = all.
        `implementations`: {op or node ("*": all): name of an implementation}; for an op or node it must apply. `verify`:
        each call is also run by the interpreter, "reference": of the program as it stands, "interpreter": after the passes of
        `optimize="default"`, and MismatchError names the first output that differs, place, values and tolerance.
        `dump_dir`: a folder in which a folder with the program, what it was lowered to, and sources is left (headrace.set_dump_dir).
        `keep_denormals`: True computes exactly with floats below 1.2e-38, too, which kernels without f64 take for zero by default, since
        processors are many times slower with them. `plan`: what `headrace tune` has found, or the like by hand: a file, or its text
        (docs/tuning.md); a plan's line without effect on this program is a warning. `autocast`: "bf16" or "f16", what products and
        convolutions that are library nodes are computed in (docs/mixed_precision.md).

        Raises UsageError for a backend, pass, op or implementation that there is not, UnsupportedError for what the backend can't do
        or this machine lacks."""
        if not isinstance(threads, int) or threads < 0:
            raise UsageError(f"threads is a number of threads, 0 for all of the machine's, not {threads!r}")
        if not isinstance(optimize, str):
            raise TypeError(f"optimize is \"default\", \"none\" or a text of passes, not {optimize!r}")
        check_implementations(self, implementations or {})
        return compile_program(self._program, backend=backend, optimize=optimize, threads=threads,
                               implementations=implementations, verify=verify, dump_dir=dump_dir, keep_denormals=keep_denormals,
                               plan=plan_text(plan), autocast=autocast)

    def __call__(self, *args, **named):
        """Compiles at the first call."""
        if self._compiled is None or self._generation != registrations.generation:
            self._generation = registrations.generation
            self._compiled = self.compile()
        return self._compiled(*args, **named)

    def __headrace_lower__(self, emitter: Any, args: list, named: dict) -> Any:
        """Called by the translation of a program in place of __call__: a call of this program as it is now."""
        from .frontend.embedded import call_sdfg

        order = [p.name for p in self.parameters if p.direction != "out"]
        if len(args) > len(order):
            raise TypeError(f"{self.name} takes {len(order)} arrays ({', '.join(order)}), not {len(args)}")
        made = call_sdfg(emitter, self.name, self, {**dict(zip(order, args)), **named})
        return made[0] if len(made) == 1 else tuple(made)


class Candidate(NamedTuple):
    """An implementation: its name, who registered it, and why it does not apply ("" where it does)."""

    name: str
    plugin: str
    why_not: str


class Choice(NamedTuple):
    """A library node, by its name in the model or source; its op; the implementation that it gets ("": none applies); all of them."""

    node: str
    op: str
    chosen: str
    candidates: list[Candidate]


class Gradient:
    """`program` with `input_gradients` {input: the output that holds its gradient} and `output_gradients` {given output: the
    input that takes its gradient}; `report` says what is kept and what is recomputed."""

    def __init__(self, program: Sdfg, input_gradients: dict[str, str], output_gradients: dict[str, str], report: dict):
        self.program, self.input_gradients, self.output_gradients, self.report = (
            program, input_gradients, output_gradients, report)

    def _repr_html_(self) -> str:
        """The program's graph, for notebooks."""
        return self.program._repr_html_()


def names_of(given: Sequence[str], what: str) -> list[str]:
    if isinstance(given, str):
        raise TypeError(f"{what} is a list of names, not one name")
    return list(given)


def plan_text(plan: str | os.PathLike | None) -> str:
    """Of a file, or as it is given; without one, that of the environment."""
    if plan is None:
        plan = os.environ.get("HEADRACE_PLAN", "none")
        if plan in ("none", "auto"):
            return ""
    if isinstance(plan, str) and (not plan or re.match(r"\s*(#|without\s|implementation\s|threads\s|kernel\s)", plan)):
        return plan
    try:
        with open(plan, encoding="utf-8") as file:
            return file.read()
    except OSError as e:
        raise UsageError(f"plan is a plan's text or a file of `headrace tune`, not {plan!r}: {e.strerror}") from None


def check_implementations(program: Sdfg, wanted: Mapping[str, str]) -> None:
    """UsageError for an op, node or implementation that there is not; a warning for an op that this program lacks."""
    if not wanted:
        return
    by_op: dict[str, dict[str, None]] = {}
    for domain, name in dict.fromkeys((domain, name) for domain, name, _ in _core.op_versions()):
        for key in (name, f"{domain}.{name}"):
            by_op.setdefault(key, {}).update(dict.fromkeys(_core.op_implementations(domain, name)))
    every = {i for names in by_op.values() for i in names}
    nodes = list(program.nodes("library"))
    for where, name in wanted.items():
        meant = [n for n in nodes if where in ("*", n.op, n.op.rpartition(".")[2], n.origin)]
        known = every if where == "*" else by_op.get(where)
        if known is None and meant:
            known = {i for n in meant for i in _core.op_implementations(*n.op.rsplit(".", 1))}
        if known is None:
            raise UsageError(f"implementations: there is no op or node '{where}'" + _near(where, [*by_op, *(n.origin for n in nodes)]))
        if name not in known:
            raise UsageError(f"implementations: {'no op' if where == '*' else where} has {'an' if where == '*' else 'no'} implementation "
                             f"'{name}'" + _near(name, list(known)))
        if not meant:
            warnings.warn(f"implementations: the program has no {where}", stacklevel=4)


def _literal(name: str, value: Any, type_: str | None) -> np.ndarray:
    """Python's numbers as the array of an input of this type that they are."""
    from .onnx.signature import NUMPY_OF_IR

    given = np.asarray(value)
    try:
        dtype = np.dtype(NUMPY_OF_IR.get(type_ or "", given.dtype))
    except TypeError:  # NumPy has no such type
        return given
    made = given.astype(dtype) if np.can_cast(given.dtype, dtype, "same_kind") or given.dtype.kind in "iub" else given
    if made.dtype.kind in "iub" and not np.array_equal(made, given):
        raise TypeError(f"input '{name}' is {type_}, which {value!r} is not")
    return made


def _near(word: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(word, known, 1)
    return f"; did you mean '{close[0]}'?" if close else f"; there are {', '.join(sorted(set(known)))}" if len(known) < 20 else ""


def replace(pattern: Any, replacement: Any) -> Replacement:
    """A pass that puts `replacement` wherever a program's entry computes `pattern`:

        mish = headrace.replace('''sdfg p(X: f32[N], Y: f32[N]) {
          transient S: f32[N]
          transient T: f32[N]
          onnx.Softplus(X = X) -> (Y = S)
          onnx.Tanh(input = S) -> (output = T)
          onnx.Mul(A = X, B = T) -> (C = Y)
        }''', "sdfg fused(X: f32[N], Y: f32[N]) { map i in 0:N { Y[i] = X[i] * tanh(log1p(exp(X[i]))) } }")
        print(mish(program))            # how many there were; or program.apply(mish)

    Both are Sdfgs, IR texts or annotated @headrace.programs with the same parameters. The pattern is one state of library nodes:
    ops, ports, the attributes that it has, types and sizes that are numbers must agree, in the order of the pattern; its transients
    are read by nothing else. What is replaced becomes a call (`simplify` inlines it)."""
    return Replacement(_as_sdfg(pattern), _as_sdfg(replacement))


class Replacement:
    """Called with an Sdfg it changes that, and returns how often."""

    def __init__(self, pattern: Sdfg, replacement: Sdfg):
        self.pattern, self.replacement = pattern, replacement

    def __call__(self, program: Sdfg) -> int:
        program._changes()
        count = program._program.replace(self.pattern._program, self.replacement._program)
        return count


def _as_sdfg(given: Any) -> Sdfg:
    if isinstance(given, Sdfg):
        return given
    if isinstance(given, str):
        return Sdfg.parse(given)
    if hasattr(given, "sdfg"):
        return given.sdfg.copy().simplify()
    raise TypeError(f"takes an Sdfg, IR text or an annotated program, not {type(given).__name__}")
