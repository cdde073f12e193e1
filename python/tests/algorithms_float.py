"""Programs of many kinds as users write them, with gradients: filters, recurrences, integrators, factorisations, iterations."""

import numpy as np

from python.tests.program_cases import case, normal


def _conv_at(img, k, i, j):
    return np.sum(img[i:i + 3, j:j + 3] * k)


def vdp(y, mu):
    out = np.empty_like(y)
    out[0] = y[1]
    out[1] = mu * (1 - y[0] ** 2) * y[1] - y[0]
    return out


def _affine(x, scale=2.0, *, shift=1.0, power=2):
    return (x * scale + shift) ** power

_C = 2.5

_T = (1, 2, 3)


@case(normal(9), normal(10) + 8, normal(9), normal(10), grad=(0, 1, 2, 3))
def tridiagonal(low, middle, up, b):
    n = len(b)
    c, d, x = np.zeros(n), np.zeros(n), np.zeros(n)
    c[0] = up[0] / middle[0]
    d[0] = b[0] / middle[0]
    for i in range(1, n):
        m = middle[i] - low[i - 1] * c[i - 1]
        if i < n - 1:  # there is no up[n - 1]
            c[i] = up[i] / m
        d[i] = (b[i] - low[i - 1] * d[i - 1]) / m
    x[-1] = d[-1]
    for i in range(n - 2, -1, -1):
        x[i] = d[i] - c[i] * x[i + 1]
    return np.sum(x ** 2)


@case(normal(8,9), normal(3,3), grad=(0,1))
def filter2d(img, k):
    out = np.zeros((img.shape[0] - 2, img.shape[1] - 2))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = _conv_at(img, k, i, j)
    return np.sum(out ** 2)


@case(normal(7), normal(7).argsort(), np.array([0,2,5,7]), normal(7)+2, grad=(0,))
def csr_rows(vals, cols, ptr, x):
    y = np.zeros(len(ptr) - 1)
    for i in range(len(ptr) - 1):
        y[i] = vals[ptr[i]:ptr[i + 1]] @ x[cols[ptr[i]:ptr[i + 1]]]
    return np.sum(y * y)


@case(1.0, np.array([1.0, 0.5]), grad=(0,1))
def rk4(mu, y):
    dt = 0.05
    y = y.copy()
    for _ in range(20):
        k1 = vdp(y, mu)
        k2 = vdp(y + 0.5 * dt * k1, mu)
        k3 = vdp(y + 0.5 * dt * k2, mu)
        k4 = vdp(y + dt * k3, mu)
        y += dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y[0] * y[0] + y[1]


@case(normal(5,5)@normal(5,5).T+5*np.eye(5), grad=(0,))
def lu(A):
    A = A.copy()
    n = A.shape[0]
    for k in range(n - 1):
        for i in range(k + 1, n):
            A[i, k] /= A[k, k]
            A[i, k + 1:] -= A[i, k] * A[k, k + 1:]
    return np.sum(np.log(np.abs(np.diag(A))))


@case(normal(6,4), grad=(0,))
def gram_schmidt(A):
    Q = np.zeros_like(A)
    r = 0.0
    for j in range(A.shape[1]):
        v = A[:, j].copy()
        for i in range(j):
            v -= np.dot(Q[:, i], A[:, j]) * Q[:, i]
        nrm = np.sqrt(np.sum(v ** 2))
        r += np.log(nrm)
        Q[:, j] = v / nrm
    return r + Q[0, 1] * Q[2, 3]


@case(normal(6,6), grad=(0,))
def triangular(A):
    s = 0.0
    for i in range(6):
        for j in range(i):
            s += A[i, j] * A[j, i]
        for j in range(i, 6):
            s -= np.sin(A[i, j])
    return s


@case(normal(5), grad=(0,))
def default_args(x):
    return np.sum(_affine(x) + _affine(x, 3.0) + _affine(x, shift=-1.0, power=3))


@case(normal(5), grad=(0,))
def closure_consts(x):
    s = 0.0
    for t in _T:
        s += np.sum(x ** t) * _C
    return s


@case(normal(10), grad=(0,))
def overlap_aug(x):
    x = x + 0
    x[2:] += x[:-2]
    x[:-1] -= 0.5 * x[1:]
    x[::2] *= x[1::2]
    x[3:7] = x[2:6] + x[4:8]
    return np.sum(x)


