"""torch modules and graphs as programs: headrace.module, torch.compile(backend="headrace"). Imports torch."""

from .backend import backend, register
from .module import module

register()
__all__ = ["backend", "module"]
