"""RiMEA 4.1 (and IMO, NIST where they ask the same): the tests that need one floor and plain walking."""

import numpy as np
import pytest
import shapely

from tests.crowds import simulation


def corridor(speed):
    return {
        "version": 1,
        "name": "rimea-1",
        "seed": 1,
        "tick": 0.05,
        "stop": {"after": 60},
        "record": {"rate": 10},
        "geometry": {"walkable": [[0, 0], [40, 0], [40, 2], [0, 2]]},
        "goals": {"end": {"exit": [[39.6, 0], [40, 0], [40, 2], [39.6, 2]]}},
        "groups": [
            {"name": "one", "positions": [[0.3, 1.0]], "speed": speed, "radius": 0.2, "goals": ["end"]}
        ],
    }


@pytest.mark.full
def test_rimea_1_one_person_keeps_its_speed_through_a_corridor():
    with simulation(corridor(1.33)) as run:
        verdict = run.run()
    assert verdict.arrived == 1 and 26.0 <= verdict.last_arrival_s <= 34.0


def test_imo_1_a_walker_of_1_metre_a_second_walks_1_metre_a_second_and_bit_exactly_straight():
    with simulation(corridor(1.0)) as run:
        places = [run.agents.position[0].copy()]
        for _ in range(200):
            run.step()
            places.append(run.agents.position[0].copy())
    steps = np.diff(np.array(places), axis=0)
    assert np.all(steps[:, 1] == 0.0)
    assert np.all(np.abs(steps[:, 0] / 0.05 - 1.0) <= 1e-9)


@pytest.mark.full
@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(3))
def test_rimea_6_twenty_people_go_round_a_corner(seed):
    ground = shapely.from_wkt("POLYGON((0 0,12 0,12 12,10 12,10 2,0 2,0 0))")
    document = {
        "version": 1,
        "name": "rimea-6",
        "seed": seed,
        "tick": 0.05,
        "stop": {"after": 60},
        "record": {"rate": 10},
        "geometry": {"walkable": {"wkt": ground.wkt}},
        "goals": {"end": {"exit": [[10, 11.5], [12, 11.5], [12, 12], [10, 12]]}},
        "groups": [
            {
                "name": "crowd",
                "count": 20,
                "region": [[0, 0], [6, 0], [6, 2], [0, 2]],
                "goals": ["end"],
                "radius": 0.2,
            }
        ],
    }
    with simulation(document) as run:
        deepest = 0.0
        while not run.why_over():
            run.step()
            outside = shapely.distance(ground, shapely.points(run.agents.position))
            deepest = max(deepest, float(outside.max()) if len(outside) else 0.0)
        verdict = run.verdict()
    assert verdict.arrived == 20 and verdict.last_arrival_s <= 60.0
    assert deepest <= 0.001
