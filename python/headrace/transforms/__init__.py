"""Functions made of functions, beside gradients: forward mode, Jacobians, Hessians, batches."""

from .batch import vmap
from .custom import checkpoint, custom_vjp
from .forward import hvp, jvp
from .jacobians import hessian, jacfwd, jacrev
from .stop import stop_gradient

__all__ = ["checkpoint", "custom_vjp", "hessian", "hvp", "jacfwd", "jacrev", "jvp", "stop_gradient", "vmap"]
