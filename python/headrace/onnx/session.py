"""`headrace.InferenceSession`: models behind ONNX Runtime's interface, by its names and with its messages."""

from __future__ import annotations

import enum
import json
import os
import time
import warnings
from typing import Any, Mapping, Sequence

import numpy as np

from ..errors import HeadraceError, InvalidError, UnsupportedError
from . import proto
from .binding import IOBinding, OrtValue
from .model import NodeArg, ONNXModel
from .runtime_errors import Fail, InvalidArgument, InvalidProtobuf, NoSuchFile

PROVIDER = "CPUExecutionProvider"


class GraphOptimizationLevel(enum.IntEnum):
    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(enum.IntEnum):
    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class _Options:
    """Attributes with these names alone, as ONNX Runtime's classes have them."""

    _fields: dict[str, Any] = {}

    def __init__(self):
        self._entries: dict[str, str] = {}
        for name, value in self._fields.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._fields and not name.startswith("_"):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        object.__setattr__(self, name, value)


class SessionOptions(_Options):
    """What a session does with each field:

    `intra_op_num_threads`: threads, 0 = all. `graph_optimization_level`: ORT_DISABLE_ALL neither folds constants nor runs
    passes that only make programs faster. `enable_profiling`, `profile_file_prefix`: `end_profiling` writes a trace.
    `optimized_model_filepath`: the program is written there as IR text. `execution_mode`, `inter_op_num_threads`, memory
    arenas and patterns, log levels: taken and without effect, for a program is planned as a whole before it runs.
    """

    _fields = {
        "enable_cpu_mem_arena": True, "enable_mem_pattern": True, "enable_mem_reuse": True, "enable_profiling": False,
        "execution_mode": ExecutionMode.ORT_SEQUENTIAL, "execution_order": 0,
        "graph_optimization_level": GraphOptimizationLevel.ORT_ENABLE_ALL, "inter_op_num_threads": 0,
        "intra_op_num_threads": 0, "log_severity_level": -1, "log_verbosity_level": 0, "logid": "",
        "optimized_model_filepath": "", "profile_file_prefix": "headrace_profile_", "use_deterministic_compute": False,
        "use_per_session_threads": True}

    def __init__(self):
        super().__init__()
        self._dims: dict[str, int] = {}
        self._initializers: dict[str, Any] = {}

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        """Fixes a size of the model."""
        self._dims[name] = size

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Kept, for `get_session_config_entry`. "session.set_denormal_as_zero" = "0" computes exactly with floats below 1.2e-38,
        which are zero by default here; the others are without effect."""
        self._entries[key] = value

    def get_session_config_entry(self, key: str) -> str:
        """What was added under `key`; RuntimeError where nothing was."""
        if key not in self._entries:
            raise RuntimeError(f"SessionOptions does not have configuration with key: {key}")
        return self._entries[key]

    def add_initializer(self, name: str, value: OrtValue) -> None:
        """Another value for an initializer; it is shared, not copied."""
        self._initializers[name] = value

    def register_custom_ops_library(self, path: str) -> None:
        """UnsupportedError: operators of one's own are plugins here."""
        raise UnsupportedError("ONNX Runtime's custom operators are built for its own kernels; write a plugin of Headrace "
                               f"(docs/plugins.md) and load it: {path}")


