"""Events: what happened to whom, tick by tick."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray


class EventKind(IntEnum):
    """Kinds of events; the numbers are part of the recorded format and are never reused. `value` is what the comment says."""

    SPAWN = 1  # value: group
    PATH_FOUND = 2  # value: portals in the corridor
    UNREACHABLE = 3  # value: goal
    GOAL_REACHED = 4  # value: goal; there are more to come
    ARRIVAL = 5  # value: goal (of a nearest-of goal, the one that was reached)
    STUCK = 6  # value: entity of the blocker, -1 a wall, 0 unknown
    UNSTUCK = 7  # value: seconds for which it was stuck
    SYMMETRY_BROKEN = 8  # value: 0
    RETIRED = 9  # value: AgentState in which it left
    STRAYED = 10  # value: portals that pushes had added; a new path was asked for
    STOPPED = 11  # value: PathStatus; the agent stands from now on, since there is no way


EVENT_DTYPE = np.dtype([("tick", "i8"), ("entity", "i8"), ("kind", "u1"), ("value", "i8"), ("x", "f8"), ("y", "f8")])


class EventLog:
    """Events since the last time they were taken, in the order in which they were noted."""

    def __init__(self) -> None:
        self._parts: list[NDArray[Any]] = []

    def note(self, tick: int, kind: EventKind, entity: NDArray[np.int64], position: NDArray[np.float64], value: Any = 0) -> None:
        """Note one event for each of some agents.

        Parameters
        ----------
        tick : int
        kind : EventKind
        entity : (k,) int64
        position : (k, 2) float64, m
        value : int or (k,) int
            See `EventKind`.
        """
        if not len(entity):
            return
        part = np.empty(len(entity), dtype=EVENT_DTYPE)
        part["tick"], part["kind"], part["entity"], part["value"] = tick, int(kind), entity, value
        part["x"], part["y"] = position[:, 0], position[:, 1]
        self._parts.append(part)

    def take(self) -> NDArray[Any]:
        """Return the events and forget them."""
        taken = np.concatenate(self._parts) if self._parts else np.empty(0, dtype=EVENT_DTYPE)
        self._parts = []
        return taken
