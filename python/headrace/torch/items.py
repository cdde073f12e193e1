"""Numbers that data decide: `x.item()` is `let u0 = …`, a size as any other from there on; what is asked of it is a `require`."""

from __future__ import annotations

import operator
import re

import sympy
import torch
from torch import fx

from ..errors import UnsupportedError
from . import sizes
from .emit import FLOATS, Condition, Real, Size, Value, cast, scalar_of

ITEMS = ("aten.item.default", "aten._local_scalar_dense.default")
PLACES = ("aten.select.int", "aten.select_scatter.default")  # take an index that is a tensor's number
ASSERTS = "aten._assert_scalar.default"
NOTHING = {"aten._assert_tensor_metadata.default", "aten.sym_constrain_range_for_size.default", "aten.sym_constrain_range.default"}
LAYOUT = ("aten.sym_storage_offset.default", "aten.sym_stride.int")  # programs have their own
_SIGNS = {operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">=", operator.eq: "==", operator.ne: "!=",
          operator.and_: "&&", operator.or_: "||"}
_RELATIONS = {sympy.Lt: "<", sympy.Le: "<=", sympy.Gt: ">", sympy.Ge: ">=", sympy.Eq: "==", sympy.Ne: "!="}
_WHOLE = {torch.sym_ite: "({} ? {} : {})", operator.add: "({} + {})", operator.sub: "({} - {})", operator.mul: "({} * {})",
          operator.floordiv: "({} // {})", operator.mod: "({} % {})", torch.sym_max: "max({}, {})", torch.sym_min: "min({}, {})"}
_ARITHMETIC = {operator.add: "{} + {}", operator.sub: "{} - {}", operator.mul: "{} * {}", operator.truediv: "{} / {}",
               operator.neg: "-{}", operator.pow: "pow({}, {})", torch.sym_float: "{}", torch.sym_max: "max({}, {})",
               torch.sym_min: "min({}, {})", operator.abs: "abs({})"}


def is_place(node: fx.Node) -> bool:
    """Whether a node is a number that data decide, as an index; nothing but torch's own checks takes it otherwise."""
    if str(node.target) not in ITEMS or not isinstance(node.meta["val"], torch.SymInt):
        return False
    others = [u for u in node.users if str(u.target) not in PLACES]
    return len(others) < len(node.users) and all(isinstance(u.meta.get("val"), torch.SymBool) or str(u.target) in NOTHING for u in others)


def _reads_place(node: fx.Node) -> bool:
    return is_place(node) or any(map(_reads_place, node.all_input_nodes)) if isinstance(
        node.meta.get("val"), (torch.SymInt, torch.SymBool)) else False


def known(c, node: fx.Node) -> bool:
    """Writes what a node means that gives a number, a truth value, or nothing; False for others."""
    value, name = node.meta.get("val"), str(node.target)
    if is_place(node):
        c.values[node] = c.whole(c.values[node.args[0]])
    elif name in NOTHING:
        return True
    elif (name == ASSERTS or isinstance(value, torch.SymBool)) and any(map(_reads_place, node.all_input_nodes)):
        return True  # reads and writes look at their indices themselves
    elif name in ITEMS:
        c.values[node] = _item(c, node)
    elif name == ASSERTS:
        _require(c, node)
    elif isinstance(value, torch.SymBool):
        c.values[node] = _condition(c, node)
    elif isinstance(value, torch.SymFloat) and any(isinstance(a, (Value, Real)) for a in _given(c, node)):
        c.values[node] = _real(c, node)
    elif name in LAYOUT and not isinstance(value, int):
        c.values[node] = LAYOUT
    elif isinstance(value, torch.SymInt) and node.target in _WHOLE and not _is_said(value):
        c.values[node] = _whole(c, node)
    elif isinstance(value, (torch.SymInt, torch.SymFloat, int, float, bool)):
        c.refuse_undecided(value)
        c.values[node] = scalar_of(value)
    else:
        return False
    return True


def _given(c, node: fx.Node) -> list:
    return [c.values.get(a) if isinstance(a, fx.Node) else a for a in node.args]


