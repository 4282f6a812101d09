"""What is in sight on a mesh: all that a corner sees, and the polygons that one line of sight goes through.

Sight goes in straight lines over x and y and follows the mesh from polygon to polygon, up and down ramps; the
floor above is not in sight unless the mesh leads there. Bumps and pits between two points are not seen
([Norberg 2004], section 6.4).
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.hypot import hypot
from crowdsim.geometry.plane import orientation
from crowdsim.kernels.decorator import inlined_kernel, kernel, lean_kernel
from crowdsim.navigation.mesh.mesh import MOST_CROSSINGS

# Where there is no corner or polygon to name. A plain -1 would be a type of its own to numba, and compile
# every kernel anew.
NOWHERE = np.int64(-1)
# A line of sight may run this far into a wall: far above the rounding at coordinates of 1e7 m (2e-9), and
# lengths change by 1e-14 of it.
GRAZE_M = 1e-7


class Seen(NamedTuple):
    """What all corners see.

    Attributes
    ----------
    pair_start : (nc + 1,) int64
    pair : (k,) int32
        Corners that corner c sees: ``pair[pair_start[c]:pair_start[c + 1]]``, ascending.
    pvs_start : (np + 1,) int64
    pvs : (m,) int32
        Corners that see some of polygon p, ascending: its potentially visible set ([Norberg 2004], section
        4.3).
    visits : int
        Polygons looked into.
    fits : bool
        False if the lists would have been longer than allowed; they are then empty.
    """

    pair_start: NDArray[np.int64]
    pair: NDArray[np.int32]
    pvs_start: NDArray[np.int64]
    pvs: NDArray[np.int32]
    visits: int
    fits: bool


@kernel
def _append(array, count, value):
    """Put a value at a place of an array, and return the array:
    a longer one if the place is beyond its end.
    """
    if count == array.size:
        grown = np.empty(2 * array.size, dtype=np.int32)
        grown[:count] = array
        array = grown
    array[count] = value
    return array


@kernel
def _by_polygon(zone, zone_corner, zones, polygons):
    """Return for each polygon the corners that were noted for it, as (start, corners);
    those come ascending, and stay so.
    """
    start = np.zeros(polygons + 1, dtype=np.int64)
    for k in range(zones):
        start[zone[k] + 1] += 1
    for polygon in range(polygons):
        start[polygon + 1] += start[polygon]
    at = start[:polygons].copy()
    listed = np.empty(zones, dtype=np.int32)
    for k in range(zones):
        listed[at[zone[k]]] = zone_corner[k]
        at[zone[k]] += 1
    return start, listed


@kernel
def _note_zone(zone, zone_corner, zones, stamp, polygon, corner):
    """Note a polygon for a corner unless it is noted already; return the lists and their length."""
    if stamp[polygon] != corner:
        stamp[polygon] = corner
        zone, zone_corner, zones = (
            _append(zone, zones, polygon),
            _append(zone_corner, zones, corner),
            zones + 1,
        )
    return zone, zone_corner, zones


@lean_kernel
def _put_in_order(array, first, last):
    """Sort ``array[first:last]``, by insertion:
    corners that are met one after the other are mostly in order.
    """
    for i in range(first + 1, last):
        value, k = array[i], i
        while k > first and array[k - 1] > value:
            array[k] = array[k - 1]
            k -= 1
        array[k] = value


@lean_kernel
def narrow_window(mesh, x, y, edge, right, left):
    """Return what a window, from vertex `right` to vertex `left` as seen from (x, y),
    leaves open behind an edge: whether anything, and its two vertices.
    """
    rx, ry, lx, ly = mesh.vertex[right, 0], mesh.vertex[right, 1], mesh.vertex[left, 0], mesh.vertex[left, 1]
    a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
    ax, ay, bx, by = mesh.vertex[a, 0], mesh.vertex[a, 1], mesh.vertex[b, 0], mesh.vertex[b, 1]
    if orientation(x, y, rx, ry, ax, ay) >= 0.0:
        right, rx, ry = a, ax, ay
    if orientation(x, y, lx, ly, bx, by) <= 0.0:
        left, lx, ly = b, bx, by
    return orientation(x, y, rx, ry, lx, ly) > 0.0, right, left


@kernel
def see_all(mesh, corners, most):
    """Find for every corner what it sees: the mesh is unfolded from it, portal by portal,
    through the window that the portals before leave open.

    Parameters
    ----------
    mesh : NavMesh
    corners : Corners
    most : int
        Longest list that may be made.

    Returns
    -------
    Seen
        Two corners see each other if the straight line between them leaves the ground nowhere; along a wall
        counts.

    Notes
    -----
    Windows do not overlap, so the work is the number of polygons in sight; a straight line meets a polygon
    once, so the stack holds each edge once. Feet on walls lie off the line between its corners by rounding:
    corners count as seen within `GRAZE_M` of a window. Twin: `tests/reference/visibility.py`.
    """
    polygons, count = mesh.polygon_start.size - 1, corners.vertex.size
    pair_start = np.zeros(count + 1, dtype=np.int64)
    pair, place = np.empty(1024, dtype=np.int32), np.int64(0)
    zone, zone_corner, zones = np.empty(1024, dtype=np.int32), np.empty(1024, dtype=np.int32), 0
    corner_stamp, zone_stamp = np.full(count, -1, dtype=np.int64), np.full(polygons, -1, dtype=np.int64)
    stack = np.empty((mesh.edge_vertex.size + 1, 3), dtype=np.int32)
    visits = 0
    for corner in range(count):
        ux, uy = corners.position[corner, 0], corners.position[corner, 1]
        corner_stamp[corner] = corner
        depth, first = 0, place
        for fan in range(corners.fan_start[corner], corners.fan_start[corner + 1]):
            polygon = mesh.edge_polygon[corners.fan_edge[fan]]
            zone, zone_corner, zones = _note_zone(zone, zone_corner, zones, zone_stamp, polygon, corner)
            for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
                other = corners.at_edge[edge]
                if other >= 0 and corner_stamp[other] != corner:
                    corner_stamp[other] = corner
                    pair = _append(pair, place, other)
                    place += 1
                a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
                if mesh.edge_twin[edge] >= 0 and a != corners.vertex[corner] and b != corners.vertex[corner]:
                    stack[depth, 0], stack[depth, 1], stack[depth, 2] = edge, a, b
                    depth += 1
        while depth > 0:
            depth -= 1
            entry, right, left = mesh.edge_twin[stack[depth, 0]], stack[depth, 1], stack[depth, 2]
            visits += 1
            rx, ry, lx, ly = (
                mesh.vertex[right, 0],
                mesh.vertex[right, 1],
                mesh.vertex[left, 0],
                mesh.vertex[left, 1],
            )
            graze_right, graze_left = (
                GRAZE_M * hypot(rx - ux, ry - uy),
                GRAZE_M * hypot(lx - ux, ly - uy),
            )
            polygon = mesh.edge_polygon[entry]
            zone, zone_corner, zones = _note_zone(zone, zone_corner, zones, zone_stamp, polygon, corner)
            for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
                if edge == entry:
                    continue
                other = corners.at_edge[edge]
                if other >= 0 and corner_stamp[other] != corner:
                    px, py = corners.position[other, 0], corners.position[other, 1]
                    if (
                        orientation(ux, uy, rx, ry, px, py) >= -graze_right
                        and orientation(ux, uy, lx, ly, px, py) <= graze_left
                    ):
                        corner_stamp[other] = corner
                        pair = _append(pair, place, other)
                        place += 1
                if mesh.edge_twin[edge] < 0:
                    continue
                is_open, new_right, new_left = narrow_window(mesh, ux, uy, edge, right, left)
                if is_open:
                    stack[depth, 0], stack[depth, 1], stack[depth, 2] = edge, new_right, new_left
                    depth += 1
        if place > most or zones > most:
            return Seen(
                pair_start, pair[:0].copy(), np.zeros(1, dtype=np.int64), zone[:0].copy(), visits, False
            )
        _put_in_order(pair, first, place)
        pair_start[corner + 1] = place
    pvs_start, pvs = _by_polygon(zone, zone_corner, zones, polygons)
    return Seen(pair_start, pair[:place].copy(), pvs_start, pvs, visits, True)


@lean_kernel
def trace_sight(mesh, corners, from_corner, polygon, ax, ay, to_corner, to_polygon, bx, by, crossed):
    """Follow the straight line from a to b over the mesh.

    Parameters
    ----------
    mesh : NavMesh
    corners : Corners
    from_corner : int
        The corner at a; -1 if a is a point of `polygon`.
    polygon : int
        Polygon of a; not looked at if a is a corner: the line then begins in a polygon of its fan.
    ax, ay : float, m
    to_corner, to_polygon : int
        The same for b.
    bx, by : float, m
    crossed : (k,) int32
        Receives the half-edges that the line crosses, in their order; the last place is scratch.

    Returns
    -------
    count : int
        How many it crosses; -1 if the line leaves the ground, by more than a grazing touch.
    first, last : int
        Polygons in which it begins and ends.

    Notes
    -----
    Where the line runs through vertices, within `GRAZE_M`, both sides are tried, the lower half-edge first.
    """
    dx, dy = bx - ax, by - ay
    graze = GRAZE_M * hypot(dx, dy)
    if from_corner < 0:
        return (
            _trace_from(mesh, corners, polygon, ax, ay, to_corner, to_polygon, bx, by, graze, crossed),
            polygon,
            _last_polygon(mesh, polygon, crossed),
        )
    for fan in range(corners.fan_start[from_corner], corners.fan_start[from_corner + 1]):
        first = np.int64(mesh.edge_polygon[corners.fan_edge[fan]])
        count = _trace_from(mesh, corners, first, ax, ay, to_corner, to_polygon, bx, by, graze, crossed)
        if count >= 0:
            return count, first, _last_polygon(mesh, first, crossed)
    return -1, -1, -1


@inlined_kernel
def _last_polygon(mesh, first, crossed):
    """Return where a line ends that has just been followed;
    the scratch place holds how many portals it crossed.
    """
    count = crossed[crossed.size - 1]
    return first if count <= 0 else np.int64(mesh.edge_polygon[mesh.edge_twin[crossed[count - 1]]])


@lean_kernel
def _is_end(mesh, corners, polygon, to_corner, to_polygon):
    """Return whether a line of sight may end in a polygon."""
    if to_corner < 0:
        return polygon == to_polygon
    for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
        if corners.at_edge[edge] == to_corner:
            return True
    return False


@lean_kernel
def _trace_from(mesh, corners, first, ax, ay, to_corner, to_polygon, bx, by, graze, crossed):
    """Follow a line from a polygon by depth-first search over the portals that it meets;
    return the portals crossed, -1 if it leaves the ground.
    """
    most = crossed.size - 1
    count, polygon = 0, first
    edge = np.int64(mesh.polygon_start[first])
    crossed[most] = 0
    for _ in range(MOST_CROSSINGS):
        if edge == mesh.polygon_start[polygon] and _is_end(mesh, corners, polygon, to_corner, to_polygon):
            crossed[most] = count
            return count
        last = mesh.polygon_start[polygon + 1]
        entry = mesh.edge_twin[crossed[count - 1]] if count > 0 else -1
        while edge < last and (
            edge == entry or mesh.edge_twin[edge] < 0 or not _meets(mesh, edge, ax, ay, bx, by, graze)
        ):
            edge += 1
        if edge < last and count < most:
            crossed[count] = edge
            count += 1
            polygon = np.int64(mesh.edge_polygon[mesh.edge_twin[edge]])
            edge = np.int64(mesh.polygon_start[polygon])
            continue
        if count == 0:
            return -1
        # A dead end behind a vertex on the line: back, and on with the next edge.
        count -= 1
        edge = np.int64(crossed[count]) + 1
        polygon = np.int64(mesh.edge_polygon[crossed[count]])
    return -1


@inlined_kernel
def _meets(mesh, edge, ax, ay, bx, by, graze):
    """Return whether the line from a to b goes out over an edge, ends included,
    within the grazing distance.
    """
    p, q = mesh.edge_vertex[edge], mesh.edge_end[edge]
    px, py, qx, qy = mesh.vertex[p, 0], mesh.vertex[p, 1], mesh.vertex[q, 0], mesh.vertex[q, 1]
    if orientation(ax, ay, bx, by, px, py) > graze or orientation(ax, ay, bx, by, qx, qy) < -graze:
        return False
    reach = GRAZE_M * hypot(qx - px, qy - py)
    return orientation(px, py, qx, qy, bx, by) <= reach and orientation(px, py, qx, qy, ax, ay) >= -reach
