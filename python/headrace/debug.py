"""What helps to see what happens: `set_log`, `set_dump_dir`, and the comparison of calls behind `verify=`."""

from __future__ import annotations

import os
import re
import tempfile
import zlib
from typing import Any, Iterable, Sequence

import numpy as np

from . import _core
from .errors import MismatchError, UsageError
from .trees import has_parts, items, mapped

_dump_dir: str | None = None


def set_log(topics: str | Iterable[str] | None = "all", stream: Any = None) -> None:
    """What to see of the compiler's work from now on, instead of what HEADRACE_LOG says: names of topics ("passes, fusion" or a list
    of them), "all" or None. A line for each event goes to `stream`, anything with `write(str)` such as an open file or io.StringIO;
    None is the process's stderr.

        passes      each pass, whether it changed anything, how long it took
        fusion      maps that became one
        cache       hits, misses and why
        recompiles  runs of the C++ compiler and why
        choice      the implementation of each node, and why not those before it

    Raises UsageError for another topic, TypeError for a stream that can't be written to."""
    known = _core.log_topics()
    if topics is None:
        wanted = []
    elif isinstance(topics, str):
        wanted = known if topics == "all" else [t for t in re.split(r"[,\s]+", topics) if t]
    else:
        wanted = list(topics)
    for t in wanted:
        if t not in known:
            raise UsageError(f"there is no topic {t!r} to log; there are {', '.join(known)}, and \"all\"")
    if stream is not None and not hasattr(stream, "write"):
        raise TypeError(f"stream is something with write(str), such as sys.stdout, not {type(stream).__name__}")
    _core.set_log(wanted, stream)


def set_dump_dir(path: str | os.PathLike | None) -> None:
    """Every program that is compiled from now on leaves a folder in `path`: program.sdfg, lowered.sdfg (what the backend was given),
    the generated sources, and a reproducer where a pass fails. None: as HEADRACE_DUMP_DIR says, which is where nothing is left
    unless it is set. `dump_dir=` of what compiles comes first."""
    global _dump_dir
    _dump_dir = None if path is None else os.fspath(path)


def dump_folder(program: Any, options: Sequence[Any], given: str | os.PathLike | None) -> str:
    """The folder for what is left of this program, compiled so; "" where nothing is. The same program has the same folder."""
    root = os.fspath(given) if given is not None else _dump_dir or os.environ.get("HEADRACE_DUMP_DIR", "")
    if not root:
        return ""
    key = zlib.crc32(repr([program.text(), *options]).encode())
    folder = os.path.join(root, f"{re.sub(r'[^A-Za-z0-9_.-]', '_', program.name())[:60]}-{key:08x}")
    os.makedirs(folder, exist_ok=True)
    return folder


def reproducer_folder() -> str:
    """Where a pass that fails leaves what shows it again."""
    root = _dump_dir or os.environ.get("HEADRACE_DUMP_DIR", "")
    if root:
        os.makedirs(root, exist_ok=True)
        return os.path.join(root, "reproducer")
    return os.path.join(tempfile.gettempdir(), f"headrace-reproducer-{os.getpid()}")


# ---- verify= ----
# Implementations sum in other orders and fuse roundings: a few units of the type, more where much is summed (rtol, atol).
_TOLERANCES = {"float64": (1e-9, 1e-12), "complex128": (1e-9, 1e-12), "float32": (1e-3, 1e-5), "complex64": (1e-3, 1e-5),
               "float16": (1e-2, 1e-3), "bfloat16": (5e-2, 1e-2)}


def check_verify(verify: str | None, allowed: Sequence[str], hint: str = "") -> None:
    """UsageError for a word that is none of `allowed`."""
    if verify is not None and verify not in allowed:
        raise UsageError(f"verify is {' or '.join(map(repr, allowed))}, not {verify!r}" + (f"\n  hint: {hint}" if hint else ""))


def copied(value: Any, seen: dict[int, Any] | None = None) -> Any:
    """Arrays in it with memory of their own; the same array twice is the same copy twice."""
    seen = {} if seen is None else seen
    if has_parts(value):
        return mapped(lambda v: copied(v, seen), value)
    if isinstance(value, np.ndarray):
        return seen.setdefault(id(value), value.copy())
    if hasattr(value, "detach") and hasattr(value, "clone"):
        return seen.setdefault(id(value), value.detach().clone())
    return value


