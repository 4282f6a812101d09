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


class FreePlaces(NamedTuple):
    """Places, which of them are free, and how far walkers are from these; see `rank_places`.

    Attributes
    ----------
    point : (n, 2) float64, m
    axis : int
    near : (2, w) float64, m
    far : (2, f) float64, m
    distance : (n,) float64, m
    is_known : (n,) bool
    """

    point: NDArray[np.float64]
    axis: int
    near: NDArray[np.float64]
    far: NDArray[np.float64]
    distance: NDArray[np.float64]
    is_known: NDArray[np.bool_]


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
def _nearest(walking, along, across, enough):
    """Return the distance to the nearest walker, m, inf without one, and whether it is that: the search ends
    with any that is nearer than `enough`.
    """
    least, known = np.inf, np.inf
    right = np.searchsorted(walking[0], along)
    left = right - 1
    while left >= 0 or right < walking.shape[1]:
        if right >= walking.shape[1] or (left >= 0 and along - walking[0, left] <= walking[0, right] - along):
            other = left
            left -= 1
        else:
            other = right
            right += 1
        off, beside = walking[0, other] - along, walking[1, other] - across
        if off * off > least:
            break
        if off * off + beside * beside < least:
            least = off * off + beside * beside
            known = np.sqrt(least)
            if known < enough:
                return known, False
    return known, True


@inlined_kernel
def _nearest_of_all(walking, x, y, known, enough):
    """Return the same of walkers in any order, (2, w) with x and y, or what is `known` if that is less."""
    least = known * known
    for other in range(walking.shape[1]):
        off, beside = walking[0, other] - x, walking[1, other] - y
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
def rank_places(place, axis, near, far, distance, is_known, x, y, waited_for, away, scratch, order):
    """Find the best places for an agent: of so many of the nearest those farthest from walkers,
    then the others, the nearest first.

    Parameters
    ----------
    place : (n, 2) float64, m
    axis : int
        0: along is x and across is y; 1: the other way round.
    near : (2, w) float64, m
        Where walkers near the places are, along and across, ascending along the axis. They are looked at from
        a place on to both sides, until they are too far off along the axis alone: the axis decides about the
        time that it takes, and about nothing else.
    far : (2, f) float64, m
        x and y of the others, which are farther than `FAR_M` from all places: they are looked at where no
        walker is nearer than that.
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
        if distance[i] != TAKEN:
            away[i] = UNKNOWN
            free += 1
    farthest, ties = np.inf, 0
    if free > waited_for:
        free = 0
        for i in range(distance.size):
            if distance[i] != TAKEN:
                away[i] = hypot(place[i, 0] - x, place[i, 1] - y)
                scratch[free] = away[i]
                free += 1
        farthest = _smallest(scratch, free, waited_for - 1)
        ties = waited_for
        for i in range(distance.size):
            if distance[i] != TAKEN and away[i] < farthest:
                ties -= 1
    count = 0
    for i in range(distance.size):
        if distance[i] == TAKEN:
            continue
        is_near = away[i] < farthest
        if away[i] == farthest and ties > 0:
            is_near = True
            ties -= 1
        enough = scratch[order[count - 1]] if count == order.size else 0.0
        if is_near and not is_known[i] and distance[i] >= enough:
            along, across = place[i, axis], place[i, 1 - axis]
            distance[i], is_known[i] = _nearest(near, along, across, enough)
            if is_known[i] and distance[i] > FAR_M:
                distance[i], is_known[i] = _nearest_of_all(far, place[i, 0], place[i, 1], distance[i], enough)
        worth = distance[i] if is_near else 0.0
        scratch[i] = worth
        if worth < enough:
            continue
        if away[i] == UNKNOWN:
            away[i] = hypot(place[i, 0] - x, place[i, 1] - y)
        if count < order.size:
            count += 1
        elif not _is_better(worth, away[i], enough, away[order[count - 1]]):
            continue
        at = count - 1
        while at > 0 and _is_better(worth, away[i], scratch[order[at - 1]], away[order[at - 1]]):
            order[at] = order[at - 1]
            at -= 1
        order[at] = i
    return count


@kernel
def choose_places(rows, first, last, free, waited_for, mesh, polygon, position, radius, chosen):
    """Let agents choose places in turn, until one gets to none straight.

    Parameters
    ----------
    rows : (k,) int64
        Of the agents.
    first, last : int
        Which of `rows` choose.
    free : FreePlaces
        In and out: what they choose is taken.
    waited_for : int
        How many agents are to come, the first of `rows` included. So many of the nearest places an agent
        chooses among: it takes the best that it gets to, see `rank_places`.
    mesh : NavMesh
    polygon : (n,) int64
        Under all agents.
    position : (n, 2) float64, m
    radius : (n,) float64, m
    chosen : (k,) int64
        Receives the places of those that have one.

    Returns
    -------
    int
        The first that has none, `last` if all have.

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
    for turn in range(first, last):
        row = rows[turn]
        x, y = position[row, 0], position[row, 1]
        tried, ranked, best = 0, min(1, count), -1
        while best < 0:
            found = rank_places(
                free.point, free.axis, free.near, free.far, free.distance, free.is_known, x, y,
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
        if best < 0:
            return turn
        chosen[turn] = best
        free.distance[best] = TAKEN
    return last
