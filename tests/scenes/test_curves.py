"""Agents on curves (`navigation: {smoothing: bezier}`), by what their recordings show: they turn gently, walk
little more, touch no wall, and leave rooms in about the time that they took before.
"""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest
import shapely

import crowdsim
from crowdsim.cli.verify import verify
from crowdsim.errors import ScenarioError
from crowdsim.recording.checkpoint import read_checkpoint
from crowdsim.recording.compare import first_difference
from crowdsim.scenario.load import load_scenario, parse_scenario
from crowdsim.simulation.checkpoints import Start
from crowdsim.simulation.simulation import Simulation
from tests.crowds import BUSY, SCENARIOS, assert_same_on_threads_and_from_saved_states, digests, simulation

TICK, SPEED = 0.05, 1.3
CORNER = shapely.union_all([shapely.box(0, 0, 10, 2), shapely.box(8, 0, 10, 10)])
ZIGZAG = shapely.Polygon([(0, 0), (4, 3), (8, 0), (12, 3), (16, 0), (16, 2), (12, 5), (8, 2), (4, 5), (0, 2)])
CURVED = "navigation.smoothing=bezier"


def alone(ground, start, goal, radius, kind, smoothing, folder):
    """Return the positions of an agent that walks alone, a row a tick, from its recording."""
    document = {
        "version": 1,
        "name": "alone",
        "seed": 1,
        "tick": TICK,
        "stop": {"after": 60},
        "geometry": {"walkable": [list(map(list, ground.exterior.coords))[:-1]]},
        "goals": {"there": {"point": list(goal), "arrive_within": 0.2}},
        "groups": [
            {"name": "one", "positions": [list(start)], "goals": ["there"], "radius": radius, "speed": SPEED}
        ],
        "navigation": {"kind": kind, "smoothing": smoothing},
        "record": {"rate": 1.0 / TICK},
    }
    file = folder / f"{smoothing}.h5"
    with Simulation(document, out=file) as run:
        assert run.run().arrived == 1
    with crowdsim.open_run(file) as recording:
        table = recording.trajectories()
    return table[["x", "y"]].to_numpy(dtype=np.float64)


def turns_and_length(position):
    """Return the angles between steps of more than a centimetre, and the length of all."""
    steps = np.diff(position, axis=0)
    length = np.hypot(*steps.T)
    heading = np.unwrap(np.arctan2(*steps[length > 0.01].T[::-1]))
    return np.abs(np.diff(heading)), length.sum()


@pytest.mark.sample(4)
@pytest.mark.parametrize("kind", ["mesh", "optimal", "visibility", "hierarchical"])
@pytest.mark.parametrize("radius", [0.2, 0.3])
@pytest.mark.parametrize(
    "ground, start, goal",
    [(CORNER, (1, 1), (9, 9)), (ZIGZAG, (0.5, 1.2), (15.5, 1.2))],
    ids=["corner", "zigzag"],
)
def test_an_agent_alone_turns_gently_and_walks_little_more(ground, start, goal, radius, kind, tmp_path):
    straight = alone(ground, start, goal, radius, kind, "straight", tmp_path)
    curved = alone(ground, start, goal, radius, kind, "bezier", tmp_path)
    turns, length = turns_and_length(straight)
    curved_turns, curved_length = turns_and_length(curved)
    assert curved_turns.max() < 0.5 * turns.max()
    assert length - 0.1 < curved_length < 1.05 * length
    assert shapely.distance(ground.boundary, shapely.points(curved)).min() > radius - 1e-4


@pytest.mark.sample(1)
@pytest.mark.parametrize("model", ["orca", "clearpath", "hrvo"])
@pytest.mark.parametrize("name", ["room-evacuation", "bottleneck"])
def test_a_crowd_leaves_in_about_the_same_time(name, model):
    """Single runs of a bottleneck differ by a tenth anyhow: the means of some count."""
    seeds = (1,) if name == "room-evacuation" else (1, 2, 3, 4)
    took = {}
    for sets in ((), (CURVED,)):
        ends = []
        for seed in seeds:
            given = ["navigation=optimal", f"avoidance={model}", f"seed={seed}", *sets]
            with Simulation(load_scenario(SCENARIOS / f"{name}.yaml", sets=given)) as run:
                verdict = run.run()
                assert verdict.arrived == verdict.agents
                ends.append(run.time)
        took[sets] = np.mean(ends)
    assert 0.88 < took[(CURVED,)] / took[()] < 1.12


