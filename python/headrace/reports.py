"""What became of a program: `report()` of functions."""

from __future__ import annotations

import re
from typing import Any


def report_of(sdfg, backend: str, compiled, plan: dict[str, Any] | None) -> dict[str, Any]:
    """`plan`: what the backward pass said of the forward part's arrays; None where there was none."""
    text = sdfg.lowered(backend).text
    fused = {tuple(sources.split("+")) for sources in re.findall(r'from "([^"]*)" by "fuse-maps"', text) if "+" in sources}
    said: dict[str, Any] = {
        "fused": sorted(fused),
        "calls": sorted(set(re.findall(r"\bcall\.(\w+)", text))),
        "compilation": compiled.report(),
    }
    if plan is not None:
        of = {again: [{k: item[k] for k in ("container", "bytes", "why")} for item in plan["kept"] if item["recomputed"] is again]
              for again in (False, True)}
        said.update(stored=of[False], recomputed=of[True], peak_bytes=plan["predicted_peak"],
                    recomputed_work=plan["recompute_work"], solver=plan["solver"])
    return said
