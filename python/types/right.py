"""Every public function of the package with arguments of the right types: a type checker has nothing to say. It is checked, not run."""

from typing import Any

import numpy as np
from typing_extensions import assert_type

import headrace
import headrace.autodiff
import headrace.compat.dace
import headrace.onnx

N: Any = headrace.symbol("N")
shape = headrace.float64[3, N]
numbers = [headrace.bool, headrace.int8, headrace.int16, headrace.int32, headrace.int64, headrace.uint8, headrace.uint16, headrace.uint32,
           headrace.uint64, headrace.float16, headrace.float32, headrace.float64, headrace.complex64, headrace.complex128]


@headrace.program
def loss(w: Any, x: Any) -> Any:
    for i in headrace.map[0:3]:
        x[i] += headrace.stop_gradient(w[i])
    return np.sum(w * x)


@headrace.program(backend="interpreter", threads=1, verify="reference", dump_dir="left")
def twice(x: Any) -> Any:
    return 2 * x


assert_type(loss, headrace.Program)
assert_type(twice, headrace.Program)
w, x = np.ones(3), np.ones(3)
value = loss(w, x)
assert_type(loss.sdfg_for(w, x), headrace.Sdfg)
assert_type(loss.compile_for(w, x), headrace.Compiled)
loss.save("loss.hrx", w, x)
loss.report({"N": 100})

# Gradients and other functions of functions.
g = headrace.grad(loss, "w", memory_limit=1000, store=["x"], recompute=["y"])
assert_type(g.forward_sdfg, headrace.Sdfg)
assert_type(g.backward_sdfg, headrace.Sdfg)
total, gradient = headrace.value_and_grad(loss, argnums=(0, 1), of=0)(w, x)
result, pull = headrace.vjp(loss, w, x, argnums=[0])
pull(1.0)
result, tangent = headrace.jvp(loss, [w, x], [w, x])
headrace.hvp(loss, [w, x], w)
headrace.jacrev(loss)(w, x)
headrace.jacfwd(loss, "w")(w, x)
headrace.hessian(loss, of=0)(w, x)
headrace.vmap(loss, in_axes=(0, None), out_axes=0)(w, x)
headrace.checkpoint(loss)(w, x)
own = headrace.custom_vjp(loss)
own.defvjp(lambda w, x: (0.0, ()), lambda kept, given: (given, given))

# Programs as objects.
sdfg = headrace.Sdfg.parse("sdfg f(X: f32[N], Y: f32[N]) { map i in 0:N { Y[i] = X[i] } }", "f.sdfg")
builder = headrace.SdfgBuilder("g")
builder.parameter("X", headrace.float32, ("N",))
with builder.map(i="0:N"):
    builder.tasklet("X[i]", "X[i] + 1")
built: headrace.Sdfg = builder.build()
sdfg.validate()
sdfg.simplify().expand_library_nodes().apply("fuse-maps")
sdfg.parameter_to_transient("Y").input_to_constant(X=np.ones(3, np.float32)).constant_folding(max_bytes=10)
names: list[str] = [p.name for p in sdfg.parameters] + sdfg.symbols
for node in sdfg.nodes("map"):
    print(node)
compiled: headrace.Compiled = sdfg.compile(backend="cpu", optimize="none", threads=2, implementations={"*": "pure"}, verify="interpreter")
compiled(x, out=[x])
compiled.save("f.hrx")
seconds: dict[str, float] = compiled.report()
both: headrace.Gradient = sdfg.gradient(["Y"], ["X"], given=["Y"], sizes={"N": 3}, memory_limit=10)
forward, backward = sdfg.separate_gradient(["Y"], ["X"])
rewrite: headrace.Replacement = headrace.replace(sdfg, sdfg)
many: int = rewrite(sdfg)
headrace.load("f.hrx", threads=1)
made: headrace.BackwardResult = headrace.autodiff.add_backward_pass(sdfg, ["Y"], ["X"])
headrace.autodiff.make_backward_function(sdfg)

# Models.
model = headrace.ONNXModel("net", b"", simplify=False, dims={"N": 3}, verify="reference")
assert_type(model, headrace.ONNXModel)
gradients: dict[str, Any] = model.grad(["w"], ["loss"])(x)
headrace.onnx.opset(18)
options = headrace.SessionOptions()
session = headrace.InferenceSession("net.onnx", options, providers=["CPUExecutionProvider"])
outputs = session.run(None, {"x": x})
headrace.OrtValue.ortvalue_from_numpy(x)
headrace.RunOptions()
headrace.get_all_providers(), headrace.get_available_providers(), headrace.get_device()
headrace.ExecutionMode, headrace.GraphOptimizationLevel, headrace.IOBinding


# Ops, implementations, rules.
class Rule(headrace.BackwardImplementation):
    @staticmethod
    def backward(context: headrace.BackwardContext, given: Any, required: Any) -> Any:
        return headrace.BackwardResult(required_grad_names={"X": "gx"})


headrace.op("my.Softplus", pure="…", backward="…", samples=["…"])
headrace.backward_implementation("my.Softplus", priority=2)(Rule)
headrace.backward_implementation(node="map", when=lambda node: node.kind == "map" and node.callee is None and node.body is not None)(Rule)
headrace.implementation("Softplus", name="stable", when=lambda node: True)
headrace.set_implementation("Softplus", "stable")
headrace.load_plugin("plugin.so")

# What is seen of the work, and errors.
headrace.set_log(["passes"], None)
headrace.set_dump_dir(None)
counted: dict[str, dict[str, int]] = headrace.counters()
headrace.reset_counters()
try:
    loss(w, x)
except (headrace.InvalidError, headrace.UnsupportedError, headrace.UsageError, headrace.InternalError) as error:
    print(error)
except headrace.MismatchError as mismatch:
    place: tuple = mismatch.place
except headrace.HeadraceError as other:
    print(other.diagnostics)

version: str = headrace.__version__
headrace.module, headrace.train_step, headrace.onnx_backend, headrace.compat.dace.program
