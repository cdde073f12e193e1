"""NumPy's functions in programs, one by one: values and types as NumPy has them, with known sizes and with symbols for them; gradients
as differences have them."""

import importlib.util
import os
import re
import tempfile
import unittest

from python.tests.algorithms_test import copies, differences, with_symbols
from python.tests.case import Case, headrace, np

RNG = np.random.default_rng(0)
GIVEN = {"A": RNG.normal(size=(4, 5)), "B": RNG.normal(size=(4, 5)), "v": RNG.normal(size=7), "w": RNG.normal(size=7), "s": np.array([-0.5, 0.25, 1.0]),
         "k": np.arange(7) - 3, "m": np.array([[3.0, 1.0], [1.0, 2.0]]), "u": np.array([0.5, np.nan, -1.0, np.nan, 2.0, 0.0, 1.5]),
         "z": RNG.normal(size=6) + 1j * RNG.normal(size=6), "b": RNG.normal(size=7) > 0, "f": RNG.normal(size=7).astype(np.float32), "i8": np.array([4, -128, 6, -128, 0], np.int8)}
SMOOTH = """
np.diff(v)|np.diff(A, axis=0)|np.diff(v, 2)|np.ediff1d(A)|np.gradient(v)|np.gradient(A, 0.5, axis=1)|np.trapezoid(v, dx=0.5)|np.trapezoid(A, axis=0)
np.pad(v, 2)|np.pad(A, ((1, 0), (0, 2)), constant_values=3.0)|np.pad(A, 1, mode="edge")|np.pad(v, 2, mode="reflect")|np.pad(v, (3, 2), mode="wrap")
np.sort(v)|np.sort(A, axis=0)|np.sort(A, axis=None)|np.median(v)|np.median(A, axis=1)|np.percentile(v, 30)|np.quantile(A, 0.25, axis=0)|np.quantile(v, 0.4, keepdims=True)
np.kron(s, v)|np.kron(m, A)|np.tile(v, 2)|np.tile(A, (2, 3))|np.convolve(v, s)|np.convolve(v, s, mode="same")|np.convolve(s, v, mode="valid")|np.correlate(v, s, "full")
np.cross(s, np.array([1.0, 2.0, 3.0]))|np.vander(s, 3, increasing=True)|np.ptp(v)|np.ptp(A, axis=1)|np.logaddexp(v, w)|np.logaddexp2(v, w)|np.sinc(v)|np.corrcoef(A)
np.degrees(v)|np.radians(v)|np.polyval(v, s)|np.polyval([2.0, 0.0, 1.0], v)|np.interp(v, s, np.exp(s))|np.interp(v, s, s * 2, left=-9.0)|np.interp(v, s[:1], v[:1])
np.select([v > 1, v > 0], [v * v, w], 0.5)|np.where(np.isclose(v, w), v, w)|np.nan_to_num(v)|np.linalg.norm(v)|np.linalg.norm(A)|np.linalg.norm(A, axis=1)
np.linalg.norm(v, 1)|np.linalg.norm(v, np.inf)|np.linalg.norm(v, 3)|np.linalg.norm(A, 1)|np.linalg.norm(A, np.inf)|np.linalg.norm(A, -1)|np.linalg.norm(A, axis=0, keepdims=True)
np.moveaxis(A, 0, 1)|np.rollaxis(A, 1)|np.rot90(A)|np.rot90(A, -1)|np.atleast_2d(v)|np.atleast_3d(A)|np.column_stack((v, w))|np.dstack((A, B))|np.block([[A, B], [B, A]])
np.split(A, 2)[1]|np.array_split(v, 3)[0]|np.hsplit(A, [1, 3])[1]|np.diagonal(m)|np.diagflat(s)|np.append(v, w)|np.append(A, B, axis=1)|np.append(v, 2.0)
np.delete(v, 1)|np.delete(A, 0, axis=1)|np.insert(v, 2, 0.5)|np.insert(A, 1, 0.5, axis=0)|np.take(v, [2, 0, 2])|np.take(A, [1], axis=1)|np.broadcast_arrays(v, w)[1]
np.take_along_axis(A, np.argsort(A, axis=1), axis=1)|np.nansum(u)|np.nanprod(u)|np.nanmean(u)|np.nanvar(u)|np.nanstd(u, ddof=1)|np.nanmax(u)|np.nanmin(u)|np.nancumsum(u)
np.max(v, initial=0.7)|np.sum(v, initial=2.0)|np.sum(v, where=v > 0)|np.prod(A, axis=0, where=A < 0.5)|np.min(v, initial=9.0, where=v > 0)|np.linalg.multi_dot([A, B.T, A])
np.cov(v, w)|np.corrcoef(v, w)|np.cov(A, B, False)|np.cov(v, w, True, True)|np.corrcoef(A, A[0])|np.sum(A, 0, np.float64, None, True)|np.max(A, 1, None, True)|np.var(A, 0, None, None, 1)|np.nanmean(A, 0)
np.median(A, axis=(0, 1))|np.quantile(A, 0.3, axis=(1, 0), keepdims=True)|np.median(A[:3, :4])|np.median(A, axis=0, keepdims=True)|np.sum(A, axis=0, out=np.zeros_like(A[0]))|np.mean(v, 0)|np.modf(v)[0]|np.compress(v > 0, v)|np.extract(v > 0, w)|np.roll(A, (1, -2), axis=(0, 1))|np.roll(A, 3)|np.maximum.accumulate(A, axis=1)|np.minimum.accumulate(v)
np.einsum("...i,...i", A, A)|np.einsum("...ij,kj->...ik", A[None], B)|np.einsum("ij,jk", A, B.T)|A[:, ::-1].take([1, 0], axis=1)
np.quantile(v, [0.1, 0.5])|np.percentile(A, [10, 60], axis=1)|np.interp([0.1, 0.4], s, s * s)|A[np.ix_([0, 2], [1, 3])]|np.delete(v, [0, 3])|np.delete(A, [1, -1], axis=1)
np.maximum(s, [0.1, 0.2, 0.3])|s * [1, 2, 3]|[1.0, 2.0, 4.0] + s|np.dot([1.0, 2.0, 3.0], s)|s.dot([1, 2, 3])|np.average(s, weights=[1, 2, 3])|np.convolve(v, [1, 2, 1], "same")
np.concatenate([v, [1.0, 2.0]])|np.hstack([v, 1.0])|np.hstack((A, [[1.0]] * 4))|np.vstack(([1.0, 2.0, 3.0], s))|np.concatenate([A, v], axis=None)|np.concatenate(m)
np.r_[0.0, v]|np.r_[v, 1:4, [0.5, 2]]|np.r_[A, B]|np.c_[v, w]|np.c_[A, B[:, 0]]|np.einsum(A, [0, 1], B, [2, 1])|np.einsum(A, [0, 1], B, [0, 1], [1])|np.einsum("ij,kj", A, B, optimize=True)
A.reshape(-1, order="F")|np.reshape(A, (2, -1), order="F")|A.ravel("F")|A.flatten("F")|np.einsum(A, [0, ...], [...])|np.expand_dims(v, (0, 2))|np.expand_dims(A, (-1, 0))
np.trace(A)|np.trace(np.stack([A, B]))|A[None, :, :, None].trace()|np.trace(A[None], axis1=1, axis2=2)|np.trace(A, offset=1)|np.diagonal(A, -1)|np.diagonal(A[None], axis1=0, axis2=2)
np.lib.stride_tricks.sliding_window_view(v, 3).mean(1)|np.lib.stride_tricks.sliding_window_view(A, (2, 3))|np.lib.stride_tricks.sliding_window_view(A, 2, axis=1).max(-1)
np.logaddexp.reduce(v)|np.maximum.reduce([v, w, v * w])|np.add.outer([1.0, 2.0], v)|np.logaddexp.reduce(A, axis=1)|np.logaddexp.accumulate(v)|np.hypot.reduce(A, axis=0)|np.subtract.reduce(v)|np.logaddexp.reduce(A, axis=None)
np.logaddexp.reduce(A, axis=1, keepdims=True)|np.divide.accumulate(A, axis=1)|np.nancumprod(u)|np.ldexp(v, 3)|np.cumulative_sum(v)|np.cumulative_prod(A, axis=1)
np.shape(A)[0] * v|np.size(A) * v|np.ndim(A) * v|np.size(A, 1) * v|np.divide(v, w, out=np.zeros_like(v), where=w > 0)|np.log(v, out=np.zeros_like(v), where=v > 0)
A[np.tril_indices(4)]|m[np.triu_indices_from(m)]|A[np.diag_indices(4)]|m[np.diag_indices_from(m)]|np.logaddexp.outer(v, s)|np.einsum("ij,kj", A, B, optimize=np.einsum_path("ij,kj", A, B)[0])|np.unstack(A)[1]|np.unstack(A, axis=1)[2]|A[np.ix_(k[3:6], [0, 2])]|A[np.ix_([0, 1], k[4:6])]
np.einsum("ij,jk,kl->il", A, B.T, A)|np.einsum("ij,ij,ij->j", A, B, A)|np.einsum("i,i,i->i", v, w, v)|np.einsum("i,j,k->ijk", s, s, v)|np.einsum("...i,ij,jk->...k", A, A.T, B)|np.einsum("i,j,ij->", v, w, np.outer(v, w))
np.hypot(v, w)|np.diff(v, prepend=0)|np.diff(A, axis=0, append=A[:1])|np.diff(v, prepend=v[:2], append=1.0)|np.clip(v, min=0)|v.clip(max=0.5)|np.linspace(0, v[0], 5, retstep=True)[1] * v|A.item(7) * v
np.cbrt(v)|np.log10(np.abs(v) + 0.5)|A[:, None, [2, 0]]|A[[1, 0], None]|A[None, k[3:6]]|A[None, :, [0, 1]]|A[None, 0, [1, 2]]
np.choose([0, 1, 1], [s, s * s])|np.apply_along_axis(np.sort, 1, A)|np.fromfunction(lambda i, j: i + j, (4, 5)) * A|np.piecewise(v, [v < 0, v > 0.5], [np.sin, lambda x: -x, 0.25])
np.add.reduceat(v, [0, 3, 3, 5])|np.add.reduceat(A, [0, 4, 2], axis=1)|np.maximum.reduceat(A, k[4:6])|np.abs(z)[0] * v|np.frexp(v)[0]|np.sum(np.angle(v)) * v
np.vecdot(A, B)|np.vecdot(A, B, axis=0)|np.pad(A, ((2, 1), (3, 12)), mode="symmetric")|np.repeat(v, np.abs(k))|np.repeat(A, k[3:] % 3, axis=0)|np.repeat(s, [2, 0, 3])|np.nanmedian(u)|np.nanquantile(A, 0.3, axis=1)
np.mean(A, axis=1, where=A > -0.5)|np.var(A, where=A > -0.5)|np.std(A, axis=0, where=A > -9, ddof=1, keepdims=True)|np.histogram(v, [-1.0, 0.0, 0.5, 2.0], weights=w)[0]|np.histogram(v, s, density=True, weights=w * w)[0]
np.linalg.lstsq(A.T, s[0] * A[0])[0]|np.polyfit(w, v, 2)|v[2].item() * v|np.array(v.tolist()) * 2|A.item(1, 2) * A
"""
OTHER = """
np.round(v)|np.round(v, 1)|np.around(A, 2)|np.round(k, 1)|np.fix(v)|np.signbit(v)|np.argsort(v)|np.argsort(k % 3)|np.argsort(A, axis=0)|np.sort(b)|np.sort(k)|np.sort(u)|np.median(u)
np.searchsorted(s, v)|np.searchsorted(s, s, side="right")|np.digitize(v, s)|np.digitize(v, s[::-1])|np.digitize(s, s[::-1])|np.digitize(s, s[::-1], right=True)|np.digitize(s, s)|np.count_nonzero(k)|np.count_nonzero(A > 0, axis=1)|np.isclose(v, v + 1e-9)
np.allclose(v, w)|np.allclose(u, u, equal_nan=True)|np.array_equal(v, v)|np.array_equal(v, s)|np.isin(k, [1, 2])|np.isin(k, k[2:4])|np.divmod(k, 3)[1]|np.divmod(v, w)[0]
np.modf(u)[1]|np.diff(b)|np.nan_to_num(u, nan=1.0)|np.angle(z)|np.angle(v)|np.angle(z, deg=True)|np.fft.fft2(A)|np.fft.ifftn(A)|np.fft.fftshift(v)|np.fft.ifftshift(v)|np.fft.fftfreq(7)
np.hanning(5)|np.kaiser(5, 2.0)|np.logspace(0, 1, 4)|np.round(f, 1)|np.sort(f)|np.median(f)|np.diff(f)|np.percentile(k, 30)|np.pad(k, 1, constant_values=2)|np.convolve(k, k)|np.sinc(f)
np.linalg.norm(z)|np.linalg.norm(f)|np.logaddexp(f, f)|np.logaddexp(v - np.inf, w)|np.all(A > -9, where=A > 0)|np.nanmax(u * np.nan)|np.append(k, 0.5)|np.trapezoid(k)|np.gradient(A)[1]
np.argwhere(A > 0)|np.argwhere(v > 0)|np.unravel_index(k * k, (3, 4))[0]|np.unravel_index(np.argmax(A), A.shape)[1]|A.argsort(axis=0)|A.round(1)|np.maximum.accumulate(k)
np.unique(k)|np.bincount(k * k)|np.gcd(k, 2)|np.lcm(k, 3)|np.linalg.matrix_rank(A)|np.partition(v, 3)[3]|np.gcd(i8, -i8)|np.gcd(i8, i8[::-1])|np.gcd(i8, np.int8(6))|np.trace(b[:4].reshape(2, 2))
np.floor(np.cbrt(np.round(s * 12) ** 3))|np.floor(np.log10(10.0 ** k))|np.cbrt(f)|np.log10(f * f)|np.log10([0.0, np.inf, -1.0] + s * 0)|np.cbrt([0.0, np.inf, -np.inf] + s * 0)|np.log10(z)|np.cbrt(k)
b @ b|b[:6].reshape(2, 3) @ b[:3]|np.dot(b, k > 0)|np.bitwise_or.reduce(k)|np.bitwise_xor.reduce(k)|np.logical_xor.reduce(b)|np.isposinf(v)|np.isneginf(v)|np.isreal(z)|np.iscomplex(z)|np.nanargmax(u)|np.nanargmin(u)|np.indices((2, 3)) + k[3]
np.linspace(0, 1, len(v[:1])) + k[0]|np.interp(f, f[:1], f[:1])|np.sort(v[:0])|np.argsort(v[:0])|np.cumsum(v[:0])|A[np.ix_(b[:4], [1, 2])]
np.hypot(v * 1e200, w * 1e200)|np.hypot(v * 1e-200, w * 1e-200)|np.hypot(v / 0, w)|np.hypot(f, f)|np.add(i8, i8, dtype=np.int16)|np.multiply(i8, 2, dtype=np.float32)|np.cumsum(i8, dtype=np.int16)|np.cumsum(f, dtype=np.float64)
np.less(i8, 3, dtype=bool)|np.flip(m=A, axis=1)|np.eye(N=2)
np.unique(k % 3, return_index=True)[1]|np.unique(A > 0, return_inverse=True)[1]|np.unique(u, return_inverse=True)[1]|np.unique(u, return_counts=True, equal_nan=False)[1]
np.abs(z * 1e200)|np.abs(z * 1e-200)|np.abs(z.astype(np.complex64) * 1e25)|np.abs(np.array([np.inf, 0, np.nan]) * (1 + 1j * s[0]) + 0j)|np.hypot(u * np.nan, np.inf)
np.frexp(v * 1e300)[1]|np.frexp(v * 1e-310)[0]|np.frexp(u)[0]|np.frexp(f)[1]|np.frexp(u / 0)[0]|np.frexp(k)[1]|np.ldexp(v * 1e-300, 2000)|np.ldexp(v * 1e300, k * 500 - 600)|np.ldexp(f, k)
np.signbit((0 * v) % -3.0)|np.signbit((0 * v) % w)|np.signbit((0 * v) // w)|np.signbit((v - v) // -2)|np.cbrt(b)|np.cbrt(i8)|b ** 2|b ** 3|np.power(b, 2)|np.median(v[:0])|np.nanmedian(v[:0])|np.median(A[:, :0], axis=1)
A.flat[7]|A.flat[3:9]|A.T.flat[2:5]|A.flat[[1, 8]]|np.sum(A.flat)
2 ** (k + 3)|(k + 3) ** (k + 3)|3 ** (k * k)|np.power(i8, i8 % 5)|np.uint8(3) ** np.abs(k)|np.power(2, (k + 3).astype(np.uint8))|(-2) ** (k + 3)|2 ** (k * k * 20)
np.max(k, initial=1.5)|np.sum(k, initial=2.75)|np.prod(i8, initial=1.5)|np.sum(v, dtype=np.float32, initial=1)|np.argmax(A, keepdims=True)|np.argmin(A, axis=None, keepdims=True)|np.angle(f)|np.angle(k)|np.array(i8.tolist())
np.median(u)|np.median(v / 0)|np.median(np.floor(v))|np.median(k[:6])|np.hypot(f, b)|np.hypot(f, 2.0)|np.hypot(k, 3)|np.hypot(3, f)|np.array(v, ndmin=3)|np.full((2, len(v)), v)|np.full_like(A, A[0])|np.full((2, 3), [1, 2, 3])|np.full(3, v[0])|np.clip(np.abs(k).astype(np.uint8), -1, 2)|np.clip(i8, 0, 1000)|np.clip(k, None, None)|np.add.reduceat(i8, [0, 3])|np.bitwise_or.reduceat(k, [0, 2])
k ** 9|k ** 31|i8 ** 11|np.power(k, 12)|v ** np.inf
np.histogram(v, s)[0]|np.histogram(v, s)[1]|np.histogram(A, 4, density=True)[0]|np.histogram(k, [-2, 0, 1, 3])[0]|np.union1d(k, k[:3] - 2)|np.intersect1d(k, k[::2])|np.setdiff1d(k, k[::2])|np.vecdot(z, z * 1j)
np.nanmedian(u * np.nan)|np.nanmedian(np.stack([u, v]), axis=0)|np.nanpercentile(u, [20, 70])|np.nanmedian(v / 0)|np.nanmedian(f, keepdims=True)|np.repeat(k, 3 * (k > 0))|np.mean(k, where=k > 0)|np.mean(f, where=f > 0)|np.std(z, where=np.abs(z) > 0.5)
np.select([f > 1, f < 0], [f, k > 0], 0.5)|np.select([f > 1], [f], np.float64(0))|np.select([b, ~b], [0.5, 1])|np.dot(f, 1)|np.inner(2.0, f)|f * np.array(2.0)|np.array(3) * i8|np.polyval(f[:3], 2.0)|np.cov(f)|np.corrcoef(f, f)|np.average(f, weights=f > 0)|np.average(f, weights=k * k)
np.linspace(f[0], 1, 3)|np.linspace(f[0], v[0], 3)|np.linspace(k[0], 5, 3)|np.histogram(f)[1]|np.angle(i8)|np.angle(b)|np.angle(f, deg=True)|np.zeros_like(len(v))|np.meshgrid(v[0], A[:2])[1]|np.trapezoid(b)|np.trapezoid(i8 * 60)|z.astype(bool)|np.logical_xor(z - z.real, z.real > 0)|(z - z.real) * 0 + (0 * z) ** (0 * z)
np.searchsorted(np.sort(v), u)|np.searchsorted(np.sort(np.concatenate((v, u))), u, "right")|np.digitize(u, [-1.0, 0.0, 1.0])|np.searchsorted(np.sort(np.tile(v, 40)), u)|np.fmod(u, 2)|np.clip(len(v), 0, f)
np.lexsort((v, k % 3))|np.lexsort(np.stack([w, np.floor(v)]))|np.linalg.lstsq(A, A)[2]|np.linalg.lstsq(A, A)[3]|np.quantile(k, (0.2, 0.9))
np.quantile(f, [0.1, 0.5])|np.percentile(f, [0, 50])|np.quantile(f, [0, 1])|np.nanquantile(f, [0.1, 0.5])|np.r_[0.0, f]|np.r_[f, 1:3, 0.5]|np.r_[1, i8]|np.vecdot(i8, i8)|np.vecdot(b, b)|np.kron(b, b)|np.nanmedian(i8[:0])
np.isclose(i8, i8[::-1], atol=60)|np.isclose(b, b[::-1])|np.allclose(i8, i8 + 1, atol=1)|np.linspace(i8[1], 100, 4)|np.linspace(v[0], w[0] - 3, 5, dtype=int)|np.average(i8, weights=np.abs(i8 // 2))
np.nansum(u + 1j)|np.nanprod(u + 1j)|np.nanmean(u * 1j)|np.nanvar(u + 1j * u * u)|np.nancumsum(u + 1j)|np.nan_to_num(u * (1 + 2j))|np.nan_to_num(u + 1j, nan=0.5)
np.frexp(f.astype(np.float16))[0]|np.frexp(f.astype(np.float16))[1]|np.ldexp(f.astype(np.float16), 2)|np.ldexp(f.astype(np.float16), k)|np.nextafter(f.astype(np.float16), 1)
np.linalg.norm(f.astype(np.float16), np.inf)|np.linalg.norm(k.astype(np.float16), 1)|np.fft.fft(k[3:].astype(np.float16))
np.percentile(v, 100)|np.percentile(v, 0)|np.percentile(v[:1], 30)|np.quantile(np.append(v, np.nan), 0.75)|np.quantile(A, 0.9, axis=(0, 1), keepdims=True)|np.percentile(f, 99)
np.nextafter(v, w)|np.nextafter(f, 0)|np.nextafter(u / 0, 1)|np.nextafter(s * 0, s) * 2.0 ** 1000|np.nextafter(2.0 ** k, 0) - 2.0 ** k
np.cov(v, ddof=9)|np.cov(A[:, :1])|np.cov(A[:1, :1])|np.cov(v[:0])|np.cov(A, ddof=7)|np.var(v, ddof=9)|np.std(f, ddof=7)|np.var(A, axis=0, ddof=5)|np.var(v[v > 0], ddof=7)|np.var(A, where=A > -0.5, ddof=30)|np.nanvar(u, ddof=6)
"""
# Sizes agree in these because of their numbers, or must be numbers.
KNOWN_SIZES = ("np.log10([0.0", "np.cbrt([0.0", "m[np.triu_indices_from", "m[np.diag_indices_from", "np.einsum(\"ij,kj\", A, B, optimize=np", "np.unstack", "np.choose", "np.apply_along_axis", "np.fromfunction", "A[np.ix_(b", "A[np.ix_", "np.delete(A", "np.maximum(s", "s * [", "[1.0, 2", "np.dot([", "s.dot([", "np.average(s", "v.tolist", "np.array(v",
               "A.item", "np.array(i8.tolist", "np.kron(m", "np.cross", "np.polyval(v", "np.split", "np.array_split", "np.array_equal(v, s", "np.take_along_axis",
               "np.fft.ifftn", "np.fft.fft2", "np.repeat(A", "np.hstack((A", "np.vstack(([", "np.concatenate(m)")


