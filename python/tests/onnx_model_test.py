"""headrace.ONNXModel against onnx's reference evaluator, NumPy and finite differences."""

import copy
import os
import pickle
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnx.parser
from case import Case, headrace
from onnx import TensorProto as T
from onnx import helper
from onnx_models import model, perceptron, reference, reshaper, save, weights

X = np.random.default_rng(1).standard_normal((5, 4), np.float32)
ONE_OF_ALL = """
import sys
sys.modules["onnx"] = None  # not installed
import numpy, headrace
f = headrace.ONNXModel("net", sys.argv[1])
g = headrace.ONNXModel("net", open(sys.argv[1], "rb").read())
x = numpy.load(sys.argv[2])
assert (f(x) == g(x)).all() and sorted(f.weights) == ["V", "W/1", "b"]
numpy.save(sys.argv[2], f(x))
"""

# Values inside of a branch, of a loop, of local functions' calls with and without names.
NESTED = """
<ir_version: 8, opset_import: ["" : 18, "own": 1]>
net (float[N] x, bool c, int64 n) => (float[N] y) {
  t = Exp(x)
  b = If (c) <
    then_branch = g1 () => (float[N] z) { "a/1" = Neg(t)  z = Add("a/1", x) },
    else_branch = g2 () => (float[N] z) { z = Mul(t, t) }
  >
  s = Loop (n, , b) <body = body (int64 i, bool go_on, float[N] before) => (bool on, float[N] after) {
    on = Identity(go_on)
    w = Sin(before)
    sum = Add(w, x)
    fw, fu = own.f(w)
    after = Add(fw, sum)
  }>
  [last] y, yu = own.f(s)
}
<domain: "own", opset_import: ["" : 18]>
f (p) => (q, u) {
  u = Tanh(p)
  q = Add(u, p)
}
"""
# Each iteration takes the other branch.
ALTERNATING = """
<ir_version: 8, opset_import: ["" : 18]>
net (float[N] x, int64 n) => (float[N] y) {
  two = Constant <value = int64 {2}> ()
  none = Constant <value = int64 {0}> ()
  y = Loop (n, , x) <body = body (int64 i, bool go_on, float[N] before) => (bool on, float[N] after) {
    on = Identity(go_on)
    r = Mod(i, two)
    even = Equal(r, none)
    after = If (even) <
      then_branch = g1 () => (float[N] z) { m = Neg(before)  "even/in" = Exp(m)  z = Identity("even/in") },
      else_branch = g2 () => (float[N] z) { "odd/in" = Mul(before, before)  z = Neg("odd/in") }
    >
  }>
}
"""

# The result is made anew, and larger, in each iteration.
GROWING = """
<ir_version: 8, opset_import: ["" : 18]>
net (float[3, N] x, int64 n) => (float[M, N] y) {
  y = Loop (n, , x) <body = body (int64 i, bool go_on, float[K, N] before) => (bool on, float[L, N] after) {
    on = Identity(go_on)
    after = Concat <axis = 0> (before, x)
  }>
}
"""


