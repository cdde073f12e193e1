"""A module and example arguments become a program: exported by torch.export, lowered by our table of operators.

torch.export rather than torch.onnx.export: it is what the ONNX exporter starts with, it says which buffers are written, which
sizes are free and under which conditions the trace holds, and ATen operators keep what ONNX has no word for (statistics of
batch normalisation, padding rows of embeddings, torch's own conventions at kinks).
"""

from __future__ import annotations

import contextlib
import inspect
import logging
import operator
import os
import re
import threading
import traceback
import warnings
from dataclasses import dataclass, field
from typing import Any, Collection

import torch
from torch._decomp import get_decompositions
from torch import fx
from torch.export import _trace as export_tracing
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx.experimental import _config as symbolic_config
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from torch.utils import _pytree as pytree

from ..errors import UnsupportedError
from . import checks, randomness
from .detached import floats, hold_detached
from .ctc import ctc_loss_as_loop
from .diagnosis import name_of
from .dynamic import paths_of, shapes_of, spelled_out
from .kept import Kept, Place, put_after_calls
from .lower import Lowered, lower
from .meanings import MEANINGS, right_gradients
from .outline import Outline, match, outline, same_tensor
from .packing import sequences_packed
from .quantising import quantising_in_parts
from .sizes import OpenSizeError, said
from .traceable import (attributes_kept, equal_counts, layers_without_numbers, masks_not_compared, no_gradients_within,
                        numbers_as_indices, operators_with_shapes, refuse_kept, tensors_as_parameters, variances_looked_at_later, with_buffers_kept)
from .transformed import outside, plain
from .whole import recurrent_layers_whole
from .whole_numbers import numbers_kept

_TORCH = os.path.dirname(torch.__file__)

# Composite operators that stay whole, because a loop says them better than what they would be taken apart into.
KEPT = ("aten.lstm.input", "aten.gru.input", "aten.rnn_tanh.input", "aten.rnn_relu.input",
        "aten.lstm.data", "aten.gru.data", "aten.rnn_tanh.data", "aten.rnn_relu.data", "aten.native_dropout.default",
        "aten.linear.default", "aten.gelu.default", "aten.embedding.default", "aten.silu.default", "aten.leaky_relu.default",
        "aten.elu.default", "aten.hardtanh.default", "aten.addcmul.default", "aten.addcdiv.default", "aten.softplus.default",
        "aten.hardswish.default", "aten.hardsigmoid.default", "aten.native_layer_norm.default", "aten.native_group_norm.default",
        "aten._softmax.default", "aten._log_softmax.default", "aten.nll_loss_forward.default", "aten.nll_loss2d_forward.default",
        "aten.mish.default", "aten.binary_cross_entropy.default", "aten.xlogy.Tensor", "aten.xlogy.Scalar_Self", "aten.xlogy.Scalar_Other",
        "aten.special_xlog1py.default", "aten.special_xlog1py.self_scalar", "aten.special_xlog1py.other_scalar",
        "aten.special_log_ndtr.default", "aten.select_scatter.default", "aten.sinc.default", "aten.std.correction", "aten.std_mean.correction",
        "aten.eye.default", "aten.eye.m")


# What export keeps whole and Dynamo takes apart: interpolation is gathers and weights.
TAKEN_APART = [getattr(torch.ops.aten, name) for name in (
    "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d",
    "upsample_bicubic2d", "grid_sampler_2d", "dist", "ldexp", "triu_indices", "tril_indices")]


def decompositions(table: dict | None = None) -> dict:
    """Operator → its meaning in smaller ones; what our table knows whole is left out."""
    table = dict(torch.export.default_decompositions() if table is None else table)
    for overload, meaning in get_decompositions(TAKEN_APART).items():
        table.setdefault(overload, meaning)
    table |= MEANINGS
    for overload in list(table):
        if str(overload) in KEPT:
            del table[overload]
    return table


@dataclass(kw_only=True)
class Conditions:
    """The calls that a trace is for."""

    shapes: dict[int, tuple] = field(default_factory=dict)  # leaf → sizes, numbers and texts
    guards: list[str] = field(default_factory=list)  # conditions on L, {name: argument}
    ranges: dict[str, tuple[int, float]] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)  # of the leaves, as the guards call them


