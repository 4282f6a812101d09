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

import mmap
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.lengths import hypots
from crowdsim.geometry.plane import angle_between
from crowdsim.kernels.decorator import inlined_kernel
from crowdsim.kernels.growing import lazy_zeros
from crowdsim.kernels.maps import move_rows
from crowdsim.kernels.memory import with_fields
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.navigation.search.bottleneck_forest import BottleneckForest, build_forest
from crowdsim.navigation.search.dead_ends import Regions, find_regions
from crowdsim.navigation.search.heap import least_of_four
from crowdsim.navigation.search.landmarks import NO_LANDMARKS, Landmarks
from crowdsim.navigation.search.polyanya_intervals import (
    LEAST_SLACK_M,
    STRAIGHT,
    Interval,
    Limit,
    Portal,
    Root,
)
from crowdsim.navigation.search.slot_fields import (
    BEST_NODE,
    GENERATION,
    HEAP_SIZE,
    HEURISTIC_WEIGHT,
    MOST_PRICED,
    NONE,
    REAL_FIELDS,
    WHOLE_FIELDS,
    WIDTH,
)

# Whole numbers of a slot, after those that all searches have.
INTERVAL_COUNT, NEXT_UP, IS_FULL, LOOKED_AT, NEXT_PART, ROOM = range(WHOLE_FIELDS, WHOLE_FIELDS + 6)
HEADER_SIZE = WHOLE_FIELDS + 6
# Real numbers of a slot.
NEXT_BOUND, RADIUS, PART_FROM, FRONTIER = range(REAL_FIELDS, REAL_FIELDS + 4)
MEASURE_SIZE = REAL_FIELDS + 4

# Numbers of an interval, named as in `Root`, `Limit` and `Interval`; MADE_AT is the FRONTIER at which it was
# made, NEXT the interval after it that enters the same POLYGON, OUT the other half-edge of EDGE.
COST, ROOT_X, ROOT_Y, SIDE, IN_X, IN_Y, LEFT_X, LEFT_Y, RIGHT_X, RIGHT_Y, EXTRA, MADE_AT = range(12)
REAL_SIZE = 12
EDGE, PARENT, LEFT_VERTEX, RIGHT_VERTEX, ROOT, NEXT, POLYGON, OUT = range(8)
WHOLE_SIZE = 8


