"""The ten snippets by ONNX Runtime itself, beside Headrace: what onnx_session_test has recorded is what it gives."""

import os
import tempfile

import onnx_snippets
from onnx_session_test import RECORDED, Same


class Snippets(Same):
    def test_onnx_runtime_gives_what_is_recorded(self):
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            onnx_snippets.write_models(folder)
            os.chdir(folder)
            try:
                for name, code in onnx_snippets.SNIPPETS.items():
                    with self.subTest(name):
                        self.same(onnx_snippets.run(code, "onnxruntime"), RECORDED[name])
            finally:
                os.chdir(before)
