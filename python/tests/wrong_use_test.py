"""Wrong use: an exception of the fitting type whose text says what, where, and what to do; and right use from many sides at once."""

import array
import ctypes
import os
import tempfile
import threading
import unittest

from python.tests.case import Case, headrace, np

N = headrace.symbol("N")
ADD = "sdfg f(X: f32[N], Z: f32[N], Y: f32[N]) { map i in 0:N { Y[i] = 2 * X[i] + Z[i] } }"


class Exchanged:
    """An array by DLPack alone, or what goes wrong there."""

    def __init__(self, array, wrong=None):
        self.array, self.wrong = array, wrong

    def __dlpack__(self, **options):
        if self.wrong is not None:
            raise self.wrong
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class OnADevice:
    """A DLPack tensor in a GPU's memory."""

    class _Tensor(ctypes.Structure):
        _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32),
                    ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                    ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("offset", ctypes.c_uint64),
                    ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]

    def __init__(self):
        self._shape = (ctypes.c_int64 * 1)(2)
        self._tensor = self._Tensor(4096, (ctypes.c_int32 * 2)(2, 0), 1, 2, 32, 1, ctypes.addressof(self._shape))

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, **options):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self._tensor), b"dltensor", None)


@headrace.program
def add(a: headrace.float64[N], b: headrace.float64[N]):
    return a + b


@headrace.program
def increment(a: headrace.float64[N]):
    a += 1


def read_only(array):
    array.flags.writeable = False
    return array


# Functions that no program can be, and where the caret is.
def opens_a_file(a):
    with open("x"):
        return a


def unknown_function(a):
    return np.nosuch(a)


def unknown_name(a):
    return undefined + a  # noqa: F821


def outside(a):
    return a[10]


def wrong_axis(a):
    return np.sum(a, axis=5)


def inner_sizes(a):
    return np.zeros((2, 3)) @ np.zeros((2, 3)) + np.sum(a)


def yields(a):
    yield a


def catches(a):
    try:
        return a
    except ValueError:
        return a


def method(a):
    return a.foo()


def misspelt(a):
    return np.summ(a) + aa  # noqa: F821


def misspelt_name(array):
    return aray  # noqa: F821


def misspelt_method(a):
    return a.transposed()


def misspelt_argument(a):
    return np.sum(a, axs=0)


def squeezes(a):
    return a.squeeze(0)


def other_shapes(a):
    if a[0] > 0:
        return a
    return a[1:]


def no_such_key(a):
    return {"x": a}["y"]


def never_ends(a):
    return a + never_ends(a + 1)


def of_a_library(a):
    return np.fromregex(a, "x", np.float64)


FUNCTIONS = [(misspelt, TypeError, "no attribute 'summ'", "hint: did you mean 'sum'?"),
             (misspelt_name, ValueError, "'aray' is not defined", "hint: did you mean 'array'?"),
             (misspelt_method, TypeError, "no attribute 'transposed'", "hint: did you mean 'transpose'?"),
             (misspelt_argument, TypeError, "sum() as programs know it got an unexpected keyword argument 'axs'", "axs=0"),
             (squeezes, ValueError, "np.squeeze of a dimension that is not known to be 1", "a.squeeze(0)"),
             (other_shapes, ValueError, "this function returns shape (2,) in one place, and (1,) here", "return a[1:]"),
             (no_such_key, ValueError, "there is no item 'y'", '{"x": a}["y"]'),
             (never_ends, ValueError, "calls within calls, 64 deep", "never_ends(a + 1)"),
             (of_a_library, headrace.UnsupportedError, "numpy's fromregex is not among the functions that programs know", "np.fromregex"),
             (opens_a_file, headrace.UnsupportedError, "with statements", 'with open("x")'),
             (unknown_function, TypeError, "nosuch", "np.nosuch(a)"),
             (unknown_name, ValueError, "'undefined' is not defined", "undefined + a"),
             (outside, ValueError, "index 10 is out of bounds", "a[10]"),
             (wrong_axis, ValueError, "axis 5 is out of bounds", "axis=5"),
             (inner_sizes, ValueError, "the inner sizes 3 and 2", "@"),
             (yields, headrace.UnsupportedError, "yield has no place", "elsewhere return arrays"),
             (catches, headrace.UnsupportedError, "try statements have no place", "try:"),
             (method, TypeError, "no attribute 'foo'", "a.foo()")]


