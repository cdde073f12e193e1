"""Line charts with the look of `headrace train`'s curves (training/curve_svg.cc)."""

from __future__ import annotations

import math
from typing import Sequence

from .svg import LINE, INK, SOFT, FAINT, Canvas, text_width

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 720.0, 300.0, 78.0, 696.0, 52.0, 254.0
COLOURS = ("#0969da", "#bc4c00", "#1a7f37")  # told apart by the colour-blind
_COLUMNS = 360                              # points of a line, at most twice as many


class Series:
    """`points`: (x, y); `steps`: y holds from x to the next point; `faint`: in the background, without a name."""

    def __init__(self, name: str, points: Sequence[tuple[float, float]], *, steps: bool = False, faint: bool = False):
        self.name, self.points, self.steps, self.faint = name, [p for p in points if math.isfinite(p[1])], steps, faint


def line_chart(title: str, series: Sequence[Series], x_name: str, y_name: str, *, zero: bool = False, log: bool = False,
               bytes: bool = False) -> str:
    """SVG. `zero`: the axis begins there; `log`: in decades, where all values allow it; `bytes`: in KiB, MiB …"""
    values = [y for s in series for _, y in s.points]
    canvas = Canvas()
    canvas.text(_LEFT, 22, title, 13, INK, bold=True)
    if not values:
        canvas.text(_WIDTH / 2, _HEIGHT / 2, "nothing to show yet", 12, SOFT, anchor="middle")
        return canvas.svg(_WIDTH, _HEIGHT, title)
    log = log and min(values) > 0
    along = [x for s in series for x, _ in s.points]
    first, last = min(along), max(max(along) + any(s.steps for s in series), min(along) + 1)  # the last step, too, is as long as one
    low, high = (0.0 if zero else min(values)), max(values)
    ticks = _decades(low, high) if log else _binary_ticks(high) if bytes else round_ticks(low, high, 5)
    bottom, top = (math.log10(ticks[0]), math.log10(ticks[-1])) if log else (ticks[0], ticks[-1])

    def at_x(x: float) -> float:
        return _LEFT + (x - first) / (last - first) * (_RIGHT - _LEFT)

    def at_y(y: float) -> float:
        return _BOTTOM - ((math.log10(y) if log else y) - bottom) / (top - bottom) * (_BOTTOM - _TOP)

    for t in ticks:
        canvas.path(f"M{_LEFT} {at_y(t):.1f}H{_RIGHT}", FAINT if t == ticks[0] else LINE)
        canvas.text(_LEFT - 8, at_y(t) + 4, _bytes_text(t) if bytes else f"{t:.6g}", 11, SOFT, anchor="end")
    for t in round_ticks(first, last, 8):
        if first <= t <= last and t == int(t):
            canvas.path(f"M{at_x(t):.1f} {_BOTTOM}v4", FAINT)
            canvas.text(at_x(t), _BOTTOM + 18, f"{t:.6g}", 11, SOFT, anchor="middle")
    canvas.text((_LEFT + _RIGHT) / 2, _HEIGHT - 8, x_name, 11, SOFT, anchor="middle")
    canvas.text(16, (_TOP + _BOTTOM) / 2, y_name + (" (log scale)" if log else ""), 11, SOFT, anchor="middle", rotate=True)
    named = 0
    key = _LEFT
    for s in series:
        colour = COLOURS[named % len(COLOURS)]
        _line(canvas, s, at_x, at_y, last, colour)
        if s.faint or not s.points:
            continue
        named += 1
        canvas.path(f"M{key:.1f} 38h20", colour, width=2)
        canvas.text(key + 26, 42, s.name, 11, INK)
        key += 26 + text_width(s.name, 11) + 24
    return canvas.svg(_WIDTH, _HEIGHT, title)


def _line(canvas: Canvas, s: Series, at_x, at_y, last: float, colour: str) -> None:
    points = thinned(s.points)
    if not points:
        return
    d, before = f"M{at_x(points[0][0]):.1f} {at_y(points[0][1]):.1f}", points[0]
    for x, y in points[1:]:
        d += (f"H{at_x(x):.1f}V{at_y(y):.1f}" if s.steps else f"L{at_x(x):.1f} {at_y(y):.1f}") if (x, y) != before else ""
        before = (x, y)
    if s.steps:
        d += f"H{at_x(last):.1f}"
        canvas.path(f"{d}V{_BOTTOM}H{at_x(points[0][0]):.1f}z", "none", fill=colour, opacity=0.12)
    canvas.path(d, colour, width=1 if s.faint else 2, opacity=0.3 if s.faint else 1)
    if len(points) == 1 and not s.steps:
        canvas.circle(at_x(points[0][0]), at_y(points[0][1]), 3, colour)


def thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Every point, or the extremes of each column, in their order."""
    if len(points) <= 2 * _COLUMNS:
        return list(points)
    kept = []
    for k in range(_COLUMNS):
        part = points[k * len(points) // _COLUMNS:(k + 1) * len(points) // _COLUMNS]
        kept += sorted({min(part, key=lambda p: p[1]), max(part, key=lambda p: p[1])})
    return kept


def smoothed(values: Sequence[float]) -> list[float]:
    """The mean over a window around each value, a twenty-fifth of all wide."""
    half = max(2, len(values) // 50)
    sums = [0.0]
    for v in values:
        sums.append(sums[-1] + v)
    return [(sums[min(k + half + 1, len(values))] - sums[max(k - half, 0)]) / (min(k + half + 1, len(values)) - max(k - half, 0))
            for k in range(len(values))]


def round_ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers, equally far apart, around both: about `most`."""
    if not high - low > 1e-9 * max(abs(low), abs(high), 1e-290):
        room = 0.1 * max(abs(low), abs(high)) or 1.0
        low, high = low - room, high + room
    least = (high - low) / max(1, most - 1)
    apart = 10.0 ** math.floor(math.log10(least))
    apart *= next(f for f in (1, 2, 5, 10) if f * apart >= least * (1 - 1e-9))
    first, last = math.floor(low / apart + 1e-9), math.ceil(high / apart - 1e-9)
    return [k * apart for k in range(first, last + 1)]


def _decades(low: float, high: float) -> list[float]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    apart = math.ceil((last - first) / 6) or 1
    return [10.0 ** k for k in range(first, max(last, first + 1) + apart, apart)]


def _binary_ticks(high: float) -> list[float]:
    unit = 1.0
    while high / unit >= 1024:
        unit *= 1024
    return [t * unit for t in round_ticks(0, max(high, 1) / unit, 5)]


def _bytes_text(v: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if v < 1024 or unit == "TiB":
            return f"{v:.4g} {unit}"
        v /= 1024
    raise AssertionError
