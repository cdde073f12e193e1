"""Tensors that forward keeps in attributes, `self.features = y`: they are results of the program, and put there after each call."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass
from typing import Any, Iterator

import torch
from torch import fx
from torch.export.graph_signature import InputKind
from torch.utils import _pytree as pytree

from ..errors import UnsupportedError

_LEAVES = (torch.Tensor, int, float, bool, str, type(None))
_NEW = ("aten.new_", "aten.zeros_like", "aten.ones_like", "aten.full_like", "aten.empty_like")  # of a tensor these take the shape alone


@dataclass
class Place:
    """`name` of the part at `path`; `read`: before forward bound it."""

    path: str
    name: str
    read: bool

    @property
    def title(self) -> str:
        return f"{self.path}.{self.name}".lstrip(".")


class Owner:
    """Of a module that is traced in the place of another: whose attributes users see."""

    def __init__(self, attributes: dict):
        self.attributes = attributes


def attributes_of(module: torch.nn.Module, path: str) -> dict:
    names = vars(module.get_submodule(path))
    return names["_headrace_owner"].attributes if "_headrace_owner" in names else names


class Kept:
    """What the forward of a module under trace keeps. The module has its attributes back afterwards. `reads`: whether it looks at what
    forward reads, too, which Dynamo doesn't take, within torch.cond."""

    def __init__(self, reads: bool = False) -> None:
        self._reads = reads
        self.places: list[Place] = []
        self.values: list[Any] = []

    @contextlib.contextmanager
    def watching(self, module: torch.nn.Module) -> Iterator[None]:
        before = {path: (part, dict(vars(part))) for path, part in module.named_modules()}
        self.places, self.values = [], []
        try:
            with _reads(module) if self._reads else contextlib.nullcontext(set()) as seen:
                yield
            for path, (part, had) in before.items():
                for name, value in vars(part).items():
                    if value is not had.get(name) and _is_traced(value):
                        self.places.append(Place(path, name, (id(vars(part)), name) in seen))
                        self.values.append(value)
        finally:
            for part, had in before.values():
                for name in [n for n, v in vars(part).items() if v is not had.get(n) and _is_traced(v)]:
                    vars(part)[name] = had.get(name)
                    if name not in had:
                        del vars(part)[name]


def _is_traced(value: Any) -> bool:
    leaves = pytree.tree_leaves(value, is_leaf=lambda v: v is None)
    return any(isinstance(v, torch.Tensor) for v in leaves) and all(isinstance(v, _LEAVES) for v in leaves)


@contextlib.contextmanager
def _reads(module: torch.nn.Module) -> Iterator[set]:
    """(id of the attributes, name) of those that this thread reads as they were at the beginning."""
    seen: set[tuple[int, str]] = set()
    had = {id(vars(part)): dict(vars(part)) for part in module.modules()}
    here = threading.get_ident()
    kinds = [k for k in {type(part) for part in module.modules()} if "__getattribute__" not in vars(k) and not k.__module__.startswith("torch.nn.")]

    def getattribute(self, name: str) -> Any:
        if threading.get_ident() == here:
            names = object.__getattribute__(self, "__dict__")
            if id(names) in had and names.get(name) is had[id(names)].get(name):
                seen.add((id(names), name))
        return object.__getattribute__(self, name)

    for kind in kinds:
        kind.__getattribute__ = getattribute
    try:
        yield seen
    finally:
        for kind in kinds:
            del kind.__getattribute__


def put_after_calls(program: Any, places: list[Place]) -> list[bool]:
    """Of each place whether the tensor is put there. What forward looks for first and makes of sizes alone is made anew in each
    trace; of data it would be a state."""
    if not places:
        return []
    output = next(n for n in program.graph.nodes if n.op == "output")
    nodes, spec = list(output.args[0]), program.call_spec.out_spec.child(1)
    nodes, taken = nodes[len(nodes) - spec.num_leaves:], []
    for place, part in zip(places, spec.children(), strict=True):
        own, nodes = nodes[:part.num_leaves], nodes[part.num_leaves:]
        if place.read and _of_data(program, own):
            raise UnsupportedError(f"forward reads {place.title} and binds it to what it computes: the next call would not see it\n"
                                   f"hint: register_buffer(\"{place.name}\", …), which programs keep")
        taken.append(not place.read)
    return taken


def _of_data(program: Any, nodes: list) -> bool:
    """Whether the nodes follow from values of arguments or parameters."""
    placeholders = [n for n in program.graph.nodes if n.op == "placeholder"]
    data = {n for n, spec in zip(placeholders, program.graph_signature.input_specs) if spec.kind in (InputKind.USER_INPUT, InputKind.PARAMETER)}
    open_, done = [n for n in nodes if isinstance(n, fx.Node)], set()
    while open_:
        n = open_.pop()
        if n in data:
            return True
        if n not in done and isinstance(n.meta.get("val"), (torch.Tensor, tuple, list)) and not str(n.target).startswith(_NEW):
            done.add(n)
            open_ += n.all_input_nodes
    return False
