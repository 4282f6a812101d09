"""Places that agents may go to: whether others leave distance there, how far off walkers are,
and which are best for an agent.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdsim.kernels.decorator import inlined_kernel, lean_kernel
from crowdsim.tunable import param

TAKEN = -1.0


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
            "least gap between the widest agents at two places; smaller has distance for more, larger for "
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


@lean_kernel
def measure_distances(
    start,
    stop,
    place,
    axis,
    standing_along,
    standing_across,
    reach,
    widest,
    walking_along,
    walking_across,
    distance,
):
    """Find how far the nearest walker is from each place that agents that stand leave free.

    Parameters
    ----------
    start, stop : int
        Range of places.
    place : (n, 2) float64, m
    axis : int
        0: along is x and across is y; 1: the other way round.
    standing_along, standing_across : (s,) float64, m
        Where agents stand or are about to, ascending along the axis.
    reach : (s,) float64, m
        Places no farther from the agent than this are taken.
    widest : float, m
        No reach is larger.
    walking_along, walking_across : (w,) float64, m
        Where walkers are, ascending along the axis.
    distance : (n,) float64, m
        Receives the distance to the nearest walker, inf without one; `TAKEN` for places that are taken.

    Notes
    -----
    Agents are looked at from the place on to both sides, until they are too far off along the axis alone: the
    axis decides about the time that it takes, and about nothing else. Twin: `tests/reference/places.py`.
    """
    for i in range(start, stop):
        along, across = place[i, axis], place[i, 1 - axis]
        is_taken = False
        other = np.searchsorted(standing_along, along - widest)
        other = max(0, other - 1)  # the difference is rounded
        while other < standing_along.size and standing_along[other] - along <= widest and not is_taken:
            off, beside = standing_along[other] - along, standing_across[other] - across
            is_taken = np.sqrt(off * off + beside * beside) <= reach[other]
            other += 1
        if is_taken:
            distance[i] = TAKEN
            continue
        least = np.inf
        right = np.searchsorted(walking_along, along)
        left = right - 1
        while left >= 0 or right < walking_along.size:
            if right >= walking_along.size or (
                left >= 0 and along - walking_along[left] <= walking_along[right] - along
            ):
                other = left
                left -= 1
            else:
                other = right
                right += 1
            off, beside = walking_along[other] - along, walking_across[other] - across
            if off * off > least:
                break
            least = min(least, off * off + beside * beside)
        distance[i] = np.sqrt(least)


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
def rank_places(place, distance, x, y, waited_for, away, scratch, order):
    """Find the best places for an agent: of so many of the nearest those farthest from walkers,
    then the others, the nearest first.

    Parameters
    ----------
    place : (n, 2) float64, m
    distance : (n,) float64, m
        See `measure_distances`.
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
        if distance[i] == TAKEN:
            continue
        away[i] = np.hypot(place[i, 0] - x, place[i, 1] - y)
        scratch[free] = away[i]
        free += 1
    farthest, ties = np.inf, 0
    if free > waited_for:
        farthest = _smallest(scratch, free, waited_for - 1)
        ties = waited_for
        for i in range(distance.size):
            if distance[i] != TAKEN and away[i] < farthest:
                ties -= 1
    count = 0
    for i in range(distance.size):
        if distance[i] == TAKEN:
            continue
        worth = distance[i] if away[i] < farthest else 0.0
        if away[i] == farthest and ties > 0:
            worth = distance[i]
            ties -= 1
        scratch[i] = worth
        if count < order.size:
            count += 1
        elif not _is_better(worth, away[i], scratch[order[count - 1]], away[order[count - 1]]):
            continue
        at = count - 1
        while at > 0 and _is_better(worth, away[i], scratch[order[at - 1]], away[order[at - 1]]):
            order[at] = order[at - 1]
            at -= 1
        order[at] = i
    return count
