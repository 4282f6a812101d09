"""Floods: searches without a start that grow over all of a mesh, to say how far it is from everywhere to
their goals. They forget what they have carried on, so that they have room on large ground.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.kernels.decorator import kernel, lean_kernel
from crowdsim.navigation.search.polyanya_intervals import WAVE_ROOT
from crowdsim.navigation.search.polyanya_lengths import least_total_length, total_length
from crowdsim.navigation.search.polyanya_slots import (
    INTERVAL_COUNT,
    IS_FULL,
    NEXT_UP,
    PARENT,
    POLYGON,
    ROOT,
)
from crowdsim.navigation.search.slot_fields import HEAP_SIZE, NONE, START_X, START_Y

AT_GOAL = -2  # In place of an interval that is not known any more: a piece of the goal, see `polyanya_slots`.


@lean_kernel
def note_lengths(start, stop, slots, mesh, noted, length):
    """Note how long the shortest paths of points are by intervals that have been made since the last time, of
    a range of slots.

    Parameters
    ----------
    start, stop : int
        The first slot, and the one after the last.
    slots : IntervalSlots
    mesh : NavMesh
    noted : (s,) int64
        In and out: how many of the intervals have been asked.
    length : (s, ne) float64, m
        In and out: from where each half-edge begins, in its polygon; not in a polygon of the goal.

    Notes
    -----
    Twin: `tests/reference/floods.py`.
    """
    header, measure, whole = slots.header, slots.measure, slots.whole
    for slot in range(start, stop):
        for node in range(noted[slot], header[slot, INTERVAL_COUNT]):
            row = slots.first[slot] + node
            polygon, is_wave = np.int64(whole[row, POLYGON]), whole[row, ROOT] == WAVE_ROOT
            for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
                x, y = slots.sides[edge].x, slots.sides[edge].y
                if least_total_length(slots.real, row, is_wave, x, y) < length[slot, edge]:
                    measure[slot, START_X], measure[slot, START_Y] = x, y
                    length[slot, edge] = min(length[slot, edge], total_length(slots, slot, node))
        noted[slot] = header[slot, INTERVAL_COUNT]


@kernel
def keep_waiting(slots, slot):
    """Forget the intervals of a flood that have been carried on; those that wait are numbered anew, in their
    order. Where paths by them have come from is not known any more: that is asked only of a goal that is a
    vertex (`polyanya._home`), and floods begin inside of polygons. Twin: `tests/reference/floods.py`.
    """
    header, base, whole, heap = slots.header, slots.first[slot], slots.whole, slots.heap
    count, waiting, top = header[slot, INTERVAL_COUNT], header[slot, HEAP_SIZE], header[slot, NEXT_UP]
    number = np.full(count, np.int32(NONE))
    for place in range(waiting):
        number[heap[base + place]] = 0
    if top != NONE:
        number[top] = 0
    kept = 0
    for node in range(count):
        if number[node] == NONE:
            continue
        number[node] = kept
        for field in range(slots.real.shape[1]):
            slots.real[base + kept, field] = slots.real[base + node, field]
        for field in range(whole.shape[1]):
            whole[base + kept, field] = whole[base + node, field]
        whole[base + kept, PARENT] = np.int32(AT_GOAL)
        kept += 1
    for place in range(waiting):
        heap[base + place] = number[heap[base + place]]
    if top != NONE:
        header[slot, NEXT_UP] = number[top]
    header[slot, INTERVAL_COUNT], header[slot, IS_FULL] = kept, 0
    # the lists of intervals by the polygons that they enter begin anew
    slots.newest_stamp[slot] = 0
