"""Naive twins of the kernels in `crowdsim.setup.area_grid`, without any grid:
edge_span, list_near, classify_cells, is_inside, wall_clearance, off_walls, may_stand, find_spots.

An area is a list of edges (ax, ay, bx, by).
"""

from __future__ import annotations

import math

Edge = tuple[float, float, float, float]


def edge_span(edge: Edge, low: float, high: float, reach: float, samples: int = 2001) -> tuple[float, float]:
    """Return the range of x of the points of an edge between two heights, widened by `reach`,
    from many points of it.
    """
    ax, ay, bx, by = edge
    points = [
        (ax + (bx - ax) * step / (samples - 1), ay + (by - ay) * step / (samples - 1))
        for step in range(samples)
    ]
    inside = [x for x, y in points if low - reach <= y <= high + reach]
    return (min(inside) - reach, max(inside) + reach) if inside else (math.inf, -math.inf)


def distance_to_edge(edge: Edge, x: float, y: float) -> float:
    """Return the distance from a point to a segment."""
    ax, ay, bx, by = edge
    ex, ey = bx - ax, by - ay
    square = ex * ex + ey * ey
    along = min(max(((x - ax) * ex + (y - ay) * ey) / square, 0.0), 1.0) if square > 0.0 else 0.0
    return math.hypot(ax + along * ex - x, ay + along * ey - y)


def is_inside(edges: list[Edge], x: float, y: float) -> bool:
    """Return whether a ray from the point in the direction of x crosses the
    boundary an odd number of times.
    """
    crossings = 0
    for ax, ay, bx, by in edges:
        if (ay <= y) != (by <= y) and ax + (bx - ax) * (y - ay) / (by - ay) > x:
            crossings += 1
    return crossings % 2 == 1


def classify_cells(edges: list[Edge], x: float, y: float, cell: float, across: int, up: int) -> list[bool]:
    """Return for each cell of a grid whether its centre is inside."""
    return [
        is_inside(edges, x + (column + 0.5) * cell, y + (row + 0.5) * cell)
        for row in range(up)
        for column in range(across)
    ]


def list_near(
    edges: list[Edge], reach: float, x: float, y: float, cell: float, across: int, up: int, grid: int = 12
) -> list[set[int]]:
    """Return for each cell the edges that come within `reach` of any of a grid of points in it:
    none of these may be missing from the kernel's lists.
    """
    found = []
    for row in range(up):
        for column in range(across):
            points = [
                (x + (column + i / grid) * cell, y + (row + j / grid) * cell)
                for i in range(grid + 1)
                for j in range(grid + 1)
            ]
            found.append(
                {
                    index
                    for index, edge in enumerate(edges)
                    if any(distance_to_edge(edge, *point) < reach for point in points)
                }
            )
    return found


def wall_clearance(walls: list[Edge], x: float, y: float) -> float:
    """Return the distance to the nearest of all walls."""
    return min(distance_to_edge(wall, x, y) for wall in walls)


def off_walls(walls: list[Edge], x: float, y: float, clearance: float) -> tuple[float, float]:
    """Return a point pushed away from each wall in turn to the clearance (and a millionth more)."""
    for ax, ay, bx, by in walls:
        ex, ey = bx - ax, by - ay
        along = min(max(((x - ax) * ex + (y - ay) * ey) / (ex * ex + ey * ey), 0.0), 1.0)
        dx, dy = ax + along * ex - x, ay + along * ey - y
        distance = math.hypot(dx, dy)
        if 0.0 < distance < clearance:
            x -= dx / distance * (clearance * 1.000001 - distance)
            y -= dy / distance * (clearance * 1.000001 - distance)
    return x, y


def may_stand(area: list[Edge], ground: list[Edge], x: float, y: float, clearance: float) -> bool:
    """Return whether a point lies in both areas and keeps the clearance from all edges of the ground."""
    return is_inside(area, x, y) and is_inside(ground, x, y) and wall_clearance(ground, x, y) >= clearance


def find_spots(
    area: list[Edge],
    ground: list[Edge],
    clearance: float,
    x: float,
    y: float,
    cell: float,
    across: int,
    up: int,
    grid: int = 8,
) -> set[int]:
    """Return the cells in which one of a grid of points may stand:
    all of these must be among the kernel's.
    """
    found = set()
    for row in range(up):
        for column in range(across):
            points = [
                (x + (column + (i + 0.5) / grid) * cell, y + (row + (j + 0.5) / grid) * cell)
                for i in range(grid)
                for j in range(grid)
            ]
            if any(may_stand(area, ground, *point, clearance) for point in points):
                found.add(row * across + column)
    return found
