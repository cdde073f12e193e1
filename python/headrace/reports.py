"""What became of a program: `report()` of functions and training steps, as dicts that notebooks show with pictures."""

from __future__ import annotations

import re
from html import escape
from typing import Any, Iterator, Mapping

from . import _core, walk
from .pictures import Series, line_chart
from .pictures.chart import smoothed


class Report(dict):
    """A dict; a notebook shows it with memory over time and the loss curve, where it has these."""

    def _repr_html_(self) -> str:
        parts = []
        if self.get("memory"):
            parts.append(line_chart(f"Memory over time, at most {_bytes(max(self['memory']))}",
                                    [Series("temporaries", list(enumerate(self["memory"])), steps=True)], "statement", "bytes",
                                    zero=True, bytes=True))
        if self.get("losses"):
            parts.append(loss_chart(self["losses"]))
        for key in ("stored", "recomputed"):
            if self.get(key):
                parts.append(_table(key, self[key]))
        plain = {k: v for k, v in self.items() if k not in ("memory", "losses", "stored", "recomputed")}
        rows = "".join(f"<tr><td>{escape(str(k))}</td><td>{escape(_text(v))}</td></tr>" for k, v in plain.items() if v not in (None, [], {}))
        return "".join(parts) + (f"<table>{rows}</table>" if rows else "")


def _table(name: str, items: list[dict[str, Any]]) -> str:
    rows = "".join(f"<tr><td>{escape(str(i['container']))}</td><td style=\"text-align:right\">{_bytes(i['bytes'])}</td>"
                   f"<td>{escape(str(i['why']))}</td></tr>" for i in items)
    return f"<table><tr><th>{escape(name)}</th><th>memory</th><th>why</th></tr>{rows}</table>"


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{k}: {_text(v)}" for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(" + ".join(map(str, v)) if isinstance(v, tuple) else str(v) for v in value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _bytes(count: float) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.4g} {unit}"
        count /= 1024
    return f"{count:.4g} GiB"


def loss_chart(losses: list[float]) -> str:
    """SVG of the losses of a training; from twenty steps on their mean over a window, and behind it each."""
    points = list(enumerate(losses, 1))
    log = min(losses) > 0 and max(losses) > 100 * min(losses)
    name = f"training loss {losses[-1]:.4g}"
    if len(losses) < 20:
        return line_chart("Loss over training steps", [Series(name, points)], "step", "loss", log=log)
    smooth = Series(f"training loss {smoothed(losses)[-1]:.4g}", list(enumerate(smoothed(losses), 1)))
    return line_chart("Loss over training steps", [Series("", points, faint=True), smooth], "step", "loss", log=log)


def report_of(sdfg, backend: str, compiled, plan: dict[str, Any] | None, sizes: Mapping[str, int] | None = None) -> Report:
    """`plan`: what the backward pass said of the forward part's arrays; None where there was none."""
    lowered = sdfg.lowered(backend)
    fused = {tuple(sources.split("+")) for sources in re.findall(r'from "([^"]*)" by "fuse-maps"', lowered.text) if "+" in sources}
    said = Report({
        "fused": sorted(fused),
        "calls": sorted(set(re.findall(r"\bcall\.(\w+)", lowered.text))),
        "compilation": compiled.report(),
    })
    memory = memory_over_time(lowered.json(), sizes or {})
    if memory is not None:
        said["memory"] = memory
    if plan is not None:
        of = {again: [{k: item[k] for k in ("container", "bytes", "why")} for item in plan["kept"] if item["recomputed"] is again]
              for again in (False, True)}
        said.update(stored=of[False], recomputed=of[True], peak_bytes=plan["predicted_peak"],
                    recomputed_work=plan["recompute_work"], solver=plan["solver"])
    return said


# ---- memory ----
def memory_over_time(program: Mapping[str, Any], sizes: Mapping[str, int]) -> list[int] | None:
    """Bytes of the entry's temporaries that live while each statement of its states runs, in order; loops once, in which what they
    touch lives as long as they run. None where `sizes` don't tell all."""
    containers = {c.name: c for c in walk.containers(program)}  # type: ignore[arg-type]
    uses: list[tuple[int, int, set[str]]] = []
    count = _uses(walk.blocks(program), uses, 0)  # type: ignore[arg-type]
    spans: dict[str, tuple[int, int]] = {}
    for begin, end, names in uses:
        for name in names:
            while name in containers and containers[name].base:
                name = containers[name].base  # type: ignore[assignment]
            c = containers.get(name)
            if c is not None and c.kind == "transient" and "@register" not in c.text:
                first, last = spans.get(name, (begin, end))
                spans[name] = min(first, begin), max(last, end)
    live = [0] * (count + 1)
    for name, (first, last) in spans.items():
        size = _size(containers[name], sizes)
        if size is None:
            return None
        live[first] += size
        live[last + 1] -= size
    memory, now = [], 0
    for change in live[:-1]:
        now += change
        memory.append(now)
    return memory


def _uses(blocks: list[walk.Block], uses: list[tuple[int, int, set[str]]], at: int) -> int:
    """Adds (first statement, last one, containers) of every statement, numbered from `at`; gives the number after the last."""
    for b in blocks:
        for n in b.nodes:
            uses.append((at, at, {m.container for m in n.memlets}))
            at += 1
        begin, mark = at, len(uses)
        for inner in (b.body, *(body for _, body in b.branches)):
            at = _uses(inner, uses, at)
        if b.kind == "loop":
            uses[mark:] = [(begin, at - 1, names) for _, _, names in uses[mark:]]
    return at


def _size(container: walk.Container, sizes: Mapping[str, int]) -> int | None:
    elements = 1
    for s in container.shape:
        if isinstance(s, str):
            s = _core.simplify(re.sub(r"[A-Za-z_]\w*", lambda m: str(sizes.get(m[0], m[0])), s))
            if not re.fullmatch(r"-?\d+", s):
                return None
        elements *= max(int(s), 0)
    bits = re.search(r"\d+", container.type)
    return (elements * (int(bits[0]) if bits else 8) + 7) // 8