class Models(Case):
    def test_a_proto_bytes_and_a_file_give_what_the_reference_evaluator_gives(self):
        proto = perceptron()
        expected, = reference(proto, {"x:0": X})
        with tempfile.TemporaryDirectory() as folder:
            path = save(proto, os.path.join(folder, "net.onnx"))
            for given in (proto, proto.SerializeToString(), path):
                self.close(headrace.ONNXModel("net", given)(X), expected, rtol=1e-5)

    def test_without_the_package_onnx(self):
        proto = perceptron()
        with tempfile.TemporaryDirectory() as folder:
            path, array = save(proto, os.path.join(folder, "net.onnx")), os.path.join(folder, "x.npy")
            np.save(array, X)
            folders = [os.path.dirname(os.path.dirname(headrace.__file__)), *filter(None, [os.environ.get("PYTHONPATH")])]
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
            subprocess.run([sys.executable, "-c", ONE_OF_ALL, path, array], check=True, env=environment)
            self.close(np.load(array), reference(proto, {"x:0": X})[0], rtol=1e-5)

    def test_names_are_the_models(self):
        f = headrace.ONNXModel("net", perceptron())
        self.assertEqual([(p.name, p.type, p.shape, p.dtype) for p in f.inputs],
                         [("x:0", "tensor(float)", ["batch size", 4], "float32")])
        self.assertEqual([(p.name, p.type, p.shape) for p in f.outputs], [("z", "tensor(float)", ["batch size", 2])])
        self.assertEqual(f.symbols, ["batch_size"])
        self.assertTrue((f(**{"x:0": X}) == f(X)).all() and (f(x_0=X) == f(X)).all())
        with self.fails(headrace.InvalidError, "input x:0", "wrong type", "f64"):
            f(X.astype(np.float64))
        with self.fails(headrace.InvalidError, "x:0", "dimension 1 is 5, not 4"):
            f(np.ones((2, 5), np.float32))
        with self.fails(TypeError, "net: missing input 'x:0'"):
            f()
        with self.fails(TypeError, "net has no input 'x:1'; did you mean 'x:0'?"):
            f(**{"x:1": X})
        with self.fails(TypeError, "takes 1 arrays (x:0), not 2"):
            f(X, X)
        with self.fails(TypeError, "'x:0' is given twice"):
            f(X, x_0=X)

    def test_run_by_names(self):
        f = headrace.ONNXModel("net", perceptron())
        z = np.empty((5, 2), np.float32)
        self.assertIs(f.run({"x:0": X}, [z])[0], z)
        self.close(z, reference(perceptron(), {"x:0": X})[0], rtol=1e-5)
        for given, wrong in (({}, "missing input 'x:0'"), ({"x:0": X, "q": X}, "no input 'q'"), ({"x": X}, "no input 'x'")):
            with self.fails(TypeError, "net", wrong):
                f.run(given)
        with self.fails(TypeError, "net has 1 outputs, and out is of 2"):
            f.run({"x:0": X}, [z, z])

    def test_copies_and_pickles(self):
        f = headrace.ONNXModel("net", perceptron(), dims={"batch size": 5})
        f.weights["b"] = b = np.float32([1, 2, 3])
        expected = f(X)
        for other in (copy.copy(f), copy.deepcopy(f), pickle.loads(pickle.dumps(f))):
            self.close(other(X), expected)
            other.weights["V"] = np.zeros((2, 3), np.float32)
            self.assertFalse(other(X).any())
        b[:] = 7
        self.assertTrue((copy.copy(f)(X) == f(X)).all())
        f.sdfg.expand_library_nodes()
        with self.fails(headrace.UsageError, "net: its program (.sdfg) was changed"):
            copy.copy(f)

    def test_shapes_that_the_model_does_not_say(self):
        f = headrace.ONNXModel("m", model([helper.make_node("Relu", ["x"], ["y"])], {"x": [None, 3]}, {"y": None}))
        self.assertEqual([p.shape for p in f.inputs + f.outputs], [["x_d0", 3], ["x_d0", 3]])

    def test_results_that_grow_in_a_loop(self):
        grow = headrace.ONNXModel("grow", onnx.parser.parse_model(GROWING))
        for columns in (4, 100_000):
            x = np.random.default_rng(columns).standard_normal((3, columns), np.float32)
            for n in (0, 1, 4, 2):
                self.close(grow(x, np.int64(n)), np.concatenate([x] * (n + 1)))

    def test_sizes_can_be_fixed(self):
        f = headrace.ONNXModel("net", perceptron(), dims={"batch size": 5})
        self.assertEqual((f.inputs[0].shape, f.symbols), ([5, 4], []))
        self.close(f(X), reference(perceptron(), {"x:0": X})[0], rtol=1e-5)
        with self.fails(headrace.InvalidError, "dimension 0 is 2, not 5"):
            f(X[:2])
        with self.fails(headrace.UsageError, "no input of the model has a dimension named 'batch'"):
            headrace.ONNXModel("net", perceptron(), dims={"batch": 5})(X)

    def test_several_outputs_and_optional_names(self):
        proto = model([helper.make_node("Split", ["x"], ["a", "b"], axis=1)], {"x": ["n", 4]}, {"a": None, "b": None}, opset=11)
        a, b = headrace.ONNXModel("m", proto)(X)
        self.close(a, X[:, :2])
        self.close(b, X[:, 2:])

    def test_wrong_models(self):
        with self.fails(headrace.InvalidError, "E0502", "<net>"):
            headrace.ONNXModel("net", perceptron().SerializeToString()[:100])
        with self.fails(headrace.InvalidError, "E0401", "no such file"):
            headrace.ONNXModel("net", "/nowhere/net.onnx")
        with self.fails(TypeError, "not int"):
            headrace.ONNXModel("net", 3)
        for empty in (b"", onnx.ModelProto()):
            with self.fails(headrace.InvalidError, "<net>", "not an ONNX model: it has no graph"):
                headrace.ONNXModel("net", empty)
        with self.fails(TypeError, "dims: the size batch size is an integer, not 'a'"):
            headrace.ONNXModel("net", perceptron(), dims={"batch size": "a"})
        with self.fails(headrace.UnsupportedError, "Rell"):
            headrace.ONNXModel("net", model([helper.make_node("Rell", ["x"], ["y"])], {"x": [2]}, {"y": [2]}))(X[0, :2])


