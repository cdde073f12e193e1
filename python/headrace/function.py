"""What is called like a Python function, and compiled for the argument types of its calls."""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import warnings
import weakref
from typing import Any, Mapping

import numpy as np

from . import registrations
from .compiled import Compiled
from .frontend.calls import embed
from .frontend.constructs import has_elements
from .frontend.dispatch import hashable
from .frontend.source import content, surroundings_read
from .frontend.types import TYPES, Cell, Type, Weak
from .reports import Report, report_of
from .sdfg import Sdfg
from .translated import Translated
from .trees import is_tree, tree_of

_PYTHON_TYPES = {float: np.float64, int: np.int64, complex: np.complex128, bool: np.bool_}
_FLOAT, _COMPLEX = (Weak, Weak(np.float64)), (Weak, Weak(np.complex128))
_NUMBER_KEYS = {float: lambda x: _FLOAT, complex: lambda x: _COMPLEX, int: lambda x: (int, x), bool: lambda x: (bool, x)}  # as _made_key's


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
        self.__setstate__({})

    def __setstate__(self, state: dict[str, Any]) -> None:
        """What its calls leave is not there yet."""
        vars(self).update(state)
        self._versions: dict[tuple, Translated] = {}
        self._keys: dict[tuple, tuple] = {}  # by element type and shape
        self._shown: dict[tuple, tuple[Translated, list]] = {}  # programs that the user has, with their parameters then
        self._made: dict[tuple, Any] = {}
        self._generation = registrations.generation
        self._lock = threading.Lock()
        self._bound: weakref.WeakValueDictionary[int, Bound] = weakref.WeakValueDictionary()

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k not in ("_versions", "_keys", "_shown", "_made", "_generation", "_lock", "_bound")}

    def __reduce_ex__(self, protocol):
        """As functions are pickled: by its name, where that means it."""
        meant: Any = sys.modules.get(self.__module__)
        for name in self.__qualname__.split("."):
            meant = getattr(meant, name, None)
        return self.__qualname__ if meant is self else super().__reduce_ex__(protocol)

    def __copy__(self) -> Function:
        """As functions are copied."""
        return self

    def __deepcopy__(self, memo: dict) -> Function:
        return self

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
        if type(value) in _NUMBER_KEYS:
            return _NUMBER_KEYS[type(value)](value)
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
        return type(t), t if hashable(t) else ByIdentity(t)

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
        if isinstance(value, (np.ma.MaskedArray, np.matrix)):  # their operators are not those of arrays
            hint = "its data and its mask" if isinstance(value, np.ma.MaskedArray) else "np.asarray(…) of it"
            raise TypeError(f"argument {name}: no program computes with a {type(value).__name__}: pass {hint}")
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
        if has_elements(value):
            raise TypeError(f"argument {name}: no program computes with a {type(value).__name__}: pass np.asarray(…) of it")
        if not hashable(value) and type(value).__module__ == "builtins":
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
