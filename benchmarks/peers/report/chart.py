"""The ratios of a suite as an SVG: a bar a case, from 1 to the ratio against the best peer, on a logarithmic scale."""

from __future__ import annotations

import math
from html import escape
from typing import Any, Iterable, Mapping

from ..cases.key import Key
from .statistics import MISSING, Entry, entries

LINE, LABEL, WIDTH, MARGIN = 18, 300, 460, 30
FASTER, SLOWER, FAILED = "#2f7d4f", "#b5563b", "#999999"


def chart(suite: str, keys: Iterable[Key], rows: list[Mapping[str, Any]]) -> str:
    lines = entries(keys, rows)
    shown = [v for e in lines for v in _extent(e)]
    low, high = min([0.5, *shown]), max([2.0, *shown])
    scale = lambda v: LABEL + WIDTH * (math.log(v) - math.log(low)) / (math.log(high) - math.log(low))
    height = MARGIN + LINE * len(lines) + MARGIN
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LABEL + WIDTH + 110}" height="{height}" font-family="sans-serif" font-size="12">',
           f"<title>{escape(suite)}: the best peer's time over Headrace's</title>",
           f'<rect width="100%" height="100%" fill="white"/>', *_axis(low, high, scale, height)]  # fmt: skip
    for k, entry in enumerate(lines):
        out += _bar(entry, MARGIN + LINE * k, scale)
    return "\n".join([*out, "</svg>"]) + "\n"


def _extent(entry: Entry) -> list[float]:
    best = entry.best()
    return [best.low, best.high, best.value] if best else [MISSING]


def _axis(low: float, high: float, scale, height: int) -> list[str]:
    ticks = [t for t in (0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 10, 25, 50, 100) if low <= t <= high]
    out = []
    for t in ticks:
        x, colour = scale(t), "#333333" if t == 1 else "#dddddd"
        out.append(f'<line x1="{x:.1f}" y1="{MARGIN - 6}" x2="{x:.1f}" y2="{height - MARGIN + 4}" stroke="{colour}"/>')
        out.append(f'<text x="{x:.1f}" y="{MARGIN - 10}" text-anchor="middle" fill="#555555">{t:g}</text>')
    return out


def _bar(entry: Entry, y: int, scale) -> list[str]:
    title = f"{entry.key.name} {entry.key.size} {entry.key.mode} {entry.key.dtype}"
    middle = y + LINE / 2
    out = [f'<text x="{LABEL - 8}" y="{middle + 4:.1f}" text-anchor="end">{escape(title)}</text>']
    best = entry.best()
    value = best.value if best else MISSING
    colour = FAILED if not best else FASTER if value >= 1 else SLOWER
    left, right = sorted((scale(1), scale(value)))
    out.append(f'<rect x="{left:.1f}" y="{y + 3}" width="{max(1, right - left):.1f}" height="{LINE - 6}" fill="{colour}"/>')
    if best:
        out.append(f'<line x1="{scale(best.low):.1f}" y1="{middle:.1f}" x2="{scale(best.high):.1f}" y2="{middle:.1f}" stroke="#222222"/>')
    said = f"{value:.2f} {best.peer}" if best else entry.ours.status if not entry.ours.seconds else "no peer"
    out.append(f'<text x="{LABEL + WIDTH + 8}" y="{middle + 4:.1f}">{escape(said)}</text>')
    return out
