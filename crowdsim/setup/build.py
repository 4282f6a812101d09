"""From a resolved scenario to a world: mesh, walls, goals, agents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray

from crowdsim.avoidance.density_speed import SpeedLaw, Weidmann
from crowdsim.avoidance.guard import GuardedModel
from crowdsim.avoidance.model import AvoidanceModel, wall_reach
from crowdsim.avoidance.registry import model_named, origin_of
from crowdsim.errors import NavigationError, Problem, ScenarioError
from crowdsim.geometry.steps import Steps
from crowdsim.geometry.walls import Walls
from crowdsim.kernels.disk_cache import kept_arrays, key_of
from crowdsim.kernels.held_pages import HeldPages, can_hold
from crowdsim.kernels.threads import Team
from crowdsim.navigation.goals.goals import GoalShape, cut_goals
from crowdsim.navigation.grid.floors import build_floor_grid, weigh_floors
from crowdsim.navigation.grid.grid import Area, Grid, build_grid
from crowdsim.navigation.grid.layout import Shut
from crowdsim.navigation.grid.parameters import CellParameters, GridParameters, PathParameters
from crowdsim.navigation.mesh.build import (
    MeshBuild,
    MeshParameters,
    MeshPart,
    build_mesh,
    build_parts,
    part_steps,
)
from crowdsim.navigation.mesh.floors import build_floors
from crowdsim.navigation.mesh.group_ground import GroupGround
from crowdsim.navigation.mesh.kept import kept_lists, kept_mesh, mesh_of_kept
from crowdsim.navigation.mesh.mesh import NavMesh, locate_many
from crowdsim.navigation.mesh.surface_mesh import build_surface, surface_steps
from crowdsim.navigation.mesh.terrain import cell_over
from crowdsim.navigation.mesh.watchers import Watchers
from crowdsim.navigation.planners import planner_kind
from crowdsim.navigation.planning.mesh_planner import CostParameters
from crowdsim.navigation.planning.registry import PlannerGround
from crowdsim.navigation.search.round_stationary import StationaryParameters
from crowdsim.navigation.stationary.planner import StationaryPlanner
from crowdsim.navigation.tiles.make import TiledBuild, build_tiled_plates
from crowdsim.navigation.tiles.rebuild import TileRebuilder, differences
from crowdsim.navigation.tiles.tiled_mesh import TiledMesh
from crowdsim.printable import counted
from crowdsim.scenario.areas import EXIT_GAP_M, closed_at_the_begin, ground_without, parted_ground
from crowdsim.scenario.geometry import Geometry, GridLayout, NamedPolygon, joins_of
from crowdsim.scenario.model import Event, Goal, RadiusChange, Scenario, TileChange
from crowdsim.scenario.parameters import Chosen
from crowdsim.scenario.shapes import GRID_M
from crowdsim.scenario.tree import listed
from crowdsim.setup.agents import Agents, chosen_rows, greatest_radii, resolve_agents, with_reserve
from crowdsim.setup.gates import facts_of_connections
from crowdsim.setup.group_ground import Weigh, forbidden_areas, group_ground, priced_terrain
from crowdsim.setup.hiding import hides, metre_prices, watchers_at, watching_groups
from crowdsim.setup.identity import AgentNames
from crowdsim.setup.newcomers import Arriving, fastest_to_come, widest_to_come
from crowdsim.setup.parties import hurries
from crowdsim.setup.things import give_things
from crowdsim.setup.tiled_ground import (
    exits_left,
    of_layer,
    patches_left,
    plates_of,
    terrain_of,
    tile_numbers,
)
from crowdsim.setup.vehicles import Drive, drives_of
from crowdsim.world.world import MachineFacts, World

# Of a ground whose mesh goes to the disk cache: it takes some 0.2 s to build; smaller ones are as soon built
# as read.
LEAST_CACHED_VERTICES = 2000
# Beyond what a model looks at: an agent may be pushed, or stand off its polygon's edge by rounding.
WALL_REACH_MARGIN_M = 0.5


@dataclass(frozen=True, eq=False)
class Built:
    """A world and the agents that will be in it.

    Attributes
    ----------
    scenario : Scenario
    world : World
    agents : Agents
        Those that are there at the beginning.
    all_agents : Agents
        These, and behind them the reserves of the groups: an agent's number in it is its entity - 1.
    polygon : (n,) int64
        Polygon of the mesh under each agent.
    mesh_build : MeshBuild
        Of the ground as it is at the beginning.
    names : AgentNames
        What agents are called.
    drives : dict of (int, int) to Drive
        The vehicles and their curves, by group and index.
    """

    scenario: Scenario
    world: World
    agents: Agents
    all_agents: Agents
    polygon: NDArray[np.int64]
    mesh_build: MeshBuild
    names: AgentNames
    drives: dict[tuple[int, int], Drive]

    def __repr__(self) -> str:
        return f"<Built {self.scenario.name}: {counted(len(self.polygon), 'agent')}, {self.world!r}>"

    @property
    def geometry(self) -> Geometry:
        """What the ground is made of now; another one than the scenario's while parts of a soup are there
        that were not at the beginning, or gone.
        """
        now: Geometry | None = self.world.geometry
        return self.scenario.geometry if now is None else now

    @property
    def maximum_speed(self) -> NDArray[np.float64]:
        """Speed that avoidance may use: the highest that an agent ever likes, times `bodies.top_speed`,
        (n,) float64, m/s.
        """
        return self.agents.highest_speed * float(self.scenario.bodies.values["top_speed"])

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return what all agents, those of reserves too, have in columns when they come into the world,
        by the names of these.
        """
        top = float(self.scenario.bodies.values["top_speed"])
        return {**self.all_agents.columns(), "maximum_speed": self.all_agents.highest_speed * top}


