"""Areas open and close on one storey of several."""

import copy
import json

import numpy as np
import pytest

from crowdsim.errors import ScenarioError
from crowdsim.scenario.load import parse_scenario
from crowdsim.simulation.simulation import Simulation

# one above the other, both with a doorway of 2 m in a wall at x = 5; a stair joins them beside
ROOMS = [{"box": [0, 0, 5, 6]}, {"box": [5, 2, 5.2, 4]}, {"box": [5.2, 0, 10, 6]}]
HOUSE = {
    "version": 1,
    "tick": 0.1,
    "stop": {"after": 12, "when": "never"},
    "geometry": {
        "storeys": [
            {"name": "low", "elevation": 0, "walkable": [*ROOMS, {"box": [10, 4, 20, 6]}]},
            {"name": "high", "elevation": 3, "walkable": ROOMS},
        ],
        "connections": [
            {
                "name": "stair",
                "lower": "low",
                "upper": "high",
                "foot": [[16, 0], [16, 2]],
                "head": [[10, 0], [10, 2]],
            }
        ],
        "areas": [{"name": "door", "area": {"box": [5, 2, 5.2, 4]}, "storey": "high"}],
    },
    "goals": {
        "below": {"region": {"box": [8, 0, 10, 6]}, "storey": "low"},
        "above": {"region": {"box": [8, 0, 10, 6]}, "storey": "high"},
    },
    "groups": [
        {"name": "low", "positions": [[2, 2], [2, 4]], "goals": ["below"], "storey": "low"},
        {"name": "high", "positions": [[2, 2], [2, 4]], "goals": ["above"], "storey": "high"},
    ],
    "events": [{"at": 0.5, "close": "door"}],
}
HOUSE["geometry"]["storeys"][0]["walkable"].append({"box": [16, 0, 20, 6]})


def places_after(document, ticks):
    """Return how far each agent has come in x, those below first."""
    with Simulation(parse_scenario(json.dumps(document))) as run:
        for _ in range(ticks):
            run.step()
        return run.agents.position[:, 0].copy(), np.array(run.agents.label)


def of_group(places, labels, group):
    return [x for x, label in zip(places, labels) if label.startswith(group)]


def test_a_door_that_closes_on_one_storey_holds_back_those_on_it_and_no_others():
    places, labels = places_after(HOUSE, 100)
    assert max(of_group(places, labels, "high")) < 5.0
    left = of_group(places, labels, "low")
    assert not left or min(left) > 8.0


def test_a_line_is_crossed_on_its_own_storey_alone():
    document = copy.deepcopy(HOUSE)
    document["groups"][1]["premovement"] = 4.0
    when = {"crossed": [[3, 0], [3, 6]], "count": 2, "storey": "low"}
    document["events"] = [{"when": when, "close": "door"}]
    places, labels = places_after(document, 100)
    assert max(of_group(places, labels, "high")) < 5.0
    when["storey"], when["count"] = "high", 3  # there are only two: it never closes
    places, labels = places_after(document, 115)
    assert not of_group(places, labels, "high") or min(of_group(places, labels, "high")) > 5.0


def test_agents_above_and_below_each_other_do_not_overlap():
    assert not [note for note in parse_scenario(json.dumps(HOUSE)).notes if "overlap" in str(note)]
    document = copy.deepcopy(HOUSE)
    document["groups"][0]["positions"] = [[2, 2], [2, 2.1]]
    notes = [str(note) for note in parse_scenario(json.dumps(document)).notes]
    assert len([note for note in notes if "2 of 2 given positions overlap" in note]) == 1


def test_agents_above_and_below_each_other_do_not_meet():
    document = copy.deepcopy(HOUSE)
    document["events"] = [{"when": {"met": ["low", "high"], "within": 1.0}, "close": "door"}]
    places, labels = places_after(document, 115)
    assert not of_group(places, labels, "high") or min(of_group(places, labels, "high")) > 5.0


@pytest.mark.parametrize("half", [0.75, 2.4])
def test_an_agent_in_the_middle_of_a_wide_area_that_closes_is_put_beside_it(half):
    document = copy.deepcopy(HOUSE)
    document["geometry"]["areas"][0]["area"] = {"box": [2.5 - half, 3 - half, 2.5 + half, 3 + half]}
    document["groups"][1] |= {"positions": [[2.5, 3.0]], "goals": []}
    with Simulation(parse_scenario(json.dumps(document))) as run, Simulation(run.scenario) as again:
        for _ in range(20):
            run.step()
        again.restore(run.state())
        x, y = run.agents.position[-1]
    assert max(abs(x - 2.5), abs(y - 3.0)) >= half + 0.19


@pytest.mark.parametrize(
    ("area", "storey", "says"),
    [
        ({"box": [9, 0, 10, 2]}, "high", "touches the line"),
        ({"box": [11, 0, 12, 2]}, "stair", "leads up"),
        ({"box": [0, 0, 10, 5.99999]}, None, "says no storey"),
        ({"box": [-1, -1, 11, 7]}, "high", "is all of"),
    ],
)
def test_an_area_that_cannot_be_cut_out_is_refused(area, storey, says):
    document = copy.deepcopy(HOUSE)
    document["geometry"]["areas"][0] = {
        "name": "door",
        "area": area,
        **({"storey": storey} if storey else {}),
    }
    with pytest.raises(ScenarioError, match=says):
        parse_scenario(json.dumps(document))
