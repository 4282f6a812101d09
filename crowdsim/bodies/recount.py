"""Overlaps of discs of which few have moved since they were counted: only what is near these is counted
anew. The kernels behind `crowdsim.bodies.separate.Separator.measure`.

Everything is by slot (cell order), see `crowdsim.bodies.contacts`.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.bodies.contacts import BESIDE, COUNTED, MOVED, near_slots, scan_with, sum_overlaps
from crowdsim.geometry.cells import plane_numbers, row_ahead
from crowdsim.kernels.decorator import kernel, lean_kernel
from crowdsim.kernels.simd import prefetch


@lean_kernel
def find_moved(start, stop, cells, now, position, radius, movable, layer, known_layer, x, y, stale):
    """Find the discs that are elsewhere than when they were counted.

    Parameters
    ----------
    start, stop : int
        Range of slots.
    cells : Cells
    now : Now
        The discs as they were counted.
    position : (n, 2) float64, m
    radius : (n,) float64, m
    movable : (n,) uint8
    layer, known_layer : (n,) int32
        By row: the discs as they are, and their floors as they were counted.
    x, y : (n + 16,) float64, m
        Receive where they are.
    stale : (n,) uint8
        Receives COUNTED or MOVED.

    Returns
    -------
    moved : int
        How many have moved; -1 where one has become another disc, or is on another floor.
    farthest : float, m
        How far one has moved at most.

    Notes
    -----
    Twin: `tests/reference/separate.py`.
    """
    moved, farthest, cells_row = 0, 0.0, cells.row
    for slot in range(np.uint64(start), np.uint64(stop)):
        ahead = row_ahead(cells_row, slot)
        prefetch(position, ahead + ahead)
        prefetch(radius, ahead)
        prefetch(movable, ahead)
        prefetch(layer, ahead)
        prefetch(known_layer, ahead)
        row = cells_row[slot]
        if (
            radius[row] != now.radius[slot]
            or movable[row] != now.movable[slot]
            or layer[row] != known_layer[row]
        ):
            return -1, 0.0
        x[slot], y[slot], stale[slot] = position[row, 0], position[row, 1], COUNTED
        if x[slot] != now.x[slot] or y[slot] != now.y[slot]:
            dx, dy = x[slot] - now.x[slot], y[slot] - now.y[slot]
            farthest, stale[slot] = max(farthest, dx * dx + dy * dy), MOVED
            moved += 1
    return moved, np.sqrt(farthest)


@kernel
def mark_beside(start, stop, cells, before, after, capacity, widest, drift, farthest, stale):
    """Mark the discs that discs which have moved may overlap, or may have overlapped.

    Parameters
    ----------
    start, stop : int
        Range of slots that may have moved.
    cells : Cells
    before, after : Now
        Where discs were when they were counted, and where they are.
    capacity : int
        Neighbours of one disc that there is room for.
    widest, drift, farthest : float, m
        Greatest radius; how far discs had moved at most since `cells` was built, and have since.
    stale : (n,) uint8
        In and out: those that are COUNTED and beside one that is MOVED become BESIDE, in all ranges. Several
        threads may write that to the same disc, and none writes anything else.

    Returns
    -------
    int
        -1 where `capacity` does not suffice, else 0.

    Notes
    -----
    Twin: `tests/reference/separate.py`.
    """
    near = np.zeros(capacity + 32, np.uint32)
    for slot in range(np.uint64(start), np.uint64(stop)):
        if stale[slot] != MOVED:
            continue
        for turn in range(2):
            now, far = (before, drift) if turn == 0 else (after, drift + farthest)
            found = near_slots(
                cells.start,
                cells.z,
                cells.slope_x,
                cells.slope_y,
                cells.step,
                plane_numbers(cells.origin, cells.shape, cells.plane[slot]),
                cells.per_metre,
                cells.x,
                cells.y,
                now.x,
                now.y,
                now.radius32,
                slot,
                now.radius[slot] + widest,
                far,
                0.0,
                near,
            )
            if found < 0:
                return -1
            for place in range(found):
                if stale[np.uint64(near[place])] == COUNTED:
                    stale[np.uint64(near[place])] = BESIDE
    return 0


@kernel
def recount(start, stop, cells, now, capacity, widest, drift, stale, gap, count, deepest, total):
    """Count the overlaps of each disc that is not COUNTED; parameters and result, which is that of all discs
    of the range, as in `contacts.scan_contacts`. Twin: `tests/reference/separate.py`.
    """
    near = np.zeros(capacity + 32, np.uint32)
    for slot in range(np.uint64(start), np.uint64(stop)):
        if stale[slot] != COUNTED:
            gap[slot] = 0.0
            if scan_with(
                slot, slot + np.uint64(1), cells, now, widest, drift, 0.0, gap, count, deepest, total, near
            ):
                return -1, 0.0, 0
    return sum_overlaps(start, stop, count, deepest, total)