def curved_busy(kind="optimal", **more):
    return {**copy.deepcopy(BUSY), "navigation": {"kind": kind, "smoothing": "bezier"}, **more}


@pytest.mark.parametrize("kind", ["optimal", "mesh", "visibility"])
def test_threads_and_saved_states_change_nothing(kind):
    assert_same_on_threads_and_from_saved_states(curved_busy(kind), 40, (1, 7, 20))


def test_saving_and_loading_at_every_tick_changes_nothing():
    ticks = 25
    with simulation(curved_busy()) as run:
        expected = digests(run, ticks)
    with simulation(curved_busy()) as run:
        state = run.state()
    found = []
    for _ in range(ticks):
        with simulation(curved_busy()) as run:
            run.restore(state)
            found += digests(run, 1)
            state = run.state()
    assert found == expected


def test_a_run_is_verified_and_resumed(tmp_path):
    scenario = parse_scenario(json.dumps(curved_busy(stop={"after": 6})))
    with Simulation(scenario, out=tmp_path / "whole.h5") as run:
        whole = run.run()
    with Simulation(scenario, out=tmp_path / "part.h5") as run:
        for _ in range(23):
            run.step()
        run.checkpoint(tmp_path / "a.checkpoint")
    begun = read_checkpoint(tmp_path / "a.checkpoint")
    with crowdsim.open_run(tmp_path / "part.h5") as recorded:
        start = Start(begun, "a.checkpoint", recorded)
        with Simulation(parse_scenario(begun.scenario), out=tmp_path / "again.h5", start=start) as run:
            assert run.run().digest == whole.digest
    with crowdsim.open_run(tmp_path / "whole.h5") as one, crowdsim.open_run(tmp_path / "again.h5") as other:
        assert first_difference(one, other) is None
    assert verify(tmp_path / "whole.h5", threads=2, quiet=True) == 0


def test_without_it_a_run_is_what_it_was_and_with_it_another():
    plain = copy.deepcopy(BUSY)
    with simulation(plain, sets=["navigation=optimal"]) as run:
        expected = digests(run, 20)
        text = run.scenario.canonical()
    with simulation(plain, sets=["navigation=optimal", "navigation.smoothing=straight"]) as run:
        assert digests(run, 20) == expected
        assert run.scenario.canonical() == text and "smoothing" not in text
    with simulation(plain, sets=["navigation=optimal", CURVED]) as run:
        assert digests(run, 20) != expected


def test_groups_may_have_curves_of_their_own():
    """Agents of another group are led as they were until they meet."""
    document = {
        "version": 1,
        "tick": TICK,
        "stop": {"after": 5},
        "geometry": {"walkable": [list(map(list, CORNER.exterior.coords))[:-1]]},
        "goals": {"there": {"point": [9, 9]}},
        "groups": [
            {"name": "a", "positions": [[1, 1]], "goals": ["there"]},
            {"name": "b", "positions": [[3, 1]], "goals": ["there"], "navigation": {"smoothing": "bezier"}},
        ],
        "navigation": "optimal",
        "avoidance": "none",
    }
    with Simulation(document) as run:
        for _ in range(20):
            run.step()
        velocity = np.array(run.agents.velocity)
    heading = np.arctan2(velocity[:, 1], velocity[:, 0])
    assert heading[0] != pytest.approx(heading[1], abs=0.01)


@pytest.mark.parametrize("kind", ["grid", "s2-grid"])
def test_paths_over_cells_refuse_it_and_say_why(kind):
    with pytest.raises(ScenarioError) as refused:
        parse_scenario(json.dumps(curved_busy(kind)), file="office.yaml")
    assert f'{kind} has no parameter "smoothing"' in str(refused.value)
    assert "convex polygons" in str(refused.value) and "leave smoothing out" in str(refused.value)


@pytest.mark.parametrize("name", ["spiral-stair", "two-storeys"])
def test_threads_and_saved_states_change_nothing_on_floors_and_in_a_soup(name):
    """In the soup curves are laid along strings, see `lead_along_string`."""
    scenario, ticks, middle = (
        load_scenario(SCENARIOS / f"{name}.yaml", sets=["navigation=mesh", CURVED]),
        120,
        77,
    )
    with Simulation(scenario, threads=1) as run:
        expected = digests(run, middle)
        state = run.state()
        expected += digests(run, ticks - middle)
    with Simulation(scenario, threads=2) as run:
        assert digests(run, ticks) == expected
    with Simulation(scenario, threads=2) as run:
        run.restore(state)
        assert digests(run, ticks - middle) == expected[middle:]