class Weights(Case):
    def test_they_are_read_and_set(self):
        f = headrace.ONNXModel("net", perceptron())
        self.assertEqual(list(f.weights), ["W/1", "b", "V"])
        for name, value in weights().items():
            self.close(f.weights[name], value)
        f(X)  # compiled with the model's own
        changed = weights(7)
        for name in ("W/1", "V"):  # V was folded into its transpose
            f.weights[name] = changed[name]
        expected = np.maximum(X @ changed["W/1"] + weights()["b"], 0) @ changed["V"].T
        self.close(f(X), expected, rtol=1e-5)
        changed["W/1"][:] *= 2  # shared
        expected = np.maximum(X @ changed["W/1"] + weights()["b"], 0) @ changed["V"].T
        self.close(f(X), expected, rtol=1e-5)
        del f.weights["W/1"], f.weights["V"]
        self.close(f(X), reference(perceptron(), {"x:0": X})[0], rtol=1e-5)

    def test_type_shape_and_name_are_checked(self):
        f = headrace.ONNXModel("net", perceptron())
        with self.fails(TypeError, "weight 'b' is float32, not float64"):
            f.weights["b"] = np.zeros(3)
        with self.fails(ValueError, "weight 'b' has shape (3,), not (4,)"):
            f.weights["b"] = np.zeros(4, np.float32)
        with self.fails(KeyError, "no weight 'W/2'; did you mean 'W/1'?"):
            f.weights["W/2"] = np.zeros(4, np.float32)
        for value in (None, "abc", [[1], [2, 3]]):
            with self.fails(TypeError, "weight 'b' is an array of float32, not"):
                f.weights["b"] = value

    def test_all_of_a_dict(self):
        f, changed = headrace.ONNXModel("net", perceptron()), weights(7)
        f.weights["b"] = np.zeros(3, np.float32)
        f.weights = {"W/1": changed["W/1"]}
        w = weights()
        self.close(f(X), np.maximum(X @ changed["W/1"] + w["b"], 0) @ w["V"].T, rtol=1e-5)
        with self.fails(ValueError, "weight 'V' has shape"):
            f.weights = {"b": np.zeros(3, np.float32), "V": np.zeros(3, np.float32)}
        self.assertEqual(list(f.weights.given), ["W/1"])
        with self.fails(TypeError, "weights are {name: array}, not list"):
            f.weights = [1]
        f.weights.clear()
        self.assertEqual(list(f.weights), ["W/1", "b", "V"])
        self.close(f(X), reference(perceptron(), {"x:0": X})[0], rtol=1e-5)

    def test_a_weight_that_decides_shapes_is_built_in_and_followed(self):
        proto = model([helper.make_node("Reshape", ["x", "to"], ["y"])], {"x": ["n", 4]}, {"y": None},
                      {"to": np.array([-1, 2], np.int64)})
        f = headrace.ONNXModel("m", proto)
        self.assertEqual(f(X).shape, (10, 2))
        to = np.array([2, -1], np.int64)
        f.weights["to"] = to
        self.assertEqual(f(X).shape, (2, 10))
        to[:] = [20, 1]
        self.assertEqual(f(X).shape, (20, 1))

    def test_initializers_that_are_inputs_may_be_given(self):
        proto = perceptron()
        proto.graph.input.append(helper.make_tensor_value_info("b", T.FLOAT, [3]))
        f, b = headrace.ONNXModel("net", proto), np.float32([1, 2, 3])
        self.close(f(X), reference(perceptron(), {"x:0": X})[0], rtol=1e-5)
        w = weights()
        self.close(f(X, b=b), np.maximum(X @ w["W/1"] + b, 0) @ w["V"].T, rtol=1e-5)
        self.close(f(X, b=2 * b), np.maximum(X @ w["W/1"] + 2 * b, 0) @ w["V"].T, rtol=1e-5)
        self.close(f(X), reference(perceptron(), {"x:0": X})[0], rtol=1e-5)

    def test_values_in_files_beside_the_model(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "net.onnx")
            onnx.save(perceptron(), path, save_as_external_data=True, location="w.bin", size_threshold=0)
            f = headrace.ONNXModel("net", path)
            self.close(f.weights["V"], weights()["V"])
            self.close(f(X), reference(perceptron(), {"x:0": X})[0], rtol=1e-5)
            f.weights["b"] = np.zeros(3, np.float32)
            w = weights()
            self.close(f(X), np.maximum(X @ w["W/1"], 0) @ w["V"].T, rtol=1e-5)
            with open(path, "rb") as file, self.fails(headrace.UsageError, "beside it", "give its path"):
                headrace.ONNXModel("net", file.read())


