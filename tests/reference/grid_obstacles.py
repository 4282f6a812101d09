"""Twin of what standing agents block ([Pathfinding undated], section 6).

Kernels: count_stationary, write_stationary, stamp_stationary.
"""

import math


def stationary_near(planning, start, end, reach, stationary):
    """Of (entity, (x, y)) those within reach of the segment, without the one that plans."""

    def distance(p):
        move = (end[0] - start[0], end[1] - start[1])
        square = move[0] ** 2 + move[1] ** 2
        t = (
            min(1.0, max(0.0, ((p[0] - start[0]) * move[0] + (p[1] - start[1]) * move[1]) / square))
            if square
            else 0.0
        )
        return math.dist(p, (start[0] + t * move[0], start[1] + t * move[1]))

    return [row for row, (entity, p) in enumerate(stationary) if entity != planning and distance(p) <= reach]


def without_stationary(walkable, grid, discs, share):
    """The walkable cells that are left on a copy: no centre in a circle, no own cell."""
    left = set()
    for x, y in walkable:
        centre = (
            grid.x + (x + 0.5) * grid.parameters.cell_size,
            grid.y + (y + 0.5) * grid.parameters.cell_size,
        )
        own = (
            (
                math.floor((px - grid.x) / grid.parameters.cell_size),
                math.floor((py - grid.y) / grid.parameters.cell_size),
            )
            for px, py, _ in discs
        )
        if (x, y) not in own and all(
            math.dist(centre, (px, py)) > share * radius for px, py, radius in discs
        ):
            left.add((x, y))
    return left
