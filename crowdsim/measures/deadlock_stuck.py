"""Who is stuck: one definition, for the run that goes on and for the recording of one that is over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from crowdsim.world.columns import AgentState, PathStatus

if TYPE_CHECKING:
    from crowdsim.scenario.model import Event

STUCK_DISPLACEMENT_M = 0.2  # Net displacement below which somebody who wants to get on is stuck: half a body. Larger takes slow queues for standstill.
STUCK_SECONDS = 10.0  # The time over which it counts. Shorter takes everybody for stuck who lets somebody pass.
DEADLOCK_SECONDS = 30.0  # Stuck for so long is a deadlock: no queue that is served stands so long, and nobody waits so long in a door for another.
TRAIL_SLOTS = 10  # Places of the last ten seconds that an agent keeps.
HELD_SPEED_M_S = 1e-3  # A program that gives an agent less to do lets it stand.


def look_every(tick_length: float) -> tuple[int, int]:
    """Return the number of ticks between two looks at where everybody is, and after how many looks the present place is compared with the one then.

    Both together come nearest to `STUCK_SECONDS`: exactly for ticks of which a whole number is a second, and to 6 % for all up to a second.

    Parameters
    ----------
    tick_length : float, s
    """
    every = max(1, int(np.ceil(1.0 / tick_length - 1e-9)))
    return every, min(TRAIL_SLOTS, max(1, round(STUCK_SECONDS / (every * tick_length))))


def wants_on(
    activity: NDArray[np.uint8], goal: NDArray[np.int32], path_status: NDArray[np.uint8], preferred_velocity: NDArray[np.float64],
    is_driven: NDArray[np.uint8], *, door_opens_later: bool,
) -> NDArray[np.bool_]:  # fmt: skip
    """Return (n,) bool: who has a goal, has not arrived, and does not wait by design.

    By design wait: those whose premovement time is not over, those whom a program holds, and, while a door is still to open by the clock, those
    who have no way until it does, also while they go as near to their goal as they can.

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
        1 for those whose preferred velocity a program sets.
    door_opens_later : bool
        See `opens_later`.
    """
    walks = activity == AgentState.WALKING
    stands = (activity == AgentState.STANDING) & (goal >= 0)
    has_way = np.isin(path_status, (PathStatus.NONE, PathStatus.PENDING, PathStatus.FOUND, PathStatus.FOUND_THROUGH_AGENTS))
    held = (is_driven == 1) & (np.hypot(preferred_velocity[:, 0], preferred_velocity[:, 1]) < HELD_SPEED_M_S)
    wants = (walks | stands) & ~held
    return wants & has_way & walks if door_opens_later else wants


def is_near(position: NDArray[np.float64], then: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return (n,) bool: who is less than `STUCK_DISPLACEMENT_M` from where it was then, (n, 2) in metres; nan, nowhere, is not near."""
    return np.hypot(position[:, 0] - then[:, 0], position[:, 1] - then[:, 1]) < STUCK_DISPLACEMENT_M


def opens_later(events: Sequence[Event], tick: int) -> bool:
    """Return whether a door is still to be opened by the clock after a tick."""
    return any(event.opens and event.tick > tick for event in events)
