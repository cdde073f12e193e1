"""np.linalg's factors of matrices, and of stacks of them: eigenvalues, singular values, Q and R, and what is made of them."""

from __future__ import annotations

import numpy as np

from . import arrays, elementwise
from .derived import along, op
from .emitter import Emitter
from .functions import FUNCTIONS, handles
from .linalg import adjoint, each_matrix, floats, inv, matrices, nodes, norm, square
from .products import matmul
from .sizes import maximum, minimum
from .values import Value, is_number, value_of

# What NumPy returns, tuples with names.
Slogdet, Eigh, Svd, Qr = (type(made) for made in (np.linalg.slogdet(np.eye(1)), np.linalg.eigh(np.eye(1)), np.linalg.svd(np.eye(1)),
                                                  np.linalg.qr(np.eye(1))))


def _part(v: Value) -> Value:
    """Real numbers that a node gives in the type of its matrix."""
    if v.dtype.kind != "c":
        return v
    return Value(np.float32 if v.dtype == np.complex64 else np.float64, v.shape, lambda i: f"real({v.at(i)})")


@handles(np.linalg.slogdet)
def slogdet(e: Emitter, a):
    def one(m: Value):
        sign, logarithm = nodes(e, "Slogdet", {"A": m}, {"S": (), "L": ()}, m.dtype)
        return Slogdet(sign, _part(logarithm))
    return each_matrix(e, square("slogdet", floats(e, a)), one)


@handles(np.linalg.eigh)
def eigh(e: Emitter, a, UPLO="L"):  # noqa: N803: NumPy's name
    if not isinstance(UPLO, str) or UPLO.upper() not in ("L", "U"):
        raise ValueError(f"np.linalg.eigh: UPLO is 'L' or 'U', not {UPLO!r}")

    def one(m: Value):
        read = m if UPLO.upper() == "L" else adjoint(m)
        values, vectors = nodes(e, "Eigh", {"A": read}, {"W": m.shape[:1], "V": m.shape}, m.dtype)
        return Eigh(_part(values), vectors)
    return each_matrix(e, square("eigh", floats(e, a)), one)


@handles(np.linalg.eigvalsh)
def eigvalsh(e: Emitter, a, UPLO="L"):  # noqa: N803
    return eigh(e, a, UPLO)[0]


@handles(np.linalg.svd)
def svd(e: Emitter, a, full_matrices=True, compute_uv=True, hermitian=False):
    if hermitian:
        raise NotImplementedError("np.linalg.svd with hermitian=True: leave it out, or take np.linalg.eigh")

    def one(m: Value):
        rows, columns = m.shape
        k, full = minimum(rows, columns), full_matrices and compute_uv
        shapes = {"U": (rows, rows if full else k), "S": (k,), "Vh": (columns if full else k, columns)}
        u, s, vh = nodes(e, "Svd", {"A": m}, shapes, m.dtype, "{full = 1}" if full else "")
        return Svd(u, _part(s), vh) if compute_uv else _part(s)
    return each_matrix(e, matrices("svd", floats(e, a)), one)


@handles(np.linalg.svdvals)
def svdvals(e: Emitter, x):
    return svd(e, x, compute_uv=False)


@handles(np.linalg.qr)
def qr(e: Emitter, a, mode="reduced"):
    if mode not in ("reduced", "complete", "r"):
        raise NotImplementedError(f"np.linalg.qr with mode={mode!r}: there are 'reduced', 'complete' and 'r'")

    def one(m: Value):
        rows, columns = m.shape
        k = rows if mode == "complete" else minimum(rows, columns)
        q, r = nodes(e, "Qr", {"A": m}, {"Q": (rows, k), "R": (k, columns)}, m.dtype, "{complete = 1}" if mode == "complete" else "")
        return r if mode == "r" else Qr(q, r)
    return each_matrix(e, matrices("qr", floats(e, a)), one)


