"""Where the engines live: virtual environments with pinned packages, made at first use, and the variables of their processes."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
REQUIREMENTS = {"peers": "requirements.txt", "dace": "requirements-dace.txt"}


class EnvironmentFailure(Exception):
    """No environment could be made."""


def cache() -> str:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(home, "headrace-dev")


class Environment:
    """`roots`: folders that imports come from: the workspace's and the package's."""

    def __init__(self, roots: list[str]):
        self._roots = roots
        self.processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self._pythons: dict[str, str] = {}

    def python(self, venv: str = "peers") -> str:
        """The interpreter with the packages of one of REQUIREMENTS; installs them if need be."""
        if venv not in self._pythons:
            self._pythons[venv] = self._installed(venv)
        return self._pythons[venv]

    def _installed(self, venv: str) -> str:
        requirements = os.path.join(HERE, REQUIREMENTS[venv])
        with open(requirements, "rb") as f:
            key = hashlib.sha256(f.read() + sys.version.encode()).hexdigest()[:12]
        folder = os.path.join(cache(), f"{venv}-{key}")
        python = os.path.join(folder, "bin", "python")
        if not os.path.exists(os.path.join(folder, ".ready")):
            print(f"installing {os.path.basename(requirements)} in {folder}", file=sys.stderr, flush=True)
            os.makedirs(cache(), exist_ok=True)
            try:
                subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True, stdout=sys.stderr)
                subprocess.run([python, "-m", "pip", "--quiet", "--quiet", "--disable-pip-version-check", "install", "--only-binary=:all:",
                                "--requirement", requirements], check=True, stdout=sys.stderr)  # fmt: skip
            except (OSError, subprocess.CalledProcessError) as e:
                raise EnvironmentFailure(f"{folder} can't be made: {e}") from e
            with open(os.path.join(folder, ".ready"), "w", encoding="ascii"):
                pass
        return python

    def variables(self, threads: int, caches: str) -> dict[str, str]:
        """Of a worker: the same number of threads for every library, and caches that are empty at first."""
        ours = {k: v for k, v in os.environ.items() if not k.startswith(("HEADRACE_", "OMP_", "MKL_", "XLA_", "JAX_", "TORCH", "MALLOC_", "PYTHON"))}
        ours.pop("BUILD_WORKING_DIRECTORY", None)
        counts = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "HEADRACE_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(threads))
        return {**ours, **counts, "PYTHONPATH": os.pathsep.join(self._roots), "PYTHONDONTWRITEBYTECODE": "1", "JAX_PLATFORMS": "cpu",
                "HEADRACE_CACHE_DIR": os.path.join(caches, "headrace"), "TORCHINDUCTOR_CACHE_DIR": os.path.join(caches, "inductor"),
                "DACE_CONFIG": os.path.join(caches, "dace.conf"), "DACE_default_build_folder": os.path.join(caches, "dace")}  # fmt: skip
