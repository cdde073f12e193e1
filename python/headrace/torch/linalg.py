"""Linear algebra as linalg's nodes (plugins/linalg), matrix by matrix, with their gradients; factors with row exchanges as loops.

A singular matrix, and one that is not positive definite, gives infinities and NaN where eager code raises LinAlgError.
"""

from __future__ import annotations

from typing import Callable, Sequence

from ..errors import UnsupportedError
from .complex import PART
from .emit import COMPLEX, Value
from .reductions import require_elements
from .table import op

At = Callable[[str, str], str]  # the text of an element of a matrix

WITH_NODES = ("f32", "f64", *COMPLEX)


def _square(c, a: Value) -> None:
    if a.dtype not in WITH_NODES:
        raise UnsupportedError(f"{c.target} of {a.dtype}")
    require_elements(a)
    if isinstance(a.shape[-1], int) and isinstance(a.shape[-2], int) and a.shape[-1] != a.shape[-2]:
        raise UnsupportedError(f"{c.target} of {a.shape[-2]} rows and {a.shape[-1]} columns")


def _each(c, batch: Sequence, body: Callable[[list[str]], None]) -> None:
    """`body` for each matrix of a batch, one after the other: its nodes have containers of one matrix."""
    index: list[str] = []

    def inner(k: int) -> None:
        if k == len(batch):
            return body(index)
        c.in_order(batch[k], lambda t: (index.append(t), inner(k + 1)))

    inner(0)


def _of(v: Value, batch: Sequence[str], turned: bool = False) -> At:
    """Elements of the matrix of `v` for a place in the batch, which its own dimensions broadcast to."""
    own = batch[len(batch) - (v.rank - 2):] if v.rank > 2 else []
    lead = ["0" if s == 1 else i for i, s in zip(own, v.shape)]
    return (lambda i, j: v.at([*lead, j, i])) if turned else (lambda i, j: v.at([*lead, i, j]))


def _matrix(c, dtype: str, rows, columns, at: At, hint: str = "m") -> Value:
    return c.fill(c.new(dtype, [rows, columns], hint), lambda i: at(i[0], i[1]))


def _solve(c, a: Value, b: Value) -> Value:
    x = c.new(b.dtype, b.shape, "x")
    c.node("linalg.Solve", {}, {"A": a, "B": b}, {"X": x})
    return x


def _unit(c, dtype: str) -> At:
    one, zero = c.operand(1, (), dtype), c.operand(0, (), dtype)
    return lambda i, j: f"({i} == {j} ? {one} : {zero})"


def _triangular(c, a: At, b: At, n, m, dtype: str, lower: bool, unit: bool = False) -> At:
    """X with A X = B, of A's one triangle; a lower one is read from its end, for which it is an upper one."""
    at = (lambda i: f"({n} - 1 - {i})") if lower else (lambda i: i)
    one, zero = c.operand(1, (), dtype), c.operand(0, (), dtype)

    def element(i, j):
        diagonal = one if unit else a(at(i), at(j))
        return f"({i} < {j} ? {a(at(i), at(j))} : {i} == {j} ? {diagonal} : {zero})"

    x = _solve(c, _matrix(c, dtype, n, n, element), _matrix(c, dtype, n, m, lambda i, j: b(at(i), j)))
    return lambda i, j: x.at([at(i), j])


def _write(c, out: Value, batch: Sequence[str], rows, columns, at: At) -> None:
    c.maps([rows, columns], lambda i: c.line(f"{out.at([*batch, *i])} = {at(*i)}"))


