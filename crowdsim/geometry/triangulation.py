"""Constrained Delaunay triangulation of walkable ground, with a vertex at the foot of every gap.

A disc of radius r can pass between two bits of wall exactly if they are 2 r apart where they are nearest.
Such a nearest place is a *gap*: a segment from a corner that sticks out into free ground to another corner
or, at a right angle, to a wall, whose diametral disc is empty. These are the saddles of the distance to the
walls, so the ground that a disc can reach changes only there. A gap between two corners is always an edge of
a Delaunay triangulation. A gap between a corner and the inside of a wall is not; it becomes one when the wall
gets a vertex at the foot.

With all gaps among its edges, a triangulation answers for every radius at once: a disc can follow a sequence
of triangles exactly if each edge that it crosses is at least 2 r long (an edge ends at walls, so a shorter
one cannot be crossed at all; and a path that crosses no short gap can be pushed away from the walls along the
gradient of their distance until it is r away everywhere). Compare [Demyen 2006], whose widths of triangles
miss gaps between a corner and a wall further on, and [Kallmann 2014], which refines the triangulation for the
same purpose.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.errors import NavigationError
from crowdsim.geometry.hypot import hypot
from crowdsim.geometry.lengths import hypots
from crowdsim.geometry.plane import in_circle_for_sure, turns_left_for_sure
from crowdsim.geometry.steps import Steps, at_once
from crowdsim.kernels.decorator import kernel

# Feet nearer to each other or to a corner than this are one: radii are known far less well, and triangles
# stay well shaped.
FOOT_SPACING_M = 1e-6
# A corner's foot that misses the end of an edge by less than this share of its length still counts as on it;
# covers rounding.
SHARE_SLACK = 1e-9
# A diametral disc counts as empty if no wall comes nearer to its centre than (1 - slack) times its radius,
EMPTY_DISC_SLACK = 1e-9
# and this part of the coordinates, whose last digit is 2e-16 of them: 5 nanometres at UTM coordinates. Too
# many feet do no harm.
ROUNDING = 1e-15


@dataclass(frozen=True)
class Triangulation:
    """Triangles that cover walkable ground.

    Attributes
    ----------
    vertices : (nv, 2) float64, m
    triangles : (nt, 3) int32
        Counter-clockwise.
    neighbours : (nt, 3) int32
        Triangle on the other side of the edge from corner i to corner i + 1; -1 at the boundary.
    """

    vertices: NDArray[np.float64]
    triangles: NDArray[np.int32]
    neighbours: NDArray[np.int32]


def triangulate(
    ground: Any, *, openings: Any = None, widest_gap: float, most_holes: float = np.inf
) -> Triangulation:
    """Triangulate walkable ground so that every gap is an edge.

    Parameters
    ----------
    ground : shapely Polygon or MultiPolygon
        Valid; m.
    openings : shapely geometry, optional
        Boundary inside it is open (an exit), not a wall: nothing has to keep clear of it.
    widest_gap : float, m
        Wall feet are made for gaps up to this width: twice the largest radius that will ask. Larger makes
        more triangles.
    most_holes : int
        Ground with more is triangulated in pieces first, in a time that grows with their number and not with
        its square; of corners on one circle others may be joined then.

    Raises
    ------
    NavigationError
        If the ground is empty or its triangulation does not cover it.
    """
    return at_once(
        triangulation_steps(ground, openings=openings, widest_gap=widest_gap, most_holes=most_holes)
    )


def triangulation_steps(
    ground: Any, *, openings: Any = None, widest_gap: float, most_holes: float = np.inf
) -> Steps[Triangulation]:
    """Triangulate as `triangulate` does, resting between steps.

    Yields
    ------
    str
        What was done last: ``triangles``, ``delaunay``, ``feet``.
    """
    if ground.is_empty or not ground.area > 0.0:
        raise NavigationError(
            "the walkable ground is empty: its polygons have no area, or the obstacles cover all of it"
        )
    parts = [
        in_pieces(part) if shapely.get_num_interior_rings(part) > most_holes else part
        for part in shapely.get_parts(ground)
    ]
    collection = shapely.constrained_delaunay_triangles(parts)
    corners = shapely.get_coordinates(collection).reshape(-1, 4, 2)[:, :3]
    vertices, index = np.unique(corners.reshape(-1, 2), axis=0, return_inverse=True)
    triangles = in_fixed_order(vertices, index.reshape(-1, 3).astype(np.int32))
    _check_cover(vertices, triangles, ground)
    neighbours = neighbours_of(triangles)
    yield "triangles"
    make_delaunay(vertices, triangles, neighbours)
    yield "delaunay"
    vertices, triangles, neighbours = _add_feet(vertices, triangles, neighbours, openings, widest_gap)
    yield "feet"
    make_delaunay(vertices, triangles, neighbours)
    return Triangulation(vertices, triangles, neighbours)


def in_pieces(ground: Any) -> Any:
    """Return ground as pieces between the same vertices, without holes: the library joins hole after hole to
    the outline, and takes a minute for 30,000.

    The pieces end at the boundary, and at those edges of the Delaunay triangulation of its vertices that lead
    from ring to ring and do not cross it: most are triangles already, and whatever has corners on one ring
    alone is a hole. Where rings touch pieces may not cover the ground; then it is returned as it is.

    Parameters
    ----------
    ground : shapely Polygon, m
        Valid, with holes.
    """
    points, ring = shapely.get_coordinates(shapely.get_rings(ground), return_index=True)
    # as complex numbers points are sorted by x, then y
    place = points[:, 0] + 1j * points[:, 1]
    vertex, first = np.unique(place, return_index=True)
    number, ring_of = np.searchsorted(vertex, place), ring[first]
    goes_on = np.flatnonzero(ring[:-1] == ring[1:])
    walls = np.sort(np.column_stack([number[goes_on], number[goes_on + 1]]), axis=1)
    ends = shapely.get_coordinates(shapely.delaunay_triangles(shapely.multipoints(points), only_edges=True))
    edges = np.sort(np.searchsorted(vertex, ends[:, 0] + 1j * ends[:, 1]).reshape(-1, 2), axis=1)
    is_in_net = np.isin(walls @ (len(vertex), 1), edges @ (len(vertex), 1))
    edges = edges[ring_of[edges[:, 0]] != ring_of[edges[:, 1]]]
    xy = np.column_stack([vertex.real, vertex.imag])
    free, boundary = shapely.linestrings(xy[edges]), shapely.linestrings(xy[walls])
    across, _ = shapely.STRtree(boundary[~is_in_net]).query(free, predicate="crosses")
    faces = shapely.get_parts(shapely.polygonize(np.concatenate([boundary, np.delete(free, across)])))
    corners, face = shapely.get_coordinates(faces, return_index=True)
    corner_ring = ring_of[np.searchsorted(vertex, corners[:, 0] + 1j * corners[:, 1])]
    starts = np.searchsorted(face, np.arange(len(faces)))
    faces = faces[np.minimum.reduceat(corner_ring, starts) != np.maximum.reduceat(corner_ring, starts)]
    is_whole = abs(float(shapely.area(faces).sum()) - ground.area) <= 1e-9 * ground.area
    return shapely.multipolygons(faces) if is_whole else ground


def in_fixed_order(vertices: NDArray[np.float64], triangles: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the triangles counter-clockwise, each from its lowest vertex on, sorted:
    the library's order is not part of its contract.
    """
    a, b, c = (vertices[triangles[:, i]] for i in range(3))
    area = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    triangles = triangles[area != 0.0]
    clockwise = area[area != 0.0] < 0.0
    triangles[clockwise] = triangles[clockwise][:, ::-1]
    first = np.argmin(triangles, axis=1)
    triangles = np.take_along_axis(triangles, (first[:, None] + np.arange(3)) % 3, axis=1)
    return np.ascontiguousarray(triangles[np.lexsort(triangles.T[::-1])])


