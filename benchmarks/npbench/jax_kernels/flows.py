"""The driven cavity by JAX. (channel_flow's number of steps depends on the data: JAX has no reverse mode for such loops.)"""

import jax.numpy as jnp
from jax.lax import fori_loop

from ..kernels.flows import moved, relaxed, source


def cavity_flow(nx, ny, nt, nit, u, v, dt, dx, dy, p, rho, nu):
    def relax(b):
        def step(q, p):
            p = p.at[1:-1, 1:-1].set(relaxed(p[1:-1, 2:], p[1:-1, 0:-2], p[2:, 1:-1], p[0:-2, 1:-1], b, dx, dy))
            p = p.at[:, -1].set(p[:, -2])
            p = p.at[0, :].set(p[1, :])
            p = p.at[:, 0].set(p[:, 1])
            return p.at[-1, :].set(0.0)

        return step

    def bounded(a, inner, last):
        a = a.at[1:-1, 1:-1].set(inner)
        return a.at[0, :].set(0.0).at[:, 0].set(0.0).at[:, -1].set(0.0).at[-1, :].set(last)

    def step(n, carry):
        u, v, p = carry
        b = source(rho, dt, dx, dy, u[1:-1, 2:], u[1:-1, 0:-2], u[2:, 1:-1], u[0:-2, 1:-1],
                   v[1:-1, 2:], v[1:-1, 0:-2], v[2:, 1:-1], v[0:-2, 1:-1])
        p = fori_loop(0, nit, relax(b), p)
        ui, vi = u[1:-1, 1:-1], v[1:-1, 1:-1]
        new_u = moved(ui, vi, ui, u[1:-1, 2:], u[1:-1, 0:-2], u[2:, 1:-1], u[0:-2, 1:-1],
                      dt / (2 * rho * dx) * (p[1:-1, 2:] - p[1:-1, 0:-2]), dt, dx, dy, nu)
        new_v = moved(ui, vi, vi, v[1:-1, 2:], v[1:-1, 0:-2], v[2:, 1:-1], v[0:-2, 1:-1],
                      dt / (2 * rho * dy) * (p[2:, 1:-1] - p[0:-2, 1:-1]), dt, dx, dy, nu)
        v = v.at[1:-1, 1:-1].set(new_v)
        v = v.at[0, :].set(0.0).at[-1, :].set(0.0).at[:, 0].set(0.0).at[:, -1].set(0.0)
        return bounded(u, new_u, 1.0), v, p

    return fori_loop(0, nt, step, (u, v, p))


LITERAL = {"cavity_flow": cavity_flow}
IDIOMATIC: dict = {}