# ---- elimination ----
def _eliminated(c, a: At, n, dtype: str) -> tuple[Value, Value]:
    """L below the diagonal and U, of A with its rows exchanged as LAPACK does it; row k with row pivots[k] - 1, one after the other."""
    lu, pivots = _matrix(c, dtype, n, n, a, "lu"), c.new("i32", [n], "pivots")
    part = PART.get(dtype, dtype)
    top, found, row = c.new(part, (), "top"), c.new("i64", (), "found"), c.new(dtype, [n], "row")

    def size(i: str, k: str) -> str:
        x = lu.at([i, k])
        return f"(abs(real({x})) + abs(imag({x})))" if dtype in COMPLEX else f"abs({x})"

    def step(k: str) -> None:
        c.line(f"{top.name} = {size(k, k)}")
        c.maps([f"{k}:{n}"], lambda i: c.line(f"{top.name} max= {size(i[0], k)}"))
        c.line(f"{found.name} = {n} - 1")
        c.maps([f"{k}:{n}"], lambda i: c.line(f"{found.name} min= ({size(i[0], k)} == {top.name} ? {i[0]} : {n} - 1)"))
        c.line(f"{pivots.at([k])} = i32({found.name} + 1)")
        _exchange(c, lu, row, k, found.name, n)
        pivot = lu.at([k, k])
        c.maps([f"{k} + 1:{n}"], lambda i: c.line(
            f"{lu.at([i[0], k])} = ({pivot} == {c.operand(0, (), dtype)} ? {lu.at([i[0], k])} : {lu.at([i[0], k])} / {pivot})"))
        c.maps([f"{k} + 1:{n}"] * 2, lambda i: c.line(f"{lu.at(i)} = {lu.at(i)} - {lu.at([i[0], k])} * {lu.at([k, i[1]])}"))

    c.in_order(n, step)
    return lu, pivots


def _exchange(c, m: Value, row: Value, k: str, other: str, columns) -> None:
    c.maps([columns], lambda j: c.line(f"{row.at(j)} = {m.at([k, *j])}"))
    c.maps([columns], lambda j: c.line(f"{m.at([k, *j])} = {m.at([other, *j])}"))
    c.maps([columns], lambda j: c.line(f"{m.at([other, *j])} = {row.at(j)}"))


def _factors(c, a: Value, first: int, turned: bool = False, more: Callable[[list[str], Value, Value], None] | None = None) -> tuple:
    """Results `first` and `first` + 1, LU and pivots of A, or of its transpose where `turned`, where somebody reads them. `more` is
    given the place in the batch, LU and pivots, and writes what else follows from them."""
    hints = ("LU", "exchanges")
    wanted = [c.new(c.types[first + k], c.shapes[first + k], hints[k]) if c.used(first + k) else None for k in range(2)]
    if not any(wanted) and more is None:
        return None, None
    n = a.shape[-1]

    def body(batch: list[str]) -> None:
        held = _of(a, batch, turned)
        lu, pivots = _eliminated(c, lambda i, j: f"hold({held(i, j)})" if more else held(i, j), n, a.dtype)
        if wanted[0]:
            _write(c, wanted[0], batch, n, n, lambda i, j: lu.at([i, j]))
        if wanted[1]:
            c.maps([n], lambda i: c.line(f"{wanted[1].at([*batch, *i])} = {pivots.at(i)}"))
        if more:
            more(batch, lu, pivots)

    _each(c, a.shape[:-2], body)
    return tuple(wanted)


def _singular(c, k: int, a: Value) -> Value | None:
    """Result k, LAPACK's info: 0, or which pivot is the first that is 0. Elimination step by step only says which, where the
    determinant is 0, or none because a product overflows."""
    if not c.used(k):
        return None
    out, n = c.new("i32", c.shapes[k], "info"), a.shape[-1]

    def body(place: list[str]) -> None:
        at = _of(a, place)
        d = c.new(a.dtype, (), "d")
        c.node("linalg.Det", {}, {"A": _matrix(c, a.dtype, n, n, at)}, {"D": d})
        c.line(f"{out.at(place)} = 0")
        c.open(f"if !(abs({d.name}) > 0)")
        lu, _ = _eliminated(c, at, n, a.dtype)
        zero = c.operand(0, (), a.dtype)
        c.in_order(n, lambda k: c.line(
            f"{out.at(place)} = ({out.at(place)} == 0 && {lu.at([k, k])} == {zero} ? i32({k} + 1) : {out.at(place)})"))
        c.close()

    _each(c, out.shape, body)
    return out