class Programs(Case):
    def test_every_intermediate_value_by_its_name(self):
        for simplify in (True, False):
            values, proto = {}, perceptron()
            headrace.ONNXModel("net", proto, save_transients=values, simplify=simplify)(X)
            names = ["h/1", "h/2", "y", "VT"]
            for name in names:
                proto.graph.output.append(helper.make_empty_tensor_value_info(name))
            self.assertEqual(sorted(values), sorted(names))
            for name, expected in zip(names, reference(proto, {"x:0": X}, names)):
                self.close(values[name], expected, rtol=1e-5)
        f = headrace.ONNXModel("net", perceptron(), debug_transients=True)
        self.assertEqual(f(X).shape, (5, 2))
        self.close(f.transients["VT"], weights()["V"].T)

    def test_values_inside_of_graphs_and_functions_by_their_names(self):
        proto = onnx.parser.parse_model(NESTED)
        values = {}
        f = headrace.ONNXModel("net", proto, save_transients=values)
        for simplify in (True, False):
            f = headrace.ONNXModel("net", proto, save_transients=values, simplify=simplify)
            for backend in ("cpu", "interpreter"):
                f.compile(backend=backend)
                for c, n in ((True, 3), (False, 1), (True, 0)):
                    x = np.linspace(-1, 1, 4, dtype=np.float32)
                    y = f(x, np.array(c), np.array(n))
                    t = np.exp(x)
                    expected = {"t": t, "b": x - t if c else t * t}
                    expected.update({"a/1": -t, "z": x - t} if c else {"z": t * t})
                    s = expected["b"]
                    for _ in range(n):
                        w = np.sin(s)
                        inner = {"w": w, "sum": w + x, "f_fw/u": np.tanh(w), "f_fw/q": np.tanh(w) + w}
                        s = inner["f_fw/q"] + inner["sum"]
                        expected.update(inner)
                    expected.update({"last/u": np.tanh(s)})
                    self.close(y, expected["last/u"] + s, rtol=1e-5)
                    for name, value in expected.items():
                        self.close(values[name], value, rtol=1e-5)
                    for name in {"a/1", "w", "sum", "f_fw/u", "f_fw/q"} - expected.keys():
                        self.assertNotIn(name, values)

    def test_values_of_a_branch_within_a_loop_are_of_its_last_iteration(self):
        values = {}
        f = headrace.ONNXModel("net", onnx.parser.parse_model(ALTERNATING), save_transients=values)
        x = np.array([1, 2], np.float32)
        for n in range(4):
            y, expected = x, {}
            for i in range(n):
                expected = {"even/in": np.exp(-y), "z": np.exp(-y)} if i % 2 == 0 else {"odd/in": y * y, "z": -y * y}
                y = expected["z"]
            self.close(f(x, np.array(n)), y, rtol=1e-5)
            for name in ("even/in", "odd/in", "z"):
                self.assertEqual(name in values, name in expected, (n, name))
                if name in expected:
                    self.close(values[name], expected[name], rtol=1e-5)

    def test_the_program_may_be_changed_before_it_is_compiled(self):
        f = headrace.ONNXModel("net", perceptron())
        before = f.sdfg.text
        f.sdfg.expand_library_nodes()
        self.assertIn("MatMul", before)
        self.assertNotIn("MatMul:", f.sdfg.text)
        self.close(f(X), reference(perceptron(), {"x:0": X})[0], rtol=1e-5)
        f.weights["b"] = np.zeros(3, np.float32)
        with self.fails(headrace.UsageError, "set weights first"):
            f(X)

    def test_compile_takes_options(self):
        f = headrace.ONNXModel("net", perceptron())
        expected, = reference(perceptron(), {"x:0": X})
        for options in ({"backend": "interpreter"}, {"backend": "cpu", "optimize": "none"}, {"optimize": "default", "threads": 1},
                        {"implementations": {"MatMul": "pure"}}):
            self.close(f.compile(**options)(X), expected, rtol=1e-5)
        with self.fails(headrace.UsageError, "unknown backend"):
            f.compile(backend="gpu")

    def test_values_that_decide_ranks_are_those_of_the_call(self):
        f = headrace.ONNXModel("m", reshaper())
        for to in ([2, 10], [20], [5, 2, 2], [2, 10]):
            self.close(f(X, np.array(to)), X.reshape(to))

    def test_gradients_by_weights_and_inputs(self):
        f = headrace.ONNXModel("net", perceptron())
        gradients = f.grad(["V", "x:0", "W/1"])(X)
        f.weights["W/1"] = w = weights()["W/1"].copy()
        def total(x, w, v):
            return float((np.maximum(x.astype(np.float64) @ w + weights()["b"], 0) @ v.T).sum())
        v = weights()["V"]
        for name, array, at in (("x:0", X, (1, 2)), ("W/1", w, (0, 1)), ("V", v, (1, 2))):
            up, down = ({"x:0": X, "W/1": w, "V": v} for _ in range(2))
            up[name], down[name] = array.astype(np.float64), array.astype(np.float64)
            up[name][at] += 1e-4
            down[name][at] -= 1e-4
            difference = (total(*up.values()) - total(*down.values())) / 2e-4
            self.assertAlmostEqual(float(gradients[name][at]), difference, places=3)
        after = f.grad(["V"])
        w *= 0  # shared: the gradient function sees it
        self.close(after(X)["V"], np.broadcast_to(np.maximum(X * 0 @ w + weights()["b"], 0).sum(0), (2, 3)), rtol=1e-5)
        with self.fails(headrace.UsageError, "nothing named 'U'; there are x:0, W/1, b, V, z"):
            f.grad(["U"])
        self.assertEqual(list(f.grad("V", "z")(X)), ["V"])
        self.assertEqual(list(f.grad(["V", "x:0", "V"])(X)), ["V", "x:0"])

    def test_gradients_where_a_weight_that_was_set_is_no_input(self):
        proto = model([helper.make_node("Mul", ["x", "s"], ["h"]), helper.make_node("Reshape", ["h", "to"], ["y"])], {"x": ["n", 4]},
                      {"y": None}, {"to": np.array([-1, 2], np.int64), "s": np.float32([1, 2, 3, 4]), "unused": np.zeros(2, np.float32)})
        f = headrace.ONNXModel("m", proto)
        f.weights["unused"] = np.ones(2, np.float32)
        f.weights["to"] = to = np.array([2, -1], np.int64)
        by_s = f.grad(["s"])
        for shape in ([2, -1], [-1, 1]):
            to[:] = shape
            self.close(by_s(X)["s"], X.sum(0), rtol=1e-5)

    def test_the_program_with_weights_as_inputs(self):
        f = headrace.ONNXModel("net", perceptron())
        program, parameters = f.with_inputs(["b"])
        self.close(program(X, weights()["b"]), f(X), rtol=1e-5)
        g = program.gradient([parameters["z"]], [parameters["b"]])
        w = weights()
        alive = (X @ w["W/1"] + w["b"] > 0).astype(np.float32)
        self.close(g.program(X, w["b"]), (alive * w["V"].sum(0)).sum(0), rtol=1e-5)


class Types(Case):
    def test_integers_of_less_than_a_byte(self):
        try:
            import ml_dtypes
        except ImportError:
            self.skipTest("ml_dtypes is not installed")
        x = np.float32([-2, -1, 0, 1]).astype(ml_dtypes.int4)
        proto = model([helper.make_node("Cast", ["x"], ["y"], to=T.FLOAT)], {"x": (T.INT4, ["n"])}, {"y": ["n"]}, opset=21)
        self.close(headrace.ONNXModel("m", proto)(x), np.float32([-2, -1, 0, 1]))
        proto = model([helper.make_node("Cast", ["x"], ["y"], to=T.INT4)], {"x": ["n"]}, {"y": (T.INT4, ["n"])}, opset=21)
        y = headrace.ONNXModel("m", proto)(np.float32([-2, -1, 0, 1]))
        self.assertEqual((y.dtype, y.astype(np.float32).tolist()), (x.dtype, [-2, -1, 0, 1]))
