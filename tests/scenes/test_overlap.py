"""Bodies do not overlap by more than 5 cm, whatever the model: circles, a room with a door.
Measured on the positions after each tick, as recordings keep them.
"""

from typing import Any

import numpy as np
import pytest
import yaml
from scipy.spatial import cKDTree

from crowdsim import open_run
from crowdsim.bodies.contacts import TOUCH_M
from crowdsim.scenario.load import load_scenario
from crowdsim.simulation.simulation import Simulation
from tests.crowds import SCENARIOS, on_circle, room, simulation

MODELS = ["orca", "clearpath", "hrvo", "sampled-hrvo", "toi"]
CIRCLES = {8: 5.0, 16: 5.0, 24: 5.0, 40: 10.0, 60: 10.0, 80: 10.0}  # people: radius in metres
MOST_M = 0.05


def deepest_overlap(run: Simulation) -> float:
    """Return the deepest overlap of two bodies on one floor, m."""
    position, radius, layer = run.agents.position, run.agents.radius, run.world.agents.layer
    if len(position) < 2:
        return 0.0
    distance = np.hypot(*(position[:, None] - position[None]).transpose(2, 0, 1))
    depth = np.where(layer[:, None] == layer[None], radius[:, None] + radius[None] - distance, 0.0)
    np.fill_diagonal(depth, 0.0)
    return max(0.0, float(depth.max()))


def run_to_the_end(document: dict[str, Any], *sets: str) -> tuple[float, Any]:
    """Return the deepest overlap after any tick (m), and the verdict."""
    deepest = 0.0
    with simulation(document, sets=list(sets)) as run:
        while not run.why_over():
            run.step()
            deepest = max(deepest, deepest_overlap(run))
        return deepest, run.verdict()


def assert_said(verdict: Any, deepest: float) -> None:
    """The verdict says what is to be seen; up to a micrometre bodies touch, and that is no overlap."""
    assert verdict.deepest_overlap_m == pytest.approx(deepest if deepest > TOUCH_M else 0.0, abs=1e-9)


def check_circle(model: str, count: int, seed: int) -> None:
    """Seed 0 is the exact circle, the others have 5 cm of noise."""
    agents = on_circle(count, radius=CIRCLES[count], noise=0.05 if seed else 0.0, seed=seed)
    deepest, verdict = run_to_the_end(
        room(agents, size=2.0 * CIRCLES[count] + 10.0, after=120.0), f"avoidance={model}"
    )
    assert deepest <= MOST_M, seed
    assert_said(verdict, deepest)
    assert verdict.arrived == count, verdict.left


@pytest.mark.sample(1)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "count, seed",
    [
        (8, 1),
        (16, 2),
        (24, 3),
        (40, 4),
        *(pytest.param(*rest, marks=pytest.mark.full) for rest in ((60, 5), (80, 1))),
        (80, 0),
    ],
)
def test_people_who_change_places_on_a_circle_do_not_overlap(model, count, seed):
    check_circle(model, count, seed)


@pytest.mark.full
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("count", CIRCLES)
def test_people_who_change_places_on_a_circle_do_not_overlap_whatever_the_noise(model, count):
    for seed in range(11):
        check_circle(model, count, seed)


def check_door(model: str, scene: str, seed: int, *sets: str) -> None:
    document = {**yaml.safe_load((SCENARIOS / scene).read_text(encoding="utf-8")), "seed": seed}
    deepest, verdict = run_to_the_end(document, f"avoidance={model}", *sets)
    assert deepest <= MOST_M, seed
    assert_said(verdict, deepest)
    assert verdict.not_arrived == 0, verdict.left


DOORS = {
    "bottleneck": ("bottleneck.yaml",),
    "80 at 0.8 m": (
        "standards/door.yaml",
        "groups.crowd.count=80",
        "geometry.walkable.1.box=[10, 3.6, 10.2, 4.4]",
    ),
    "80 at 1 m": ("standards/door.yaml", "groups.crowd.count=80"),
    "40 at 1.2 m": (
        "standards/door.yaml",
        "groups.crowd.count=40",
        "geometry.walkable.1.box=[10, 3.4, 10.2, 4.6]",
    ),
}


@pytest.mark.sample(1)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("door", ["bottleneck", "80 at 1 m"])
def test_people_who_press_to_a_door_do_not_overlap(model, door):
    check_door(model, DOORS[door][0], 1, *DOORS[door][1:])


@pytest.mark.full
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("door", DOORS)
def test_people_who_press_to_a_door_do_not_overlap_whatever_the_seed(model, door):
    for seed in range(1, 11):
        check_door(model, DOORS[door][0], seed, *DOORS[door][1:])


