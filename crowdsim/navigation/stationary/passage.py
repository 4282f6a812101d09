"""Whether a walker gets past stationary agents: from one point of a polygon to another, and along a corridor.

Two points of a polygon are parted if the barriers in it, with its rim, hold a ring that the straight line
between the points crosses an odd number of times. That is counted with a union-find that knows of every disc
whether the path to its root crosses the line.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.geometry.plane import orientation
from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.navigation.goals.goals import nearest_in_piece
from crowdsim.navigation.stationary.barriers import root_of
from crowdsim.navigation.stationary.slots import POLYGONS, PORTALS


@inlined_kernel
def _place_in(sorted_rows, slot, count, value):
    """Return where a number is among the first `count` of row `slot`, ascending; -1 if it is not."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if sorted_rows[slot, middle] < value:
            low = middle + 1
        else:
            high = middle
    return low if low < count and sorted_rows[slot, low] == value else -1


@inlined_kernel
def portal_place(slots, slot, mesh, edge):
    """Return the row of the portal of a half-edge among those that discs reach into; -1 if none does."""
    if slots.marks[slot, PORTALS] == 0:
        return -1
    twin = mesh.edge_twin[edge]
    return _place_in(slots.portal, slot, slots.marks[slot, PORTALS], min(edge, twin))


@inlined_kernel
def gap_count(slots, slot, place):
    """Return how many gaps a portal has, by its row; one if no disc reaches into it (-1)."""
    return 1 if place < 0 else slots.portal_gaps[slot, place]


@inlined_kernel
def gap_point(slots, slot, mesh, edge, place, number):
    """Return a free point in a gap of the portal of a half-edge."""
    if place < 0:
        return mesh.portal_point[edge, 0], mesh.portal_point[edge, 1]
    gap = slots.portal_first[slot, place] + number
    return slots.gap[slot, gap, 0], slots.gap[slot, gap, 1]


@inlined_kernel
def _cross(ax, ay, bx, by, cx, cy, dx, dy):
    """Return whether segments ab and cd cross."""
    if (orientation(ax, ay, bx, by, cx, cy) > 0.0) == (orientation(ax, ay, bx, by, dx, dy) > 0.0):
        return False
    return (orientation(cx, cy, dx, dy, ax, ay) > 0.0) != (orientation(cx, cy, dx, dy, bx, by) > 0.0)


@inlined_kernel
def _crosses_barrier(slots, slot, barrier, px, py, qx, qy):
    """Return whether segment pq crosses a barrier."""
    return _cross(
        px,
        py,
        qx,
        qy,
        slots.barrier[slot, barrier, 0],
        slots.barrier[slot, barrier, 1],
        slots.barrier[slot, barrier, 2],
        slots.barrier[slot, barrier, 3],
    )


@lean_kernel
def are_parted_by_barriers(slots, slot, polygon, px, py, qx, qy):
    """Return whether barriers part two points of a polygon.

    Parameters
    ----------
    slots : StationarySlots
        After `draw_barriers`.
    slot : int
    polygon : int
    px, py, qx, qy : float, m

    Notes
    -----
    An agent in a disc counts as beside the barriers that go through its middle. Twin:
    `tests/reference/stationary.py`.
    """
    if slots.marks[slot, POLYGONS] == 0:
        return False
    place = _place_in(slots.polygon, slot, slots.marks[slot, POLYGONS], polygon)
    if place < 0:
        return False
    first, last = slots.polygon_first[slot, place], slots.polygon_first[slot, place + 1]
    is_crossed = False  # most lines cross nothing, and then nothing parts their ends
    for barrier in range(first, last):
        is_crossed = is_crossed or _crosses_barrier(slots, slot, barrier, px, py, qx, qy)
    if not is_crossed:
        return False
    for node in range(slots.polygon_nodes[slot, place]):
        slots.root[slot, node], slots.parity[slot, node] = node, 0
    for barrier in range(first, last):
        crosses = np.uint8(1) if _crosses_barrier(slots, slot, barrier, px, py, qx, qy) else np.uint8(0)
        a, flip_a = root_of(slots, slot, slots.barrier_node[slot, barrier, 0])
        b, flip_b = root_of(slots, slot, slots.barrier_node[slot, barrier, 1])
        if a == b:
            if crosses ^ flip_a ^ flip_b:
                return True
        else:
            slots.root[slot, a], slots.parity[slot, a] = b, crosses ^ flip_a ^ flip_b
    return False


@lean_kernel
def is_corridor_open(slots, slot, mesh, goals, cells, at, count, piece, x, y, polygon):
    """Return whether a walker gets through a corridor past stationary agents, without leaving it.

    Parameters
    ----------
    slots : StationarySlots
        After `draw_barriers`.
    slot : int
    mesh : NavMesh
    goals : GoalPieces
    cells : (m,) int32
    at, count : int
        The corridor is ``cells[at:at + count]``, goal's end first.
    piece : int
        Of the goal, at its end.
    x, y : float, m
    polygon : int
        Where the agent is.

    Notes
    -----
    Twin: `tests/reference/stationary.py`.
    """
    if slots.marks[slot, POLYGONS] == 0 and slots.marks[slot, PORTALS] == 0:
        return True
    if count == 0:
        tx, ty = nearest_in_piece(goals, piece, x, y)
        return not are_parted_by_barriers(slots, slot, polygon, x, y, tx, ty)
    # Gaps that were reached are noted in the scratch of spans; it is not needed after drawing.
    reached = slots.span
    here = polygon
    before, places = -1, -1
    for cell in range(at + count - 1, at - 1, -1):
        edge = cells[cell]
        place = portal_place(slots, slot, mesh, edge)
        gaps, row = gap_count(slots, slot, place), (at + count - 1 - cell) % 2
        is_any = False
        for gap in range(gaps):
            gx, gy = gap_point(slots, slot, mesh, edge, place, gap)
            got = False
            if before < 0:
                got = not are_parted_by_barriers(slots, slot, here, x, y, gx, gy)
            else:
                for other in range(gap_count(slots, slot, places)):
                    if not got and reached[slot, other, 1 - row] > 0.0:
                        ox, oy = gap_point(slots, slot, mesh, before, places, other)
                        got = not are_parted_by_barriers(slots, slot, here, ox, oy, gx, gy)
            reached[slot, gap, row] = 1.0 if got else 0.0
            is_any = is_any or got
        if not is_any:
            return False
        before, places, here = edge, place, mesh.edge_polygon[mesh.edge_twin[edge]]
    row = (count - 1) % 2
    for gap in range(gap_count(slots, slot, places)):
        if reached[slot, gap, row] > 0.0:
            gx, gy = gap_point(slots, slot, mesh, before, places, gap)
            tx, ty = nearest_in_piece(goals, piece, gx, gy)
            if not are_parted_by_barriers(slots, slot, here, gx, gy, tx, ty):
                return True
    return False
