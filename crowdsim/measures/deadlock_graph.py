"""The waiting graph: contacts and yields between agents, its strongly connected parts,
and what stands at its heads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.lengths import hypots

# Agents that are nearer touch: contacts are pushed apart to within 1 cm, and avoidance stops short of one by
# some centimetres.
TOUCH_M = 0.05
# Cosine: an agent that is touched blocks another if it is within 60 degrees of where that one wants to go.
TOUCH_AHEAD = 0.5
YIELD_AHEAD = 0.0  # The neighbour that avoidance gives way to blocks an agent if it is not behind it.
# An agent that none blocks so waits behind the nearest in its strip up to here: avoidance keeps that far from
# agents that stand.
BEHIND_M = 0.5
CONTACT, YIELD, BEHIND = 1, 2, 4  # bits of the kind of an edge


class Waits(NamedTuple):
    """The edges of the graph, ascending by source, then target.

    Attributes
    ----------
    source, target : (e,) int64
        Rows: the source waits for the target.
    kind : (e,) uint8
        CONTACT, YIELD, or both; or BEHIND.
    gap : (e,) float64, m
        Between the discs; below 0 they overlap.
    """

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    kind: NDArray[np.uint8]
    gap: NDArray[np.float64]


def pairs_within(
    position: NDArray[np.float64], layer: NDArray[np.int32], rows: NDArray[np.int64], reach: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (i, j) of all pairs of a row of `rows` and another row on the same floor whose centres are at
    most `reach` apart.

    Parameters
    ----------
    position : (n, 2) float64, m
    layer : (n,) int32
    rows : (k,) int64
    reach : float, m, > 0

    Returns
    -------
    i, j : (p,) int64
        Ascending by i in the order of `rows`, then by cell and j. Twin: `tests/reference/deadlock.py`.
    """
    cell = (
        np.floor((position - position.min(axis=0)) / reach).astype(np.int64) + 1
        if len(position)
        else np.zeros((0, 2), dtype=np.int64)
    )
    width = int(cell[:, 1].max(initial=0)) + 2
    key = cell[:, 0] * width + cell[:, 1]
    order = np.argsort(key, kind="stable")
    found = key[order]
    begins, ends = [], []
    for column in (-1, 0, 1):
        # The three cells one above the other have neighbouring keys.
        lowest = (cell[rows, 0] + column) * width + cell[rows, 1] - 1
        begins.append(np.searchsorted(found, lowest, side="left"))
        ends.append(np.searchsorted(found, lowest + 2, side="right"))
    begin, end = np.stack(begins, axis=1).ravel(), np.stack(ends, axis=1).ravel()
    count = end - begin
    i = np.repeat(np.repeat(rows, 3), count)
    offset = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    j = order[np.repeat(begin, count) + offset]
    apart = position[j] - position[i]
    near = (i != j) & (layer[i] == layer[j]) & (hypots(apart[:, 0], apart[:, 1]) <= reach)
    return i[near], j[near]


def find_waits(
    entity: NDArray[np.int64],
    position: NDArray[np.float64],
    radius: NDArray[np.float64],
    layer: NDArray[np.int32],
    direction: NDArray[np.float64],
    blocker: NDArray[np.int64],
    waiting: NDArray[np.bool_],
) -> Waits:
    """Return for each waiting agent which others it waits for.

    An edge is a contact with one it would walk into, or a yield: the one whose constraint bound the velocity
    that avoidance chose. An agent that has neither, as when a wall bound that velocity, waits behind the
    nearest in the strip that it needs, up to `BEHIND_M`.

    Parameters
    ----------
    entity : (n,) int64
        Ascending.
    position : (n, 2) float64, m
    radius : (n,) float64, m
    layer : (n,) int32
    direction : (n, 2) float64
        Unit vector where each wants to go; 0 where it does not.
    blocker : (n,) int64
        Entity that bound the velocity; 0 none, -1 a wall; one that is in no row is nobody.
    waiting : (n,) bool
        Whose edges are asked for.

    Returns
    -------
    Waits
        Twin: `tests/reference/deadlock.py`.
    """
    rows = np.flatnonzero(waiting & np.any(direction != 0.0, axis=1))
    if not len(rows):
        nothing = np.zeros(0, dtype=np.int64)
        return Waits(nothing, nothing.copy(), np.zeros(0, dtype=np.uint8), np.zeros(0))
    i, j = pairs_within(position, layer, rows, float(radius[rows].max() + radius.max()) + TOUCH_M)
    touches = hypots(*(position[j] - position[i]).T) - radius[i] - radius[j] <= TOUCH_M
    i, j = i[touches], j[touches]
    ahead = _ahead(position, direction, i, j)
    i, j = i[ahead >= TOUCH_AHEAD], j[ahead >= TOUCH_AHEAD]
    holder = np.searchsorted(entity, blocker[rows])
    holder[holder == len(entity)] = 0
    yields = (entity[holder] == blocker[rows]) & (holder != rows)
    a, b = rows[yields], holder[yields]
    near = (_ahead(position, direction, a, b) > YIELD_AHEAD) & (layer[a] == layer[b])
    a, b = a[near], b[near]
    c, d = _behind(position, radius, layer, direction, np.setdiff1d(rows, np.concatenate([i, a])))
    source, target = np.concatenate([i, a, c]), np.concatenate([j, b, d])
    kind = np.repeat(np.array([CONTACT, YIELD, BEHIND], dtype=np.uint8), (len(i), len(a), len(c)))
    edge, place = np.unique(source * len(entity) + target, return_inverse=True)
    kinds = np.zeros(len(edge), dtype=np.uint8)
    np.bitwise_or.at(kinds, place, kind)
    source, target = edge // len(entity), edge % len(entity)
    gap = hypots(*(position[target] - position[source]).T) - radius[source] - radius[target]
    return Waits(source, target, kinds, gap)


