"""What machine it is, and what it can do at most."""

from __future__ import annotations

import ctypes
import os
import platform
from typing import Any

TRIAD_BYTES = 256 << 20  # of each of three arrays


def _cpu() -> tuple[str, set[str]]:
    name, flags = platform.machine(), set()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            for line in f:
                field, _, value = line.partition(":")
                if field.strip() == "model name":
                    name = value.strip()
                elif field.strip() == "flags":
                    flags = set(value.split())
    except OSError:
        pass
    return name, flags


class Machine:
    """`library`: libmachine.so."""

    def __init__(self, library: str, processors: int):
        self._c = ctypes.CDLL(os.path.abspath(library))
        for name in ("machine_f32_peak", "machine_bf16_peak", "machine_int8_peak", "machine_bandwidth"):
            getattr(self._c, name).restype = ctypes.c_double
        self._cpu, flags = _cpu()
        self._processors, self._matrix_units = processors, {"bf16": "amx_bf16" in flags, "int8": "amx_int8" in flags}
        self._bandwidth: dict[int, float] = {}

    def now(self, threads: int) -> dict[str, Any]:
        """Operations and bytes per second on `threads` threads. None: not measured. Peaks move with the clock, so each case asks,
        before and after it."""
        if threads not in self._bandwidth:
            self._bandwidth[threads] = self._c.machine_bandwidth(threads, ctypes.c_int64(TRIAD_BYTES))
        small = {t: None if units else getattr(self._c, f"machine_{t}_peak")(threads) or None for t, units in self._matrix_units.items()}
        f32 = self._c.machine_f32_peak(threads)
        return {"cpu": self._cpu, "processors": self._processors, "f32": f32, "f64": f32 / 2, **small, "bandwidth": self._bandwidth[threads]}


def most(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Of what one machine did at two times: what else runs there only takes from it."""
    return {name: max(value, after[name]) if isinstance(value, float) else value for name, value in before.items()}


def busy() -> float:
    """Processors that other processes use: the load of the last minute, this benchmark's own in it."""
    return os.getloadavg()[0]
