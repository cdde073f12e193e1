"""What of Python no program has, and what to write instead."""

from __future__ import annotations

import array
import ast
import builtins
import collections
from typing import Any, Callable

import numpy as np

from .errors import Refused

_EXPRESSIONS = {
    ast.SetComp: ("a set comprehension", "write a loop"),
    ast.JoinedStr: ("a string with values", "return the values"),
    ast.Yield: ("yield", "a generator is what a for loop goes over; elsewhere return arrays"),
    ast.YieldFrom: ("yield", "a generator is what a for loop goes over; elsewhere return arrays"),
    ast.Await: ("await", "await outside of the program"),
}
_STATEMENTS = {
    ast.AsyncFunctionDef: ("functions that are defined", "define it outside"),
    ast.ClassDef: ("classes", "define it outside"),
    ast.Try: ("try statements", "test before, or return a number that says what went wrong"),
    ast.Raise: ("raise statements", "return a number that says what went wrong, or assert what is known when the program is translated"),
    ast.With: ("with statements", "put the call of the program inside of it"),
    ast.AsyncWith: ("with statements", "put the call of the program inside of it"),
    ast.AsyncFor: ("async loops", "write for"),
    ast.Global: ("global statements", "return the value, or change an array that is an argument"),
    ast.Delete: ("del statements of parts", "take an item out of a list or dict by pop()"),
    ast.Match: ("match statements with patterns of classes, of dicts or with a star", "write if and elif"),
}
_CALLS: dict[Any, tuple[str, str]] = {
    collections.defaultdict: ("a defaultdict", "use a dict, and d.get(key, 0)"),
    collections.deque: ("a deque", "use a list, or an array and np.roll"),
    builtins.input: ("input", "call it outside of the program, and pass what it gives as an argument"),
    builtins.open: ("open", "read the file outside of the program, and pass what is in it as an argument"),
    builtins.eval: ("eval", "write the expression"),
    builtins.exec: ("exec", "write the statements"),
}
_CALLS_WITH_DATA: dict[Any, tuple[str, str]] = {
    builtins.print: ("print of what the program computes", "return the values, and print them around the call"),
    builtins.next: ("next", "write a loop over the generator, or an item of a list"),
    builtins.id: ("id", "compare by is"),
}


def check_place(function: Callable, with_data: bool) -> None:
    """Of what is called. `with_data`: some argument is what the program computes."""
    try:
        name, hint = _CALLS.get(function) or with_data and _CALLS_WITH_DATA.get(function) or ("", "")
    except TypeError:  # what has no hash is none of them
        return
    if name:
        raise Refused(f"{name} has no place in a program", hint)


def has_elements(value: Any) -> bool:
    """Whether NumPy takes it for an array, which it is not: its elements may be others in the next call, and nobody looks."""
    if isinstance(value, (np.ndarray, np.generic, type)):
        return False
    return isinstance(value, (array.array, memoryview)) or hasattr(value, "__array__") or hasattr(value, "__array_interface__")


def check_elements(function: Callable, values: list) -> None:
    """Of NumPy's functions."""
    if isinstance(function, np.ufunc) or (getattr(function, "__module__", None) or "").partition(".")[0] == "numpy":
        for value in filter(has_elements, values):
            raise Refused(f"np.{function.__name__} of a {type(value).__name__}", "pass np.asarray(…) of it as an argument")


class NoPlace(NotImplementedError):
    """A construct that has no place in a program; `hint` says what to write."""

    def __init__(self, node: ast.AST):
        if isinstance(node, ast.stmt):
            name, self.hint = _STATEMENTS.get(type(node), (f"{type(node).__name__.lower()} statements", ""))
            super().__init__(f"{name} have no place in a program")
        else:
            name, self.hint = _EXPRESSIONS.get(type(node), (type(node).__name__, ""))
            super().__init__(f"{name} has no place in a program")
