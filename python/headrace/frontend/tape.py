"""PyTorch's way to gradients inside a program: x.requires_grad_(), loss.backward(), x.grad. Each backward() is the library node
`autodiff.Backward`, which differentiates what stands before it; several accumulate in one array, as in PyTorch."""

from __future__ import annotations

import dataclasses

from .elementwise import cast
from .emitter import Emitter
from .values import Array, Value, broadcast, is_number, show, value_of


@dataclasses.dataclass(frozen=True)
class Leaf:
    """An array whose gradient is asked for: the array of the gradient, once there is one."""

    array: Array
    changes: int
    gradient: Array | None = None


def requires_grad(e: Emitter, v: Value, required: bool = True) -> Value:
    """x.requires_grad_(): from here on x has a gradient."""
    if not isinstance(v, Array) or not v.whole or v.name != v.root:
        raise NotImplementedError("requires_grad_() of a part of an array: copy it first, and use the copy")
    if v.dtype.kind not in "fc":
        raise TypeError(f"requires_grad_() of {v.dtype}: only floats and complex numbers have gradients")
    if not required:
        e.leaves.pop(v.name, None)
    else:
        e.leaves.setdefault(v.name, Leaf(v, e.changes_of(v)))
    return v


def backward(e: Emitter, v: Value, gradient: Value | None = None) -> None:
    """y.backward(): the gradients of y, or of the sum of gradient * y, by every array that requires one are added to theirs."""
    if e.nested:
        raise NotImplementedError("backward() in a loop, a branch or a map: it differentiates what stands before it, so it stands at the top "
                                  "level of the program")
    if not e.leaves:
        raise TypeError("backward(): no array requires a gradient: x.requires_grad_() before what is computed of x")
    if v.ndim and gradient is None:
        raise TypeError(f"backward() is of one number, not of shape {show(v.shape)}: sum it up, or give the gradient that arrives: "
                        "y.backward(gradient)")
    y = v if isinstance(v, Array) and v.whole and v.name == v.root and v.name in e.written else e.materialize(v, "of_backward")
    for leaf in e.leaves.values():
        if e.changes_of(leaf.array) != leaf.changes:
            raise NotImplementedError(f"{leaf.array.name} requires a gradient and is changed in place: bind a new name instead")
        if leaf.gradient is None:
            made = e.transient(leaf.array.dtype, leaf.array.shape, f"grad_{leaf.array.name}")
            e.leaves[leaf.array.name] = dataclasses.replace(leaf, gradient=made)
    inputs = [f"outputs = {y.name}"]
    if gradient is not None:
        arriving = gradient if is_number(gradient) else cast(e, gradient, y.dtype)
        inputs.append(f"output_gradients = {e.materialize(broadcast(value_of(arriving), y.shape), 'arriving').name}")
    inputs += [f"inputs = {name}" for name in e.leaves]
    outputs = [f"gradients = {leaf.gradient.name}" for leaf in e.leaves.values()]
    e.read.update([y.root, *e.leaves])
    e.changed(*(leaf.gradient for leaf in e.leaves.values()))
    e.line(f"autodiff.Backward({', '.join(inputs)}) -> ({', '.join(outputs)})")


def grad(e: Emitter, v: Value) -> Array | None:
    """x.grad: None before the first backward()."""
    leaf = e.leaves.get(v.name) if isinstance(v, Array) and v.whole else None
    if leaf is None:
        raise AttributeError("this array has no gradient: x.requires_grad_() before what is computed of x")
    return leaf.gradient
