"""How do members of a party walk? Side by side where there is room and in a line where there is none; those
ahead slow down, those that lag hurry.

After [Moussaid 2010]: members are drawn to the middle of their party and like to see each other, so that in
free space they walk abreast. Here that is no force but a place that each member has in its party: in which
row, and where in that row. Only the preferred velocity changes, by a share of what the path asks for.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import kernel, lean_kernel
from crowdsim.navigation.corridor.clear_line import is_clear_line
from crowdsim.navigation.mesh.mesh import make_flood

IGNORED, PRESENT, WALKS = range(3)  # What a member is to its party.
SPACING, ABREAST, GAP, PATIENCE, HURRY, SLOWER = range(6)  # Columns of the rules.
LOOK_M = 4.0  # How far to either side room is looked for: enough for as many as walk abreast.
AHEAD_M = 1.0  # How far ahead it is looked for, too.
REACH_M = LOOK_M + AHEAD_M
CLEAR_M = 0.1  # That is left to a wall.
BODY_GAP_M = 0.1  # That is left between bodies, if the spacing is less.
CATCH_UP = 0.6  # 1/s: by how much faster a member walks for each metre that it lags.
ASIDE = 0.4  # 1/s: how fast one goes to its place in the row, for each metre.
MOST_ASLANT = 0.3  # Metres aside for each metre ahead.
MOST_SLOWER = 3  # Members beside the first that make a party slower: [Moussaid 2010] measured up to four.
LEAST_PACE = 0.5  # Share of what the slowest likes below which no party falls.
HELD = 0.5  # A member that is held below so much of the pace of its party waits.
ALIKE = 0.5  # Cosine of the angle between directions up to which members walk in the same one.
FAR_M = 1e3  # How far one lags that is on another floor.
LEAST_SPEED = 0.3  # m/s
FREE_AHEAD_M = 0.65  # One farther ahead of its place is never faster than its party, whatever it avoids.
STEPS_ASIDE = 0.3  # m/s: how fast one that waits makes room for others.


class Told(NamedTuple):
    """What members that walk are told, a row for each agent; the rows of others stay as they were.

    Attributes
    ----------
    velocity : (n, 2) float64, m/s
        Preferred velocity.
    limit : (n,) float64, m/s
        How fast it goes at most to avoid others. Models that evade those close behind by going on would
        else drive members that wait, or are ahead, farther and farther from their party.
    held : (n,) uint8
        1 where it waits for others.
    waited : (n,) int32
        For how many ticks it has been held.
    """

    velocity: NDArray[np.float64]
    limit: NDArray[np.float64]
    held: NDArray[np.uint8]
    waited: NDArray[np.int32]


class Member(NamedTuple):
    """What is known of agents, a row each.

    Attributes
    ----------
    state : (n,) uint8
        IGNORED, PRESENT (stands, and is waited for) or WALKS.
    position : (n, 2) float64, m
    wanted : (n, 2) float64, m/s
        Preferred velocity, along its path.
    remaining : (n,) float64, m
        Length of the path ahead; nan is not known.
    layer, stage : (n,) int32
    desired, maximum, radius : (n,) float64
    polygon : (n,) int64
    waited : (n,) int32
        For how many ticks it has been held.
    """

    state: NDArray[np.uint8]
    position: NDArray[np.float64]
    wanted: NDArray[np.float64]
    remaining: NDArray[np.float64]
    layer: NDArray[np.int32]
    stage: NDArray[np.int32]
    desired: NDArray[np.float64]
    maximum: NDArray[np.float64]
    radius: NDArray[np.float64]
    polygon: NDArray[np.int64]
    waited: NDArray[np.int32]


@lean_kernel
def room_beside(walls, zone, x, y, ux, uy, limit):
    """Return how far from a point the first wall is in a direction, at most `limit` (m).

    Parameters
    ----------
    walls : tuple
        `start`, `end`, `zone_start` and `zone_wall` of `Walls`.
    zone : int
        Row of the wall lists.
    x, y : float, m
    ux, uy : float
        Unit vector.
    limit : float, m
    """
    start, end, zone_start, zone_wall = walls
    found = limit
    for entry in range(zone_start[zone], zone_start[zone + 1]):
        wall = zone_wall[entry]
        ax, ay = start[wall, 0] - x, start[wall, 1] - y
        bx, by = end[wall, 0] - x, end[wall, 1] - y
        # on which side of the ray the ends lie
        a, b = ux * ay - uy * ax, ux * by - uy * bx
        if (a < 0.0) == (b < 0.0):
            continue
        share = a / (a - b)
        away = (ax + share * (bx - ax)) * ux + (ay + share * (by - ay)) * uy
        if 0.0 <= away < found:
            found = away
    return found


@lean_kernel
def _abreast(walls, member, row, ux, uy, apart, most):
    """Return how many fit side by side where an agent is, and a little ahead."""
    x, y, zone = member.position[row, 0], member.position[row, 1], member.polygon[row]
    room = room_beside(walls, zone, x, y, -uy, ux, LOOK_M) + room_beside(walls, zone, x, y, uy, -ux, LOOK_M)
    ahead = min(AHEAD_M, 0.5 * room_beside(walls, zone, x, y, ux, uy, 2.0 * AHEAD_M))
    x, y = x + ahead * ux, y + ahead * uy
    room = min(
        room,
        room_beside(walls, zone, x, y, -uy, ux, LOOK_M) + room_beside(walls, zone, x, y, uy, -ux, LOOK_M),
    )
    left = room - 2.0 * (member.radius[row] + CLEAR_M)
    if left < apart:
        return 1
    return min(most, 1 + np.int64(left / apart))


@kernel
def keep_together(start, stop, first, members, led, outside, member, rules, walls, mesh, told):
    """Tell the members of parties start..stop - 1 how to walk.

    Parameters
    ----------
    start, stop : int
    first : (parties + 1,) int64
        Where in `members` each party begins.
    members : (k,) int64
        Rows, by party and index in the group.
    led : (parties,) uint8
        1 where the first member leads the others.
    outside : (parties,) uint8
        1 where some are still to come in.
    member : Member
    rules : (parties, 6) float64
        See SPACING to SLOWER; patience in ticks.
    walls : tuple
        `start`, `end`, `zone_start` and `zone_wall` of `Walls`.
    mesh : NavMesh
    told : Told
        Receives what those that walk are told.

    Notes
    -----
    Members are ordered by how far they have come, and fill rows from the front on: a row has as many as fit
    side by side where its first member is. How far one lags is how much farther it has come or not than its
    place says; one that is more than `GAP` ahead of the one that lags most stands. Between members near each
    other lengths are measured along the direction of the party, else by what is left of their paths. Twin:
    `tests/reference/party.py`.
    """
    work = make_flood(mesh.polygon_start.size - 1), np.empty(3, dtype=np.int64), np.empty(0, dtype=np.int64)
    largest = 0
    for party in range(start, stop):
        largest = max(largest, first[party + 1] - first[party])
    order, line = np.empty(largest, dtype=np.int64), np.empty(largest, dtype=np.int64)
    lag, slot, behind = np.empty(largest), np.empty(largest), np.empty(largest)
    scratch = order, lag, slot, line, behind
    for party in range(start, stop):
        own = members[first[party] : first[party + 1]]
        _one_party(
            own,
            led[party],
            outside[party],
            member,
            rules[party],
            walls,
            mesh,
            told,
            scratch,
            work,
        )


@lean_kernel
def _one_party(members, led, outside, member, rules, walls, mesh, told, scratch, work):
    out, limit, held, waited = told
    order, lag, slot, line, behind = scratch
    count = _walkers(members, member, order)
    if count == 0:
        return
    present = 0
    for k in range(members.size):
        present += member.state[members[k]] != IGNORED
    if present == 1 and outside == 0:
        waited[order[0]] = 0
        return
    ux, uy = _measure(order, count, member, rules, behind)
    has_leader = led == 1 and order[0] == members[0]
    _sort(order, behind, count, has_leader)
    apart = rules[SPACING]
    slowest, mean = np.inf, 0.0
    for k in range(count):
        row = order[k]
        apart = max(apart, 2.0 * member.radius[row] + BODY_GAP_M)
        slowest = min(slowest, member.desired[row])
        mean += member.desired[row]
    mean = mean / count
    pace = min(mean, rules[HURRY] * slowest) - rules[SLOWER] * min(present - 1, MOST_SLOWER)
    pace = max(pace, LEAST_PACE * slowest)
    _rows(order, count, member, rules, walls, has_leader, apart, slot, line)
    middle = 0.0
    for k in range(count):
        middle += slot[k]
    middle = middle / count
    most = -np.inf
    for k in range(count):
        lag[k] = behind[k] - (slot[k] - middle)
        most = max(most, lag[k])
    most = max(most, _absent(members, member, order, count))
    alone, middle = 0, 0.0  # of those that go on without the others
    for k in range(count):
        if member.waited[order[k]] >= rules[PATIENCE]:
            alone, middle = alone + 1, middle + lag[k]
    gap = rules[GAP]
    for k in range(count):
        row = order[k]
        wx, wy = member.wanted[row, 0], member.wanted[row, 1]
        along = np.sqrt(wx * wx + wy * wy)
        ahead = most - lag[k]
        speed = min(max(0.0, pace + CATCH_UP * lag[k]), rules[HURRY] * member.desired[row])
        ramp = min(1.0, max(0.0, (gap - ahead) / (0.5 * gap)))
        if ramp < 1.0:
            speed = min(speed, pace * ramp)
        if outside == 1:
            speed = min(speed, HELD * pace)
        ticks = member.waited[row]
        waits = speed < HELD * pace or outside == 1
        fastest = np.inf if lag[k] >= 0.0 else pace + CATCH_UP * max(0.0, FREE_AHEAD_M + lag[k])
        if ticks >= rules[PATIENCE]:  # it goes on without them until they have come up
            speed = max(LEAST_PACE * pace, pace + CATCH_UP * (lag[k] - middle / alone))
            speed, waits, fastest = min(speed, rules[HURRY] * member.desired[row]), False, np.inf
        if waits:
            waited[row], held[row] = ticks + 1, 1
            fastest = max(speed, STEPS_ASIDE)
        elif ahead <= 0.5 * gap and outside == 0:
            waited[row] = 0
        speed = min(speed, member.maximum[row])
        ux, uy = wx / along, wy / along
        if has_leader and line[k] > 0:
            ux, uy = _after(order, line, k, member, apart, ux, uy, mesh, work)
        aslant = _aside(order, line, count, k, member, walls, apart, speed, ux, uy)
        dx, dy = ux - aslant * uy, uy + aslant * ux
        size = along * speed / member.desired[row] / np.sqrt(dx * dx + dy * dy)
        out[row, 0], out[row, 1] = dx * size, dy * size
        limit[row] = along * fastest / member.desired[row]


@lean_kernel
def _walkers(members, member, order):
    """Write the members that walk, in the order of the group; return how many."""
    count = 0
    for k in range(members.size):
        if member.state[members[k]] == WALKS:
            order[count] = members[k]
            count += 1
    return count


@lean_kernel
def _measure(order, count, member, rules, behind):
    """Write how far each walker is behind the middle of its party, m; return the party's direction."""
    stage, layer = member.stage[order[0]], member.layer[order[0]]
    for k in range(count):
        if member.stage[order[k]] < stage:
            stage, layer = member.stage[order[k]], member.layer[order[k]]
    cx, cy, ux, uy, length, known, same = 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0
    for k in range(count):
        row = order[k]
        if member.stage[row] != stage:
            continue
        wx, wy = member.wanted[row, 0], member.wanted[row, 1]
        along = np.sqrt(wx * wx + wy * wy)
        cx, cy, ux, uy = (
            cx + member.position[row, 0], cy + member.position[row, 1], ux + wx / along, uy + wy / along,
        )  # fmt: skip
        same += 1
        if not np.isnan(member.remaining[row]):
            length += member.remaining[row]
            known += 1
    cx, cy = cx / same, cy / same
    if known > 0:
        length = length / known
    size = np.sqrt(ux * ux + uy * uy)
    if size > 0.0:
        ux, uy = ux / size, uy / size
    reach = 2.0 + 0.5 * rules[SPACING] * same
    for k in range(count):
        row = order[k]
        dx, dy = member.position[row, 0] - cx, member.position[row, 1] - cy
        away = np.sqrt(dx * dx + dy * dy)
        if member.stage[row] != stage:  # it has come to a goal that the others are still to come to
            behind[k] = -away if member.layer[row] == layer else -FAR_M
            continue
        wx, wy = member.wanted[row, 0], member.wanted[row, 1]
        along = np.sqrt(wx * wx + wy * wy)
        rest = member.remaining[row] - length
        is_near = away <= reach and (wx * ux + wy * uy) >= ALIKE * along
        if np.isnan(rest) or known == 0 or (is_near and abs(rest) <= away + 2.0):
            behind[k] = -(dx * ux + dy * uy)
        else:
            behind[k] = rest
    return ux, uy


