"""The forty steering cases of SteerBench's collection ([Singh 2009]),
under the terms of arrival within 0.5 m and removal on arrival.
"""

import json

import numpy as np
import pytest

from crowdsim.navigation.planning.mesh_planner import usual_planner
from crowdsim.navigation.planning.portals import FoundCorridors
from crowdsim.navigation.planning.protocol import Asked
from tests.crowds import simulation
from tests.external.data import DATA, need

# In these all must arrive; how long it takes is shown beside the original RVO2's, which does not finish all
# of them.
UNBOUND = {
    "3-squeeze",
    "fun",
    "doorway-one-way",
    "oncoming-groups",
    "circle-20",
    "fan-in",
    "oncoming-trick",
    "overtake-obstacle",
    "4-way-confusion-obstacle",
}
FILE = DATA / "steering" / "cases.json"
CASES = json.loads(FILE.read_text()) if FILE.exists() else {"missing": None}


def document(name, case):
    points = [agent["start"] for agent in case["agents"]] + [
        goal["target"] for agent in case["agents"] for goal in agent["goals"]
    ]
    points += [box[:2] for box in case["boxes"]] + [box[2:] for box in case["boxes"]]
    (west, south), (east, north) = np.min(points, axis=0) - 5.0, np.max(points, axis=0) + 5.0
    agents = [
        {
            "id": number,
            "position": agent["start"],
            "radius": agent["radius"],
            "speed": agent["goals"][0]["speed"],
            "goals": [
                {"point": goal["target"], "arrive_within": 0.5, "speed": goal["speed"]}
                for goal in agent["goals"]
            ],
        }
        for number, agent in enumerate(case["agents"])
    ]
    obstacles = {"obstacles": [{"box": box} for box in case["boxes"]]} if case["boxes"] else {}
    return {
        "version": 1,
        "name": name,
        "seed": 1,
        "tick": 0.05,
        "stop": {"after": 300, "when": "all_arrived"},
        "record": {"rate": 1},
        "geometry": {"walkable": [[west, south], [east, south], [east, north], [west, north]], **obstacles},
        "groups": [{"name": "all", "agents": agents}],
    }


def ideal_time(run):
    """Return the longest of the agents' shortest ways over their desired speeds,
    up to the arrival radius (s).
    """
    world, built, longest = run.world, run.built, 0.0
    for row in range(len(built.agents)):
        itinerary = world.itineraries[built.agents.itinerary[row]]
        place, polygon, total = built.agents.position[row], built.polygon[row], 0.0
        for goal, speed in zip(itinerary.goals, itinerary.speeds, strict=True):
            end, radius = np.array([goal], dtype=np.int32), built.agents.radius[row : row + 1]
            asked = Asked(world.mesh, world.goals, place[None], np.array([polygon]), end, radius)
            found = FoundCorridors(usual_planner(world.mesh, world.goals), asked)
            total += max(0.0, found.lengths()[0] - 0.5) / speed
            place, polygon = world.goals.pole[found.piece[0]], world.goals.piece_polygon[found.piece[0]]
        longest = max(longest, total)
    return longest


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", sorted(CASES))
def test_everybody_arrives_in_time(name):
    need("steering", "cases.json")
    with simulation(document(name, CASES[name])) as run:
        ideal = ideal_time(run)
        verdict = run.run()
    assert verdict.not_arrived == 0, verdict.left
    if name not in UNBOUND:
        assert verdict.last_arrival_s <= 1.25 * ideal + 1.0
    assert verdict.deepest_overlap_m <= 0.01
