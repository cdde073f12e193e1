"""headrace.onnx_backend under onnx's own tests of backends: every 20th of the official node cases, and with
HEADRACE_ALL_NODE_CASES=1 (the nightly test) all of them. A case that is unsupported says so and is skipped, as the standard
has it; the number of those is bounded below."""

import os
import re
import unittest

import numpy as np
import onnx.backend.base
import onnx.backend.test
from case import Case, headrace
from onnx import helper
from onnx.backend.test.loader import load_model_tests
from onnx_models import model, perceptron, reference

import headrace.onnx_backend as backend

ALL = bool(os.environ.get("HEADRACE_ALL_NODE_CASES"))
NAMES = sorted(t.name for t in load_model_tests(kind="node"))


class Judged(onnx.backend.base.Backend):
    """The backend that the cases run with: the interpreter, which needs no compiler per case."""

    skipped: list = []
    supports_device = backend.supports_device

    @classmethod
    def is_compatible(cls, model, device="CPU", **kwargs):
        return True

    @classmethod
    def prepare(cls, model, device="CPU", **kwargs):
        inner = backend.prepare(model, device, compiler="cpu" if ALL else "interpreter", **kwargs)

        class Rep(onnx.backend.base.BackendRep):
            def run(self, inputs, **options):
                try:
                    return inner.run(inputs, **options)
                except unittest.SkipTest as why:
                    cls.skipped.append(str(why))
                    raise

        return Rep()


# Drawn numbers are not those of another generator (tests/onnx_node judges their distributions).
RANDOM = re.compile(r"test_(bernoulli|training_dropout)(_|$)(?!.*zero_ratio)")
# Recorded values that are farther from the exact ones than the tolerance, or rounded to bf16 after every step of another order:
# tests/onnx_node judges them in double (IsOracleCase), onnx_ops_test the inverse transform by NumPy's.
INEXACT = re.compile(r"test_dft_inverse(_opset19)?$|test_attention_(3d|4d)\w*_bf16(_expanded)?$")
# The runner asks a number in a sequence for its length; compared below.
UNCOMPARABLE = "test_loop16_seq_none"
CHOSEN = [n for n in NAMES if not RANDOM.match(n) and not INEXACT.match(n) and n != UNCOMPARABLE][0 if ALL else 7::1 if ALL else 20]
official = onnx.backend.test.BackendTest(Judged, __name__).test_cases["OnnxBackendNodeModelTest"]


class Official(unittest.TestCase):
    """The chosen cases."""

    @classmethod
    def tearDownClass(cls):
        if len(Judged.skipped) > len(CHOSEN) // 50:
            raise AssertionError(f"{len(Judged.skipped)} cases are unsupported: {Judged.skipped}")


for chosen in CHOSEN:
    setattr(Official, f"{chosen}_cpu", getattr(official, f"{chosen}_cpu"))
del official


class Nodes(Case):
    def test_run_node(self):
        x, w = np.ones((1, 2, 4, 4), np.float32), np.full((3, 2, 3, 3), 0.5, np.float32)
        node = helper.make_node("Conv", ["X", "W"], ["Y"], strides=[2, 2], pads=[1, 1, 1, 1])
        y, = backend.run_node(node, [x, w])
        made = model([node], {"X": list(x.shape), "W": list(w.shape)}, {"Y": None}, opset=22)
        self.close(y, reference(made, {"X": x, "W": w})[0])
        y = backend.run_node(helper.make_node("Relu", ["x"], ["y"]), [x], outputs_info=[(np.float32, x.shape)]).y
        self.close(y, x)

    def test_run_model_by_position_and_name(self):
        x = np.ones((2, 4), np.float32)
        expected, = reference(perceptron(), {"x:0": x})
        for given in (x, [x], {"x:0": x}):
            self.close(backend.run_model(perceptron(), given)[0], expected, rtol=1e-5)

    def test_too_many_inputs(self):
        proto = perceptron()
        x = np.ones((2, 4), np.float32)
        with self.fails(ValueError, "the model has 1 inputs (x:0), and 2 were given"):
            backend.run_model(proto, [x, x])
        with self.fails(ValueError, "the node has 1 inputs (x), and 2 were given"):
            backend.run_node(helper.make_node("Relu", ["x"], ["y"]), [x, x])

    def test_devices_and_what_is_supported(self):
        self.assertTrue(backend.supports_device("CPU"))
        self.assertFalse(backend.supports_device("CUDA"))
        with self.fails(ValueError, "no device CUDA"):
            backend.prepare(perceptron(), "CUDA")
        self.assertTrue(backend.is_compatible(perceptron()))
        self.assertFalse(backend.is_compatible(model([helper.make_node("Rell", ["x"], ["y"])], {"x": [2]}, {"y": [2]})))

    def test_an_optional_sequence(self):
        case = next(t for t in load_model_tests(kind="node") if t.name == UNCOMPARABLE)
        inputs, (expected,) = case.data_sets[0]
        got, = backend.run_model(case.model, inputs)
        self.assertEqual(len(got), len(expected))
        for a, b in zip(got, expected):
            self.close(a, b)

    def test_it_is_an_attribute_of_the_package(self):
        self.assertIs(headrace.onnx_backend, backend)
