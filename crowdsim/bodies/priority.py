"""Giving way by waiting time: where two agents are in each other's way,
the one that has waited longer goes first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.tunable import param

# Cosine of the angle between two directions below which they differ, 60 degrees: agents in one direction
# queue.
WITH_EACH_OTHER = 0.5
# Ticks of waiting that a tick of getting on takes back: a queue that moves by starts does not wait.
FORGETS = 4
_SHARE = 0.5  # Of its speed at which an agent makes room: it walks back and aside.


@dataclass(frozen=True)
class PriorityParameters:
    """Which agents go first where they are in each other's way."""

    priority: str = param(
        "none",
        "",
        choices=("none", "waiting"),
        source="ours",
        why=(
            "waiting: agents that have waited less make room for those that come towards them and have "
            "waited longer; none: avoidance alone decides"
        ),
    )
    priority_after: float = param(
        1.0,
        "s",
        low=0.0,
        high=1e6,
        source="ours",
        why=(
            "for how long an agent must have got on by less than blocked_share of its speed to be let "
            "through; smaller makes room at every dodge"
        ),
    )
    priority_margin: float = param(
        0.5,
        "s",
        low=0.0,
        high=1e6,
        source="ours",
        why=(
            "by how much longer it must have waited; larger leaves more to avoidance, smaller changes its "
            "mind sooner"
        ),
    )
    priority_reach: float = param(
        1.0,
        "m",
        low=0.0,
        high=100.0,
        source="ours",
        why=(
            "how far ahead of it, from disc to disc, others make room; larger clears more of its path and "
            "moves more agents"
        ),
    )


def count_waiting(
    wanted: NDArray[np.float64],
    velocity: NDArray[np.float64],
    walks: NDArray[np.bool_],
    share: float,
    waited: NDArray[np.int32],
) -> NDArray[np.int32]:
    """Return for how long agents have waited, in ticks:
    one more where they got on by too little, four less where they did not.

    Parameters
    ----------
    wanted, velocity : (n, 2) float64, m/s
        What each would do alone, and did in the last tick.
    walks : (n,) bool
        The others wait for nothing: 0.
    share : float
        Of the wanted velocity, in its direction, below which an agent does not get on.
    waited : (n,) int32
    """
    square = wanted[:, 0] * wanted[:, 0] + wanted[:, 1] * wanted[:, 1]
    along = wanted[:, 0] * velocity[:, 0] + wanted[:, 1] * velocity[:, 1]
    is_blocked = along < share * square
    result = np.where(is_blocked, waited + 1, np.maximum(waited - FORGETS, 0))
    return np.where(walks & (square > 0.0), result, 0).astype(np.int32)


def find_right_of_way(
    position: NDArray[np.float64],
    radius: NDArray[np.float64],
    wanted: NDArray[np.float64],
    part: NDArray[np.int32],
    waited: NDArray[np.int32],
    entity: NDArray[np.int64],
    walks: NDArray[np.bool_],
    after: int,
    margin: int,
    reach: float,
) -> NDArray[np.int64]:
    """Find the agent that each agent gives way to.

    Parameters
    ----------
    position : (n, 2) float64, m
    radius : (n,) float64, m
    wanted : (n, 2) float64, m/s
        What each would do alone.
    part : (n,) int32
        Ground that each is on; others do not count.
    waited : (n,) int32, ticks
    entity : (n,) int64
    walks : (n,) bool
    after, margin : int, ticks
    reach : float, m

    Returns
    -------
    (n,) int64
        Row of that agent, -1 for none: of several that go first the one that has waited longest, then the
        lowest entity.

    Notes
    -----
    An agent gives way if it is ahead of the other within `reach` and in the strip that the other needs, goes
    in another direction, and has waited less by `margin`. So the one that has waited longest of all gives way
    to none. Twin: `tests/reference/priority.py`.
    """
    result = np.full(len(position), -1, dtype=np.int64)
    speed = np.sqrt(wanted[:, 0] * wanted[:, 0] + wanted[:, 1] * wanted[:, 1])
    moving = walks & (speed > 0.0)
    first = np.flatnonzero(moving & (waited >= max(1, after)))
    others = np.flatnonzero(moving)
    if not len(first):
        return result
    farthest = reach + float(radius[others].max() + radius[first].max())
    tree = shapely.STRtree(shapely.points(position[others]))
    a, b = tree.query(shapely.points(position[first]), predicate="dwithin", distance=farthest)
    a, b = first[a], others[b]
    heading = wanted[a] / speed[a][:, None]
    to = position[b] - position[a]
    ahead = heading[:, 0] * to[:, 0] + heading[:, 1] * to[:, 1]
    aside = np.abs(heading[:, 0] * to[:, 1] - heading[:, 1] * to[:, 0])
    both = radius[a] + radius[b]
    same = (heading[:, 0] * wanted[b, 0] + heading[:, 1] * wanted[b, 1]) / speed[b]
    yields = (
        (a != b)
        & (part[a] == part[b])
        & (ahead > 0.0)
        & (ahead <= reach + both)
        & (aside < both)
        & (same < WITH_EACH_OTHER)
    )
    yields &= waited[a].astype(np.int64) >= waited[b].astype(np.int64) + max(1, margin)
    a, b = a[yields], b[yields]
    order = np.lexsort((entity[a], -waited[a].astype(np.int64), b))
    a, b = a[order], b[order]
    is_first = np.ones(len(b), dtype=np.bool_)
    is_first[1:] = b[1:] != b[:-1]
    result[b[is_first]] = a[is_first]
    return result


def make_room(
    position: NDArray[np.float64],
    wanted: NDArray[np.float64],
    speed: NDArray[np.float64],
    rows: NDArray[np.int64],
    to: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return the preferred velocities of agents that make room, (k, 2) m/s:
    half in the direction of the other, half to the side on which they are.

    Parameters
    ----------
    position, wanted : (n, 2) float64
    speed : (n,) float64, m/s
    rows, to : (k,) int64
        Which agents make room, and for which.
    """
    length = np.sqrt(wanted[to, 0] * wanted[to, 0] + wanted[to, 1] * wanted[to, 1])
    heading = wanted[to] / length[:, None]
    away = position[rows] - position[to]
    left = heading[:, 0] * away[:, 1] - heading[:, 1] * away[:, 0] > 0.0
    side = np.where(
        left[:, None],
        np.column_stack([-heading[:, 1], heading[:, 0]]),
        np.column_stack([heading[:, 1], -heading[:, 0]]),
    )
    found: NDArray[np.float64] = (heading + side) * (np.sqrt(0.5) * _SHARE * speed[rows])[:, None]
    return found
