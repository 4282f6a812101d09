"""Pushes never end in walls or beyond them."""

import numpy as np
import pytest

from crowdsim.bodies.clearance import clear_of_walls, may_be_pushed
from crowdsim.geometry.wall_frame import wall_frame
from crowdsim.geometry.walls import walls_from_rings
from tests.reference import clearance as twin

ROOM = np.array([[0.0, 0.0], [6.0, 0.0], [6.0, 4.0], [0.0, 4.0]])
THIN = np.array([[2.0, 1.0], [2.0, 3.0], [2.1, 3.0], [2.1, 1.0]])
PLAN = walls_from_rings([ROOM, THIN])
FRAME = wall_frame(PLAN)
PAIRS = [(tuple(a), tuple(b)) for a, b in zip(PLAN.start.tolist(), PLAN.end.tolist(), strict=True)]


def may(here, there, radius):
    return may_be_pushed(FRAME.shape, FRAME.zone_wall, FRAME.zone_start[0], FRAME.zone_start[1], *here, *there, radius)


@pytest.mark.parametrize("seed", range(5))
def test_may_be_pushed_agrees_with_reference(seed):
    rng = np.random.default_rng(seed)
    answers = []
    for _ in range(400):
        here, radius = rng.uniform((0.0, 0.0), (6.0, 4.0)), rng.uniform(0.05, 0.4)
        there = here + rng.normal(size=2) * rng.choice([0.01, 0.1, 0.5])
        answers.append(may(here, there, radius))
        assert answers[-1] == twin.may_be_pushed(PAIRS, tuple(here.tolist()), tuple(there.tolist()), radius)
    assert 0.1 < np.mean(answers) < 0.9


def test_a_push_does_not_jump_over_a_thin_wall():
    assert not may((1.9, 2.0), (2.2, 2.0), 0.05)
    assert may((1.9, 2.0), (1.7, 2.0), 0.05)


def test_a_body_that_is_too_near_may_be_pushed_away_or_along_but_no_nearer():
    assert may((3.0, 0.1), (3.0, 0.15), 0.2)
    assert may((3.0, 0.1), (3.2, 0.1), 0.2)
    assert not may((3.0, 0.1), (3.0, 0.09), 0.2)


def test_far_from_walls_they_are_not_looked_at_and_beyond_their_lists_pushes_are_refused():
    nowhere = FRAME._replace(zone_start=np.zeros(1, np.int64))  # looking at the list would read past its end
    assert clear_of_walls(nowhere, 0, 1.0, np.inf, 3.0, 2.0, 0.5, 0.0, 0.5, 0.2)
    assert not clear_of_walls(FRAME, 0, 0.0, 0.6, 3.0, 2.0, 0.5, 0.0, 0.5, 0.2)
    assert clear_of_walls(FRAME, 0, 0.0, 0.8, 3.0, 2.0, 0.5, 0.0, 0.5, 0.2)
