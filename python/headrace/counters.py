"""What was compiled and what was not, counted: so that nobody has to guess."""

from __future__ import annotations

import threading
from collections import Counter

_lock = threading.Lock()
_all: dict[str, Counter] = {}


def count(group: str, what: str, n: int = 1) -> None:
    with _lock:
        _all.setdefault(group, Counter())[what] += n


def counters() -> dict[str, dict[str, int]]:
    """A copy of all counters so far: {"torch.compile": {"programs": 3, …}, "torch.fallback": {"aten.sort.default": 1}, …}."""
    with _lock:
        return {group: dict(c) for group, c in _all.items()}


def reset_counters() -> None:
    """Sets every counter to zero."""
    with _lock:
        _all.clear()
