"""What is measured, by name: one row of the tables."""

from __future__ import annotations

import dataclasses

MODES = ("forward", "backward", "step")
DTYPES = ("f32", "bf16", "f64", "int8")


@dataclasses.dataclass(frozen=True)
class Key:
    """`name` is a network, operator or kernel; `size` its batch (models), MiB (ops) or NPBench's size.

    Modes: `forward`: inference. `backward`: forward pass and gradients, by the parameters in training mode (models), or by
    the float inputs. `step`: the same with a loss and an optimizer's update. The type `int8` is that of quantised networks
    (quantised.py), of which there is inference only.
    """

    suite: str
    name: str
    size: str
    mode: str
    dtype: str = "f32"
    threads: int = 2

    @property
    def title(self) -> str:
        return f"{self.name} {self.size} {self.mode} {self.dtype} {self.threads}t"

    @property
    def batch(self) -> int:
        return int(self.size)
