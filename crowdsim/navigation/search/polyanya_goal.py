"""Where Polyanya searches begin: the pieces of the goal, their corners and their sides,
and over which edges paths leave them.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.geometry.hypot import hypot
from crowdsim.geometry.plane import orientation
from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.navigation.goals.goal_entry import TOUCH_M, next_clear_stretch
from crowdsim.navigation.goals.goals import RIM_M
from crowdsim.navigation.mesh.mesh import LOCATE_TOLERANCE_M, are_parted, is_cut_off
from crowdsim.navigation.search.bottleneck_forest import reachable_group
from crowdsim.navigation.search.goal_entries import is_too_tight
from crowdsim.navigation.search.polyanya_intervals import (
    NO_VERTEX,
    POINT_ROOT,
    WAVE_ROOT,
    Interval,
    Limit,
    Root,
)
from crowdsim.navigation.search.polyanya_slots import NEXT_PART, PART_FROM
from crowdsim.navigation.search.slot_fields import NEXT_PIECE, NONE, WIDTH


@inlined_kernel
def is_in_front(ax, ay, bx, by, rx, ry, lx, ly):
    """Return whether directions between a right limit and a left one cross an edge ab, as seen from a root,
    neither end of which is between them.

    A limit that is (0, 0) is open. Where the root is an end of the edge, all directions to the far side of
    the edge cross it.
    """
    if (lx == 0.0 and ly == 0.0) or (rx == 0.0 and ry == 0.0):
        return True
    if bx == 0.0 and by == 0.0:
        return ax * ly - ay * lx > 0.0 or ax * ry - ay * rx > 0.0
    if ax == 0.0 and ay == 0.0:
        return rx * by - ry * bx > 0.0 or lx * by - ly * bx > 0.0
    return rx * by - ry * bx > 0.0 and ax * ly - ay * lx > 0.0


@inlined_kernel
def stands_on(ax, ay, bx, by, x, y):
    """Return whether a point that lies between the ends of an edge ab is on it:
    the path over the edge may then have any direction.
    """
    return orientation(ax, ay, bx, by, x, y) <= LOCATE_TOLERANCE_M * hypot(bx - ax, by - ay)


@lean_kernel
def can_arrive(mesh, goals, forest, goal, width, x, y, polygon):
    """Return whether an agent can get to a goal from a point over portals.

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces
    forest : BottleneckForest
    goal : int
    width : float, m
        Diameter of the agent.
    x, y : float, m
    polygon : int
        Where the start is.
    """
    for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
        if (
            mesh.edge_twin[edge] < 0
            or mesh.edge_width[edge] < width
            or is_cut_off(mesh, polygon, edge, x, y, width)
        ):
            continue
        here = reachable_group(forest, edge, width)
        for piece in range(goals.goal_start[goal], goals.goal_start[goal + 1]):
            if is_too_tight(goals, piece, width):
                continue
            there = goals.piece_polygon[piece]
            for other in range(mesh.polygon_start[there], mesh.polygon_start[there + 1]):
                if (
                    mesh.edge_twin[other] < 0
                    or mesh.edge_width[other] < width
                    or reachable_group(forest, other, width) != here
                ):
                    continue
                if not is_cut_off(mesh, there, other, goals.pole[piece, 0], goals.pole[piece, 1], width):
                    return True
    return False


@inlined_kernel
def next_stretch(header, measure, slot, mesh, goals, rims, flood):
    """Return the next stretch of the rim of the piece that has its turn on which the agent's centre can be,
    as (part of the rim or -1, low, high).
    """
    piece, radius = header[slot, NEXT_PIECE], 0.5 * measure[slot, WIDTH]
    polygon = np.int64(goals.piece_polygon[piece])
    first, last = np.int64(goals.vertex_start[piece]), np.int64(goals.vertex_start[piece + 1])
    if header[slot, NEXT_PART] < 0:
        header[slot, NEXT_PART] = rims.start[piece]
    while header[slot, NEXT_PART] < rims.start[piece + 1]:
        part, begin = header[slot, NEXT_PART], measure[slot, PART_FROM]
        header[slot, NEXT_PART], measure[slot, PART_FROM] = part + 1, 0.0
        if last - first == 1:
            return part, 0.0, 0.0
        low, high, i = rims.low[part], rims.high[part], np.int64(rims.corner[part])
        j = i + 1 if i + 1 < last else first
        ax, ay, bx, by = goals.vertex[i, 0], goals.vertex[i, 1], goals.vertex[j, 0], goals.vertex[j, 1]
        if radius > rims.clear[part]:
            end = high
            low, high = next_clear_stretch(
                mesh, polygon, ax, ay, bx, by, max(low, begin), radius + TOUCH_M, flood
            )
            if low > end:
                continue
            if high < end:
                header[slot, NEXT_PART], measure[slot, PART_FROM] = part, high
            high = min(high, end)
        middle = 0.5 * (low + high) / hypot(bx - ax, by - ay)
        # A path to this piece leads to the side of each narrow gap on which its pole is.
        if not are_parted(
            mesh,
            polygon,
            ax + middle * (bx - ax),
            ay + middle * (by - ay),
            goals.pole[piece, 0],
            goals.pole[piece, 1],
            2.0 * radius,
        ):
            return part, low, high
    return np.int64(NONE), 0.0, 0.0


@inlined_kernel
def _has_rim_from(goals, rims, piece, corner):
    """Return whether a part of the rim of a piece begins at a corner."""
    for part in range(rims.start[piece], rims.start[piece + 1]):
        if rims.corner[part] == corner:
            return rims.low[part] <= RIM_M
    return False


@inlined_kernel
def interval_of_stretch(goals, rims, piece, part, low, high, turn):
    """Return the paths that begin at a stretch of a rim, and whether there are any: by `turn`, at its begin,
    at right angles to it, or at its end; and, over the goal, at an end or a begin where walls shut out what
    comes after it.

    What begins at a corner begins there on the side that comes after it, if paths come in over that side.
    """
    first, last = np.int64(goals.vertex_start[piece]), np.int64(goals.vertex_start[piece + 1])
    i = np.int64(rims.corner[part])
    ax, ay = goals.vertex[i, 0], goals.vertex[i, 1]
    if last - first == 1:
        return _goal_interval(POINT_ROOT, ax, ay, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0), turn == 0
    nx, ny, length, _, _ = outward(goals, first, last, i)
    dx, dy = -ny, nx  # along the side
    if turn == 1:
        return _goal_interval(WAVE_ROOT, ax, ay, nx, ny, high, 0.0, low, 0.0), high > low
    if turn == 0:
        rx, ry = -dx, -dy
        if low <= RIM_M:
            rx, ry, _, _, _ = outward(goals, first, last, i - 1 if i > first else last - 1)
        return _goal_interval(POINT_ROOT, ax + low * dx, ay + low * dy, 0.0, 0.0, nx, ny, rx, ry), True
    if turn == 3:
        is_shut = high < rims.high[part]
        return _goal_interval(POINT_ROOT, ax + high * dx, ay + high * dy, 0.0, 0.0, -nx, -ny, dx, dy), is_shut
    if turn == 4:
        is_shut = low > rims.low[part]
        return _goal_interval(POINT_ROOT, ax + low * dx, ay + low * dy, 0.0, 0.0, -dx, -dy, -nx, -ny), is_shut
    lx, ly, are_any = dx, dy, True
    if high >= length - RIM_M:
        j = i + 1 if i + 1 < last else first
        lx, ly, _, _, _ = outward(goals, first, last, j)
        are_any = not _has_rim_from(goals, rims, piece, j)
    return _goal_interval(POINT_ROOT, ax + high * dx, ay + high * dy, 0.0, 0.0, lx, ly, nx, ny), are_any


@inlined_kernel
def _goal_interval(kind, x, y, in_x, in_y, lx, ly, rx, ry):
    """Return an interval whose root is the goal, between limits that no vertex sets."""
    none = np.int64(NO_VERTEX)
    return Interval(
        Root(np.int64(kind), x, y, 0.0, in_x, in_y), 0.0, 0.0, Limit(lx, ly, none), Limit(rx, ry, none)
    )


@inlined_kernel
def outward(goals, low, high, i):
    """Return for the side from corner i of a piece to the next one:
    the outward normal, its length, and where it ends.
    """
    j = i + 1 if i + 1 < high else low
    x, y, tx, ty = goals.vertex[i, 0], goals.vertex[i, 1], goals.vertex[j, 0], goals.vertex[j, 1]
    reach = hypot(tx - x, ty - y)
    return (ty - y) / reach, (x - tx) / reach, reach, tx, ty
