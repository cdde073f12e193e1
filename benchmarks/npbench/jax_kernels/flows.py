"""The driven cavity and the periodic channel by JAX. The channel's number of steps depends on the data, and JAX has no reverse mode of such
loops: it is given."""

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


def channel_flow(nit, u, v, dt, dx, dy, p, rho, nu, F, steps):
    def sourced(u, v):
        b = jnp.zeros_like(u).at[1:-1, 1:-1].set(source(rho, dt, dx, dy, u[1:-1, 2:], u[1:-1, 0:-2], u[2:, 1:-1], u[0:-2, 1:-1],
                                                        v[1:-1, 2:], v[1:-1, 0:-2], v[2:, 1:-1], v[0:-2, 1:-1]))
        b = b.at[1:-1, -1].set(source(rho, dt, dx, dy, u[1:-1, 0], u[1:-1, -2], u[2:, -1], u[0:-2, -1],
                                      v[1:-1, 0], v[1:-1, -2], v[2:, -1], v[0:-2, -1]))
        return b.at[1:-1, 0].set(source(rho, dt, dx, dy, u[1:-1, 1], u[1:-1, -1], u[2:, 0], u[0:-2, 0],
                                        v[1:-1, 1], v[1:-1, -1], v[2:, 0], v[0:-2, 0]))

    def relax(b):
        def step(q, pn):
            p = pn.at[1:-1, 1:-1].set(relaxed(pn[1:-1, 2:], pn[1:-1, 0:-2], pn[2:, 1:-1], pn[0:-2, 1:-1], b[1:-1, 1:-1], dx, dy))
            p = p.at[1:-1, -1].set(relaxed(pn[1:-1, 0], pn[1:-1, -2], pn[2:, -1], pn[0:-2, -1], b[1:-1, -1], dx, dy))
            p = p.at[1:-1, 0].set(relaxed(pn[1:-1, 1], pn[1:-1, -1], pn[2:, 0], pn[0:-2, 0], b[1:-1, 0], dx, dy))
            p = p.at[-1, :].set(p[-2, :])
            return p.at[0, :].set(p[1, :])

        return step

    def columns(a, un, vn, slopes, by):
        """Velocity `a` of the inner points, then of the last and the first column, which are neighbours."""
        ui, vi = un[1:-1, 1:-1], vn[1:-1, 1:-1]
        new = a.at[1:-1, 1:-1].set(moved(ui, vi, a[1:-1, 1:-1], a[1:-1, 2:], a[1:-1, 0:-2], a[2:, 1:-1], a[0:-2, 1:-1], slopes[0],
                                         dt, dx, dy, nu) + by)
        new = new.at[1:-1, -1].set(moved(un[1:-1, -1], vn[1:-1, -1], a[1:-1, -1], a[1:-1, 0], a[1:-1, -2], a[2:, -1], a[0:-2, -1], slopes[1],
                                         dt, dx, dy, nu) + by)
        new = new.at[1:-1, 0].set(moved(un[1:-1, 0], vn[1:-1, 0], a[1:-1, 0], a[1:-1, 1], a[1:-1, -1], a[2:, 0], a[0:-2, 0], slopes[2],
                                        dt, dx, dy, nu) + by)
        return new.at[0, :].set(0.0).at[-1, :].set(0.0)

    def step(n, carry):
        u, v, p = carry
        p = fori_loop(0, nit, relax(sourced(u, v)), p)
        east = [p[1:-1, 2:] - p[1:-1, 0:-2], p[1:-1, 0] - p[1:-1, -2], p[1:-1, 1] - p[1:-1, -1]]
        north = [p[2:, 1:-1] - p[0:-2, 1:-1], p[2:, -1] - p[0:-2, -1], p[2:, 0] - p[0:-2, 0]]
        new_u = columns(u, u, v, [dt / (2 * rho * dx) * d for d in east], F * dt)
        new_v = columns(v, u, v, [dt / (2 * rho * dy) * d for d in north], 0.0)
        return new_u, new_v, p

    return fori_loop(0, steps, step, (u, v, p))


LITERAL = {"cavity_flow": cavity_flow, "channel_flow": channel_flow}
IDIOMATIC: dict = {}