# What an expansion asks of each half-edge, side by side: looked up one by one in the arrays of the mesh, it
# costs as much as all that is done with it. `region` is that over a bridge, WALL where there is no portal,
# SAME over any other; `beyond` the polygon behind it. How many rows on others of its polygon are: `before`
# and `after` those beside it, `portal` the next round with a portal, 0 if there is no other.
HALF_EDGE = np.dtype(
    [
        *((name, np.float64) for name in ("x", "y", "width")),
        *((name, np.int32) for name in ("vertex", "twin", "region", "beyond")),
        *((name, np.int16) for name in ("before", "after", "portal")),
        ("is_wall", np.uint8),
        ("is_corner", np.uint8),
    ]
)
WALL, SAME = -2, -1
# What is known of a root, side by side for the same reason: the least known path to a corner with it on the
# left or on the right, the direction in which that reaches it, and the generation in which it was noted.
KNOWN_ROOT = np.dtype([*((name, np.float64) for name in ("cost", "in_x", "in_y")), ("generation", np.int64)])


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
    measure : (s, 11) float64
        The fields of all searches, and NEXT_BOUND .. PART_FROM. PIECE_BOUND is the least length of a path to
        NEXT_PIECE, PART_FROM how far of NEXT_PART is done, PRICE what each of the priced portals costs
        besides, RADIUS that at which paths are rounded, FRONTIER the least length of paths by intervals that
        were not made before the present expansion; HEURISTIC_WEIGHT is 1.
    first : (s + 1,) int64
    real : (n, 12) float64, m
    whole : (n, 8) int32
    heap : (n,) int32
        4-ary heap of the intervals that wait.
    bound : (n,) float64, m
        Least length of a path by the interval at the same place of the heap.
    known : (s, 2 nv) KNOWN_ROOT
    oldest, newest : (s, np) int32
        Oldest and newest interval that enters a polygon.
    newest_stamp : (s, np) int64
    is_open : (s, nr) int64
        Generation in which a shortest path to the goal could lead over a region.
    priced : (s, 4) int32
        Half-edges of portals with a price, on either side; -1 is none.
    span : (s, 2 k) float32, m
        Between what the distances of the start to each landmark lie; of searches that no tree is kept of.
    sides : (ne,) HALF_EDGE
        The half-edges of the mesh.
    is_blind : (np,) uint8
        1 for polygons with one portal only: no path leads through them.
    clear_round : (nv,) float64, m
        Widest agent that can go round a vertex, as far as is known: see `measure_clear_round`.
    most_new : (1,) int64
        Most intervals that one expansion can make.
    forest : BottleneckForest
    regions : Regions
    landmarks : Landmarks
    """

    header: NDArray[np.int64]
    measure: NDArray[np.float64]
    first: NDArray[np.int64]
    real: NDArray[np.float64]
    whole: NDArray[np.int32]
    heap: NDArray[np.int32]
    bound: NDArray[np.float64]
    known: NDArray[Any]
    oldest: NDArray[np.int32]
    newest: NDArray[np.int32]
    newest_stamp: NDArray[np.int64]
    is_open: NDArray[np.int64]
    priced: NDArray[np.int32]
    span: NDArray[np.float32]
    sides: NDArray[Any]
    is_blind: NDArray[np.uint8]
    clear_round: NDArray[np.float64]
    most_new: NDArray[np.int64]
    forest: BottleneckForest
    regions: Regions
    landmarks: Landmarks


POOL_ARRAYS = ("real", "whole", "heap", "bound")
PAGE_ROWS = mmap.PAGESIZE // 4  # They fill whole pages in each of these arrays: 4 bytes a row at least.
MESH_ARRAYS = ("sides", "is_blind", "clear_round", "most_new", "forest", "regions", "landmarks")
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
    landmarks: Landmarks | None = None,
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
    landmarks : Landmarks, optional
        Of the mesh.
    """
    corners, room = 2 * len(mesh.vertex), np.broadcast_to(np.asarray(intervals, dtype=np.int64), slots)
    of_mesh = [getattr(like, name) for name in MESH_ARRAYS] if like is not None else _of_mesh(mesh, landmarks)
    first = _first_rows(np.maximum(room, reserve))
    rows = int(first[-1])
    made = IntervalSlots(
        np.zeros((slots, HEADER_SIZE), dtype=np.int64),
        np.zeros((slots, MEASURE_SIZE)),
        first,
        lazy_zeros((rows, REAL_SIZE), np.float64),
        lazy_zeros((rows, WHOLE_SIZE), np.int32),
        lazy_zeros(rows, np.int32),
        lazy_zeros(rows, np.float64),
        with_fields(lazy_zeros((slots, corners), KNOWN_ROOT)),
        lazy_zeros((slots, mesh.polygon_count), np.int32),
        lazy_zeros((slots, mesh.polygon_count), np.int32),
        lazy_zeros((slots, mesh.polygon_count)),
        lazy_zeros((slots, len(of_mesh[-2].above))),
        np.full((slots, MOST_PRICED), -1, dtype=np.int32),
        np.zeros((slots, 2 * int(of_mesh[-1].each[0])), dtype=np.float32),
        *of_mesh,
    )
    made.measure[:, HEURISTIC_WEIGHT] = 1.0
    made.header[:, ROOM] = room
    return made


def _of_mesh(mesh: NavMesh, landmarks: Landmarks | None) -> list[Any]:
    """Return MESH_ARRAYS."""
    is_blind = (np.add.reduceat(mesh.edge_twin >= 0, mesh.polygon_start[:-1]) < 2).astype(np.uint8)
    regions = find_regions(mesh)
    return [
        with_fields(list_sides(mesh, regions)),
        is_blind,
        measure_clear_round(mesh),
        np.array([3 * int(np.diff(mesh.polygon_start).max())], dtype=np.int64),
        build_forest(mesh),
        regions,
        NO_LANDMARKS if landmarks is None else landmarks,
    ]


