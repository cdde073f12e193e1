"""Functions that give something else at each call: random numbers and clocks. A program is translated once, and would have what they
gave then."""

from __future__ import annotations

import datetime
import os
import random
import uuid
from typing import Any

import numpy as np

from .errors import Refused

_GENERATORS = (random.Random, np.random.RandomState, np.random.Generator, np.random.BitGenerator)
_MODULES = ("random", "numpy.random", "time", "secrets")
_CHANGING = ("fill", "sort", "partition", "put", "resize", "setfield", "setflags", "byteswap")  # methods of arrays
_OF_DATES = ("now", "utcnow", "today")
_ALONE = (os.urandom, uuid.uuid1, uuid.uuid4)


def check_pure(function: Any) -> None:
    if _impure(function):
        name = getattr(function, "__qualname__", function)
        raise Refused(f"{name} gives something else at each call, and would be called once, when the program is translated",
                      "call it outside of the program, and pass what it gives as an argument")


def _impure(function: Any) -> bool:
    if isinstance(function, type) or function is np.random.default_rng or not callable(function):
        return False
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ndarray) and function.__name__ in _CHANGING:
        raise Refused("an array of the surroundings is changed in place", "pass it as an argument, or change a copy")
    if isinstance(owner, type) and issubclass(owner, datetime.date):
        return function.__name__ in _OF_DATES
    return isinstance(owner, _GENERATORS) or getattr(function, "__module__", None) in _MODULES or any(function is f for f in _ALONE)
