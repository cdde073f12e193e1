"""Sizes: torch's symbolic integers as text of the notation, which is also Python's."""

from __future__ import annotations

import re
from typing import Any

import sympy
import torch

from ..errors import UnsupportedError


_SYMBOL = re.compile(r"\bs\d+\b")
_OF_DATA = re.compile(r"\bu\d+\b")


class OpenSizeError(UnsupportedError):
    """A size that is open where programs have numbers: there is one for that size. `symbols` are those of the size; `places`,
    once they are known, the argument and dimension that each comes from."""

    symbols: frozenset[str] = frozenset()
    places: frozenset[tuple[int, int]] = frozenset()


def must_be_number(text: str, why: str) -> OpenSizeError:
    """For a size, as text, that only a number can be."""
    error = OpenSizeError(why)
    error.symbols = frozenset(_SYMBOL.findall(text))
    return error


def said(error: UnsupportedError, text: str) -> UnsupportedError:
    """The error, with another text."""
    made = type(error)(text)
    if isinstance(error, OpenSizeError):
        made.symbols = error.symbols
    return made


def is_open(size: Any) -> bool:
    """Whether it is the text of a size that no number is known for; other texts are names."""
    return isinstance(size, str) and bool(_SYMBOL.search(size) or _OF_DATA.search(size))


def of_data(text: int | str) -> set[str]:
    """The sizes in it that data decide, as torch names them: u0, u1 …"""
    return set(_OF_DATA.findall(text)) if isinstance(text, str) else set()


def refuse_of_data(names: set[str]) -> None:
    if names:
        raise UnsupportedError(f"the size {min(names)} depends on data: programs have sizes that follow from their arguments' shapes\n"
                               "hint: torch.compile(model, backend=\"headrace\") compiles what is around it")


def text_of(size: Any) -> int | str:
    """An int, or text such as "s0", "2*s0 + 1", "s0//2"; "u0" is one that data decide."""
    if isinstance(size, torch.SymInt):
        size = size.node.expr
    if isinstance(size, sympy.Expr):
        if size.is_Integer:
            return int(size)
        return _print(size)
    return int(size)


def symbols_of(size: Any) -> set[str]:
    """Names of the symbols that a size reads."""
    if isinstance(size, torch.SymInt):
        return {s.name for s in size.node.expr.free_symbols}
    return {s.name for s in size.free_symbols} if isinstance(size, sympy.Expr) else set()


def _print(e: sympy.Expr) -> str:
    if e.is_Integer:
        return str(int(e)) if e >= 0 else f"({int(e)})"
    if e.is_Symbol:
        return e.name
    kind = type(e).__name__
    if kind == "Add":
        return "(" + " + ".join(_print(a) for a in e.args) + ")"
    if kind == "Mul":
        return "(" + "*".join(_print(a) for a in e.args) + ")"
    if kind == "Pow" and e.exp.is_Integer and 0 < e.exp <= 8:
        return "(" + "*".join([_print(e.base)] * int(e.exp)) + ")"
    if kind in ("FloorDiv", "CleanDiv"):
        return f"({_print(e.args[0])} // {_print(e.args[1])})"
    if kind == "CeilDiv":
        return f"(({_print(e.args[0])} + {_print(e.args[1])} - 1) // {_print(e.args[1])})"
    if kind in ("Mod", "PythonMod"):
        return f"({_print(e.args[0])} % {_print(e.args[1])})"
    if kind in ("Max", "Min"):
        text = _print(e.args[0])
        for a in e.args[1:]:
            text = f"{kind.lower()}({text}, {_print(a)})"
        return text
    if kind == "Identity":
        return _print(e.args[0])
    raise must_be_number(" ".join(s.name for s in e.free_symbols), f"no size of the notation is {e}")


def product(sizes) -> int | str:
    number, rest = 1, []
    for s in sizes:
        if isinstance(s, int):
            number *= s
        else:
            rest.append(s)
    if not rest or number == 0:
        return number
    factors = ([str(number)] if number != 1 else []) + rest
    return f"({'*'.join(factors)})" if len(factors) > 1 else rest[0]
