"""Which agents are stuck: one definition, for the run that goes on and for the
recording of one that is over.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.lengths import hypots
from crowdsim.scenario.model import Event
from crowdsim.world.columns import AgentState, PathStatus, Wait

# In headers of recordings: which definition this is. Older ones meant net displacement.
STUCK_BY = "progress"
# Progress along the path that an agent that wants to get on has to make: half its width. Larger takes slow
# queues for standstill.
PROGRESS_M = 0.2
STUCK_SECONDS = 10.0  # The time over which it counts. Shorter takes agents for stuck that let others pass.
# One that does less than that in so many seconds at its desired speed has to do no more: a fifth of the time,
# so that it may climb stairs.
SLOW_SECONDS = 2.0
# Times that its least remaining length begins again by what it does itself, until it has come nearer than
# ever. Fewer blames a detour after a detour, more misses those that swing to and fro.
MOST_SETBACKS = 3
# Pushed back, it begins again once it has walked for so many seconds at that share of the speed that it
# prefers.
REGAINING_SHARE, REGAINING_SECONDS = 0.5, 5
# Stuck for so long is a deadlock: no queue that is served stands so long, and nobody waits so long in a door
# for another.
DEADLOCK_SECONDS = 30.0
TRAIL_SLOTS = 10  # Looks of the last ten seconds that an agent keeps.
HALTED_SPEED_M_S = 1e-3  # A program that gives an agent less to do lets it stand.


def look_every(tick_length: float) -> tuple[int, int]:
    """Return the number of ticks between two looks at how far each agent has got,
    and after how many looks that is compared with what it was then.

    Both together come nearest to `STUCK_SECONDS`: exactly for ticks of which a whole number is a second, and
    to 6 % for all up to a second.

    Parameters
    ----------
    tick_length : float, s
    """
    every = max(1, int(np.ceil(1.0 / tick_length - 1e-9)))
    return every, min(TRAIL_SLOTS, max(1, round(STUCK_SECONDS / (every * tick_length))))


def wants_on(
    activity: NDArray[np.uint8],
    goal: NDArray[np.int32],
    path_status: NDArray[np.uint8],
    preferred_velocity: NDArray[np.float64],
    is_driven: NDArray[np.uint8],
    waits: NDArray[np.uint8],
    *,
    door_opens_later: bool,
) -> NDArray[np.bool_]:
    """Return (n,) bool: which agents have a goal, have not arrived, and do not wait by design.

    By design wait: those whose premovement time is not over, those that say what they wait for, those that a
    program holds, and, while a door is still to open by the clock, those that have no path until it does,
    also while they go as near to their goal as they can.

    Parameters
    ----------
    activity : (n,) uint8
        AgentState.
    goal : (n,) int32
        -1 is none.
    path_status : (n,) uint8
        PathStatus.
    preferred_velocity : (n, 2) float64, m/s
    is_driven : (n,) uint8
        `Led`: not 0 for those whose preferred velocity a program sets.
    waits : (n,) uint8
        `Wait`: not 0 for those that wait for something.
    door_opens_later : bool
        See `opens_later`.
    """
    walks = activity == AgentState.WALKING
    stands = (activity == AgentState.STANDING) & (goal >= 0)
    has_path = np.isin(
        path_status, (PathStatus.NONE, PathStatus.PENDING, PathStatus.FOUND, PathStatus.FOUND_THROUGH_AGENTS)
    )
    halted = (is_driven != 0) & (
        hypots(preferred_velocity[:, 0], preferred_velocity[:, 1]) < HALTED_SPEED_M_S
    )
    wants = (walks | stands) & ~halted & (waits == Wait.NOTHING)
    return wants & has_path & walks if door_opens_later else wants


def has_no_progress(
    progress: NDArray[np.float64], then: NDArray[np.float64], speed: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Return (n,) bool: whose path has not become shorter by `PROGRESS_M` since then,
    nor by what it does in `SLOW_SECONDS`.

    Parameters
    ----------
    progress : (n,) float64, m
        By how much its least remaining length has fallen so far, see `crowdsim.navigation.corridor.progress`.
    then : (n,) float64, m
        What that was `STUCK_SECONDS` before; nan, when it did not want on, holds nobody up.
    speed : (n,) float64, m/s
        At which it would go alone on level ground.
    """
    return progress - then < np.minimum(PROGRESS_M, SLOW_SECONDS * speed)


def waits_by_design(
    activity: NDArray[np.uint8],
    goal: NDArray[np.int32],
    path_status: NDArray[np.uint8],
    *,
    door_opens_later: bool,
    waits: NDArray[np.uint8] | None = None,
) -> NDArray[np.bool_]:
    """Return (n,) bool: which agents wait by design, as far as recordings tell: for their premovement time to
    be over, for a door to open, or, where `waits` was recorded, for what that says. See `wants_on`.
    """
    still = np.zeros((len(activity), 2))
    if waits is None:
        waits = np.zeros(len(activity), dtype=np.uint8)
    wants = wants_on(
        activity,
        goal,
        path_status,
        still,
        np.zeros(len(activity), np.uint8),
        waits,
        door_opens_later=door_opens_later,
    )
    return ((goal >= 0) | (waits > 0)) & (activity <= AgentState.STANDING) & ~wants


def opens_later(events: Sequence[Event], tick: int) -> bool:
    """Return whether a door is still to be opened by the clock after a tick."""
    return any(event.opens and event.tick > tick for event in events)
