"""Kernels are compiled, or loaded from the cache, before the first tick,
so that no tick's time is that of the compiler.

What a run may call is known from small scenes: a crowd that touches, guesses, waits, strays, arrives and
leaves is run for a few ticks, the first of them with a budget that makes it wait for its paths, and a pile of
agents is taken apart in which plain pushes would do harm: together they call every kernel of a tick with the
types of a real run. What they call is listed (`crowdsim.kernels.needed`), so the scenes are run only
where something had to be compiled: in case the list has left something out. Tests run the scenarios after it,
also each in a process of its own, and find no kernel that was not ready.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from crowdsim.avoidance.registry import available_models, origin_of
from crowdsim.bodies.separate import Separator
from crowdsim.errors import CrowdsimError
from crowdsim.geometry.cells import SORTED_AT_ONCE, CellIndex
from crowdsim.kernels.ahead import make_ready
from crowdsim.kernels.needed import needed_by, the_list
from crowdsim.kernels.ranges import WORDS
from crowdsim.kernels.threads import Team
from crowdsim.kernels.waiting import serve
from crowdsim.measures.shut_in import find_shut_in
from crowdsim.navigation.corridor.measure import straighten_many
from crowdsim.navigation.grid.waiting import CellWaitParameters
from crowdsim.navigation.mesh.mesh import NavMesh
from crowdsim.navigation.planners import planner_kind
from crowdsim.scenario.load import parse_scenario
from crowdsim.scenario.model import Scenario
from crowdsim.scenario.parameters import SECTIONS, tunables_of
from crowdsim.systems.paths.straighten import find_led_round
from crowdsim.world.states import on_their_way, standing

_TICKS = 24
_PLENTY = 1 << 20  # Work that finds all paths in a tick.
_SCENE = """
version: 1
name: warm
tick: 0.1
stop: {after: 10}
geometry:
  walkable: [[0, 0], [8, 0], [8, 6], [0, 6]]
  obstacles: [[[3, 2], [4, 2], [4, 4], [3, 4]], [[5.6, 0], [5.7, 0], [5.7, 2.6], [5.6, 2.6]]]
goals:
  door: {exit: [[7.5, 2], [8, 2], [8, 4], [7.5, 4]]}
  out: {nearest_of: [door]}
groups:
  - {name: at_the_door, positions: [[7, 2.6], [7, 3.4]], goals: [door]}
  - name: crowd
    count: 24
    region: [[0.5, 0.5], [2.6, 0.5], [2.6, 4], [0.5, 4]]
    goals: [{point: [3.5, 4.8], arrive_within: 0.5}, out]
  - name: pair
    agents:
      - {position: [4.6, 3], goals: [{point: [6.4, 3], arrive_within: 0.1}]}
      - {position: [6.4, 3], goals: [{point: [4.6, 3], arrive_within: 0.1}]}
  - {name: standing, positions: [[6.8, 5]], premovement: 0.3, goals: [out]}
"""
_STAYING = """
version: 1
name: warm
tick: 0.1
stop: {after: 10}
geometry: {walkable: {box: [0, 0, 8, 4]}}
goals: {hall: {region: {box: [4, 1, 7, 3]}}}
groups:
  - {name: crowd, positions: [[3.6, 1.5], [3.6, 2.5], [1, 2]], goals: hall, leave_on_arrival: false}
"""
_FLOORS = """
version: 1
name: warm
tick: 0.1
stop: {after: 10}
geometry:
  storeys:
    - {name: low, elevation: 0, walkable: {box: [0, 0, 4, 4]}}
    - {name: high, elevation: 1, walkable: {box: [6, 0, 9, 4]}}
    - {name: above, elevation: 4, walkable: {box: [0, 0, 4, 4]}}
  connections: [{name: stair, lower: low, upper: high, foot: [[4, 1], [4, 3]], head: [[6, 1], [6, 3]]}]
goals:
  out: {exit: {box: [8, 0, 9, 4]}, storey: high}
groups:
  - {name: crowd, storey: low, positions: [[3, 1.8], [3, 2.2], [3.6, 2]], goals: [out]}
  - {name: upstairs, storey: above, positions: [[1, 1]]}
