"""Gradients of programs: grad, value_and_grad, vjp."""

from __future__ import annotations

import operator
from typing import Any, Callable, Mapping, Sequence

import numpy as np

from .frontend.calls import DTYPES
from .frontend.types import Type
from .function import Function
from .program import program
from .sdfg import Sdfg
from .translated import Result, Translated
from .trees import Tree, has_parts, mapped


class Derived(Translated):
    """The gradient program of a translated function."""

    copies = True  # the caller's arrays stay as they are

    def __init__(self, inner: Translated, outputs: list[Result], types: dict[str, Any], wanted: list[str], keep: bool, given: bool,
                 several: bool, plan: dict[str, Any]):
        names = [r.name for r in outputs]
        read_only = {p.name for p in inner.sdfg.parameters if p.direction == "in"}
        if same := next((n for n in names if n in read_only), None):
            raise TypeError(f"a result that is differentiated is the argument {same} as it was given: return {same}.copy()")
        self.trees = inner.trees
        self.inner, self.types, self.outputs = inner, types, names
        self._wanted = [(a, types[a]) for a in wanted]
        arguments = [leaf for a, t in self._wanted for leaf in ([n for n, _ in t.leaves(a)] if isinstance(t, Tree) else [a])]
        g = inner.sdfg.gradient(names, arguments, given=names if given else (), keep_outputs=keep, **plan)
        self.sdfg, self.plan = g.program, g.report
        self.taken = inner.taken
        self.seeds = {parameter: k for k, parameter in enumerate(g.output_gradients[n] for n in names if given)}
        seeded = {p.name: (DTYPES[p.type], p.shape) for p in g.program.parameters if p.name in self.seeds}
        self.seed_types = [seeded.get(name, (np.dtype(np.float64), ())) for name in self.seeds]
        shapes = {p.name: p.shape for p in g.program.parameters}
        gradients = [Result("output", g.input_gradients[a], False, None, shapes[g.input_gradients[a]]) for a in arguments]
        values = [Result("output", r.name, r.weak, r.dtype, r.shape) for r in outputs] if keep else []
        self.several, self.keep = several, keep
        self.arguments = arguments
        self.results = [*values, *gradients]

    def pack(self, values: list):
        """Gradients in the structure of their arguments; with `keep`, (value, gradients)."""
        kept = len(values) - len(self.arguments)
        gradients = values[kept:]
        if self.trees:
            leaves = dict(zip(self.arguments, gradients))
            gradients = [t.build(a, leaves.get) if isinstance(t, Tree) else leaves[a] for a, t in self._wanted]
        packed = tuple(gradients) if self.several else gradients[0]
        return (values[0], packed) if self.keep else packed

    def argument(self, name: str, updated: bool, given: dict[str, Any]):
        if name in self.seeds:
            return given["seeds"][self.seeds[name]]
        return np.array(given[name]) if updated else given[name]  # the caller's array stays as it is


class GradientFunction(Function):
    """Called like the function; returns gradients by the chosen arguments."""

    def __init__(self, f: Function, argnums, of, keep: bool, plan: dict[str, Any]):
        super().__init__(f, f._backend, f._threads)
        self.inner, self._of, self._keep, self._plan = f, of, keep, plan
        self._several = isinstance(argnums, (tuple, list))
        self._arguments = argument_names(self._signature, self.__name__, argnums)

    def of(self, f: Function) -> GradientFunction:
        """The gradient of another function by the same arguments."""
        return GradientFunction(f, self._arguments if self._several else self._arguments[0], self._of, self._keep, self._plan)

    def translate(self, types: dict[str, Any]) -> Derived:
        inner = self.inner.translate(types)
        check_floats(self._arguments, types)
        chosen = chosen_result(inner, self._of, self.__name__)
        if chosen.shape != ():
            raise TypeError(f"the result of {self.__name__} has shape {chosen.shape}, and grad is of one number: "
                            "sum it up, or use headrace.vjp")
        return Derived(inner, [chosen], types, self._arguments, self._keep, False, self._several, self._plan)

    # ---- the gradient in two programs ----
    @property
    def forward_sdfg(self) -> Sdfg:
        """Of two programs that together give what this function does, the forward one: the results, and after them what
        `backward_sdfg` takes by the same names. Of the arguments of the latest call, or of the annotations; a copy."""
        return self._separate()[0]

    @property
    def backward_sdfg(self) -> Sdfg:
        """The backward one: takes what it needs of the arguments and of `forward_sdfg`'s results, by name, and the gradient of the
        result; gives those of the arguments. A copy."""
        return self._separate()[1]

    def _separate(self) -> tuple[Sdfg, Sdfg]:
        if self._versions:
            types = next(reversed(self._versions.values())).types
        else:
            missing = [n for n, t in self._declared.items() if t is None]
            if missing:
                raise TypeError(f"{', '.join(missing)} have no annotation: call {self.__name__} once")
            types = dict(self._declared)
        derived = self.translate(types)
        forward, backward = derived.inner.sdfg.separate_gradient(
            derived.outputs, derived.arguments, memory_limit=self._plan.get("memory_limit"), sizes=self._plan.get("sizes"))
        return forward, backward.program


