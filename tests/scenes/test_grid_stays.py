"""Searches look at the grid and never write it; who is stuck is named by the recording."""

import numpy as np
import pytest

from crowdsim.recording.opening import open_run
from crowdsim.scenario.load import load_scenario
from crowdsim.simulation.simulation import Simulation
from crowdsim.systems.plan import Plan
from tests.crowds import SCENARIOS

GRID = "navigation={kind: grid, cell_size: 0.1, object_padding: 0.02}"


def arrays_of(thing, depth=3):
    """Every array that an object holds, by the way to it."""
    found = {}
    for name, value in vars(thing).items():
        if isinstance(value, np.ndarray):
            found[name] = value
        elif isinstance(value, tuple) and hasattr(value, "_asdict"):
            found |= {
                f"{name}.{key}": each for key, each in value._asdict().items() if isinstance(each, np.ndarray)
            }
        elif isinstance(value, dict):
            found |= {
                f"{name}.{key}.{inner}": each
                for key, item in value.items()
                if depth and hasattr(item, "__dict__")
                for inner, each in arrays_of(item, depth - 1).items()
            }
    return found


@pytest.mark.sample(1)
@pytest.mark.parametrize("scene", ["idle-crowd", "doorway-blocked"])
def test_a_run_full_of_searches_round_standers_leaves_every_array_of_the_grid_as_it_was(scene):
    with Simulation(load_scenario(SCENARIOS / f"{scene}.yaml", sets=[GRID, "bodies.nudging=false"])) as run:
        plan = run.system(Plan).paths[0]
        before = {name: array.copy() for name, array in arrays_of(plan.planner.grid).items()}
        assert len(before) >= 2
        for _ in range(200):
            run.step()
        assert run.verdict().expansions > 1000 and sum(run.verdict().replans.values()) > 5
        after = arrays_of(plan.planner.grid)
        assert before.keys() == after.keys()
        assert [
            name
            for name in before
            if not np.array_equal(before[name], after[name], equal_nan=before[name].dtype.kind == "f")
        ] == []


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", ["navigation=mesh", GRID], ids=["mesh", "grid"])
def test_with_nudging_off_the_recording_names_who_is_stuck(navigation, tmp_path):
    with Simulation(
        load_scenario(SCENARIOS / "idle-crowd.yaml", sets=[navigation, "bodies.nudging=false"]),
        out=tmp_path / "run.h5",
    ) as run:
        verdict = run.run()
    assert verdict.ended == "all that are left are stuck"
    with open_run(tmp_path / "run.h5") as recording:
        roster = recording.roster().set_index("entity")
        events, last = recording.events(), recording.trajectories(columns=["is_stuck"])
        stuck = last[(last.frame == last.frame.max()) & (last.is_stuck == 1)].id
        names = {f"{roster.group_name[entity]}[{roster['index'][entity]}]" for entity in stuck}
        # the verdict lists the first ten
        assert len(names) == 16 and {left.agent for left in verdict.left} <= names
        assert set(stuck) <= set(events[events.kind == "STUCK"].entity)
