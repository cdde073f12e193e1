"""Sequences of different lengths, packed and padded; CTC; layers that look at their buffers and parameters; torch.cond."""

import unittest

from python.tests import torch_masks_test as masks
from python.tests.case import headrace
from python.tests.torch_masks_test import F64, Of, numbers

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence  # noqa: E402

X, LENGTHS = numbers(3, 6, 4), torch.tensor([4, 6, 2])


class Recurrent(nn.Module):
    def __init__(self, kind, batch_first=True, total=False, sorted=False, **options):
        super().__init__()
        self.batch_first, self.total, self.sorted = batch_first, total, sorted
        self.layer = kind(4, 5, batch_first=batch_first, dtype=F64, **options)

    def forward(self, x, lengths):
        rows, states = self.layer(pack_padded_sequence(x, lengths, self.batch_first, self.sorted))
        y, ended = pad_packed_sequence(rows, self.batch_first, 0.5, x.shape[1] if self.total else None)
        return y, ended, states, rows.data


class Captions(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.words = nn.LSTM(4, 5, batch_first=True, dtype=F64), nn.Linear(5, 7, dtype=F64)

    def forward(self, x, lengths, targets):
        rows, targets = (pack_padded_sequence(v, lengths, True, False) for v in (x, targets))
        return F.cross_entropy(self.words(self.layer(rows)[0].data), targets.data)


class Chooses(nn.Module):
    def __init__(self):
        super().__init__()
        self.yes, self.no = nn.Linear(4, 4, dtype=F64), nn.Linear(4, 4, dtype=F64)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: self.yes(x).log1p(), lambda x: self.no(x) * x.sum(), (x,))


class Lengths(masks.Agreement):
    def test_packed_sequences(self):
        calls = (X, LENGTHS), (X, torch.tensor([1, 3, 3])), (numbers(5, 8, 4), torch.tensor([1, 2, 8, 4, 4]))
        self.agree(Recurrent(nn.LSTM), *calls)
        self.agree(Recurrent(nn.LSTM, bidirectional=True, num_layers=2, proj_size=3), *calls)
        self.agree(Recurrent(nn.GRU, bidirectional=True, total=True), *calls)
        self.agree(Recurrent(nn.RNN, batch_first=False, sorted=True), (numbers(6, 3, 4), torch.tensor([6, 4, 4])))
        self.agree(Captions(), (X, LENGTHS, torch.arange(18).reshape(3, 6) % 7))
        self.agree(lambda x: pad_packed_sequence(pack_padded_sequence(x, [6, 4, 2], True), True), (X,))

    def test_lengths_that_are_wrong(self):
        for lengths, said in ((torch.tensor([4, 0, 2]), "greater than 0"), (torch.tensor([4, 7, 2]), "exceeds"),
                              (LENGTHS, "must be sorted in decreasing order")):
            with self.fails(headrace.InvalidError, said):
                headrace.module(Recurrent(nn.LSTM, sorted=lengths is LENGTHS))(X, lengths)

    def test_ctc(self):
        x, targets = numbers(12, 3, 6), torch.tensor([[1, 2, 2, 3], [5, 4, 1, 1], [3, 3, 3, 1]])
        times, counts = torch.tensor([12, 10, 7]), torch.tensor([4, 2, 3])
        for reduction in ("mean", "sum", "none"):
            self.agree(lambda x, y, n, m: F.ctc_loss(x.log_softmax(-1), y, n, m, reduction=reduction), (x, targets, times, counts),
                       (x, targets * 0 + 1, times, counts - 2))
        self.agree(lambda x, y, n, m: F.ctc_loss(x, y, n, m), (x, targets, times, counts))
        self.agree(lambda x, y, n, m: F.ctc_loss(x.log_softmax(-1), y, n, m, blank=5), (x, torch.arange(9) % 5, times, counts))
        self.agree(lambda x, y: F.ctc_loss(x.log_softmax(-1), y, (12, 10, 7), (4, 2, 3)), (x, targets))
        self.agree(lambda x, y, n, m: F.ctc_loss(x.log_softmax(-1), y, n, m, reduction="none", zero_infinity=True),
                   (x, targets, torch.tensor([12, 3, 2]), torch.tensor([4, 4, 0])))
        with self.fails(headrace.InvalidError, "input_lengths"):
            headrace.module(Of(F.ctc_loss))(x, targets, times + 5, counts)

    def test_means_of_all_batches(self):
        theirs, ours = nn.BatchNorm2d(3, momentum=None, dtype=F64), nn.BatchNorm2d(3, momentum=None, dtype=F64)
        compiled = headrace.module(ours)
        for k in range(3):
            x = numbers(4, 3, 5, 5) * k + k
            torch.testing.assert_close(compiled(x), theirs(x))
        torch.testing.assert_close(dict(ours.named_buffers()), dict(theirs.named_buffers()))

    def test_rows_that_are_cut_to_a_length(self):
        theirs = nn.Embedding(8, 4, max_norm=1.0, dtype=F64)
        ours = nn.Embedding(8, 4, max_norm=1.0, dtype=F64)
        ours.load_state_dict(theirs.state_dict())
        made = []
        for f in (headrace.module(ours), theirs):
            y = f(torch.tensor([[0, 3], [3, 5]]))
            made.append((y, *torch.autograd.grad(y.square().sum(), f.parameters()), f.weight.detach()))
        torch.testing.assert_close(*made)
        with self.fails(headrace.UnsupportedError, "forward writes to the parameter", "optimizer.step()"):
            headrace.train_step(ours, torch.sum, torch.optim.SGD(ours.parameters()))(torch.tensor([1]))

    def test_distances(self):
        for p in (0, 0.5, 1, 1.5, 2, float("inf")):
            self.agree(lambda x: (torch.cdist(x, x[:3] * 1.1, p=p), F.pdist(x, p)), (numbers(5, 4),))
        self.agree(lambda x: torch.cdist(x, x.round(), p=float("inf")), (numbers(5, 4).round() / 2,))

    def test_cond(self):
        self.agree(Chooses(), (numbers(3, 4).abs(),), (-numbers(3, 4).abs(),))
        self.agree(lambda x, k: torch.cond(k, lambda x: (x.sqrt(), x * 2), lambda x: (x ** 2, x + 0), (x,)),
                   (numbers(3, 4).abs(), torch.tensor(True)), (-numbers(3, 4).abs(), torch.tensor(False)))


if __name__ == "__main__":
    unittest.main()
