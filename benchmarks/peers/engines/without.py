"""Headrace with a pass of its pipeline left out: what the pass brings is this engine's time beside Headrace's."""

from __future__ import annotations

import os
import tempfile

from .headrace import Headrace

#: The variable of a worker that says which one.
PASS = "PEERS_WITHOUT"


class Without(Headrace):
    def start(self, threads: int) -> None:
        with tempfile.NamedTemporaryFile("w", suffix=".plan", delete=False, encoding="ascii") as plan:
            plan.write(f"without {os.environ[PASS]}\n")
        os.environ["HEADRACE_PLAN"] = plan.name
        super().start(threads)
