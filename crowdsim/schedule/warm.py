"""Kernels are compiled, or loaded from the cache, before the first tick, so that no tick's time is that of the compiler.

A small crowd that touches, guesses, waits, strays and arrives is run for a few ticks, and a pile of bodies is taken apart in which plain pushes would do
harm: together they call every kernel of a tick with the types of a real run. A test runs the scenarios after it and finds no kernel that was not ready.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from crowdsim.avoidance.registry import origin_of
from crowdsim.bodies.separate import Separator
from crowdsim.navigation.measure import straighten_many
from crowdsim.scenario.load import parse_scenario
from crowdsim.scenario.model import Scenario
from crowdsim.scenario.parameters import GRIDS

_TICKS = 24
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
  - {name: crowd, count: 24, region: [[0.5, 0.5], [2.6, 0.5], [2.6, 4], [0.5, 4]], goals: [{point: [3.5, 4.8], arrive_within: 0.5}, out]}
  - name: pair
    agents:
      - {position: [4.6, 3], goals: [{point: [6.4, 3], arrive_within: 0.1}]}
      - {position: [6.4, 3], goals: [{point: [4.6, 3], arrive_within: 0.1}]}
  - {name: standing, positions: [[6.8, 5]], premovement: 0.3, goals: [out]}
budget: {work: 3}
"""
_FLOORS = """
version: 1
name: warm
tick: 0.1
stop: {after: 10}
geometry:
  storeys: [{name: low, elevation: 0, walkable: {box: [0, 0, 4, 4]}}, {name: high, elevation: 1, walkable: {box: [6, 0, 9, 4]}}]
  connections: [{name: stair, lower: low, upper: high, foot: [[4, 1], [4, 3]], head: [[6, 1], [6, 3]]}]
goals:
  out: {exit: {box: [8, 0, 9, 4]}, storey: high}
groups:
  - {name: crowd, storey: low, positions: [[3, 1.8], [3, 2.2], [3.6, 2]], goals: [out]}
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
obstacles: [{name: cart, shape: {disc: 0.3}, path: [[1, 1], {point: [1.5, 1], wait: 0.5}, [2, 1]], speed: 1, stands_after: 0.2}]
"""
# Ten bodies in the corner of the room, found by trying: few piles need pushes that are held back.
_PILE = ((0.39, 5.67), (0.72, 5.44), (0.46, 5.43), (0.26, 5.49), (0.34, 5.36), (0.31, 5.32), (0.68, 5.46), (0.35, 5.56), (0.56, 5.59), (0.74, 5.3))
_NOTHING_MORE = ("speed_density=none", "navigation=optimal")  # what the warm-up of a model has anyhow
_warm: set[tuple[str, bool]] = set()


def warm_kernels(scenario: Scenario, *, explaining: bool = False) -> None:
    """Have every kernel ready that a run of a scenario may call; done once in a process for each set of parameters that chooses kernels.

    Parameters
    ----------
    scenario : Scenario
    explaining : bool
        Also those that tell what stood behind choices; they are compiled for nobody else.
    """
    for model in dict.fromkeys(chosen.name for chosen in scenario.models):
        # A plug-in is not run here: what it does wrong shall be told with the tick and the agent of the run.
        if origin_of(model) is None:
            _warm_up(f"avoidance={model}", explaining)
    _warm_up(f"speed_density={scenario.speed_density.name}")
    for kind in dict.fromkeys(chosen.name for chosen in scenario.navigations):
        _warm_up(f"navigation={kind}")
    if len(scenario.geometry.floor_names) > 1 or scenario.geometry.patches or scenario.geometry.named_speeds:
        _warm_up_scene("floors", _FLOORS)
    if scenario.geometry.areas or scenario.obstacles:
        for kind in dict.fromkeys(chosen.name for chosen in scenario.navigations):
            _warm_up_scene(f"changing ground, {kind}", _CHANGING, f"navigation={kind}")
    if scenario.bodies.values["local_grid"]:
        _warm_up_scene("local grids", _IN_THE_WAY, "bodies.local_grid=true")
    for chosen in scenario.navigations:
        if chosen.values.get("round_standers"):
            _warm_up_scene(f"round standers, {chosen.name}", _IN_THE_WAY, f"navigation={{kind: {chosen.name}, round_standers: true}}")
    if scenario.bodies.values["nudging"] or scenario.bodies.values["replanning"]:
        _warm_up_scene("in the way", _IN_THE_WAY)


def _warm_up_scene(name: str, scene: str, *sets: str) -> None:
    """Have ready what only some scenarios need: ground that is not level or not even or changes, people who are asked aside."""
    if (name, False) in _warm or numba.config.DISABLE_JIT:
        return
    from crowdsim.schedule.simulation import Simulation

    _warm.add((name, False))
    with Simulation(parse_scenario(scene, file="warm-up", sets=sets), threads=1, warm=False) as simulation:
        for _ in range(_TICKS):
            simulation.step()


def _warm_up(setting: str, explaining: bool = False) -> None:
    if (setting, explaining) in _warm or setting in _NOTHING_MORE or numba.config.DISABLE_JIT:
        return
    from crowdsim.schedule.simulation import Simulation
    from crowdsim.systems.avoid import Avoid

    _warm.update({(setting, explaining), (setting, False)})
    more = ["budget.work=500"] if setting.removeprefix("navigation=") in GRIDS else []  # so that ways are found over cells within these ticks
    scene: Any = parse_scenario(_SCENE, file="warm-up", sets=[setting, *more])
    with Simulation(scene, threads=1, warm=False) as simulation:
        if explaining:
            avoid = next(system for system in simulation.systems if isinstance(system, Avoid))
            avoid.explained = np.ones(scene.agent_count, dtype=np.bool_)
        for _ in range(_TICKS):
            simulation.step()
        world, nobody = simulation.world, np.zeros(0, dtype=np.int64)
        agents = world.agents  # Only some meshes have corners in free ground, which nobody knows before the mesh is built.
        straighten_many(
            world.mesh, world.goals, world.corridors.cells, agents.corridor_start[nobody], agents.corridor_length[nobody], agents.corridor_capacity[nobody],
            world.polygons()[nobody], agents.goal_piece[nobody], agents.position[nobody], agents.radius[nobody], nobody,
        )  # fmt: skip
        position, count = np.array(_PILE), len(_PILE)
        numbers: dict[str, Any] = {name: np.zeros(count, dtype=name) for name in ("int32", "int64", "float32")}
        Separator().separate(
            position, np.full(count, 0.2), np.ones(count, dtype=np.uint8), numbers["int32"], numbers["int64"], numbers["float32"], simulation.world.walls,
            simulation.team, np.empty_like(position),
        )  # fmt: skip
