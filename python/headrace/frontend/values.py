"""What a program's expressions are while it is translated: arrays and lazy elementwise expressions over them.

Python's own objects (numbers, tuples, functions, modules) stand for themselves, sizes are sizes.Size, and everything that is
known only when the program runs is a Value. Expressions are lazy: what is written with one statement is one map.
"""

from __future__ import annotations

import contextlib
import threading
from typing import Callable, Sequence

import numpy as np

from . import sizes
from .errors import NoArray, Unequal
from .sizes import Size, scaled
from .types import IR_NAMES


class Value:
    """`shape` elements of `dtype`; `at(index)` is the text of one. `weak`: a Python number, which takes the type of what it
    meets. `count`: the same number as a size, of an integer that never changes and is known before the program's loops run."""

    count: Size | None = None
    sources: tuple = ()  # of a choice between arrays: these, with which Python would share memory
    in_place = False  # of numbers: whether x += … changes this memory, as it does with arrays without dimensions

    def __init__(self, dtype, shape: Sequence, at: Callable[[list[str]], str], weak: bool = False):
        self.dtype = np.dtype(dtype)
        self.shape = tuple(shape)
        self._at = at
        self.weak = weak

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def at(self, index: Sequence[str]) -> str:
        return self._at(list(index))

    def place(self) -> Value:
        """What its views are views of, and what is changed in place."""
        return self

    def dense(self) -> Value:
        """Its elements alone: of what a mask chose not those between them."""
        return self

    def current(self) -> Value:
        """Itself, or the array that it has become."""
        return self


# Where reads are noted while an expression is written out: (container, index text). Threads translate programs of their own.
class _Recorders(threading.local):
    def __init__(self):
        self.open: list[list[tuple[str, str]]] = []


_recorders = _Recorders()


@contextlib.contextmanager
def recorded():
    """The reads of the expressions written meanwhile."""
    reads: list[tuple[str, str]] = []
    _recorders.open.append(reads)
    try:
        yield reads
    finally:
        _recorders.open.pop()


# What an array of the surroundings is in the program that this thread translates.
class _Constants(threading.local):
    make: Callable[[np.ndarray], Array]


_constants = _Constants()


@contextlib.contextmanager
def constants_by(make: Callable[[np.ndarray], Array]):
    before = vars(_constants).get("make")
    _constants.make = make
    try:
        yield
    finally:
        _constants.make = before


class Dim:
    """One dimension of a container as a view sees it: at `begin + step * i`, where i is the view's index `of`; or, with `of`
    None, at `begin` alone. `more`: further (of, step), of views of all memory as one dimension (reshaping.py)."""

    __slots__ = ("begin", "step", "of", "more")

    def __init__(self, begin=0, step=1, of: int | None = None, more: Sequence[tuple] = ()):
        self.begin, self.step, self.of, self.more = begin, step, of, tuple(more)

    @classmethod
    def of_terms(cls, begin, terms: Sequence[tuple]) -> Dim:
        """At begin + Σ step * i, of (i, step)."""
        (of, step), *more = terms or [(None, 1)]
        return cls(begin, step, of, more)

    @property
    def terms(self) -> list[tuple]:
        return [] if self.of is None else [(self.of, self.step), *self.more]

    def renumbered(self, places) -> Dim:
        """Of a view whose indices stand at `places` of the old ones."""
        return Dim.of_terms(self.begin, [(places[of], step) for of, step in self.terms])

    def text(self, index: Sequence[str]) -> str:
        begin = self.begin
        for of, step in reversed(self.terms):
            begin = scaled(index[of], begin, step)
        return str(begin)


