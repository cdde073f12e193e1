"""Particles, images, checksums: what is in no other family."""

import numpy as np


def go_fast(a):
    trace = 0.0
    for i in range(a.shape[0]):
        trace += np.tanh(a[i, i])
    return a + trace


def arc_distance(theta_1, phi_1, theta_2, phi_2):
    chord = (np.sin((theta_2 - theta_1) / 2)**2
             + np.cos(theta_1) * np.cos(theta_2) * np.sin((phi_2 - phi_1) / 2)**2)
    return 2 * np.arctan2(np.sqrt(chord), np.sqrt(1 - chord))


def azimint_naive(data, radius, npt):
    rmax = radius.max()
    res = np.zeros(npt, dtype=np.float64)
    for i in range(npt):
        ring = np.logical_and(rmax * i / npt <= radius, radius < rmax * (i + 1) / npt)
        values = data[ring]
        res[i] = values.mean()
    return res


def azimint_hist(data, radius, npt):
    counts = np.histogram(radius, npt)[0]
    weighted = np.histogram(radius, npt, weights=data)[0]
    return weighted / counts


def compute(array_1, array_2, a, b, c):
    return np.clip(array_1, 2, 10) * a + array_2 * b + c


def differences(pos):
    x, y, z = pos[:, 0:1], pos[:, 1:2], pos[:, 2:3]
    return x.T - x, y.T - y, z.T - z


def acceleration(pos, mass, G, softening):
    dx, dy, dz = differences(pos)
    inv_r3 = dx**2 + dy**2 + dz**2 + softening**2
    inv_r3[inv_r3 > 0] = inv_r3[inv_r3 > 0]**(-1.5)
    return np.hstack((G * (dx * inv_r3) @ mass, G * (dy * inv_r3) @ mass, G * (dz * inv_r3) @ mass))


def energy(pos, vel, mass, G):
    kinetic = 0.5 * np.sum(mass * vel**2)
    dx, dy, dz = differences(pos)
    inv_r = dx**2 + dy**2 + dz**2  # the root is taken under the mask: at 0 it has no derivative
    inv_r[inv_r > 0] = 1.0 / np.sqrt(inv_r[inv_r > 0])
    potential = G * np.sum(np.triu(-(mass * mass.T) * inv_r, 1))
    return kinetic, potential


def nbody(mass, pos, vel, N, Nt, dt, G, softening):
    vel -= np.mean(mass * vel, axis=0) / np.mean(mass)
    acc = acceleration(pos, mass, G, softening)
    KE = np.ndarray(Nt + 1, dtype=np.float64)
    PE = np.ndarray(Nt + 1, dtype=np.float64)
    KE[0], PE[0] = energy(pos, vel, mass, G)
    t = 0.0
    for i in range(Nt):
        vel += acc * dt / 2.0
        pos += vel * dt
        acc = acceleration(pos, mass, G, softening)
        vel += acc * dt / 2.0
        t += dt
        KE[i + 1], PE[i + 1] = energy(pos, vel, mass, G)
    return KE, PE


def mandelbrot1(xmin, xmax, ymin, ymax, xn, yn, maxiter, horizon=2.0):
    X = np.linspace(xmin, xmax, xn, dtype=np.float64)
    Y = np.linspace(ymin, ymax, yn, dtype=np.float64)
    C = X + Y[:, None] * 1j
    N = np.zeros(C.shape, dtype=np.int64)
    Z = np.zeros(C.shape, dtype=np.complex128)
    for n in range(maxiter):
        inside = np.less(abs(Z), horizon)
        N[inside] = n
        Z[inside] = Z[inside]**2 + C[inside]
    N[N == maxiter - 1] = 0
    return Z, N


def mandelbrot2(xmin, xmax, ymin, ymax, xn, yn, itermax, horizon=2.0):
    Xi, Yi = np.mgrid[0:xn, 0:yn]
    X = np.linspace(xmin, xmax, xn, dtype=np.float64)[Xi]
    Y = np.linspace(ymin, ymax, yn, dtype=np.float64)[Yi]
    C = X + Y * 1j
    N_ = np.zeros(C.shape, dtype=np.int64)
    Z_ = np.zeros(C.shape, dtype=np.complex128)
    Xi.shape = Yi.shape = C.shape = xn * yn
    Z = np.zeros(C.shape, np.complex128)
    for i in range(itermax):
        if not len(Z):
            break
        np.multiply(Z, Z, Z)
        np.add(Z, C, Z)
        escaped = abs(Z) > horizon
        N_[Xi[escaped], Yi[escaped]] = i + 1
        Z_[Xi[escaped], Yi[escaped]] = Z[escaped]
        np.logical_not(escaped, escaped)
        Z = Z[escaped]
        Xi, Yi = Xi[escaped], Yi[escaped]
        C = C[escaped]
    return Z_.T, N_.T


def match(b1, b2):
    if b1 + b2 == 3:
        return 1
    return 0


def nussinov(N, seq):
    table = np.zeros((N, N), np.int32)
    for i in range(N - 1, -1, -1):
        for j in range(i + 1, N):
            if j - 1 >= 0:
                table[i, j] = max(table[i, j], table[i, j - 1])
            if i + 1 < N:
                table[i, j] = max(table[i, j], table[i + 1, j])
            if j - 1 >= 0 and i + 1 < N:
                if i < j - 1:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1] + match(seq[i], seq[j]))
                else:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1])
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
    return table


def crc16(data, poly=0x8408):
    crc = 0xFFFF
    for b in data:
        byte = 0xFF & b
        for _ in range(0, 8):
            if (crc & 0x0001) ^ (byte & 0x0001):
                crc = (crc >> 1) ^ poly
            else:
                crc >>= 1
            byte >>= 1
    crc = (~crc & 0xFFFF)
    crc = (crc << 8) | ((crc >> 8) & 0xFF)
    return crc & 0xFFFF
