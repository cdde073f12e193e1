"""headrace.InferenceSession: ten snippets of ONNX Runtime's users, with the results that ONNX Runtime 1.31 gives. The
numbers are NumPy's; with ONNX Runtime installed (onnx_session_runtime_test) it runs beside."""

import os
import tempfile
import warnings

import numpy as np
import onnx_snippets
from case import Case, headrace
from onnx import helper
from onnx_models import model, perceptron, reshaper, weights

DONE = " Please fix either the inputs/outputs or the model."


def net(x):
    w = weights()
    return np.maximum(x @ w["W/1"] + w["b"], 0) @ w["V"].T


A = np.arange(6, dtype=np.float32).reshape(2, 3)
RECORDED = {
    "quick start": [net(np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4))],
    "names and shapes from the session": [
        np.full((2, 3), 2, np.float32), np.ones((2, 3), np.float32),
        [(n, "tensor(float)", ["rows", 3]) for n in "absp"]],
    "one output of two": A * A,
    "session options": [net(np.full((2, 4), 0.5, np.float32))],
    "a model in memory": [net(np.eye(4, dtype=np.float32)), "tests", "g", 3, "a perceptron", {"author": "nobody"}],
    "io binding": net(np.ones((2, 4), np.float32)),
    "OrtValues and an output of the caller's": [
        net(np.full((3, 4), -2, np.float32)), net(np.full((3, 4), -2, np.float32)), [3, 4], "tensor(float)", "cpu", True],
    "addresses": net(np.linspace(0, 1, 8, dtype=np.float32).reshape(2, 4)),
    "a profile": [net(np.ones((1, 4), np.float32)), True, True, True],
    "strings, and what can go wrong": [
        np.array([2, -1, 1]),
        "Required inputs (['x:0']) are missing from input feed ([]).",
        "[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Invalid input name: q",
        "[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Unexpected input data type. Actual: (tensor(double)) , "
        "expected: (tensor(float))",
        "[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Invalid rank for input: x:0 Got: 1 Expected: 2" + DONE,
        "[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Got invalid dimensions for input: x:0 for the following indices\n"
        " index: 1 Got: 3 Expected: 4\n" + DONE,
        "[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Invalid output name:nope",
        "Required inputs (['x:0']) are missing from input feed (['q']).",
        "RuntimeError: Failed to find NodeArg with name: q in the def list",
        "RuntimeError: Error in execution: At least one output should be requested.",
        "AttributeError: 'SessionOptions' object has no attribute 'threads'",
        "TypeError: Unable to load from type '<class 'int'>'"],
}


class Same(Case):
    def same(self, got, expected):
        if isinstance(expected, np.ndarray):
            self.close(got, expected, rtol=1e-5, atol=1e-6)
        elif isinstance(expected, list):
            self.assertEqual(len(got), len(expected), got)
            for a, b in zip(got, expected):
                self.same(a, b)
        else:
            self.assertEqual(got, expected)


class Snippets(Same):
    def setUp(self):
        self.folder, self.before = tempfile.TemporaryDirectory(), os.getcwd()
        onnx_snippets.write_models(self.folder.name)
        os.chdir(self.folder.name)

    def tearDown(self):
        os.chdir(self.before)
        self.folder.cleanup()

    def test_they_give_what_onnx_runtime_gives(self):
        self.assertEqual(list(RECORDED), list(onnx_snippets.SNIPPETS))
        for name, code in onnx_snippets.SNIPPETS.items():
            with self.subTest(name):
                self.same(onnx_snippets.run(code, "headrace"), RECORDED[name])


class Sessions(Same):
    def test_an_unknown_provider_is_a_warning(self):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            s = headrace.InferenceSession(perceptron().SerializeToString(), providers=["CUDAExecutionProvider", "CPUExecutionProvider"])
        self.assertIn("'CUDAExecutionProvider' is not in available provider names", str(seen[0].message))
        self.assertEqual(s.get_providers(), ["CPUExecutionProvider"])

    def test_files_that_are_no_models(self):
        with self.fails(FileNotFoundError, "[ONNXRuntimeError] : 3 : NO_SUCHFILE", "File doesn't exist"):
            headrace.InferenceSession("/nowhere.onnx")
        with self.fails(headrace.HeadraceError, "[ONNXRuntimeError] : 7 : INVALID_PROTOBUF"):
            headrace.InferenceSession(b"\x08abc")
        twice = model([helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Abs", ["x"], ["y"])], {"x": [2]}, {"y": [2]})
        with self.fails(RuntimeError, "[ONNXRuntimeError] : 1 : FAIL", "y"):
            headrace.InferenceSession(twice.SerializeToString())

    def test_sizes_and_initializers_of_the_options(self):
        options = headrace.SessionOptions()
        options.add_free_dimension_override_by_name("batch size", 2)
        b = np.float32([5, 6, 7])
        options.add_initializer("b", headrace.OrtValue.ortvalue_from_numpy(b))
        s = headrace.InferenceSession(perceptron().SerializeToString(), options)
        self.assertEqual(s.get_inputs()[0].shape, [2, 4])
        x, w = np.ones((2, 4), np.float32), weights()
        self.close(s.run(None, {"x:0": x})[0], np.maximum(x @ w["W/1"] + b, 0) @ w["V"].T, rtol=1e-5)
        with self.fails(ValueError, "index: 0 Got: 3 Expected: 2"):
            s.run(None, {"x:0": np.ones((3, 4), np.float32)})

    def test_the_level_of_optimisation_decides_what_is_folded(self):
        programs = {}
        for level in (headrace.GraphOptimizationLevel.ORT_DISABLE_ALL, headrace.GraphOptimizationLevel.ORT_ENABLE_ALL):
            with tempfile.TemporaryDirectory() as folder:
                options = headrace.SessionOptions()
                options.graph_optimization_level = level
                options.optimized_model_filepath = os.path.join(folder, "program.sdfg")
                headrace.InferenceSession(perceptron().SerializeToString(), options)
                programs[level] = headrace.Sdfg.load(options.optimized_model_filepath).text
        plain, folded = programs.values()
        self.assertIn("Transpose", plain)
        self.assertNotIn("Transpose", folded)

    def test_a_rank_that_a_value_decides(self):
        s = headrace.InferenceSession(reshaper().SerializeToString())
        x = np.arange(8, dtype=np.float32).reshape(2, 4)
        for to in ([8], [2, 2, 2]):
            self.close(s.run(None, {"x": x, "to": np.array(to)})[0], x.reshape(to))

    def test_what_is_no_feed(self):
        session, x = headrace.InferenceSession(perceptron().SerializeToString()), np.ones((2, 4), np.float32)
        for feeds, kind, wrong in (([x], TypeError, "not list"), (None, TypeError, "not NoneType"), ({"x:0": None}, ValueError, "x:0"),
                                   ({"x:0": "text"}, ValueError, "input for: x:0"), ({"x:0": [[1], [2, 3]]}, ValueError, "input for: x:0")):
            with self.fails(kind, wrong):
                session.run(None, feeds)
        with self.fails(TypeError, "output_names is a list of names", "['z']"):
            session.run("z", {"x:0": x})

    def test_lists_are_arrays(self):
        s = headrace.InferenceSession(perceptron().SerializeToString())
        self.close(s.run(None, {"x:0": [[1, 2, 3, 4]]})[0], net(np.float32([[1, 2, 3, 4]])), rtol=1e-5)
