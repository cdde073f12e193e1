"""Trains a compiled module on several processes, each with its part of every batch: torch's DistributedDataParallel with gloo.

    python ddp.py --processes 2 --steps 20                  # on this machine
    torchrun --nnodes 2 --nproc-per-node 1 --rdzv-backend c10d --rdzv-endpoint HOST:29500 ddp.py    # on each of two

The losses are those of one process with the whole batch. --eager leaves the module as it is, to compare.
"""

import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import headrace


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2d(1, 8, 3, stride=2)
        self.norm = nn.GroupNorm(2, 8)
        self.hidden, self.last = nn.Linear(8 * 9, 32), nn.Linear(32, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.convolution(x))), 2)
        return self.last(torch.tanh(self.hidden(x.flatten(1))))


def batches(size, steps):
    """Images of four brightnesses, with noise: the same for every process."""
    random = torch.Generator().manual_seed(3)
    for _ in range(steps):
        y = torch.randint(0, 4, (size,), generator=random)
        yield torch.randn(size, 1, 14, 14, generator=random) + y[:, None, None, None], y


def train(options):
    rank, processes = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    net = Net() if options.eager else headrace.module(Net())
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step, (x, y) in enumerate(batches(options.batch, options.steps)):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x[rank::processes]), y[rank::processes])
        loss.backward()
        optimizer.step()
        mean = loss.detach() / processes
        dist.all_reduce(mean)
        if rank == 0:
            print(f"step {step} loss {mean.item():.8f}", flush=True)


def start(rank, options, folder):
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=options.processes)
    train(options)
    dist.destroy_process_group()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--processes", type=int, default=2)
    p.add_argument("--steps", type=int, default=20)
    p.add_argument("--batch", type=int, default=16, help="samples of all processes together; a multiple of their number")
    p.add_argument("--eager", action="store_true")
    options = p.parse_args()
    if "RANK" in os.environ:  # torchrun has started this process
        dist.init_process_group("gloo")
        train(options)
        dist.destroy_process_group()
        return
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(start, (options, folder), nprocs=options.processes)


if __name__ == "__main__":
    main()
