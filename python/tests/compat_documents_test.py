"""The code blocks of DaCeML's README, of its talk and of the merge request that brought it into DaCe: as they stand there, but for
the lines that import, which are listed here beside the blocks. What a block takes for granted is given to it by name."""

import os
import runpy
import tempfile
import unittest

from python.tests.case import Case, headrace, np  # noqa: F401

import onnx
import torch
import torch.nn.functional as F
from torch import nn

from python.tests.onnx_models import perceptron, reference

# Theirs → ours.
IMPORTS = {
    "from dace.frontend.python import DaceModule": "from headrace.compat.dace import DaceModule",
    "from daceml.pytorch import dace_module": "from headrace.compat.dace import dace_module",
    "import dace": "import headrace.compat.dace as dace",
    "import daceml.onnx as donnx": "from headrace.compat.dace import donnx",
}

MERGE_REQUEST = """
import torch
from dace.frontend.python import DaceModule

# 1. Define PyTorch model
model = MyNeuralNetwork()
optimizer = torch.optim.Adam(model.parameters())

# 2. Wrap with DaCe (compiles on first call)
dace_model = DaceModule(model, dummy_inputs, backward=True)

# 3. Training loop (standard PyTorch code)
for inputs, labels in dataloader:
    optimizer.zero_grad()
    outputs = dace_model(inputs)  # DaCe-optimized forward pass
    loss = criterion(outputs, labels)
    loss.backward()  # DaCe-optimized backward pass
    optimizer.step()
"""

README_MODULE = """
@dace_module
class Model(nn.Module):
    def __init__(self, kernel_size):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, kernel_size)
        self.conv2 = nn.Conv2d(4, 4, kernel_size)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        return F.relu(self.conv2(x))
"""

README_MODEL = """
model = onnx.load(model_path)
dace_model = ONNXModel("mymodel", model)
"""

README_TRAINING = """
import torch.nn.functional as F
from daceml.pytorch import dace_module

@dace_module(backward=True)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(784, 120)
        self.fc2 = nn.Linear(120, 32)
        self.fc3 = nn.Linear(32, 10)
        self.ls = nn.LogSoftmax(dim=-1)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        x = self.fc3(x)
        x = self.ls(x)
        return x

x = torch.randn(8, 784)
y = torch.tensor([0, 1, 2, 3, 4, 5, 6, 7], dtype=torch.long)

model = Net()

criterion = nn.NLLLoss()
prediction = model(x)
loss = criterion(prediction, y)
# gradients can flow through model!
loss.backward()
"""

README_NODES = """
import dace
import daceml.onnx as donnx
import numpy as np

@dace.program
def conv_program(X_arr: dace.float32[5, 3, 10, 10],
                 W_arr: dace.float32[16, 3, 3, 3]):
    output = dace.define_local([5, 16, 4, 4], dace.float32)
    donnx.ONNXConv(X=X_arr, W=W_arr, Y=output, strides=[2, 2])
    return output

X = np.random.rand(5, 3, 10, 10).astype(np.float32)
W = np.random.rand(16, 3, 3, 3).astype(np.float32)

result = conv_program(X_arr=X, W_arr=W)
"""

TALK_MODULE = """
from torch import nn
from daceml.pytorch import dace_module

@dace_module
class MyModule(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)
        self.fanout = n_out

    def forward(self, x):
        return self.linear(x) / self.fanout
"""

TALK_SOFTPLUS = """
@python_pure_op_implementation
def Softplus(X, Y):
    Y[ :] = numpy.log(1 + numpy.exp(X))
"""

TALK_MISH = """
def forward(self, x):  
    y = F.softplus(x)  
    y = torch.tanh(y)  
    return x * y
"""

TALK_SOFTMAX = """
def Softmax(input, output):
    max = input.max(axis=axis, keepdims=True)
    exp = np.exp(input - max)
    sum = exp.sum(axis=axis, keepdims=True)
    output[:] = exp / sum
"""


