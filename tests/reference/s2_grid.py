"""Twin of the grid that a scenario has under `navigation: s2-grid`,
written from the text of [Pathfinding undated] alone, sections 1 and 2: plain loops over every cell.

A cell within `TIE_M` of what decides about it is None: a document that measures to the micrometre leaves ties
open.
"""

import math

TIE_M = 1e-6


def is_inside(ring, x, y):
    """Even-odd rule over the corners of one ring."""
    odd = False
    for (ax, ay), (bx, by) in zip(ring, ring[1:] + ring[:1]):
        if (ay > y) != (by > y) and x < ax + (y - ay) * (bx - ax) / (by - ay):
            odd = not odd
    return odd


def distance_to_edges(ring, x, y):
    """Distance from a point to the nearest edge of a ring (m)."""
    nearest = math.inf
    for (ax, ay), (bx, by) in zip(ring, ring[1:] + ring[:1]):
        square = (bx - ax) ** 2 + (by - ay) ** 2
        t = min(1.0, max(0.0, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / square)) if square else 0.0
        nearest = min(nearest, math.dist((x, y), (ax + t * (bx - ax), ay + t * (by - ay))))
    return nearest


def grid_of(areas, obstacles, cell=0.4, radius=0.45, padding=0.25, boundary=0.0):
    """Return (min x, min z, rows of True, False or None), the lowest row first.

    `areas` are (ring, whether it is available), `obstacles` rings; rings are lists of corners.
    """
    corners = [point for ring, _ in areas for point in ring]
    margin = cell * 2 + radius + padding
    min_x, min_z = min(x for x, _ in corners) - margin, min(y for _, y in corners) - margin
    width = math.ceil(round((max(x for x, _ in corners) + margin - min_x) / cell, 6))
    depth = math.ceil(round((max(y for _, y in corners) + margin - min_z) / cell, 6))
    return (
        min_x,
        min_z,
        [
            [
                is_walkable(
                    areas,
                    obstacles,
                    min_x + (column + 0.5) * cell,
                    min_z + (row + 0.5) * cell,
                    radius + padding,
                    boundary,
                )
                for column in range(width)
            ]
            for row in range(depth)
        ],
    )


def is_walkable(areas, obstacles, x, z, kept, boundary):
    """Mark available areas walkable, then obstacles blocked (section 2b)."""
    walkable, is_tie = False, False
    for ring, is_available in areas:
        if is_available:
            edge = distance_to_edges(ring, x, z)
            is_tie = is_tie or abs(edge - boundary) < TIE_M
            walkable = walkable or (is_inside(ring, x, z) and edge >= boundary)
    for ring in obstacles:
        edge = distance_to_edges(ring, x, z)
        is_tie = is_tie or abs(edge - kept) < TIE_M or edge < TIE_M
        if is_inside(ring, x, z) or edge <= kept:
            walkable = False
    return None if is_tie else walkable