def build_world(scenario: Scenario) -> Built:
    """Build the world of a scenario.

    Raises
    ------
    ScenarioError
        If agents do not fit, or stand off the ground.
    NavigationError
        If the ground cannot be meshed.
    """
    agents = resolve_agents(scenario)
    all_agents = with_reserve(scenario, agents)
    closed = [each for each in closed_at_the_begin(scenario.geometry.areas) if each.part < 0]
    mesh_build = mesh_of(scenario, agents, as_grounds_take(scenario, closed))
    shapes = [goal_shape(goal) for goal in scenario.goals]
    goals = cut_goals(mesh_build.mesh, shapes)
    tiles = mesh_build.tiles if isinstance(mesh_build, TiledBuild) else None
    arriving = Arriving(scenario, len(all_agents.itineraries)) if scenario.has_arrivals else None
    world = World(
        mesh_build.mesh,
        mesh_build.walls,
        goals,
        [goal.name for goal in scenario.goals],
        [*all_agents.itineraries, *(arriving.itineraries if arriving is not None else ())],
        tiles,
        shapes,
        arriving,
        facts_of_machines(scenario),
        scenario.signals,
        scenario.has_parties,
        any(goal.choice is not None for goal in scenario.goals),
        facts_of_connections(scenario),
        np.array([each.vehicle is not None for each in scenario.groups]) if scenario.has_vehicles else None,
    )
    if tiles is not None:  # whether or not the tiles with slopes or other speeds are there now
        world.is_level = tiles.is_level
        world.is_even = tiles.is_even and not scenario.geometry.named_speeds
    if scenario.geometry.refill is not None:  # ground that comes may slope
        world.is_level = world.is_even = False
    give_things(world, scenario)
    polygon = np.empty(len(agents), dtype=np.int64)
    layers = np.array([group.layer for group in scenario.groups], dtype=np.int32)
    locate_many(0, len(agents), mesh_build.mesh, agents.position, layers[agents.group], polygon)
    _refuse_lost(scenario, agents, polygon)
    _refuse_events(scenario, all_agents, tiles)
    names = AgentNames(scenario, all_agents, world)
    return Built(scenario, world, agents, all_agents, polygon, mesh_build, names, drives_of(scenario))


