"""Stencils, alternating directions, recursive filters, weather, by JAX."""

import jax.numpy as jnp
from jax.lax import associative_scan, fori_loop, scan


def _alternating(TSTEPS, A, B, update):
    def step(t, carry):
        A, B = carry
        B = update(A, B)
        return update(B, A), B

    return fori_loop(1, TSTEPS, step, (A, B))


def jacobi_1d(TSTEPS, A, B):
    return _alternating(TSTEPS, A, B, lambda A, B: B.at[1:-1].set(0.33333 * (A[:-2] + A[1:-1] + A[2:])))


def jacobi_2d(TSTEPS, A, B):
    return _alternating(TSTEPS, A, B, lambda A, B: B.at[1:-1, 1:-1].set(
        0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])))


def heat_3d(TSTEPS, A, B):
    def update(A, B):
        inner = A[1:-1, 1:-1, 1:-1]
        return B.at[1:-1, 1:-1, 1:-1].set(0.125 * (A[2:, 1:-1, 1:-1] - 2.0 * inner + A[:-2, 1:-1, 1:-1])
                                          + 0.125 * (A[1:-1, 2:, 1:-1] - 2.0 * inner + A[1:-1, :-2, 1:-1])
                                          + 0.125 * (A[1:-1, 1:-1, 2:] - 2.0 * inner + A[1:-1, 1:-1, :-2]) + inner)

    return _alternating(TSTEPS, A, B, update)


def seidel_2d(TSTEPS, N, A):
    def row(i, A):
        A = A.at[i, 1:-1].add(A[i - 1, :-2] + A[i - 1, 1:-1] + A[i - 1, 2:] + A[i, 2:]
                              + A[i + 1, :-2] + A[i + 1, 1:-1] + A[i + 1, 2:])
        return fori_loop(1, N - 1, lambda j, A: A.at[i, j].set((A[i, j] + A[i, j - 1]) / 9.0), A)

    return fori_loop(0, TSTEPS - 1, lambda t, A: fori_loop(1, N - 1, row, A), A)


def seidel_2d_idiomatic(TSTEPS, N, A):
    """Rows as a scan, and the recurrence within a row, x_j = (b_j + x_{j-1}) / 9, as a scan of scalars."""

    def sweep(t, A):
        def row(above, both):
            here, under = both
            b = here[1:-1] + above[:-2] + above[1:-1] + above[2:] + here[2:] + under[:-2] + under[1:-1] + under[2:]

            def joined(x, y):
                return x[0] * y[0], y[0] * x[1] + y[1]

            start = b.at[0].add(here[0]) / 9.0
            _, values = associative_scan(joined, (jnp.full_like(b, 1 / 9.0), start))
            new = here.at[1:-1].set(values)
            return new, new

        _, inner = scan(row, A[0], (A[1:-1], A[2:]))
        return A.at[1:-1].set(inner)

    return fori_loop(0, TSTEPS - 1, sweep, A)


def fdtd_2d(TMAX, ex, ey, hz, _fict_):
    def step(t, carry):
        ex, ey, hz = carry
        ey = ey.at[0, :].set(_fict_[t])
        ey = ey.at[1:, :].add(-0.5 * (hz[1:, :] - hz[:-1, :]))
        ex = ex.at[:, 1:].add(-0.5 * (hz[:, 1:] - hz[:, :-1]))
        hz = hz.at[:-1, :-1].add(-0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]))
        return ex, ey, hz

    return fori_loop(0, TMAX, step, (ex, ey, hz))


def _adi_factors(TSTEPS, N):
    step = 1.0 / N
    mul1, mul2 = 2.0 / TSTEPS / (step * step), 1.0 / TSTEPS / (step * step)
    return -mul1 / 2.0, 1.0 + mul2, -mul2 / 2.0


def adi(TSTEPS, N, u):
    a, b, d = _adi_factors(TSTEPS, N)
    c, e, f = a, b, d

    def step(t, carry):
        u, v, p, q = carry
        v = v.at[0, 1:N - 1].set(1.0)
        p = p.at[1:N - 1, 0].set(0.0)
        q = q.at[1:N - 1, 0].set(v[0, 1:N - 1])

        def column(j, carry):
            p, q = carry
            below = a * p[1:N - 1, j - 1] + b
            right = -d * u[j, 0:N - 2] + (1.0 + 2.0 * d) * u[j, 1:N - 1] - f * u[j, 2:N] - a * q[1:N - 1, j - 1]
            return p.at[1:N - 1, j].set(-c / below), q.at[1:N - 1, j].set(right / below)

        p, q = fori_loop(1, N - 1, column, (p, q))
        v = v.at[N - 1, 1:N - 1].set(1.0)
        v = fori_loop(0, N - 2, lambda t, v: v.at[N - 2 - t, 1:N - 1].set(
            p[1:N - 1, N - 2 - t] * v[N - 1 - t, 1:N - 1] + q[1:N - 1, N - 2 - t]), v)
        u = u.at[1:N - 1, 0].set(1.0)
        p = p.at[1:N - 1, 0].set(0.0)
        q = q.at[1:N - 1, 0].set(u[1:N - 1, 0])

        def row(j, carry):
            p, q = carry
            below = d * p[1:N - 1, j - 1] + e
            right = -a * v[0:N - 2, j] + (1.0 + 2.0 * a) * v[1:N - 1, j] - c * v[2:N, j] - d * q[1:N - 1, j - 1]
            return p.at[1:N - 1, j].set(-f / below), q.at[1:N - 1, j].set(right / below)

        p, q = fori_loop(1, N - 1, row, (p, q))
        u = u.at[1:N - 1, N - 1].set(1.0)
        u = fori_loop(0, N - 2, lambda t, u: u.at[1:N - 1, N - 2 - t].set(
            p[1:N - 1, N - 2 - t] * u[1:N - 1, N - 1 - t] + q[1:N - 1, N - 2 - t]), u)
        return u, v, p, q

    zero = jnp.zeros_like(u)
    return fori_loop(1, TSTEPS + 1, step, (u, zero, zero, zero))[0]


