"""Matrix and vector products (gemm, 2mm, … of PolyBench)."""

import numpy as np


def gemm(alpha, beta, C, A, B):
    C[:] = beta * C + alpha * A @ B


def k2mm(alpha, beta, A, B, C, D):
    D[:] = beta * D + alpha * A @ B @ C


def k3mm(A, B, C, D):
    left = A @ B
    return left @ (C @ D)


def atax(A, x):
    return (A @ x) @ A


def bicg(A, p, r):
    return r @ A, A @ p


def mvt(x1, x2, y_1, y_2, A):
    x1 += A @ y_1
    x2 += y_2 @ A


def gesummv(alpha, beta, A, B, x):
    return alpha * A @ x + beta * B @ x


def gemver(alpha, beta, A, u1, v1, u2, v2, w, x, y, z):
    A += np.outer(u1, v1) + np.outer(u2, v2)
    x += beta * y @ A + z
    w += alpha * A @ x


def doitgen(NR, NQ, NP, A, C4):
    rows = np.reshape(A, (NR, NQ, 1, NP))
    A[:] = np.reshape(rows @ C4, (NR, NQ, NP))


def syrk(alpha, beta, C, A):
    for i in range(A.shape[0]):
        C[i, :i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, :i + 1] += alpha * A[i, k] * A[:i + 1, k]


def syr2k(alpha, beta, C, A, B):
    for i in range(A.shape[0]):
        C[i, :i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, :i + 1] += A[:i + 1, k] * alpha * B[i, k] + B[:i + 1, k] * alpha * A[i, k]


def symm(alpha, beta, C, A, B):
    below = np.empty((C.shape[1],), dtype=C.dtype)
    C *= beta
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[:i, j] += alpha * B[i, j] * A[i, :i]
            below[j] = B[:i, j] @ A[i, :i]
        C[i, :] += alpha * B[i, :] * A[i, i] + alpha * below


def trmm(alpha, A, B):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] += np.dot(A[i + 1:, i], B[i + 1:, j])
    B *= alpha


def covariance(M, float_n, data):
    data -= np.mean(data, axis=0)
    cov = np.zeros((M, M), dtype=data.dtype)
    for i in range(M):
        cov[i:M, i] = cov[i, i:M] = data[:, i] @ data[:, i:M] / (float_n - 1.0)
    return cov


def covariance2(M, float_n, data):
    return np.cov(np.transpose(data))


def correlation(M, float_n, data):
    mean = np.mean(data, axis=0)
    spread = np.std(data, axis=0)
    spread[spread <= 0.1] = 1.0
    data -= mean
    data /= np.sqrt(float_n) * spread
    corr = np.eye(M, dtype=data.dtype)
    for i in range(M - 1):
        corr[i + 1:M, i] = corr[i, i + 1:M] = data[:, i] @ data[:, i + 1:M]
    return corr


def spmv(A_row, A_col, A_val, x):
    y = np.empty(A_row.size - 1, A_val.dtype)
    for i in range(A_row.size - 1):
        columns = A_col[A_row[i]:A_row[i + 1]]
        values = A_val[A_row[i]:A_row[i + 1]]
        y[i] = values @ x[columns]
    return y
