"""jvp and hvp.

Forward mode is reverse mode twice: what vjp computes is linear in the gradients that it is given, so its own derivative by them,
taken in reverse, is the Jacobian times a vector. Whatever has a gradient thus has a forward derivative, with one set of rules to
be right; dead code removal takes the first reversal's gradients away again.
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np

from ..function import Function
from ..gradients import Derived, PulledBack, argument_names, as_seed, check_floats, copied, frozen, function_of, grad, is_float
from ..translated import Place, Result, Translated
from ..trees import Tree, is_tree, leaves_like


class Pushed(Translated):
    """Tangents of the results, given tangents of arguments: the derivative of a gradient program by its seeds."""

    copies = True

    def __init__(self, back: Derived):
        gradients = [r.name for r in back.results]
        g = back.sdfg.gradient(gradients, list(back.seeds), given=gradients)
        self.sdfg, self.trees, self.several = g.program, back.trees, len(back.seeds) > 1
        self.structure = tuple(map(Place, range(len(back.seeds)))) if self.several else Place(0)
        self.seeds = dict(back.seeds)
        shapes = {p.name: p.shape for p in g.program.parameters}
        self.tangents = {g.output_gradients[n]: a for n, a in zip(gradients, back.arguments)}
        self.results = [Result("output", g.input_gradients[s], False, None, shapes[g.input_gradients[s]]) for s in back.seeds]

    def argument(self, name: str, updated: bool, given: dict):
        if name in self.tangents:
            return given["tangents"][self.tangents[name]]
        if name in self.seeds:  # linear in them, so what they are is of no importance
            return given["zeros"][self.seeds[name]]
        return np.array(given[name]) if updated else given[name]


class PushedForward(Function):
    """The tangents of f's results."""

    def __init__(self, f: Function, of, argnums):
        super().__init__(f, f._backend, f._threads)
        self.inner, self._back = f, PulledBack(f, of, argnums)

    def translate(self, types: dict) -> Pushed:
        return Pushed(self._back.translate(types))


def jvp(f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], *, argnums: Any = None) -> tuple[Any, Any]:
    """(f(*primals), tangent of the result): the derivative of f along `tangents`, of which there is one, of the same type and
    shape, for each float argument, or for each in `argnums`. Several results have a tuple of tangents."""
    f = function_of(f)
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError("jvp takes a tuple of arguments and a tuple of tangents: jvp(f, (x, y), (dx, dy))")
    given = f._bind(copied(tuple(primals)), {})
    types = {n: f._type_of(n, v) for n, v in given.items()}
    names = argument_names(f._signature, f.__name__, argnums) if argnums is not None else [n for n, t in types.items() if is_float(t)]
    check_floats(names, types)
    if len(names) != len(tangents):
        raise TypeError(f"{f.__name__} has {len(names)} float arguments ({', '.join(names)}), and there are {len(tangents)} tangents")
    value = f(*copied(tuple(primals)))
    forward = f.derived(("jvp", tuple(names)), lambda: PushedForward(f, None, names))
    zeros = [np.zeros_like(v) for v in (value if isinstance(value, tuple) else (value,))]
    moved = {leaf: as_seed(one, (dtype, np.shape(at))) for n, t in zip(names, tangents) for (leaf, dtype), one, at in zip(
        _leaves(n, types[n]), leaves_like(given[n], t, n), leaves_like(given[n], given[n], n))}
    return value, forward._version(given).call({**given, "tangents": moved, "zeros": zeros})


def _leaves(name: str, type_: Any) -> list[tuple[str, Any]]:
    return [(leaf, t.dtype) for leaf, t in (type_.leaves(name) if isinstance(type_, Tree) else [(name, type_)])]


def hvp(f: Callable[..., Any], args: Sequence[Any], tangents: Any, argnums: Any = 0, *, of: Any = None) -> Any:
    """The Hessian of f, one number, by `argnums`, times `tangents`: the gradient of the gradient along them. Takes a tangent and
    gives a product for each argument in `argnums`, without a tuple where that is one position or name."""
    f = function_of(f)
    several = isinstance(argnums, (tuple, list))
    names = argument_names(f._signature, f.__name__, argnums)
    given = f._bind(copied(tuple(args)), {})
    if several and not isinstance(tangents, (tuple, list)) or not several and isinstance(tangents, (tuple, list)) and not is_tree(given[names[0]]):
        raise TypeError("hvp: argnums and tangents are both tuples, or neither is")
    slope = f.derived(("slope", frozen(of), frozen(argnums)), lambda: grad(f, argnums, of=of))
    back = slope.derived(("vjp", None, frozen(argnums)), lambda: PulledBack(slope, None, argnums))
    if several and len(tangents) != len(names):
        raise TypeError(f"hvp: there are {len(names)} arguments in argnums, and {len(tangents)} tangents")
    seeds = [leaf for n, t in zip(names, tangents if several else (tangents,)) for leaf in leaves_like(given[n], t, n)]
    products = back.pull(copied(tuple(args)), tuple(seeds))
    return products if several else products[0]

