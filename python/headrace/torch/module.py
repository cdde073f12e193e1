"""headrace.module: torch modules whose forward and backward passes are compiled programs."""

from __future__ import annotations

import copy
import functools
import threading
from dataclasses import dataclass
from typing import Any, Callable

import torch
from torch.utils import _pytree as pytree

from ..compiled import check_autocast
from ..counters import count
from ..debug import check_verify
from ..errors import HeadraceError, UnsupportedError, UsageError
from ..sdfg import Sdfg
from .autograd import Differentiable
from .diagnosis import check_skipped, explained
from .dynamic import grown
from .exporting import Conditions, Exported, Trace, trace
from .guards import fitting, made, same_call
from .kept import Owner, attributes_of
from .precision import narrow
from .program import evaluate
from .sizes import OpenSizeError

OWN_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")  # where a module of torch has them
HOOKS = ("post_onnx_hook", "post_autodiff_hook", "post_compile_hook")


class Version:
    """One trace of a module: for arguments of one structure, and whatever sizes its guards allow."""

    def __init__(self, state: State, exported: Exported, module: torch.nn.Module):
        self.exported = e = exported
        check_skipped(state.inputs_to_skip, module, e.names)
        sdfg = Sdfg.parse(e.lowered.text)
        for hook in state.hooks["post_onnx_hook"]:
            hook(sdfg)
        self.function = Differentiable(sdfg, reach=e.reach, threads=state.threads, hook=state.autodiff_hook,
                                       debug=state.debug)
        self.leaves = dict(e.users)  # placeholder → leaf
        self.states = {k: _place(module, name) for k, name, _ in e.states}
        self.drawn = {k: (draw, size, dtype, rest) for k, draw, size, dtype, rest in e.draws}
        self.constants = dict(e.constants)
        self.sources = {s: (self.leaves[k], d) for s, (k, d) in e.lowered.sources.items() if k in self.leaves}
        self.order = [self._source(k) for k in e.lowered.arguments]
        self.skip = frozenset(n for n, k in enumerate(e.lowered.arguments) if k in self.leaves and e.names[self.leaves[k]] in state.inputs_to_skip)
        self.buffers = [(k, _place(module, name)) for k, name in e.buffers]
        self.attributes = [(attributes_of(module, a.path), a) for a in e.attributes]
        written = {name for _, name in e.buffers}
        written_states = {k for k, name, _ in e.states if name in written}
        self.overwritten = [n for n, k in enumerate(e.lowered.arguments) if k in written_states]
        self.symbolic = bool(self.drawn) or any(o.kind == "size" or o.strides for o in e.lowered.outputs)
        self.fits: Callable[[list], bool]  # whether arguments have sizes that this trace is for
        self.same: Callable[[tuple], bool] | None  # whether a call is one for this trace, with nothing else changed
        self.conditions: list[Conditions] = []
        self.admit(e)
        # Where the program takes just the call's arguments, in their order, there is nothing to gather.
        self._gather = None if self.order == [(0, k) for k in range(len(e.names))] else self._arguments()
        kinds = [o.kind == "program" and o.strides is None for o in e.lowered.outputs]
        self._plain = all(kinds) and not self.buffers and not self.attributes and e.results == [o.what for o in e.lowered.outputs]
        self._one = self._plain and e.spec.is_leaf()

    def wanted(self, leaves: list) -> tuple[int, ...]:
        """The program's inputs that take gradients in a call of these arguments."""
        tensors = [leaves[what] if kind == 0 else what[0][what[1]] if kind == 1 else None for kind, what in self.order]
        return tuple([k for k, t in enumerate(tensors) if isinstance(t, torch.Tensor) and t.requires_grad and k not in self.skip])

    def _source(self, k: int) -> tuple[int, Any]:
        if k in self.leaves:
            return 0, self.leaves[k]
        if k in self.states:
            return 1, self.states[k]
        return (2, self.drawn[k]) if k in self.drawn else (3, self.constants[k])

    def admit(self, conditions: Conditions) -> None:
        """Calls that this trace is for, too."""
        self.conditions.append(conditions)
        checks = [fitting(c) for c in self.conditions]
        self.fits = checks[0] if len(checks) == 1 else lambda leaves: any([check(leaves) for check in checks])
        self.same = None

    def current(self) -> bool:
        """Whether what the program was made for beside sizes is as it was."""
        return True

    def _arguments(self) -> Callable[[list, dict], list]:
        """The program's arguments from those of the call, as one function."""
        items, names = [], {"evaluate": evaluate}
        for n, (kind, what) in enumerate(self.order):
            if kind == 0:
                items.append(f"leaves[{what}]")
            elif kind == 1:
                names[f"owner{n}"] = what[0]
                items.append(f"owner{n}[{what[1]!r}]")
            elif kind == 2:
                names[f"draw{n}"], sizes, names[f"dtype{n}"], names[f"rest{n}"] = what[0], what[1], what[2], what[3]
                items.append(f"draw{n}([{', '.join(f'evaluate({s!r}, symbols)' for s in sizes)}], *rest{n}, dtype{n})")
            else:
                names[f"constant{n}"] = what
                items.append(f"constant{n}")
        return made("gather(leaves, symbols)", [f"return [{', '.join(items)}]"], names)

    def __call__(self, leaves: list) -> Any:
        symbols = {s: leaves[k].shape[d] for s, (k, d) in self.sources.items()} if self.symbolic else {}
        arguments = leaves if self._gather is None else self._gather(leaves, symbols)
        if self.overwritten and torch.is_grad_enabled():  # gradients are of what these were
            for n in self.overwritten:
                arguments[n] = arguments[n].clone()
        values = self.function(arguments, self.skip) if self.function.outputs else ()
        if self._one:
            return values[0]
        if self._plain:
            return pytree.tree_unflatten(list(values), self.exported.spec)
        results = [self._result(o, values, leaves, symbols) for o in self.exported.lowered.outputs]
        for check in self.exported.checks:
            check.look(results[check.result])
        for k, (where, name) in self.buffers:
            with torch.no_grad():
                where[name].copy_(results[k])
        self._keep(results)
        return pytree.tree_unflatten([results[k] for k in self.exported.results], self.exported.spec)

    def _keep(self, results: list) -> None:
        for names, a in self.attributes:
            names[a.name] = pytree.tree_unflatten([results[k] for k in a.results], a.spec)

    def _result(self, o, values, leaves, symbols):
        if o.kind == "program":
            t = values[o.what]
            if o.strides is None:
                return t
            return _laid_out(t, [evaluate(s, symbols) for s in o.strides])
        if o.kind == "argument":
            kind, what = self._source(o.what)
            return leaves[what] if kind == 0 else what[0][what[1]] if kind == 1 else what
        return evaluate(o.what, symbols) if o.kind == "size" else o.what