"""
_IN_THE_WAY = """
version: 1
name: warm
tick: 0.1
stop: {after: 10}
geometry: {walkable: {box: [0, 0, 8, 4]}}
groups:
  - {name: standing, positions: [[2.41, 2], [4, 2]]}
  - {name: walking, positions: [[2, 2]], goals: [{point: [7, 2]}]}
bodies: {nudging: true, replanning: true, replan_cooldown: 0.1}
"""
_COMING = """
version: 1
name: warm
tick: 0.1
stop: {after: 10}
geometry: {walkable: {box: [0, 0, 8, 4]}}
groups:
  - {name: flow, region: {box: [0, 0, 2, 4]}, goals: [{point: [7, 2]}], arrive: {rate: 10, process: poisson}}
"""
_CHOOSING = """
version: 1
name: warm
tick: 0.1
stop: {after: 10}
geometry: {walkable: {box: [0, 0, 10, 8]}, obstacles: [{box: [4, 2, 4.2, 6]}]}
goals:
  west: {exit: {box: [0, 3, 1, 5]}}
  east: {exit: {box: [9, 3, 10, 5]}, flow: 1}
  out: {quickest_of: [west, east], every: 0.5, knows: seen, familiar: {share: 0.5, only: [east]}}
groups: [{name: crowd, count: 12, region: {box: [5, 0, 9, 8]}, goals: out}]
"""
_MACHINES = """
version: 1
name: warm
tick: 0.1
stop: {after: 10}
geometry: {walkable: {box: [0, 0, 10, 8]}, obstacles: [{box: [4, 2, 4.2, 6]}]}
goals: {out: {exit: {box: [9, 3, 10, 5]}}, hall: {region: {box: [5, 1, 9, 7]}}, a: {point: [1.3, 1]}}
queues: {desk: {servers: [[3, 4]], line: [[2.6, 4], [1, 4]], service: {normal: {mean: 0.2, sd: 0.05}}}}
behaviours:
  visitor:
    states:
      come: {go_to: a, then: {buy: 1, wait: 1}, lasts: 0.5}
      buy: {queue: desk, then: wait}
      wait: {wait: {uniform: {low: 0, high: 0.2}}, then: sit}
      sit: {stay: hall, lasts: {lognormal: {mu: 0, sigma: 0.3}}, then: out}
      out: {leave: out}
  guest: {states: {w: {wander: {where: hall}, when: [{near: {to: guard, within: 9, seen: true}, to: f}]},
                   f: {flee: {away_from: [guard]}}}}
  guard: {states: {t: {approach: {to: guest}, lasts: 0.5, then: f}, f: {follow: {after: guest}}}}
groups:
  - {name: visitors, positions: [[1, 1], [1, 2], [2, 3.5], [6, 2], [6, 6]], behaviour: visitor}
  - {name: guest, positions: [[8, 2]], behaviour: guest}
  - {name: guard, positions: [[8, 6]], behaviour: guard}
"""
_PARTIES = """
version: 1
name: warm
tick: 0.1
stop: {after: 10}
geometry: {walkable: {box: [0, 0, 10, 8]}}
goals: {a: {exit: {box: [9, 3, 10, 5]}}, b: {exit: {box: [0, 3, 1, 5]}}, any: {nearest_of: [a, b]}}
groups:
  - {name: pairs, positions: [[4.6, 2], [5.4, 2], [4.6, 6], [5.4, 6]], goals: any, together: {size: 4}}
  - name: led
    count: 6
    region: {box: [0, 0, 4, 3]}
    goals: a
    together: {size: {uniform: {low: 2, high: 4}}}
"""
_CONNECTED = """
version: 1
name: warm
tick: 0.1
stop: {after: 10}
geometry: {walkable: [{box: [0, 0, 4, 4]}, {box: [6, 0, 10, 4]}]}
goals: {out: {exit: {box: [9, 1, 10, 3]}}}
connections:
  over: {passage: {ends: [{area: {box: [3, 1, 4, 3]}}, {area: {box: [6, 1, 7, 3]}}], time: 0.2, knows: seen}}
groups: [{name: walking, positions: [[2.2, 2], [2.2, 1]], goals: out}]
"""
_DRIVEN = """
version: 1
name: warm
tick: 0.1
stop: {after: 10}
geometry: {walkable: {box: [0, 0, 12, 6]}}
goals: {out: {exit: {box: [10, 4, 12, 6]}}}
groups:
  - {name: walking, positions: [[5, 2]], goals: out}
  - name: cart
    positions: [[2, 2]]
    goals: out
    vehicle: {length: 1, width: 0.5, turning_radius: 1, heading: [1, 0]}
