"""A graph of ATen operators, as the exporter and AOTAutograd give it, becomes IR text."""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass, field
from typing import Any, Sequence

import torch
from torch import fx

from ..errors import UnsupportedError
from . import bags, bessel, branches, complex, contraction, creation, ctc, distances, factors, fourier  # noqa: F401: fill the table
from . import indexing, items, linalg, losses, masks, matrix_exp, movement, networks, occurrences, pointwise, pooling  # noqa: F401
from . import recurrent, reductions, sizes, sorting, special  # noqa: F401
from .emit import Emitter, Value, container, declared, scalar_of, type_of
from .table import OPERATORS

_SYMBOL = re.compile(r"\bs\d+\b")


@dataclass
class Output:
    """Where a result comes from: "program" (the k-th output), "argument" (the k-th), "size" (a text), "constant" (a value)."""

    kind: str
    what: Any
    strides: tuple | None = None  # texts, where the result isn't dense and row-major


@dataclass
class Lowered:
    text: str
    arguments: list[int]  # which placeholders are the program's inputs, in its order
    names: dict[int, str]  # placeholder → the input's name
    constants: list[torch.Tensor]  # further inputs
    outputs: list[Output]
    results: list[str]  # names of the program's outputs
    sources: dict[str, tuple[int, int | None]] = field(default_factory=dict)  # symbol → (placeholder, its dimension or itself)


class Lowering(Emitter):
    """Holds what a node's function needs to know of the node: `target`, `dtype`, `types`, `shape`, `shapes`, `used`, `meta_of`."""

    def __init__(self):
        super().__init__()
        self.values: dict[fx.Node, Any] = {}
        self.current: fx.Node | None = None
        self.constant_names: list[str] = []
        self.decided: set[str] = set()  # sizes of data that the program has computed (masks.py)

    def refuse_undecided(self, *made: Any) -> None:
        """Sizes and tensors of sizes that data decide where the program does not."""
        found = [sizes.text_of(s) for v in made for s in (v.shape if isinstance(v, torch.Tensor) else [v] if isinstance(v, torch.SymInt) else [])]
        sizes.refuse_of_data(set().union(*map(sizes.of_data, found)) - self.decided)

    # ---- about the node at hand ----
    @property
    def target(self) -> str:
        return str(self.current.target)

    @property
    def _metas(self) -> list:
        v = self.current.meta["val"]
        return list(v) if isinstance(v, (tuple, list)) else [v]

    @property
    def dtype(self) -> str:
        return type_of(self._metas[0].dtype)

    @property
    def types(self) -> list[str]:
        return [type_of(m.dtype) for m in self._metas]

    @property
    def shape(self) -> tuple:
        return self.shapes[0]

    @property
    def shapes(self) -> list[tuple]:
        return [tuple(sizes.text_of(s) for s in m.shape) if isinstance(m, torch.Tensor) else () for m in self._metas]

    def result(self) -> Value:
        return self.new(self.dtype, self.shape, self.current.name)

    def used(self, k: int) -> bool:
        """Whether somebody reads the k-th result."""
        return any(u.target is operator.getitem and u.args[1] == k or u.target is not operator.getitem for u in self.current.users)

    def meta_of(self, k: int) -> Any:
        """The k-th argument as torch has it: a fake tensor or a number."""
        a = self.current.args[k]
        return a.meta["val"] if isinstance(a, fx.Node) else a

    def dense_argument(self, k: int) -> bool:
        a = self.meta_of(k)
        return isinstance(a, torch.Tensor) and a.is_contiguous() and a.storage_offset() == 0

    # ---- nodes ----
    def lower(self, node: fx.Node) -> None:
        self.current = node
        name = str(node.target)
        if node.target is operator.getitem:
            self.values[node] = self.values[node.args[0]][node.args[1]]
            return
        if items.known(self, node):
            return
        if "val" not in node.meta:
            _known(name)
            raise UnsupportedError(f"{name} gives no tensor: torch says nothing of its result")
        if self._metas and all(_has_nothing(m) for m in self._metas):
            made = tuple(zeros(self, type_of(m.dtype), m.shape) for m in self._metas)  # whatever the operator does
            self.values[node] = made if isinstance(node.meta["val"], (tuple, list)) else made[0]
            return
        function = _known(name)
        refuse_devices(node, elements=function.__module__.endswith((".losses", ".networks", ".pooling", ".recurrent")))
        given = [fx.map_arg(a, lambda n: self.values[n]) for a in node.args]
        named = {k: fx.map_arg(v, lambda n: self.values[n]) for k, v in node.kwargs.items()}
        result = function(self, *map(_plain, given), **{k: _plain(v) for k, v in named.items()})
        self.refuse_undecided(*self._metas)
        result = self._with_nothing(result)
        self._check(node, result)
        self.values[node] = result

    def _with_nothing(self, result: Any) -> Any:
        """Results that are left out and have no elements are made after all."""
        if not isinstance(result, tuple):
            return result
        empty = [v is None and _has_nothing(m) for v, m in zip(result, self._metas)]
        return tuple(zeros(self, type_of(m.dtype), m.shape) if e else v for e, v, m in zip(empty, result, self._metas))

    def _check(self, node: fx.Node, result: Any) -> None:
        """What a function says it made is what torch says the operator makes."""
        results = result if isinstance(result, tuple) else (result,)
        for k, (meta, v) in enumerate(zip(self._metas, results)):
            if v is None:
                if meta is not None and self.used(k):
                    raise UnsupportedError(f"{node.target}: its result {k} is not made here")
                continue
            shape = tuple(sizes.text_of(s) for s in meta.shape)
            if v.dtype != type_of(meta.dtype) or not _same_shape(v.shape, shape):
                raise UnsupportedError(f"{node.target} gives {declared(v.dtype, v.shape)}, expected {declared(type_of(meta.dtype), shape)}")