def _constant(value: Any) -> tuple:
    """An argument that is no tensor, as part of what a trace is for."""
    try:
        hash(value)
    except TypeError:
        raise TypeError(f"a module takes tensors, and constants that can be compared; not {type(value).__name__}\n"
                        "hint: torch.from_numpy(array) is a tensor of the same memory") from None
    return type(value), value


def _laid_out(t: torch.Tensor, strides: list[int]) -> torch.Tensor:
    """t with the strides that eager code gives it."""
    order = sorted(range(t.dim()), key=lambda d: -strides[d])
    dense = t.permute(order).contiguous()
    inverse = [order.index(d) for d in range(t.dim())]
    return dense.permute(inverse)


def _place(module: torch.nn.Module, name: str) -> tuple[dict, str]:
    """The dictionary that holds a parameter or buffer, so that the present one is found at every call."""
    path, _, last = name.rpartition(".")
    owner = module.get_submodule(path)
    return (owner._parameters, last) if last in owner._parameters else (owner._buffers, last)


@dataclass
class Parts:
    """What of a module's parts is looked at in each call."""

    children: list[tuple[dict, str, torch.nn.Module]]  # where each part hangs
    states: list[dict]  # their dictionaries, for `training`
    parameters: list[dict]


class State:
    """What a compiled module is beside the module: options, hooks, traces."""

    version: type[Version] = Version  # what is made of a trace
    group = "torch.module"  # of counters

    def __init__(self, *, backward: bool = True, inputs_to_skip=(), dynamic: Any = True, threads: int = 0,
                 verify: str | None = None, dump_dir: Any = None, keep_denormals: bool = False,
                 autocast: str | None = None):
        self.autocast = check_autocast(autocast)
        self.backward, self.dynamic, self.threads = backward, dynamic, threads
        check_verify(verify, ("interpreter",), "to compare with eager PyTorch, call a copy of the module")
        self.debug = {k: v for k, v in (("verify", verify), ("dump_dir", dump_dir), ("keep_denormals", keep_denormals or None))
                      if v is not None}
        self.inputs_to_skip = frozenset([inputs_to_skip] if isinstance(inputs_to_skip, str) else inputs_to_skip)
        self.hooks: dict[str, list[Callable]] = {h: [] for h in HOOKS}
        self.versions: dict[tuple, list[Version]] = {}
        self.fixed: dict[tuple, set[tuple[int, int]]] = {}  # sizes that programs can't leave open: leaf, dimension
        self.latest: tuple[Callable[[tuple], bool], Version] | None = None  # of the last call: most are like it
        self.shown: tuple[Version, tuple[int, ...]] | None = None  # the last trace, and its inputs that take gradients
        self.parts: Parts | None = None
        self.lock = threading.Lock()

    def options(self) -> dict:
        return {"backward": self.backward, "inputs_to_skip": self.inputs_to_skip, "dynamic": self.dynamic, "threads": self.threads,
                "autocast": self.autocast, **self.debug}

    def __reduce__(self):
        """A copy of a module traces anew."""
        return functools.partial(State, **self.options()), ()

    def autodiff_hook(self, forward: Sdfg, backward: Sdfg) -> None:
        for hook in self.hooks["post_autodiff_hook"]:
            hook(forward, backward)

    def add(self, hook: str, function: Callable, first: bool) -> None:
        if self.versions:
            raise UsageError(f"{hook} comes too late: the module is compiled. hint: add hooks before the first call, or call reset()")
        self.hooks[hook].insert(0 if first else len(self.hooks[hook]), function)

    # ---- calls ----
    def call(self, module: Mixin, args: tuple, kwargs: dict) -> Any:
        try:
            return self._called(module, args, kwargs)
        except HeadraceError as error:
            cause = explained(module._original(), args, kwargs, error)
            if cause is error:
                raise
        raise cause

    def _called(self, module: Mixin, args: tuple, kwargs: dict) -> Any:
        latest = self.latest
        if latest is None or kwargs or not latest[0](args):
            return self._call(module, args, kwargs)
        if self.backward:
            return latest[1](args)
        with torch.no_grad():
            return latest[1](args)

    def programs(self) -> tuple[Sdfg, Sdfg]:
        """Forward and backward of the last trace."""
        version, wanted = self.shown_version()
        if not self.backward or not any(r & set(wanted) for r in version.function.reach):
            raise UsageError("the traced call takes no gradients: `sdfg` is its program\n"
                             "hint: gradients are for parameters and arguments with requires_grad, of modules with backward=True")
        forward, made = version.function.programs(wanted)
        return forward, made.program

    def shown_version(self) -> tuple[Version, tuple[int, ...]]:
        if self.shown is None:
            raise UsageError("nothing is traced yet: call the module once, or trace_call()")
        return self.shown

    def _call(self, module: Mixin, args: tuple, kwargs: dict, only_trace: bool = False) -> Any:
        """Whatever the call is; leaves the check by which the next one like it is known."""
        if kwargs or any([type(a) is not torch.Tensor and type(a) is not torch.nn.Parameter for a in args]):
            leaves, spec = pytree.tree_flatten((args, kwargs))
            kinds = [(t.dtype, t.dim()) if isinstance(t, torch.Tensor) else _constant(t) for t in leaves]
        else:
            leaves, spec = args, len(args)
            kinds = [(t.dtype, t.dim()) for t in args]
        if self.parts is None or any([parent.get(name) is not child for parent, name, child in self.parts.children]):
            self._look(module)
        key = (spec, torch.is_autocast_enabled("cpu") and torch.get_autocast_dtype("cpu"), *kinds, *[state["training"] for state in self.parts.states],
               *[(p.dtype, p.shape) for owner in self.parts.parameters for p in owner.values() if p is not None])
        for version in self.versions.get(key, ()):
            if version.fits(leaves):
                break
        else:
            version = self._trace(module._original(), key, args, kwargs, leaves)
        if only_trace:
            self.shown = version, version.wanted(leaves)
            return None
        if self.shown is None or self.shown[0] is not version:
            self.shown = version, version.wanted(leaves)
        if leaves is args:  # what the key says, but without making one
            version.same = version.same or same_call(args, self.parts, version.fits)
            self.latest = version.same, version
        if not self.backward:
            with torch.no_grad():
                return version(leaves)
        return version(leaves)

    def forget(self) -> None:
        self.latest = self.shown = None
        self.versions.clear()
        self.fixed.clear()

    def _look(self, module: torch.nn.Module) -> None:
        if self.parts is not None:
            self.forget()  # a part was replaced
        everything = list(module.modules())
        self.parts = Parts([(m._modules, name, child) for m in everything for name, child in m._modules.items() if child is not None],
                           [m.__dict__ for m in everything], [m._parameters for m in everything if m._parameters])

    def _trace(self, module, key, args, kwargs, leaves) -> Version:
        with self.lock, narrow(self.autocast):
            while True:
                try:
                    return self._traced(module, key, args, kwargs, leaves)
                except OpenSizeError as error:  # then with these sizes built in
                    fixed = self.fixed.setdefault(key, set())
                    if self.dynamic is not True or error.places <= fixed:
                        raise
                    fixed |= error.places

    def _traced(self, module, key, args, kwargs, leaves) -> Version:
        for version in self.versions.get(key, ()):
            if version.fits(leaves):
                return version
        known = self.versions.setdefault(key, [])
        traced = trace(module, args, kwargs, self.dynamic, self._moving(key, leaves), self.fixed.get(key, ()))
        for version in known:
            conditions = version.exported.trace.covers(traced) if version.current() else None
            if conditions is not None and fitting(conditions)(leaves):
                count(self.group, "sizes admitted")
                version.admit(conditions)
                return version
        count(self.group, "traces")
        version = self._for_any_size(module, key, args, kwargs, traced) or self.version(self, traced.finish(), module)
        for hook in self.hooks["post_compile_hook"]:
            hook(version.function)
        known.append(version)
        return version

    def _for_any_size(self, module, key, args, kwargs, special: Trace) -> Version | None:
        """Where the call has sizes of 1, the program for any, if the model does the same for all."""
        leaves = pytree.tree_leaves((args, kwargs))
        moving, fixed = self._moving(key, leaves), self.fixed.get(key, ())
        larger = grown(args, kwargs, moving, fixed) if self.dynamic is True else None
        if larger is None:
            return None
        try:
            general = trace(module, *larger, True, moving, fixed)
            if general.covers(special) is None:
                return None
            exported = general.finish()
        except UnsupportedError:  # the size is 1 in every call, or only then the model is a program
            return None
        conditions = general.covers(special)
        if conditions is None or not fitting(conditions)(leaves):
            return None
        version = self.version(self, exported, module)
        version.admit(conditions)
        return version

    def _moving(self, key: tuple, leaves: list) -> set[tuple[int, int]]:
        """Sizes that differ from those of earlier calls."""
        return {(k, d) for version in self.versions.get(key, ()) for k, shape in version.exported.shapes.items()
                for d, s in enumerate(shape) if s != leaves[k].shape[d]}


