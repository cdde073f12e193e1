"""What shares memory with what: of every array of the caller's that a function has another name for, and of what a change of either shows in the other."""

import unittest

from python.tests.case import Case, headrace, np

VIEWS = {
    "broadcast_to": lambda x: np.broadcast_to(x, (2, 3, 4)),
    "broadcast_to of a row": lambda x: np.broadcast_to(x[1], (3, 4)),
    "broadcast_arrays": lambda x: np.broadcast_arrays(x, np.zeros((2, 1, 1)))[0],
    "windows": lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, axis=0),
    "windows of parts": lambda x: np.lib.stride_tricks.sliding_window_view(x[:, ::-1], (2, 3))[0, ::-1],
    "diagonal": np.diagonal,
    "a part of a diagonal": lambda x: np.diagonal(x)[1:],
    "an element of a diagonal": lambda x: np.diagonal(x)[2:][None],
    "a diagonal from the end": lambda x: x.diagonal(1)[::-1],
    "a diagonal by einsum": lambda x: np.einsum("ii->i", x[:, :3]),
    "the same type": np.float64,
    "flip": np.flip,
    "rot90": np.rot90,
    "split": lambda x: np.split(x, 3)[1],
    "real": np.real,
    "ravel": np.ravel,
    "a column": lambda x: x[:, 1, None],
}
COPIES = {
    "flatten": lambda x: x.flatten(),
    "ravel of a transposed": lambda x: x.T.ravel(),
    "indices": lambda x: x[[0, 1]],
    "take": lambda x: np.take(x, [0, 1], axis=0),
    "array": np.array,
}


def changed(view, change):
    def function(x):
        y = view(x)
        if change == "elements":
            x[1, 1] = 7.0
            x += 1.0
        elif change == "rows":
            x[:] = x[::-1]
            x[0], x[1] = x[1], x[0]
        else:
            y[...] = 5.0
            y += 2.0
        return x, y, y * 2
    return function


def of_numbers(x):
    """Numbers share memory with nothing."""
    m = np.mean(x)
    made = [np.atleast_1d(m), np.atleast_2d(m), m[None], m[..., None], np.expand_dims(m, 0), np.reshape(m, (1, 1)), np.ravel(m), x[0][None]]
    for k, a in enumerate(made):
        a += k
    x[0] = 9
    return (m, x, *made)


def indices_of_themselves(i):
    j, k, m = i.copy(), i.copy(), i > 0
    i[i] = i
    j[j[::-1]] = np.arange(4)
    np.add.at(k, k, 1)
    m[m] = ~m[::-1][m]
    return i, j, k, m


def exchanged_twice(a, c):
    b = a * 2
    if c[0] < 1:
        a, b = b, a
    if c[1] > 1:
        a[0] = 7
        a, b = b, a
    return a, b


def chosen_before(a, c):
    b = a * 2
    if c[0] < 1:
        a = b
    if c[1] > 1:
        a[0] = 7
        a = b + 1
    return a, b


def of_one_element(x):
    """x[..., k] of a vector is an array without dimensions, and a view; x.flat counts through all elements."""
    last, first = x[..., -1], x[0] * 2
    last += 5
    for k in range(2):
        last *= x[..., k]
    x.flat[2] = first
    x.flat[3:5] += 1
    copied = x.flat[:2]
    copied[0] = 99
    y = np.zeros((2, 3))
    y.flat = x[:2]
    return x[..., 1], last, x * 1, copied, y


class Views(Case):
    def test_changes_show(self):
        x = np.arange(12.0).reshape(3, 4) - 3.5
        for name, view in (*VIEWS.items(), *COPIES.items()):
            for change in ("elements", "rows"):
                with self.subTest(name, change=change):
                    self.same(changed(view, change), x, backend="interpreter")

    def test_changes_of_views(self):
        x = np.arange(12.0).reshape(3, 4) - 3.5
        for name, view in (*VIEWS.items(), *COPIES.items()):
            with self.subTest(name):
                if any(word in name for word in ("broadcast", "windows")) or "diagonal" in name and "einsum" not in name:
                    with self.fails(ValueError, "assignment destination is read-only"):
                        headrace.program(changed(view, "view"), backend="interpreter")(x.copy())
                else:
                    self.same(changed(view, "view"), x, backend="interpreter")

    def test_on_the_cpu(self):
        x = np.arange(12.0).reshape(3, 4) - 3.5
        for name in ("broadcast_to", "windows of parts", "a part of a diagonal"):
            self.same(changed(VIEWS[name], "rows"), x)

    def test_gradients_through_them(self):
        N = headrace.symbol("N")

        def loss(x: headrace.float64[N, 4]):
            w = np.lib.stride_tricks.sliding_window_view(x, 2, axis=0)
            d = np.diagonal(np.broadcast_to(x[1], (4, 4)))
            return np.sum(w.mean(-1) ** 2) + np.sum(d[1:] ** 3)

        for n in (2, 5):
            x = np.sin(np.arange(4.0 * n)).reshape(n, 4)
            got = headrace.grad(headrace.program(loss, backend="interpreter"))(x)
            expected = [(loss(x + h) - loss(x - h)) / 2e-5 for h in 1e-5 * np.eye(4 * n).reshape(-1, n, 4)]
            np.testing.assert_allclose(got.ravel(), expected, rtol=1e-7, atol=1e-8)

    def test_arrays_without_dimensions(self):
        self.same(of_one_element, np.arange(1.0, 7.0), backend="interpreter")
        made = headrace.program(of_one_element, backend="interpreter")(np.arange(1.0, 7.0))
        self.assertEqual([type(m) for m in made], [np.ndarray] * 5)
        with self.fails(ValueError, "read-only", ".flat of a part of an array"):
            def transposed(x):
                x.T.flat[1] = 5

            headrace.program(transposed)(np.zeros((2, 3)))

    def test_numbers(self):
        self.same(of_numbers, np.arange(4.0), backend="interpreter")

    def test_indices_of_themselves(self):
        self.same(indices_of_themselves, np.array([2, 0, 3, 1]), backend="interpreter")

    def test_what_copies_of_copies_could_not_do_is_refused(self):
        for f in (exchanged_twice, chosen_before):
            with self.subTest(f.__name__), self.fails(headrace.UnsupportedError, "write a = ….copy()"):
                headrace.program(f, backend="interpreter")(np.arange(3.0), np.ones(2))


if __name__ == "__main__":
    unittest.main()