class Array(Value):
    """A container or a strided view of one: what can be assigned to. `root` is the container whose memory it is."""

    def __init__(self, name: str, dtype, shape: Sequence, dims: Sequence[Dim] | None = None, root: str | None = None,
                 weak: bool = False):
        super().__init__(dtype, shape, self._element, weak)
        self.name = name
        self.root = root or name
        self.dims = list(dims) if dims is not None else [Dim(of=k) for k in range(len(self.shape))]
        self.extents = self.shape  # the container's

    @property
    def whole(self) -> bool:
        return len(self.dims) == len(self.shape) and all(
            d.of == k and d.begin == 0 and d.step == 1 and not d.more for k, d in enumerate(self.dims)) and self._covers

    @property
    def in_steps_of_numbers(self) -> bool:
        """Otherwise nobody can tell that its elements lie in different places, and what writes them is a loop."""
        return all(isinstance(step, int) for d in self.dims for _, step in d.terms)

    read_only = False  # of views in which an element of memory is several
    _covers = True  # of views: whether the sizes are the container's, too

    def view(self, shape: Sequence, dims: Sequence[Dim]) -> Array:
        v = Array(self.name, self.dtype, shape, dims, self.root, self.weak)
        v._covers, v.extents, v.read_only = False, self.extents, self.read_only
        return v

    def fixed(self) -> Array:
        """What NumPy lets nobody write to."""
        v = self.view(self.shape, self.dims)
        v.read_only = True
        return v

    def at_container(self, name: str, root: str) -> Array:
        """The same part of another container of this one's type and sizes."""
        v = Array(name, self.dtype, self.shape, self.dims, root, weak=self.weak)
        v._covers, v.extents, v.read_only = self._covers, self.extents, self.read_only
        return v

    def _element(self, index: list[str]) -> str:
        where = [d.text(index) for d in self.dims]
        text = f"{self.name}[{', '.join(where)}]" if where else self.name
        for reads in _recorders.open:
            reads.append((self.root, text))
        return text


class Part(Value):
    """z.real or z.imag of an array: what is written to it changes z."""

    def __init__(self, of: Array, which: str):
        super().__init__(np.float32 if of.dtype == np.complex64 else np.float64, of.shape, lambda i: f"{which}({of.at(i)})")
        self.of, self.which, self.name = of, which, ""

    def like(self, of: Array) -> Part:
        return Part(of, self.which)

    def joined(self, text: str, index: Sequence[str]) -> str:
        """An element of z with another part."""
        z = self.of.at(index)
        return f"complex({text}, imag({z}))" if self.which == "real" else f"complex(real({z}), {text})"


def scalar(dtype, text: str, weak: bool = False) -> Value:
    return Value(dtype, (), lambda _: text, weak)


def number_text(value, dtype: np.dtype) -> str:
    """A Python number as a literal of this type."""
    if dtype.kind == "c":
        value = complex(value)
        part = np.dtype(np.float64)
        return f"{IR_NAMES[dtype]}(complex({number_text(value.real, part)}, {number_text(value.imag, part)}))" \
            if dtype == np.complex64 else f"complex(f64({number_text(value.real, part)}), f64({number_text(value.imag, part)}))"
    if dtype.kind == "b":
        return "true" if value else "false"
    if dtype.kind == "f":
        value = float(np.float16(value)) if dtype == np.float16 else float(value)
        text = "inf" if value == np.inf else "-inf" if value == -np.inf else "nan" if value != value else repr(value)
    else:
        text = str(int(value))
    return f"({text})" if text.startswith("-") else text


def constant_text(values: np.ndarray) -> str:
    """The data of a constant."""
    if not values.size:
        return "fill(0)"
    if values.dtype.kind == "b":
        return str(values.ravel().tolist()).lower()
    return str([(z.real, z.imag) for z in values.ravel().tolist()] if values.dtype.kind == "c" else values.ravel().tolist())


def is_number(value) -> bool:
    return isinstance(value, (bool, int, float, complex, np.generic))


