"""Programs under torch.func's transforms, and gradients that are functions of autograd again."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Callable, Iterator, Sequence

import torch
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack

from ..errors import UnsupportedError

if TYPE_CHECKING:
    from .autograd import Differentiable, Pair

# Whether one of torch.func's transforms is going on.
in_transform = torch._C._are_functorch_transforms_active


@contextlib.contextmanager
def outside() -> Iterator[None]:
    """A trace is made as if no transform and no checkpoint were going on: it is for all calls."""
    with contextlib.ExitStack() as stack:
        if in_transform():
            stack.enter_context(temporarily_clear_interpreter_stack())
        if torch._C._autograd._top_saved_tensors_default_hooks(True) is not None:  # only the last ones see what is saved
            stack.enter_context(torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t))
        yield


def plain(t: torch.Tensor) -> torch.Tensor:
    """A tensor of this shape and type that belongs to no transform, as an example for a trace."""
    if not torch._C._functorch.is_functorch_wrapped_tensor(t):
        return t
    return torch.zeros(t.shape, dtype=t.dtype, requires_grad=t.requires_grad)


def conjugate(g: torch.Tensor | None) -> torch.Tensor | None:
    """A gradient of torch as one of programs, and back: torch's are conjugate, theirs are derivatives as they stand."""
    return g.conj().resolve_conj() if g is not None and g.is_complex() else g


def gradients_of(owner: Differentiable, arguments: Sequence[torch.Tensor], needed: Sequence[bool],
                 gradients: Sequence[torch.Tensor | None]) -> list:
    """The gradients of the arguments by a program that takes these again, and is a function of autograd in turn."""
    given = {k for k, g in enumerate(gradients) if g is not None and owner.smooth[k]}
    wanted = tuple(k for k, n in enumerate(needed) if n)
    function = owner.joint(wanted, tuple(sorted(given)))
    by_name = dict(zip(owner.inputs, arguments))
    made = function([gradients[function.seeds[name]] if name in function.seeds else by_name[name] for name in function.inputs])
    results: list = [None] * len(arguments)
    for name, g in zip(function.outputs, made):
        results[function.gradients[name]] = conjugate(g)
    return results


def each_of_batch(function: Callable[..., tuple], gradients: Sequence[torch.Tensor | None]) -> tuple | None:
    """function(*gradients) for each of a batch of gradients, as torch.autograd.grad(is_grads_batched=True) gives them; None where
    they are none."""
    batched = torch._C._functorch.is_legacy_batchedtensor
    if not any(g is not None and batched(g) for g in gradients):
        return None
    level = torch._C._vmapmode_increment_nesting() - 1
    torch._C._vmapmode_decrement_nesting()
    all_of = [torch._remove_batch_dim(g, level, 0, 0) if g is not None and batched(g) else None for g in gradients]
    count = next(len(a) for a in all_of if a is not None)
    runs = [function(*[g if a is None else a[k] for g, a in zip(gradients, all_of)]) for k in range(count)]
    return tuple(None if made[0] is None else torch._add_batch_dim(torch.stack(made), 0, level) for made in zip(*runs))


def refuse_forward_mode(ctx, *tangents):
    raise UnsupportedError("derivatives in forward mode (torch.func.jvp, jacfwd and hessian, torch.autograd.forward_ad) of a compiled module\n"
                           "hint: torch.func.jacrev; jacrev(jacrev(f)) is the Hessian")


class Transformed(torch.autograd.Function):
    """A program as torch.func's transforms want it. The arguments before the tensors are the Differentiable and its Pair, None
    where nothing takes gradients; the results are followed by the tape."""

    @staticmethod
    def forward(owner: Differentiable, pair: Pair | None, *tensors):
        runner = owner.plain() if pair is None else pair.forward
        return tuple(runner.run(tensors, None, owner.sizes_for(runner, tensors)))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.owner, ctx.pair, *tensors = inputs
        ctx.save_for_backward(*tensors)
        ctx.set_materialize_grads(False)
        pair = ctx.pair
        ctx.mark_non_differentiable(*output if pair is None else [output[k] for k in pair.constant] + list(output[pair.outputs:]))

    @staticmethod
    def backward(ctx, *gradients):
        n = len(ctx.saved_tensors)
        if ctx.pair is None or all(g is None for g in gradients):
            return (None,) * (n + 2)
        seeds = [conjugate(g) for g in gradients[:ctx.pair.outputs]]
        saved = list(map(torch._C._functorch.unwrap_if_dead, ctx.saved_tensors))  # of torch.func.vjp, which has ended
        return None, None, *gradients_of(ctx.owner, saved, ctx.needs_input_grad[2:], seeds)

    jvp = staticmethod(refuse_forward_mode)

    @staticmethod
    def vmap(info: Any, in_dims: tuple, owner: Differentiable, pair: Pair | None, *tensors):
        """One run after the other: a program has the sizes of one."""
        def part(k: int) -> list:
            return [t if d is None else t.select(d, k) for t, d in zip(tensors, in_dims[2:])]

        runs = [Transformed.apply(owner, pair, *part(k)) for k in range(info.batch_size)]
        results = tuple(torch.stack(r) for r in zip(*runs))
        return results, (0,) * len(results)
