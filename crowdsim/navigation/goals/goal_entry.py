"""Where a path may enter a region: the stretches of its rim on which an agent's centre can be.

A path to a region ends where it first meets the rim. Walls keep the centre off some of it: each wall shuts
out one stretch of each side, since the distance to a wall is a convex function along a line. What is left
between them are the stretches on which paths end, so that a path to a region is found exactly where the agent
can have its centre on the rim, also if walls end beside the rim, as at an exit over the whole end of a
corridor.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.geometry.hypot import hypot
from crowdsim.geometry.plane import segments_apart
from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.navigation.mesh.mesh import flood_into, was_reached

# How much nearer than its radius an agent may come to a wall: it touches corners exactly, and a gap of its
# own width lets it through.
TOUCH_M = 1e-7


@lean_kernel
def next_clear_stretch(mesh, polygon, ax, ay, bx, by, begin, radius, flood):
    """Find the next stretch of a straight line on which an agent's centre can be.

    Parameters
    ----------
    mesh : NavMesh
    polygon : int
        In which the line lies.
    ax, ay, bx, by : float, m
        The line, from a to b; not a point.
    begin : float, m
        How far from a to begin.
    radius : float, m
        Walls may be nearer by `TOUCH_M`, so that a gap of exactly the agent's width is a stretch.
    flood : Flood

    Returns
    -------
    low, high : float, m
        The stretch, as distances from a; `low` is inf if there is none.

    Notes
    -----
    Walls are met by flooding the mesh from the line's polygon, so that those of the next room and of other
    floors do not count. Twin: `tests/reference/visibility.py`.
    """
    dx, dy = bx - ax, by - ay
    length = hypot(dx, dy)
    dx, dy = dx / length, dy / length
    reach = radius - TOUCH_M
    if reach <= 0.0:
        return (begin, length) if begin < length else (np.inf, length)
    reached, done = flood_into(polygon, 0, flood), 0
    while done < reached:
        current = flood.queue[done]
        done += 1
        for edge in range(mesh.polygon_start[current], mesh.polygon_start[current + 1]):
            twin = mesh.edge_twin[edge]
            if twin < 0 or was_reached(mesh.edge_polygon[twin], reached, flood):
                continue
            p, q = mesh.edge_vertex[edge], mesh.edge_end[edge]
            if (
                segments_apart(
                    ax, ay, bx, by, mesh.vertex[p, 0], mesh.vertex[p, 1], mesh.vertex[q, 0], mesh.vertex[q, 1]
                )
                < radius
            ):
                reached = flood_into(mesh.edge_polygon[twin], reached, flood)
    low, is_moving = begin, True
    while is_moving:
        is_moving = False
        high = length
        for place in range(reached):
            current = flood.queue[place]
            for edge in range(mesh.polygon_start[current], mesh.polygon_start[current + 1]):
                if mesh.edge_twin[edge] >= 0 or mesh.edge_wall[edge] < 0:
                    continue
                p, q = mesh.edge_vertex[edge], mesh.edge_end[edge]
                first, last = shut_stretch(
                    mesh.vertex[p, 0] - ax,
                    mesh.vertex[p, 1] - ay,
                    mesh.vertex[q, 0] - ax,
                    mesh.vertex[q, 1] - ay,
                    dx,
                    dy,
                    reach,
                )
                if first <= low < last:
                    low, is_moving = last, True
                elif low < first < high:
                    high = first
        if low > length:
            return np.inf, length
    return low, high


@inlined_kernel
def shut_stretch(px, py, qx, qy, dx, dy, reach):
    """Return the stretch of the line from the origin in direction d that lies nearer than `reach` to segment
    pq; (inf, -inf) if none does.

    Such points form a capsule: two discs and the rectangle between them. It is convex, so one stretch covers
    what the three cut out.
    """
    first, last = np.inf, -np.inf
    for k in range(2):
        x, y = (px, py) if k == 0 else (qx, qy)
        aside = dx * y - dy * x
        if abs(aside) < reach:
            along, half = dx * x + dy * y, np.sqrt((reach - aside) * (reach + aside))
            first, last = min(first, along - half), max(last, along + half)
    ex, ey = qx - px, qy - py
    length = hypot(ex, ey)
    if length <= 0.0:
        return first, last
    ex, ey = ex / length, ey / length
    # In the rectangle: 0 <= along pq <= length, and |off pq| <= reach; both change evenly along the line.
    low, high = _where_between(-(ex * px + ey * py), ex * dx + ey * dy, 0.0, length, -np.inf, np.inf)
    low, high = _where_between(ey * px - ex * py, ex * dy - ey * dx, -reach, reach, low, high)
    if low < high:
        first, last = min(first, low), max(last, high)
    return first, last


@inlined_kernel
def _where_between(value, slope, least, most, low, high):
    """Narrow the interval (low, high) to where ``least < value + slope t < most``."""
    if slope == 0.0:
        return (low, high) if least < value < most else (np.inf, -np.inf)
    s, t = (least - value) / slope, (most - value) / slope
    return max(low, min(s, t)), min(high, max(s, t))
