"""Events: what happened to which agent, tick by tick."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.codes import Code
from crowdsim.old_names import OldName


class EventKind(Code):
    """What happened to an agent. `value`, `x` and `y` of an event mean what the comment says;
    x, y are the agent's place where nothing else is said.

    The numbers are part of the recorded format and are never reused.
    """

    SPAWN = 1  # value: index of the group
    # reached its last goal; value: index of the goal (of a nearest-of goal, the one that was reached)
    ARRIVAL = 2
    # value: PathStatus of the answer; x: length of the path in metres, along the surface, y: 0
    PATH_FOUND = 3
    UNREACHABLE = 4  # value: PathStatus of the answer
    STUCK = 5  # makes no progress along its path; value: entity that binds it, -1 a wall, 0 none
    UNSTUCK = 6  # value: ticks for which it was stuck
    SYMMETRY_BROKEN = 7  # value: entity with which it stood symmetrically, 0 none
    GOAL_REACHED = 8  # a goal that is not the last; value: index of the goal
    RETIRED = 9  # left the world without arriving; value: AgentState at that time
    # was pushed off its corridor and asks for a new path; value: portals that the pushes had added
    STRAYED = 10
    # its retreat before an agent that comes towards it begins to fade; value: entity of that one
    GROUND_HELD = 11
    AREA_OPENED = 20  # entity: 0; value: index of the area; x, y: a point of it
    AREA_CLOSED = 21  # the same
    # its path led over ground that was cut anew, and it asks for another; value: how many portals of the path
    # were still ahead, or waypoints
    PATH_LOST = 22
    # stood where a wall was put up, and was put where it has room, or where ground is gone, and came to that
    # below; value: how far, in millimetres
    PUT_OUT = 23
    TILE_REMOVED = 24  # entity: 0; value: number of the tile; x, y: its middle
    TILE_ADDED = 25  # the same
    # stands where a tile was taken out, and stays there until it is back; value: number of the tile
    GROUND_LOST = 26
    GROUND_BACK = 27  # stands on ground again; value: number of the tile
    NUDGED = 28  # was asked aside, and goes; value: entity that asked; x, y: where it steps to
    REPLANNED = 29  # asks for a new path though it had one; value: ReplanCause
    RADIUS_SET = 30  # its body became wider or thinner; value: the new radius, in millimetres
    OBSTACLE_APPEARED = 31  # entity: 0; value: index of the obstacle; x, y: where it is
    OBSTACLE_GONE = 32  # the same
    OBSTACLE_STANDS = 33  # the same: it has stood for so long that paths lead round it
    OBSTACLE_MOVES = 34  # the same: it stood, and its place is open ground again
    # entity: 0; value: index of the obstacle; a program put it in, sent it elsewhere or took it away; x, y:
    # where it is to stand
    OBSTACLE_SENT = 35
    GAVE_WAY = 36  # makes room for one that has waited longer; value: entity of that one
    MOVED = 37  # a program put it elsewhere; x, y: where; value: how far, in millimetres
    # is sent to a place that is no goal of the scenario; value: number of the goal that is this place from
    # now on, behind those of the scenario; x, y: the point, or a point of the region
    SENT = 38
    # goes on to another state of its machine; value: 32 times the number of the state, -1 where the machine
    # has ended, and Reason
    STATE = 39
    # has been stuck for 30 s; value: Cause (crowdsim.measures.deadlock_causes); again if it was a queue and
    # is none any more
    DEADLOCKED = 40
    JOINED_LINE = 41  # stands in the line of a queue; value: index of the queue
    CALLED = 42  # leaves the head of the line for a server; value: the same
    SERVED = 43  # is being served from now on; value: the same
    # stands among those that wait at a connection; value: 1024 times its index, and the end or stop
    WAITS_AT = 44
    BOARDED = 45  # has gone in there; value: the same
    ALIGHTED = 46  # has come out; value: the same, of the end or stop at which it came out
    LEFT_GATE = 47  # has gone elsewhere without a ride; value: the same
    # chooses one of several goals, or another than before; value: see `chose_value`; x: by how many seconds
    # it is quicker than that before, or than the nearest, 0 where that is not why; y: in how many seconds
    # the agent expects to be through it
    CHOSE = 48
    # jumps by itself, and leaves a portal; value: 1024 times the number of the portal behind those of the
    # connections; x, y: where it is to land
    JUMPED = 49
    # entity 0: a portal is gone; value: the same; x, y: where one took off. Else the agent was on its way
    # there, or waited, and looks for another path; x, y: its place
    PORTAL_GONE = 50
    PART_ADDED = 51  # entity: 0; value: index of the part among the areas; x, y: a point of it
    PART_REMOVED = 52  # the same

    WAY_LOST = OldName("PATH_LOST")


# What a program can cause between two ticks: it is noted for the next one, and waits in the log for it.
BETWEEN_TICKS = (
    EventKind.SPAWN, EventKind.RETIRED, EventKind.RADIUS_SET, EventKind.OBSTACLE_SENT, EventKind.MOVED,
    EventKind.SENT, EventKind.STATE, EventKind.LEFT_GATE, EventKind.WAITS_AT, EventKind.BOARDED,
    EventKind.JUMPED, EventKind.PORTAL_GONE,
)  # fmt: skip


class Reason(Code):
    """Why an agent goes on to another state. The numbers are part of the recorded format and are never
    reused.
    """

    BEGINS = 0  # it has set off
    DONE = 1
    CANNOT = 2  # no path leads there, or there is nothing to go to
    LASTED = 3  # its time is over
    AFTER = 4
    AT = 5
    SIGNAL = 6
    OPENED = 7
    CLOSED = 8
    COUNT = 9
    DENSITY = 10
    NEAR = 11
    HIDDEN = 12
    ALL_OF = 13
    ANY_OF = 14
    NONE_OF = 15
    PROGRAM = 16  # a program said so
    INSIDE = 17

    @property
    def words(self) -> str:
        """Its name in messages and tables."""
        return _REASONS.get(self, self.name.lower().replace("_", " "))


_REASONS = {
    Reason.BEGINS: "begins",
    Reason.CANNOT: "cannot be done",
    Reason.LASTED: "lasted",
    Reason.AFTER: "time has passed",
    Reason.AT: "time has come",
    Reason.PROGRAM: "a program",
}
REASONS = 32  # more than there are


class ChoiceReason(Code):
    """Why an agent chooses a goal. The numbers are part of the recorded format and are never reused."""

    NEAREST = 0  # the first choice: none takes less time to walk to, and queues change nothing
    QUICKER = 1  # than the one before, or than the nearest
    CLOSED = 2  # no path leads to the one before any more
    NO_PATH = 3  # the planner found no path to the one before
    FAMILIAR = 4  # the only one that it knows
    PARTY = 5  # its party goes there
    OTHERS = 6  # others that it sees go there

    @property
    def words(self) -> str:
        """Its name in messages and tables."""
        return _CHOICES.get(self, self.name.lower())


_CHOICES = {
    ChoiceReason.CLOSED: "the one before closed",
    ChoiceReason.NO_PATH: "no path was found to the one before",
    ChoiceReason.FAMILIAR: "the only one it knows",
    ChoiceReason.PARTY: "its party goes there",
    ChoiceReason.OTHERS: "others go there",
}
CHOICE_REASONS = 16  # more than there are
GOALS = 1 << 18  # more goals than a scenario can have


def chose_value(
    before: NDArray[np.int64], after: NDArray[np.int64], reason: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the values of CHOSE: goals before, (k,), -1 for none, and after, and `ChoiceReason`."""
    return (((before + 1) * GOALS) + after) * CHOICE_REASONS + reason


