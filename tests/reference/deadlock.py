"""Naive twins of `crowdsim.measures.deadlock_graph`, `deadlock_places` and `shut_in`, written from the
definitions. Kernel: find_shut_in.
"""

import math
from collections import deque


def pairs_within(position, layer, rows, reach):
    """Twin of `pairs_within`: every pair is looked at; a set of (i, j)."""
    found = set()
    for i in rows:
        for j in range(len(position)):
            if i != j and layer[i] == layer[j] and math.dist(position[i], position[j]) <= reach:
                found.add((int(i), j))
    return found


def find_waits(entity, position, radius, layer, direction, blocker, waiting):
    """Twin of `find_waits`: {(source, target): kind}; 1 contact within 5 cm and 60 degrees,
    2 the binding neighbour unless it is behind, 4 the nearest in the way.
    """
    edges = {}
    for i in range(len(entity)):
        if not waiting[i] or (direction[i][0] == 0.0 and direction[i][1] == 0.0):
            continue
        for j in range(len(entity)):
            if i == j or layer[i] != layer[j]:
                continue
            dx, dy = position[j][0] - position[i][0], position[j][1] - position[i][1]
            apart = math.hypot(dx, dy)
            cosine = (dx * direction[i][0] + dy * direction[i][1]) / apart if apart > 0.0 else 1.0
            kind = 0
            if apart - radius[i] - radius[j] <= 0.05 and cosine >= 0.5:
                kind |= 1
            if blocker[i] == entity[j] and cosine > 0.0:
                kind |= 2
            if kind:
                edges[(i, j)] = kind
        if not any(source == i for source, _ in edges):
            before = []
            for j in range(len(entity)):
                dx, dy = position[j][0] - position[i][0], position[j][1] - position[i][1]
                gap = math.hypot(dx, dy) - radius[i] - radius[j]
                across = abs(dy * direction[i][0] - dx * direction[i][1])
                if (
                    i != j
                    and layer[i] == layer[j]
                    and gap <= 0.5
                    and across < radius[i] + radius[j]
                    and dx * direction[i][0] + dy * direction[i][1] > 0.0
                ):
                    before.append((gap, j))
            if before:
                edges[(i, min(before)[1])] = 4
    return edges


def strong_parts(count, edges):
    """Twin of `strong_parts`: two nodes are in one part if each can be reached from the other;
    a set of frozensets.
    """
    reach = []
    for start in range(count):
        seen, open_nodes = {start}, [start]
        while open_nodes:
            node = open_nodes.pop()
            for a, b in edges:
                if a == node and b not in seen:
                    seen.add(b)
                    open_nodes.append(b)
        reach.append(seen)
    return {frozenset(b for b in reach[a] if a in reach[b]) for a in range(count)}


def is_shut_in(position, radius, others, other_radius, walls):
    """Twin of `find_shut_in`, for one agent: a lattice of 5 cm is flooded place by place; walls are pairs of
    points.
    """

    def free(i, j):
        x, y = position[0] + 0.05 * i, position[1] + 0.05 * j
        for (ax, ay), (bx, by) in walls:
            dx, dy = bx - ax, by - ay
            share = min(1.0, max(0.0, ((x - ax) * dx + (y - ay) * dy) / max(dx * dx + dy * dy, 1e-300)))
            if math.hypot(ax + share * dx - x, ay + share * dy - y) < radius - 0.025:
                return False
        return all(
            math.hypot(ox - x, oy - y) >= radius + size - 0.025
            for (ox, oy), size in zip(others, other_radius)
        )

    seen, queue = {(0, 0)}, deque([(0, 0)])
    while queue:
        i, j = queue.popleft()
        if max(abs(i), abs(j)) == 40:
            return False
        for place in ((i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)):
            if place not in seen and free(*place):
                seen.add(place)
                queue.append(place)
    return True
