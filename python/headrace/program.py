"""`@headrace.program`: numpy-style functions as programs."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
import inspect
import threading
import warnings
import weakref
from typing import Any, Callable, Mapping, Sequence, overload

import numpy as np

from . import registrations
from .compiled import Compiled
from .debug import as_numpy, check_verify, compare, copied, leaves_of
from .frontend.emitter import Emitter
from .frontend.errors import Retry
from .frontend.calls import embed
from .frontend.evaluate import Scope
from .frontend.lower import Lowering
from .frontend.sizes import Size, names_in
from .frontend.source import Read, Source, content, is_plain, surroundings_read
from .frontend.types import IR_NAMES, TYPES, Cell, Type, Weak
from .frontend.values import Array, Value, is_number, value_of
from .reports import Report, report_of
from .sdfg import Sdfg
from .trees import Tree, flat, has_parts, is_tree, mapped, tree_of

_PYTHON_TYPES = {float: np.float64, int: np.int64, complex: np.complex128, bool: np.bool_}


class Result:
    """One thing that a function returns: an argument as it is, or an output of the program. `weak`: a Python number."""

    def __init__(self, kind: str, name: str, weak: bool = False, dtype=None, shape: tuple = ()):
        self.kind, self.name, self.weak, self.dtype, self.shape = kind, name, weak, dtype, shape


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

    copies = False  # whether arguments that the program changes are copied before

    def call(self, given: dict[str, Any]):
        """Runs the compiled program on a call's arguments, and returns what the function would."""
        if self.trees:
            given = {**given, **flat(given)}
        inputs = [self.argument(name, updated, given) for name, updated in self._order]
        out = [given.get(name) for name in self._outputs] if given.keys() & self._outputs else None
        made = dict(zip(self._outputs, self.compiled.flat(inputs, out)))
        return self.pack([given[r.name] if r.kind == "argument" else _python_number(made[r.name], r) for r in self.results])

    def pack(self, values: list):
        """What the function returns, of its results one by one."""
        return _filled(self.structure, values)

    def argument(self, name: str, updated: bool, given: dict[str, Any]):
        return given[name]


def _filled(part, values: list):
    """`part` with these in its places. No closure that calls itself: that would hold every call's results until garbage is collected."""
    if isinstance(part, Place):
        return values[part.number]
    return mapped(lambda inner: _filled(inner, values), part) if has_parts(part) else part


def _python_number(value, result: Result):
    if result.shape or not isinstance(value, np.ndarray):
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
        names = {name: what.build(name, names.get) if isinstance(what, Tree) else names[name] for name, what in arguments.items()}
        try:
            evaluator = Lowering(self.emitter, Scope(source, dict(names)))
            result = evaluator.run(source.body) if body is None else body(evaluator, names)
        except Retry as nowhere:
            raise nowhere.located from None
        self.results: list[Result] = []
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
        if isinstance(r, Array) and r.whole and r.name in parameters:
            return Result("argument", parameters[r.name], False, r.dtype, r.shape)
        if not (isinstance(r, (Value, Size)) or is_number(r)):
            raise TypeError(f"a program returns arrays and numbers, not {getattr(r, 'what', type(r).__name__)}")
        v = value_of(r)
        v = Value(v.dtype, [self.emitter.alone(s) for s in v.shape], v.at, v.weak)  # a caller sees sizes, not how they come about
        target = Array(self.emitter.fresh("result"), v.dtype, v.shape)
        self.emitter.store(target, v)
        return Result("output", target.name, v.weak or (is_number(r) and not isinstance(r, np.generic)), v.dtype, v.shape)

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