@dataclass
class Attribute:
    """What forward keeps in an attribute of a part: results, and their structure."""

    path: str
    name: str
    spec: Any
    results: list[int]


@dataclass
class Exported(Conditions):
    """A program and how a call's values are laid out for it."""

    lowered: Lowered
    states: list[tuple[int, str, bool]]  # placeholder, name in the module, whether it is a buffer
    users: list[tuple[int, int]]  # placeholder, leaf of the arguments
    constants: list[tuple[int, Any]]  # placeholder, tensor that the trace holds
    draws: list[tuple]  # placeholder, function(size, *rest, dtype), size, dtype, rest
    buffers: list[tuple[int, str]]  # result, buffer, or parameter that forward writes, that takes it
    results: list[int]  # results that are the module's
    checks: list[checks.Check]
    spec: Any  # their structure
    attributes: list[Attribute]  # that get further results
    reach: list[set[int]] = field(default_factory=list)  # program's output → inputs that it depends on differentiably
    trace: Trace | None = None


class Trace:
    """A module as torch.export has it: compared with other traces, or made into a program."""

    def __init__(self, program: Any, name: str, paths: list[tuple], kept: list[Place]):
        self._program, self._name, self._paths = program, name, paths
        self._kept = list(zip(kept, put_after_calls(program, kept)))
        self.outline: Outline | None = outline(program.graph_module)
        s = program.graph_signature
        self._interface = ([(i.kind, i.target) for i in s.input_specs], [(o.kind, o.target) for o in s.output_specs],
                           program.call_spec.in_spec, program.call_spec.out_spec)
        self._constants = [v for _, v in sorted(program.constants.items())]
        self.conditions = _conditions(program, paths)

    def covers(self, special: Trace) -> Conditions | None:
        """The conditions of the calls that the other trace is for and the program of this one is right for; None without any."""
        if self.outline is None or not (self._interface == special._interface and len(self._constants) == len(special._constants)
                and all(map(_same_constant, self._constants, special._constants)) and match(self.outline, special.outline)):
            return None
        c = special.conditions
        return Conditions(shapes=c.shapes, ranges=c.ranges, names=c.names, guards=[*c.guards, *self.conditions.guards])

    def finish(self) -> Exported:
        """The program, once: UnsupportedError where it has operators that programs don't know, an OpenSizeError where it would be one
        without sizes that are open."""
        try:
            return self._finished()
        except OpenSizeError as error:
            error.places = frozenset((leaf, d) for leaf, shape in self.conditions.shapes.items() for d, s in enumerate(shape)
                                     if isinstance(s, str) and error.symbols & set(re.findall(r"\w+", s)))
            raise

    def _finished(self) -> Exported:
        program, self._program = self._program, None
        with _as_traced(self._name):
            hold_detached(program.graph_module)
            program = program.run_decompositions(decompositions())
        made = _layout(program, self._kept)
        found = _conditions(program, self._paths)  # decompositions, too, may make constants of sizes
        if found.shapes != self.conditions.shapes:
            self.conditions, self.outline = found, None
        made.shapes, made.guards, made.ranges, made.names = (
            self.conditions.shapes, self.conditions.guards, self.conditions.ranges, self.conditions.names)
        made.trace = self
        return made


def export(module: torch.nn.Module, args: tuple, kwargs: dict, dynamic: Any, moving: set[tuple[int, int]]) -> Exported:
    """As `trace`, for whatever sizes its guards allow."""
    return trace(module, args, kwargs, dynamic, moving).finish()


