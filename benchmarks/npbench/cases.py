"""The 54 kernels with their arguments at three sizes: `small`, where differences can check every element, and NPBench's `S` and `M`.

Arguments are made from a seed, of float64 and complex128, or of another float type. They are random where NPBench's are
constant over large parts, for ties and zeros would hide wrong gradients; matrices stay well-conditioned.
"""

from __future__ import annotations

import inspect
from typing import Callable

import numpy as np

from .kernels import flows, networks, others, products, solvers, stencils


class Case:
    """One kernel. `make(rng, **sizes)` gives {argument: value}; `changes` names the arrays that the kernel is called for."""

    def __init__(self, function: Callable, make: Callable, small: dict, S: dict, changes: str = "", reason: str = "", steps: str = "",
                 M: dict | None = None, sensitive: bool = False, along: dict | None = None, even: str = ""):
        self.name, self.function, self.make = function.__name__, function, make
        self.small, self.S, self.M, self.changes = small, S, M, tuple(changes.split())
        self.reason = reason  # why it has no gradient
        self.steps = steps.split()  # arguments whose gradient is 0: they decide into which bin something falls
        self.sensitive = sensitive  # the last bit of an argument grows to more than the tolerance
        self.even = even.split()  # arguments that nothing depends on at S and M: their gradients are rounding alone
        self.along = along  # instead of S, where differences still tell the slope

    def arguments(self, size: str | dict = "small", seed: int = 0, dtype=None) -> tuple:
        """Arguments by position, new arrays each time; float arrays as `dtype`, where it is given."""
        made = self.make(np.random.default_rng(seed), **(getattr(self, size) if isinstance(size, str) else size))
        bound = inspect.signature(self.function).bind(**made)
        bound.apply_defaults()
        return tuple(a.astype(dtype) if dtype and isinstance(a, np.ndarray) and a.dtype.kind == "f" else a
                     for a in bound.arguments.values())

    @property
    def names(self) -> list[str]:
        return list(inspect.signature(self.function).parameters)

    def floats(self, arguments: tuple) -> list[str]:
        """The arguments that gradients are of: real and complex arrays and numbers."""
        return [n for n, a in zip(self.names, arguments)
                if isinstance(a, (float, complex)) or isinstance(a, np.ndarray) and a.dtype.kind in "fc"]


CASES: dict[str, Case] = {}


# Kernels that the benchmark defines in f32.
SINGLE = ("conv2d_bias", "lenet", "mlp", "resnet", "softmax")


def case(function: Callable, small: dict, S: dict, changes: str = "", **about):
    def register(make):
        CASES[function.__name__] = Case(function, make, small, S, changes, **about)
        return make
    return register


def _complex(rng, *shape):
    return rng.random(shape) + 1j * rng.random(shape)


def _definite(rng, n):
    a = rng.random((n, n))
    return a @ a.T / n + np.eye(n)


# ---- products ----
@case(products.gemm, dict(NI=4, NJ=5, NK=3), dict(NI=1000, NJ=1100, NK=1200), "C", M=dict(NI=2500, NJ=2750, NK=3000))
def _(rng, NI, NJ, NK):
    return dict(alpha=1.5, beta=1.2, C=rng.random((NI, NJ)), A=rng.random((NI, NK)), B=rng.random((NK, NJ)))


@case(products.k2mm, dict(NI=3, NJ=4, NK=5, NL=2), dict(NI=800, NJ=850, NK=900, NL=950), "D",
      M=dict(NI=2000, NJ=2250, NK=2500, NL=2750))
def _(rng, NI, NJ, NK, NL):
    return dict(alpha=1.5, beta=1.2, A=rng.random((NI, NK)), B=rng.random((NK, NJ)), C=rng.random((NJ, NL)),
                D=rng.random((NI, NL)))


@case(products.k3mm, dict(NI=3, NJ=4, NK=5, NL=2, NM=3), dict(NI=800, NJ=850, NK=900, NL=950, NM=1000),
      M=dict(NI=2000, NJ=2200, NK=2400, NL=2600, NM=2800))
def _(rng, NI, NJ, NK, NL, NM):
    return dict(A=rng.random((NI, NK)), B=rng.random((NK, NJ)), C=rng.random((NJ, NM)), D=rng.random((NM, NL)))


@case(products.atax, dict(M=4, N=5), dict(M=4000, N=5000), M=dict(M=10000, N=12500))
def _(rng, M, N):
    return dict(A=rng.random((M, N)), x=rng.random(N))


