"""Which cases a run has, operators as ONNX models, and the measure of agreement: no peer is needed."""

import os
import unittest
import unittest.mock

import numpy as np
import onnx

from benchmarks.peers import engines, main, suites
from benchmarks.peers.cases import agreement, operators_onnx

NO_NAMES = {"ops": ["Mish", "Floor"], "npbench": ["gemm"]}.get


class Cases(unittest.TestCase):
    def keys(self, suite, quick=False):
        return suites.keys(suite, 2, quick, NO_NAMES)

    def test_models(self):
        keys = self.keys("models")
        self.assertEqual(len(keys), 12 * 2 * 3 * 2 + 3 * 2)
        self.assertEqual(len(set(keys)), len(keys))

    def test_quantised_networks_are_measured_by_those_who_run_onnx_models(self):
        self.assertEqual({(k.name, k.mode) for k in self.keys("models") if k.dtype == "int8"}, {(n, "forward") for n in suites.QUANTISED})
        self.assertEqual([s.name for s in engines.ENGINES.values() if s.measures("forward", "int8")], ["headrace", "onnxruntime", "openvino"])

    def test_quick_has_eight_cases_of_the_suite(self):
        for suite in suites.SUITES:
            self.assertEqual(len(set(self.keys(suite, True))), 8)
        self.assertLessEqual(set(self.keys("models", True)), set(self.keys("models")))

    def test_operators_with_a_gradient_are_measured_with_it(self):
        self.assertEqual([(k.name, k.mode) for k in self.keys("ops")], [("Mish", "forward"), ("Mish", "backward"), ("Floor", "forward")])

    def test_npbench_with_one_thread_and_with_all(self):
        self.assertEqual([(k.size, k.threads) for k in self.keys("npbench")], [("S", 1), ("S", 2), ("M", 1), ("M", 2)])

    def test_cases_are_chosen_by_words_of_their_titles(self):
        titles = lambda *texts: [k.title for k in main.chosen(self.keys("models"), list(texts))]
        self.assertEqual(titles("lenet 1 forward f32", "dlrm 8 step bf16"), ["dlrm 8 step bf16 2t", "lenet 1 forward f32 2t"])
        self.assertEqual(len(titles("*resnet50* 8")), 13)


class Older(unittest.TestCase):
    """Another build is an engine like ours, with its package before ours."""

    def test_its_package(self):
        with unittest.mock.patch.dict(os.environ, {engines.OLDER_PACKAGE: "/other/python/package"}):
            for suite, module in (("models", "headrace"), ("npbench", "npbench"), ("compile", "headrace")):
                older = engines.of_suite(suite)[engines.OLDER]
                self.assertEqual((older.name, older.module, older.version), ("older", module, ""))
                folders = dict(older.environment)["PYTHONPATH"].split(os.pathsep)
                self.assertEqual(folders[1], "/other/python/package")
                self.assertTrue(os.path.exists(os.path.join(folders[0], "benchmarks", "peers", "worker.py")))

    def test_none_unless_it_is_asked_for(self):
        self.assertNotIn(engines.OLDER, engines.of_suite("models"))


class Operators(unittest.TestCase):
    def check(self, text, inputs, *expected):
        model = operators_onnx.model(text)
        onnx.checker.check_model(model)
        node = model.graph.node[0]
        self.assertEqual((node.op_type, list(node.input), {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute},
                          [i.name for i in model.graph.input], {t.name: onnx.numpy_helper.to_array(t).tolist() for t in model.graph.initializer},
                          model.opset_import[0].version), (*inputs, *expected))  # fmt: skip

    def test_attributes(self):
        self.check("sdfg f(X: f32[4, 5], Y: f32[4, 5]) {  state { onnx.Softmax{axis = 1}(input = X) -> (output = Y) } }",
                   ("Softmax", ["X"]), {"axis": 1}, ["X"], {}, operators_onnx.OPSET)  # fmt: skip

    def test_constants_variadic_ports_and_versions(self):
        self.check("sdfg f(X: f32[4], Y: f32[8]) { constant P: i64[1] = [2]\n state { onnx.Tile(input = X, repeats = P) -> (output = Y) } }",
                   ("Tile", ["X", "P"]), {}, ["X"], {"P": [2]}, operators_onnx.OPSET)  # fmt: skip
        self.check("sdfg f(X: f32[4], A: f32[4], Y: f32[8]) {  state { onnx.Concat{axis = 0}(inputs = X, inputs = A) -> (concat_result = Y) } }",
                   ("Concat", ["X", "A"]), {"axis": 0}, ["X", "A"], {}, operators_onnx.OPSET)  # fmt: skip
        self.check("sdfg f(X: f32[4, 5], Y: f32[4]) {  state { onnx.ReduceSum:11{axes = [1], keepdims = 0}(data = X) -> (reduced = Y) } }",
                   ("ReduceSum", ["X"]), {"axes": [1], "keepdims": 0}, ["X"], {}, 11)  # fmt: skip


class Agreement(unittest.TestCase):
    def error(self, expected, got):
        return agreement.error([(n, np.float32(v)) for n, v in expected.items()], lambda name: np.asarray(got[name]))

    def test_all_arrays_count_and_the_worst_is_named(self):
        error, name = self.error({"a": [3, 4], "b": [1, 0]}, {"a": [3, 4.5], "b": [1, 0]})
        self.assertAlmostEqual(error, 0.1 / 2**0.5)
        self.assertEqual(name, "a")

    def test_one_wrong_array_among_many_is_found(self):
        expected = {f"a{k}": [1, 1] for k in range(1000)}
        error, name = self.error(expected, {**expected, "a7": [-1, 1]})
        self.assertGreater(error, agreement.tolerance("backward", "f32"))
        self.assertEqual(name, "a7")

    def test_an_array_of_zeros_is_measured_beside_the_others(self):
        self.assertLess(self.error({"a": [1, 1], "b": [0, 0]}, {"a": [1, 1], "b": [1e-8, 0]})[0], 1e-4)
        self.assertGreater(self.error({"a": [1, 1], "b": [0, 0]}, {"a": [1, 1], "b": [1e-2, 0]})[0], 1)

    def test_quantised_results_may_be_steps_away(self):
        expected = np.float32([[0.5, -0.5], [0.25, 0.5]])
        allowed = agreement.tolerance_of_steps(0.05, expected)
        at = lambda value: self.error({"y": expected}, {"y": value})[0]
        self.assertLess(at(expected + np.float32(0.05)), allowed)
        self.assertGreater(at(expected + np.float32(0.1)), allowed)
        self.assertAlmostEqual(agreement.tolerance_of_steps(0.05, np.zeros(3)), agreement.STEPS)

    def test_nan_infinities_and_sizes(self):
        self.assertEqual(self.error({"a": [np.nan, np.inf, 1]}, {"a": [np.nan, np.inf, 1]})[0], 0)
        self.assertEqual(self.error({"a": [1, 1]}, {"a": [np.nan, 1]})[0], np.inf)
        self.assertEqual(self.error({"a": [1, np.inf]}, {"a": [1, 5]})[0], np.inf)
        self.assertIn("elements", self.error({"a": [1, 1]}, {"a": [1]})[1])


if __name__ == "__main__":
    unittest.main()
