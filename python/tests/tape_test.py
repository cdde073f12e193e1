"""x.requires_grad_(), loss.backward() and x.grad inside of programs, against differences and by hand."""

import unittest

import numpy as np
from case import Case, headrace

N = headrace.symbol("N")


def program(function):
    return headrace.program(function, backend="interpreter")


@program
def one(x: headrace.float64[N], w: headrace.float64[N]):
    x.requires_grad_()
    w.requires_grad_()
    loss = np.sum(np.sin(x) * w)
    loss.backward()
    return loss, x.grad, w.grad


@program
def several(x: headrace.float64[N]):
    x.requires_grad_()
    a = np.sum(x * x)
    a.backward()
    first = x.grad.copy()
    b = a * np.sum(x)
    b.backward()
    return first, x.grad * 1


@program
def intermediate(x: headrace.float64[N]):
    x.requires_grad_()
    h = np.tanh(x) * 3
    h.requires_grad_()
    np.sum(h ** 2).backward()
    return x.grad, h.grad


@program
def seeded(x: headrace.float64[N], g: headrace.float64[N]):
    x.requires_grad_()
    y = x ** 3
    y.backward(g)
    return x.grad


@program
def unrelated(x: headrace.float64[N], z: headrace.float64[N]):
    x.requires_grad_()
    z.requires_grad_()
    np.sum(x * x).backward()
    return x.grad, z.grad


@program
def step(w: headrace.float64[N], x: headrace.float64[N], y: headrace.float64):
    w.requires_grad_()
    loss = (np.sum(w * x) - y) ** 2
    loss.backward()
    w -= 0.1 * w.grad
    return loss


@program
def loops(x: headrace.float64[N]):
    x.requires_grad_()
    h = x * 1
    for t in range(3):
        h[:] = np.sin(h) * x
    loss = np.sum(h)
    loss.backward()
    return loss, x.grad


class TapeTest(Case):
    x, w = np.array([0.5, -1.0, 2.0]), np.array([1.0, 2.0, -3.0])

    def test_gradients(self):
        loss, of_x, of_w = one(self.x, self.w)
        self.close(loss, np.sum(np.sin(self.x) * self.w))
        self.close(of_x, np.cos(self.x) * self.w, rtol=1e-12)
        self.close(of_w, np.sin(self.x), rtol=1e-12)
        self.assertIn("autodiff.Backward(outputs = loss, inputs = x, inputs = w)", one.sdfg.text)

    def test_several_accumulate(self):
        first, both = several(self.x)
        a, total = np.sum(self.x**2), np.sum(self.x)
        self.close(first, 2 * self.x)
        self.close(both, 2 * self.x + 2 * self.x * total + a, rtol=1e-12)

    def test_of_what_is_computed(self):
        of_x, of_h = intermediate(self.x)
        h = np.tanh(self.x) * 3
        self.close(of_h, 2 * h, rtol=1e-12)
        self.close(of_x, 2 * h * 3 * (1 - np.tanh(self.x) ** 2), rtol=1e-12)

    def test_gradients_that_arrive(self):
        self.close(seeded(self.x, self.w), 3 * self.x**2 * self.w, rtol=1e-12)

    def test_what_the_result_does_not_depend_on(self):
        of_x, of_z = unrelated(self.x, self.w)
        self.close(of_x, 2 * self.x)
        self.close(of_z, np.zeros(3))

    def test_a_training_step(self):
        w, x = np.zeros(3), self.x
        losses = [float(step(w, x, 2.0)) for _ in range(20)]
        self.assertLess(losses[-1], 1e-3 * losses[0])
        self.close(w, 2.0 * x / np.sum(x * x), rtol=1e-2)

    def test_compiled_and_loops(self):
        loss, of_x = headrace.program(loops.__headrace_function__)(self.x)

        def value(x):
            h = x * 1
            for _ in range(3):
                h = np.sin(h) * x
            return np.sum(h)

        self.close(loss, value(self.x), rtol=1e-12)
        differences = [(value(self.x + 1e-6 * e) - value(self.x - 1e-6 * e)) / 2e-6 for e in np.eye(3)]
        self.close(of_x, np.array(differences), rtol=1e-7)

    def test_gradients_of_programs_with_gradients(self):
        @program
        def norm(x: headrace.float64[N]):
            x.requires_grad_()
            loss = np.sum(x ** 3)
            loss.backward()
            return np.sum(x.grad ** 2)

        self.close(headrace.grad(norm)(self.x), 36 * self.x**3, rtol=1e-10)

    def test_wrong_use(self):
        def in_loop(x):
            x.requires_grad_()
            for t in range(3):
                s = np.sum(x * t)
                s.backward()
            return x.grad

        def nothing(x):
            np.sum(x).backward()
            return x

        def vector(x):
            x.requires_grad_()
            (x * 2).backward()
            return x.grad

        def part(x):
            x[1:].requires_grad_()
            return x

        def changed(x):
            x.requires_grad_()
            x *= 2.0
            np.sum(x).backward()
            return x.grad

        def integers(x):
            n = np.zeros(3, np.int64)
            n.requires_grad_()
            return x

        def not_asked(x):
            y = x * 2
            return y.grad

        for function, kind, text in ((in_loop, NotImplementedError, "backward() in a loop"), (nothing, TypeError, "no array requires a gradient"),
                                     (vector, TypeError, "backward() is of one number, not of shape (3,)"),
                                     (part, NotImplementedError, "requires_grad_() of a part of an array"),
                                     (changed, NotImplementedError, "x requires a gradient and is changed in place"),
                                     (integers, TypeError, "requires_grad_() of int64"),
                                     (not_asked, TypeError, "this array has no gradient: x.requires_grad_()")):
            with self.subTest(text), self.fails(kind, text, "^^^"):
                program(function)(self.x.copy())


if __name__ == "__main__":
    unittest.main()
