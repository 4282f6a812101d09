"""Why an agent is stuck, as columns and events hold it;
`crowdsim.measures.deadlock_causes` tells causes apart.
"""

from __future__ import annotations

from crowdsim.codes import Code


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
}
NOT_DIAGNOSED = 255  # in columns that hold a cause
NO_QUEUE_ONCE = 254  # Likewise: to be looked at again, and when it was last it was in no queue.
# Likewise: to be looked at again, since what was found may have been a ring of a moment, which jostling
# causes.
LOOK_AGAIN = 253
NOT_REPORTED = (NOT_DIAGNOSED, LOOK_AGAIN, NO_QUEUE_ONCE)
