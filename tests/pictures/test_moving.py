"""Pictures show doors, and obstacles with their paths and where they stand:
of a scenario what is to come, of a run what was.
"""

import json

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.image import imread

from crowdsim.pictures.run import CLOSED, OBSTACLE, OPEN, _put_elsewhere, draw_run
from crowdsim.pictures.scenario import draw_scenario
from crowdsim.recording.opening import open_run
from crowdsim.scenario.load import parse_scenario
from crowdsim.setup.build import build_world
from crowdsim.simulation.simulation import Simulation
from tests.crowds import room
from tests.simulation.steered import hall

CART = {
    "name": "cart",
    "shape": {"disc": 1.0},
    "path": [[-6, 4], {"point": [0, 4], "wait": 4}, [6, 4]],
    "speed": 2.0,
    "stands_after": 0.5,
}
BAR = {
    "name": "bar",
    "shape": {"polygon": [[-2, -0.3], [2, -0.3], [2, 0.3], [-2, 0.3]]},
    "path": [[0, -4]],
    "turns": 0.5,
}
DOOR = {"name": "door", "area": {"box": [7, -2, 9, 2]}}


def scenario(**more):
    document = (
        room(
            [{"position": [-8, 0], "goals": [{"point": [-6, 0]}]}],
            after=8.0,
            stop={"after": 8, "when": "never"},
        )
        | more
    )
    return parse_scenario(json.dumps(document))


def with_door(available=True, events=()):
    document = room([{"position": [-8, 0]}], stop={"after": 4, "when": "never"})
    document["geometry"]["areas"] = [{**DOOR, "available": available}]
    return parse_scenario(json.dumps(document | {"events": list(events)}))


def share_of(path, colour):
    """The share of a picture's dots that have about a colour."""
    wanted = np.array(to_rgb(colour))
    return float((np.abs(imread(path)[:, :, :3] - wanted).max(axis=2) < 0.08).mean())


def plan(tmp_path, made):
    draw_scenario(build_world(made), tmp_path / "plan.png", dpi=80)
    return tmp_path / "plan.png"


def run_picture(tmp_path, made, until=None):
    with Simulation(made, out=tmp_path / "run.h5", force=True) as run:
        while not run.why_over() and (until is None or run.tick < until):
            run.step()
    with open_run(tmp_path / "run.h5") as recording:
        draw_run(recording, tmp_path / "run.png", dpi=80)
    return tmp_path / "run.png"


def test_the_plan_shows_obstacles_and_their_paths(tmp_path):
    assert share_of(plan(tmp_path, scenario()), OBSTACLE) == 0.0
    assert share_of(plan(tmp_path, scenario(obstacles=[CART])), OBSTACLE) > 2e-4
    assert share_of(plan(tmp_path, scenario(obstacles=[BAR])), OBSTACLE) > 2e-4


def test_the_plan_shows_which_doors_are_open(tmp_path):
    assert share_of(plan(tmp_path, with_door()), OPEN) > 2e-4 > share_of(tmp_path / "plan.png", CLOSED)
    assert (
        share_of(plan(tmp_path, with_door(available=False)), CLOSED)
        > 2e-4
        > share_of(tmp_path / "plan.png", OPEN)
    )


@pytest.mark.full
def test_the_run_shows_what_was_so_far(tmp_path):
    early = share_of(run_picture(tmp_path, scenario(obstacles=[CART]), until=20), OBSTACLE)
    assert 0.0 < early < share_of(run_picture(tmp_path, scenario(obstacles=[CART])), OBSTACLE)


@pytest.mark.sample(1)
@pytest.mark.parametrize(("at", "colour"), [(1, CLOSED), (30, OPEN)])
def test_the_run_shows_which_doors_were_open_at_the_end(tmp_path, at, colour):
    picture = run_picture(tmp_path, with_door(events=[{"at": at, "close": "door"}]))
    assert share_of(picture, colour) > 2e-4


def test_no_trail_leads_to_where_a_program_put_an_agent(tmp_path):
    with Simulation(hall(groups=hall()["groups"][:1]), out=tmp_path / "run.h5") as run:
        for _ in range(40):
            run.step()
        run.move_agents("a[0]", (14.0, 1.0))
        for _ in range(40):
            run.step()
    with open_run(tmp_path / "run.h5") as recorded:
        rows = recorded.trajectories()
        table = rows.sort_values(["id", "frame"], kind="stable")
        entities, frames = table["id"].to_numpy(), table["frame"].to_numpy()
        (row,) = _put_elsewhere(recorded, entities, frames).tolist()
    assert entities[row] == 1 and table["x"].iloc[row] > 12.0 > table["x"].iloc[row - 1]
