"""Twin of `crowdsim.navigation.visibility.trees.advance_tree`:
least distances to a goal by going over all pairs of edges until nothing changes.
"""

import math

import numpy as np


def tangent(a, b, a_side, b_side):
    """Return the direction (an angle) and the length of the line from disc a to disc b;
    a side is the radius, below 0 where the disc is on the right.
    """
    apart = math.dist(a, b)
    across = min(1.0, max(-1.0, (b_side - a_side) / apart))
    return math.atan2(b[1] - a[1], b[0] - a[0]) - math.asin(across), apart * math.sqrt(1.0 - across * across)


def turned(before, after):
    """Return by how much a direction turns to the left, -pi to pi."""
    return (after - before + math.pi) % (2.0 * math.pi) - math.pi


def distances(graph, goals, links, goal, thinnest, widest):
    """Return for each edge how far it is at least from its end to the goal, which is a point,
    for agents between two radii; widths are not tested.
    """
    position, target = graph.corners.position.tolist(), graph.edge_target.tolist()
    source = np.repeat(np.arange(len(graph.edge_start) - 1), np.diff(graph.edge_start)).tolist()
    usable = [
        low <= widest and high >= thinnest
        for low, high in zip(graph.edge_low.tolist(), graph.edge_high.tolist(), strict=True)
    ]
    straight = {}  # node -> least straight part to the goal
    for link in range(links.start[goal], links.start[goal + 1]):
        corner, piece = int(links.corner[link]), int(links.piece[link])
        outline = goals.vertex[goals.vertex_start[piece] : goals.vertex_start[piece + 1]]
        assert len(outline) == 1
        straight[corner] = math.sqrt(max(0.0, math.dist(position[corner], outline[0]) ** 2 - widest**2))

    def line(edge, radius):
        a, b = source[edge], target[edge]
        return tangent(
            position[a // 2], position[b // 2], radius * (1 - 2 * (a % 2)), radius * (1 - 2 * (b % 2))
        )

    edges = [edge for edge in range(len(target)) if usable[edge]]
    steps = []
    for first in edges:
        for then in edges:
            if target[first] != source[then]:
                continue
            side = 1 - 2 * (source[then] % 2)
            # to turn right back is allowed, in either direction
            if -math.pi + 1e-9 < side * turned(line(first, widest)[0], line(then, widest)[0]) < -1e-9:
                continue
            arc = thinnest * max(0.0, side * turned(line(first, thinnest)[0], line(then, thinnest)[0]))
            steps.append((first, then, arc + line(then, widest)[1]))
    left = np.full(len(target), np.inf)
    for edge in edges:
        left[edge] = straight.get(target[edge] // 2, np.inf)
    changes = True
    while changes:
        changes = False
        for first, then, length in steps:
            if left[then] + length < left[first] * (1.0 - 1e-12):
                left[first], changes = left[then] + length, True
    return left