def trace(module: torch.nn.Module, args: tuple, kwargs: dict, dynamic: Any, moving: set[tuple[int, int]],
          fixed: Collection[tuple[int, int]] = ()) -> Trace:
    """`dynamic`: True, sizes that `open_sizes` names, where the model leaves them open, and but for sizes 0 and 1, which a
    trace takes for constants; False, none; else torch.export's dynamic_shapes."""
    inspect.signature(module.forward).bind(*args, **kwargs)  # TypeError, as of any function
    name = name_of(module)
    with outside():
        args, kwargs = _without_gradients(args, kwargs)
    if dynamic is True:
        module = spelled_out(module, args, kwargs)
    shapes = shapes_of(module, args, kwargs, moving, fixed) if dynamic is True else None if dynamic is False else dynamic
    # Where sizes are given by name, 1 is an example as good as others; a trace then holds for what its guards say.
    with symbolic_config.patch(backed_size_oblivious=bool(shapes) and dynamic is not True), _as_traced(name), \
            tensors_as_parameters(module), numbers_kept(module):
        def exported(kept: Kept) -> Any:
            with attributes_kept(module):
                return torch.export.export(with_buffers_kept(module, kept), args, kwargs, dynamic_shapes=shapes, strict=False)

        kept = Kept()
        program = exported(kept)
        refuse_kept(module)
        if kept.places:  # seldom, and then a trace more
            with contextlib.suppress(Exception):
                exported(reads := Kept(reads=True))
                kept = reads
        return Trace(program, name, paths_of(module, args, kwargs), kept.places)


def _without_gradients(args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """The arguments, without what is in their `grad`: torch.export guards that, too, and then fails on its own guards. And without what
    a transform makes of them."""
    fresh: dict[int, torch.Tensor] = {}

    def ungraded(t: Any) -> Any:
        if not isinstance(t, torch.Tensor):
            return t
        t = plain(t)
        if not t.is_leaf or t.grad is None:
            return t
        return fresh.setdefault(id(t), t.detach().requires_grad_(t.requires_grad))

    return pytree.tree_map(ungraded, (args, kwargs))


@contextlib.contextmanager
def _as_traced(name: str):
    try:
        with outside(), warnings.catch_warnings(), _no_log(), _no_own_gradients(), _unvalidated(), recurrent_layers_whole(), \
                right_gradients(), masks_not_compared(), numbers_as_indices(), variances_looked_at_later(), layers_without_numbers(), \
                sequences_packed(), ctc_loss_as_loop(), equal_counts(), operators_with_shapes(), quantising_in_parts(), no_gradients_within(), torch.enable_grad():
            warnings.simplefilter("ignore")
            yield
    except (UnsupportedError, KeyboardInterrupt):
        raise
    except GuardOnDataDependentSymNode as e:
        raise UnsupportedError(_of_data(name, e)) from e
    except Exception as e:
        raise UnsupportedError(f"torch.export can't trace {name}: {type(e).__name__}: {e}\n"
                               "hint: control flow that depends on data is the usual reason; "
                               "torch.compile(model, backend=\"headrace\") compiles what is around it") from e


def _of_data(name: str, error: Exception) -> str:
    """Where Python asks for a number that data decide, as torch says it, without what its developers do then."""
    what = str(error).partition("  (Size-like")[0].split("\n")[0]
    own = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(_TORCH)]
    where = f"  in {own[-1].filename}:{own[-1].lineno}: {own[-1].line}\n" if own else ""
    return (f"torch.export can't trace {name}: control flow that depends on data: {what}\n{where}"
            "hint: x.item() and int(x) may be sizes of new tensors, bounds of slices and numbers; torch.where and torch.cond choose by "
            "data; torch._check says what a number is; torch.compile(model, backend=\"headrace\") compiles what is around it")


@contextlib.contextmanager
def _no_log():
    """torch logs, with its stack, what it also raises, and prints how far it came."""
    loggers = [logging.getLogger(name) for name in ("torch._subclasses.fake_tensor", "torch.fx.experimental.symbolic_shapes")]
    before = [one.disabled for one in loggers]
    export_tracing.print = lambda *_, **__: None
    try:
        for one in loggers:
            one.disabled = True
        yield
    finally:
        for one, disabled in zip(loggers, before):
            one.disabled = disabled
        vars(export_tracing).pop("print", None)


def _same_constant(a: Any, b: Any) -> bool:
    return a is b or same_tensor(a, b)


@contextlib.contextmanager
def _no_own_gradients():
    """A trace would pass over the backward function of a user's torch.autograd.Function: that is refused."""
    apply, here = torch.autograd.Function.__dict__["apply"], threading.get_ident()

    def refuse(cls, *args, **kwargs):
        if threading.get_ident() == here and not cls.__module__.startswith("torch."):
            raise UnsupportedError(f"{cls.__module__}.{cls.__qualname__} has a gradient of its own, which a trace does not show\n"
                                   "hint: torch.compile(model, backend=\"headrace\") keeps it")
        return apply.__get__(None, cls)(*args, **kwargs)

    torch.autograd.Function.apply = classmethod(refuse)
    try:
        yield
    finally:
        torch.autograd.Function.apply = apply


