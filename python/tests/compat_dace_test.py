"""headrace.compat.dace: DaCe's spellings, run as DaCe's users write them."""

import unittest
import warnings

from python.tests.case import Case, headrace, np

import headrace.compat.dace as dace

M, N = dace.symbol("M"), dace.symbol("N")


@dace.program
def product(A: dace.float64[M, N], x: dace.float64[N]):
    y = dace.define_local([M], dace.float64)
    for i in dace.map[0:M]:
        for j in dace.map[0:N]:
            y[i] += A[i, j] * x[j]
    return y


@dace.program
def heat(A: dace.float32[N, M], B: dace.float32[N, M], steps: dace.int32):
    for _ in range(steps):
        for i, j in dace.map[1:N - 1, 1:M - 1]:
            B[i, j] = dace.float32(0.25) * (A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1])
        A[:] = B


@dace.program(auto_optimize=False)
def every_third(A: dace.int64[N]):
    count = dace.define_local_scalar(dace.int64)
    for i in dace.map[0:N:3]:
        count += A[i]
    return count


@dace.program
def energy(x: dace.float64[N]):
    return np.sum(np.sin(x) * x)


class ProgramsTest(Case):
    def test_define_local_and_map(self):
        r = np.random.default_rng(0)
        for m, n in ((3, 4), (1, 7), (5, 1)):
            a, x = r.standard_normal((m, n)), r.standard_normal(n)
            self.close(product(a, x), a @ x)

    def test_map_over_two(self):
        a = np.random.default_rng(1).standard_normal((6, 5)).astype(np.float32)
        b, got_a = a.copy(), a.copy()
        got_b = b.copy()
        heat(got_a, got_b, 3)
        for _ in range(3):
            b[1:-1, 1:-1] = np.float32(0.25) * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
            a[:] = b
        self.close(got_a, a)
        self.close(got_b, b)

    def test_map_with_a_step(self):
        a = np.arange(11)
        self.assertEqual(every_third(a), a[::3].sum())

    # Functions of maps run in Python as they stand.
    def test_maps_in_python(self):
        self.assertEqual(list(dace.map[1:7:2]), [1, 3, 5])
        self.assertEqual(list(headrace.map[0:2, :2]), [(0, 0), (0, 1), (1, 0), (1, 1)])
        self.assertIs(dace.map, headrace.map)

    def test_wrong_maps(self):
        @dace.program
        def names(a: dace.float64[N]):
            for i, j in dace.map[0:N]:
                a[i] = j

        with self.fails(ValueError, "2 names for 1 ranges", "for i, j in"):
            names(np.zeros(3))
        with self.fails(TypeError, "ranges with an end", "3"):
            headrace.map[3]
        with self.fails(TypeError, "a step is a positive number"):
            headrace.map[5:0:-1]

    def test_fixed_shapes(self):
        @dace.program
        def twice(a: dace.float32[5, 3]):
            return a * dace.float32(2)

        a = np.ones((5, 3), np.float32)
        self.close(twice(a), 2 * a)
        with self.fails(ValueError, "E0674"):
            twice(np.ones((4, 3), np.float32))

    def test_programs_as_objects(self):
        sdfg = product.to_sdfg()
        self.assertIsInstance(sdfg, headrace.Sdfg)
        a, x = np.ones((2, 3)), np.ones(3)
        self.close(sdfg(a, x), a @ x)
        self.close(energy.compile()(x), np.sum(np.sin(x) * x))

    def test_add_backward_pass(self):
        sdfg = energy.to_sdfg()
        output, = [p.name for p in sdfg.parameters if p.direction == "out"]
        found = dace.add_backward_pass(sdfg, None, [output], ["x"])
        x = np.linspace(0, 1, 5)
        compiled = sdfg.compile()
        results = dict(zip([p.name for p in compiled.outputs], compiled(x)))
        self.close(results[output], np.sum(np.sin(x) * x))
        self.close(results[found.input_gradients["x"]], np.cos(x) * x + np.sin(x))
        with self.fails(TypeError, "are lists of names"):
            dace.add_backward_pass(sdfg, None, output, "x")
        with self.fails(TypeError, "add_backward_pass has no argument 'output'"):
            dace.add_backward_pass(sdfg, [output], ["x"], output=1)

    def test_add_backward_pass_of_both_spellings(self):
        x = np.linspace(0, 1, 5)
        calls = [lambda s, o: dace.add_backward_pass(s, [o], ["x"]), lambda s, o: dace.add_backward_pass(s, outputs=[o], inputs=["x"]),
                 lambda s, o: dace.add_backward_pass(s, None, inputs=["x"], outputs=[o]),
                 lambda s, o: dace.add_backward_pass(s, [o], ["x"], data_to_recompute=[])]
        for call in calls:
            sdfg = energy.to_sdfg()
            output, = [p.name for p in sdfg.parameters if p.direction == "out"]
            found = call(sdfg, output)
            compiled = sdfg.compile(backend="interpreter")
            self.close(dict(zip([p.name for p in compiled.outputs], compiled(x)))[found.input_gradients["x"]], np.cos(x) * x + np.sin(x))

    def test_add_backward_pass_in_two_programs(self):
        x, sdfg = np.linspace(0, 1, 5), energy.to_sdfg()
        before, (output,) = sdfg.text, [p.name for p in sdfg.parameters if p.direction == "out"]
        forward, backward = dace.add_backward_pass(sdfg, [output], ["x"], separate_sdfgs=True)
        self.assertEqual(sdfg.text, before)
        f, b = forward.compile(backend="interpreter"), backward.program.compile(backend="interpreter")
        made = f(x)
        known = {"x": x, **dict(zip([p.name for p in f.outputs], made if isinstance(made, tuple) else (made,))),
                 backward.output_gradients[output]: np.ones(())}
        self.close(b(*[known[p.name] for p in b.inputs]), np.cos(x) * x + np.sin(x))