class LambdasTest(Case):
    def test_in_a_larger_expression(self):
        f = (headrace.grad(
            lambda x: np.sum(x), 0))
        self.close(f(np.ones(3)), np.ones(3))
        several = [headrace.program(g) for g in (lambda x: x + 1, lambda x, *, s=2.0: x * s)]
        self.close(several[0](np.ones(3)), np.full(3, 2.0))
        self.close(several[1](np.ones(3)), np.full(3, 2.0))
        with self.fails(TypeError, "no attribute 'foo'", "wrong_use_test.py", "in <lambda>", "x.foo", "^^^^^"):
            headrace.program(lambda x: x.foo)(np.ones(3))

    def test_without_a_source(self):
        with self.fails(headrace.UnsupportedError, "the source of <lambda> is not to be had"):
            headrace.program(eval("lambda x: x + 1"))(np.ones(3))

    def test_another_exception_is_shown(self):
        with self.assertRaises(KeyError), self.fails(TypeError, "x"):
            {}["x"]


class CallsTest(Case):
    @classmethod
    def setUpClass(cls):
        cls.sdfg = headrace.Sdfg.parse(ADD)
        cls.f = cls.sdfg.compile(backend="cpu")
        cls.x = np.ones(2, np.float32)

    def test_what_is_given(self):
        f, x = self.f, self.x
        for given, kind, parts in [
                ((x.astype(np.float64), x), ValueError, ("E0672", "input X", "got: f64", "expected: f32", "hint: convert it")),
                ((np.zeros((2, 2), np.float32), x), ValueError, ("E0673", "input X", "got: [2, 2]", "expected: [N]")),
                ((x, np.ones(3, np.float32)), ValueError, ("E0674", "N is 2 (input X, dimension 0) and 3 (input Z, dimension 0)")),
                (("abc", x), TypeError, ("'X' takes an array of f32", "not str", "hint")),
                (([1.0, 2.0], x), TypeError, ("'X' takes an array of f32", "not list", "numpy.asarray")),
                ((None, x), TypeError, ("'X' takes an array of f32", "not NoneType")),
                ((x.astype(">f4"), x), TypeError, ("ndarray of >f4", "hint: convert it")),
                ((np.array([1, None], object), x), TypeError, ("ndarray of object",)),
                ((OnADevice(), x), ValueError, ("input X", "memory")),
                ((Exchanged(x, BufferError("not now")), x), TypeError, ("'X' takes an array of f32", "not Exchanged", "BufferError: not now", "hint")),
                ((x,), TypeError, ("missing argument: Z",)),
                ((x, x, x), TypeError, ("takes 2 arrays (X, Z), not 3",))]:
            with self.subTest(parts), self.fails(kind, *parts):
                f(*given)

    def test_what_interrupts_goes_on(self):
        with self.assertRaises(KeyboardInterrupt):
            self.f(Exchanged(self.x, KeyboardInterrupt()), self.x)
        self.close(self.f(Exchanged(self.x), self.x), self.f(self.x, self.x))

    def test_numbers(self):
        f = headrace.Sdfg.parse("sdfg f(a: i8, Y: i8[1]) { Y[0] = a }").compile(backend="cpu")
        self.close(f(-128), np.int8([-128]))
        with self.fails(OverflowError, "'a': Python integer 200 out of bounds for i8"):
            f(200)
        with self.fails(TypeError, "'a' takes an array of i8, not float 2.0", "hint: convert it first"):
            f(2.0)

    def test_names(self):
        x = self.x
        with self.fails(TypeError, "no argument named W; there are X, Z"):
            self.f(x, W=x)
        with self.fails(TypeError, "X is given twice"):
            self.f(x, X=x)
        with self.fails(TypeError, "missing a required argument: 'b'"):
            add(np.zeros(2), c=np.zeros(2))

    def test_outputs(self):
        x = self.x
        for out, kind, parts in [
                ([np.zeros(2)], ValueError, ("E0689", "output Y is f32[2], the array given for it f64[2]")),
                ([np.zeros(3, np.float32)], ValueError, ("E0689", "f32[3]")),
                ([read_only(np.zeros(2, np.float32))], ValueError, ("E0687", "output Y is read-only", "hint")),
                ([], TypeError, ("out takes a list of an array for each output (Y)", "not 0 of them")),
                ([None, None], TypeError, ("not 2 of them",)),
                (np.zeros(2, np.float32), TypeError, ("out takes a list", "not ndarray")),
                (["abc"], TypeError, ("out: 'Y' takes an array, not str",))]:
            with self.subTest(parts), self.fails(kind, *parts):
                self.f(x, x, out=out)

    # Any strides will do: what lies between stays as it is.
    def test_an_output_that_is_not_contiguous(self):
        y = np.zeros(4, np.float32)
        self.f(self.x, self.x, out=[y[::2]])
        self.close(y, np.float32([3, 0, 3, 0]))

    def test_updated_arguments(self):
        with self.fails(ValueError, "E0687", "input a is read-only, and the program updates it", "hint"):
            increment(read_only(np.zeros(3)))
        scale = headrace.Sdfg.parse("sdfg g(inout X: f32[N]) { map i in 0:N { X[i] = 2 * X[i] } }")
        with self.fails(ValueError, "E0687", "input X is read-only"):
            scale(read_only(np.zeros(2, np.float32)))
        with self.fails(ValueError, "E0673", "input X"):
            scale(2.0)
        with self.fails(ValueError, "E0688", "input X is written, and its elements share memory", "copy it"):
            scale(np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (3,), (0,)))
        columns = np.ones((3, 2))
        both = headrace.Sdfg.parse("sdfg g(inout X: f64[N], Z: f64[N]) { map i in 0:N { X[i] = X[i] + Z[i] } }")
        both(columns[:, 0], columns[:, 1])
        self.close(columns, np.float64([[2, 1]] * 3))
        for a, b in ((columns, columns), (columns[1:], columns[:-1])):
            with self.fails(ValueError, "E0688", "input X is updated, and shares memory with input Z"):
                both(a[:, 0], b[:, 0])

    def test_failures_leave_the_program_usable(self):
        for _ in range(3):
            with self.fails(ValueError, "E0674"):
                self.f(self.x, np.ones(3, np.float32))
            self.close(self.f(self.x, self.x), np.float32([3, 3]))


