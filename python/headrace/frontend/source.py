"""The source of a function: its statements, its surroundings, and places for errors."""

from __future__ import annotations

import ast
import contextlib
import difflib
import functools
import inspect
import os
import sys
import textwrap
import threading
import types
from typing import Any

import numpy as np

from ..errors import UnsupportedError
from .matching import WithoutMatch


class TranslationError(Exception):
    """An error that already says where it is."""


class TranslationTypeError(TranslationError, TypeError):
    pass


class TranslationValueError(TranslationError, ValueError):
    pass


class TranslationUnsupported(TranslationError, UnsupportedError):
    def __init__(self, text: str):
        UnsupportedError.__init__(self, text)


def _text(function: types.FunctionType) -> str:
    try:
        return inspect.getsource(function.__code__)  # its own, not that of a function which it wraps
    except (OSError, TypeError):
        if function.__code__.co_filename == "<string>" and "-c" in sys.orig_argv:  # python -c "…"
            lines = sys.orig_argv[sys.orig_argv.index("-c") + 1].splitlines(keepends=True)[function.__code__.co_firstlineno - 1:]
            return "".join(inspect.getblock(lines))
        raise UnsupportedError(f"the source of {function.__qualname__} is not to be had: put it into a file or a notebook") from None


def _definition(text: str) -> ast.FunctionDef | None:
    """What the text defines; None where it is part of an expression, as a lambda's is."""
    try:
        first = ast.parse(text).body[0]
    except SyntaxError:  # lines of an expression that begins before them or goes on after
        return None
    return first if isinstance(first, ast.FunctionDef) else None


def _lambda(function: types.FunctionType) -> tuple[list[str], ast.Lambda] | None:
    """The lines of its file, and the lambda among them that has this code; None where that isn't to be had."""
    try:
        lines = inspect.findsource(function)[0]
        tree = ast.parse("".join(lines))
    except (OSError, TypeError, SyntaxError):
        return None
    places = set(function.__code__.co_positions())
    found = [n for n in ast.walk(tree) if isinstance(n, ast.Lambda)
             and (n.body.lineno, n.body.end_lineno, n.body.col_offset, n.body.end_col_offset) in places
             and [a.arg for a in [*n.args.posonlyargs, *n.args.args]] == list(function.__code__.co_varnames[: function.__code__.co_argcount])]
    return ([line.rstrip("\n") for line in lines], found[0]) if len(found) == 1 else None


def _not_a_definition(function: types.FunctionType, text: str) -> str:
    line = text.splitlines()[0]
    what = "a lambda" if function.__name__ == "<lambda>" else function.__qualname__
    column = max(line.find("lambda"), 0) if function.__name__ == "<lambda>" else len(line) - len(line.lstrip())
    code = function.__code__
    return (f"{what} is no function written with def\n  {code.co_filename}:{code.co_firstlineno}\n    {line}\n    {' ' * column}^\n"
            "  hint: give it a name: def f(x): return …")


class Cells:
    """The variables of the functions around a function, as a mapping."""

    def __init__(self, function: types.FunctionType):
        self._cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))

    def __iter__(self):
        return iter(self._cells)

    def __contains__(self, name: str) -> bool:
        return self.get(name, self) is not self

    def __getitem__(self, name: str) -> Any:
        return self._cells[name].cell_contents

    def get(self, name: str, otherwise: Any = None) -> Any:
        try:
            return self[name]
        except (KeyError, ValueError):  # no such name, or nothing bound to it yet
            return otherwise


Read = tuple  # (names around a function, one of them, the object that it meant)


class _Recorders(threading.local):
    """Of this thread: another one may translate another function."""

    def __init__(self):
        self.open: list[list[Read]] = []


_recorders = _Recorders()


@contextlib.contextmanager
def surroundings_read():
    """What translations read meanwhile of the names around their functions: where one means something else later, the program does not
    do what the function does any more."""
    reads: list[Read] = []
    _recorders.open.append(reads)
    try:
        yield reads
    finally:
        _recorders.open.pop()