@contextlib.contextmanager
def _unvalidated():
    """Distributions look at their parameters' values unless they are told not to, as Dynamo tells them for good."""
    kind = torch.distributions.Distribution
    before = kind._validate_args
    kind.set_default_validate_args(False)
    try:
        yield
    finally:
        kind.set_default_validate_args(before)


def _layout(program, kept: list[tuple[Place, bool]]) -> Exported:
    gm = program.graph_module
    randomness.split_dropout(gm)
    signature = program.graph_signature
    output_specs = checks.without_tokens(gm, signature.output_specs)
    drawn = _draws_to_placeholders(gm)
    looked_at = checks.to_results(gm)
    gm.graph.eliminate_dead_code()
    lowered = _lowered(gm)
    states, users, constants = [], [], []
    leaf = 0
    placeholders = [n for n in gm.graph.nodes if n.op == "placeholder"]
    for k, spec in enumerate(signature.input_specs):
        if spec.kind in (InputKind.PARAMETER, InputKind.BUFFER) and not (spec.kind == InputKind.BUFFER and spec.target in program.constants):
            states.append((k, spec.target, spec.kind == InputKind.BUFFER))
        elif spec.kind == InputKind.USER_INPUT:
            users.append((k, leaf))
            leaf += 1
        elif spec.kind == InputKind.CONSTANT_TENSOR or spec.kind == InputKind.BUFFER:
            constants.append((k, program.constants[spec.target]))
        elif spec.kind != InputKind.TOKEN:
            raise UnsupportedError(f"a module that holds {spec.target}, a {spec.kind}")
    buffers, results = [], []
    for k, spec in enumerate(output_specs):
        if spec.kind in (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION):
            buffers.append((k, spec.target))
        elif spec.kind == OutputKind.USER_OUTPUT:
            results.append(k)
        else:
            raise UnsupportedError(f"a module that writes to its argument {spec.target}: give it a copy")
    spec, attributes = program.call_spec.out_spec, []
    if kept:
        spec, parts = spec.children()
        rest = iter(results[spec.num_leaves:])
        attributes = [Attribute(place.path, place.name, part, [next(rest) for _ in range(part.num_leaves)])
                      for (place, _), part in zip(kept, parts.children(), strict=True)]
        attributes = [a for a, (_, taken) in zip(attributes, kept) if taken]
    made = Exported(lowered, states, users, constants, drawn, buffers, results[:spec.num_leaves], looked_at, spec, attributes)
    made.reach = _reach(gm, lowered, placeholders, {*made.results, *(k for a in attributes for k in a.results)})
    return made


def _lowered(gm: fx.GraphModule) -> Lowered:
    try:
        return lower(gm, "model")
    except UnsupportedError as e:
        hint = "\nhint: torch.compile(model, backend=\"headrace\") leaves to PyTorch what programs don't know"
        raise said(e, f"{e}{'' if 'hint: ' in str(e) else hint}") from None


def _draws_to_placeholders(gm: fx.GraphModule) -> list:
    """Random numbers become the last arguments; what they are drawn by is kept."""
    drawn = []
    placeholders = [n for n in gm.graph.nodes if n.op == "placeholder"]
    last = placeholders[-1] if placeholders else gm.graph._root
    for node in list(gm.graph.nodes):
        if not randomness.draws(node):
            continue
        t = node.meta["val"]
        with gm.graph.inserting_after(last):
            argument = last = gm.graph.placeholder(f"drawn_{len(drawn)}")
        argument.meta["val"] = t
        draw = node.target if node.target is randomness.dropout_mask else _draw_like(node)
        drawn.append((len(placeholders) + len(drawn), draw, [sizes_text(s) for s in t.shape], t.dtype,
                      node.args[1:2] if node.target is randomness.dropout_mask else ()))
        node.replace_all_uses_with(argument)
        gm.graph.erase_node(node)
    gm.recompile()
    return drawn


