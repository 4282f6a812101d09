"""Runs in a small city, whose agents find their paths over areas first."""

import numpy as np
import pytest

import crowdsim
from crowdsim.geometry.made_city import make_city
from crowdsim.navigation.hierarchy import planner as planner_module
from crowdsim.navigation.hierarchy.known import KnownCosts
from crowdsim.plans.city import city_files
from crowdsim.scenario.load import load_scenario
from crowdsim.simulation.simulation import Simulation
from crowdsim.world.columns import PathStatus

SETS = ["stop.after=6", "navigation={kind: hierarchical, tile_size: 62.5, workspace: 3}", "record.rate=5"]


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    folder = tmp_path_factory.mktemp("town")
    for name, text in city_files("town", make_city(500.0, 2), 60, 1).items():
        (folder / name).write_text(text)
    return folder / "town.yaml"


def test_agents_of_a_city_find_their_paths_with_little_work_and_walk_them(town):
    with Simulation(load_scenario(town, sets=SETS)) as run:
        before = run.world.agents.position.copy()
        for _ in range(40):
            run.step()
        agents = run.world.agents
        assert np.all(agents.path_status == PathStatus.FOUND)
        assert np.all(np.hypot(*(agents.position - before).T) > 0.5)
        assert len(run.world.planning.paths[0].planner.searches.nodes.start) > 40


@pytest.mark.parametrize("budget", ["budget.work=60", "budget.milliseconds=5"])
def test_when_a_tile_goes_the_graph_is_ready_before_the_ground_is_put_in(town, budget, monkeypatch):
    monkeypatch.setattr(planner_module, "LEAST_KEPT_AREAS", 10**9)
    monkeypatch.setattr(planner_module, "KNOWN_COSTS", KnownCosts())
    with Simulation(load_scenario(town, sets=[*SETS, budget])) as run:
        for _ in range(10):
            run.step()
        before = run.world.planning.paths[0].planner
        assert len(before.searches._layers) == 2  # up to 3/8 and 1/2 m: they pass the same gaps
        assert before.searches.measured == before.searches.nodes.area_count
        run.remove_tile(4, 4)  # over which paths lead
        while run.world.planning.paths[0].planner is before:
            run.step()
        for _ in range(20):
            run.step()
        after = run.world.planning.paths[0].planner
        assert len(after.searches._layers) > 0 and after.searches.measured == 0


def test_a_run_is_the_same_whatever_is_known_for_any_number_of_threads_and_with_a_save(
    town, tmp_path, monkeypatch
):
    event = "events=[{at: 1, remove_tile: [3, 3]}, {at: 2.5, add_tile: [3, 3]}]"
    sets = [*SETS, event, "budget.work=200", "stop.after=4"]
    digests = []
    for threads in (1, 3):
        out = tmp_path / f"{threads}.h5"
        monkeypatch.setattr(planner_module, "KNOWN_COSTS", KnownCosts())
        with Simulation(load_scenario(town, sets=sets), threads=threads, out=out) as run:
            run.run()
        with crowdsim.open_run(out) as recording:
            digests.append(recording.run_digest)
            assert np.any(recording.events().kind == "TILE_REMOVED")
    with Simulation(load_scenario(town, sets=sets)) as run:  # all is known
        for _ in range(15):
            run.step()
        state = run.state()
        monkeypatch.setattr(planner_module, "KNOWN_COSTS", KnownCosts())
        with Simulation(load_scenario(town, sets=sets)) as again:
            again.restore(state)
            while not run.why_over():
                run.step()
                again.step()
                assert run.digest == again.digest
    assert digests[0] == digests[1]
