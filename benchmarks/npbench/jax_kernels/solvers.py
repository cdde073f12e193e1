"""Factorisations, triangular solves and recurrences by JAX."""

import math

import jax.numpy as jnp
from jax import vmap
from jax.lax import fori_loop, scan
from jax.scipy.linalg import solve_triangular

from .loops import below, from_on


def cholesky(A):
    n = A.shape[0]

    def row(i, A):
        def element(j, A):
            value = (A[i, j] - jnp.where(below(n, j), A[i], 0.0) @ A[j]) / A[j, j]
            return A.at[i, j].set(jnp.where(j < i, value, A[i, j]))

        A = fori_loop(0, n, element, A)
        left = jnp.where(below(n, i), A[i], 0.0)
        return A.at[i, i].set(jnp.sqrt(A[i, i] - left @ left))

    return fori_loop(1, n, row, A.at[0, 0].set(jnp.sqrt(A[0, 0])))


def cholesky_idiomatic(A):
    lower = jnp.tril(A)
    symmetric = lower + jnp.tril(A, -1).T
    return jnp.linalg.cholesky(symmetric, symmetrize_input=False) + jnp.triu(A, 1)


def lu(A):
    n = A.shape[0]

    def row(i, A):
        def lower(j, A):
            value = (A[i, j] - jnp.where(below(n, j), A[i], 0.0) @ A[:, j]) / A[j, j]
            return A.at[i, j].set(jnp.where(j < i, value, A[i, j]))

        def upper(j, A):
            value = A[i, j] - jnp.where(below(n, i), A[i], 0.0) @ A[:, j]
            return A.at[i, j].set(jnp.where(j >= i, value, A[i, j]))

        return fori_loop(0, n, upper, fori_loop(0, n, lower, A))

    return fori_loop(0, n, row, A)


def lu_idiomatic(A):
    n = A.shape[0]

    def step(k, A):
        factors = jnp.where(from_on(n, k + 1), A[:, k] / A[k, k], 0.0)
        A = A - jnp.outer(factors, jnp.where(from_on(n, k + 1), A[k], 0.0))
        return A.at[:, k].set(jnp.where(from_on(n, k + 1), factors, A[:, k]))

    return fori_loop(0, n, step, A)


def _substituted(A, b):
    n = b.size
    y = fori_loop(0, n, lambda i, y: y.at[i].set(b[i] - jnp.where(below(n, i), A[i], 0.0) @ y), jnp.zeros_like(b))

    def back(t, x):
        i = n - 1 - t
        return x.at[i].set((y[i] - jnp.where(from_on(n, i + 1), A[i], 0.0) @ x) / A[i, i])

    return fori_loop(0, n, back, jnp.zeros_like(b)), y


def ludcmp(A, b):
    A = lu(A)
    return A, *_substituted(A, b)


def ludcmp_idiomatic(A, b):
    A = lu_idiomatic(A)
    y = solve_triangular(A, b, lower=True, unit_diagonal=True)
    return A, solve_triangular(A, y), y


def trisolv(L, x, b):
    n = b.size
    return fori_loop(0, n, lambda i, x: x.at[i].set((b[i] - jnp.where(below(n, i), L[i], 0.0) @ x) / L[i, i]), x)


def trisolv_idiomatic(L, x, b):
    return solve_triangular(L, b, lower=True)


def gramschmidt(A):
    n = A.shape[1]

    def column(k, carry):
        def other(j, carry):
            A, R = carry
            r = Q[:, k] @ A[:, j]
            keep = j <= k
            return A.at[:, j].add(jnp.where(keep, 0.0, -Q[:, k] * r)), R.at[k, j].set(jnp.where(keep, R[k, j], r))

        A, Q, R = carry
        R = R.at[k, k].set(jnp.sqrt(A[:, k] @ A[:, k]))
        Q = Q.at[:, k].set(A[:, k] / R[k, k])
        A, R = fori_loop(0, n, other, (A, R))
        return A, Q, R

    A, Q, R = fori_loop(0, n, column, (A, jnp.zeros_like(A), jnp.zeros((n, n), A.dtype)))
    return A, Q, R


def gramschmidt_idiomatic(A):
    n = A.shape[1]

    def column(k, carry):
        A, Q, R = carry
        r = jnp.sqrt(A[:, k] @ A[:, k])
        q = A[:, k] / r
        row = jnp.where(from_on(n, k + 1), q @ A, 0.0)
        return A - jnp.outer(q, row), Q.at[:, k].set(q), R.at[k].set(row.at[k].set(r))

    return fori_loop(0, n, column, (A, jnp.zeros_like(A), jnp.zeros((n, n), A.dtype)))


