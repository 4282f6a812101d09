"""The rims of goals: the parts of the sides of their pieces over which paths come in,
and how near walls come to each.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.hypot import hypot
from crowdsim.geometry.plane import orientation, segments_apart
from crowdsim.kernels.decorator import kernel, lean_kernel
from crowdsim.navigation.goals.destinations import only, ranges
from crowdsim.navigation.goals.goals import RIM_M, GoalPieces
from crowdsim.navigation.mesh.mesh import NavMesh, flood_into, make_flood, was_reached

# How far walls are looked for beside a rim, once for all agents; for wider ones each search looks for what
# walls shut out.
KNOWN_M = 0.5


class Rims(NamedTuple):
    """The rims of all goals.

    Attributes
    ----------
    start : (np + 1,) int32
        First part of the rim of each piece; a point has one, without a side. Parts come in the order of their
        sides, and along them.
    corner : (nr,) int32
        Vertex of the goals at which the side begins, counter-clockwise round its piece.
    low, high : (nr,) float64, m
        Where on its side a part begins and ends. What belongs to another piece of the same goal, to a wall,
        or to the end of the ground is left out.
    clear : (nr,) float64, m
        Distance from the part to the nearest wall, at most `KNOWN_M`.
    """

    start: NDArray[np.int32]
    corner: NDArray[np.int32]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    clear: NDArray[np.float64]


@kernel
def find_rims(mesh, goals):
    """Return the rims of goals.

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces

    Returns
    -------
    Rims

    Notes
    -----
    Twin: `tests/reference/goals.py` (shapely).
    """
    pieces = goals.piece_polygon.size
    start = np.zeros(pieces + 1, dtype=np.int32)
    flood = make_flood(mesh.polygon_start.size - 1)
    corner, low, high, clear = np.empty(0, dtype=np.int32), np.empty(0), np.empty(0), np.empty(0)
    for turn in range(2):  # counted first, then written
        found = 0
        for goal in range(goals.goal_start.size - 1):
            for piece in range(goals.goal_start[goal], goals.goal_start[goal + 1]):
                start[piece] = found
                first, last = goals.vertex_start[piece], goals.vertex_start[piece + 1]
                for i in range(first, last):
                    j = i + 1 if i + 1 < last else first
                    ax, ay, bx, by = (
                        goals.vertex[i, 0],
                        goals.vertex[i, 1],
                        goals.vertex[j, 0],
                        goals.vertex[j, 1],
                    )
                    length = hypot(bx - ax, by - ay)
                    at = 0.0
                    while last - first == 1 or at < length - RIM_M:
                        begin, end = (
                            (0.0, 0.0)
                            if last - first == 1
                            else _next_open(mesh, goals, goal, piece, ax, ay, bx, by, length, at)
                        )
                        if end - begin > RIM_M or last - first == 1:
                            if turn == 1:
                                corner[found], low[found], high[found] = i, begin, end
                                dx, dy = (bx - ax) / max(length, RIM_M), (by - ay) / max(length, RIM_M)
                                clear[found] = _wall_beside(
                                    mesh,
                                    goals.piece_polygon[piece],
                                    ax + begin * dx,
                                    ay + begin * dy,
                                    ax + end * dx,
                                    ay + end * dy,
                                    flood,
                                )
                            found += 1
                        if last - first == 1:
                            break
                        at = end
        start[pieces] = found
        if turn == 0:
            corner, low, high, clear = (
                np.empty(found, dtype=np.int32),
                np.empty(found),
                np.empty(found),
                np.empty(found),
            )
    return Rims(start, corner, low, high, clear)


def with_rims(rims: Rims, mesh: NavMesh, goals: GoalPieces, changed: NDArray[np.int64]) -> Rims:
    """Return the rims of goals of which some have changed.

    Parameters
    ----------
    rims : Rims
        Of the goals before.
    mesh : NavMesh
    goals : GoalPieces
    changed : (k,) int64
        Goals that are new, ascending, or points that lie elsewhere than before.
    """
    own, piece = find_rims(mesh, only(goals, changed)), ranges(goals.goal_start, changed)
    moved = int(np.count_nonzero(piece < len(rims.start) - 1))  # points, which have one part of a rim each
    rims.clear[rims.start[piece[:moved]]] = own.clear[:moved]
    begin = rims.start[-1] + own.start[moved + 1 :] - moved
    return Rims(
        np.concatenate([rims.start, begin]).astype(np.int32),
        np.concatenate([rims.corner, ranges(goals.vertex_start, piece)[own.corner[moved:]].astype(np.int32)]),
        np.concatenate([rims.low, own.low[moved:]]),
        np.concatenate([rims.high, own.high[moved:]]),
        np.concatenate([rims.clear, own.clear[moved:]]),
    )


@lean_kernel
def _next_open(mesh, goals, goal, piece, ax, ay, bx, by, length, at):
    """Return the next part (begin, end), from `at` on, of a side of a piece that neither another piece of the
    goal nor the end of the ground covers.
    """
    polygon = goals.piece_polygon[piece]
    edges = mesh.polygon_start[polygon + 1] - mesh.polygon_start[polygon]
    begin, is_moving = at, True
    end = length
    while is_moving:
        is_moving, end = False, length
        # The pieces of the polygon itself, then those behind its portals, then its edges at the end of the
        # ground.
        for place in range(edges + 1):
            edge = mesh.polygon_start[polygon] + place - 1
            there = polygon
            if place > 0:
                if mesh.edge_twin[edge] < 0:
                    a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
                    low, high = _covered(
                        ax,
                        ay,
                        bx,
                        by,
                        length,
                        mesh.vertex[b, 0],
                        mesh.vertex[b, 1],
                        mesh.vertex[a, 0],
                        mesh.vertex[a, 1],
                    )
                    if low <= begin + RIM_M and high > begin + RIM_M:
                        begin, is_moving = high, True
                    elif begin < low < end:
                        end = low
                    continue
                there = mesh.edge_polygon[mesh.edge_twin[edge]]
            for other in range(_first_piece(goals, goal, there), goals.goal_start[goal + 1]):
                if goals.piece_polygon[other] != there:
                    break
                if other == piece:
                    continue
                first, last = goals.vertex_start[other], goals.vertex_start[other + 1]
                for i in range(first, last if last - first > 1 else first):
                    j = i + 1 if i + 1 < last else first
                    low, high = _covered(
                        ax,
                        ay,
                        bx,
                        by,
                        length,
                        goals.vertex[i, 0],
                        goals.vertex[i, 1],
                        goals.vertex[j, 0],
                        goals.vertex[j, 1],
                    )
                    if low <= begin + RIM_M and high > begin + RIM_M:
                        begin, is_moving = high, True
                    elif begin < low < end:
                        end = low
        if begin >= length - RIM_M:
            return length, length
    return begin, end


@lean_kernel
def _first_piece(goals, goal, polygon):
    """Return the first piece of a goal in a polygon, or in a later one;
    the pieces of a goal are in ascending polygon.
    """
    low, high = goals.goal_start[goal], goals.goal_start[goal + 1]
    while low < high:
        middle = (low + high) // 2
        if goals.piece_polygon[middle] < polygon:
            low = middle + 1
        else:
            high = middle
    return low


@lean_kernel
def _covered(ax, ay, bx, by, length, cx, cy, dx, dy):
    """Return which part (from, to) of side ab a side cd covers that runs in the other direction on the same
    line; (inf, -inf) if it does not.
    """
    if (
        abs(orientation(ax, ay, bx, by, cx, cy)) > RIM_M * length
        or abs(orientation(ax, ay, bx, by, dx, dy)) > RIM_M * length
    ):
        return np.inf, -np.inf
    ux, uy = (bx - ax) / length, (by - ay) / length
    low, high = ux * (dx - ax) + uy * (dy - ay), ux * (cx - ax) + uy * (cy - ay)
    if not (low < high and low < length and high > 0.0):
        return np.inf, -np.inf
    return low, high


@lean_kernel
def _wall_beside(mesh, polygon, ax, ay, bx, by, flood):
    """Return the distance (m) from a straight line in a polygon to the nearest wall, at most `KNOWN_M`;
    walls of the next room do not count.
    """
    reached, done, best = flood_into(polygon, 0, flood), 0, KNOWN_M
    while done < reached:
        current = flood.queue[done]
        done += 1
        for edge in range(mesh.polygon_start[current], mesh.polygon_start[current + 1]):
            twin = mesh.edge_twin[edge]
            if mesh.edge_wall[edge] < 0 if twin < 0 else was_reached(mesh.edge_polygon[twin], reached, flood):
                continue
            p, q = mesh.edge_vertex[edge], mesh.edge_end[edge]
            apart = segments_apart(
                ax, ay, bx, by, mesh.vertex[p, 0], mesh.vertex[p, 1], mesh.vertex[q, 0], mesh.vertex[q, 1]
            )
            if apart >= best:
                continue
            if twin < 0:
                best = apart
            else:
                reached = flood_into(mesh.edge_polygon[twin], reached, flood)
    return best
