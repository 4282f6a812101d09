"""A scenario without anybody, or in which everybody has left, runs:
obstacles move and doors close where nobody sees it.
"""

import pytest

from crowdsim.avoidance.registry import available_models, origin_of
from crowdsim.recording.opening import open_run
from crowdsim.world.events import EventKind
from tests.crowds import simulation

MODELS = [name for name in available_models() if origin_of(name) is None]
NAVIGATIONS = [
    "mesh",
    "optimal",
    "visibility",
    {"kind": "grid", "cell_size": 0.25},
    "s2-grid",
    {"kind": "mesh", "tile_size": 4.0},
]
CART = {
    "name": "cart",
    "shape": {"disc": 0.4},
    "path": [[1, 1], {"point": [3, 1], "wait": 2}, [3, 5]],
    "speed": 1.0,
    "appears": 0.5,
    "vanishes": 6,
    "stands_after": 0.5,
}


def empty(**more):
    return {
        "version": 1,
        "name": "empty",
        "tick": 0.1,
        "stop": {"after": 8, "when": "never"},
        "geometry": {
            "walkable": [{"box": [0, 0, 6, 6]}, {"box": [6, 2, 6.4, 4]}, {"box": [6.4, 0, 12, 6]}],
            "areas": [
                {"name": "door", "area": {"box": [6, 2, 6.4, 4]}},
                {"name": "hatch", "area": {"box": [9, 1, 10, 2]}, "available": False},
            ],
        },
        "goals": {"east": {"region": {"box": [11, 0, 12, 6]}}},
        "events": [
            {"at": 1, "close": "door"},
            {"at": 3, "open": "door"},
            {"when": {"crossed": [[6, 0], [6, 6]]}, "open": "hatch"},
        ],
        "obstacles": [
            CART,
            {
                "name": "box",
                "shape": {"polygon": [[-0.5, -0.3], [0.5, -0.3], [0.5, 0.3], [-0.5, 0.3]]},
                "path": [[8, 3]],
            },
        ],
        "groups": [],
        **more,
    }


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", NAVIGATIONS, ids=str)
@pytest.mark.parametrize(
    "bodies", [{}, {"nudging": True, "replanning": True, "local_grid": True}], ids=["plain", "everything"]
)
def test_obstacles_and_doors_work_without_anybody(navigation, bodies, tmp_path):
    with simulation(empty(navigation=navigation, bodies=bodies), out=tmp_path / "run.h5") as run:
        kinds = []
        while not run.why_over():
            kinds += run.step().kind.tolist()
        again = run.state()
        run.restore(again)
        verdict = run.run()
    assert (verdict.agents, verdict.arrived, verdict.ended) == (0, 0, "time is up")
    assert {
        EventKind.OBSTACLE_APPEARED,
        EventKind.OBSTACLE_GONE,
        EventKind.OBSTACLE_STANDS,
        EventKind.AREA_CLOSED,
        EventKind.AREA_OPENED,
    } <= set(kinds)
    with open_run(tmp_path / "run.h5") as recording:
        assert len(recording.trajectories()) == 0 and recording.commit.last_tick == 80


@pytest.mark.sample(1)
@pytest.mark.parametrize("model", MODELS)
def test_obstacles_move_without_anybody_under_every_model(model):
    with simulation(empty(avoidance=model, speed_density="weidmann")) as run:
        assert run.run().ended == "time is up"


def test_obstacles_go_on_when_everybody_has_left_whose_groups_avoid_and_find_ways_in_their_own_ways():
    groups = [
        {
            "name": "a",
            "positions": [[10, 1]],
            "goals": ["east"],
            "avoidance": "hrvo",
            "navigation": "optimal",
        },
        {
            "name": "b",
            "positions": [[10, 5]],
            "goals": ["east"],
            "navigation": {"kind": "grid", "cell_size": 0.25},
        },
    ]
    with simulation(empty(groups=groups)) as run:
        verdict = run.run()
    assert verdict.arrived == 2 and verdict.ended == "time is up"


def test_a_run_that_waits_for_arrivals_of_nobody_is_over_at_once():
    with simulation(empty(stop={"after": 8})) as run:
        verdict = run.run()
    assert verdict.ended == "all arrived" and verdict.simulated_s == 0.0
