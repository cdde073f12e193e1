"""What is otherwise while a module is traced is so in the thread that traces alone."""

from __future__ import annotations

import contextlib
import functools
import threading
from typing import Any, Callable, Iterator


@contextlib.contextmanager
def replaced(*places: tuple[Any, str, Callable]) -> Iterator[None]:
    """owner.name is a new function."""
    before, here = [getattr(owner, name) for owner, name, _ in places], threading.get_ident()

    def for_thread(new: Callable, old: Callable) -> Callable:
        @functools.wraps(old)
        def call(*args, **named):
            return (new if threading.get_ident() == here else old)(*args, **named)

        return call

    try:
        for (owner, name, new), old in zip(places, before):
            setattr(owner, name, for_thread(new, old))
        yield
    finally:
        for (owner, name, _), old in zip(places, before):
            setattr(owner, name, old)