@case(products.bicg, dict(M=4, N=5), dict(M=4000, N=5000), M=dict(M=10000, N=12500))
def _(rng, M, N):
    return dict(A=rng.random((N, M)), p=rng.random(M), r=rng.random(N))


@case(products.mvt, dict(N=5), dict(N=5500), "x1 x2", M=dict(N=11000))
def _(rng, N):
    return dict(x1=rng.random(N), x2=rng.random(N), y_1=rng.random(N), y_2=rng.random(N), A=rng.random((N, N)))


@case(products.gesummv, dict(N=5), dict(N=2000), M=dict(N=4000))
def _(rng, N):
    return dict(alpha=1.5, beta=1.2, A=rng.random((N, N)), B=rng.random((N, N)), x=rng.random(N))


@case(products.gemver, dict(N=4), dict(N=1000), "A w x", M=dict(N=3000))
def _(rng, N):
    return dict(alpha=1.5, beta=1.2, A=rng.random((N, N)), **{v: rng.random(N) for v in ("u1", "v1", "u2", "v2", "w", "x", "y", "z")})


@case(products.doitgen, dict(NR=3, NQ=2, NP=4), dict(NR=60, NQ=60, NP=128), "A", M=dict(NR=110, NQ=125, NP=256))
def _(rng, NR, NQ, NP):
    return dict(NR=NR, NQ=NQ, NP=NP, A=rng.random((NR, NQ, NP)), C4=rng.random((NP, NP)))


@case(products.syrk, dict(M=3, N=5), dict(M=50, N=70), "C", M=dict(M=150, N=200))
def _(rng, M, N):
    return dict(alpha=1.5, beta=1.2, C=rng.random((N, N)), A=rng.random((N, M)))


@case(products.syr2k, dict(M=3, N=5), dict(M=35, N=50), "C", M=dict(M=110, N=140))
def _(rng, M, N):
    return dict(alpha=1.5, beta=1.2, C=rng.random((N, N)), A=rng.random((N, M)), B=rng.random((N, M)))


@case(products.symm, dict(M=4, N=5), dict(M=40, N=50), "C", M=dict(M=120, N=150))
def _(rng, M, N):
    return dict(alpha=1.5, beta=1.2, C=rng.random((M, N)), A=rng.random((M, M)), B=rng.random((M, N)))


@case(products.trmm, dict(M=4, N=5), dict(M=65, N=80), "B", M=dict(M=200, N=250))
def _(rng, M, N):
    return dict(alpha=1.5, A=rng.random((M, M)), B=rng.random((M, N)))


@case(products.covariance, dict(M=4, N=6), dict(M=500, N=600), M=dict(M=1400, N=1800))
def _(rng, M, N):
    return dict(M=M, float_n=float(N), data=rng.random((N, M)))


@case(products.covariance2, dict(M=4, N=6), dict(M=500, N=600), M=dict(M=1400, N=1800))
def _(rng, M, N):
    return dict(M=M, float_n=float(N), data=rng.random((N, M)))


@case(products.correlation, dict(M=4, N=6), dict(M=500, N=600), M=dict(M=1400, N=1800))
def _(rng, M, N):
    data = rng.random((N, M))
    data[:, 0] = 0.5 + 0.05 * data[:, 0]  # a spread that is replaced by one
    return dict(M=M, float_n=float(N), data=data)


@case(products.spmv, dict(M=5, N=4, nnz=8), dict(M=4096, N=4096, nnz=8192), M=dict(M=32768, N=32768, nnz=65536))
def _(rng, M, N, nnz):
    rows = np.uint32(np.concatenate([[0], np.sort(rng.integers(0, nnz + 1, M - 1)), [nnz]]))
    return dict(A_row=rows, A_col=np.uint32(rng.integers(0, N, nnz)), A_val=rng.random(nnz), x=rng.random(N))


# ---- solvers ----
@case(solvers.cholesky, dict(N=5), dict(N=100), "A", M=dict(N=300))
def _(rng, N):
    return dict(A=_definite(rng, N))


@case(solvers.cholesky2, dict(N=5), dict(N=1000), "A", M=dict(N=2200))
def _(rng, N):
    return dict(A=_definite(rng, N))


@case(solvers.lu, dict(N=5), dict(N=60), "A", M=dict(N=220))
def _(rng, N):
    return dict(A=_definite(rng, N))


@case(solvers.ludcmp, dict(N=4), dict(N=60), "A", M=dict(N=220))
def _(rng, N):
    return dict(A=_definite(rng, N), b=rng.random(N))


