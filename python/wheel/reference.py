"""Writes the reference of the package `headrace` from its docstrings, as Markdown: reference.py > python_reference.md"""

from __future__ import annotations

import inspect
import sys
from typing import Any, Iterator

import headrace
import headrace.compat.dace
import headrace.onnx

MODULES = (headrace, headrace.onnx, headrace.compat.dace)
NEED_TORCH = ("module", "train_step")


def public(module: Any) -> Iterator[tuple[str, Any]]:
    """What users find in a module: classes and functions, without types for annotations and what comes from elsewhere."""
    for name in sorted(getattr(module, "__all__", dir(module))):
        what = getattr(module, name) if name not in NEED_TORCH else None
        where = inspect.getmodule(what).__name__ if callable(what) and inspect.getmodule(what) else ""
        if not name.startswith("_") and where.startswith(module.__name__) and (inspect.isclass(what) or inspect.isfunction(what)):
            yield name, what


def members(kind: type) -> Iterator[tuple[str, Any]]:
    """Methods and properties of its own that users call."""
    for name, what in vars(kind).items():
        inner = what.__func__ if isinstance(what, (classmethod, staticmethod)) else what
        if not name.startswith("_") and (inspect.isfunction(inner) or isinstance(what, property)):
            yield name, inner


def signature(what: Any) -> str:
    if isinstance(what, property):
        return ""
    try:
        return str(inspect.signature(what)).replace("'", "").replace("(self, ", "(").replace("(self)", "()").replace("(cls, ", "(")
    except ValueError:
        return "(…)"


def section(name: str, what: Any, level: int) -> Iterator[str]:
    yield f"{'#' * level} `{name}{signature(what)}`\n"
    yield (inspect.getdoc(what) or "") + "\n"


def lines() -> Iterator[str]:
    yield "# Reference of the package headrace\n"
    for module in MODULES:
        title = module.__name__
        yield f"## {title}\n"
        yield f"{inspect.getdoc(module)}\n"
        for name, what in public(module):
            yield from section(f"{title}.{name}", what, 3)
            for member, inner in members(what) if inspect.isclass(what) else ():
                if inspect.getdoc(inner):
                    yield from section(f"{name}.{member}", inner, 4)


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines()))
