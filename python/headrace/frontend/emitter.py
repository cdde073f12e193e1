"""Writes IR text: containers, maps, control flow."""

from __future__ import annotations

import contextlib
import copy
from typing import Any, Callable, Sequence

import numpy as np

from . import sizes
from .agreeing import agreeing
from .errors import Refused, Unequal
from .growing import put_back
from .sizes import Size
from .source import MOST_BUILT_IN
from .types import IR_NAMES
from .values import Array, Part, Value, broadcast, constant_text, is_number, recorded, text_as, value_of


NUMBERS = ("inf", "nan", "true", "false")  # in IR text: no container has such a name
_LEAST = -(1 << 62)  # what an assumption about any number says


class Emitter:
    def __init__(self):
        self._declarations: list[str] = []
        self._lines: list[str] = []
        self._depth = 1
        self.names: set[str] = set(NUMBERS)
        self.written: set[str] = set()  # containers that some statement writes
        self.read: set[str] = set()
        self.origin = ""
        self.intervals: dict[str, sizes.Interval] = {}  # of loop variables and of sizes from data
        self.symbols: set[str] = set()  # names of sizes that statements define
        self.loops: dict[str, tuple] = {}  # variable of a loop → its least and its greatest value
        self.programs: list[str] = []  # texts of other programs that this one calls
        self.program_names: set[str] = set()
        self.collections: dict[int, tuple] = {}  # lists and dicts that the program made (growing.py)
        self.arguments: set[str] = set()  # containers that are the caller's
        self.counts: dict[str, Size] = {}  # of these the integers that are sizes, too
        self.in_place: dict[str, int] = {}  # container → how many statements change it that bind no name
        self._rebinding = False
        self.given: set[str] = set()  # of these, integers that are arguments
        self.guards = 0  # open branches, and loops that may not run (paths.py)
        self.guards_of: dict[str, int] = {}  # variable of a loop → those at its beginning
        self.around: list = []   # the loops that are open (sharing.py)
        self.sharing: list = []  # names that have copies of what others have
        self.gone_over: set[str] = set()  # of these, copies that loops go over
        self.within: dict[str, object] = {}  # name of a size → one that is not smaller
        self.reshapes: dict[str, tuple] = {}  # view → its base, shape and offset
        self._flat: dict[str, Array] = {}     # container → all of it as one dimension
        self.leaves: dict[str, object] = {}  # arrays that require gradients (tape.py)
        self.places: dict[tuple, list] = {}  # of masks: where their true elements are
        self.dense: dict[int, Any] = {}  # what masks chose → its elements alone (selections.py)
        self._versions: dict[str, int] = {}  # container → how often it was written
        self._blocks = [0]  # numbers of the open blocks
        self._known: dict[str, tuple[Size, set[str]]] = {}  # text → the size it was given, what it reads
        self._last_written: set[str] = set()
        self.settled_parts: set[int] = set()  # of these, those whose parts are as names have them
        self.carried: dict[int, object] = {}  # what names stand for that control flow binds (parts.py)
        self.shared_objects: dict[int, object] = {}  # of these, those that other names have, too
        self.loops_of: dict[int, int] = {}   # of these: how many loops were around when it was made
        self.changed_names: set[tuple] = set()  # scope and name: whose parts an inner loop binds,
        self.shared_names: set[tuple] = set()   # and who have what other names have, too
        self.open_scopes: list = []  # the names of the functions that are being translated
        self.fields: dict[tuple, tuple] = {}  # attributes that have memory of their own: whose name that is (fields.py)
        self._constants: dict[tuple, Array] = {}  # type, shape and bytes → what is built in
        self._of_any_sign: list[str] = []  # sizes that data decide: others are known not to be negative

    # ---- going back ----
    def snapshot(self):
        """Everything that was written so far, for `restore`."""
        return {name: copy.copy(value) for name, value in vars(self).items()}

    def restore(self, snapshot: dict) -> None:
        put_back(snapshot["collections"])
        vars(self).update({name: copy.copy(value) for name, value in snapshot.items()})

    def wrote_since(self, snapshot: dict) -> bool:
        """Whether there are statements that the snapshot has not."""
        return len(self._lines) != len(snapshot["_lines"])

    # ---- names and lines ----
    def reserve(self, name: str) -> str:
        self.names.add(name)
        return name

    def fresh(self, hint: str) -> str:
        name, k = hint, 0
        while name in self.names:
            k += 1
            name = f"{hint}_{k}"
        return self.reserve(name)

    def line(self, text: str) -> None:
        self._lines.append("  " * self._depth + text + self.origin)

    def open(self, text: str) -> None:
        self._known.clear()
        self._lines.append("  " * self._depth + text + self.origin + " {")
        self._depth += 1
        self._blocks.append(len(self._lines))

    def close(self) -> None:
        self._known.clear()
        self._depth -= 1
        self._blocks.pop()
        self._lines.append("  " * self._depth + "}")

    def otherwise(self) -> None:
        """From the branch of an `if` to the other."""
        self.close()
        self._lines[-1] += " else {"
        self._depth += 1
        self._blocks.append(len(self._lines))

    @contextlib.contextmanager
    def block(self, text: str):
        self.open(text)
        yield
        self.close()

    def body(self) -> str:
        assumed = [f"assume {name} >= {_LEAST}" for name in self._of_any_sign]
        return "\n".join(["  " + d for d in [*assumed, *self._declarations]] + self._lines)

    # ---- containers ----
    def declare(self, text: str) -> None:
        self._declarations.append(text)

    def transient(self, dtype, shape: Sequence, hint: str = "t", weak: bool = False) -> Array:
        name = self.fresh(hint)
        dtype = np.dtype(dtype)
        largest = [sizes.largest(s, self.loops, self.intervals) for s in shape]
        # What a loop makes empty each time has a place: that the map over it has no iteration is not seen from outside of the loop.
        largest = [1 if most == 0 != s else most for most, s in zip(largest, shape)]
        extents = f"[{', '.join(map(str, largest))}]" if largest else ""
        self._declarations.append(f"transient {name}: {IR_NAMES[dtype]}{extents}")
        whole = Array(name, dtype, largest, weak=weak)
        return whole if largest == list(shape) else whole.view(shape, whole.dims)

    def constant(self, values: np.ndarray) -> Array:
        """An array of the surroundings, built in."""
        if values.dtype not in IR_NAMES or values.dtype.kind == "V":
            raise TypeError(f"an array of type {values.dtype} around the function has no place in a program")
        if values.size > MOST_BUILT_IN:
            raise TypeError(f"an array of {values.size} elements around the function: pass it as an argument (up to {MOST_BUILT_IN} are built in)")
        key = values.dtype, values.shape, values.tobytes()
        if key not in self._constants:
            name = self.fresh("constant")
            extents = f"[{', '.join(map(str, values.shape))}]" if values.shape else ""
            self._declarations.append(f"constant {name}: {IR_NAMES[values.dtype]}{extents} = {constant_text(values)}")
            self._constants[key] = Array(name, values.dtype, values.shape)
        return self._constants[key]

    def reshaped(self, a: Array, shape: Sequence, offset=0) -> Array:
        """The same memory in another shape, from the `offset`-th element on; `a` is a whole container."""
        name = self.fresh(a.name + "_view")
        extents = f"[{', '.join(map(str, shape))}]" if shape else ""
        self._declarations.append(f"view {name}: {IR_NAMES[a.dtype]}{extents} of {a.name}" + (f" offset {offset}" if offset != 0 else ""))
        self.reshapes[name] = (a.name, tuple(shape), offset)
        return Array(name, a.dtype, shape, root=a.root)

    def flat(self, a: Array) -> Array:
        """All memory of a whole container as one dimension."""
        if a.ndim == 1:
            return a
        if a.name not in self._flat:
            self._flat[a.name] = self.reshaped(a, [sizes.product(a.shape)])
        return self._flat[a.name]

    def moved(self, v: Array, kept: Array) -> Array:
        """The same part of `kept`, which has the type and sizes of v's container."""
        def at(name: str) -> Array:
            if name == v.root:
                return kept
            base, shape, offset = self.reshapes[name]
            return self.reshaped(at(base), shape, offset)

        return v.at_container(at(v.name).name, kept.root)

    def ahead(self, dtype, text: str, hint: str) -> Array:
        """A number that has this value before the block that is open."""
        made = self.transient(dtype, (), hint)
        self._lines.insert(self._blocks[-1] - 1, "  " * (self._depth - 1) + f"{made.name} = {text}")
        self.written.add(made.name)
        self.read.add(made.name)
        return made

    # ---- statements ----
    def maps(self, shape: Sequence, then: Callable[[list[str]], None]) -> None:
        """`then` writes the body for one index of every size."""
        index = [f"_i{self._depth}_{k}" for k in range(len(shape))]
        if not index:
            then([])
            return
        known = dict(self._known)  # a map's body only writes, and what it writes is left out below
        self.open("map " + ", ".join(f"{i} in 0:{size}" for i, size in zip(index, shape)))
        then(index)
        self.close()
        self._known = {t: k for t, k in known.items() if not k[1] & self._last_written}

    @contextlib.contextmanager
    def nest(self, shape: Sequence):
        """Loops over every index, in order; gives the names of the indices."""
        index = [self.fresh("i") for _ in shape]
        with contextlib.ExitStack() as open_blocks:
            for i, size in zip(index, shape):
                open_blocks.enter_context(self.block(f"for {i} in 0:{size}"))
            yield index

    def write(self, target: Array | Part, index: Sequence[str], text: str, op: str = "=") -> None:
        if isinstance(target, Part):
            if op != "=":
                raise NotImplementedError("an operation at indices of a part of complex numbers: change the array itself")
            self.read.add(target.of.root)
            self.write(target.of, index, target.joined(text, index))
            return
        if target.read_only:
            raise ValueError("assignment destination is read-only: a diagonal, windows, .flat of a part of an array, or an array that is repeated; change a copy")
        if target.root in self.counts:
            raise NotImplementedError(f"{target.name} is changed in place, and is an integer that may be a size: give it as an array with "
                                      "one element")
        if any(target.root == c.root for c in self._constants.values()):
            raise Refused("an array of the surroundings is changed in place", "pass it as an argument, or change a copy")
        self.written.add(target.root)
        self._versions[target.root] = self._versions.get(target.root, 0) + 1
        if not self._rebinding:
            self.in_place[target.root] = self.in_place.get(target.root, 0) + 1
        self._last_written = {target.root}
        self._known = {t: k for t, k in self._known.items() if target.root not in k[1]}
        if op != "=":
            self.read.add(target.root)
        self.line(f"{target.at(index)} {op} {text}")

    def changes_of(self, a: Array) -> int:
        """How often statements have changed its memory so far."""
        return self._versions.get(a.root, 0)

    def changed(self, *arrays: Array) -> None:
        """A library node that stands here writes them."""
        roots = {a.root for a in arrays}
        self.written.update(roots)
        self._versions.update({root: self._versions.get(root, 0) + 1 for root in roots})
        self._known = {t: k for t, k in self._known.items() if not roots & k[1]}

    @property
    def block_number(self) -> int:
        """Of the innermost open block; no two have the same."""
        return self._blocks[-1]

    @property
    def open_blocks(self) -> list[int]:
        return self._blocks

    @property
    def nested(self) -> bool:
        """Whether what is written now stands in a loop, a branch or a map."""
        return self._depth > 1

    def node(self, text: str, reads: Sequence[str], result: Array) -> None:
        """A library node that reads these containers and writes `result`, a container of its own."""
        self.read.update(reads)
        self.written.add(result.root)
        self.line(text)

    @contextlib.contextmanager
    def rebinding(self):
        """What is written meanwhile binds a name that has memory of its own."""
        before, self._rebinding = self._rebinding, True
        yield
        self._rebinding = before

    def expression(self, v, index: Sequence[str], dtype) -> str:
        with recorded() as reads:
            text = text_as(v, index, np.dtype(dtype))
        self.read.update(root for root, _ in reads)
        return text

    def store(self, target: Array, v, op: str = "=") -> None:
        """target[...] = v, as NumPy does it: v is whole before the first element is written."""
        target = target.place()
        try:
            source = broadcast_into(v, target)
        except Unequal:
            v, target = agreeing(self, (v, target))
            source = broadcast_into(v, target)
        if isinstance(target, Part):
            part, given = target, source
            target, source = part.of, Value(part.of.dtype, part.shape, lambda i: part.joined(text_as(given, i, part.dtype), i))
        if self._reads_elsewhere(source, target):
            source = self.materialize(source, "copy")
        each = lambda i: self.write(target, i, self.expression(source, i, target.dtype), op)  # noqa: E731
        if target.in_steps_of_numbers or 0 in target.shape:
            self.maps(target.shape, each)
            return
        with self.nest(target.shape) as index:
            each(index)

    def _reads_elsewhere(self, source, target: Array) -> bool:
        """Whether an element of the source may be one that another iteration writes."""
        if is_number(source) or isinstance(source, Size) or target.ndim == 0:
            return False
        index = [f"_p{k}" for k in range(target.ndim)]
        with recorded() as reads:
            source.at(index)
        with recorded() as own:
            target.at(index)
        (_, same), = own
        return any(root == target.root and text != same for root, text in reads)

    def materialize(self, v, hint: str = "t") -> Array:
        v = value_of(v)
        t = self.transient(v.dtype, v.shape, hint, v.weak)
        with self.rebinding():
            self.maps(t.shape, lambda i: self.write(t, i, self.expression(v, i, t.dtype)))
        return t

    def settled(self, v, hint: str = "t") -> Value:
        """v itself where reading it twice costs nothing, else a container with its elements."""
        v = value_of(v)
        if isinstance(v, Array):
            return v
        index = [f"_p{k}" for k in range(v.ndim)]
        with recorded() as reads:
            text = v.at(index)
        return v if len(text) <= 24 and len(reads) <= 1 and "(" not in text else self.materialize(v, hint)

    def roots(self, v: Value) -> set[str]:
        """Whose memory it reads."""
        with recorded() as reads:
            v.at([f"_p{k}" for k in range(v.ndim)])
        return {root for root, _ in reads}

    def identity(self, v: Value) -> tuple:
        """Equal for expressions that have equal values where they stand."""
        with recorded() as reads:
            text = v.at([f"_p{k}" for k in range(v.ndim)])
        return text, v.shape, self._blocks[-1], tuple(sorted((root, self._versions.get(root, 0)) for root, _ in reads))

    def fill(self, target: Array, number) -> None:
        self.maps(target.shape, lambda i: self.write(target, i, self.expression(number, i, target.dtype)))

    def reduce(self, v: Value, axes: Sequence[int], op: str, identity, dtype, hint: str = "r") -> Array:
        """Accumulates over `axes` with +=, *=, max= or min=."""
        v = value_of(v)
        kept = [k for k in range(v.ndim) if k not in axes]
        target = self.transient(dtype, [v.shape[k] for k in kept], hint)
        self.fill(target, identity)
        order = kept + [k for k in range(v.ndim) if k in axes]

        def step(index: list[str]) -> None:
            at = [""] * v.ndim
            for k, i in zip(order, index):
                at[k] = i
            self.write(target, index[: len(kept)], self.expression(v, at, dtype), op)

        self.maps([v.shape[k] for k in order], step)
        return target

    def size_of(self, v) -> int | Size:
        """A number that the program computes, as a size from here on."""
        if sizes.is_size(v):
            return v
        if isinstance(v, Value) and v.count is not None:
            return v.count
        if isinstance(v, np.integer):
            return int(v)
        v = value_of(v)
        if v.ndim or v.dtype.kind not in "iu":
            raise TypeError("a size or an index is an integer")
        with recorded() as reads:
            text = self.expression(v, (), np.int64)
        if text not in self._known:
            name = self.fresh("n")
            self.line(f"let {name} = {text}")
            self.symbols.add(name)
            self.intervals[name] = (None, None)
            self._of_any_sign.append(name)
            self._known[text] = (Size(name), {root for root, _ in reads})
        return self._known[text][0]

    def step_of(self, v) -> tuple[Size, bool]:
        """A step that is a size, and whether it is positive: of what only the run knows it must be."""
        step = self.size_of(v)
        low, high = sizes.interval(step, self.intervals)
        if high is not None and high < 0:
            return step, False
        if low is None or low <= 0:
            self.line(f"require {step} > 0 else \"a step that the program computes is positive, and here it is {{}}\", {step}")
        return step, True

    def demand(self, test: Value, message: str) -> None:
        """A run ends with this message where the test is false."""
        held = self.materialize(Value(np.int64, (), lambda i: f"({self.expression(test, i, np.bool_)} ? i64(1) : i64(0))"), "held")
        name = self.fresh("holds")
        self.line(f"let {name} = {held.at([])}")
        self.read.add(held.root)
        text = message.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("{", "(").replace("}", ")")
        self.line(f'require {name} == 1 else "{text}"')

    def alone(self, size: int | Size) -> int | Size:
        """The size as one name, where it is an expression of what only the run knows."""
        if isinstance(size, int) or str(size) in self.symbols or not self.symbols & set(sizes.names_in(size)):
            return size
        name = self.fresh("n")
        self.line(f"let {name} = max({size}, 0)")  # slices from behind their end are empty
        self.symbols.add(name)
        self.intervals[name] = (0, None)
        return Size(name)

    def counted(self, a: Array) -> Array:
        """`a`, an integer that is an argument, as what is also a size."""
        a.count = self.size_of(a)
        self.counts[a.root] = a.count
        return a

    def may_be_negative(self, size) -> bool:
        low, _ = sizes.interval(size, self.intervals)
        return low is None or low < 0

    def goes_beyond(self, x: Size, most) -> bool:
        """Whether a loop surely takes it there: one around which no branch asks for it first."""
        inside = [name for name in self.loops if name in sizes.names_in(x)]
        if not inside or self.guards_of.get(inside[-1]) != self.guards:
            return False
        low, _ = sizes.interval(sizes.largest(x - most, self.loops, self.intervals), self.intervals)
        return low is not None and low > 0

    def test(self, v) -> str:
        """A condition."""
        v = value_of(v)
        if v.ndim:
            raise ValueError("the truth of an array with more than one element is ambiguous: use any() or all()")
        return self.expression(v, (), np.bool_)


def broadcast_into(v, target: Array):
    if is_number(v) or isinstance(v, Size):
        return value_of(v)
    v = value_of(v)
    while v.ndim > target.ndim and v.shape[0] == 1:  # NumPy drops leading ones when it assigns
        inner = v
        v = Value(v.dtype, v.shape[1:], lambda i, inner=inner: inner.at(["0", *i]), v.weak)
    return broadcast(v, target.shape)