def facts_of_machines(scenario: Scenario) -> MachineFacts | None:
    """Return what the world has to know of the machines of a scenario; None where no group has one."""
    behaviours = scenario.behaviours
    if not behaviours.machines:
        return None
    return MachineFacts(
        groups=np.array([bool(group.behaviour) for group in scenario.groups], dtype=np.bool_),
        leaving=np.array([state.kind == "leave" for state in behaviours.states], dtype=np.bool_),
        endless=np.array(behaviours.endless_states(), dtype=np.bool_),
    )


def mesh_of(scenario: Scenario, agents: Agents, closed: Sequence[Any] = ()) -> MeshBuild:
    """Build the mesh that a scenario's agents walk on;
    its walls know of exits, its widths go up to the widest agent.

    Parameters
    ----------
    scenario : Scenario
    agents : Agents
    closed : sequence of shapely Polygon or MultiPolygon, m
        Areas that are parted from the rest of the ground by walls along their outlines; on several floors
        each with the number of its floor, and cut out of that.

    Raises
    ------
    ScenarioError
        If the ground cannot be meshed.
    """
    parameters = scenario.navigation.parameters(MeshParameters)
    terrain = [each for floor in scenario.geometry.kinds for each in floor]
    parameters = replace(parameters, terrain_cell=cell_over(terrain, parameters.terrain_cell))
    widest = max(float(greatest_radii(scenario, agents).max(initial=0.0)), widest_to_come(scenario))
    if widest > parameters.widest_body:
        parameters = replace(parameters, widest_body=widest)
    in_states = [scenario.behaviours.fastest(group.behaviour) for group in scenario.groups]
    hurried = agents.desired_speed * hurries(scenario)[agents.group]
    fastest = max(float(hurried.max(initial=0.0)), *in_states, fastest_to_come(scenario), 0.0)
    try:
        reach = model_reach(scenario, fastest) + widest + WALL_REACH_MARGIN_M
        return _cached_mesh(scenario, parameters, reach, closed)
    except NavigationError as error:
        raise ScenarioError(Problem("geometry", str(error), file=scenario.file)) from None


def mesh_steps(scenario: Scenario, like: MeshBuild, closed: Sequence[Any]) -> Steps[MeshBuild]:
    """Build the mesh of a level floor or of a surface with some areas closed as `mesh_of` does, resting
    between steps; how often depends on the number of its parts.

    Parameters
    ----------
    scenario : Scenario
    like : MeshBuild
        Another mesh of the scenario, in one piece, with the same parameters and reach.
    closed : sequence of shapely Polygon or MultiPolygon, m
        On a surface each with the number of its floor.

    Raises
    ------
    ScenarioError
        If the ground cannot be meshed.
    """
    geometry = scenario.geometry
    try:
        if geometry.patches:
            return (
                yield from surface_steps(
                    patches_left(geometry, closed),
                    np.array(geometry.sheet_floors, dtype=np.int32),
                    openings=exits_left(geometry, closed, exits_by_floor(scenario)),
                    parameters=like.parameters,
                    wall_reach=like.walls.reach,
                    clearance=geometry.clearance,
                    step=geometry.step,
                    terrain=geometry.kinds,
                )
            )
        parts = (
            mesh_parts(geometry.walkable, closed, _exits(scenario, -1))
            if closed
            else [MeshPart(geometry.walkable, _exits(scenario, -1))]
        )
        yield "parts"
        terrain = terrain_of(geometry, 0)
        return (
            yield from part_steps(
                parts, parameters=like.parameters, wall_reach=like.walls.reach, terrain=terrain
            )
        )
    except NavigationError as error:
        raise ScenarioError(Problem("geometry", str(error), file=scenario.file)) from None