def sizes_text(s):
    from .sizes import text_of

    return text_of(s)


def _draw_like(node: fx.Node):
    """The eager operator, for a size and a type."""
    name = str(node.target)
    if name in randomness.IN_PLACE:
        numbers = node.args[1:]
        if any(not isinstance(a, (int, float)) for a in numbers):
            raise UnsupportedError(f"{name} with numbers that follow from sizes")
        return lambda size, dtype: getattr(torch.empty(size, dtype=dtype), randomness.IN_PLACE[name])(*numbers)
    if name.startswith("aten.randint"):
        numbers = [a for a in node.args if isinstance(a, int)]
        low, high = (0, numbers[0]) if len(numbers) == 1 else numbers[:2]
        return lambda size, dtype: torch.randint(low, high, size, dtype=dtype)
    if name.startswith("aten.randn"):
        return lambda size, dtype: torch.randn(size, dtype=dtype)
    if name.startswith("aten.randperm"):
        return lambda size, dtype: torch.randperm(size[0], dtype=dtype)
    if name == "aten.bernoulli.p":
        p = node.args[1]
        return lambda size, dtype: torch.empty(size, dtype=dtype).bernoulli_(p)
    return lambda size, dtype: torch.rand(size, dtype=dtype)


def _conditions(program, paths: list[tuple]) -> Conditions:
    leaves = {"".join(f"[{step!r}]" for step in path): "_".join(map(str, path)) for path in paths}
    made = Conditions(names=list(leaves.values()))
    placeholders = [n for n in program.graph_module.graph.nodes if n.op == "placeholder"]
    users = [n for n, spec in zip(placeholders, program.graph_signature.input_specs) if spec.kind == InputKind.USER_INPUT]
    for leaf, n in enumerate(users):
        if isinstance(n.meta.get("val"), torch.Tensor):
            made.shapes[leaf] = tuple(sizes_text(s) for s in n.meta["val"].shape)
    for symbol, r in program.range_constraints.items():
        if symbol.name.startswith(("u", "zuf")):  # of data: a call doesn't tell
            continue
        low, high = int(r.lower), r.upper
        made.ranges[str(symbol)] = (low, float("inf") if "oo" in str(high) else int(high))
    made.guards = [_by_leaf(code, leaves) for code in getattr(program, "_guards_code", None) or []]
    return made


def _by_leaf(code: str, leaves: dict[str, str]) -> str:
    """A condition with tensors in tuples and dictionaries, L['pair'][0], called as the leaves are, L['pair_0']."""
    return re.sub(r"L((?:\[(?:\d+|'\w+')\])+)", lambda m: f"L['{leaves[m[1]]}']" if m[1] in leaves else m[0], code)


def _reach(gm: fx.GraphModule, lowered: Lowered, placeholders: list[fx.Node], results: set[int]) -> list[set[int]]:
    """New values of buffers take no gradient."""
    output = next(n for n in gm.graph.nodes if n.op == "output")
    nodes = list(output.args[0])
    place = {placeholders[k]: n for n, k in enumerate(lowered.arguments)}
    made: list[set[int]] = [set() for _ in lowered.results]
    for k, (o, found) in enumerate(zip(lowered.outputs, reaches(gm, nodes))):
        if o.kind == "program" and k in results:
            made[o.what] |= {place[p] for p in found if p in place}
    return made


def reaches(gm: fx.GraphModule, outputs: list[fx.Node]) -> list[set[fx.Node]]:
    """For each output the placeholders that it depends on through floats and without hold."""
    known: dict[fx.Node, frozenset] = {}
    for n in gm.graph.nodes:
        if n.op == "placeholder":
            known[n] = frozenset([n]) if floats(n) else frozenset()
        elif n.op == "call_function" and n.target is not torch.ops.headrace.hold.default and (floats(n) or n.target is operator.getitem):
            inputs = n.args[1:2] if n.target in (torch.ops.aten.copy.default, torch.ops.headrace.in_place_of.default) else n.all_input_nodes
            known[n] = frozenset().union(*[known.get(i, frozenset()) for i in inputs])
        else:
            known[n] = frozenset()
    return [set(known[o]) if isinstance(o, fx.Node) and floats(o) else set() for o in outputs]
