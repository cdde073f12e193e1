"""`assert`: of what is known when the program is translated, or else in each run."""

from __future__ import annotations

import ast

from .evaluate import check_truth
from .values import Value


class Asserting:
    """Part of Lowering, whose `emitter`, `value` and `truth` it uses."""

    def do_Assert(self, s: ast.Assert) -> None:
        test = self.truth(self.value(s.test))
        if isinstance(test, Value):
            check_truth(test)
            self.emitter.demand(test, self._message(s))
        elif not test:
            raise AssertionError(self.value(s.msg) if s.msg else "")

    def _message(self, s: ast.Assert) -> str:
        """What a run says that stops there; strings with what the program computes are said as they stand in its text."""
        what = f"assert {ast.unparse(s.test)}"
        if s.msg is None:
            return f"{what} fails"
        said = s.msg.value if isinstance(s.msg, ast.Constant) else ast.unparse(s.msg)
        return f"{said[2:-1] if isinstance(s.msg, ast.JoinedStr) else said} ({what} fails)"
