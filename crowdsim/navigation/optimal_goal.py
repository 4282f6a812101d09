"""Where optimal searches begin: the pieces of the goal, their corners and their sides, and over which edges ways leave them."""

from __future__ import annotations

import numpy as np

from crowdsim.geometry.plane import orientation
from crowdsim.kernels import inlined_kernel, lean_kernel
from crowdsim.navigation.mesh import LOCATE_TOLERANCE_M, is_cut_off
from crowdsim.navigation.optimal_slots import WAVE_ROOT
from crowdsim.navigation.passages import reach_of

COVERED_M = 1e-9  # How near the side of a piece has to be to an edge of the mesh to lie on it: both are cut along the same line.


@inlined_kernel
def is_too_tight(goals, piece, width):
    """Return whether a body does not fit into a piece of a region; points are reached as they are."""
    return 2.0 * goals.room[piece] < width and goals.vertex_start[piece + 1] - goals.vertex_start[piece] > 1


@inlined_kernel
def leaves_goal(mesh, goals, piece, edge, x, y, width):
    """Return whether ways from a piece of the goal, at its point (x, y), may leave its polygon over an edge."""
    if is_cut_off(mesh, goals.piece_polygon[piece], edge, goals.pole[piece, 0], goals.pole[piece, 1], width):
        return False
    if goals.vertex_start[piece + 1] - goals.vertex_start[piece] == 1:
        return True
    a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
    ax, ay, bx, by = mesh.vertex[a, 0], mesh.vertex[a, 1], mesh.vertex[b, 0], mesh.vertex[b, 1]
    if abs(orientation(ax, ay, bx, by, x, y)) > COVERED_M * np.hypot(bx - ax, by - ay):
        return True
    # On the edge itself: not if the goal goes on behind it, where another piece begins in which the body fits.
    behind, source = mesh.edge_polygon[mesh.edge_twin[edge]], goals.piece_source[piece]
    for other in range(goals.piece_polygon.size):
        if goals.piece_polygon[other] != behind or goals.piece_source[other] != source or is_too_tight(goals, other, width):
            continue
        low, high = goals.vertex_start[other], goals.vertex_start[other + 1]
        inside = True
        for i in range(low, high):
            j = i + 1 if i + 1 < high else low
            cx, cy, dx, dy = goals.vertex[i, 0], goals.vertex[i, 1], goals.vertex[j, 0], goals.vertex[j, 1]
            inside = inside and orientation(cx, cy, dx, dy, x, y) >= -COVERED_M * np.hypot(dx - cx, dy - cy)
        if inside:
            return False
    return True


@inlined_kernel
def is_in_front(mesh, a, b, x, y, rx, ry, lx, ly):
    """Return whether directions between a right limit and a left one cross an edge, neither end of which is between them.

    A limit that is (0, 0) is open. Where the root is an end of the edge, all directions to the far side of the edge cross it.
    """
    if (lx == 0.0 and ly == 0.0) or (rx == 0.0 and ry == 0.0):
        return True
    ax, ay, bx, by = mesh.vertex[a, 0] - x, mesh.vertex[a, 1] - y, mesh.vertex[b, 0] - x, mesh.vertex[b, 1] - y
    if bx == 0.0 and by == 0.0:
        return ax * ly - ay * lx > 0.0 or ax * ry - ay * rx > 0.0
    if ax == 0.0 and ay == 0.0:
        return rx * by - ry * bx > 0.0 or lx * by - ly * bx > 0.0
    return rx * by - ry * bx > 0.0 and ax * ly - ay * lx > 0.0


@inlined_kernel
def faces(mesh, a, b, root, x, y, in_x, in_y, lx, ly, rx, ry):
    """Return whether ways from a corner or a side of the goal lead to the middle of an edge, so that a body may squeeze through there."""
    mx = 0.5 * (mesh.vertex[a, 0] + mesh.vertex[b, 0]) - x
    my = 0.5 * (mesh.vertex[a, 1] + mesh.vertex[b, 1]) - y
    if root == WAVE_ROOT:
        at = in_x * my - in_y * mx
        return in_x * mx + in_y * my > 0.0 and 0.0 <= at <= lx
    return rx * my - ry * mx >= 0.0 and mx * ly - my * lx >= 0.0


@inlined_kernel
def stands_on(mesh, a, b, x, y):
    """Return whether a point that lies between the ends of an edge is on it: the way over the edge may then have any direction."""
    ax, ay, bx, by = mesh.vertex[a, 0], mesh.vertex[a, 1], mesh.vertex[b, 0], mesh.vertex[b, 1]
    return orientation(ax, ay, bx, by, x, y) <= LOCATE_TOLERANCE_M * np.hypot(bx - ax, by - ay)


@lean_kernel
def can_arrive(mesh, goals, passages, goal, width, x, y, polygon):
    """Return whether a body can get to a goal from a point over portals.

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces
    passages : Passages
    goal : int
    width : float, m
        Diameter of the body.
    x, y : float, m
    polygon : int
        Where the start is.
    """
    for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
        if mesh.edge_twin[edge] < 0 or mesh.edge_width[edge] < width or is_cut_off(mesh, polygon, edge, x, y, width):
            continue
        here = reach_of(passages, edge, width)
        for piece in range(goals.goal_start[goal], goals.goal_start[goal + 1]):
            if is_too_tight(goals, piece, width):
                continue
            there = goals.piece_polygon[piece]
            for other in range(mesh.polygon_start[there], mesh.polygon_start[there + 1]):
                if mesh.edge_twin[other] < 0 or mesh.edge_width[other] < width or reach_of(passages, other, width) != here:
                    continue
                if not is_cut_off(mesh, there, other, goals.pole[piece, 0], goals.pole[piece, 1], width):
                    return True
    return False


@inlined_kernel
def room_to_seed(mesh, goals, goal):
    """Return an upper bound of the cones with which a search begins."""
    count = 0
    for piece in range(goals.goal_start[goal], goals.goal_start[goal + 1]):
        polygon = goals.piece_polygon[piece]
        sides = mesh.polygon_start[polygon + 1] - mesh.polygon_start[polygon]
        count += 2 * (goals.vertex_start[piece + 1] - goals.vertex_start[piece]) * sides
    return count


@inlined_kernel
def outward(goals, low, high, i):
    """Return for the side from corner i of a piece to the next one: the outward normal, its length, and where it ends."""
    j = i + 1 if i + 1 < high else low
    x, y, tx, ty = goals.vertex[i, 0], goals.vertex[i, 1], goals.vertex[j, 0], goals.vertex[j, 1]
    reach = np.hypot(tx - x, ty - y)
    return (ty - y) / reach, (x - tx) / reach, reach, tx, ty
