"""What the ledger takes from the events of a tick, in one pass over them."""

# mypy: allow-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdsim.kernels.decorator import lean_kernel
from crowdsim.world.events import EVENT_DTYPE, EventKind

# Columns of events that are seen as whole numbers.
_NAMES = EVENT_DTYPE.names or ()
_ENTITY, _KIND, _VALUE = (_NAMES.index(name) for name in ("entity", "kind", "value"))
_SPAWN, _ARRIVAL = int(EventKind.SPAWN), int(EventKind.ARRIVAL)
_RETIRED, _DEADLOCKED = int(EventKind.RETIRED), int(EventKind.DEADLOCKED)
_SYMMETRY_BROKEN = int(EventKind.SYMMETRY_BROKEN)


class Noted(NamedTuple):
    """What the ledger knows, by entity of the agents that the scenario lists.

    Attributes
    ----------
    arrivals : (goals + 1,) int64
        How many have arrived at each goal, and behind them at places that the run has set.
    has_come, has_arrived : (n,) bool
    last_goal : (n,) int32
        Where each arrived last, -1 for nowhere.
    last_tick : (n,) int64
        And in which tick.
    deadlocked : (n, causes) bool
        Whether it was ever stuck for long.
    """

    arrivals: NDArray[np.int64]
    has_come: NDArray[np.bool_]
    has_arrived: NDArray[np.bool_]
    last_goal: NDArray[np.int32]
    last_tick: NDArray[np.int64]
    deadlocked: NDArray[np.bool_]


def as_numbers(events: NDArray[np.void]) -> NDArray[np.int64]:
    """Return events as `note_events` takes them, (k, 6); nothing is copied."""
    numbers: NDArray[np.int64] = events.view(np.int64).reshape(len(events), len(_NAMES))
    return numbers


@lean_kernel
def note_events(events, tick, noted):
    """Take in the events of a tick.

    Parameters
    ----------
    events : (k, 6) int64
        As `as_numbers` gives them.
    tick : int
    noted : Noted
        In and out. Arrivals count whether the agents are listed or not, all else only if they are.

    Returns
    -------
    symmetries, arrivals : int
        How many symmetries were broken, and how many agents have arrived.
    others : int
        How many events that the ledger keeps are of agents that are not listed.

    Notes
    -----
    Twin: `tests/reference/ledger.py`.
    """
    symmetries, arrived, others = 0, 0, 0
    listed, places = noted.has_come.size, noted.arrivals.size - 1
    for row in range(events.shape[0]):
        kind, entity, value = events[row, _KIND], events[row, _ENTITY], events[row, _VALUE]
        is_listed = entity < listed
        if kind == _SYMMETRY_BROKEN:
            symmetries += 1
        elif kind == _ARRIVAL:
            goal = min(value, places)
            noted.arrivals[goal] += 1
            arrived += 1
            if is_listed:
                noted.has_arrived[entity] = True
                noted.last_goal[entity], noted.last_tick[entity] = goal, tick
        elif kind == _SPAWN and is_listed:
            noted.has_come[entity] = True
        elif kind == _DEADLOCKED and is_listed:
            noted.deadlocked[entity, value] = True
        if not is_listed and (kind in (_SPAWN, _ARRIVAL, _RETIRED, _DEADLOCKED)):
            others += 1
    return symmetries, arrived, others
