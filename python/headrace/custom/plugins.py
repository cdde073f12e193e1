"""Plugins: shared objects by path, and whatever installed packages offer as entry points of the group `headrace.plugins`."""

from __future__ import annotations

import os
import threading
import warnings
from typing import Any

from .. import _core, registrations
from ..errors import UsageError

_lock = threading.RLock()
_state = "waiting"  # until the registry is first used; then "loading", then "loaded"


def load_plugin(path: str | os.PathLike) -> None:
    """Loads a plugin's shared object, or all of a folder, into this process (docs/plugins.md). Raises InvalidError where one can't be
    loaded, UsageError where there is none."""
    path = os.fspath(path)
    folder = os.path.isdir(path)
    if folder and not any(name.endswith(".so") for name in os.listdir(path)):
        raise UsageError(f"there is no plugin in the folder {path}: plugins are shared objects, NAME.so")
    _core.load_plugin(path, folder)
    registrations.changed()


def load_entry_points() -> bool:
    """Called by the core when the registry is first used: True once all have been loaded. An entry point is the path of a plugin, or
    a function that is called without arguments. One that fails is a warning."""
    global _state
    with _lock:  # other threads wait; the functions themselves come by here again
        if _state == "waiting":
            _state = "loading"
            try:
                _load()
            except BaseException:
                _state = "waiting"
                raise
            _state = "loaded"
        return _state == "loaded"


def _load() -> None:
    import importlib.metadata

    for point in sorted(importlib.metadata.entry_points(group="headrace.plugins"), key=lambda p: (_distribution(p), p.name)):
        try:
            _take(point.load())
        except Exception as error:
            warnings.warn(f"the plugin '{point.name}' of {_distribution(point)} can't be loaded: {type(error).__name__}: {error}",
                          RuntimeWarning, stacklevel=2)


def _take(offered: Any) -> None:
    if isinstance(offered, (str, os.PathLike)):
        load_plugin(offered)
    elif callable(offered):
        offered()
    else:
        raise TypeError(f"it is the path of a plugin or a function to call, not {type(offered).__name__}")


def _distribution(point: Any) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else "an unknown package"