def chose_parts(value: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return from values of CHOSE, (k,), the goals before, those after, and the reasons."""
    goals, reason = np.divmod(value, CHOICE_REASONS)
    before, after = np.divmod(goals, GOALS)
    return before - 1, after, reason


class Cause(Code):
    """Why an agent is stuck. The numbers are part of the recorded format (value of DEADLOCKED) and are never
    reused.
    """

    UNKNOWN = 0  # nothing of what follows
    NO_PATH = 1  # no path to its goal is wide enough, or the ground under it was taken out
    ENCLOSED = 2  # it can get nowhere: agents that stay, and walls, shut it in
    STARVED = 3  # its path request has been open for long: others use up the budget
    PUSHED_OFF = 4  # a wall stands between it and the point that it steers at: it was pushed off its path
    GOAL_OCCUPIED = 5  # another agent is where it wants to stand
    THROUGH_PEOPLE = 6  # its path leads through agents that stay
    HEAD_ON = 7  # agents that block each other go against or across each other
    ARCH = 8  # agents that want through one gap from one side block each other before it
    # its path is free, but avoidance finds no velocity that leads on: it keeps no constraints, or stops for
    # walls beside the path
    INFEASIBLE = 9
    OBSTACLE = 10  # an obstacle blocks it for good
    # it waits behind agents that get on, at a gap that others get through, or for an obstacle that goes on by
    # its timetable: no deadlock
    QUEUE = 11
    # it waits for a signal that none gives any more: those that could wait, too
    SIGNAL = 12

    @property
    def words(self) -> str:
        """Its name in messages and tables."""
        return _WORDS[self]


_WORDS = {
    Cause.UNKNOWN: "unknown",
    Cause.NO_PATH: "no path",
    Cause.ENCLOSED: "enclosed",
    Cause.STARVED: "starved by the budget",
    Cause.PUSHED_OFF: "pushed off course",
    Cause.GOAL_OCCUPIED: "goal occupied",
    Cause.THROUGH_PEOPLE: "path through people",
    Cause.HEAD_ON: "head-on",
    Cause.ARCH: "arch at a gap",
    Cause.INFEASIBLE: "infeasible avoidance",
    Cause.OBSTACLE: "obstacle in the way",
    Cause.QUEUE: "queue",
    Cause.SIGNAL: "signal that none gives",
}
NOT_DIAGNOSED = 255  # in columns that hold a cause
NO_QUEUE_ONCE = 254  # Likewise: to be looked at again, and when it was last it was in no queue.
# Likewise: to be looked at again, since what was found may have been a ring of a moment, which jostling
# causes.
LOOK_AGAIN = 253
NOT_REPORTED = (NOT_DIAGNOSED, LOOK_AGAIN, NO_QUEUE_ONCE)


EVENT_DTYPE = np.dtype(
    [("tick", "i8"), ("entity", "i8"), ("kind", "i8"), ("value", "i8"), ("x", "f8"), ("y", "f8")]
)


class EventLog:
    """Events since the last time they were taken, in the order in which they were noted."""

    def __init__(self) -> None:
        self._parts: list[NDArray[Any]] = []

    def note(
        self,
        tick: int,
        kind: EventKind,
        entity: NDArray[np.int64],
        place: NDArray[np.float64],
        value: Any = 0,
    ) -> None:
        """Note one event for each of some agents.

        Parameters
        ----------
        tick : int
        kind : EventKind
        entity : (k,) int64
        place : (k, 2) float64
            x and y of the events, see `EventKind`.
        value : int or (k,) int
            See `EventKind`.
        """
        if not len(entity):
            return
        part = np.empty(len(entity), dtype=EVENT_DTYPE)
        part["tick"], part["kind"], part["entity"], part["value"] = tick, int(kind), entity, value
        part["x"], part["y"] = place[:, 0], place[:, 1]
        self._parts.append(part)

    def take(self) -> NDArray[Any]:
        """Return the events and forget them."""
        taken = self.waiting()
        self._parts = []
        return taken

    def waiting(self) -> NDArray[Any]:
        """Return the events that were not taken yet."""
        if not self._parts:
            return np.empty(0, dtype=EVENT_DTYPE)
        # as bytes: numpy joins fields one by one, which takes ten times as long
        return np.frombuffer(bytearray(b"".join(part.data for part in self._parts)), dtype=EVENT_DTYPE)

    def put_back(self, events: NDArray[Any]) -> None:
        """Have events wait, and no others."""
        self._parts = [np.ascontiguousarray(events)] if len(events) else []
