"""Navier-Stokes on a square: a driven cavity and a periodic channel."""

import numpy as np


def source(rho, dt, dx, dy, east, west, north, south, v_east, v_west, v_north, v_south):
    """The right side of the pressure equation from the velocities' neighbours."""
    ux, uy = (east - west) / (2 * dx), (north - south) / (2 * dy)
    vx, vy = (v_east - v_west) / (2 * dx), (v_north - v_south) / (2 * dy)
    return rho * (1 / dt * (ux + vy) - ux**2 - 2 * (uy * vx) - vy**2)


def relaxed(east, west, north, south, b, dx, dy):
    return (((east + west) * dy**2 + (north + south) * dx**2) / (2 * (dx**2 + dy**2))
            - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b)


def moved(un, vn, a, east, west, north, south, slope, dt, dx, dy, nu):
    """One step of velocity `a`, carried by (un, vn), pushed by the pressure's `slope`."""
    return (a - un * dt / dx * (a - west) - vn * dt / dy * (a - south) - slope
            + nu * (dt / dx**2 * (east - 2 * a + west) + dt / dy**2 * (north - 2 * a + south)))


def build_up_b(b, rho, dt, u, v, dx, dy):
    b[1:-1, 1:-1] = source(rho, dt, dx, dy, u[1:-1, 2:], u[1:-1, 0:-2], u[2:, 1:-1], u[0:-2, 1:-1],
                           v[1:-1, 2:], v[1:-1, 0:-2], v[2:, 1:-1], v[0:-2, 1:-1])


def pressure_poisson(nit, p, dx, dy, b):
    pn = np.empty_like(p)
    for q in range(nit):
        pn = p.copy()
        p[1:-1, 1:-1] = relaxed(pn[1:-1, 2:], pn[1:-1, 0:-2], pn[2:, 1:-1], pn[0:-2, 1:-1], b[1:-1, 1:-1], dx, dy)
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]
        p[-1, :] = 0


def cavity_flow(nx, ny, nt, nit, u, v, dt, dx, dy, p, rho, nu):
    un = np.empty_like(u)
    vn = np.empty_like(v)
    b = np.zeros((ny, nx))
    for n in range(nt):
        un = u.copy()
        vn = v.copy()
        build_up_b(b, rho, dt, u, v, dx, dy)
        pressure_poisson(nit, p, dx, dy, b)
        ui, vi = un[1:-1, 1:-1], vn[1:-1, 1:-1]
        u[1:-1, 1:-1] = moved(ui, vi, ui, un[1:-1, 2:], un[1:-1, 0:-2], un[2:, 1:-1], un[0:-2, 1:-1],
                              dt / (2 * rho * dx) * (p[1:-1, 2:] - p[1:-1, 0:-2]), dt, dx, dy, nu)
        v[1:-1, 1:-1] = moved(ui, vi, vi, vn[1:-1, 2:], vn[1:-1, 0:-2], vn[2:, 1:-1], vn[0:-2, 1:-1],
                              dt / (2 * rho * dy) * (p[2:, 1:-1] - p[0:-2, 1:-1]), dt, dx, dy, nu)
        u[0, :] = 0
        u[:, 0] = 0
        u[:, -1] = 0
        u[-1, :] = 1
        v[0, :] = 0
        v[-1, :] = 0
        v[:, 0] = 0
        v[:, -1] = 0


def periodic_source(rho, dt, dx, dy, u, v):
    b = np.zeros_like(u)
    build_up_b(b, rho, dt, u, v, dx, dy)
    b[1:-1, -1] = source(rho, dt, dx, dy, u[1:-1, 0], u[1:-1, -2], u[2:, -1], u[0:-2, -1],
                         v[1:-1, 0], v[1:-1, -2], v[2:, -1], v[0:-2, -1])
    b[1:-1, 0] = source(rho, dt, dx, dy, u[1:-1, 1], u[1:-1, -1], u[2:, 0], u[0:-2, 0],
                        v[1:-1, 1], v[1:-1, -1], v[2:, 0], v[0:-2, 0])
    return b


def pressure_poisson_periodic(nit, p, dx, dy, b):
    pn = np.empty_like(p)
    for q in range(nit):
        pn = p.copy()
        p[1:-1, 1:-1] = relaxed(pn[1:-1, 2:], pn[1:-1, 0:-2], pn[2:, 1:-1], pn[0:-2, 1:-1], b[1:-1, 1:-1], dx, dy)
        p[1:-1, -1] = relaxed(pn[1:-1, 0], pn[1:-1, -2], pn[2:, -1], pn[0:-2, -1], b[1:-1, -1], dx, dy)
        p[1:-1, 0] = relaxed(pn[1:-1, 1], pn[1:-1, -1], pn[2:, 0], pn[0:-2, 0], b[1:-1, 0], dx, dy)
        p[-1, :] = p[-2, :]
        p[0, :] = p[1, :]


def channel_flow(nit, u, v, dt, dx, dy, p, rho, nu, F):
    udiff = 1
    stepcount = 0
    while udiff > .001:
        un = u.copy()
        vn = v.copy()
        b = periodic_source(rho, dt, dx, dy, u, v)
        pressure_poisson_periodic(nit, p, dx, dy, b)
        # inner points, then the last and the first column, which are neighbours
        ui, vi = un[1:-1, 1:-1], vn[1:-1, 1:-1]
        u[1:-1, 1:-1] = moved(ui, vi, ui, un[1:-1, 2:], un[1:-1, 0:-2], un[2:, 1:-1], un[0:-2, 1:-1],
                              dt / (2 * rho * dx) * (p[1:-1, 2:] - p[1:-1, 0:-2]), dt, dx, dy, nu) + F * dt
        v[1:-1, 1:-1] = moved(ui, vi, vi, vn[1:-1, 2:], vn[1:-1, 0:-2], vn[2:, 1:-1], vn[0:-2, 1:-1],
                              dt / (2 * rho * dy) * (p[2:, 1:-1] - p[0:-2, 1:-1]), dt, dx, dy, nu)
        u[1:-1, -1] = moved(un[1:-1, -1], vn[1:-1, -1], un[1:-1, -1], un[1:-1, 0], un[1:-1, -2], un[2:, -1], un[0:-2, -1],
                            dt / (2 * rho * dx) * (p[1:-1, 0] - p[1:-1, -2]), dt, dx, dy, nu) + F * dt
        u[1:-1, 0] = moved(un[1:-1, 0], vn[1:-1, 0], un[1:-1, 0], un[1:-1, 1], un[1:-1, -1], un[2:, 0], un[0:-2, 0],
                           dt / (2 * rho * dx) * (p[1:-1, 1] - p[1:-1, -1]), dt, dx, dy, nu) + F * dt
        v[1:-1, -1] = moved(un[1:-1, -1], vn[1:-1, -1], vn[1:-1, -1], vn[1:-1, 0], vn[1:-1, -2], vn[2:, -1], vn[0:-2, -1],
                            dt / (2 * rho * dy) * (p[2:, -1] - p[0:-2, -1]), dt, dx, dy, nu)
        v[1:-1, 0] = moved(un[1:-1, 0], vn[1:-1, 0], vn[1:-1, 0], vn[1:-1, 1], vn[1:-1, -1], vn[2:, 0], vn[0:-2, 0],
                           dt / (2 * rho * dy) * (p[2:, 0] - p[0:-2, 0]), dt, dx, dy, nu)
        u[0, :] = 0
        u[-1, :] = 0
        v[0, :] = 0
        v[-1, :] = 0
        udiff = (np.sum(u) - np.sum(un)) / np.sum(u)
        stepcount += 1
    return stepcount
