"""The world: agents, goals, mesh and walls, and everything else that exists, behind one facade."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from crowdsim.geometry.cells import Heights
from crowdsim.geometry.steps import Steps
from crowdsim.geometry.walls import Walls
from crowdsim.kernels.held_pages import HeldPages, held_like
from crowdsim.kernels.threads import ALONE, Team
from crowdsim.navigation.corridor.corridors import CorridorStore
from crowdsim.navigation.goals.destinations import MOST_FLOORS, Change, Destinations, Points
from crowdsim.navigation.goals.goals import GoalPieces, GoalShape, cut_goals
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.navigation.mesh.slopes import heights_at
from crowdsim.navigation.mesh.wall_lists import list_open_edges, with_lists
from crowdsim.navigation.tiles import handles
from crowdsim.navigation.tiles.tiled_mesh import TiledMesh
from crowdsim.printable import counted
from crowdsim.saved import FARTHEST_M, MOST, MOST_TICKS, Arrays, Saved, ascends
from crowdsim.world.columns import (
    AGENT_COLUMNS,
    BEHAVIOUR_COLUMNS,
    CHOICE_COLUMNS,
    PARTY_COLUMNS,
    AgentColumns,
    AgentState,
    Errand,
)
from crowdsim.world.entities import FIRST_DISC, FIRST_THING, Entities
from crowdsim.world.events import BETWEEN_TICKS, EVENT_DTYPE, EventKind, EventLog
from crowdsim.world.lost_ground import NO_PLANES, NO_ROWS, LostGround, Planes
from crowdsim.world.riding import RIDING_COLUMNS, WAYPATH_COLUMNS, RidingFacts, let_go
from crowdsim.world.vehicles import VEHICLE_COLUMNS

C = TypeVar("C")
FIRST_SALT = handles.FIRST_SALT
ONE_TILE = 0
NO_GROUP = NO_ITINERARY = -1  # of obstacles
# What agents that a program takes out of the world bring back into it, beside what they have for life.
KEPT = (
    "group", "index", "start_tick", "position", "layer", "heading", "radius", "desired_speed",
    "maximum_speed", "goal", "stage", "waits", "nudges", "replans",
)  # fmt: skip
FIRST_HEADING = (1.0, 0.0)  # of what comes into the world
# Discs of obstacles that have ever been in a world: each has its entity, which is made again where a saved
# one is taken up.
MOST_DISCS = 2_000_000
MOST_CAME = 1 << 38  # Agents that have ever come: 10,000 a second for a year, and below `FIRST_DISC`.
OPEN_REACH_M = 1.0  # How far from open edges polygons list them: farther than pushes go in a tick.
MOST_REACH_M = 1e4  # How much farther than at first walls are ever listed, for agents that have become wider.


@dataclass(frozen=True)
class Itinerary:
    """Component of agents: the goals of an agent, one after the other.

    Attributes
    ----------
    goals : tuple of int
    speeds : tuple of float, m/s
        Desired speed on the path to each; nan keeps the agent's own.
    leaves : bool
        Whether the agent leaves the world at its last goal, or stands there.
    """

    goals: tuple[int, ...]
    speeds: tuple[float, ...]
    leaves: bool


class Planning(Protocol):
    """What keeps the requests and paths of agents, as others than Plan and Follow see it.

    Attributes
    ----------
    paths : tuple of Paths
        Of the groups, those of each kind of navigation apart.
    """

    paths: tuple[Any, ...]

    def foresee(self, mesh: NavMesh) -> Steps[None]:
        """Prepare in steps for a mesh on which the world will stand: nothing but the time depends on it."""

    def stand_on(self, tick: int, change: Any, team: Team) -> None:
        """Search on another ground from now on; see `crowdsim.systems.ground.ground_change.GroundChange`."""

    def take_goals(self, changed: NDArray[np.int64]) -> None:
        """Search for the goals that the world has now, of which some, (k,), are new or lie elsewhere."""

    def forget(self, entity: NDArray[np.int64]) -> None:
        """Forget the requests of agents that changed their mind."""

    def keep_paths(self, rows: NDArray[np.int64], goal: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Let agents keep paths that lead to their new goals already; return which do, (k,)."""

    def lose_paths(self, rows: NDArray[np.int64]) -> None:
        """Take the paths of agents that are sent elsewhere."""


