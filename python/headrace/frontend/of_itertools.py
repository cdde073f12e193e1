"""The module itertools in programs: lists of what is known, or of rows of arrays of which there is a known number."""

from __future__ import annotations

import itertools
import operator
from typing import Any, Callable

from .builtin import python_list
from .calling import CALLING
from .errors import Refused
from .functions import FUNCTIONS
from .values import Value

MOST = 4096  # items, each of which is written out


def _listed(function: Callable) -> Callable:
    def handler(e, *args, **named):
        found = list(itertools.islice(function(*[python_list(e, a) if isinstance(a, Value) and a.ndim else a for a in args], **named), MOST + 1))
        if len(found) > MOST:
            raise Refused(f"itertools.{function.__name__} of more than {MOST} items, each of which would be written out", "write loops over ranges")
        return found
    return handler


for _name in ("combinations", "combinations_with_replacement", "permutations", "product", "islice", "pairwise", "zip_longest", "repeat"):
    FUNCTIONS[getattr(itertools, _name)] = _listed(getattr(itertools, _name))
FUNCTIONS[itertools.chain] = _listed(itertools.chain)


def accumulate(call: Callable, e: Any, iterable, func=None, *, initial=None) -> list:
    found = [] if initial is None else [initial]
    for item in python_list(e, iterable):
        found.append(call(func or operator.add, [found[-1], item], {}) if found else item)
    return found


def starmap(call: Callable, e: Any, function, iterable) -> list:
    return [call(function, python_list(e, args), {}) for args in iterable]


CALLING.update({itertools.accumulate: accumulate, itertools.starmap: starmap})
