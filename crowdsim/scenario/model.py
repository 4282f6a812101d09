"""A scenario, read and checked: frozen objects with every default filled in.
Nothing here knows files or YAML.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.errors import Problem
from crowdsim.printable import counted
from crowdsim.scenario.arrivals import Arrivals
from crowdsim.scenario.behaviours import Behaviours
from crowdsim.scenario.choices import Choice
from crowdsim.scenario.connections import Connection
from crowdsim.scenario.distributions import DEFAULT_RADIUS, NO_PREMOVEMENT, WEIDMANN_SPEED, Distribution
from crowdsim.scenario.geometry import Geometry
from crowdsim.scenario.jumps import Jumps
from crowdsim.scenario.obstacles import Obstacle
from crowdsim.scenario.parameters import Chosen
from crowdsim.scenario.queues import Queue
from crowdsim.scenario.together import Together
from crowdsim.scenario.tree import Place, number_text
from crowdsim.scenario.vehicles import Vehicle
from crowdsim.scenario.waypaths import Waypath


@dataclass(frozen=True)
class Stop:
    """When the run ends, whichever comes first.

    Attributes
    ----------
    after : float, s
    ticks : int
        The same in ticks, rounded up.
    when_all_arrived : bool
    stuck_for : float, s, or None
        Ends the run when all agents that are left have been stuck this long.
    """

    after: float
    ticks: int
    when_all_arrived: bool
    stuck_for: float | None


@dataclass(frozen=True)
class AreaChange:
    """An area is opened or closed, or a part of a soup comes or goes.

    Attributes
    ----------
    area : int
        Index into `Geometry.areas`.
    opens : bool
        Whether the area becomes available, or a wall; of a part whether it is there from then on.
    is_part : bool
        Whether it is a part of a soup.
    """

    area: int
    opens: bool
    is_part: bool = False


@dataclass(frozen=True)
class TileChange:
    """A tile of the ground is taken out or put back.

    Attributes
    ----------
    column, row : int
        Tile (i, j) covers ``i * tile_size .. (i + 1) * tile_size`` in x, likewise j in y.
    goes : bool
        Whether it is taken out.
    layer : int
        Number of its floor; -1 where there is one level floor.
    """

    column: int
    row: int
    goes: bool
    layer: int = -1


@dataclass(frozen=True)
class RadiusChange:
    """Agents become wider or thinner.

    Attributes
    ----------
    agents : tuple of int or str
        Ids, or names of groups.
    radius : float, m
    """

    agents: tuple[int | str, ...]
    radius: float


@dataclass(frozen=True)
class SignalChange:
    """A signal is on or off from now on.

    Attributes
    ----------
    name : str
    is_on : bool
    """

    name: str
    is_on: bool


Change = AreaChange | TileChange | RadiusChange | SignalChange


@dataclass(frozen=True, eq=False)
class Inside:
    """Where agents have to be for an event to happen.

    Attributes
    ----------
    name : str
        Of a goal that is an area, or of an area under `measures`.
    area : shapely Polygon or MultiPolygon, m
    waiting : bool
        Whether only those count that wait for something.
    """

    name: str
    area: Any
    waiting: bool = False


@dataclass(frozen=True)
class Event:
    """Something that happens once while the scenario runs.

    Attributes
    ----------
    change : AreaChange, TileChange, RadiusChange or SignalChange
        What happens.
    at : float, s, or None
    tick : int
        The same in ticks: the first that begins then or later; -1 for events without a time.
    line : ((x, y), (x, y)), m, or None
        For some events without a time: the line that agents have to go over.
    met : (int or str, int or str), or None
        For the others: which agents have to come up to which, ids or names of groups.
    within : float, m
        How near.
    inside : Inside, or None
        For others: where agents have to be at the same time.
    count : int
        How many of them.
    layer : int
        Number of the floor of the line, or of the area; -1 where there is one level floor.
    place : Place
        Where it stands in the file, for messages.
    """

    change: Change
    at: float | None = None
    tick: int = -1
    line: tuple[tuple[float, float], tuple[float, float]] | None = None
    met: tuple[int | str, int | str] | None = None
    within: float = 0.0
    inside: Inside | None = None
    count: int = 0
    layer: int = -1
    place: Place = field(default=Place(""), compare=False)

    @property
    def opens(self) -> bool:
        """Whether there may be more ground for agents afterwards: an area or a tile that comes, a part of a
        soup that comes or goes, as a bridge or a wall does, or a radius that may fit where the one before did
        not.
        """
        change = self.change
        if isinstance(change, AreaChange):
            return change.opens or change.is_part
        return isinstance(change, RadiusChange) or (isinstance(change, TileChange) and not change.goes)


@dataclass(frozen=True, eq=False)
class MeasuredPlace:
    """A line or an area that the scenario names for measuring.

    Attributes
    ----------
    name : str
    line : tuple of (x, y), m, or None
        Two points or more.
    area : shapely Polygon or MultiPolygon, m, or None
        If it is no line.
    layer : int
        Number of its floor; -1 where there is one level floor.
    """

    name: str
    line: tuple[tuple[float, float], ...] | None = None
    area: Any = None
    layer: int = -1


@dataclass(frozen=True, eq=False)
class Goal:
    """Something to walk to.

    Attributes
    ----------
    name : str
        An inline point is named by what it is: ``(3, 4) within 0.3 m``.
    kind : str
        ``point``, ``exit``, ``region``, ``nearest_of`` or ``quickest_of``.
    point : (x, y), m, or None
    arrive_within : float, m
        Distance from the point at which an agent has arrived; 0 for areas, which are entered.
    area : shapely Polygon or MultiPolygon, or None
        Of an exit or region, as given: it may reach beyond the walkable ground.
    parts : tuple of int
        For nearest_of and quickest_of: the goals it means, as ascending indices into the scenario's goals;
        none of them is itself such a goal.
    is_inline : bool
        Stands in an agent's list instead of under `goals`.
    layer : int
        Number of the floor that it lies on; -1 where the geometry has no floors, and for goals with parts.
    flow : float, 1/s
        Of an exit: the most that leave there; 0 is no limit.
    choice : Choice or None
        Of quickest_of: how agents choose.
    """

    name: str
    kind: str
    point: tuple[float, float] | None = None
    arrive_within: float = 0.0
    area: Any = None
    parts: tuple[int, ...] = ()
    is_inline: bool = False
    layer: int = -1
    flow: float = 0.0
    choice: Choice | None = None


def point_goal_name(point: tuple[float, float], within: float) -> str:
    """Return what a point is called that has no name (m): as ``(3, 4) within 0.3 m``."""
    return f"({number_text(point[0])}, {number_text(point[1])}) within {number_text(within)} m"


@dataclass(frozen=True)
class Visit:
    """One step of an agent's itinerary.

    Attributes
    ----------
    goal : int
        Index into the scenario's goals.
    speed : float, m/s, or None
        Desired speed on the way there; None is the agent's own.
    shares : tuple of (int, float)
        Where agents draw their goal: what may come in place of `goal`, which is the first of these, with how
        many go there, in any unit; else empty.
    """

    goal: int
    speed: float | None = None
    shares: tuple[tuple[int, float], ...] = ()

    @property
    def goals(self) -> tuple[int, ...]:
        """The goals that it may be."""
        return tuple(goal for goal, _ in self.shares) if self.shares else (self.goal,)


def options_of(visits: Sequence[Visit]) -> list[tuple[tuple[Visit, ...], float]]:
    """Return the lists of goals that an agent with these visits may draw, with their shares."""
    found: list[tuple[tuple[Visit, ...], float]] = [((), 1.0)]
    for visit in visits:
        choices = visit.shares or ((visit.goal, 1.0),)
        found = [
            ((*before, Visit(goal, visit.speed)), share * own)
            for before, share in found
            for goal, own in choices
        ]
    return found


@dataclass(frozen=True)
class ListedAgent:
    """An agent that is listed one by one; what is None is as in its group, whose fields have the same names.

    Attributes
    ----------
    id : int or None
    position : (x, y), m, or None
    speed, radius, premovement : Distribution or None
    visits : tuple of Visit, or None
    immovable : bool or None
    """

    id: int | None = None
    position: tuple[float, float] | None = None
    speed: Distribution | None = None
    radius: Distribution | None = None
    premovement: Distribution | None = None
    visits: tuple[Visit, ...] | None = None
    immovable: bool | None = None


SAID_BY_VEHICLES = ("speed", "radius", "immovable")


@dataclass(frozen=True, eq=False)
class Group:
    """Agents that have something in common.

    Attributes
    ----------
    name : str
    count : int
        Number of agents, however the file lists them.
    positions : (count, 2) float64, m, or None
    listed : tuple of ListedAgent
        Empty, or one for each agent.
    reserve : int
        Number of further agents, whose indices follow, that only a program puts in.
    arrive : Arrivals or None
        When further agents come in while the run lasts; their indices follow all of these.
    region : shapely Polygon or MultiPolygon, or None
        Where agents without a position start; None is all walkable ground.
    visits : tuple of Visit
        Goals, one after the other; empty: the agents stand.
    leave_on_arrival : bool
    speed : Distribution, m/s
    radius : Distribution, m
    premovement : Distribution, s
    avoidance : Chosen or None
        How these agents avoid others; None is as the scenario says.
    navigation : Chosen or None
        How these agents find their path; None is as the scenario says.
    immovable : bool
        Whether these agents are never pushed and never asked aside.
    behaviour : str
        Name of the machine that says what they do, in place of goals; empty where goals do.
    together : Together or None
        How its agents form parties that keep together; None is each alone.
    keys : tuple of str
        Of doors that these agents unlock.
    excludes : tuple of str
        Connections that they do not use, by name or by kind.
    vehicle : Vehicle or None
        What they drive; None: they are on foot.
    layer : int
        Number of the floor on which the agents start; -1 where the geometry has no floors.
    place : Place
        Where the group stands in its file, for messages.
    item : str
        How messages name it, for example ``groups[2]``.
    """

    name: str
    count: int
    positions: NDArray[np.float64] | None
    listed: tuple[ListedAgent, ...]
    region: Any
    visits: tuple[Visit, ...] = ()
    leave_on_arrival: bool = True
    speed: Distribution = WEIDMANN_SPEED
    radius: Distribution = DEFAULT_RADIUS
    premovement: Distribution = NO_PREMOVEMENT
    avoidance: Chosen | None = None
    navigation: Chosen | None = None
    immovable: bool = False
    reserve: int = 0
    arrive: Arrivals | None = None
    behaviour: str = ""
    together: Together | None = None
    keys: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    vehicle: Vehicle | None = None
    layer: int = -1
    place: Place = field(default=Place(""))
    item: str = ""


def widest_of(group: Group) -> float:
    """Return the greatest radius that agents of a group begin with, m."""
    return max([group.radius.high, *(each.radius.high for each in group.listed if each.radius is not None)])


@dataclass(frozen=True, eq=False)
class Record:
    """What is recorded.

    Attributes
    ----------
    rate : float, frames a second
    ticks_per_frame : int
    columns : tuple of str
        Beside the position, which is always recorded.
    agents : ``all``, or tuple of (int or str)
        ids of agents and names of groups.
    every : int
        Of these agents every k-th in the order of identity; 1 is each.
    region : shapely Polygon or MultiPolygon, or None
        Only agents whose centre is inside; None is everywhere.
    trace : bool
        Also keep digests per system.
    explain : tuple of (int or str)
        ids of agents and names of groups whose choices of velocity are explained in every tick.
    """

    rate: float
    ticks_per_frame: int
    columns: tuple[str, ...]
    agents: str | tuple[int | str, ...]
    every: int
    region: Any
    trace: bool
    explain: tuple[int | str, ...] = ()


@dataclass(frozen=True, eq=False)
class Scenario:
    """A scenario of version 1.

    Attributes
    ----------
    name, description : str
    seed : int
    tick : float, s
    stop : Stop
    geometry : Geometry
    goals : tuple of Goal
        Ascending by name, so that their order in the file changes nothing.
    groups : tuple of Group
        Ascending by name.
    avoidance, speed_density, navigation, bodies, symmetry, budget : Chosen
        Sections with tunable numbers.
    record : Record
    events : tuple of Event
        In the order of the file: of those that happen in one tick the later ones have the last word.
    obstacles : tuple of Obstacle
        What moves on paths of its own, ascending by name.
    measures : tuple of MeasuredPlace
        Lines and areas that are measured, ascending by name.
    systems : tuple of Chosen
        Systems of a user's own that take part in the tick, with their parameters.
    behaviours : Behaviours
        Machines of states that groups use.
    queues : tuple of Queue
        Ascending by name.
    connections : tuple of Connection
        What takes agents from one place to another, ascending by name.
    waypaths : tuple of Waypath
        Drawn lines along which agents walk, ascending by name.
    jumps : Jumps or None
        How agents jump; None where none does.
    notes : tuple of Problem
        What is no mistake but might not be meant.
    file : str
        Where it was read from, for messages.
    """

    name: str
    description: str
    seed: int
    tick: float
    stop: Stop
    geometry: Geometry
    goals: tuple[Goal, ...]
    groups: tuple[Group, ...]
    avoidance: Chosen
    speed_density: Chosen
    navigation: Chosen
    bodies: Chosen
    symmetry: Chosen
    budget: Chosen
    record: Record
    events: tuple[Event, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()
    measures: tuple[MeasuredPlace, ...] = ()
    systems: tuple[Chosen, ...] = ()
    behaviours: Behaviours = field(default_factory=Behaviours)
    queues: tuple[Queue, ...] = ()
    connections: tuple[Connection, ...] = ()
    waypaths: tuple[Waypath, ...] = ()
    jumps: Jumps | None = None
    notes: tuple[Problem, ...] = ()
    file: str = ""

    def __repr__(self) -> str:
        agents, groups = counted(self.agent_count, "agent"), counted(len(self.groups), "group")
        goals, ground = counted(len(self.goals), "goal"), f"{self.geometry.walkable.area:,.0f} m2 of ground"
        return f"<Scenario {self.name}: {agents} in {groups}, {goals}, {ground}, seed {self.seed}>"

    @property
    def agent_count(self) -> int:
        """Number of agents."""
        return sum(group.count for group in self.groups)

    @property
    def carriers(self) -> tuple[Connection, ...]:
        """All connections, then waypaths, and last those that portals of jumps are while they lie there."""
        portals = self.jumps.connections() if self.jumps is not None else ()
        return (*self.connections, *(each.connection() for each in self.waypaths), *portals)

    @property
    def has_arrivals(self) -> bool:
        """Whether agents come in while the run lasts."""
        return any(group.arrive is not None for group in self.groups)

    @property
    def has_vehicles(self) -> bool:
        """Whether some agents drive vehicles."""
        return any(group.vehicle is not None for group in self.groups)

    @property
    def has_parties(self) -> bool:
        """Whether agents form parties that keep together."""
        return any(group.together is not None for group in self.groups)

    @property
    def signals(self) -> list[str]:
        """The names of all signals, ascending."""
        states = self.behaviours.states
        given = {name for each in states for names in (*each.signals, *each.ends_signals) for name in names}
        asked = {each.name for state in states for each in state.conditions() if each.kind == "signal"}
        changed = {event.change.name for event in self.events if isinstance(event.change, SignalChange)}
        return sorted(given | asked | changed)

    @property
    def sections(self) -> Mapping[str, Chosen]:
        """The sections with tunable numbers by name."""
        names = ("avoidance", "speed_density", "navigation", "bodies", "symmetry", "budget")
        return {name: getattr(self, name) for name in names}

    def model_of(self, group: Group) -> Chosen:
        """Return the avoidance model of a group with its parameters."""
        return group.avoidance if group.avoidance is not None else self.avoidance

    @property
    def models(self) -> tuple[Chosen, ...]:
        """The different models that groups of the scenario have, in the order of the groups;
        the scenario's own where there is no group.
        """
        found: list[Chosen] = []
        for group in self.groups:
            if self.model_of(group) not in found:
                found.append(self.model_of(group))
        return tuple(found) or (self.avoidance,)

    def navigation_of(self, group: Group) -> Chosen:
        """Return how a group finds its path, with the parameters."""
        return group.navigation if group.navigation is not None else self.navigation

    @property
    def navigations(self) -> tuple[Chosen, ...]:
        """The different kinds of navigation that groups have, by kind and then in the order of the groups;
        the scenario's own where there is no group.
        """
        found: list[Chosen] = []
        for group in self.groups:
            if self.navigation_of(group) not in found:
                found.append(self.navigation_of(group))
        return tuple(sorted(found, key=lambda chosen: chosen.name)) or (self.navigation,)

    def canonical(self) -> str:
        """Return the resolved scenario as YAML text: every default and all geometry written out.

        Loading it gives the same run without the original files, and two files that mean the same give the
        same text.
        """
        from crowdsim.scenario.canonical import canonical_text

        return canonical_text(self)
