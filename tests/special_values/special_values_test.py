"""What operators give for NaN, infinities, zeros of both signs and empty axes, on both backends. usage: special_values_test.py DRIVER

Values are compared strictly: NaN where NaN is expected, infinities and zeros with their signs."""

import os
import subprocess
import sys
import tempfile
import unittest
import warnings

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from tests.special_values import cases

DRIVER = os.path.abspath(sys.argv[1])
TOLERANCE = {np.dtype(np.float16): 4e-3, np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-9}


def with_prefix(model, prefix):
    """The graph with its own names, so that graphs can stand beside each other in one model."""
    graph = onnx.compose.add_prefix_graph(model.graph, prefix)
    for v in [*graph.input, *graph.output]:
        for d in v.type.tensor_type.shape.dim:
            if d.dim_param:
                d.dim_param = prefix + d.dim_param
    return graph


def difference(got, expected, tolerance, either_zero):
    """Where two arrays are not the same, or None."""
    if got.dtype != expected.dtype or got.shape != expected.shape:
        return f"{got.dtype}{got.shape} instead of {expected.dtype}{expected.shape}"
    if got.dtype.kind != "f":
        wrong = got != expected
    else:
        with np.errstate(all="ignore"):
            finite = np.isfinite(expected)
            # Denormals on the way are zero in f32 (docs/denormals.md): Mish(-88) is -88 times one.
            near = np.abs(got.astype(np.float64) - expected) <= tolerance * np.abs(expected.astype(np.float64)) + {"float16": 5e-4, "float32": 1.2e-36}.get(got.dtype.name, 1e-37)
            wrong = np.where(finite, ~near, ~((got == expected) | (np.isnan(got) & np.isnan(expected))))
            wrong |= (got == 0) & (expected == 0) & (np.signbit(got) != np.signbit(expected)) & (not either_zero)
    places = np.argwhere(wrong)
    return None if len(places) == 0 else "; ".join(f"{list(map(int, p))}: {got[tuple(p)]!r}, expected {expected[tuple(p)]!r}" for p in places[:6])


class SpecialValues(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cases = list(cases.cases())
        cls.results = {}
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
            for opset in {c.opset for c in cls.cases}:
                cls.run_together(folder, opset, [c for c in cls.cases if c.opset == opset])

    @classmethod
    def run_together(cls, folder, opset, together):
        """One model of many graphs costs one compilation."""
        graph = onnx.GraphProto(name="special")
        flags, files = [], []
        for c in together:
            prefix = f"c{cls.cases.index(c)}_"
            part = with_prefix(c.model, prefix)
            graph.node.extend(part.node)
            graph.initializer.extend(part.initializer)
            graph.input.extend(part.input)
            graph.output.extend(part.output)
            for v, value in zip(part.input, c.inputs):
                np.save(os.path.join(folder, v.name + ".npy"), value)
                flags += ["--input", f"{v.name}=@{v.name}.npy"]
            files.append((c, [v.name + ".out.npy" for v in part.output]))
            for v in part.output:
                flags += ["--output", f"{v.name}=@{v.name}.out.npy"]
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=13)
        onnx.save(model, os.path.join(folder, "model.onnx"))
        for backend in ("interpreter", "cpu"):
            done = subprocess.run([DRIVER, "run", "model.onnx", "--backend", backend, *flags], cwd=folder, capture_output=True, text=True, timeout=600)
            if done.returncode != 0:
                raise AssertionError(f"opset {opset}, {backend}: {done.stdout[-1000:]}{done.stderr[-3000:]}")
            for c, names in files:
                cls.results[c.name, backend] = [np.load(os.path.join(folder, n)) for n in names]

    def check(self, c):
        expected = c.expected
        if expected is None:
            feeds = dict(zip([v.name for v in c.model.graph.input], c.inputs))
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                expected = ReferenceEvaluator(c.model).run(None, feeds)
        found = []
        for backend in ("interpreter", "cpu"):
            for v, got, want in zip(c.model.graph.output, self.results[c.name, backend], expected):
                want = np.asarray(want)
                wrong = difference(got, want, c.tolerance or TOLERANCE.get(want.dtype, 0), v.name in c.either_zero)
                if wrong:
                    found.append(f"{v.name} on {backend}: {wrong}")
        self.assertEqual(found, [])

    def refused(self, model, inputs, message):
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
            onnx.save(model, os.path.join(folder, "model.onnx"))
            flags = []
            for v, value in zip(model.graph.input, inputs):
                np.save(os.path.join(folder, v.name + ".npy"), value)
                flags += ["--input", f"{v.name}=@{v.name}.npy"]
            for backend in ("interpreter", "cpu"):
                done = subprocess.run([DRIVER, "run", "model.onnx", "--backend", backend, *flags], cwd=folder, capture_output=True, text=True, timeout=600)
                self.assertEqual(done.returncode, 1, f"{backend}: {done.stdout[-1000:]}{done.stderr[-3000:]}")
                self.assertIn(message, done.stderr)


def _identifier(name):
    return "test_" + "".join(c if c.isalnum() else "_" for c in name)


for _case in cases.cases():
    setattr(SpecialValues, _identifier(_case.name), lambda self, name=_case.name: self.check(next(c for c in self.cases if c.name == name)))
for _name, *_rest in cases.refused():
    setattr(SpecialValues, _identifier("refused " + _name), lambda self, rest=_rest: self.refused(*rest))
