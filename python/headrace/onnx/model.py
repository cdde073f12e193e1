"""`headrace.ONNXModel`: an ONNX model as a program that is called with arrays."""

from __future__ import annotations

import re
import threading
import warnings
from typing import Any, Mapping, Sequence

import numpy as np

from .. import _core, registrations
from ..compiled import check_autocast
from ..debug import check_verify, compare
from ..errors import HeadraceError, UnsupportedError, UsageError
from ..sdfg import Gradient, Sdfg
from . import proto
from .reference import Reference, host, same
from .source import Source
from .weights import Weights, did_you_mean


class NodeArg:
    """An input or output of a model: `type` as ONNX writes it, "tensor(float)"; `shape` has numbers, the model's names of
    sizes, and None where it has neither."""

    def __init__(self, name: str, type: str, shape: Sequence):
        self.name, self.type, self.shape = name, type, list(shape)

    @property
    def dtype(self) -> str:
        """The element type as NumPy (or ml_dtypes) calls it."""
        inner = re.sub(r"^.*\(|\)+$", "", self.type)
        return proto.NUMPY_OF.get(inner, inner)

    def __repr__(self) -> str:
        return f"NodeArg(name={self.name!r}, type={self.type!r}, shape={self.shape})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NodeArg) and repr(self) == repr(other)


class Version:
    """The program for one choice of what is an input: weights that were set, values that decide shapes."""

    def __init__(self, model: ONNXModel, values: Mapping[str, Any], weights: Mapping[str, Any]):
        self.weights = tuple(weights)
        self.fixed: dict[str, np.ndarray] = {}  # weights that can be no inputs, as they were built in
        while True:
            read = model._source.program(model.dims, model._watched, model._simplify and not weights, values, self.fixed)
            program, self.lifted, refused = read.program(), [], []
            containers = {original: ours for ours, original in read.initializers()}
            for name in weights:
                try:
                    program, _ = _core.with_inputs(program, [containers[name]])
                    self.lifted.append(name)
                except (KeyError, UsageError):  # folded, or where an op needs a constant
                    refused.append(name)
            if set(refused) == self.fixed.keys():
                break
            self.fixed = {name: host(weights[name]) for name in refused}
        self.inner: list[tuple[str, str, str]] = []  # (name in the model, its output, output that tells whether it was computed)
        if model.transients is not None:
            inner = read.inner_values()
            program, made = _core.with_outputs(program, list(dict.fromkeys(c for c, _ in inner)))
            flags = dict(made)
            self.inner = [(name, c, flags[c]) for c, name in inner if c in flags]
        self.sdfg = Sdfg(program)
        self.pristine: Sdfg | None = None  # as it was before the user got hold of it
        self.kind, self.report = read.kind(), list(read.report())
        self.names = {p.name: read.original_name(p.name) for p in self.sdfg.parameters}
        self.names.update({containers[name]: name for name in self.lifted})
        self.assumed = dict(read.assumed())
        self.given = frozenset(values) & {p.name for p in model._source.info.overridable}
        self.compiled: Any = None
        self.options: tuple | None = None
        self.generation = registrations.generation

    def compile(self, options: dict) -> None:
        if (self.compiled is None or self.sdfg._compiled is not self.compiled or self.options != tuple(options.items())
                or self.generation != registrations.generation):
            self.generation = registrations.generation
            self.compiled = self.sdfg._compiled = self.sdfg.compile(**options)
            self.options = tuple(options.items())
            self.inputs = [self.names[p.name] for p in self.compiled.inputs][:-len(self.lifted) or None]

    def serves(self, given: Mapping[str, Any], weights: Mapping[str, Any]) -> bool:
        """Whether the compiled program is the one for this call, where it has no values built in."""
        return self.generation == registrations.generation and self.sdfg._compiled is self.compiled and len(given) == len(self.inputs) and self.weights == tuple(weights)

    def fits(self, values: Mapping[str, Any], given: frozenset, weights: Mapping[str, Any]) -> bool:
        return (self.weights == tuple(weights) and self.given == given and bool(self.assumed) == bool(values)
                and all(same(v, values.get(n)) for n, v in self.assumed.items())
                and all(same(v, weights[n]) for n, v in self.fixed.items()))


