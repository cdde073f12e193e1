"""A function made into a program for one set of argument types."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
from typing import Any, Mapping, Sequence

import numpy as np

from .compiled import Compiled
from .errors import OutOfRangeError
from .frontend.emitter import NUMBERS, Emitter
from .frontend.errors import Retry
from .frontend.lower import Lowering
from .frontend.scope import Scope
from .frontend.sizes import Size, names_in
from .frontend.source import Read, Source, content, is_plain
from .frontend.types import IR_NAMES, Cell, Type, Weak
from .frontend.values import Array, Value, constants_by, is_number, value_of
from .sdfg import Sdfg
from .trees import Tree, flat, has_parts, mapped


class Result:
    """One thing that a function returns: an argument as it is, or an output of the program. `weak`: a Python number; `cell`: an array
    without dimensions."""

    def __init__(self, kind: str, name: str, weak: bool = False, dtype=None, shape: tuple = (), cell: bool = False):
        self.kind, self.name, self.weak, self.dtype, self.shape, self.cell = kind, name, weak, dtype, shape, cell


@dataclasses.dataclass(frozen=True)
class Place:
    """Stands for the result of this number in the structure of what a function returns."""

    number: int


class Translated:
    """A program for one set of argument types, and how a call of the function meets it."""

    sdfg: Sdfg
    taken: list[str]       # arguments that are parameters of the program
    results: list[Result]
    several: bool          # whether the function returns a tuple, list or dict
    structure: Any         # what the function returns, with the number of a result (Place) for each
    trees = False          # whether arguments are dicts, lists or tuples of arrays
    compiled: Compiled

    surroundings: Sequence[Read] = ()  # names around the function that the program depends on

    def current(self) -> bool:
        """Whether they mean what they meant."""
        for names, name, value, held in self.surroundings:
            now = names.get(name)
            if (now is not value or is_plain(value)) and content(now) != held:
                return False
        return True

    def compile(self, backend: str, threads: int, debug: Mapping[str, Any]) -> None:
        self.compiled = self.sdfg.compile(backend=backend, threads=threads, **debug)
        self._outputs = [p.name for p in self.compiled.outputs if p.direction == "out"]
        self._order = [(p.name, p.direction == "inout") for p in self.compiled.inputs]
        # of each result: where the program gives it (None: an argument), by name, and whether it may be a number
        places = {name: k for k, name in enumerate(self._outputs)}
        self._picked = [(None if r.kind == "argument" else places[r.name], r, not (r.shape or r.cell)) for r in self.results]

    copies = False  # whether arguments that the program changes are copied before

    def call(self, given: dict[str, Any]):
        """Runs the compiled program on a call's arguments, and returns what the function would."""
        if self.trees:
            given = {**given, **flat(given)}
        inputs = [self.argument(name, updated, given) for name, updated in self._order]
        out = [given.get(name) for name in self._outputs] if given.keys() & self._outputs else None
        try:
            made = self.compiled.flat(inputs, out)
        except OutOfRangeError as error:
            raise _of_python(error) from None
        return self.pack([given[r.name] if k is None else _python_number(made[k], r) if number else made[k] for k, r, number in self._picked])

    def pack(self, values: list):
        """What the function returns, of its results one by one."""
        return _filled(self.structure, values)

    def argument(self, name: str, updated: bool, given: dict[str, Any]):
        return given[name]


def _of_python(error: OutOfRangeError) -> OutOfRangeError:
    """With a hint for those who write Python, where it was one for IR text."""
    text = str(error)
    for d in error.diagnostics:
        text = text.replace(d["hint"], _INSIDE) if d.get("hint") else text
    return OutOfRangeError(text, [{**d, "hint": _INSIDE} for d in error.diagnostics])


_INSIDE = "a condition around the statement leaves out what is not there, np.clip(i, 0, n - 1) keeps an index inside"


def _filled(part, values: list):
    """`part` with these in its places. No closure that calls itself: that would hold every call's results until garbage is collected."""
    if isinstance(part, Place):
        return values[part.number]
    return mapped(lambda inner: _filled(inner, values), part) if has_parts(part) else part


def _python_number(value, result: Result):
    if not isinstance(value, np.ndarray):
        return value
    return value.item() if result.weak else value[()]


