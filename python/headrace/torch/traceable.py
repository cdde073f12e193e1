"""What is otherwise while a module is traced, so that torch.export takes it: the values are the same."""

from __future__ import annotations

import collections
import contextlib
import functools
import threading
import types
from typing import Any, Iterator

import sympy
import torch
from torch._export import non_strict_utils
from torch._functorch import eager_transforms
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from torch.nn.modules import transformer
from torch.utils import _pytree as pytree
from torch.utils._sympy.symbol import SymT, symbol_is_type

from ..errors import UnsupportedError
from .kept import Kept
from .replaced import replaced
from .transformed import plain


@contextlib.contextmanager
def masks_not_compared() -> Iterator[None]:
    """TransformerEncoder and TransformerDecoder look whether a mask is the causal one, which kernels could make use of; what a
    trace gives is the same either way."""
    before = transformer._detect_is_causal_mask
    transformer._detect_is_causal_mask = lambda mask, is_causal=None, size=None: is_causal is True
    try:
        yield
    finally:
        transformer._detect_is_causal_mask = before


def _is_number(index: Any) -> bool:
    return isinstance(index, torch.Tensor) and index.dim() == 0 and not index.is_floating_point() and index.dtype != torch.bool


def _is_mask(index: Any) -> bool:
    return isinstance(index, torch.Tensor) and index.dtype == torch.bool and index.dim() > 0


def _without_masks(index: tuple) -> tuple:
    """Several masks as the places of their elements, which torch does not trace as one index."""
    return tuple(part for i in index for part in (i.nonzero(as_tuple=True) if _is_mask(i) else (i,)))


def _numbered(t: torch.Tensor, index: tuple) -> tuple:
    """An index whose tensors of one number are numbers that are not negative."""
    takes = [0 if i is None or i is Ellipsis else i.dim() if isinstance(i, torch.Tensor) and i.dtype == torch.bool else 1 for i in index]
    made, dim = [], 0
    for i, taken in zip(index, takes):
        if _is_number(i):
            size = t.shape[dim]
            i = torch.where(i < 0, i + size, i).item()
            torch._check(i >= 0)
            torch._check(i < size)
        made.append(i)
        dim += t.dim() - sum(takes) if i is Ellipsis else taken
    return tuple(made)


def _write(view: Any, value: Any) -> None:
    """view()[...] = value"""
    target = view()
    if isinstance(value, torch.Tensor):
        target.copy_(value.reshape(value.shape[max(0, value.dim() - target.dim()):]))
    else:
        target.fill_(value)


@contextlib.contextmanager
def numbers_as_indices() -> Iterator[None]:
    """x[i] and x[i] = y where i is a tensor of one number: torch.export reads x[i] as a view for what it knows to be no negative
    number, and that is what is written to."""
    kind = non_strict_utils._NonStrictTorchFunctionHandler
    before = kind._override

    def override(self, func, args, kwargs):
        if func.__name__ not in ("__getitem__", "__setitem__") or not isinstance(args[0], torch.Tensor):
            return before(self, func, args, kwargs)
        index = args[1] if isinstance(args[1], tuple) else (args[1],)
        if sum(map(_is_mask, index)) > 1:
            index = _without_masks(index)
            args = (args[0], index, *args[2:])
        if not any(map(_is_number, index)):
            return before(self, func, args, kwargs)
        index = _numbered(args[0], index)
        view, given, named = before(self, torch.Tensor.__getitem__, (args[0], index), {})
        if func.__name__ == "__getitem__":
            return view, given, named
        return (func, (args[0], index, args[2]), {}) if given else (_write, (view, args[2]), {})

    kind._override = override
    try:
        yield
    finally:
        kind._override = before


class _NeverAny:
    """torch, where nothing is true of any element."""

    any = staticmethod(lambda _: False)

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


@contextlib.contextmanager
def variances_looked_at_later() -> Iterator[None]:
    """gaussian_nll_loss looks for negative variances, which a trace does not have: they are asked for after the run."""
    before = torch.nn.functional.gaussian_nll_loss
    names = {**before.__globals__, "torch": _NeverAny(), "has_torch_function_variadic": lambda *_: False}
    loss = types.FunctionType(before.__code__, names, before.__name__, before.__defaults__)

    @functools.wraps(before)
    def gaussian_nll_loss(input: Any, target: Any, var: Any, *rest: Any, **named: Any) -> torch.Tensor:
        if isinstance(var, torch.Tensor):
            torch._assert_async((var >= 0).all(), "var has negative entry/entries")
        return loss(input, target, var, *rest, **named)

    torch.nn.functional.gaussian_nll_loss = gaussian_nll_loss
    try:
        yield
    finally:
        torch.nn.functional.gaussian_nll_loss = before


