"""The hot columns: what every agent has in every tick, as a structure of arrays.

Rows are dense and in ascending entity id. Systems and kernels see the arrays; nothing here knows esper.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.codes import Code, Diagnosis, PathStatus
from crowdsim.kernels.memory import addresses_of, close_up
from crowdsim.kernels.threads import ALONE, Team
from crowdsim.old_names import COLUMNS, OldName, name_today
from crowdsim.saved import FARTHEST_M, MOST_TICKS, WIDEST_M, Arrays, Saved, ascends


class AgentState(Code):
    """What an agent is doing."""

    WAITING = 0  # premovement time has not passed; stands, and is avoided by others
    WALKING = 1  # has a goal and is on its way, or waits for its path
    STANDING = 2  # has no goal that it can walk to; stands with a reason (see path_status)
    ARRIVED = 3  # reached its last goal in this tick; leaves the world at the end of it
    # no agent: a disc of an obstacle that moves on a path of its own; such rows come after those of all
    # agents
    OBSTACLE = 4
    RIDING = 5  # is in or on a connection: no others meet it


class Led(Code):
    """Whether a program leads an agent, in the place of its path."""

    NOT = 0
    ON = 1  # its preferred velocity is set; avoidance applies
    HELD = 2  # it stands where it is, and heeds no other agent


class Stepping(Code):
    """Where a stationary agent goes, without a path."""

    NOWHERE = 0
    ASIDE = 1  # out of the way of another agent
    IN = 2  # to its place in the region that it has come to


class ReplanCause(Code):
    """Why an agent that had a path asks for a new one."""

    NONE = 0
    AGENTS_AHEAD = 1  # an agent moved near the line to its next corner, and a stationary agent cuts that line
    BLOCKED = 2  # a stationary agent has blocked it
    PATH_CLOSED = 3  # its path was closed
    GOAL_MOVED = 4  # it was sent to another goal
    PUSHED_OFF = 5  # a wall is in the line to its next corner
    NO_LOCAL_PATH = 6  # its local grid knows no path to its next corner
    WATCHED = 7  # an agent that it hides from has moved

    PEOPLE_AHEAD = OldName("AGENTS_AHEAD")
    HELD_UP = OldName("BLOCKED")
    WAY_SHUT = OldName("PATH_CLOSED")
    NO_LOCAL_WAY = OldName("NO_LOCAL_PATH")


class Wait(Code):
    """What an agent waits for by design, so that it is not stuck. The numbers are part of the recorded format
    and are never reused.
    """

    NOTHING = 0
    TIME = 1  # a time to pass
    SIGNAL = 2  # a signal, or something else that is to happen
    QUEUE = 3  # its turn
    SERVICE = 4  # to be served
    CONNECTION = 5  # a door, a lift, or another connection
    PARTY = 6  # those that it belongs to
    STAY = 7  # stays where it is until it goes on

    @property
    def words(self) -> str:
        """What such agents do, in messages and tables."""
        return _WAITS[self]


_WAITS = {
    Wait.NOTHING: "",
    Wait.TIME: "waits for a time to pass",
    Wait.SIGNAL: "waits for something to happen",
    Wait.QUEUE: "waits for its turn",
    Wait.SERVICE: "is being served",
    Wait.CONNECTION: "waits at a connection",
    Wait.PARTY: "waits for its party",
    Wait.STAY: "stays for a while",
}


class Gait(Code):
    """Whether an agent goes somewhere by itself ([Pathfinding undated], section 7)."""

    STAND = 0
    WALK = 1  # it wants to, also while others block it
    CROUCH = 2  # likewise, crouching


# What comes to its place in the next tick has that velocity, wherever it was; an agent that is sent somewhere
# walks at 50 m/s at most.
FASTEST_M_S = 1e13
MOST_SPEED_M_S = 1e3  # That an agent may like, or a program may set.
COUNT, INDEX, FLAG = (0, None), (-1, None), (None, 1)  # of which -1 is none
PLACE, VELOCITY, TICK = (-FARTHEST_M, FARTHEST_M), (-FASTEST_M_S, FASTEST_M_S), (-MOST_TICKS, MOST_TICKS)


@dataclass(frozen=True)
class Column:
    """Declaration of one hot column.

    Attributes
    ----------
    name, dtype, unit, about : str
    width : int
        1 for a scalar per agent, 2 for a vector, more for a short history.
    fill : float
        Value of a fresh row.
    within : (float or None, float or None)
        Least and greatest value that a saved column can hold; what depends on the ground is looked at by
        `crowdsim.world.checks`.
    of : str
        What the values number, in place of the greatest: ``goals``, ``itineraries``, ``groups``.
    special : str
        Numbers that are not finite and can be there: ``nan``, ``inf``.
    for_life : bool
        Whether an agent keeps what it came into the world with.
    """

    name: str
    dtype: str
    unit: str
    about: str
    width: int = 1
    fill: float = 0.0
    within: tuple[float | None, float | None] = (None, None)
    of: str = ""
    special: str = ""
    for_life: bool = False


AGENT_COLUMNS = (
    Column("entity", "int64", "", "entity id; ascending with the row", within=(1, None)),
    Column("key", "uint64", "", "key of the agent's random streams", for_life=True),
    Column("group", "int32", "", "index of the agent's group", within=INDEX, of="groups", for_life=True),
    Column("index", "int32", "", "index of the agent in its group", within=COUNT, for_life=True),
    Column("activity", "uint8", "", "AgentState", within=(None, max(AgentState))),
    Column("position", "float64", "m", "centre", width=2, within=PLACE),
    Column(
        "surface",
        "int64",
        "",
        "handle of the polygon under the centre: salt | tile | polygon; 0 is nowhere",
        within=COUNT,
    ),
    Column(
        "layer", "int32", "", "floor of that polygon; agents on other floors are no neighbours", within=COUNT
    ),
    Column("velocity", "float64", "m/s", "velocity of the last step", width=2, within=VELOCITY),
    Column(
        "heading",
        "float64",
        "",
        "unit vector that it faces; +x when it comes into the world",
        width=2,
        within=(-1.001, 1.001),
    ),
    Column("gait", "uint8", "", "Gait", within=(None, max(Gait))),
    Column("preferred_velocity", "float64", "m/s", "what the agent would do alone", width=2, within=VELOCITY),
    Column("chosen_velocity", "float64", "m/s", "what avoidance chose", width=2, within=VELOCITY),
    Column(
        "walked_velocity",
        "float64",
        "m/s",
        "what it moved by in the last tick, pushes and walls included",
        width=2,
        within=VELOCITY,
    ),
    Column(
        "tentative_position",
        "float64",
        "m",
        "where the step would end, before the walk on the surface",
        width=2,
        within=PLACE,
    ),
    Column("radius", "float64", "m", "radius of the body", within=(0.0, WIDEST_M)),
    Column(
        "desired_speed",
        "float64",
        "m/s",
        "speed that the agent likes on free ground",
        within=(0.0, MOST_SPEED_M_S),
    ),
    Column(
        "maximum_speed",
        "float64",
        "m/s",
        "speed that avoidance may use",
        within=(0.0, MOST_SPEED_M_S),
        special="inf",
    ),
    Column("goal", "int32", "", "index of the current goal; -1 is none", fill=-1, within=INDEX, of="goals"),
    Column("stage", "int32", "", "how many goals of the agent's list were reached", within=COUNT),
    Column(
        "start_tick", "int64", "tick", "tick at which the premovement time ends", within=TICK, for_life=True
    ),
    Column(
        "waits",
        "uint8",
        "",
        "Wait: what it waits for by design, standing, or walking slowly; 0 is nothing",
        within=(None, max(Wait)),
    ),
    Column("path_status", "uint8", "", "PathStatus of the last request", within=(None, max(PathStatus))),
    Column("path_tick", "int64", "tick", "when that status was set", fill=-1, within=TICK),
    Column(
        "corridor_start",
        "int64",
        "",
        "first portal of the agent's block in the corridor store",
        fill=-1,
        within=INDEX,
    ),
    Column("corridor_capacity", "int32", "", "portals that this block has room for", within=COUNT),
    Column("corridor_length", "int32", "", "portals still ahead", within=COUNT),
    Column("next_corner", "float64", "m", "point that the agent steers at", width=2, within=PLACE),
    Column(
        "corner_vertex",
        "int32",
        "",
        "that corner as crowdsim.navigation.corridor.corner_cache remembers it; -2**31 is not known",
        fill=-(1 << 31),
    ),
    Column(
        "corner_line",
        "float32",
        "",
        "the line to it: direction x, y, direction behind it x, y, slack (m), length (m)",
        width=6,
        within=PLACE,
    ),
    Column(
        "corner_offset",
        "float64",
        "m",
        "left normal of that direction times a point of the line",
        within=(-(FARTHEST_M**2), FARTHEST_M**2),
    ),
    Column("diagnosis", "uint8", "", "Diagnosis of the last avoidance", within=(None, max(Diagnosis))),
    Column(
        "blocker",
        "int64",
        "",
        "entity whose constraint bound the velocity; 0 is none, -1 a wall",
        within=INDEX,
    ),
    Column("neighbour_count", "int32", "", "neighbours that avoidance heeded", within=COUNT),
    Column(
        "samples", "int32", "", "velocities that avoidance tried; 0 by models that try none", within=COUNT
    ),
    Column(
        "neighbour_reach",
        "float32",
        "m",
        "radius that held the neighbours in the last tick; inf is unknown",
        fill=np.inf,
        within=COUNT,
        special="inf",
    ),
    Column(
        "wall_distance",
        "float32",
        "m",
        "least distance from the centre to a wall, capped at the body radius + 1 m",
        within=(0.0, FARTHEST_M),
    ),
    Column(
        "itinerary",
        "int32",
        "",
        "index of the agent's list of goals",
        within=INDEX,
        of="itineraries",
        for_life=True,
    ),
    Column(
        "goal_piece",
        "int32",
        "",
        "piece of the goal at the end of the corridor; -1 is none",
        fill=-1,
        within=INDEX,
    ),
    Column(
        "strays",
        "int32",
        "",
        "portals that pushes have added to the corridor since it was found",
        within=COUNT,
    ),
    Column(
        "guessed",
        "int32",
        "",
        "on a guess: the polygon in which the agent chose a portal, and that behind it; -1 is none",
        width=2,
        fill=-1,
        within=INDEX,
    ),
    Column(
        "symmetry_draw",
        "float64",
        "",
        "the agent's draw in 0..1 that decides how it leaves an exact symmetry",
        within=(0.0, 1.0),
        for_life=True,
    ),
    Column(
        "is_driven",
        "uint8",
        "",
        "Led: whether the preferred velocity is set from outside, between ticks",
        within=(None, max(Led)),
    ),
    Column(
        "remaining",
        "float64",
        "m",
        "length of the path ahead, along the surface; nan is not known",
        fill=np.nan,
        within=PLACE,
        special="nan",
    ),
    Column("behind", "float64", "m", "by how much that is longer than the least so far", within=PLACE),
    Column(
        "progress",
        "float64",
        "m",
        "by how much the least remaining length has fallen so far, by walking",
        within=PLACE,
    ),
    Column(
        "progress_trail",
        "float64",
        "m",
        "progress in the last ten seconds, one a second, in a ring; nan while it did not want on",
        width=10,
        fill=np.nan,
        within=PLACE,
        special="nan",
    ),
    Column("progress_place", "float64", "m", "where the progress was noted last", width=2, within=PLACE),
    Column(
        "progress_direction",
        "float64",
        "",
        "direction along its path there, as long as a metre in plan is along the surface; 0 is not known",
        width=2,
        within=PLACE,
    ),
    Column(
        "nearest_remaining",
        "float64",
        "m",
        "remaining length when it had come nearer than ever, or began a new path; nan is not known",
        fill=np.nan,
        within=PLACE,
        special="nan",
    ),
    Column(
        "setbacks",
        "uint8",
        "",
        "how often its least remaining length has begun again since, by what it did itself",
    ),
    Column("last_gain", "float64", "m", "progress less behind, when it was looked at last", within=PLACE),
    Column(
        "regaining",
        "uint8",
        "",
        "looks, one a second, for which it has got on at half the speed that it prefers",
    ),
    Column(
        "is_immovable", "uint8", "", "1: is never pushed and never asked aside", within=FLAG, for_life=True
    ),
    Column("blocked_ticks", "int32", "tick", "for how long a stationary agent has blocked it", within=COUNT),
    Column(
        "waited_ticks",
        "int32",
        "tick",
        "for how long others have let it get on by little, less what it has got on since",
        within=COUNT,
    ),
    Column(
        "is_yielding",
        "uint8",
        "",
        "Stepping: 1 while a stationary agent steps aside, 2 while it goes to its place",
        within=(None, max(Stepping)),
    ),
    Column("yield_target", "float64", "m", "where that step ends", width=2, within=PLACE),
    Column(
        "yield_tick",
        "int64",
        "tick",
        "when that began, or, to a place in a region, ends at the latest; -1 is never",
        fill=-1,
        within=TICK,
    ),
    Column("nudges", "int32", "", "how often it was asked aside", within=COUNT),
    Column(
        "counted_position", "float64", "m", "where it last counted as having moved", width=2, within=PLACE
    ),
    Column(
        "moved_tick",
        "int64",
        "tick",
        "when that was; far before the first tick if never",
        fill=-(1 << 40),
        within=TICK,
    ),
    Column(
        "replan_wish",
        "uint8",
        "",
        "ReplanCause for which it waits to ask for a new path",
        within=(None, max(ReplanCause)),
    ),
    Column(
        "asks_again",
        "uint8",
        "",
        "1 in a tick in which it asks for a new path to the goal that it has one to",
        within=FLAG,
    ),
    Column("replans", "int32", "", "how often it asked for a new path", within=COUNT),
    Column(
        "local_path",
        "uint8",
        "",
        "what the local grid says of the line to the corner: 0 not asked, 1 agrees, 2 leads round, 3 no path",
        within=(None, 3),
    ),
    Column(
        "priced_portal",
        "int32",
        "",
        "half-edges of portals where its local grid found no path; -1 is none, comes last",
        width=4,
        fill=-1,
        within=INDEX,
    ),
    Column("priced_until", "int64", "tick", "until when it remembers each", width=4, within=TICK),
    Column(
        "is_stuck",
        "uint8",
        "",
        (
            "1 while its least remaining length has fallen by less than 0.2 m in 10 s, and it has a goal "
            "and does not wait by design"
        ),
        within=FLAG,
    ),
    Column("stuck_tick", "int64", "tick", "when that began; -1 is never", fill=-1, within=TICK),
    Column(
        "stuck_cause",
        "uint8",
        "",
        (
            "Cause (crowdsim.measures.deadlock_causes), after 30 s; 255 before, 253 and 254 while it is "
            "looked at again"
        ),
        fill=255,
    ),
    Column(
        "front_tick",
        "int64",
        "tick",
        "while stuck: when it, or those it waits for, were seen to get on last; -1 is never",
        fill=-1,
        within=TICK,
    ),
)


class Errand(Code):
    """What came of what an agent does in its state."""

    NONE = 0
    GOING = 1  # is on its way to a place of the state
    THERE = 2  # has come to that place, and the state has not heard of it yet
    DONE = 3
    FAILED = 4  # no path leads there, or there is nothing to go to
    ENDED = 5  # the machine has ended


NEVER = MOST_TICKS
LEVELS = 4  # States of machines in machines that an agent is in at most.
# What agents have too where machines of states say what they do.
BEHAVIOUR_COLUMNS = (
    Column(
        "machine_state", "int32", "", "number of the state; -1 is none", fill=-1, within=INDEX, of="states"
    ),
    Column(
        "state_since",
        "int64",
        "tick",
        "when it began, and the states that it is in, the outermost first; -1 is never",
        width=LEVELS,
        fill=-1,
        within=TICK,
    ),
    Column(
        "state_until",
        "int64",
        "tick",
        "when each of these is over at the latest",
        width=LEVELS,
        fill=NEVER,
        within=TICK,
    ),
    Column("pause_until", "int64", "tick", "when a pause in it is over", fill=NEVER, within=TICK),
    Column("wake_tick", "int64", "tick", "when it is looked at again", fill=NEVER, within=TICK),
    Column("errand", "uint8", "", "Errand", within=(None, max(Errand))),
    Column(
        "step",
        "int32",
        "",
        "how many places of it were reached, or the region in which the agent stays; -1 is none",
        fill=-1,
        within=INDEX,
    ),
    Column(
        "partner",
        "int64",
        "",
        "entity that the agent goes up to or follows, or the place where its round began; -1 is none",
        fill=-1,
        within=INDEX,
    ),
    Column("heard", "uint64", "", "signals, a bit for each, for which it has left a machine's states"),
    Column("draws", "int32", "", "how often it has drawn a number for what it does", within=COUNT),
    Column(
        "own_speed",
        "float64",
        "m/s",
        "desired speed that it goes back to after the state; nan is that which it has",
        fill=np.nan,
        within=(0.0, MOST_SPEED_M_S),
        special="nan",
    ),
    Column(
        "seen_tick",
        "int64",
        "tick",
        "when one from which it hides has seen it last, or it began to hide",
        within=TICK,
    ),
    Column(
        "state_wish",
        "int32",
        "",
        "number of the state into which a system of a user's own puts it; -1 is none",
        fill=-1,
        within=INDEX,
        of="states",
    ),
)

# What agents have too where some goal is a choice between others.
CHOICE_COLUMNS = (
    Column(
        "choice",
        "int32",
        "",
        "goal of which the current goal is the part that the agent has chosen; -1 is none",
        fill=-1,
        within=INDEX,
        of="goals",
    ),
    Column(
        "choice_tick",
        "int64",
        "tick",
        "when it changed its choice last, or long enough ago that it may",
        fill=-1,
        within=TICK,
    ),
)


# What agents have too where they form parties.
PARTY_COLUMNS = (
    Column(
        "party",
        "int32",
        "",
        "number of the agent's party in its group; -1 is none",
        fill=-1,
        within=INDEX,
        for_life=True,
    ),
    Column(
        "party_wait", "int32", "tick", "for how long its party has let it wait", within=(0, 2_000_000_000)
    ),
    Column(
        "party_choice",
        "int32",
        "",
        "for which goal of its list, counted from 1, its party has sent it to one of several; 0 is none",
        within=(0, 1_000_000),
    ),
)


class AgentColumns:
    """Structure of arrays with dense rows in ascending entity id; grows by doubling.

    Reading an attribute named as a column gives the view of its live rows, shape (n,) or (n, width). Views
    are valid until the next `append` or `remove`. They are attributes of their own, made when rows come or
    go: a tick reads them some two hundred times.
    """

    def __init__(self, columns: tuple[Column, ...] = AGENT_COLUMNS) -> None:
        self.columns = {column.name: column for column in columns}
        self.count = 0
        self._capacity = 64
        self._arrays = {column.name: self._fresh(column, self._capacity) for column in columns}
        # where the bytes of all arrays begin, and bytes a row; None while it is not known
        self._placed: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
        self._show()

    def _show(self) -> None:
        """Make the views of the live rows."""
        self.__dict__.update({name: array[: self.count] for name, array in self._arrays.items()})

    @staticmethod
    def _fresh(column: Column, rows: int) -> NDArray[Any]:
        shape = (rows,) if column.width == 1 else (rows, column.width)
        return np.full(shape, column.fill, dtype=column.dtype)

    def __getattr__(self, name: str) -> NDArray[Any]:
        if COLUMNS.get(name) not in self.__dict__:
            raise AttributeError(name)
        column: NDArray[Any] = getattr(self, name_today("the column", name, COLUMNS))
        return column

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__.get("_arrays", ()):
            raise AttributeError(
                f"write agents.{name}[:] = ..., since `{name}` is a view of the column and cannot be replaced"
            )
        super().__setattr__(name, value)

    def __len__(self) -> int:
        return self.count

    def add(self, column: Column) -> None:
        """Have one more column, whose rows hold its fill."""
        self.columns[column.name] = column
        self._arrays[column.name] = self._fresh(column, self._capacity)
        self._placed = None

    def append(self, rows: int, values: Mapping[str, Any]) -> slice:
        """Add `rows` rows at the end, with `values` by column name and fills elsewhere; return their range.

        Raises
        ------
        ValueError
            If the new entity ids would not be ascending.
        """
        entity = np.asarray(values["entity"])
        previous = int(self.entity[-1]) if self.count else np.iinfo(np.int64).min
        if rows and (entity[0] <= previous or np.any(np.diff(entity) <= 0)):
            raise ValueError("entity ids must be ascending")
        self._reserve(self.count + rows)
        span = slice(self.count, self.count + rows)
        for name, column in self.columns.items():
            self._arrays[name][span] = values.get(name, column.fill)
        self.count += rows
        self._show()
        return span

    def filled(self, name: str, rows: int) -> NDArray[Any]:
        """Return so many rows of a column that hold its fill."""
        return self._fresh(self.columns[name], rows)

    def insert(self, rows: int, values: Mapping[str, Any]) -> None:
        """Add `rows` rows where their entity ids belong, with `values` by column name and fills elsewhere."""
        stop = self.count + rows
        self._reserve(stop)
        for name, column in self.columns.items():
            self._arrays[name][self.count : stop] = values.get(name, column.fill)
        order = np.argsort(self._arrays["entity"][:stop], kind="stable")
        for array in self._arrays.values():
            array[:stop] = array[:stop][order]
        self.count = stop
        self._show()

    def remove(self, rows: NDArray[np.int64], team: Team = ALONE) -> None:
        """Drop rows, (k,), ascending; the others move up and stay in order."""
        if not len(rows):
            return
        if self._placed is None:
            # the widest in turn to either end, so that both halves are about as wide
            widest = sorted(self._arrays.values(), key=lambda array: -array.strides[0])
            arrays = widest[::2] + widest[1::2][::-1]
            self._placed = addresses_of(arrays), np.array([array.strides[0] for array in arrays])
        team.run(close_up, len(self._arrays), *self._placed, rows, self.count)
        self.count -= len(rows)
        self._show()

    def _reserve(self, rows: int) -> None:
        if rows <= self._capacity:
            return
        self._capacity, self._placed = max(rows, 2 * self._capacity), None
        for name, column in self.columns.items():
            grown = self._fresh(column, self._capacity)
            grown[: self.count] = self._arrays[name][: self.count]
            self._arrays[name] = grown

    def state(self) -> dict[str, NDArray[Any]]:
        """Return copies of all live rows by column name."""
        return {name: array[: self.count].copy() for name, array in self._arrays.items()}

    def restore(self, state: Arrays | Saved, counts: Mapping[str, int] | None = None) -> None:
        """Replace all rows by those of `state()`; `counts` says how many there are of what columns number.

        Raises
        ------
        SavedError
            If a column holds what it cannot.
        """
        saved = Saved.of(state)
        values: dict[str, NDArray[Any]] = {}
        for name in self.columns:
            rows = len(next(iter(values.values()))) if values else None
            values[name] = self.take(saved, name, rows, counts)
        saved.require(ascends(values["entity"]), "entity", "entity ids have to ascend")
        self.count = 0
        self.append(len(values["entity"]), values)

    def take(
        self, saved: Saved, name: str, rows: int | None, counts: Mapping[str, int] | None = None
    ) -> NDArray[Any]:
        """Return a saved column, of so many rows, that holds what it can; see `restore`."""
        column = self.columns[name]
        low, high = column.within
        if column.of and counts is not None:
            high = counts[column.of] - 1
        shape = (rows,) if column.width == 1 else (rows, column.width)
        return saved.take(name, column.dtype, shape, low=low, high=high, special=column.special)