def durbin(r):
    n = r.size
    places = jnp.arange(n)

    def step(k, carry):
        y, alpha, beta = carry
        beta = beta * (1.0 - alpha * alpha)
        turned = jnp.where(below(n, k), y[(k - 1 - places) % n], 0.0)
        alpha = -(r[k] + jnp.where(below(n, k), r[(k - 1 - places) % n], 0.0) @ y) / beta
        return (y + alpha * turned).at[k].set(alpha), alpha, beta

    first = jnp.zeros_like(r).at[0].set(-r[0])
    return fori_loop(1, n, step, (first, -r[0], jnp.ones((), r.dtype)))[0]


def contour_integral(NR, NM, slab_per_bc, Ham, int_pts, Y):
    def point(t, carry):
        P0, P1 = carry
        z = int_pts[t]
        Tz = sum(jnp.power(z, slab_per_bc / 2 - n) * Ham[n] for n in range(slab_per_bc + 1))
        X = jnp.linalg.inv(Tz) if NR == NM else jnp.linalg.solve(Tz, Y)
        X = jnp.where(jnp.abs(z) < 1.0, -X, X)
        return P0 + X, P1 + z * X

    zero = jnp.zeros((NR, NM), Ham.dtype)
    return fori_loop(0, int_pts.size, point, (zero, zero))


def contour_integral_idiomatic(NR, NM, slab_per_bc, Ham, int_pts, Y):
    def solved(z):
        powers = jnp.stack([jnp.power(z, slab_per_bc / 2 - n) for n in range(slab_per_bc + 1)])
        X = jnp.linalg.solve(jnp.tensordot(powers, Ham, 1), Y)
        return jnp.where(jnp.abs(z) < 1.0, -X, X)

    X = vmap(solved)(int_pts)
    return jnp.sum(X, 0), jnp.tensordot(int_pts, X, 1)


def scattering_self_energies(neigh_idx, dH, G, D, Sigma):
    """The eight loops as one scan over their indices."""
    extents = (*G.shape[:2], *D.shape[:2], *neigh_idx.shape, *D.shape[-2:])
    near = jnp.asarray(neigh_idx)

    def step(Sigma, indices):
        k, E, q, w, a, b, i, j = indices
        dHG = G[k, E - w, near[a, b]] @ dH[a, b, i]
        dHD = dH[a, b, j] * D[q, w, a, b, i, j]
        return Sigma.at[k, E, a].add(jnp.where(E >= w, dHG @ dHD, 0.0)), None

    return scan(step, Sigma, jnp.unravel_index(jnp.arange(math.prod(extents)), extents))[0]


def scattering_self_energies_idiomatic(neigh_idx, dH, G, D, Sigma):
    for k in range(G.shape[0]):
        for E in range(G.shape[1]):
            for q in range(D.shape[0]):
                for w in range(min(D.shape[1], E + 1)):
                    dHG = jnp.einsum("abxy,abiyz->abixz", G[k, E - w][neigh_idx], dH)
                    dHD = jnp.einsum("abjyz,abij->abiyz", dH, D[q, w])
                    Sigma = Sigma.at[k, E].add(jnp.einsum("abixy,abiyz->axz", dHG, dHD))
    return Sigma


def stockham_fft(N, R, K, x, y):
    row, column = jnp.mgrid[0:R, 0:R]
    dft = jnp.exp(-2.0j * jnp.pi * row * column / R)
    y = x
    row, column = jnp.mgrid[0:R, 0:R**K]
    for i in range(K):
        turned = jnp.transpose(jnp.reshape(y, (R**i, R, R**(K - i - 1))), (1, 0, 2))
        angles = jnp.exp(-2.0j * jnp.pi * row[:, :R**i] * column[:, :R**i] / R**(i + 1))
        twiddles = jnp.repeat(jnp.reshape(angles, (R, R**i, 1)), R**(K - i - 1), axis=2)
        y = jnp.reshape(dft @ jnp.reshape(jnp.reshape(turned, (N,)) * jnp.reshape(twiddles, (N,)), (R, R**(K - 1))), (N,))
    return y


def stockham_fft_idiomatic(N, R, K, x, y):
    return jnp.fft.fft(x)


LITERAL = {f.__name__: f for f in (cholesky, lu, ludcmp, trisolv, gramschmidt, durbin, contour_integral, scattering_self_energies,
                                   stockham_fft)}
LITERAL["cholesky2"] = cholesky_idiomatic
IDIOMATIC = {"cholesky": cholesky_idiomatic, "lu": lu_idiomatic, "ludcmp": ludcmp_idiomatic, "trisolv": trisolv_idiomatic,
             "gramschmidt": gramschmidt_idiomatic, "contour_integral": contour_integral_idiomatic,
             "scattering_self_energies": scattering_self_energies_idiomatic, "stockham_fft": stockham_fft_idiomatic}
