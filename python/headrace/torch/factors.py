"""Factors of matrices as linalg's nodes (plugins/linalg), matrix by matrix: eigenvalues, singular values, Q and R, pseudo-inverses. What
does not converge is NaN, where eager code raises LinAlgError."""

from __future__ import annotations

from typing import Sequence

from ..errors import UnsupportedError
from .emit import COMPLEX, Value
from .linalg import WITH_NODES, _both_triangles, _each, _hermitian, _matrix, _of, _square, _write
from .reductions import require_elements
from .table import op


def _matrices(c, a: Value) -> tuple:
    """The sizes of one, and the smaller of both."""
    if a.dtype not in WITH_NODES:
        raise UnsupportedError(f"{c.target} of {a.dtype}")
    require_elements(a)
    m, n = a.shape[-2:]
    return m, n, min(m, n) if isinstance(m, int) and isinstance(n, int) else m if m == n else f"min({m}, {n})"


def _results(c, hints: Sequence[str], count: int) -> list[Value | None]:
    return [c.new(c.types[k], c.shapes[k], hints[k]) if c.used(k) else None for k in range(count)]


def _write_vector(c, out: Value, place: Sequence[str], v: Value) -> None:
    c.maps(v.shape, lambda i: c.line(f"{out.at([*place, *i])} = {f'real({v.at(i)})' if v.dtype in COMPLEX else v.at(i)}"))


@op("_linalg_eigh")
def eigh(c, a, uplo="L", compute_v=True):
    _square(c, a)
    n = a.shape[-1]
    values, vectors = _results(c, ("eigenvalues", "eigenvectors"), 2)
    if not compute_v:
        vectors = None

    def body(place: list[str]) -> None:
        w, v = c.new(a.dtype, [n], "w"), c.new(a.dtype, [n, n], "v")
        c.node("linalg.Eigh", {}, {"A": _both_triangles(c, a.dtype, n, _hermitian(c, a, place, uplo.upper() == "U"))}, {"W": w, "V": v})
        if values:
            _write_vector(c, values, place, w)
        if vectors:
            _write(c, vectors, place, n, n, lambda i, j: v.at([i, j]))

    _each(c, a.shape[:-2], body)
    return values, vectors


@op("_linalg_svd")
def svd(c, a, full_matrices=False, compute_uv=True, driver=None):
    m, n, k = _matrices(c, a)
    u, s, vh = _results(c, ("left", "singular", "right"), 3)
    if not compute_uv:
        u = vh = None
    full = full_matrices and compute_uv
    rows, columns = (n, m) if full else (k, k)

    def body(place: list[str]) -> None:
        left, values, right = c.new(a.dtype, [m, columns], "u"), c.new(a.dtype, [k], "s"), c.new(a.dtype, [rows, n], "vh")
        c.node("linalg.Svd", {"full": 1} if full else {}, {"A": _matrix(c, a.dtype, m, n, _of(a, place))}, {"U": left, "S": values, "Vh": right})
        if s:
            _write_vector(c, s, place, values)
        for out, made in ((u, left), (vh, right)):
            if out:
                _write(c, out, place, *made.shape, lambda i, j, made=made: made.at([i, j]))

    _each(c, a.shape[:-2], body)
    return u, s, vh


@op("linalg_qr")
def qr(c, a, mode="reduced"):
    m, n, k = _matrices(c, a)
    q, r = _results(c, ("q", "r"), 2)
    if mode == "r":
        q = None
    k = m if mode == "complete" else k

    def body(place: list[str]) -> None:
        left, right = c.new(a.dtype, [m, k], "ql"), c.new(a.dtype, [k, n], "rr")
        c.node("linalg.Qr", {"complete": 1} if mode == "complete" else {}, {"A": _matrix(c, a.dtype, m, n, _of(a, place))}, {"Q": left, "R": right})
        for out, made in ((q, left), (r, right)):
            if out:
                _write(c, out, place, *made.shape, lambda i, j, made=made: made.at([i, j]))

    _each(c, a.shape[:-2], body)
    return q, r


@op("linalg_pinv.atol_rtol_tensor")
def pinv(c, a, *, atol=None, rtol=None, hermitian=False):
    m, n, _ = _matrices(c, a)
    if hermitian or atol is not None or rtol is not None:
        raise UnsupportedError(f"{c.target} with tolerances of its own, or of one triangle")
    out = c.result()

    def body(place: list[str]) -> None:
        p = c.new(a.dtype, [n, m], "p")
        c.node("linalg.Pinv", {}, {"A": _matrix(c, a.dtype, m, n, _of(a, place))}, {"P": p})
        _write(c, out, place, n, m, lambda i, j: p.at([i, j]))

    _each(c, a.shape[:-2], body)
    return out
