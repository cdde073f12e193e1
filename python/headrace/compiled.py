"""Compiled programs: called with arrays by position or by name."""

from __future__ import annotations

import os
import sys
from typing import Any, Mapping, Sequence

from . import _core, debug
from .errors import InvalidError, UsageError


class Compiled:
    """A program that was compiled; calls are thread-safe.

    `f(x, y)` takes the inputs by position and `f(x=…, y=…)` by name: NumPy arrays, torch tensors, anything with the buffer
    protocol or DLPack; a Python number where a scalar is wanted. They are read where they lie. `inout` parameters are updated
    in place. One output is returned as it is, several as a tuple; they are torch tensors where the first argument is one.
    """

    def __init__(self, executable: Any, program: Any, names: Mapping[str, str] | None = None, reference: Compiled | None = None):
        """`reference`: gives what each call must give."""
        self._executable, self._reference = executable, reference
        self._origin: tuple[Any, dict[str, Any]] | None = None  # program and options
        self.what = "a compiled program"  # as whose results `verify=` says that others are not
        parameters = program.parameters()
        self.name: str = program.name()
        #: name, type, shape, direction and whether it may be left out, of each parameter
        self.parameters = [Parameter(*p) for p in parameters]
        self.inputs = [p for p in self.parameters if p.direction != "out"]
        self.outputs = [p for p in self.parameters if p.direction != "in"]
        self._sizes = executable.call_symbols() if executable.by_position() else _untold(program, self.inputs)
        if reference is not None:
            reference._sizes = self._sizes  # in one order
        self._given_names = {original: ours for ours, original in (names or {}).items()}
        self._order = [p.name for p in self.inputs]
        self._optional = {p.name for p in self.inputs if p.optional}
        self._by_position = executable.by_position() and not any(
            p.type == "string" or "(" in p.type for p in self.parameters)
        self._written = [p.name for p in self.parameters if p.direction == "out"]
        #: all inputs, one by one, give the tuple of all outputs; None where a call has more to do
        self.direct = executable if self._by_position and not self._sizes and reference is None else None

    def __call__(self, *args: Any, out: Sequence[Any] | None = None, **named: Any) -> Any:
        sizes = None
        if self._sizes:
            sizes = [self._size(named, s) for s in self._sizes]
        if named or len(args) < len(self._order):
            args = self._positional(args, named)
        if out is not None:
            self._check_out(out)
        results = self.flat(args, out, sizes)
        return results[0] if len(results) == 1 else results

    def flat(self, args: Sequence[Any], out: Sequence[Any] | None = None, sizes: Sequence[int] | None = None) -> tuple:
        """All inputs by position; a tuple of all outputs, of one, too."""
        if self._by_position and self._reference is None:
            return self._executable(*args, out=out, sizes=sizes)
        if self._reference is not None:
            return self._verified(self._reference, args, out, sizes)
        return self._run_by_name(args, out, sizes)

    def _verified(self, reference: Compiled, args: Sequence[Any], out: Sequence[Any] | None, sizes: Sequence[int] | None) -> tuple:
        theirs = debug.copied(list(args))
        expected = reference.flat(theirs, None, sizes)
        if self._by_position:
            results = self._executable(*args, out=out, sizes=sizes)
        else:
            results = self._run_by_name(args, out, sizes)
        changed = [(p.name, a, b) for p, a, b in zip(self.inputs, args, theirs) if p.direction == "inout"]
        debug.compare(self.name, reference.what, [*zip(self._written, results, expected), *changed])
        return results

    def _check_out(self, out: Any) -> None:
        if not isinstance(out, (list, tuple)) or len(out) != len(self._written):
            got = f"{len(out)} of them" if isinstance(out, (list, tuple)) else type(out).__name__
            raise TypeError(f"out takes a list of an array for each output ({', '.join(self._written) or 'there is none'}), "
                            f"None where one is to be made, not {got}")

    def _size(self, named: dict, symbol: str) -> int:
        try:
            return int(named.pop(symbol))
        except KeyError:
            raise TypeError(f"the size {symbol} is not told by any argument: give {symbol}=…") from None

    def _positional(self, args: tuple, named: dict) -> tuple:
        order = self._order
        if len(args) > len(order):
            raise TypeError(f"takes {len(order)} arrays ({', '.join(order)}), not {len(args)}")
        named = {self._given_names.get(k, k): v for k, v in named.items()}
        for name in named:
            if name not in order:
                raise TypeError(f"no argument named {name}; there are {', '.join(order) or 'none'}")
            if name in order[:len(args)]:
                raise TypeError(f"{name} is given twice")
        values = list(args)
        for name in order[len(args):]:
            if name not in named and name not in self._optional:
                raise TypeError(f"missing argument: {name}")
            values.append(named.get(name))
        return tuple(values)

    def _run_by_name(self, args: tuple, out: Sequence[Any] | None, sizes: list[int] | None) -> tuple:
        arguments = {name: value for name, value in zip(self._order, args) if value is not None}
        results = self._executable.run(arguments, list(zip(self._sizes, sizes or [])))
        kept = []
        first = args[0] if args else None
        for p, value in zip(self.outputs, results):
            value = _of_kind(value, first if p.direction == "out" else arguments[p.name])
            if p.direction == "out":
                kept.append(value)
            else:  # updated by the run: the caller's array takes the new value
                arguments[p.name][...] = value
        for k, given in enumerate(out or ()):
            if given is not None:
                given[...] = kept[k]
                kept[k] = given
        return tuple(kept)

    def __getattr__(self, name: str) -> Any:
        from .sdfg import Sdfg

        if not name.startswith("_") and hasattr(Sdfg, name):
            raise AttributeError(f"a compiled program is code, and has no '{name}': that is of the program (headrace.Sdfg) it was made "
                                 "from, which program.save(\"x.sdfg\") keeps")
        raise AttributeError(f"'Compiled' object has no attribute '{name}'")

    def __repr__(self) -> str:
        return f"<headrace.Compiled {self.name}({', '.join(map(repr, self.parameters))})>"

    def __copy__(self) -> Compiled:
        """Itself, as of functions: it is code."""
        return self

    def __deepcopy__(self, memo: dict) -> Compiled:
        return self

    def __reduce__(self) -> tuple:
        """Pickled as what it was compiled from, and compiled anew where it is read; the cache of compiled code makes that short."""
        if self._origin is None:
            raise TypeError("a compiled program that was loaded can't be pickled: pass the path on, and headrace.load(path) there")
        program, options = self._origin
        return _again, (program.text(), self.name, options)

    def save(self, path: str) -> None:
        """Writes an artifact (.hrx) that `headrace.load` and the command read without a compiler."""
        self._executable.save(path)

    @property
    def source(self) -> str:
        """The generated code; empty where there is none."""
        return self._executable.source()

    def report(self) -> dict[str, float]:
        """Seconds per phase of the compilation, bytes planned."""
        return dict(self._executable.report())


