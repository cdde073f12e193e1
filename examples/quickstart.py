"""A function of NumPy as a program: compiled, differentiated, looked at, saved. Needs NumPy alone.

    python examples/quickstart.py
"""

import os
import tempfile

import numpy as np

import headrace

N = headrace.symbol("N")


# The annotations say that the program is compiled once, for every N. Without them it would be compiled for the shapes of the call.
@headrace.program
def jacobi(steps: int, A: headrace.float64[N], B: headrace.float64[N]):
    for t in range(steps):
        B[1:-1] = (A[:-2] + A[1:-1] + A[2:]) / 3
        A[1:-1] = (B[:-2] + B[1:-1] + B[2:]) / 3


def smooth_by_numpy(steps, A, B):
    jacobi.base(steps, A, B)  # the function below the program


a = np.linspace(0, 1, 1000) ** 2
b = a.copy()
expected, scratch = a.copy(), b.copy()
jacobi(100, a, b)
smooth_by_numpy(100, expected, scratch)
np.testing.assert_allclose(a, expected, rtol=1e-12)
print(f"100 steps of Jacobi: largest difference from NumPy {np.abs(a - expected).max():.1e}")


# A loss and its gradient: any function of NumPy that returns one number.
@headrace.program
def loss(w, x, y):
    return np.mean((np.tanh(x @ w) - y) ** 2)


random = np.random.default_rng(0)
x = random.standard_normal((200, 3))
truth = np.array([0.5, -1.0, 2.0])
y = np.tanh(x @ truth)
w = np.zeros(3)
step = headrace.value_and_grad(loss)
for k in range(400):
    value, gradient = step(w, x, y)
    w -= 0.5 * gradient
print(f"gradient descent: loss {value:.1e}, weights {np.round(w, 3)}")
np.testing.assert_allclose(w, truth, atol=0.05)

# What was compiled, and the program itself.
print("fused:", step.report()["fused"])
print(loss.sdfg_for(w, x, y))

# Saved, it runs where no compiler is.
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "loss.hrx")
    loss.save(path, w, x, y)
    again = headrace.load(path)
    np.testing.assert_allclose(again(w, x, y), loss(w, x, y))
    print("from the artifact:", float(again(w, x, y)))
