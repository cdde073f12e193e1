"""`@headrace.program`: numpy-style functions as programs."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, overload

from .debug import as_numpy, check_verify, compare, copied, leaves_of
from .function import Function
from .translated import Translation


class Program(Function):
    """A numpy-style function as a program.

    Arguments with annotations such as `headrace.float64[N, M]` have these types and any sizes; others are taken as the call
    gives them: arrays by type and shape, floats and complex numbers as numbers, everything else (integers, strings, functions)
    as constants of the program. Arrays are changed in place as by the function itself. A method of a class is one, too: numbers,
    functions and arrays of up to 4096 elements that it reads of `self` are taken as they are at the call, larger arrays are to be arguments.
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
    if inspect.ismethod(function):
        of_all = program(function.__func__, backend=backend, threads=threads, verify=verify, dump_dir=dump_dir, keep_denormals=keep_denormals)
        return of_all.__get__(function.__self__)
    if not inspect.isfunction(function):
        raise TypeError(f"headrace.program takes a function that is written in Python, not {type(function).__name__}\n"
                        "  hint: def f(x): return …, which may call methods and partial functions of others")
    kind = VerifiedProgram if verify == "reference" else Program
    return kind(function, backend=backend, threads=threads, verify=verify, dump_dir=dump_dir, keep_denormals=keep_denormals)