def listed(x) -> list:
    return list(x) if isinstance(x, (tuple, list)) else [x]


def argument_names(signature, function: str, argnums) -> list[str]:
    """Names of the arguments at positions, or called by names."""
    names = list(signature.parameters)
    found = []
    for a in listed(argnums):
        if isinstance(a, str):
            if a not in names:
                raise ValueError(f"{function} has no argument {a}; it has {', '.join(names)}")
            found.append(a)
            continue
        a = operator.index(a)
        if not -len(names) <= a < len(names):
            raise ValueError(f"{function} has {len(names)} arguments, not one numbered {a}")
        found.append(names[a])
    return found


def is_float(t) -> bool:
    if isinstance(t, Tree):
        return all(is_float(leaf) for _, leaf in t.leaves(""))
    return isinstance(t, Type) and t.dtype.kind in "fc"


def check_floats(arguments: list[str], types: dict[str, Any]) -> None:
    for a in arguments:
        if not is_float(types[a]):
            raise TypeError(f"argument {a} is {types[a]!r}: gradients are of real and complex arrays and numbers; convert it to float64")


def chosen_result(inner: Translated, of, name: str) -> Result:
    """The result that is differentiated: the only one, the `of`-th, or the array argument called `of`."""
    if of is None:
        if len(inner.results) != 1:
            raise TypeError(f"{name} returns {len(inner.results)} results: choose one with of=, a number or the name of an "
                            "array that it changes")
        return inner.results[0]
    if isinstance(of, str):
        for p in inner.sdfg.parameters:
            if p.name == of and p.direction != "in":
                return Result("argument", of, False, None, p.shape)
        raise ValueError(f"{name} changes no array {of}")
    if not -len(inner.results) <= operator.index(of) < len(inner.results):
        raise ValueError(f"{name} returns {len(inner.results)} results: there is no number {of}")
    return inner.results[of]


def as_seed(seed, type_: tuple):
    """The gradient of a result as an array of its type and shape."""
    dtype, shape = type_
    if type(seed) is np.ndarray and seed.shape == shape and seed.dtype == dtype:
        return seed
    a = seed if hasattr(seed, "dtype") and hasattr(seed, "shape") else np.asarray(seed)
    if len(a.shape) != len(shape) or any(isinstance(n, int) and n != m for n, m in zip(shape, a.shape)):
        raise TypeError(f"the gradient of a result of shape ({', '.join(map(str, shape))}) has shape {tuple(a.shape)}")
    if isinstance(a, np.ndarray) and a.dtype != dtype:
        if not np.can_cast(a.dtype, dtype, "same_kind"):
            raise TypeError(f"the gradient of a result of type {dtype} has type {a.dtype}")
        a = a.astype(dtype)
    return a


def function_of(f) -> Function:
    if isinstance(f, Function):
        return f
    if not callable(f):
        raise TypeError(f"takes a function, not {type(f).__name__}")
    known = getattr(f, "_headrace_program", None)  # functools.wraps copies attributes: it may be another function's
    if known is None or known.base is not f:
        known = program(f)
        f._headrace_program = known  # lives as long as f does
    return known


def planned(memory_limit: int | None, store: Sequence[str], recompute: Sequence[str], sizes: Mapping[str, int] | None) -> dict[str, Any]:
    """What is kept of the forward pass, as Sdfg.gradient takes it."""
    sizes = {str(n): operator.index(value) for n, value in (sizes or {}).items()}
    if memory_limit is not None and not isinstance(memory_limit, (int, np.integer)):
        raise TypeError(f"memory_limit is a number of bytes, not {memory_limit!r}")
    for names in (store, recompute):
        if isinstance(names, str) or not all(isinstance(n, str) for n in names):
            raise TypeError(f"store and recompute take lists of names, not {names!r}")
    both = sorted(set(store) & set(recompute))
    if both:
        raise ValueError(f"{', '.join(both)}: either stored or recomputed")
    return {"memory_limit": memory_limit, "store": tuple(store), "recompute": tuple(recompute), "sizes": sizes}


