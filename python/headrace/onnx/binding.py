"""Arrays for `run_with_iobinding`, as ONNX Runtime has them: OrtValue, IOBinding."""

from __future__ import annotations

import ctypes
from typing import Any, Sequence

import numpy as np

from . import proto


class OrtValue:
    """An array on the CPU: NumPy's (torch's, from `from_dlpack`), which it shares."""

    def __init__(self, value: Any):
        self._value = value

    @staticmethod
    def ortvalue_from_numpy(array: np.ndarray, device_type: str = "cpu", device_id: int = 0) -> OrtValue:
        """Shares the array's memory. UnsupportedError for another device than "cpu"."""
        _cpu(device_type)
        return OrtValue(np.asarray(array))

    @staticmethod
    def ortvalue_from_shape_and_type(shape: Sequence[int], element_type: Any, device_type: str = "cpu",
                                     device_id: int = 0) -> OrtValue:
        """Memory for a tensor, of any contents; `element_type` is a NumPy type."""
        _cpu(device_type)
        return OrtValue(np.empty(shape, _dtype(element_type)))

    @staticmethod
    def from_dlpack(array: Any, is_bool_tensor: bool = False) -> OrtValue:
        """Shares the memory of an array of any library."""
        return OrtValue(np.from_dlpack(array))

    def numpy(self) -> Any:
        """The value, shared; a list of arrays where it is a sequence."""
        return self._value if isinstance(self._value, list) else np.asarray(self._value)

    def __dlpack__(self, **options: Any) -> Any:
        return self._value.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple:
        return self._value.__dlpack_device__()

    def update_inplace(self, array: np.ndarray) -> None:
        """Copies the array's elements here; RuntimeError for another type or shape."""
        if array.shape != self._value.shape or array.dtype != self._value.dtype:
            raise RuntimeError(f"an array of {self._value.dtype} {self._value.shape} takes another of this type and shape")
        self._value[...] = array

    def shape(self) -> list[int]:
        """Of the tensor."""
        return list(self._value.shape)

    def _element(self) -> tuple[int, str]:
        name = "object" if self._value.dtype.kind in "OUST" else str(self._value.dtype)
        number = proto.NUMBER_OF[name]
        return number, proto.ELEMENTS[number][0]

    def data_type(self) -> str:
        """"tensor(float)", "seq(tensor)"."""
        return f"tensor({self._element()[1]})" if self.is_tensor() else "seq(tensor)"

    def element_type(self) -> int:
        """TensorProto.DataType."""
        return self._element()[0]

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self._value.ctypes.data

    def tensor_size_in_bytes(self) -> int:
        """Of the elements."""
        return self._value.nbytes

    def device_name(self) -> str:
        """"cpu"."""
        return "cpu"

    def has_value(self) -> bool:
        """Whether there is one."""
        return self._value is not None

    def is_tensor(self) -> bool:
        """And no sequence."""
        return not isinstance(self._value, list)

    def is_tensor_sequence(self) -> bool:
        """A list of arrays."""
        return isinstance(self._value, list)

    def is_sparse_tensor(self) -> bool:
        """Never."""
        return False


class IOBinding:
    """Inputs and outputs of a session's runs; made by `session.io_binding()`."""

    def __init__(self, session: Any):
        self._session = session
        self._inputs: dict[str, Any] = {}
        self._outputs: dict[str, OrtValue | None] = {}  # None: the run makes it
        self._results: dict[str, OrtValue] = {}

    def bind_cpu_input(self, name: str, arr_on_cpu: np.ndarray) -> None:
        """The array that input `name` reads."""
        self._known(name, self._session._by_name)
        self._inputs[name] = arr_on_cpu

    def bind_input(self, name: str, device_type: str, device_id: int, element_type: Any, shape: Sequence[int],
                   buffer_ptr: int) -> None:
        """An array by its address; its elements are contiguous and outlive the runs."""
        _cpu(device_type)
        self._known(name, self._session._by_name)
        self._inputs[name] = _at(buffer_ptr, shape, element_type)

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """The value that input `name` reads."""
        self._known(name, self._session._by_name)
        self._inputs[name] = ortvalue

    def bind_output(self, name: str, device_type: str = "cpu", device_id: int = 0, element_type: Any = None,
                    shape: Sequence[int] | None = None, buffer_ptr: int | None = None) -> None:
        """Output `name` is computed; with `buffer_ptr`, an address, into contiguous memory of this type and shape."""
        _cpu(device_type)
        self._known(name, self._session._output_names)
        self._outputs[name] = None if buffer_ptr is None else OrtValue(_at(buffer_ptr, shape, element_type))

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """Output `name` is written into this value's memory."""
        self._known(name, self._session._output_names)
        self._outputs[name] = ortvalue

    def _known(self, name: str, names: Any) -> None:
        if name not in names:
            raise RuntimeError(f"Failed to find NodeArg with name: {name} in the def list")

    def synchronize_inputs(self) -> None:
        """Nothing to wait for: the arrays are in host memory."""

    synchronize_outputs = synchronize_inputs

    def get_outputs(self) -> list[OrtValue]:
        """In the order of their binding."""
        return list(self._results.values())

    def copy_outputs_to_cpu(self) -> list[np.ndarray]:
        """The outputs of the last run as arrays of their own, in the order of their binding."""
        return [np.array(v.numpy()) if v.is_tensor() else v.numpy() for v in self._results.values()]

    def clear_binding_inputs(self) -> None:
        """Forgets the inputs."""
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        """Forgets the outputs and the last run's results."""
        self._outputs.clear()
        self._results.clear()


def _cpu(device: str) -> None:
    if device != "cpu":
        raise RuntimeError(f"there is no device '{device}': sessions run on the cpu")


def _dtype(element: Any) -> np.dtype:
    """Of a NumPy type, or of a TensorProto.DataType."""
    if not isinstance(element, int):
        return np.dtype(element)
    name = proto.ELEMENTS[element][1]
    try:
        return np.dtype(name)
    except TypeError:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))


def _at(address: int, shape: Sequence[int], element: Any) -> np.ndarray:
    dtype = _dtype(element)
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    memory = (ctypes.c_char * size).from_address(address)
    return np.frombuffer(memory, dtype).reshape(shape)