# ---- operators ----
@op("_linalg_solve_ex")
def solve_ex(c, a, b, left=True, check_errors=False):
    _square(c, a)
    require_elements(b)
    out, n = c.new(c.dtype, c.shape, "solved"), a.shape[-1]
    vector = out.rank == a.rank - 1
    batch = out.shape[:-1] if vector else out.shape[:-2]
    m = 1 if vector else out.shape[-1] if left else out.shape[-2]

    def body(place: list[str]) -> None:
        if vector:
            right = lambda i, j: b.at([*place[len(place) - b.rank + 1:], i])  # noqa: E731
        else:
            right = _of(b, place, turned=not left)
        x = _solve(c, _matrix(c, a.dtype, n, n, _of(a, place, turned=not left)), _matrix(c, a.dtype, n, m, right))
        if vector:
            c.maps([n], lambda i: c.line(f"{out.at([*place, *i])} = {x.at([*i, '0'])}"))
        else:
            _write(c, out, place, *out.shape[-2:], lambda i, j: x.at([i, j] if left else [j, i]))

    _each(c, batch, body)
    return (out, *_factors(c, a, 1), _singular(c, 3, a))


@op("linalg_inv_ex")
def inv_ex(c, a, check_errors=False):
    _square(c, a)
    out, n = c.new(c.dtype, c.shape, "inverse"), a.shape[-1]

    def body(place: list[str]) -> None:
        x = _solve(c, _matrix(c, a.dtype, n, n, _of(a, place)), _matrix(c, a.dtype, n, n, _unit(c, a.dtype)))
        _write(c, out, place, n, n, lambda i, j: x.at([i, j]))

    _each(c, a.shape[:-2], body)
    return out, _singular(c, 1, a)


def _of_the_transpose(c, a: Value) -> bool:
    """Whether torch factors the transpose, which is what a row-major matrix is to LAPACK; the gradient of AOTAutograd knows."""
    return c.meta_of(0).is_contiguous() and a.dtype not in COMPLEX


@op("_linalg_det")
def det(c, a):
    _square(c, a)
    out, n = c.new(c.dtype, c.shape, "det"), a.shape[-1]

    def body(place: list[str]) -> None:
        d = c.new(a.dtype, (), "d")
        c.node("linalg.Det", {}, {"A": _matrix(c, a.dtype, n, n, _of(a, place))}, {"D": d})
        c.line(f"{out.at(place)} = {d.name}")

    _each(c, a.shape[:-2], body)
    return (out, *_factors(c, a, 1, _of_the_transpose(c, a)))


@op("_linalg_slogdet")
def slogdet(c, a):
    """The logarithm is that of the factors' diagonal; its derivatives are those of log|det(W A)|, with the constant W = 1 / A: a number
    near 1, whatever the size of the determinant."""
    _square(c, a)
    if a.dtype in COMPLEX:
        return _complex_slogdet(c, a)
    n = a.shape[-1]
    sign, logarithm = (c.new(t, c.shape, hint) for t, hint in zip(c.types, ("sign", "held")))

    def follow(place: list[str], lu: Value, pivots: Value) -> None:
        c.line(f"{logarithm.at(place)} = 0")
        c.maps([n], lambda i: c.line(f"{logarithm.at(place)} += log(abs({lu.at([*i, *i])}))"))
        c.line(f"{sign.at(place)} = 1")
        c.in_order(n, lambda k: c.line(
            f"{sign.at(place)} = ({pivots.at([k])} == {k} + 1 ? {sign.at(place)} : -{sign.at(place)}) * sign({lu.at([k, k])})"))

    factors = _factors(c, a, 2, _of_the_transpose(c, a), follow)
    if any(factors):  # AOTAutograd has gradients by these
        return (sign, logarithm, *factors)
    out = c.new(c.types[1], c.shape, "logdet")

    def body(place: list[str]) -> None:
        at = _of(a, place)
        w = _solve(c, _matrix(c, a.dtype, n, n, lambda i, j: f"hold({at(i, j)})"), _matrix(c, a.dtype, n, n, _unit(c, a.dtype)))
        near = _matrix(c, a.dtype, n, n, lambda i, j: c.operand(0, (), a.dtype))
        c.maps([n, n, n], lambda i: c.line(f"{near.at(i[:2])} += {w.at([i[0], i[2]])} * {at(i[2], i[1])}"))
        d, x = c.new(a.dtype, (), "d"), c.new(a.dtype, (), "x")
        c.node("linalg.Det", {}, {"A": near}, {"D": d})
        c.line(f"{x.name} = log(abs({d.name}))")
        held = logarithm.at(place)
        c.line(f"{out.at(place)} = (isnan({x.name}) || isinf({x.name}) ? {held} : {held} + ({x.name} - hold({x.name})))")

    _each(c, a.shape[:-2], body)
    return sign, out, None, None


