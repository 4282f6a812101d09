"""What the world has to know of connections: their gates, and how far agents have got at them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.codes import Code
from crowdsim.world.columns import (
    INDEX,
    NEVER,
    PLACE,
    TICK,
    AgentColumns,
    AgentState,
    Column,
    Wait,
)
from crowdsim.world.portals import Portals

ENDS = 1024  # More than the ends of any connection.


MOST_PACE = 10.0  # On waypaths.
MOST_SPOT = 1 << 24  # Those that wait at one gate, one behind the other: more than agents.


class RideStep(Code):
    """How far an agent has got at a connection."""

    NONE = 0
    COMING = 1  # is on its way to the gate
    IN_LINE = 2  # waits there
    RIDING = 3
    LEAVING = 4  # has come to the other end, and waits for room to come out


RIDING_COLUMNS = (
    Column("ride_step", "uint8", "", "RideStep", within=(None, max(RideStep))),
    Column("ride_since", "int64", "tick", "when that began", within=TICK),
    Column("ride_until", "int64", "tick", "when the ride is over", fill=NEVER, within=TICK),
    Column("bound_for", "int32", "", "goal behind it; -1 is none", fill=-1, within=INDEX, of="goals"),
    Column("gate", "int32", "", "gate where it goes in; -1 is none", fill=-1, within=INDEX, of="gates"),
    Column("gate_out", "int32", "", "gate where it comes out; -1 is none", fill=-1, within=INDEX, of="gates"),
    Column("gate_spot", "int32", "", "its place there; -1 is none", fill=-1, within=(-1, MOST_SPOT)),
    Column("boarded_at", "float64", "m", "where it stood when it went in", width=2, within=PLACE),
    Column(
        "lacks_key",
        "int32",
        "",
        "connection whose key it would need; -1 is none",
        fill=-1,
        within=INDEX,
        of="connections",
    ),
)


# What agents have too where there are waypaths.
WAYPATH_COLUMNS = (
    Column(
        "waypath", "int32", "", "waypath on which it walks, as a connection; -1 is none", fill=-1,
        within=INDEX, of="connections",
    ),
    Column(
        "waypoint_next", "int32", "", "waypoint that it comes to next; -1 is none", fill=-1, within=(-1, ENDS)
    ),
    Column(
        "waypath_aim", "float64", "m", "how far along it lies what the agent goes to; nan: it is on none",
        fill=np.nan, within=(0.0, PLACE[1]), special="nan",
    ),
    Column("waypath_until", "int64", "tick", "until when it stands at a waypoint", fill=NEVER, within=TICK),
    Column(
        "waypath_pace", "float64", "", "factor of the speed that it likes at which it walks there", fill=1.0,
        within=(0.0, MOST_PACE),
    ),
    Column("crouches", "uint8", "", "whether it walks crouching", within=(None, 1)),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Gate:
    """An end of a connection at which agents go in and come out.

    Attributes
    ----------
    connection, end : int
    layer : int
        Floor, -1 on level ground.
    point : (2,) float64, m
        Middle of its area.
    triangles : (t, 3, 2) float64, m
        The part of its area that is ground.
    spots : (s, 2) float64, m
        Where those stand that wait, the first ones first.
    moves_up : bool
        Whether they stand in a line and move up; else each keeps its place.
    edge_spots : int
        Over an edge agents drop from the first so many of these places; 0: they go in from all of them.
    landing : (t, 3, 2) float64, m
        Below an edge: the part of the ground where one lands clear of walls; else none.
    """

    connection: int
    end: int
    layer: int
    point: NDArray[np.float64]
    triangles: NDArray[np.float64]
    spots: NDArray[np.float64]
    moves_up: bool
    edge_spots: int = 0
    landing: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 3, 2)))

    @property
    def value(self) -> int:
        """What events at it have as their value."""
        return ENDS * self.connection + self.end


@dataclass(frozen=True, eq=False)
class RidingFacts:
    """Gates and connections of a scenario.

    Attributes
    ----------
    connections : tuple of Connection
        `crowdsim.scenario.connections`; those of portals are the last.
    gates : list of Gate
        Those of one connection follow each other in the order of its ends. Those of portals change.
    first_gate : (connections,) int64
    may_use : (groups, connections) bool
        Which groups may take which.
    portals : Portals or None
        That jumps leave; None where nobody jumps.
    """

    connections: tuple[Any, ...]
    gates: list[Gate]
    first_gate: NDArray[np.int64]
    may_use: NDArray[np.bool_]
    portals: Portals | None = None

    @property
    def has_waypaths(self) -> bool:
        """Whether some of them are waypaths."""
        return any(each.waypath is not None for each in self.connections)

    @property
    def first_portal(self) -> int:
        """The number of the first connection that is a portal, if there are any."""
        return len(self.connections) - (self.portals.slots if self.portals is not None else 0)

    @property
    def version(self) -> int:
        """A number that grows when gates change."""
        return self.portals.version if self.portals is not None else 0


def let_go(agents: AgentColumns, rows: NDArray[np.int64]) -> None:
    """Let agents, (k,) rows, have nothing to do with a connection any more;
    they are bound for the goal behind it.
    """
    rows = rows[agents.ride_step[rows] != RideStep.NONE]
    if not len(rows):
        return
    bound = agents.bound_for[rows]
    agents.goal[rows] = bound
    waits = rows[agents.waits[rows] == Wait.CONNECTION]
    agents.waits[waits] = Wait.NOTHING
    held = np.isin(agents.activity[rows], (AgentState.WAITING, AgentState.RIDING))
    agents.activity[rows[held]] = np.where(bound[held] >= 0, AgentState.WALKING, AgentState.STANDING)
    forget(agents, rows)


def forget(agents: AgentColumns, rows: NDArray[np.int64]) -> None:
    """Put what columns say of connections back to nothing, for agents, (k,) rows."""
    agents.ride_step[rows], agents.ride_until[rows] = RideStep.NONE, NEVER
    agents.bound_for[rows] = agents.gate[rows] = agents.gate_out[rows] = agents.gate_spot[rows] = -1


def is_off_floor(agents: AgentColumns) -> NDArray[np.bool_]:
    """Return (n,) bool: what is not on the ground as agents are: discs of obstacles, and those that ride."""
    found: NDArray[np.bool_] = agents.activity >= AgentState.OBSTACLE
    return found
