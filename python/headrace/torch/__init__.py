"""torch modules and graphs as programs: headrace.module, headrace.train_step, torch.compile(backend="headrace"). Imports torch."""

from .backend import headrace as compile_fx
from .backend import register
from .module import module
from .training import train_step

register()
__all__ = ["compile_fx", "module", "train_step"]
