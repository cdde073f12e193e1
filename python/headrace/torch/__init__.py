"""torch modules and graphs as programs: headrace.module, torch.compile(backend="headrace"). Imports torch."""

from .module import module

__all__ = ["module"]