class Documents(Case):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        torch.manual_seed(0)

    def run_block(self, block, **given):
        """The block's names once it has run, as a file of its own."""
        path = os.path.join(self.folder.name, "block.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(IMPORTS.get(line, line) for line in block.splitlines()))
        return runpy.run_path(path, given)

    def test_training_of_the_merge_request(self):
        def network():
            torch.manual_seed(3)
            return nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 2))

        batches = [(torch.randn(4, 6), torch.randint(2, (4,))) for _ in range(5)]
        made = self.run_block(MERGE_REQUEST, MyNeuralNetwork=network, dummy_inputs=(batches[0][0],), dataloader=batches,
                              criterion=F.cross_entropy)
        eager = network()
        optimizer = torch.optim.Adam(eager.parameters())
        for inputs, labels in batches:
            optimizer.zero_grad()
            loss = F.cross_entropy(eager(inputs), labels)
            loss.backward()
            optimizer.step()
        torch.testing.assert_close(made["loss"], loss, rtol=1e-5, atol=1e-6)
        for ours, theirs in zip(made["model"].parameters(), eager.parameters(), strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)

    def test_decorators(self):
        from headrace.compat.dace import dace_module

        model = self.run_block(README_MODULE, dace_module=dace_module, nn=nn, F=F)["Model"](3)
        x = torch.randn(2, 1, 8, 8)
        expected = F.relu(F.conv2d(F.relu(F.conv2d(x, *model.conv1.parameters())), *model.conv2.parameters()))
        torch.testing.assert_close(model(x), expected.detach(), rtol=1e-4, atol=1e-5)
        module, x = self.run_block(TALK_MODULE)["MyModule"](4, 3), torch.randn(2, 4)
        torch.testing.assert_close(module(x), F.linear(x, *module.linear.parameters()).detach() / 3)

    def test_model(self):
        from headrace.compat.dace import ONNXModel

        path = os.path.join(self.folder.name, "model.onnx")
        onnx.save(perceptron(), path)
        made = self.run_block(README_MODEL, onnx=onnx, model_path=path, ONNXModel=ONNXModel)
        x = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
        self.close(made["dace_model"](x), reference(perceptron(), {"x:0": x})[0], rtol=1e-5, atol=1e-6)

    def test_training(self):
        made = self.run_block(README_TRAINING, nn=nn, torch=torch)
        eager = nn.Sequential(nn.Linear(784, 120), nn.ReLU(), nn.Linear(120, 32), nn.ReLU(), nn.Linear(32, 10), nn.LogSoftmax(dim=-1))
        for ours, theirs in zip(made["model"].parameters(), eager.parameters(), strict=True):
            theirs.data = ours.detach().clone()
        expected = nn.NLLLoss()(eager(made["x"]), made["y"])
        expected.backward()
        torch.testing.assert_close(made["loss"], expected, rtol=1e-5, atol=1e-6)
        for ours, theirs in zip(made["model"].parameters(), eager.parameters(), strict=True):
            torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-4, atol=1e-6)

    def test_nodes(self):
        made = self.run_block(README_NODES)
        expected = F.conv2d(torch.from_numpy(made["X"]), torch.from_numpy(made["W"]), stride=2).numpy()
        self.close(made["result"], expected, rtol=1e-4, atol=1e-5)

    def test_implementations_in_numpy(self):
        import numpy

        from headrace.compat.dace import python_pure_op_implementation

        x = np.random.default_rng(1).standard_normal((3, 4, 2))
        self.run_block(TALK_SOFTPLUS, python_pure_op_implementation=python_pure_op_implementation, numpy=numpy)
        self.assertIn("python", headrace.onnx.Softplus.implementations)
        self.close(headrace.onnx.Softplus(x, implementation="python"), np.log(1 + np.exp(x)), rtol=1e-12)
        program = headrace.Sdfg.parse("sdfg f(A: f64[N], B: f64[N]) { onnx.Softplus(X = A) -> (Y = B) }")
        self.assertEqual([c.chosen for c in program.choices()], ["python"])
        self.close(headrace.grad(lambda x: np.sum(headrace.onnx.Softplus(x)))(x[0, 0]), 1 / (1 + np.exp(-x[0, 0])), rtol=1e-12)

        softmax = self.run_block(TALK_SOFTMAX, np=np, axis=-1)["Softmax"]
        expected, ours = np.empty_like(x), np.empty_like(x)
        softmax(x, expected)
        headrace.program(softmax)(x, ours)
        self.close(ours, expected, rtol=1e-12)
        python_pure_op_implementation(softmax)  # the axis is the node's
        for axis in (0, 1, 2):
            e = np.exp(x - x.max(axis, keepdims=True))
            self.close(headrace.onnx.Softmax(x, axis=axis, implementation="python"), e / e.sum(axis, keepdims=True), rtol=1e-12)
        python_pure_op_implementation(axis=lambda node: node.axis - 1)(softmax)
        e = np.exp(x - x.max(1, keepdims=True))
        self.close(headrace.onnx.Softmax(x, axis=2, implementation="python"), e / e.sum(1, keepdims=True), rtol=1e-12)
        with self.fails(headrace.UsageError, "there is no op onnx.NoSuch"):
            python_pure_op_implementation(type(softmax)(softmax.__code__, {}, "NoSuch"))
        with self.fails(TypeError, "takes a function whose name"):
            python_pure_op_implementation(3)

    def test_mish(self):
        mish = type("Mish", (nn.Module,), {"forward": self.run_block(TALK_MISH, F=F, torch=torch)["forward"]})
        x = torch.randn(3, 5, requires_grad=True)
        y = headrace.module(mish())(x)
        torch.testing.assert_close(y, F.mish(x), rtol=1e-5, atol=1e-6)
        got, = torch.autograd.grad(y.sum(), x)
        expected, = torch.autograd.grad(F.mish(x).sum(), x)
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-6)


if __name__ == "__main__":
    unittest.main()
