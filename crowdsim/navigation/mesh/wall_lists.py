"""The walls of a mesh, and for each polygon the list of those that are near."""

# mypy: allow-untyped-defs

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.hypot import hypot
from crowdsim.geometry.lengths import hypots
from crowdsim.geometry.plane import segments_apart
from crowdsim.geometry.walls import Walls
from crowdsim.kernels.decorator import kernel, lean_kernel
from crowdsim.navigation.mesh.mesh import NavMesh, depth_in_polygon, height_at

ROUNDING = 1e-6  # Share of the reach: what is as far as the reach up to rounding is not beyond it.
# How far the vertices of one wall may lie off the line between its ends: feet do by rounding; far below what
# an agent keeps clear.
STRAIGHT_M = 1e-7


def make_walls(
    points: NDArray[np.float64],
    polygon_start: NDArray[np.int32],
    edge_vertex: NDArray[np.int32],
    edge_end: NDArray[np.int32],
    edge_polygon: NDArray[np.int32],
    edge_twin: NDArray[np.int32],
    wall_edges: NDArray[np.int64],
    layer: NDArray[np.int32],
) -> tuple[NDArray[np.int32], Walls]:
    """Join boundary edges that run on straight into walls;
    return the wall of each half-edge, and the walls without lists.
    """
    following = np.where(
        np.arange(len(edge_vertex)) + 1 == polygon_start[edge_polygon + 1],
        polygon_start[edge_polygon],
        np.arange(len(edge_vertex)) + 1,
    )
    is_wall = np.zeros(len(edge_vertex), dtype=bool)
    is_wall[wall_edges] = True
    after: dict[int, int] = {}
    before: dict[int, int] = {}
    for e in wall_edges.tolist():
        other = int(following[e])
        while edge_twin[other] >= 0:  # turn round the end vertex, through the polygons that meet there
            other = int(following[edge_twin[other]])
        if is_wall[other]:
            after[e], before[other] = other, e
    # Numbers in flat lists: lists in lists are what the garbage collector counts, and some thousands make it
    # look through all that the process has, 0.1 s.
    xy = points[:, :2]
    begin_x, begin_y = xy[edge_vertex].T.tolist()
    end_x, end_y = xy[edge_end].T.tolist()
    edge_layer = layer[edge_polygon].tolist()
    wall_of = [-1] * len(edge_vertex)
    firsts: list[int] = []
    lasts: list[int] = []

    def line_along(e: int) -> _StraightLine:
        return _StraightLine(begin_x[e], begin_y[e], end_x[e], end_y[e])

    # Chains begin at corners; where a wall closes without one, as a circle of many vertices does, anywhere.
    turns = _turns_off(xy, edge_vertex, edge_end, before)
    corners = [
        e
        for e in wall_edges.tolist()
        if e not in before
        or edge_layer[before[e]] != edge_layer[e]
        or e in turns
        or not line_along(before[e]).goes_on_to(end_x[e], end_y[e])
    ]
    is_corner = set(corners)
    for e in corners + wall_edges.tolist():
        while wall_of[e] < 0:
            wall_of[e], last = len(firsts), e
            line = line_along(e) if after.get(e) not in is_corner else None
            # A wall belongs to one floor: where a stair's wall goes on straight from that of a floor, another
            # begins.
            while (
                line is not None and (other := after.get(last, e)) != e and wall_of[other] < 0
                and edge_layer[other] == edge_layer[e] and line.goes_on_to(end_x[other], end_y[other])
            ):  # fmt: skip
                wall_of[other], last = len(firsts), other
            firsts.append(e)
            lasts.append(last)
            e = after.get(last, e)
    edge_wall = np.array(wall_of, dtype=np.int32)
    start, end = xy[edge_vertex[firsts]].reshape(-1, 2), xy[edge_end[lasts]].reshape(-1, 2)
    following_wall = np.array(
        [wall_of[after[last]] if last in after else -1 for last in lasts], dtype=np.int32
    )
    previous_wall = np.array(
        [wall_of[before[first]] if first in before else -1 for first in firsts], dtype=np.int32
    )
    into = start - start[previous_wall] if len(firsts) else start
    out = end - start
    corner = (previous_wall < 0) | (into[:, 0] * out[:, 1] - into[:, 1] * out[:, 0] <= 0.0)
    wall_layer = layer[edge_polygon[firsts]].astype(np.int32)
    none = np.zeros(0, dtype=np.int32)
    walls = Walls(
        np.ascontiguousarray(start),
        np.ascontiguousarray(end),
        previous_wall,
        following_wall,
        corner,
        wall_layer,
        np.zeros(1, dtype=np.int64),
        none,
        0.0,
    )
    return edge_wall, walls


