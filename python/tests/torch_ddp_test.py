"""DistributedDataParallel over headrace.module: examples/ddp.py on one process and on two, and against eager."""

import os
import re
import subprocess
import sys
import unittest

from python.tests.case import Case, headrace

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import distributed, nn  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402


def losses(*options):
    environment = {**os.environ, "PYTHONPATH": os.path.join(os.getcwd(), "python", "package")}
    for _ in range(3):
        ran = subprocess.run([sys.executable, os.path.join("examples", "ddp.py"), "--steps", "3", *options], env=environment,
                             capture_output=True, text=True, timeout=240)
        printed = [float(x) for x in re.findall(r"^step \d+ loss (\S+)$", ran.stdout, re.MULTILINE)]
        if ran.returncode == 0:
            return printed
        # Threads of PyTorch's gloo outlive the interpreter and may let go of a tensor too late: pytorch/pytorch#179291. Eager's do, too.
        if len(printed) < 3 or "terminate called without an active exception" not in ran.stderr:
            break
    raise AssertionError(f"ddp.py {options}:\n{ran.stdout}{ran.stderr}")


class Example(Case):
    def test_two_processes_train_as_one(self):
        one, two, eager = losses("--processes", "1"), losses("--processes", "2"), losses("--processes", "1", "--eager")
        self.assertEqual([len(x) for x in (one, two, eager)], [3, 3, 3])
        self.assertLess(one[-1], one[0])
        for a, b, c in zip(one, two, eager):
            self.assertAlmostEqual(a, b, delta=1e-5)
            self.assertAlmostEqual(a, c, delta=1e-5)


class Order(Case):
    """What wraps what, in one process."""

    def setUp(self):
        store = distributed.HashStore()
        distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
        self.addCleanup(distributed.destroy_process_group)

    def test_the_module_is_what_is_compiled(self):
        parallel = DistributedDataParallel(nn.Linear(2, 2))
        with self.fails(headrace.UnsupportedError, "DistributedDataParallel", "hint: DistributedDataParallel(headrace.module(model))"):
            headrace.module(parallel)
        with self.fails(headrace.UnsupportedError, "DistributedDataParallel", "optimizer.step()"):
            headrace.train_step(parallel, F.mse_loss, torch.optim.SGD(parallel.parameters(), lr=0.1))

    def test_no_sync_accumulates(self):
        torch.manual_seed(0)
        plain = nn.Linear(3, 2)
        model = DistributedDataParallel(headrace.module(nn.Linear(3, 2)))
        model.module.load_state_dict(plain.state_dict())
        x = torch.randn(4, 3)
        plain(x).square().sum().backward()
        with model.no_sync():
            model(x[:2]).square().sum().backward()
        model(x[2:]).square().sum().backward()
        torch.testing.assert_close(model.module.weight.grad, plain.weight.grad, rtol=1e-5, atol=1e-6)


if __name__ == "__main__":
    unittest.main()
