"""Sizes: Python integers, and expressions over names of sizes. Equal sizes are equal texts, for the core's arithmetic is
canonical."""

from __future__ import annotations

import ast
import functools
import re

from .. import _core


class Size:
    """A size that a call decides, such as N or 2*N + 1."""

    __slots__ = ("text",)

    def __init__(self, text: str):
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other) -> bool:
        return isinstance(other, Size) and self.text == other.text

    def __add__(self, other):
        return combine("+", self, other)

    def __radd__(self, other):
        return combine("+", other, self)

    def __sub__(self, other):
        return combine("-", self, other)

    def __rsub__(self, other):
        return combine("-", other, self)

    def __mul__(self, other):
        return combine("*", self, other)

    def __rmul__(self, other):
        return combine("*", other, self)

    def __floordiv__(self, other):
        return combine("//", self, other)

    def __rfloordiv__(self, other):
        return combine("//", other, self)

    def __mod__(self, other):
        return combine("%", self, other)

    def __rmod__(self, other):
        return combine("%", other, self)

    def __neg__(self):
        return combine("-", 0, self)


@functools.lru_cache(maxsize=65536)
def canonical(text: str) -> int | Size:
    text = _core.simplify(text)
    return int(text) if re.fullmatch(r"-?\d+", text) else Size(text)


def is_size(value) -> bool:
    return isinstance(value, Size) or (isinstance(value, int) and not isinstance(value, bool))


def combine(op: str, a, b):
    if not (is_size(a) and is_size(b)):
        return NotImplemented
    return canonical(f"({a}) {op} ({b})")


def minimum(a, b):
    return canonical(f"min({a}, {b})")


def maximum(a, b):
    return canonical(f"max({a}, {b})")


def product(sizes):
    result = 1
    for s in sizes:
        result = result * s
    return result


def names_in(size) -> list[str]:
    """The names that a size speaks of."""
    return [n for n in re.findall(r"[A-Za-z_]\w*", str(size)) if n not in ("min", "max", "clamp", "wrap")]


def atom(text) -> str:
    """The text, in brackets where it must not fall apart."""
    text = str(text)
    return text if re.fullmatch(r"[\w.]+(\[[^\[\]]*\])?", text) else f"({text})"


def scaled(index: str, begin, step) -> str:
    """begin + index * step."""
    if step == 1:
        moved = index
    elif step == -1:
        moved = f"-{atom(index)}"
    else:
        moved = f"{atom(index)}*{atom(step)}"
    if begin == 0:
        return moved
    if step == -1:
        return f"{atom(begin)} - {atom(index)}"
    if isinstance(begin, int) and begin < 0:
        return f"{moved} - {-begin}"
    return f"{moved} + {atom(begin)}"


Interval = tuple  # (lowest, highest), None where there is no bound


def interval(size, known: dict[str, Interval]) -> Interval:
    """Between which numbers a size lies; names that are not in `known` are sizes of arrays, never negative."""
    if isinstance(size, int):
        return size, size
    return _interval(ast.parse(size.text, mode="eval").body, known)


def _interval(n: ast.expr, known: dict[str, Interval]) -> Interval:
    if isinstance(n, ast.Constant) and isinstance(n.value, int):
        return n.value, n.value
    if isinstance(n, ast.Name):
        return known.get(n.id, (0, None))
    if isinstance(n, ast.UnaryOp) and isinstance(n.op, ast.USub):
        low, high = _interval(n.operand, known)
        return _negated(high), _negated(low)
    if isinstance(n, ast.BinOp):
        a, b = _interval(n.left, known), _interval(n.right, known)
        if isinstance(n.op, ast.Add):
            return _added(a[0], b[0]), _added(a[1], b[1])
        if isinstance(n.op, ast.Sub):
            return _added(a[0], _negated(b[1])), _added(a[1], _negated(b[0]))
        constant = b[0] if b[0] is not None and b[0] == b[1] else None
        if isinstance(n.op, ast.Mult) and constant is None and a[0] is not None and a[0] == a[1]:
            a, constant = b, a[0]
        if isinstance(n.op, ast.Mult) and constant is None and None not in (a[0], b[0]) and min(a[0], b[0]) >= 0:
            return a[0] * b[0], None if None in (a[1], b[1]) else a[1] * b[1]
        if isinstance(n.op, ast.Mult) and constant is not None:
            ends = [None if x is None else x * constant for x in a]
            return tuple(ends) if constant >= 0 else (ends[1], ends[0])
        if isinstance(n.op, ast.FloorDiv) and constant is not None and constant > 0:
            return tuple(None if x is None else x // constant for x in a)
        if isinstance(n.op, ast.Mod) and constant is not None and constant > 0:
            return 0, constant - 1
    if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in ("max", "min"):
        lows, highs = zip(*(_interval(a, known) for a in n.args))
        if n.func.id == "max":
            return max((x for x in lows if x is not None), default=None), None if None in highs else max(highs)
        return None if None in lows else min(lows), min((x for x in highs if x is not None), default=None)
    return None, None


def largest(size, loops: dict[str, tuple], known: dict[str, Interval]):
    """An upper bound of a size that does not speak of variables of loops, where one is found. `loops`: variable → least and
    greatest value."""
    before = size
    for name, (least, greatest) in reversed(loops.items()):
        if not isinstance(size, Size) or not _speaks_of(size, name):
            continue
        size = _without_division(size, name, known)
        if not isinstance(size, Size) or not _speaks_of(size, name):
            continue
        slope = canonical(f"({_with(size, name, f'{name} + 1')}) - ({size})")
        low, high = interval(slope, known)
        if low is not None and low >= 0:
            size = canonical(_with(size, name, str(greatest)))
        elif high is not None and high <= 0:
            size = canonical(_with(size, name, str(least)))
    low, _ = interval(size, known)
    return size if size is before or low is not None and low >= 0 else maximum(size, 0)


def _without_division(size: Size, name: str, known: dict[str, Interval]) -> int | Size:
    """a // b is at most a, where a is not negative and b speaks of the name: where the size grows with it."""
    def bound(n: ast.expr) -> str:
        if isinstance(n, ast.BinOp) and isinstance(n.op, ast.FloorDiv) and re.search(rf"\b{name}\b", ast.unparse(n.right)):
            low, _ = _interval(n.right, known)
            return f"max({bound(n.left)}, 0)" if low is not None and low > 0 else f"({ast.unparse(n)})"
        if isinstance(n, ast.BinOp) and isinstance(n.op, (ast.Add, ast.Sub)):
            return f"({bound(n.left)} + {bound(n.right)})" if isinstance(n.op, ast.Add) else f"({bound(n.left)} - ({ast.unparse(n.right)}))"
        if isinstance(n, ast.Call):
            return f"{ast.unparse(n.func)}({', '.join(map(bound, n.args))})"
        return f"({ast.unparse(n)})"

    return canonical(bound(ast.parse(size.text, mode="eval").body)) if "//" in size.text else size


def _speaks_of(size: Size, name: str) -> bool:
    return re.search(rf"\b{name}\b", size.text) is not None


def _with(size: Size, name: str, value: str) -> str:
    return re.sub(rf"\b{name}\b", f"({value})", size.text)


def _negated(x):
    return None if x is None else -x


def _added(x, y):
    return None if x is None or y is None else x + y
