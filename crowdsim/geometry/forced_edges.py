"""Edges that a triangulation has to have: put in by flipping those that cross them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from crowdsim.errors import NavigationError
from crowdsim.geometry.lengths import dots, hypots

# A vertex this near to a forced edge lies on it: crossings of tile borders are rounded to some 1e-10 m.
ON_LINE_M = 1e-9


def force_edges(
    points: NDArray[np.float64], triangles: NDArray[np.int32], wanted: Iterable[tuple[int, int]]
) -> tuple[NDArray[np.int32], list[list[tuple[int, int]]]]:
    """Return triangles that have the wanted edges.

    Parameters
    ----------
    points : (nv, 2) float64, m
    triangles : (nt, 3) int32
        Counter-clockwise; two share whole edges.
    wanted : pairs of int
        Ends of the edges; they lie inside, and none crosses another.

    Returns
    -------
    triangles : (nt, 3) int32
    edges : list of lists of pairs of int
        For each wanted edge the edges that stand for it: itself, or its parts where it runs through vertices.

    Raises
    ------
    NavigationError
        If an edge cannot be put in: it leaves the triangles, or crosses one that was wanted before it.

    Notes
    -----
    Source: [Sloan 1993]. The result is not Delaunay round the new edges.
    """
    # small numbers keep the turns exact at map coordinates
    offset = points - points.mean(axis=0) if len(points) else points
    flips = _Flips(offset.tolist(), triangles.tolist())
    edges = [flips.force(a, b) for a, b in wanted]
    return np.array(flips.triangles, dtype=np.int32).reshape(-1, 3), edges


class _Flips:
    """Triangles whose edges can be flipped, with the triangle on the left of each directed edge."""

    def __init__(self, points: list[list[float]], triangles: list[list[int]]) -> None:
        self.points, self.triangles = points, triangles
        self.left: dict[tuple[int, int], int] = {}
        self.fixed: set[tuple[int, int]] = set()
        for number in range(len(triangles)):
            self._enter(number)

    def _enter(self, number: int) -> None:
        a, b, c = self.triangles[number]
        self.left[a, b] = self.left[b, c] = self.left[c, a] = number

    def _turn(self, a: int, b: int, c: int) -> float:
        (ax, ay), (bx, by), (cx, cy) = self.points[a], self.points[b], self.points[c]
        return (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)

    def force(self, a: int, b: int) -> list[tuple[int, int]]:
        """Put the edge from a to b in; return the edges that it consists of."""
        stops = self._vertices_between(a, b)
        parts = list(zip([a, *stops], [*stops, b], strict=True))
        for part in parts:
            self._force_part(*part)
            self.fixed |= {part, part[::-1]}
        return parts

    def _vertices_between(self, a: int, b: int) -> list[int]:
        (ax, ay), (bx, by) = self.points[a], self.points[b]
        if (a, b) in self.left or (b, a) in self.left:
            return []
        points = np.array(self.points) - (ax, ay)
        span = np.array([bx - ax, by - ay])
        length = float(hypots(*span))
        along, aside = (
            dots(points, span) / length,
            np.abs(points[:, 0] * span[1] - points[:, 1] * span[0]) / length,
        )
        near = np.flatnonzero((aside <= ON_LINE_M) & (along > ON_LINE_M) & (along < length - ON_LINE_M))
        return [int(v) for v in near[np.argsort(along[near], kind="stable")]]

    def _crosses(self, u: int, v: int, a: int, b: int) -> bool:
        if u in (a, b) or v in (a, b):
            return False
        return (self._turn(a, b, u) > 0.0) != (self._turn(a, b, v) > 0.0) and (self._turn(u, v, a) > 0.0) != (
            self._turn(u, v, b) > 0.0
        )

    def _force_part(self, a: int, b: int) -> None:
        if (a, b) in self.left or (b, a) in self.left:
            return
        waiting = [
            (u, v)
            for (u, v) in sorted(self.left)
            if u < v and (v, u) in self.left and self._crosses(u, v, a, b)
        ]
        patience = 50 + 20 * len(waiting) ** 2
        while waiting and patience > 0:
            patience -= 1
            u, v = waiting.pop(0)
            if (u, v) in self.fixed:
                break
            p, q = self._flip(u, v)
            if p < 0:
                waiting.append((u, v))
            elif self._crosses(p, q, a, b):
                waiting.append((p, q))
        if (a, b) not in self.left and (b, a) not in self.left:
            raise NavigationError(
                f"an edge from {self.points[a]} to {self.points[b]} does not fit into a triangulation"
            )

    def _flip(self, u: int, v: int) -> tuple[int, int]:
        """Flip an edge if its two triangles make a convex whole; return the new edge, or -1, -1."""
        first, second = self.left[u, v], self.left[v, u]
        p = next(corner for corner in self.triangles[first] if corner not in (u, v))
        q = next(corner for corner in self.triangles[second] if corner not in (u, v))
        if not (self._turn(p, u, q) > 0.0 and self._turn(q, v, p) > 0.0):
            return -1, -1
        del self.left[u, v], self.left[v, u]
        self.triangles[first], self.triangles[second] = [u, q, p], [q, v, p]
        self._enter(first)
        self._enter(second)
        return p, q