@lean_kernel
def _sort(order, behind, count, has_leader):
    """Sort members by how far they have come, one that leads first; of equals the first in the group."""
    for k in range(2 if has_leader else 1, count):
        row, key = order[k], behind[k]
        at = k
        while at > (1 if has_leader else 0) and behind[at - 1] > key:
            order[at], behind[at] = order[at - 1], behind[at - 1]
            at -= 1
        order[at], behind[at] = row, key


@lean_kernel
def _rows(order, count, member, rules, walls, has_leader, apart, slot, line):
    """Write in which row each member walks, and how far that is behind the first, m."""
    k, number = 0, 0
    while k < count:
        row = order[k]
        wx, wy = member.wanted[row, 0], member.wanted[row, 1]
        along = np.sqrt(wx * wx + wy * wy)
        fits = 1
        if not (has_leader and k == 0):
            fits = _abreast(walls, member, row, wx / along, wy / along, apart, np.int64(rules[ABREAST]))
        for _ in range(fits):
            if k < count:
                slot[k], line[k] = number * apart, number
                k += 1
        number += 1


@lean_kernel
def _absent(members, member, order, count):
    """Return how far the one lags that stands and is farthest away, m; -inf where all walk."""
    cx, cy = 0.0, 0.0
    for k in range(count):
        cx, cy = cx + member.position[order[k], 0], cy + member.position[order[k], 1]
    cx, cy = cx / count, cy / count
    layer, found = member.layer[order[count - 1]], -np.inf
    for k in range(members.size):
        row = members[k]
        if member.state[row] == PRESENT:
            dx, dy = member.position[row, 0] - cx, member.position[row, 1] - cy
            found = max(found, np.sqrt(dx * dx + dy * dy) if member.layer[row] == layer else FAR_M)
    return found