def as_numpy(value: Any) -> Any:
    """Tensors in it as arrays."""
    if has_parts(value):
        return mapped(as_numpy, value)
    return value.cpu().numpy() if hasattr(value, "detach") else value


def leaves_of(name: str, ours: Any, theirs: Any) -> list[tuple[str, Any, Any]]:
    """(name, ours, theirs) of the arrays and numbers inside."""
    if isinstance(theirs, (tuple, list)) and isinstance(ours, (tuple, list)):
        return [leaf for k, (a, b) in enumerate(zip(ours, theirs)) for leaf in leaves_of(f"{name}[{k}]", a, b)]
    if isinstance(theirs, dict):
        return [leaf for k in theirs for leaf in leaves_of(f"{name}[{k!r}]", ours[k], theirs[k])]
    if has_parts(theirs):
        return [leaf for k, part in items(theirs) for leaf in leaves_of(f"{name}.{k}", getattr(ours, k), part)]
    return [(name, ours, theirs)] if isinstance(theirs, (np.ndarray, np.generic, float, int, complex)) else []


def compare(of: str, reference: str, outputs: Iterable[tuple[str, Any, Any]]) -> None:
    """MismatchError for the first of `outputs` (name, got, expected) that differs by more than its type's tolerance, or in type or
    shape. NaN equals NaN."""
    for name, got, expected in outputs:
        found = _difference(_array(got), _array(expected))
        if found is not None:
            place, value, wanted, rest = found
            where = f" at [{', '.join(map(str, place))}]" if place else ""
            raise MismatchError(f"{of}: output '{name}' is not what {reference} gives{where}: got {value}, expected {wanted} ({rest})",
                                [{"code": "", "message": f"output '{name}' differs from {reference}{where}", "node": name, "got": str(value),
                                  "expected": str(wanted), "hint": rest}], name, tuple(place))


def _array(value: Any) -> Any:
    """As NumPy's, where it is an array or a number; bfloat16, which NumPy has not by itself, as (float32, its name)."""
    if value is None or isinstance(value, (list, dict)):
        return value
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        if str(value.dtype) == "torch.bfloat16":
            return _Bfloat(value.float().numpy())
    value = np.asarray(value)
    return _Bfloat(value.astype(np.float32)) if value.dtype.name == "bfloat16" else value


class _Bfloat:
    def __init__(self, wide: np.ndarray):
        self.wide = wide


def _difference(got: Any, expected: Any) -> tuple | None:
    """(place, got, expected, what else there is to say) of the first element that differs."""
    if isinstance(got, list) and isinstance(expected, list):
        if len(got) != len(expected):
            return (), f"{len(got)} items", f"{len(expected)} items", "a sequence"
        for k, pair in enumerate(zip(got, expected)):
            found = _difference(*map(_array, pair))
            if found is not None:
                return (k, *found[0]), *found[1:]
        return None
    if isinstance(got, _Bfloat) and isinstance(expected, _Bfloat):
        return _first(got.wide, expected.wide, *_TOLERANCES["bfloat16"])
    if not isinstance(got, np.ndarray) or not isinstance(expected, np.ndarray):
        return None if got is expected is None else ((), _kind(got), _kind(expected), "another kind of value")
    if got.dtype != expected.dtype and not {got.dtype.kind, expected.dtype.kind} <= set("OUST"):
        return (), str(got.dtype), str(expected.dtype), "types"
    few_bits = (0.25, 0.05) if got.dtype.kind == "V" or "float" in got.dtype.name else (0.0, 0.0)
    return _first(got, expected, *_TOLERANCES.get(got.dtype.name, few_bits))


def _kind(value: Any) -> str:
    return "bfloat16" if isinstance(value, _Bfloat) else str(getattr(value, "dtype", type(value).__name__))


def _first(got: np.ndarray, expected: np.ndarray, rtol: float, atol: float) -> tuple | None:
    if got.shape != expected.shape:
        return (), f"shape {got.shape}", f"shape {expected.shape}", "shapes"
    if rtol == 0:
        same = got == expected
    else:
        wide = np.complex128 if got.dtype.kind == "c" else np.float64
        same = np.isclose(got.astype(wide), expected.astype(wide), rtol=rtol, atol=atol, equal_nan=True)
    if np.all(same):
        return None
    place = tuple(int(i) for i in np.argwhere(~np.asarray(same))[0]) if got.ndim else ()
    many = int(np.size(same) - np.count_nonzero(same))
    return place, got[place], expected[place], f"{many} of {got.size} elements differ; rtol {rtol:g}, atol {atol:g}"