class Attributes:
    """An object's, as names around a function: those of its class may change, too."""

    def __init__(self, of: Any):
        self.of = of

    def get(self, name: str) -> Any:
        return getattr(self.of, name, None)


_NUMBERS = (bool, int, float, complex, str, type(None))
_CONTAINERS = (list, dict, set)
MOST_BUILT_IN = 4096  # elements of an array that is a part of the program


def is_plain(value: Any) -> bool:
    """A number, a text, an array, or what may hold some."""
    return isinstance(value, (*_NUMBERS, *_CONTAINERS, tuple, np.generic, np.ndarray))


class _Is:
    """Equal to itself alone."""

    def __init__(self, value: Any):
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Is) and self.value is other.value

    __hash__ = None  # type: ignore[assignment]


def content(value: Any) -> Any:
    """What tells whether the value is what it was: itself, or of a number its value and of a list, dict, set or small array what is in it."""
    if isinstance(value, dict):
        return type(value), [(k, content(v)) for k, v in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value), [content(v) for v in value]
    if isinstance(value, set):
        return type(value), set(value)
    if isinstance(value, np.ndarray) and value.dtype.kind != "O" and value.size <= MOST_BUILT_IN:
        return value.dtype, value.shape, value.tobytes()
    return (type(value), value) if isinstance(value, (*_NUMBERS, np.generic)) else _Is(value)


def read(names: Any, name: str, value: Any) -> None:
    if not isinstance(value, types.ModuleType):
        for reads in _recorders.open:
            reads.append((names, name, value))


def _likely(error: Exception) -> str:
    """What a misspelt name may be meant for."""
    of, name = getattr(error, "obj", None), getattr(error, "name", None)
    known = getattr(error, "known", None) or (dir(of) if of is not None else ())
    close = difflib.get_close_matches(name, known, 1) if isinstance(name, str) else ()
    return f"did you mean '{close[0]}'?" if close else ""


class Source:
    def __init__(self, function: types.FunctionType):
        self.function = function
        self.file = function.__code__.co_filename
        self.surroundings = [Cells(function), function.__globals__]
        if function.__name__ == "<lambda>" and (known := _lambda(function)) is not None:
            self.lines, node = known
            self.body, self.first_line = [ast.copy_location(ast.Return(node.body), node.body)], 1
            return
        text = _text(function)
        self.lines = textwrap.dedent(text).splitlines()
        self.indent = len(text.splitlines()[0]) - len(self.lines[0])
        definition = _definition("\n".join(self.lines))
        if definition is None:
            raise TranslationUnsupported(_not_a_definition(function, text))
        self.body = WithoutMatch().visit(definition).body
        self.first_line = function.__code__.co_firstlineno

    @staticmethod
    @functools.lru_cache(maxsize=1024)
    def of(function: types.FunctionType) -> Source:
        return Source(function)

    def arguments(self, args: list, named: dict) -> dict:
        bound = inspect.signature(self.function, follow_wrapped=False).bind(*args, **named)
        bound.apply_defaults()
        return dict(bound.arguments)

    def line(self, node: ast.AST) -> int:
        return self.first_line + node.lineno - 1

    def origin(self, node: ast.AST) -> str:
        return f' from "{os.path.basename(self.file)}:{self.line(node)}"'.replace("\\", "/") if hasattr(node, "lineno") else ""

    def error(self, error: Exception, node: ast.AST) -> TranslationError:
        """The error with file, line, the line's text and a caret."""
        text = self.lines[node.lineno - 1]
        caret = " " * node.col_offset + "^" * max(1, (node.end_col_offset or 0) - node.col_offset
                                                  if node.end_lineno == node.lineno else len(text) - node.col_offset)
        text_of = f"there is no item {error}" if isinstance(error, KeyError) else error
        message = f"{text_of}\n  {self.file}:{self.line(node)}, in {self.function.__name__}\n    {text}\n    {caret}"
        if hint := getattr(error, "hint", "") or _likely(error):
            message += f"\n  hint: {hint}"
        kind = (TranslationUnsupported if isinstance(error, NotImplementedError) else
                TranslationTypeError if isinstance(error, (TypeError, AttributeError)) else TranslationValueError)
        return kind(message)