@lean_kernel
def _after(order, line, k, member, apart, ux, uy, mesh, work):
    """Return the direction to the first of the row before, if the agent sees it and lags, else its own."""
    flood, state, crossed = work
    other = k - 1
    while other > 0 and line[other - 1] >= line[k] - 1:
        other -= 1
    row, before = order[k], order[other]
    x, y = member.position[row, 0], member.position[row, 1]
    dx, dy = member.position[before, 0] - x, member.position[before, 1] - y
    away = np.sqrt(dx * dx + dy * dy)
    if away <= 1.5 * apart or dx * ux + dy * uy <= 0.0 or member.layer[before] != member.layer[row]:
        return ux, uy
    if not is_clear_line(
        mesh, member.polygon[row], x, y, x + dx, y + dy, member.radius[row], flood, state, crossed
    ):
        return ux, uy
    return dx / away, dy / away


@lean_kernel
def _aside(order, line, count, k, member, walls, apart, speed, ux, uy):
    """Return how far a member goes aside to its place in its row, in metres to the left for each ahead."""
    low, high = k, k + 1
    while low > 0 and line[low - 1] == line[k]:
        low -= 1
    while high < count and line[high] == line[k]:
        high += 1
    if high - low < 2 or not speed > 0.0:
        return 0.0
    row = order[k]
    x, y = member.position[row, 0], member.position[row, 1]
    own, before, mean = -uy * x + ux * y, 0, 0.0
    for other in range(low, high):
        there = order[other]
        at = -uy * member.position[there, 0] + ux * member.position[there, 1]
        mean += at
        if at < own or (at == own and other < k):
            before += 1
    mean = mean / (high - low)
    rest = mean + (before - 0.5 * (high - low - 1)) * apart - own
    aslant = min(MOST_ASLANT, max(-MOST_ASLANT, ASIDE * rest / max(speed, LEAST_SPEED)))
    side = 1.0 if aslant > 0.0 else -1.0
    room = room_beside(walls, member.polygon[row], x, y, -side * uy, side * ux, LOOK_M)
    if room < member.radius[row] + CLEAR_M:
        return 0.0
    return aslant
