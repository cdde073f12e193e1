"""Changing a program's graph: fusing Mish before it is differentiated, and what a softmax is lowered to. Needs NumPy alone.

    python examples/transform_graph.py
"""

import numpy as np

import headrace


def statements(program):
    """How many there are in its states: each goes over memory."""
    return sum(len(block.nodes) for block in program.blocks())


# ---- Mish: x · tanh(softplus(x)) ----
# As a model has it, three operators: each reads an array and writes one.
MISH = """
sdfg mish(X: f32[N], Y: f32[N]) {
  transient S: f32[N]
  transient T: f32[N]
  state {
    onnx.Softplus(X = X) -> (Y = S)
    onnx.Tanh(input = S) -> (output = T)
    onnx.Mul(A = X, B = T) -> (C = Y)
  }
}
"""
mish = headrace.Sdfg.parse(MISH)
print("Mish has", statements(mish), "statements,", end=" ")
expanded = mish.copy().expand_library_nodes().simplify()
fused = expanded.copy().apply("fuse")
print("expanded", statements(expanded), "and fused", statements(fused))
assert statements(fused) == 1
print(fused)

# Its gradient keeps nothing of the forward pass: what the backward pass needs is computed again from X, in registers. Also when
# forward and backward pass are two programs, as PyTorch has them, no array goes from one to the other but X itself.
x = np.linspace(-4, 4, 1_000_000, dtype=np.float32)
s = np.log1p(np.exp(x.astype(np.float64)))
expected = np.tanh(s) + x * (1 - np.tanh(s) ** 2) / (1 + np.exp(-x.astype(np.float64)))
forward, backward = fused.separate_gradient(["Y"], ["X"])
results = [p.name for p in forward.parameters if p.direction == "out"]
print("the forward program gives", results, "and the backward one takes", [p.name for p in backward.program.parameters if p.direction == "in"])
assert results == ["Y"]
np.testing.assert_allclose(backward.program(x, np.ones_like(x)), expected, rtol=1e-4, atol=1e-5)
assert statements(backward.program.lowered()) == 1

# The same as a rewrite of the user's: wherever a program has these three operators, one kernel.
rule = headrace.replace(MISH, "sdfg mish_kernel(X: f32[N], Y: f32[N]) { map i in 0:N { Y[i] = X[i] * tanh(log1p(exp(X[i]))) } }")
network = headrace.Sdfg.parse("""
sdfg network(X: f32[N], W: f32[N], Z: f32[N]) {
  transient S: f32[N]
  transient T: f32[N]
  transient M: f32[N]
  onnx.Softplus(X = X) -> (Y = S)
  onnx.Tanh(input = S) -> (output = T)
  onnx.Mul(A = X, B = T) -> (C = M)
  onnx.Add(A = M, B = W) -> (C = Z)
}
""")
assert rule(network) == 1
w = np.ones_like(x)
np.testing.assert_allclose(network(x, w), x * np.tanh(s) + 1, rtol=1e-4, atol=1e-5)
print("replaced:", [node.callee for node in network.nodes("call")])

# ---- Softmax ----
# Its pure form is four statements over the rows: the largest element, the exponentials, their sum, the quotient.
softmax = headrace.Sdfg.parse("sdfg softmax(X: f32[M, N], Y: f32[M, N]) { onnx.Softmax{axis = 1}(input = X) -> (output = Y) }")
naive = softmax.copy().expand_library_nodes().simplify()
rows = naive.copy().apply("fuse")
print("softmax:", statements(naive), "statements, fused", statements(rows))
assert statements(rows) < statements(naive)
print(rows)
x = np.random.default_rng(0).standard_normal((2000, 500)).astype(np.float32)
e = np.exp(x - x.max(1, keepdims=True))
for f in (naive.compile(optimize="none"), rows.compile(optimize="none")):
    np.testing.assert_allclose(f(x), e / e.sum(1, keepdims=True), rtol=1e-4, atol=1e-6)

# Rows are what a machine likes; the form multiplies by a reciprocal, which rounds twice. To divide each element is one more rewrite: text in,
# text out.
text = rows.text
assert "Y[i0, k] = E[i0, k] * (1.0 / S)" in text
divided = headrace.Sdfg.parse(text.replace("E[i0, k] * (1.0 / S)", "E[i0, k] / S"))
np.testing.assert_allclose(divided(x), rows(x), rtol=1e-6)
