"""Matrix and vector products by JAX."""

import jax.numpy as jnp
from jax.lax import fori_loop

from .loops import below, from_on


def gemm(alpha, beta, C, A, B):
    return beta * C + alpha * A @ B


def k2mm(alpha, beta, A, B, C, D):
    return beta * D + alpha * A @ B @ C


def k3mm(A, B, C, D):
    return A @ B @ (C @ D)


def atax(A, x):
    return (A @ x) @ A


def bicg(A, p, r):
    return r @ A, A @ p


def mvt(x1, x2, y_1, y_2, A):
    return x1 + A @ y_1, x2 + y_2 @ A


def gesummv(alpha, beta, A, B, x):
    return alpha * A @ x + beta * B @ x


def gemver(alpha, beta, A, u1, v1, u2, v2, w, x, y, z):
    A = A + jnp.outer(u1, v1) + jnp.outer(u2, v2)
    x = x + beta * y @ A + z
    return A, w + alpha * A @ x, x


def doitgen(NR, NQ, NP, A, C4):
    return jnp.reshape(jnp.reshape(A, (NR, NQ, 1, NP)) @ C4, (NR, NQ, NP))


def syrk(alpha, beta, C, A):
    n = C.shape[0]

    def row(i, C):
        C = C.at[i].multiply(jnp.where(below(n, i + 1), beta, 1.0))
        return fori_loop(0, A.shape[1], lambda k, C: C.at[i].add(jnp.where(below(n, i + 1), alpha * A[i, k] * A[:, k], 0.0)), C)

    return fori_loop(0, n, row, C)


def syrk_idiomatic(alpha, beta, C, A):
    return jnp.tril(beta * C + alpha * A @ A.T) + jnp.triu(C, 1)


def syr2k(alpha, beta, C, A, B):
    n = C.shape[0]

    def row(i, C):
        C = C.at[i].multiply(jnp.where(below(n, i + 1), beta, 1.0))
        return fori_loop(0, A.shape[1], lambda k, C: C.at[i].add(
            jnp.where(below(n, i + 1), A[:, k] * alpha * B[i, k] + B[:, k] * alpha * A[i, k], 0.0)), C)

    return fori_loop(0, n, row, C)


def syr2k_idiomatic(alpha, beta, C, A, B):
    product = alpha * A @ B.T
    return jnp.tril(beta * C + product + product.T) + jnp.triu(C, 1)


def symm(alpha, beta, C, A, B):
    m, n = C.shape

    def row(i, C):
        left = jnp.where(below(m, i), A[i], 0.0)

        def element(j, carry):
            C, sums = carry
            return C.at[:, j].add(alpha * B[i, j] * left), sums.at[j].set(B[:, j] @ left)

        C, sums = fori_loop(0, n, element, (C, jnp.zeros(n, C.dtype)))
        return C.at[i].add(alpha * B[i] * A[i, i] + alpha * sums)

    return fori_loop(0, m, row, C * beta)


def symm_idiomatic(alpha, beta, C, A, B):
    lower = jnp.tril(A, -1)
    return beta * C + alpha * (lower.T @ B + lower @ B + jnp.diagonal(A)[:, None] * B)


def trmm(alpha, A, B):
    m, n = B.shape

    def row(i, B):
        return fori_loop(0, n, lambda j, B: B.at[i, j].add(jnp.where(from_on(m, i + 1), A[:, i], 0.0) @ B[:, j]), B)

    return fori_loop(0, m, row, B) * alpha


def trmm_idiomatic(alpha, A, B):
    return alpha * (B + jnp.tril(A, -1).T @ B)


def covariance(M, float_n, data):
    data = data - jnp.mean(data, axis=0)

    def column(i, cov):
        row = jnp.where(from_on(M, i), data[:, i] @ data / (float_n - 1.0), cov[i])
        return cov.at[i].set(row).at[:, i].set(row)

    return fori_loop(0, M, column, jnp.zeros((M, M), data.dtype))


def covariance_idiomatic(M, float_n, data):
    data = data - jnp.mean(data, axis=0)
    return data.T @ data / (float_n - 1.0)


def covariance2(M, float_n, data):
    return jnp.cov(jnp.transpose(data))


def _normalised(float_n, data):
    spread = jnp.std(data, axis=0)
    data = data - jnp.mean(data, axis=0)
    return data / (jnp.sqrt(float_n) * jnp.where(spread <= 0.1, 1.0, spread))


def correlation(M, float_n, data):
    data = _normalised(float_n, data)

    def column(i, corr):
        row = jnp.where(from_on(M, i + 1), data[:, i] @ data, corr[i])
        return corr.at[i].set(row).at[:, i].set(row)

    return fori_loop(0, M - 1, column, jnp.eye(M, dtype=data.dtype))


def correlation_idiomatic(M, float_n, data):
    data = _normalised(float_n, data)
    return jnp.where(jnp.eye(M, dtype=bool), 1.0, data.T @ data)


def spmv(A_row, A_col, A_val, x):
    """A slice whose bounds are data is a mask over all entries: JAX has no other."""
    starts = jnp.asarray(A_row)
    places = jnp.arange(A_val.size)

    def row(i, y):
        inside = jnp.logical_and(starts[i] <= places, places < starts[i + 1])
        return y.at[i].set(jnp.where(inside, A_val, 0.0) @ x[jnp.where(inside, A_col, 0)])

    return fori_loop(0, A_row.size - 1, row, jnp.zeros(A_row.size - 1, A_val.dtype))


def spmv_idiomatic(A_row, A_col, A_val, x):
    rows = jnp.repeat(jnp.arange(A_row.size - 1), jnp.diff(A_row), total_repeat_length=A_val.size)
    return jnp.zeros(A_row.size - 1, A_val.dtype).at[rows].add(A_val * x[A_col])


LITERAL = {f.__name__: f for f in (gemm, k2mm, k3mm, atax, bicg, mvt, gesummv, gemver, doitgen, syrk, syr2k, symm, trmm, covariance,
                                   covariance2, correlation, spmv)}
IDIOMATIC = {"syrk": syrk_idiomatic, "syr2k": syr2k_idiomatic, "symm": symm_idiomatic, "trmm": trmm_idiomatic,
             "covariance": covariance_idiomatic, "correlation": correlation_idiomatic, "spmv": spmv_idiomatic}
