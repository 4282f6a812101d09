"""State of Polyanya searches: intervals in one pool of rows, a heap for each search,
and what is known of each corner.

The intervals (`crowdsim.navigation.search.polyanya_intervals`) of slot s are the first ROOM of the rows
``first[s] .. first[s + 1] - 1`` of the pool and are numbered from 0 on in the order in which they were made.
The room of a slot grows between two rounds when its search reports that it is full; nothing else depends on
it. The rows behind it are there from the beginning, and take memory where they are written to: copying what
the trees of all slots knew took 50 ms in the tick in which one of them came to its end.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.plane import angle_between
from crowdsim.kernels.decorator import inlined_kernel
from crowdsim.kernels.growing import lazy_zeros
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.navigation.search.bottleneck_forest import BottleneckForest, build_forest
from crowdsim.navigation.search.polyanya_intervals import STRAIGHT, Interval, Limit, Root
from crowdsim.navigation.search.slot_fields import (
    BEST_NODE,
    HEAP_SIZE,
    HEURISTIC_WEIGHT,
    MOST_PRICED,
    NONE,
    REAL_FIELDS,
    WHOLE_FIELDS,
)

# Whole numbers of a slot, after those that all searches have.
INTERVAL_COUNT, NEXT_UP, IS_FULL, LOOKED_AT, NEXT_PART, ROOM = range(WHOLE_FIELDS, WHOLE_FIELDS + 6)
HEADER_SIZE = WHOLE_FIELDS + 6
# Real numbers of a slot.
NEXT_BOUND, RADIUS, PART_FROM = range(REAL_FIELDS, REAL_FIELDS + 3)
MEASURE_SIZE = REAL_FIELDS + 3

# Numbers of an interval, named as in `Root`, `Limit` and `Interval`; NEXT is the interval before it that
# enters the same polygon.
COST, ROOT_X, ROOT_Y, SIDE, IN_X, IN_Y, LEFT_X, LEFT_Y, RIGHT_X, RIGHT_Y, EXTRA = range(11)
REAL_SIZE = 11
EDGE, PARENT, LEFT_VERTEX, RIGHT_VERTEX, ROOT, NEXT = range(6)
WHOLE_SIZE = 6


class IntervalSlots(NamedTuple):
    """State of all Polyanya searches; row s belongs to slot s, rows first[s] on of the pool as well.

    Attributes
    ----------
    header : (s, 16) int64
        The fields of all searches, and INTERVAL_COUNT .. ROOM. BEST_NODE is an interval that enters the
        start's polygon, or ``-2 - piece`` if the start is in a goal's polygon. NEXT_UP is the interval that
        was made last with the least bound and is not in the heap, LOOKED_AT the newest interval of the
        start's polygon that has been looked at, NEXT_PIECE the piece of the goal from which paths begin next,
        NEXT_PART the part of its rim; NONE if there is none. ROOM is how many intervals there may be.
    measure : (s, 10) float64
        The fields of all searches, and NEXT_BOUND .. PART_FROM. PIECE_BOUND is the least length of a path to
        NEXT_PIECE, PART_FROM how far of NEXT_PART is done, PRICE what each of the priced portals costs
        besides, RADIUS that at which paths are rounded; HEURISTIC_WEIGHT is 1.
    first : (s + 1,) int64
    real : (n, 11) float64, m
    whole : (n, 6) int32
    heap : (n,) int32
        4-ary heap of the intervals that wait.
    bound : (n,) float64, m
        Least length of a path by the interval at the same place of the heap.
    root_cost : (s, 2 nv) float64, m
        Least known path to a corner with it on the left or on the right.
    root_in : (s, 2 nv, 2) float64
        Direction in which that path reaches it.
    root_stamp : (s, 2 nv) int64
        Generation in which the two were noted.
    newest : (s, np) int32
        Newest interval that enters a polygon.
    newest_stamp : (s, np) int64
    priced : (s, 4) int32
        Half-edges of portals with a price, on either side; -1 is none.
    is_corner : (nv,) uint8
        1 where a path can bend: the ground is wider than a half turn there.
    is_blind : (np,) uint8
        1 for polygons with one portal only: no path leads through them.
    most_new : (1,) int64
        Most intervals that one expansion can make.
    forest : BottleneckForest
    """

    header: NDArray[np.int64]
    measure: NDArray[np.float64]
    first: NDArray[np.int64]
    real: NDArray[np.float64]
    whole: NDArray[np.int32]
    heap: NDArray[np.int32]
    bound: NDArray[np.float64]
    root_cost: NDArray[np.float64]
    root_in: NDArray[np.float64]
    root_stamp: NDArray[np.int64]
    newest: NDArray[np.int32]
    newest_stamp: NDArray[np.int64]
    priced: NDArray[np.int32]
    is_corner: NDArray[np.uint8]
    is_blind: NDArray[np.uint8]
    most_new: NDArray[np.int64]
    forest: BottleneckForest


POOL_ARRAYS = ("real", "whole", "heap", "bound")
MESH_ARRAYS = ("is_corner", "is_blind", "most_new", "forest")
# Intervals of one search, 240 MB; a flood of a map with 20,000 polygons makes fewer. A search that needs more
# gives up.
MOST_INTERVALS = 1 << 21
INTERVAL_BYTES = 8 * REAL_SIZE + 4 * WHOLE_SIZE + 12


def make_interval_slots(
    slots: int,
    mesh: NavMesh,
    intervals: int | NDArray[np.int64],
    reserve: int = 0,
    like: IntervalSlots | None = None,
) -> IntervalSlots:
    """Return idle slots.

    Parameters
    ----------
    slots : int
    mesh : NavMesh
    intervals : int or (slots,) int64
        Room of each.
    reserve : int
        Rows of the pool for each slot, where that is more.
    like : IntervalSlots, optional
        Others on the same mesh: what follows from it is taken from them.
    """
    corners, room = 2 * len(mesh.vertex), np.broadcast_to(np.asarray(intervals, dtype=np.int64), slots)
    first = np.concatenate([[0], np.cumsum(np.maximum(room, reserve))]).astype(np.int64)
    rows = int(first[-1])
    made = IntervalSlots(
        np.zeros((slots, HEADER_SIZE), dtype=np.int64),
        np.zeros((slots, MEASURE_SIZE)),
        first,
        lazy_zeros((rows, REAL_SIZE), np.float64),
        lazy_zeros((rows, WHOLE_SIZE), np.int32),
        lazy_zeros(rows, np.int32),
        lazy_zeros(rows, np.float64),
        lazy_zeros((slots, corners), np.float64),
        lazy_zeros((slots, corners, 2), np.float64),
        lazy_zeros((slots, corners)),
        lazy_zeros((slots, mesh.polygon_count), np.int32),
        lazy_zeros((slots, mesh.polygon_count)),
        np.full((slots, MOST_PRICED), -1, dtype=np.int32),
        *((getattr(like, name) for name in MESH_ARRAYS) if like is not None else _of_mesh(mesh)),
    )
    made.measure[:, HEURISTIC_WEIGHT] = 1.0
    made.header[:, ROOM] = room
    return made


def _of_mesh(mesh: NavMesh) -> tuple[Any, ...]:
    """Return MESH_ARRAYS."""
    is_blind = (np.add.reduceat(mesh.edge_twin >= 0, mesh.polygon_start[:-1]) < 2).astype(np.uint8)
    return (
        find_corners(mesh),
        is_blind,
        np.array([3 * int(np.diff(mesh.polygon_start).max())], dtype=np.int64),
        build_forest(mesh),
    )


def find_corners(mesh: NavMesh) -> NDArray[np.uint8]:
    """Return for each vertex whether a path can bend there:
    the boundary turns away from the ground or goes straight on, or passes the vertex twice.

    A vertex inside a straight wall lies beside it by rounding, and a path along the wall then bends round it.
    """
    boundary = np.flatnonzero(mesh.edge_twin < 0)
    begin, end = mesh.edge_vertex[boundary], mesh.edge_end[boundary]
    times = np.bincount(begin, minlength=len(mesh.vertex))
    before = np.full(len(mesh.vertex), -1, dtype=np.int64)
    before[end] = begin
    after = np.full(len(mesh.vertex), -1, dtype=np.int64)
    after[begin] = end
    once = np.flatnonzero(times == 1)
    xy = mesh.vertex[:, :2]
    arriving, leaving = xy[once] - xy[before[once]], xy[after[once]] - xy[once]
    is_corner = (times > 1).astype(np.uint8)
    scale = np.hypot(*arriving.T) * np.hypot(*leaving.T)
    is_corner[once] = arriving[:, 0] * leaving[:, 1] - arriving[:, 1] * leaving[:, 0] <= STRAIGHT * scale
    return is_corner


def with_more_room(slots: IntervalSlots) -> IntervalSlots:
    """Return the slots with twice as much room for those that reported to be full; what is known is copied
    only where the pool has too few rows.
    """
    header, rows = slots.header, np.diff(slots.first)
    full = header[:, IS_FULL] == 1
    header[full, ROOM] *= 2
    header[:, IS_FULL] = 0
    if np.all(header[:, ROOM] <= rows):
        return slots
    first = np.concatenate([[0], np.cumsum(np.maximum(header[:, ROOM], rows))]).astype(np.int64)
    grown: dict[str, Any] = {}
    for name in POOL_ARRAYS:
        old = getattr(slots, name)
        new = lazy_zeros((int(first[-1]), *old.shape[1:]), old.dtype)
        for slot, count in enumerate(header[:, INTERVAL_COUNT].tolist()):
            new[first[slot] : first[slot] + count] = old[slots.first[slot] : slots.first[slot] + count]
        grown[name] = new
    return slots._replace(first=first, **grown)


@inlined_kernel
def push(header, heap, key, base, slot, node, bound):
    """Put an interval into the heap of a slot, whose rows of the pool begin at `base`."""
    place = header[slot, HEAP_SIZE]
    header[slot, HEAP_SIZE] = place + 1
    while place > 0:
        above = (place - 1) // 4
        other = key[base + above]
        if not (bound < other or (bound == other and node > heap[base + above])):
            break
        key[base + place], heap[base + place] = other, heap[base + above]
        place = above
    key[base + place], heap[base + place] = bound, node


@inlined_kernel
def _sink(heap, key, base, size, node, bound):
    """Put an interval where the top of a heap of a size was."""
    place = 0
    while True:
        child = 4 * place + 1
        if child >= size:
            break
        first = child
        for other in range(child + 1, min(child + 4, size)):
            if key[base + other] < key[base + first] or (
                key[base + other] == key[base + first] and heap[base + other] > heap[base + first]
            ):
                first = other
        if not (key[base + first] < bound or (key[base + first] == bound and heap[base + first] > node)):
            break
        key[base + place], heap[base + place] = key[base + first], heap[base + first]
        place = first
    key[base + place], heap[base + place] = bound, node


@inlined_kernel
def offer(header, measure, heap, key, base, slot, node, bound):
    """Let a new interval wait: the one with the least bound of an expansion stays out of the heap,
    since it is often the very next.
    """
    waiting, waiting_bound = header[slot, NEXT_UP], measure[slot, NEXT_BOUND]
    if waiting == NONE or bound < waiting_bound:
        header[slot, NEXT_UP], measure[slot, NEXT_BOUND] = node, bound
        node, bound = waiting, waiting_bound
    if node != NONE:
        push(header, heap, key, base, slot, node, bound)


@inlined_kernel
def least_bound(header, measure, key, base, slot):
    """Return the least bound (m) of the intervals that wait; inf if none does."""
    least = np.inf
    if header[slot, NEXT_UP] != NONE:
        least = measure[slot, NEXT_BOUND]
    if header[slot, HEAP_SIZE] > 0:
        least = min(least, key[base])
    return least


@inlined_kernel
def take_next(header, measure, heap, key, base, slot):
    """Remove and return the interval with the least bound; there has to be one. Ties: the newest."""
    node, bound, size = header[slot, NEXT_UP], measure[slot, NEXT_BOUND], header[slot, HEAP_SIZE]
    header[slot, NEXT_UP] = NONE
    if node != NONE and (size == 0 or bound <= key[base]):
        return node
    top = np.int64(heap[base])
    if node == NONE:
        size -= 1
        header[slot, HEAP_SIZE] = size
        node, bound = np.int64(heap[base + size]), key[base + size]
    if size > 0:
        _sink(heap, key, base, size, node, bound)
    return top


@inlined_kernel
def interval_at(real, whole, row):
    """Return the interval in a row of the pool."""
    root = Root(
        np.int64(whole[row, ROOT]),
        real[row, ROOT_X],
        real[row, ROOT_Y],
        real[row, SIDE],
        real[row, IN_X],
        real[row, IN_Y],
    )
    left = Limit(real[row, LEFT_X], real[row, LEFT_Y], np.int64(whole[row, LEFT_VERTEX]))
    return Interval(
        root,
        real[row, COST],
        real[row, EXTRA],
        left,
        Limit(real[row, RIGHT_X], real[row, RIGHT_Y], np.int64(whole[row, RIGHT_VERTEX])),
    )


@inlined_kernel
def put_interval(real, whole, row, interval):
    """Write an interval to a row of the pool."""
    root, left, right = interval.root, interval.left, interval.right
    whole[row, ROOT], whole[row, LEFT_VERTEX], whole[row, RIGHT_VERTEX] = root.kind, left.vertex, right.vertex
    real[row, ROOT_X], real[row, ROOT_Y], real[row, SIDE], real[row, IN_X], real[row, IN_Y] = (
        root.x,
        root.y,
        root.side,
        root.in_x,
        root.in_y,
    )
    real[row, LEFT_X], real[row, LEFT_Y], real[row, RIGHT_X], real[row, RIGHT_Y] = (
        left.x,
        left.y,
        right.x,
        right.y,
    )
    real[row, COST], real[row, EXTRA] = interval.cost, interval.extra


@inlined_kernel
def is_reached_sooner(stamp, known_cost, known_in, generation, slot, root, cost):
    """Return whether a shorter path is known to where a path that costs so much reaches a root."""
    kind = root.kind
    if stamp[slot, kind] != generation or cost <= known_cost[slot, kind]:
        return False
    if root.side == 0.0:
        return True
    return cost > known_cost[slot, kind] + abs(root.side) * angle_between(
        root.in_x, root.in_y, known_in[slot, kind, 0], known_in[slot, kind, 1]
    )


@inlined_kernel
def note_bend(stamp, known_cost, known_in, generation, slot, root, cost):
    """Note that a path bends round a root; return whether it may:
    not where as short a path has bent before.
    """
    kind = root.kind
    if stamp[slot, kind] == generation and cost >= known_cost[slot, kind]:
        if root.side == 0.0:
            return False
        return cost < known_cost[slot, kind] + abs(root.side) * angle_between(
            root.in_x, root.in_y, known_in[slot, kind, 0], known_in[slot, kind, 1]
        )
    stamp[slot, kind], known_cost[slot, kind] = generation, cost
    known_in[slot, kind, 0], known_in[slot, kind, 1] = root.in_x, root.in_y
    return True


@inlined_kernel
def polyanya_size(slots, slot):
    """Return how many portals the corridor of a found path has."""
    count = 0
    node = slots.header[slot, BEST_NODE]
    while node >= 0:
        count += 1
        node = np.int64(slots.whole[slots.first[slot] + node, PARENT])
    return count


@inlined_kernel
def copy_polyanya(slots, slot, out, at):
    """Write the portals of a found path to ``out[at:]``, the one at the goal first;
    return (portals, piece of the goal).
    """
    count = polyanya_size(slots, slot)
    node = slots.header[slot, BEST_NODE]
    place = at + count
    while node >= 0:
        place -= 1
        row = slots.first[slot] + node
        out[place] = slots.whole[row, EDGE]
        node = np.int64(slots.whole[row, PARENT])
    return count, -2 - node
