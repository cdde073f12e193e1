"""--json on every verb: one value on standard output, integers as integers, errors with their code. usage: json_test.py DRIVER"""

import json
import re
import subprocess
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from tests.driver.command import DRIVER, RELU, CommandTest, onnx_relu

# Arguments by verb; what follows the verb is one run each.
RUNS = {
    "run": [["relu.sdfg", "--backend", "interpreter"], ["m.onnx", "--backend", "interpreter", "--verify=reference"]],
    "compile": [["relu.sdfg", "--emit", "ir"], ["relu.sdfg", "--emit", "json"], ["relu.sdfg", "--emit", "lowered", "-o", "l.sdfg"],
                ["relu.sdfg", "--emit", "cpp"], ["relu.sdfg", "-o", "relu.hrx"]],
    "check": [["m.onnx"], ["-v", "m.onnx"]],
    "opt": [["relu.sdfg"], ["relu.sdfg", "--emit", "json"], ["relu.sdfg", "-o", "o.sdfg"], ["--list"], ["relu.sdfg", "--list"],
            ["relu.sdfg", "--ids"]],
    "grad": [["m.onnx", "--output", "Y", "--wrt", "X", "--out", "g", "--backend", "interpreter"]],
    "train": [["t.onnx", "--data", "d.npz", "--loss", "mse", "--checkpoint", "c", "--epochs", "1", "--lr", "0", "--backend", "interpreter"]],
    "bench": [["relu.sdfg", "--backend", "interpreter", "--runs", "2"], ["relu.sdfg", "--runs", "1"]],
    "tune": [["relu.sdfg", "--seconds", "0.1"]],
    "ops": [[], ["Conv"], ["--missing"]],
    "plugins": [[]],
    "cache": [["list"], ["clear"]],
    "explain": [[], ["E0401"]],
    "doctor": [[]],
}  # fmt: skip
WRONG = {  # an error of each
    "run": ["absent.onnx"], "compile": ["absent.onnx", "--emit", "ir"], "check": ["absent.onnx"], "opt": ["absent.sdfg"],
    "grad": ["absent.onnx", "--output", "Y", "--wrt", "X", "--out", "g"], "bench": ["absent.onnx"], "tune": ["absent.onnx"], "ops": ["Convv"],
    "train": ["absent.onnx", "--data", "d.npz", "--loss", "mse", "--checkpoint", "c", "--epochs", "1", "--lr", "0.1"],
    "plugins": ["more"], "cache": ["lsit"], "explain": ["E9999"], "doctor": ["more"],
}  # fmt: skip
FRACTIONS = re.compile(r"seconds|per_second|loss|accuracy|ratio|max_|tol$|work|^rate$")


class JsonTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.write("relu.sdfg", RELU)
        self.write("m.onnx", onnx_relu())
        self.write_trainable()

    def write_trainable(self):
        info = lambda name, size: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", size])
        graph = helper.make_graph([helper.make_node("MatMul", ["x", "W"], ["y"])], "g", [info("x", 3)], [info("y", 1)],
                                  [numpy_helper.from_array(np.ones((3, 1), np.float32), "W")])  # fmt: skip
        self.write("t.onnx", helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10))
        np.savez(self.path("d.npz"), x=np.ones((4, 3), np.float32), target=np.zeros((4, 1), np.float32))

    def floats(self, value, key=""):
        """Keys whose numbers are no integers in JSON though they count something."""
        if isinstance(value, dict):
            return [found for k, v in value.items() for found in self.floats(v, k)]
        if isinstance(value, list):
            return [found for v in value for found in self.floats(v, key)]
        return [(key, value)] if isinstance(value, float) and not FRACTIONS.search(key) else []

    def test_every_verb(self):
        verbs = re.findall(r"^  (\w+)  ", self.run_headrace("--help").stdout.split("Subcommands:")[1], re.M)
        self.assertEqual(sorted(verbs), sorted(RUNS))
        self.assertEqual(sorted(verbs), sorted(WRONG))
        for verb in verbs:
            for args in RUNS[verb]:
                with self.subTest(verb=verb, args=args):
                    done = self.run_headrace(verb, *args, "--json")
                    value = json.loads(done.stdout)
                    self.assertIsInstance(value, (dict, list))
                    self.assertEqual(self.floats(value), [])
            with self.subTest(verb=verb, args=WRONG[verb]):
                said = self.errors(verb, *WRONG[verb])
                self.assertEqual([e["code"][:2] for e in said], ["E0"])
                self.assertTrue(all(e["message"] and e["kind"] for e in said))

    def errors(self, *args):
        done = subprocess.run([DRIVER, *args, "--json"], cwd=self.folder, capture_output=True, text=True, env=self.environment)
        value = json.loads(done.stdout)
        self.assertEqual(value["exit"], done.returncode)
        self.assertIn(done.returncode, (1, 2))
        return value["errors"]

    def test_what_the_values_hold(self):
        j = self.json("compile", "relu.sdfg", "--emit", "json")
        self.assertEqual([j["emit"], type(j["program"])], ["json", dict])
        self.write("again.json", json.dumps(j["program"]))
        self.assertEqual(self.run_headrace("opt", "again.json").stdout, self.run_headrace("opt", "relu.sdfg").stdout)
        self.assertIn("sdfg main", self.json("opt", "relu.sdfg")["text"])
        self.assertEqual(self.json("opt", "relu.sdfg", "-o", "o.sdfg")["file"], "o.sdfg")
        self.assertIn("simplify", [p["name"] for p in self.json("opt", "--list")["passes"] + self.json("opt", "--list")["pipelines"]])
        self.assertEqual(self.json("compile", "relu.sdfg", "-o", "relu.hrx")["artifact"], "relu.hrx")
        self.assertRegex(self.json("--version")["headrace"], r"^\d+\.\d+\.\d+$")

    def test_integers_beyond_2_to_the_53(self):
        n = (1 << 62) + 1
        self.write("c.sdfg", f"sdfg main(Y: i64[2]) {{ Y[i] = {n} + i * 0 }}\n")
        self.assertIn(str(n), json.dumps(self.json("compile", "c.sdfg", "--emit", "json")))


if __name__ == "__main__":
    unittest.main()