class Function:
    """What is called like a Python function and compiled for each set of argument types that it meets."""

    def __init__(self, function, backend: str, threads: int):
        functools.update_wrapper(self, function, updated=())
        self._signature = inspect.signature(function)
        self._backend, self._threads = backend, threads
        self._debug: dict[str, Any] = dict(getattr(function, "_derived_debug", None) or getattr(function, "_debug", {}))
        self._declared = {name: _annotation(function, p.annotation) for name, p in self._signature.parameters.items()}
        self._names = list(self._signature.parameters)
        self._open = [name for name, declared in self._declared.items() if declared is None]
        self._versions: dict[tuple, Translated] = {}
        self._keys: dict[tuple, tuple] = {}  # by element type and shape
        self._shown: dict[tuple, tuple[Translated, list]] = {}  # programs that the user has, with their parameters then
        self._made: dict[tuple, Any] = {}
        self._generation = registrations.generation
        self._lock = threading.Lock()
        self._bound: weakref.WeakValueDictionary[int, Bound] = weakref.WeakValueDictionary()

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """In a class it is a method, as a function is; one and the same for an object, while somebody has it."""
        if instance is None:
            return self
        bound = self._bound.get(id(instance))
        if bound is None or bound.instance is not instance:
            bound = self._bound[id(instance)] = Bound(self, instance)
        return bound

    def derived(self, key: tuple, make):
        """What was made of this function before under this key, or make()."""
        with self._lock:
            if key not in self._made:
                self._made[key] = make()
            return self._made[key]

    def translate(self, types: dict[str, Any]) -> Translated:
        """`types`: by argument, a Type, or a Python object that the program is made for."""
        raise NotImplementedError

    # ---- calls ----
    def __call__(self, /, *args: Any, **named: Any) -> Any:
        given = self._bind(args, named)
        return self._version(given).call(given)

    def _bind(self, args, named) -> dict[str, Any]:
        if not named and len(args) == len(self._names):
            return dict(zip(self._names, args))
        bound = self._signature.bind(*args, **named)
        bound.apply_defaults()
        return bound.arguments

    def _version(self, given: dict[str, Any]) -> Translated:
        """The program for arguments of these types; annotated ones have theirs already."""
        if self._generation != registrations.generation:  # ops may mean something else now
            with self._lock:
                self._versions, self._shown, self._generation = {}, {}, registrations.generation
        key = self._key(given)
        found = self._versions.get(key)
        if found is not None and found.current():
            return found
        with self._lock:  # two threads compile the same program once
            found = self._versions.get(key)
            if found is None or not found.current():
                found = self._changed_by_user(key) or self._translate(given)
                found.compile(self._backend, self._threads, self._debug)
                self._versions[key] = found
            return found

    def _key(self, given: dict[str, Any]) -> tuple:
        return tuple([self._key_of(name, given[name]) for name in self._open])

    def _key_of(self, name: str, value) -> tuple:
        if type(value) is not np.ndarray:
            return self._made_key(name, value)
        kind = value.dtype, value.shape  # a type's name takes as long to find as a small program to run
        key = self._keys.get(kind)
        if key is None:
            key = self._keys[kind] = self._made_key(name, value)
        return key

    def _made_key(self, name: str, value) -> tuple:
        t = self._type_of(name, value)
        # 1, 1.0 and True are equal, and different constants
        return type(t), t if _hashable(t) else ByIdentity(t)

    def _translate(self, given: dict[str, Any]) -> Translated:
        with surroundings_read() as reads:
            found = self.translate({name: self._type_of(name, value) for name, value in given.items()})
        found.surroundings = list({(id(names), name): (names, name, value, content(value)) for names, name, value in reads}.values())
        return found

    def _changed_by_user(self, key: tuple) -> Translated | None:
        """What `sdfg_for` gave for these types, which is what is compiled, where it can still be called like the function."""
        found, parameters = self._shown.pop(key, (None, None))
        if found is not None and found.sdfg.parameters != parameters:
            warnings.warn(f"{self.__name__}: the parameters of its program were changed, so calls of the function use another one; "
                          "call the program (.sdfg) itself", stacklevel=4)
            return None
        return found

    def _type_of(self, name: str, value):
        declared = self._declared[name]
        if declared is not None:
            return declared
        if hasattr(value, "shape") and hasattr(value, "dtype"):
            dtype = str(value.dtype).removeprefix("torch.")
            if dtype not in TYPES and dtype != "bool":
                raise TypeError(f"argument {name}: no program computes with {value.dtype}")
            shape = tuple(int(s) for s in value.shape)
            return Type(dtype, shape) if shape or isinstance(value, np.generic) else Cell(dtype)
        if type(value) in (float, complex):
            return Weak(_PYTHON_TYPES[type(value)])
        if is_tree(value):
            return tree_of(value, lambda leaf: self._type_of(name, leaf))
        if not _hashable(value) and type(value).__module__ == "builtins":
            raise TypeError(f"argument {name}: a {type(value).__name__} can be no constant of a program: give a tuple or an array")
        return value

    # ---- what was compiled ----
    def compile_for(self, /, *args, **named) -> Compiled:
        """The compiled program for arguments like these; nothing is run."""
        return self._version(self._bind(args, named)).compiled

    def save(self, path: str, *args, **named) -> None:
        """Writes the program for arguments like these to `path` (.hrx): headrace.load reads it, and needs no compiler. Called
        with the arrays among the arguments, it returns the program's outputs: of a gradient, the gradients."""
        self.compile_for(*args, **named).save(path)

    def report(self, sizes: Mapping[str, int] | None = None) -> Report:
        """A dict, which notebooks show with memory over time. Of the program that was compiled last: which statements run in one
        loop (`fused`, by lines of the source), the libraries' functions that are called (`calls`), seconds and bytes (`compilation`).
        Of gradients also which arrays of the forward pass are `stored` and which `recomputed`, with bytes and reason; bytes at the
        peak; the solver's answer. `memory`: bytes of temporaries while each statement runs, at `sizes` ({"N": 1000}, where
        annotations left sizes open)."""
        if not self._versions:
            raise TypeError(f"{self.__name__} has not been called: nothing was compiled")
        newest = next(reversed(self._versions.values()))
        return report_of(newest.sdfg, self._backend, newest.compiled, getattr(newest, "plan", None), sizes)

    def _repr_html_(self) -> str | None:
        """The graph of the program that was compiled last, or of the annotated function, for notebooks."""
        if self._versions:
            return next(reversed(self._versions.values())).sdfg._repr_html_()
        try:
            return self.sdfg._repr_html_()
        except TypeError:  # sizes and types come with the first call
            return None

    # ---- inside of programs ----
    @property
    def base(self):
        """The Python function at the bottom: errors are shown in it."""
        return self.inner.base

    def inline(self, evaluator, args: list, named: dict):
        """A call in a program that is being translated; a call of a program of its own unless said otherwise."""
        return embed(evaluator.emitter, self, self._bind(args, named))

    # ---- programs as objects ----
    def sdfg_for(self, /, *args, **named) -> Sdfg:
        """The program for arguments like these; nothing is compiled. It may be changed before the first call, `f.sdfg_for(x).apply(…)`:
        that is then what is compiled, as long as it has the same parameters."""
        given = self._bind(args, named)
        key = self._key(given)
        with self._lock:
            found = self._versions.get(key) or self._shown.get(key, (None, None))[0]
            if found is None or not found.current():
                found = self._translate(given)
                self._shown[key] = found, found.sdfg.parameters
        return found.sdfg

    @property
    def sdfg(self) -> Sdfg:
        """The program, where every argument is annotated or has a default; it may be changed as that of `sdfg_for`."""
        missing = [n for n, p in self._signature.parameters.items() if self._declared[n] is None and p.default is p.empty]
        if missing:
            raise TypeError(f"{', '.join(missing)} have no annotation: use sdfg_for(…) with example arguments")
        return self.sdfg_for(**{n: None for n in self._declared if self._declared[n] is not None})