class RunOptions(_Options):
    """Taken by `run`; without effect."""

    _fields = {"log_severity_level": -1, "log_verbosity_level": 0, "logid": "", "only_execute_path_to_fetches": False,
               "terminate": False}

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Kept; without effect."""
        self._entries[key] = value


class ModelMetadata:
    """producer_name, graph_name, domain, description, graph_description, version, custom_metadata_map."""

    def __init__(self, info: proto.Model):
        self.producer_name, self.graph_name, self.domain = info.producer_name, info.graph_name, info.domain
        self.description, self.graph_description = info.description, info.graph_description
        self.version, self.custom_metadata_map = info.version, dict(info.metadata)


class InferenceSession:
    """A model, compiled, as `onnxruntime.InferenceSession`.

    `path_or_bytes`: a file or its contents. `providers`: names; the CPU is the only one, another one is a warning as in ONNX
    Runtime. Models that are programs only for given values of some inputs (those that decide ranks) are compiled at the first
    run with such values. `autocast`, not of ONNX Runtime: "bf16" or "f16", as of `headrace.ONNXModel`.
    """

    def __init__(self, path_or_bytes: Any, sess_options: SessionOptions | None = None, providers: Sequence | None = None,
                 provider_options: Sequence[Mapping] | None = None, *, autocast: str | None = None, **_: Any):
        self._autocast = autocast
        self._options = sess_options or SessionOptions()
        self._started = time.perf_counter_ns()
        self._events: list[dict] = []
        for p in providers or []:
            name = p[0] if isinstance(p, tuple) else p
            if name != PROVIDER:
                warnings.warn(f"Specified provider '{name}' is not in available provider names. "
                              f"Available providers: '{PROVIDER}'", stacklevel=2)
        self._model = self._load(path_or_bytes)
        self._info = self._model._source.info
        self._inputs, self._outputs = self._model.inputs, self._model.outputs
        self._overridable = {p.name: p for p in map(self._model._port, self._info.overridable)}
        self._by_name = {p.name: p for p in self._inputs}
        self._accepted: dict[str, tuple[type, Any, Any]] = {}  # kind, element type and shape of what was right last
        self._required = [p.name for p in self._inputs if not p.type.startswith("optional")]
        self._output_names = [p.name for p in self._outputs]
        self._event("model_loading", self._started)

    def _load(self, given: Any) -> ONNXModel:
        if not isinstance(given, (str, os.PathLike, bytes)):
            raise TypeError(f"Unable to load from type '{type(given)}'")
        if not isinstance(given, bytes) and not os.path.exists(given):
            raise NoSuchFile(f"Load model from {given} failed:Load model {given} failed. File doesn't exist")
        o = self._options
        plain = o.graph_optimization_level == GraphOptimizationLevel.ORT_DISABLE_ALL
        try:
            model = ONNXModel("model", given, simplify=not plain, dims=o._dims, threads=o.intra_op_num_threads,
                              keep_denormals=o._entries.get("session.set_denormal_as_zero") == "0",
                              autocast=self._autocast)
            for name, value in o._initializers.items():
                model.weights[name] = value.numpy() if isinstance(value, OrtValue) else value
            if o.optimized_model_filepath:
                model.sdfg.save(o.optimized_model_filepath)
        except InvalidError as error:
            kind = InvalidProtobuf if error.code in ("E0501", "E0502") else Fail
            raise kind(f"Load model failed: {error}", error.diagnostics) from error
        try:
            model.compile(optimize="none" if plain else "default")
        except UnsupportedError:
            if not model.inputs:
                raise
            # A value may be what it lacks: the first run knows, or says what is unsupported.
        except InvalidError as error:
            raise Fail(f"Load model failed: {error}", error.diagnostics) from error
        return model

    # ---- what it is ----
    def get_inputs(self) -> list[NodeArg]:
        """The model's inputs, in its order: `name`, `type` ("tensor(float)"), `shape` (numbers, names of sizes, None)."""
        return list(self._inputs)

    def get_outputs(self) -> list[NodeArg]:
        """The model's outputs, as `get_inputs` has its inputs."""
        return list(self._outputs)

    def get_overridable_initializers(self) -> list[NodeArg]:
        """Initializers that a feed may replace, as `get_inputs` has inputs."""
        return list(self._overridable.values())

    def get_modelmeta(self) -> ModelMetadata:
        """What the model says of itself: producer, graph, version, custom entries."""
        return ModelMetadata(self._info)

    def get_providers(self) -> list[str]:
        """["CPUExecutionProvider"]."""
        return [PROVIDER]

    def get_provider_options(self) -> dict[str, dict]:
        """{provider: {}}: there is nothing to choose."""
        return {PROVIDER: {}}

    def set_providers(self, providers: Sequence, provider_options: Sequence[Mapping] | None = None) -> None:
        """There is one provider."""

    def get_session_options(self) -> SessionOptions:
        """The options that the session was made with."""
        return self._options

    # ---- runs ----
    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any], run_options: Any = None) -> list[Any]:
        """The outputs named, or all, for {name: array}; sequences are lists."""
        if isinstance(output_names, str):
            raise TypeError(f"output_names is a list of names, or None for all, not one name: ['{output_names}']")
        feeds = self._checked(input_feed)
        wanted = list(output_names) if output_names else self._output_names
        for name in wanted:
            if name not in self._output_names:
                raise InvalidArgument(f"Invalid output name:{name}")
        results = dict(zip(self._output_names, self._run(feeds)))
        return [results[n] for n in wanted]

    def _run(self, feeds: Mapping[str, Any], out: Sequence[Any] | None = None) -> list[Any]:
        began = time.perf_counter_ns()
        try:
            return self._model.run(feeds, out)
        except (InvalidError, TypeError) as error:
            raise InvalidArgument(str(error), getattr(error, "diagnostics", None)) from error
        finally:
            self._event("model_run", began)

    def _checked(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        if not isinstance(feeds, Mapping):
            raise TypeError(f"input_feed is a dict, {{name of an input: array}}, not {type(feeds).__name__}")
        missing = [n for n in self._required if feeds.get(n) is None]
        if missing:
            raise ValueError(f"Required inputs ({missing}) are missing from input feed ({list(feeds.keys())}).")
        return {name: self._fed(name, value) for name, value in feeds.items()}

    def _fed(self, name: str, value: Any) -> Any:
        declared = self._by_name.get(name) or self._overridable.get(name)
        if declared is None:
            raise InvalidArgument(f"Invalid input name: {name}")
        if isinstance(value, OrtValue):
            value = value._value
        if not declared.type.startswith("tensor"):
            return value
        if not hasattr(value, "dtype"):
            try:
                value = np.asarray(value, dtype=None if declared.dtype == "object" else declared.dtype)
            except (TypeError, ValueError) as error:
                raise InvalidArgument(f"Unexpected input for: {name} Expected: {declared.type}, not {type(value).__name__}: {error}") from None
        given = (type(value), value.dtype, value.shape)
        if self._accepted.get(name) != given:
            check_feed(declared, value)
            self._accepted[name] = given
        return value

    # ---- runs on bound arrays ----
    def io_binding(self) -> IOBinding:
        """A binding of arrays to this session's inputs and outputs, for `run_with_iobinding`."""
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: Any = None) -> None:
        """Runs on the arrays bound; bound output arrays are written where they are."""
        iobinding._results = self._bound(iobinding)

    def _bound(self, binding: IOBinding) -> dict[str, OrtValue]:
        if not binding._outputs:
            raise RuntimeError("Error in execution: At least one output should be requested.")
        feeds = self._checked(binding._inputs)
        out = [v._value if v is not None else None for v in (binding._outputs.get(n) for n in self._output_names)]
        results = dict(zip(self._output_names, self._run(feeds, out if any(v is not None for v in out) else None)))
        return {n: v if v is not None else OrtValue(results[n]) for n, v in binding._outputs.items()}

    def run_with_ort_values(self, output_names: Sequence[str] | None, input_dict_ort_values: Mapping[str, OrtValue],
                            run_options: Any = None) -> list[OrtValue]:
        """As `run`, with and of `OrtValue`s."""
        return [OrtValue(v) for v in self.run(output_names, input_dict_ort_values)]

    # ---- profile ----
    def _event(self, name: str, began: int) -> None:
        if self._options.enable_profiling:
            now = time.perf_counter_ns()
            self._events.append({"cat": "Session", "pid": os.getpid(), "tid": 0, "ph": "X", "name": name, "args": {},
                                 "ts": (began - self._started) // 1000, "dur": (now - began) // 1000})

    def get_profiling_start_time_ns(self) -> int:
        """When profiling began, in nanoseconds; 0 without `enable_profiling`."""
        return self._started if self._options.enable_profiling else 0

    def end_profiling(self) -> str:
        """Writes the trace of the session's loading and runs (Chrome's format, microseconds); returns its file's name, ""
        without `enable_profiling`. Compiled programs are one kernel each: nodes have no times of their own."""
        if not self._options.enable_profiling:
            return ""
        path = f"{self._options.profile_file_prefix}_{time.strftime('%Y-%m-%d_%H-%M-%S')}.json"
        with open(path, "w", encoding="utf-8") as out:
            json.dump(self._events, out)
        self._events = []
        return path


def check_feed(declared: NodeArg, value: Any) -> None:
    """Raises InvalidArgument, with ONNX Runtime's words, where type, rank or a fixed size differ."""
    dtype = str(value.dtype).removeprefix("torch.")
    strings = getattr(value.dtype, "kind", "") in ("O", "U", "S", "T")
    if not (dtype == declared.dtype or strings and declared.dtype == "object"):
        actual = {n: o for o, n in proto.NUMPY_OF.items()}.get("object" if strings else dtype, dtype)
        raise InvalidArgument(f"Unexpected input data type. Actual: (tensor({actual})) , expected: ({declared.type})")
    if not declared.shape and declared.shape != []:
        return
    end = " Please fix either the inputs/outputs or the model."
    if len(value.shape) != len(declared.shape):
        raise InvalidArgument(f"Invalid rank for input: {declared.name} Got: {len(value.shape)} "
                              f"Expected: {len(declared.shape)}{end}")
    wrong = [f" index: {k} Got: {got} Expected: {size}\n" for k, (got, size) in enumerate(zip(value.shape, declared.shape))
             if isinstance(size, int) and size != got]
    if wrong:
        raise InvalidArgument(f"Got invalid dimensions for input: {declared.name} for the following indices\n"
                              f"{''.join(wrong)}{end}")


def get_available_providers() -> list[str]:
    """["CPUExecutionProvider"]."""
    return [PROVIDER]


get_all_providers = get_available_providers


def get_device() -> str:
    """"CPU"."""
    return "CPU"


__all__ = ["ExecutionMode", "GraphOptimizationLevel", "HeadraceError", "IOBinding", "InferenceSession", "ModelMetadata",
           "NodeArg", "OrtValue", "RunOptions", "SessionOptions", "get_available_providers", "get_device"]
