"""Places that agents may go to: whether those that stand leave them free, how far off walkers are,
and which are best for an agent.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.hypot import hypot
from crowdsim.kernels.decorator import inlined_kernel, kernel, lean_kernel
from crowdsim.navigation.corridor.clear_line import is_clear_line
from crowdsim.navigation.mesh.mesh import make_flood
from crowdsim.tunable import param

TAKEN, UNKNOWN = -1.0, -1.0
# What is farther from all places than this, m, need not be looked at for most of them. Larger has more
# walkers sorted, smaller has more of them looked at one by one.
FAR_M = 3.0
# Walkers of a strip on average, how many strips there are at most, and how wide they are at least. It decides
# about time: fewer to a strip takes longer where strips are empty.
IN_A_STRIP, MOST_STRIPS, LEAST_WIDTH_M = 8, 256, 1e-3
SPARE_M = 1e-6  # Walkers are no farther outside their strips than this, by rounding.
MORE = 8  # Times as many places are ranked where none of the best can be reached.


@dataclass(frozen=True)
class PlaceParameters:
    """Whether agents move into the region that they stay in."""

    moving_in: bool = param(
        True,
        "",
        source="ours",
        why=(
            "agents that stay at a region (leave_on_arrival: false) go on to places of their own in it; "
            "off, they stand where they came in, and shut the rim"
        ),
    )
    place_gap: float = param(
        0.1,
        "m",
        low=0.0,
        high=10.0,
        source="ours",
        why=(
            "least gap between the widest agents at two places; smaller fits more agents in, larger "
            "fewer at more ease"
        ),
    )
    place_patience: float = param(
        5.0,
        "s",
        above=0.0,
        high=1e6,
        source="ours",
        why=(
            "an agent that takes so much longer than twice the time that its place is away stands where it "
            "is; smaller gives up sooner in a crowd"
        ),
    )


class Far(NamedTuple):
    """Walkers that are farther than `FAR_M` from all places.

    Attributes
    ----------
    row : (r,) int32
    parts : (p, 2) int64
        They are those from ``row[parts[i, 0]]`` on, before ``row[parts[i, 1]]``.
    position : (n, 2) float64, m
        Of all agents.
    """

    row: NDArray[np.int32]
    parts: NDArray[np.int64]
    position: NDArray[np.float64]


class Near(NamedTuple):
    """Walkers near the places, in strips across an axis; see `in_strips`.

    Attributes
    ----------
    axis : int
        0: along is x and across is y; 1: the other way round.
    low : float, m
        Where the first strip begins along the axis.
    width : float, m
        Of a strip.
    start : (strips + 1,) int64
        Walkers of a strip are those from ``start[strip]`` on, before the next.
    along, across : (w,) float64, m
    """

    axis: int
    low: float
    width: float
    start: NDArray[np.int64]
    along: NDArray[np.float64]
    across: NDArray[np.float64]


class FreePlaces(NamedTuple):
    """Places, which of them are free, and how far walkers are from these; see `rank_places`.

    Attributes
    ----------
    point : (n, 2) float64, m
    near : Near
    far : Far
    distance : (n,) float64, m
    is_known : (n,) bool
    """

    point: NDArray[np.float64]
    near: Near
    far: Far
    distance: NDArray[np.float64]
    is_known: NDArray[np.bool_]


@inlined_kernel
def _strip_of(along, low, width, strips):
    """Return the strip of a place along the axis, the first or last one for what lies beyond."""
    return np.int64(max(0.0, min((along - low) / width, np.float64(strips - 1))))


@kernel
def in_strips(axis, position, row, parts):
    """Sort walkers into strips across an axis, so that few are looked at for the nearest to a place.

    Parameters
    ----------
    axis : int
        0 x or 1 y. It decides about the time that it takes, and about nothing else.
    position : (n, 2) float64, m
    row : (r,) int32
    parts : (p, 2) int64
        They are those from ``row[parts[i, 0]]`` on, before ``row[parts[i, 1]]``.

    Returns
    -------
    Near

    Notes
    -----
    Twin: `tests/reference/places.py`.
    """
    count, low, high = 0, np.inf, -np.inf
    for part in range(parts.shape[0]):
        for at in range(parts[part, 0], parts[part, 1]):
            low, high = min(low, position[row[at], axis]), max(high, position[row[at], axis])
            count += 1
    strips = max(1, min(MOST_STRIPS, count // IN_A_STRIP))
    width = max((high - low) / strips, LEAST_WIDTH_M)
    start, along, across = np.zeros(strips + 1, dtype=np.int64), np.empty(count), np.empty(count)
    for part in range(parts.shape[0]):
        for at in range(parts[part, 0], parts[part, 1]):
            start[_strip_of(position[row[at], axis], low, width, strips) + 1] += 1
    for strip in range(strips):
        start[strip + 1] += start[strip]
    following = start.copy()
    for part in range(parts.shape[0]):
        for at in range(parts[part, 0], parts[part, 1]):
            strip = _strip_of(position[row[at], axis], low, width, strips)
            place = following[strip]
            along[place], across[place] = position[row[at], axis], position[row[at], 1 - axis]
            following[strip] += 1
    return Near(axis, low, width, start, along, across)


@lean_kernel
def find_free(place, axis, order, standing, distance):
    """Find the places that agents that stand leave free.

    Parameters
    ----------
    place : (n, 2) float64, m
    axis : int
        0 x or 1 y: places are looked for along it. It decides about the time that it takes, and about nothing
        else.
    order : (n,) int64
        The places, ascending along the axis.
    standing : (3, s) float64, m
        x and y of where agents stand or are about to, and how far from them places are taken.
    distance : (n,) float64, m
        Receives inf for free places, `TAKEN` for the others.

    Notes
    -----
    Twin: `tests/reference/places.py`.
    """
    for i in range(distance.size):
        distance[i] = np.inf
    for one in range(standing.shape[1]):
        along, across, reach = standing[axis, one], standing[1 - axis, one], standing[2, one]
        low, high = 0, order.size  # the first place that is near enough is from `low` on, before or at `high`
        while low < high:
            middle = (low + high) // 2
            if along - place[order[middle], axis] > reach:
                low = middle + 1
            else:
                high = middle
        while low < order.size and place[order[low], axis] - along <= reach:
            off, beside = place[order[low], axis] - along, place[order[low], 1 - axis] - across
            if np.sqrt(off * off + beside * beside) <= reach:
                distance[order[low]] = TAKEN
            low += 1


@inlined_kernel
def _nearest(near, along, across, enough):
    """Return the distance to the nearest walker, m, inf without one; whether it is that, since the search
    ends with any that is nearer than `enough`; and which walker it is, -1 for none.

    Strips are looked at to both sides from that of the place on, until they are too far off.
    """
    least, known, nearest, strips = np.inf, np.inf, -1, near.start.size - 1
    first = _strip_of(along, near.low, near.width, strips)
    for turn in range(2 * strips):
        away = (turn + 1) // 2
        strip = first - away if turn % 2 == 0 else first + away
        if (away - 1) * near.width > known + SPARE_M:
            break
        if strip < 0 or strip >= strips:
            continue
        for other in range(near.start[strip], near.start[strip + 1]):
            off, beside = near.along[other] - along, near.across[other] - across
            if off * off + beside * beside < least:
                least, nearest = off * off + beside * beside, other
                known = np.sqrt(least)
                if known < enough:
                    return known, False, nearest
    return known, True, nearest


@inlined_kernel
def _nearest_of_far(far, x, y, known, enough):
    """Return the same of walkers in any order, or what is `known` if that is less."""
    least = known * known
    for part in range(far.parts.shape[0]):
        for at in range(far.parts[part, 0], far.parts[part, 1]):
            row = far.row[at]
            off, beside = far.position[row, 0] - x, far.position[row, 1] - y
            if off * off + beside * beside < least:
                least = off * off + beside * beside
                known = np.sqrt(least)
                if known < enough:
                    return known, False
    return known, True


@lean_kernel
def _smallest(values, size, place):
    """Return the number that would be at a place if the first `size` of `values` were sorted;
    they are reordered.
    """
    low, high = 0, size - 1
    while low < high:
        pivot, i, j = values[(low + high) // 2], low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if place <= j:
            high = j
        elif place >= i:
            low = i
        else:
            break
    return values[place]


@inlined_kernel
def _is_better(worth, away, other_worth, other_away):
    """Return whether a place is better than another that comes before it."""
    return worth > other_worth or (worth == other_worth and away < other_away)


@lean_kernel
def _leave_out_far(place, distance, x, y, waited_for, away, scratch):
    """Write how far away free places are, (n,) m, but inf where `waited_for` others are nearer; of equally
    near ones the first are kept.
    """
    free = 0
    for i in range(distance.size):
        if distance[i] != TAKEN:
            away[i] = hypot(place[i, 0] - x, place[i, 1] - y)
            scratch[free] = away[i]
            free += 1
    farthest, ties = _smallest(scratch, free, waited_for - 1), waited_for
    for i in range(distance.size):
        if distance[i] != TAKEN and away[i] < farthest:
            ties -= 1
    for i in range(distance.size):
        if distance[i] != TAKEN and away[i] >= farthest:
            if away[i] > farthest or ties == 0:
                away[i] = np.inf
            else:
                ties -= 1


@lean_kernel
def rank_places(place, near, far, distance, is_known, x, y, waited_for, away, scratch, order):
    """Find the best places for an agent: of so many of the nearest those farthest from walkers,
    then the others, the nearest first.

    Parameters
    ----------
    place : (n, 2) float64, m
    near : Near
        Walkers near the places.
    far : Far
        The others are looked at where no walker is nearer than `FAR_M`.
    distance : (n,) float64, m
        In and out: to the nearest walker, inf without one, or anything larger; `TAKEN` for places that are
        taken.
    is_known : (n,) bool
        In and out: whether it is that. It is found only for places that may be among the best.
    x, y : float, m
        Where the agent is.
    waited_for : int, > 0
        How many of the nearest free places are ranked by their distance to walkers; of equally near ones, the
        first.
    away, scratch : (n,) float64
        Scratch.
    order : (k,) int64, k > 0
        Receives the best places, the best first; of those as far from walkers the nearest, and of them the
        first.

    Returns
    -------
    int
        How many it received: all free places, if `order` is long enough.

    Notes
    -----
    Twin: `tests/reference/places.py`.
    """
    free = 0
    for i in range(distance.size):
        away[i] = UNKNOWN
        free += distance[i] != TAKEN
    if free > waited_for:
        _leave_out_far(place, distance, x, y, waited_for, away, scratch)
    # the worth of the last of those that are kept, once there are as many as are asked for
    count, enough, last = 0, 0.0, -1
    for i in range(distance.size):
        if distance[i] < enough:  # or it is taken
            continue
        is_near = away[i] < np.inf
        if is_near and not is_known[i]:
            along, across = place[i, near.axis], place[i, 1 - near.axis]
            if last >= 0:  # mostly the walker that was too near to the place before is too near to this one
                off, beside = near.along[last] - along, near.across[last] - across
                distance[i] = min(distance[i], np.sqrt(off * off + beside * beside))
            if distance[i] >= enough:
                distance[i], is_known[i], last = _nearest(near, along, across, enough)
                if is_known[i] and distance[i] > FAR_M:
                    distance[i], is_known[i] = _nearest_of_far(
                        far, place[i, 0], place[i, 1], distance[i], enough
                    )
        worth = distance[i] if is_near else 0.0
        if worth < enough:
            continue
        if away[i] == UNKNOWN or not is_near:
            away[i] = hypot(place[i, 0] - x, place[i, 1] - y)
        if count < order.size:
            count += 1
        elif not _is_better(worth, away[i], enough, away[order[count - 1]]):
            continue
        at, scratch[i] = count - 1, worth
        while at > 0 and _is_better(worth, away[i], scratch[order[at - 1]], away[order[at - 1]]):
            order[at] = order[at - 1]
            at -= 1
        order[at] = i
        if count == order.size:
            enough = scratch[order[count - 1]]
    return count


@kernel
def choose_places(rows, free, waited_for, is_last, mesh, polygon, position, radius, chosen):
    """Let agents choose places in turn.

    Parameters
    ----------
    rows : (k,) int64
        Of the agents.
    free : FreePlaces
        In and out: what they choose is taken.
    waited_for : int
        How many agents are to come, the first of `rows` included. So many of the nearest places an agent
        chooses among: it takes the best that it gets to, see `rank_places`.
    is_last : bool
        Whether there are no other places for one that gets straight to none of these: it has none, and the
        next chooses. Else it ends there.
    mesh : NavMesh
    polygon : (n,) int64
        Under all agents.
    position : (n, 2) float64, m
    radius : (n,) float64, m
    chosen : (k,) int64
        Receives their places, -1 for none.

    Returns
    -------
    int
        How many have chosen.

    Notes
    -----
    Twin: `tests/reference/places.py`.
    """
    count = free.point.shape[0]
    away, scratch, order = np.empty(count), np.empty(count), np.empty(count, dtype=np.int64)
    flood, state, crossed = (
        make_flood(mesh.polygon_start.size - 1),
        np.empty(3, dtype=np.int64),
        np.empty(0, dtype=np.int64),
    )
    for turn in range(rows.size):
        row = rows[turn]
        x, y = position[row, 0], position[row, 1]
        tried, ranked, best = 0, min(1, count), -1
        while best < 0:
            found = rank_places(
                free.point, free.near, free.far, free.distance, free.is_known, x, y,
                waited_for - turn, away, scratch, order[:ranked],
            )  # fmt: skip
            while best < 0 and tried < found:
                at = order[tried]
                if is_clear_line(
                    mesh, polygon[row], x, y, free.point[at, 0], free.point[at, 1], radius[row], flood, state,
                    crossed,
                ):  # fmt: skip
                    best = at
                tried += 1
            if found < ranked or ranked == count:
                break
            ranked = min(MORE * ranked, count)  # seldom: walls are in the way
        if best < 0 and not is_last:
            return turn
        chosen[turn] = best
        if best >= 0:
            free.distance[best] = TAKEN
    return rows.size