def deepest_on_floors(name: str, after: float, *sets: str) -> tuple[float, float]:
    """Run a scene for a while; return the deepest overlap of two whose heights differ by less than a metre,
    after any tick, and what the run says (m).
    """
    deepest = 0.0
    with Simulation(load_scenario(SCENARIOS / name, sets=[f"stop.after={after}", *sets])) as run:
        while not run.why_over():
            run.step()
            position, radius, z = run.agents.position, run.agents.radius, run.world.heights()
            if len(position) < 2:
                continue
            one, other = cKDTree(position).query_pairs(2.0 * radius.max(), output_type="ndarray").T
            depth = (radius[one] + radius[other] - np.hypot(*(position[one] - position[other]).T))[
                np.abs(z[one] - z[other]) < 1.0
            ]
            deepest = max(deepest, float(depth.max(initial=0.0)))
        return deepest, run.verdict().deepest_overlap_m


def test_overlaps_on_floors_are_told_as_they_are_and_small():
    """Measured before walking, which moved people off the end of a stair's wall that pushes did not know of,
    it was 0.9 cm of 5.4.
    """
    deepest, said = deepest_on_floors("stairwell.yaml", 25.0)
    assert said == pytest.approx(deepest, abs=1e-9)
    assert deepest <= 0.01


@pytest.mark.full
def test_crowds_that_meet_in_a_corridor_do_not_overlap():
    """With 60 further passes it was 7.7 cm after 9 s."""
    deepest, said = deepest_on_floors("standards/imo-8.yaml", 12.0, "groups.westbound.count=100")
    assert said == pytest.approx(deepest, abs=1e-9)
    assert deepest <= MOST_M


# what an agent walks at most in a tick of 0.05 s, what further pushes may add (6 m/s), and what the first
# three did in any tick
LONGEST_STEP_M = 0.07 + 0.3 + 0.05


@pytest.mark.parametrize(
    "model", ["orca", *(pytest.param(other, marks=pytest.mark.full) for other in MODELS[1:])]
)
def test_where_crowds_press_nobody_is_thrown_about_and_no_overlap_is_deep(model, tmp_path):
    """Pushes that were not bounded moved somebody by up to 0.7 m in a tick of 0.05 s, past others.
    Measured from the recorded positions.
    """
    sets = ["stop.after=11", "record.rate=20", f"avoidance={model}", "groups.westbound.count=100", "seed=2"]
    with Simulation(
        load_scenario(SCENARIOS / "standards/imo-8.yaml", sets=sets), out=tmp_path / "run.h5"
    ) as run:
        radius = float(run.agents.radius.max())
        run.run()
    with open_run(tmp_path / "run.h5") as recording:
        place = recording.trajectories().sort_values(["id", "frame"])
    step = (
        place[["x", "y"]]
        .diff()
        .pow(2)
        .sum(axis=1)
        .pow(0.5)[(place["id"].diff() == 0) & (place["frame"].diff() == 1)]
    )
    assert len(step) > 40_000
    assert step.max() <= LONGEST_STEP_M
    nearest = [
        cKDTree(frame[["x", "y"]]).query(frame[["x", "y"]], k=2)[0][:, 1].min()
        for _, frame in place.groupby("frame")
    ]
    assert 2.0 * radius - min(nearest) <= 0.04


# A corridor that ends in a narrower one; most of a side is open, since somebody's exit covers its wall.
BESIDE_AN_EXIT = {
    "version": 1,
    "seed": 2,
    "geometry": {"walkable": [{"box": [0, 0, 14, 1.5]}, {"box": [13.9, 0, 16, 0.8]}]},
    "goals": {
        "theirs": {"exit": {"box": [15.5, 0, 16, 0.8]}},
        "another": {"exit": {"box": [7, 1.45, 14, 3.5]}},
    },
    "groups": [
        {
            "name": "crowd",
            "count": 40,
            "region": {"box": [0, 0, 7, 1.5]},
            "goals": ["theirs"],
            "radius": 0.25,
        },
        {"name": "one", "count": 1, "region": {"box": [7, 0, 8, 0.7]}, "goals": ["another"]},
    ],
    "stop": {"after": 40.0},
}


@pytest.mark.sample(1)
@pytest.mark.parametrize("model", MODELS)
def test_agents_that_are_pressed_along_an_exit_that_is_not_theirs_do_not_overlap(model):
    """The wall is open there: pushes over the edge of the ground were undone by walking, onto others, 7 to
    17 cm deep.
    """
    deepest, verdict = run_to_the_end(BESIDE_AN_EXIT, f"avoidance={model}")
    assert 0.01 < deepest <= MOST_M
    assert_said(verdict, deepest)
