"""torch.cond: one of two graphs runs."""

from __future__ import annotations

from torch import fx

from ..errors import UnsupportedError
from .emit import Condition, Value
from .table import OPERATORS


def _cond(c, asked, yes: fx.GraphModule, no: fx.GraphModule, operands=()) -> tuple:
    results = [c.new(t, s, "chosen") for t, s in zip(c.types, c.shapes)]
    if isinstance(asked, Value):
        asked = c.whole(asked)
    text = asked.at(["0"] * asked.rank) if isinstance(asked, Value) else asked.text if isinstance(asked, Condition) else c.operand(asked, [], "bool")
    c.open(f"if {text}")
    _branch(c, yes, operands, results)
    c.close()
    c.open(f"if !{text}")
    _branch(c, no, operands, results)
    c.close()
    return tuple(results)


def _branch(c, gm: fx.GraphModule, operands, results: list[Value]) -> None:
    outer, decided = c.current, set(c.decided)
    given = iter(operands)
    for n in gm.graph.nodes:
        if n.op == "placeholder":
            c.values[n] = next(given)
        elif n.op == "get_attr":
            c.values[n] = getattr(gm, n.target)
        elif n.op == "call_function":
            c.lower(n)
        elif n.op == "output":
            for result, made in zip(results, n.args[0], strict=True):
                if not isinstance(made, fx.Node) or not isinstance(c.values[made], Value):
                    raise UnsupportedError("a branch of torch.cond that gives no tensor")
                c.fill(result, lambda i, v=c.values[made]: v.at(i))
    c.current, c.decided = outer, decided


OPERATORS["cond"] = _cond