def list_sides(mesh: NavMesh, regions: Regions) -> NDArray[Any]:
    """Return the half-edges of a mesh, (ne,) HALF_EDGE."""
    sides = np.zeros(mesh.edge_count, dtype=HALF_EDGE)
    sides["x"], sides["y"] = mesh.vertex[mesh.edge_vertex, :2].T
    sides["width"], sides["vertex"], sides["twin"] = mesh.edge_width, mesh.edge_vertex, mesh.edge_twin
    over = regions.of_polygon[mesh.edge_polygon[mesh.edge_twin]]
    is_bridge = over != regions.of_polygon[mesh.edge_polygon]
    sides["region"] = np.where(mesh.edge_twin < 0, WALL, np.where(is_bridge, over, SAME))
    sides["beyond"] = np.where(mesh.edge_twin < 0, NONE, mesh.edge_polygon[mesh.edge_twin])
    edge, first = np.arange(mesh.edge_count), mesh.polygon_start[mesh.edge_polygon]
    behind_last = mesh.polygon_start[mesh.edge_polygon + 1]
    sides["before"] = np.where(edge > first, edge, behind_last) - 1 - edge
    sides["after"] = np.where(edge + 1 < behind_last, edge + 1, first) - edge
    sides["portal"] = next_portal(mesh) - edge
    sides["is_wall"] = mesh.is_wall_vertex[mesh.edge_vertex]
    sides["is_corner"] = find_corners(mesh)[mesh.edge_vertex]
    return sides


def next_portal(mesh: NavMesh) -> NDArray[np.int64]:
    """Return for each half-edge the next one round its polygon with a portal, which may be itself;
    itself too where there is none.
    """
    edge, portal = np.arange(mesh.edge_count), np.flatnonzero(mesh.edge_twin >= 0)
    if not len(portal):
        return edge
    # the next one in the order of rows; behind the last of a polygon that is its first
    place = np.searchsorted(portal, edge, side="right")
    later = portal[np.minimum(place, len(portal) - 1)]
    is_own = (later > edge) & (mesh.edge_polygon[later] == mesh.edge_polygon)
    first = np.searchsorted(portal, mesh.polygon_start[mesh.edge_polygon])
    earliest = portal[np.minimum(first, len(portal) - 1)]
    has_any = mesh.edge_polygon[earliest] == mesh.edge_polygon
    return np.where(is_own, later, np.where(has_any, earliest, edge))


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
    scale = hypots(*arriving.T) * hypots(*leaving.T)
    is_corner[once] = arriving[:, 0] * leaving[:, 1] - arriving[:, 1] * leaving[:, 0] <= STRAIGHT * scale
    return is_corner


def measure_clear_round(mesh: NavMesh) -> NDArray[np.float64]:
    """Return for each vertex the width (m) of agents that can go round it from wherever they touch it:
    how far it is to the nearest side that does not end at it, of the polygons round it.

    Other walls lie behind those sides. Less than 0 where the boundary passes twice: there is ground round the
    vertex that hangs together nowhere near.
    """
    times = np.bincount(mesh.edge_vertex[mesh.edge_twin < 0], minlength=len(mesh.vertex))
    clear = np.where(times > 1, -1.0, np.inf)
    sides = np.diff(mesh.polygon_start)
    for count in np.unique(sides).tolist():
        first = mesh.polygon_start[:-1][sides == count]
        for i in range(count):
            vertex = mesh.edge_vertex[first + i]
            for j in range(i + 1, i + count - 1):
                edge = first + j % count
                x, y = mesh.vertex[vertex, :2].T
                a, b = mesh.vertex[mesh.edge_vertex[edge], :2], mesh.vertex[mesh.edge_end[edge], :2]
                along = b - a
                share = ((x - a[:, 0]) * along[:, 0] + (y - a[:, 1]) * along[:, 1]) / np.square(along).sum(1)
                near = a + np.clip(share, 0.0, 1.0)[:, None] * along
                np.minimum.at(clear, vertex, hypots(x - near[:, 0], y - near[:, 1]))
    return clear


def with_more_room(slots: IntervalSlots) -> IntervalSlots:
    """Return the slots with twice as much room for those that reported to be full. Where the pool has too few
    rows it is another one, and what is known goes along; the slots given know nothing then.
    """
    header, rows = slots.header, np.diff(slots.first)
    full = header[:, IS_FULL] == 1
    header[full, ROOM] *= 2
    header[:, IS_FULL] = 0
    if np.all(header[:, ROOM] <= rows):
        return slots
    first = _first_rows(np.maximum(header[:, ROOM], rows))
    grown: dict[str, Any] = {}
    for name in POOL_ARRAYS:
        old = getattr(slots, name)
        grown[name] = new = lazy_zeros((int(first[-1]), *old.shape[1:]), old.dtype)
        for begin, to, count in zip(
            slots.first.tolist(), first.tolist(), header[:, INTERVAL_COUNT].tolist(), strict=False
        ):
            move_rows(old, new, begin, to, count)
    return slots._replace(first=first, **grown)


