"""The dataflow of one state as a layered drawing."""

from __future__ import annotations

from collections import Counter
from typing import Mapping, Sequence

from ..walk import Container, Memlet, Node
from .boxes import Access, Box, Left, box_of, is_constant
from .layered import Layout
from .svg import SOFT, Canvas, shortened, text_width

_SPARSE = 14  # statements: more are drawn without the containers that go from one statement to others


class Step:
    """A statement, or several that are left out: what it reads and writes."""

    def __init__(self, memlets: Sequence[Memlet], box: Box, containers: Mapping[str, Container]):
        self.box, self.memlets = box, [m for m in memlets if m.container in containers]


class Dataflow(Box):
    """Statements, and between them the versions of the containers: each write makes a new one."""

    def __init__(self, nodes: Sequence[Node], containers: Mapping[str, Container], most: int):
        self._containers = containers
        self._steps = folded(nodes, containers, most)
        self._boxes: list[Box] = []
        self._edges: dict[tuple[int, int], list[str]] = {}
        self._labels: dict[tuple[int, int], str] = {}
        self._connect()
        self._layout = Layout([(b.width, b.height) for b in self._boxes], list(self._edges))
        self.width, self.height = self._layout.width, self._layout.height

    def _connect(self) -> None:
        writers = Counter(root for s in self._steps for root in {self._root(m.container) for m in s.memlets if m.write})
        direct = {c for c, many in writers.items() if many == 1 and len(self._steps) > _SPARSE
                  and self._containers[c].kind == "transient"}
        latest: dict[str, int] = {}
        for step in self._steps:
            at = self._add(step.box)
            made: dict[str, int] = {}
            for m in step.memlets:
                root = self._root(m.container)
                if is_constant(self._containers.get(root)):
                    continue
                if m.write:
                    if root in latest and (m.op or not self._whole(m)):
                        self._edge(latest[root], at, m)  # what is there stays
                    if root in direct:
                        made[root] = at
                    elif root not in made:
                        made[root] = self._add(Access(self._containers[m.container]))
                    if made[root] != at:
                        self._edge(at, made[root], m)
                    continue
                if root not in latest:
                    latest[root] = self._add(Access(self._containers[m.container]))
                self._edge(latest[root], at, m)
                if root in direct:
                    self._labels[latest[root], at] = root
            latest.update(made)

    def _root(self, name: str) -> str:
        return root_of(name, self._containers)

    def _whole(self, m: Memlet) -> bool:
        container = self._containers[m.container]
        return m.container == self._root(m.container) and m.subset == [f"0:{s}" for s in container.shape]

    def _add(self, box: Box) -> int:
        self._boxes.append(box)
        return len(self._boxes) - 1

    def _edge(self, source: int, target: int, m: Memlet) -> None:
        inside = f"[{', '.join(m.subset)}]" if m.subset else ""
        said = self._edges.setdefault((source, target), [])
        text = f"{m.container}{inside}{f' {m.op}' if m.op else ''}"
        if text not in said:
            said.append(text)

    def draw(self, canvas: Canvas, x: float, y: float) -> None:
        for (ends, said), route in zip(self._edges.items(), self._layout.routes):
            canvas.begin("\n".join(said))
            canvas.arrow([(x + a, y + b) for a, b in route], SOFT)
            if ends in self._labels:
                self._label(canvas, self._labels[ends], x + route[-1][0], y + route[-1][1])
            canvas.end()
        for box, (left, top) in zip(self._boxes, self._layout.places):
            canvas.begin(box.title)
            box.draw(canvas, x + left, y + top)
            canvas.end()

    def _label(self, canvas: Canvas, name: str, x: float, y: float) -> None:
        text = shortened(name, 18)
        canvas.rect(x - text_width(text, 9) / 2 - 2, y - 23, text_width(text, 9) + 4, 12, "#fff")
        canvas.text(x, y - 14, text, 9, SOFT, anchor="middle")


def root_of(name: str, containers: Mapping[str, Container]) -> str:
    """The container that this one is a view of, or itself."""
    while name in containers and containers[name].base:
        name = containers[name].base  # type: ignore[assignment]
    return name


def folded(nodes: Sequence[Node], containers: Mapping[str, Container], most: int) -> list[Step]:
    """At most `most` statements, the first ones and the last; one that stands for the others says what they are."""
    if len(nodes) <= most:
        return [Step(n.memlets, box_of(n, containers), containers) for n in nodes]
    first = max(1, most * 2 // 3)
    last = max(1, most - first)
    hidden = nodes[first:-last]
    kinds = Counter(n.op.rpartition(".")[2] if n.kind == "library" else n.kind for n in hidden)
    said = [f"{many} {kind}" for kind, many in kinds.most_common(4)]
    if len(kinds) > 4:
        said.append(f"{sum(kinds.values()) - sum(m for _, m in kinds.most_common(4))} others")
    box = Left(f"… {len(hidden)} statements left out", [(" · ".join(said), False)], "\n".join(f"{many} {kind}" for kind, many in kinds.most_common()))
    before, after = ({root_of(m.container, containers) for n in part for m in n.memlets} for part in (nodes[:first], nodes[-last:]))
    parts = [[Step(n.memlets, box_of(n, containers), containers) for n in part] for part in (nodes[:first], nodes[-last:])]
    return [*parts[0], Step(_crossing(hidden, before, after, containers), box, containers), *parts[1]]


def _crossing(hidden: Sequence[Node], before: set[str], after: set[str], containers: Mapping[str, Container]) -> list[Memlet]:
    """Of those that are left out: reads of what statements before them touch, or of arguments; writes of what statements after them
    touch, or of results."""
    kept: dict[tuple[str, bool], Memlet] = {}
    for n in hidden:
        for m in n.memlets:
            root = root_of(m.container, containers)
            argument = root in containers and containers[root].kind == "parameter"
            if argument and (m.write or root in before | after) or root in (after if m.write else before):
                kept.setdefault((m.container, m.write), m)
    return list(kept.values())