@case(solvers.trisolv, dict(N=5), dict(N=2000), "x", M=dict(N=5000))
def _(rng, N):
    return dict(L=np.tril(rng.random((N, N))) / N + np.eye(N), x=rng.random(N), b=rng.random(N))


@case(solvers.gramschmidt, dict(M=5, N=4), dict(M=70, N=60), "A", M=dict(M=220, N=180))
def _(rng, M, N):
    return dict(A=rng.random((M, N)) + np.eye(M, N))


@case(solvers.durbin, dict(N=6), dict(N=1000), M=dict(N=6000))
def _(rng, N):
    return dict(r=rng.random(N) / (2 * N))


@case(solvers.contour_integral, dict(NR=3, NM=2, slab_per_bc=2, points=4), dict(NR=50, NM=150, slab_per_bc=2, points=32),
      M=dict(NR=200, NM=400, slab_per_bc=2, points=32))
def _(rng, NR, NM, slab_per_bc, points):
    return dict(NR=NR, NM=NM, slab_per_bc=slab_per_bc, Ham=_complex(rng, slab_per_bc + 1, NR, NR),
                int_pts=_complex(rng, points), Y=_complex(rng, NR, NM))


@case(solvers.scattering_self_energies, dict(Nkz=1, NE=2, Nqz=1, Nw=2, N3D=2, NA=2, NB=2, Norb=2),
      dict(Nkz=2, NE=4, Nqz=2, Nw=2, N3D=2, NA=6, NB=2, Norb=3), "Sigma",
      M=dict(Nkz=3, NE=5, Nqz=3, Nw=2, N3D=2, NA=10, NB=3, Norb=4))
def _(rng, Nkz, NE, Nqz, Nw, N3D, NA, NB, Norb):
    near = np.array([[int(i - NB / 2 + k) % NA for k in range(NB)] for i in range(NA)], np.int32)
    return dict(neigh_idx=near, dH=_complex(rng, NA, NB, N3D, Norb, Norb), G=_complex(rng, Nkz, NE, NA, Norb, Norb),
                D=_complex(rng, Nqz, Nw, NA, NB, N3D, N3D), Sigma=np.zeros((Nkz, NE, NA, Norb, Norb), np.complex128))


@case(solvers.stockham_fft, dict(R=2, K=3), dict(R=2, K=15), "y", M=dict(R=2, K=18))
def _(rng, R, K):
    return dict(N=R**K, R=R, K=K, x=_complex(rng, R**K), y=np.zeros(R**K, np.complex128))


# ---- stencils ----
@case(stencils.jacobi_1d, dict(TSTEPS=4, N=8), dict(TSTEPS=800, N=3200), "A B", M=dict(TSTEPS=3000, N=12000))
def _(rng, TSTEPS, N):
    return dict(TSTEPS=TSTEPS, A=rng.random(N), B=rng.random(N))


@case(stencils.jacobi_2d, dict(TSTEPS=3, N=6), dict(TSTEPS=50, N=150), "A B", M=dict(TSTEPS=80, N=350))
def _(rng, TSTEPS, N):
    return dict(TSTEPS=TSTEPS, A=rng.random((N, N)), B=rng.random((N, N)))


@case(stencils.heat_3d, dict(TSTEPS=3, N=4), dict(TSTEPS=25, N=25), "A B", M=dict(TSTEPS=50, N=40))
def _(rng, TSTEPS, N):
    return dict(TSTEPS=TSTEPS, A=rng.random((N, N, N)), B=rng.random((N, N, N)))


@case(stencils.seidel_2d, dict(TSTEPS=3, N=6), dict(TSTEPS=8, N=50), "A", M=dict(TSTEPS=15, N=100))
def _(rng, TSTEPS, N):
    return dict(TSTEPS=TSTEPS, N=N, A=rng.random((N, N)))


@case(stencils.fdtd_2d, dict(TMAX=5, NX=4, NY=5), dict(TMAX=20, NX=200, NY=220), "ex ey hz", M=dict(TMAX=60, NX=400, NY=450))
def _(rng, TMAX, NX, NY):
    return dict(TMAX=TMAX, ex=rng.random((NX, NY)), ey=rng.random((NX, NY)), hz=rng.random((NX, NY)), _fict_=rng.random(TMAX))