def cases(text):
    return [c for line in text.strip().splitlines() for c in line.split("|")]


def module_of(functions):
    """Functions with a source that can be read: {name: (arguments, expression)}."""
    path = os.path.join(tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR")), "functions.py")
    with open(path, "w", encoding="utf-8") as out:
        out.write("import numpy as np\n")
        for name, (arguments, expression) in functions.items():
            out.write(f"\n\ndef {name}({', '.join(arguments)}):\n    return {expression}\n")
    spec = importlib.util.spec_from_file_location("functions", path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def names_in(expression):
    return [n for n in GIVEN if re.search(rf"(?<![\w.\"]){n}(?![\w(\"=])", expression)]


class Functions(Case):
    def agrees(self, program, f, args):
        with np.errstate(all="ignore"):
            expected = f(*copies(args))
        got = program(*copies(args))
        self.assertEqual(np.shape(got), np.shape(expected))
        self.assertEqual(np.asarray(got).dtype, np.asarray(expected).dtype)
        rtol = 1e-5 if np.asarray(expected).dtype == np.float32 else 1e-11
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol)

    def each(self, text, make):
        for k, expression in enumerate(cases(text)):
            with self.subTest(expression=expression):
                arguments = names_in(expression)
                make(expression, getattr(self.functions, f"f{k}"), [GIVEN[n] for n in arguments])

    def known(self, text):
        self.functions = module_of({f"f{k}": (names_in(c), c) for k, c in enumerate(cases(text))})
        self.each(text, lambda expression, f, args: self.agrees(headrace.program(f, backend="interpreter"), f, args))

    def test_values(self):
        self.known(SMOOTH)

    def test_other_values(self):
        self.known(OTHER)

    def test_symbols(self):
        for text in (SMOOTH, OTHER):
            self.functions = module_of({f"f{k}": (names_in(c), c) for k, c in enumerate(cases(text))})

            def check(expression, f, args):
                if expression.startswith(KNOWN_SIZES):
                    return
                f.__annotations__ = with_symbols(f, args)
                self.agrees(headrace.program(f, backend="interpreter"), f, args)

            self.each(text, check)

    def test_changes_in_place(self):
        def changes(a, d, i):
            b = a * 2
            np.fill_diagonal(a, d)
            np.fill_diagonal(b.T[1:], 1.5)
            z = np.zeros_like(d)
            np.copyto(z, d * 3, where=d > 0)
            np.putmask(z, d < -0.5, d)
            np.put(z, i, 4.0)
            np.place(z, d > 0.5, d[:2] - 4)
            np.putmask(b, b > 0.25, [0.125, 0.5, 2.0])
            np.put_along_axis(b, np.argmax(b, axis=1)[:, None], -1.0, axis=1)
            np.subtract.at(z, [0, 0, 1], 1.0)
            np.add.at(b, np.ix_(i, i), 0.25)
            return b, z

        def subtracts(n, i):
            np.subtract.at(n, i, 1)

        self.same(changes, RNG.normal(size=(4, 4)), RNG.normal(size=4), np.array([2, 3, 2]), backend="interpreter")
        self.same(subtracts, np.array([1, 2, 0], np.uint8), np.array([0, 0, 2]), backend="interpreter")

    def test_results_in_arrays_that_are_there(self):
        def writes(x, a):
            y, z, w, m = np.empty_like(x), np.zeros((3, 3)), np.zeros(6), np.empty(3)
            np.clip(x, -0.5, 0.5, out=y)
            np.cumsum(x, out=x)
            np.dot(a, a, out=z)
            np.concatenate((x, y), out=w)
            r = np.clip(a, 0, 1, out=a)
            np.take(w, [0, 2, 4], out=m)
            np.einsum("ij,j->i", a, x, out=y)
            np.median(a, axis=0, out=m)
            np.cumprod(a, axis=1, out=a)
            x.clip(0, 1, out=x)
            np.round(y, 1, out=y)
            return y, z, w, m, r * 1

        self.same(writes, np.array([0.3, -2.0, 0.7]), np.arange(9.0).reshape(3, 3) * 0.3 - 1, backend="interpreter")

    def test_on_the_cpu(self):
        some = "|".join(cases(SMOOTH)[::9] + cases(OTHER)[::9])
        self.functions = module_of({f"f{k}": (names_in(c), c) for k, c in enumerate(cases(some))})
        self.each(some, lambda expression, f, args: self.agrees(headrace.program(f), f, args))

    def test_places_among_many(self):
        def places(a, v):
            return (np.searchsorted(a, v), np.searchsorted(a, v, side="right"), np.digitize(v, a), np.digitize(v, a[::-1], right=True),
                    np.isin(v, a), np.searchsorted(a, v.reshape(17, 3)))

        r = np.random.default_rng(0)
        for n in (64, 65, 127, 128, 129, 300):
            a = np.sort(r.integers(-n, n, n) / 4)
            v = np.concatenate([r.integers(-n - 9, n + 9, 48) / 4, [np.inf, -np.inf, a[-1]]])
            with self.subTest(n=n):
                self.same(places, a, v, backend="interpreter")

    def test_gradients(self):
        self.functions = module_of({f"f{k}": (names_in(c), f"np.sum(np.sin({c} + 0.3))") for k, c in enumerate(cases(SMOOTH))})

        def check(expression, f, args):
            by = [k for k, a in enumerate(args) if a.dtype == np.float64]
            gradients = headrace.grad(headrace.program(f, backend="interpreter"), argnums=tuple(by))(*copies(args))
            for at, g in zip(by, gradients):
                expected = differences(f, args, at)
                there = ~np.isnan(args[at])
                np.testing.assert_allclose(g[there], expected[there], rtol=1e-6, atol=1e-7)

        self.each(SMOOTH, check)

    def test_what_they_don_t_do(self):
        calls = {"np.sort(z)": "complex", "np.pad(v, 1, mode='linear_ramp')": "there are constant, edge, reflect, symmetric and wrap", "np.spacing(v)": "not among",
                 "np.max(v, where=b)": "give initial=", "np.linalg.norm(A, 3)": "there are 'fro'", "np.quantile(v, A)": "one number or a known number of them",
                 "np.split(v, 2)": "no equal division", "np.gradient(v, edge_order=2)": "edge_order", "np.cross(v, v)": "3 elements", "np.vectorize(np.sin)(v)": "np.where in place of if",
                 "np.einsum('i->k', v)": "the result has the index k, which no operand has", "k ** -2": "Integers to negative integer powers are not allowed", "np.einsum(A, 'ij')": "einsum takes a text such as", "np.r_['0,2', v]": "use np.concatenate", "np.r_[0:1:5j, v]": "use np.linspace",
                 "A.reshape(-1, order='A')": "there are 'C' and 'F'", "np.trace(v)": "which has no diagonal", "np.log(v, where=v > 0)": "give out=, or use np.where"}
        functions = module_of({f"f{k}": (names_in(c), c) for k, c in enumerate(calls)})
        for k, (expression, words) in enumerate(calls.items()):
            with self.subTest(expression=expression), self.assertRaisesRegex(Exception, re.escape(words)):
                headrace.program(getattr(functions, f"f{k}"), backend="interpreter")(*[GIVEN[n] for n in names_in(expression)])


if __name__ == "__main__":
    unittest.main()
