"""jacrev, jacfwd and hessian: all derivatives of all elements, by one gradient or one tangent after the other."""

from __future__ import annotations

import functools
from typing import Any, Callable

import numpy as np

from ..gradients import argument_names, function_of, grad, vjp
from .batch import vmap
from .forward import jvp


def _basis(like):
    """Arrays of the shape and type of `like` with a one in one element, in row-major order."""
    like = np.asarray(like)
    for k in range(like.size):
        one = np.zeros(like.size, like.dtype)
        one[k] = 1
        yield one.reshape(like.shape)


def _stacked(rows: list, shape: tuple, dtype):
    return np.stack([np.asarray(r) for r in rows]).reshape(shape) if rows else np.zeros(shape, dtype)


def jacrev(f: Callable[..., Any], argnums: Any = 0) -> Callable[..., Any]:
    """A function with f's arguments that returns the Jacobian, of shape (*result.shape, *argument.shape), by one gradient for each
    element of the result: for few results. Several arguments or results give tuples: by result, then by argument."""
    f = function_of(f)
    several = isinstance(argnums, (tuple, list))

    @functools.wraps(f)
    def jacobian(*args, **named):
        args = tuple(f._bind(args, named).values())
        value, pull = vjp(f, *args, argnums=argnums)
        values = value if isinstance(value, tuple) else (value,)
        zeros = [np.zeros_like(v) for v in values]
        found = []
        for k, v in enumerate(values):
            rows = [pull(*zeros[:k], one, *zeros[k + 1:]) for one in _basis(v)]
            parts = [_stacked([r[n] for r in rows], np.shape(v) + a.shape, a.dtype) for n, a in enumerate(_in_order(f, argnums, args))]
            found.append(tuple(parts) if several else parts[0])
        return tuple(found) if isinstance(value, tuple) else found[0]

    return _in_programs(jacobian, f, argnums, _itself)


def _in_order(f, argnums, args) -> list:
    given = dict(zip(f._names, args))
    return [np.asarray(given[n]) for n in argument_names(f._signature, f.__name__, argnums)]


def jacfwd(f: Callable[..., Any], argnums: Any = 0) -> Callable[..., Any]:
    """As jacrev, by one tangent for each element of the arguments: for few arguments."""
    f = function_of(f)
    several = isinstance(argnums, (tuple, list))

    @functools.wraps(f)
    def jacobian(*args, **named):
        args = tuple(f._bind(args, named).values())
        inputs = _in_order(f, argnums, args)
        value, columns = None, []
        for n, a in enumerate(inputs):
            tangents = [np.zeros_like(x) for x in inputs]
            moved = []
            for one in _basis(a):
                value, tangent = jvp(f, args, [*tangents[:n], one, *tangents[n + 1:]], argnums=argnums)
                moved.append(tangent if isinstance(value, tuple) else (tangent,))
            columns.append(moved)
        values = value if isinstance(value, tuple) else (value,)
        found = []
        for k, v in enumerate(values):
            parts = [np.stack([m[k] for m in moved], -1).reshape(np.shape(v) + a.shape)
                     for moved, a in zip(columns, inputs)]
            found.append(tuple(parts) if several else parts[0])
        return tuple(found) if isinstance(value, tuple) else found[0]

    return _in_programs(jacobian, f, argnums, _itself)


def hessian(f: Callable[..., Any], argnums: Any = 0, *, of: Any = None) -> Callable[..., Any]:
    """A function with f's arguments that returns the second derivatives of f, one number: of shape (*argument.shape,
    *argument.shape); for several arguments a tuple of tuples."""
    f = function_of(f)
    return _in_programs(jacrev(grad(f, argnums, of=of), argnums), f, argnums if of is None else (), grad)


# ---- within programs ----
def _itself(f):
    return f


def _in_programs(made, f, argnums, derived):
    """`made`, which calls of programs take for what stands here: the Jacobian of derived(f) by one argument, row by row."""
    several = isinstance(argnums, (tuple, list))
    k = None if several else f._names.index(argument_names(f._signature, f.__name__, argnums)[0])
    local = getattr(f, "local", f)  # what a function that is defined in a program reads around it is looked for there

    def jacobian(*args):
        def at(v):
            return local(*args[:k], v, *args[k + 1:])

        def row(e):
            return grad(lambda v: np.sum(derived(at)(v) * e))(args[k])

        y = derived(at)(args[k])
        basis = np.eye(np.size(y)).reshape((np.size(y),) + np.shape(y))
        return vmap(row)(basis).reshape(np.shape(y) + np.shape(args[k]))

    made.__headrace_inside__ = made, Refusal() if several else jacobian
    return made


class Refusal:
    """What a program has for a Jacobian that it can't take."""

    def inline(self, evaluator, args: list, named: dict):
        raise NotImplementedError("a Jacobian by several arguments, or of= one of several results, in a program: take it outside")

