"""What the benchmark asks of an engine. Each runs in a process of its own (../worker.py)."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable

from ..cases.folder import Folder


class NotApplicable(Exception):
    """The engine has no such mode or type, or it would be the same as another one."""


@dataclasses.dataclass
class Call:
    """A prepared case. `run` does all of its work and waits for it; `value` is an array of what a run gave, by name: `y`, gradients by
    the names of `Folder.wanted`, `loss`."""

    run: Callable[[], Any]
    value: Callable[[Any, str], Any]


class Engine:
    """One library, as its users call it, without switches per case."""

    def start(self, threads: int) -> None:
        """Imports the library: no part of any time or of memory."""

    def load(self, case: Folder) -> Any:
        """Reads inputs and weights: no part of any time or of memory."""
        return None

    def prepare(self, case: Folder, loaded: Any) -> Call:
        """Compiles, as far as that needs no run. What it takes, with the first run, is the time of compilation."""
        raise NotImplementedError