def _again(text: str, name: str, options: dict[str, Any]) -> Compiled:
    from .sdfg import Sdfg

    return compile_program(Sdfg.parse(text, f"<{name}>")._program, **options)


def _untold(program: Any, inputs: Sequence[Parameter]) -> list[str]:
    """The sizes that no input has as such, nor the program itself finds out."""
    told = {size for p in inputs for size in p.shape} | set(program.own_sizes())
    return [s for s in program.symbols() if s not in told]


def _of_kind(value: Any, example: Any) -> Any:
    """A NumPy array as a tensor where the example is one: the same memory."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(example, torch.Tensor) or value.dtype.kind in "OUST":
        return value
    if value.dtype.name == "bfloat16":
        return torch.from_numpy(value.view("int16")).view(torch.bfloat16)
    return torch.from_numpy(value)


class Parameter:
    """An argument or result of a program: `shape` has numbers, and texts such as "N" or "2*N + 1"."""

    __slots__ = ("name", "type", "shape", "direction", "optional")

    def __init__(self, name: str, type: str, shape: list, direction: str, optional: bool):
        self.name, self.type, self.shape, self.direction, self.optional = name, type, tuple(shape), direction, optional

    def __repr__(self) -> str:
        sizes = ", ".join(str(s) for s in self.shape)
        return f"{self.direction} {self.name}: {self.type}" + (f"[{sizes}]" if self.shape else "")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Parameter) and repr(self) == repr(other) and self.optional == other.optional


def check_autocast(given: str | None) -> str:
    """The type that `autocast=` asks for, "" for none."""
    if given not in (None, "", "bf16", "f16"):
        raise UsageError(f"autocast is \"bf16\" or \"f16\", what products are computed in, or None, not {given!r}")
    return given or ""


def compile_program(program: Any, *, backend: str, optimize: str, threads: int, implementations: Mapping[str, str] | None,
                    names: Mapping[str, str] | None = None, verify: str | None = None,
                    dump_dir: str | os.PathLike | None = None, keep_denormals: bool = False, plan: str = "",
                    autocast: str | None = None) -> Compiled:
    """`optimize`: "default", "none" (what the backend needs and no more), or the text of a pipeline. `plan`: a plan's text."""
    options = {"backend": backend, "optimize": optimize, "threads": threads, "implementations": implementations, "names": names, "verify": verify,
               "dump_dir": dump_dir, "keep_denormals": keep_denormals, "plan": plan, "autocast": autocast}
    origin = program.copy(), options
    narrow = check_autocast(autocast)
    debug.check_verify(verify, ("reference", "interpreter"))
    if verify == "interpreter" and backend == "interpreter":
        raise UsageError("verify=\"interpreter\" would compare the interpreter with itself: choose another backend, or \"reference\"")
    pipeline = {"default": "", "none": "expand-library-nodes"}.get(optimize, optimize)
    chosen = list((implementations or {}).items())
    folder = debug.dump_folder(program, [backend, pipeline, chosen, *["keep-denormals"] * keep_denormals, *[plan] * bool(plan), *[narrow] * bool(narrow)], dump_dir)
    checked = "HEADRACE_VERIFY" in os.environ
    reference = None
    if verify:
        passes = "" if verify == "interpreter" else "expand-library-nodes"  # the reference: as the program stands
        reference = Compiled(_core.compile(program, "interpreter", passes, threads, [("*", "pure")], "", checked, keep_denormals, "", narrow), program, names)
        reference.what = "the interpreter" if verify == "interpreter" else "the interpreter of the program without passes"
    executable = _core.compile(program, backend, pipeline, threads, chosen, folder, checked, keep_denormals, plan, narrow)
    made = Compiled(executable, program, names, reference)
    made._origin = origin
    return made


def load(path: str | os.PathLike, *, threads: int = 0) -> Compiled:
    """The artifact (.hrx) at `path`, to be called. Nothing is compiled. Raises InvalidError for what is damaged or no artifact,
    UnsupportedError where this machine can't run it."""
    if not os.path.exists(path := os.fspath(path)):
        raise InvalidError(f"{path}: there is no such file")
    executable, interface = _core.load_artifact(path, threads)
    return Compiled(executable, interface)
