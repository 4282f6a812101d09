"""Where something that moves is turned to is a function of the time:
as drawn, round and round, or along its path.
"""

import math

import numpy as np
import pytest

from crowdsim.scenario.timetable import Timetable, Turning

CORNER = Timetable(
    np.array([0.0, 4.0, 6.0, 10.0]), np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 0.0], [4.0, 4.0]])
)
SQUARE = Timetable(
    np.array([0.0, 2.0, 4.0, 6.0, 8.0]), np.array([[0.0, 0], [2, 0], [2, 2], [0, 2], [0, 0]]), True
)


def angle(direction):
    return math.atan2(direction[1], direction[0])


def test_without_turning_it_stays_as_drawn():
    assert Turning(CORNER).direction(7.0) == (1.0, 0.0)


@pytest.mark.parametrize("speed", [0.3, -2.0, 40.0])
def test_round_and_round_it_turns_at_its_speed(speed):
    turning = Turning(CORNER, speed, since=1.5)
    for time in np.linspace(0.0, 60.0, 301):
        expected = speed * (time - 1.5)
        assert turning.direction(time) == pytest.approx((math.cos(expected), math.sin(expected)), abs=1e-11)


def test_along_the_path_it_points_where_it_goes_and_where_it_stands_where_it_went():
    turning = Turning(CORNER, along_path=True, turn_time=1.0)
    for time, degrees in ((0.0, 0), (3.9, 0), (5.9, 0), (6.0, 0), (6.5, 45), (7.0, 90), (20.0, 90)):
        assert math.degrees(angle(turning.direction(time))) == pytest.approx(degrees, abs=1e-9)


def test_it_turns_steadily_and_the_shorter_way():
    turning = Turning(CORNER, along_path=True, turn_time=1.0)
    angles = [angle(turning.direction(time)) for time in np.linspace(6.0, 7.0, 51)]
    steps = np.diff(angles)
    assert (steps > 0.0).all() and steps.max() < 1.6 * steps.mean()


def test_a_loop_turns_at_every_corner_also_where_it_begins_again():
    turning = Turning(SQUARE, along_path=True, turn_time=0.5)
    assert angle(turning.direction(0.1)) == 0.0  # the first time round nothing was before
    assert math.degrees(angle(turning.direction(8.25))) == pytest.approx(-45.0)
    for lap in range(3):
        assert math.degrees(angle(turning.direction(8.0 * lap + 3.0))) == pytest.approx(90.0)


def test_straight_back_is_turned_to_by_the_left_and_a_short_leg_is_turned_in_its_own_time():
    back = Timetable(np.array([0.0, 2.0, 2.4]), np.array([[0.0, 0], [2, 0], [1.6, 0]]))
    turning = Turning(back, along_path=True, turn_time=5.0)
    assert turning.direction(2.2) == pytest.approx((0.0, 1.0)) and turning.direction(2.4) == pytest.approx(
        (-1.0, 0.0)
    )


def test_it_turns_out_of_the_direction_that_it_had_before():
    turning = Turning(
        Timetable(np.array([3.0, 5.0]), np.array([[0.0, 0], [2, 0]])),
        along_path=True,
        turn_time=1.0,
        before=(0.0, 1.0),
    )
    assert (
        turning.direction(2.0) == (0.0, 1.0)
        and math.degrees(angle(turning.direction(3.5))) == pytest.approx(45.0)
        and turning.direction(4.0) == (1.0, 0.0)
    )
