"""What is registered changes while a program runs: ops, implementations, rules and preferences. What programs, models and Sdfgs
compiled before such a change they compile anew at their next call."""

from __future__ import annotations

from typing import Callable

#: how often something has changed; whoever keeps what was compiled compares it
generation = 0
_watchers: list[Callable[[], None]] = []


def changed() -> None:
    global generation
    generation += 1
    for watcher in _watchers:
        watcher()


def watch(watcher: Callable[[], None]) -> None:
    """`watcher` is called after each change."""
    _watchers.append(watcher)
