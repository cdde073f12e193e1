"""What goes wrong, as exceptions: each has the diagnostics that the command would print."""

from __future__ import annotations

import re


class HeadraceError(Exception):
    """Any failure that Headrace describes. `code` is "E0540" or "" (`headrace explain E0540` tells more), `diagnostics` a list
    of dicts with code, message, file, line, column, node, op, got, expected, hint."""

    def __init__(self, text: str, diagnostics: list[dict] | None = None):
        super().__init__(text)
        self.diagnostics = diagnostics or []
        self.code: str = self.diagnostics[0]["code"] if self.diagnostics else ""


class InvalidError(HeadraceError, ValueError):
    """A program, model or value that is wrong."""


class OutOfRangeError(InvalidError, IndexError):
    """An index that is outside of its array, found while a program runs."""


class UsageError(HeadraceError, ValueError):
    """Something asked for that there is not: an unknown name, option or backend."""


class UnsupportedError(HeadraceError, NotImplementedError):
    """Right, but not (yet) possible here."""


class InternalError(HeadraceError, RuntimeError):
    """Our mistake."""

    @property
    def reproducer(self) -> str | None:
        """The folder with the program before the pass that failed, the pass and how to run it again; None without one."""
        found = (re.search(r"with the folder (.+)$", d.get("hint", "")) for d in self.diagnostics)
        return next((m[1] for m in found if m), None)


class MismatchError(HeadraceError, AssertionError):
    """With `verify=`: a result is not what the reference gives. `output` is the first that differs, `place` the indices of its first
    element that does; got, expected and tolerance are in the text and in `diagnostics`."""

    def __init__(self, text: str, diagnostics: list[dict] | None = None, output: str = "", place: tuple[int, ...] = ()):
        super().__init__(text, diagnostics)
        self.output, self.place = output, place


_KINDS = {"invalid": InvalidError, "usage": UsageError, "unsupported": UnsupportedError, "mismatch": MismatchError,
          "internal": InternalError}


def of(kind: str, text: str, diagnostics: list[dict]) -> BaseException:
    """The exception for a failure in the C++ below."""
    if kind == "interrupted":
        return KeyboardInterrupt()
    if diagnostics and diagnostics[0]["code"] == "E0650":
        return OutOfRangeError(text, diagnostics)
    return _KINDS[kind](text, diagnostics)
