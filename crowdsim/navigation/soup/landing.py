"""Where agents come to when triangles have come or gone under them."""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.kernels.decorator import inlined_kernel, kernel
from crowdsim.navigation.mesh.mesh import depth_in_polygon, height_at


@kernel
def land(mesh, corners, place, height, out, fallen):
    """Find the ground under agents anew.

    Parameters
    ----------
    mesh : NavMesh
    corners : (nt, 3, 3) float64, m
        All triangles that are there now.
    place : (n, 2) float64, m
    height : (n,) float64, m
        At which they stood.
    out : (n,) int64
        Receives the polygons that they come to: of those no more than a step above where they stood the one
        nearest in space to where they come down, on the highest triangle under them that is no more than a
        step above. An agent on a bridge that goes falls so; one where a wall appears has the floor under it
        as before, and comes to the ground beside that.
    fallen : (n,) float64, m
        Receives how far below where they stood that is, 0 where it is not.

    Notes
    -----
    Twin: `tests/reference/fill.py`.
    """
    for row in range(len(place)):
        x, y = place[row, 0], place[row, 1]
        most = height[row] + mesh.step
        hit = -np.inf
        for t in range(len(corners)):
            hit = max(hit, _below(corners[t], x, y, most))
        if hit == -np.inf:
            hit = height[row]
        out[row], fallen[row], best = -1, 0.0, np.inf
        for is_strict in (True, False):
            for polygon in range(mesh.polygon_start.size - 1):
                z = height_at(mesh, polygon, x, y)
                if z > most and is_strict:
                    continue
                beside = max(0.0, -depth_in_polygon(mesh, polygon, x, y))
                if beside * beside + (z - hit) ** 2 < best:
                    best = beside * beside + (z - hit) ** 2
                    out[row], fallen[row] = polygon, max(0.0, height[row] - z)
            if out[row] >= 0:
                break


@inlined_kernel
def _below(corner, x, y, most):
    """Return the height (m) of a triangle over a place; -inf where it is not there, higher than `most`, or on
    edge.
    """
    ax, ay, bx, by = corner[0, 0], corner[0, 1], corner[1, 0], corner[1, 1]
    cx, cy = corner[2, 0], corner[2, 1]
    area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
    if area == 0.0:
        return -np.inf
    a = ((bx - x) * (cy - y) - (by - y) * (cx - x)) / area
    b = ((cx - x) * (ay - y) - (cy - y) * (ax - x)) / area
    if min(a, b, 1.0 - a - b) < 0.0:
        return -np.inf
    z = a * corner[0, 2] + b * corner[1, 2] + (1.0 - a - b) * corner[2, 2]
    return z if z <= most else -np.inf
