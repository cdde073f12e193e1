"""Particles and images by JAX."""

import jax.numpy as jnp
from jax.lax import fori_loop


def go_fast(a):
    return a + fori_loop(0, a.shape[0], lambda i, trace: trace + jnp.tanh(a[i, i]), jnp.zeros((), a.dtype))


def go_fast_idiomatic(a):
    return a + jnp.sum(jnp.tanh(jnp.diagonal(a)))


def arc_distance(theta_1, phi_1, theta_2, phi_2):
    chord = (jnp.sin((theta_2 - theta_1) / 2)**2
             + jnp.cos(theta_1) * jnp.cos(theta_2) * jnp.sin((phi_2 - phi_1) / 2)**2)
    return 2 * jnp.arctan2(jnp.sqrt(chord), jnp.sqrt(1 - chord))


def azimint_naive(data, radius, npt):
    rmax = radius.max()

    def ring(i, res):
        inside = jnp.logical_and(rmax * i / npt <= radius, radius < rmax * (i + 1) / npt)
        return res.at[i].set(jnp.sum(jnp.where(inside, data, 0.0)) / jnp.sum(inside))

    return fori_loop(0, npt, ring, jnp.zeros(npt, data.dtype))


def azimint_naive_idiomatic(data, radius, npt):
    edges = radius.max() * jnp.arange(npt + 1) / npt
    ring = jnp.searchsorted(edges, radius, side="right") - 1
    total = jnp.zeros(npt, data.dtype).at[ring].add(data, mode="drop")
    return total / jnp.zeros(npt, data.dtype).at[ring].add(1.0, mode="drop")


def azimint_hist(data, radius, npt):
    return jnp.histogram(radius, npt, weights=data)[0] / jnp.histogram(radius, npt)[0]


def _differences(pos):
    x, y, z = pos[:, 0:1], pos[:, 1:2], pos[:, 2:3]
    return x.T - x, y.T - y, z.T - z


def _acceleration(pos, mass, G, softening):
    dx, dy, dz = _differences(pos)
    r2 = dx**2 + dy**2 + dz**2 + softening**2
    inv_r3 = jnp.where(r2 > 0, jnp.where(r2 > 0, r2, 1.0)**(-1.5), r2)
    return jnp.hstack((G * (dx * inv_r3) @ mass, G * (dy * inv_r3) @ mass, G * (dz * inv_r3) @ mass))


def _energy(pos, vel, mass, G):
    dx, dy, dz = _differences(pos)
    r2 = dx**2 + dy**2 + dz**2
    inv_r = jnp.where(r2 > 0, 1.0 / jnp.sqrt(jnp.where(r2 > 0, r2, 1.0)), r2)
    return 0.5 * jnp.sum(mass * vel**2), G * jnp.sum(jnp.triu(-(mass * mass.T) * inv_r, 1))


def nbody(mass, pos, vel, N, Nt, dt, G, softening):
    vel = vel - jnp.mean(mass * vel, axis=0) / jnp.mean(mass)
    kinetic, potential = _energy(pos, vel, mass, G)
    KE, PE = jnp.zeros(Nt + 1).at[0].set(kinetic), jnp.zeros(Nt + 1).at[0].set(potential)

    def step(i, carry):
        pos, vel, acc, KE, PE = carry
        vel = vel + acc * dt / 2.0
        pos = pos + vel * dt
        acc = _acceleration(pos, mass, G, softening)
        vel = vel + acc * dt / 2.0
        kinetic, potential = _energy(pos, vel, mass, G)
        return pos, vel, acc, KE.at[i + 1].set(kinetic), PE.at[i + 1].set(potential)

    return fori_loop(0, Nt, step, (pos, vel, _acceleration(pos, mass, G, softening), KE, PE))[3:]


LITERAL = {f.__name__: f for f in (go_fast, arc_distance, azimint_naive, azimint_hist, nbody)}
IDIOMATIC = {"go_fast": go_fast_idiomatic, "azimint_naive": azimint_naive_idiomatic}
