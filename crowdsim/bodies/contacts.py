"""Contacts of discs and the pushes that part them; the kernels behind `crowdsim.bodies.separate`.

Everything is by slot (cell order). Sums are taken in whole numbers of 2**-40 m (1e-12 m), so that they do not
depend on the order of the terms: mirrored, turned and renumbered crowds give the same displacements bit for
bit.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from crowdsim.bodies.clearance import bent_along_walls, clear_of_walls
from crowdsim.geometry.cells import on_same_ground, plane_numbers, row_ahead, window
from crowdsim.kernels.decorator import inlined_kernel, kernel, lean_kernel
from crowdsim.kernels.simd import append_lanes, bit_count, bits, difference, load, numbers, prefetch, spread

FINE = 2.0**40  # Whole numbers per metre in sums; a crowd's overlaps may add up to 8,000 km.
# Gaps up to this are known after a scan: discs with wider ones are looked at again only when a disc has moved
# half of it.
LOOK_AHEAD_M = 0.05
# Overlaps up to a micrometre count as touching: they are not pushed apart, so that a crowd comes to rest and
# costs nothing then.
TOUCH_M = 1e-6
_LEAST_ALONG = 1e-6  # Share of a push that is rounding.
_SLACK_M = 1e-3  # Far above the float32 rounding of the coarse test.

_U0, _U16 = np.uint64(0), np.uint64(16)

# Columns of the contact table.
OVERLAP, NORMAL_X, NORMAL_Y, SCALE, PUSH_X, PUSH_Y = range(6)
TABLE_COLUMNS = 6

# Whether a disc can be pushed: it cannot, it can, or it is part of an obstacle, which keeps to its path: such
# discs may lie over one another.
FIXED, MOVABLE, DRIVEN = (np.uint8(code) for code in range(3))

# What is known of how a disc overlaps others: it was counted since they have moved; it has moved since; one
# beside it has.
COUNTED, MOVED, BESIDE = (np.uint8(code) for code in range(3))

# How a disc can yield to another: not at all, along a wall, or straight.
STAYS, BENT, STRAIGHT = range(3)


@inlined_kernel
def near_slots(
    cells_start,
    z,
    slope_x,
    slope_y,
    step,
    plane,
    per_metre,
    home_x,
    home_y,
    px,
    py,
    radius32,
    slot,
    reach,
    drift,
    margin,
    near,
):
    """List the slots whose discs come within `margin` of the disc at `slot`;
    return how many, -1 where `near` is too short.

    Discs are looked up where the index has them (`home`), and measured where they are now (`px`, `py`), up to
    `drift` away from there.
    """
    first_line, lines, first_column, columns, wrapped, row_mask, table_columns, first_cell = window(
        plane, per_metre, home_x[slot], home_y[slot], reach + drift + drift
    )
    x, y, found = px[slot], py[slot], _U0
    own, body = spread(np.int32(slot)), spread(radius32[slot] + np.float32(margin + _SLACK_M))
    most = np.uint64(near.size - 16)
    has_heights = z.size > 0
    while columns > 0:
        for line in range(first_line, first_line + lines):
            cell = first_cell + (line & row_mask) * table_columns + first_column
            begin, end = (
                np.uint64(cells_start[np.uint64(cell)]),
                np.uint64(cells_start[np.uint64(cell + columns)]),
            )
            limit = spread(np.int32(end))
            for first in range(begin, end, _U16):
                dx, dy = difference(px, first, x), difference(py, first, y)
                index, reach_of_pair = numbers() + spread(np.int32(first)), body + load(radius32, first)
                close = (index < limit) & (index != own) & (dx * dx + dy * dy < reach_of_pair * reach_of_pair)
                if has_heights and bits(close) != _U0:
                    close = close & on_same_ground(z, slope_x, slope_y, step, slot, first, dx, dy)
                if bits(close) != _U0:
                    append_lanes(near, found, close, index)
                    found += bit_count(bits(close))
                    if found > most:
                        return np.int64(-1)
        first_column, columns, wrapped = 0, wrapped, 0
    return np.int64(found)


@inlined_kernel
def _overlap(px, py, radius, i, j):
    """Return the overlap of two discs (negative:
    the gap) and the distance of their centres with its components from i to j.
    """
    dx, dy = px[j] - px[i], py[j] - py[i]
    distance = np.sqrt(dx * dx + dy * dy)
    return radius[i] + radius[j] - distance, distance, dx, dy


@kernel
def scan_contacts(start, stop, cells, now, capacity, widest, drift, moved, gap, count, deepest, total):
    """Count the overlaps of each disc.

    Parameters
    ----------
    start, stop : int
        Range of slots.
    cells : Cells
    now : Now
        Where the discs are now.
    capacity : int
        Neighbours of one disc that there is room for.
    widest, drift, moved : float, m
        Greatest radius; how far discs have moved since `cells` was built at most, and since their last scan.
    gap : (n,) float64, m
        In and out: least gap to another disc known at the last scan (capped at LOOK_AHEAD_M); discs whose gap
        cannot have closed are left out.
    count : (n,) int64
        Receives the number of overlaps deeper than TOUCH_M.
    deepest : (n,) float64, m
    total : (n,) int64, 2**-40 m
        Receive the deepest and the sum of overlaps.

    Returns
    -------
    overlaps : int
        The sum of `count` over the range; -1 where `capacity` does not suffice.
    depth : float, m
        The greatest of `deepest`.
    sum_of_depths : int, 2**-40 m
        The sum of `total`.

    Notes
    -----
    Twin: `tests/reference/separate.py`.
    """
    near = np.zeros(capacity + 32, np.uint32)
    if scan_with(start, stop, cells, now, widest, drift, moved, gap, count, deepest, total, near) < 0:
        return -1, 0.0, 0
    return sum_overlaps(start, stop, count, deepest, total)


@lean_kernel
def sum_overlaps(start, stop, count, deepest, total):
    """Return the sum of `count`, the greatest of `deepest` and the sum of `total`, for a range of slots, as
    `scan_contacts` writes them. Twin: `tests/reference/separate.py`.
    """
    overlaps, depth, sum_of_depths = 0, 0.0, 0
    for slot in range(np.uint64(start), np.uint64(stop)):
        overlaps += count[slot]
        depth = max(depth, deepest[slot])
        sum_of_depths += total[slot]
    return overlaps, depth, sum_of_depths


@lean_kernel
def scan_with(start, stop, cells, now, widest, drift, moved, gap, count, deepest, total, near):
    """Do what `scan_contacts` says, with a workspace."""
    home_x, home_y, cells_start, cells_plane, per_metre, origin, table = (
        cells.x,
        cells.y,
        cells.start,
        cells.plane,
        cells.per_metre,
        cells.origin,
        cells.shape,
    )
    z, slope_x, slope_y, step = cells.z, cells.slope_x, cells.slope_y, cells.step
    px, py, radius, radius32, movable = now
    for slot in range(np.uint64(start), np.uint64(stop)):
        gap[slot] -= moved + moved
        count[slot], deepest[slot], total[slot] = 0, 0.0, 0
        if gap[slot] > 0.0:
            continue
        plane = plane_numbers(origin, table, cells_plane[slot])
        reach = radius[slot] + widest + LOOK_AHEAD_M
        found = near_slots(
            cells_start,
            z,
            slope_x,
            slope_y,
            step,
            plane,
            per_metre,
            home_x,
            home_y,
            px,
            py,
            radius32,
            slot,
            reach,
            drift,
            LOOK_AHEAD_M,
            near,
        )
        if found < 0:
            return -1
        least = LOOK_AHEAD_M
        for place in range(found):
            neighbour = np.uint64(near[place])
            if movable[slot] == DRIVEN and movable[neighbour] == DRIVEN:
                continue
            overlap, _, _, _ = _overlap(px, py, radius, slot, neighbour)
            least = min(least, -overlap)
            if overlap > 0.0:
                deepest[slot] = max(deepest[slot], overlap)
                total[slot] += np.int64(overlap * FINE)
            if overlap > TOUCH_M:
                count[slot] += 1
        gap[slot] = least
    return 0


@inlined_kernel
def _normal(dx, dy, distance, row, other_row):
    """Return the unit vector from one disc to another;
    centres that coincide part along x, the lower entity towards +x.
    """
    if distance > 0.0:
        return dx / distance, dy / distance
    return (-1.0 if row < other_row else 1.0), 0.0


@inlined_kernel
def _along_immovables(cells_row, px, py, radius, movable, slot, row, near, found, ux, uy):
    """Return what is left of a push (ux, uy) of a disc that overlaps others that are never pushed:
    what does not bring it deeper into any of them.
    """
    most, most_x, most_y = 0.0, 0.0, 0.0
    for place in range(found):
        other = np.uint64(near[place])
        overlap, distance, dx, dy = _overlap(px, py, radius, slot, other)
        if movable[other] != MOVABLE and overlap > TOUCH_M:
            nx, ny = _normal(dx, dy, distance, row, cells_row[other])
            into = ux * nx + uy * ny
            if into > most:
                most, most_x, most_y = into, nx, ny
    if most == 0.0:
        return ux, uy
    ex, ey = ux - most * most_x, uy - most * most_y
    for place in range(found):
        other = np.uint64(near[place])
        overlap, distance, dx, dy = _overlap(px, py, radius, slot, other)
        if movable[other] != MOVABLE and overlap > TOUCH_M:
            nx, ny = _normal(dx, dy, distance, row, cells_row[other])
            if ex * nx + ey * ny > _LEAST_ALONG:
                return 0.0, 0.0
    return (ex, ey) if ex * ex + ey * ey > _LEAST_ALONG * _LEAST_ALONG else (0.0, 0.0)


@kernel
def list_contacts(
    start,
    stop,
    cells,
    now,
    capacity,
    widest,
    drift,
    barriers,
    zone,
    wall_distance,
    reach,
    count,
    first,
    other,
    can,
    table,
):
    """List the contacts of each disc, and whether the walls let it yield to each.

    Parameters
    ----------
    start, stop, cells, now, capacity, widest, drift : various
        As in `scan_contacts`.
    barriers : Barriers
    zone : (n,) int64
        Row of the wall lists, by row.
    wall_distance : (n,) float32, m
        Lower bound of the distance to any wall, by row, where the discs were when `cells` was built.
    reach : float, m
        The wall lists are whole within this distance of an agent; pushes that would need more are refused.
    count : (n,) int64
        How many contacts each disc has.
    first : (n + 1,) int64
        Receives where they are: contacts of slot i are ``first[i]:first[i + 1]``.
    other : (c,) uint32
        Receives the other slot.
    can : (c,) uint8
        Receives how the disc can yield by half the overlap, or by all of it for a disc that is never
        pushed, keep clear of walls, and come no deeper into discs that are never pushed: STAYS, BENT or
        STRAIGHT.
    table : (c, 6) float64
        Receives overlap (m), the unit vector towards the other disc, and where a push goes: the opposite
        vector, or what of it is along a wall.

    Notes
    -----
    Twin: `tests/reference/separate.py`.
    """
    near = np.zeros(capacity + 32, np.uint32)
    contact = np.int64(0)
    for slot in range(start):
        contact += count[slot]
    for slot in range(start, stop):
        first[slot] = contact
        contact += count[slot]
    first[stop] = contact  # which the next range writes as well
    _list_contacts(
        start,
        stop,
        cells,
        now,
        widest,
        drift,
        barriers,
        zone,
        wall_distance,
        reach,
        count,
        first,
        other,
        can,
        table,
        near,
    )


@lean_kernel
def _list_contacts(
    start,
    stop,
    cells,
    now,
    widest,
    drift,
    barriers,
    zone,
    wall_distance,
    reach,
    count,
    first,
    other,
    can,
    table,
    near,
):
    """Do what `list_contacts` says, with a workspace."""
    home_x, home_y, cells_start, cells_plane, per_metre, origin, planes, cells_row = (
        cells.x,
        cells.y,
        cells.start,
        cells.plane,
        cells.per_metre,
        cells.origin,
        cells.shape,
        cells.row,
    )
    z, slope_x, slope_y, step = cells.z, cells.slope_x, cells.slope_y, cells.step
    px, py, radius, radius32, movable = now
    for slot in range(np.uint64(start), np.uint64(stop)):
        if count[slot] == 0:
            continue
        contact = first[slot]
        plane = plane_numbers(origin, planes, cells_plane[slot])
        found = near_slots(
            cells_start,
            z,
            slope_x,
            slope_y,
            step,
            plane,
            per_metre,
            home_x,
            home_y,
            px,
            py,
            radius32,
            slot,
            radius[slot] + widest,
            drift,
            0.0,
            near,
        )
        row, is_beside_immovable = cells_row[slot], False
        for place in range(found):
            is_beside_immovable |= movable[np.uint64(near[place])] != MOVABLE
        for place in range(found):
            neighbour = np.uint64(near[place])
            if movable[slot] == DRIVEN and movable[neighbour] == DRIVEN:
                continue
            overlap, distance, dx, dy = _overlap(px, py, radius, slot, neighbour)
            if overlap > TOUCH_M:
                nx, ny = _normal(dx, dy, distance, row, cells_row[neighbour])
                other[contact] = np.uint32(neighbour)
                table[contact, OVERLAP], table[contact, NORMAL_X], table[contact, NORMAL_Y] = overlap, nx, ny
                manner, push_x, push_y = STAYS, -nx, -ny
                if movable[slot] == MOVABLE:
                    x, y, manner, alone = px[slot], py[slot], STRAIGHT, movable[neighbour] != MOVABLE
                    length = overlap if alone else 0.5 * overlap
                    dx, dy = -nx * length, -ny * length
                    if not clear_of_walls(
                        barriers,
                        zone[row],
                        wall_distance[row] - drift,
                        reach,
                        x,
                        y,
                        dx,
                        dy,
                        length,
                        radius[slot],
                    ):
                        ex, ey = bent_along_walls(
                            barriers, zone[row], reach, x, y, dx, dy, radius[slot], alone
                        )
                        manner, push_x, push_y = (
                            STAYS if ex == 0.0 and ey == 0.0 else BENT,
                            ex / length,
                            ey / length,
                        )
                    if is_beside_immovable and not alone and manner != STAYS:
                        ex, ey = _along_immovables(
                            cells_row, px, py, radius, movable, slot, row, near, found, push_x, push_y
                        )
                        if ex != push_x or ey != push_y:
                            dx, dy = ex * length, ey * length
                            is_clear = clear_of_walls(
                                barriers,
                                zone[row],
                                wall_distance[row] - drift,
                                reach,
                                x,
                                y,
                                dx,
                                dy,
                                length,
                                radius[slot],
                            )
                            manner, push_x, push_y = (
                                BENT if is_clear and (ex != 0.0 or ey != 0.0) else STAYS,
                                ex,
                                ey,
                            )
                can[contact], table[contact, PUSH_X], table[contact, PUSH_Y] = manner, push_x, push_y
                contact += 1


@kernel
def scale_pushes(
    start,
    stop,
    cells,
    now,
    capacity,
    widest,
    drift,
    barriers,
    zone,
    wall_distance,
    reach,
    first,
    other,
    can,
    table,
):
    """Find how much of each push keeps both the sum and the depth of the disc's overlaps from rising.

    Parameters
    ----------
    start, stop, cells, now, capacity, widest, drift, barriers, zone, wall_distance : various
    reach, first, other, can : various
        As `list_contacts` left them.
    table : (c, 6) float64
        All but the scale is read; receives the scale of each push: 1, 1/2, 1/4 or 0.

    Returns
    -------
    int
        -1 where `capacity` does not suffice, else 0.

    Notes
    -----
    A pair's overlap after a pass is at most s - n.(d_j - d_i), with s the signed overlap before, n the normal
    from i to j, d the displacements. This is the mean of s + 2 n.d_i and s - 2 n.d_j, and the positive part
    is convex; so no sum and no maximum over pairs rises if for each disc neither the sum nor the maximum over
    its neighbours of ``max(0, s + 2 n.d)`` is greater than at d = 0. Both are convex in d: where each single
    push keeps this, so does every average of the pushes. Neighbours that cannot move count with
    ``2 max(0, s + n.d)`` in the sum. Twin: `tests/reference/separate.py`.
    """
    near, close = np.zeros(capacity + 32, np.uint32), np.zeros((capacity + 32, 4))
    return _scale_pushes(
        start,
        stop,
        cells,
        now,
        widest,
        drift,
        barriers,
        zone,
        wall_distance,
        reach,
        first,
        other,
        can,
        table,
        near,
        close,
    )


@inlined_kernel
def _stress(close, found, ex, ey):
    """Return the sum (2**-40 m) and the greatest of the overlaps of a disc that moves by (ex,
    ey) while the others yield as much.
    """
    total, greatest = np.int64(0), 0.0
    for place in range(found):
        factor = close[place, 3]
        after = max(close[place, 0] + factor * (close[place, 1] * ex + close[place, 2] * ey), 0.0)
        total += np.int64(after * (2.0 / factor) * FINE)
        greatest = max(greatest, after)
    return total, greatest


@lean_kernel
def _scale_pushes(
    start,
    stop,
    cells,
    now,
    widest,
    drift,
    barriers,
    zone,
    wall_distance,
    reach,
    first,
    other,
    can,
    table,
    near,
    close,
):
    """Do what `scale_pushes` says, with workspaces."""
    home_x, home_y, cells_start, cells_plane, per_metre, origin, planes, cells_row = (
        cells.x,
        cells.y,
        cells.start,
        cells.plane,
        cells.per_metre,
        cells.origin,
        cells.shape,
        cells.row,
    )
    z, slope_x, slope_y, step = cells.z, cells.slope_x, cells.slope_y, cells.step
    px, py, radius, radius32, movable = now
    for slot in range(np.uint64(start), np.uint64(stop)):
        begin, end = first[slot], first[slot + np.uint64(1)]
        if begin == end:
            continue
        farthest = 0.0
        for contact in range(begin, end):
            push = _share(can, contact, _reverse(first, other, contact, slot)) * table[contact, OVERLAP]
            table[contact, SCALE] = push
            farthest = max(farthest, push)
        if farthest == 0.0:
            continue
        plane = plane_numbers(origin, planes, cells_plane[slot])
        margin = farthest + farthest
        reach = radius[slot] + widest + margin
        found = near_slots(
            cells_start,
            z,
            slope_x,
            slope_y,
            step,
            plane,
            per_metre,
            home_x,
            home_y,
            px,
            py,
            radius32,
            slot,
            reach,
            drift,
            margin,
            near,
        )
        if found < 0:
            return -1
        row = cells_row[slot]
        for place in range(found):
            neighbour = np.uint64(near[place])
            overlap, distance, dx, dy = _overlap(px, py, radius, slot, neighbour)
            nx, ny = _normal(dx, dy, distance, row, cells_row[neighbour])
            close[place, 0], close[place, 1], close[place, 2], close[place, 3] = (
                overlap,
                nx,
                ny,
                2.0 if movable[neighbour] == MOVABLE else 1.0,
            )
        total, greatest = _stress(close, found, 0.0, 0.0)
        for contact in range(begin, end):
            push, scale = table[contact, SCALE], 1.0
            while push > 0.0:
                length = push * scale
                ex, ey = table[contact, PUSH_X] * length, table[contact, PUSH_Y] * length
                new_total, new_greatest = _stress(close, found, ex, ey)
                if new_total <= total and new_greatest <= greatest:
                    x, y = px[slot], py[slot]
                    if clear_of_walls(
                        barriers,
                        zone[row],
                        wall_distance[row] - drift,
                        reach,
                        x,
                        y,
                        ex,
                        ey,
                        length,
                        radius[slot],
                    ):
                        break
                scale *= 0.5
                if scale < 0.25:
                    push = 0.0
            table[contact, SCALE] = scale if push > 0.0 else 0.0
    return 0


@inlined_kernel
def _share(can, contact, partner):
    """Return the disc's share of the overlap: half, all where the other can yield less well,
    nothing where it can better.
    """
    if can[contact] == STAYS or can[contact] < can[partner]:
        return 0.0
    return 0.5 if can[contact] == can[partner] else 1.0


@inlined_kernel
def _reverse(first, other, contact, slot):
    """Return the same contact in the other disc's list."""
    partner = first[np.uint64(other[contact])]
    while np.uint64(other[partner]) != slot:
        partner += 1
    return partner


