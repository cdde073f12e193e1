"""The shapes of a picture: each knows its size before it is drawn."""

from __future__ import annotations

import re
from typing import Mapping, Sequence

from ..walk import Container, Node
from .svg import FAINT, INK, LINE, SOFT, Canvas, shortened, text_width

_MOST_LETTERS, _MOST_LINES = 76, 8
_ORIGIN = re.compile(r'( from "(\\.|[^"])*")?( by "(\\.|[^"])*")?$')  # of a statement: shown under the mouse alone


class Box:
    """`width`, `height` in pixels; `title` is shown under the mouse."""

    width = height = 0.0
    title = ""

    def draw(self, canvas: Canvas, x: float, y: float) -> None:
        raise NotImplementedError


class Access(Box):
    """One version of a container: its name, and type and shape below. Dashed where it lives inside of a run alone."""

    def __init__(self, container: Container):
        sizes = f"[{', '.join(map(str, container.shape))}]" if container.shape else ""
        kind = {"parameter": "", "transient": ""}.get(container.kind, f"{container.kind} ")
        self.name, self.type = shortened(container.name, 28), shortened(f"{kind}{container.type}{sizes}", 36)
        self.title, self.kind = container.text or repr(container), container.kind
        self.width = max(text_width(self.name, 12, mono=True), text_width(self.type, 10)) + 26
        self.height = 34

    def draw(self, canvas: Canvas, x: float, y: float) -> None:
        outside = self.kind == "parameter"
        canvas.rect(x, y, self.width, self.height, "#f6f8fa" if outside else "#fff", SOFT if outside else FAINT, round=17,
                    dash="" if outside else "4 3", width=1.4 if outside else 1)
        canvas.text(x + self.width / 2, y + 15, self.name, 12, INK, anchor="middle", mono=True)
        canvas.text(x + self.width / 2, y + 27, self.type, 10, SOFT, anchor="middle")


class Labelled(Box):
    """A heading, and lines of details below."""

    fill, stroke, ink = "#ffffff", FAINT, INK
    mono, dash = False, ""

    def __init__(self, heading: str, lines: Sequence[tuple[str, bool]] = (), title: str = ""):
        """`lines`: (text, whether it is code)."""
        self.heading, self.title = shortened(heading, _MOST_LETTERS), title
        self.lines = list(lines[:_MOST_LINES])
        if len(lines) > _MOST_LINES:
            self.lines[-1] = (f"… {len(lines) - _MOST_LINES + 1} more lines", False)
        self.width = max([text_width(self.heading, 12, self.mono) * (1 if self.mono else 1.06),
                          *(text_width(t, 11 if code else 10, code) for t, code in self.lines)]) + 22
        self.height = 27 + (len(self.lines) * 15 + 5 if self.lines else 0)

    def draw(self, canvas: Canvas, x: float, y: float) -> None:
        canvas.rect(x, y, self.width, self.height, self.fill, self.stroke, round=5, dash=self.dash)
        canvas.text(x + self.width / 2, y + 18, self.heading, 12, self.ink, anchor="middle", bold=not self.mono, mono=self.mono)
        code = any(c for _, c in self.lines)
        if code:
            canvas.path(f"M{x:.1f} {y + 26:.1f}h{self.width:.1f}", self.stroke)
        for k, (line, is_code) in enumerate(self.lines):
            if is_code:
                canvas.text(x + 11, y + 42 + 15 * k, line, 11, INK, mono=True)
            else:
                canvas.text(x + self.width / 2, y + 34 + 15 * k + (8 if code else 0), line, 10, SOFT, anchor="middle")


class Library(Labelled):
    fill, stroke, ink = "#e3edfb", "#33568f", "#1b3a6b"


class Map(Labelled):
    fill, stroke, ink = "#eef7ee", "#3d7a45", "#24532b"


class Tasklet(Labelled):
    mono = True


class Call(Labelled):
    fill, stroke, ink = "#f3ecfb", "#7a4fa3", "#53307a"


class Left(Labelled):
    """What stands for the statements that are left out."""

    fill, stroke, ink, dash = "#f6f8fa", FAINT, SOFT, "2 3"


class Short(Labelled):
    """A line of control flow: let, require, break."""

    fill, stroke, mono = "#fff8ef", "#c69b5a", True


def box_of(node: Node, containers: Mapping[str, Container]) -> Box:
    """`containers`: those of its sdfg; constants that a library node reads are listed in its box."""
    if node.kind == "library":
        domain, _, op = node.op.rpartition(".")
        lines = [(shortened(node.origin, 44), False)] if node.origin else []
        held = [containers[m.container] for m in node.memlets if not m.write and is_constant(containers.get(m.container))]
        lines += [(shortened(f"{c.name}: {c.type}{list(c.shape) if c.shape else ''}".replace("'", ""), 44), False) for c in held]
        return Library(op if domain in ("onnx", "") else node.op, lines, node.text)
    if node.kind == "map":
        return Map(_ranges(node), [(shortened(line, _MOST_LETTERS), True) for line in _body(node.body)],
                   "\n".join([_ranges(node) + (f" from {node.origin}" if node.origin else ""), *_body(node.body)]))
    if node.kind == "call":
        return Call(f"call {node.callee}", [], node.text)
    return Tasklet(_bare(node.text), [], node.text)


def is_constant(container: Container | None) -> bool:
    return container is not None and container.kind == "constant"


def _bare(text: str) -> str:
    return _ORIGIN.sub("", text)


def _ranges(node: Node) -> str:
    return "map " + ", ".join(f"{i} in {b}:{e}" + (f":{s}" if s != "1" else "") for i, b, e, s in node.ranges)


def _body(nodes: Sequence[Node], indent: str = "") -> list[str]:
    lines = []
    for n in nodes:
        lines.append(indent + (_ranges(n) if n.kind == "map" else _bare(n.text)))
        lines += _body(n.body, indent + "\u2003")
    return lines


__all__ = ["Access", "Box", "Left", "Short", "box_of", "is_constant", "LINE"]
