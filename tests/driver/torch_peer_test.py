"""driver/peer_torch.py on the official node cases of the operators that it has."""

import os
import tempfile
import unittest

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test import loader

from driver.peer_torch import torch_runner


class TorchPeerTest(unittest.TestCase):
    def test_official_cases(self):
        agreed, wrong = 0, []
        for case in loader.load_model_tests(kind="node"):
            try:
                agreed += self.agrees(case, wrong)
            except NotImplementedError:
                continue
            except Exception as error:
                wrong.append(f"{case.name}: {type(error).__name__}: {error}")
        print(f"{agreed} agree")
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))
        self.assertGreater(agreed, 450)

    def agrees(self, case, wrong):
        model, (inputs, outputs) = case.model, case.data_sets[0]
        inputs, outputs = ([numpy_helper.to_array(v) if isinstance(v, onnx.TensorProto) else v for v in values]
                           for values in (inputs, outputs))
        kinds = {v.type.WhichOneof("value") for v in [*model.graph.input, *model.graph.output]}
        types = {v.type.tensor_type.elem_type for v in [*model.graph.input, *model.graph.output]}
        if kinds != {"tensor_type"} or not types <= {1, 6, 7, 9, 11}:
            return False
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            onnx.save(model, path)
            run, _ = torch_runner(path, dict(zip([i.name for i in model.graph.input], inputs)), 1)
        for got, expected in zip(run(), outputs):
            if got.shape != expected.shape or not np.allclose(got, expected, 1e-3, 1e-5, equal_nan=True):
                wrong.append(f"{case.name}: {got.shape}, not {expected.shape}, or other values")
                return False
        return True


if __name__ == "__main__":
    unittest.main()