def adi_idiomatic(TSTEPS, N, u):
    """Scans that carry a row; the factors, which no data change, are made once."""
    a, b, d = _adi_factors(TSTEPS, N)

    def factors(low, middle):
        def step(p, _):
            below = low * p + middle
            return -low / below, (-low / below, 1.0 / below)

        return scan(step, jnp.zeros((), u.dtype), None, length=N - 2)[1]

    def swept(right, low, middle):
        """right[j] are the right sides by line; the solution with 1 at both ends."""
        p, inverse = factors(low, middle)

        def forward(q, x):
            q = (x[0] - low * q) * x[1]
            return q, q

        ones = jnp.ones_like(right[0])
        _, q = scan(forward, ones, (right, inverse))

        def backward(v, x):
            v = x[0] * v + x[1]
            return v, v

        return scan(backward, ones, (p, q), reverse=True)[1]

    def step(t, u):
        right = -d * u[1:-1, :-2] + (1.0 + 2.0 * d) * u[1:-1, 1:-1] - d * u[1:-1, 2:]
        one = jnp.ones((1, N - 2), u.dtype)
        v = jnp.concatenate([one, swept(right, a, b), one])  # [N, N - 2]: columns 1 to N - 2
        side = jnp.zeros((N, 1), u.dtype)
        v = jnp.concatenate([side, v, side], 1)
        right = (-a * v[:-2, 1:-1] + (1.0 + 2.0 * a) * v[1:-1, 1:-1] - a * v[2:, 1:-1]).T
        inner = swept(right, d, b).T
        return u.at[1:-1, 1:-1].set(inner).at[1:-1, 0].set(1.0).at[1:-1, -1].set(1.0)

    return fori_loop(0, TSTEPS, step, u)


def _deriche_factors(alpha):
    k = (1.0 - jnp.exp(-alpha)) * (1.0 - jnp.exp(-alpha)) / (1.0 + alpha * jnp.exp(-alpha) - jnp.exp(2.0 * alpha))
    return (k, k * jnp.exp(-alpha) * (alpha - 1.0), k * jnp.exp(-alpha) * (alpha + 1.0), -k * jnp.exp(-2.0 * alpha),
            2.0**(-alpha), -jnp.exp(-2.0 * alpha))


def deriche(alpha, imgIn):
    a1, a2, a3, a4, b1, b2 = _deriche_factors(alpha)

    def filtered(x):  # along the first axis
        n = x.shape[0]
        y1 = jnp.zeros_like(x).at[0].set(a1 * x[0])
        y1 = y1.at[1].set(a1 * x[1] + a2 * x[0] + b1 * y1[0])
        y1 = fori_loop(2, n, lambda j, y: y.at[j].set(a1 * x[j] + a2 * x[j - 1] + b1 * y[j - 1] + b2 * y[j - 2]), y1)
        y2 = jnp.zeros_like(x).at[n - 2].set(a3 * x[n - 1])

        def back(t, y):
            j = n - 3 - t
            return y.at[j].set(a3 * x[j + 1] + a4 * x[j + 2] + b1 * y[j + 1] + b2 * y[j + 2])

        return y1 + fori_loop(0, n - 2, back, y2)

    return filtered(filtered(imgIn.T).T)


def deriche_idiomatic(alpha, imgIn):
    a1, a2, a3, a4, b1, b2 = _deriche_factors(alpha)

    def filtered(x):
        def causal(c, x):
            y = a1 * x + a2 * c[0] + b1 * c[1] + b2 * c[2]
            return (x, y, c[1]), y

        def anticausal(c, x):
            y = a3 * c[0] + a4 * c[1] + b1 * c[2] + b2 * c[3]
            return (x, c[0], y, c[2]), y

        zero = jnp.zeros_like(x[0])
        return scan(causal, (zero, ) * 3, x)[1] + scan(anticausal, (zero, ) * 4, x, reverse=True)[1]

    return filtered(filtered(imgIn.T).T)


def floyd_warshall(path):
    return fori_loop(0, path.shape[0], lambda k, path: jnp.minimum(path, jnp.add.outer(path[:, k], path[k, :])), path)


