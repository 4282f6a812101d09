"""The fronts of regions: the straight stretches of their rims over which agents come in,
cut into parts that a crowd shares.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.geometry.lengths import hypots
from crowdsim.navigation.goals.goals import GoalPieces
from crowdsim.navigation.mesh.mesh import NavMesh

# Of longer stretches only both ends are shared, half of this each: in the middle agents come in beside each
# other anyway.
WIDEST_M = 5.0
SHORTEST_M = 0.1  # Shorter ones are crumbs along walls.
SNAP_M = 1e-4  # How far from its corners the outline of a region may be after its pieces were put together.


class Fronts(NamedTuple):
    """The fronts of all regions.

    Attributes
    ----------
    end : (k, 4) float64, m
        The ends a and b as x, y, x, y. An agent that is about to enter the region has b on its left.
    is_shared : (k,) uint8
        0 for the middle of a long stretch.
    goal_start : (ng + 1,) int32
        First front of each goal. Goals made of others have none: their pieces know the goals that they came
        from.
    around : (ng, 4) float64, m
        West, south, east and north of the fronts of each goal; inside out where there are none.
    """

    end: NDArray[np.float64]
    is_shared: NDArray[np.uint8]
    goal_start: NDArray[np.int32]
    around: NDArray[np.float64]


def find_fronts(mesh: NavMesh, goals: GoalPieces) -> Fronts:
    """Return the stretches of the rims of all regions along which no wall runs."""
    found: list[list[float]] = []
    goal_start = [0]
    corners = np.diff(goals.vertex_start)
    for goal in range(len(goals.goal_start) - 1):
        pieces = np.arange(goals.goal_start[goal], goals.goal_start[goal + 1])
        pieces = pieces[(goals.piece_source[pieces] == goal) & (corners[pieces] > 2)]
        layers = mesh.polygon_layer[goals.piece_polygon[pieces]]
        for layer in np.unique(layers).tolist():
            found += _fronts_of(mesh, goals, pieces[layers == layer])
        goal_start.append(len(found))
    table = np.array(found, dtype=np.float64).reshape(-1, 5)
    end = np.ascontiguousarray(table[:, :4])
    around = np.empty((len(goal_start) - 1, 4))
    for goal, (first, last) in enumerate(pairwise(goal_start)):
        own = end[first:last].reshape(-1, 2)
        around[goal, :2], around[goal, 2:] = own.min(axis=0, initial=np.inf), own.max(axis=0, initial=-np.inf)
    return Fronts(end, table[:, 4].astype(np.uint8), np.array(goal_start, dtype=np.int32), around)


def _fronts_of(mesh: NavMesh, goals: GoalPieces, pieces: NDArray[Any]) -> list[list[float]]:
    """Return the fronts of a region on one floor."""
    shapes = [
        goals.vertex[goals.vertex_start[piece] : goals.vertex_start[piece + 1]] for piece in pieces.tolist()
    ]
    known = np.concatenate(shapes)
    region = shapely.union_all([shapely.Polygon(shape) for shape in shapes], grid_size=0.01 * SNAP_M)
    polygon = np.unique(goals.piece_polygon[pieces])
    edges = np.concatenate(
        [np.arange(mesh.polygon_start[p], mesh.polygon_start[p + 1]) for p in polygon.tolist()]
    )
    edges = edges[mesh.edge_twin[edges] < 0]
    walls = shapely.linestrings(
        mesh.vertex[np.column_stack([mesh.edge_vertex[edges], mesh.edge_end[edges]]), :2]
    )
    near = shapely.buffer(shapely.union_all(walls), 0.1 * SNAP_M, cap_style="square", join_style="mitre")
    open_rim = shapely.difference(region.boundary, near)
    shapely.prepare(region)
    found = []
    for line in shapely.get_parts(shapely.line_merge(shapely.multilinestrings(shapely.get_parts(open_rim)))):
        points = shapely.get_coordinates(line)
        away = hypots(known[None, :, 0] - points[:, None, 0], known[None, :, 1] - points[:, None, 1])
        points = np.where((away.min(axis=1) <= SNAP_M)[:, None], known[np.argmin(away, axis=1)], points)
        turns = [
            0,
            *(
                k
                for k in range(1, len(points) - 1)
                if not _is_straight(points[k - 1], points[k], points[k + 1])
            ),
            len(points) - 1,
        ]
        for i, j in pairwise(turns):
            found += _parts_of(region, points[i], points[j])
    return sorted(found)


def _parts_of(region: Any, a: NDArray[np.float64], b: NDArray[np.float64]) -> list[list[float]]:
    """Cut a straight stretch into equal parts, each with the region on the right of the line from its a to
    its b.
    """
    width = float(hypots(*(b - a)))
    if width < SHORTEST_M:
        return []
    aside = np.array([a[1] - b[1], b[0] - a[0]]) / width * 10.0 * SNAP_M
    if shapely.contains_xy(region, *(0.5 * (a + b) + aside)):
        a, b = b, a
    if width <= WIDEST_M:
        return [[*a.tolist(), *b.tolist(), 1.0]]
    along = (b - a) * (0.5 * WIDEST_M / width)
    cuts = [a.tolist(), (a + along).tolist(), (b - along).tolist(), b.tolist()]
    return [
        [*first, *second, shared]
        for first, second, shared in zip(cuts[:-1], cuts[1:], (1.0, 0.0, 1.0), strict=True)
    ]


def _is_straight(a: NDArray[np.float64], b: NDArray[np.float64], c: NDArray[np.float64]) -> bool:
    """Return whether b lies on the line from a to c, within what snapping moves it."""
    d = c - a
    return bool(abs(d[0] * (b - a)[1] - d[1] * (b - a)[0]) <= SNAP_M * hypots(*d))