class ByIdentity:
    """Stands for an object that has no hash, in a key."""

    def __init__(self, value: Any):
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByIdentity) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


class Bound(Function):
    """A method of an object: the object is a constant of the program, and what the method reads of it is as of names around a function.
    An object has programs of its own, which live as long as the class."""

    def __init__(self, function: Function, instance: Any):
        super().__init__(function, function._backend, function._threads)
        self.inner, self.instance = function, instance
        self._first, *rest = self._names
        self.__signature__ = self._signature = self._signature.replace(parameters=[self._signature.parameters[n] for n in rest])
        self._declared = {name: function._declared[name] for name in rest}
        self._names, self._open = rest, [name for name in function._open if name != self._first]

    def __call__(self, /, *args: Any, **named: Any) -> Any:
        return self.inner(self.instance, *args, **named)

    def translate(self, types: dict[str, Any]) -> Translated:
        return self.inner.translate({self._first: self.instance, **types})

    def inline(self, evaluator, args: list, named: dict):
        function = getattr(self.inner, "__headrace_function__", None)
        given = [self.instance, *args]
        return self.inner.inline(evaluator, given, named) if function is None else evaluator.inline(function, given, named)

    def compile_for(self, /, *args, **named) -> Compiled:
        return self.inner.compile_for(self.instance, *args, **named)

    def sdfg_for(self, /, *args, **named) -> Sdfg:
        return self.inner.sdfg_for(self.instance, *args, **named)

    def report(self, sizes: Mapping[str, int] | None = None) -> Report:
        return self.inner.report(sizes)

    def _repr_html_(self) -> str | None:
        return self.inner._repr_html_()