def _first_rows(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where slots of at least so many rows each, (s,), begin in the pool, and where it ends, (s + 1,):
    each in pages of its own, if it has some.
    """
    whole = np.where(rows < PAGE_ROWS, rows, -(-rows // PAGE_ROWS) * PAGE_ROWS)
    return np.concatenate([[0], np.cumsum(whole)]).astype(np.int64)


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
        first, least = child, key[base + child]
        if child + 4 <= size:
            which, least, ties = least_of_four(
                least, key[base + child + 1], key[base + child + 2], key[base + child + 3]
            )
            first = child + which
        else:
            for other in range(child + 1, size):
                if key[base + other] < least:
                    first, least = other, key[base + other]
            ties = 2
        if ties > 1:
            for other in range(child, min(child + 4, size)):
                if key[base + other] == least and heap[base + other] > heap[base + first]:
                    first = other
        if not (least < bound or (least == bound and heap[base + first] > node)):
            break
        key[base + place], heap[base + place] = least, heap[base + first]
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
def side_after(sides, edge):
    """Return the half-edge that begins where one ends."""
    return edge + sides[edge].after


@inlined_kernel
def portal_at(sides, edge):
    """Return a half-edge as the portal that it is."""
    here, there = sides[edge], sides[side_after(sides, edge)]
    return Portal(
        here.x,
        here.y,
        there.x,
        there.y,
        np.int64(here.vertex),
        np.int64(there.vertex),
        here.is_wall,
        there.is_wall,
        here.is_corner,
        there.is_corner,
    )


@inlined_kernel
def turned_round(portal):
    """Return a portal as it is from the other side."""
    return Portal(
        portal.bx,
        portal.by,
        portal.ax,
        portal.ay,
        portal.b,
        portal.a,
        portal.b_wall,
        portal.a_wall,
        portal.b_corner,
        portal.a_corner,
    )


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
def _is_passed_sooner(slots, slot, root, cost):
    """Return whether a path that has the vertex of a root on its other side can have gone round it to where
    this one, which costs so much, reaches it, and still be shorter.

    Only where the agent fits between that vertex and all other walls.
    """
    known = slots.known[slot, root.kind ^ 1]
    if known.generation != slots.header[slot, GENERATION] or cost <= known.cost + LEAST_SLACK_M:
        return False
    if slots.clear_round[root.kind >> 1] < slots.measure[slot, WIDTH]:
        return False
    if root.side == 0.0:
        return True
    # the two touch the disc where it is on the left of the one and on the right of the other
    return cost > known.cost + LEAST_SLACK_M + abs(root.side) * angle_between(
        root.in_x, root.in_y, -known.in_x, -known.in_y
    )


@inlined_kernel
def is_reached_sooner(slots, slot, root, cost):
    """Return whether a shorter path is known to where a path that costs so much reaches a root."""
    if _is_passed_sooner(slots, slot, root, cost):
        return True
    known = slots.known[slot, root.kind]
    if known.generation != slots.header[slot, GENERATION] or cost <= known.cost:
        return False
    if root.side == 0.0:
        return True
    return cost > known.cost + abs(root.side) * angle_between(root.in_x, root.in_y, known.in_x, known.in_y)


@inlined_kernel
def note_bend(slots, slot, root, cost):
    """Note that a path bends round a root; return whether it may:
    not where as short a path has bent before.
    """
    if _is_passed_sooner(slots, slot, root, cost):
        return False
    known = slots.known[slot, root.kind]
    if known.generation == slots.header[slot, GENERATION] and cost >= known.cost:
        if root.side == 0.0:
            return False
        return cost < known.cost + abs(root.side) * angle_between(
            root.in_x, root.in_y, known.in_x, known.in_y
        )
    known.generation, known.cost = slots.header[slot, GENERATION], cost
    known.in_x, known.in_y = root.in_x, root.in_y
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