def _turns_off(
    xy: NDArray[np.float64],
    edge_vertex: NDArray[np.int32],
    edge_end: NDArray[np.int32],
    before: Mapping[int, int],
) -> set[int]:
    """Return those of the edges that follow others, by these, that certainly do not go straight on:
    most do not, and for those no line is drawn.
    """
    edge = np.fromiter(before.keys(), dtype=np.int64, count=len(before))
    begin = xy[edge_vertex[np.fromiter(before.values(), dtype=np.int64, count=len(before))]]
    (dx, dy), (to_x, to_y) = (xy[edge_vertex[edge]] - begin).T, (xy[edge_end[edge]] - begin).T
    # of the end: its distances along the edge before and from its line, times that edge's length
    along, aside = to_x * dx + to_y * dy, to_y * dx - to_x * dy
    return set(edge[np.abs(aside) * hypots(dx, dy) > 2.0 * STRAIGHT_M * np.abs(along)].tolist())


class _StraightLine:
    """A line that is drawn on from vertex to vertex, as long as all of them lie within `STRAIGHT_M` of the
    line between its ends.

    Known of the vertices so far are the steepest and the flattest line from the begin that pass them all,
    against the line's first part.
    """

    def __init__(self, begin_x: float, begin_y: float, end_x: float, end_y: float) -> None:
        self._x, self._y, dx, dy = begin_x, begin_y, end_x - begin_x, end_y - begin_y
        self._along = math.hypot(dx, dy)
        self._ux, self._uy = dx / self._along, dy / self._along
        self._low, self._high = -STRAIGHT_M / self._along, STRAIGHT_M / self._along

    def goes_on_to(self, x: float, y: float) -> bool:
        """Take a vertex (m) on if the line goes straight on to it; return whether it does."""
        dx, dy = x - self._x, y - self._y
        along, aside = dx * self._ux + dy * self._uy, dy * self._ux - dx * self._uy
        if along <= self._along or not self._low * along <= aside <= self._high * along:
            return False
        self._along = along
        self._low, self._high = (
            max(self._low, (aside - STRAIGHT_M) / along),
            min(self._high, (aside + STRAIGHT_M) / along),
        )
        return True


@lean_kernel
def _comes_near(mesh, edge, polygon, reach):
    """Return whether an edge comes within `reach` (m) of a polygon's outline."""
    a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
    ax, ay, bx, by = mesh.vertex[a, 0], mesh.vertex[a, 1], mesh.vertex[b, 0], mesh.vertex[b, 1]
    # farther off than this in x or in y alone is beyond the reach, whatever is rounded
    far = reach * (1.0 + ROUNDING) + ROUNDING
    left, right, low, high = min(ax, bx) - far, max(ax, bx) + far, min(ay, by) - far, max(ay, by) + far
    for other in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
        c, d = mesh.edge_vertex[other], mesh.edge_end[other]
        cx, cy, dx, dy = mesh.vertex[c, 0], mesh.vertex[c, 1], mesh.vertex[d, 0], mesh.vertex[d, 1]
        if max(cx, dx) < left or min(cx, dx) > right or max(cy, dy) < low or min(cy, dy) > high:
            continue
        if segments_apart(ax, ay, bx, by, cx, cy, dx, dy) <= reach:
            return True
    return False


@lean_kernel
def _segment_to_polygon(mesh, ax, ay, bx, by, polygon):
    """Return the distance (m) between a segment and a polygon's outline."""
    best = np.inf
    for other in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
        c, d = mesh.edge_vertex[other], mesh.edge_end[other]
        best = min(
            best,
            segments_apart(
                ax,
                ay,
                bx,
                by,
                mesh.vertex[c, 0],
                mesh.vertex[c, 1],
                mesh.vertex[d, 0],
                mesh.vertex[d, 1],
            ),
        )
    return best


@lean_kernel
def _measure_discs(mesh, centre, radius):
    """Set for each polygon the middle of its vertices and the distance (m) of the farthest from it."""
    for polygon in range(radius.size):
        first, last = mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]
        x, y = 0.0, 0.0
        for edge in range(first, last):
            x += mesh.vertex[mesh.edge_vertex[edge], 0] / (last - first)
            y += mesh.vertex[mesh.edge_vertex[edge], 1] / (last - first)
        centre[polygon, 0], centre[polygon, 1], radius[polygon] = x, y, 0.0
        for edge in range(first, last):
            radius[polygon] = max(
                radius[polygon],
                hypot(mesh.vertex[mesh.edge_vertex[edge], 0] - x, mesh.vertex[mesh.edge_vertex[edge], 1] - y),
            )


