"""torch modules and graphs as programs: headrace.module, torch.compile(backend="headrace"). Imports torch."""

from .backend import headrace as compile_fx
from .backend import register
from .module import module

register()
__all__ = ["compile_fx", "module"]
