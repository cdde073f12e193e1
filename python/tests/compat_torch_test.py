"""Arguments of DaceModule and dace_module of headrace.compat.dace; compat_documents_test runs DaCeML's own examples."""

import unittest
import warnings

from python.tests.case import Case, headrace, np  # noqa: F401

import torch
import torch.nn as nn

from headrace.compat.dace import DaceModule, dace_module


class ArgumentsTest(Case):
    def test_dummy_inputs_compile_now_and_change_nothing(self):
        net = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Dropout(0.5))
        before = {k: v.clone() for k, v in net.state_dict().items()}
        inputs, state = torch.randn(5, 4), torch.get_rng_state()
        headrace.reset_counters()
        made = DaceModule(net, inputs, backward=True, training=True)
        self.assertTrue(torch.equal(state, torch.get_rng_state()))
        traced = headrace.counters()
        for k, v in made.state_dict().items():
            torch.testing.assert_close(v, before[k], rtol=0, atol=0)
        self.assertTrue(made.training)
        made(torch.randn(7, 4))  # another batch size
        self.assertEqual(headrace.counters()["torch.module"]["traces"], traced["torch.module"]["traces"])

    def test_inputs_to_skip(self):
        class Product(nn.Module):
            def forward(self, x, y):
                return x * y

        made = DaceModule(Product(), backward=True, inputs_to_skip=["x"])
        x, y = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)
        made(x, y).sum().backward()
        self.assertIsNone(x.grad)
        torch.testing.assert_close(y.grad, x.detach())

    def test_arguments_without_effect(self):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            DaceModule(nn.Linear(2, 2), onnx_simplify=False, sdfg_name="net", auto_optimize=True, compile_torch_extension=False,
                       simplify=False, debug_transients=True)
            dace_module(auto_optimize=False, onnx_simplify=False)
        text = "\n".join(str(w.message) for w in said)
        for words in ("onnx_simplify=False has no effect: modules don't pass through ONNX", "sdfg_name='net'", "compile_torch_extension=False",
                      "DaceModule: simplify=False has no effect: programs are always simplified", "debug_transients=True has no effect: headrace",
                      "dace_module: auto_optimize=False has no effect: compiling always optimizes", "dace_module: onnx_simplify=False"):
            self.assertIn(words, text)
        self.assertNotIn("auto_optimize=True", text)

    def test_by_position(self):
        net, x = nn.Linear(4, 3), torch.randn(2, 4)
        made = DaceModule(net, x, False, False, True, ["input"], True, True, False, False, True, None)
        torch.testing.assert_close(made(x), net(x))
        with self.fails(TypeError, "DaceModule: simplify is given twice"):
            DaceModule(net, x, False, False, True, None, True, True, simplify=True)
        with self.fails(TypeError, "DaceModule takes 12 arguments by position, not 13"):
            DaceModule(net, x, False, False, True, None, True, True, False, False, True, None, 3)

    def test_cuda_is_said_to_have_no_effect(self):
        net, x = nn.Linear(4, 3), torch.randn(2, 4)
        with self.assertWarnsRegex(UserWarning, "DaceModule: cuda=True has no effect: there is no backend for GPUs"):
            made = DaceModule(net, x, cuda=True)
        torch.testing.assert_close(made(x), net(x))

    def test_wrong_use(self):
        with self.fails(TypeError, "DaceModule has no argument 'auto_optimise'"):
            DaceModule(nn.Linear(2, 2), auto_optimise=True)
        with self.fails(TypeError, "dace_module decorates a class of modules"):
            dace_module(nn.Linear(2, 2))


if __name__ == "__main__":
    unittest.main()