@case(stencils.adi, dict(TSTEPS=2, N=6), dict(TSTEPS=5, N=100), "u", M=dict(TSTEPS=20, N=200))
def _(rng, TSTEPS, N):
    return dict(TSTEPS=TSTEPS, N=N, u=rng.random((N, N)))


@case(stencils.deriche, dict(W=5, H=6), dict(W=400, H=200), M=dict(W=1500, H=1000))
def _(rng, W, H):
    return dict(alpha=0.25, imgIn=rng.random((W, H)))


@case(stencils.floyd_warshall, dict(N=6), dict(N=200), "path", M=dict(N=400))
def _(rng, N):
    return dict(path=rng.random((N, N)) * rng.choice([1.0, 10.0], (N, N)))


@case(stencils.hdiff, dict(I=3, J=4, K=2), dict(I=64, J=64, K=60), "out_field", M=dict(I=128, J=128, K=160))
def _(rng, I, J, K):
    return dict(in_field=rng.random((I + 4, J + 4, K)), out_field=rng.random((I, J, K)), coeff=rng.random((I, J, K)))


@case(stencils.vadv, dict(I=2, J=3, K=4), dict(I=60, J=60, K=40), "utens_stage", M=dict(I=112, J=112, K=80))
def _(rng, I, J, K):
    return dict(dtr_stage=3. / 20., wcon=rng.random((I + 1, J, K)),
                **{n: rng.random((I, J, K)) for n in ("utens_stage", "u_stage", "u_pos", "utens")})


# ---- flows ----
@case(flows.cavity_flow, dict(ny=5, nx=6, nt=3, nit=2), dict(ny=61, nx=61, nt=25, nit=5), "u v p",
      M=dict(ny=121, nx=121, nt=50, nit=10))
def _(rng, ny, nx, nt, nit):
    return dict(nx=nx, ny=ny, nt=nt, nit=nit, u=0.1 * rng.random((ny, nx)), v=0.1 * rng.random((ny, nx)), p=0.1 * rng.random((ny, nx)),
                dt=.1 / ((nx - 1) * (ny - 1)), dx=2 / (nx - 1), dy=2 / (ny - 1), rho=1.0, nu=0.1)


@case(flows.channel_flow, dict(ny=4, nx=5, nit=2, dt=.2, start=4.0), dict(ny=61, nx=61, nit=5), "u v p",
      M=dict(ny=121, nx=121, nit=10), even="dx")
def _(rng, ny, nx, nit, dt=None, start=0.0):
    """`dt` and a flow at the `start`: fewer steps until nothing changes."""
    u = np.zeros((ny, nx))
    u[1:-1] = start * (1 + 0.02 * rng.random((ny - 2, nx)))
    return dict(nit=nit, u=u, v=np.zeros((ny, nx)), p=np.ones((ny, nx)),
                dt=dt or .1 / ((nx - 1) * (ny - 1)), dx=2 / (nx - 1), dy=2 / (ny - 1), rho=1.0, nu=0.1, F=1.0)


# ---- networks ----
@case(networks.conv2d_bias, dict(N=2, C_in=2, C_out=3, K=2, H=4, W=5), dict(N=8, C_in=3, C_out=16, K=2, H=32, W=32),
      M=dict(N=8, C_in=3, C_out=8, K=5, H=64, W=64))
def _(rng, N, C_in, C_out, K, H, W):
    return dict(input=rng.random((N, H, W, C_in)), weights=rng.random((K, K, C_in, C_out)), bias=rng.random(C_out))


@case(networks.lenet, dict(N=1, H=16, W=16, channels=(2, 3), hidden=(6, 5)), dict(N=4, H=28, W=28, channels=(6, 16), hidden=(120, 84)),
      M=dict(N=8, H=56, W=56, channels=(6, 16), hidden=(120, 84)))
