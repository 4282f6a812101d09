"""Bends at vertices in free ground where agents have no clearance:
paths are led past them on the side on which strings from there are straight.
"""

import numpy as np
import pytest

from crowdsim.navigation.corridor.corner_cache import NOT_CACHED
from crowdsim.scenario.load import load_scenario, parse_scenario
from crowdsim.simulation.simulation import Simulation
from crowdsim.systems.base.system import Tick
from crowdsim.systems.paths.corridor_paths import CorridorPaths
from crowdsim.systems.paths.straighten import led_round_free_vertices, straighten
from tests.crowds import SCENARIOS

# The ground is cut up round the pond so that a portal ends 0.1 m from it, in the grass.
POND = """
version: 1
tick: 0.05
stop: {after: 60, when: all_arrived}
geometry:
  walkable: {box: [0, 0, 40, 24]}
  obstacles:
    - {circle: {centre: [20, 14], radius: 4}}
  terrain:
    - {name: grass, speed: 0.5, area: {box: [4, 3, 36, 24]}}
goals: {west: {exit: {box: [0, 18, 1, 22]}}}
groups:
  - {name: one, positions: [[38, 16]], goals: [west], navigation: {costs: length}}
"""


def led_without_clearance(world, follows):
    """Rows of agents whose corner, which is the one of before, is a free vertex nearer to a wall than their
    radius.
    """
    rows = led_round_free_vertices(world, follows, world.agents.corner_vertex)
    return rows[world.agents.corner_vertex[rows] != NOT_CACHED]


def walk(run, until):
    while not until() and not run.why_over():
        run.step()


def walked_to_the_vertex(run, monkeypatch):
    """Walk until the next corner is one where the agent has no clearance, and leave it there."""
    monkeypatch.setattr(CorridorPaths, "_straighten", lambda self, rows: None)
    walk(run, lambda: len(led_without_clearance(run.world, run.world.agents.path_status >= 0)) > 0)
    monkeypatch.undo()
    assert not run.why_over()
    return run.world.agents


def corridor(agents, world):
    start = int(agents.corridor_start[0])
    return world.corridors.portals[start : start + int(agents.corridor_length[0])].copy()


def test_one_person_gets_round_the_pond():
    with Simulation(parse_scenario(POND)) as run:
        walk(run, lambda: False)
        assert run.verdict().arrived == 1


def test_the_next_corner_is_never_one_without_clearance(monkeypatch):
    with Simulation(parse_scenario(POND)) as run:
        agents = walked_to_the_vertex(run, monkeypatch)
        before, corner = corridor(agents, run.world), agents.next_corner[0].copy()
        follow = next(system for system in run.systems if type(system).__name__ == "Follow")
        follow.process(Tick(run.tick + 1, run.scenario.tick, run.team))
        assert not len(led_without_clearance(run.world, agents.path_status >= 0))
        assert not np.array_equal(agents.next_corner[0], corner)
        after = corridor(agents, run.world)
        assert not np.array_equal(before, after) and after[0] == before[0]  # it leads on to the same exit


@pytest.mark.full
def test_an_agent_without_a_path_is_left_alone(monkeypatch):
    with Simulation(parse_scenario(POND)) as run:
        walked_to_the_vertex(run, monkeypatch)
        assert led_without_clearance(run.world, np.zeros(1, dtype=np.bool_)).tolist() == []


@pytest.mark.full
def test_a_block_that_is_too_small_for_the_straight_corridor_is_exchanged_for_a_larger_one(monkeypatch):
    corridors = []
    for capacity in (128, 16):
        with Simulation(parse_scenario(POND)) as run:
            agents = walked_to_the_vertex(run, monkeypatch)
            assert agents.corridor_capacity[0] == 128
            agents.corridor_capacity[0] = capacity
            straighten(run.world, np.zeros(1, dtype=np.int64), run.world.mesh)
            corridors.append(corridor(agents, run.world))
            assert len(corridors[-1]) + len(corridors[-1]) // 2 <= agents.corridor_capacity[0]
            walk(run, lambda: False)
            assert run.verdict().arrived == 1
    assert len(corridors[0]) > 16
    assert np.array_equal(*corridors)


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(1, 10))
def test_all_get_across_the_park(seed):
    with Simulation(load_scenario(SCENARIOS / "park.yaml", sets=[f"seed={seed}"])) as run:
        walk(run, lambda: False)
        assert run.verdict().arrived == 80


@pytest.mark.full
def test_runs_are_the_same_for_any_number_of_threads_and_when_they_go_on_from_a_state():
    text = parse_scenario(
        POND.replace("positions: [[38, 16]]", "count: 12, region: {box: [36.5, 12, 39.5, 17]}")
    )
    with Simulation(text, threads=1) as one, Simulation(text, threads=2) as two:
        kept = None
        while not one.why_over():
            one.step(), two.step()
            assert one.digest == two.digest
            if one.tick == 400:
                kept = one.state()
        end = one.digest
    with Simulation(text) as run:
        run.restore(kept)
        walk(run, lambda: False)
        assert run.digest == end