def _cached_mesh(
    scenario: Scenario, parameters: MeshParameters, reach: float, closed: Sequence[Any]
) -> MeshBuild:
    """Return the mesh of a scenario's ground; a large one comes from the disk cache, under a hash of what its
    polygons are made of, and the lists of walls under that and the reach.
    """
    geometry = scenario.geometry
    exits = exits_by_floor(scenario)
    share = scenario.navigation.values.get("tiles_in_memory", 1.0)
    vertices = sum(shapely.get_num_coordinates(ground) for ground in geometry.grounds)
    if vertices < LEAST_CACHED_VERTICES and share == 1.0:
        return _built_mesh(geometry, exits, parameters, reach, closed)
    parts = [
        repr(
            (
                parameters,
                geometry.clearance,
                geometry.sheet_floors,
                geometry.step,
                [floor.plane for floor in geometry.floors],
            )
        ).encode()
    ]
    parts += [
        repr(joins_of(geometry.floors)).encode(),
        repr([floor.flight for floor in geometry.floors]).encode(),
    ]
    parts += [repr((patch.plane, patch.sheet)).encode() + patch.ground.wkb for patch in geometry.patches]
    parts += [ground.wkb for ground in geometry.grounds]
    parts += [
        repr((layer, each.speed, each.kind) if each.kind else (layer, each.speed)).encode() + each.area.wkb
        for layer, floor in enumerate(geometry.kinds)
        for each in floor
    ]
    parts += [repr(layer).encode() + area.wkb for layer, area in exits.items()]
    parts += [
        repr(("closed", each[0])).encode() + each[1].wkb if geometry.floors else b"closed" + each.wkb
        for each in closed
    ]

    def make() -> dict[str, NDArray[Any]]:
        fresh = _built_mesh(geometry, exits, parameters, reach, closed)
        return fresh.tiles.kept() if isinstance(fresh, TiledBuild) else kept_mesh(fresh.mesh, fresh.walls)

    def lists(mesh: NavMesh, walls: Walls) -> Walls:
        return kept_lists(mesh, walls, reach, key)

    key = key_of(__file__, parts)
    cached = kept_arrays("meshes", __file__, [key], make)
    if parameters.tile_size > 0.0:
        numbers = tile_numbers(geometry, parameters.tile_size)
        held = None
        if share < 1.0:
            if not can_hold():
                raise NavigationError(
                    f"tiles_in_memory {share:g} needs a system that says which pages are in memory and takes "
                    "them back (Linux, with /proc/self/pagemap). Leave it out: then all tiles are."
                )
            held = HeldPages(share)
        tiles = TiledMesh.from_kept(cached, numbers, lists, geometry.clearance, held)
        return TiledBuild(tiles.mesh, tiles.walls, parameters, exits.get(-1), tiles, key=key)
    mesh, walls = mesh_of_kept(cached)
    return MeshBuild(mesh, lists(mesh, walls), parameters, exits.get(-1), key=key)


def _built_mesh(
    geometry: Geometry, exits: dict[int, Any], parameters: MeshParameters, reach: float, closed: Sequence[Any]
) -> MeshBuild:
    """Build the mesh of one floor, of storeys, or of a surface;
    `exits` are their areas by floor, -1 where there is one floor only.
    """
    terrain = terrain_of(geometry, 0)
    if parameters.tile_size > 0.0:
        numbers = tile_numbers(geometry, parameters.tile_size)
        tiles = build_tiled_plates(
            plates_of(geometry, exits, parameters),
            numbers,
            parameters=parameters,
            wall_reach=reach,
            clearance=geometry.clearance,
        )
        if closed:  # it has the numbers of all tiles that there can be, and loses some
            rebuilder = TileRebuilder(numbers, parameters)
            wanted = rebuilder.tiles_of(plates_of(geometry, exits, parameters, closed))
            remove, add = differences(tiles, wanted)
            tiles.change(remove=remove, add=add)
        return TiledBuild(tiles.mesh, tiles.walls, parameters, exits.get(-1), tiles)
    if closed and not geometry.floors:
        return build_parts(
            mesh_parts(geometry.walkable, closed, exits.get(-1)),
            parameters=parameters,
            wall_reach=reach,
            terrain=terrain,
        )
    if not geometry.floors:
        return build_mesh(
            geometry.walkable,
            openings=exits.get(-1),
            parameters=parameters,
            wall_reach=reach,
            terrain=terrain,
        )
    if geometry.patches:
        return build_surface(
            patches_left(geometry, closed),
            np.array(geometry.sheet_floors, dtype=np.int32),
            openings=exits_left(geometry, closed, exits),
            parameters=parameters,
            wall_reach=reach,
            clearance=geometry.clearance,
            step=geometry.step,
            terrain=geometry.kinds,
        )
    floors = []
    for layer, floor in enumerate(geometry.floors):
        left, openings = ground_without(floor.ground, of_layer(closed, layer), exits.get(layer))
        floors.append(replace(floor, ground=left).plan(openings, terrain_of(geometry, layer)))
    return build_floors(
        floors,
        joins_of(geometry.floors),
        parameters=parameters,
        wall_reach=reach,
        clearance=geometry.clearance,
    )


