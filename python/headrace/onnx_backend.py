"""The standard ONNX backend (onnx.backend.base): `import headrace.onnx_backend as backend`. Needs the package onnx."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
import onnx
import onnx.helper
from onnx.backend.base import Backend, BackendRep, namedtupledict
from onnx.backend.test.runner import BackendIsNotSupposedToImplementIt

from .errors import UnsupportedError
from .onnx.model import ONNXModel


class HeadraceRep(BackendRep):
    """A model that was prepared."""

    def __init__(self, model: ONNXModel):
        self.model = model
        self._names = [p.name for p in model._source.info.outputs]

    def run(self, inputs: Any, **kwargs: Any) -> tuple:
        """`inputs`: by position, or {name: array}; the outputs as a named tuple."""
        if not isinstance(inputs, dict):
            inputs = inputs if isinstance(inputs, (list, tuple)) else [inputs]
            names = [p.name for p in self.model._source.info.inputs]
            if len(inputs) > len(names):
                raise ValueError(f"the model has {len(names)} inputs ({', '.join(names)}), and {len(inputs)} were given")
            inputs = dict(zip(names, inputs))
        given = {n: v if v is None or isinstance(v, (list, tuple)) else np.asarray(v) for n, v in inputs.items()}
        try:
            results = self.model.run(self.model._bind((), given))
        except UnsupportedError as error:
            raise BackendIsNotSupposedToImplementIt(str(error)) from error
        return namedtupledict("Outputs", self._names)(*results)


class HeadraceBackend(Backend):
    """Programs on the CPU. `compiler` names Headrace's own backend, "cpu" or "interpreter"."""

    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether the model can be read and every operator is implemented."""
        if not cls.supports_device(device):
            return False
        try:
            ONNXModel("model", model).sdfg.expand_library_nodes()
        except UnsupportedError:
            return False
        return True

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", *, compiler: str = "cpu", threads: int = 0,
                **kwargs: Any) -> HeadraceRep:
        """Reads and checks the model; it is compiled at the first run, which may decide ranks."""
        if not cls.supports_device(device):
            raise ValueError(f"there is no device {device} here: programs run on the CPU")
        return HeadraceRep(ONNXModel("model", model, backend=compiler, threads=threads))

    @classmethod
    def run_model(cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple:
        """`prepare` and one run."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(cls, node: onnx.NodeProto, inputs: Any, device: str = "CPU",
                 outputs_info: Sequence[tuple[np.dtype, tuple[int, ...]]] | None = None, **kwargs: Any) -> tuple:
        """`outputs_info`: types and shapes, which are inferred where it is left out. `opset_version` chooses the version."""
        super().run_node(node, inputs, device, outputs_info, **kwargs)  # checks the node
        version = kwargs.pop("opset_version", onnx.defs.onnx_opset_version())
        present, arrays = [n for n in node.input if n], list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
        if len(arrays) > len(present):
            raise ValueError(f"the node has {len(present)} inputs ({', '.join(present)}), and {len(arrays)} were given")
        given = dict(zip(present, map(np.asarray, arrays)))
        infos = [onnx.helper.make_tensor_value_info(n, onnx.helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
                 for n, v in given.items()]
        made = [n for n in node.output if n]
        results = [onnx.helper.make_empty_tensor_value_info(n) for n in made]
        for info, (dtype, shape) in zip(results, outputs_info or []):
            info.CopyFrom(onnx.helper.make_tensor_value_info(
                info.name, onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape))
        graph = onnx.helper.make_graph([node], "node", infos, results)
        opsets = [onnx.helper.make_opsetid("", version)]
        if node.domain not in ("", "ai.onnx"):
            opsets.append(onnx.helper.make_opsetid(node.domain, kwargs.pop("domain_version", 1)))
        return cls.run_model(onnx.helper.make_model(graph, opset_imports=opsets), given, device, **kwargs)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """"CPU" alone."""
        return device.split(":")[0] == "CPU"


is_compatible = HeadraceBackend.is_compatible
prepare = HeadraceBackend.prepare
run_model = HeadraceBackend.run_model
run_node = HeadraceBackend.run_node
supports_device = HeadraceBackend.supports_device