class Translation(Translated):
    """A function, translated; or, with `body`, what body(evaluator, arguments by name) makes of it."""

    def __init__(self, function, arguments: dict[str, Any], body=None):
        """`arguments`: name → Type, Tree of Types, or a Python object that the program is made for."""
        source = Source.of(function)
        self.emitter = Emitter()
        called = function.__name__ if function.__name__.isidentifier() else "function"  # a lambda has no name
        self.emitter.program_names.add(called)
        self.taken: list[str] = []
        self.trees = any(isinstance(what, Tree) for what in arguments.values())
        declared: dict[str, tuple[Type, str]] = {}
        names: dict[str, Any] = {}
        leaves = [leaf for name, what in arguments.items()
                  for leaf in (what.leaves(name) if isinstance(what, Tree) else [(name, what)])]
        for name, what in leaves:
            if name in names:
                raise ValueError(f"two arguments would be called {name}")
            if not isinstance(what, Type):
                names[name] = what
                continue
            if name in NUMBERS:
                raise ValueError(f"an argument called {name}, which is a number in the text of programs: give it another name")
            container = self.emitter.reserve(name)
            for size in what.shape:
                for part in names_in(size):
                    self.emitter.reserve(part)
            names[name] = Array(container, what.dtype, what.shape, weak=getattr(what, "weak", False))
            names[name].in_place = isinstance(what, Cell)
            declared[name] = (what, container)
            self.taken.append(name)
            self.emitter.arguments.add(container)
        for name, (what, _) in declared.items():
            if not what.shape and what.dtype.kind in "iu":
                names[name] = self.emitter.size_of(names[name]) if isinstance(what, Weak) else self.emitter.counted(names[name])
        self.emitter.given = set(self.emitter.symbols)
        names = {name: what.build(name, names.get) if isinstance(what, Tree) else names[name] for name, what in arguments.items()}
        if hasattr(function, "__wrapped__") and body is None:  # a decorator's, with parameters of its own
            names = source.arguments(list(names.values()), {})
        self.results: list[Result] = []
        with constants_by(self.emitter.constant):
            try:
                evaluator = Lowering(self.emitter, Scope(source, dict(names)))
                result = evaluator.run(source.body) if body is None else body(evaluator, names)
            except Retry as nowhere:
                raise nowhere.located from None
            returns = [n for s in source.body for n in ast.walk(s) if isinstance(n, ast.Return)]
            with evaluator.at(returns[-1]) if returns and body is None else contextlib.nullcontext():
                self.structure = self._structure(result, {c: n for n, (_, c) in declared.items()})
        self.several = has_parts(self.structure)
        self.sdfg = Sdfg.parse(self._text(called, declared), f"<program {called}>")

    def _structure(self, returned, parameters: dict[str, str]):
        if returned is None:
            return None
        if has_parts(returned):
            return mapped(lambda part: self._structure(part, parameters), returned)
        self.results.append(self._result(returned, parameters))
        return Place(len(self.results) - 1)

    def _result(self, r, parameters: dict[str, str]) -> Result:
        r = value_of(r) if isinstance(r, np.ndarray) else r
        if isinstance(r, Array) and r.whole and r.name in parameters:
            return Result("argument", parameters[r.name], False, r.dtype, r.shape)
        if not (isinstance(r, (Value, Size)) or is_number(r)):
            raise TypeError(f"a program returns arrays and numbers, not {getattr(r, 'what', type(r).__name__)}")
        v = value_of(r)
        v = Value(v.dtype, [self.emitter.alone(s) for s in v.shape], v.at, v.weak)  # a caller sees sizes, not how they come about
        target = Array(self.emitter.fresh("result"), v.dtype, v.shape)
        self.emitter.store(target, v)
        return Result("output", target.name, v.weak or (is_number(r) and not isinstance(r, np.generic)), v.dtype, v.shape, value_of(r).in_place)

    def _text(self, name: str, declared) -> str:
        parameters = []
        for what, container in declared.values():
            marks = "inout " if container in self.emitter.written else ""
            parameters.append(f"{marks}{container}: {_declaration(what.dtype, what.shape)}")
        for r in self.results:
            if r.kind == "output":
                parameters.append(f"{r.name}: {_declaration(r.dtype, r.shape)}")
        return "\n".join([f"sdfg {name}({', '.join(parameters)}) {{\n{self.emitter.body()}\n}}\n", *self.emitter.programs])


def _declaration(dtype, shape) -> str:
    return IR_NAMES[np.dtype(dtype)] + (f"[{', '.join(map(str, shape))}]" if shape else "")