class Absent(NamedTuple):
    """A part of a soup that is not there.

    Attributes
    ----------
    part : int
        Its index in `Geometry.areas`.
    """

    part: int


def as_grounds_take(scenario: Scenario, closed: Sequence[Shut]) -> list[Any]:
    """Return closed things as grounds take them: as polygons, on floors with the number of the floor, parts
    of a soup that are not there as `Absent`.
    """
    if scenario.geometry.floors:
        return [Absent(each.part) if each.part >= 0 else (each.layer, each.polygon) for each in closed]
    return [each.polygon for each in closed]


def mesh_parts(ground: Any, closed: Sequence[Any], exits: Any) -> list[MeshPart]:
    """Return the parts that a mesh has while areas are closed:
    first what is left of the ground, then what lies inside each area.

    Parameters
    ----------
    ground : shapely Polygon or MultiPolygon, m
    closed : sequence of shapely Polygon or MultiPolygon, m
    exits : shapely geometry, or None
        Boundary of the ground inside it is open; between a closed area and the rest of the ground there is a
        wall all the same.
    """
    left, islands = parted_ground(ground, closed)
    grounds = [each for each in (left, *islands) if not each.is_empty]
    if exits is None:
        return [MeshPart(each) for each in grounds]
    found = []
    for number, each in enumerate(grounds):
        others = shapely.union_all([other for place, other in enumerate(grounds) if place != number])
        own = shapely.difference(exits, others.buffer(EXIT_GAP_M, join_style="mitre"), grid_size=GRID_M)
        found.append(MeshPart(each, None if own.is_empty else own))
    return found


def _exits(scenario: Scenario, layer: int) -> Any:
    """Return the areas of the exits on a floor, or None."""
    exits = [goal.area for goal in scenario.goals if goal.kind == "exit" and goal.layer == layer]
    return shapely.union_all(exits) if exits else None


def exits_by_floor(scenario: Scenario) -> dict[int, Any]:
    """Return the areas of the exits of each floor that has some; -1 is the floor of ground without floors."""
    floors = range(-1, len(scenario.geometry.floors))
    return {layer: area for layer in floors if (area := _exits(scenario, layer)) is not None}


def model_reach(scenario: Scenario, fastest: float) -> float:
    """Return how far from its rim an agent of speed `fastest` (m/s) heeds walls under any of the scenario's
    models and laws (m).
    """
    law = speed_law(scenario)
    reaches = [
        wall_reach(model, fastest * float(scenario.bodies.values["top_speed"]))
        for model in avoidance_models(scenario)
    ]
    return max(*reaches, law.reach if law is not None else 0.0)


def speed_law(scenario: Scenario) -> SpeedLaw | None:
    """Return the scenario's law of speed and density, or None."""
    return (
        SpeedLaw(scenario.speed_density.parameters(Weidmann))
        if scenario.speed_density.name == "weidmann"
        else None
    )


@dataclass(frozen=True, eq=False)
class OwnGround:
    """The ground, as it is now, of the agents that find their paths as one of `Scenario.navigations` says.

    Attributes
    ----------
    filtered : GroupGround or None
        None where it is all the ground that there is.
    watchers : Watchers
        Agents that they hide from.
    weigh : callable or None
        Returns what a metre costs at points, (n, 2) m, of floors, (n,); None where it is 1 everywhere.
    """

    filtered: GroupGround | None
    watchers: Watchers
    weigh: Weigh | None