def _with_mean_of_all_batches(before: Any) -> Any:
    """BatchNorm with momentum=None, which makes a number of how many batches there were: here that stays a tensor."""
    @functools.wraps(before)
    def forward(self, input):
        if self.momentum is not None or not self.training or not self.track_running_stats or self.num_batches_tracked is None:
            return before(self, input)
        self._check_input_dim(input)
        mean, var = torch.zeros_like(self.running_mean), torch.zeros_like(self.running_var)
        result = torch.nn.functional.batch_norm(input, mean, var, self.weight, self.bias, True, 1.0, self.eps)
        self.num_batches_tracked.add_(1)
        for running, new in ((self.running_mean, mean), (self.running_var, var)):
            running.copy_(running + (new - running) / self.num_batches_tracked)
        return result

    return forward


def _renorm(weight: torch.Tensor, input: torch.Tensor, max_norm: float, norm_type: float) -> None:
    """Rows that are looked up and longer than max_norm become as long as that; gradients pass over it."""
    seen = torch.zeros(weight.shape[0], dtype=torch.bool, device=weight.device).index_fill(0, input.reshape(-1).long(), True)
    norm = torch.linalg.vector_norm(weight, norm_type, 1)
    scale = torch.where(seen & (norm > max_norm), max_norm / (norm + 1e-7), 1)
    with torch.no_grad():
        weight.copy_(weight + (weight * scale[:, None] - weight).detach())


def layers_without_numbers() -> contextlib.AbstractContextManager:
    """Layers that would look at their buffers and parameters."""
    norm = torch.nn.modules.batchnorm._BatchNorm
    return replaced((norm, "forward", _with_mean_of_all_batches(norm.forward)),
                    (torch.nn.functional, "_no_grad_embedding_renorm_", _renorm))


@contextlib.contextmanager
def equal_counts() -> Iterator[None]:
    """Where torch compares the sizes of x[mask] and y[other], which it must not know to be equal, the program makes sure that they are."""
    before = torch.SymBool.__bool__

    def known(self) -> bool:
        try:
            return before(self)
        except GuardOnDataDependentSymNode:
            e = self.node.expr
            if not isinstance(e, sympy.Eq) or not all(side.is_Symbol and symbol_is_type(side, SymT.UNBACKED_INT) for side in e.args):
                raise
        torch._check(self, lambda: "numbers of chosen elements that must be equal differ")
        return True

    torch.SymBool.__bool__ = known
    try:
        yield
    finally:
        torch.SymBool.__bool__ = before


class _LeastSquares:
    """What torch.linalg.lstsq gives; all but the solution has shapes that data decide."""

    def __init__(self, solution: torch.Tensor):
        self.solution = solution

    def __getitem__(self, k: int) -> torch.Tensor:
        return self.solution if k == 0 else self._refused(("solution", "residuals", "rank", "singular_values")[k])

    def __iter__(self) -> Iterator[torch.Tensor]:
        return iter((self.solution, *map(self.__getitem__, (1, 2, 3))))

    def __getattr__(self, name: str) -> Any:
        return self._refused(name)

    def _refused(self, name: str) -> Any:
        raise UnsupportedError(f"{name} of torch.linalg.lstsq: programs have its solution\n"
                               "hint: torch.linalg.matrix_rank, torch.linalg.svdvals and (a @ x - b).square().sum(-2) give the others")


def _lstsq(a: torch.Tensor, b: torch.Tensor, rcond: float | None = None, *, driver: str | None = None) -> _LeastSquares:
    return _LeastSquares(torch.linalg.pinv(a, rtol=rcond) @ b)


def operators_with_shapes() -> contextlib.AbstractContextManager:
    """torch._C._infer_size takes numbers alone; what lstsq gives beside the solution has no shape in a trace."""
    return replaced((torch.linalg, "lstsq", _lstsq), (torch._C, "_infer_size", lambda a, b: torch.Size(torch.broadcast_shapes(a, b))))


