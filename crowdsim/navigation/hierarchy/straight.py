"""The straight path over areas: a string from the start to the goal through the portals between the areas.

What stands within the areas does not bend it. Where it crosses a portal is where the ground before that
portal is searched to ([Mononen 2010]). The string is pulled as in [Mononen 2010], Simple Stupid Funnel
Algorithm.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.geometry.plane import orientation
from crowdsim.kernels.decorator import inlined_kernel, lean_kernel

MOST_INSET = 0.45  # Share of a portal by which the string keeps from either end of it, at most.


@lean_kernel
def cross_straight(mesh, edge, count, radius, x, y, to_x, to_y, crossing):
    """Find where the straight path from a point to another crosses portals.

    Parameters
    ----------
    mesh : NavMesh
    edge : (k,) int32
        Half-edges over which it leaves one area after the other, the first one first.
    count : int
        How many of them there are.
    radius : float, m
        How far it keeps from the ends of portals.
    x, y, to_x, to_y : float, m
    crossing : (k, 2) float64, m
        Receives the points.
    """
    ax, ay, apex = x, y, -1
    lx, ly, left, rx, ry, right = x, y, -1, x, y, -1
    i = 0
    while i <= count:
        if i < count:
            bx, by, cx, cy = _ends(mesh, edge[i], radius)
        else:
            bx, by, cx, cy = to_x, to_y, to_x, to_y
        if orientation(ax, ay, rx, ry, cx, cy) >= 0.0:  # the right side comes nearer
            if apex == right or orientation(ax, ay, lx, ly, cx, cy) < 0.0:
                rx, ry, right = cx, cy, i
            else:  # it passes the left one: a corner
                _cross(mesh, edge, apex + 1, left + 1, radius, ax, ay, lx, ly, crossing)
                ax, ay, apex = lx, ly, left
                rx, ry, right, i = ax, ay, left, left + 1
                continue
        if orientation(ax, ay, lx, ly, bx, by) <= 0.0:
            if apex == left or orientation(ax, ay, rx, ry, bx, by) > 0.0:
                lx, ly, left = bx, by, i
            else:
                _cross(mesh, edge, apex + 1, right + 1, radius, ax, ay, rx, ry, crossing)
                ax, ay, apex = rx, ry, right
                lx, ly, left, i = ax, ay, right, right + 1
                continue
        i += 1
    _cross(mesh, edge, apex + 1, count, radius, ax, ay, to_x, to_y, crossing)


@inlined_kernel
def _ends(mesh, edge, radius):
    """Return the left and the right end of a portal as one leaves over it, moved inwards."""
    right, left = mesh.edge_vertex[edge], mesh.edge_end[edge]
    rx, ry, lx, ly = mesh.vertex[right, 0], mesh.vertex[right, 1], mesh.vertex[left, 0], mesh.vertex[left, 1]
    share = min(MOST_INSET, radius / np.sqrt((lx - rx) * (lx - rx) + (ly - ry) * (ly - ry)))
    return (
        lx + share * (rx - lx),
        ly + share * (ry - ly),
        rx + share * (lx - rx),
        ry + share * (ly - ry),
    )


@lean_kernel
def _cross(mesh, edge, first, last, radius, x, y, to_x, to_y, crossing):
    """Note where a straight line crosses portals first .. last - 1."""
    dx, dy = to_x - x, to_y - y
    for i in range(first, last):
        lx, ly, rx, ry = _ends(mesh, edge[i], radius)
        across = (lx - rx) * dy - (ly - ry) * dx
        share = ((x - rx) * dy - (y - ry) * dx) / across if across != 0.0 else 0.5
        share = min(1.0, max(0.0, share))
        crossing[i, 0], crossing[i, 1] = rx + share * (lx - rx), ry + share * (ly - ry)