class Mixin:
    """Beside the class of the wrapped module: everything but forward is that class's own."""

    @property
    def _headrace(self) -> State:
        state = self.__dict__.get("_headrace_state")
        if state is None:
            state = self.__dict__["_headrace_state"] = State(**type(self)._headrace_options)
        return state

    def forward(self, *args, **kwargs):
        if torch.compiler.is_compiling():  # a part of something that is traced as a whole
            return type(self)._headrace_class.forward(self, *args, **kwargs)
        return (self.__dict__.get("_headrace_state") or self._headrace).call(self, args, kwargs)

    def _original(self) -> torch.nn.Module:
        """The same object, without the compiled forward, and without its own hooks: they run around the program."""
        inner = object.__new__(type(self)._headrace_class)
        inner.__dict__ = {k: type(v)() if k in OWN_HOOKS else v for k, v in self.__dict__.items()} | {"_headrace_owner": Owner(self.__dict__)}
        return inner

    def reset(self) -> None:
        """Forgets what was traced and compiled; hooks may be added again."""
        self._headrace.forget()

    def trace_call(self, *args, **kwargs) -> None:
        """Traces the module for calls like this one, and runs nothing. `sdfg`, `forward_sdfg` and `backward_sdfg` may then be
        changed, until the first such call compiles them; afterwards that is a UsageError."""
        self._headrace._call(self, args, kwargs, only_trace=True)

    @property
    def sdfg(self) -> Sdfg:
        """The program of the last trace, without gradients. What is changed in it before `forward_sdfg` and `backward_sdfg` are looked
        at is in them, too."""
        return self._headrace.shown_version()[0].function.sdfg

    @property
    def forward_sdfg(self) -> Sdfg:
        """The forward program of the last trace where gradients are taken: its further results are what the backward one needs."""
        return self._headrace.programs()[0]

    @property
    def backward_sdfg(self) -> Sdfg:
        """The backward program of the last trace."""
        return self._headrace.programs()[1]

    def __deepcopy__(self, memo):
        new = object.__new__(type(self))
        memo[id(self)] = new
        new.__dict__ = {k: copy.deepcopy(v, memo) for k, v in self.__dict__.items()}
        return new

    def __reduce_ex__(self, protocol):
        return _restored, (type(self)._headrace_class,), {"_headrace_state": self._headrace, **self.__dict__}