def _known(name: str) -> Any:
    function = OPERATORS.get(name)
    if function is None:
        raise UnsupportedError(f"{name} is not among the operators that programs know")
    return function


def zeros(c: Emitter, dtype: str, shape: Sequence) -> Value:
    return c.fill(c.new(dtype, tuple(shape)), lambda i: c.operand(0, (), dtype))


def _has_nothing(meta: Any) -> bool:
    """Whether it is a tensor that surely has no elements: of sizes that data decide nothing is known."""
    return isinstance(meta, torch.Tensor) and any(isinstance(s, int) and s == 0 for s in meta.shape)


def _same_shape(a: Sequence, b: Sequence) -> bool:
    # Texts of equal sizes may differ; numbers may not.
    return len(a) == len(b) and all(x == y or isinstance(x, str) and isinstance(y, str) for x, y in zip(a, b))


def _plain(v: Any) -> Any:
    return scalar_of(v) if isinstance(v, (torch.SymInt, torch.SymFloat, torch.SymBool)) else v


def refuse_devices(node: fx.Node, elements: bool) -> None:
    """`elements`: whether there must be some in every tensor."""
    for n in [node, *node.all_input_nodes]:
        v = n.meta.get("val")
        for t in v[:1] if isinstance(v, (tuple, list)) else [v]:
            if isinstance(t, torch.Tensor):
                if t.device.type != "cpu":
                    raise UnsupportedError(f"{n.name} is on {t.device}: programs run on the CPU")
                if t.layout != torch.strided:
                    raise UnsupportedError(f"{n.name} is {t.layout}")
                if elements and any(isinstance(s, int) and s == 0 for s in t.shape):
                    raise UnsupportedError(f"{n.name} has no elements")


