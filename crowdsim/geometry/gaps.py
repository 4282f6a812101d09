"""Gaps between a corner and the inside of a wall:
where the wall needs a vertex so that the gap can be an edge.

What a gap is, and why its width is what counts, stands in `crowdsim.geometry.triangulation`.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.kernels.decorator import kernel

# Feet nearer to each other or to a corner than this are one: radii are known far less well, and triangles
# stay well shaped.
FOOT_SPACING_M = 1e-6
# A corner's foot that misses the end of an edge by less than this share of its length still counts as on it;
# covers rounding.
SHARE_SLACK = 1e-9


@kernel
def find_feet(
    vertices, triangles, neighbours, is_wall, sticks_out, widest_gap, out_slot, out_along, out_height
):
    """Find the feet, inside walls, of corners that may have a gap there.

    Parameters
    ----------
    vertices : (nv, 2) float64, m
    triangles, neighbours : (nt, 3) int32
        Constrained Delaunay, see `triangulation`.
    is_wall : (nt, 3) uint8
        1 for boundary edges that are walls.
    sticks_out : (nv,) uint8
        1 for vertices that can be the near end of a gap.
    widest_gap : float, m
    out_slot : (k,) int64
        Receives ``3 t + i`` of the walls that carry feet; those beyond its size are only counted.
    out_along : (k,) float64, 0..1
        Receives where on the wall the foot is.
    out_height : (k,) float64, m
        Receives the distance from the corner.

    Returns
    -------
    int
        Number of feet.

    Notes
    -----
    From a corner the triangles are followed outwards, over edges that have the corner's foot between their
    ends: where the angle at an end is above 90 degrees, this end lies in every disc whose diameter goes from
    the corner over the edge. So all feet of gaps are found, and some where something else reaches into the
    disc. Twin: `tests/reference/gaps.py`.
    """
    queue = np.empty(3 * triangles.shape[0] + 3, dtype=np.int64)
    found = 0
    for first in range(3 * triangles.shape[0]):
        corner = triangles[first // 3, first % 3]
        if sticks_out[corner] == 0:
            continue
        px, py = vertices[corner, 0], vertices[corner, 1]
        queue[0] = 3 * (first // 3) + (first + 1) % 3
        seen, done = 1, 0
        while done < seen:
            t, i = queue[done] // 3, queue[done] % 3
            a, b = triangles[t, i], triangles[t, (i + 1) % 3]
            done += 1
            ax, ay = vertices[a, 0], vertices[a, 1]
            dx, dy = vertices[b, 0] - ax, vertices[b, 1] - ay
            length = np.hypot(dx, dy)
            along = ((px - ax) * dx + (py - ay) * dy) / (length * length)
            height = (dx * (py - ay) - dy * (px - ax)) / length
            if along < -SHARE_SLACK or along > 1.0 + SHARE_SLACK or height > widest_gap:
                continue
            other = neighbours[t, i]
            if other >= 0:
                j = 0
                while neighbours[other, j] != t or triangles[other, j] != b:
                    j += 1
                for side in ((j + 1) % 3, (j + 2) % 3):
                    if seen < queue.size:
                        queue[seen] = 3 * other + side
                        seen += 1
                continue
            spacing = FOOT_SPACING_M / length
            if is_wall[t, i] == 0 or along <= spacing or along >= 1.0 - spacing or height <= FOOT_SPACING_M:
                continue
            if found < out_slot.size:
                out_slot[found], out_along[found] = 3 * t + i, along
                out_height[found] = height
            found += 1
    return found