def _item(c, node: fx.Node) -> Size | Value | Condition:
    """The one number of a tensor. Autograd doesn't follow it."""
    value, a = node.meta["val"], c.values[node.args[0]]
    at = a.at(["0"] * a.rank)
    if a.dtype in FLOATS:
        held = c.fill(c.new("f64", (), "item"), lambda i: f"hold({cast(at, a.dtype, 'f64')})")
        return held
    if not isinstance(value, (torch.SymInt, torch.SymBool)):
        return scalar_of(value)
    bound = [s.name for s in node.meta.get("unbacked_bindings") or {}]
    names = bound or sorted(sizes.of_data(sizes.text_of(value)) if isinstance(value, torch.SymInt) else {s.name for s in value.node.expr.free_symbols})
    name = names[0] if len(names) == 1 else c.fresh("item_now")
    if name not in c.decided:
        _let(c, name, lambda i: cast(at, a.dtype, "i64"))
    return Size(name) if isinstance(value, torch.SymInt) else Condition(f"({name} != 0)")


def _let(c, name: str, text) -> None:
    c.decided.add(name)
    c.line(f"let {name} = {c.fill(c.new('i64', (), 'item'), text).at([])}")


def _real(c, node: fx.Node) -> Value:
    """Arithmetic with numbers that are none of sizes."""
    form = _ARITHMETIC.get(node.target)
    if form is None:
        raise UnsupportedError(f"{node.target} of a number that data decide\nhint: leave out .item(): tensors of one number have all functions")
    given = [c.operand(v, [], "f64") for v in _given(c, node)]
    return c.fill(c.new("f64", (), "item"), lambda i: form.format(*given))


def _is_said(value: torch.SymInt) -> bool:
    try:
        sizes.text_of(value)
    except UnsupportedError:
        return False
    return True


def _whole(c, node: fx.Node) -> Size:
    """A number of sizes that sympy says otherwise than the notation."""
    given = _given(c, node)
    if any(v is None or v is LAYOUT for v in given):
        raise UnsupportedError(f"a number of sizes that is {node.meta['val']}")
    return Size(_WHOLE[node.target].format(*map(_text, given)))


def _condition(c, node: fx.Node) -> Condition | None:
    """None where nothing of the notation says it: an error where it is asked for."""
    given = _given(c, node)
    if any(v is LAYOUT for v in given):
        return Condition("true")
    if node.target in _SIGNS and len(given) == 2 and None not in given:
        if any(isinstance(v, (Value, Real, float)) for v in given):
            left, right = (c.operand(v, [], "f64") for v in given)
            name = c.fresh("holds")
            _let(c, name, lambda i: f"({left} {_SIGNS[node.target]} {right} ? 1 : 0)")
            return Condition(f"({name} == 1)")
        return Condition(f"({_text(given[0])} {_SIGNS[node.target]} {_text(given[1])})")
    if node.target is torch.sym_not and isinstance(given[0], Condition):
        return Condition(f"(!{given[0].text})")
    text = _printed(node.meta["val"].node.expr)
    if text is None or not {s for s in sizes.of_data(text)} <= c.decided:
        return None
    return Condition(text)


def _text(v) -> str:
    return str(v.text if isinstance(v, (Size, Condition)) else "true" if v is True else "false" if v is False else v)


def _printed(e) -> str | None:
    """A condition on sizes."""
    if isinstance(e, (sympy.And, sympy.Or)):
        parts = [_printed(a) for a in e.args]
        return None if None in parts else "(" + (" && " if isinstance(e, sympy.And) else " || ").join(parts) + ")"
    if isinstance(e, sympy.Not):
        inner = _printed(e.args[0])
        return None if inner is None else f"(!{inner})"
    sign = next((s for kind, s in _RELATIONS.items() if isinstance(e, kind)), None)
    if sign is None:
        return None
    try:
        return f"({sizes.text_of(e.lhs)} {sign} {sizes.text_of(e.rhs)})"
    except UnsupportedError:
        return None


def _require(c, node: fx.Node) -> None:
    """What a module asserts of numbers that data decide stops the program; what follows from sizes, a trace has made sure of."""
    asked, message = node.args[0], node.args[1] if len(node.args) > 1 else "an assertion of the module fails"
    if isinstance(asked, fx.Node):
        asked = c.values.get(asked)
        if asked is None:
            raise UnsupportedError(f"an assertion that is none of sizes: {message}")
    if isinstance(asked, Condition):
        if c.decided & set(re.findall(r"\w+", asked.text)):
            c.line(f'require {asked.text} else "{_quoted(message)}"')
    elif asked is False:
        raise UnsupportedError(f"an assertion that never holds: {message}")


def _quoted(message: str) -> str:
    return str(message).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("{", "(").replace("}", ")")
