"""Programs of many kinds as users write them, without gradients: sorting, searching, dynamic programming, hashing, masks, complex numbers."""

import numpy as np

from python.tests.program_cases import case, normal


def _swap(a, i, j):
    t = a[i]
    a[i] = a[j]
    a[j] = t


def _partition(a, lo, hi):
    p = a[hi]
    i = lo - 1
    for j in range(lo, hi):
        if a[j] <= p:
            i += 1
            _swap(a, i, j)
    _swap(a, i + 1, hi)
    return i + 1


def _fft(x):
    n = x.shape[0]
    if n == 1:
        return x
    e = _fft(x[::2])
    o = _fft(x[1::2])
    w = np.exp(-2j * np.pi * np.arange(n // 2) / n)
    return np.concatenate((e + w * o, e - w * o))


def _sift(a, root, end):
    while 2 * root + 1 < end:
        child = 2 * root + 1
        if child + 1 < end and a[child] < a[child + 1]:
            child += 1
        if a[root] < a[child]:
            a[root], a[child] = a[child], a[root]
            root = child
        else:
            root = end


@case(np.array([1,5,2,2,7,0,7,7,3]), np.int64(8))
def histogram(x, n):
    h = np.zeros(n, dtype=np.int64)
    for i in range(len(x)):
        h[x[i]] += 1
    return h


@case(np.frombuffer(b"kitten", dtype=np.uint8).copy(), np.frombuffer(b"sitting", dtype=np.uint8).copy())
def levenshtein(a, b):
    n, m = len(a), len(b)
    d = np.zeros((n + 1, m + 1), dtype=np.int32)
    d[:, 0] = np.arange(n + 1)
    d[0, :] = np.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d[n, m]


@case(normal(8), normal(8)+1)
def fftconv(a, b):
    return np.real(np.fft.ifft(np.fft.fft(a) * np.fft.fft(b)))


@case(normal(10))
def neg_slices(x):
    x[::-1] = x
    x[8:2:-2] += 1.0
    x[::-2] *= x[::2]
    x[1:] = x[:-1]
    x[:-1] += x[1:]
    x[-3::-1] -= x[2:]
    return x


@case(normal(9))
def quick_select(a):
    lo, hi = 0, len(a) - 1
    while lo < hi:
        p = _partition(a, lo, hi)
        if p == 4:
            break
        if p < 4:
            lo = p + 1
        else:
            hi = p - 1
    return a[4]


@case(normal(12))
def insertion_sort(a):
    for i in range(1, len(a)):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key


@case(np.array([3,-1,4,1,-5,9,2,6]), 4)
def early_return(x, k):
    if x[0] > 5:
        return x[0]
    s = 0
    for i in range(len(x)):
        if x[i] < 0:
            continue
        s += x[i]
        if s > k:
            break
    if s > 6:
        return s
    return -s


@case(normal(4), normal(4)+2)
def tuple_out(a, b):
    c = a + b
    return c, a.sum(), (a * b).max(), 3, 2.5


@case(normal(4)+1j*normal(4))
def cplx(z):
    w = z * z.conj()
    r = np.abs(z) ** 2 + np.exp(1j * np.real(z))
    return w, r, z.real ** 2 - z.imag


@case(np.array([True,False,True]), np.array([True,True,False]))
def bools(a, b):
    return a & b, a | b, a ^ b, ~a, a + b, a * b, a == b, a != b, a < b, a.sum(), a.any(), np.all(b), a + 1, a * 2.5, np.logical_xor(a, b), a.mean(), np.maximum(a,b)


@case(normal(5,6))
def masks(x):
    x[x < 0] = 0.0
    y = np.where(x > 0.5, x, -x)
    x[x > 1] *= 2
    m = (x > 0.2) & (x < 0.9)
    x[m] = y[m] + 1
    return y, m.sum(), x[m].sum()


@case(normal(4,4)@normal(4,4).T, normal(4))
def power_iter(A, v):
    lam = 0.0
    for k in range(50):
        w = A @ v
        lam = np.sqrt(w @ w)
        v = w / lam
    return lam, v


@case(np.array([60, 100, 120]), np.array([10, 20, 30]), 50)
def knapsack(v, w, W):
    dp = np.zeros(W + 1, dtype=np.int64)
    for i in range(len(v)):
        for c in range(W, w[i] - 1, -1):
            dp[c] = max(dp[c], dp[c - w[i]] + v[i])
    return dp[W]


@case(np.array([[0,3,1e9,7],[8,0,2,1e9],[5,1e9,0,1],[2,1e9,1e9,0]]))
def floyd(d):
    n = len(d)
    for k in range(n):
        d[:] = np.minimum(d, d[:, k][:, None] + d[k])
    return d


@case(10)
def collatz(n):
    steps = 0
    x = n + 17
    while x != 1:
        if x % 2 == 0:
            x //= 2
        else:
            x = 3 * x + 1
        steps += 1
    return steps


@case(normal(6,5))
def game(x):
    g = (x > 0).astype(np.int32)
    for _ in range(3):
        n = np.zeros_like(g)
        for dx in (-1, 0, 1):
            for dy in (-1, 0, 1):
                if dx != 0 or dy != 0:
                    n += np.roll(np.roll(g, dx, axis=0), dy, axis=1)
        g = ((n == 3) | ((g == 1) & (n == 2))).astype(np.int32)
    return g


@case(normal(8))
def median_filter(x):
    out = x.copy()
    for i in range(1, len(x) - 1):
        a, b, c = x[i - 1], x[i], x[i + 1]
        out[i] = max(min(a, b), min(max(a, b), c))
    return out


@case(np.array([0.5, 0.2, 0.3]), np.abs(normal(3,3))+0.1, np.abs(normal(3,2))+0.1, np.array([0,1,1,0]))
def viterbi(pi, A, B, obs):
    T, n = len(obs), len(pi)
    score = np.log(pi) + np.log(B[:, obs[0]])
    back = np.zeros((T, n), dtype=np.int64)
    for t in range(1, T):
        m = score[:, None] + np.log(A)
        back[t] = np.argmax(m, axis=0)
        score = np.max(m, axis=0) + np.log(B[:, obs[t]])
    path = np.zeros(T, dtype=np.int64)
    path[-1] = np.argmax(score)
    for t in range(T - 1, 0, -1):
        path[t - 1] = back[t, path[t]]
    return path, score.max()


@case(normal(8)+1j*normal(3)[0])
def fft_recursive(x):
    return _fft(x)


@case(normal(4,4)+normal(4,4).T)
def jacobi_eig(A):
    A = A.copy()
    n = A.shape[0]
    for sweep in range(8):
        for p in range(n - 1):
            for q in range(p + 1, n):
                if abs(A[p, q]) > 1e-14:
                    theta = (A[q, q] - A[p, p]) / (2 * A[p, q])
                    t = np.sign(theta) / (abs(theta) + np.sqrt(theta * theta + 1)) if theta != 0 else 1.0
                    c = 1 / np.sqrt(t * t + 1)
                    s = t * c
                    ap, aq = A[p].copy(), A[q].copy()
                    A[p], A[q] = c * ap - s * aq, s * ap + c * aq
                    bp, bq = A[:, p].copy(), A[:, q].copy()
                    A[:, p], A[:, q] = c * bp - s * bq, s * bp + c * bq
    return np.diag(A)


@case(np.array([5, 3, 8, 1, 9, 2]))
def bubble(a):
    n = len(a)
    swaps = 0
    while True:
        done = True
        for i in range(n - 1):
            if a[i] > a[i + 1]:
                a[i], a[i + 1] = a[i + 1], a[i]
                swaps += 1
                done = False
        if done:
            break
    return swaps


@case(np.array([5, 3, 8, 1, 9, 2]))
def heap(a):
    n = len(a)
    for start in range(n // 2 - 1, -1, -1):
        _sift(a, start, n)
    for end in range(n - 1, 0, -1):
        a[0], a[end] = a[end], a[0]
        _sift(a, 0, end)


@case(np.array([1, 3, 5, 7, 9, 11]), 7)
def binary_search(a, x):
    lo, hi = 0, len(a)
    while lo < hi:
        mid = (lo + hi) // 2
        if a[mid] < x:
            lo = mid + 1
        else:
            hi = mid
    return lo if lo < len(a) and a[lo] == x else -1


@case(np.array([[0,1,1,0],[1,0,0,1],[1,0,0,0],[0,1,0,0]]), 0)
def bfs(adj, s):
    n = len(adj)
    dist = np.full(n, -1)
    queue = np.zeros(n, dtype=np.int64)
    head, tail = 0, 1
    queue[0] = s
    dist[s] = 0
    while head < tail:
        u = queue[head]
        head += 1
        for v in range(n):
            if adj[u, v] and dist[v] < 0:
                dist[v] = dist[u] + 1
                queue[tail] = v
                tail += 1
    return dist, tail


@case(1234567, 5)
def lcg(seed, n):
    x = np.uint32(seed)
    out = np.zeros(n, dtype=np.uint32)
    for i in range(n):
        x = np.uint32(x * np.uint32(1664525) + np.uint32(1013904223))
        out[i] = x
    return out


@case(np.frombuffer(b"hello world", dtype=np.uint8).copy())
def fnv(data):
    h = np.uint64(14695981039346656037)
    for b in data:
        h = (h ^ np.uint64(b)) * np.uint64(1099511628211)
    return h


@case(np.array([3,1,2]), np.array([[0,1],[2,0],[1,1]]))
def gather2(x, idx):
    y = np.zeros((3, 3))
    y[idx[:, 0], idx[:, 1]] = x
    y[idx[:, 0], idx[:, 1]] += 1
    np.add.at(y, (idx[:, 1], idx[:, 0]), 2.0)
    return y, x[np.argmax(x)], y[:, [2, 0]], y[[0, 1], [1, 2]]


@case(normal(4), True)
def static_flags(x, flag):
    if flag:
        y = x * 2
    else:
        y = x[:2]
    z = y if not flag else y + 1
    return z


@case(normal(4), "sum")
def static_string(x, mode):
    if mode == "sum":
        return np.sum(x)
    elif mode in ("mean", "avg"):
        return np.mean(x)
    return np.max(x)


@case(normal(5), normal(5)+1)
def swap_arrays(a, b):
    a[:], b[:] = b, a
    return a


@case(normal(5), normal(5)+1)
def swap_copy(a, b):
    a[:], b[:] = b.copy(), a.copy()
    a[1], a[2] = a[2], a[1]
    a[[3, 4]] = a[[4, 3]]
    return a


@case(normal(5)+1j*normal(4)[0], normal(5))
def complex_aug(z, x):
    z += x
    z *= 1j
    z[1:] -= z[:-1].conj()
    w = z / (1 + 2j) - x
    return w, np.abs(w), w.real, np.sum(z), z == z, z ** 2, np.sqrt(z), np.exp(z), (z * z.conj()).real, 1j * 2


@case(3.0, 2)
def scalars(x, n):
    y = x
    for i in range(n):
        y = y * x + i
    z = int(y) // 2
    return y, z, float(z), y > 10, -z % 7, abs(-y), round(2.5), x ** n, n ** 2, x // 2, x % 2, -x // 2


@case(normal(2,3), normal(3,2))
def mat_aug(A, B):
    C = np.eye(2)
    C @= A @ B
    C **= 2
    C //= 0.5
    C %= 3.0
    return C
