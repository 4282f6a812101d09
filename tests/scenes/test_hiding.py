"""Agents that hide: from points and from agents that walk, with every planner that weighs metres.
Measured from recorded positions, with lines of sight of shapely.
"""

import json

import numpy as np
import pytest
import shapely

from crowdsim.recording.opening import open_run
from crowdsim.scenario.load import load_scenario, parse_scenario
from crowdsim.simulation.simulation import Simulation
from tests.crowds import SCENARIOS

PLANNERS = ("visibility", "mesh", "hierarchical", "grid", "s2-grid")


def run(scenario, path):
    with Simulation(scenario, out=path) as simulation:
        verdict = simulation.run()
    with open_run(path) as recorded:
        return recorded.trajectories(), verdict


def share_seen(ground, rows, watcher):
    """Return the share of positions from which a straight line on the ground leads to a watcher."""
    place = rows[["x", "y"]].to_numpy()
    lines = shapely.linestrings(np.stack([place, np.broadcast_to(watcher, place.shape)], axis=1))
    shapely.prepare(ground)
    return float(shapely.covers(ground, lines).mean())


@pytest.mark.sample(1)
@pytest.mark.parametrize("planner", PLANNERS)
def test_a_guard_sees_next_to_nothing_of_those_who_hide_from_him(planner, tmp_path):
    hiding = load_scenario(SCENARIOS / "unseen.yaml", sets=[f"navigation.kind={planner}", "record.rate=5"])
    open_ = load_scenario(SCENARIOS / "unseen.yaml", sets=["navigation=optimal", "record.rate=5"])
    ground = hiding.geometry.walkable
    shares = []
    for number, scenario in enumerate((hiding, open_)):
        rows, verdict = run(scenario, tmp_path / f"{number}.h5")
        assert verdict.arrived == 12
        thieves = rows[rows.groupby("id").x.transform("max") > 20.0]
        shares.append(share_seen(ground, thieves, (18.0, 4.0)))
    assert shares[0] < 0.02 and shares[1] > 0.2, shares


@pytest.mark.sample(1)
@pytest.mark.parametrize("planner", PLANNERS)
def test_each_band_takes_the_gallery_in_which_the_watchman_is_not(planner, tmp_path):
    sets = [f"navigation.kind={planner}", "record.rate=5", "stop.after=100"]
    rows, verdict = run(load_scenario(SCENARIOS / "night-watch.yaml", sets=sets), tmp_path / "run.h5")
    assert verdict.arrived == 16
    middle = rows[rows.x.between(18.0, 22.0)].groupby("id").y.mean()
    first, second = middle.loc[1:8], middle.loc[10:17]
    assert len(first) == 8 and (first > 14.0).all()  # he stands below
    assert len(second) == 8 and (second < 5.0).all()  # he stands above
    # between the galleries no line of sight leads to him
    watchman = rows[rows.id == 9].set_index("frame")[["x", "y"]]
    assert np.hypot(*(watchman.iloc[-1] - [20.0, 17.0])) < 0.5


@pytest.mark.full
def test_without_a_look_at_where_he_is_now_the_second_band_would_walk_into_him(tmp_path):
    sets = ["navigation={kind: visibility, unseen_from: [[20, 2.5]]}", "record.rate=5"]
    rows, _ = run(load_scenario(SCENARIOS / "night-watch.yaml", sets=sets), tmp_path / "run.h5")
    middle = rows[rows.x.between(18.0, 22.0)].groupby("id").y.mean()
    assert (middle.loc[10:17] > 14.0).all()


@pytest.mark.sample(2)
@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize(("storey", "hides"), [("low", True), ("high", False)])
def test_a_watcher_upstairs_does_not_see_through_the_ceiling(planner, storey, hides, tmp_path):
    hall = {"walkable": {"box": [0, 0, 24, 12]}, "obstacles": [{"box": [6, 4, 18, 8]}]}
    scenario = {
        "version": 1,
        "name": "ceiling",
        "tick": 0.1,
        "stop": {"after": 40},
        "geometry": {
            "storeys": [
                {"name": "low", "elevation": 0, **hall},
                {"name": "high", "elevation": 3, "walkable": {"box": [0, 0, 24, 12]}},
            ],
            "connections": [
                {
                    "name": "stair",
                    "lower": "low",
                    "upper": "high",
                    "foot": [[24, 1], [24, 2]],
                    "head": [[28, 1], [28, 2]],
                },
            ],
        },
        "goals": {"end": {"region": {"box": [22, 3, 23.5, 5]}, "storey": "low"}},
        "groups": [
            {
                "name": "hiding",
                "positions": [[1, 4]],
                "goals": ["end"],
                "storey": "low",
                "navigation": {"kind": planner, "unseen_by": ["guard"]},
            },
            {"name": "guard", "positions": [[12, 2]], "storey": storey},
        ],
    }
    scenario["geometry"]["storeys"][1]["walkable"] = [{"box": [0, 0, 24, 12]}, {"box": [28, 0, 30, 12]}]
    rows, verdict = run(parse_scenario(json.dumps(scenario)), tmp_path / "run.h5")
    assert verdict.arrived == 1
    own = rows[(rows.groupby("id").x.transform("max") > 20.0) & rows.x.between(10, 14)]
    assert (own.y > 8.0).all() == hides and (own.y < 4.0).all() != hides
