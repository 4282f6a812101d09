"""What stationary agents shut on a mesh, drawn on what one search knows of it.

A centre may be in no disc of a share of a stationary agent's radius ([Pathfinding undated], section 6: 0.6).
Two discs that overlap, and a disc and a wall with no room for the agent between them, leave no path through:
a *barrier* joins them. Where a disc reaches into a portal, its *gaps* are what is left.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.geometry.hypot import hypot
from crowdsim.geometry.plane import distance_to_segment, nearest_on_segment
from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.navigation.stationary.slots import BARRIERS, GAPS, IS_FULL, POLYGONS, PORTALS, REACHES

LEAST_GAP_M = 1e-6  # What is left of a portal between two discs is a gap if it is longer.
_DISC_BITS = 24  # Of a reach; the polygon, or the portal, is above.
_DISC = (1 << _DISC_BITS) - 1


@lean_kernel
def sort_whole(values, slot, count):
    """Sort the first `count` whole numbers of row `slot` ascending, in place (heap sort: no room besides)."""
    for begin in range(count // 2 - 1, -1, -1):
        _sink(values, slot, begin, count)
    for end in range(count - 1, 0, -1):
        values[slot, 0], values[slot, end] = values[slot, end], values[slot, 0]
        _sink(values, slot, 0, end)


@inlined_kernel
def _sink(values, slot, place, count):
    value = values[slot, place]
    while True:
        child = 2 * place + 1
        if child >= count:
            break
        if child + 1 < count and values[slot, child + 1] > values[slot, child]:
            child += 1
        if values[slot, child] <= value:
            break
        values[slot, place] = values[slot, child]
        place = child
    values[slot, place] = value


@inlined_kernel
def _away(mesh, edge, x, y):
    """Return how far (m) a point is from an edge."""
    a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
    return distance_to_segment(
        x, y, mesh.vertex[a, 0], mesh.vertex[a, 1], mesh.vertex[b, 0], mesh.vertex[b, 1]
    )


@lean_kernel
def _note_reaches(slots, slot, mesh, stationary, first, last, radius, share):
    """Write which polygons each stationary agent reaches from its own over portals,
    so that other floors are none; return whether they fit.
    """
    reach, room, count = slots.reach, slots.reach.shape[1], 0
    for row in range(first, last):
        if stationary[row, 3] < 0.0:
            continue
        x, y, limit = stationary[row, 0], stationary[row, 1], share * stationary[row, 2] + radius
        begin = place = count
        if count >= room:
            return False
        reach[slot, count] = np.int64(stationary[row, 3]) << _DISC_BITS | (row - first)
        count += 1
        while place < count:
            polygon = reach[slot, place] >> _DISC_BITS
            for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
                twin = mesh.edge_twin[edge]
                if twin < 0 or _away(mesh, edge, x, y) >= limit:
                    continue
                key = np.int64(mesh.edge_polygon[twin]) << _DISC_BITS | (row - first)
                is_new = True
                for other in range(begin, count):
                    is_new = is_new and reach[slot, other] != key
                if is_new:
                    if count >= room:
                        return False
                    reach[slot, count] = key
                    count += 1
            place += 1
    slots.marks[slot, REACHES] = count
    sort_whole(reach, slot, count)
    return True


@inlined_kernel
def _add_barrier(slots, slot, node, other, ax, ay, bx, by):
    """Add a barrier; return whether it fits."""
    place = slots.marks[slot, BARRIERS]
    if place + 1 >= slots.barrier.shape[1]:
        return False
    (
        slots.barrier[slot, place, 0],
        slots.barrier[slot, place, 1],
        slots.barrier[slot, place, 2],
        slots.barrier[slot, place, 3],
    ) = ax, ay, bx, by
    slots.barrier_node[slot, place, 0], slots.barrier_node[slot, place, 1] = node, other
    slots.marks[slot, BARRIERS] = place + 1
    return True


@inlined_kernel
def root_of(slots, slot, node):
    """Return the first of all that are joined with a node, and whether the path there crosses the line an odd
    number of times.
    """
    flip = np.uint8(0)
    while slots.root[slot, node] != node:
        flip ^= slots.parity[slot, node]
        node = slots.root[slot, node]
    return node, flip


@lean_kernel
def _touch_rim(slots, slot, mesh, polygon, node, x, y, disc, radius):
    """Join a disc with what of a polygon's rim it leaves no room beside:
    walls, corners of walls, and portals that it reaches into.
    """
    for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
        a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
        ax, ay, bx, by = mesh.vertex[a, 0], mesh.vertex[a, 1], mesh.vertex[b, 0], mesh.vertex[b, 1]
        limit = disc + radius if mesh.edge_twin[edge] < 0 and mesh.edge_wall[edge] >= 0 else disc
        px, py = nearest_on_segment(x, y, ax, ay, bx, by)
        if hypot(px - x, py - y) < limit and not _add_barrier(slots, slot, node, 0, x, y, px, py):
            return False
        if (
            mesh.is_wall_vertex[a] == 1
            and hypot(ax - x, ay - y) < disc + radius
            and not _add_barrier(slots, slot, node, 0, x, y, ax, ay)
        ):
            return False
    return True


@lean_kernel
def _draw_in_polygon(slots, slot, mesh, stationary, first, begin, end, widest, radius, share):
    """Draw the barriers of one polygon, whose reaches are `begin` to `end` - 1; return whether they fit."""
    marks, reach = slots.marks, slots.reach
    polygon, before = reach[slot, begin] >> _DISC_BITS, marks[slot, BARRIERS]
    if end - begin + 1 > slots.root.shape[1] or marks[slot, POLYGONS] + 1 >= slots.polygon.shape[1]:
        return False
    for place in range(begin, end):
        row = first + (reach[slot, place] & _DISC)
        x, y, disc = stationary[row, 0], stationary[row, 1], share * stationary[row, 2]
        for other in range(place + 1, end):  # sorted by x
            their = first + (reach[slot, other] & _DISC)
            if stationary[their, 0] - x >= disc + widest:
                break
            overlap = (
                hypot(stationary[their, 0] - x, stationary[their, 1] - y)
                < disc + share * stationary[their, 2]
            )
            if overlap and not _add_barrier(
                slots,
                slot,
                place - begin + 1,
                other - begin + 1,
                x,
                y,
                stationary[their, 0],
                stationary[their, 1],
            ):
                return False
        if not _touch_rim(slots, slot, mesh, polygon, place - begin + 1, x, y, disc, radius):
            return False
    _keep_rings(slots, slot, before, end - begin + 1)
    if marks[slot, BARRIERS] > before:
        place = marks[slot, POLYGONS]
        slots.polygon[slot, place], slots.polygon_first[slot, place], slots.polygon_nodes[slot, place] = (
            polygon,
            before,
            end - begin + 1,
        )
        slots.polygon_first[slot, place + 1] = marks[slot, BARRIERS]
        marks[slot, POLYGONS] = place + 1
    return True


@lean_kernel
def _keep_rings(slots, slot, before, nodes):
    """Forget, of the barriers from `before` on, those of discs that close no ring, with the rim or without:
    they part nothing.
    """
    # of each cluster of discs: barriers less discs, and whether it touches the rim
    root, counts = slots.root, slots.span
    for node in range(nodes):
        root[slot, node], slots.parity[slot, node] = node, 0
        counts[slot, node, 0] = counts[slot, node, 1] = 0.0
    for barrier in range(before, slots.marks[slot, BARRIERS]):
        if slots.barrier_node[slot, barrier, 1] != 0:
            a, _ = root_of(slots, slot, slots.barrier_node[slot, barrier, 0])
            b, _ = root_of(slots, slot, slots.barrier_node[slot, barrier, 1])
            root[slot, max(a, b)] = min(a, b)
    for node in range(1, nodes):
        first, _ = root_of(slots, slot, node)
        counts[slot, first, 0] -= 1.0
    for barrier in range(before, slots.marks[slot, BARRIERS]):
        first, _ = root_of(slots, slot, slots.barrier_node[slot, barrier, 0])
        counts[slot, first, 0] += 1.0
        if slots.barrier_node[slot, barrier, 1] == 0:
            counts[slot, first, 1] = 1.0
    kept = before
    for barrier in range(before, slots.marks[slot, BARRIERS]):
        first, _ = root_of(slots, slot, slots.barrier_node[slot, barrier, 0])
        # A tree of n discs has n - 1 barriers; with the rim as another node, n.
        if counts[slot, first, 0] >= counts[slot, first, 1]:
            for i in range(4):
                slots.barrier[slot, kept, i] = slots.barrier[slot, barrier, i]
            slots.barrier_node[slot, kept, 0], slots.barrier_node[slot, kept, 1] = (
                slots.barrier_node[slot, barrier, 0],
                slots.barrier_node[slot, barrier, 1],
            )
            kept += 1
    slots.marks[slot, BARRIERS] = kept


@inlined_kernel
def _margin(mesh, vertex, radius):
    """Return how far (m) from a vertex a centre has to keep."""
    return radius if mesh.is_wall_vertex[vertex] == 1 else 0.0


@lean_kernel
def _cut_portal(slots, slot, mesh, stationary, first, begin, end, radius, share):
    """Write the gaps that are left of one portal, whose reaches are `begin` to `end` - 1;
    return whether they fit.
    """
    marks, span = slots.marks, slots.span
    edge = slots.reach[slot, begin] >> _DISC_BITS
    a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
    ax, ay = mesh.vertex[a, 0], mesh.vertex[a, 1]
    dx, dy = mesh.vertex[b, 0] - ax, mesh.vertex[b, 1] - ay
    length = hypot(dx, dy)
    dx, dy = dx / length, dy / length
    low, high = _margin(mesh, a, radius), length - _margin(mesh, b, radius)
    place, first_gap, count = marks[slot, PORTALS], marks[slot, GAPS], 0
    if place >= slots.portal.shape[1] or first_gap + end - begin + 1 > slots.gap.shape[1]:
        return False
    for i in range(begin, end):
        row = first + (slots.reach[slot, i] & _DISC)
        x, y, disc = stationary[row, 0] - ax, stationary[row, 1] - ay, share * stationary[row, 2]
        along, off = x * dx + y * dy, x * dy - y * dx
        half = np.sqrt(max(0.0, disc * disc - off * off))
        at = count
        while at > 0 and span[slot, at - 1, 0] > along - half:
            span[slot, at, 0], span[slot, at, 1] = span[slot, at - 1, 0], span[slot, at - 1, 1]
            at -= 1
        span[slot, at, 0], span[slot, at, 1] = along - half, along + half
        count += 1
    middle = (mesh.portal_point[edge, 0] - ax) * dx + (mesh.portal_point[edge, 1] - ay) * dy
    free, gap = low, first_gap
    for i in range(count + 1):
        begins = min(high, span[slot, i, 0]) if i < count else high
        if begins - free > LEAST_GAP_M:
            is_there = free < middle < begins
            at_m = 0.5 * (free + begins)
            slots.gap[slot, gap, 0] = mesh.portal_point[edge, 0] if is_there else ax + at_m * dx
            slots.gap[slot, gap, 1] = mesh.portal_point[edge, 1] if is_there else ay + at_m * dy
            slots.gap_portal[slot, gap] = edge
            gap += 1
        if i < count:
            free = max(free, span[slot, i, 1])
    slots.portal[slot, place], slots.portal_first[slot, place], slots.portal_gaps[slot, place] = (
        edge,
        first_gap,
        gap - first_gap,
    )
    marks[slot, PORTALS], marks[slot, GAPS] = place + 1, gap
    return True


@lean_kernel
def _note_portals(slots, slot, mesh, stationary, first, share):
    """Turn the reaches into polygons into reaches into portals, by the lower number of their half-edges;
    return whether they fit.
    """
    reach, count = slots.reach, slots.marks[slot, REACHES]
    end = count
    for place in range(count):
        row = first + (reach[slot, place] & _DISC)
        polygon = reach[slot, place] >> _DISC_BITS
        for edge in range(mesh.polygon_start[polygon], mesh.polygon_start[polygon + 1]):
            if (
                edge < mesh.edge_twin[edge]
                and _away(mesh, edge, stationary[row, 0], stationary[row, 1]) < share * stationary[row, 2]
            ):
                if end >= reach.shape[1]:
                    return False
                reach[slot, end] = np.int64(edge) << _DISC_BITS | (row - first)
                end += 1
    for place in range(count, end):
        reach[slot, place - count] = reach[slot, place]
    slots.marks[slot, REACHES] = end - count
    sort_whole(reach, slot, end - count)
    return True


@lean_kernel
def draw_barriers(slots, slot, mesh, stationary, first, last, radius, share):
    """Draw what stationary agents shut for a walker, for the search that is about to begin in a slot.

    Parameters
    ----------
    slots : StationarySlots
    slot : int
    mesh : NavMesh
    stationary : (k, 4) float64
        x, y (m), collision radius (m) and polygon (-1: nowhere) of agents; those of this search are rows
        `first` to `last` - 1, sorted by x.
    first, last : int
    radius : float, m
        Of the agent that looks for a path.
    share : float
        Part of the collision radius in which no other centre may be.

    Returns
    -------
    bool
        Whether it fits in the slot; if not, IS_FULL is 1.

    Notes
    -----
    Source: [Pathfinding undated], section 6, for a mesh. Twin: `tests/reference/stationary.py`.
    """
    marks = slots.marks
    marks[slot, REACHES] = marks[slot, POLYGONS] = marks[slot, BARRIERS] = marks[slot, PORTALS] = marks[
        slot, GAPS
    ] = marks[slot, IS_FULL] = 0
    widest = 0.0
    for row in range(first, last):
        widest = max(widest, share * stationary[row, 2])
    fits = _note_reaches(slots, slot, mesh, stationary, first, last, radius, share)
    begin = 0
    while fits and begin < marks[slot, REACHES]:
        end = begin
        while (
            end < marks[slot, REACHES]
            and slots.reach[slot, end] >> _DISC_BITS == slots.reach[slot, begin] >> _DISC_BITS
        ):
            end += 1
        fits = _draw_in_polygon(slots, slot, mesh, stationary, first, begin, end, widest, radius, share)
        begin = end
    fits = fits and _note_portals(slots, slot, mesh, stationary, first, share)
    begin = 0
    while fits and begin < marks[slot, REACHES]:
        end = begin
        while (
            end < marks[slot, REACHES]
            and slots.reach[slot, end] >> _DISC_BITS == slots.reach[slot, begin] >> _DISC_BITS
        ):
            end += 1
        fits = _cut_portal(slots, slot, mesh, stationary, first, begin, end, radius, share)
        begin = end
    marks[slot, IS_FULL] = 0 if fits else 1
    return fits