def hdiff(in_field, out_field, coeff):
    I, J = out_field.shape[:2]
    x = in_field
    lap = 4.0 * x[1:I + 3, 1:J + 3] - (x[2:I + 4, 1:J + 3] + x[0:I + 2, 1:J + 3] + x[1:I + 3, 2:J + 4] + x[1:I + 3, 0:J + 2])
    res = lap[1:, 1:J + 1] - lap[:-1, 1:J + 1]
    flx = jnp.where(res * (x[2:I + 3, 2:J + 2] - x[1:I + 2, 2:J + 2]) > 0, 0, res)
    res = lap[1:I + 1, 1:] - lap[1:I + 1, :-1]
    fly = jnp.where(res * (x[2:I + 2, 2:J + 3] - x[2:I + 2, 1:J + 2]) > 0, 0, res)
    return x[2:I + 2, 2:J + 2] - coeff * (flx[1:] - flx[:-1] + fly[:, 1:] - fly[:, :-1])


def _vadv_row(k, K, u_stage, wcon, u_pos, utens, utens_stage, dtr_stage):
    """(a, b, c, d) of the tridiagonal system in plane k, 0 where a plane has no neighbour."""
    gav = jnp.where(k > 0, -0.25 * (wcon[1:, :, k] + wcon[:-1, :, k]), 0.0)
    up = jnp.minimum(k + 1, K - 1)
    down = jnp.maximum(k - 1, 0)
    gcv = jnp.where(k < K - 1, 0.25 * (wcon[1:, :, k + 1] + wcon[:-1, :, k + 1]), 0.0)
    correction = (-0.5 * gav * (u_stage[:, :, down] - u_stage[:, :, k]) - 0.5 * gcv * (u_stage[:, :, up] - u_stage[:, :, k]))
    d = dtr_stage * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k] + correction
    return 0.5 * gav, dtr_stage - 0.5 * gav - 0.5 * gcv, 0.5 * gcv, d


def vadv(utens_stage, u_stage, wcon, u_pos, utens, dtr_stage):
    I, J, K = utens_stage.shape
    wcon = jnp.concatenate([wcon, wcon[:, :, -1:]], 2)  # so that plane K can be read, and is not used

    def forward(k, carry):
        ccol, dcol = carry
        a, b, c, d = _vadv_row(k, K, u_stage, wcon, u_pos, utens, utens_stage, dtr_stage)
        before = jnp.maximum(k - 1, 0)
        divided = 1.0 / (b - ccol[:, :, before] * a)
        return ccol.at[:, :, k].set(c * divided), dcol.at[:, :, k].set((d - dcol[:, :, before] * a) * divided)

    zero = jnp.zeros((I, J, K), u_stage.dtype)
    ccol, dcol = fori_loop(0, K, forward, (zero, zero))

    def back(t, carry):
        out, data = carry
        k = K - 1 - t
        data = dcol[:, :, k] - ccol[:, :, k] * data
        return out.at[:, :, k].set(dtr_stage * (data - u_pos[:, :, k])), data

    return fori_loop(0, K, back, (utens_stage, jnp.zeros((I, J), u_stage.dtype)))[0]


def vadv_idiomatic(utens_stage, u_stage, wcon, u_pos, utens, dtr_stage):
    """All coefficients at once, planes first; scans carry one plane."""
    w = jnp.moveaxis(0.25 * (wcon[1:] + wcon[:-1]), 2, 0)
    u, p = jnp.moveaxis(u_stage, 2, 0), jnp.moveaxis(u_pos, 2, 0)
    zero = jnp.zeros_like(w[:1])
    gav, gcv = jnp.concatenate([zero, -w[1:]]), jnp.concatenate([w[1:], zero])
    slope = jnp.concatenate([u[1:] - u[:-1], zero])
    correction = 0.5 * gav * jnp.concatenate([zero, slope[:-1]]) - 0.5 * gcv * slope
    d = dtr_stage * p + jnp.moveaxis(utens + utens_stage, 2, 0) + correction
    a, c = 0.5 * gav, 0.5 * gcv
    b = dtr_stage - a - c

    def forward(carry, x):
        a, b, c, d = x
        divided = 1.0 / (b - carry[0] * a)
        new = c * divided, (d - carry[1] * a) * divided
        return new, new

    _, (ccol, dcol) = scan(forward, (zero[0], zero[0]), (a, b, c, d))

    def back(data, x):
        data = x[1] - x[0] * data
        return data, data

    _, data = scan(back, zero[0], (ccol, dcol), reverse=True)
    return jnp.moveaxis(dtr_stage * (data - p), 0, 2)


LITERAL = {f.__name__: f for f in (jacobi_1d, jacobi_2d, heat_3d, seidel_2d, fdtd_2d, adi, deriche, floyd_warshall, hdiff, vadv)}
IDIOMATIC = {"seidel_2d": seidel_2d_idiomatic, "adi": adi_idiomatic, "deriche": deriche_idiomatic, "vadv": vadv_idiomatic}