"""
_CHANGING = """
version: 1
name: warm
tick: 0.1
stop: {after: 10}
geometry:
  walkable: [{box: [0, 0, 4, 4]}, {box: [4, 1, 4.2, 3]}, {box: [4.2, 0, 8, 4]}]
  areas: [{name: door, area: {box: [4, 1, 4.2, 3]}}]
groups:
  - {name: walking, positions: [[3.2, 2], [4.1, 2], [5, 2]], goals: [{point: [7, 2]}]}
events: [{at: 1, close: door}, {at: 1.5, open: door}]
obstacles:
  - name: cart
    shape: {disc: 0.3}
    path: [[1, 1], {point: [1.5, 1], wait: 0.5}, [2, 1]]
    speed: 1
    stands_after: 0.2
"""
_REFILLED = """
version: 1
name: warm
tick: 0.1
stop: {after: 3}
geometry:
  soup:
    seeds: [[1, 1, 0]]
    triangles:
      - [[0, 0, 0], [4, 0, 0], [4, 4, 0]]
      - [[0, 0, 0], [4, 4, 0], [0, 4, 0]]
      - [[4, 0, 0.1], [8, 0, 0.1], [8, 4, 0.1]]
      - [[4, 0, 0.1], [8, 4, 0.1], [4, 4, 0.1]]
    materials: [a, a, b, b]
    parts: {b: {}}
groups: [{name: walking, positions: [[5, 2]], goals: [{point: [2, 2]}]}]
events: [{at: 0.5, remove_part: b}]
"""
_AT_THE_START = """
version: 1
name: warm
tick: 0.1
stop: {after: 10}
geometry: {walkable: {box: [0, 0, 8, 4]}, obstacles: [{box: [4, 1, 4.2, 3]}]}
groups:
  - name: walking
    count: 4
    region: {box: [0, 0, 3, 4]}
    premovement: {lognormal: {mu: 1, sigma: 0.5, high: 9}}
    goals: [{point: [7, 2]}]
navigation: {kind: visibility, unseen_from: [[6, 3.5]], exposure: 10}
"""
_HIDING = """
version: 1
name: warm
tick: 0.1
stop: {after: 10}
geometry: {walkable: {box: [0, 0, 8, 4]}, obstacles: [{box: [4, 1, 4.2, 3]}]}
groups:
  - name: hiding
    count: 4
    region: {box: [0, 0, 3, 4]}
    goals: [{point: [7, 2]}]
    navigation: {kind: mesh, unseen_by: [guard], watch_interval: 0.1}
  - {name: guard, positions: [[6, 1]], goals: [{point: [6, 3]}]}