@lean_kernel
def push_apart(
    start,
    stop,
    cells,
    now,
    drift,
    barriers,
    zone,
    wall_distance,
    reach,
    first,
    other,
    can,
    table,
    guarded,
    swing,
    farthest,
    past,
    new_x,
    new_y,
    stale,
):
    """Move overlapping discs apart by one Jacobi pass.

    Parameters
    ----------
    start, stop, cells, now, drift, barriers, zone, wall_distance, reach, first, other, can, table : various
        As `list_contacts` left them, or `scale_pushes` where `guarded` is true.
    guarded : bool
        Scale each push as `scale_pushes` found.
    swing : float, 0..1
        Share of its last displacement that a disc with contacts goes on with.
    farthest : float, m
        How far a disc may come from where it was at the start: pushes that would bring it farther end there.
    past : Past
        Where the discs were before the last pass, and at the start; `now` itself before the first.
    new_x, new_y : (n + 16,) float64, m
        Receive where the discs are then. Must alias none of the others.
    stale : (n,) uint8
        Receives MOVED for discs that are elsewhere then, COUNTED for the others.

    Returns
    -------
    longest, drift : float, m
        The longest displacement, and how far a disc is at most from where it was when `cells` was built.
    moved : int
        How many discs are elsewhere.

    Notes
    -----
    Each contact pushes a disc by half the overlap, or by the whole where the other cannot yield; where
    neither can, both are pushed along the walls that hinder them. Pushes are divided by the disc's number of
    contacts. A disc whose displacement would bring it into a wall goes without swing, else half as far, as it
    was found to be able to alone, and stays where that would do so too. Source: [Pathfinding undated],
    section 8; the division is ours: undivided pushes make the deepest overlap of dense crowds rise in half of
    all passes, divided ones hardly ever. The swing is that of the heavy-ball method ([Polyak 1964]): without
    it pressure leaves a knot of k layers in some k * k passes. Twin: `tests/reference/separate.py`.
    """
    px, py, radius, _, _ = now
    old_x, old_y, first_x, first_y = past
    home_x, home_y, cells_row, longest, drifted, moved = cells.x, cells.y, cells.row, 0.0, 0.0, 0
    for slot in range(np.uint64(start), np.uint64(stop)):
        begin, end = first[slot], first[slot + np.uint64(1)]
        new_x[slot], new_y[slot], stale[slot] = px[slot], py[slot], COUNTED
        if begin == end:
            continue
        sum_x, sum_y = np.int64(0), np.int64(0)
        for contact in range(begin, end):
            push = _share(can, contact, _reverse(first, other, contact, slot)) * table[contact, OVERLAP]
            if guarded:
                push *= table[contact, SCALE]
            length = push / np.float64(end - begin)
            sum_x += np.int64(table[contact, PUSH_X] * length * FINE)
            sum_y += np.int64(table[contact, PUSH_Y] * length * FINE)
        x, y, row = px[slot], py[slot], cells_row[slot]
        dx, dy = np.float64(sum_x) / FINE, np.float64(sum_y) / FINE
        ex, ey = dx + swing * (x - old_x[slot]), dy + swing * (y - old_y[slot])
        for attempt in range(1 if swing == 0.0 else 0, 3):
            away_x, away_y = x + ex - first_x[slot], y + ey - first_y[slot]
            away = np.sqrt(away_x * away_x + away_y * away_y)
            if away > farthest:
                ex, ey = (
                    first_x[slot] + away_x * (farthest / away) - x,
                    first_y[slot] + away_y * (farthest / away) - y,
                )
            length = np.sqrt(ex * ex + ey * ey)
            if clear_of_walls(
                barriers, zone[row], wall_distance[row] - drift, reach, x, y, ex, ey, length, radius[slot]
            ):
                new_x[slot], new_y[slot] = x + ex, y + ey
                longest = max(longest, length)
                break
            ex, ey = (dx, dy) if attempt == 0 else (0.5 * dx, 0.5 * dy)
        if new_x[slot] != x or new_y[slot] != y:
            stale[slot] = MOVED
            moved += 1
        away_x, away_y = new_x[slot] - home_x[slot], new_y[slot] - home_y[slot]
        drifted = max(drifted, np.sqrt(away_x * away_x + away_y * away_y))
    return longest, drifted, moved


