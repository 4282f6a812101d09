"""Bodies turn to where they go, at a rotation speed, and keep their heading while they stand."""

import math

import numpy as np
import pytest

from crowdsim.bodies.turn import LEAST_SPEED_M_S, turn_headings
from crowdsim.geometry.directions import direction_at
from crowdsim.kernels.threads import Team
from tests.reference import turn as naive


def turn(heading, velocity, walks, most):
    out = np.empty_like(heading)
    Team(1).run(turn_headings, len(heading), velocity, walks, heading, *direction_at(most), out)
    own = heading.copy()
    Team(1).run(turn_headings, len(own), velocity, walks, own, *direction_at(most), own)
    assert own.tobytes() == out.tobytes()  # they may be written over the old ones
    return out


def test_directions_are_those_of_sine_and_cosine():
    for angle in np.linspace(0.0, math.pi, 2000):
        assert direction_at(angle) == pytest.approx((math.cos(angle), math.sin(angle)), abs=3e-15)


@pytest.mark.parametrize("seed", range(20))
def test_headings_are_those_of_the_twin(seed):
    rng = np.random.default_rng(seed)
    count, most = 60, float(rng.uniform(0.0, math.pi))
    heading, velocity = (
        rng.normal(size=(count, 2)),
        rng.normal(size=(count, 2)) * rng.choice([0.01, 1.0], (count, 1)),
    )
    heading /= np.hypot(*heading.T)[:, None]
    walks = rng.integers(0, 2, count).astype(np.uint8)
    expected = [
        naive.heading_after(heading[i], velocity[i], walks[i], most, LEAST_SPEED_M_S) for i in range(count)
    ]
    np.testing.assert_allclose(turn(heading, velocity, walks, most), expected, atol=1e-9)


def test_a_heading_turns_no_faster_than_it_may_and_ends_up_forward():
    heading, velocity, walks, turned = (
        np.array([[1.0, 0.0]]),
        np.array([[-1.3, 0.001]]),
        np.ones(1, dtype=np.uint8),
        [],
    )
    for _ in range(70):
        after = turn(heading, velocity, walks, 0.05)
        turned.append(math.acos(min(1.0, float(heading[0] @ after[0]))))
        heading = after
    assert max(turned) <= 0.05 + 1e-9 and sum(turned) == pytest.approx(math.pi, abs=1e-3)
    assert math.hypot(*heading[0]) == pytest.approx(1.0, abs=1e-12)


def test_an_agent_that_stands_or_only_shuffles_keeps_its_heading():
    heading = np.array([[0.6, 0.8], [0.6, 0.8], [0.6, 0.8]])
    velocity, walks = np.array([[-1.0, 0.0], [-0.04, 0.0], [-0.06, 0.0]]), np.array([0, 1, 1], dtype=np.uint8)
    assert (turn(heading, velocity, walks, math.pi) == [[0.6, 0.8], [0.6, 0.8], [-1.0, 0.0]]).all()


def test_straight_back_is_turned_to_by_the_left():
    assert turn(np.array([[1.0, 0.0]]), np.array([[-1.0, 0.0]]), np.ones(1, dtype=np.uint8), 0.3)[0, 1] > 0.29
