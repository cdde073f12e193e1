"""A canvas that SVG comes out of. All text goes through `escape`; nothing is named by an id, so that any number of pictures may
stand in one page."""

from __future__ import annotations

from html import escape
from typing import Sequence

SANS = "system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif"
MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"

# Ink, from the strongest to what stays in the background.
INK, SOFT, FAINT, LINE = "#1f2328", "#57606a", "#8c959f", "#d0d7de"


def text_width(text: str, size: float, mono: bool = False) -> float:
    """Pixels, about: of the widest of the usual fonts."""
    return size * len(text) * (0.61 if mono else 0.57)


def shortened(text: str, most: int) -> str:
    """At most so many characters, the last an ellipsis where some are left out."""
    text = text.replace("\n", " ")
    return text if len(text) <= most else text[:most - 1].rstrip() + "…"


def number(v: float) -> str:
    """One decimal, without a zero one."""
    return f"{v:.1f}".removesuffix(".0").replace("-0", "0") if abs(v) < 0.05 else f"{v:.1f}".removesuffix(".0")


class Canvas:
    """What is drawn, in order, in pixels from the upper left corner."""

    def __init__(self) -> None:
        self._items: list[str] = []

    def rect(self, x: float, y: float, w: float, h: float, fill: str, stroke: str = "none", *, round: float = 0, dash: str = "",
             width: float = 1) -> None:
        more = f' rx="{number(round)}"' if round else ""
        more += f' stroke-dasharray="{dash}"' if dash else ""
        more += f' stroke-width="{number(width)}"' if width != 1 else ""
        self._items.append(f'<rect x="{number(x)}" y="{number(y)}" width="{number(w)}" height="{number(h)}" fill="{fill}" stroke="{stroke}"{more}/>')

    def text(self, x: float, y: float, text: str, size: float = 12, fill: str = INK, *, anchor: str = "start", mono: bool = False,
             bold: bool = False, rotate: bool = False) -> None:
        """`y`: the line that letters stand on."""
        more = ' font-weight="600"' if bold else ""
        more += f' transform="rotate(-90 {number(x)} {number(y)})"' if rotate else ""
        more += "" if anchor == "start" else f' text-anchor="{anchor}"'
        self._items.append(f'<text x="{number(x)}" y="{number(y)}" font-family="{MONO if mono else SANS}" font-size="{number(size)}" '
                           f'fill="{fill}"{more} xml:space="preserve">{escape(text)}</text>')

    def path(self, points: str, stroke: str, *, fill: str = "none", width: float = 1, dash: str = "", opacity: float = 1) -> None:
        more = f' stroke-dasharray="{dash}"' if dash else ""
        more += f' opacity="{opacity:g}"' if opacity != 1 else ""
        self._items.append(f'<path d="{points}" fill="{fill}" stroke="{stroke}" stroke-width="{number(width)}" stroke-linejoin="round" '
                           f'stroke-linecap="round"{more}/>')

    def circle(self, x: float, y: float, r: float, fill: str) -> None:
        self._items.append(f'<circle cx="{number(x)}" cy="{number(y)}" r="{number(r)}" fill="{fill}"/>')

    def arrow(self, points: Sequence[tuple[float, float]], stroke: str, dash: str = "") -> None:
        """A curve that goes down through the points, and an arrow's head where it ends."""
        (x, y), *others = points
        d = f"M{number(x)} {number(y)}"
        for k, (to_x, to_y) in enumerate(others):
            stop = to_y - (4 if k == len(others) - 1 else 0)
            bend = (stop - y) * 0.5
            d += f"C{number(x)} {number(y + bend)} {number(to_x)} {number(stop - bend)} {number(to_x)} {number(stop)}"
            x, y = to_x, stop
        self.path(d, stroke, dash=dash)
        self.path(f"M{number(x - 3.5)} {number(y - 3)}L{number(x)} {number(y + 4)}L{number(x + 3.5)} {number(y - 3)}z", "none", fill=stroke)

    def begin(self, title: str) -> None:
        """What is drawn until `end` shows this text under the mouse."""
        self._items.append(f"<g><title>{escape(title)}</title>")

    def end(self) -> None:
        self._items.append("</g>")

    def svg(self, width: float, height: float, title: str) -> str:
        w, h = number(width), number(height)
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" width="{w}" height="{h}" role="img">'
                f'<title>{escape(title)}</title><rect width="{w}" height="{h}" fill="#fff" rx="6"/>' + "".join(self._items) + "</svg>")
