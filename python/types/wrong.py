"""Wrong arguments, each with the error of a type checker, mypy's code, in a comment. It is checked, not run."""

import numpy as np

import headrace

x = np.ones(3)
headrace.symbol(3)  # error: arg-type
headrace.float64["N"]  # error: index
headrace.program(3)  # error: call-overload
headrace.program(backend=1)  # error: call-overload
headrace.program(bakend="cpu")  # error: call-overload
headrace.grad(3)  # error: arg-type
headrace.grad(np.sum, memory_limit="1 MB")  # error: arg-type
headrace.grad(np.sum, stored=["x"])  # error: call-arg
headrace.value_and_grad(x)  # error: arg-type
headrace.vjp()  # error: call-arg
headrace.jvp(np.sum, [x])  # error: call-arg
headrace.hvp(x, [x], x)  # error: arg-type
headrace.jacrev("f")  # error: arg-type
headrace.jacfwd(np.sum, of=0)  # error: call-arg
headrace.hessian(1)  # error: arg-type
headrace.vmap(np.sum, axes=0)  # error: call-arg
headrace.checkpoint(x)  # error: arg-type
headrace.custom_vjp(3)  # error: arg-type
headrace.Sdfg.parse(3)  # error: arg-type
sdfg = headrace.Sdfg.parse("")
sdfg.compile(threads="all")  # error: arg-type
sdfg.compile(optimise="none")  # error: call-arg
sdfg.gradient("Y")  # error: call-arg
sdfg.nodes(1)  # error: arg-type
sdfg.nosuch()  # error: attr-defined
headrace.SdfgBuilder("f").let(3, 4)  # error: arg-type
headrace.load(3)  # error: arg-type
headrace.load("f", thread=1)  # error: call-arg
headrace.ONNXModel(1, b"")  # error: arg-type
headrace.ONNXModel("net", b"", verfy="reference")  # error: call-arg
headrace.InferenceSession()  # error: call-arg
headrace.op(3)  # error: arg-type
headrace.implementation("Softplus")  # error: call-arg
headrace.backward_implementation("Softplus", priority="high")  # error: arg-type
headrace.set_implementation(1, None)  # error: arg-type
headrace.load_plugin(3)  # error: arg-type
headrace.set_log(3)  # error: arg-type
headrace.set_log("all", strem=None)  # error: call-arg
headrace.set_dump_dir(3)  # error: arg-type
headrace.counters(1)  # error: call-arg
headrace.nosuch  # error: attr-defined
headrace.autodiff.add_backward_pass(sdfg, ["Y"])  # error: call-arg
