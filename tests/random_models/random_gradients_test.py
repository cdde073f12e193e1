"""Gradients of random ONNX models against differences of the reference evaluator's values. usage: random_gradients_test.py DRIVER BACKEND
FIRST_SEED COUNT

The loss is the sum of the float outputs times random numbers; every float input and initializer is moved along random directions.
A direction along which differences of two steps say that there is a kink does not count; that most count is demanded of the whole run."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import warnings

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.random_models.generator import Generator

DRIVER, BACKEND, FIRST, COUNT = os.path.abspath(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
STEP, DIRECTIONS = 1e-5, 2


class Case:
    """A model, the point where it is differentiated and the loss there."""

    def __init__(self, seed):
        self.model, inputs, outputs = Generator(seed).model()
        graph = self.model.graph
        self.inputs = {i.name: v for i, v in zip(graph.input, inputs)}
        self.parameters = {t.name: v for t in graph.initializer if (v := numpy_helper.to_array(t)).dtype == np.float64}
        random = np.random.default_rng(seed + 10**6)
        self.weights = {o.name: random.standard_normal(np.shape(v)) for o, v in zip(graph.output, outputs) if v.dtype == np.float64}
        self.random = random
        # The reference evaluator takes parameters as inputs, so that it moves them without loading the model again.
        moved = onnx.ModelProto()
        moved.CopyFrom(self.model)
        del moved.graph.initializer[:]
        for t in graph.initializer:
            moved.graph.input.append(onnx.helper.make_tensor_value_info(t.name, t.data_type, list(t.dims)))
        self.reference = ReferenceEvaluator(moved)
        self.constants = {t.name: numpy_helper.to_array(t) for t in graph.initializer}

    def loss(self, name, step):
        values = {**self.constants, **self.inputs}
        values[name] = values[name] + step
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            got = self.reference.run(list(self.weights), values)
        return sum(float(np.sum(g * w)) for g, w in zip(got, self.weights.values()))

    def slope(self, name, direction):
        """The derivative along a direction and how far it can be wrong, or None where the loss has a kink there."""
        at = {h: self.loss(name, h * direction) for h in (-2 * STEP, -STEP, 0.0, STEP, 2 * STEP)}
        central = (at[STEP] - at[-STEP]) / (2 * STEP)
        wide = (at[2 * STEP] - at[-2 * STEP]) / (4 * STEP)
        bend = {h: (at[h] - 2 * at[0.0] + at[-h]) / h for h in (STEP, 2 * STEP)}  # twice as large for twice the step where it is smooth
        noise = 1e-14 * (1 + max(abs(v) for v in at.values())) / STEP
        scale = 1 + abs(central)
        if not np.isfinite(central) or abs(bend[2 * STEP] - 2 * bend[STEP]) > 1e-6 * scale + 4 * noise or abs(central - wide) > 1e-6 * scale + noise:
            return None
        return central, 1e-5 * scale + 10 * noise


class RandomGradients(unittest.TestCase):
    counted = skipped = 0

    def check(self, seed, folder):
        case = Case(seed)
        if not case.weights:
            return
        onnx.save(case.model, os.path.join(folder, "model.onnx"))
        flags = []
        for kind, values in (("--input", case.inputs), ("--output-grad", case.weights)):
            for name, value in values.items():
                file = f"{kind[2:]}_{name}.npy"
                np.save(os.path.join(folder, file), value)
                flags += [kind, f"{name}=@{file}"]
        for name in case.weights:
            flags += ["--output", name]
        done = subprocess.run([DRIVER, "grad", "model.onnx", "--wrt", "all", "--backend", BACKEND, "--out", "out", *flags], cwd=folder, capture_output=True,
                              text=True, timeout=600)
        if "onnx.SplitToSequence" in done.stderr and done.returncode == 3:
            return  # with sizes that the model does not know: refused by name
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        with open(os.path.join(folder, "out", "index.json")) as f:
            index = json.load(f)
        for name, value in {**case.inputs, **case.parameters}.items():
            gradient = np.load(os.path.join(folder, "out", index[name])) if name in index else np.zeros_like(value)
            self.assertEqual(gradient.shape, value.shape, name)
            for _ in range(DIRECTIONS):
                direction = case.random.standard_normal(value.shape)
                expected = case.slope(name, direction)
                if expected is None:
                    RandomGradients.skipped += 1
                    continue
                RandomGradients.counted += 1
                self.assertLessEqual(abs(float(np.sum(gradient * direction)) - expected[0]), expected[1],
                                     f"{name}: {float(np.sum(gradient * direction))}, differences give {expected[0]}")

    def test_gradients(self):
        for seed in range(FIRST, FIRST + COUNT):
            with self.subTest(seed=seed), tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
                try:
                    self.check(seed, folder)
                except BaseException:
                    if "TEST_UNDECLARED_OUTPUTS_DIR" in os.environ:
                        shutil.copytree(folder, os.path.join(os.environ["TEST_UNDECLARED_OUTPUTS_DIR"], str(seed)))
                    raise
        self.assertGreater(self.counted, 9 * self.skipped, f"{self.counted} directions counted, {self.skipped} had kinks")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