def own_ground(
    built: Built, chosen: Chosen, watchers: Watchers | None = None, team: Team | None = None
) -> OwnGround:
    """Return the ground of the agents that find their paths as `chosen` says.

    Parameters
    ----------
    built : Built
    chosen : Chosen
    watchers : Watchers, optional
        Agents that they hide from; by default where those are at the beginning.
    team : Team, optional

    Raises
    ------
    ScenarioError
        If a watcher stood off the ground at the beginning.
    """
    mesh, first = built.world.mesh, built.mesh_build.mesh
    if watchers is None:
        groups = watching_groups(built.scenario.groups, chosen)
        rows = np.flatnonzero(groups[built.agents.group]) if groups is not None else np.zeros(0, np.int64)
        layer = first.polygon_layer[built.polygon[rows]]
        watchers = watchers_at(mesh, built.agents.position[rows], layer)
    weigh: Weigh | None = None
    if hides(chosen) and planner_kind(chosen.name).knows_terrain:
        before = None if mesh is first else first
        weigh = partial(metre_prices, mesh, before, chosen, watchers, team or Team())
    try:
        filtered = group_ground(built.geometry, mesh, chosen, weigh)
    except NavigationError as error:
        raise ScenarioError(_about_navigation(built.scenario, chosen, str(error))) from None
    return OwnGround(filtered, watchers, weigh)


def kept_off(built: Built, chosen: Chosen) -> GroupGround | None:
    """Return the ground of the agents that find their paths as `chosen` says, as it is now, where their paths
    are kept off some; else None.
    """
    own = group_ground(built.geometry, built.world.mesh, chosen)
    return own if own is not None and own.is_barred else None


def planner_of(built: Built, chosen: Chosen, own: OwnGround, standing: Sequence[Shut] = ()) -> Any:
    """Return a planner as one of `Scenario.navigations` says, for the goals of the scenario.

    Parameters
    ----------
    built : Built
    chosen : Chosen
    own : OwnGround
    standing : sequence of Shut
        Obstacles that have come, for cells; a mesh has them cut out.

    Returns
    -------
    Planner
        Of any kind; see `PlannerKind.space` for its answers.

    Raises
    ------
    ScenarioError
        If it cannot work on this ground.
    """
    world, kind = built.world, planner_kind(chosen.name)
    _refuse_terrain(built.scenario, chosen, kind.knows_terrain)
    mesh = world.mesh if own.filtered is None else own.filtered.mesh
    try:
        planner = kind.make(
            PlannerGround(
                mesh,
                world.fixed_goals,
                lambda: grid_of(built, chosen, standing, own.weigh),
                None if world.mesh is built.mesh_build.mesh else built.mesh_build.mesh,
                world.mesh,
                own.watchers,
                built.mesh_build.key if mesh is built.mesh_build.mesh else b"",
                mesh is built.mesh_build.mesh and world.tiles is None,
            ),
            chosen,
        )
    except NavigationError as error:
        raise ScenarioError(_about_navigation(built.scenario, chosen, str(error))) from None
    if not chosen.values.get("round_stationary"):
        return planner
    costs = chosen.values.get("costs", CostParameters.costs)
    return StationaryPlanner(planner, mesh, world.fixed_goals, chosen.parameters(StationaryParameters), costs)


def _about_navigation(scenario: Scenario, chosen: Chosen, message: str, way_out: str = "") -> Problem:
    """Return a problem of a navigation, at the group that has it as its own, else at the scenario's."""
    for group in scenario.groups:
        if group.navigation == chosen:
            return Problem(f"{group.item}.navigation", message, way_out, *group.place)
    return Problem("navigation", message, way_out, file=scenario.file)


def _refuse_terrain(scenario: Scenario, chosen: Chosen, is_known: bool = False) -> None:
    """Raise where the ground has speeds that a planner knows nothing of:
    its paths would be called the best and are not.
    """
    if not is_known and scenario.geometry.named_speeds:
        raise ScenarioError(
            _about_navigation(
                scenario,
                chosen,
                f"{chosen.name} looks for short paths and knows no speeds of ground, but the geometry has "
                "terrain with speeds of its own "
                f"({listed(scenario.geometry.named_speeds)})",
                "Take navigation: mesh or grid, whose paths are quick ones, or leave the terrain out.",
            )
        )


