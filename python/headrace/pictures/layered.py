"""Layered drawing of directed acyclic graphs, from the top down.

Nodes get layers by their longest path, edges that pass layers a point in each, layers an order by the barycentres of their
neighbours (K. Sugiyama, S. Tagawa, M. Toda: Methods for Visual Understanding of Hierarchical System Structures, 1981); places in a
layer are those nearest to the neighbours that leave room for all, by pooling adjacent violators.
"""

from __future__ import annotations

from typing import Sequence

Point = tuple[float, float]
_BETWEEN, _LAYERS, _BEND = 22.0, 34.0, 10.0  # pixels between nodes, between layers; the width of a point that an edge passes


class Layout:
    """`places`: the upper left corner of each node; `routes`: the points of each edge, from the lower edge of its source to the
    upper one of its target; `width` and `height` of it all."""

    def __init__(self, sizes: Sequence[Point], edges: Sequence[tuple[int, int]]):
        self._width = [w for w, _ in sizes]
        self._height = [h for _, h in sizes]
        self._count = len(sizes)
        self._layer = _layers(len(sizes), edges)
        self._chains = self._passed(edges)
        self._rows: list[list[int]] = [[] for _ in range(max(self._layer, default=-1) + 1)]
        for node, layer in enumerate(self._layer):
            self._rows[layer].append(node)
        self._order()
        self._x = self._columns()
        self._finish()

    def _passed(self, edges: Sequence[tuple[int, int]]) -> list[list[int]]:
        """The nodes of each edge, with the points in the layers that it passes; edges of one source share them."""
        points: dict[tuple[int, int], int] = {}
        self._up: dict[int, list[int]] = {n: [] for n in range(self._count)}
        self._down: dict[int, list[int]] = {n: [] for n in range(self._count)}
        chains = []
        for source, target in edges:
            chain = [source]
            for layer in range(self._layer[source] + 1, self._layer[target]):
                if (source, layer) not in points:
                    points[source, layer] = len(self._layer)
                    self._layer.append(layer)
                    self._width.append(_BEND)
                    self._height.append(0)
                chain.append(points[source, layer])
            chain.append(target)
            for a, b in zip(chain, chain[1:]):
                if b not in self._down.setdefault(a, []):
                    self._down[a].append(b)
                    self._up.setdefault(b, []).append(a)
            chains.append(chain)
        for n in range(len(self._layer)):
            self._up.setdefault(n, [])
            self._down.setdefault(n, [])
        return chains

    def _order(self) -> None:
        best, least = [list(r) for r in self._rows], self._crossings()
        for sweep in range(12):
            if least == 0:
                break
            down = sweep % 2 == 0
            rows = range(1, len(self._rows)) if down else range(len(self._rows) - 2, -1, -1)
            for layer in rows:
                beside = self._rows[layer - 1 if down else layer + 1]
                at = {n: k for k, n in enumerate(beside)}
                near = self._up if down else self._down
                row = self._rows[layer]
                now = {n: k for k, n in enumerate(row)}
                row.sort(key=lambda n: (sum(at[m] for m in near[n]) / len(near[n]) if near[n] else now[n], now[n]))
            crossings = self._crossings()
            if crossings < least:
                best, least = [list(r) for r in self._rows], crossings
        self._rows = best

    def _crossings(self) -> int:
        count = 0
        for above, below in zip(self._rows, self._rows[1:]):
            at = {n: k for k, n in enumerate(below)}
            ends = [at[m] for n in above for m in sorted(self._down[n], key=at.__getitem__)]
            count += sum(a > b for k, a in enumerate(ends) for b in ends[k + 1:])
        return count

    def _columns(self) -> list[float]:
        """The centre of each node."""
        x = [0.0] * len(self._layer)
        for row in self._rows:
            at = 0.0
            for n in row:
                x[n] = at + self._width[n] / 2
                at += self._width[n] + _BETWEEN
        for sweep in range(16):
            down = sweep % 2 == 0
            for row in self._rows if down else reversed(self._rows):
                wanted, weights = [], []
                for n in row:
                    near = (self._up if down else self._down)[n]
                    if not near:
                        near = (self._down if down else self._up)[n]
                    wanted.append(sum(x[m] for m in near) / len(near) if near else x[n])
                    weights.append(4.0 if n >= self._count else 1.0)
                rooms = [(self._width[a] + self._width[b]) / 2 + (_BETWEEN if max(a, b) < self._count else _BETWEEN / 2)
                         for a, b in zip(row, row[1:])]
                for n, place in zip(row, _nearest(wanted, weights, rooms)):
                    x[n] = place
        left = min((x[n] - self._width[n] / 2 for n in range(len(x))), default=0.0)
        return [v - left for v in x]

    def _finish(self) -> None:
        heights = [max((self._height[n] for n in row), default=0.0) for row in self._rows]
        tops, at = [], 0.0
        for h in heights:
            tops.append(at)
            at += h + _LAYERS
        self.height = max(at - _LAYERS, 0.0)
        self.width = max((self._x[n] + self._width[n] / 2 for n in range(len(self._x))), default=0.0)
        y = [tops[layer] + (heights[layer] - h) / 2 for layer, h in zip(self._layer, self._height)]
        self.places = [(self._x[n] - self._width[n] / 2, y[n]) for n in range(self._count)]
        self.routes = []
        for chain in self._chains:
            first, *inner, last = chain
            points = [(self._x[first], y[first] + self._height[first])]
            for n in inner:  # straight past the nodes of the layer
                points += [(self._x[n], tops[self._layer[n]]), (self._x[n], tops[self._layer[n]] + heights[self._layer[n]])]
            self.routes.append([*points, (self._x[last], y[last])])


def _layers(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Longest paths; what serves one node alone, as inputs and first values do, stands right above it."""
    after: list[list[int]] = [[] for _ in range(count)]
    before: list[list[int]] = [[] for _ in range(count)]
    for a, b in edges:
        after[a].append(b)
        before[b].append(a)
    layer, ready, left = [0] * count, [n for n in range(count) if not before[n]], [len(b) for b in before]
    for n in ready:
        for m in after[n]:
            layer[m] = max(layer[m], layer[n] + 1)
            left[m] -= 1
            if left[m] == 0:
                ready.append(m)
    if len(ready) != count:
        raise ValueError("the graph has a cycle")
    for n in reversed(ready):
        if after[n] and all(len(after[m]) == 1 for m in before[n]):
            layer[n] = min(layer[m] for m in after[n]) - 1
    return layer


def _nearest(wanted: Sequence[float], weights: Sequence[float], rooms: Sequence[float]) -> list[float]:
    """The places, in order and at least `rooms` apart, with the least sum of weighted squares of the distances from `wanted`."""
    offsets = [0.0]
    for room in rooms:
        offsets.append(offsets[-1] + room)
    pools: list[list[float]] = []  # [sum of weight·(wanted - offset), sum of weights, how many]
    for want, weight, offset in zip(wanted, weights, offsets):
        pools.append([weight * (want - offset), weight, 1])
        while len(pools) > 1 and pools[-2][0] / pools[-2][1] > pools[-1][0] / pools[-1][1]:
            last = pools.pop()
            pools[-1] = [a + b for a, b in zip(pools[-1], last)]
    means = [total / weight for total, weight, many in pools for _ in range(int(many))]
    return [mean + offset for mean, offset in zip(means, offsets)]
