"""What goes wrong, as exceptions: each has the diagnostics that the command would print."""

from __future__ import annotations


class HeadraceError(Exception):
    """Any failure that Headrace describes. `code` is "E0540" or "" (`headrace explain E0540` tells more), `diagnostics` a list
    of dicts with code, message, file, line, column, node, op, got, expected, hint."""

    def __init__(self, text: str, diagnostics: list[dict] | None = None):
        super().__init__(text)
        self.diagnostics = diagnostics or []
        self.code: str = self.diagnostics[0]["code"] if self.diagnostics else ""


class InvalidError(HeadraceError, ValueError):
    """A program, model or value that is wrong."""


class UsageError(HeadraceError, ValueError):
    """Something asked for that there is not: an unknown name, option or backend."""


class UnsupportedError(HeadraceError, NotImplementedError):
    """Right, but not (yet) possible here."""


class InternalError(HeadraceError, RuntimeError):
    """Our mistake."""


_KINDS = {"invalid": InvalidError, "usage": UsageError, "unsupported": UnsupportedError, "mismatch": InvalidError,
          "internal": InternalError}


def of(kind: str, text: str, diagnostics: list[dict]) -> BaseException:
    """The exception for a failure in the C++ below."""
    if kind == "interrupted":
        return KeyboardInterrupt()
    return _KINDS[kind](text, diagnostics)
