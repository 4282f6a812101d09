"""Walking on the mesh: every displacement goes from polygon to polygon over their shared edges,
and an agent keeps its radius from walls.

No agent is located by its position after spawn: the polygon under a point follows from the edges that it
crossed, so a thin wall or a floor above cannot be confused with the ground ([Norberg 2004], section 4.4,
"Movement on a mesh").
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.hypot import hypot
from crowdsim.geometry.plane import nearest_on_segment
from crowdsim.kernels.decorator import inlined_kernel, kernel, lean_kernel
from crowdsim.navigation.corridor.corridors import cross
from crowdsim.navigation.mesh.mesh import (
    MOST_CROSSINGS,
    are_parted,
    find_exit,
    is_cut_off,
    make_flood,
    wall_distance,
    width_between,
)

# Walls that a point may slide along in one step; in a corner of two it bounces to and fro between them with
# shrinking steps.
MOST_SLIDES = 8
# An agent moves at most this part of its radius at a time, so that it cannot slip past the end of a thin wall
# between two checks.
STEP_OF_RADIUS = 0.5
# How much nearer than its radius an agent may come to a wall: rounding of a push at coordinates of 5e6 m,
# four orders below the 1 cm allowed.
CLEAR_M = 1e-7
# A centre this near to a wall is pushed along the wall's normal: its own direction from the wall is rounding.
ON_WALL_M = 1e-6
# How far beyond its radius the nearest wall is looked for; within that distance no further search is needed.
# Larger searches more, rarer.
LOOKOUT_M = 0.5
MOST_PUSHES = 6  # Pushes out of walls in one step; two walls at a right angle need two.


@lean_kernel
def walk_point(mesh, state, crossed, x, y, to_x, to_y):
    """Move a point on the mesh straight towards another, sliding along walls.

    Parameters
    ----------
    mesh : NavMesh
    state : (3,) int64
        Polygon under the point, number of half-edges crossed so far, and 1 once a wall was touched; updated.
    crossed : (k,) int64
        Receives the half-edges that are crossed; those beyond its size are only counted.
    x, y : float, m
    to_x, to_y : float, m

    Returns
    -------
    x, y : float, m
        Where the point is now. `state` holds its polygon.
    """
    slides = 0
    px, py = x, y
    for _ in range(MOST_CROSSINGS):
        exit_edge, share = find_exit(mesh, state[0], px, py, to_x, to_y)
        if exit_edge < 0:
            return to_x, to_y
        twin = mesh.edge_twin[exit_edge]
        if twin >= 0:
            state[0] = mesh.edge_polygon[twin]
            if state[1] < crossed.size:
                crossed[state[1]] = exit_edge
            state[1] += 1
            continue
        # A wall or the open edge of the ground: stop there and go on along it with what remains.
        state[2] = 1
        px, py = px + share * (to_x - px), py + share * (to_y - py)
        slides += 1
        if slides > MOST_SLIDES:
            return px, py
        a, b = mesh.edge_vertex[exit_edge], mesh.edge_end[exit_edge]
        wx, wy = mesh.vertex[b, 0] - mesh.vertex[a, 0], mesh.vertex[b, 1] - mesh.vertex[a, 1]
        share = ((to_x - px) * wx + (to_y - py) * wy) / (wx * wx + wy * wy)
        px, py = nearest_on_segment(
            px, py, mesh.vertex[a, 0], mesh.vertex[a, 1], mesh.vertex[b, 0], mesh.vertex[b, 1]
        )
        # The end of the slide lies on the wall's line; a hair inside it, so that rounding does not put it
        # outside.
        to_x, to_y = px + share * wx - 1e-12 * wy, py + share * wy + 1e-12 * wx
    return px, py


@inlined_kernel
def walk_disc(mesh, state, crossed, x, y, to_x, to_y, radius, known_clear, flood):
    """Move a disc on the mesh towards a point, keeping its radius from walls.

    Parameters
    ----------
    mesh : NavMesh
    state : (3,) int64
    crossed : (k,) int64
        See `walk_point`.
    x, y : float, m
        Where its centre is; kept if every other place is too near to a wall.
    to_x, to_y : float, m
    radius : float, m
    known_clear : float, m
        A distance within which there is certainly no wall.
    flood : Flood

    Returns
    -------
    x, y : float, m
    clear : float, m
        Distance within which there is certainly no wall now.
    """
    distance = hypot(to_x - x, to_y - y)
    if known_clear - distance > radius:
        x, y = walk_point(mesh, state, crossed, x, y, to_x, to_y)
        return x, y, known_clear - distance
    steps = 1
    if radius > 0.0:
        steps = int(min(64.0, max(1.0, np.ceil(distance / (STEP_OF_RADIUS * radius)))))
    from_x, from_y, step_x, step_y = x, y, (to_x - x) / steps, (to_y - y) / steps
    clear = known_clear
    for step in range(1, steps + 1):
        if state[2] == 1:  # what a wall took away is not made up for by longer steps
            goal_x, goal_y = x + step_x, y + step_y
        elif step < steps:
            goal_x, goal_y = from_x + step * step_x, from_y + step * step_y
        else:
            goal_x, goal_y = to_x, to_y
        old_polygon, old_crossed, old_x, old_y, old_clear = state[0], state[1], x, y, clear
        x, y = walk_point(mesh, state, crossed, x, y, goal_x, goal_y)
        x, y, clear, is_clear = _push_out(mesh, state, crossed, x, y, radius, flood)
        if is_clear:
            # Where the discs without walls round both places meet wide enough, the agent fits between; that
            # is most steps, and much cheaper to see.
            if old_clear + clear - hypot(x - old_x, y - old_y) >= 2.0 * radius:
                continue
            if not _went_through_gap(
                mesh, state, crossed, old_crossed, old_polygon, old_x, old_y, x, y, radius, flood
            ):
                continue
        # No place for the agent there, as in a sharp corner or a gap: as far on the straight line as it can,
        # at worst where it was.
        state[0], state[1], state[2] = old_polygon, old_crossed, 1
        x, y, clear = _as_far_as_clear(mesh, state, crossed, old_x, old_y, goal_x, goal_y, radius, flood)
        break
    return x, y, clear


@inlined_kernel
def _push_out(mesh, state, crossed, x, y, radius, flood):
    """Push an agent out of walls until it is clear of them;
    return where it is, the distance without walls, and whether that is enough.
    """
    for push in range(MOST_PUSHES + 1):
        clear = wall_distance(mesh, state[0], x, y, radius + LOOKOUT_M, flood)
        if clear >= radius - CLEAR_M:
            return x, y, clear, True
        if push == MOST_PUSHES:
            break
        state[2] = 1
        a, b = mesh.edge_vertex[flood.nearest[0]], mesh.edge_end[flood.nearest[0]]
        ax, ay, bx, by = mesh.vertex[a, 0], mesh.vertex[a, 1], mesh.vertex[b, 0], mesh.vertex[b, 1]
        cx, cy = nearest_on_segment(x, y, ax, ay, bx, by)
        nx, ny = x - cx, y - cy
        if clear <= ON_WALL_M:
            nx, ny = ay - by, bx - ax  # the wall's own normal, into free ground
        length = hypot(nx, ny)
        x, y = walk_point(mesh, state, crossed, x, y, cx + nx / length * radius, cy + ny / length * radius)
    return x, y, clear, False


@lean_kernel
def _went_through_gap(mesh, state, crossed, first, polygon, x, y, to_x, to_y, radius, flood):
    """Return whether the path between two places came through a gap that is too narrow for the agent.

    Both places may be clear and the step short: nearly a radius before a gap of nearly a diameter, the other
    side is near. The half-edges from ``crossed[first]`` on tell; those that were gone back through at once
    are struck off. An agent that was not clear before may come free anywhere.
    """
    width = 2.0 * radius
    if state[1] > crossed.size:
        return True
    last = first
    for k in range(first, state[1]):
        if last > first and crossed[last - 1] == mesh.edge_twin[crossed[k]]:
            last -= 1
        else:
            crossed[last] = crossed[k]
            last += 1
    state[1] = last
    if last == first:
        is_parted = are_parted(mesh, polygon, x, y, to_x, to_y, width)
    else:
        is_parted = is_cut_off(mesh, polygon, crossed[first], x, y, width)
        is_parted = is_parted or is_cut_off(
            mesh, state[0], mesh.edge_twin[crossed[last - 1]], to_x, to_y, width
        )
        for k in range(first, last):
            edge = crossed[k]
            is_parted = is_parted or mesh.edge_width[edge] < width
            if k > first and not is_parted:
                is_parted = (
                    width_between(mesh, mesh.edge_polygon[edge], mesh.edge_twin[crossed[k - 1]], edge) < width
                )
    return is_parted and wall_distance(mesh, polygon, x, y, radius, flood) >= radius - CLEAR_M


@lean_kernel
def _as_far_as_clear(mesh, state, crossed, x, y, to_x, to_y, radius, flood):
    """Go from a clear place towards another by halving;
    return where it ends and the distance without walls there.
    """
    clear = wall_distance(mesh, state[0], x, y, radius + LOOKOUT_M, flood)
    needed = min(radius - CLEAR_M, clear)  # an agent that already is too near may not get nearer
    share = 1.0
    for _ in range(8):
        share *= 0.5
        old_polygon, old_crossed = state[0], state[1]
        goal_x, goal_y = x + share * (to_x - x), y + share * (to_y - y)
        new_x, new_y = walk_point(mesh, state, crossed, x, y, goal_x, goal_y)
        distance = wall_distance(mesh, state[0], new_x, new_y, radius + LOOKOUT_M, flood)
        if distance >= needed and not _went_through_gap(
            mesh, state, crossed, old_crossed, old_polygon, x, y, new_x, new_y, radius, flood
        ):
            x, y, clear = new_x, new_y, distance
        else:
            state[0], state[1] = old_polygon, old_crossed
    return x, y, clear


class Walked(NamedTuple):
    """Where steps have led agents, a row each.

    Attributes
    ----------
    position : (n, 2) float64, m
    polygon : (n,) int64
    length : (n,) int32
        Portals ahead; -1 where an agent strayed farther than its block can note.
    clear : (n,) float32, m
        Distance within which there is no wall.
    touched : (n,) uint8
        1 where a wall changed the step.
    """

    position: NDArray[np.float64]
    polygon: NDArray[np.int64]
    length: NDArray[np.int32]
    clear: NDArray[np.float32]
    touched: NDArray[np.uint8]


@kernel
def walk_many(start, stop, mesh, corridors, capacity, target, known_clear, out):
    """Move the agents of rows start..stop - 1 on the mesh; see `walk_disc`.

    Parameters
    ----------
    start, stop : int
    mesh : NavMesh
    corridors : Corridors
    capacity : (n,) int32
        Sizes of their blocks; 0 for none.
    target : (n, 2) float64, m
    known_clear : (n,) float32, m
        Distance within which there is no wall; infinite values and overestimates break the promise. May be
        that of `out`.
    out : Walked

    Notes
    -----
    Twin: `tests/reference/walk.py`.
    """
    crossed, state = np.empty(256, dtype=np.int64), np.empty(3, dtype=np.int64)
    _walk_rows(
        start,
        stop,
        mesh,
        corridors,
        capacity,
        target,
        known_clear,
        out,
        crossed,
        make_flood(mesh.polygon_start.size - 1),
        state,
    )


@lean_kernel
def _walk_rows(start, stop, mesh, corridors, capacity, target, known_clear, out, crossed, flood, state):
    position, polygon, ahead = corridors.position, corridors.polygon, corridors.length
    for row in range(np.uint64(start), np.uint64(stop)):
        x, y = position[row, 0], position[row, 1]
        if target[row, 0] == x and target[row, 1] == y:
            out.position[row, 0], out.position[row, 1] = x, y
            out.polygon[row], out.length[row], out.clear[row], out.touched[row] = (
                polygon[row],
                ahead[row],
                known_clear[row],
                0,
            )
            continue
        state[0], state[1], state[2] = polygon[row], 0, 0
        x, y, clear = walk_disc(
            mesh,
            state,
            crossed,
            x,
            y,
            target[row, 0],
            target[row, 1],
            corridors.radius[row],
            known_clear[row],
            flood,
        )
        length = ahead[row] if state[1] <= crossed.size else -1
        if capacity[row] > 0:
            for k in range(state[1]):
                if length >= 0:
                    length = cross(
                        mesh, corridors.portals, corridors.start[row], length, capacity[row], crossed[k]
                    )
        out.position[row, 0], out.position[row, 1] = x, y
        out.polygon[row], out.length[row], out.touched[row] = state[0], length, state[2]
        # rounded down: a float32 above the true distance would be a promise that is not kept
        out.clear[row] = np.float32(clear * 0.999999)
