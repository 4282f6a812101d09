"""Where paths enter the pieces of goals, for searches:
the next piece to begin at, the places of its rim where an agent can be, and scratch to work on.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.hypot import hypot
from crowdsim.geometry.plane import orientation
from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.kernels.growing import lazy_zeros
from crowdsim.navigation.goals.goal_entry import TOUCH_M, next_clear_stretch
from crowdsim.navigation.goals.goals import nearest_in_piece, target_in_piece
from crowdsim.navigation.mesh.mesh import Flood, are_parted
from crowdsim.navigation.mesh.slopes import step_cost
from crowdsim.navigation.search.slot_fields import (
    EXPANSIONS,
    GENERATION,
    GOAL,
    HEAP_SIZE,
    HEURISTIC_WEIGHT,
    IS_SEEDED,
    IS_SHARED,
    NEXT_PIECE,
    NONE,
    PENDING,
    PIECE_BOUND,
    START_POLYGON,
    START_X,
    START_Y,
    STATUS,
    WIDTH,
)

# Pieces of a goal from which searches of their own begin in the order of their distances; of more, they begin
# at all.
MOST_SORTED = 64
MOST_STRETCHES = 32  # Of the rim of one piece: walls that end beside it part it.


class Scratch(NamedTuple):
    """What searches work on and forget; row s belongs to slot s.

    Attributes
    ----------
    queue, seam : (s, np) int32
    place : (s, np) uint32
    nearest : (s, 1) int64
        See `crowdsim.navigation.mesh.mesh.Flood`.
    stretch : (s, 32, 6) float64, m
        Stretches of a rim: where the side begins, its direction, and from where to where along it the agent's
        centre can be.
    """

    queue: NDArray[np.int32]
    seam: NDArray[np.int32]
    place: NDArray[np.uint32]
    nearest: NDArray[np.int64]
    stretch: NDArray[np.float64]


def make_scratch(slots: int, polygons: int) -> Scratch:
    """Return scratch for slots on a mesh with that many polygons."""
    return Scratch(
        lazy_zeros((slots, polygons), np.int32),
        lazy_zeros((slots, polygons), np.int32),
        lazy_zeros((slots, polygons), np.uint32),
        np.zeros((slots, 1), dtype=np.int64),
        np.zeros((slots, MOST_STRETCHES, 6)),
    )


@inlined_kernel
def flood_of(scratch, slot):
    """Return the scratch for floods of a slot."""
    return Flood(scratch.queue[slot], scratch.place[slot], scratch.nearest[slot], scratch.seam[slot])


@lean_kernel
def list_stretches(mesh, goals, piece, radius, flood, stretch):
    """List the stretches of a piece's rim on which an agent's centre can be,
    on the side of each narrow gap on which the piece's pole is.

    Parameters
    ----------
    mesh : NavMesh
    goals : GoalPieces
    piece : int
    radius : float, m
    flood : Flood
    stretch : (k, 6) float64, m
        Receives them, see `Scratch`.

    Returns
    -------
    int
        How many; those beyond the size of `stretch` are left out. A point is one, wherever it is.
    """
    first, last = goals.vertex_start[piece], goals.vertex_start[piece + 1]
    if last - first == 1:
        stretch[0, 0], stretch[0, 1] = goals.vertex[first, 0], goals.vertex[first, 1]
        stretch[0, 2], stretch[0, 3], stretch[0, 4], stretch[0, 5] = 1.0, 0.0, 0.0, 0.0
        return 1
    polygon, count = np.int64(goals.piece_polygon[piece]), 0
    for i in range(first, last):
        j = i + 1 if i + 1 < last else first
        ax, ay, bx, by = goals.vertex[i, 0], goals.vertex[i, 1], goals.vertex[j, 0], goals.vertex[j, 1]
        length = hypot(bx - ax, by - ay)
        dx, dy, at = (bx - ax) / length, (by - ay) / length, 0.0
        while at < length and count < stretch.shape[0]:
            low, high = next_clear_stretch(mesh, polygon, ax, ay, bx, by, at, radius + TOUCH_M, flood)
            if low > length:
                break
            middle = 0.5 * (low + high)
            if not are_parted(
                mesh,
                polygon,
                ax + middle * dx,
                ay + middle * dy,
                goals.pole[piece, 0],
                goals.pole[piece, 1],
                2.0 * radius,
            ):
                (
                    stretch[count, 0],
                    stretch[count, 1],
                    stretch[count, 2],
                    stretch[count, 3],
                    stretch[count, 4],
                    stretch[count, 5],
                ) = ax, ay, dx, dy, low, high
                count += 1
            at = high
    return count


@inlined_kernel
def nearest_entry(stretch, count, x, y):
    """Return the point of some stretches that is nearest to (x, y), as (x, y):
    on a side that faces it, or, where none is clear, on any.
    """
    best, bx, by, faces_best = np.inf, x, y, False
    for k in range(count):
        ax, ay, dx, dy = stretch[k, 0], stretch[k, 1], stretch[k, 2], stretch[k, 3]
        faces = orientation(ax, ay, ax + dx, ay + dy, x, y) <= 0.0
        if faces_best and not faces:
            continue
        to = min(stretch[k, 5], max(stretch[k, 4], dx * (x - ax) + dy * (y - ay)))
        px, py = ax + to * dx, ay + to * dy
        apart = (px - x) * (px - x) + (py - y) * (py - y)
        if apart < best or (faces and not faces_best):
            best, bx, by, faces_best = apart, px, py, faces
    return bx, by


@inlined_kernel
def is_too_tight(goals, piece, width):
    """Return whether an agent does not fit into a piece of a region; points are reached as they are."""
    return (
        2.0 * goals.clearance[piece] < width and goals.vertex_start[piece + 1] - goals.vertex_start[piece] > 1
    )


@inlined_kernel
def choose_piece(header, measure, slot, goals):
    """Choose the piece of the goal from which paths begin next:
    the nearest to the start as the crow flies, or one after the other; ties go by the number.

    Trees have no start, and among many pieces looking for the nearest costs more than beginning at all of
    them.
    """
    goal, width = header[slot, GOAL], measure[slot, WIDTH]
    first, last = np.int64(goals.goal_start[goal]), np.int64(goals.goal_start[goal + 1])
    x, y, done, before = (
        measure[slot, START_X],
        measure[slot, START_Y],
        header[slot, NEXT_PIECE],
        measure[slot, PIECE_BOUND],
    )
    is_in_order = header[slot, IS_SHARED] == 1 or last - first > MOST_SORTED
    found, least = NONE, np.inf
    for piece in range(max(first, done + 1) if is_in_order else first, last):
        if is_too_tight(goals, piece, width):
            continue
        if is_in_order:
            found, least = piece, 0.0
            break
        tx, ty = nearest_in_piece(goals, piece, x, y)
        bound = measure[slot, HEURISTIC_WEIGHT] * np.sqrt((tx - x) * (tx - x) + (ty - y) * (ty - y))
        if bound < least and (bound > before or (bound == before and piece > done)):
            found, least = piece, bound
    header[slot, NEXT_PIECE], measure[slot, PIECE_BOUND] = found, least


@inlined_kernel
def set_up_slot(header, measure, slot, goals, goal, width, x, y, polygon, is_shared):
    """Set up what all searches have in a slot; return whether it keeps its tree:
    a shared slot that already serves this goal does.
    """
    keeps_tree = is_shared == 1 and header[slot, IS_SHARED] == 1 and header[slot, IS_SEEDED] == 1
    header[slot, STATUS], header[slot, GOAL], header[slot, IS_SHARED], header[slot, START_POLYGON] = (
        PENDING,
        goal,
        is_shared,
        polygon,
    )
    measure[slot, START_X], measure[slot, START_Y] = x, y
    if not keeps_tree:
        measure[slot, WIDTH] = width
        header[slot, GENERATION] += 1
        header[slot, HEAP_SIZE], header[slot, EXPANSIONS], header[slot, IS_SEEDED] = 0, 0, 1
        header[slot, NEXT_PIECE], measure[slot, PIECE_BOUND] = NONE, -1.0
        choose_piece(header, measure, slot, goals)
    return keeps_tree


@inlined_kernel
def cheapest_piece_here(mesh, goals, goal, width, x, y, polygon, costs, fastest, flood):
    """Return what it costs to go straight to the cheapest piece of a goal in the start's own polygon,
    and that piece; (inf, -1) if there is none.
    """
    best, found = np.inf, NONE
    for piece in range(goals.goal_start[goal], goals.goal_start[goal + 1]):
        if goals.piece_polygon[piece] != polygon or is_too_tight(goals, piece, width):
            continue
        if are_parted(mesh, polygon, x, y, goals.pole[piece, 0], goals.pole[piece, 1], width):
            continue
        tx, ty = target_in_piece(mesh, goals, piece, x, y, 0.5 * width, flood)
        total = step_cost(mesh, costs, fastest, polygon, tx - x, ty - y)
        if total < best:
            best, found = total, piece
    return best, found