def value_of(x) -> Value:
    """Anything that an expression may be made of, as a Value."""
    if isinstance(x, Value):
        return x
    if isinstance(x, Size):
        return scalar(np.int64, sizes.atom(x.text), weak=True)
    if isinstance(x, np.generic):
        return scalar(x.dtype, typed_number(x.item(), x.dtype))
    if isinstance(x, bool):
        return scalar(np.bool_, number_text(x, np.dtype(bool)), weak=True)
    if isinstance(x, int):
        return scalar(np.int64, number_text(x, np.dtype(np.int64)), weak=True)
    if isinstance(x, float):
        return scalar(np.float64, number_text(x, np.dtype(np.float64)), weak=True)
    if isinstance(x, complex):
        return scalar(np.complex128, number_text(x, np.dtype(np.complex128)), weak=True)
    if isinstance(x, np.ndarray):
        return _constants.make(x)
    raise NoArray(f"{type(x).__name__} has no place in an expression over arrays")


def strong(x) -> Value:
    """x as an array has it: a Python number takes the type of nothing else."""
    v = value_of(x)
    return Value(v.dtype, v.shape, v.at) if v.weak else v


def typed_number(value, dtype: np.dtype) -> str:
    if dtype == np.uint64 and value >= 2**63:  # the notation's integers have a sign
        value -= 2**64
    text = number_text(value, dtype)
    return text if dtype.kind in "cb" else f"{IR_NAMES[dtype]}({text})"


def text_as(x, index: Sequence[str], dtype: np.dtype) -> str:
    """One element of x, of type `dtype`."""
    if is_number(x) and not isinstance(x, np.generic):
        return typed_number(x, dtype)
    v = value_of(x)
    text = v.at(index)
    if v.dtype == dtype and not isinstance(x, Size):
        return text
    if v.dtype.kind == "c" and dtype.kind == "b":
        return f"({text} != {number_text(0, v.dtype)})"
    if v.dtype.kind == "c" and dtype.kind != "c":
        return text_as(scalar(np.float64 if v.dtype == np.complex128 else np.float32, f"real({text})"), (), dtype)
    if dtype.kind == "c" and v.dtype.kind != "c":
        part = np.dtype(np.float32 if dtype == np.complex64 else np.float64)
        return f"complex({text_as(v, index, part)}, {IR_NAMES[part]}(0))"
    if dtype.kind == "b":
        return f"({text} != 0)"
    return f"{IR_NAMES[dtype]}({text})"


def broadcast(v: Value, shape: Sequence) -> Value:
    """v with NumPy's rule: aligned at the right, sizes of one repeat."""
    shape = tuple(shape)
    if v.shape == shape:
        return v
    offset = len(shape) - v.ndim
    if offset < 0:
        raise ValueError(f"could not broadcast shape {show(v.shape)} into {show(shape)}")
    for k, size in enumerate(v.shape):
        if size != shape[offset + k] and size != 1:
            raise Unequal(unequal(v.shape, shape))
    def at(index):
        return v.at(["0" if size == 1 and shape[offset + k] != 1 else index[offset + k] for k, size in enumerate(v.shape)])
    return Value(v.dtype, shape, at, v.weak)


def broadcast_shapes(*shapes: Sequence) -> tuple:
    result: list = []
    for shape in shapes:
        shape = list(shape)
        longer, shorter = (shape, result) if len(shape) > len(result) else (result, shape)
        merged = list(longer)
        for k in range(1, len(shorter) + 1):
            a, b = longer[-k], shorter[-k]
            if a != b and a != 1 and b != 1:
                raise Unequal(unequal(*shapes))
            merged[-k] = b if a == 1 else a
        result = merged
    return tuple(result)


def show(shape: Sequence) -> str:
    return "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


def unequal(*shapes: Sequence) -> str:
    text = "operands could not be broadcast together: " + " and ".join(map(show, shapes))
    if any(isinstance(s, Size) for shape in shapes for s in shape):
        text += "; sizes are equal only where they are known to be: use one symbol for both"
    return text