def _hook(name: str, first: bool):
    def add(self, function: Callable) -> None:
        self._headrace.add(name, function, first)

    add.__name__ = ("prepend_" if first else "append_") + name
    add.__doc__ = {"post_onnx_hook": "function(sdfg): the forward program as it was read from the module; it may be changed.",
                   "post_autodiff_hook": "function(forward, backward): both programs before they are compiled.",
                   "post_compile_hook": "function(compiled): once a trace is ready to run."}[name]
    return add


for _name in HOOKS:
    setattr(Mixin, f"append_{_name}", _hook(_name, False))
    setattr(Mixin, f"prepend_{_name}", _hook(_name, True))


def _restored(kind: type) -> torch.nn.Module:
    return object.__new__(_compiled_class(kind if not issubclass(kind, Mixin) else kind._headrace_class))


@functools.lru_cache(maxsize=None)
def _compiled_class(kind: type, **options: Any) -> type:
    if issubclass(kind, Mixin):
        return kind
    made = type(kind.__name__, (Mixin, kind), {"_headrace_class": kind, "_headrace_options": options, "__doc__": kind.__doc__})
    made.__module__, made.__qualname__ = kind.__module__, kind.__qualname__
    return made


def module(target: Any = None, *, backward: bool = True, inputs_to_skip=(), dynamic: Any = True, threads: int = 0,
           verify: str | None = None, dump_dir: Any = None, keep_denormals: bool = False, autocast: str | None = None) -> Any:
    """A torch module, compiled: of an instance, or as a decorator of a class.

        model = headrace.module(torch.nn.Linear(3, 4))

        @headrace.module(backward=False)
        class Net(torch.nn.Module): ...

    It is traced and compiled at the first call; parameters and buffers are the module's own, which optimizers, `state_dict`,
    `.to()` and so on see as ever. `backward=False`: results take no part in autograd. `inputs_to_skip`: names of arguments whose
    gradients are not computed. `dynamic`: True, sizes that the model leaves open may change, also from and to 1, without another compilation;
    False; or `dynamic_shapes` of torch.export. Numbers and texts among the arguments are constants of the program, and so
    are attributes of the module that are neither parameters nor buffers: call `reset()` after changing one. `verify="interpreter"`:
    each forward and backward pass is run by the interpreter, too, and MismatchError names the first result that differs;
    `dump_dir`: where the programs and their sources are left, and `keep_denormals`: whether floats below 1.2e-38 are exact, as of `Sdfg.compile`.
    `autocast="bf16"` (or "f16"): calls compute as under `torch.autocast("cpu", torch.bfloat16)`, and results have its types; parameters
    stay what they are (docs/mixed_precision.md).

    TypeError where `target` is no module; UnsupportedError where it can't be traced, or has an operator that programs don't know.
    """
    options = {"backward": backward, "inputs_to_skip": tuple([inputs_to_skip] if isinstance(inputs_to_skip, str) else inputs_to_skip),
               "dynamic": dynamic, "threads": threads, "verify": verify, "dump_dir": dump_dir,
               "keep_denormals": keep_denormals, "autocast": autocast}
    check_autocast(autocast)
    if target is None:
        return functools.partial(module, **options)
    if isinstance(target, type) and issubclass(target, torch.nn.Module):
        return _compiled_class(target, **options)
    if not isinstance(target, torch.nn.Module):
        raise TypeError(f"headrace.module takes a torch.nn.Module or a class of them, not {type(target).__name__}")
    if isinstance(target, torch.nn.parallel.DistributedDataParallel):
        raise UnsupportedError("a trace of DistributedDataParallel would not sum gradients\n"
                               "hint: DistributedDataParallel(headrace.module(model))")
    made = object.__new__(_compiled_class(type(target)))
    made.__dict__ = target.__dict__
    made.__dict__["_headrace_state"] = State(**options)
    return made