class ArgumentsTest(Case):
    def says(self, *parts):
        test = self

        class Said(warnings.catch_warnings):
            def __enter__(self):
                self.all = super().__enter__()
                warnings.simplefilter("always")
                return self

            def __exit__(self, *error):
                super().__exit__(*error)
                test.assertEqual(len(self.all), 1, [str(w.message) for w in self.all])
                test.assertEqual(self.all[0].filename, __file__)
                for part in parts:
                    test.assertIn(part, str(self.all[0].message))

        return Said(record=True)

    def test_arguments_without_effect(self):
        with self.says("dace.program: auto_optimize=True has no effect: compiling always optimizes"):
            dace.program(auto_optimize=True)
        with self.says("recreate_sdfg=False", "once for each set of argument types"):
            dace.program(recreate_sdfg=False)
        with self.says("dace.symbol: dtype", "sizes are int64"):
            dace.symbol("K", dtype=dace.int32)
        sdfg = energy.to_sdfg()
        output, = [p.name for p in sdfg.parameters if p.direction == "out"]
        with self.says("add_backward_pass: state=", "has no effect: all states of a program are differentiated"):
            dace.add_backward_pass(sdfg.copy(), sdfg, [output], ["x"])
        with self.says("data_forwarding_strategy='store_all' has no effect: what is kept is chosen by cost"):
            dace.add_backward_pass(sdfg.copy(), [output], ["x"], data_forwarding_strategy="store_all")
        with self.says("simplify=True has no effect"):
            dace.add_backward_pass(sdfg.copy(), [output], ["x"], simplify=True)
        with self.says("dace.define_local: storage=1", "the compiler decides"):
            dace.define_local([3], dace.float32, storage=1)
        with self.says("dace.program: device=", "no backend for GPUs, it runs on the CPU"):
            dace.program(device=dace.DeviceType.GPU)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            dace.symbol("K", dtype=dace.int64, positive=True)
            dace.program(auto_optimize=False)

    def test_what_there_is_not(self):
        with self.fails(TypeError, "dace.program has no argument 'optimise'"):
            dace.program(optimise=True)
        with self.fails(AttributeError, "no 'defne_local'", "did you mean define_local?"):
            dace.defne_local
        with self.fails(AttributeError, "donnx.Conv", "donnx.ONNXConv"):
            dace.donnx.Conv


class OnnxTest(Case):
    def test_model(self):
        from python.tests import onnx_models
        proto = onnx_models.perceptron()
        x = np.random.default_rng(2).standard_normal((3, 4)).astype(np.float32)
        model = dace.ONNXModel("net", proto, cuda=False)
        self.close(model(x), onnx_models.reference(proto, {"x:0": x})[0], rtol=1e-5, atol=1e-6)
        with self.assertWarnsRegex(UserWarning, "cuda=True has no effect: there is no backend for GPUs, it runs on the CPU"):
            model = dace.ONNXModel("net", proto, cuda=True)
        self.close(model(x), onnx_models.reference(proto, {"x:0": x})[0], rtol=1e-5, atol=1e-6)

    def test_operators(self):
        @dace.program
        def layer(x: dace.float32[N, 3, 6, 6], w: dace.float32[4, 3, 3, 3], y: dace.float32[N, 4, 4, 4]):
            dace.donnx.ONNXConv(X=x, W=w, Y=y, strides=[1, 1])
            y[:] = dace.donnx.ONNXRelu(X=y)

        r = np.random.default_rng(5)
        x, w = r.standard_normal((2, 3, 6, 6)).astype(np.float32), r.standard_normal((4, 3, 3, 3)).astype(np.float32)
        y = np.zeros((2, 4, 4, 4), np.float32)
        layer(x, w, y)
        windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
        expected = np.einsum("ncijuv,ocuv->noij", windows, w)
        self.close(y, np.maximum(expected, 0), rtol=1e-4, atol=1e-5)
        self.assertIn("onnx.Conv", layer.to_sdfg(simplify=False).text)
        eager = np.zeros_like(y)
        self.assertIs(dace.donnx.ONNXConv(X=x, W=w, Y=eager, strides=[1, 1]), eager)
        self.close(eager, expected, rtol=1e-4, atol=1e-5)
        with self.fails(AttributeError, "no operator 'Cnv'"):
            dace.donnx.ONNXCnv


if __name__ == "__main__":
    unittest.main()