navigation: mesh
"""
# Ten agents in a corner of the room, found by trying: few piles need pushes that are scaled down.
_PILE = (
    (0.39, 5.67),
    (0.72, 5.44),
    (0.46, 5.43),
    (0.26, 5.49),
    (0.34, 5.36),
    (0.31, 5.32),
    (0.68, 5.46),
    (0.35, 5.56),
    (0.56, 5.59),
    (0.74, 5.3),
)
_NO_LAW = "speed_density=none"
_ON_CURVES = ("navigation=optimal", "navigation.smoothing=bezier")
_USUAL = "optimal"  # In place of a planner of a plug-in, which is not run here: what follows its corridors.
# Only some meshes have corners there, which is known when the mesh is built.
_FREE_VERTICES = "vertices in free ground"
_COME = "agents come"
_STAY = "agents stay"
_TOGETHER = "parties"
_CURVED = "curved paths"
_CHOOSE = "agents choose goals"
_CONNECTIONS = "connections"
_VEHICLES = "vehicles"
_PARTS = "parts of a soup"
_played: set[str] = set()


class Scene(NamedTuple):
    """A small scene that calls all kernels that something in a scenario may call.

    Attributes
    ----------
    needs : tuple of str
        What is in it, by the names that the list of needed kernels has.
    text : str
        A scenario.
    sets : tuple of str
        Settings of it.
    explaining : bool
        Whether choices are explained.
    """

    needs: tuple[str, ...]
    text: str
    sets: tuple[str, ...]
    explaining: bool = False


def warm_kernels(scenario: Scenario, simulate: Callable[..., Any], *, explaining: bool = False) -> None:
    """Have every kernel ready that a run of a scenario may call;
    done once in a process for each set of parameters that chooses kernels.

    Parameters
    ----------
    scenario : Scenario
    simulate : callable
        `crowdsim.simulation.simulation.Simulation`, which makes the scenes of the warm-up run.
    explaining : bool
        Also those that explain choices; no other run has them compiled.
    """
    scenes = [
        scene for scene in scenes_of(scenario, explaining=explaining) if not _played.issuperset(scene.needs)
    ]
    if not scenes or numba.config.DISABLE_JIT:
        return
    names = {name for scene in scenes for name in scene.needs}
    if scenario.geometry.areas or scenario.obstacles:
        names.add(_FREE_VERTICES)  # they may come with the change
    _played.update(names)
    compiled = make_ready(needed_by(names))
    for scene in scenes:
        if compiled or not the_list().scenes.keys() >= set(scene.needs):
            # what cannot be together is reported of the scenario itself, where that is built
            with contextlib.suppress(CrowdsimError):
                play(scene, simulate)


def warm_ground(mesh: NavMesh) -> None:
    """Have those kernels ready that only some meshes need.

    Parameters
    ----------
    mesh : NavMesh
        Of the run.
    """
    if mesh.vertex_clearance.size and _FREE_VERTICES not in _played and not numba.config.DISABLE_JIT:
        _played.add(_FREE_VERTICES)
        make_ready(needed_by([_FREE_VERTICES]))


def scenes_of(scenario: Scenario, *, explaining: bool = False) -> list[Scene]:
    """Return the scenes that call what a scenario may call.

    Parameters
    ----------
    scenario : Scenario
    explaining : bool
        Whether choices are explained.
    """
    # A plug-in is not run here: its mistakes are reported with the tick and the agent of the run.
    models = [chosen.name for chosen in scenario.models if origin_of(chosen.name) is None] or ["none"]
    kinds = [chosen.name for chosen in scenario.navigations if origin_of(chosen.name) is None] or [_USUAL]
    law, geometry, bodies = (
        f"speed_density={scenario.speed_density.name}",
        scenario.geometry,
        scenario.bodies.values,
    )
    scenes = [crowd(models[0], kind, law, explaining=explaining) for kind in kinds]
    scenes += [crowd(model, kinds[0], law, explaining=explaining) for model in models[1:]]
    for chosen in (each for each in scenario.navigations if origin_of(each.name) is None):
        if len(geometry.floor_names) > 1 or geometry.patches or geometry.is_weighed:
            scenes.append(floors(chosen.name))
        if geometry.areas or scenario.obstacles:
            scenes.append(changing_ground(chosen.name))
        if bodies["local_grid"]:
            scenes.append(in_the_way("local grids", chosen.name, "bodies.local_grid=true"))
        if bodies["nudging"] or bodies["replanning"]:
            scenes.append(in_the_way("in the way", chosen.name))
        if scenario.behaviours.machines:
            scenes.append(machines(chosen.name))
        if chosen.values.get("unseen_by"):
            scenes.append(hiding(chosen.name))
        if _waits_on_cells(chosen.name) and chosen.values["while_waiting"] in ("guess", "previous"):
            scenes.append(guessing_over_cells(chosen.name))
        if scenario.has_parties:
            scenes.append(Scene((_TOGETHER,), _PARTIES, ()))
        if chosen.values.get("round_stationary"):
            scenes.append(
                in_the_way("round stationary agents", chosen.name, "navigation.round_stationary=true")
            )
    if geometry.refill is not None:
        scenes.append(Scene((_PARTS,), _REFILLED, ()))
    if any(chosen.values.get("smoothing") == "bezier" for chosen in scenario.navigations):
        scenes.append(Scene((_CURVED,), _SCENE, _ON_CURVES))
    if scenario.has_arrivals:
        scenes.append(Scene((_COME,), _COMING, ()))
    if any(group.visits and not group.leave_on_arrival for group in scenario.groups):
        scenes.append(Scene((_STAY,), _STAYING, ()))
    if any(goal.choice is not None for goal in scenario.goals):
        scenes.append(Scene((_CHOOSE,), _CHOOSING, ()))
    if scenario.carriers:
        scenes.append(Scene((_CONNECTIONS,), _CONNECTED, ()))
    if scenario.has_vehicles:
        scenes.append(Scene((_VEHICLES,), _DRIVEN, ()))
    return list(dict.fromkeys(scenes))


def all_scenes() -> list[Scene]:
    """Return every scene that a scenario can need, each choice beside the first of the others;
    that of all first choices comes first.
    """
    owners = {section.name: list(section.owners()) for section in SECTIONS}
    owners_of_navigation = next(section for section in SECTIONS if section.name == "navigation").owners()
    models = [model for model in available_models() if origin_of(model) is None]
    kinds = [kind for kind in owners["navigation"] if origin_of(kind) is None]
    laws = [f"speed_density={law}" for law in owners["speed_density"]]
    scenes = [crowd(models[0], kind, _NO_LAW) for kind in kinds]
    scenes += [
        crowd(model, kinds[0], _NO_LAW, explaining=explaining)
        for model in models
        for explaining in (False, True)
    ]
    scenes += [crowd(models[0], kinds[0], law) for law in laws]
    for kind in kinds:
        scenes += [
            floors(kind),
            changing_ground(kind),
            machines(kind),
            in_the_way("local grids", kind, "bodies.local_grid=true"),
            in_the_way("in the way", kind),
        ]
        if "unseen_by" in {tunable.name for tunable in tunables_of(owners_of_navigation[kind])}:
            scenes.append(hiding(kind))
        if _waits_on_cells(kind):
            scenes.append(guessing_over_cells(kind))
        scenes.append(in_the_way("round stationary agents", kind, "navigation.round_stationary=true"))
    # What few scenarios call, and none in a tick, is compiled when it is called; it is in the list for wheels
    # that carry machine code.
    return [
        *dict.fromkeys(scenes),
        Scene((_COME,), _COMING, ()),
        Scene((_STAY,), _STAYING, ()),
        Scene((_TOGETHER,), _PARTIES, ()),
        Scene((_CURVED,), _SCENE, _ON_CURVES),
        Scene((_CHOOSE,), _CHOOSING, ()),
        Scene((_CONNECTIONS,), _CONNECTED, ()),
        Scene((_VEHICLES,), _DRIVEN, ()),
        Scene((_PARTS,), _REFILLED, ()),
        Scene((_FREE_VERTICES,), _SCENE, ()),
        Scene(("at the start, visibility",), _AT_THE_START, ()),
    ]


def crowd(model: str, kind: str, law: str, *, explaining: bool = False) -> Scene:
    """Return the scene of avoidance, navigation, and a law of speed and density."""
    work = planner_kind(kind).space.scarce_work
    explained = (f"avoidance={model}, explained",) if explaining else ()
    needs = (f"avoidance={model}", f"navigation={kind}", *(() if law == _NO_LAW else (law,)), *explained)
    return Scene(
        needs, _SCENE, (f"avoidance={model}", f"navigation={kind}", law, f"budget.work={work}"), explaining
    )


def floors(kind: str) -> Scene:
    """Return the scene of ground that is not level."""
    return Scene((f"floors, {kind}",), _FLOORS, (f"navigation={kind}",))


def changing_ground(kind: str) -> Scene:
    """Return the scene of doors and moving obstacles."""
    return Scene((f"changing ground, {kind}",), _CHANGING, (f"navigation={kind}",))


def machines(kind: str) -> Scene:
    """Return the scene of agents that do what machines of states say."""
    return Scene((f"machines of states, {kind}",), _MACHINES, (f"navigation={kind}",))


def hiding(kind: str) -> Scene:
    """Return the scene of agents that hide from one that walks."""
    sets = (f"groups.0.navigation.kind={kind}", f"navigation={kind}")
    return Scene((f"hiding, {kind}",), _HIDING, sets)


def guessing_over_cells(kind: str) -> Scene:
    """Return the scene of agents on a grid that do not stand while their path is being searched for."""
    work = planner_kind(kind).space.scarce_work
    sets = (f"navigation={kind}", "navigation.while_waiting=guess", f"budget.work={work}")
    return Scene((f"guesses over cells, {kind}",), _SCENE, sets)


def _waits_on_cells(kind: str) -> bool:
    return CellWaitParameters in planner_kind(kind).space.owners


def in_the_way(name: str, kind: str, *sets: str) -> Scene:
    """Return the scene of stationary agents."""
    return Scene((f"{name}, {kind}",), _IN_THE_WAY, (f"navigation={kind}", *sets))


def play(scene: Scene, simulate: Callable[..., Any]) -> None:
    """Run a scene for a few ticks; `simulate` as for `warm_kernels`."""
    from crowdsim.setup.identity import Selection
    from crowdsim.systems.avoid import Avoid

    parsed: Any = parse_scenario(scene.text, file="warm-up", sets=scene.sets)
    with simulate(parsed, threads=1, warm=False) as simulation:
        if scene.explaining:
            avoid = next(system for system in simulation.systems if isinstance(system, Avoid))
            all_groups = np.ones(len(parsed.groups), dtype=np.bool_)
            avoid.explained = Selection(all_groups, np.zeros(0, dtype=np.int64))
        for _ in range(_TICKS):
            simulation.step()
        simulation.budget.work = _PLENTY
        for _ in range(_TICKS):
            simulation.step()
        if _FREE_VERTICES in scene.needs:
            _straighten(simulation)
        elif scene.text == _SCENE:
            _take_pile_apart(simulation)
            for ask in (standing, on_their_way):  # of which some systems have need in few ticks
                ask(simulation.world.agents)
            serve(np.zeros(WORDS, dtype=np.int64), 1, 1)  # as teams of several threads do
            _sort_in_shares()
            _count_again(simulation)
            _flood_round_none(simulation)


def _straighten(simulation: Any) -> None:
    """Do what changes corridors beside free vertices, which the ground of the scene has none of."""
    world, none = simulation.world, np.zeros(0, dtype=np.int64)
    agents = world.agents
    straighten_many(
        world.mesh, world.goals, world.corridors.portals, agents.corridor_start[none],
        agents.corridor_length[none], agents.corridor_capacity[none], world.polygons()[none],
        agents.goal_piece[none], agents.position[none], agents.radius[none], none,
    )  # fmt: skip
    none_of = np.zeros(len(agents), dtype=np.bool_)
    find_led_round(
        0, 0, none_of, agents.corner_vertex.copy(), agents.corner_vertex, agents.next_corner, agents.position,
        agents.radius, world.mesh.is_wall_vertex, world.mesh.vertex_clearance, none_of.copy(),
    )  # fmt: skip


def _sort_in_shares() -> None:
    """Sort so many agents that two threads share them."""
    count, team = 2 * SORTED_AT_ONCE, Team(2)
    CellIndex().build(np.zeros((count, 2)), np.zeros(count, dtype=np.int32), team=team)
    team.close()


def _take_pile_apart(simulation: Any) -> None:
    _separate(np.array(_PILE), simulation)


def _count_again(simulation: Any) -> None:
    """Count overlaps of discs of which one has moved since they were counted."""
    row = np.arange(20.0)
    separator, position, others = _separate(np.column_stack([0.39 * row, 0.0 * row]), simulation)
    position[3, 1] += 0.01
    separator.measure(position, *others, simulation.team)


def _flood_round_none(simulation: Any) -> None:
    """Find which of no agents are shut in."""
    agents, walls, none = simulation.world.agents, simulation.world.walls, np.zeros(0, dtype=np.int64)
    find_shut_in(
        none, agents.position, agents.radius, none, none, walls.start, walls.end, none, none,
        np.zeros(0, dtype=np.bool_),
    )  # fmt: skip


def _separate(
    position: NDArray[np.float64], simulation: Any
) -> tuple[Separator, NDArray[np.float64], tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]:
    """Part discs of 0.2 m; return what did so, where they are then, and what else `measure` takes."""
    count, separator, out = len(position), Separator(), np.empty_like(position)
    numbers: dict[str, Any] = {name: np.zeros(count, dtype=name) for name in ("int32", "int64", "float32")}
    discs = np.full(count, 0.2), np.ones(count, dtype=np.uint8), numbers["int32"]
    separator.separate(
        position, position, *discs, numbers["int64"], numbers["float32"], simulation.world.walls, 0.05,
        simulation.team, out,
    )  # fmt: skip
    return separator, out, discs