@lean_kernel
def _is_within(mesh, edge, polygon, reach, centre, radius):
    """Return whether an edge comes within `reach` of a polygon;
    exact only where their middles do not tell.
    """
    middle = hypot(
        mesh.portal_point[edge, 0] - centre[polygon, 0], mesh.portal_point[edge, 1] - centre[polygon, 1]
    )
    if middle <= reach:
        return True
    a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
    half = 0.5 * hypot(mesh.vertex[a, 0] - mesh.vertex[b, 0], mesh.vertex[a, 1] - mesh.vertex[b, 1])
    return middle <= (reach + half + radius[polygon]) * (1.0 + 1e-9) and _comes_near(
        mesh, edge, polygon, reach
    )


@lean_kernel
def _over_ends(mesh, edge, polygon):
    """Return how far the ends of an edge lie over a polygon's plane (m)."""
    a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
    over_a = mesh.vertex[a, 2] - height_at(mesh, polygon, mesh.vertex[a, 0], mesh.vertex[a, 1])
    return over_a, mesh.vertex[b, 2] - height_at(mesh, polygon, mesh.vertex[b, 0], mesh.vertex[b, 1])


@lean_kernel
def _parts_beyond(mesh, edge, polygon, reach):
    """Return whether all of an edge that is `mesh.step` and more over or under a polygon's plane is farther
    than `reach` from the polygon.
    """
    a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
    ax, ay, bx, by = mesh.vertex[a, 0], mesh.vertex[a, 1], mesh.vertex[b, 0], mesh.vertex[b, 1]
    over_a, over_b = _over_ends(mesh, edge, polygon)
    for side in (1.0, -1.0):
        # from 0 on the edge is too high, or too low
        first, last = side * over_a - mesh.step, side * over_b - mesh.step
        if max(first, last) < 0.0:
            continue
        begin = 0.0 if first >= 0.0 else first / (first - last)
        end = 1.0 if last >= 0.0 else first / (first - last)
        x, y, to_x, to_y = (
            ax + begin * (bx - ax),
            ay + begin * (by - ay),
            ax + end * (bx - ax),
            ay + end * (by - ay),
        )
        if depth_in_polygon(mesh, polygon, x, y) >= 0.0 or _segment_to_polygon(
            mesh, x, y, to_x, to_y, polygon
        ) <= reach * (1.0 + ROUNDING):
            return False
    return True


@lean_kernel
def _is_on_ground_of(mesh, edge, polygon, reach, wall_first, wall_edge):
    """Return whether an edge lies at the height of a polygon's plane, up to `mesh.step`;
    or begins there, and all of its wall that does not is beyond `reach`.

    The wall of a long stair begins at its landing, where it counts, and ends a storey below, where it must
    not hinder agents that walk above it.
    """
    over_a, over_b = _over_ends(mesh, edge, polygon)
    if max(abs(over_a), abs(over_b)) < mesh.step:
        return True
    if min(abs(over_a), abs(over_b)) >= mesh.step:
        return False
    wall = mesh.edge_wall[edge]
    for entry in range(wall_first[wall], wall_first[wall + 1]):
        if not _parts_beyond(mesh, wall_edge[entry], polygon, reach):
            return False
    return True


def with_lists(mesh: NavMesh, walls: Walls, reach: float) -> Walls:
    """Return walls with the lists of those within `reach` (m) of each polygon, ascending in each zone."""
    count = len(walls.start)
    wall_edge = np.argsort(mesh.edge_wall, kind="stable")
    wall_first = np.searchsorted(mesh.edge_wall[wall_edge], np.arange(count + 1))
    start, wall = list_zone_walls(mesh, count, reach, wall_first, wall_edge)
    key = np.repeat(count * np.arange(len(start) - 1), np.diff(start))
    key += wall
    key.sort()
    key %= max(1, count)
    return walls._replace(zone_start=start, zone_wall=key.astype(np.int32), reach=reach)


def list_open_edges(mesh: NavMesh, reach: float) -> Walls:
    """Return the edges where the ground ends without a wall, as under exits, as walls of their own,
    with lists of those within `reach` (m) of each polygon.

    Walking holds centres of agents back there, and nothing else.
    """
    edges = np.flatnonzero((mesh.edge_twin < 0) & (mesh.edge_wall < 0))
    count, zones = len(edges), mesh.polygon_start.size - 1
    zone, edge = list_zones_near(mesh, edges, reach)
    order = np.lexsort((edge, zone))
    none = np.full(count, -1, dtype=np.int32)
    return Walls(
        np.ascontiguousarray(mesh.vertex[mesh.edge_vertex[edges], :2]),
        np.ascontiguousarray(mesh.vertex[mesh.edge_end[edges], :2]),
        none,
        none.copy(),
        np.ones(count, dtype=np.bool_),
        mesh.polygon_layer[mesh.edge_polygon[edges]].astype(np.int32),
        np.searchsorted(zone[order], np.arange(zones + 1)).astype(np.int64),
        edge[order],
        reach,
    )


