"""Errors by their codes, as the command reports them. usage: errors_test.py DRIVER

The codes of the verifier and of type inference are in ir/verify/error_codes_test.cc, those of the plugin loader in tests/plugins.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

DRIVER = os.path.abspath(sys.argv[1])
F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


BACKWARD_IN_A_LOOP = """sdfg f(X: f32[N], L: f32, D: f32[N]) {
  L = 0
  L += X[i]
  for t in 0:2 { state { autodiff.Backward(outputs = L, inputs = X) -> (gradients = D) } }
}
"""


def info(name, dtype=F, shape=("n",)):
    return helper.make_tensor_value_info(name, dtype, shape)


def model(nodes, inputs, outputs, functions=(), initializers=(), domains=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(initializers))
    opsets = [helper.make_opsetid("", 21)] + [helper.make_opsetid(d, 1) for d in domains]
    return helper.make_model(graph, opset_imports=opsets, functions=list(functions), ir_version=10)


def relu():
    return model([helper.make_node("Relu", ["X"], ["Y"])], [info("X")], [info("Y")])


class ErrorsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def write(self, name, content):
        if isinstance(content, onnx.ModelProto):
            content = content.SerializeToString()
        with open(self.path(name), "wb") as f:
            f.write(content.encode() if isinstance(content, str) else content)
        return name

    def codes(self, *args, stdin=None, driver=DRIVER):
        done = subprocess.run([driver, *args, "--json"], cwd=self.folder, input=stdin, capture_output=True, text=True,
                              env=dict(os.environ, HEADRACE_CACHE_DIR=self.path("cache")))
        self.assertNotEqual(done.returncode, 0, done.stdout)
        errors = json.loads(done.stdout)["errors"]
        for e in errors:
            self.assertTrue(e["message"])
        return [e.get("code") for e in errors]

    def check(self, code, *args, **how):
        self.assertIn(code, self.codes(*args, **how), args)

    def check_model(self, code, content):
        self.check(code, "check", self.write("m.onnx", content))

    def test_text_and_pipelines(self):
        text = "sdfg f(X: f32[N], Y: f32[N]) { Y[i] = X[i] }"
        self.check("E0100", "check", "-", stdin="sdfg f(")
        self.check("E0350", "opt", "-", "--pipeline", "simplify{", stdin=text)
        self.check("E0320", "run", "-", stdin="sdfg f(X: f32[N], Y: f32[N]) { onnx.Nothing(X = X) -> (Y = Y) }")
        self.check("E0310", "run", "-", stdin="sdfg f(X: f32[4], Y: f32[2]) { onnx.Cast(input = X) -> (output = Y) }")
        self.check("E0311", "run", "-", stdin="sdfg f(X: f32[4], Y: f32[4]) { onnx.Relu(x = X) -> (Y = Y) }")

    def test_files(self):
        self.check("E0401", "check", "absent.onnx")
        self.check("E0402", "check", ".")
        with socket.socket(socket.AF_UNIX) as s:  # what even root can't read
            directory = os.open(self.folder, os.O_RDONLY)
            s.bind(f"/proc/self/fd/{directory}/socket")
            os.close(directory)
        self.check("E0403", "check", "socket")
        alone = self.path("alone")  # without plugins, nothing reads models
        shutil.copytree(os.path.join(os.path.dirname(DRIVER), "lib"), os.path.join(alone, "lib"))
        shutil.copy(DRIVER, alone)
        self.check("E0404", "check", self.write("noise", b"\x00\x01\x02"), driver=os.path.join(alone, "headrace"))
        text = "sdfg f(X: f32[N], Y: f32[N]) { Y[i] = X[i] * X[i] }"
        self.check("E0346", "grad", "-", "--output", "Y", "--wrt", "X", "--out", "gradients", stdin=text, driver=os.path.join(alone, "headrace"))
        self.check("E0405", "run", "absent.hrx")
        self.check("E0406", "check", self.write("m.json", "{"))

    def test_values(self):
        self.write("two.sdfg", "sdfg f(X: f32[N], Z: f32[N], Y: f32[N]) { Y[i] = X[i] + Z[i] }")
        np.save(self.path("a.npy"), np.zeros(2, np.float32))
        np.save(self.path("b.npy"), np.zeros(3, np.float32))
        self.check("E0410", "run", "two.sdfg", "--input", "X=@a.npy", "--input", "Z=@b.npy")
        self.check("E0411", "run", "-", "--backend", "interpreter", stdin="sdfg f(W: string[N], Z: string[N]) { onnx.Identity(input = W) -> (output = Z) }")
        self.check("E0412", "run", "-", "--dim", "N=1", stdin="sdfg f(X: f32[N - 3], Z: f32[N], Y: f32[N]) { Y[i] = Z[i] }")
        os.mkdir(self.path("data"))
        self.write("relu.onnx", relu())
        for i in range(2):
            self.write(f"data/input_{i}.pb", numpy_helper.from_array(np.zeros(2, np.float32)).SerializeToString())
        self.check("E0420", "run", "relu.onnx", "--test-data", "data")

    def test_an_interrupt(self):
        self.write("endless.sdfg", "sdfg f(Y: f64[1]) { Y[0] = 0\n while Y[0] < 1 { Y[0] = Y[0] * 1.0 } }")
        process = subprocess.Popen([DRIVER, "run", "endless.sdfg", "--backend", "interpreter", "--json"], cwd=self.folder, stdout=subprocess.PIPE)
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        self.assertEqual(json.loads(out)["errors"][0]["code"], "E0499")

    def test_gradients(self):
        text = "sdfg f(X: f32[N], Y: f32) { Y = 0\n Y += X[i] }"
        self.check("E0810", "opt", "-", "--pipeline", "backward{outputs=Y, inputs=Z}", stdin=text)
        self.check("E0802", "opt", "-", "--pipeline", "expand-library-nodes", stdin=BACKWARD_IN_A_LOOP)

    def test_damaged_models(self):
        self.check_model("E0501", onnx.ModelProto(ir_version=10))
        big = numpy_helper.from_array(np.zeros(2000, np.float32), "W")
        whole = model([helper.make_node("Add", ["X", "W"], ["Y"])], [info("X", shape=[2000])], [info("Y", shape=[2000])], initializers=[big])
        self.check_model("E0502", whole.SerializeToString()[:-5000])
        outside = onnx.TensorProto(name="W", data_type=F, dims=[4], data_location=TensorProto.EXTERNAL)
        outside.external_data.add(key="location", value="../secret")
        whole.graph.initializer[0].CopyFrom(outside)
        self.check_model("E0510", whole)
        whole.graph.initializer[0].CopyFrom(onnx.TensorProto(name="W", data_type=F, dims=[3], raw_data=b"12345678"))
        self.check_model("E0511", whole)

    def test_models_that_mean_nothing(self):
        self.check_model("E0521", model([helper.make_node("Relu", ["Q"], ["Y"])], [info("X")], [info("Y")]))
        self.check_model("E0523", model([helper.make_node("Rleu", ["X"], ["Y"])], [info("X")], [info("Y")]))
        self.check_model("E0527", model([helper.make_node("Relu", ["X"], ["Y"])], [info("X")], []))
        again = helper.make_function("my", "again", ["x"], ["y"], [helper.make_node("again", ["x"], ["y"], domain="my")],
                                     [helper.make_opsetid("", 21), helper.make_opsetid("my", 1)])
        self.check_model("E0528", model([helper.make_node("again", ["X"], ["Y"], domain="my")], [info("X")], [info("Y")],
                                        functions=[again], domains=["my"]))
        self.check_model("E0531", model([helper.make_node("Relu", ["X"], ["Y"])], [info("X")], [info("Y", I)]))
        self.check_model("E0540", model([helper.make_node("Add", ["X", "Z"], ["Y"])], [info("X", shape=[2]), info("Z", shape=[3])], [info("Y", shape=[3])]))

    def test_shapes(self):
        self.check_model("E0530", model([helper.make_node("Relu", ["X"], ["Y"])], [helper.make_tensor_value_info("X", F, None)], [info("Y")]))
        conv = helper.make_node("Conv", ["X", "W"], ["Y"])
        self.check_model("E0541", model([conv], [info("X", shape=[1, 1, 3, 3]), info("W", shape=[1, 1, 9, 9])], [info("Y", shape=None)]))
        body = helper.make_graph([helper.make_node("Identity", ["c"], ["d"])], "b", [info("i", I, []), info("c", B, [])], [info("d", B, []), info("d", B, [])])
        loop = helper.make_node("Loop", ["M", "", "X"], ["Y"], body=body)
        self.check_model("E0543", model([loop], [info("M", I, []), info("X")], [info("Y")]))
        parts = model([helper.make_node("Slice", ["X", "S", "E"], ["Y"])], [info("X", shape=[2, 3]), info("S", I, ["k"]), info("E", I, ["k"])],
                      [info("Y", shape=["a", "b"])])  # fmt: skip
        self.check("E0315", "run", self.write("m.onnx", parts))

    def test_branches_of_two_kinds(self):
        then = helper.make_graph([helper.make_node("Relu", ["X"], ["a"])], "t", [], [info("a")])
        other = helper.make_graph([helper.make_node("Cast", ["X"], ["b"], to=I)], "e", [], [info("b", I)])
        node = helper.make_node("If", ["C"], ["Y"], then_branch=then, else_branch=other)
        self.assertTrue({"E0540", "E0542"} & set(self.codes("check", self.write("if.onnx", model([node], [info("X"), info("C", B, [])], [info("Y")])))))


if __name__ == "__main__":
    unittest.main()
