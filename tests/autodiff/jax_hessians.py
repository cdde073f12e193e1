"""Hessian-vector products by JAX in f64, for hessians_test.cc: python jax_hessians.py > jax_hessians.txt (needs jax).

The three programs of hessians_test.cc, at the same values: uniform() draws what Uniform() of testing.h draws.
"""

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)

MASK = (1 << 64) - 1


def uniform(shape, lo, hi, seed):
    state = (seed * 0x9E3779B97F4A7C15 + 7) & MASK
    values = []
    for _ in range(int(np.prod(shape))):
        state = (state + 0x9E3779B97F4A7C15) & MASK
        x = state
        x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK
        x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK
        values.append(lo + (hi - lo) * (((x ^ x >> 31) >> 11) * 2.0**-53))
    return jnp.array(values).reshape(shape)


def mlp(w):
    x, t = uniform((5, 3), -1, 1, 2), uniform((5,), -1, 1, 3)
    w1, b1, w2, b2, w3, b3 = w[:24].reshape(3, 8), w[24:32], w[32:96].reshape(8, 8), w[96:104], w[104:112], w[112]
    h = jnp.tanh(x @ w1 + b1)
    h = jax.nn.sigmoid(h @ w2 + b2)
    y = h @ w3 + b3
    return jnp.mean((y - t) ** 2)


def stencil(a):
    u = a
    for _ in range(6):
        v = u[1:-1] + 0.3 * jnp.sin(u[:-2]) * u[2:] - 0.1 * u[1:-1] * u[1:-1]
        u = u.at[1:-1].set(v)
    return jnp.sum(u * u * u)


def branches(a):
    y = 0.5
    for t in range(3):
        for i in range(a.shape[0]):
            y = y + a[i] * a[i] * a[(i + t) % a.shape[0]] if y < 1 else y * jnp.sin(a[i]) + 0.1
            if y > 0.8:
                y = jnp.exp(-y) + a[0] * y
    while y > 0.3:
        y = y * y * 0.8
    return y


def product(f, at, v):
    """By forward over reverse; loops and branches run in Python, on values."""
    return jax.jvp(jax.grad(f), (at,), (v,))[1]


if __name__ == "__main__":
    for name, f, at in [
        ("mlp", mlp, uniform((113,), -0.9, 0.9, 1)),
        ("stencil", stencil, uniform((12,), -1, 1, 1)),
        ("branches", branches, uniform((8,), 0.4, 0.9, 1)),
    ]:
        v = uniform(at.shape, -1, 1, 9)
        print(name, *(repr(float(x)) for x in product(f, at, v)))