@handles(np.linalg.pinv)
def pinv(e: Emitter, a, rcond=None, hermitian=False, *, rtol=None):
    if hermitian:
        raise NotImplementedError("np.linalg.pinv with hermitian=True: leave it out")
    limit = rcond if rcond is not None else 1e-15 if rtol is None else rtol
    if not is_number(limit):
        raise NotImplementedError("np.linalg.pinv with a tolerance that the program computes: give a number")

    def one(m: Value):
        return nodes(e, "Pinv", {"A": m}, {"P": m.shape[::-1]}, m.dtype, f"{{rtol = {float(limit)!r}}}")[0]
    return each_matrix(e, matrices("pinv", floats(e, a)), one)


@handles(np.linalg.matrix_rank)
def matrix_rank(e: Emitter, A, tol=None, hermitian=False, *, rtol=None):  # noqa: N803
    v = floats(e, A)
    if v.ndim < 2:
        return elementwise.cast(e, FUNCTIONS[np.any](e, op(e, "not_equal", v, 0)), np.int64)
    s = e.settled(svdvals(e, v))
    if tol is None:
        factor = rtol if rtol is not None else op(e, "multiply", maximum(*v.shape[-2:]), float(np.finfo(v.dtype).eps))
        tol = op(e, "multiply", arrays.reduction(e, "max", s, -1, keepdims=True), factor)
    return arrays.reduction(e, "sum", elementwise.cast(e, op(e, "greater", s, tol), np.int64), -1)


@handles(np.linalg.cond)
def cond(e: Emitter, x, p=None):
    v = e.settled(square("cond", floats(e, x)) if p not in (None, 2, -2) else matrices("cond", floats(e, x)))
    if p in (None, 2, -2):
        s = e.settled(svdvals(e, v))
        first, last = along(e, s, s.ndim - 1, 0), along(e, s, s.ndim - 1, -1)
        return op(e, "divide", last, first) if p == -2 else op(e, "divide", first, last)
    return op(e, "multiply", norm(e, v, p), norm(e, inv(e, v), p))


class ResidualsByTheData:
    """Stands for np.linalg.lstsq's residuals, which are there or not by the rank: nothing can be done with it."""

    what = "the residuals of np.linalg.lstsq, which are there or not by the rank"


@handles(np.linalg.lstsq)
def lstsq(e: Emitter, a, b, rcond=None):
    """(solution, residuals that no program can use, rank, singular values)"""
    v, right = e.settled(matrices("lstsq", floats(e, a))), e.settled(floats(e, b))
    if v.ndim != 2 or rcond is not None and not is_number(rcond):
        raise NotImplementedError("np.linalg.lstsq of other than one matrix, or with a cut-off that the program computes")
    rank = matrix_rank(e, v, rtol=rcond) if rcond not in (None, -1) else matrix_rank(e, v)
    known = max(s for s in (1, *v.shape) if isinstance(s, int))
    inverse = pinv(e, v, rtol=float(np.finfo(v.dtype).eps) * (1 if rcond == -1 else known) if rcond in (None, -1) else rcond)
    return matmul(e, inverse, right), ResidualsByTheData(), elementwise.cast(e, rank, np.int32), svdvals(e, v)


@handles(np.polyfit)
def polyfit(e: Emitter, x, y, deg):
    if not isinstance(deg, int):
        raise NotImplementedError("np.polyfit of a degree that is not known when the program is translated")
    columns = e.settled(FUNCTIONS[np.vander](e, floats(e, x), deg + 1))
    scale = e.settled(op(e, "sqrt", arrays.reduction(e, "sum", op(e, "multiply", columns, columns), 0)))
    scaled = e.settled(op(e, "divide", columns, scale))
    right = e.settled(floats(e, y))
    found = matmul(e, pinv(e, scaled), right)
    return op(e, "divide", found, arrays.keep_dims(scale, [1], 2) if right.ndim == 2 else scale)


def _by_the_data(name: str, why: str):
    def handler(e, *args, **named):
        raise NotImplementedError(f"np.linalg.{name}, {why}")
    return handler


FUNCTIONS[np.linalg.eig] = _by_the_data("eig", "whose results are real or complex by the data: there is np.linalg.eigh, of symmetric matrices")
FUNCTIONS[np.linalg.eigvals] = _by_the_data("eigvals", "which are real or complex by the data: there is np.linalg.eigvalsh, of symmetric matrices")