@contextlib.contextmanager
def no_gradients_within() -> Iterator[None]:
    """torch.autograd.grad in a trace, also as a part of torch.func's grad and vjp, would see tensors that are not the trace's: its
    results would be constants."""
    places = [(torch.autograd, "grad"), (torch.autograd, "backward"), (eager_transforms, "grad_increment_nesting")]
    before, here = [getattr(owner, name) for owner, name in places], threading.get_ident()

    def refused(function: Any) -> Any:
        def call(*args, **kwargs):
            if threading.get_ident() != here:
                return function(*args, **kwargs)
            raise UnsupportedError("a module that takes gradients itself, by torch.autograd or torch.func: a trace does not show them\n"
                                   "hint: headrace.module of what is differentiated, and torch.autograd.grad of its results; "
                                   "torch.compile(model, backend=\"headrace\") takes torch.func.grad")
        return call

    for (owner, name), function in zip(places, before):
        setattr(owner, name, refused(function))
    try:
        yield
    finally:
        for (owner, name), function in zip(places, before):
            setattr(owner, name, function)


def _keep(name: str, buffer: torch.Tensor, new: Any) -> None:
    if not isinstance(new, torch.Tensor) or new.shape != buffer.shape or new.dtype != buffer.dtype:
        raise UnsupportedError(f"the buffer {name} becomes another shape or type in forward\n"
                               "hint: register it with the shape and type that it keeps")
    buffer.copy_(new)


def with_buffers_kept(module: torch.nn.Module, kept: Kept) -> torch.nn.Module:
    """The module, where a buffer that a part's forward binds to another tensor is written in place in the end: torch.export sees only
    such of the outermost module. What forward keeps in attributes is a second result."""
    kind = type(module)

    @functools.wraps(kind.forward)
    def forward(self, *args, **kwargs):
        before = [(path, m._buffers, name, b) for path, m in self.named_modules() for name, b in m._buffers.items() if b is not None]
        try:
            with kept.watching(self):
                result = kind.forward(self, *args, **kwargs)
            for path, buffers, name, b in before:
                if buffers[name] is not b:
                    _keep(".".join(filter(None, [path, name])), b, buffers[name])
            result = (result, tuple(kept.values)) if kept.values else result
        finally:
            for _, buffers, name, b in before:
                buffers[name] = b
        return result

    made = object.__new__(type(kind.__name__, (kind,), {"forward": forward}))
    made.__dict__ = module.__dict__
    return made


def _held_by(function: Any) -> Iterator[Any]:
    """What a hook may keep tensors in: what its code reads around it, and the object that it is a method of."""
    while isinstance(function, functools.partial):
        yield from (*function.args, *function.keywords.values())
        function = function.func
    yield getattr(function, "__self__", None)
    code = getattr(function, "__code__", None)
    if code is None:
        yield function
        return
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # an empty one
            yield cell.cell_contents
    yield from (function.__globals__[name] for name in code.co_names if name in function.__globals__)


def _holds_trace(value: Any) -> bool:
    held = value if isinstance(value, (torch.Tensor, list, dict, tuple, collections.deque)) else getattr(value, "__dict__", None)
    if isinstance(value, (types.ModuleType, type, torch.nn.Module)):
        return False
    return any(isinstance(t, FakeTensor) for t in pytree.tree_leaves(held))


@contextlib.contextmanager
def attributes_kept(module: torch.nn.Module) -> Iterator[None]:
    """torch.export leaves copies of lists and dicts: others may hold the module's own."""
    before = [(vars(part), dict(vars(part))) for part in module.modules()]
    try:
        yield
    finally:
        for now, had in before:
            now.update(had)


def refuse_kept(module: torch.nn.Module) -> None:
    """After a trace: a hook of an inner part, or a list, that keeps tensors has the trace's now, which have no values."""
    for name, part in module.named_modules():
        for hook in (*part._forward_hooks.values(), *part._forward_pre_hooks.values()):
            if any(map(_holds_trace, _held_by(hook))):
                raise UnsupportedError(f"a hook of {name} keeps tensors: a program leaves none there\nhint: return them from forward, too")
        for key, value in vars(part).items():
            if isinstance(value, (list, dict)) and key[0] != "_" and _holds_trace(value):
                raise UnsupportedError(f"forward keeps tensors in {f'{name}.{key}'.lstrip('.')}: a program leaves none there\n"
                                       "hint: return them from forward, too")


@contextlib.contextmanager
def tensors_as_parameters(module: torch.nn.Module) -> Iterator[None]:
    """torch.func.functional_call puts tensors where parameters are, which torch.export refuses."""
    places: list[tuple[dict, str, Any]] = []
    seen: dict[int, torch.nn.Parameter] = {}
    for owner in (m._parameters for m in module.modules()):
        for name, p in owner.items():
            if p is not None and not isinstance(p, torch.nn.Parameter):
                places.append((owner, name, p))
                owner[name] = seen.setdefault(id(p), torch.nn.Parameter(plain(p).detach(), requires_grad=p.requires_grad))
    try:
        yield
    finally:
        for owner, name, p in places:
            owner[name] = p