def grad(f: Callable[..., Any], argnums: int | str | Sequence = 0, *, of: int | str | None = None, memory_limit: int | None = None,
         store: Sequence[str] = (), recompute: Sequence[str] = (), sizes: Mapping[str, int] | None = None) -> GradientFunction:
    """A function with f's arguments that returns the gradient of f's result, one number, by the argument `argnums` (a position
    or name, or several). `of` chooses one of several results, or an array that f changes. `memory_limit`: bytes for what is
    kept of the forward pass, at `sizes` of symbols, {"N": 1000}. `store` and `recompute`: variables of f, by name, that are kept, or
    computed again. The arguments are left as they are. Gradients have the type and shape of their argument; those of several a tuple, of
    trees a tree.

    TypeError where f's result is no number (the hint: vjp), where there are several and no `of`, or where an argument is of integers;
    ValueError for an argument or result that there is not; UnsupportedError for what has no gradient, or needs more memory than the limit."""
    return GradientFunction(function_of(f), argnums, of, False, planned(memory_limit, store, recompute, sizes))


def value_and_grad(f: Callable[..., Any], argnums: int | str | Sequence = 0, *, of: int | str | None = None, memory_limit: int | None = None,
                   store: Sequence[str] = (), recompute: Sequence[str] = (), sizes: Mapping[str, int] | None = None) -> GradientFunction:
    """Like grad, with its errors; returns (result, gradient)."""
    return GradientFunction(function_of(f), argnums, of, True, planned(memory_limit, store, recompute, sizes))


class PulledBack(Function):
    """The gradients of chosen results and changed arrays, given the gradients that arrive at them."""

    def __init__(self, f: Function, of, argnums, plan: dict[str, Any] | None = None):
        super().__init__(f, f._backend, f._threads)
        self.inner, self._of, self._plan = f, of, plan or {}
        self._arguments = None if argnums is None else argument_names(self._signature, self.__name__, argnums)

    def translate(self, types: dict[str, Any]) -> Derived:
        inner = self.inner.translate(types)
        arguments = self._arguments
        if arguments is None:
            arguments = [a for a, t in types.items() if is_float(t)]
        check_floats(arguments, types)
        outputs = inner.results if self._of is None else [chosen_result(inner, o, self.__name__) for o in listed(self._of)]
        if not outputs:
            raise TypeError(f"{self.__name__} returns nothing: choose an array that it changes with of=")
        return Derived(inner, outputs, types, arguments, False, True, True, self._plan)

    def pull(self, args: tuple, seeds: tuple):
        """The gradients at `args`, for gradients `seeds` of the results."""
        given = self._bind(args, {})
        translated = self._version(given)
        if len(seeds) != len(translated.seeds):
            raise TypeError(f"takes {len(translated.seeds)} gradients, one for each result, not {len(seeds)}")
        return translated.call({**given, "seeds": tuple(map(as_seed, seeds, translated.seed_types))})


def vjp(f: Callable[..., Any], *args: Any, of: Any = None, argnums: Any = None, memory_limit: int | None = None,
        store: Sequence[str] = (), recompute: Sequence[str] = (), sizes: Mapping[str, int] | None = None) -> tuple[Any, Callable[..., Any]]:
    """(f(*args), pull): pull(gradient of the result) gives a tuple of the gradients of all float arguments, or of those in
    `argnums` (positions and names); for several results it takes one gradient each. `of` chooses among the results (numbers)
    and the arrays that f changes (names). The arguments are left as they are. What is kept of the forward pass: as in grad."""
    f = function_of(f)
    plan = planned(memory_limit, store, recompute, sizes)
    back = f.derived(("vjp", frozen(of), frozen(argnums), *map(frozen, plan.values())), lambda: PulledBack(f, of, argnums, plan))
    kept = copied(args)

    def pull(*seeds):
        return back.pull(kept, seeds)

    return f(*copied(args)), pull


def frozen(x):
    if isinstance(x, dict):
        return tuple(sorted(x.items()))
    return tuple(x) if isinstance(x, list) else x


def copied(value):
    """Arrays in it, copied: calls may change what they get."""
    if has_parts(value):
        return mapped(copied, value)
    return np.array(value) if isinstance(value, np.ndarray) else value