def _complex_slogdet(c, a):
    if c.used(2) or c.used(3):
        raise UnsupportedError(f"{c.target} of {a.dtype} with its factors")
    sign, logarithm = (c.new(t, c.shape, hint) for t, hint in zip(c.types, ("sign", "logdet")))

    def body(place: list[str]) -> None:
        s, x = c.new(a.dtype, (), "s"), c.new(a.dtype, (), "l")
        c.node("linalg.Slogdet", {}, {"A": _matrix(c, a.dtype, *a.shape[-2:], _of(a, place))}, {"S": s, "L": x})
        c.line(f"{sign.at(place)} = {s.name}")
        c.line(f"{logarithm.at(place)} = real({x.name})")

    _each(c, a.shape[:-2], body)
    return sign, logarithm, None, None


@op("linalg_cholesky_ex", "cholesky")
def cholesky(c, a, upper=False, check_errors=False):
    """Of one triangle, which stands for both: gradients are symmetric, as eager's are."""
    _square(c, a)
    out, n = c.new(c.dtype, c.shape, "factor"), a.shape[-1]
    info = c.new("i32", c.shapes[1], "info") if len(c.shapes) > 1 and c.used(1) else None

    def body(place: list[str]) -> None:
        at = _hermitian(c, a, place, upper)
        factor = c.new(a.dtype, [n, n], "l")
        c.node("linalg.Cholesky", {}, {"A": _both_triangles(c, a.dtype, n, at)}, {"L": factor})
        _write(c, out, place, n, n, lambda i, j: _conjugate(factor.at([j, i]), a.dtype) if upper else factor.at([i, j]))
        if info:
            _indefinite(c, info.at(place), at, n, a.dtype, factor)

    _each(c, a.shape[:-2], body)
    return out if c.target == "aten.cholesky.default" else (out, info)


def _conjugate(text: str, dtype: str) -> str:
    return f"conj({text})" if dtype in COMPLEX else text


def _hermitian(c, a: Value, place: Sequence[str], upper: bool) -> At:
    """A matrix whose lower triangle is that of `a`, or the conjugate of its upper one."""
    plain = _of(a, place, turned=upper)
    return (lambda i, j: _conjugate(plain(i, j), a.dtype)) if upper else plain


def _both_triangles(c, dtype: str, n, at: At) -> Value:
    """A Hermitian matrix of which the nodes read the lower triangle; its gradient is shared by both."""
    half = lambda x: f"{c.operand(0.5, (), dtype)} * ({x} - hold({x}))"  # noqa: E731
    return _matrix(c, dtype, n, n, lambda i, j: f"(hold({at(i, j)}) + ({half(at(i, j))} + {_conjugate(half(at(j, i)), dtype)}))")


def _indefinite(c, info: str, a: At, n, dtype: str, factor: Value) -> None:
    """LAPACK's info: 0, or the first leading minor that is not positive; the last of the diagonal tells whether there is one."""
    c.line(f"{info} = 0")
    last = f"{n} - 1"
    real = (lambda x: f"real({x})") if dtype in COMPLEX else lambda x: x
    c.open(f"if !({real(factor.at([last, last]))} > 0)")
    f = _matrix(c, dtype, n, n, a)

    def step(k: str) -> None:
        c.line(f"{info} = ({info} == 0 && !({real(f.at([k, k]))} > 0) ? i32({k} + 1) : {info})")
        c.maps([f"{k} + 1:{n}"] * 2, lambda i: c.line(
            f"{f.at(i)} = ({i[1]} <= {i[0]} ? {f.at(i)} - {f.at([i[0], k])} * {_conjugate(f.at([i[1], k]), dtype)} / {f.at([k, k])} : "
            f"{f.at(i)})"))

    c.in_order(n, step)
    c.close()


