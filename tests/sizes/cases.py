"""The samples of all ops with the size of one dimension changed, and who computes them."""

import copy
import dataclasses
import os
import tempfile

import numpy as np
import onnx
import onnx.parser
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

import headrace
from headrace import _core
from headrace.compiled import compile_program


@dataclasses.dataclass
class Outcome:
    """What somebody makes of a model and its inputs: values, or a reason."""

    values: list | None = None
    error: str = ""

    @property
    def computed(self):
        return self.values is not None


class Sample:
    """One sample of an op: a model of one node, whose inputs and initializers are `arrays`."""

    def __init__(self, entry):
        self.op, self.random = entry["op"], entry["random"]
        self.label = f"{entry['op']}-{entry['version']}/{entry['number']}"
        self.model = onnx.parser.parse_model(entry["model"])
        onnx_types = {i.name: i.type.tensor_type for i in self.model.graph.input}
        rng = np.random.default_rng(sum(map(ord, self.label)))
        drawn = (i for i in entry["inputs"] if not i["given"])
        self.drawn = {}
        for declared, i in zip(self.model.graph.input, drawn):
            t = onnx_types[declared.name]
            dtype = onnx.helper.tensor_dtype_to_np_dtype(t.elem_type)
            shape = [d.dim_value for d in t.shape.dim]
            self.drawn[declared.name] = Drawn(dtype, shape, i["low"], i["high"], rng)
        self.given = {i.name: numpy_helper.to_array(i) for i in self.model.graph.initializer}

    def variants(self):
        """(name, arrays) with one dimension one longer, one shorter, or empty; the first is the sample as it is."""
        base = {**{name: d.array(d.shape) for name, d in self.drawn.items()}, **self.given}
        yield "as it is", base
        for name, array in base.items():
            for axis, size in enumerate(array.shape):
                for changed in sorted({size + 1, max(size - 1, 0), 0} - {size}):
                    yield f"{name}[{axis}]={changed}", {**base, name: resized(array, axis, changed)}

    def with_sizes(self, arrays):
        """The model for exactly these arrays."""
        model = copy.deepcopy(self.model)
        for i in model.graph.input:
            del i.type.tensor_type.shape.dim[:]
            for size in arrays[i.name].shape:
                i.type.tensor_type.shape.dim.add().dim_value = size
        replace_initializers(model, arrays)
        return model

    def with_symbols(self, arrays):
        """The model with a symbol for every dimension of every input; initializers are those of `arrays`."""
        model = copy.deepcopy(self.model)
        for i in model.graph.input:
            for axis, dim in enumerate(i.type.tensor_type.shape.dim):
                dim.dim_param = f"{i.name}_{axis}"
        replace_initializers(model, arrays)
        return model

    def feeds(self, arrays):
        return {i.name: arrays[i.name] for i in self.model.graph.input}


@dataclasses.dataclass
class Drawn:
    """An input that is drawn: numbers of [low, high]."""

    dtype: np.dtype
    shape: list
    low: float
    high: float
    rng: np.random.Generator

    def array(self, shape):
        if self.dtype == object:
            return self.rng.choice(list("abcd"), shape).astype(object)
        if self.dtype == bool:
            return self.rng.integers(0, 2, shape).astype(bool)
        if np.issubdtype(self.dtype, np.integer) or "int" in self.dtype.name:
            return self.rng.integers(int(self.low), int(self.high) + 1, shape).astype(self.dtype)
        if np.issubdtype(self.dtype, np.complexfloating):
            return (self.rng.uniform(-3, 3, shape) + 1j * self.rng.uniform(-3, 3, shape)).astype(self.dtype)
        return self.rng.uniform(self.low, self.high, shape).astype(self.dtype)


def resized(array, axis, size):
    """Cut, or with its last slice again."""
    if size <= array.shape[axis]:
        return np.take(array, range(size), axis)
    if array.shape[axis] == 0:
        return np.zeros([size if k == axis else n for k, n in enumerate(array.shape)], array.dtype)
    return np.concatenate([array, np.take(array, [-1], axis)], axis)


def replace_initializers(model, arrays):
    for i in model.graph.initializer:
        i.CopyFrom(numpy_helper.from_array(np.array(arrays[i.name], order="C"), i.name))


class Program:
    """A model compiled by Headrace; `error` says why not."""

    def __init__(self, model, backend):
        self.error, self.compiled = "", None
        try:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "sample.onnx")
                onnx.save(model, path)
                program = _core.load_model(path, [], [], False).program()
            self.compiled = compile_program(program, backend=backend, optimize="default", threads=1, implementations=None)
        except headrace.HeadraceError as error:
            self.error = str(error)

    def run(self, feeds):
        if not self.compiled:
            return Outcome(error=self.error)
        try:
            return Outcome(list(self.compiled.flat(list(feeds.values()))))
        except headrace.HeadraceError as error:
            return Outcome(error=str(error))


def reference(model, feeds):
    try:
        with np.errstate(all="ignore"):
            values = ReferenceEvaluator(model).run(None, feeds)
    except Exception as error:  # whatever NumPy raises: it refuses
        return Outcome(error=f"{type(error).__name__}: {error}")
    return Outcome([np.asarray(v) if not isinstance(v, (list, type(None))) else v for v in values])


def differences(got, expected, tolerance=2e-3):
    """Empty where equal."""
    if len(got) != len(expected):
        return f"{len(got)} outputs, not {len(expected)}"
    for k, (a, b) in enumerate(zip(got, expected)):
        if isinstance(a, (list, type(None))) or isinstance(b, (list, type(None))):
            text = "" if type(a) is type(b) and (a is None or not differences(a, b)) else "another kind of value"
        else:
            text = array_difference(np.asarray(a), np.asarray(b), tolerance)
        if text:
            return f"output {k}: {text}"
    return ""


def array_difference(a, b, tolerance):
    if a.shape != b.shape:
        return f"shape {list(a.shape)}, not {list(b.shape)}"
    if a.dtype != b.dtype:
        return f"type {a.dtype}, not {b.dtype}"
    if a.dtype == object:
        return "" if (a == b).all() else "other strings"
    if a.dtype.kind not in "biufc":  # bfloat16 and the like
        a, b = a.astype(np.float32), b.astype(np.float32)
    with np.errstate(all="ignore"):
        same = np.isclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)
    if same.all():
        return ""
    at = tuple(int(i) for i in np.argwhere(~same)[0])
    return f"{a[at]} at {list(at)}, not {b[at]} ({int((~same).sum())} of {a.size} differ)"


def unwritten(values, byte):
    """The first output with an element that nobody wrote: all its bytes are those that fresh memory is filled with."""
    for k, v in enumerate(values):
        if isinstance(v, np.ndarray) and v.dtype != object and v.dtype.itemsize > 1 and v.size:
            raw = np.ascontiguousarray(v).reshape(-1).view(np.uint8).reshape(-1, v.dtype.itemsize)
            if (raw == byte).all(1).any():
                return k
    return None
