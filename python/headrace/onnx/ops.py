"""Operators as functions: `headrace.onnx.Conv(X=x, W=w, strides=[2, 2])`, eagerly and inside `@headrace.program`."""

from __future__ import annotations

import functools
from typing import Any

from .. import _core, registrations
from . import eager, inline, signature
from .weights import did_you_mean


_ABOUT = """An operator: `headrace.onnx.Conv`. Its docstring and signature are the operator's own: ports, attributes, types.

Called with arrays it runs, as a compiled program of one node: inputs by position or name, attributes by name. Results are the
outputs that every call has, one as it is, several as a tuple; `results=` asks for others (a number, or names). `Y=array` writes
an output there. `opset=` chooses another version, `implementation=` one of `implementations`. Inside a program it is a library
node."""


class _OfEach:
    """What each operator has of its own, and the class has `otherwise`."""

    def __init__(self, own, otherwise: str | None = None):
        self._own, self._otherwise = own, otherwise

    def __get__(self, op: Any, owner: type) -> Any:
        if op is not None:
            return self._own(op)
        if self._otherwise is None:
            raise AttributeError
        return self._otherwise


class Op:
    def __init__(self, found: signature.Signature, opset: int):
        self.signature, self._opset = found, opset
        self.__name__ = self.__qualname__ = found.name
        self.__module__ = "headrace.onnx"

    __signature__ = _OfEach(lambda op: op.signature.inspect_signature())
    __doc__ = _OfEach(lambda op: op.signature.describe(), _ABOUT)  # type: ignore[assignment]

    @property
    def version(self) -> int:
        """The opset version that brought this form of the operator."""
        return self.signature.version

    @property
    def versions(self) -> list[int]:
        """All of them."""
        return [v for v in _versions()[self.signature.domain][self.signature.name]]

    @property
    def implementations(self) -> list[str]:
        """What expands the node, in the order they are tried."""
        return list(dict.fromkeys(_core.op_implementations(self.signature.domain, self.signature.name)))

    @property
    def default_implementation(self) -> str | None:
        """What `headrace.set_implementation` prefers for this operator; can be set, None: nothing."""
        return dict(_core.preferences()).get(f"{self.signature.domain}.{self.signature.name}")

    @default_implementation.setter
    def default_implementation(self, name: str | None) -> None:
        from ..custom.implementations import set_implementation

        set_implementation(f"{self.signature.domain}.{self.signature.name}", name)

    def _in(self, opset: int | None) -> Op:
        if opset is None:
            return self
        return getattr(Domain(self.signature.domain, opset), self.signature.name)

    def __call__(self, *args: Any, opset: int | None = None, implementation: str | None = None, **named: Any) -> Any:
        return eager.run(self._in(opset).signature, args, named, self._known(implementation))

    def _known(self, implementation: str | None) -> str | None:
        if implementation is not None and implementation not in self.implementations:
            raise ValueError(f"{self.signature.title} has no implementation '{implementation}'"
                             f"{did_you_mean(implementation, self.implementations)}")
        return implementation

    def __headrace_lower__(self, emitter: Any, args: list, named: dict) -> Any:
        """Called by the translation of a program in place of __call__."""
        named = dict(named)
        implementation = self._known(named.pop("implementation", None))
        return inline.lower(self._in(named.pop("opset", None)).signature, emitter, args, named, implementation)

    def __repr__(self) -> str:
        return f"<operator {self.signature.title}>"


@functools.lru_cache(maxsize=None)
def _versions() -> dict[str, dict[str, list[int]]]:
    all_ops: dict[str, dict[str, list[int]]] = {}
    for domain, name, version in _core.op_versions():
        all_ops.setdefault(domain, {}).setdefault(name, []).append(version)
    return all_ops


def _newest() -> int:
    """The newest opset of ONNX: the one that its youngest operator came with."""
    return max(v for versions in _versions()["onnx"].values() for v in versions)


@functools.lru_cache(maxsize=None)
def _find(domain: str, name: str, opset: int) -> Op | None:
    found = signature.find(domain, name, opset)
    return None if found is None else Op(found, opset)


def _forget() -> None:
    _versions.cache_clear()
    _find.cache_clear()


registrations.watch(_forget)


class Domain:
    """The operators of a domain as attributes, in the versions that an opset has (0: the newest)."""

    def __init__(self, name: str, opset: int = 0):
        if name not in _versions():
            raise ValueError(f"there are no operators of domain '{name}'{did_you_mean(name, list(_versions()))}")
        if not isinstance(opset, int) or opset < 0:
            raise ValueError(f"an opset is a version number, not {opset!r}")
        if name == "onnx" and opset > (newest := _newest()):
            raise ValueError(f"opset {opset} of onnx is not known here: the newest is {newest}")
        self._name, self._opset = name, opset

    def __getattr__(self, name: str) -> Op:
        if name.startswith("_"):
            raise AttributeError(name)
        found = _find(self._name, name, self._opset)
        if found is not None:
            return found
        versions = _versions()[self._name].get(name)
        if versions:
            raise AttributeError(f"opset {self._opset} of {self._name} has no operator '{name}': it came with {versions[0]}")
        raise AttributeError(f"{self._name} has no operator '{name}'{_close(name, self._name)}")

    def __dir__(self) -> list[str]:
        return sorted(_versions()[self._name])

    def __repr__(self) -> str:
        return f"<operators of {self._name}{f', opset {self._opset}' if self._opset else ''}>"


def _close(name: str, domain: str) -> str:
    alike = [op for op in _versions()[domain] if op.lower() == name.lower()]
    close = did_you_mean(name, alike or sorted(_versions()[domain]))
    if alike:
        return f"; did you mean '{alike[0]}'?"
    return close if "did you mean" in close else ""


def opset(version: int) -> Domain:
    """ONNX's operators as of this opset: `headrace.onnx.opset(18).Split`."""
    return Domain("onnx", version)


def domain(name: str, version: int = 0) -> Domain:
    """The operators of another domain: `headrace.onnx.domain("ai.onnx.ml").LabelEncoder`."""
    return Domain(name, version)