def probe(node: fx.Node) -> None:
    """Raises UnsupportedError where the node can be no part of a program."""
    c = Lowering()
    for n in [node, *node.all_input_nodes]:
        v = n.meta.get("val")
        c.refuse_undecided(*(v if isinstance(v, (tuple, list)) else [v]))
    for n in node.all_input_nodes:
        v = n.meta.get("val")
        if isinstance(v, torch.Tensor):
            c.values[n] = _stand_in(c, n.name, v)
        elif isinstance(v, (tuple, list)):
            c.values[n] = tuple(_stand_in(c, n.name, t) if isinstance(t, torch.Tensor) else None for t in v)
        elif v is None:
            raise UnsupportedError(f"nothing is known about {n.name}")
        else:
            c.values[n] = scalar_of(v)
    c.lower(node)


def _stand_in(c: Lowering, name: str, t: torch.Tensor) -> Value:
    return container(c.fresh(name), type_of(t.dtype), [sizes.text_of(s) for s in t.shape])


def lower(gm: fx.GraphModule, name: str = "graph") -> Lowered:
    """UnsupportedError names the first node that programs don't know."""
    c = Lowering()
    parameters: list[str] = []
    out = Lowered("", [], {}, [], [], [])
    nodes = list(gm.graph.nodes)
    placeholders = [n for n in nodes if n.op == "placeholder"]
    for k, n in enumerate(placeholders):
        _placeholder(c, out, parameters, k, n)
    declarations: dict[str, str] = {}
    for n in nodes:
        if n.op == "call_function":
            try:
                c.lower(n)
            except UnsupportedError as e:
                what, *hint = str(e).split("\n", 1)
                raise sizes.said(e, "\n".join([what, f"  at {n.format_node()}", *_source_of(n), *hint])) from None
        elif n.op == "get_attr":
            _constant(c, out, gm, n)
        elif n.op == "output":
            _outputs(c, out, placeholders, n.args[0])
    results = {r for r in out.results}
    for d in c.declarations:
        kind, rest = d.split(" ", 1)
        declared_name = rest.split(":")[0]
        if kind == "transient" and declared_name in results:
            declarations[declared_name] = rest
    body = [d for d in c.declarations if not (d.startswith("transient ") and d.split(" ", 1)[1].split(":")[0] in results)]
    constants = [f"{n}: {declared(type_of(t.dtype), t.shape)}" for n, t in zip(c.constant_names, out.constants)]
    signature = [*parameters, *constants, *[declarations[r] for r in out.results]]
    _finish(out, name, signature, body, c.lines)
    return out


def _source_of(n: fx.Node) -> list[str]:
    """The line of the user's code that a node comes from."""
    trace = (n.meta.get("stack_trace") or "").strip().rpartition("File ")[2].split("\n")
    return [f"  in {trace[0]}: {trace[1].strip()}"] if len(trace) > 1 else []


def _placeholder(c: Lowering, out: Lowered, parameters: list[str], k: int, n: fx.Node) -> None:
    v = n.meta.get("val")
    c.refuse_undecided(v)
    if isinstance(v, torch.Tensor):
        for d, s in enumerate(v.shape):
            text = sizes.text_of(s)
            if isinstance(text, str) and _SYMBOL.fullmatch(text):
                out.sources.setdefault(text, (k, d))
        if not n.users:
            return
        if v.device.type != "cpu" or v.layout != torch.strided:
            raise UnsupportedError(f"{n.name} is {v.layout} on {v.device}")
        ours = c.fresh(n.name)
        shape = [sizes.text_of(s) for s in v.shape]
        c.values[n] = container(ours, type_of(v.dtype), shape)
        parameters.append(f"{ours}: {declared(type_of(v.dtype), shape)}")
        out.arguments.append(k)
        out.names[k] = ours
    elif isinstance(v, torch.SymInt):
        text = sizes.text_of(v)
        if isinstance(text, str) and _SYMBOL.fullmatch(text):
            out.sources.setdefault(text, (k, None))
        c.values[n] = scalar_of(v)
    elif v is None or isinstance(v, (int, float, bool)):
        c.values[n] = v
    elif n.users:
        raise UnsupportedError(f"{n.name} is a {type(v).__name__}")


