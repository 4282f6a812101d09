"""How far it is to goals from anywhere on a mesh: lengths laid out once for each goal, read by all agents.

Lengths are known at points along the portals of the mesh. Polygons are convex, so an agent goes straight to
one of the points on the portals round it, and has its length from there; what a path would save that crosses
between two points is some centimetres. A metre counts as the time that it takes over that on level ground.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.lengths import hypots
from crowdsim.kernels.decorator import kernel
from crowdsim.kernels.threads import Team
from crowdsim.navigation.goals.goals import GoalPieces, nearest_in_piece
from crowdsim.navigation.mesh.mesh import KERB, NavMesh
from crowdsim.navigation.mesh.slopes import TRAVEL_TIME, step_cost

# Agents between the same multiples share lengths; smaller follows corners more closely, and needs more room.
RADIUS_STEP_M = 0.05
POINT_STEP_M = 1.0  # Between points along a portal, at most; larger overestimates paths over wide portals.
MOST_POINTS = 8  # Of one portal.


class PortalPoints(NamedTuple):
    """Points along the portals that agents of some radius fit through.

    Attributes
    ----------
    edge : (q,) int32
        A half-edge of each portal, ascending.
    of_edge : (ne,) int32
        Number of the portal of each half-edge; -1 where there is none, or it is too narrow.
    start : (q + 1,) int64
        First point of each.
    place : (p, 2) float64, m
    diameter : float, m
        Of the widest of these agents.
    """

    edge: NDArray[np.int32]
    of_edge: NDArray[np.int32]
    start: NDArray[np.int64]
    place: NDArray[np.float64]
    diameter: float


def lay_points(mesh: NavMesh, radius: float) -> PortalPoints:
    """Return the points of agents of a radius (m): walls end a radius away from them."""
    edges = np.arange(mesh.edge_count, dtype=np.int32)
    fits = (mesh.edge_twin > edges) & (mesh.edge_width >= 2.0 * radius)
    edge = edges[fits]
    of_edge = np.full(mesh.edge_count, -1, dtype=np.int32)
    of_edge[edge] = of_edge[mesh.edge_twin[edge]] = np.arange(len(edge), dtype=np.int32)
    begin, end = mesh.edge_vertex[edge], mesh.edge_end[edge]
    a, b = mesh.vertex[begin, :2], mesh.vertex[end, :2]
    length = hypots(b[:, 0] - a[:, 0], b[:, 1] - a[:, 1])
    kind = mesh.is_wall_vertex
    at_a = np.where((kind[begin] != 0) & (kind[begin] != KERB), radius, 0.0)
    at_b = np.where((kind[end] != 0) & (kind[end] != KERB), radius, 0.0)
    span = length - at_a - at_b
    free = np.maximum(span, 0.0)
    count = np.where(span > 0.0, np.minimum(2 + np.floor(free / POINT_STEP_M), MOST_POINTS), 1).astype(
        np.int64
    )
    start = np.append(0, np.cumsum(count))
    of_point = np.repeat(np.arange(len(edge)), count)
    step = free / np.maximum(count - 1, 1)
    first = at_a + 0.5 * np.minimum(span, 0.0)  # of a portal with room for one: where it is as far from both
    along = (first[of_point] + (np.arange(start[-1]) - start[of_point]) * step[of_point]) / length[of_point]
    place = a[of_point] + along[:, None] * (b - a)[of_point]
    return PortalPoints(edge, of_edge, start, place, 2.0 * radius)


@kernel
def spread_lengths(mesh, goals, goal, points, out):
    """Find how far it is to a goal from the points along all portals.

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces
    goal : int
    points : PortalPoints
    out : (p,) float64, m
        Receives the lengths; inf where no path leads there.

    Notes
    -----
    Portals one of whose lengths has fallen wait in a queue, and tell those across the polygons on both sides,
    until none falls any more: the lengths are the least sums, in whichever order they were found. Twin:
    `tests/reference/goal_lengths.py`.
    """
    portals = points.edge.size
    out[:] = np.inf
    queue, waits = np.empty(portals + 1, dtype=np.int32), np.zeros(portals, dtype=np.uint8)
    head, tail = 0, 0
    for piece in range(goals.goal_start[goal], goals.goal_start[goal + 1]):
        polygon = goals.piece_polygon[piece]
        for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
            portal = points.of_edge[edge]
            if portal < 0:
                continue
            for point in range(points.start[portal], points.start[portal + 1]):
                x, y = points.place[point, 0], points.place[point, 1]
                tx, ty = nearest_in_piece(goals, piece, x, y)
                length = step_cost(mesh, TRAVEL_TIME, 1.0, polygon, tx - x, ty - y)
                if length < out[point]:
                    out[point] = length
                    if waits[portal] == 0:
                        waits[portal] = 1
                        queue[tail] = portal
                        tail = tail + 1 if tail < portals else 0
    while head != tail:
        here = queue[head]
        head = head + 1 if head < portals else 0
        waits[here] = 0
        for side in range(2):
            own = points.edge[here] if side == 0 else mesh.edge_twin[points.edge[here]]
            polygon = mesh.edge_polygon[own]
            first, last = mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]
            gaps = mesh.pair_start[polygon] + (own - first) * np.int64(last - first)
            for edge in range(first, last):
                portal = points.of_edge[edge]
                if portal < 0 or portal == here or mesh.pair_width[gaps + edge - first] < points.diameter:
                    continue
                has_fallen = False
                for point in range(points.start[portal], points.start[portal + 1]):
                    x, y, least = points.place[point, 0], points.place[point, 1], out[point]
                    for other in range(points.start[here], points.start[here + 1]):
                        if out[other] >= least:
                            continue
                        dx, dy = points.place[other, 0] - x, points.place[other, 1] - y
                        least = min(least, out[other] + step_cost(mesh, TRAVEL_TIME, 1.0, polygon, dx, dy))
                    if least < out[point]:
                        out[point] = least
                        has_fallen = True
                if has_fallen and waits[portal] == 0:
                    waits[portal] = 1
                    queue[tail] = portal
                    tail = tail + 1 if tail < portals else 0


@kernel
def lengths_from(start, stop, rows, which, mesh, goals, numbers, points, lengths, polygon, position, out):
    """Write how far it is to goals for the agents ``rows[start] .. rows[stop - 1]``.

    Parameters
    ----------
    start, stop : int
    rows : (k,) int64
    which : (k,) int64
        Place of the one goal that is looked at; -1 for all.
    mesh : NavMesh
    goals : GoalPieces
    numbers : (g,) int64
        The goals.
    points : PortalPoints
    lengths : (g, p) float64, m
        See `spread_lengths`.
    polygon : (n,) int64
    position : (n, 2) float64, m
    out : (k, g) float64, m
        Receives the lengths; inf where no path leads there, and of goals that are not looked at.

    Notes
    -----
    Twin: `tests/reference/goal_lengths.py`.
    """
    for i in range(start, stop):
        row = rows[i]
        own, x, y = polygon[row], position[row, 0], position[row, 1]
        low, high = (which[i], which[i] + 1) if which[i] >= 0 else (0, numbers.size)
        out[i, :] = np.inf
        for g in range(low, high):
            for piece in range(goals.goal_start[numbers[g]], goals.goal_start[numbers[g] + 1]):
                if goals.piece_polygon[piece] == own:
                    tx, ty = nearest_in_piece(goals, piece, x, y)
                    out[i, g] = min(out[i, g], step_cost(mesh, TRAVEL_TIME, 1.0, own, tx - x, ty - y))
        for edge in range(mesh.polygon_start[own], mesh.polygon_start[own + 1]):
            portal = points.of_edge[edge]
            if portal < 0:
                continue
            for point in range(points.start[portal], points.start[portal + 1]):
                dx, dy = points.place[point, 0] - x, points.place[point, 1] - y
                step = step_cost(mesh, TRAVEL_TIME, 1.0, own, dx, dy)
                for g in range(low, high):
                    out[i, g] = min(out[i, g], step + lengths[g, point])


class GoalLengths:
    """How far it is to some goals on one mesh, laid out as agents of further radii ask.

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces
    numbers : sequence of int
        The goals.
    """

    def __init__(self, mesh: NavMesh, goals: GoalPieces, numbers: Sequence[int]) -> None:
        self.mesh, self._goals = mesh, goals
        self._numbers = np.array(numbers, dtype=np.int64)
        is_portal = mesh.edge_twin >= 0
        self._widths = np.unique(np.concatenate([mesh.edge_width[is_portal], mesh.pair_width]))
        self._laid: dict[float, tuple[PortalPoints, NDArray[np.float64]]] = {}

    def of(
        self,
        team: Team,
        polygon: NDArray[np.int64],
        position: NDArray[np.float64],
        radius: NDArray[np.float64],
        which: NDArray[np.int64] | None = None,
    ) -> NDArray[np.float64]:
        """Return how far it is for agents at places, (k, 2) m, in polygons, (k,), to each goal: (k, goals),
        m; where `which`, (k,), has the place of one goal for each, to that, and inf to the others.
        """
        found = np.empty((len(polygon), len(self._numbers)))
        which = np.full(len(polygon), -1, dtype=np.int64) if which is None else which
        shared = self._shared(radius)
        for width in np.unique(shared).tolist():
            if width not in self._laid:
                points = lay_points(self.mesh, width)
                lengths = np.empty((len(self._numbers), len(points.place)))
                for place, goal in enumerate(self._numbers.tolist()):
                    spread_lengths(self.mesh, self._goals, goal, points, lengths[place])
                self._laid[width] = points, lengths
            mine = np.flatnonzero(shared == width)
            out = np.empty((len(mine), len(self._numbers)))
            team.run(
                lengths_from, len(mine), mine, which[mine], self.mesh, self._goals, self._numbers,
                *self._laid[width], polygon, position, out,
            )  # fmt: skip
            found[mine] = out
        return found

    def _shared(self, radius: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the radii (m) whose lengths agents of some radii, (k,), have: wider, but fitting through all
        that they fit through.
        """
        if not len(self._widths):
            return np.ceil(radius / RADIUS_STEP_M) * RADIUS_STEP_M
        place = np.minimum(np.searchsorted(self._widths, 2.0 * radius), len(self._widths) - 1)
        widest = np.maximum(0.5 * self._widths[place], radius)
        return np.minimum(np.ceil(radius / RADIUS_STEP_M) * RADIUS_STEP_M, widest)