class ProgramsTest(Case):
    def test_functions(self):
        for function, kind, what, line in FUNCTIONS:
            with self.subTest(function.__name__), self.fails(kind, what, line, os.path.basename(__file__), "in " + function.__name__, "^"):
                headrace.program(function)(np.zeros(2))

    def test_arguments(self):
        with self.fails(ValueError, "E0672", "input a", "input b"):
            add(np.float32([1]), np.float32([1]))
        with self.fails(TypeError, "argument a: no program computes with a MaskedArray: pass its data and its mask"):
            headrace.program(outside)(np.ma.array([1.0, 2.0], mask=[0, 1]))
        with self.fails(TypeError, "argument a: no program computes with a matrix: pass np.asarray(…) of it"):
            headrace.program(outside)(np.matrix([1.0, 2.0]))
        class Readings:  # as a DataFrame
            def __array__(self, dtype=None, copy=None):
                return np.ones(2)

        for what in (array.array("d", [1.0, 2.0]), memoryview(np.ones(2)), Readings()):
            with self.fails(TypeError, f"argument a: no program computes with a {type(what).__name__}: pass np.asarray(…) of it"):
                headrace.program(outside)(what)

            def around(a):
                return a + np.sum(what)

            with self.fails(NotImplementedError, f"np.sum of a {type(what).__name__}", "hint: pass np.asarray(…) of it as an argument"):
                headrace.program(around)(np.ones(2))
        with self.fails(TypeError, "argument a: a dict can be no constant"):
            headrace.program(outside)({"a": 1})
        with self.fails(TypeError, "headrace.program takes a function"):
            headrace.program(3)
        with self.fails(ValueError, "'2x' is no name for a size"):
            headrace.symbol("2x")
        with self.fails(TypeError, "a size is an integer or made of headrace.symbol", "'a b'"):
            headrace.float32["a b"]

    def test_gradients(self):
        squared = headrace.program(square)
        with self.fails(TypeError, "shape (3,)", "sum it up"):
            headrace.grad(squared)(np.zeros(3))
        with self.fails(TypeError, "argument x is headrace.int64", "convert it to float64"):
            headrace.grad(squared)(np.int64(3))
        with self.fails(ValueError, "has 1 arguments, not one numbered 3"):
            headrace.grad(squared, 3)
        with self.fails(ValueError, "no argument zz; it has x"):
            headrace.grad(squared, "zz")

    def test_programs_as_objects(self):
        sdfg = headrace.Sdfg.parse(ADD)
        with self.fails(headrace.InvalidError, "E0100", "<text>:1:16", "^"):
            headrace.Sdfg.parse("sdfg f(X: f32[N) {}")
        with self.fails(headrace.UnsupportedError, "E0435", "'cuda'", "cpu, interpreter"):
            sdfg.compile(backend="cuda")
        with self.fails(headrace.UsageError, "E0353", "nosuchpass"):
            sdfg.apply("nosuchpass")
        with self.fails(headrace.UsageError, "E0810", "'Q'", "did you mean"):
            sdfg.gradient(["Q"], ["X"])
        with self.fails(headrace.UsageError, "E0810", "a gradient is given for 'Q'", "some of these: Y"):
            sdfg.gradient(["Y"], ["X"], given=["Q"])
        with self.fails(TypeError, "outputs is a list of names, not one name"):
            sdfg.gradient("Y", ["X"])
        with self.fails(headrace.InvalidError, "E0401", "/nonexistent.onnx"):
            headrace.Sdfg.load("/nonexistent.onnx")
        with self.fails(headrace.InvalidError, "/nonexistent.hrx: there is no such file"):
            headrace.load("/nonexistent.hrx")
        with self.fails(headrace.InvalidError, "E0370", "/nonexistent/x.hrx"):
            sdfg.compile().save("/nonexistent/x.hrx")
        with self.fails(headrace.InvalidError, "E0502", "damaged or cut off"):
            headrace.ONNXModel("m", b"garbage")
        with self.fails(AttributeError, "nosuch"):
            headrace.nosuch


