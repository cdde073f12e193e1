"""An operator of one's own, its gradient and a faster implementation; and a rule for an operator that there is. Needs NumPy alone.

    python examples/custom_op.py
"""

import numpy as np

import headrace

N = headrace.symbol("N")

# ---- an op: what it means, its gradient, samples that test it ----
# `pure` says each element, `backward` the gradient by X, given dY. Without `backward` the pure form would be differentiated.
swish = headrace.op(
    "my.Swish",
    pure="Y = X / (1 + exp(-beta * X))",
    backward="dX = dY / (1 + exp(-beta * X)) * (1 + beta * X * (1 - 1 / (1 + exp(-beta * X))))",
    attributes={"beta": 1.0},
    samples=["X: f32[2, 3] in [-20, 20]; at 0, 20", "X: f64[5]; attr beta = 0.5"],
    reference=lambda X, beta: X / (1 + np.exp(-beta * X)),
)
print(swish.test())  # on each backend, against `reference`; the gradient against differences

x = np.linspace(-4, 4, 9)
np.testing.assert_allclose(swish(x, beta=2.0), x / (1 + np.exp(-2 * x)), rtol=1e-12)  # on arrays


@headrace.program
def energy(x: headrace.float64[N]):  # in programs
    return np.sum(swish(x, beta=2.0) ** 2)


eps = 1e-6
slope = headrace.grad(energy)(x)
for k in range(len(x)):
    d = np.zeros(9)
    d[k] = eps
    np.testing.assert_allclose(slope[k], (energy(x + d) - energy(x - d)) / (2 * eps), rtol=1e-5, atol=1e-7)
print("gradient:", np.round(slope, 4))


# ---- another implementation of an op of ONNX, where it applies ----
@headrace.onnx.implementation("Softplus", name="stable", priority=-1, when=lambda node: node.inputs["X"].dtype == "float64" or "only float64")
def stable(X):
    return np.maximum(X, 0) + np.log1p(np.exp(-abs(X)))


far = np.array([-1000.0, 0.0, 1000.0])
np.testing.assert_allclose(headrace.onnx.Softplus(far, implementation="stable"), np.logaddexp(far, 0), rtol=1e-12)

program = headrace.Sdfg.parse("sdfg f(X: f64[N], Y: f64[N]) { onnx.Softplus(X = X) -> (Y = Y) }")
checked = program.compile(implementations={"Softplus": "stable"}, verify="interpreter")  # each call beside the op's pure form
checked(far)


# ---- a backward rule: for an op of ONNX, found before its pure form is differentiated ----
@headrace.backward_implementation("Softplus")
class ClippedSoftplus(headrace.BackwardImplementation):
    """The gradient, with what arrives kept below one."""

    @staticmethod
    def backward(context, given, required):
        def rule(X, dY):
            return np.minimum(dY, 1.0) / (1 + np.exp(-X))

        return rule


g = program.gradient(["Y"], ["X"], given=["Y"])
got = g.program(x, np.full(9, 5.0))
np.testing.assert_allclose(got, 1 / (1 + np.exp(-x)), rtol=1e-10)
print("by the rule:", np.round(got, 4))