@case(normal(20), grad=(0,))
def moving_avg(x):
    w = 5
    c = np.cumsum(np.concatenate((np.zeros(1), x)))
    y = (c[w:] - c[:-w]) / w
    return np.sum(y ** 3)


@case(np.array([1.5, 0.2]), grad=(0,))
def newton(x):
    t = x[0]
    for _ in range(30):
        ft = t ** 3 - x[1] - 2
        if abs(ft) < 1e-13:
            break
        t = t - ft / (3 * t ** 2)
    return t


@case(normal(4,4)@normal(4,4).T+np.eye(4), normal(4), grad=(0,1))
def cg(A, b):
    x = np.zeros(4)
    r = b - A @ x
    p = r.copy()
    rs = r @ r
    for _ in range(3):
        Ap = A @ p
        alpha = rs / (p @ Ap)
        x = x + alpha * p
        r = r - alpha * Ap
        new = r @ r
        p = r + (new / rs) * p
        rs = new
    return np.sum(x)


@case(np.array([2.0,-1.0,0.5]), 1.7, grad=(0,1))
def horner(c, x):
    r = 0.0
    for i in range(len(c) - 1, -1, -1):
        r = r * x + c[i]
    return r


@case(normal(5,3), normal(4,3), grad=(0,1))
def pairwise(a, b):
    d = np.sqrt(np.sum((a[:, None, :] - b[None, :, :]) ** 2, axis=-1) + 0.1)
    return np.sum(np.exp(-d))


@case(normal(5,3), normal(5,3)+1, grad=(0,))
def softmax_loss(x, t):
    m = np.max(x, axis=1, keepdims=True)
    e = np.exp(x - m)
    p = e / e.sum(axis=1, keepdims=True)
    return -np.mean(np.sum(t * np.log(p), axis=1))


@case(normal(5, 4), grad=(0,))
def exchanged_rows(A):
    A = A + 0
    A[2], A[0] = A[0].copy(), A[2] * 0.5
    A[1], A[3] = A[3] + 0.1, A[1] * A[4]
    A[1, 1:], A[4, :-1] = A[4, 1:] * 2, np.sin(A[1, :-1])
    return np.sum(A * A * A)


@case(normal(6,7), 2, grad=(0,))
def box_blur(img, r):
    h, w = img.shape
    S = np.zeros((h + 1, w + 1))
    S[1:, 1:] = np.cumsum(np.cumsum(img, axis=0), axis=1)
    out = np.zeros((h - 2 * r, w - 2 * r))
    k = 2 * r + 1
    out[:] = (S[k:, k:] - S[:-k, k:] - S[k:, :-k] + S[:-k, :-k]) / (k * k)
    return np.sum(out ** 2)


@case(normal(9), grad=(0,))
def sobel_1d(x):
    g = np.zeros_like(x)
    g[1:-1] = (x[2:] - x[:-2]) / 2
    g[0], g[-1] = x[1] - x[0], x[-1] - x[-2]
    return np.sqrt(np.sum(g * g))


@case(normal(5,4), grad=(0,))
def tv(img):
    dx = img[1:, :] - img[:-1, :]
    dy = img[:, 1:] - img[:, :-1]
    return np.sum(np.sqrt(dx[:, :-1] ** 2 + dy[:-1, :] ** 2 + 1e-3))


@case(normal(6), normal(7), grad=(0,1))
def dtw(a, b):
    n, m = len(a), len(b)
    D = np.full((n + 1, m + 1), 1e10)
    D[0, 0] = 0
    for i in range(n):
        for j in range(m):
            c = (a[i] - b[j]) ** 2
            D[i + 1, j + 1] = c + min(D[i, j + 1], D[i + 1, j], D[i, j])
    return D[n, m]


@case(np.array([0.5, 0.2, 0.3]), np.abs(normal(3,3))+0.1, np.abs(normal(3,2))+0.1, np.array([0,1,1,0]), grad=(0,1,2))
def hmm_forward(pi, A, B, obs):
    alpha = pi * B[:, obs[0]]
    ll = 0.0
    for t in range(1, len(obs)):
        s = alpha.sum()
        ll += np.log(s)
        alpha = (alpha / s) @ A * B[:, obs[t]]
    return ll + np.log(alpha.sum())


@case(np.array([1.0, 0.0, -0.5, 0.3]), 1.2, 30, grad=(0,1))
def leapfrog(q, k, n):
    x = q[:2].copy()
    v = q[2:].copy()
    dt = 0.1
    for _ in range(n):
        v -= 0.5 * dt * k * x
        x += dt * v
        v -= 0.5 * dt * k * x
    return x @ x + 0.3 * (v @ v)