class Newcomers(Protocol):
    """What agents are that come while the run lasts: a function of their groups and indices."""

    def columns(self, group: NDArray[np.int32], index: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """Return what agents have in columns when they come, beside their place, by the names of these.

        `start_tick` is here how many ticks they wait before they set off.
        """

    @property
    def groups(self) -> int:
        """How many groups there are."""

    def can_be(self, group: NDArray[np.int32], index: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which of some agents can come, (k,) bool."""


@dataclass(frozen=True, eq=False)
class Came:
    """Agents that came in one tick while the run lasted.

    Attributes
    ----------
    tick : int
    entity : (k,) int64
    group, index : (k,) int32
    """

    tick: int
    entity: NDArray[np.int64]
    group: NDArray[np.int32]
    index: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class MachineFacts:
    """What the world has to know of machines of states.

    Attributes
    ----------
    groups : (groups,) bool
        Groups whose agents do what machines say.
    leaving : (states,) bool
        States at whose goal agents leave the world.
    endless : (states,) bool
        States from which agents never leave the world, nor come to the end of their machine.
    """

    groups: NDArray[np.bool_]
    leaving: NDArray[np.bool_]
    endless: NDArray[np.bool_]


class World:
    """Everything that exists.

    Parameters
    ----------
    mesh : NavMesh
    walls : Walls
    goals : GoalPieces
        Of the scenario.
    goal_names : list of str
    itineraries : list of Itinerary
    tiles : TiledMesh, optional
        Where the mesh is made of tiles: `mesh` and `walls` are theirs.
    goal_shapes : sequence of GoalShape
        What `goals` were cut from; needed where tiles may change.
    newcomers : Newcomers, optional
        What agents are that come while the run lasts; None where none come.
    machines : MachineFacts, optional
    signals : sequence of str
        Their names.
    has_parties : bool
        Whether agents form parties.
    has_choices : bool
        Whether some goal is a choice between others.
    riding : RidingFacts, optional
    vehicle_groups : (groups,) bool, optional
        Whose agents are vehicles; without it none.

    Attributes
    ----------
    entities : Entities
        Everything that exists, with its components; see `create`, `query` and `components`.
    corridor_groups : (groups,) bool, or None
        Which groups follow corridors on the mesh; None is all. Corridors have to follow an agent as it walks.
        On a grid agents follow waypoints.
    planning : Planning
        Set where the systems are made.
    goals : GoalPieces
        Those of the scenario, and behind them those that the run has set.
    fixed_goals : GoalPieces
        Those of the scenario alone.
    destinations : Destinations
        What the run has set, see `set_points` and `set_region`.
    came : Came
        The last agents that came while the run lasted; some may have left.
    machines : MachineFacts or None
        Of machines of states that say what agents do; None where there are none.
    signals : dict of str to bool
        Which signals are on.
    parties_outside : set of (int, int)
        Groups and parties of which some are in the world and others wait outside; made anew in every tick.
    riding : RidingFacts or None
        Connections; None where there are none.
    signals_to_come : set of str
        Those that events of the scenario are still to give; known from the tick on in which it is asked.
    geometry : Geometry or None
        What the ground is made of while parts of a soup have come or gone; None where it is the scenario's.
    """

    planning: Planning

    def __init__(
        self,
        mesh: NavMesh,
        walls: Walls,
        goals: GoalPieces,
        goal_names: list[str],
        itineraries: list[Itinerary],
        tiles: TiledMesh | None = None,
        goal_shapes: Sequence[GoalShape] = (),
        newcomers: Newcomers | None = None,
        machines: MachineFacts | None = None,
        signals: Sequence[str] = (),
        has_parties: bool = False,
        has_choices: bool = False,
        riding: RidingFacts | None = None,
        vehicle_groups: NDArray[np.bool_] | None = None,
    ) -> None:
        self.tiles, self.goal_shapes, self.newcomers = tiles, tuple(goal_shapes), newcomers
        self.mesh, self.walls, self.goal_names, self.itineraries = mesh, walls, goal_names, itineraries
        self.goals = self.fixed_goals = goals
        self.destinations = Destinations(len(goal_names))
        self._lost_ground = LostGround(tiles) if tiles is not None else None
        self._open_edges: tuple[NavMesh, Walls] | None = None
        self.is_level, self.is_even = mesh.is_level, mesh.is_even
        self.geometry: Any = None
        self.machines, self.signals = machines, dict.fromkeys(signals, False)
        self.signals_to_come: set[str] = set()
        self.has_parties, self.has_choices, self.riding = has_parties, has_choices, riding
        self.vehicle_groups = vehicle_groups
        self.parties_outside: set[tuple[int, int]] = set()
        more = (
            *(BEHAVIOUR_COLUMNS if machines is not None else ()),
            *(PARTY_COLUMNS if has_parties else ()),
            *(CHOICE_COLUMNS if has_choices else ()),
            *(RIDING_COLUMNS if riding is not None else ()),
            *(WAYPATH_COLUMNS if riding is not None and riding.has_waypaths else ()),
            *(VEHICLE_COLUMNS if vehicle_groups is not None else ()),
        )
        self.agents = AgentColumns((*AGENT_COLUMNS, *more))
        self.kept = (*KEPT, *(column.name for column in more if not column.for_life))
        self.corridors = CorridorStore()
        self.corridor_groups: NDArray[np.bool_] | None = None
        self.events = EventLog()
        self.tick = 0
        self.entities = Entities(itineraries)
        self._scenario_things = 0
        self._first_reach = walls.reach
        self._born: dict[str, NDArray[Any]] = {}  # the entities of all agents, and what they are born with
        none = np.zeros(0, dtype=np.int32)
        self.came = Came(0, none.astype(np.int64), none, none)
        # agents that are not in the world and can come: entity, `KEPT`, and whether they were there before
        self.outside: dict[str, NDArray[Any]] = {
            "entity": np.zeros(0, dtype=np.int64),
            **{name: self.agents.filled(name, 0) for name in self.kept},
            "was_in": np.zeros(0, dtype=np.uint8),
        }

    def __repr__(self) -> str:
        return (
            f"<World at tick {self.tick:,}: {counted(len(self.agents), 'row')} of agents and discs, "
            f"{counted(len(self.goal_names), 'goal')}, {counted(self.mesh.polygon_count, 'polygon')}>"
        )

    def close(self) -> None:
        """Forget all entities and processors."""
        self.entities.close()

    def create(self, *components: object) -> int:
        """Make an entity that has no row in the columns; return its number."""
        return self.entities.create(*components)

    def give(self, *components: object) -> None:
        """Make an entity of the scenario, which is there as long as the world is."""
        self._scenario_things += 1
        self.create(*components)

    def delete(self, entity: int) -> None:
        """Take an entity that `create` made out of the world, with its components.

        Raises
        ------
        KeyError
            If there is no such entity.
        ValueError
            If it belongs to the scenario, or is an agent: agents leave when they have arrived.
        """
        if entity <= FIRST_THING + self._scenario_things:
            raise ValueError(
                f"the entity {entity} is an agent, or belongs to the scenario, and cannot be deleted"
            )
        self.entities.delete([entity])

    def query(self, kind: type[C]) -> list[tuple[int, C]]:
        """Return all components of a class with their entities, in ascending order of these;
        for what is rare, see `Entities.query`.
        """
        return self.entities.query(kind)

    def components(self, entity: int) -> dict[str, Any]:
        """Return all that belongs to an entity: the columns of its row, if it has one,
        and its components by the names of their classes.

        Raises
        ------
        KeyError
            If there is no such entity.
        """
        own = {type(each).__name__: each for each in self.entities.components(entity)}
        row = int(np.searchsorted(self.agents.entity, entity))
        if entity > FIRST_THING or row == len(self.agents) or self.agents.entity[row] != entity:
            return own
        return {name: getattr(self.agents, name)[row].copy() for name in self.agents.columns} | own

    def polygons(self, rows: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Return the polygon under each agent, shape (n,), or under some, (k,) rows;
        of one whose ground was taken away, that which stands for no ground.
        """
        surface = self.agents.surface if rows is None else self.agents.surface[rows]
        return handles.polygon_of(surface) if self.tiles is None else self.tiles.polygons_of(surface)

    def handles_of(self, polygon: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the handles of polygons, shape (n,)."""
        if self.tiles is not None:
            return self.tiles.handles_of(polygon)
        packed: NDArray[np.int64] = handles.pack(FIRST_SALT, ONE_TILE, polygon)
        return packed

    def has_ground(self) -> NDArray[np.bool_]:
        """Return which agents stand on ground that is there, shape (n,)."""
        if self.tiles is None:
            return np.ones(len(self.agents), dtype=np.bool_)
        return ~self.tiles.is_stale(self.agents.surface)

    def on_corridors(self) -> NDArray[np.bool_]:
        """Return (n,) bool: which agents follow corridors on the mesh."""
        return self.of_groups(self.corridor_groups)

    def of_groups(self, groups: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
        """Return (n,) bool: which agents belong to some groups, (groups,) bool;
        None is all rows, those of obstacles too, which belong to no group.
        """
        if groups is None:
            return np.ones(len(self.agents), dtype=np.bool_)
        group = self.agents.group
        found = np.zeros(len(group), dtype=np.bool_)
        has_one = group != NO_GROUP
        found[has_one] = groups[group[has_one]]
        return found

    @property
    def held(self) -> HeldPages | None:
        """What holds the mesh, where a share of it is in memory at most; else None."""
        return None if self.tiles is None else self.tiles.held

    def take_tiles(self, goals: GoalPieces | None = None) -> None:
        """Stand on the tiles as they are now: their mesh, their walls, and the goals,
        which are cut anew if they were not yet.
        """
        assert self.tiles is not None
        mesh = self.tiles.mesh
        self.stand_on(mesh, self.tiles.walls, cut_goals(mesh, self.goal_shapes) if goals is None else goals)

    def stand_on(self, mesh: NavMesh, walls: Walls, goals: GoalPieces) -> None:
        """Stand on another mesh, with the goals of the scenario cut on it."""
        self.mesh, self.walls, self.fixed_goals = mesh, walls, goals
        self.goals = self.destinations.on(mesh, goals)

    @property
    def goal_count(self) -> int:
        """How many goals there are, those that the run has set, too."""
        return len(self.goal_names) + len(self.destinations)

    def stays(self) -> NDArray[np.bool_]:
        """Return which agents are to stay to the end of the run, as their machine says, (n,) bool."""
        if self.machines is None:
            return np.zeros(len(self.agents), dtype=np.bool_)
        state = self.agents.machine_state
        found: NDArray[np.bool_] = (state >= 0) & self.machines.endless[state]
        return found

    def set_points(self, points: Points) -> NDArray[np.int32]:
        """Return the numbers of goals that are points on the mesh, (k,); planners hear of new ones."""
        return self._take_goals(self.destinations.put_points(self.mesh, self.goals, points, self._sought()))

    def set_region(self, area: Any, layer: int) -> int:
        """Return the number of a goal that is an area (shapely geometry, m) of a floor, -1 on level ground;
        planners hear of a new one.
        """
        return int(self._take_goals(self.destinations.put_region(self.mesh, self.goals, area, layer))[0])

    def _take_goals(self, change: Change) -> NDArray[np.int32]:
        self.goals = change.goals
        if len(change.changed):
            # a point may have moved in the same arrays: what others know of goals, they know of the object
            self.goals = change.goals._replace()
            self.planning.take_goals(change.changed)
        return change.number

    def _sought(self) -> NDArray[np.bool_]:
        """Return which goals some agent goes to, in the world or outside, (goals,)."""
        agents, goals = self.agents, self.goals
        piece = agents.goal_piece[agents.goal_piece >= 0]
        number = [agents.goal, self.outside["goal"], goals.piece_source[piece]]
        if self.riding is not None:
            number.append(agents.bound_for)
        found = np.zeros(len(goals.reach), dtype=np.bool_)
        for each in number:
            found[each[each >= 0]] = True
        return found

    def heights(self, position: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Return the height (m) of the ground under each agent, shape (n,);
        of the plane that it is on over another `position`, (n, 2).
        """
        out = np.full(len(self.agents), self.mesh.vertex[0, 2])
        if not self.is_level:
            place = self.agents.position if position is None else position
            heights_at(0, len(out), self.mesh, self.polygons(), place, out)
            rows, planes = self._without_ground()
            if len(rows):
                out[rows] = planes.heights(place[rows])
        return out

    def ground_of(self, position: NDArray[np.float64]) -> tuple[NDArray[np.int32], Heights | None]:
        """Return what decides which agents can meet:
        the part of the mesh that each is on, (n,), and the ground under these positions.

        On level ground that is the floor, and nothing. On tiles it is the part of the mesh that there would
        be if none were out, and agents whose ground is gone are where they were.
        """
        if self.is_level:
            return self._apart(self.agents.layer), None
        polygon = self.polygons()
        part = (self.mesh.polygon_part if self.tiles is None else self.tiles.whole_parts())[polygon]
        heights, slope = self.heights(position), self.mesh.polygon_slope[polygon]
        rows, planes = self._without_ground()
        if len(rows):
            part[rows], slope[rows] = planes.part, planes.slope
        return self._apart(part), Heights(heights, slope, self.mesh.step)

    def _apart(self, part: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return on which part of the ground each is, (n,); of those that ride each has one of its own."""
        if self.riding is None and self.vehicle_groups is None:
            return part
        rides = np.flatnonzero(self.agents.activity == AgentState.RIDING)
        if len(rides):
            part = part.copy()
            part[rides] = -2 - np.arange(len(rides), dtype=np.int32)
        return part

    def _without_ground(self) -> tuple[NDArray[np.int64], Planes]:
        """Return the rows that stand on no ground, and the planes that they stand on all the same."""
        if self._lost_ground is None:
            return NO_ROWS, NO_PLANES
        rows = np.flatnonzero(~self.has_ground())
        if not len(rows):
            return NO_ROWS, NO_PLANES
        return rows, self._lost_ground.planes(self.agents.position[rows], self.agents.layer[rows])

    def reach_walls(self, reach: float) -> None:
        """Let the wall lists reach at least so far (m), for agents that have become wider."""
        if reach > self.walls.reach:
            self._list_walls(reach)

    def _list_walls(self, reach: float) -> None:
        if self.tiles is not None:
            self.tiles.wall_reach = reach  # for the lists that are made when tiles change
        self.walls = held_like(self.walls.start, with_lists(self.mesh, self.walls, reach))

    def open_edges(self) -> Walls:
        """Return the edges where the ground ends without a wall, with lists of those near each polygon."""
        if self._open_edges is None or self._open_edges[0] is not self.mesh:
            self._open_edges = self.mesh, list_open_edges(self.mesh, OPEN_REACH_M)
        return self._open_edges[1]

    def spawn(self, columns: Mapping[str, NDArray[Any]], polygon: NDArray[np.int64]) -> slice:
        """Add agents; return their rows.

        Parameters
        ----------
        columns : mapping of str to array
            What they are in these columns, in ascending order of identity: position, radius, desired_speed,
            itinerary, start_tick, and any other. What is missing follows from these, else it is the fill of
            its column.
        polygon : (n,) int64
            Polygon of the mesh under each; found once, here, and never looked up again.
        """
        born = self._bear(columns)
        self._keep_for_life(born)
        entity = born["entity"]
        rows = self.agents.append(
            len(entity),
            {
                **self._placed(columns["position"], polygon),
                **born,
                "activity": self._activity(born),
            },
        )
        self.events.note(
            self.tick, EventKind.SPAWN, entity, self.agents.position[rows], self.agents.group[rows]
        )
        return rows

    def let_in(
        self,
        tick: int,
        group: NDArray[np.int32],
        index: NDArray[np.int32],
        position: NDArray[np.float64],
        polygon: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Add agents that come while the run lasts; return their entities.

        Parameters
        ----------
        tick : int
            In which they come.
        group, index : (k,) int32
            What they are known by.
        position : (k, 2) float64, m
        polygon : (k,) int64
            Of the mesh under each.
        """
        assert self.newcomers is not None
        columns = self.newcomers.columns(group, index)
        born = self._bear({**columns, "start_tick": columns["start_tick"] + tick - 1})
        self.agents.insert(
            len(group),
            {
                **self._placed(position, polygon),
                **born,
                "activity": self._activity(born, tick - 1),
            },
        )
        self.events.note(tick, EventKind.SPAWN, born["entity"], position, group)
        entity: NDArray[np.int64] = born["entity"]
        self.came = Came(tick, entity, group, index)
        return entity

    def keep_outside(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Have agents that are not there before `put_in` puts them in; `columns` as for `spawn`."""
        born = self._bear(columns)
        self._keep_for_life(born)
        unknown = {
            name: self.agents.filled(name, len(born["entity"])) for name in self.kept if name not in born
        }
        found = {**unknown, **born}
        self.outside = {name: found[name] for name in ("entity", *self.kept)}
        self.outside["position"] = np.zeros((len(born["entity"]), 2))  # where they come in says the program
        self.outside["heading"][:] = FIRST_HEADING
        self.outside["was_in"] = np.zeros(len(born["entity"]), dtype=np.uint8)

    def _bear(self, columns: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
        """Make entities of agents, and return their columns."""
        own, lists = columns["itinerary"], self.itineraries
        speeds = [each.speeds[0] if each.speeds else np.nan for each in lists]
        first_speed = np.array(speeds, dtype=np.float64)[own]
        goals = np.array([each.goals[0] if each.goals else -1 for each in lists], dtype=np.int32)
        found: dict[str, Any] = {
            **columns,
            "entity": self.entities.add_sharing(own),
            "desired_speed": np.where(np.isnan(first_speed), columns["desired_speed"], first_speed),
            "goal": goals[own],
        }
        return found

    def _keep_for_life(self, born: Mapping[str, NDArray[Any]]) -> None:
        """Remember what the agents of the scenario have for life."""
        for name in ("entity", *self._for_life()):
            array = self.agents.filled(name, len(born["entity"]))
            array[:] = born.get(name, array)
            self._born[name] = np.concatenate([self._born[name], array]) if name in self._born else array

    def _for_life(self) -> list[str]:
        return [name for name, column in self.agents.columns.items() if column.for_life]

    @property
    def listed(self) -> int:
        """How many agents the scenario lists: their entities are 1 to this number. Those that come while the
        run lasts have higher ones.
        """
        return len(self._born["entity"]) if self._born else 0

    @property
    def last_agent(self) -> int:
        """The highest entity that an agent can ever have; those above are discs of obstacles."""
        return self.listed if self.newcomers is None else FIRST_DISC - 1

    def _activity(self, columns: Mapping[str, NDArray[Any]], tick: int | None = None) -> NDArray[np.int64]:
        """Return what agents do that come into the world: stand, walk, or wait for their time."""
        now = self.tick if tick is None else tick
        ready = np.where(columns["start_tick"] > now, int(AgentState.WAITING), int(AgentState.WALKING))
        stands = columns["goal"] < 0
        if self.machines is not None:  # those whose machine has not begun set off, too
            begins = self.machines.groups[columns["group"]]
            if "machine_state" in columns:
                begins = begins & (columns["machine_state"] < 0) & (columns["errand"] != Errand.ENDED)
            stands = stands & ~begins
        found = np.where(stands, int(AgentState.STANDING), ready)
        if self.vehicle_groups is not None:
            found[self.vehicle_groups[columns["group"]]] = AgentState.RIDING
        return found

    def drives(self) -> NDArray[np.bool_]:
        """Return which rows are vehicles, (n,) bool."""
        if self.vehicle_groups is None:
            return np.zeros(len(self.agents), dtype=np.bool_)
        group = self.agents.group
        return (group >= 0) & self.vehicle_groups[group]

    def _life_of(
        self, entity: NDArray[np.int64], group: NDArray[np.int32], index: NDArray[np.int32]
    ) -> dict[str, NDArray[Any]]:
        """Return what agents, (k,), have for life, but for the start of those that came while the run lasted,
        which is left as its column has it.
        """
        found = {name: self.agents.filled(name, len(entity)) for name in self._for_life()}
        is_listed = entity <= self.listed
        place = np.searchsorted(self._born["entity"], entity[is_listed]) if self._born else np.zeros(0, int)
        for name, array in found.items():
            array[is_listed] = self._born[name][place] if self._born else array[is_listed]
        came = ~is_listed
        if self.newcomers is not None and came.any():
            columns = self.newcomers.columns(group[came], index[came])
            for name in [each for each in found if each in columns]:
                found[name][came] = columns[name]
        return found

    def take_out(self, rows: NDArray[np.int64]) -> None:
        """Take agents, (k,) rows, ascending, out of the world until `put_in` puts them in as they were."""
        agents = self.agents
        if self.riding is not None:
            let_go(agents, rows)
        more = {name: getattr(agents, name)[rows] for name in ("entity", *self.kept)}
        more["was_in"] = np.ones(len(rows), dtype=np.uint8)
        both = {name: np.concatenate([self.outside[name], more[name]]) for name in more}
        order = np.argsort(both["entity"])
        self.outside = {name: array[order] for name, array in both.items()}
        self.events.note(
            self.tick + 1,
            EventKind.RETIRED,
            agents.entity[rows],
            agents.position[rows],
            agents.activity[rows],
        )
        self._release_corridors(rows)
        agents.remove(rows)

    def put_in(
        self, entity: NDArray[np.int64], position: NDArray[np.float64], polygon: NDArray[np.int64]
    ) -> None:
        """Put agents in that are outside, (k,) entities: at places, (k, 2) m, in polygons of the mesh."""
        place = np.searchsorted(self.outside["entity"], entity)
        own = {name: self.outside[name][place] for name in self.kept}
        columns = {"entity": entity, **self._life_of(entity, own["group"], own["index"]), **own}
        self.agents.insert(
            len(entity),
            {
                **columns,
                **self._placed(position, polygon),
                "heading": columns["heading"],
                "activity": self._activity(columns),
            },
        )
        self.events.note(self.tick + 1, EventKind.SPAWN, entity, position, columns["group"])
        left = ~np.isin(self.outside["entity"], entity)
        self.outside = {name: array[left] for name, array in self.outside.items()}

    def _placed(self, position: NDArray[np.float64], polygon: NDArray[np.int64]) -> dict[str, Any]:
        """Return the columns of rows that come into the world at places, (k, 2) m, in polygons of the mesh,
        (k,).
        """
        at_place = dict.fromkeys(
            ("position", "tentative_position", "next_corner", "counted_position", "progress_place"), position
        )
        return {
            **at_place,
            "surface": self.handles_of(polygon),
            "layer": self.mesh.polygon_layer[polygon],
            "heading": FIRST_HEADING,
        }

    @property
    def agent_count(self) -> int:
        """Number of agents: the first rows; those behind are obstacles."""
        return len(self.agents) - int(np.count_nonzero(self.agents.activity == AgentState.OBSTACLE))

    def put_in_obstacle(
        self,
        component: object,
        position: NDArray[np.float64],
        radius: NDArray[np.float64],
        polygon: NDArray[np.int64],
        layer: int,
    ) -> int:
        """Add the discs of an obstacle behind all rows; return the entity of the first.

        Parameters
        ----------
        component : object
            What each of them has.
        position : (d, 2) float64, m
        radius : (d,) float64, m
        polygon : (d,) int64
            Polygon of the mesh under each; where there is none, that which stands for no ground.
        layer : int
            Number of their floor.
        """
        components = [(component,)] * len(radius)
        entity = (
            self.entities.add_rows(components)
            if self.newcomers is None
            else self.entities.add_discs(components)
        )
        columns = {
            **self._placed(position, polygon),
            "layer": layer,
            "entity": entity,
            "group": NO_GROUP,
            "itinerary": NO_ITINERARY,
            "activity": int(AgentState.OBSTACLE),
            "radius": radius,
            "maximum_speed": np.inf,
            "is_immovable": 1,
        }
        self.agents.append(len(entity), columns)
        return int(entity[0])

    def take_away_obstacles(self, rows: NDArray[np.int64]) -> None:
        """Remove rows of obstacles, (k,), ascending, without an event."""
        self.entities.delete(self.agents.entity[rows].tolist())
        self.agents.remove(rows)

    def retire(self, rows: NDArray[np.int64], team: Team = ALONE) -> None:
        """Remove agents, (k,) rows, ascending, their corridors and their components in one go;
        those that had not arrived are noted as retired.
        """
        agents = self.agents
        early = rows[agents.activity[rows] != AgentState.ARRIVED]
        self.events.note(
            self.tick + 1,
            EventKind.RETIRED,
            agents.entity[early],
            agents.position[early],
            agents.activity[early],
        )
        self._release_corridors(rows)
        self.entities.delete(agents.entity[rows].tolist())
        agents.remove(rows, team)

    def _release_corridors(self, rows: NDArray[np.int64]) -> None:
        agents = self.agents
        self.corridors.release(agents.corridor_start[rows], agents.corridor_capacity[rows])

    def state(self) -> dict[str, NDArray[Any]]:
        """Return everything that lives in the world as named arrays."""
        waiting = self.events.waiting()
        return {
            "tick": np.array([self.tick], dtype=np.int64),
            "wall_reach": np.array([self.walls.reach]),
            "highest_entity": np.array([self.entities.highest_row], dtype=np.int64),
            "highest_disc": np.array([self.entities.highest_disc], dtype=np.int64),
            "signals": np.array(list(self.signals.values()), dtype=np.bool_),
            **{f"events/{name}": waiting[name].copy() for name in EVENT_DTYPE.names or ()},
            **{f"things/{name}": array for name, array in self.entities.state_of_things().items()},
            **{f"agents/{name}": array for name, array in self.agents.state().items()},
            **{f"outside/{name}": array.copy() for name, array in self.outside.items()},
            **{f"corridors/{name}": array for name, array in self.corridors.state().items()},
            **{f"destinations/{name}": array for name, array in self.destinations.state().items()},
            **(
                {f"tiles/{name}": array for name, array in self.tiles.state().items()}
                if self.tiles is not None
                else {}
            ),
            **(
                {f"portals/{name}": array for name, array in self.riding.portals.state().items()}
                if self.riding is not None and self.riding.portals is not None
                else {}
            ),
        }

    def restore(self, state: Arrays | Saved) -> None:
        """Take back what `state()` returned.

        What depends on the ground is checked by `crowdsim.world.checks.check_agents`, once the ground is
        there.

        Raises
        ------
        SavedError
            If something in it cannot be.
        """
        saved, listed = Saved.of(state), self.listed
        tick = saved.whole("tick", 0, MOST_TICKS)
        comes = self.newcomers is not None
        highest = saved.whole("highest_entity", listed, MOST_CAME if comes else listed + MOST_DISCS)
        highest_disc = saved.whole("highest_disc", 0, MOST_DISCS if comes else 0)
        known = Numbers(highest, highest_disc)
        reach = float(saved.take("wall_reach", "f8", (1,), low=0.0, high=self._first_reach + MOST_REACH_M)[0])
        on = saved.take("signals", "?", (len(self.signals),))
        self.signals = dict(zip(self.signals, on.tolist(), strict=True))
        self.destinations.restore(saved.below("destinations/"))
        if self.riding is not None and self.riding.portals is not None:
            self.riding.portals.restore(saved.below("portals/"))
        self._restore_agents(saved.below("agents/"), known)
        self._restore_outside(saved.below("outside/"), known)
        self.corridors.restore(
            saved.below("corridors/"), self.agents.corridor_start, self.agents.corridor_capacity
        )
        self.tick = tick
        if self.tiles is None:
            if reach != self.walls.reach:
                self._list_walls(reach)
        else:
            self.tiles.wall_reach = reach
            self.tiles.restore(saved.below("tiles/"))
            self.take_tiles()
        self.events.put_back(_events_in(saved.below("events/"), tick, known))
        agents, outside = self.agents, self.outside
        away = self._life_of(outside["entity"], outside["group"], outside["index"])["itinerary"]
        entity = np.concatenate([agents.entity, outside["entity"]])
        order = np.argsort(entity, kind="stable")
        itinerary = np.concatenate([agents.itinerary, away])
        self.entities.restore_rows(highest, highest_disc, entity[order], itinerary[order])
        self.entities.restore_things(saved.below("things/"), self._scenario_things)

    def _restore_outside(self, saved: Saved, known: Numbers) -> None:
        """Take back which agents are outside, and as what they come in."""
        entity = saved.take("entity", "i8", low=1, high=known.highest)
        saved.require(ascends(entity), "entity", "entity ids have to ascend")
        saved.require(~np.isin(entity, self.agents.entity), "entity", "this agent is in the world")
        bounds = self._bounds()
        self.outside = {
            "entity": entity,
            **{name: self.agents.take(saved, name, len(entity), bounds) for name in self.kept},
            "was_in": saved.take("was_in", "u1", (len(entity),), high=1),
        }
        outside = self.outside
        saved.require(outside["layer"] <= MOST_FLOORS, "layer", "there are not so many floors")
        self._check_life(saved, entity, {name: outside[name] for name in ("group", "index", "start_tick")})
        own = self._life_of(entity, outside["group"], outside["index"])["itinerary"]
        lengths = np.array([len(each.goals) for each in self.itineraries], dtype=np.int64)
        saved.require(
            outside["stage"] <= np.append(lengths, 0)[own], "stage", "the agent has no such goal on its list"
        )

    def _bounds(self) -> dict[str, int]:
        """Return how many there are of what columns number."""
        groups = 1 + int(self._born["group"].max(initial=-1)) if self._born else 0
        if self.newcomers is not None:
            groups = self.newcomers.groups
        return {
            "goals": self.goal_count,
            "itineraries": len(self.itineraries),
            "groups": groups,
            "states": len(self.machines.leaving) if self.machines is not None else 0,
            "gates": len(self.riding.gates) if self.riding is not None else 0,
            "connections": len(self.riding.connections) if self.riding is not None else 0,
        }

    def _check_life(
        self, saved: Saved, entity: NDArray[np.int64], columns: Mapping[str, NDArray[Any]]
    ) -> None:
        """Require that agents, (k,), have for life what they came into the world with."""
        is_listed, group, index = entity <= self.listed, columns["group"], columns["index"]
        came = np.flatnonzero(~is_listed)
        if len(came):
            can_be = np.zeros(len(entity), dtype=np.bool_)
            if self.newcomers is not None:
                can_be[came] = self.newcomers.can_be(group[came], index[came])
            saved.require(is_listed | can_be, "index", "no such agent comes")
            identity = np.column_stack([group[came], index[came]])
            saved.require(len(np.unique(identity, axis=0)) == len(came), "index", "has an agent twice")
        life = self._life_of(entity, group, index)
        for name in [each for each in life if each in columns]:
            right = columns[name] == life[name]
            if name == "start_tick":
                right |= ~is_listed
            saved.require(right, name, "this agent came into the world with another")

    def _restore_agents(self, saved: Saved, known: Numbers) -> None:
        """Take the columns back: agents as they were born, and behind them the discs of obstacles."""
        agents = self.agents
        agents.restore(saved, self._bounds())
        saved.require(known.has(agents.entity), "entity", f"the highest there has been is {known}")
        is_agent = agents.entity <= min(known.highest, self.last_agent)
        for name, value in (
            ("activity", int(AgentState.OBSTACLE)),
            ("group", NO_GROUP),
            ("itinerary", NO_ITINERARY),
            ("maximum_speed", np.inf),
        ):
            saved.require(
                is_agent == (getattr(agents, name) != value),
                name,
                f"{value} is that of discs of obstacles, and of no agent",
            )
        saved.require(is_agent | (agents.index == 0), "index", "discs of obstacles have none")
        own = {name: getattr(agents, name)[is_agent] for name in self._for_life()}
        self._check_life(saved, agents.entity[is_agent], own)
        saved.require(
            agents.activity != AgentState.ARRIVED,
            "activity",
            "agents that have arrived have left at the end of the tick",
        )
        lengths = np.array([len(each.goals) for each in self.itineraries], dtype=np.int64)
        saved.require(
            (agents.stage <= np.append(lengths, 0)[agents.itinerary]) | ~is_agent,
            "stage",
            "the agent has no such goal on its list",
        )
        saved.require(
            (agents.blocker <= 0) | known.has(agents.blocker), "blocker", "there has been no such entity"
        )


@dataclass(frozen=True)
class Numbers:
    """Which entities with rows there have been.

    Attributes
    ----------
    highest : int
        Of those that are numbered from 1.
    discs : int
        How many discs there have been with numbers of their own.
    """

    highest: int
    discs: int

    def has(self, entity: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which numbers, (k,), are those of such entities."""
        is_disc = (entity >= FIRST_DISC) & (entity < FIRST_DISC + self.discs)
        found: NDArray[np.bool_] = is_disc | ((entity >= 1) & (entity <= self.highest))
        return found

    def __str__(self) -> str:
        return f"{self.highest}" + (f", and {self.discs} discs" if self.discs else "")


def _events_in(saved: Saved, tick: int, known: Numbers) -> NDArray[Any]:
    """Return the events of a state that wait to be taken with the next tick."""
    ticks = saved.take("tick", "i8", low=tick, high=tick + 1)
    found = np.empty(len(ticks), dtype=EVENT_DTYPE)
    found["tick"] = ticks
    bounds = {"entity": (0, MOST), "kind": (0, None), "value": (-MOST, MOST)}
    for name, (low, high) in bounds.items():
        found[name] = saved.take(name, "i8", (len(ticks),), low=low, high=high)
    saved.require(np.isin(found["kind"], BETWEEN_TICKS), "kind", "no program causes such an event")
    is_known = (found["entity"] == 0) | known.has(found["entity"])
    saved.require(is_known, "entity", f"the highest there has been is {known}")
    for name in ("x", "y"):
        found[name] = saved.take(name, "f8", (len(ticks),), low=-FARTHEST_M, high=FARTHEST_M)
    return found
