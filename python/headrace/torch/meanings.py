"""Operators in smaller ones, where torch's own table has none for programs, or a wrong one."""

from __future__ import annotations

import contextlib

import torch

from . import resampling

_MARGINS = torch.ops.aten.multilabel_margin_loss_forward.default


def multilabel_margin_loss(x: torch.Tensor, target: torch.Tensor, reduction: int) -> tuple[torch.Tensor, torch.Tensor]:
    """For each label before the first negative one, and each class that is none of them, max(0, 1 - x[label] + x[class])."""
    shape, x, target = x.shape, torch.atleast_2d(x), torch.atleast_2d(target)
    classes = x.shape[1]
    number = torch.arange(classes, device=x.device)
    listed = number < torch.where(target < 0, number, classes).amin(1, keepdim=True)
    label = torch.where(listed, target, 0)
    is_target = ((label[:, :, None] == number) & listed[:, :, None]).any(1)
    margin = torch.relu(1 - x.gather(1, label)[:, :, None] + x[:, None, :])
    loss = torch.where(listed[:, :, None] & ~is_target[:, None, :], margin, 0).sum((1, 2)) / classes
    loss = loss.mean() if reduction == 1 else loss.sum() if reduction == 2 else loss if len(shape) == 2 else loss[0]
    return loss, is_target.to(x.dtype).reshape(shape)


def safe_softmax(x: torch.Tensor, dim: int, dtype: torch.dtype | None = None) -> torch.Tensor:
    """softmax, and 0 where a whole row is masked: it and its gradient, which torch's meaning in smaller operators makes NaN."""
    masked = (x == -torch.inf).all(dim, keepdim=True)
    return torch.where(masked, 0, torch.softmax(torch.where(masked, 0, x), dim, dtype))


def householder_product(a: torch.Tensor, tau: torch.Tensor) -> torch.Tensor:
    """The first columns of the product of reflections 1 - tau v v^H; v is a column of a below its 1 on the diagonal."""
    rows, columns = (torch.arange(n, device=a.device) for n in a.shape[-2:])
    product = (rows[:, None] == columns).to(a.dtype).expand(a.shape)
    for k in reversed(range(tau.shape[-1])):
        v = torch.where(rows > k, a[..., k], (rows == k).to(a.dtype))[..., None]
        product = product - tau[..., k, None, None] * v * (v.conj() * product).sum(-2, keepdim=True)
    return product


MEANINGS = {torch.ops.aten.linalg_householder_product.default: householder_product,
            _MARGINS: multilabel_margin_loss, torch.ops.aten._safe_softmax.default: safe_softmax, **resampling.MEANINGS}


@contextlib.contextmanager
def right_gradients():
    """Autograd, too, takes a meaning from torch's table where a trace is made."""
    kernels, key = _MARGINS.py_kernels, torch._C.DispatchKey.Autograd
    before = kernels.get(key)
    try:
        kernels[key] = multilabel_margin_loss
        _MARGINS._dispatch_cache.clear()
        yield
    finally:
        if before is None:
            del kernels[key]
        else:
            kernels[key] = before
        _MARGINS._dispatch_cache.clear()