def _constant(c: Lowering, out: Lowered, gm: fx.GraphModule, n: fx.Node) -> None:
    t = operator.attrgetter(n.target)(gm)
    if isinstance(t, fx.GraphModule):  # of torch.cond
        c.values[n] = t
        return
    if not isinstance(t, torch.Tensor):
        raise UnsupportedError(f"{n.target} is a {type(t).__name__}")
    ours = c.fresh(n.name)
    c.constant_names.append(ours)
    c.values[n] = container(ours, type_of(t.dtype), list(t.shape))
    out.constants.append(t)


def _outputs(c: Lowering, out: Lowered, placeholders: list[fx.Node], results: Any) -> None:
    taken: dict[str, int] = {}
    inputs = set(out.names.values()) | set(c.constant_names)
    for r in results if isinstance(results, (tuple, list)) else [results]:
        if not isinstance(r, fx.Node):
            out.outputs.append(Output("constant", r))
        elif r in placeholders:
            out.outputs.append(Output("argument", placeholders.index(r)))
        elif isinstance(c.values.get(r), Value):
            v = _of_named_sizes(c, c.values[r])
            strides = _strides(r.meta["val"])
            if v.name is None or v.name in inputs or not _declared(c, v.name):
                v = c.fill(c.new(v.dtype, v.shape, "result"), lambda i, v=v: v.at(i))
            if v.name not in taken:
                taken[v.name] = len(out.results)
                out.results.append(v.name)
            out.outputs.append(Output("program", taken[v.name], strides))
        elif c.values.get(r) is None:
            out.outputs.append(Output("constant", None))
        else:
            text = getattr(c.values[r], "text", c.values[r])
            if sizes.of_data(text):
                raise UnsupportedError("a result that is a number of chosen elements\nhint: mask.sum() is one, as a tensor")
            out.outputs.append(Output("size", text))


def _of_named_sizes(c: Lowering, v: Value) -> Value:
    """A result of sizes that follow from those of data: these have names, by which a program's result is declared."""
    if not any(sizes.of_data(s) and s not in c.decided for s in v.shape):
        return v
    shape = []
    for s in v.shape:
        name = c.fresh("size") if sizes.of_data(s) and s not in c.decided else s
        if name != s:
            c.line(f"let {name} = {s}")
        shape.append(name)
    return c.fill(c.new(v.dtype, shape, "result"), lambda i: v.at(i))


def _declared(c: Lowering, name: str) -> bool:
    return any(d.startswith(f"transient {name}:") for d in c.declarations)


def _strides(t: torch.Tensor) -> tuple | None:
    if any(sizes.of_data(sizes.text_of(s)) for s in t.shape) or t.is_contiguous():
        return None
    if any(stride == 0 and size != 1 for stride, size in zip(t.stride(), t.shape)):
        return None  # what is expanded becomes dense
    return tuple(sizes.text_of(s) for s in t.stride())


def _finish(out: Lowered, name: str, signature: list[str], declarations: list[str], lines: list[str]) -> None:
    everything = "\n".join([*signature, *declarations, *lines])
    bound = {s for p in signature for s in _bare_sizes(p)}
    used = sorted(set(_SYMBOL.findall(everything)))
    missing = [s for s in used if s not in bound]
    for s in used:
        if s not in out.sources:
            raise UnsupportedError(f"the size {s} follows from no argument")
    signature += [f"{s}: symbol" for s in missing]
    assumed = [f"assume {', '.join(f'1 <= {s}' for s in used)}"] if used else []
    body = "\n".join([*("  " + d for d in [*assumed, *declarations]), *lines])
    out.text = f"sdfg {name}({', '.join(signature)}) {{\n{body}\n}}\n"


def _bare_sizes(parameter: str) -> list[str]:
    inside = parameter.partition("[")[2].rpartition("]")[0]
    return [s.strip() for s in inside.split(",") if _SYMBOL.fullmatch(s.strip())]
