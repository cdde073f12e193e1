"""Where a model comes from: a file, bytes or a ModelProto; and reading it as a program."""

from __future__ import annotations

import mmap
import os
import tempfile
from typing import Any, Mapping, Sequence

from .. import _core
from ..errors import UnsupportedError, UsageError
from . import proto


class Source:
    """A model as it was given. `info` is what it declares."""

    def __init__(self, name: str, model: Any):
        self.path: str | None = None
        if isinstance(model, (str, os.PathLike)):
            self.path = os.fspath(model)
            self._data: Any = _map(self.path)
            if self.path.endswith(".onnxtxt"):
                self._data, self.path = _parse_text(self.path), None
        elif isinstance(model, (bytes, bytearray, memoryview)):
            self._data = bytes(model)
        elif hasattr(model, "SerializeToString") and hasattr(model, "graph"):
            self._data = model.SerializeToString()
        else:
            raise TypeError(f"a model is a path, bytes or an onnx.ModelProto, not {type(model).__name__}")
        self.label = self.path or f"<{name}>"
        self.info = proto.Model()
        try:
            self.info = proto.read_model(self._data)
        except ValueError:
            self.program({}, [], True, {})  # the importer says where the data is damaged
            raise
        if not self.info.outputs:
            self.program({}, [], True, {})  # the importer says what is no model
        if self.info.external and self.path is None:
            raise UsageError(f"the model {name} has tensors in files beside it, and bytes have no folder: give its path")

    @property
    def data(self) -> bytes:
        """The model's bytes."""
        return bytes(self._data)

    def program(self, dims: Mapping[str, int], more_outputs: Sequence[str], simplify: bool, values: Mapping[str, Any],
                initializers: Mapping[str, Any] | None = None) -> Any:
        """The model as a _core.Model. `more_outputs`: values that become outputs behind the model's own; `values`: of
        inputs that may decide shapes; `initializers`: other values for some of them."""
        options = {"dims": list(dims.items()), "simplify": simplify, "values": dict(values)}
        with tempfile.TemporaryDirectory(prefix="headrace-model-") as folder:
            path, data = self.path, self._data
            if initializers:
                path = self.rewritten(folder, initializers)
                data = path and _map(path)
            if path is not None and not more_outputs:
                return _core.load_model(path, **options)
            if self.info.external and more_outputs:
                raise UnsupportedError("intermediate values of a model with tensors in other files: save it as one file first")
            return _core.load_model_bytes(bytes(data) + proto.more_outputs(list(more_outputs)), self.label, **options)

    def rewritten(self, folder: str, initializers: Mapping[str, Any]) -> str:
        """The model with other initializers, as a file."""
        given, changed = self.path, os.path.join(folder, "changed.onnx")
        if given is None:
            given = os.path.join(folder, "given.onnx")
            with open(given, "wb") as out:
                out.write(self._data)
        _core.save_model(given, changed, dict(initializers))
        return changed

    def initializer(self, name: str) -> Any:
        """The value of an initializer as a new array."""
        one = self.info.initializers[name]
        if one.external is None:
            return _core.read_tensor(bytes(one.data))
        path = os.path.join(os.path.dirname(os.path.abspath(self.path)), one.external["location"])
        with open(path, "rb") as file:
            file.seek(int(one.external.get("offset", 0)))
            raw = file.read(int(one.external["length"])) if "length" in one.external else file.read()
        return _core.read_tensor(proto.tensor(one.element, one.shape, raw))


def _map(path: str) -> Any:
    """The file's bytes, mapped where that can be; b"" where there is none, which the importer then says."""
    if not os.path.isfile(path) or os.path.getsize(path) == 0:
        _core.load_model(path)  # raises: no such file, a folder, empty
        raise UsageError(f"{path} is no model")
    with open(path, "rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _parse_text(path: str) -> bytes:
    try:
        import onnx.parser
    except ImportError:
        raise UnsupportedError(f"{path}: models in ONNX's text format need the package onnx: pip install onnx") from None
    with open(path, encoding="utf-8") as file:
        return onnx.parser.parse_model(file.read()).SerializeToString()
