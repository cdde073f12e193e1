"""Writes the reference of the package `headrace` from its docstrings, as Markdown: reference.py > python_reference.md"""

from __future__ import annotations

import ast
import inspect
import os
import sys
from typing import Any, Iterator

import headrace
import headrace.autodiff
import headrace.compat.dace
import headrace.onnx
import headrace.onnx_backend

MODULES = (headrace, headrace.autodiff, headrace.onnx, headrace.onnx_backend, headrace.compat.dace)
# Where torch may be missing: read from the source. {file in headrace/torch: names, and classes whose methods users call}
NEED_TORCH = {"module.py": ("module", "Mixin"), "training.py": ("train_step", "TrainStep")}
HEADINGS = {"Mixin": "a compiled module, beside its own methods", "TrainStep": "what headrace.train_step gives"}


def public(module: Any) -> Iterator[tuple[str, Any]]:
    """What users find in a module: classes and functions, without types for annotations and what comes from elsewhere."""
    later = getattr(module, "_LATER", {})  # is there, and not in __all__: it needs other packages
    for name in sorted({*getattr(module, "__all__", dir(module)), *later}):
        what = getattr(module, name) if later.get(name) != "torch" else None
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


def of_torch() -> Iterator[tuple[str, str, str, int]]:
    """(name, signature, docstring, level) of what needs torch."""
    for file, names in NEED_TORCH.items():
        with open(os.path.join(os.path.dirname(headrace.__file__), "torch", file), encoding="utf-8") as f:
            found = {n.name: n for n in ast.parse(f.read()).body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
        for name in names:
            node = found[name]
            if isinstance(node, ast.FunctionDef):
                yield f"headrace.{name}", f"({ast.unparse(node.args)})", ast.get_docstring(node) or "", 3
                continue
            yield HEADINGS[name], "", ast.get_docstring(node) or "", 3
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef) and not inner.name.startswith("_") and ast.get_docstring(inner):
                    prop = any(isinstance(d, ast.Name) and d.id == "property" for d in inner.decorator_list)
                    arguments = "" if prop else f"({ast.unparse(inner.args)})".replace("(self, ", "(").replace("(self)", "()")
                    yield inner.name, arguments, ast.get_docstring(inner) or "", 4


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
        for name, arguments, doc, level in of_torch() if module is headrace else ():
            yield f"{'#' * level} `{name}{arguments}`\n"
            yield doc + "\n"


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines()))
