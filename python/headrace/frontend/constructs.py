"""What of Python no program has, and what to write instead."""

from __future__ import annotations

import ast

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


class NoPlace(NotImplementedError):
    """A construct that has no place in a program; `hint` says what to write."""

    def __init__(self, node: ast.AST):
        if isinstance(node, ast.stmt):
            name, self.hint = _STATEMENTS.get(type(node), (f"{type(node).__name__.lower()} statements", ""))
            super().__init__(f"{name} have no place in a program")
        else:
            name, self.hint = _EXPRESSIONS.get(type(node), (type(node).__name__, ""))
            super().__init__(f"{name} has no place in a program")