def agents_of(built: Built, chosen: Chosen) -> NDArray[np.bool_]:
    """Return (n,) bool: which agents find their paths as `chosen`, one of `Scenario.navigations`, says."""
    groups = np.array(
        [built.scenario.navigation_of(group) == chosen for group in built.scenario.groups], dtype=np.bool_
    )
    return groups[built.agents.group]


def grid_of(
    built: Built, chosen: Chosen | None = None, standing: Sequence[Shut] = (), weigh: Weigh | None = None
) -> Grid:
    """Return the cells that agents find paths on, as they are at the beginning:
    those of [Pathfinding undated], from the areas and obstacles of the scenario; on several floors and slopes
    those of the mesh.

    Parameters
    ----------
    built : Built
    chosen : Chosen, optional
        One of `Scenario.navigations`; by default the scenario's own.
    standing : sequence of Shut
        Obstacles that have come.
    weigh : callable, optional
        See `OwnGround`.

    Raises
    ------
    ScenarioError
        If the ground is too large.
    """
    scenario, geometry = built.scenario, built.scenario.geometry
    chosen = chosen or scenario.navigation
    paths = chosen.parameters(PathParameters)
    radius = greatest_radii(scenario, built.agents)[agents_of(built, chosen)]
    to_come = [
        group.radius.high
        for group in scenario.groups
        if group.arrive is not None and scenario.navigation_of(group) == chosen
    ]
    widest = paths.agent_radius or max([float(radius.max(initial=0.0)), *to_come])
    cells = chosen.parameters(CellParameters)
    parameters = GridParameters(**vars(cells), agent_radius=widest, widest_body=max(widest, cells.cell_size))
    # What is closed at the beginning can be opened: it is no wall for good.
    build = (
        built.mesh_build
        if all(area.available for area in geometry.areas)
        else mesh_of(scenario, built.agents)
    )
    try:
        if not built.world.is_level or len(geometry.floor_names) > 1:
            obstacles = [
                (layer, each.polygon)
                for layer, floor in enumerate(geometry.floors)
                for each in floor.obstacles
            ]
            grid = build_floor_grid(
                build.mesh, geometry.grounds, obstacles, parameters, keeps_off=paths.keep_off_edges
            )
        else:
            grid = _level_grid(geometry, build, parameters, paths.keep_off_edges)
        weigh_cells(grid, geometry, chosen, weigh)
    except NavigationError as error:
        raise ScenarioError(_about_navigation(scenario, chosen, str(error))) from None
    for layer, area in forbidden_areas(geometry, chosen):
        grid.take_away(area, layer if grid.has_floors else -1)
    grid.show(closed_at_the_begin(geometry.areas))
    for each in standing:
        grid.put_up(each.name, each.polygon, each.layer)
    return grid


def _level_grid(geometry: Geometry, build: MeshBuild, parameters: GridParameters, keeps_off: bool) -> Grid:
    """Return the cells of one level floor."""
    layout = geometry.layout or GridLayout((NamedPolygon(geometry.walkable),))
    raster = layout.raster
    if raster is not None and raster.cell != parameters.cell_size:
        raster = None
    areas = [Area(each.name or f"({number})", each.polygon) for number, each in enumerate(layout.areas)]
    walls = np.ascontiguousarray(np.hstack([build.walls.start, build.walls.end]))
    # what cells keep from obstacles already, they keep from edges, too
    keeps_off = keeps_off and (raster is None or raster.kept is None)
    obstacles = [each.polygon for each in geometry.obstacles]
    grid = build_grid(areas, obstacles, parameters, walls if keeps_off else None, raster)
    grid.add_bars(walls)
    return grid