@op("linalg_solve_triangular")
def solve_triangular(c, a, b, upper, left=True, unitriangular=False):
    _square(c, a)
    require_elements(b)
    out = c.new(c.dtype, c.shape, "solved")
    rows, columns = out.shape[-2:]

    def body(place: list[str]) -> None:
        x = _triangular(c, _of(a, place, turned=not left), _of(b, place, turned=not left), a.shape[-1], columns if left else rows,
                        a.dtype, lower=upper != left, unit=unitriangular)
        _write(c, out, place, rows, columns, lambda i, j: x(i, j) if left else x(j, i))

    _each(c, out.shape[:-2], body)
    return out


def _by_factor(c, factor: Value, right: Callable[[list[str]], At], upper: bool) -> Value:
    """X with A X = B, of the Cholesky factor of A."""
    out = c.new(c.dtype, c.shape, "solved")
    n, m = out.shape[-2:]

    def body(place: list[str]) -> None:
        y = _triangular(c, _of(factor, place, turned=upper), right(place), n, m, factor.dtype, lower=True)
        x = _triangular(c, _of(factor, place, turned=not upper), y, n, m, factor.dtype, lower=False)
        _write(c, out, place, n, m, x)

    _each(c, out.shape[:-2], body)
    return out


@op("cholesky_solve")
def cholesky_solve(c, b, factor, upper=False):
    _square(c, factor)
    require_elements(b)
    if factor.dtype in COMPLEX:
        raise UnsupportedError(f"{c.target} of {factor.dtype}")
    return _by_factor(c, factor, lambda place: _of(b, place), upper)


@op("cholesky_inverse")
def cholesky_inverse(c, factor, upper=False):
    _square(c, factor)
    if factor.dtype in COMPLEX:
        raise UnsupportedError(f"{c.target} of {factor.dtype}")
    return _by_factor(c, factor, lambda place: _unit(c, factor.dtype), upper)


@op("linalg_lu_factor_ex")
def lu_factor_ex(c, a, pivot=True, check_errors=False):
    _square(c, a)
    if not pivot:
        raise UnsupportedError(f"{c.target} without exchanges of rows")
    return (*_factors(c, a, 0), _singular(c, 2, a))


@op("linalg_lu_solve")
def lu_solve(c, lu, pivots, b, left=True, adjoint=False):
    """A = P L U: exchanges, then two triangular systems; of the transposed matrix in the other order."""
    _square(c, lu)
    require_elements(b)
    out, n = c.new(c.dtype, c.shape, "solved"), lu.shape[-1]
    rows, columns = out.shape[-2:]
    m, t = columns if left else rows, lu.dtype
    turned = adjoint == left
    conjugate = adjoint and t in COMPLEX

    def body(place: list[str]) -> None:
        plain = _of(lu, place, turned)
        factor = (lambda i, j: f"conj({plain(i, j)})") if conjugate else plain
        lead = ["0" if s == 1 else i for i, s in zip(place[len(place) - pivots.rank + 1:], pivots.shape)]
        row = c.new(t, [m], "row")

        def exchange(v: Value, k: str) -> None:
            _exchange(c, v, row, k, f"i64({pivots.at([*lead, k])} - 1)", m)

        x = _matrix(c, t, n, m, _of(b, place, turned=not left))
        if turned:
            y = _triangular(c, factor, lambda i, j: x.at([i, j]), n, m, t, lower=True)
            z = _triangular(c, factor, y, n, m, t, lower=False, unit=True)
            x = _matrix(c, t, n, m, z)
            c.in_order(n, lambda k: exchange(x, f"({n} - 1 - {k})"))
            z = lambda i, j: x.at([i, j])  # noqa: E731
        else:
            c.in_order(n, lambda k: exchange(x, k))
            y = _triangular(c, factor, lambda i, j: x.at([i, j]), n, m, t, lower=True, unit=True)
            z = _triangular(c, factor, y, n, m, t, lower=False)
        _write(c, out, place, rows, columns, lambda i, j: z(i, j) if left else z(j, i))

    _each(c, out.shape[:-2], body)
    return out