def square(x):
    return x * x


def memory():
    """KiB of this process in memory."""
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


class ManySidesTest(Case):
    def setUp(self):
        self.sdfg = headrace.Sdfg.parse(ADD)
        self.f = self.sdfg.compile()

    def test_a_forked_process(self):
        x = np.arange(200_000, dtype=np.float32)
        expected = self.f(x, x)  # the runtime's threads exist now, and not in the child
        child = os.fork()
        if child == 0:
            try:
                right = np.array_equal(self.f(x, x), expected) and np.array_equal(add(np.ones(3), np.ones(3)), np.full(3, 2.0))
            except BaseException:
                right = False
            os._exit(0 if right else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_eight_threads(self):
        wrong = []

        def work(k):
            x = np.full(20_000 + k, k, np.float32)
            for _ in range(50):
                y = self.f(x, x)
                if y.shape != x.shape or not np.all(y == 3 * k):
                    wrong.append(k)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])

    # Each thread of 8 calls a program that none has compiled yet.
    def test_threads_that_want_the_same_program(self):
        made = []

        @headrace.program
        def both(a):
            return a * 2 + 1

        translate = both.translate
        both.translate = lambda types: made.append(types) or translate(types)
        ready, results = threading.Barrier(8), []

        def work():
            ready.wait()
            results.append(both(np.arange(4.0)))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(len(made), 1)
        self.assertEqual(len(results), 8)
        for r in results:
            self.close(r, np.arange(4.0) * 2 + 1)

    def test_loads_and_unloads(self):
        path = os.path.join(tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR")), "f.hrx")
        self.f.save(path)
        x = np.ones(10, np.float32)
        before = 0
        for k in range(1000):
            if k == 100:
                before = memory()
            self.assertEqual(headrace.load(path)(x, x)[0], 3)
        self.assertLess(memory() - before, 2000)

    def test_changing_sizes(self):
        x = np.ones(1000, np.float32)
        for m in range(1, 1000):
            self.f(x[:m], x[:m])
        before = memory()
        for n in range(10_000):
            m = n * 7 % 997 + 1
            self.assertEqual(self.f(x[:m], x[:m]).shape, (m,))
        self.assertLess(memory() - before, 2000)


if __name__ == "__main__":
    unittest.main()
