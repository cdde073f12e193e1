"""A program as a picture: its control flow from the top down, in each state the dataflow."""

from __future__ import annotations

from collections import Counter
from html import escape
from typing import Any, Mapping, Sequence

from .. import walk
from ..walk import Block, Container
from .boxes import Box, Left, Short
from .dataflow import Dataflow
from .svg import FAINT, INK, SOFT, Canvas, number, shortened, text_width

MOST_STATEMENTS = 48  # drawn of one program; the others are counted
_MOST_BLOCKS, _MOST_SDFGS, _MOST_TEXT = 24, 4, 100_000


class Budget:
    """How many statements may still be drawn, and how many were left out."""

    def __init__(self, most: int):
        self.left, self.hidden = most, 0

    def take(self, many: int) -> int:
        given = min(many, max(self.left, 3))
        self.left -= given
        self.hidden += many - given
        return given


class Stack(Box):
    """Boxes one above the other, with arrows between them."""

    def __init__(self, inner: Sequence[Box]):
        self._inner = list(inner)
        self.width = max((b.width for b in self._inner), default=0.0)
        self.height = sum(b.height for b in self._inner) + 22 * max(len(self._inner) - 1, 0)

    def draw(self, canvas: Canvas, x: float, y: float) -> None:
        middle = x + self.width / 2
        for k, box in enumerate(self._inner):
            if k:
                canvas.arrow([(middle, y - 20), (middle, y - 2)], FAINT)
            canvas.begin(box.title)
            box.draw(canvas, x + (self.width - box.width) / 2, y)
            canvas.end()
            y += box.height + 22


class Frame(Box):
    """A box around another, with a heading."""

    def __init__(self, heading: str, inner: Box, fill: str, stroke: str, ink: str, *, mono: bool = False):
        self._heading, self._inner, self._colours, self._mono = shortened(heading, 110), inner, (fill, stroke, ink), mono
        self.title = heading
        self.width = max(inner.width, text_width(self._heading, 12, mono)) + 32
        self.height = inner.height + 50 if inner.height else 34

    def draw(self, canvas: Canvas, x: float, y: float) -> None:
        fill, stroke, ink = self._colours
        canvas.rect(x, y, self.width, self.height, fill, stroke, round=7)
        canvas.text(x + 14, y + 21, self._heading, 12, ink, mono=self._mono)
        self._inner.draw(canvas, x + (self.width - self._inner.width) / 2, y + 36)


def _state(block: Block, containers: Mapping[str, Container], budget: Budget) -> Box:
    flow = Dataflow(block.nodes, containers, budget.take(len(block.nodes)))
    return Frame(block.text, flow, "#fdfcf5", "#c9bd86", "#7a6a2a")


def _block(block: Block, containers: Mapping[str, Container], budget: Budget) -> Box:
    if block.kind == "state":
        return _state(block, containers, budget)
    if block.kind == "loop":
        return Frame(block.text, _blocks(block.body, containers, budget), "#fff8ef", "#c69b5a", "#7c4a03", mono=True)
    if block.kind == "if":
        branches = []
        for k, (condition, inner) in enumerate(block.branches):
            heading = "else" if condition is None else f"{'else ' if k else ''}if {condition}"
            branches.append(Frame(heading, _blocks(inner, containers, budget), "#fbf3f6", "#bf7f98", "#7d2f4d", mono=True))
        return branches[0] if len(branches) == 1 else Stack(branches)
    return Short(block.text, [], block.text)


def _blocks(blocks: Sequence[Block], containers: Mapping[str, Container], budget: Budget) -> Stack:
    shown, hidden = list(blocks[:_MOST_BLOCKS]), list(blocks[_MOST_BLOCKS:])
    boxes = [_block(b, containers, budget) for b in shown]
    if hidden:
        many = sum(len(b.nodes) for block in hidden for b in block)
        budget.hidden += many
        boxes.append(Left(f"… {len(hidden)} blocks left out", [(f"with {many} statements", False)]))
    return Stack(boxes)


class Program(Box):
    """The entry, and below it the programs that it calls."""

    def __init__(self, described: Mapping[str, Any], most: int):
        budget = Budget(most)
        entry = described["entry"]
        sdfgs = sorted(described["sdfgs"], key=lambda s: s["name"] != entry)
        self._frames: list[tuple[str, Box]] = []
        for s in sdfgs[:_MOST_SDFGS]:
            blocks = walk.blocks(described, s["name"])  # type: ignore[arg-type]
            inner = _blocks(blocks, _drawn(walk.containers(described, s["name"]), blocks), budget)  # type: ignore[arg-type]
            self._frames.append((_head(s), inner))
        for s in sdfgs[_MOST_SDFGS:]:
            budget.hidden += sum(len(b.nodes) for block in walk.blocks(described, s["name"]) for b in block)  # type: ignore[arg-type]
        self.left_out, self._sdfgs_left_out = budget.hidden, len(sdfgs[_MOST_SDFGS:])
        self.width = max([inner.width for _, inner in self._frames] + [text_width(h, 13, mono=True) for h, _ in self._frames]) + 32
        self.height = sum(inner.height + 58 for _, inner in self._frames) + (20 if self.left_out or self._sdfgs_left_out else 0)

    def draw(self, canvas: Canvas, x: float, y: float) -> None:
        for head, inner in self._frames:
            name, _, rest = head.partition("(")
            canvas.text(x + 16, y + 26, name, 13, INK, bold=True, mono=True)
            canvas.text(x + 16 + text_width(name, 13, mono=True) + 3, y + 26, "(" + rest, 13, SOFT, mono=True)
            inner.draw(canvas, x + (self.width - inner.width) / 2, y + 42)
            y += inner.height + 58
        if self.left_out or self._sdfgs_left_out:
            canvas.text(x + self.width / 2, y + 8, self.note, 11, SOFT, anchor="middle")

    @property
    def note(self) -> str:
        """What is not drawn."""
        parts = [_many(self.left_out, "statement")] if self.left_out else []
        parts += [_many(self._sdfgs_left_out, "program") + " that this one calls"] if self._sdfgs_left_out else []
        return " and ".join(parts) + " left out" if parts else ""


def _drawn(containers: Sequence[Container], blocks: Sequence[Block]) -> dict[str, Container]:
    """Without those that one statement has for itself."""
    bases = {c.base for c in containers}
    users = Counter(name for block in blocks for b in block for n in b.nodes for name in {m.container for m in n.memlets})
    return {c.name: c for c in containers if c.kind != "transient" or c.name in bases or users[c.name] > 1}


def _many(count: int, what: str) -> str:
    return f"{count} {what}" + ("s" if count != 1 else "")


def _head(sdfg: Mapping[str, Any]) -> str:
    return shortened(f"{sdfg['name']}({', '.join(p['text'] for p in sdfg['parameters'])})", 110)


def program_svg(described: Mapping[str, Any], most: int = MOST_STATEMENTS) -> str:
    """The program (as `Sdfg.json` gives it) as SVG; of more than `most` statements the first and the last of each state."""
    picture = Program(described, most)
    canvas = Canvas()
    picture.draw(canvas, 0, 0)
    return canvas.svg(picture.width, picture.height, f"program {described['entry']}")


def program_html(described: Mapping[str, Any], text: str) -> str:
    """The picture, in a frame that scrolls, and the program's text below it."""
    shown = text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}\n… {number(len(text) - _MOST_TEXT)} more characters"
    return ('<div style="max-height:760px;overflow:auto">' + program_svg(described) + "</div>"
            f"<details><summary>IR text of {escape(described['entry'])}</summary><pre>{escape(shown)}</pre></details>")