class Program(Function):
    """A numpy-style function as a program.

    Arguments with annotations such as `headrace.float64[N, M]` have these types and any sizes; others are taken as the call
    gives them: arrays by type and shape, floats and complex numbers as numbers, everything else (integers, strings, functions)
    as constants of the program. Arrays are changed in place as by the function itself. A method of a class is one, too: numbers and
    functions that it reads of `self` are taken as they are at the call, arrays are to be arguments.
    """

    def __init__(self, function, *, backend: str = "cpu", threads: int = 0, verify: str | None = None, dump_dir: Any = None,
                 keep_denormals: bool = False):
        super().__init__(function, backend, threads)
        check_verify(verify, ("reference", "interpreter"))
        self._debug = {k: v for k, v in (("verify", verify), ("dump_dir", dump_dir), ("keep_denormals", keep_denormals or None))
                       if v is not None}
        self.__headrace_function__ = function
        for p in self._signature.parameters.values():
            if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
                raise TypeError("a program has no *args and **kwargs")

    @property
    def base(self):
        return self.__headrace_function__

    def translate(self, types: dict[str, Any]) -> Translation:
        return Translation(self.__headrace_function__, types)


class VerifiedProgram(Program):
    """With verify="reference": the function itself runs beside each call, by NumPy. What is derived of it (gradients) has no
    function to run, and is compared with the interpreter of its program as it stands."""

    def __init__(self, function, **options):
        super().__init__(function, **options)
        self._derived_debug = dict(self._debug)
        del self._debug["verify"]

    def __call__(self, /, *args, **named):
        theirs, theirs_named = as_numpy(copied((args, named)))
        expected = self.base(*theirs, **theirs_named)
        got = super().__call__(*args, **named)
        ours = self._signature.bind(*args, **named).arguments
        pairs = [*leaves_of("result", got, expected)]
        for name, other in self._signature.bind(*theirs, **theirs_named).arguments.items():
            pairs += leaves_of(name, ours[name], other)
        compare(self.__name__, "NumPy", pairs)
        return got


def _annotation(function, annotation):
    if isinstance(annotation, str):  # from __future__ import annotations
        scope = {**function.__globals__, **(inspect.getclosurevars(function).nonlocals if function.__closure__ else {})}
        try:
            annotation = eval(annotation, scope)  # noqa: S307: the function's own text
        except NameError:
            return None
    if isinstance(annotation, Type):
        return annotation
    if annotation in _PYTHON_TYPES and annotation is not bool:
        return Weak(_PYTHON_TYPES[annotation])
    return None


def _hashable(x) -> bool:
    try:
        hash(x)
    except TypeError:
        return False
    return True


@overload
def program(function: Callable[..., Any], *, backend: str = ..., threads: int = ..., verify: str | None = ..., dump_dir: Any = ...,
            keep_denormals: bool = ...) -> Program: ...


@overload
def program(*, backend: str = ..., threads: int = ..., verify: str | None = ..., dump_dir: Any = ...,
            keep_denormals: bool = ...) -> Callable[[Callable[..., Any]], Program]: ...


def program(function: Any = None, *, backend: str = "cpu", threads: int = 0, verify: str | None = None, dump_dir: Any = None,
            keep_denormals: bool = False) -> Any:
    """Makes a Program of a function; with options, `@headrace.program(backend="interpreter")`.

    `verify`: each call is run again, "reference": by NumPy, as the function itself; "interpreter": by the interpreter; MismatchError
    names the first result, or array that the function changes, which differs, with place, values and tolerance. `dump_dir`: the
    folder for program and sources, and `keep_denormals`: whether tiny floats are exact, as of `Sdfg.compile`. Gradients of the function have these options, too."""
    if function is None:
        return functools.partial(program, backend=backend, threads=threads, verify=verify, dump_dir=dump_dir,
                                 keep_denormals=keep_denormals)
    if not inspect.isfunction(function):
        raise TypeError(f"headrace.program takes a function that is written in Python, not {type(function).__name__}\n"
                        "  hint: def f(x): return …, which may call methods and partial functions of others")
    kind = VerifiedProgram if verify == "reference" else Program
    return kind(function, backend=backend, threads=threads, verify=verify, dump_dir=dump_dir, keep_denormals=keep_denormals)
