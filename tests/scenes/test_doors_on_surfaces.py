"""Areas open and close, and obstacles move and stand, on ground from a mesh in space: on its slopes too."""

import copy
import json

import numpy as np
import pytest

from crowdsim.errors import ScenarioError
from crowdsim.scenario.load import parse_scenario
from crowdsim.simulation.simulation import Simulation


def face(x0, y0, x1, y1, low, high):
    """A rectangle that rises along x."""
    return [[x0, y0, low], [x1, y0, high], [x1, y1, high], [x0, y1, low]]


# A street below, and a footbridge over it: up from the west, a deck, down to the east.
BRIDGE = {
    "version": 1,
    "tick": 0.1,
    "stop": {"after": 30, "when": "never"},
    "geometry": {
        "surface": {
            "polygons": [
                face(0, 0, 4, 4, 0, 0),
                face(4, 0, 10, 4, 0, 3),
                face(10, 0, 16, 4, 3, 3),
                face(16, 0, 22, 4, 3, 0),
                face(22, 0, 26, 4, 0, 0),
                face(11, -6, 15, 10, 0, 0),
            ]
        },
        "areas": [
            {"name": "ramp gate", "area": {"box": [6, -1, 7, 5]}, "height": 1},
            {"name": "street gate", "area": {"box": [10, 1, 16, 2]}, "height": 0},
        ],
    },
    "goals": {
        "east": {"region": {"box": [23, 0, 26, 4]}, "height": 0},
        "north": {"region": {"box": [11, 7, 15, 10]}, "height": 0},
    },
    "groups": [
        {"name": "over", "positions": [[1, 1], [1, 2], [1, 3]], "goals": ["east"], "height": 0},
        {"name": "under", "positions": [[12, -4], [13, -4], [14, -4]], "goals": ["north"], "height": 0},
    ],
}


def places_after(document, ticks):
    """Return the positions of those over the bridge and of those under it, and the run's events."""
    events = []
    with Simulation(parse_scenario(json.dumps(document))) as run:
        for _ in range(ticks):
            events += [(event.tick, event.kind) for event in run.step()]
        count = run.world.agent_count
        position, group = run.world.agents.position[:count].copy(), run.world.agents.group[:count]
    return position[group == 0], position[group == 1]


@pytest.mark.parametrize(
    ("gate", "over", "under"),
    [("ramp gate", False, True), ("street gate", True, False)],
)
def test_a_gate_on_one_level_or_a_ramp_holds_back_those_on_it_and_no_others(gate, over, under):
    document = copy.deepcopy(BRIDGE)
    document["events"] = [{"at": 0.5, "close": gate}]
    above, below = places_after(document, 250)
    assert np.all(above[:, 0] > 22.0 if over else above[:, 0] < 6.0)
    assert np.all(below[:, 1] > 6.0 if under else below[:, 1] < 1.0)


def test_a_gate_that_opens_again_lets_all_go_on():
    document = copy.deepcopy(BRIDGE)
    document["events"] = [{"at": 0.5, "close": "ramp gate"}, {"at": 6.0, "open": "ramp gate"}]
    above, _ = places_after(document, 290)
    assert np.all(above[:, 0] > 22.0)


def test_an_agent_in_a_gate_on_a_ramp_is_put_beside_it():
    document = copy.deepcopy(BRIDGE)
    document["groups"][0] |= {"positions": [[6.5, 2.0]], "height": 1, "goals": []}
    document["events"] = [{"at": 0.5, "close": "ramp gate"}]
    ((x, _),), _ = places_after(document, 20)
    assert x <= 5.9 or x >= 7.1


def test_a_cart_that_stands_on_a_ramp_is_walked_round_and_meets_nobody_below():
    document = copy.deepcopy(BRIDGE)
    cart = {"name": "cart", "shape": {"disc": 0.8}, "path": [[12, 3.2], [13, 3.2]], "speed": 1.0, "height": 3}
    document["obstacles"] = [{**cart, "stands_after": 0.5}]
    above, below = places_after(document, 250)
    assert np.all(above[:, 0] > 22.0) and np.all(below[:, 1] > 6.0)
    document["obstacles"][0]["path"] = [[7, 0.5], [7, 2.0]]  # it leaves too little beside it for anybody
    document["obstacles"][0] |= {"shape": {"disc": 1.8}, "height": 1}
    document["obstacles"][0]["path"] = [[7, 2.0], [7, 2.05]]
    above, _ = places_after(document, 250)
    assert np.all(above[:, 0] < 7.0)


@pytest.mark.parametrize(
    ("area", "height", "says"),
    [
        ({"box": [100, 0, 101, 2]}, 0, "shares nothing|no ground"),
        ({"box": [-10, -10, 30, 20]}, 3, "is all of"),
    ],
)
def test_an_area_that_cannot_be_cut_out_is_refused(area, height, says):
    document = copy.deepcopy(BRIDGE)
    document["geometry"]["areas"][0] = {"name": "gate", "area": area, "height": height}
    with pytest.raises(ScenarioError, match=says):
        parse_scenario(json.dumps(document))
