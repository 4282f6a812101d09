"""Curves of vehicles and the search for them, beside plain twins."""

import itertools
import math

import numpy as np
import pytest
import shapely

from crowdsim.navigation.vehicles import search
from crowdsim.navigation.vehicles.curve import Curve, poses
from crowdsim.scenario.load import as_scenario
from crowdsim.setup.vehicles import drives_of, walls_of
from tests.reference import vehicles as twin

COSTS = (
    search.CELL_M, search.DIRECTIONS, search.CHECKS, search.MARGIN_M, search.BACKWARDS, search.GEAR_CHANGE_M,
    search.STEERING_M,
)  # fmt: skip


def test_a_rectangle_is_free_where_no_line_meets_it():
    rng = np.random.default_rng(1)
    found = set()
    for _ in range(400):
        corners = rng.uniform(0, 12, (2, 3, 2))
        ground = shapely.union_all([shapely.Polygon(each) for each in corners])
        walls = walls_of(ground)
        angle = rng.uniform(0, 2 * math.pi)
        body = (
            *rng.uniform(0, 12, 2).tolist(),
            math.cos(angle),
            math.sin(angle),
            *rng.uniform(0.1, 3, 3).tolist(),
        )
        free = search.is_free(walls, *body)
        assert free == twin.is_free(twin.lines_of(walls.line.tolist()), *body)
        found.add(bool(free))
    assert found == {True, False}


def test_places_along_a_curve_are_those_of_small_steps():
    rng = np.random.default_rng(2)
    for _ in range(30):
        bend, gear = rng.choice([0.0, 0.2, -0.2], 4), rng.choice([1, -1], 4)
        along = np.concatenate([[0.0], np.cumsum(rng.uniform(0.5, 10.0, 4))])
        begin, pose = (3.0, 4.0, 0.6, 0.8), []
        for piece in range(4):
            pose.append(begin)
            begin = twin.pose_at(
                along[piece + 1] - along[piece], [begin], bend[[piece]], gear[[piece]], [0.0, np.inf]
            )
        curve = Curve(np.array(pose), bend, gear, along)
        at = rng.uniform(0.0, curve.length, 10)
        wanted = [twin.pose_at(each, curve.pose, bend, gear, along) for each in at]
        np.testing.assert_allclose(poses(curve, at), wanted, atol=2e-5)


def yard(obstacle, heading, reverse):
    return as_scenario(
        {
            "version": 1,
            "geometry": {"walkable": {"box": [0, 0, 14, 12]}, "obstacles": [{"name": "o", "box": obstacle}]},
            "goals": {"g": {"exit": {"box": [10, 9, 14, 12]}}},
            "groups": [
                {
                    "name": "v", "positions": [[3.1, 3.2]], "goals": "g",
                    "vehicle": {
                        "length": 2, "width": 1, "turning_radius": 2, "heading": heading, "reverse": reverse,
                    },
                }
            ],
        }
    )  # fmt: skip


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.full) for seed in (1, 2))])
def test_no_other_sequence_of_steps_costs_less(seed, reverse):
    """A* with its bound finds a curve within a step or so of the cheapest: states in one cell are one."""
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(4.5, 8.0), rng.uniform(4.5, 7.0)
    angle = rng.uniform(0, 2 * math.pi)
    heading = [math.cos(angle), math.sin(angle)]
    scenario = yard([x, y, x + 2.0, y + 2.0], heading, reverse)
    curve = drives_of(scenario)[0, 0].curve
    cost = float(np.sum(np.diff(curve.along) * np.where(curve.gear < 0, search.BACKWARDS, 1.0)))
    cost += search.GEAR_CHANGE_M * np.count_nonzero(np.diff(curve.gear))
    steering = [0.0, *curve.bend.tolist()]
    cost += search.STEERING_M * sum(a != b for a, b in itertools.pairwise(steering))
    walls = walls_of(scenario.geometry.grounds[0])
    # the search counts cells from a metre beyond the ground, so on the same net
    best = twin.least_cost(
        (3.1, 3.2), heading, 2.0, (1.6, 0.4, 0.5), reverse, walls.line.tolist(),
        scenario.goals[0].area, COSTS,
    )  # fmt: skip
    assert best - 1.0 <= cost <= 1.1 * best + 1.0


@pytest.mark.parametrize("seed", range(5))
def test_a_body_on_its_curve_lies_on_the_ground(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(4.5, 8.0), rng.uniform(4.5, 7.0)
    scenario = yard([x, y, x + 2.0, y + 2.0], [1, 0], True)
    drive = drives_of(scenario)[0, 0]
    ground = scenario.geometry.grounds[0]
    for pose in poses(drive.curve, np.arange(0.0, drive.curve.length, 0.02)):
        body = twin.rectangle(*pose, drive.vehicle.front, drive.vehicle.overhang, 0.5 * drive.vehicle.width)
        assert body.difference(ground).area < 1e-9
