"""Why a call of a module failed: what eager PyTorch says of the same arguments, where it refuses them, too."""

from __future__ import annotations

import difflib
import functools
import inspect
import itertools
import warnings
from typing import Any, Iterable

import torch
from torch.utils import _pytree as pytree

from ..errors import HeadraceError, InvalidError, UsageError
from .transformed import outside, plain

_KINDS = (TypeError, IndexError, KeyError, NotImplementedError, RuntimeError, AssertionError, ValueError)


def name_of(module: torch.nn.Module) -> str:
    """As messages call it."""
    return getattr(module, "_headrace_title", None) or type(module).__name__


def explained(module: torch.nn.Module, args: tuple, kwargs: dict, error: HeadraceError) -> BaseException:
    """`error`, or what eager code raises, which then is of the same type and also an InvalidError. The text names the arguments."""
    raised = eager_error(module, args, kwargs)
    if raised is None:
        return error
    raised.__traceback__ = None
    given = described(module, args, kwargs)
    if type(raised).__module__.partition(".")[0] not in ("builtins", "torch") or not isinstance(raised, _KINDS):
        raised.add_note(f"raised by {name_of(module)}, called with {given}")
        return raised
    kind = next(k for k in _KINDS if isinstance(raised, k))
    made = _also(kind)(f"{name_of(module)} does not take these arguments: {given}\n"
                       f"  PyTorch, eagerly: {type(raised).__name__}: {raised}{_of_other_types(module, args, kwargs)}")
    made.__cause__ = raised
    return made


@functools.lru_cache(maxsize=None)
def _also(kind: type) -> type:
    return type("InvalidError", (InvalidError,) if issubclass(InvalidError, kind) else (InvalidError, kind), {"__module__": InvalidError.__module__})


def eager_error(module: torch.nn.Module, args: tuple, kwargs: dict) -> Exception | None:
    """What the module itself raises for these arguments; it runs on copies, so that buffers and generators stay as they are."""
    def again(t: Any) -> Any:
        return plain(t).detach().clone().requires_grad_(t.requires_grad) if isinstance(t, torch.Tensor) else t

    with outside():
        state = {n: again(t) for n, t in itertools.chain(module.named_parameters(), module.named_buffers())}
        args, kwargs = pytree.tree_map(again, (args, kwargs))
    try:
        with outside(), torch.random.fork_rng(devices=[]), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.func.functional_call(module, state, args, kwargs)
    except Exception as error:  # noqa: BLE001: whatever it is
        return error
    return None


def described(module: torch.nn.Module, args: tuple, kwargs: dict) -> str:
    """The arguments by name, tensors by type and shape."""
    try:
        given = inspect.signature(module.forward).bind(*args, **kwargs).arguments
    except TypeError:
        given = {**{f"number {k + 1}": a for k, a in enumerate(args)}, **kwargs}
    return ", ".join(f"{name} is {_shown(value)}" for name, value in given.items()) or "none"


def _shown(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    if isinstance(value, (list, tuple)) and len(value) < 5:
        return f"({', '.join(map(_shown, value))})"
    return repr(value) if isinstance(value, (int, float, str, type(None))) else f"a {type(value).__name__}"


def _of_other_types(module: torch.nn.Module, args: tuple, kwargs: dict) -> str:
    floats = {t.dtype for t in pytree.tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor) and (t.is_floating_point() or t.is_complex())}
    own = {p.dtype for p in module.parameters() if p.is_floating_point() or p.is_complex()}
    if not floats or not own or floats <= own:
        return ""
    return f"\nhint: its parameters are {', '.join(sorted(str(t).removeprefix('torch.') for t in own))}: convert the argument, or the module"


def check_skipped(skipped: Iterable[str], module: torch.nn.Module, leaves: Iterable[str]) -> None:
    """UsageError for a name in `inputs_to_skip` that is no argument."""
    parameters = inspect.signature(module.forward).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return
    known = [*dict.fromkeys([*parameters, *leaves])]
    for name in sorted(set(skipped) - set(known)):
        close = difflib.get_close_matches(name, known, 1)
        raise UsageError(f"inputs_to_skip: {name_of(module)} has no argument '{name}'"
                         + (f"; did you mean '{close[0]}'?" if close else f"; there are {', '.join(known)}"))
