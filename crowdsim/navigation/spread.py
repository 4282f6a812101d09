"""Where in an opening do bodies walk? A crowd in front of it takes its width.

The shortest path leads round the nearer end of an opening, for everybody. So those who come at about the same time are given places side by side, in the
order in which they come, with the least deviation in all: for one alone that is its shortest path, for two the second has its place beside the first,
and a crowd has the whole width. The order is that of the lines along which a liquid would flow in, so that ways do not cross.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from crowdsim.geometry.plane import distance_to_segment, orientation
from crowdsim.kernels import inlined_kernel, kernel, lean_kernel
from crowdsim.navigation.funnel import tangent
from crowdsim.navigation.hold import GOAL_HELD
from crowdsim.navigation.mesh import make_flood
from crowdsim.navigation.openings import WIDEST_M
from crowdsim.tunable import param

NO_OPENING = -1
LOOKAHEAD = 12  # Portals that are looked over for the next opening; more lie between it and a body only on finely cut ground.
SIDE_BINS = 16  # On either side of the middle of an opening: 0.15 m each of the widest, less than a body.
BINS = 2 * SIDE_BINS + 1
ASIDE, DEPTH, NATURAL, CORNER = range(4)  # What the columns of `place` are.
UNIT = 65536.0  # Parts into which a metre is cut where widths are summed: sums of whole numbers do not depend on their order.
NEAR_M = 0.3  # How much farther than a diameter from an end of an opening a path's corner may be to belong to it: rounded posts have many corners.
LEAST_M = 1e-3  # Less than this nobody is led aside: what counting in parts rounds off.
MOST_ASLANT = 2.0  # Who is in front of an opening goes at most so many metres aside for each metre forward, 63 degrees: not along its line.
LEAST_APART_M = 1.0  # In a crowd that stands, those beside each other count and the next rank, two bodies farther.
BESIDE = 10.0  # How that is let go beside the opening, in metres more for each metre: there one has to walk along its line.
ON_RIM_M = 1e-6  # How far from a rim the end of a path to it may be: rounding.


@dataclass(frozen=True)
class SpreadParameters:
    """How a crowd takes the width of doors and exits."""

    spread: bool = param(
        True, "", source="ours",
        why="in front of doors and exits people who come together walk side by side over the width; without it all take the shortest path round the nearer "
        "post, and in room-evacuation.yaml two of three leave within 0.3 m of an end of an exit of 2 m",
    )  # fmt: skip
    spread_depth: float = param(
        8.0, "m", low=0.0, high=100.0, source="ours",
        why="how far in front of a door or exit its crowd is looked at: a jam of a thousand is about so deep; larger turns people aside earlier",
    )
    spread_apart: float = param(
        3.0, "s", low=0.0, high=100.0, source="ours",
        why="those who walk less than this ahead or behind, at the mean speed of their crowd, come at the same time; smaller leaves more of a loose stream at the "
        "near end, larger sends those aside who would have gone first",
    )  # fmt: skip
    spread_round: float = param(
        1.2, "m", low=0.0, high=10.0, source="ours",
        why="radius of the arc on which people who are sent aside turn in, as round a wide post; smaller comes in aslant, and others push them back to the end",
    )
    spread_door: float = param(
        5.0, "diameters", low=1.0, high=1000.0, source="ours",
        why="least width of a door between walls in which one walks side by side, in diameters of one's own body; in narrower ones two streams, one round each "
        "post, leave no room for a third, and with one at 1.4 m a fifth less gets through",
    )  # fmt: skip
    spread_exit: float = param(
        3.0, "diameters", low=1.0, high=1000.0, source="ours",
        why="the same for the rim of an exit, where no post is in the way; below it nothing is gained",
    )


class SpreadNumbers(NamedTuple):
    """The parameters as kernels see them; `rims_from` is the first opening that is a rim."""

    depth: float
    apart: float
    round: float
    door: float
    exit: float
    rims_from: int


@inlined_kernel
def _next_gap(mesh, openings, cells, block, ahead, polygon, x, y, tx, ty, reach):
    """Find the first gap within reach of (x, y) that a corridor leads through, the path ending at (tx, ty).

    Returns
    -------
    int
        The *group* of those who go through it the same way: twice the opening, and one more where its end b is on their left; -1 if there is none.
    """
    entry, current = -1, polygon
    for step in range(min(ahead, LOOKAHEAD) + 1):
        first, end = mesh.polygon_start[current], mesh.polygon_start[current + 1]
        goes_on = step < ahead
        edge = cells[block + ahead - 1 - step] if goes_on else -1
        found, nearest = NO_OPENING, np.inf
        for slot in range(openings.polygon_start[current], openings.polygon_start[current + 1]):
            i, j = openings.first[slot], openings.second[slot]
            if j == i + 1 or (i == 0 and j == end - first - 1):
                is_right = j == i + 1
                if not goes_on or edge - first != (i if is_right else j):
                    continue
            else:
                # Edges i to j - 1 are on the right of the diagonal from vertex i to vertex j.
                u, v = mesh.edge_vertex[first + i], mesh.edge_vertex[first + j]
                ux, uy, vx, vy = mesh.vertex[u, 0], mesh.vertex[u, 1], mesh.vertex[v, 0], mesh.vertex[v, 1]
                is_right = i <= edge - first < j if goes_on else orientation(ux, uy, vx, vy, tx, ty) < 0.0
                was_right = i <= entry - first < j if entry >= 0 else orientation(ux, uy, vx, vy, x, y) < 0.0
                if is_right == was_right:
                    continue
            opening = openings.gap[slot]
            away = _depth_at(openings, opening, x, y)
            if away < nearest:
                # Who goes over to the right of the line from the first vertex to the second has the second on the left.
                found, nearest = 2 * opening + (1 if is_right == (openings.is_turned[slot] == 0) else 0), away
        if found >= 0:
            return found if nearest <= reach else NO_OPENING
        if not goes_on:
            break
        a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
        if distance_to_segment(x, y, mesh.vertex[a, 0], mesh.vertex[a, 1], mesh.vertex[b, 0], mesh.vertex[b, 1]) > reach:
            break
        entry = mesh.edge_twin[edge]
        current = mesh.edge_polygon[entry]
    return NO_OPENING


@inlined_kernel
def _rim_ahead(openings, goal, x, y, tx, ty, least):
    """Find the rim of a region, wider than the least, at whose line a path from (x, y) ends at (tx, ty); of two that meet there the one that looks larger.

    Returns
    -------
    int
        The group, see `_next_gap`; who comes in has b on the left.
    """
    found, widest = NO_OPENING, 0.0
    for rim in range(openings.goal_start[goal], openings.goal_start[goal + 1]):
        ax, ay, bx, by = openings.end[rim, 0], openings.end[rim, 1], openings.end[rim, 2], openings.end[rim, 3]
        seen = orientation(ax, ay, bx, by, x, y)
        if seen > widest and openings.width[rim] >= least and distance_to_segment(tx, ty, ax, ay, bx, by) <= ON_RIM_M:
            found, widest = 2 * rim + 1, seen
    return found


@inlined_kernel
def _depth_at(openings, opening, x, y):
    """Return how far (m) a point is in front of an opening: half of how much longer the way to both ends is than the opening is wide."""
    end = openings.end
    to_a, to_b = np.hypot(x - end[opening, 0], y - end[opening, 1]), np.hypot(x - end[opening, 2], y - end[opening, 3])
    return max(0.0, 0.5 * (to_a + to_b - openings.width[opening]))


@inlined_kernel
def _frame(openings, group, x, y):
    """Return an opening as those see it who go through: its width, its middle (x, y), the unit vector to the right (x, y); and where (x, y) is.

    That is metres to the right of the middle, and metres in front.
    """
    opening = group // 2
    ax, ay, bx, by = openings.end[opening, 0], openings.end[opening, 1], openings.end[opening, 2], openings.end[opening, 3]
    width = openings.width[opening]
    ux, uy = (bx - ax) / width, (by - ay) / width
    if group % 2 == 1:
        ux, uy = -ux, -uy
    mx, my = 0.5 * (ax + bx), 0.5 * (ay + by)
    return width, mx, my, ux, uy, ux * (x - mx) + uy * (y - my), uy * (x - mx) - ux * (y - my)


@inlined_kernel
def _natural(width, here, front, to, beyond, radius):
    """Return where the straight line to the next corner crosses a gap, in metres to the right of its middle, and the radius of the post that it bends round.

    `here` and `to` are metres to the right, `front` and `beyond` metres in front, of the body and its corner. At a post the path crosses where a centre is
    nearest to it. Nan where the path bends before.
    """
    half = 0.5 * width - radius
    if front > 0.0 and beyond <= 0.0:
        at = here + (to - here) * (front / (front - beyond))
        return min(half, max(-half, at)), 0.0
    near = 2.0 * radius + NEAR_M
    if np.hypot(to + 0.5 * width, beyond) <= near:
        return -half, radius
    if np.hypot(to - 0.5 * width, beyond) <= near:
        return half, radius
    return np.nan, 0.0


@lean_kernel
def find_groups(start, stop, mesh, goals, openings, numbers, cells, block, ahead, polygon, piece, wants, ends, position, radius, corner, group, place):
    """Find which opening each of the bodies of rows start..stop - 1 is about to go through, and where in front of it it is.

    Parameters
    ----------
    start, stop : int
    mesh : NavMesh
    goals : GoalPieces
    openings : Openings
    numbers : SpreadNumbers
    cells, block, ahead, polygon, piece
        The corridors, see `crowdsim.navigation.steer.steer_many`.
    wants : (n,) uint8
        1 for those that follow a path.
    ends : (n,) uint8
        1 where the corner is the end of the path.
    position : (n, 2) float64, m
    radius : (n,) float64, m
    corner : (n, 2) float64, m
        The point that each steers at; the way there is clear.
    group : (n,) int32
        Receives those who go through one opening the same way: twice the opening, and one more where its end b is on their left; -1 if there is none.
    place : (n, 4) float64
        Receives how far aside each is, -1 at the left end to 1 at the right one; how deep in front (m); where its path crosses (m to the right of the middle);
        and the radius of the post that it bends round there (m).

    Notes
    -----
    The depth is that of the ellipses with the ends as foci. How far aside is told by the hyperbolas, which cross them, at the opening by metres and far from
    it by the angle, so that a crowd from all sides comes in evenly. Twin: `tests/reference/spread.py`.
    """
    for row in range(start, stop):
        group[row] = NO_OPENING
        if wants[row] == 0:
            continue
        x, y, tx, ty, r = position[row, 0], position[row, 1], corner[row, 0], corner[row, 1], radius[row]
        found = _next_gap(mesh, openings, cells, block[row], ahead[row], polygon[row], x, y, tx, ty, numbers.depth)
        if found < 0 and ends[row] == 1:
            found = _rim_ahead(openings, goals.piece_source[piece[row]], x, y, tx, ty, 2.0 * r * numbers.exit)
        if found < 0:
            continue
        width, mx, my, ux, uy, here, front = _frame(openings, found, x, y)
        to, beyond = ux * (tx - mx) + uy * (ty - my), uy * (tx - mx) - ux * (ty - my)
        depth, at, post = _depth_at(openings, found // 2, x, y), to, 0.0
        if found // 2 < numbers.rims_from:
            if width < 2.0 * r * numbers.door:
                continue
            at, post = _natural(width, here, front, to, beyond, r)
        if depth > numbers.depth or at != at:
            continue
        aside = (np.hypot(here + 0.5 * width, front) - np.hypot(here - 0.5 * width, front)) / width
        aside = min(1.0, max(-1.0, aside))
        far = depth / (depth + 0.5 * width)
        group[row] = found
        place[row, ASIDE] = aside * (1.0 - far + far / (1.0 + np.sqrt((1.0 - aside) * (1.0 + aside))))
        place[row, DEPTH], place[row, NATURAL], place[row, CORNER] = depth, at, post


@inlined_kernel
def _bins_of(aside):
    """Return the bin of a place, the next one outwards, and how much of the place belongs to that; the same on both sides of the middle."""
    at = abs(aside) * SIDE_BINS
    inner = min(np.int64(at), SIDE_BINS - 1)
    if aside < 0.0:
        return SIDE_BINS - inner, SIDE_BINS - inner - 1, at - inner
    return SIDE_BINS + inner, SIDE_BINS + inner + 1, at - inner


@inlined_kernel
def _line_of(depth, apart):
    """Return the line of a depth, and how much of it belongs to the next one."""
    line = np.int64(depth / apart)
    return line, depth / apart - line


@lean_kernel
def share_openings(openings, numbers, group, place, radius, velocity, members, slot_of, apart, crowd, shift, blocks):
    """Find how far aside people in front of the openings have to go.

    Parameters
    ----------
    openings : Openings
    numbers : SpreadNumbers
    group : (n,) int32
    place : (n, 4) float64
        See `find_groups`.
    radius : (n,) float64, m
    velocity : (n, 2) float64, m/s
    members : (2 no,) int32
        How many are in each group.
    apart : (slots,) float64, m
        Receives how far apart lines are.
    slot_of : (2 no,) int32
        Receives where the counts of each group are; -1 of those with less than two.
    crowd : (slots, lines, bins + 1, 2) int64
        Receives by depth and place how wide those are who are there, and the sum of that times where they would cross, in parts of a metre; at last the sums of
        widths and of widths times radii. Everybody counts in two lines and two bins, by how near they are.
    shift : (slots, lines, bins) float64, m
        Receives how far to the right those go.
    blocks : (bins, 3) float64
        Scratch.

    Notes
    -----
    Twin: `tests/reference/spread.py`.
    """
    slots = 0
    for mine in range(members.size):
        slot_of[mine] = -1
        if members[mine] >= 2:
            slot_of[mine] = slots
            crowd[slots] = 0
            apart[slots] = 0.0
            slots += 1
    for row in range(group.size):
        if group[row] >= 0 and slot_of[group[row]] >= 0:
            apart[slot_of[group[row]]] += np.floor(np.hypot(velocity[row, 0], velocity[row, 1]) * UNIT)
    for mine in range(members.size):
        slot = slot_of[mine]
        if slot >= 0:
            apart[slot] = max(LEAST_APART_M, numbers.apart * apart[slot] / (UNIT * members[mine]))
    for row in range(group.size):
        mine = group[row]
        if mine < 0 or slot_of[mine] < 0:
            continue
        counts = crowd[slot_of[mine]]
        line, deep = _line_of(place[row, DEPTH], apart[slot_of[mine]])
        inner, outer, share = _bins_of(place[row, ASIDE])
        for k in range(4):
            part = (deep if k >= 2 else 1.0 - deep) * (share if k % 2 == 1 else 1.0 - share)
            width, at = np.int64(2.0 * radius[row] * part * UNIT), outer if k % 2 == 1 else inner
            counts[line + k // 2, at, 0] += width
            counts[line + k // 2, at, 1] += np.int64(width * place[row, NATURAL])
            counts[line + k // 2, BINS, 0] += width
            counts[line + k // 2, BINS, 1] += np.int64(width * radius[row])
    for mine in range(members.size):
        if slot_of[mine] >= 0:
            is_rim = mine // 2 >= numbers.rims_from
            for line in range(crowd.shape[1]):
                _place_side_by_side(crowd[slot_of[mine], line], openings.width[mine // 2], is_rim, shift[slot_of[mine], line], blocks)


@lean_kernel
def _place_side_by_side(counts, opening, is_rim, shift, blocks):
    """Give those of one line places side by side in their order, with the least sum of widths times squares of ways aside (isotonic regression).

    Where they are wider than the opening, evenly over it. At a rim that one alone comes to, its end is no post: its centre may be there.
    """
    total = counts[BINS, 0]
    if total <= 0:
        return
    radius, width = counts[BINS, 1] / total, total / UNIT
    half = 0.5 * opening - radius
    room = half + (radius - min(radius, max(0.0, width - 2.0 * radius)) if is_rim else 0.0)
    if width > 2.0 * (room + radius):
        before = np.int64(0)
        for k in range(BINS):
            if counts[k, 0] > 0:
                middle = (2 * before + counts[k, 0] - total) / (2.0 * UNIT)
                shift[k] = middle * 2.0 * half / (width - 2.0 * radius) - counts[k, 1] / counts[k, 0]
                before += counts[k, 0]
        return
    # Of who is in a block, all want more to the left than those before: they stay side by side. Sums are twice as large as they mean, to be whole.
    top, before = 0, np.int64(0)
    for k in range(BINS):
        if counts[k, 0] == 0:
            continue
        blocks[top, 0] = counts[k, 0]
        blocks[top, 1] = 2.0 * UNIT * counts[k, 1] - np.float64(counts[k, 0]) * (2 * before + counts[k, 0] - total)
        blocks[top, 2] = 1
        before += counts[k, 0]
        while top > 0 and blocks[top - 1, 1] * blocks[top, 0] >= blocks[top, 1] * blocks[top - 1, 0]:
            for column in range(3):
                blocks[top - 1, column] += blocks[top, column]
            top -= 1
        top += 1
    most = room + radius - 0.5 * width
    block, left, before = 0, blocks[0, 2], np.int64(0)
    for k in range(BINS):
        if counts[k, 0] == 0:
            continue
        if left == 0:
            block += 1
            left = blocks[block, 2]
        at = blocks[block, 1] / blocks[block, 0] / (2.0 * UNIT)
        shift[k] = 0.0
        if blocks[block, 2] > 1 or abs(at) > most:
            shift[k] = min(most, max(-most, at)) + (2 * before + counts[k, 0] - total) / (2.0 * UNIT) - counts[k, 1] / counts[k, 0]
        before += counts[k, 0]
        left -= 1


@inlined_kernel
def _shift_at(shift, place, row, apart):
    """Return how far to the right a body goes (m), between what the lines and bins next to it say."""
    line, deep = _line_of(place[row, DEPTH], apart)
    inner, outer, share = _bins_of(place[row, ASIDE])
    near = (1.0 - share) * shift[line, inner] + share * shift[line, outer]
    far = (1.0 - share) * shift[line + 1, inner] + share * shift[line + 1, outer]
    return (1.0 - deep) * near + deep * far


@kernel
def spread_many(start, stop, mesh, openings, numbers, polygon, position, radius, group, place, slot_of, apart, shift, velocity, corner, is_led):
    """Lead the bodies of rows start..stop - 1 to their places in the openings.

    Parameters
    ----------
    start, stop : int
    mesh : NavMesh
    openings : Openings
    numbers : SpreadNumbers
    polygon : (n,) int64
    position : (n, 2) float64, m
    radius : (n,) float64, m
    group, place, slot_of, apart, shift
        See `find_groups` and `share_openings`.
    velocity : (n, 2) float64, m/s
        Preferred velocities; those of who is led aside are turned.
    corner : (n, 2) float64, m
        The point that each steers at, likewise.
    is_led : (n,) uint8
        Receives 1 for those.
    """
    _spread_rows(
        start, stop, mesh, openings, numbers, polygon, position, radius, group, place, slot_of, apart, shift, velocity, corner, is_led,
        make_flood(mesh.polygon_start.size - 1),
    )  # fmt: skip


@lean_kernel
def _spread_rows(start, stop, mesh, openings, numbers, polygon, position, radius, group, place, slot_of, apart, shift, velocity, corner, is_led, flood):
    for row in range(start, stop):
        is_led[row] = 0
        mine = group[row]
        if mine < 0 or slot_of[mine] < 0:
            continue
        x, y, r, at = position[row, 0], position[row, 1], radius[row], place[row, NATURAL]
        aside = _shift_at(shift[slot_of[mine]], place, row, apart[slot_of[mine]])
        width, mx, my, ux, uy, here, front = _frame(openings, mine, x, y)
        half = 0.5 * width - r
        if abs(at) > half:  # the end of a rim: one alone goes there, in a crowd one keeps off it
            half = min(abs(at), half + max(0.0, 0.5 - abs(aside)))
        most = MOST_ASLANT * max(0.0, front) + BESIDE * max(0.0, abs(here) - half)
        inside = min(half, max(-half, here))
        to = min(half, max(-half, at + aside))
        to = max(at, min(to, inside + most)) if to > at else min(at, max(to, inside - most))
        pace = np.hypot(velocity[row, 0], velocity[row, 1])
        if abs(to - at) < LEAST_M or pace <= 0.0:
            continue
        # The opening begins only where the place is: its post is moved there, and stands out the more the farther.
        post = min(max(0.0, front), max(place[row, CORNER], min(numbers.round, 2.0 * abs(to - at))))
        side = post if to > at else -post
        vx, vy, reach = tangent(x, y, 0.0, mx + (to - side) * ux, my + (to - side) * uy, side)
        vx, vy = _turned(mesh, polygon[row], x, y, r, velocity[row, 0] / pace, velocity[row, 1] / pace, vx, vy, reach, flood)
        velocity[row, 0], velocity[row, 1] = pace * vx, pace * vy
        corner[row, 0], corner[row, 1] = x + reach * vx, y + reach * vy
        is_led[row] = 1


@lean_kernel
def _turned(mesh, polygon, x, y, radius, ux, uy, vx, vy, reach, flood):
    """Turn a direction u in which a body's way is clear towards v as far as no wall comes into the way, which is `reach` long.

    Returns
    -------
    x, y : float
        Unit vector.

    Notes
    -----
    What comes into the way first, from the side, is an end of a wall. Ends are looked for by flooding the mesh over portals between u and v.
    """
    sense = ux * vy - uy * vx
    if sense == 0.0:
        return vx, vy
    sense = 1.0 if sense > 0.0 else -1.0
    flood.serial[0] += 1
    serial = flood.serial[0]
    flood.queue[0] = polygon
    flood.stamp[polygon] = serial
    reached, done = 1, 0
    while done < reached:
        current = flood.queue[done]
        done += 1
        for edge in range(mesh.polygon_start[current], mesh.polygon_start[current + 1]):
            a, b = mesh.edge_vertex[edge], mesh.edge_end[edge]
            ax, ay, bx, by = mesh.vertex[a, 0] - x, mesh.vertex[a, 1] - y, mesh.vertex[b, 0] - x, mesh.vertex[b, 1] - y
            a_turns, b_turns = sense * (ux * ay - uy * ax), sense * (ux * by - uy * bx)
            if mesh.is_wall_vertex[a] == 1 and a_turns >= 0.0:
                tx, ty, along = tangent(0.0, 0.0, 0.0, ax, ay, sense * radius)
                is_ahead = ax * tx + ay * ty > 0.0 and tx * ux + ty * uy > 0.0 and along < reach
                if is_ahead and sense * (tx * vy - ty * vx) > 0.0:
                    if sense * (ux * ty - uy * tx) <= 0.0:
                        return ux, uy
                    vx, vy = tx, ty
            twin = mesh.edge_twin[edge]
            if twin < 0 or flood.stamp[mesh.edge_polygon[twin]] == serial or (a_turns < -radius and b_turns < -radius):
                continue
            if sense * (vx * ay - vy * ax) > radius and sense * (vx * by - vy * bx) > radius:
                continue
            if distance_to_segment(0.0, 0.0, ax, ay, bx, by) < reach:
                flood.stamp[mesh.edge_polygon[twin]] = serial
                flood.queue[reached] = mesh.edge_polygon[twin]
                reached += 1
    return vx, vy