@case(normal(5,5)@normal(5,5).T+5*np.eye(5), normal(5), grad=(0,1))
def cholesky_solve(A, b):
    n = len(b)
    L = np.zeros_like(A)
    for i in range(n):
        for j in range(i + 1):
            s = A[i, j] - L[i, :j] @ L[j, :j]
            if i == j:
                L[i, j] = np.sqrt(s)
            else:
                L[i, j] = s / L[j, j]
    y = np.zeros(n)
    for i in range(n):
        y[i] = (b[i] - L[i, :i] @ y[:i]) / L[i, i]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (y[i] - L[i + 1:, i] @ x[i + 1:]) / L[i, i]
    return np.sum(x * x)


@case(normal(4,3), grad=(0,))
def householder(A):
    R = A.copy()
    m, n = R.shape
    for k in range(n):
        x = R[k:, k].copy()
        alpha = -np.sign(x[0]) * np.sqrt(x @ x)
        x[0] -= alpha
        x /= np.sqrt(x @ x)
        R[k:, k:] -= 2 * np.outer(x, x @ R[k:, k:])
    return np.sum(np.abs(np.diag(R))) + R[0, 2] ** 2


@case(normal(10), np.array([0,1,1,2,0,2,2,1,0,1]), grad=(0,))
def segment_mean(x, seg):
    s = np.zeros(3)
    c = np.zeros(3)
    for i in range(len(x)):
        s[seg[i]] += x[i]
        c[seg[i]] += 1
    m = s / c
    return np.sum((x - m[seg]) ** 2)


@case(normal(3), normal(3)+1, grad=(0,1))
def cross(a, b):
    c = np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])
    return np.sum(c ** 3)


@case(normal(4), grad=(0,))
def quaternion(q):
    w, x, y, z = q / np.sqrt(np.sum(q * q))
    R = np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                  [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                  [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]])
    return np.sum(R @ np.array([1.0, 2.0, 3.0])) + np.trace(R)


@case(normal(6,2), grad=(0,))
def nbody_pot(p):
    e = 0.0
    for i in range(len(p)):
        for j in range(i + 1, len(p)):
            d = p[i] - p[j]
            e -= 1 / np.sqrt(d @ d + 0.01)
    return e


@case(normal(5), 0.1, grad=(0,1))
def huber(x, d):
    a = np.abs(x)
    return np.sum(np.where(a <= d, 0.5 * x * x, d * (a - 0.5 * d)))


@case(normal(3,4,5), grad=(0,))
def tensor3(x):
    y = np.einsum("ijk,ilk->jl", x, x)
    z = np.tensordot(x, y, axes=([1], [0]))
    return np.sum(z[:, ::-1, 1:] * 0.1) + np.max(x, axis=(0, 2)).sum()


@case(np.array([1.0, 2.0, 0.5, -1.0]), grad=(0,))
def while_float(p):
    x = p[0]
    n = 0
    while abs(x * x - p[1]) > 1e-12 and n < 50:
        x = 0.5 * (x + p[1] / x)
        n += 1
    return x * p[2] + n * p[3]


@case(normal(7), grad=(0,))
def iir(x):
    y = np.zeros_like(x)
    y[0] = x[0]
    for n in range(1, len(x)):
        y[n] = 0.5 * x[n] + 0.25 * y[n - 1] + (0.1 * y[n - 2] if n >= 2 else 0.0)
    return y @ y


@case(normal(6), grad=(0,))
def stencil_view(u):
    u = u.copy()
    inner, left, right = u[1:-1], u[:-2], u[2:]
    for _ in range(3):
        inner += 0.1 * (left - 2 * inner + right)
    return np.sum(u ** 2)


@case(normal(4,4), grad=(0,))
def diag_views(A):
    B = A.copy()
    B[np.arange(4), np.arange(4)] *= 2.0
    C = B.T
    C[0] += 1.0
    D = C[::-1, ::-1]
    D[1:3, 1:3] -= B[1:3, 1:3]
    return np.sum(B * A)


@case(np.array([0.1, 0.7, 0.2]), grad=(0,))
def logistic_map(p):
    x = p[1]
    s = 0.0
    for i in range(10):
        x = 3.1 * x * (1 - x)
        if i % 2 == 0:
            s += x * p[0]
        elif i % 3 == 0:
            s -= x
        else:
            continue
        s *= 1 + p[2]
    return s
