"""The tables of a suite, in Markdown."""

from __future__ import annotations

from typing import Any, Callable, Iterable, Mapping

from ..cases.key import Key
from ..engines import of_suite
from .statistics import OURS, Entry, entries, geomean


def report(suite: str, keys: Iterable[Key], rows: list[Mapping[str, Any]]) -> str:
    """Ratios with spread, what each case reaches of the machine, means, compile times and memory, and what failed."""
    lines = entries(keys, rows)
    peers = sorted({n for e in lines for n in e.peers}, key=_order(suite))
    parts = [f"# Headrace and its peers: {suite}", _about(lines), _ratios(lines, peers), _means(lines, peers)]
    if suite != "compile":
        parts.append(_costs(lines, peers))
    parts.append(_failures(lines))
    return "\n\n".join(p for p in parts if p) + "\n"


def summary(suite: str, keys: Iterable[Key], rows: list[Mapping[str, Any]]) -> str:
    """Of the cases that were measured: ratios and means, for a page that says more than tables."""
    lines = [e for e in entries(keys, rows) if e.row]
    peers = sorted({n for e in lines for n in e.peers}, key=_order(suite))
    return "\n\n".join([_about(lines), *([_passes(lines, peers)] if suite == "passes" else [_means(lines, peers), _ratios(lines, peers)])])


def _passes(lines: list[Entry], peers: list[str]) -> str:
    """A line a pass: what leaving it out costs."""
    body = []
    for p in peers:
        each = [(e, e.ratio(p)) for e in lines]
        body.append([p, *(f"{r.value:.2f}" if r else e.timings[p].status if p in e.timings else "" for e, r in each), f"**{number(geomean(r.value for _, r in each if r))}**"])
    return "The time without a pass over that with all of them: more than 1 is what the pass brings.\n\n" + _markdown(
        ["", *(f"{e.key.name} {e.key.mode}" for e in lines), "mean"], body)  # fmt: skip


def _order(suite: str) -> Callable[[str], tuple[int, str]]:
    """As the table of engines has them."""
    known = list(of_suite(suite))
    return lambda name: (known.index(name) if name in known else len(known), name)


def _markdown(header: list[str], body: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [header, ["---"] * len(header), *body])


def number(value: float | None, unit: float = 1.0) -> str:
    return "" if value is None else f"{value / unit:.3g}"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.0f}"


def share_of_peak(entry: Entry) -> float | None:
    """Of our operations of products; operations without products have none."""
    peak, flops = entry.row.get("machine", {}).get(entry.key.dtype), entry.row.get("flops")
    return flops / entry.ours.seconds / peak if peak and flops and entry.ours.seconds else None


def share_of_bandwidth(entry: Entry) -> float | None:
    """Of what must be moved at least. More than all of it: what is in the caches."""
    most, moved = entry.row.get("machine", {}).get("bandwidth"), entry.row.get("bytes")
    return moved / entry.ours.seconds / most if most and moved and entry.ours.seconds else None


def _about(lines: list[Entry]) -> str:
    measured = [e.row for e in lines if e.row]
    if not measured:
        return "Nothing was measured."
    said = []
    for cpu, processors in sorted({(r["machine"]["cpu"], r["machine"]["processors"]) for r in measured}):
        of = [r for r in measured if (r["machine"]["cpu"], r["machine"]["processors"]) == (cpu, processors)]
        most = {what: max((r["machine"].get(what) or 0 for r in of), default=0) for what in ("f32", "bf16", "int8", "bandwidth")}
        limits = [f"{most['f32'] / 1e9:.0f} GFLOP/s in f32"] + [f"{most[t] / 1e9:.0f} in {t}" for t in ("bf16", "int8") if most[t]]
        days = sorted({r["date"][:10] for r in of})
        said.append(f"{cpu}, {processors} processors: {', '.join(limits)}, {most['bandwidth'] / 1e9:.0f} GB/s (measured). "
                    f"{len(of)} cases, {days[0]}{' to ' + days[-1] if len(days) > 1 else ''}; load {min(r['busy'] for r in of):.1f} to {max(r['busy'] for r in of):.1f}.")
    versions = {n: v for r in measured for n, v in r.get("versions", {}).items() if v}
    if versions:
        said.append("Peers: " + ", ".join(f"{n} ({v})" for n, v in versions.items()) + ".")
    return "\n".join(said)


def _ratios(lines: list[Entry], peers: list[str]) -> str:
    header = ["case", "ms", "±%", "best peer", "its ms", "ratio", "turns", *peers, "% peak", "% bandwidth"]
    body = []
    for e in lines:
        best = e.best()
        cells = [_title(e), number(e.ours.seconds, 1e-3) or e.ours.status, _percent(e.ours.spread) if e.ours.turns else ""]
        cells += [best.peer, number(e.timings[best.peer].seconds, 1e-3), f"**{best.value:.2f}**", f"{best.low:.2f}–{best.high:.2f}"] if best else ["", "", "", ""]
        body.append([*cells, *(_against(e, p) for p in peers), _percent(share_of_peak(e)), _percent(share_of_bandwidth(e))])
    return "A peer's time over ours: more than 1 is where Headrace is faster. `turns`: the least and the most of single turns.\n\n" + _markdown(header, body)


def _title(e: Entry) -> str:
    return f"{e.key.name} {e.key.size} {e.key.mode} {e.key.dtype}"


def _against(e: Entry, peer: str) -> str:
    ratio, t = e.ratio(peer), e.timings.get(peer)
    return f"{ratio.value:.2f}" if ratio else "" if t is None or t.status == "not applicable" else number(t.seconds, 1e-3) + " ms" if t.seconds else t.status


def _means(lines: list[Entry], peers: list[str]) -> str:
    groups: dict[tuple[str, str], list[Entry]] = {}
    for e in lines:
        groups.setdefault((e.key.mode, e.key.dtype), []).append(e)
    body = []
    for (mode, dtype), of in groups.items():
        counted = [e.counted() for e in of]
        bad = [e for e in of if not e.ours.seconds]
        lowest = min((v for v in counted if v), default=None)
        each = [number(geomean((e.counted({p}) for e in of if p in e.timings and e.timings[p].status != "not applicable"))) for p in peers]
        body.append([f"{mode} {dtype}", str(len(of)), str(len(bad)), f"**{number(geomean(counted))}**", number(lowest), *each])
    header = ["geometric means", "cases", "failing or missing (count as 0.5)", "best peer", "lowest", *peers]
    return _markdown(header, body)


def _costs(lines: list[Entry], peers: list[str]) -> str:
    names = [OURS, *peers]
    header = ["case", *(f"{n}: s to compile" for n in names), *(f"{n}: MiB" for n in names)]
    body = []
    for e in lines:
        of = [e.timings.get(n) for n in names]
        right = [t if t and t.status == "ok" else None for t in of]
        body.append([_title(e), *(number(t and t.compile_seconds) for t in right), *(number(t and t.memory, 1 << 20) for t in right)])
    return ("What comes before the first result, with cold caches, and the most memory of a call beyond framework, weights and inputs (with what "
            "compiling in the process left).\n\n") + _markdown(header, body)


def _failures(lines: list[Entry]) -> str:
    said = [f"* {_title(e)}, {n}: {t.status}: {t.detail}" for e in lines for n, t in e.timings.items() if t.status not in ("ok", "not applicable")]
    said += [f"* {_title(e)}: {e.row.get('detail') or 'not measured'}" for e in lines if OURS not in e.timings]
    return "Failed, wrong or missing:\n\n" + "\n".join(said) if said else ""