@kernel
def list_zones_near(mesh, edges, reach):
    """List the polygons within `reach` of some edges that can be got at from them without leaving the ground.

    Parameters
    ----------
    mesh : NavMesh
    edges : (k,) int64
    reach : float, m

    Returns
    -------
    zone : (p,) int64
    number : (p,) int32
        Edge ``edges[number[i]]`` is near polygon ``zone[i]``; in no order that matters. Twin:
        `tests/reference/mesh.py`.
    """
    zones = mesh.polygon_start.size - 1
    seen = np.full(zones, -1, dtype=np.int64)
    stack = np.empty(zones, dtype=np.int64)
    zone, number, listed = np.empty(64, dtype=np.int64), np.empty(64, dtype=np.int32), 0
    for k in range(edges.size):
        edge = edges[k]
        a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
        stack[0] = mesh.edge_polygon[edge]
        seen[stack[0]] = k
        done, visited = 0, 1
        while done < visited:
            current = stack[done]
            done += 1
            if listed == zone.size:
                zone, number = np.append(zone, np.empty_like(zone)), np.append(number, np.empty_like(number))
            zone[listed], number[listed] = current, k
            listed += 1
            for portal in range(mesh.polygon_start[current], mesh.polygon_start[current + 1]):
                twin = mesh.edge_twin[portal]
                if twin < 0 or seen[mesh.edge_polygon[twin]] == k:
                    continue
                c, d = mesh.edge_vertex[portal], mesh.edge_end[portal]
                if (
                    segments_apart(
                        mesh.vertex[a, 0], mesh.vertex[a, 1], mesh.vertex[b, 0], mesh.vertex[b, 1],
                        mesh.vertex[c, 0], mesh.vertex[c, 1], mesh.vertex[d, 0], mesh.vertex[d, 1],
                    )
                    <= reach
                ):  # fmt: skip
                    seen[mesh.edge_polygon[twin]] = k
                    stack[visited] = mesh.edge_polygon[twin]
                    visited += 1
    return zone[:listed], number[:listed]


@kernel
def list_zone_walls(mesh, wall_count, reach, wall_first, wall_edge):
    """List for each polygon the walls of its ground within `reach` that can be got at without going through a
    wall.

    Parameters
    ----------
    mesh : NavMesh
    wall_count : int
    reach : float, m
    wall_first, wall_edge : (nw + 1,) int64 and (ne,) int64
        The edges of wall w are ``wall_edge[wall_first[w]:wall_first[w + 1]]``.

    Returns
    -------
    zone_start : (np + 1,) int64
    zone_wall : (k,) int32
        The walls of polygon p are ``zone_wall[zone_start[p]:zone_start[p + 1]]``, in the order in which they
        were found. Twin: `tests/reference/mesh.py`.
    """
    count = mesh.polygon_start.size - 1
    centre, radius = np.empty((count, 2)), np.empty(count)
    _measure_discs(mesh, centre, radius)
    zone_start = np.zeros(count + 1, dtype=np.int64)
    seen = np.full(count, -1, dtype=np.int64)
    listed = np.full(wall_count, -1, dtype=np.int64)
    stack = np.empty(count, dtype=np.int64)
    out = np.empty(64, dtype=np.int32)
    for zone in range(count):
        stack[0] = zone
        seen[zone] = zone
        done, visited, walls = 0, 1, zone_start[zone]
        while done < visited:
            current = stack[done]
            done += 1
            for edge in range(mesh.polygon_start[current], mesh.polygon_start[current + 1]):
                twin, wall = mesh.edge_twin[edge], mesh.edge_wall[edge]
                if twin < 0:
                    if (
                        wall < 0
                        or listed[wall] == zone
                        or not (current == zone or _is_within(mesh, edge, zone, reach, centre, radius))
                    ):
                        continue
                    if current == zone or _is_on_ground_of(mesh, edge, zone, reach, wall_first, wall_edge):
                        listed[wall] = zone
                        if walls == out.size:
                            grown = np.empty(2 * out.size, dtype=np.int32)
                            for slot in range(walls):
                                grown[slot] = out[slot]
                            out = grown
                        out[walls] = wall
                        walls += 1
                    continue
                other = mesh.edge_polygon[twin]
                if seen[other] != zone and (
                    current == zone or _is_within(mesh, edge, zone, reach, centre, radius)
                ):
                    seen[other] = zone
                    stack[visited] = other
                    visited += 1
        zone_start[zone + 1] = walls
    return zone_start, out[: zone_start[count]]