@lean_kernel
def gather_discs(start, stop, cells, radius, movable, now):
    """Copy discs into cell order.

    Parameters
    ----------
    start, stop : int
        Range of slots.
    cells : Cells
    radius : (n,) float64, m
    movable : (n,) uint8
        FIXED, MOVABLE or DRIVEN.
    now : Now
        Receives them.

    Returns
    -------
    float, m
        The greatest radius.

    Notes
    -----
    Twin: `tests/reference/separate.py`.
    """
    px, py, slot_radius, slot_radius32, slot_movable = now
    cells_x, cells_y, cells_row, widest = cells.x, cells.y, cells.row, 0.0
    for slot in range(np.uint64(start), np.uint64(stop)):
        ahead = row_ahead(cells_row, slot)
        prefetch(radius, ahead)
        prefetch(movable, ahead)
        row = np.uint64(cells_row[slot])
        px[slot], py[slot] = cells_x[slot], cells_y[slot]
        slot_radius[slot], slot_radius32[slot], slot_movable[slot] = (
            radius[row],
            np.float32(radius[row]),
            movable[row],
        )
        widest = max(widest, radius[row])
    return widest


@lean_kernel
def scatter_positions(start, stop, cells, x, y, out):
    """Write positions by slot to the rows of `out`, (n, 2) float64, m.
    Twin: `tests/reference/separate.py`.
    """
    cells_row = cells.row
    for slot in range(np.uint64(start), np.uint64(stop)):
        ahead = row_ahead(cells_row, slot)
        prefetch(out, ahead + ahead)
        row = np.uint64(cells_row[slot])
        out[row, 0], out[row, 1] = x[slot], y[slot]
