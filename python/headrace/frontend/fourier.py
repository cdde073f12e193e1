"""np.fft: every transform is one of complex numbers along one axis, the library node linalg.Fft, which has a gradient of its own."""

from __future__ import annotations

import numpy as np

from . import arrays, elementwise
from .emitter import Emitter
from .functions import FUNCTIONS, handles
from .linalg import node
from .sizes import atom
from .types import IR_NAMES
from .values import Value, value_of

_NORMS = ("backward", "ortho", "forward")


def _complex(e: Emitter, v: Value) -> Value:
    single = v.dtype in (np.complex64, np.float32, np.float16)
    return v if v.dtype.kind == "c" else elementwise.cast(e, v, np.complex64 if single else np.complex128)


def _points(e: Emitter, n):
    size = e.size_of(n)
    if isinstance(size, int) and size < 1:
        raise ValueError(f"a Fourier transform of {size} numbers")
    return size


def _fitted(v: Value, axis: int, size) -> Value:
    """v cut at this size, or filled up with zeros."""
    before = v.shape[axis]
    if before == size:
        return v
    zero = "complex(f64(0), f64(0))" if v.dtype == np.complex128 else "c64(complex(f64(0), f64(0)))" if v.dtype.kind == "c" else f"{IR_NAMES[v.dtype]}(0)"
    shape = [size if k == axis else s for k, s in enumerate(v.shape)]
    if isinstance(size, int) and isinstance(before, int) and size < before:
        return Value(v.dtype, shape, v.at)
    return Value(v.dtype, shape, lambda i: f"({atom(i[axis])} < {atom(before)} ? {v.at(i)} : {zero})")


def _scaled(e: Emitter, v: Value, size, norm: str | None, inverse: bool) -> Value:
    """What the node gives, which divides the inverse alone by the size, as `norm` has it."""
    norm = norm or "backward"
    if norm not in _NORMS:
        raise ValueError(f"norm={norm!r} of a Fourier transform: there are {', '.join(_NORMS)}")
    if norm == "backward":
        return v
    part = np.float32 if v.dtype == np.complex64 else np.float64
    by = elementwise.cast(e, size, part)
    by = elementwise.apply(e, "sqrt", by) if norm == "ortho" else by
    return elementwise.apply(e, "multiply" if inverse else "divide", v, by)


def _transform(e: Emitter, a, n, axis, norm, inverse: bool) -> Value:
    v = _complex(e, value_of(a))
    axis = arrays.normal(axis, v.ndim)
    size = v.shape[axis] if n is None else _points(e, n)
    v = _fitted(v, axis, size)
    order = [k for k in range(v.ndim) if k != axis] + [axis]
    turned = arrays.transpose(v, order)
    result = node(e, "Fft", {"X": turned}, "Y", v.dtype, turned.shape, "{inverse = 1}" if inverse else "")
    return _scaled(e, arrays.transpose(result, [order.index(k) for k in range(v.ndim)]), size, norm, inverse)


@handles(np.fft.fft)
def fft(e: Emitter, a, n=None, axis=-1, norm=None):
    return _transform(e, a, n, axis, norm, False)


@handles(np.fft.ifft)
def ifft(e: Emitter, a, n=None, axis=-1, norm=None):
    return _transform(e, a, n, axis, norm, True)


@handles(np.fft.rfft)
def rfft(e: Emitter, a, n=None, axis=-1, norm=None):
    v = value_of(a)
    if v.dtype.kind == "c":
        raise TypeError("np.fft.rfft takes real numbers")
    axis = arrays.normal(axis, v.ndim)
    whole = _transform(e, v, n, axis, norm, False)
    kept = tuple(slice(None, whole.shape[axis] // 2 + 1) if k == axis else slice(None) for k in range(v.ndim))
    return arrays.subscript(e, whole, kept)


@handles(np.fft.irfft)
def irfft(e: Emitter, a, n=None, axis=-1, norm=None):
    v = value_of(a)
    axis = arrays.normal(axis, v.ndim)
    size = 2 * (v.shape[axis] - 1) if n is None else _points(e, n)
    half = e.settled(_complex(e, _fitted(v, axis, size // 2 + 1)))
    name = IR_NAMES[half.dtype]

    def mirrored(i):
        def part(k: str) -> str:
            return half.at([*i[:axis], k, *i[axis + 1:]])

        k, n = atom(i[axis]), atom(size)
        real = f"{name}(complex(real({part(k)}), real({part(k)})*0))"  # only the real part of these counts
        return f"({k} == 0 || 2*{k} == {n} ? {real} : 2*{k} <= {n} ? {part(k)} : conj({part(f'{n} - {k}')}))"

    full = Value(half.dtype, [size if k == axis else s for k, s in enumerate(half.shape)], mirrored)
    return FUNCTIONS[np.real](e, _transform(e, full, None, axis, norm, True))


def _in_turn(transform, last=None, axes=(-2, -1)):
    """Along each of the axes, the last one first; `last`: another transform for that one, which makes complex numbers of real ones, or
    at the end real ones of complex ones."""
    of_real, to_real = last is rfft, last is irfft

    def handler(e, a, s=None, axes=axes, norm=None):
        ndim = value_of(a).ndim
        if axes is None:
            axes = range(ndim) if s is None else range(ndim - len(s), ndim)
        steps = list(zip(axes, s if s is not None else [None] * len(axes)))
        if s is not None and len(s) != len(axes):
            raise ValueError(f"a Fourier transform along {len(axes)} axes of {len(s)} sizes")
        if last is None:
            steps = steps[::-1]
        elif of_real:
            a, steps = last(e, a, steps[-1][1], steps[-1][0], norm), steps[:-1]
        for axis, n in steps[:-1] if to_real else steps:
            a = transform(e, a, n, axis, norm)
        return last(e, a, steps[-1][1], steps[-1][0], norm) if to_real else a
    return handler


FUNCTIONS[np.fft.fft2], FUNCTIONS[np.fft.fftn] = _in_turn(fft), _in_turn(fft, axes=None)
FUNCTIONS[np.fft.ifft2], FUNCTIONS[np.fft.ifftn] = _in_turn(ifft), _in_turn(ifft, axes=None)
FUNCTIONS[np.fft.rfft2], FUNCTIONS[np.fft.rfftn] = _in_turn(fft, rfft), _in_turn(fft, rfft, axes=None)
FUNCTIONS[np.fft.irfft2], FUNCTIONS[np.fft.irfftn] = _in_turn(ifft, irfft), _in_turn(ifft, irfft, axes=None)


def _swapped(norm: str | None) -> str:
    return {"forward": "backward", "ortho": "ortho"}.get(norm or "backward", "forward")


@handles(np.fft.hfft)
def hfft(e: Emitter, a, n=None, axis=-1, norm=None):
    v = value_of(a)
    return irfft(e, elementwise.apply(e, "conjugate", v), n, axis, _swapped(norm))


@handles(np.fft.ihfft)
def ihfft(e: Emitter, a, n=None, axis=-1, norm=None):
    return elementwise.apply(e, "conjugate", rfft(e, a, n, axis, _swapped(norm)))


def _shift(half):
    def handler(e, x, axes=None):
        v = value_of(x)
        for axis in arrays.axes_of(axes, v.ndim):
            v = FUNCTIONS[np.roll](e, v, half(v.shape[axis]), axis)
        return v
    return handler


FUNCTIONS[np.fft.fftshift], FUNCTIONS[np.fft.ifftshift] = _shift(lambda n: n // 2), _shift(lambda n: -(n // 2))