def _check_cover(vertices: NDArray[np.float64], triangles: NDArray[np.int32], ground: Any) -> None:
    a, b, c = (vertices[triangles[:, i]] for i in range(3))
    covered = 0.5 * float(
        np.sum((b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0]))
    )
    if abs(covered - ground.area) > 1e-9 * ground.area + 1e-9:
        raise NavigationError(
            f"the triangles cover {covered:.6f} m2, but the walkable ground has {ground.area:.6f} m2; "
            "look for spikes or walls that overlap themselves in the plan, or simplify it by 1 mm"
        )


def neighbours_of(triangles: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return for each edge of each triangle the triangle that shares it, -1 where none does, shape (nt,
    3).
    """
    count = len(triangles)
    start = triangles.reshape(-1).astype(np.int64)
    end = np.roll(triangles, -1, axis=1).reshape(-1).astype(np.int64)
    size = int(triangles.max()) + 1
    forward, backward = start * size + end, end * size + start
    order = np.argsort(forward, kind="stable")
    if np.any(np.diff(forward[order]) == 0):
        raise NavigationError(
            "two triangles of the ground lie on the same side of an edge; the plan overlaps itself"
        )
    place = np.minimum(np.searchsorted(forward[order], backward), len(order) - 1)
    other = order[place]
    found = forward[other] == backward
    return np.where(found, other // 3, -1).astype(np.int32).reshape(count, 3)


@kernel
def make_delaunay(vertices, triangles, neighbours):
    """Flip inner edges until none has a corner certainly inside a neighbour's circle ([Lawson 1977]).

    Parameters
    ----------
    vertices : (nv, 2) float64, m
    triangles, neighbours : (nt, 3) int32
        Changed in place. Boundary edges stay.

    Returns
    -------
    int
        Number of flips.

    Notes
    -----
    Only flips that the error-bounded predicates are sure of are made; each raises the triangulation in
    Lawson's order, so the process ends. Twin: `tests/reference/triangulation.py` (brute-force check of the
    empty-circle property).
    """
    count = triangles.shape[0]
    stack = np.empty(count * 3 + 16, dtype=np.int64)
    queued = np.ones(count * 3, dtype=np.uint8)
    for slot in range(count * 3):
        stack[slot] = count * 3 - 1 - slot
    top = count * 3
    flips = 0
    while top > 0:
        top -= 1
        slot = stack[top]
        queued[slot] = 0
        t, i = slot // 3, slot % 3
        o = neighbours[t, i]
        if o < 0:
            continue
        j = 0
        while neighbours[o, j] != t or triangles[o, j] != triangles[t, (i + 1) % 3]:
            j += 1
        a, b, apex = triangles[t, i], triangles[t, (i + 1) % 3], triangles[t, (i + 2) % 3]
        far = triangles[o, (j + 2) % 3]
        ax, ay, bx, by = vertices[a, 0], vertices[a, 1], vertices[b, 0], vertices[b, 1]
        px, py, qx, qy = vertices[apex, 0], vertices[apex, 1], vertices[far, 0], vertices[far, 1]
        if not in_circle_for_sure(ax, ay, bx, by, px, py, qx, qy):
            continue
        if not (turns_left_for_sure(ax, ay, qx, qy, px, py) and turns_left_for_sure(bx, by, px, py, qx, qy)):
            continue
        # Triangles (a, b, apex) and (b, a, far) become (a, far, apex) and (b, apex, far).
        n_b_apex, n_apex_a = neighbours[t, (i + 1) % 3], neighbours[t, (i + 2) % 3]
        n_a_far, n_far_b = neighbours[o, (j + 1) % 3], neighbours[o, (j + 2) % 3]
        triangles[t, 0], triangles[t, 1], triangles[t, 2] = a, far, apex
        neighbours[t, 0], neighbours[t, 1], neighbours[t, 2] = n_a_far, o, n_apex_a
        triangles[o, 0], triangles[o, 1], triangles[o, 2] = b, apex, far
        neighbours[o, 0], neighbours[o, 1], neighbours[o, 2] = n_b_apex, t, n_far_b
        if n_a_far >= 0:
            for k in range(3):
                if (
                    neighbours[n_a_far, k] == o
                    and triangles[n_a_far, k] == far
                    and triangles[n_a_far, (k + 1) % 3] == a
                ):
                    neighbours[n_a_far, k] = t
        if n_b_apex >= 0:
            for k in range(3):
                if (
                    neighbours[n_b_apex, k] == t
                    and triangles[n_b_apex, k] == apex
                    and triangles[n_b_apex, (k + 1) % 3] == b
                ):
                    neighbours[n_b_apex, k] = o
        flips += 1
        for changed in (t * 3, t * 3 + 2, o * 3, o * 3 + 2):
            if queued[changed] == 0:
                queued[changed] = 1
                stack[top] = changed
                top += 1
    return flips


@kernel
def find_feet(
    vertices, triangles, neighbours, is_wall, sticks_out, widest_gap, out_slot, out_along, out_height
):
    """Find the feet, inside walls, of corners that may have a gap there.

    Parameters
    ----------
    vertices : (nv, 2) float64, m
    triangles, neighbours : (nt, 3) int32
        Constrained Delaunay, see `triangulation`.
    is_wall : (nt, 3) uint8
        1 for boundary edges that are walls.
    sticks_out : (nv,) uint8
        1 for vertices that can be the near end of a gap.
    widest_gap : float, m
    out_slot : (k,) int64
        Receives ``3 t + i`` of the walls that carry feet; those beyond its size are only counted.
    out_along : (k,) float64, 0..1
        Receives where on the wall the foot is.
    out_height : (k,) float64, m
        Receives the distance from the corner.

    Returns
    -------
    int
        Number of feet.

    Notes
    -----
    From a corner the triangles are followed outwards, over edges that have the corner's foot between their
    ends: where the angle at an end is above 90 degrees, this end lies in every disc whose diameter goes from
    the corner over the edge. So all feet of gaps are found, and some where something else reaches into the
    disc. Twin: `tests/reference/gaps.py`.
    """
    queue = np.empty(3 * triangles.shape[0] + 3, dtype=np.int64)
    found = 0
    for first in range(3 * triangles.shape[0]):
        corner = triangles[first // 3, first % 3]
        if sticks_out[corner] == 0:
            continue
        px, py = vertices[corner, 0], vertices[corner, 1]
        queue[0] = 3 * (first // 3) + (first + 1) % 3
        seen, done = 1, 0
        while done < seen:
            t, i = queue[done] // 3, queue[done] % 3
            a, b = triangles[t, i], triangles[t, (i + 1) % 3]
            done += 1
            ax, ay = vertices[a, 0], vertices[a, 1]
            dx, dy = vertices[b, 0] - ax, vertices[b, 1] - ay
            length = hypot(dx, dy)
            along = ((px - ax) * dx + (py - ay) * dy) / (length * length)
            height = (dx * (py - ay) - dy * (px - ax)) / length
            if along < -SHARE_SLACK or along > 1.0 + SHARE_SLACK or height > widest_gap:
                continue
            other = neighbours[t, i]
            if other >= 0:
                j = 0
                while neighbours[other, j] != t or triangles[other, j] != b:
                    j += 1
                for side in ((j + 1) % 3, (j + 2) % 3):
                    if seen < queue.size:
                        queue[seen] = 3 * other + side
                        seen += 1
                continue
            spacing = FOOT_SPACING_M / length
            if is_wall[t, i] == 0 or along <= spacing or along >= 1.0 - spacing or height <= FOOT_SPACING_M:
                continue
            if found < out_slot.size:
                out_slot[found], out_along[found] = 3 * t + i, along
                out_height[found] = height
            found += 1
    return found


def _add_feet(
    vertices: NDArray[np.float64],
    triangles: NDArray[np.int32],
    neighbours: NDArray[np.int32],
    openings: Any,
    widest_gap: float,
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int32]]:
    """Split wall edges at the feet of gaps; return the three arrays anew, not yet Delaunay."""
    owner, side = np.nonzero(neighbours < 0)
    start, end = triangles[owner, side], triangles[owner, (side + 1) % 3]
    wall = ~is_open(vertices[start], vertices[end], openings)
    owner, side, start, end = owner[wall], side[wall], start[wall], end[wall]
    is_wall = np.zeros(triangles.shape, dtype=np.uint8)
    is_wall[owner, side] = 1
    sticks_out = np.zeros(len(vertices), dtype=np.uint8)
    sticks_out[np.concatenate([start, end])[_sticks_out(vertices, start, end)]] = 1
    slot, along = _gap_feet(vertices, triangles, neighbours, is_wall, sticks_out, widest_gap)
    if not len(slot):
        return vertices, triangles, neighbours
    begin, finish = triangles[slot // 3, slot % 3], triangles[slot // 3, (slot % 3 + 1) % 3]
    points = vertices[begin] + along[:, None] * (vertices[finish] - vertices[begin])
    all_vertices = np.concatenate([vertices, points])
    new_triangles = triangles.tolist()
    # wall -> the triangle that has its last part, and where this part begins, as feet are put in one after
    # the other
    place: dict[int, tuple[int, int]] = {}
    for number, wall_slot in enumerate(slot.tolist()):
        foot = len(vertices) + number
        t, a = place.get(wall_slot, (wall_slot // 3, int(begin[number])))
        corners = new_triangles[t]
        i = corners.index(a)
        b, apex = corners[(i + 1) % 3], corners[(i + 2) % 3]
        new_triangles[t] = [a, foot, apex]
        new_triangles.append([foot, b, apex])
        place[wall_slot] = (len(new_triangles) - 1, foot)
    grown = np.array(new_triangles, dtype=np.int32)
    return all_vertices, grown, neighbours_of(grown)


def _gap_feet(
    vertices: NDArray[np.float64],
    triangles: NDArray[np.int32],
    neighbours: NDArray[np.int32],
    is_wall: NDArray[np.uint8],
    sticks_out: NDArray[np.uint8],
    widest_gap: float,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the walls with feet of gaps and where on them, ascending;
    of feet that are too near to each other the first.
    """
    size = 4 * len(triangles)
    while True:
        slot, along, height = np.empty(size, dtype=np.int64), np.empty(size), np.empty(size)
        found = find_feet(
            vertices, triangles, neighbours, is_wall, sticks_out, widest_gap, slot, along, height
        )
        if found <= size:
            break
        size = found
    order = np.lexsort((along[:found], slot[:found]))
    slot, along, height = slot[order], along[order], height[order]
    start, end = vertices[triangles[slot // 3, slot % 3]], vertices[triangles[slot // 3, (slot % 3 + 1) % 3]]
    length = hypots(*(end - start).T)
    into = np.stack([start[:, 1] - end[:, 1], end[:, 0] - start[:, 0]], axis=1) / length[:, None]
    centre = start + along[:, None] * (end - start) + 0.5 * height[:, None] * into
    owner, side = np.nonzero(is_wall)
    tree = shapely.STRtree(
        shapely.linestrings(
            np.stack([vertices[triangles[owner, side]], vertices[triangles[owner, (side + 1) % 3]]], axis=1)
        )
    )
    (which, _), clearance = tree.query_nearest(
        shapely.points(centre), return_distance=True, all_matches=False
    )
    empty = np.zeros(found, dtype=np.bool_)
    empty[which] = (
        clearance >= 0.5 * height[which] * (1.0 - EMPTY_DISC_SLACK) - ROUNDING * np.abs(vertices).max()
    )
    slot, along, spacing = slot[empty], along[empty], FOOT_SPACING_M / length[empty]
    keep = np.ones(len(slot), dtype=np.bool_)
    last = -1
    for i in range(len(slot)):
        if last >= 0 and slot[last] == slot[i] and along[i] - along[last] < spacing[i]:
            keep[i] = False
        else:
            last = i
    return slot[keep], along[keep]


def is_open(start: NDArray[np.float64], end: NDArray[np.float64], openings: Any) -> NDArray[np.bool_]:
    """Return which boundary edges lie in an opening (their middle is inside or on it, to 1 micrometre),
    shape (n,).
    """
    if openings is None or openings.is_empty:
        return np.zeros(len(start), dtype=np.bool_)
    shapely.prepare(openings)
    return shapely.dwithin(shapely.points(0.5 * (start + end)), openings, 1e-6)


def _sticks_out(
    vertices: NDArray[np.float64], start: NDArray[np.int32], end: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """Return for the concatenation of starts and ends which can be the near end of a gap:
    corners above 180 degrees, and ends of open chains.

    A vertex where two boundaries touch has several walls on either side; it counts if any of them sticks out.
    """
    count = len(start)
    out = np.zeros(2 * count, dtype=np.bool_)
    begins: dict[int, list[int]] = {}
    for number, vertex in enumerate(start.tolist()):
        begins.setdefault(vertex, []).append(number)
    ended = set(end.tolist())
    for number, vertex in enumerate(end.tolist()):
        following = begins.get(vertex, [])
        before = vertices[vertex] - vertices[start[number]]
        out[count + number] = (
            not following
            or len(following) > 1
            or any(
                before[0] * (after := vertices[end[other]] - vertices[vertex])[1] - before[1] * after[0] < 0.0
                for other in following
            )
        )
    for number, vertex in enumerate(start.tolist()):
        out[number] = vertex not in ended
    return out
