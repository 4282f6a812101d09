"""Convex polygons merged from triangles ([Cui 2012], section 4)."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

# Sine of the turn up to which a polygon's corner counts as flat rather than as a dent: wall feet are rounded
# to some 1e-10 m.
FLAT_SINE = 1e-9


def merge_to_convex(
    vertices: NDArray[np.float64],
    triangles: NDArray[np.int32],
    neighbours: NDArray[np.int32],
    most_sides: int,
) -> list[list[int]]:
    """Merge triangles over shared edges, longest first, as long as the result is convex and has at most
    `most_sides` sides.

    Parameters
    ----------
    vertices : (nv, 2) float64, m
    triangles, neighbours : (nt, 3) int32
    most_sides : int

    Returns
    -------
    list of lists of int
        Vertices of each polygon, counter-clockwise from its lowest vertex, sorted. Every edge is shared
        whole.
    """
    polygon: dict[int, list[int]] = {i: list(corners) for i, corners in enumerate(triangles.tolist())}
    owner = {}
    queue = []
    point, beside = vertices.tolist(), neighbours.tolist()
    for i, corners in polygon.items():
        for k in range(3):
            a, b = corners[k], corners[(k + 1) % 3]
            owner[a, b] = i
            if beside[i][k] > i:
                queue.append(
                    (
                        -((point[a][0] - point[b][0]) ** 2 + (point[a][1] - point[b][1]) ** 2),
                        min(a, b),
                        max(a, b),
                    )
                )
    if most_sides > 3:
        heapq.heapify(queue)
        while queue:
            _, a, b = heapq.heappop(queue)
            left, right = owner.get((a, b)), owner.get((b, a))
            if left is None or right is None or left == right:
                continue
            if len(polygon[left]) + len(polygon[right]) - 2 > most_sides:
                continue
            merged = joined(polygon[left], polygon[right], a, b)
            if (
                not is_convex_at(point, merged, a)
                or not is_convex_at(point, merged, b)
                or len(set(merged)) < len(merged)
            ):
                continue
            for k, start in enumerate(polygon[right]):
                owner[start, polygon[right][(k + 1) % len(polygon[right])]] = left
            del owner[a, b], owner[b, a], polygon[right]
            polygon[left] = merged
    return sorted_polygons(polygon.values())


def sorted_polygons(polygons: Iterable[list[int]]) -> list[list[int]]:
    """Return polygons, each from its lowest vertex on, sorted."""
    return sorted(corners[(k := corners.index(min(corners))) :] + corners[:k] for corners in polygons)


def joined(left: list[int], right: list[int], a: int, b: int) -> list[int]:
    """Return the outline of two polygons without their shared edge a -> b (in the left one)."""
    i, j = left.index(b), right.index(a)
    return left[i:] + left[:i] + (right[j:] + right[:j])[1:-1]


def is_convex_at(point: Sequence[Sequence[float]], polygon: list[int], vertex: int) -> bool:
    """Return whether a polygon has no dent at one of its corners."""
    i = polygon.index(vertex)
    (ax, ay), (bx, by), (cx, cy) = (
        point[polygon[i - 1]],
        point[vertex],
        point[polygon[(i + 1) % len(polygon)]],
    )
    ux, uy, vx, vy = bx - ax, by - ay, cx - bx, cy - by
    return ux * vy - uy * vx >= -FLAT_SINE * np.sqrt((ux * ux + uy * uy) * (vx * vx + vy * vy))