def weigh_cells(grid: Grid, geometry: Geometry, chosen: Chosen, weigh: Weigh | None) -> None:
    """Say what metres cost on cells, for agents with a navigation.

    Parameters
    ----------
    grid : Grid
    geometry : Geometry
    chosen : Chosen
    weigh : callable or None
        See `OwnGround`.
    """
    if grid.under is not None:
        own = group_ground(geometry, grid.under.mesh, chosen, weigh)
        if own is not None:
            weigh_floors(grid, own.priced)
        return
    if weigh is None and not geometry.is_weighed:
        return
    terrain = priced_terrain(geometry.terrain[0] if geometry.terrain else (), chosen)
    if weigh is None:
        grid.set_terrain(terrain)
        return
    price = np.ones((grid.depth, grid.width))
    row, column = np.nonzero(grid.has_ground())
    point = np.column_stack(
        [
            grid.x + (column + 0.5) * grid.parameters.cell_size,
            grid.y + (row + 0.5) * grid.parameters.cell_size,
        ]
    )
    price[row, column] = weigh(point, np.zeros(len(point), dtype=np.int32))
    grid.set_terrain(terrain, price)


def avoidance_models(scenario: Scenario) -> list[AvoidanceModel]:
    """Return fresh avoidance models in the order of `Scenario.models`;
    those of plug-ins are held to what models promise.
    """
    models: list[AvoidanceModel] = []
    for chosen in scenario.models:
        kind, origin = model_named(chosen.name), origin_of(chosen.name)
        parameters: Any = chosen.parameters(kind.Parameters)
        model: Any = kind(parameters) if origin is None else GuardedModel(kind, parameters, origin)
        models.append(model)
    return models


def model_of_group(scenario: Scenario) -> list[int]:
    """Return the index into `Scenario.models` for each group."""
    return [scenario.models.index(scenario.model_of(group)) for group in scenario.groups]


def goal_shape(goal: Goal) -> GoalShape:
    """Return a goal as navigation wants it."""
    if goal.kind in ("nearest_of", "quickest_of"):
        return GoalShape(None, parts=goal.parts)
    if goal.point is not None:
        return GoalShape(shapely.Point(goal.point), goal.arrive_within, layer=goal.layer)
    return GoalShape(goal.area, layer=goal.layer)


def _refuse_lost(scenario: Scenario, agents: Agents, polygon: NDArray[np.int64]) -> None:
    lost = np.flatnonzero(polygon < 0)
    if len(lost):
        problems = [
            Problem(
                agents.label(row),
                (
                    f"stands at ({agents.position[row, 0]:g}, {agents.position[row, 1]:g}), which is "
                    "outside the walkable ground"
                ),
                "Move it, or extend the ground.",
                scenario.file,
            )
            for row in lost[:20].tolist()
        ]
        raise ScenarioError(problems)


def _refuse_events(scenario: Scenario, agents: Agents, tiles: TiledMesh | None) -> None:
    """Refuse events of tiles that are not there, and of radii that agents cannot have."""
    problems = []

    def refuse(number: int, event: Event, key: str, message: str, way_out: str) -> None:
        problems.append(Problem(f"events[{number}].{key}", message, way_out, *event.place))

    for number, event in enumerate(scenario.events):
        change = event.change
        if isinstance(change, TileChange) and tiles is not None:
            layer = max(0, change.layer)
            if tiles.tile_named(change.column, change.row, layer) < 0:
                key = "remove_tile" if change.goes else "add_tile"
                message = f"there is no tile ({change.column}, {change.row}){tiles.numbers.of_floor(layer)}"
                refuse(number, event, key, message, tiles.numbers.extent_text(layer))
        elif isinstance(change, RadiusChange):
            rows = np.flatnonzero(chosen_rows(scenario, agents, change.agents))
            step = agents.highest_speed[rows] * scenario.tick
            if len(rows) and step.max() > 2.0 * change.radius:
                row = int(rows[np.argmax(step)])
                refuse(
                    number,
                    event,
                    "set_radius",
                    f"{agents.label(row)} walks {step.max():.3g} m in a tick of {scenario.tick:g} s, farther "
                    f"than an agent of radius {change.radius:g} m is wide: others would jump over it",
                    f"Make the radius at least {step.max() / 2.0:.3g} m, or the tick shorter.",
                )
    if problems:
        raise ScenarioError(problems)