def _behind(
    position: NDArray[np.float64],
    radius: NDArray[np.float64],
    layer: NDArray[np.int32],
    direction: NDArray[np.float64],
    rows: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (i, j): those of some rows that have an agent before them, and the nearest;
    of equally near ones the lower row.
    """
    if not len(rows):
        return rows, rows
    i, j = pairs_within(position, layer, rows, float(radius[rows].max() + radius.max()) + BEHIND_M)
    apart = position[j] - position[i]
    along = apart[:, 0] * direction[i, 0] + apart[:, 1] * direction[i, 1]
    across = np.abs(apart[:, 1] * direction[i, 0] - apart[:, 0] * direction[i, 1])
    gap = hypots(apart[:, 0], apart[:, 1]) - radius[i] - radius[j]
    before = (along > 0.0) & (across < radius[i] + radius[j]) & (gap <= BEHIND_M)
    i, j, gap = i[before], j[before], gap[before]
    order = np.lexsort((j, gap, i))
    nearest = np.concatenate([[True], np.diff(i[order]) > 0]) if len(i) else np.zeros(0, dtype=np.bool_)
    return i[order][nearest], j[order][nearest]


def _ahead(
    position: NDArray[np.float64], direction: NDArray[np.float64], i: NDArray[np.int64], j: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the cosine of the angle between where i wants to go and where j is;
    1 for those at the same place.
    """
    apart = position[j] - position[i]
    length = hypots(apart[:, 0], apart[:, 1])
    along = apart[:, 0] * direction[i, 0] + apart[:, 1] * direction[i, 1]
    return np.where(length > 0.0, along / np.where(length > 0.0, length, 1.0), 1.0)


def strong_parts(count: int, source: NDArray[np.int64], target: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return (count,) int64: the number of the strongly connected part of each node;
    parts are numbered so that edges lead to lower numbers or stay inside.

    The algorithm of [Tarjan 1972], without recursion.

    Parameters
    ----------
    count : int
    source, target : (e,) int64
        Edges, ascending by source.
    """
    first = np.searchsorted(source, np.arange(count + 1)).tolist()
    targets = target.tolist()
    number, low, part = [-1] * count, [0] * count, [-1] * count
    open_nodes: list[int] = []
    seen = parts = 0
    for root in range(count):
        if number[root] >= 0:
            continue
        path = [root]
        following = [first[root]]
        number[root] = low[root] = seen
        seen += 1
        open_nodes.append(root)
        while path:
            node, edge = path[-1], following[-1]
            if edge < first[node + 1]:
                following[-1] += 1
                other = targets[edge]
                if number[other] < 0:
                    number[other] = low[other] = seen
                    seen += 1
                    open_nodes.append(other)
                    path.append(other)
                    following.append(first[other])
                elif part[other] < 0:
                    low[node] = min(low[node], number[other])
                continue
            path.pop()
            following.pop()
            if path:
                low[path[-1]] = min(low[path[-1]], low[node])
            if low[node] == number[node]:
                while True:
                    member = open_nodes.pop()
                    part[member] = parts
                    if member == node:
                        break
                parts += 1
    return np.array(part, dtype=np.int64)


def linked_parts(count: int, source: NDArray[np.int64], target: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return (count,) int64: the lowest node that each node is linked to,
    in whichever direction edges lead.
    """
    above = list(range(count))

    def top(node: int) -> int:
        while above[node] != node:
            above[node] = above[above[node]]
            node = above[node]
        return node

    for a, b in zip(source.tolist(), target.tolist(), strict=True):
        low, high = sorted((top(a), top(b)))
        above[high] = low
    return np.array([top(node) for node in range(count)], dtype=np.int64)