def _(rng, N, H, W, channels, hidden):
    a, b = channels
    rows, columns = ((size - 4) // 2 - 4 for size in (H, W))
    flat = rows // 2 * (columns // 2) * b
    return dict(input=rng.random((N, H, W, 1)), conv1=rng.random((5, 5, 1, a)), conv1bias=rng.random(a),
                conv2=rng.random((5, 5, a, b)), conv2bias=rng.random(b), fc1w=rng.random((flat, hidden[0])),
                fc1b=rng.random(hidden[0]), fc2w=rng.random(hidden) - 0.5, fc2b=rng.random(hidden[1]),
                fc3w=rng.random((hidden[1], 10)) - 0.5, fc3b=rng.random(10), N=N, C_before_fc1=flat)


@case(networks.mlp, dict(C_in=3, N=4, S0=5, S1=4, S2=3), dict(C_in=3, N=8, S0=30000, S1=2000, S2=2000),
      M=dict(C_in=3, N=8, S0=30000, S1=10000, S2=10000))
def _(rng, C_in, N, S0, S1, S2):
    sizes = (C_in, S0, S1, S2)
    # Numbers of the same size in each layer: or else one class has it all, and every gradient is 0.
    layers = {f"w{k + 1}": (rng.random((sizes[k], sizes[k + 1])) - 0.5) * (12 / sizes[k])**0.5 for k in range(3)}
    return dict(input=rng.random((N, C_in)), **layers, **{f"b{k + 1}": rng.random(sizes[k + 1]) for k in range(3)})


@case(networks.softmax, dict(N=2, H=2, SM=3), dict(N=16, H=16, SM=128), M=dict(N=32, H=8, SM=256))
def _(rng, N, H, SM):
    return dict(x=rng.random((N, H, SM, SM)))


@case(networks.resnet, dict(N=3, W=3, H=4, C1=3, C2=2), dict(N=8, W=14, H=14, C1=32, C2=8),
      M=dict(N=8, W=28, H=28, C1=64, C2=16))
def _(rng, N, W, H, C1, C2):
    return dict(input=rng.random((N, H, W, C1)), conv1=rng.random((1, 1, C1, C2)), conv2=rng.random((3, 3, C2, C2)),
                conv3=rng.random((1, 1, C2, C1)))


# ---- others ----
@case(others.go_fast, dict(N=5), dict(N=2000), M=dict(N=6000))
def _(rng, N):
    return dict(a=rng.random((N, N)))


@case(others.arc_distance, dict(N=6), dict(N=100000), M=dict(N=1000000))
def _(rng, N):
    return {n: rng.random(N) for n in ("theta_1", "phi_1", "theta_2", "phi_2")}


@case(others.azimint_naive, dict(N=40, npt=4), dict(N=400000, npt=1000), steps="radius", M=dict(N=4000000, npt=1000))
def _(rng, N, npt):
    return dict(data=rng.random(N), radius=rng.random(N), npt=npt)


@case(others.azimint_hist, dict(N=40, npt=4), dict(N=400000, npt=1000), steps="radius", M=dict(N=4000000, npt=1000))
def _(rng, N, npt):
    return dict(data=rng.random(N), radius=rng.random(N), npt=npt)


@case(others.nbody, dict(N=3, Nt=2), dict(N=25, Nt=40), sensitive=True, along=dict(N=25, Nt=10), M=dict(N=50, Nt=250, dt=0.02))
def _(rng, N, Nt, dt=0.05):
    return dict(mass=20.0 * (0.5 + rng.random((N, 1))) / N, pos=rng.random((N, 3)), vel=rng.random((N, 3)), N=N, Nt=Nt, dt=dt,
                G=1.0, softening=0.1)


@case(others.compute, dict(M=4, N=5), dict(M=2000, N=2000), reason="integers", M=dict(M=5000, N=5000))
def _(rng, M, N):
    return dict(array_1=rng.integers(0, 1000, (M, N)), array_2=rng.integers(0, 1000, (M, N)), a=4, b=3, c=9)


@case(others.mandelbrot1, dict(xn=9, yn=7, maxiter=8), dict(xn=125, yn=125, maxiter=60), reason="counts iterations", sensitive=True,
      M=dict(xn=250, yn=250, maxiter=150))
def _(rng, xn, yn, maxiter):
    return dict(xmin=-1.75, xmax=0.25, ymin=-1.0, ymax=1.0, xn=xn, yn=yn, maxiter=maxiter)


@case(others.mandelbrot2, dict(xn=9, yn=7, itermax=8), dict(xn=200, yn=200, itermax=40), reason="counts iterations",
      M=dict(xn=500, yn=500, itermax=80))
def _(rng, xn, yn, itermax):
    return dict(xmin=-2.0, xmax=0.5, ymin=-1.25, ymax=1.25, xn=xn, yn=yn, itermax=itermax)


@case(others.nussinov, dict(N=7), dict(N=40), reason="integers", M=dict(N=90))
def _(rng, N):
    return dict(N=N, seq=rng.integers(0, 4, N).astype(np.int32))


@case(others.crc16, dict(N=10), dict(N=1600), reason="integers", M=dict(N=16000))
def _(rng, N):
    return dict(data=rng.integers(0, 256, N, dtype=np.uint8))