def _check_precision(autocast: str | None, reference: bool) -> None:
    if check_autocast(autocast) and reference:
        raise UsageError("verify=\"reference\" computes as the model is written, without autocast: verify=\"interpreter\" has it")


class ONNXModel:
    """An ONNX model as a program.

        model = headrace.ONNXModel("net", "net.onnx")        # or bytes, or an onnx.ModelProto
        y = model(x)                                         # by position, or by the model's names: model(x=x)
        model.weights["fc.weight"] = parameter               # shared, not copied

    Results are torch tensors where the first argument is one, else NumPy arrays; one output is returned as it is, several
    as a tuple. Nothing is compiled before the first call or `compile`.

    `infer_shapes` is always on (a program has shapes; False warns that it changes nothing). `simplify`: nodes over constants are
    computed once. `dims`: {name of a size: number} fixes sizes. `save_transients`: a dict that has, after a call, every
    intermediate value by its name in the model; with `debug_transients` they are in the attribute `transients`. Values inside of graphs
    are there if their graph ran: of the branch of an If that was taken, of a Loop or Scan those of the last iteration. Those of a local
    function's call stand behind the name of the calling node, "block1/hidden", or of its first output, "Block_y/hidden", if it has
    no name. Missing are values whose sizes only an iteration knows, and what is computed once, ahead of the run. `verify`: each call
    is run again, "reference": by the onnx package's evaluator; "interpreter": by the interpreter; MismatchError names the first
    output that differs, place, values and tolerance. `dump_dir`: where program and sources are left, `keep_denormals`: whether
    floats below 1.2e-38 are exact, and `autocast`, "bf16" or "f16": what products are computed in, as of `Sdfg.compile`; gradients, too.

    Raises InvalidError for a damaged or wrong model, UnsupportedError for what can't be compiled, both with all reasons.
    """

    def __init__(self, name: str, model: Any, *, infer_shapes: bool = True, simplify: bool = True,
                 dims: Mapping[str, int] | None = None, save_transients: dict | None = None, debug_transients: bool = False,
                 backend: str = "cpu", threads: int = 0, verify: str | None = None, dump_dir: Any = None,
                 keep_denormals: bool = False, autocast: str | None = None):
        check_verify(verify, ("reference", "interpreter"))
        _check_precision(autocast, verify == "reference")
        self.name = name
        self.dims = {str(n): _size(n, size) for n, size in (dims or {}).items()}
        self.transients = save_transients if save_transients is not None else {} if debug_transients else None
        self._source = Source(name, model)
        self._reference = Reference(self._source) if verify == "reference" else None
        self._simplify = simplify
        outputs = {p.name for p in self._source.info.outputs}
        watched = self._source.info.values if self.transients is not None else []
        self._watched = [v for v in dict.fromkeys(watched) if v not in outputs]
        self._weights = Weights(self._source)
        self._feeds = frozenset(p.name for p in self._source.info.inputs)
        self._options = {"backend": backend, "optimize": "default", "threads": threads, "implementations": None,
                         "verify": verify if verify == "interpreter" else None, "dump_dir": dump_dir,
                         "keep_denormals": keep_denormals, "autocast": autocast}
        self._versions: list[Version] = []
        self._usual: Version | None = None  # one that needs no choice
        self._by_value = False              # it is a program only for given values of some inputs
        self._lock = threading.RLock()
        if not infer_shapes:
            warnings.warn("infer_shapes=False has no effect: shapes are always inferred", stacklevel=2)

    def __reduce__(self) -> tuple:
        """Copies and pickles are models of their own: compiled anew, with the weights that were set."""
        if any(v.pristine is not None and v.sdfg != v.pristine for v in self._versions):
            raise UsageError(f"{self.name}: its program (.sdfg) was changed, and a copy would be of the model: copy the program")
        debug = {"verify": self._options["verify"] or self._reference and "reference", "dump_dir": self._options["dump_dir"]}
        options = {"simplify": self._simplify, "dims": self.dims, "backend": self._options["backend"], "threads": self._options["threads"],
                   "debug_transients": self.transients is not None, **debug}
        compiled = {k: self._options[k] for k in ("optimize", "implementations", "keep_denormals", "autocast")}
        return _copied, (self.name, self._source.path or self._source.data, options, compiled, dict(self._weights.given))

    # ---- what it is ----
    @property
    def weights(self) -> Weights:
        """{name: value} of the initializers; can be set, one (`model.weights["w"] = w`) or all of a dict: others are the model's own then."""
        return self._weights

    @weights.setter
    def weights(self, values: Mapping[str, Any]) -> None:
        self._weights.replace(values)

    @property
    def inputs(self) -> list[NodeArg]:
        """Name, type and shape of what a call takes."""
        return [self._port(p) for p in self._source.info.inputs]

    @property
    def outputs(self) -> list[NodeArg]:
        """In the model's order."""
        return [self._port(p) for p in self._source.info.outputs]

    def _port(self, declared: proto.Port) -> NodeArg:
        shape = declared.shape
        if declared.type and (shape is not None and None not in shape or not declared.type.startswith("tensor")):
            return NodeArg(declared.name, declared.type, [self.dims.get(s, s) for s in shape or []])
        try:
            version = self._main()
        except UnsupportedError:  # a program only for given values
            return NodeArg(declared.name, declared.type, shape or [])
        ours = next(p for p in version.sdfg.parameters if version.names[p.name] == declared.name)
        shape = [b if a is None else self.dims.get(a, a) for a, b in zip(shape or [None] * len(ours.shape), ours.shape)]
        return NodeArg(declared.name, declared.type or f"tensor({proto.onnx_type(ours.type)})", shape)

    @property
    def symbols(self) -> list[str]:
        """Sizes that a call binds, as the program calls them."""
        return self.sdfg.symbols

    @property
    def sdfg(self) -> Sdfg:
        """The program; what is changed in it before a call is what is compiled."""
        version = self._main()
        if version.pristine is None:
            version.pristine = version.sdfg.copy()
        return version.sdfg

    @property
    def report(self) -> list[str]:
        """What the importer says it did."""
        return self._main().report

    def _repr_html_(self) -> str:
        """The graph, for notebooks; of large models a part."""
        return self._main().sdfg._repr_html_()

    def __repr__(self) -> str:
        ports = [", ".join(f"{p.name}: {p.type}{p.shape}" for p in some) for some in (self.inputs, self.outputs)]
        return f"<headrace.ONNXModel {self.name}({ports[0]}) -> ({ports[1]})>"

    # ---- its programs ----
    def _main(self) -> Version:
        return self._version({}, {})

    def _version(self, values: Mapping[str, Any], given: Mapping[str, Any]) -> Version:
        """`values`: what is known of inputs; `given`: initializers that this call gives."""
        weights = self.weights.given
        with self._lock:
            for version in self._versions:
                if version.fits(values, frozenset(given), weights):
                    return version
            made = Version(self, {**values, **given}, dict(weights))
            self._keep_changes(made)
            kept = [v for v in self._versions if v.weights == made.weights and not v.fixed]
            self._versions = [*kept[-_MOST_VERSIONS:], made]
            return made

    def _keep_changes(self, made: Version) -> None:
        for old in self._versions:
            if old.pristine is not None and old.weights != made.weights and old.sdfg != old.pristine:
                raise UsageError(f"{self.name}: a weight was set after the program (.sdfg) was changed: set weights first")

    def compile(self, *, backend: str | None = None, optimize: str | None = None, threads: int | None = None,
                implementations: Mapping[str, str] | None = None, keep_denormals: bool | None = None,
                autocast: str | None = None) -> ONNXModel:
        """Compiles now, with these options from now on (as of `Sdfg.compile`; `autocast=""`: none); returns the model itself."""
        _check_precision(autocast, self._reference is not None)
        given = {"backend": backend, "optimize": optimize, "threads": threads, "implementations": implementations,
                 "keep_denormals": keep_denormals, "autocast": autocast}
        self._options.update({k: v for k, v in given.items() if v is not None})
        with self._lock:
            self._usual = None
            self._main().compile(self._options)
        return self

    @property
    def compiled(self):
        """The compiled program (`headrace.Compiled`), with its source and report."""
        self.compile()
        return self._main().compiled

    # ---- calls ----
    def __call__(self, *args: Any, **named: Any) -> Any:
        results = self.run(self._bind(args, named))
        return results[0] if len(results) == 1 else tuple(results)

    def _bind(self, args: tuple, named: dict) -> dict[str, Any]:
        info = self._source.info
        order = [p.name for p in info.inputs]
        if len(args) > len(order):
            raise TypeError(f"{self.name} takes {len(order)} arrays ({', '.join(order)}), not {len(args)}")
        given = dict(zip(order, args))
        known = {_identifier(n): n for n in order} | {n: n for n in order + [p.name for p in info.overridable]}
        for key, value in named.items():
            if key not in known:
                raise TypeError(f"{self.name} has no input '{key}'{did_you_mean(key, list(dict.fromkeys(known.values())))}")
            if known[key] in given:
                raise TypeError(f"{self.name}: input '{known[key]}' is given twice")
            given[known[key]] = value
        optional = {p.name for p in info.inputs if p.type.startswith("optional")}
        missing = [n for n in order if n not in given and n not in optional]
        if missing:
            raise TypeError(f"{self.name}: missing input {', '.join(map(repr, missing))}")
        return given

    def run(self, given: Mapping[str, Any], out: Sequence[Any] | None = None) -> list[Any]:
        """All outputs for {name: value} of the inputs. `out`: arrays for some of the outputs, in their order."""
        if given.keys() != self._feeds:
            self._bind((), dict(given))  # says what is missing, or there is not
        if out is not None and len(out) > len(self._source.info.outputs):
            raise TypeError(f"{self.name} has {len(self._source.info.outputs)} outputs, and out is of {len(out)}")
        version = self._ready(given)
        expected = self._reference.run(given, self.weights.given) if self._reference else None
        try:
            results = self._call(version, given, out)
        except UnsupportedError as error:  # a size that only the run finds to be no size
            if version.assumed:
                raise
            version = self._for_values(given, error)
            results = self._call(version, given, out)
        count = len(self._source.info.outputs)
        if expected is not None:
            compare(self.name, "the reference evaluator", zip([p.name for p in self._source.info.outputs], results, expected))
        if self.transients is not None:
            self._keep_transients(version, results)
        return list(results[:count])

    def _keep_transients(self, version: Version, results: Sequence[Any]) -> None:
        names = self._watched + [name for name, _, _ in version.inner]
        for name in names:  # of a branch that an earlier call took
            self.transients.pop(name, None)
        made = dict(zip([p.name for p in version.compiled.outputs], results))
        self.transients.update(zip(self._watched, results[len(self._source.info.outputs):]))
        self.transients.update({name: made[c] for name, c, flag in version.inner if not flag or bool(made[flag])})

    def _call(self, version: Version, given: Mapping[str, Any], out: Sequence[Any] | None) -> tuple:
        args = [given.get(n) for n in version.inputs] + [self.weights.given[n] for n in version.lifted]
        if out is not None:
            out = [*out, *[None] * (len(version.compiled.outputs) - len(out))]
        try:
            return version.compiled.flat(args, out)
        except (HeadraceError, TypeError, ValueError) as error:
            raise renamed(error, version.names) from error.__cause__

    def _ready(self, given: Mapping[str, Any]) -> Version:
        """A compiled program for these inputs; one for the values of some where it can't be one for all."""
        usual = self._usual
        if usual is not None and usual.serves(given, self.weights.given):
            return usual
        if self._by_value:
            return self._for_values(given, None)
        try:
            version = self._version({}, self._overridden(given))
            version.compile(self._options)
        except UnsupportedError as error:
            return self._for_values(given, error)
        if not (version.fixed or version.given):
            self._usual = version
        return version

    def _for_values(self, given: Mapping[str, Any], reason: UnsupportedError | None) -> Version:
        """The program for these values of the inputs that decide shapes; raises `reason` where there are none."""
        values = {n: host(v) for n, v in given.items() if _is_small(v)}
        version = self._version(values, self._overridden(given)) if values else None
        if version is None or reason is not None and not version.assumed:
            raise reason or UsageError(f"{self.name}: inputs whose values decide shapes are missing")
        version.compile(self._options)
        self._by_value, self._usual = True, None
        return version

    def _overridden(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return {n: v for n, v in given.items() if n in self._source.info.initializers}

    def __headrace_lower__(self, emitter: Any, args: list, named: dict) -> Any:
        """Called by the translation of a program in place of __call__."""
        from ..frontend.embedded import call_model

        return call_model(emitter, self, args, named)

    # ---- gradients ----
    def with_inputs(self, names: Sequence[str]) -> tuple[Sdfg, dict[str, str]]:
        """The program with these weights as inputs, last of all, in this order; and {name in the model: parameter's name}
        of all its inputs and outputs. It is an Sdfg of its own, to differentiate by the weights:

            program, parameters = model.with_inputs(["fc.weight"])
            g = program.gradient([parameters["loss"]], [parameters["fc.weight"]])
            gradient = g.program(x, model.weights["fc.weight"])
        """
        return self._with_inputs(_names(names), {})

    def _with_inputs(self, names: Sequence[str], fixed: Mapping[str, Any]) -> tuple[Sdfg, dict[str, str]]:
        read = self._source.program(self.dims, [], False, {}, fixed)
        containers = {original: ours for ours, original in read.initializers()}
        for name in names:
            self.weights._known(name)
            if name not in containers:
                raise UsageError(f"the program has no weight '{name}': no output depends on it, or it decides shapes")
        program, _ = _core.with_inputs(read.program(), [containers[n] for n in names])
        sdfg = Sdfg(program)
        parameters = {read.original_name(p.name): p.name for p in sdfg.parameters}
        return sdfg, {**parameters, **{n: containers[n] for n in names}}

    def gradient(self, inputs: Sequence[str], outputs: Sequence[str] | None = None, **options: Any) -> Gradient:
        """The program of the gradients of the sum of `outputs` (all float ones) by `inputs`, names of inputs and weights;
        `options` as of `Sdfg.gradient`. `input_gradients` of the result has the model's names."""
        return self._gradient(_names(inputs), _names(inputs), outputs, options, {})[0]

    def _gradient(self, inputs: list[str], free: list[str], outputs: Sequence[str] | None, options: dict, fixed: Mapping[str, Any]):
        """`free`: names among which weights are inputs of the program; `fixed`: other values of weights; also {its parameter: name in
        the model}."""
        outputs = None if outputs is None else _names(outputs)
        for n in [*inputs, *(outputs or [])]:
            if n not in self._feeds and n not in self.weights and all(n != p.name for p in self._source.info.outputs):
                names = dict.fromkeys([*self._feeds, *self.weights, *(p.name for p in self._source.info.outputs)])
                raise UsageError(f"{self.name} has nothing named '{n}'{did_you_mean(n, list(names))}")
        program, parameters = self._with_inputs([n for n in free if n in self.weights], fixed)
        if narrow := check_autocast(self._options["autocast"]):
            program.apply(f"autocast{{to={narrow}}}")
        types = {p.name: p.type for p in program.parameters}
        outputs = outputs or [p.name for p in self._source.info.outputs if types[parameters[p.name]][0] in "fc"]
        g = program.gradient([parameters[n] for n in outputs], [parameters[n] for n in inputs], **options)
        g.input_gradients = {n: g.input_gradients[parameters[n]] for n in inputs}
        return g, {ours: n for n, ours in parameters.items()}

    def grad(self, inputs: Sequence[str], outputs: Sequence[str] | None = None, **options: Any) -> ModelGradient:
        """A function with the model's arguments that returns {name: gradient of the sum of `outputs`} for each of `inputs`,
        names of inputs and weights. Weights are taken as they are at the call."""
        return ModelGradient(self, _names(inputs), outputs, options)


class ModelGradient:
    """Called like the model; `gradient` is the program, with its report."""

    def __init__(self, model: ONNXModel, inputs: list[str], outputs: Sequence[str] | None, options: dict):
        self._model, self._inputs, self._outputs, self._given = model, inputs, outputs, options
        self._make()

    def _make(self) -> None:
        """Weights that were set are inputs, too, or built in where they can't be: the function sees what the model sees."""
        model, inputs = self._model, self._inputs
        containers = {original for _, original in model._source.program(model.dims, [], False, {}).initializers()}
        others = [n for n in model.weights.given if n not in inputs]
        self._fixed = {n: host(model.weights[n]) for n in others if n not in containers}
        self._weights = [n for n in [*inputs, *others] if n in model.weights and n not in self._fixed]
        free = [*inputs, *(n for n in self._weights if n not in inputs)]
        self.gradient, names = model._gradient(inputs, free, self._outputs, dict(self._given), self._fixed)
        verify = "reference" if model._reference else model._options["verify"]  # no other evaluator has gradients
        self._compiled = self.gradient.program.compile(**{**model._options, "verify": verify, "autocast": None})
        self._order = [names[p.name] for p in self._compiled.inputs]

    def __call__(self, *args: Any, **named: Any) -> dict[str, Any]:
        given = self._model._bind(args, named)
        if not all(same(v, self._model.weights[n]) for n, v in self._fixed.items()):
            self._make()
        given.update({n: self._model.weights[n] for n in self._weights})
        results = self._compiled.flat([given.get(n) for n in self._order])
        by_name = dict(zip((p.name for p in self._compiled.outputs), results))
        return {n: by_name[made] for n, made in self.gradient.input_gradients.items()}


def _copied(name: str, model: Any, options: dict, compiled: dict, weights: dict) -> ONNXModel:
    made = ONNXModel(name, model, **options)
    made._options.update(compiled)
    made._weights.given = weights
    return made


def _size(name: Any, size: Any) -> int:
    if isinstance(size, bool) or not hasattr(size, "__index__"):
        raise TypeError(f"dims: the size {name} is an integer, not {size!r}")
    return int(size)


def _names(given: Any) -> list[str]:
    """Of a list of names, or one name; each once."""
    return [given] if isinstance(given, str) else list(dict.fromkeys(given))


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name)


_MOST_DECIDING_ELEMENTS = 512
_MOST_VERSIONS = 64  # that a model keeps, of those for given values


def _is_small(value: Any) -> bool:
    return hasattr(value, "dtype") and hasattr(value, "shape") and int(np.prod(value.shape)) <= _MOST_DECIDING_ELEMENTS


def renamed(error: Exception, names: Mapping[str, str]) -> Exception:
    """The error with the model's names in place of the program's."""
    changed = {ours: name for ours, name in names.items() if ours != name}
    if not changed:
        return error
    pattern = re.compile(r"(?<!\w)(" + "|".join(map(re.escape, changed)) + r")(?!\w)")

    def text(s: Any) -> Any:
        return pattern.sub(lambda m: changed[m[1]], s) if isinstance(s, str) else s

    if isinstance(error, HeadraceError):
        return type(error)(text(str(error)), [{k: text(v) for k, v in d.items()} for d in error.diagnostics])
    return type(error)(text(str(error)))
